//! Simulations that differ only in when flows start, which one thread does together.

use control::ControllerRef;
use scenario::Plan;

use crate::simulation::Simulation;
use crate::task::{Answer, EngineTask, Task};

/// Simulations of one seed that probably begin alike.
pub(crate) struct Together(pub(crate) Vec<EngineTask<Simulation>>);

impl Task for Together {
    fn run(&self, give: &mut dyn FnMut(usize, Answer)) {
        let mut planned = Vec::new();
        for (number, task) in self.0.iter().enumerate() {
            match task.plan() {
                Ok(plan) => planned.push((number, task, plan)),
                Err(failure) => give(number, Err(failure)),
            }
        }
        // Controllers from elsewhere cannot be copied.
        if !planned.iter().all(|(.., plan)| has_registered(plan)) {
            planned.iter().for_each(|(number, task, plan)| give(*number, task.run_plan(plan)));
            return;
        }
        let mut ready = Vec::new();
        for (number, task, plan) in planned {
            match task.engine(&plan) {
                Ok((simulator, after)) => ready.push((number, task, plan, simulator, after)),
                Err(failure) => give(number, Err(failure)),
            }
        }
        let Some((.., simulator, _)) = ready.first() else { return };
        let jobs: Vec<_> = ready.iter().map(|(_, task, plan, ..)| (task.job(plan), task.watch())).collect();
        simulator.run_together(&jobs, &mut |place, result| {
            let (number, task, plan, _, after) = &ready[place];
            give(*number, task.answer(plan, after, result));
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
