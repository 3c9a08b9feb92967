//! Queues: how much may wait, and under which discipline.

use std::fmt;
use std::str::FromStr;

use network::{DisciplineSettings, TcQueue};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};
use units::{Bytes, ParseError, Span};

use super::inline::{inline, read_as};
use super::spelled;
use super::tc_size::TcSize;
use crate::error::suggestion;

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
    /// `1bdp`: a number of bandwidth-delay products of the path, in packets of 1500 bytes.
    Bdp(f64),
}

/// Fewer or more bandwidth-delay products are taken for a typing error.
const SMALLEST_BDP: f64 = 0.000_001;
const LARGEST_BDP: f64 = 1_000_000.0;

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Infinite => f.write_str("infinite"),
            Self::Packets(n) => write!(f, "{n}p"),
            Self::Bytes(bytes) => TcSize(*bytes).fmt(f),
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
            _ if unit.ends_with(['B', 'b']) || unit == "bytes" || unit.ends_with("bit") => {
                Self::Bytes(text.parse::<TcSize>()?.0)
            }
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
    concat!(
        r"^\s*(infinite|[0-9.]+([eE][-+]?[0-9]+)?\s*",
        r"(p|packets?|bdp|k?B|b|[KMGkmg]i[bB]|bytes|ns|us|µs|ms|s|min|[nmu]?secs?))\s*$",
    ),
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
    /// The packet in service takes room too, and counts in RED's average.
    pub count_in_service: bool,
    /// Packets under way behind the link take room too.
    pub count_delayed: bool,
    /// ECN-capable packets that find at least this many waiting are marked.
    pub mark_above: Option<Packets>,
    /// Who goes first, and who is marked or dropped, with its settings.
    pub discipline: DisciplineSettings,
}

/// A limit with more, and the settings of a discipline.
#[derive(Serialize, schemars::JsonSchema)]
struct Table {
    limit: Limit,
    /// The packet in service takes room too, and counts in RED's average. By default it does not.
    #[serde(default)]
    count_in_service: bool,
    /// Packets in service and under way to the next node take room too, as within `netem`. By default they do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    count_delayed: bool,
    /// ECN-capable packets that find at least this many waiting are marked. By default none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    mark_above: Option<Packets>,
    #[serde(flatten, skip_serializing_if = "is_fifo")]
    discipline: DisciplineSettings,
}

/// The keys of a queue whatever its discipline is.
const COMMON: [&str; 5] = ["limit", "count_in_service", "count_delayed", "mark_above", "discipline"];

fn is_fifo(discipline: &DisciplineSettings) -> bool {
    *discipline == DisciplineSettings::Fifo
}

/// The name of a discipline.
struct Name(&'static str);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        let known = DisciplineSettings::NAMES.iter().find(|name| **name == text);
        known.map(|name| Self(name)).ok_or_else(|| D::Error::unknown_variant(&text, DisciplineSettings::NAMES))
    }
}

/// The keys of `settings` whose values are other than by default.
pub(crate) fn other_than_default(settings: &DisciplineSettings) -> Map<String, Value> {
    let Ok(Value::Object(mut keys)) = serde_json::to_value(settings) else { unreachable!("settings are an object") };
    let usual = tagged(settings.name(), Map::new()).ok().and_then(|usual| serde_json::to_value(usual).ok());
    keys.retain(|key, value| usual.as_ref().is_none_or(|usual| usual[key] != *value));
    keys
}

/// The discipline `name` with `settings`.
fn tagged(name: &str, mut settings: Map<String, Value>) -> Result<DisciplineSettings, String> {
    settings.insert("discipline".to_owned(), name.into());
    serde_json::from_value(settings.into()).map_err(|error| error.to_string())
}

impl From<network::Limit> for Limit {
    fn from(limit: network::Limit) -> Self {
        match limit {
            network::Limit::Infinite => Self::Infinite,
            network::Limit::Packets(packets) => Self::Packets(packets),
            network::Limit::Bytes(bytes) => Self::Bytes(bytes),
            network::Limit::Delay(span) => Self::Delay(span),
        }
    }
}

/// The limit that a queue of the discipline `name` has where none is given.
fn default_limit(name: &str) -> Option<Limit> {
    DisciplineSettings::default_limit(name).map(Limit::from)
}

/// The keys of a path, `queue` and perhaps `rate`, that a line of `tc` describes: the discipline `name`, and the words
/// behind it. Settings at their defaults are left out.
///
/// # Errors
/// The first word that cannot be read, or the limit is missing.
pub fn path_of_tc(name: &str, words: &[&str]) -> Result<Value, String> {
    let TcQueue { settings, limit, rate } = DisciplineSettings::from_tc(name, words)?;
    let discipline = settings.name();
    let mut keys = other_than_default(&settings);
    let queue = match limit.map(|limit| Value::from(Limit::from(limit).to_string())) {
        None if default_limit(discipline).is_none() => {
            return Err(format!("{name} needs a limit, as in `{name} limit 100`"));
        }
        None if keys.is_empty() => discipline.into(),
        Some(limit) if settings == DisciplineSettings::Fifo => limit,
        limit => {
            keys.extend(limit.map(|limit| ("limit".to_owned(), limit)));
            keys.insert("discipline".to_owned(), discipline.into());
            keys.into()
        }
    };
    let rate = rate.map(|rate| ("rate".to_owned(), Value::from(rate.to_string())));
    Ok(Map::from_iter([("queue".to_owned(), queue)].into_iter().chain(rate)).into())
}

/// The message about `text` in the place of a queue if it seems to be the name of a discipline.
fn misnamed(text: &str) -> Option<String> {
    let names = DisciplineSettings::NAMES;
    if names.contains(&text) {
        return Some(format!("`{text}` has no limit by default: write {{ discipline = \"{text}\", limit = \"84p\" }}"));
    }
    let is_word = text.starts_with(char::is_alphabetic) && !text.contains(char::is_whitespace);
    is_word.then(|| {
        format!(
            "`{text}` is neither a limit like `84p` nor a discipline: {}",
            suggestion(&text.replace('-', "_"), names)
        )
    })
}

fn pair((key, value): (&str, &str)) -> (String, toml::Value) {
    (key.to_owned(), value.into())
}

/// The keys of the discipline `name`.
fn keys_of(name: &str) -> Vec<String> {
    let settings = tagged(name, Map::new()).ok().and_then(|plain| serde_json::to_value(plain).ok());
    let keys = settings.as_ref().and_then(Value::as_object).into_iter().flat_map(Map::keys);
    keys.filter(|key| *key != "discipline").cloned().collect()
}

/// The discipline `name` with the settings `given`. An error begins with the key that it is about.
fn discipline(name: &str, given: Map<String, Value>) -> Result<DisciplineSettings, String> {
    let known = keys_of(name);
    for (key, value) in &given {
        if !known.contains(key) {
            let others = DisciplineSettings::NAMES.iter().filter(|other| keys_of(other).contains(key));
            let others: Vec<String> = others.map(|other| format!("`{other}`")).collect();
            let why = if others.is_empty() {
                let all: Vec<&str> = COMMON.into_iter().chain(known.iter().map(String::as_str)).collect();
                format!("there is no such key here; {}", suggestion(key, &all))
            } else {
                format!("the discipline `{name}` has no such key, but {} has", others.join(" or "))
            };
            return Err(format!("`{key}`: {why}"));
        }
        tagged(name, Map::from_iter([(key.clone(), value.clone())])).map_err(|error| format!("`{key}`: {error}"))?;
    }
    let settings = tagged(name, given)?;
    settings.check().map_err(|(key, message)| format!("`{key}`: {message}"))?;
    Ok(settings)
}

impl Serialize for QueueSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if *self == (Self { limit: self.limit, ..Self::default() }) {
            return self.limit.serialize(s);
        }
        let Self { limit, count_in_service, count_delayed, mark_above, discipline } = *self;
        Table { limit, count_in_service, count_delayed, mark_above, discipline }.serialize(s)
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
                if let Some(spec) = inline(text) {
                    return spec;
                }
                if let Some((name, limit)) = text.split_once(':') {
                    let known = DisciplineSettings::NAMES.contains(&name.trim());
                    let table =
                        || toml::Table::from_iter([("discipline", name.trim()), ("limit", limit.trim())].map(pair));
                    let why = || E::custom(misnamed(name.trim()).unwrap_or_else(|| format!("`{text}` is no queue")));
                    return if known { read_as(&toml::Value::Table(table())) } else { Err(why()) };
                }
                if let Some(limit) = default_limit(text.trim()) {
                    let discipline = discipline(text.trim(), Map::new()).map_err(E::custom)?;
                    return Ok(QueueSpec { limit, discipline, ..QueueSpec::default() });
                }
                match text.parse() {
                    Ok(limit) => Ok(QueueSpec { limit, ..QueueSpec::default() }),
                    Err(error) => Err(E::custom(misnamed(text.trim()).unwrap_or_else(|| error.to_string()))),
                }
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<QueueSpec, A::Error> {
                let (mut spec, mut limit) = (QueueSpec::default(), None);
                let (mut name, mut settings) = (Name("fifo"), Map::new());
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "limit" => limit = Some(map.next_value()?),
                        "count_in_service" => spec.count_in_service = map.next_value()?,
                        "count_delayed" => spec.count_delayed = map.next_value()?,
                        "mark_above" => spec.mark_above = map.next_value()?,
                        "discipline" => name = map.next_value()?,
                        _ => drop(settings.insert(key, map.next_value()?)),
                    }
                }
                spec.limit = limit.or_else(|| default_limit(name.0)).ok_or_else(|| A::Error::missing_field("limit"))?;
                spec.discipline = discipline(name.0, settings).map_err(A::Error::custom)?;
                Ok(spec)
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
        let mut table = Table::json_schema(generator);
        // A table without the key is one with `fifo`, the first of the disciplines.
        if let Some(fifo) = table.get_mut("oneOf").and_then(|all| all.get_mut(0)).and_then(Value::as_object_mut) {
            fifo.remove("required");
        }
        table.insert("unevaluatedProperties".to_owned(), false.into());
        let named: Vec<&str> =
            DisciplineSettings::NAMES.iter().copied().filter(|name| default_limit(name).is_some()).collect();
        require_limits(&mut table, &named);
        let named = schemars::json_schema!({ "description": "A discipline with its own limit", "enum": named });
        schemars::json_schema!({
            "description": "A queue: its limit, the name of a discipline that has one, or a table with more",
            "anyOf": [limit, named, table]
        })
    }
}

/// Requires `limit` in `table` but for the disciplines `named`, which have one of their own.
fn require_limits(table: &mut schemars::Schema, named: &[&str]) {
    if let Some(required) = table.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|key| key != "limit");
    }
    for branch in table.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = branch.pointer("/properties/discipline/const").and_then(Value::as_str).unwrap_or_default();
        if named.contains(&name) {
            continue;
        }
        if let Some(branch) = branch.as_object_mut() {
            let required = branch.entry("required").or_insert_with(|| Value::Array(Vec::new()));
            required.as_array_mut().into_iter().for_each(|keys| keys.push("limit".into()));
        }
    }
}
