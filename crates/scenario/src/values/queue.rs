use std::fmt;
use std::str::FromStr;

use network::DisciplineSettings;
use serde::de::Error as _;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Bytes, ParseError, Span};

use super::spelled;

/// How much may wait, as a scenario spells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Limit {
    /// `infinite`: everything.
    #[default]
    Infinite,
    /// `84p`.
    Packets(u32),
    /// `64kB`.
    Bytes(Bytes),
    /// `100ms`: as much as leaves within this time.
    Delay(Span),
    /// `1bdp`: so many bandwidth-delay products of the path, in packets of 1500 bytes.
    Bdp(f64),
}

/// Fewer or more bandwidth-delay products are a slip of the pen.
const SMALLEST_BDP: f64 = 0.000_001;
const LARGEST_BDP: f64 = 1_000_000.0;

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Infinite => f.write_str("infinite"),
            Self::Packets(n) => write!(f, "{n}p"),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Delay(span) => span.fmt(f),
            Self::Bdp(factor) => write!(f, "{factor}bdp"),
        }
    }
}

impl FromStr for Limit {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        const UNITS: &str = "`84p`, `64kB`, `100ms`, `1bdp` or `infinite`";
        let text = text.trim();
        let unit = &text[text.trim_end_matches(char::is_alphabetic).len()..];
        let limit = match unit {
            "infinite" if unit == text => Self::Infinite,
            "p" | "packet" | "packets" => Self::Packets(text.parse::<Packets>()?.0),
            "bdp" => match text[..text.len() - unit.len()].trim_end().parse::<f64>() {
                Ok(factor) if factor == 0.0 || (SMALLEST_BDP..=LARGEST_BDP).contains(&factor) => Self::Bdp(factor),
                _ => {
                    let range = format!("from {SMALLEST_BDP} to {LARGEST_BDP}");
                    return Err(ParseError::new(format!("`{text}` is not a number of BDPs {range}, like `0.5bdp`")));
                }
            },
            "" => return Err(ParseError::new(format!("`{text}` has no unit: a queue is {UNITS}"))),
            _ if unit.ends_with(['B', 'b']) || unit == "bytes" => Self::Bytes(text.parse()?),
            _ => Self::Delay(
                text.parse().map_err(|_| ParseError::new(format!("`{text}` is no limit of a queue: write {UNITS}")))?,
            ),
        };
        let nothing = match limit {
            Self::Infinite => false,
            Self::Packets(n) => n == 0,
            Self::Bytes(bytes) => bytes == Bytes::ZERO,
            Self::Delay(span) => span.is_zero(),
            Self::Bdp(factor) => factor == 0.0,
        };
        if nothing {
            return Err(ParseError::new(format!("`{text}`: a queue must have room for something")));
        }
        Ok(limit)
    }
}

spelled!(
    Limit,
    "a limit like \"84p\", \"64kB\", \"100ms\", \"1bdp\" or \"infinite\"",
    r"^\s*(infinite|[0-9.]+([eE][-+]?[0-9]+)?\s*(p|packets?|bdp|[kKMGmg]?[bB]|[KMGkmg]i[bB]|bytes|ns|us|µs|ms|s|min|[nmu]?secs?))\s*$",
    "How much may wait: packets (p), bytes, a time at the rate of the link, bandwidth-delay products (bdp), or infinite"
);

/// A number of packets, spelled `84p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets(pub u32);

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}p", self.0)
    }
}

impl FromStr for Packets {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let number = text.trim().trim_end_matches(char::is_alphabetic);
        let unit = &text.trim()[number.len()..];
        match (number.trim_end().parse(), unit) {
            (Ok(n), "p" | "packet" | "packets") => Ok(Self(n)),
            _ => Err(ParseError::new(format!("`{text}` is not a whole number of packets, like `84p`"))),
        }
    }
}

spelled!(Packets, "a number of packets like \"30p\"", r"^\s*[0-9]+\s*(p|packets?)\s*$", "A number of packets");

/// A queue: its limit, or a table with more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueSpec {
    /// How much may wait.
    pub limit: Limit,
    /// Whether the packet in service takes room too.
    pub count_in_service: bool,
    /// ECN-capable packets that find at least so many waiting are marked.
    pub mark_above: Option<Packets>,
    /// Who goes first, and who is dropped.
    pub discipline: DisciplineSettings,
}

/// What a round of deficit round robin gives a flow if nothing is said: an Ethernet packet.
const QUANTUM: Bytes = Bytes::new(1500);

/// A discipline, by the name that `tc` and the literature use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Name {
    /// First in, first out; a full queue drops what arrives.
    #[default]
    Fifo,
    /// Packet-by-packet fair queueing by flow; a full queue drops the last packet of the flow with most waiting.
    Fq,
    /// Deficit round robin by flow; a full queue drops the last packet of the flow with most waiting.
    Drr,
}

impl Name {
    fn is_fifo(&self) -> bool {
        *self == Self::Fifo
    }
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    limit: Limit,
    /// Whether the packet in service takes room too; by default it does not.
    #[serde(default)]
    count_in_service: bool,
    /// ECN-capable packets that find at least so many waiting are marked; by default none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark_above: Option<Packets>,
    /// Who goes first, and who is dropped.
    #[serde(default, skip_serializing_if = "Name::is_fifo")]
    discipline: Name,
    /// Only with `drr`: what a flow may send more at each turn; by default 1500B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quantum: Option<Bytes>,
}

impl From<QueueSpec> for Table {
    fn from(spec: QueueSpec) -> Self {
        let QueueSpec { limit, count_in_service, mark_above, discipline } = spec;
        let (discipline, quantum) = match discipline {
            DisciplineSettings::Fifo => (Name::Fifo, None),
            DisciplineSettings::FairQueueing => (Name::Fq, None),
            DisciplineSettings::DeficitRoundRobin { quantum } => (Name::Drr, Some(quantum)),
        };
        Self { limit, count_in_service, mark_above, discipline, quantum }
    }
}

impl TryFrom<Table> for QueueSpec {
    type Error = &'static str;

    fn try_from(table: Table) -> Result<Self, Self::Error> {
        let Table { limit, count_in_service, mark_above, discipline, quantum } = table;
        let discipline = match (discipline, quantum) {
            (Name::Fifo, None) => DisciplineSettings::Fifo,
            (Name::Fq, None) => DisciplineSettings::FairQueueing,
            (Name::Fifo | Name::Fq, Some(_)) => return Err("`quantum` belongs to the discipline `drr`"),
            (Name::Drr, Some(Bytes::ZERO)) => return Err("`quantum` must be above 0, like `1500B`"),
            (Name::Drr, quantum) => DisciplineSettings::DeficitRoundRobin { quantum: quantum.unwrap_or(QUANTUM) },
        };
        Ok(Self { limit, count_in_service, mark_above, discipline })
    }
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if *self == (Self { limit: self.limit, ..Self::default() }) {
            return self.limit.serialize(s);
        }
        Table::from(*self).serialize(s)
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = QueueSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a queue like \"84p\", \"64kB\", \"100ms\", \"1bdp\", \"infinite\" or { limit = \"84p\", … }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<QueueSpec, E> {
                let limit = text.parse().map_err(E::custom)?;
                Ok(QueueSpec { limit, ..QueueSpec::default() })
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<QueueSpec, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map))?.try_into().map_err(A::Error::custom)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for QueueSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Queue".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let limit = generator.subschema_for::<Limit>();
        let table = Table::json_schema(generator);
        schemars::json_schema!({ "description": "A queue: its limit, or a table with more", "anyOf": [limit, table] })
    }
}
