//! The settings of a medium, and the conventions in which the standard, its models and its implementations differ.

use serde::{Deserialize, Serialize};
use units::Span;

use super::errors::FrameErrors;
use super::phy::{PhySettings, Standard};
use super::rates::RateSettings;
use crate::QueueSettings;

/// A basic service set: one channel, an access point and its stations.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumSettings {
    /// The physical layer.
    pub phy: PhySettings,
    /// The basic rates in kbit/s, or empty for the usual ones.
    pub basic_rates: Vec<u32>,
    /// The points in which readings of the standard differ.
    pub conventions: Conventions,
    /// How often a frame is sent that no RTS goes before, and how often an RTS (dot11ShortRetryLimit).
    pub short_retry_limit: u32,
    /// How often a frame is sent that an RTS goes before (dot11LongRetryLimit).
    pub long_retry_limit: u32,
    /// An RTS goes before frames of more bytes than this, header and FCS included. With `None` there is no RTS.
    pub rts_threshold: Option<u32>,
    /// How long after they arrived packets are given up (dot11EDCATableMSDULifetime). With `None` they never are.
    pub lifetime: Option<Span>,
    /// The time from one beacon of the access point to the next. With `None` it sends none. Not among hidden stations.
    pub beacons: Option<Span>,
    /// Data frames have a QoS field of two bytes more.
    pub qos: bool,
    /// Several frames go at once, answered by a block ACK.
    pub aggregation: Option<Aggregation>,
    /// The access point first, then its stations.
    pub stations: Vec<StationSettings>,
    /// The queues that contend for the medium: one for a station, or one for each access category of it.
    pub accesses: Vec<AccessSettings>,
    /// The access point has a queue for each station, and they take turns by airtime.
    pub airtime_fairness: bool,
    /// Pairs of stations hidden from each other. All are in range of the access point.
    pub hidden: Vec<[u32; 2]>,
}

/// A station of a medium.
#[derive(Clone, Debug, PartialEq)]
pub struct StationSettings {
    /// How the rate of frames between it and the access point is chosen, in both directions.
    pub rate: RateSettings,
    /// How frames between it and the access point are lost, in both directions.
    pub errors: FrameErrors,
    /// It is one of 802.11b in a network of 802.11g with protection: frames from and to it go at DSSS rates.
    pub dsss: bool,
}

/// A queue whose frames contend for the medium. It belongs to a station (DCF), or to one of its access categories
/// (EDCA).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessSettings {
    /// The station, an index.
    pub station: u32,
    /// The queue of its packets. A limit in time is none: no rate is known in advance.
    pub queue: QueueSettings,
    /// How it contends.
    pub category: Category,
}

/// How the frames of a queue contend for the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Category {
    /// The higher of two queues of one station sends if their turns come at once.
    pub priority: u8,
    /// Slots after SIFS for which the medium must be idle (AIFSN). 2 is DIFS.
    pub aifsn: u32,
    /// Smallest contention window. `None` is the physical layer's.
    pub cw_min: Option<u32>,
    /// Largest contention window. `None` is the physical layer's.
    pub cw_max: Option<u32>,
    /// How long it sends when its turn comes, frame after frame (TXOP limit), or zero for one frame or A-MPDU.
    pub txop: Span,
}

impl Category {
    /// True if it contends otherwise than DCF.
    pub(crate) fn is_edca(&self) -> bool {
        Self { txop: Span::ZERO, ..*self } != Self::DCF
    }

    /// The one of DCF.
    pub const DCF: Self = Self { priority: 0, aifsn: 2, cw_min: None, cw_max: None, txop: Span::ZERO };
    /// EDCA, best effort (the defaults of clause 8.4.2.31, table 8-105, for OFDM, without TXOPs).
    pub const BEST_EFFORT: Self = Self { priority: 1, aifsn: 3, cw_min: None, cw_max: None, txop: Span::ZERO };
    /// EDCA, background.
    pub const BACKGROUND: Self = Self { priority: 0, aifsn: 7, cw_min: None, cw_max: None, txop: Span::ZERO };
    /// EDCA, video.
    pub const VIDEO: Self = Self { priority: 2, aifsn: 2, cw_min: Some(7), cw_max: Some(15), txop: Span::ZERO };
    /// EDCA, voice.
    pub const VOICE: Self = Self { priority: 3, aifsn: 2, cw_min: Some(3), cw_max: Some(7), txop: Span::ZERO };
}

/// A-MPDUs (clause 9.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Most bytes of one.
    pub bytes: u32,
    /// Most frames of one, limited by the block ACK.
    pub frames: u32,
    /// Longest time on the air of one.
    pub time: Span,
}

impl Aggregation {
    /// The most that a standard allows, if it has A-MPDUs. VHT and HE let them grow to 2^20 - 1 bytes. A block ACK of
    /// HE answers 256 frames.
    pub fn of(standard: Standard) -> Option<Self> {
        let most = Self { bytes: 1_048_575, ..Self::default() };
        match standard {
            Standard::A | Standard::B | Standard::G => None,
            Standard::N => Some(Self::default()),
            Standard::Ac => Some(most),
            Standard::Ax => Some(Self { frames: 256, ..most }),
        }
    }
}

impl Default for Aggregation {
    /// The most that HT allows: 65,535 bytes, 64 frames, 5.484 ms. The aPPDUMaxTime is 10 ms, but implementations keep
    /// to the range of the L-SIG field.
    fn default() -> Self {
        Self { bytes: 65_535, frames: 64, time: Span::from_micros(5484) }
    }
}

/// The points in which the standard, its models and its implementations differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conventions {
    /// When stations count on after frames collided or were not understood.
    pub after_collision: AfterCollision,
    /// The rate of the ACK that EIFS leaves room for, in kbit/s, or `None` for the lowest basic rate. To the letter
    /// (clause 9.3.7) it is the lowest mandatory rate of the physical layer: 1 Mbit/s in 802.11g, even where nobody
    /// uses it.
    pub eifs_rate: Option<u32>,
    /// Which slots are counted.
    pub countdown: Countdown,
    /// The contention window is reset after each frame that was dropped at its retry limit (clause 9.3.3), and not only
    /// when the retry counter of the station reaches that, once after a success (802.11-2020, 10.3.3).
    pub reset_after_drop: bool,
    /// A frame that arrives while the medium has been idle for DIFS, and whose queue has counted down, is sent at once
    /// (clause 9.3.4.2). Otherwise a backoff is drawn for it.
    pub immediate_access: bool,
}

impl Default for Conventions {
    /// As the standard has it where signals are equally strong, with EIFS after the rates that are in use.
    fn default() -> Self {
        Self {
            after_collision: AfterCollision::Undetected,
            eifs_rate: None,
            countdown: Countdown::Standard,
            reset_after_drop: true,
            immediate_access: true,
        }
    }
}

/// When stations count on after frames collided or were not understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterCollision {
    /// The senders DIFS after their ACK time-out (clause 9.3.2.8). The others EIFS after a frame that they did not
    /// understand (clause 9.3.7), but DIFS after frames that began at once: where the preambles overlap none is
    /// detected, and the physical layer does not report a frame, which EIFS presupposes.
    #[default]
    Undetected,
    /// The same, but one of the preambles that overlap is always detected: the others wait for EIFS.
    Standard,
    /// All EIFS after the end of the frames.
    Eifs,
    /// All DIFS after the end of the frames, as in Bianchi's model (2000, equation 14).
    Difs,
}

/// Which slots a backoff counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Countdown {
    /// DCF as `idle-slots`, EDCA as `every-slot`.
    #[default]
    Standard,
    /// A slot counts when it has passed idle: a count that was stopped goes on after DIFS and a whole slot (clause
    /// 9.3.4.2).
    IdleSlots,
    /// A slot counts when it begins, with the one after AIFS and the one in which another station sends (clause
    /// 9.19.2.3). Bianchi's model counts so.
    EverySlot,
}
