//! Copies of controllers in the middle of a run, for runs that begin alike.

use crate::Controller;

/// What can be copied with all its state, if that is possible.
///
/// Every controller that is `Clone` can be; one whose state is elsewhere, such as in another language, says `None`.
pub trait Duplicate {
    /// A controller that goes on from the state of this one, and apart from it.
    fn duplicate(&self) -> Option<Box<dyn Controller>>;
}

impl<C: Controller + Clone + 'static> Duplicate for C {
    fn duplicate(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}
