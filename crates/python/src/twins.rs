//! The controllers of live runs: those of `kernel/` for cdg, siad and da, for every other name what the kernel has.

use control::Parameters;
use kernel::{Congestion, Loaded};
use live::{Algorithm, Algorithms, InKernel, Internal};
use units::Span;

/// Controllers of the registry that have a twin for the kernel, which the kernel lacks.
const TWINS: [&str; 3] = ["cdg", "siad", "da"];
/// The end of a file name that is the source of a controller.
const SOURCE: &str = ".bpf.c";

/// What finds a controller for a name of a scenario.
pub(crate) struct Controllers;

fn is_loaded(cc: &str) -> bool {
    TWINS.contains(&cc) || cc.ends_with(SOURCE)
}

impl Algorithms for Controllers {
    fn check(&self, cc: &str, parameters: &Parameters) -> Result<(), String> {
        if is_loaded(cc) {
            return kernel::check().map_err(|error| error.to_string());
        }
        InKernel.check(cc, parameters).map_err(|message| {
            if parameters.is_empty() { format!("{message}; ackclock brings {}", TWINS.join(", ")) } else { message }
        })
    }

    fn load(&self, cc: &str, parameters: &Parameters) -> Result<Box<dyn Algorithm>, String> {
        if !is_loaded(cc) {
            return InKernel.load(cc, parameters);
        }
        let loaded = Congestion::load(cc, parameters, 1).map_err(|error| error.to_string())?;
        Ok(Box::new(Twin(loaded)))
    }
}

/// One that goes when nobody uses it.
struct Twin(Loaded);

impl Algorithm for Twin {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn paces(&self) -> bool {
        false
    }

    // Without them the table of probes is empty; the run itself does not depend on it.
    fn show(&mut self, every: Span) {
        let _ = self.0.show_probes(every);
    }

    fn drain(&mut self, out: &mut dyn FnMut(Internal<'_>)) {
        let _ = self.0.probes(|probe| {
            out(Internal { port: probe.local_port, at: probe.time_us * 1000, name: probe.name, value: probe.value });
        });
    }
}
