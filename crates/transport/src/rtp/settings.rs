//! The settings of a media flow.

use serde::{Deserialize, Serialize};
use units::{Bytes, Fraction, Rate, Span};

/// The encoder, the repair of losses and the feedback of a media flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(transform = Self::describe_bounds)]
pub struct MediaSettings {
    /// Frames a second, on average (RFC 8593, table 1, 1/t0).
    pub frame_rate: f64,
    /// The lowest rate of the encoder (R_min).
    pub min_rate: Rate,
    /// Its highest rate (R_max).
    pub max_rate: Rate,
    /// The time after a change of its rate for which it ignores others (tau_v).
    pub lag: Span,
    /// Scale of the random deviation of the sizes of frames (SCALE_B, a Laplace distribution).
    pub size_variation: Fraction,
    /// The same of the times between frames (SCALE_t).
    pub interval_variation: Fraction,
    /// Size of a key frame, and of the frame after an abrupt change of the rate (K_B). At most the frames after it
    /// become as small as a tenth.
    pub burst: Bytes,
    /// So many frames share the bits of that one (K_d).
    pub burst_frames: u32,
    /// The time from one key frame to the next. By default only the first frame is one, and one that the receiver
    /// asks for (RFC 4585, section 6.3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_interval: Option<Span>,
    /// The pacer sends at this multiple of the target rate, or of the lowest (libwebrtc, `kDefaultPaceMultiplier`).
    pub pacing: f64,
    /// The encoder skips frames while a packet has waited for longer than this in the queue of the pacer (libwebrtc,
    /// `kDefaultAcceptedQueueMs` with `DropFrame`).
    pub queue_limit: Span,
    /// Lost packets leave again as long as their frame is not older than this (RFC 4588). 0 repairs nothing.
    pub repair: Span,
    /// Packets that repair a frame, as a share of its own. Any as many as those make the frame whole (RFC 5109).
    pub fec: Fraction,
    /// The time from one feedback to the next (RFC 8888).
    pub feedback: Span,
    /// The interval of RTCP reports by which a circuit breaker judges the flow, and stops it for good: after 15 s
    /// without reports, five reports without a new packet, or ten times the rate of a TCP (RFC 8083, sections 4.1 to
    /// 4.3). Without it there is no breaker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker: Option<Span>,
    /// The jitter buffer shows a frame this long after the earliest time at which it can be complete.
    pub playout: Span,
}

impl Default for MediaSettings {
    fn default() -> Self {
        let share = |value| Fraction::new(value).unwrap_or_default();
        Self {
            frame_rate: 30.0,
            min_rate: Rate::from_bits_per_second(150_000),
            max_rate: Rate::from_bits_per_second(1_500_000),
            lag: Span::from_millis(200),
            size_variation: share(0.15),
            interval_variation: share(0.15),
            burst: Bytes::new(13_500),
            burst_frames: 8,
            key_interval: None,
            pacing: 2.5,
            queue_limit: Span::from_millis(350),
            repair: Span::ZERO,
            fec: share(0.0),
            feedback: Span::from_millis(100),
            breaker: None,
            playout: Span::from_millis(100),
        }
    }
}

units::bounds! {
    MediaSettings {
        frame_rate: f64 = 1.0, 1000.0;
        min_rate: Rate = Rate::from_bits_per_second(1), Rate::LARGEST;
        max_rate: Rate = Rate::from_bits_per_second(1), Rate::LARGEST;
        lag: Span = Span::ZERO, Span::LONGEST_WAIT;
        burst_frames: u32 = 1, 1000;
        key_interval: Option<Span> = Span::from_nanos(1), Span::LONGEST_WAIT;
        pacing: f64 = 1.0, 100.0;
        queue_limit: Span = Span::ZERO, Span::LONGEST_WAIT;
        repair: Span = Span::ZERO, Span::LONGEST_WAIT;
        feedback: Span = Span::from_millis(1), Span::from_secs(10);
        breaker: Option<Span> = Span::from_millis(100), Span::from_secs(5);
        playout: Span = Span::ZERO, Span::LONGEST_WAIT;
    }
}

impl MediaSettings {
    /// The key of a value that is out of range, and a sentence about it.
    pub fn refusal(&self) -> Option<(&'static str, String)> {
        if let Err(refused) = self.out_of_bounds() {
            return Some(refused);
        }
        let below = self.max_rate < self.min_rate;
        below.then(|| ("max_rate", format!("`{}` is below `min_rate`, `{}`", self.max_rate, self.min_rate)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_is_at_least_the_lowest() {
        let (low, high) = (Rate::from_mbit(1), Rate::from_mbit(2));
        let refusal = |min_rate, max_rate| MediaSettings { min_rate, max_rate, ..MediaSettings::default() }.refusal();
        assert_eq!([refusal(low, high), refusal(low, low)], [None, None]);
        assert_eq!(refusal(high, low), Some(("max_rate", "`1mbit` is below `min_rate`, `2mbit`".to_owned())));
        let feedback = Span::from_secs(11);
        let refused = MediaSettings { feedback, ..MediaSettings::default() }.refusal();
        assert_eq!(refused.map(|(key, _)| key), Some("feedback"));
    }
}
