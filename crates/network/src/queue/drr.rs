//! Deficit round robin (Shreedhar and Varghese 1995, "Efficient Fair Queueing Using Deficit Round Robin").
//!
//! Conversations with packets waiting take turns. At its turn a conversation may send a quantum of bytes more than
//! before: it sends while its first packet fits in that amount, keeps the rest for its next turn (the deficit counter),
//! and loses it when nothing of it waits any more. One that starts to wait comes last.
//!
//! A turn that sends nothing costs time. With a quantum of at least the largest packet, the default, there is none.
//! With a smaller one, rounds in which no conversation could send are granted at once.

use serde::{Deserialize, Serialize};
use units::Bytes;
use units::packet::MTU;

use super::backlog::Backlog;
use super::turns::LARGEST_QUANTUM;
use super::{Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

/// What a scenario says about deficit round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct DrrSettings {
    /// What a flow may send more at each turn; by default 1500B.
    pub quantum: Bytes,
}

impl Default for DrrSettings {
    /// A turn for an Ethernet packet.
    fn default() -> Self {
        Self { quantum: MTU }
    }
}

units::bounds! {
    DrrSettings {
        quantum: Bytes = Bytes::new(1), LARGEST_QUANTUM;
    }
}

impl Settings for DrrSettings {
    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(Deficit::new(limit, self.quantum))
    }
}

/// Conversations served by turns. They share the buffer. Their lengths are counted as its limit is, in packets under a
/// limit in packets, otherwise in bytes, where one large packet may take the place of several.
#[derive(Debug)]
pub(crate) struct Deficit<P> {
    backlog: Backlog<P, ()>,
    quantum: Bytes,
    /// Per flow.
    turns: Vec<Turn>,
    /// The active list is a ring: whose turn it is. The one before comes last.
    current: Option<u32>,
    /// The current conversation has got its quantum for this turn.
    granted: bool,
}

/// A conversation in the ring.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    deficit: Bytes,
    next: u32,
    previous: u32,
}

impl<P: Packet> Deficit<P> {
    /// # Panics
    /// If `quantum` is zero: nothing would ever be sent.
    pub(crate) fn new(limit: Limit, quantum: Bytes) -> Self {
        assert!(quantum > Bytes::ZERO, "the quantum must be above 0");
        Self { backlog: Backlog::new(limit), quantum, turns: Vec::new(), current: None, granted: false }
    }

    /// From `first` on, a round has sent nothing: grants every conversation the turns that would send nothing either.
    fn skip_rounds(&mut self, first: u32) {
        let turns_needed = |this: &Self, flow: u32| {
            let size =
                this.backlog.of(flow).and_then(|waiting| waiting.front()).map_or(0, |front| front.packet.size().get());
            size.saturating_sub(this.turns[flow as usize].deficit.get()).div_ceil(this.quantum.get())
        };
        let fewest = self.ring(first).map(|flow| turns_needed(self, flow)).min().unwrap_or(0);
        let granted = Bytes::new(self.quantum.get() * fewest.saturating_sub(1));
        let mut flow = first;
        loop {
            let turn = &mut self.turns[flow as usize];
            turn.deficit += granted;
            flow = turn.next;
            if flow == first {
                return;
            }
        }
    }

    /// The ring, once around from `first`.
    fn ring(&self, first: u32) -> impl Iterator<Item = u32> {
        let next = move |&flow: &u32| Some(self.turns[flow as usize].next).filter(|&next| next != first);
        std::iter::successors(Some(first), next)
    }

    fn waits(&self, flow: u32) -> bool {
        self.backlog.of(flow).is_some_and(|waiting| !waiting.is_empty())
    }

    /// Puts `flow` at the end of the ring.
    fn join(&mut self, flow: u32) {
        if self.turns.len() <= flow as usize {
            self.turns.resize(flow as usize + 1, Turn::default());
        }
        let (previous, next) = match self.current {
            Some(current) => (self.turns[current as usize].previous, current),
            None => (flow, flow),
        };
        self.turns[flow as usize] = Turn { deficit: Bytes::ZERO, next, previous };
        self.turns[previous as usize].next = flow;
        self.turns[next as usize].previous = flow;
        self.current = self.current.or(Some(flow));
    }

    /// Takes `flow` out of the ring if nothing of it waits.
    fn leave_if_empty(&mut self, flow: u32) {
        if self.waits(flow) {
            return;
        }
        let Turn { next, previous, .. } = self.turns[flow as usize];
        self.turns[previous as usize].next = next;
        self.turns[next as usize].previous = previous;
        if self.current == Some(flow) {
            self.current = (next != flow).then_some(next);
            self.granted = false;
        }
    }
}

impl<P: Packet> Discipline<P> for Deficit<P> {
    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        let flow = packet.flow();
        if !self.waits(flow) {
            self.join(flow);
        }
        self.backlog.push(cx.now, packet, ());
    }

    fn pop(&mut self, _cx: &mut Context<'_, P>) -> Option<Served<P>> {
        let mut round_began = None;
        loop {
            let flow = self.current?;
            let turn = &mut self.turns[flow as usize];
            if !std::mem::replace(&mut self.granted, true) {
                turn.deficit += self.quantum;
            }
            let size = self.backlog.of(flow)?.front()?.packet.size();
            if size <= turn.deficit {
                turn.deficit = turn.deficit - size;
                let first = self.backlog.pop_front(flow)?;
                self.leave_if_empty(flow);
                return Some(Served { packet: first.packet, arrived: first.arrived, marked: false });
            }
            let next = turn.next;
            self.current = Some(next);
            self.granted = false;
            if next == *round_began.get_or_insert(flow) {
                self.skip_rounds(next);
            }
        }
    }

    /// Drops the last packet of the longest queue, counted with `packet`, unless that is `packet` itself.
    fn make_room(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        let Some(flow) = self.backlog.longer_than_with(packet) else { return };
        let Some(last) = self.backlog.pop_back(flow) else { return };
        self.leave_if_empty(flow);
        cx.drop(last.packet);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use units::Time;

    use super::*;
    use crate::testing::{Driven, Parcel};

    fn filled(limit: Limit, quantum: u64, packets: &[(u32, u64)]) -> Driven<Deficit<Parcel>> {
        let mut deficit = Driven::new(Deficit::new(limit, Bytes::new(quantum)));
        packets.iter().for_each(|&(flow, size)| deficit.push(Time::ZERO, Parcel::of(flow, size)));
        deficit
    }

    fn sizes(mut deficit: Driven<Deficit<Parcel>>) -> Vec<u64> {
        std::iter::from_fn(|| deficit.pop(Time::ZERO)).map(|served| served.packet.size).collect()
    }

    #[test]
    fn what_is_left_of_a_quantum_is_for_the_next_turn() {
        // A quantum of 500. First turns: 200 (leaves 300), 500, 100 (leaves 400), 180 (leaves 320). Second turns: 800
        // are enough for 750 and 20, 500 for 500, 900 for 600 and 200, 820 for 700 and 50.
        let queues: [&[u64]; 4] = [&[200, 750, 20], &[500, 500], &[100, 600, 200], &[180, 700, 50]];
        let packets = (0..).zip(queues).flat_map(|(flow, sizes)| sizes.iter().map(move |&size| (flow, size)));
        let packets: Vec<_> = packets.collect();
        let expected = [200, 500, 100, 180, 750, 20, 500, 600, 200, 700, 50];
        assert_eq!(sizes(filled(Limit::Infinite, 500, &packets)), expected);
    }

    #[test]
    fn a_quantum_below_a_packet_takes_several_turns() {
        // Turns of 100: flow 1 may send 300 at its third, flow 0 its 350 at the fourth.
        assert_eq!(sizes(filled(Limit::Infinite, 100, &[(0, 350), (1, 300), (1, 1)])), [300, 350, 1]);
    }

    #[test]
    fn rounds_that_send_nothing_are_granted_at_once() {
        // Turns of 1 byte: 0 sends at its turn of that number, 1 a turn later. Turns of 7: both at turn 42,857,142,858,
        // which leaves 0 six bytes.
        let packets = [(0, 300_000_000_000), (1, 300_000_000_001), (0, 7)];
        for quantum in [1, 7] {
            let sent = sizes(filled(Limit::Infinite, quantum, &packets));
            assert_eq!(sent, [300_000_000_000, 300_000_000_001, 7], "{quantum}");
        }
    }

    /// As the paper has it, turn by turn.
    fn turn_by_turn(quantum: u64, packets: &[(u32, u64)]) -> Vec<u64> {
        let mut ring: VecDeque<(u32, u64, VecDeque<u64>)> = VecDeque::new();
        for &(flow, size) in packets {
            match ring.iter_mut().find(|entry| entry.0 == flow) {
                Some(entry) => entry.2.push_back(size),
                None => ring.push_back((flow, 0, VecDeque::from([size]))),
            }
        }
        let mut sent = Vec::new();
        while let Some((flow, mut deficit, mut waiting)) = ring.pop_front() {
            deficit += quantum;
            while let Some(&size) = waiting.front().filter(|size| **size <= deficit) {
                waiting.pop_front();
                deficit -= size;
                sent.push(size);
            }
            if !waiting.is_empty() {
                ring.push_back((flow, deficit, waiting));
            }
        }
        sent
    }

    proptest! {
        #[test]
        fn granting_rounds_at_once_serves_in_the_order_of_turn_by_turn(
            quantum in 1u64..60,
            packets in prop::collection::vec((0u32..4, 1u64..200), 0..40),
        ) {
            let expected = turn_by_turn(quantum, &packets);
            prop_assert_eq!(sizes(filled(Limit::Infinite, quantum, &packets)), expected);
        }
    }

    #[test]
    fn a_flow_that_empties_loses_its_deficit_and_comes_last() {
        let mut deficit = filled(Limit::Infinite, 500, &[(0, 100), (1, 500), (1, 500)]);
        assert_eq!(deficit.pop(Time::ZERO).unwrap().packet, Parcel::of(0, 100));
        // With the 400 left over it could send 900 at once.
        deficit.push(Time::ZERO, Parcel::of(0, 900));
        assert_eq!(sizes(deficit), [500, 500, 900]);
    }

    #[test]
    fn a_flow_whose_only_packet_is_dropped_leaves_the_ring() {
        let mut deficit = filled(Limit::Bytes(Bytes::new(2000)), 500, &[(0, 1500), (1, 400)]);
        assert_eq!(deficit.make_room(Time::ZERO, Parcel::of(2, 300)), [Parcel::of(0, 1500)]);
        deficit.push(Time::ZERO, Parcel::of(2, 300));
        assert_eq!(deficit.make_room(Time::ZERO, Parcel::of(2, 300)), []);
        assert_eq!(sizes(deficit), [400, 300]);
    }
}
