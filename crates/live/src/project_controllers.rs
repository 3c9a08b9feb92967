//! The controllers of this project inside the kernel, in place of the simulator's.

use std::mem;

use control::{ControllerRef, Parameters};
use kernel::ProbeTurns;
use scenario::Sampling;

use crate::algorithm::{Algorithm, Algorithms, InKernel, Internal};

/// The controllers that the kernel has, and those that this project loads into it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectControllers;

/// Controllers that the kernel has itself, under names of the simulator, are taken from it.
fn is_loaded(cc: &ControllerRef) -> bool {
    match cc {
        ControllerRef::Source(_) => true,
        ControllerRef::Registered("newreno" | "cubic") => false,
        ControllerRef::Registered(name) => kernel::BUILT_IN.contains(name),
        ControllerRef::Python { .. } | ControllerRef::Engine(_) => false,
    }
}

impl Algorithms for ProjectControllers {
    fn check(&self, cc: &ControllerRef, parameters: &Parameters) -> Result<(), String> {
        if cc.is_object() {
            return Err(format!("`{cc}` is for the simulator: the kernel takes controllers in C"));
        }
        if is_loaded(cc) {
            return kernel::check().map_err(|error| error.to_string());
        }
        InKernel.check(cc, parameters)
    }

    fn load(&self, cc: &ControllerRef, parameters: &Parameters) -> Result<Box<dyn Algorithm>, String> {
        if !is_loaded(cc) {
            return InKernel.load(cc, parameters);
        }
        let loaded = kernel::Congestion::load(cc, parameters, 1).map_err(|error| error.to_string())?;
        Ok(Box::new(LoadedController { loaded, problem: None }))
    }
}

/// One that leaves the kernel when this is dropped.
struct LoadedController {
    loaded: kernel::Loaded,
    /// Failures that were not reported yet.
    problem: Option<String>,
}

impl Algorithm for LoadedController {
    fn name(&self) -> &str {
        self.loaded.name()
    }

    fn paces(&self) -> bool {
        false
    }

    fn show(&mut self, sampling: Sampling) {
        let turns = match sampling {
            Sampling::Off => return,
            Sampling::Every(span) => ProbeTurns::Every(span),
            Sampling::Acks(acks) => ProbeTurns::Acks(acks),
        };
        self.problem = self.loaded.show_probes(turns).err().map(|error| error.to_string());
    }

    fn drain(&mut self, out: &mut dyn FnMut(Internal<'_>)) {
        let drained = self.loaded.probes(|probe| {
            out(Internal { port: probe.local_port, at: probe.time_us * 1000, name: probe.name, value: probe.value });
        });
        if let Err(error) = drained {
            self.problem.get_or_insert_with(|| error.to_string());
        }
    }

    fn finish(&mut self) -> Option<String> {
        let missed = self.loaded.probes_missed().unwrap_or(0);
        let lost =
            (missed > 0).then(|| format!("{missed} samples of the internals of `{}` found no room", self.name()));
        mem::take(&mut self.problem).or(lost)
    }
}
