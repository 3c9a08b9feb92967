//! How scenarios spell an application's offered data.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Distribution, Rate, Span, Time};

use super::rate::can_send;
use super::{RateSpec, steps};

/// The data that an application offers: `"greedy"`, `{ rate = "2mbit" }` with or without `arrivals`, `on` and `off`,
/// steps of rates, or a recording `{ trace = "call.txt" }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Source {
    /// Always more than TCP sends.
    #[default]
    Greedy,
    /// At a rate.
    Paced(Paced),
    /// The times and sizes of a file beside the scenario.
    Trace(String),
}

/// Data written at a rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paced {
    /// Each rate from its time on (counted from the start of the run), the first at 0: of payload for TCP, of IP bytes
    /// for datagrams.
    pub rate: Vec<(Time, Rate)>,
    /// The times between segments or datagrams.
    pub arrivals: Arrivals,
    /// Lengths of the periods with this rate and of the periods without, by turns. The first begins with the flow. If
    /// none are given, always on.
    pub periods: Option<OnOff>,
}

/// Times between segments or datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// All the same.
    #[default]
    Regular,
    /// Exponentially distributed, with the same mean.
    Poisson,
}

/// Lengths of periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// The periods in which something is written.
    pub on: Distribution<Span>,
    /// The periods between.
    pub off: Distribution<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rate: Option<RateSpec>,
    arrivals: Option<Arrivals>,
    trace: Option<String>,
    on: Option<Distribution<Span>>,
    off: Option<Distribution<Span>>,
}

impl Table {
    fn source(self) -> Result<Source, String> {
        if let Some(trace) = self.trace {
            let beside = [
                ("rate", self.rate.is_some()),
                ("arrivals", self.arrivals.is_some()),
                ("on", self.on.is_some()),
                ("off", self.off.is_some()),
            ];
            return match beside.iter().find(|(_, given)| *given) {
                Some((key, _)) => Err(format!("there is `{key}` beside `trace`: a recording has its own times")),
                None => Ok(Source::Trace(trace)),
            };
        }
        let rate = match self.rate.ok_or("there is neither a `rate` nor a `trace`")? {
            RateSpec::Fixed(rate) => vec![(Time::ZERO, rate)],
            RateSpec::Steps(steps) => steps,
            RateSpec::Unlimited | RateSpec::Trace(_) | RateSpec::Shaped(_) => {
                return Err("the rate of a source is a rate or steps of rates".to_owned());
            }
        };
        let periods = match (self.on, self.off) {
            (None, None) => None,
            (Some(on), Some(off)) => {
                if let Some((name, _)) = [("on", on), ("off", off)].iter().find(|(_, length)| length.mean().is_zero()) {
                    return Err(format!("`{name}` is 0: a period must take some time"));
                }
                Some(OnOff { on, off })
            }
            (on, _) => {
                let [given, missing] = if on.is_some() { ["on", "off"] } else { ["off", "on"] };
                return Err(format!("there is `{given}` without `{missing}`: a source that pauses needs both"));
            }
        };
        Ok(Source::Paced(Paced { rate, arrivals: self.arrivals.unwrap_or_default(), periods }))
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Paced { rate, arrivals, periods } = match self {
            Self::Greedy => return s.serialize_str("greedy"),
            Self::Trace(file) => {
                let mut map = s.serialize_map(Some(1))?;
                map.serialize_entry("trace", file)?;
                return map.end();
            }
            Self::Paced(paced) => paced,
        };
        let mut map = s.serialize_map(None)?;
        match rate.as_slice() {
            [(_, rate)] => map.serialize_entry("rate", rate)?,
            steps => map.serialize_entry("rate", steps)?,
        }
        if *arrivals != Arrivals::Regular {
            map.serialize_entry("arrivals", arrivals)?;
        }
        if let Some(OnOff { on, off }) = periods {
            map.serialize_entry("on", on)?;
            map.serialize_entry("off", off)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Source;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(
                    r#""greedy", { rate = "2mbit" }, { rate = "2mbit", arrivals = "poisson" }, "#,
                    r#"{ rate = "2mbit", on = "10s", off = "5s" }, { trace = "call.txt" } "#,
                    r#"or steps like [["0s", "10mbit"], ["2s", "10.2mbit"]]"#,
                ))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Source, E> {
                match text {
                    "greedy" => Ok(Source::Greedy),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Source, A::Error> {
                let rate = steps::steps(seq).and_then(|steps| can_send(steps).map_err(de::Error::custom))?;
                Ok(Source::Paced(Paced { rate, ..Paced::default() }))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Source, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map))?.source().map_err(de::Error::custom)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Source {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Source".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rate = generator.subschema_for::<Rate>();
        let steps = steps::schema::<Rate>(generator);
        let length = generator.subschema_for::<Distribution<Span>>();
        schemars::json_schema!({
            "description": "Without end, at a rate (of payload for tcp, of IP bytes for datagram), or recorded",
            "anyOf": [
                { "const": "greedy" },
                steps,
                {
                    "type": "object", "required": ["rate"], "additionalProperties": false,
                    "properties": {
                        "rate": { "anyOf": [rate, steps] },
                        "arrivals": {
                            "description": "Evenly spaced, or a Poisson process of the same mean rate",
                            "enum": ["regular", "poisson"], "default": "regular"
                        },
                        "on": { "description": "Length of the periods with this rate", "allOf": [length] },
                        "off": { "description": "Length of the periods between them", "allOf": [length] }
                    },
                    "dependentRequired": { "on": ["off"], "off": ["on"] }
                },
                {
                    "type": "object", "required": ["trace"], "additionalProperties": false,
                    "properties": {
                        "trace": {
                            "description": "A file beside the scenario: a time in milliseconds and bytes a line",
                            "type": "string"
                        }
                    }
                }
            ]
        })
    }
}
