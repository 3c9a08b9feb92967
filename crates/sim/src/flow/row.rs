//! The TCP senders that flows have from the start, in one allocation. Each in its own would have a head and gaps
//! before and behind it, as it begins with a cache line.

use std::ops::{Deref, DerefMut};
use std::slice::IterMut;

use scenario::{DrawnFlow, Kind, Plan};

use crate::flow::sending::MeteredSender;

/// The memory of the TCP senders of a run.
pub(crate) struct Rows(Vec<Option<MeteredSender>>);

impl Rows {
    /// Room for the senders of `drawn`, the flows of `plan`, but for connections that come and go.
    pub(crate) fn new(plan: &Plan, drawn: &[DrawnFlow]) -> Self {
        let stays = |flow: &&DrawnFlow| flow.number.is_none() && plan.flows[flow.of].kind == Kind::Tcp;
        let mut rows = Vec::new();
        rows.resize_with(drawn.iter().filter(stays).count(), || None);
        Self(rows)
    }

    /// Its places, all free, in the order of the flows.
    pub(crate) fn places(&mut self) -> Places<'_> {
        Places(self.0.iter_mut())
    }
}

/// Free places for senders, by default none.
#[derive(Default)]
pub(crate) struct Places<'a>(IterMut<'a, Option<MeteredSender>>);

impl<'a> Places<'a> {
    /// Puts `sender` in the next free place, or in memory of its own if there is none.
    pub(super) fn put(&mut self, sender: MeteredSender) -> Placed<'a> {
        match self.0.next() {
            Some(place) => Placed::Row(place.insert(sender)),
            None => Placed::Own(Box::new(sender)),
        }
    }
}

/// A sender in its place.
pub(crate) enum Placed<'a> {
    Row(&'a mut MeteredSender),
    Own(Box<MeteredSender>),
}

impl Placed<'_> {
    /// Its address, if it is in the row.
    #[cfg(test)]
    pub(super) fn place_in_row(&self) -> Option<usize> {
        if let Self::Row(sender) = self { Some(std::ptr::from_ref(&**sender).addr()) } else { None }
    }
}

impl Deref for Placed<'_> {
    type Target = MeteredSender;

    #[inline(always)]
    fn deref(&self) -> &MeteredSender {
        match self {
            Self::Row(sender) => sender,
            Self::Own(sender) => sender,
        }
    }
}

impl DerefMut for Placed<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut MeteredSender {
        match self {
            Self::Row(sender) => sender,
            Self::Own(sender) => sender,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_place_takes_no_more_room_than_a_sender() {
        assert_eq!(size_of::<Option<MeteredSender>>(), size_of::<MeteredSender>());
    }
}
