//! A Snoop agent (Balakrishnan, Seshan, Amir, Katz 1995, and Edwan 2010, section 3.2) sits at the border between wired
//! and wireless links. It repairs losses of the wireless link, and hides them from the sender.
//!
//! | rule | here |
//! | --- | --- |
//! | every data packet towards the wireless link is cached | [`Snoop::on_data`] |
//! | duplicate ACK for a cached packet: retransmitted locally, the ACK is discarded | [`Snoop::on_ack`] |
//! | new ACK: the cache is cleaned, the wireless RTT updated, the ACK forwarded | [`Snoop::on_ack`] |
//! | holes that the cache can fill are taken out of SACK blocks | [`Verdict::ForwardWithoutSack`] |
//! | duplicate ACK for a packet that is not cached: forwarded | [`Snoop::on_ack`] |
//! | an ACK that reports a packet that came twice (D-SACK) shows no loss: discarded | [`Snoop::on_ack`] |
//! | the sender sends again what has arrived: the answer is forwarded | [`Snoop::on_data`] |
//! | the oldest packet is retransmitted after twice the smoothed wireless RTT | [`Snoop::on_timeout`] |
//!
//! The agent is older than SACK, so its treatment of the blocks is ours: a sender that saw them would repair a second
//! loss of one round trip by itself. One duplicate ACK is enough, as the link keeps packets in order. The same packet
//! is retransmitted for duplicate ACKs no more than once a wireless RTT: the ones that follow are of the same loss.

use std::collections::VecDeque;

use units::{Span, Time};

/// Fate of an ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict<P> {
    /// It goes on to the sender.
    Forward,
    /// It goes on without its SACK blocks: the packet that they show to be missing is in the cache.
    ForwardWithoutSack,
    /// The sender does not see it.
    Discard,
    /// The sender does not see it, and this packet leaves again.
    Retransmit(P),
}

/// A data packet on its way across the wireless link.
#[derive(Clone, Copy, Debug)]
struct Cached<P> {
    sequence: u64,
    packet: P,
    sent_at: Time,
    /// It left again from here, or came again from the sender: its RTT is ambiguous (Karn's rule).
    again: bool,
}

/// The agent of one connection, for packets of type `P`.
#[derive(Clone, Debug)]
pub struct Snoop<P> {
    /// Segments not acknowledged yet, in order.
    cache: VecDeque<Cached<P>>,
    /// The highest cumulative ACK seen.
    acknowledged_to: u64,
    /// The smoothed RTT of the wireless link, or zero before the first sample.
    rtt: Span,
    /// No local timeout is shorter.
    timeout_min: Span,
    /// The sender has retransmitted acknowledged data: an ACK was lost on its way to it.
    asked: bool,
    /// When the oldest packet is retransmitted, or [`Time::NEVER`] if the cache is empty.
    deadline: Time,
}

impl<P: Copy> Snoop<P> {
    /// An agent that has seen nothing, with local timeouts of at least `timeout_min`.
    pub fn new(timeout_min: Span) -> Self {
        Self {
            cache: VecDeque::new(),
            acknowledged_to: 0,
            rtt: Span::ZERO,
            timeout_min,
            asked: false,
            deadline: Time::NEVER,
        }
    }

    /// Data packet `sequence` passes towards the wireless link.
    pub fn on_data(&mut self, now: Time, sequence: u64, packet: P) {
        if sequence < self.acknowledged_to {
            self.asked = true;
            return;
        }
        let place = self.cache.partition_point(|cached| cached.sequence < sequence);
        match self.cache.get_mut(place).filter(|cached| cached.sequence == sequence) {
            Some(cached) => (cached.packet, cached.sent_at, cached.again) = (packet, now, true),
            None => self.cache.insert(place, Cached { sequence, packet, sent_at: now, again: false }),
        }
        if self.deadline == Time::NEVER {
            self.restart_timer(now);
        }
    }

    /// An ACK from the wireless link arrives: everything below `cumulative` has arrived there. One that is not above
    /// all before it is a duplicate. `came_twice` says that it reports a packet that had arrived before.
    pub fn on_ack(&mut self, now: Time, cumulative: u64, came_twice: bool) -> Verdict<P> {
        if cumulative > self.acknowledged_to {
            self.clean(now, cumulative);
            let cached = self.cache.front().is_some_and(|oldest| oldest.sequence == cumulative);
            return if cached { Verdict::ForwardWithoutSack } else { Verdict::Forward };
        }
        if std::mem::take(&mut self.asked) {
            return Verdict::Forward;
        }
        if came_twice {
            return Verdict::Discard;
        }
        let rtt = self.rtt;
        match self.cache.front_mut().filter(|oldest| oldest.sequence == cumulative) {
            Some(oldest) if oldest.again && now.since(oldest.sent_at) < rtt => Verdict::Discard,
            Some(oldest) => {
                (oldest.sent_at, oldest.again) = (now, true);
                let packet = oldest.packet;
                self.restart_timer(now);
                Verdict::Retransmit(packet)
            }
            None => Verdict::Forward,
        }
    }

    /// When the oldest packet is retransmitted, if nothing comes meanwhile.
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// A deadline has come: the packet that leaves again, if it is still the one.
    pub fn on_timeout(&mut self, now: Time) -> Option<P> {
        if now < self.deadline {
            return None;
        }
        let oldest = self.cache.front_mut()?;
        (oldest.sent_at, oldest.again) = (now, true);
        let packet = oldest.packet;
        self.restart_timer(now);
        Some(packet)
    }

    /// Everything below `cumulative` has arrived.
    fn clean(&mut self, now: Time, cumulative: u64) {
        self.acknowledged_to = cumulative;
        let (mut repaired, mut newest) = (false, None);
        while let Some(cached) = self.cache.front().filter(|cached| cached.sequence < cumulative).copied() {
            self.cache.pop_front();
            repaired |= cached.again;
            newest = Some(cached.sent_at);
        }
        // Behind a packet that left again the others have waited for it, too.
        if let Some(sent_at) = newest.filter(|_| !repaired) {
            let sample = now.since(sent_at);
            self.rtt = if self.rtt.is_zero() { sample } else { (self.rtt * 7 + sample) / 8 };
        }
        self.restart_timer(now);
    }

    fn restart_timer(&mut self, now: Time) {
        self.deadline = Time::NEVER;
        if !self.cache.is_empty() && !self.rtt.is_zero() {
            self.deadline = now + (self.rtt * 2).max(self.timeout_min);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// An agent through which packets 0 to 4 have passed, one each ms from 0 on. 0 was acknowledged after 20 ms.
    fn agent() -> Snoop<&'static str> {
        let mut snoop = Snoop::new(Span::ZERO);
        for (sequence, packet) in (0..).zip(["a", "b", "c", "d", "e"]) {
            snoop.on_data(at(sequence), sequence, packet);
        }
        assert_eq!(snoop.on_ack(at(20), 1, false), Verdict::ForwardWithoutSack);
        snoop
    }

    #[test]
    fn a_duplicate_ack_brings_the_packet_again_and_the_next_ones_vanish() {
        let mut snoop = agent();
        assert_eq!(snoop.on_ack(at(22), 1, false), Verdict::Retransmit("b"));
        assert_eq!(snoop.on_ack(at(23), 1, false), Verdict::Discard);
        assert_eq!(snoop.on_ack(at(41), 1, false), Verdict::Discard);
        assert_eq!(
            snoop.on_ack(at(42), 1, false),
            Verdict::Retransmit("b"),
            "lost again: a wireless RTT of 20 ms is over"
        );
        assert_eq!(snoop.on_ack(at(62), 5, false), Verdict::Forward);
        assert_eq!(snoop.poll_timeout(), None, "nothing is cached");
    }

    #[test]
    fn a_duplicate_ack_for_what_never_came_here_goes_to_the_sender() {
        let mut snoop = agent();
        snoop.on_ack(at(24), 5, false);
        // Packet 5 was lost before the agent.
        snoop.on_data(at(25), 6, "g");
        assert_eq!(snoop.on_ack(at(45), 5, false), Verdict::Forward);
    }

    #[test]
    fn after_twice_the_wireless_rtt_the_oldest_packet_leaves_again() {
        let mut snoop = agent();
        assert_eq!(snoop.poll_timeout(), Some(at(60)));
        assert_eq!(snoop.on_timeout(at(59)), None);
        assert_eq!(snoop.on_timeout(at(60)), Some("b"));
        assert_eq!(snoop.poll_timeout(), Some(at(100)));
    }

    #[test]
    fn what_left_again_gives_no_sample_of_the_rtt_nor_what_waited_for_it() {
        let mut snoop = agent();
        snoop.on_ack(at(22), 1, false);
        snoop.on_ack(at(90), 5, false);
        assert_eq!(snoop.rtt, Span::from_millis(20));
        snoop.on_data(at(95), 5, "f");
        snoop.on_data(at(96), 6, "g");
        snoop.on_ack(at(125), 6, false);
        // (7 * 20 + 30)/8 = 21.25 ms, and twice as long from 125 ms on.
        assert_eq!(snoop.rtt, Span::from_micros(21_250));
        assert_eq!(snoop.poll_timeout(), Some(at(125) + Span::from_micros(42_500)));
    }

    #[test]
    fn an_ack_for_a_packet_that_came_twice_tells_of_no_loss() {
        let mut snoop = agent();
        assert_eq!(snoop.on_ack(at(22), 1, true), Verdict::Discard);
        assert_eq!(snoop.on_ack(at(23), 1, false), Verdict::Retransmit("b"));
    }

    #[test]
    fn a_sender_that_missed_an_ack_gets_it_when_it_sends_again() {
        let mut snoop = agent();
        snoop.on_data(at(300), 0, "a");
        assert_eq!(snoop.on_ack(at(320), 1, true), Verdict::Forward);
        assert_eq!(snoop.on_ack(at(321), 1, true), Verdict::Discard);
    }

    #[test]
    fn a_packet_that_comes_again_from_the_sender_takes_the_place_of_the_first() {
        let mut snoop = agent();
        snoop.on_data(at(30), 1, "b again");
        assert_eq!(snoop.cache.iter().map(|cached| cached.sequence).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(snoop.poll_timeout(), Some(at(60)), "the timer goes on");
        // Its copy has been under way for less than the wireless RTT of 20 ms, then for as long.
        assert_eq!(snoop.on_ack(at(49), 1, false), Verdict::Discard);
        assert_eq!(snoop.on_ack(at(50), 1, false), Verdict::Retransmit("b again"));
        assert_eq!(snoop.poll_timeout(), Some(at(90)));
        // It gives no sample of the RTT.
        snoop.on_ack(at(95), 5, false);
        assert_eq!(snoop.rtt, Span::from_millis(20));
    }

    #[test]
    fn packets_are_cached_in_order_and_the_timer_starts_with_the_first() {
        let mut snoop = agent();
        snoop.on_ack(at(40), 5, false);
        // `(7 x 20 + 36)/8 = 22` ms: 4 left at 4 ms.
        assert_eq!((snoop.rtt, snoop.poll_timeout()), (Span::from_millis(22), None));
        snoop.on_data(at(50), 7, "h");
        snoop.on_data(at(51), 6, "g");
        assert_eq!(snoop.cache.iter().map(|cached| cached.sequence).collect::<Vec<_>>(), [6, 7]);
        assert_eq!(snoop.poll_timeout(), Some(at(94)));
        let mut patient = Snoop::new(Span::from_millis(100));
        patient.on_data(at(0), 0, "a");
        assert_eq!(patient.poll_timeout(), None, "the RTT is not known");
        patient.on_data(at(0), 1, "b");
        patient.on_ack(at(20), 1, false);
        assert_eq!(patient.poll_timeout(), Some(at(120)), "no timeout is shorter than 100 ms");
    }
}
