use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::Span;

/// Propagation delay of each direction: `"20ms"` for both, or `{ forward = "20ms", reverse = "30ms" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// From sender to receiver.
    pub forward: Span,
    /// Back.
    pub reverse: Span,
}

impl Delay {
    /// Half of a round trip each way.
    pub fn of_rtt(rtt: Span) -> Self {
        let forward = rtt / 2;
        Self { forward, reverse: rtt - forward }
    }

    /// Both ways together.
    pub fn rtt(self) -> Span {
        self.forward + self.reverse
    }
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    forward: Span,
    reverse: Span,
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.forward == self.reverse {
            return self.forward.serialize(s);
        }
        Table { forward: self.forward, reverse: self.reverse }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Delay;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time like \"20ms\", or { forward = \"20ms\", reverse = \"30ms\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Delay, E> {
                let one_way = text.parse().map_err(E::custom)?;
                Ok(Delay { forward: one_way, reverse: one_way })
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Delay, A::Error> {
                let Table { forward, reverse } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Delay { forward, reverse })
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
        let both = generator.subschema_for::<Span>();
        let each = Table::json_schema(generator);
        schemars::json_schema!({ "description": "One-way propagation delay, the same both ways or each", "anyOf": [both, each] })
    }
}
