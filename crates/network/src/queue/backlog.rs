//! Packets that wait by conversation in a shared buffer.

use std::cmp::Reverse;
use std::collections::VecDeque;

use units::Time;

use crate::{Limit, Packet, SlotHeap};

/// A queue for each conversation, and which of them is the longest.
///
/// Lengths are measured as the limit of the buffer is: in packets for one in packets, otherwise in bytes. Among
/// several longest queues the one whose last packet is the youngest counts as the longest.
#[derive(Debug)]
pub(crate) struct Backlog<P, T> {
    queues: Vec<Conversation<P, T>>,
    /// By length and number of the last arrival, the largest first.
    longest: SlotHeap<(Reverse<(u64, u64)>, u32)>,
    in_bytes: bool,
    arrivals: u64,
}

#[derive(Debug)]
struct Conversation<P, T> {
    waiting: VecDeque<Waiting<P, T>>,
    length: u64,
}

/// A packet that waits, with the notes of its discipline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<P, T> {
    pub(crate) packet: P,
    pub(crate) arrived: Time,
    pub(crate) note: T,
    number: u64,
}

impl<P: Packet, T> Backlog<P, T> {
    /// An empty buffer whose limit is `limit`.
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            queues: Vec::new(),
            longest: SlotHeap::new(0),
            in_bytes: matches!(limit, Limit::Bytes(_) | Limit::Delay(_)),
            arrivals: 0,
        }
    }

    /// The waiting packets of `flow`, first come first.
    #[inline]
    pub(crate) fn of(&self, flow: u32) -> Option<&VecDeque<Waiting<P, T>>> {
        self.queues.get(flow as usize).map(|conversation| &conversation.waiting)
    }

    /// `packet` waits behind the others of its flow.
    pub(crate) fn push(&mut self, now: Time, packet: P, note: T) {
        let flow = packet.flow();
        if self.queues.len() <= flow as usize {
            self.queues.resize_with(flow as usize + 1, || Conversation { waiting: VecDeque::new(), length: 0 });
        }
        self.arrivals += 1;
        let length = self.measure(&packet);
        let queue = &mut self.queues[flow as usize];
        queue.length += length;
        queue.waiting.push_back(Waiting { packet, arrived: now, note, number: self.arrivals });
        self.longest.set((Reverse((queue.length, self.arrivals)), flow));
    }

    /// The first packet of `flow` leaves.
    pub(crate) fn pop_front(&mut self, flow: u32) -> Option<Waiting<P, T>> {
        let first = self.queues.get_mut(flow as usize)?.waiting.pop_front()?;
        self.removed(flow, &first.packet);
        Some(first)
    }

    /// The last packet of `flow` leaves.
    pub(crate) fn pop_back(&mut self, flow: u32) -> Option<Waiting<P, T>> {
        let last = self.queues.get_mut(flow as usize)?.waiting.pop_back()?;
        self.removed(flow, &last.packet);
        Some(last)
    }

    /// The flow that has the longest queue when `packet` has joined its own, or `None` if its own is the longest and it
    /// would be the last there.
    pub(crate) fn longer_than_with(&self, packet: &P) -> Option<u32> {
        let (Reverse((longest, _)), flow) = self.longest.first()?;
        let own = self.queues.get(packet.flow() as usize).map_or(0, |queue| queue.length);
        (longest > own + self.measure(packet)).then_some(flow)
    }

    fn measure(&self, packet: &P) -> u64 {
        if self.in_bytes { packet.size().get() } else { 1 }
    }

    fn removed(&mut self, flow: u32, packet: &P) {
        let length = self.measure(packet);
        let queue = &mut self.queues[flow as usize];
        queue.length -= length;
        match queue.waiting.back() {
            Some(last) => self.longest.set((Reverse((queue.length, last.number)), flow)),
            None => self.longest.remove(flow),
        }
    }
}
