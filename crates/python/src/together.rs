//! Simulations that differ only in when flows start, which one thread does together.

use control::ControllerRef;
use scenario::Plan;

use crate::simulation::Simulation;
use crate::task::{Answer, EngineTask, Task};

/// Simulations of one seed that probably begin alike.
pub(crate) struct Together(pub(crate) Vec<EngineTask<Simulation>>);

impl Task for Together {
    fn runs(&self) -> usize {
        self.0.len()
    }

    fn run(&self, give: &mut dyn FnMut(usize, Answer)) {
        let mut made = Vec::new();
        for (number, task) in self.0.iter().enumerate() {
            let ready = task.plan().and_then(|plan| {
                let (engine, kept) = task.engine(&plan)?;
                Ok((number, plan, engine, kept))
            });
            match ready {
                Ok(ready) => made.push(ready),
                Err(failure) => give(number, Err(failure)),
            }
        }
        // What controllers from elsewhere do is kept apart.
        if !made.iter().all(|(_, plan, ..)| has_registered(plan)) {
            made.into_iter().for_each(|(number, plan, ..)| give(number, self.0[number].run_plan(&plan)));
            return;
        }
        let Some((.., simulator, _)) = made.first() else { return };
        let jobs: Vec<_> =
            made.iter().map(|(number, plan, ..)| (self.0[*number].job(plan), self.0[*number].watch())).collect();
        simulator.run_together(&jobs, &mut |place, result| {
            let (number, plan, _, kept) = &made[place];
            give(*number, self.0[*number].answer(plan, kept, result));
        });
    }

    fn progress(&self) -> f64 {
        self.0.iter().map(Task::progress).sum::<f64>() / self.0.len().max(1) as f64
    }

    fn stop(&self) {
        self.0.iter().for_each(Task::stop);
    }
}

/// Whether all controllers of `plan` are those of the registry.
fn has_registered(plan: &Plan) -> bool {
    plan.flows.iter().all(|flow| matches!(flow.cc, ControllerRef::Registered(_)))
}
