//! The state of a sender at any moment, as `TCP_INFO` of Linux gives it, and the calls of an interactive application.

use control::Controller;
use units::{SenderCounters, Span, Time};

use super::Sender;
use crate::tcp::repair::Phase;

/// The state of a sender, in the terms of `TCP_INFO`. Counts are segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// Its phase (`tcpi_ca_state`).
    pub phase: Phase,
    /// Segments that may be in flight: the window, or the limit of the reduction under way (`tcpi_snd_cwnd`).
    pub window: u32,
    /// The slow-start threshold, infinite before the first reduction (`tcpi_snd_ssthresh`).
    pub threshold: f64,
    /// Segments in flight (pipe).
    pub in_flight: u32,
    /// Sent and not acknowledged cumulatively (`tcpi_unacked`).
    pub outstanding: u32,
    /// Outstanding segments that were SACKed, or without SACK announced by duplicate ACKs (`tcpi_sacked`).
    pub sacked: u32,
    /// Outstanding segments deemed lost, sent again or not (`tcpi_lost`).
    pub lost: u32,
    /// Retransmissions in flight (`tcpi_retrans`).
    pub retransmissions: u32,
    /// All retransmissions so far (`tcpi_total_retrans`).
    pub total_retransmissions: u64,
    /// DupThresh (`tcpi_reordering`).
    pub reordering: u32,
    /// How often the path was seen to reorder (`tcpi_reord_seen`).
    pub reorderings: u32,
    /// Timeouts in a row (`tcpi_backoff`).
    pub backoff: u32,
    /// Segments delivered (`tcpi_delivered`).
    pub delivered: u64,
    /// The retransmission timeout, back-off included (`tcpi_rto`).
    pub timeout: Span,
    /// The smoothed RTT (`tcpi_rtt`), zero before the first sample.
    pub smoothed_rtt: Span,
    /// Its mean deviation (`tcpi_rttvar`).
    pub rtt_variation: Span,
    /// The smallest RTT (`tcpi_min_rtt`), if there was one.
    pub minimum_rtt: Option<Span>,
}

impl Sender {
    /// The controller, for its window, threshold and probes.
    pub fn controller(&self) -> &dyn Controller {
        self.driver.controller()
    }

    /// The phase of the sender.
    pub fn phase(&self) -> Phase {
        self.repair.phase()
    }

    /// Counters since the start, without times.
    pub fn counters(&self) -> SenderCounters {
        let counters = self.repair.counters();
        let data_packets = self.flight.next() + counters.retransmitted_packets;
        SenderCounters { data_packets, lost_packets: self.flight.lost(), ..counters }
    }

    /// The same with the times until `now`.
    pub fn counters_until(&self, now: Time) -> SenderCounters {
        let times = self.output.times(now);
        SenderCounters {
            busy_us: times.busy.as_nanos() / 1000,
            app_limited_us: times.application.as_nanos() / 1000,
            rwnd_limited_us: times.receiver.as_nanos() / 1000,
            sndbuf_limited_us: times.send_buffer.as_nanos() / 1000,
            ..self.counters()
        }
    }

    /// Segments in flight (pipe).
    pub fn in_flight(&self) -> u32 {
        self.flight.in_flight()
    }

    /// Everything below this number is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.flight.first()
    }

    /// The latest, the smoothed and the smallest RTT, once there is a sample.
    pub fn round_trip_times(&self) -> Option<[Span; 3]> {
        let rtt = self.flight.rtt();
        (rtt.minimum != Span::MAX).then_some([rtt.latest, rtt.smoothed, self.flight.shortest()])
    }

    /// The state at this moment. Valid once nothing more leaves.
    pub fn state(&self) -> SenderState {
        let (flight, rtt) = (&self.flight, self.flight.rtt());
        SenderState {
            phase: self.repair.phase(),
            window: self.repair.limit(self.driver.window()),
            threshold: self.driver.controller().slow_start_threshold(),
            in_flight: flight.in_flight(),
            outstanding: flight.outstanding(),
            sacked: flight.sacked_count(),
            lost: flight.lost_count(),
            retransmissions: flight.retransmitted_count(),
            total_retransmissions: self.repair.counters().retransmitted_packets,
            reordering: flight.threshold(),
            reorderings: flight.reorderings(),
            backoff: rtt.backoff.into(),
            delivered: flight.delivered(),
            timeout: flight.timeout(&self.stack.timers),
            smoothed_rtt: rtt.smoothed,
            rtt_variation: rtt.variation,
            minimum_rtt: Some(flight.shortest()).filter(|&rtt| rtt != Span::MAX),
        }
    }

    /// An [interactive](crate::Application::Interactive) or [relayed](crate::Application::Relayed) application has
    /// written `total` segments in all. Afterwards poll what to transmit.
    pub fn note_written(&mut self, total: u64) {
        self.backlog.note_written(total);
    }

    /// A small segment beyond those written waits for the ACK of another (Nagle's algorithm, RFC 9293, section 3.7.4),
    /// or none does. A tail loss probe sends it, and so does the test of a timeout (F-RTO).
    pub fn note_held(&mut self, holds: bool) {
        self.backlog.hold_small(holds);
    }

    /// Segments of the longest train that leaves now.
    pub fn longest_train(&mut self) -> u32 {
        let room = self.driver_room();
        self.output.longest_train(&room)
    }

    /// The receive window ends within the last of its segments, or not: that one alone fills no train.
    pub fn note_part(&mut self, part: bool) {
        self.output.note_part(part);
    }

    /// A packet without data leaves.
    pub fn note_packet(&mut self, now: Time) {
        self.output.note_packet(now);
    }

    /// When a timer expires that is set at `now` for `wait`, by the clock of the host.
    pub fn expiry(&self, now: Time, wait: Span) -> Time {
        self.repair.expiry(now, wait, &self.stack)
    }

    /// The receive window changed, to `segments`, with a packet that is no acknowledgement otherwise. Afterwards poll
    /// what to transmit.
    pub fn note_receive_window(&mut self, segments: u32) {
        self.output.set_peer_window(segments);
    }
}
