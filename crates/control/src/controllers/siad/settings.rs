//! The parameters of SIAD.

use units::Span;

use crate::parameters::{choices, parameters};
use crate::range::from;

/// No epoch is shorter, in RTTs.
pub(super) const MIN_RTTS: u32 = 2;

choices! {
    /// The addition to the window at the loss that gives the next target.
    pub enum Trend {
        /// By how much the window at the loss rose since the loss before (5).
        Paper = Word("paper"),
        /// Nothing: sharing is stable, but does not converge (section III.B).
        None = Word("none"),
        /// A random number: any deviation from the target brings convergence back (section III.B).
        Random = Word("random"),
    }
}

choices! {
    /// The source of RTT samples.
    pub enum RttSource {
        /// The timestamp option.
        Timestamp = Word("timestamp"),
        /// The smoothed RTT of the retransmission timer.
        Smoothed = Word("smoothed"),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Num_RTT, the round trips from one congestion event to the next: fewer are more aggressive
        num_rtt: u32 = 20,
            unit "RTTs", range from(MIN_RTTS).up_to(1_000_000),
            source "section III.A, equation 3; default of the author's implementation";
        /// Num_ms, the same as a time, from which each congestion event derives Num_RTT; 0s leaves it at num_rtt
        num_ms: Span = Span::ZERO,
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(1000)), source "section III.A";
        /// Segments that a decrease takes off beyond the queue, so that it drains
        margin: f64 = 1.0,
            unit "segments", range from(0.0).up_to(1000.0), source "section III.A, equations 8 and 15";
        /// MIN_CWND, the smallest window after a decrease
        min_cwnd: u32 = 2, unit "segments", range from(2).up_to(1000), source "section III.A";
        /// An Additional Decrease sets alpha to the window where it would exceed it
        clamp_after_ad: bool = false, source "section III.A, after equation 19";
        /// A base RTT that rises at four congestion events in a row returns to the first
        min_guard: bool = false, source "Linux, the author's module 1.0";
        /// Addition to the window at the loss that gives the next target: the rise of that window since the loss
        /// before, nothing, or a random number, of half the last decrease at most
        trend: Trend = Trend::Paper, source "section III.A, equation 5; section III.B";
        /// RTT samples from the timestamp option, or the smoothed RTT; without timestamps always that
        rtt_source: RttSource = RttSource::Timestamp, source "section III.C";
    }
}
