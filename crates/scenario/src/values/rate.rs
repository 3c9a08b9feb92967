//! How scenarios spell the rates of links: fixed, in steps, or from a trace.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Rate, Time};

use super::steps;

/// The rate of a link: `"10mbit"`, `[["0s", "10mbit"], ["20s", "5mbit"]]`, `{ trace = "verizon.down" }` or
/// `"unlimited"`.
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

/// `rate` if it can ever send.
fn positive(rate: Rate) -> Result<Rate, String> {
    if rate.is_zero() {
        return Err(
            r#"a rate of 0 never sends; for an outage write steps like [["0s", "10mbit"], ["20s", "0bit"]]"#.to_owned()
        );
    }
    Ok(rate)
}

/// `steps` if they can ever send.
pub(super) fn can_send(steps: Vec<(Time, Rate)>) -> Result<Vec<(Time, Rate)>, String> {
    if steps.iter().all(|(_, rate)| rate.is_zero()) {
        return Err("a rate of 0 never sends: at least one step must be above 0".to_owned());
    }
    Ok(steps)
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct TraceTable {
    /// A file in the format of mm-link, relative to the scenario.
    trace: String,
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
                f.write_str(concat!(
                    r#"a rate like "10mbit", "unlimited", steps like [["0s", "10mbit"], ["20s", "5mbit"]] "#,
                    r#"or { trace = "FILE" }"#,
                ))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RateSpec, E> {
                if text.trim() == "unlimited" {
                    return Ok(RateSpec::Unlimited);
                }
                let rate = text.parse().map_err(E::custom)?;
                positive(rate).map(RateSpec::Fixed).map_err(E::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<RateSpec, A::Error> {
                steps::steps(seq).and_then(|s| can_send(s).map(RateSpec::Steps).map_err(de::Error::custom))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RateSpec, A::Error> {
                TraceTable::deserialize(MapAccessDeserializer::new(map)).map(|table| RateSpec::Trace(table.trace))
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for RateSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LinkRate".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rate = generator.subschema_for::<Rate>();
        let steps = steps::schema::<Rate>(generator);
        let trace = TraceTable::json_schema(generator);
        schemars::json_schema!({
            "description": "One rate, steps of rates, a trace, or unlimited",
            "anyOf": [rate, { "const": "unlimited" }, steps, trace]
        })
    }
}
