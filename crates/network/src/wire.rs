//! Propagation: packets under way.

use std::collections::VecDeque;

use units::{Span, Time};

/// A delay line: every packet arrives some time after it left, in the order in which they left.
///
/// The delay may differ from packet to packet; one that would overtake its predecessor arrives together with it. However
/// many packets are under way, only the first needs a wake-up: [`Wire::next_arrival`].
#[derive(Clone, Debug)]
pub struct Wire<P> {
    under_way: VecDeque<(Time, P)>,
    last_arrival: Time,
}

impl<P> Wire<P> {
    /// A wire with nothing on it.
    pub const fn new() -> Self {
        Self { under_way: VecDeque::new(), last_arrival: Time::ZERO }
    }

    /// Sends a packet that leaves at `leaves_at` and arrives `delay` later, but not before the packet sent before it. One
    /// that leaves at [`Time::NEVER`] never arrives, nor does anything behind it.
    #[inline]
    pub fn push(&mut self, leaves_at: Time, delay: Span, packet: P) {
        self.last_arrival = self.last_arrival.max(leaves_at + delay);
        self.under_way.push_back((self.last_arrival, packet));
    }

    /// When the next packet arrives. `None`: none will.
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        self.under_way.front().map(|&(arrival, _)| arrival).filter(|&arrival| arrival != Time::NEVER)
    }

    /// Takes the next packet off the wire, whenever it arrives.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        self.under_way.pop_front().map(|(_, packet)| packet)
    }

    /// Takes the next packet off the wire if it has arrived by `now`.
    #[inline]
    pub fn pop_due(&mut self, now: Time) -> Option<P> {
        if self.next_arrival()? <= now { self.pop() } else { None }
    }

    /// How many packets are under way.
    #[inline]
    pub fn packets(&self) -> usize {
        self.under_way.len()
    }
}

impl<P> Default for Wire<P> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn packets_arrive_one_delay_after_they_leave() {
        let mut wire = Wire::new();
        wire.push(at(1), Span::from_millis(20), 'a');
        wire.push(at(3), Span::from_millis(20), 'b');
        assert_eq!((wire.packets(), wire.next_arrival()), (2, Some(at(21))));
        assert_eq!(wire.pop_due(at(20)), None);
        assert_eq!(wire.pop_due(at(21)), Some('a'));
        assert_eq!(wire.next_arrival(), Some(at(23)));
        assert_eq!((wire.pop(), wire.pop(), wire.next_arrival()), (Some('b'), None, None));
    }

    #[test]
    fn a_shorter_delay_does_not_let_a_packet_overtake() {
        let mut wire = Wire::new();
        wire.push(at(0), Span::from_millis(50), 'a');
        wire.push(at(10), Span::from_millis(20), 'b');
        assert_eq!((wire.pop(), wire.next_arrival(), wire.pop()), (Some('a'), Some(at(50)), Some('b')));
    }

    #[test]
    fn a_packet_that_never_leaves_never_arrives() {
        let mut wire = Wire::new();
        wire.push(Time::NEVER, Span::from_millis(20), 'a');
        wire.push(Time::NEVER, Span::ZERO, 'b');
        assert_eq!((wire.next_arrival(), wire.pop_due(Time::NEVER), wire.packets()), (None, None, 2));
    }
}
