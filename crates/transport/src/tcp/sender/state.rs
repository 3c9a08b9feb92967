//! What an observer may ask of a sender at any moment, as `TCP_INFO` of Linux gives it, and what an interactive
//! application says to it.

use units::Span;

use super::Sender;
use crate::tcp::recovery::Phase;

/// The state of a sender, in the terms of `TCP_INFO`. Counts are segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// What it is going through (`tcpi_ca_state`).
    pub phase: Phase,
    /// Segments that may be in flight: the window, or what the reduction under way allows (`tcpi_snd_cwnd`).
    pub window: u32,
    /// The slow-start threshold; infinite before the first reduction (`tcpi_snd_ssthresh`).
    pub threshold: f64,
    /// Segments in flight (pipe).
    pub in_flight: u32,
    /// Sent and not acknowledged cumulatively (`tcpi_unacked`).
    pub outstanding: u32,
    /// Of these SACKed, or without SACK announced by duplicate ACKs (`tcpi_sacked`).
    pub sacked: u32,
    /// Of these deemed lost, sent again or not (`tcpi_lost`).
    pub lost: u32,
    /// Retransmissions in flight (`tcpi_retrans`).
    pub retransmissions: u32,
    /// All retransmissions so far (`tcpi_total_retrans`).
    pub total_retransmissions: u64,
    /// DupThresh (`tcpi_reordering`).
    pub reordering: u32,
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
    /// The state at this moment. Valid once nothing more leaves.
    pub fn state(&self) -> SenderState {
        SenderState {
            phase: self.recovery.phase(),
            window: self.recovery.limit(self.window),
            threshold: self.controller.slow_start_threshold(),
            in_flight: self.board.in_flight(),
            outstanding: self.board.outstanding(),
            sacked: self.board.sacked_count(),
            lost: self.board.lost_count(),
            retransmissions: self.board.retransmitted_count(),
            total_retransmissions: self.counters.retransmitted,
            reordering: self.reordering.threshold,
            backoff: self.rtt.backoff,
            delivered: self.delivery.delivered(),
            timeout: self.rtt.timeout(&self.stack.timers),
            smoothed_rtt: self.rtt.smoothed,
            rtt_variation: self.rtt.variation,
            minimum_rtt: (self.rtt.minimum != Span::MAX).then_some(self.rtt.minimum),
        }
    }

    /// An [interactive](crate::Application::Interactive) or [relayed](crate::Application::Relayed) application has
    /// written `total` segments in all. Afterwards poll what to transmit.
    pub fn note_written(&mut self, total: u64) {
        self.backlog.note_written(total);
    }

    /// The receive window changed, to `segments`, with a packet that is no acknowledgement otherwise. Afterwards poll
    /// what to transmit.
    pub fn note_receive_window(&mut self, segments: u32) {
        self.peer_window = segments;
    }
}
