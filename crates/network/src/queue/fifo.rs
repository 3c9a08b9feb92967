//! First in, first out: packets wait in the order of their arrival, and one that finds no room is dropped (drop-tail).
//!
//! A link calls it directly, as it is the common case, not through [`Discipline`](super::Discipline).

use std::collections::VecDeque;

use prefetch_index::prefetch_index;
use units::Time;

use crate::ahead::prefetch_place;
use crate::ring;

/// Packets in the order of their arrival, each with the time of it.
#[derive(Debug)]
pub(crate) struct Fifo<P> {
    waiting: VecDeque<(P, Time)>,
}

impl<P> Fifo<P> {
    pub(crate) const fn new() -> Self {
        Self { waiting: VecDeque::new() }
    }

    /// `packet` waits behind all others.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, packet: P) {
        ring::append(&mut self.waiting, (packet, now));
    }

    /// The packet that came first, with the time of its arrival.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(P, Time)> {
        self.waiting.pop_front()
    }

    /// Lets the processor fetch the packet whose turn comes after `others` more, and the place of the one that arrives
    /// after as many.
    #[inline]
    pub(crate) fn prefetch(&self, others: usize) {
        if let Some(packet) = self.waiting.get(others) {
            prefetch_index(std::slice::from_ref(packet), 0);
        }
        prefetch_place(&self.waiting, others);
    }

    /// The first packet that `fits`, with the time of its arrival.
    pub(crate) fn pop_first(&mut self, fits: impl Fn(&P) -> bool) -> Option<(P, Time)> {
        let index = self.waiting.iter().position(|(packet, _)| fits(packet))?;
        self.waiting.remove(index)
    }
}
