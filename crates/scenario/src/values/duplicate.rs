//! How scenarios spell packets that arrive twice.

use std::fmt;

use network::Chance;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::Fraction;

use super::inline::inline;

/// Packets that arrive twice: `"1%"`, or `{ share = "1%", correlation = "25%" }`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuplicateSpec(pub Chance);

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The share of the packets.
    share: Fraction,
    /// The correlation of each decision with the one before.
    correlation: Fraction,
}

impl Serialize for DuplicateSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Chance { share, correlation } = self.0;
        if correlation.is_zero() { share.serialize(s) } else { Table { share, correlation }.serialize(s) }
    }
}

impl<'de> Deserialize<'de> for DuplicateSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl Visitor {
            fn alone<E: de::Error>(value: impl de::IntoDeserializer<'static, E>) -> Result<DuplicateSpec, E> {
                let share = Fraction::deserialize(value.into_deserializer())?;
                Ok(DuplicateSpec(Chance { share, correlation: Fraction::ZERO }))
            }
        }
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = DuplicateSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share like \"1%\", or { share = \"1%\", correlation = \"25%\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<DuplicateSpec, E> {
                inline(text).unwrap_or_else(|| Self::alone(text.to_owned()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<DuplicateSpec, E> {
                Self::alone(value)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<DuplicateSpec, E> {
                Self::alone(value)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<DuplicateSpec, A::Error> {
                let Table { share, correlation } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(DuplicateSpec(Chance { share, correlation }))
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for DuplicateSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duplicate".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let share = generator.subschema_for::<Fraction>();
        let table = Table::json_schema(generator);
        schemars::json_schema!({ "description": "A share of the packets that arrive twice", "anyOf": [share, table] })
    }
}
