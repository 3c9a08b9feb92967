//! The parameters of SIAD.

use serde::{Deserialize, Serialize};
use units::Span;

use crate::parameters::{read, require};
use crate::{Parameter, ParameterError, Parameters};

/// No epoch is shorter, in RTTs.
pub(super) const MIN_RTTS: u32 = 2;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "num_rtt",
        default: "20",
        unit: "RTTs",
        range: "2 to 1000000",
        meaning: "Num_RTT, the round trips from one congestion event to the next: fewer are more aggressive",
        source: "section III.A, equation 3; default of the author's implementation",
    },
    Parameter {
        name: "num_ms",
        default: "0s",
        unit: "time",
        range: "0s to 1000s",
        meaning: "Num_ms, the same as a time, from which each congestion event derives Num_RTT; 0s leaves it at num_rtt",
        source: "section III.A",
    },
    Parameter {
        name: "margin",
        default: "1",
        unit: "segments",
        range: "0 to 1000",
        meaning: "What a decrease takes off beyond the queue, so that it drains",
        source: "section III.A, equations 8 and 15",
    },
    Parameter {
        name: "min_cwnd",
        default: "2",
        unit: "segments",
        range: "2 to 1000",
        meaning: "MIN_CWND, the smallest window after a decrease",
        source: "section III.A",
    },
    Parameter {
        name: "clamp_after_ad",
        default: "false",
        unit: "",
        range: "true or false",
        meaning: "An Additional Decrease sets alpha to the window where it would exceed it",
        source: "section III.A, after equation 19",
    },
    Parameter {
        name: "min_guard",
        default: "false",
        unit: "",
        range: "true or false",
        meaning: "A base RTT that rises at four congestion events in a row returns to the first",
        source: "the author's implementation",
    },
    Parameter {
        name: "trend",
        default: "paper",
        unit: "",
        range: "\"paper\", \"none\" or \"random\"",
        meaning: "What is added to the window at the loss to give the next target: by how much that window rose since the loss before, \
                  nothing, or a random number, of half the last decrease at most",
        source: "section III.A, equation 5; section III.B",
    },
    Parameter {
        name: "rtt_source",
        default: "timestamp",
        unit: "",
        range: "\"timestamp\" or \"smoothed\"",
        meaning: "RTT samples from the timestamp option, or the smoothed RTT; without timestamps always that",
        source: "section III.C",
    },
];

/// What is added to the window at the loss to give the next target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// By how much the window at the loss rose since the loss before (5).
    Paper,
    /// Nothing: sharing is stable, but does not converge (section III.B).
    None,
    /// A random number: any deviation from the target brings convergence back (section III.B).
    Random,
}

/// Where RTT samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttSource {
    /// The timestamp option.
    Timestamp,
    /// The smoothed RTT of the retransmission timer.
    Smoothed,
}

/// The parameters; [`ENTRY`](super::ENTRY) describes each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the table of parameters")]
pub struct Settings {
    pub num_rtt: u32,
    pub num_ms: Span,
    pub margin: f64,
    pub min_cwnd: u32,
    pub clamp_after_ad: bool,
    pub min_guard: bool,
    pub trend: Trend,
    pub rtt_source: RttSource,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            num_rtt: 20,
            num_ms: Span::ZERO,
            margin: 1.0,
            min_cwnd: 2,
            clamp_after_ad: false,
            min_guard: false,
            trend: Trend::Paper,
            rtt_source: RttSource::Timestamp,
        }
    }
}

impl Settings {
    pub(super) fn read(given: &Parameters) -> Result<Self, ParameterError> {
        let name = super::ENTRY.name;
        let s: Self = read(name, PARAMETERS, given)?;
        let rtts = MIN_RTTS..=1_000_000;
        require(name, PARAMETERS, "num_rtt", s.num_rtt, rtts.contains(&s.num_rtt))?;
        require(name, PARAMETERS, "num_ms", s.num_ms, s.num_ms <= Span::from_secs(1000))?;
        require(name, PARAMETERS, "margin", s.margin, (0.0..=1000.0).contains(&s.margin))?;
        require(name, PARAMETERS, "min_cwnd", s.min_cwnd, (2..=1000).contains(&s.min_cwnd))?;
        Ok(s)
    }
}
