use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Rate, Time};

/// The rate of a link: `"10mbit"`, `[["0s", "10mbit"], ["20s", "5mbit"]]`, `{ trace = "verizon.down" }` or `"unlimited"`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RateSpec {
    /// Nothing ever waits.
    #[default]
    Unlimited,
    /// One rate.
    Fixed(Rate),
    /// Each rate from its time on, the first at 0.
    Steps(Vec<(Time, Rate)>),
    /// The delivery opportunities in a file, which lies relative to the scenario.
    Trace(String),
}

/// What the application of a flow offers: `"greedy"`, `{ rate = "2mbit" }`, `{ rate = "2mbit", arrivals = "poisson" }`, or steps of rates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// Always more than TCP sends.
    #[default]
    Greedy,
    /// Each rate from its time on (counted from the start of the run), the first at 0: of payload for TCP, of IP bytes
    /// for datagrams.
    Paced(Vec<(Time, Rate)>),
    /// The same as the mean of a Poisson process: exponentially distributed times between segments or datagrams.
    Poisson(Vec<(Time, Rate)>),
}

/// `rate` if it can ever send.
fn positive(rate: Rate) -> Result<Rate, String> {
    if rate.is_zero() {
        return Err(
            r#"a rate of 0 never sends; for an outage write steps like [["0s", "10mbit"], ["20s", "0bit"]]"#.to_owned()
        );
    }
    Ok(rate)
}

/// `steps` if they are in order and can ever send.
fn in_order(steps: Vec<(Time, Rate)>) -> Result<Vec<(Time, Rate)>, String> {
    let Some(&(first, _)) = steps.first() else {
        return Err(r#"there is no step: write steps like [["0s", "10mbit"], ["20s", "5mbit"]]"#.to_owned());
    };
    if first != Time::ZERO {
        return Err(format!("the first step is at `{first}`: it must be at `0s`"));
    }
    if let Some(pair) = steps.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        return Err(format!("a step at `{}` follows one at `{}`: their times must increase", pair[1].0, pair[0].0));
    }
    if steps.iter().all(|(_, rate)| rate.is_zero()) {
        return Err("a rate of 0 never sends: at least one step must be above 0".to_owned());
    }
    Ok(steps)
}

/// A time and a rate, and nothing more.
struct Step(Time, Rate);

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Step;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a time and a rate, like ["20s", "5mbit"]"#)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Step, A::Error> {
                let missing = |length| de::Error::invalid_length(length, &self);
                let time = seq.next_element()?.ok_or_else(|| missing(0))?;
                let rate = seq.next_element()?.ok_or_else(|| missing(1))?;
                match seq.next_element::<de::IgnoredAny>()? {
                    Some(_) => Err(missing(3)),
                    None => Ok(Step(time, rate)),
                }
            }
        }
        d.deserialize_seq(Visitor)
    }
}

/// The rest of a sequence of steps.
fn steps<'de, A: de::SeqAccess<'de>>(mut seq: A) -> Result<Vec<(Time, Rate)>, A::Error> {
    let mut steps = Vec::new();
    while let Some(Step(time, rate)) = seq.next_element()? {
        steps.push((time, rate));
    }
    in_order(steps).map_err(de::Error::custom)
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct TraceTable {
    /// A file in the format of mm-link, relative to the scenario.
    trace: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    rate: RateSpec,
    #[serde(default)]
    arrivals: Arrivals,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Arrivals {
    #[default]
    Regular,
    Poisson,
}

impl Serialize for RateSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => s.serialize_str("unlimited"),
            Self::Fixed(rate) => rate.serialize(s),
            Self::Steps(steps) => steps.serialize(s),
            Self::Trace(trace) => TraceTable { trace: trace.clone() }.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for RateSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RateSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    r#"a rate like "10mbit", "unlimited", steps like [["0s", "10mbit"], ["20s", "5mbit"]] or { trace = "FILE" }"#,
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RateSpec, E> {
                if text.trim() == "unlimited" {
                    return Ok(RateSpec::Unlimited);
                }
                let rate = text.parse().map_err(E::custom)?;
                positive(rate).map(RateSpec::Fixed).map_err(E::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<RateSpec, A::Error> {
                steps(seq).map(RateSpec::Steps)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RateSpec, A::Error> {
                TraceTable::deserialize(MapAccessDeserializer::new(map)).map(|table| RateSpec::Trace(table.trace))
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Greedy => s.serialize_str("greedy"),
            Self::Paced(steps) | Self::Poisson(steps) => {
                let mut map = s.serialize_map(None)?;
                match steps.as_slice() {
                    [(_, rate)] => map.serialize_entry("rate", rate)?,
                    steps => map.serialize_entry("rate", steps)?,
                }
                if matches!(self, Self::Poisson(_)) {
                    map.serialize_entry("arrivals", &Arrivals::Poisson)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Source;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#""greedy", { rate = "2mbit" }, { rate = "2mbit", arrivals = "poisson" } or steps like [["0s", "10mbit"], ["2s", "10.2mbit"]]"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Source, E> {
                match text {
                    "greedy" => Ok(Source::Greedy),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Source, A::Error> {
                steps(seq).map(Source::Paced)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Source, A::Error> {
                let table = SourceTable::deserialize(MapAccessDeserializer::new(map))?;
                let steps = match table.rate {
                    RateSpec::Fixed(rate) => vec![(Time::ZERO, rate)],
                    RateSpec::Steps(steps) => steps,
                    RateSpec::Unlimited | RateSpec::Trace(_) => {
                        return Err(de::Error::custom("the rate of a source is a rate or steps of rates"));
                    }
                };
                Ok(match table.arrivals {
                    Arrivals::Regular => Source::Paced(steps),
                    Arrivals::Poisson => Source::Poisson(steps),
                })
            }
        }
        d.deserialize_any(Visitor)
    }
}

fn steps_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let time = generator.subschema_for::<Time>();
    let rate = generator.subschema_for::<Rate>();
    schemars::json_schema!({
        "description": "Each rate from its time on; the first at 0s, times increasing",
        "type": "array", "minItems": 1,
        "items": { "type": "array", "prefixItems": [time, rate], "minItems": 2, "maxItems": 2 }
    })
}

impl schemars::JsonSchema for RateSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkRate".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rate = generator.subschema_for::<Rate>();
        let steps = steps_schema(generator);
        let trace = TraceTable::json_schema(generator);
        schemars::json_schema!({
            "description": "One rate, steps of rates, a trace, or unlimited",
            "anyOf": [rate, { "const": "unlimited" }, steps, trace]
        })
    }
}

impl schemars::JsonSchema for Source {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Source".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rate = generator.subschema_for::<Rate>();
        let steps = steps_schema(generator);
        schemars::json_schema!({
            "description": "Without end, or at a rate: of payload for tcp, of IP bytes for datagram",
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
                        }
                    }
                }
            ]
        })
    }
}
