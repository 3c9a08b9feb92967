//! Propagation: packets under way.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use prefetch_index::prefetch_index;
use units::{Random, Span, Time};

use crate::Propagation;
use crate::ahead::prefetch_place;
use crate::ring;

/// A delay line: every packet arrives some time after it left, in the order in which they left unless it may overtake.
///
/// The delay may change from packet to packet. A packet that would overtake its predecessor arrives together with it.
/// However many packets are under way, only the first needs a wake-up: [`Wire::next_arrival`].
#[derive(Clone, Debug)]
pub struct Wire<P> {
    /// In the order of their arrivals. If packets may overtake, it has only the next one to arrive.
    under_way: VecDeque<(Time, P)>,
    /// When the first of them arrives, or [`Time::NEVER`] if none does.
    next: Time,
    last_arrival: Time,
    /// The delay in force.
    delay: Span,
    /// From then on a packet takes more thought than appending it: at once where it may overtake, else when the delay
    /// changes.
    plain_until: Time,
    propagation: Propagation,
    /// How many of its steps are past.
    past: usize,
    /// The others, where packets may overtake.
    overtaking: Option<Box<Overtaking<P>>>,
    /// The nanoseconds that the host at its end takes for a packet are drawn below this number, if it takes any.
    host: Option<(f64, Random)>,
}

impl<P> Wire<P> {
    /// A wire with nothing on it. With `overtaking`, a packet whose delay is shorter may arrive before one sent
    /// earlier.
    pub fn new(propagation: Propagation, overtaking: bool) -> Self {
        let changes_at = propagation.later().first().map_or(Time::NEVER, |step| step.0);
        let plain_until = if overtaking { Time::ZERO } else { changes_at };
        let (delay, past) = (propagation.initial(), 0);
        let overtaking = overtaking.then(Box::default);
        Self {
            under_way: VecDeque::new(),
            next: Time::NEVER,
            last_arrival: Time::ZERO,
            delay,
            plain_until,
            propagation,
            past,
            overtaking,
            host: None,
        }
    }

    /// The same wire to a host that takes less than `most` longer for each packet, uniform by `random`. Packets keep
    /// their order.
    ///
    /// # Panics
    /// If `most` is above four seconds.
    #[must_use]
    pub fn to_host(self, most: Span, random: Random) -> Self {
        assert!(most <= Span::from_secs(4), "the time of a host fits into 32 bits of nanoseconds");
        Self { host: Some((most.as_nanos() as f64, random)), ..self }
    }

    /// Sends a packet that leaves at `leaves_at`, not before the one sent before it, and arrives after the delay of
    /// that instant and `extra`. Says whether it is the next to arrive. One that leaves at [`Time::NEVER`] never
    /// arrives, nor does anything behind it.
    #[inline(always)]
    pub fn push(&mut self, leaves_at: Time, mut extra: Span, packet: P) -> bool {
        if let Some((most, random)) = &mut self.host {
            // To 32 bits: a double becomes those in one instruction, and 64 in five.
            extra += Span::from_nanos(u64::from((*most * random.uniform()) as u32));
        }
        if leaves_at >= self.plain_until {
            return self.push_with_care(leaves_at, extra, packet);
        }
        self.append(leaves_at + self.delay + extra, packet)
    }

    #[inline(always)]
    fn append(&mut self, arrival: Time, packet: P) -> bool {
        self.last_arrival = self.last_arrival.max(arrival);
        let first = self.under_way.is_empty();
        if first {
            self.next = self.last_arrival;
        }
        self.under_way.push_back((self.last_arrival, packet));
        first
    }

    #[inline(never)]
    fn push_with_care(&mut self, leaves_at: Time, extra: Span, packet: P) -> bool {
        let later = self.propagation.later();
        while let Some(&(_, delay)) = later.get(self.past).filter(|step| step.0 <= leaves_at) {
            self.delay = delay;
            self.past += 1;
        }
        let arrival = leaves_at + self.delay + extra;
        if let Some(overtaking) = &mut self.overtaking {
            let first = overtaking.push(&mut self.under_way, arrival, packet);
            self.look();
            return first;
        }
        self.plain_until = later.get(self.past).map_or(Time::NEVER, |step| step.0);
        self.append(arrival, packet)
    }

    /// When the next packet arrives. `None`: none will.
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        (self.next != Time::NEVER).then_some(self.next)
    }

    /// Another packet is the first.
    #[inline]
    fn look(&mut self) {
        self.next = self.under_way.front().map_or(Time::NEVER, |&(arrival, _)| arrival);
    }

    /// When the first packet arrives after `instant`. `None`: none will. If packets may overtake, only the next one
    /// is looked at. Takes time for each packet that arrives by `instant`.
    #[inline]
    pub fn arrival_after(&self, instant: Time) -> Option<Time> {
        let later = self.under_way.iter().map(|&(arrival, _)| arrival).find(|&arrival| arrival > instant);
        later.filter(|&arrival| arrival != Time::NEVER)
    }

    /// True if a packet arrives behind the first, and that after `now`: then nothing that has yet to leave arrives by
    /// `now`. If packets may overtake, this is unknown.
    #[inline]
    pub fn is_followed(&self, now: Time) -> bool {
        self.under_way.get(1).is_some_and(|&(arrival, _)| arrival > now)
    }

    /// Takes the next packet off the wire, whenever it arrives.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        if self.overtaking.is_some() {
            return self.pop_overtaking();
        }
        let (_, packet) = self.under_way.pop_front()?;
        self.look();
        Some(packet)
    }

    #[inline(never)]
    fn pop_overtaking(&mut self) -> Option<P> {
        let (_, packet) = self.under_way.pop_front()?;
        if let Some(overtaking) = &mut self.overtaking {
            overtaking.advance(&mut self.under_way);
        }
        self.look();
        Some(packet)
    }

    /// Takes the next packet off the wire if it has arrived by `now`.
    #[inline]
    pub fn pop_due(&mut self, now: Time) -> Option<P> {
        if self.next <= now && self.next != Time::NEVER { self.pop() } else { None }
    }

    /// Takes the next packet off the wire if it arrives before `end`, and says when it does.
    #[inline]
    pub fn pop_before(&mut self, end: Time) -> Option<(Time, P)> {
        let at = self.next;
        if at < end { self.pop().map(|packet| (at, packet)) } else { None }
    }

    /// Hands the packets under way over to `other`, the same wire in another place, behind the packets that are there.
    pub fn hand_over(&mut self, other: &mut Self) {
        if other.overtaking.is_none() {
            let most = self.under_way.len();
            // The smaller part is moved.
            if other.under_way.len() < most {
                while let Some(first) = other.under_way.pop_back() {
                    self.under_way.push_front(first);
                }
                std::mem::swap(&mut self.under_way, &mut other.under_way);
            }
            ring::append_all(&mut other.under_way, &mut self.under_way);
            ring::shrink(&mut self.under_way, most);
        }
        while let Some(overtaking) = &mut other.overtaking
            && let Some(arrival) = self.next_arrival()
            && let Some(packet) = self.pop()
        {
            overtaking.push(&mut other.under_way, arrival, packet);
        }
        self.look();
        other.look();
    }

    /// The packet that arrives after `others` more, or `None` if it is unknown.
    #[inline]
    pub fn ahead(&self, others: usize) -> Option<&P> {
        self.under_way.get(others).map(|(_, packet)| packet)
    }

    /// Lets the processor fetch the packet that arrives after `others` more.
    #[inline]
    pub fn prefetch(&self, others: usize) {
        if let Some(packet) = self.under_way.get(others) {
            prefetch_index(std::slice::from_ref(packet), 0);
        }
    }

    /// Lets the processor fetch the place of the packet that leaves after `others` more.
    #[inline]
    pub fn prefetch_place(&self, others: usize) {
        prefetch_place(&self.under_way, others);
    }

    /// How many packets are under way.
    #[inline]
    pub fn packets(&self) -> usize {
        self.under_way.len() + self.overtaking.as_ref().map_or(0, |overtaking| overtaking.later.len())
    }
}

/// Packets under way that may overtake each other, but for the next one to arrive.
#[derive(Clone, Debug)]
struct Overtaking<P> {
    later: BinaryHeap<Numbered<P>>,
    /// The number of the next one to arrive.
    next: u64,
    /// How many have left.
    left: u64,
}

impl<P> Default for Overtaking<P> {
    fn default() -> Self {
        Self { later: BinaryHeap::new(), next: 0, left: 0 }
    }
}

impl<P> Overtaking<P> {
    /// Behind all that arrive no later. True if it is `next`, which holds one packet at most.
    #[inline(never)]
    fn push(&mut self, next: &mut VecDeque<(Time, P)>, arrival: Time, packet: P) -> bool {
        let number = self.left;
        self.left += 1;
        if next.front().is_some_and(|first| first.0 <= arrival) {
            self.later.push(Numbered { arrival, number, packet });
            return false;
        }
        if let Some((arrival, packet)) = next.pop_front() {
            self.later.push(Numbered { arrival, number: self.next, packet });
        }
        next.push_back((arrival, packet));
        self.next = number;
        true
    }

    /// The one that was `next` has arrived.
    #[inline(never)]
    fn advance(&mut self, next: &mut VecDeque<(Time, P)>) {
        if let Some(Numbered { arrival, number, packet }) = self.later.pop() {
            next.push_back((arrival, packet));
            self.next = number;
        }
    }
}

/// A packet under way. The greatest arrives first. If several arrive together, the greatest is the one that left first.
#[derive(Clone, Debug)]
struct Numbered<P> {
    arrival: Time,
    number: u64,
    packet: P,
}

impl<P> Ord for Numbered<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival, other.number).cmp(&(self.arrival, self.number))
    }
}

impl<P> PartialOrd for Numbered<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Numbered<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for Numbered<P> {}

#[cfg(test)]
mod tests {

    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn at(millis: u64) -> Time {
        Time::ZERO + MS(millis)
    }

    /// Everything on the wire, in the order of arrival, with the arrivals in ms.
    fn arrivals(mut wire: Wire<char>) -> Vec<(char, u64)> {
        let mut found = Vec::new();
        while let Some(arrival) = wire.next_arrival() {
            found.push((wire.pop().unwrap(), arrival.since(Time::ZERO).as_nanos() / 1_000_000));
        }
        found
    }

    #[test]
    fn packets_arrive_one_delay_after_they_leave() {
        let mut wire = Wire::new(MS(20).into(), false);
        assert!(wire.push(at(1), Span::ZERO, 'a'));
        assert!(!wire.push(at(3), Span::ZERO, 'b'));
        assert_eq!((wire.packets(), wire.next_arrival()), (2, Some(at(21))));
        assert_eq!([20, 21, 23].map(|t| wire.arrival_after(at(t))), [Some(at(21)), Some(at(23)), None]);
        assert_eq!(wire.pop_due(at(20)), None);
        assert_eq!(wire.pop_due(at(21)), Some('a'));
        assert_eq!(wire.next_arrival(), Some(at(23)));
        assert_eq!((wire.pop(), wire.pop(), wire.next_arrival()), (Some('b'), None, None));
    }

    #[test]
    fn a_packet_that_arrives_at_the_end_is_not_before_it() {
        let mut wire = Wire::new(MS(20).into(), false);
        assert!(wire.push(at(1), Span::ZERO, 'a') && !wire.push(at(1), Span::ZERO, 'b'));
        assert_eq!(wire.pop_before(at(21)), None);
        assert_eq!(wire.pop_before(at(22)), Some((at(21), 'a')));
        assert_eq!(wire.pop_before(Time::NEVER), Some((at(21), 'b')));
        assert_eq!(wire.pop_before(Time::NEVER), None, "nothing is under way");
    }

    /// 50 ms, from 10 ms on 20 ms, from 100 ms on 60 ms.
    fn changing(overtaking: bool) -> Wire<char> {
        let mut wire = Wire::new(Propagation::steps(MS(50), [(at(10), MS(20)), (at(100), MS(60))]), overtaking);
        let first: Vec<bool> =
            [(0, 'a'), (9, 'b'), (10, 'c'), (45, 'd'), (100, 'e')].map(|(t, p)| wire.push(at(t), Span::ZERO, p)).into();
        assert_eq!(first, [true, false, overtaking, false, false]);
        wire
    }

    #[test]
    fn packets_under_way_keep_their_delay_and_a_shorter_one_does_not_let_a_packet_overtake() {
        assert_eq!(arrivals(changing(false)), [('a', 50), ('b', 59), ('c', 59), ('d', 65), ('e', 160)]);
    }

    #[test]
    fn a_shorter_delay_lets_a_packet_overtake_where_that_is_allowed() {
        assert_eq!(arrivals(changing(true)), [('c', 30), ('a', 50), ('b', 59), ('d', 65), ('e', 160)]);
    }

    #[test]
    fn extra_delay_is_of_one_packet_and_equal_arrivals_keep_their_order() {
        for (overtaking, expected) in
            [(false, [('a', 25), ('b', 25), ('c', 25)]), (true, [('b', 22), ('c', 23), ('a', 25)])]
        {
            let mut wire = Wire::new(MS(20).into(), overtaking);
            for (packet, leaves, extra) in [('a', 0, 5), ('b', 1, 1), ('c', 3, 0)] {
                wire.push(at(leaves), MS(extra), packet);
            }
            assert_eq!(arrivals(wire), expected);
        }
        let mut wire = Wire::new(MS(20).into(), true);
        wire.push(at(0), MS(2), 'a');
        wire.push(at(1), MS(1), 'b');
        assert_eq!(arrivals(wire), [('a', 22), ('b', 22)]);
    }

    #[test]
    fn of_many_packets_that_overtake_the_earliest_arrives_first_and_of_equals_the_one_that_left_first() {
        let mut random = Random::stream(1, "test", 0);
        let mut wire = Wire::new(Span::ZERO.into(), true);
        // A plain list to compare with: each packet goes behind all that arrive no later.
        let mut list: Vec<(Time, u32)> = Vec::new();
        for packet in 0..20_000u32 {
            let now = at(u64::from(packet / 4));
            let extra = MS((random.uniform() * 500.0) as u64);
            let place = list.partition_point(|&(arrival, _)| arrival <= now + extra);
            list.insert(place, (now + extra, packet));
            assert_eq!(wire.push(now, extra, packet), place == 0);
            while let Some(arrived) = wire.pop_due(now) {
                assert_eq!(arrived, list.remove(0).1);
            }
            assert_eq!((wire.packets(), wire.next_arrival()), (list.len(), list.first().map(|&(arrival, _)| arrival)));
        }
        let rest: Vec<u32> = std::iter::from_fn(|| wire.pop()).collect();
        assert!(rest.len() > 500, "{}", rest.len());
        assert_eq!(rest, list.iter().map(|&(_, packet)| packet).collect::<Vec<_>>());
    }

    #[test]
    fn a_packet_that_never_leaves_never_arrives() {
        for overtaking in [false, true] {
            let mut wire = Wire::new(Propagation::steps(MS(20), [(at(1), MS(0))]), overtaking);
            wire.push(Time::NEVER, Span::ZERO, 'a');
            wire.push(Time::NEVER, MS(1), 'b');
            assert_eq!((wire.next_arrival(), wire.pop_due(Time::NEVER), wire.packets()), (None, None, 2));
        }
    }

    #[test]
    fn what_is_handed_over_arrives_behind_what_is_there_whichever_is_more() {
        for (there, more) in [(0, 3), (1, 3), (3, 1), (3, 0)] {
            let mut here = Wire::new(MS(20).into(), false);
            let mut other = Wire::new(MS(20).into(), false);
            let packets: Vec<char> = ('a'..).take(there + more).collect();
            for (millis, &packet) in (0..).zip(&packets) {
                here.push(at(millis), Span::ZERO, packet);
                if millis + 1 == there as u64 {
                    here.hand_over(&mut other);
                }
            }
            here.hand_over(&mut other);
            assert_eq!((here.packets(), here.next_arrival()), (0, None));
            assert_eq!(arrivals(other), packets.into_iter().zip(20..).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_host_takes_its_time_for_each_packet_and_keeps_their_order() {
        let random = Random::stream(1, "test", 0);
        let mut wire = Wire::new(Propagation::steps(MS(20), [(at(500), MS(30))]), false).to_host(MS(10), random);
        for ms in 0..1000 {
            wire.push(at(ms), Span::ZERO, ms);
        }
        let mut late = Vec::new();
        for ms in 0..1000u64 {
            let arrival = wire.next_arrival().unwrap();
            assert_eq!(wire.pop(), Some(ms));
            late.push(arrival.since(at(ms + if ms < 500 { 20 } else { 30 })).as_millis_f64());
        }
        assert!(late.iter().all(|late| (0.0..10.0).contains(late)));
        // Of up to ten packets behind each other one waits for the slowest.
        let mean = late.iter().sum::<f64>() / 1000.0;
        assert!((5.5..8.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_wire_tells_whether_another_packet_follows_the_first() {
        let mut wire = Wire::new(MS(20).into(), false);
        assert!(!wire.is_followed(at(0)));
        wire.push(at(1), Span::ZERO, 'a');
        assert!(!wire.is_followed(at(0)));
        wire.push(at(3), Span::ZERO, 'b');
        assert_eq!([22, 23].map(|now| wire.is_followed(at(now))), [true, false]);
    }
}
