//! Whose turn it is among the queues of flows: deficit round robin, new queues first (RFC 8290, section 4.2).

use std::collections::VecDeque;

use units::{Bytes, Time};

use super::{Context, Served};
use crate::Packet;

/// With a larger quantum flows would hardly take turns (the largest of `fq_codel` in Linux).
pub(super) const LARGEST_QUANTUM: Bytes = Bytes::new(1 << 20);

/// Queues by number, in the order of their turns.
#[derive(Debug)]
pub(super) struct Turns {
    quantum: i64,
    /// True if a new queue that is empty is forgotten at once, not only after a turn among the old ones.
    forgets: bool,
    turns: Vec<Turn>,
    /// Those that began to wait lately, and the others.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Makes the hash one of many. Drawn with the first packet.
    perturbation: Option<u64>,
}

/// The turn of one queue.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The bytes that it may send. Below zero if the last packet was larger.
    deficit: i64,
    /// It is in one of the two lists.
    listed: bool,
}

impl Turns {
    /// Turns of `queues` queues, each of which sends `quantum` a turn.
    ///
    /// # Panics
    /// If there is no queue, or the quantum is zero.
    pub(super) fn new(queues: u32, quantum: Bytes) -> Self {
        assert!(queues > 0 && quantum > Bytes::ZERO, "flows and quantum must be above 0");
        Self {
            quantum: quantum.get() as i64,
            forgets: false,
            turns: vec![Turn { deficit: 0, listed: false }; queues as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            perturbation: None,
        }
    }

    /// The same, but a queue that is found empty is new again with its next packet, as in CAKE.
    pub(super) fn forgetting(self) -> Self {
        Self { forgets: true, ..self }
    }

    /// The hash of `key`, such as the number of a flow: the same for all its packets.
    pub(super) fn hash<P>(&mut self, key: u64, cx: &mut Context<'_, P>) -> u64 {
        let random = &mut cx.random;
        let perturbation = *self.perturbation.get_or_insert_with(|| random.uniform().to_bits());
        mix(key ^ perturbation) >> 32
    }

    /// The queue of `packet`: by its hash.
    pub(super) fn queue_of<P: Packet>(&mut self, packet: &P, cx: &mut Context<'_, P>) -> u32 {
        ((self.hash(u64::from(packet.flow()), cx) * self.turns.len() as u64) >> 32) as u32
    }

    /// Queue `index` has something to send: if it had not, it is new.
    pub(super) fn list(&mut self, index: u32) {
        self.list_with(index, self.quantum);
    }

    /// The same with a first turn of `quantum`.
    pub(super) fn list_with(&mut self, index: u32, quantum: i64) {
        let turn = &mut self.turns[index as usize];
        if !std::mem::replace(&mut turn.listed, true) {
            turn.deficit = quantum;
            self.new.push_back(index);
        }
    }

    /// True if queue `index` has a turn to come.
    pub(super) fn is_listed(&self, index: u32) -> bool {
        self.turns[index as usize].listed
    }

    /// Queue `index` sent `size`.
    pub(super) fn spend(&mut self, index: u32, size: Bytes) {
        self.turns[index as usize].deficit -= size.get() as i64;
    }

    /// The queues with a turn to come.
    pub(super) fn listed(&self) -> impl Iterator<Item = u32> {
        self.new.iter().chain(&self.old).copied()
    }

    /// All queues were found empty.
    pub(super) fn clear(&mut self) {
        for index in self.new.drain(..).chain(self.old.drain(..)) {
            self.turns[index as usize].listed = false;
        }
    }

    /// The longest of queue `own` and the queues with a turn to come, with its length. Of equal ones it has the lowest
    /// number.
    pub(super) fn longest(&self, own: u32, length: impl Fn(u32) -> Bytes) -> (u32, Bytes) {
        let mut longest = (own, length(own));
        for index in self.listed() {
            let candidate = (index, length(index));
            if candidate.1 > longest.1 || candidate.1 == longest.1 && index < longest.0 {
                longest = candidate;
            }
        }
        longest
    }

    /// Serves the queue whose turn it is. `take` answers the packet that a queue sends, `None` if it is empty.
    pub(super) fn pop<P: Packet>(&mut self, mut take: impl FnMut(u32) -> Option<Served<P>>) -> Option<Served<P>> {
        self.next(|index| {
            let served = take(index)?;
            let size = served.packet.size();
            Some((served, size))
        })
    }

    /// The same for anything that a queue sends, with its size.
    fn next<T>(&mut self, mut take: impl FnMut(u32) -> Option<(T, Bytes)>) -> Option<T> {
        let quantum = self.quantum;
        self.next_with(&mut take, |_, _| quantum, |take, index| take(index))
    }

    /// The same where `renew` gives the bytes of the next turn of a queue whose last one is over. Both see `state`.
    pub(super) fn next_with<S, T>(
        &mut self,
        state: &mut S,
        mut renew: impl FnMut(&mut S, u32) -> i64,
        mut take: impl FnMut(&mut S, u32) -> Option<(T, Bytes)>,
    ) -> Option<T> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let turn = &mut self.turns[index as usize];
            if turn.deficit <= 0 {
                turn.deficit += renew(state, index);
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            if let Some((sent, size)) = take(state, index) {
                turn.deficit -= size.get() as i64;
                return Some(sent);
            }
            list.pop_front();
            // A new queue that is empty takes a turn among the old ones, so that it cannot come back before their turn.
            if from_new && !self.forgets && !self.old.is_empty() {
                self.old.push_back(index);
            } else {
                turn.listed = false;
            }
        }
    }
}

/// The queue of a flow.
#[derive(Debug)]
pub(super) struct Waiting<P> {
    packets: VecDeque<(P, Time)>,
    bytes: Bytes,
}

impl<P> Default for Waiting<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: Bytes::ZERO }
    }
}

impl<P: Packet> Waiting<P> {
    pub(super) fn push(&mut self, now: Time, packet: P) {
        self.bytes += packet.size();
        self.packets.push_back((packet, now));
    }

    pub(super) fn pop(&mut self) -> Option<(P, Time)> {
        let (packet, arrived) = self.packets.pop_front()?;
        self.bytes = self.bytes - packet.size();
        Some((packet, arrived))
    }

    /// The packet in `place`.
    pub(super) fn get(&self, place: usize) -> Option<&P> {
        self.packets.get(place).map(|(packet, _)| packet)
    }

    /// The packet in `place` leaves.
    pub(super) fn remove(&mut self, place: usize) -> Option<P> {
        let (packet, _) = self.packets.remove(place)?;
        self.bytes = self.bytes - packet.size();
        Some(packet)
    }

    /// How long the first has waited.
    pub(super) fn since(&self) -> Option<Time> {
        self.packets.front().map(|&(_, arrived)| arrived)
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(super) fn packets(&self) -> usize {
        self.packets.len()
    }
}

/// Spreads `x` over 64 bits (the finalizer of SplitMix64, Steele, Lea and Flood 2014).
const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Parcel;

    #[test]
    fn the_longest_queue_is_the_first_of_equals() {
        let mut turns = Turns::new(4, Bytes::new(1500));
        turns.list(3);
        turns.list(1);
        let length = |index: u32| Bytes::new([0, 500, 0, 500][index as usize]);
        assert_eq!(turns.longest(2, length), (1, Bytes::new(500)));
        turns.clear();
        assert_eq!(turns.longest(2, length), (2, Bytes::ZERO));
    }

    #[test]
    fn a_turn_ends_with_the_quantum() {
        let mut turns = Turns::new(2, Bytes::new(1500));
        turns.list(0);
        turns.list(1);
        let mut order = Vec::new();
        for _ in 0..6 {
            turns.pop(|index| {
                order.push(index);
                Some(Served { packet: Parcel::of(index, 1000), arrived: Time::ZERO, marked: false })
            });
        }
        // Two of 1000 bytes leave 500 of debt: 1000 bytes are left of the next turn, then 1500 again.
        assert_eq!(order, [0, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn a_packet_that_does_not_wait_counts_in_the_turn_of_its_queue() {
        let first = |size| {
            let mut turns = Turns::new(2, Bytes::new(1500));
            [0, 1].into_iter().for_each(|index| turns.list(index));
            turns.spend(0, Bytes::new(size));
            let served = |index| Some(Served { packet: Parcel::of(index, 1000), arrived: Time::ZERO, marked: false });
            turns.pop(served).map(|served| served.packet.flow)
        };
        assert_eq!([1499, 1500].map(first), [Some(0), Some(1)]);
    }

    #[test]
    fn of_equals_the_lowest_number_is_the_longest_wherever_it_stands() {
        let mut turns = Turns::new(4, Bytes::new(1500));
        [1, 3, 0].into_iter().for_each(|index| turns.list(index));
        let length = |index: u32| Bytes::new([400, 500, 500, 500][index as usize]);
        assert_eq!(turns.longest(3, length), (1, Bytes::new(500)));
        assert_eq!(turns.longest(2, length), (1, Bytes::new(500)));
        assert_eq!(turns.longest(0, |index| Bytes::new(u64::from(index))), (3, Bytes::new(3)));
    }

    #[test]
    fn an_empty_new_queue_takes_a_turn_among_the_old_ones_unless_it_is_forgotten() {
        for (forgets, listed) in [(false, vec![0, 1]), (true, vec![0])] {
            let turns = Turns::new(2, Bytes::new(1000));
            let mut turns = if forgets { turns.forgetting() } else { turns };
            let one = |index| Some(Served { packet: Parcel::of(index, 1000), arrived: Time::ZERO, marked: false });
            turns.list(0);
            // The first turn of 0 is over, so it is old. 1 is new and empty.
            turns.pop(one);
            turns.list(1);
            let served = turns.pop(|index| if index == 0 { one(0) } else { None });
            assert_eq!(served.map(|served| served.packet.flow), Some(0));
            let mut all: Vec<u32> = turns.listed().collect();
            all.sort_unstable();
            assert_eq!(all, listed);
            assert_eq!((turns.is_listed(0), turns.is_listed(1)), (true, !forgets));
        }
    }

    #[test]
    fn the_hash_is_the_finalizer_of_split_mix() {
        // The first numbers that SplitMix64 draws with the seed 1234567, as its authors' program prints them.
        let drawn = [1, 2, 3].map(|n: u64| mix(1_234_567_u64.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
