//! The state of a controller before a reduction, restored if that was spurious.

use crate::{Loss, Reno};

/// The state of a controller before its last reduction, in case that proves spurious. It is saved when loss is
/// detected, and restored when nothing turns out to have been lost (RFC 4015, section 3.2, steps (0) and (REV), and
/// `undo` in Linux). The transport finds that out (RFC 3522, RFC 5682).
#[derive(Clone, Copy, Debug)]
pub struct Undo<T = Reno>(Option<T>);

impl<T> Undo<T> {
    /// A reduction begins: `state` is the one before it.
    pub fn remember(&mut self, state: T) {
        self.0 = Some(state);
    }

    /// A timeout: `state` is remembered if `loss` is the first of a row. The later ones are taken back with it.
    pub fn remember_first(&mut self, loss: &Loss, state: T) {
        if !loss.again {
            self.remember(state);
        }
    }

    /// A reduction that nothing takes back: a mark is no loss that could prove spurious.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// The reduction was spurious: what there was before it, once.
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

impl Undo<Reno> {
    /// The reduction was spurious: `reno` gets back its reduction, and keeps its growth since.
    pub fn restore(&mut self, reno: &mut Reno) {
        if let Some(before) = self.take() {
            reno.restore(before);
        }
    }
}

impl<T> Default for Undo<T> {
    /// Nothing was reduced.
    fn default() -> Self {
        Self(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::loss;

    #[test]
    fn a_row_of_timeouts_gives_back_what_was_before_the_first() {
        let mut undo = Undo::default();
        undo.remember_first(&loss(), Reno { window: 40.0, threshold: 30.0 });
        undo.remember_first(&Loss { again: true, ..loss() }, Reno { window: 1.0, threshold: 20.0 });
        let mut reno = Reno { window: 2.0, threshold: 20.0 };
        undo.restore(&mut reno);
        assert_eq!(reno, Reno { window: 40.0, threshold: 30.0 });
    }

    #[test]
    fn what_grew_since_the_reduction_stays() {
        let mut undo = Undo::default();
        undo.remember(Reno { window: 20.0, threshold: 30.0 });
        let mut reno = Reno { window: 25.0, threshold: 10.0 };
        undo.restore(&mut reno);
        assert_eq!(reno, Reno { window: 25.0, threshold: 30.0 });
    }

    #[test]
    fn a_reduction_is_taken_back_once_and_a_forgotten_one_never() {
        let mut undo = Undo::default();
        undo.remember(7);
        assert_eq!((undo.take(), undo.take()), (Some(7), None));
        undo.remember(7);
        undo.forget();
        assert_eq!(undo.take(), None);
    }
}
