//! What a batch executes.

use crate::failure::Failure;
use crate::run::Run;

/// One run that is asked for, of whatever engine.
pub(crate) trait Task: Send + Sync {
    /// Runs it to its end.
    fn run(&self) -> Result<Run, Failure>;
    /// The share of its time that is behind.
    fn progress(&self) -> f64;
    /// Lets [`Task::run`] end soon.
    fn stop(&self);
}
