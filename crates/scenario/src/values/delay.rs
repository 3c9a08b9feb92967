//! How scenarios spell propagation delays.

use std::fmt;

use network::Propagation;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::{Span, Time};

use super::steps;

/// A propagation delay: `"40ms"`, or steps `[["0s", "100ms"], ["30s", "40ms"]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySpec(pub Propagation);

impl DelaySpec {
    fn of_steps(steps: &[(Time, Span)]) -> Self {
        let initial = steps.first().map_or(Span::ZERO, |step| step.1);
        Self(Propagation::steps(initial, steps.iter().skip(1).copied()))
    }
}

impl Serialize for DelaySpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.0.is_constant() {
            return self.0.initial().serialize(s);
        }
        let steps: Vec<_> =
            std::iter::once((Time::ZERO, self.0.initial())).chain(self.0.later().iter().copied()).collect();
        steps.serialize(s)
    }
}

impl<'de> Deserialize<'de> for DelaySpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = DelaySpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a time like "40ms", or steps like [["0s", "100ms"], ["30s", "40ms"]]"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<DelaySpec, E> {
                text.parse::<Span>().map(|delay| DelaySpec(delay.into())).map_err(E::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<DelaySpec, A::Error> {
                steps::steps(seq).map(|steps| DelaySpec::of_steps(&steps))
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for DelaySpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Propagation".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let constant = generator.subschema_for::<Span>();
        let steps = steps::schema::<Span>(generator);
        schemars::json_schema!({ "description": "One delay, or steps of delays", "anyOf": [constant, steps] })
    }
}

/// Propagation delay of each direction: `"20ms"` or steps for both, or `{ forward = "20ms", reverse = "30ms" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay {
    /// From sender to receiver.
    pub forward: Propagation,
    /// Back.
    pub reverse: Propagation,
}

impl Delay {
    /// Half of a round trip each way.
    pub fn of_rtt(rtt: &Propagation) -> Self {
        Self { forward: rtt.map(|rtt| rtt / 2), reverse: rtt.map(|rtt| rtt - rtt / 2) }
    }

    /// Both ways together, at time zero.
    pub fn initial_rtt(&self) -> Span {
        self.forward.initial() + self.reverse.initial()
    }
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    forward: DelaySpec,
    reverse: DelaySpec,
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let forward = DelaySpec(self.forward.clone());
        if self.forward == self.reverse {
            return forward.serialize(s);
        }
        Table { forward, reverse: DelaySpec(self.reverse.clone()) }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Delay;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(
                    r#"a time like "20ms", steps like [["0s", "50ms"], ["30s", "20ms"]], "#,
                    r#"or { forward = "20ms", reverse = "30ms" }"#,
                ))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Delay, E> {
                let one_way: Span = text.parse().map_err(E::custom)?;
                Ok(Delay { forward: one_way.into(), reverse: one_way.into() })
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Delay, A::Error> {
                let DelaySpec(one_way) = DelaySpec::of_steps(&steps::steps(seq)?);
                Ok(Delay { forward: one_way.clone(), reverse: one_way })
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Delay, A::Error> {
                let Table { forward, reverse } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Delay { forward: forward.0, reverse: reverse.0 })
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Delay {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Delay".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let both = generator.subschema_for::<DelaySpec>();
        let each = Table::json_schema(generator);
        schemars::json_schema!({
            "description": "One-way propagation delay, the same both ways or each",
            "anyOf": [both, each]
        })
    }
}
