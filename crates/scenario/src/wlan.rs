//! How scenarios describe wireless networks: `[[wlans]]`.

use std::fmt;
use std::str::FromStr;

use network::medium::{AfterCollision, Category, Conventions, Countdown, Guard, Standard, Width};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Bytes, Fraction, ParseError, Rate, Span};

use crate::hidden::HiddenSpec;
use crate::values::{QueueSpec, spelled};

/// A wireless network: an access point and the stations on its channel. They share it by the rules of IEEE 802.11.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct Wlan {
    /// Its name in reports.
    #[serde(default = "wlan")]
    pub name: String,
    /// The amendment of IEEE 802.11.
    pub standard: Standard,
    /// The node that is its access point.
    #[serde(default = "ap")]
    pub access_point: String,
    /// The nodes that are its stations: names, or tables with more, or their number: `sta-0`, `sta-1` and so on.
    pub stations: Stations,
    /// The rate of data frames.
    #[serde(default)]
    pub rate: FrameRate,
    /// The queue of each station and of the access point: packets or bytes.
    #[serde(default = "frames_200")]
    pub queue: QueueSpec,
    /// The access point has such a queue for each station, and serves them in turn by the time that their frames take
    /// on the air, up and down (airtime fairness of mac80211). By default there is one queue for all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub airtime_fairness: bool,
    /// The share of data frames that are not understood, whoever sends (frame error ratio, IEEE 802.11).
    #[serde(default)]
    pub frame_errors: Fraction,
    /// How far stations are from the access point, which decides how many frames noise spoils at each rate (receiver
    /// sensitivity, IEEE 802.11). By default noise spoils none. This or `frame_errors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
    /// Frames contend by access category (EDCA) and not alike (DCF), by default in 802.11n, ac and ax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edca: Option<bool>,
    /// How often a frame is sent at most, or the RTS before it (dot11ShortRetryLimit).
    #[serde(default = "seven")]
    pub retry_limit: u32,
    /// How often a frame behind an RTS is sent at most (dot11LongRetryLimit).
    #[serde(default = "four")]
    pub long_retry_limit: u32,
    /// How long after they arrived packets are given up (dot11EDCATableMSDULifetime), by default never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Span>,
    /// The time from one beacon of the access point to the next (dot11BeaconPeriod), as 102.4ms. By default it sends
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beacon_interval: Option<Span>,
    /// RTS and CTS go before frames of more bytes than this (dot11RTSThreshold), MAC header included, by default before
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts_above: Option<Bytes>,
    /// Stations of 802.11b are near: long slots, and a CTS of its sender before each OFDM frame. Only 802.11g.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protection: bool,
    /// DSSS frames above 1 Mbit/s have the short preamble (802.11b).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_preamble: bool,
    /// How long a station sends when its turn comes, frame after frame without a backoff (dot11EDCATableTXOPLimit): a
    /// time for all, or `standard`, the default of EDCA for each access category. By default it sends one frame or
    /// A-MPDU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txop: Option<Txop>,
    /// The rates that every station understands (BSSBasicRateSet of 802.11): responses go at the highest of them that
    /// is not above the rate of the frame that they answer. By default 1, 2, 5.5 and 11 or 6, 12 and 24 Mbit/s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub basic_rates: Vec<Rate>,
    /// How wide the channel is: up to 40 MHz in 802.11n, up to 160 MHz in 802.11ac and ax. By default 20 MHz, and
    /// 80 MHz in 802.11ac and ax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_width: Option<Width>,
    /// Symbols take 3.6 us in place of 4 us. Only 802.11n and ac.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short_guard_interval: bool,
    /// The guard interval of 802.11ax, whose symbols take 12.8 us more, by default 0.8 us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard_interval: Option<Guard>,
    /// Spatial streams, 1 to 4, by default 2. Only 802.11n, ac and ax.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4))]
    pub streams: Option<u8>,
    /// Stations that do not sense each other's frames (Tobagi and Kleinrock 1975). By default all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenSpec>,
    /// The points on which readings of IEEE 802.11 differ.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conventions: ConventionsSpec,
}

/// As many stations as a network may have.
pub(crate) const MOST_STATIONS: u32 = 10_000;
/// The longest TXOP limit that a beacon can announce: 255 units of 32 us.
const LONGEST_TXOP: Span = Span::from_micros(255 * 32);

/// How long a station sends when its turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Txop {
    /// `standard`: the default of EDCA for each access category.
    Standard,
    /// The same for all.
    Limit(Span),
}

impl fmt::Display for Txop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard => f.write_str("standard"),
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}

impl FromStr for Txop {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.trim() == "standard" {
            return Ok(Self::Standard);
        }
        let limit = text.parse().ok().filter(|limit| *limit <= LONGEST_TXOP);
        limit.map(Self::Limit).ok_or_else(|| {
            let allowed = "`standard`, or a time up to 8.16ms";
            ParseError::new(format!("`{text}` is no TXOP limit: write {allowed}"))
        })
    }
}

spelled!(
    Txop,
    "a TXOP limit like \"3ms\" or \"standard\"",
    r"^\s*(standard|[0-9.]+([eE][-+]?[0-9]+)?\s*(ns|us|µs|ms|s))\s*$",
    "How long a station sends when its turn comes: a time up to 8.16 ms, or the default of EDCA"
);

/// The points on which IEEE 802.11, its models and its implementations differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConventionsSpec {
    /// When stations count on after frames collided or were not understood: `undetected` (the senders DIFS after
    /// their ACK time-out, the others after EIFS, but after DIFS where frames began at once), `standard` (the same,
    /// but always after EIFS), `eifs` (all after EIFS) or `difs` (all after DIFS).
    pub after_collision: AfterCollision,
    /// Which slots a backoff counts: `idle-slots` (whole idle ones, as DCF), `every-slot` (also a slot in which another
    /// station begins to send, as EDCA and Bianchi's model), or `standard`, after the access that is in use.
    pub countdown: Countdown,
    /// The rate of the ACK that EIFS leaves room for, by default the lowest basic rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eifs_rate: Option<Rate>,
    /// The contention window is reset after each frame that was dropped at its retry limit. Otherwise it is reset when
    /// the retry counter of the station reaches the limit, which goes on until a success.
    pub reset_after_drop: bool,
    /// A frame that finds the medium idle for DIFS is sent at once.
    pub immediate_access: bool,
}

impl Default for ConventionsSpec {
    fn default() -> Self {
        let Conventions { after_collision, countdown, reset_after_drop, immediate_access, .. } = Conventions::default();
        Self { after_collision, countdown, eifs_rate: None, reset_after_drop, immediate_access }
    }
}

fn is_default(conventions: &ConventionsSpec) -> bool {
    *conventions == ConventionsSpec::default()
}

fn wlan() -> String {
    "wlan".to_owned()
}

fn ap() -> String {
    "ap".to_owned()
}

fn seven() -> u32 {
    7
}

fn four() -> u32 {
    4
}

fn frames_200() -> QueueSpec {
    QueueSpec { limit: crate::values::Limit::Packets(200), ..QueueSpec::default() }
}

/// The rate of data frames: `54mbit`, `mcs7`, or how it is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameRate {
    /// `fastest`: the highest of the standard.
    #[default]
    Fastest,
    /// One of the rates of the standard.
    Fixed(Rate),
    /// `mcs7`: a modulation and coding scheme, of 802.11ac and ax with all streams of the network.
    Mcs(u8),
    /// `arf`: auto rate fallback.
    Arf,
    /// `samplerate`: SampleRate as its thesis has it.
    SampleRate,
    /// `samplerate-freebsd`: SampleRate as FreeBSD's driver has it.
    SampleRateFreebsd,
    /// `minstrel`: Minstrel.
    Minstrel,
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fastest => f.write_str("fastest"),
            Self::Fixed(rate) => rate.fmt(f),
            Self::Mcs(index) => write!(f, "mcs{index}"),
            Self::Arf => f.write_str("arf"),
            Self::SampleRate => f.write_str("samplerate"),
            Self::SampleRateFreebsd => f.write_str("samplerate-freebsd"),
            Self::Minstrel => f.write_str("minstrel"),
        }
    }
}

impl FromStr for FrameRate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        match text {
            "fastest" => return Ok(Self::Fastest),
            "arf" => return Ok(Self::Arf),
            "samplerate" => return Ok(Self::SampleRate),
            "samplerate-freebsd" => return Ok(Self::SampleRateFreebsd),
            "minstrel" => return Ok(Self::Minstrel),
            _ => {}
        }
        if let Some(index) = text.strip_prefix("mcs") {
            let mcs = index.parse().ok().filter(|index| *index < 32);
            return mcs
                .map(Self::Mcs)
                .ok_or_else(|| ParseError::new(format!("`{text}` is not from `mcs0` to `mcs31`")));
        }
        if text.ends_with("bit") {
            return text.parse().map(Self::Fixed);
        }
        let message = format!(
            "`{text}` is no rate of frames: write `54mbit`, `mcs7`, `fastest`, `arf`, `samplerate`, \
             `samplerate-freebsd` or `minstrel`"
        );
        Err(ParseError::new(message))
    }
}

spelled!(
    FrameRate,
    "a rate of frames like \"54mbit\", \"mcs7\", \"fastest\" or \"minstrel\"",
    r"^\s*(fastest|arf|samplerate|samplerate-freebsd|minstrel|mcs[0-9]+|[0-9.]+([eE][-+]?[0-9]+)?\s*[kmgKMG]?bit)\s*$",
    "The rate of data frames: one of the standard, a modulation and coding scheme (mcs), the fastest, or an adaptation"
);

/// The stations of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Stations(pub Vec<Station>);

/// Some stations alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct Station {
    /// The node.
    pub name: String,
    /// `802.11b` for one that knows no OFDM, in a network of 802.11g: its frames go at 1 to 11 Mbit/s, and the frames
    /// of all others are protected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<Standard>,
    /// Number of stations. If it is given, their names get `-0`, `-1` and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The rate of data frames to and from it, in place of the network's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<FrameRate>,
    /// Its queue, in place of the network's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
    /// The share of data frames to and from it that are not understood (frame error ratio, IEEE 802.11), in place of
    /// the network's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_errors: Option<Fraction>,
    /// How far it is from the access point (receiver sensitivity, IEEE 802.11), in place of the network's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
}

/// A distance in metres, spelled `20m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance(pub f64);

/// Farther than any home, and than any of these rates reaches.
const FARTHEST: f64 = 10_000.0;

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}m", self.0)
    }
}

impl FromStr for Distance {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let metres = text.trim().strip_suffix('m').and_then(|number| number.trim_end().parse::<f64>().ok());
        let metres = metres.filter(|metres| (1.0..=FARTHEST).contains(metres));
        metres.map(Self).ok_or_else(|| {
            ParseError::new(format!("`{text}` is not a distance from 1 to {FARTHEST} metres, like `20m`"))
        })
    }
}

spelled!(Distance, "a distance like \"20m\"", r"^\s*[0-9.]+\s*m\s*$", "A distance in metres");

/// An access category of EDCA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessCategory {
    /// All unmarked packets.
    #[default]
    BestEffort,
    /// After all others.
    Background,
    /// Before best effort.
    Video,
    /// Before all others.
    Voice,
}

impl AccessCategory {
    /// How its frames contend.
    pub(crate) fn parameters(self) -> Category {
        match self {
            Self::BestEffort => Category::BEST_EFFORT,
            Self::Background => Category::BACKGROUND,
            Self::Video => Category::VIDEO,
            Self::Voice => Category::VOICE,
        }
    }

    /// The default TXOP limit (table 8-105), with DSSS or OFDM.
    pub(crate) fn txop(self, dsss: bool) -> Span {
        Span::from_micros(match (self, dsss) {
            (Self::BestEffort | Self::Background, _) => 0,
            (Self::Video, false) => 3008,
            (Self::Video, true) => 6016,
            (Self::Voice, false) => 1504,
            (Self::Voice, true) => 3264,
        })
    }

    /// The end of the name of a queue of this category.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::BestEffort => "",
            Self::Background => ":background",
            Self::Video => ":video",
            Self::Voice => ":voice",
        }
    }
}

/// A station as written: a name, or a table.
struct Written(Station);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Written;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a station like \"phone\" or { name = \"phone\", rate = \"6mbit\" }")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Written, E> {
                Ok(Written(Station { name: name.to_owned(), ..Station::default() }))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
                Station::deserialize(MapAccessDeserializer::new(map)).map(Written)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for Stations {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Stations;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of stations like 8, or a list like [\"laptop\", { name = \"tv\" }]")
            }
            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Stations, E> {
                if count < 1 {
                    return Err(E::custom("a network needs at least one station"));
                }
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                Ok(Stations(vec![Station { name: "sta".to_owned(), count: Some(count), ..Station::default() }]))
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Stations, E> {
                self.visit_i64(i64::try_from(count).unwrap_or(i64::MAX))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Stations, A::Error> {
                let mut stations = Vec::new();
                while let Some(Written(station)) = list.next_element()? {
                    stations.push(station);
                }
                Ok(Stations(stations))
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl Serialize for Stations {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(&self.0)
    }
}

impl schemars::JsonSchema for Stations {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Stations".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let table = generator.subschema_for::<Station>();
        schemars::json_schema!({
            "description": "The stations of a wireless network: their number, or a list of names or tables",
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": MOST_STATIONS },
                { "type": "array", "minItems": 1, "items": { "anyOf": [{ "type": "string" }, table] } }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beacon_announces_a_txop_of_255_units_at_most() {
        assert_eq!("8160us".parse(), Ok(Txop::Limit(Span::from_micros(8160))));
        let message = "`8161us` is no TXOP limit: write `standard`, or a time up to 8.16ms";
        assert_eq!("8161us".parse::<Txop>().unwrap_err().to_string(), message);
    }
}
