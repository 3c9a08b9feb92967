//! Packets in flight, as the ledger of a connection has them: numbered without gaps, whatever numbers noq gives them.

use std::collections::VecDeque;

use control::{RateSample, SegmentReport, SentState};
use transport::{DeliveryRate, DeliveryState};
use units::{Span, Time};

/// A packet that asks for an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Its number in QUIC.
    packet_number: u64,
    /// Its number in the ledger.
    pub(crate) sequence: u64,
    pub(crate) at: Time,
    size: u16,
    delivery: DeliveryState,
    lost: u64,
    in_flight: u32,
    settled: bool,
}

/// The packets of one connection that are neither acknowledged nor lost, and their fate.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    /// From the oldest outstanding one on.
    packets: VecDeque<Sent>,
    next: u64,
    in_flight: u32,
    lost: u64,
    largest: Option<u64>,
    delivery: DeliveryRate,
}

impl Flight {
    /// A packet of `size` bytes leaves, which QUIC numbers `packet_number`. Returns whether it counts. A retransmission
    /// of the handshake has a smaller number than earlier packets, and does not count.
    pub(crate) fn push(&mut self, now: Time, packet_number: u64, size: u16) -> bool {
        if self.packets.back().is_some_and(|last| packet_number <= last.packet_number) {
            return false;
        }
        if self.in_flight == 0 {
            self.delivery.restart(now);
        }
        self.in_flight += 1;
        self.packets.push_back(Sent {
            packet_number,
            sequence: self.next,
            at: now,
            size,
            delivery: self.delivery.state(),
            lost: self.lost,
            in_flight: self.in_flight,
            settled: false,
        });
        self.next += 1;
        true
    }

    /// The outstanding packet that QUIC numbers `packet_number`.
    fn find(&mut self, packet_number: u64) -> Option<&mut Sent> {
        let ahead = packet_number.checked_sub(self.packets.front()?.packet_number)?;
        // Numbers that QUIC has left out bring it nearer to the front.
        let mut index = (ahead as usize).min(self.packets.len() - 1);
        while index > 0 && self.packets[index].packet_number > packet_number {
            index -= 1;
        }
        self.packets.get_mut(index).filter(|sent| sent.packet_number == packet_number && !sent.settled)
    }

    /// Packet `packet_number`, which left at `at`, is acknowledged.
    pub(crate) fn acknowledge(&mut self, packet_number: u64, at: Time) -> Option<Sent> {
        let sent = self.find(packet_number).filter(|sent| sent.at == at)?;
        sent.settled = true;
        let sent = *sent;
        self.in_flight -= 1;
        Some(sent)
    }

    /// Packet `packet_number` of `size` bytes is deemed lost.
    pub(crate) fn lose(&mut self, packet_number: u64, size: u16) -> Option<Sent> {
        let sent = self.find(packet_number).filter(|sent| sent.size == size)?;
        sent.settled = true;
        let sent = *sent;
        self.in_flight -= 1;
        self.lost += 1;
        Some(sent)
    }

    /// Packets of `newest` and before were acknowledged, `count` in all: the delivery rate, and whether `newest` is
    /// the newest so far.
    pub(crate) fn deliver(
        &mut self,
        now: Time,
        newest: &Sent,
        count: u32,
        shortest: Span,
    ) -> (Option<RateSample>, bool) {
        while self.packets.front().is_some_and(|sent| sent.settled) {
            self.packets.pop_front();
        }
        self.delivery.on_delivered(now, count);
        let sample = self.delivery.sample(now, &newest.delivery, newest.at, shortest);
        let is_newest = self.largest.is_none_or(|largest| newest.sequence > largest);
        if is_newest {
            self.largest = Some(newest.sequence);
        }
        (sample, is_newest)
    }

    /// The application has nothing more to send, with what was delivered so far.
    pub(crate) fn application_limits(&mut self) {
        self.delivery.application_limits(self.in_flight);
    }

    pub(crate) fn is_application_limited(&self) -> bool {
        self.delivery.is_application_limited()
    }

    /// Packets in flight.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The oldest packet that is neither acknowledged nor lost, or the next.
    pub(crate) fn first(&self) -> u64 {
        self.packets.iter().find(|sent| !sent.settled).map_or(self.next, |sent| sent.sequence)
    }

    /// The number of the next packet.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Packets delivered, and packets deemed lost.
    pub(crate) fn totals(&self) -> (u64, u64) {
        (self.delivery.delivered(), self.lost)
    }

    /// The state of the connection when `sent` left.
    pub(crate) fn state(&self, sent: &Sent) -> SentState {
        let (delivered, _) = self.totals();
        let since = (delivered as u32).wrapping_sub(sent.delivery.delivered);
        SentState {
            at: sent.at,
            delivered: delivered - u64::from(since),
            lost: sent.lost,
            marked: 0,
            in_flight: sent.in_flight,
            application_limited: sent.delivery.application_limited,
        }
    }

    /// The report of `sent`, with its RTT if it was delivered.
    pub(crate) fn report(&self, sent: &Sent, rtt: Option<Span>) -> SegmentReport {
        SegmentReport { sequence: sent.sequence, rtt, sent: self.state(sent), ..SegmentReport::EMPTY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn packets_are_found_by_the_numbers_of_quic_though_these_have_gaps() {
        let mut flight = Flight::default();
        for (ms, packet_number) in (0..).zip([3, 4, 7, 8, 12]) {
            assert!(flight.push(at(ms), packet_number, 1200));
        }
        assert!(!flight.push(at(5), 1, 1200), "a copy of what the handshake sent");
        assert!([5, 6, 9, 13, 2].into_iter().all(|unknown| flight.acknowledge(unknown, at(0)).is_none()));
        assert_eq!(flight.acknowledge(8, at(3)).map(|sent| sent.sequence), Some(3));
        // Acknowledged, it is not deemed lost, and neither is another one of this number.
        assert!(flight.lose(8, 1200).is_none() && flight.lose(7, 40).is_none());
        assert_eq!(flight.lose(3, 1200).map(|sent| sent.sequence), Some(0));
        assert_eq!((flight.first(), flight.next(), flight.in_flight()), (1, 5, 3));
    }

    #[test]
    fn the_rate_is_counted_over_the_flight_of_the_newest_packet() {
        let mut flight = Flight::default();
        flight.push(at(0), 0, 1200);
        flight.push(at(10), 1, 1200);
        let first = flight.acknowledge(0, at(0)).unwrap();
        let (rate, newest) = flight.deliver(at(40), &first, 1, Span::ZERO);
        assert_eq!(
            (rate.map(|rate| (rate.delivered, rate.interval)), newest),
            (Some((1, Span::from_millis(40))), true)
        );
        flight.push(at(40), 2, 1200);
        let state = flight.acknowledge(2, at(40)).map(|sent| flight.state(&sent)).unwrap();
        assert_eq!((state.delivered, state.in_flight, state.at), (1, 2, at(40)));
    }

    #[test]
    fn idle_time_before_a_flight_is_none_of_its_interval() {
        let mut flight = Flight::default();
        for begin in [0, 1000] {
            flight.push(at(begin), begin, 1200);
            let sent = flight.acknowledge(begin, at(begin)).unwrap();
            let (rate, _) = flight.deliver(at(begin + 40), &sent, 1, Span::ZERO);
            assert_eq!(rate.map(|rate| (rate.delivered, rate.interval)), Some((1, Span::from_millis(40))), "{begin}");
        }
    }
}
