//! How scenarios spell jitter: a random delay behind a link.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use units::Span;

/// Random delay behind a link: `"3ms"`, or `{ uniform = "3ms", reorder = true }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JitterSpec {
    /// Each packet is late by a time drawn uniformly from zero to below this.
    pub uniform: Span,
    /// Packets may overtake each other.
    pub reorder: bool,
}

impl JitterSpec {
    pub(crate) fn is_none(&self) -> bool {
        self.uniform.is_zero()
    }
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Each packet is late by a time drawn uniformly from zero to below this.
    uniform: Span,
    /// Packets may overtake each other.
    #[serde(default)]
    reorder: bool,
}

impl Serialize for JitterSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Self { uniform, reorder } = *self;
        if reorder { Table { uniform, reorder }.serialize(s) } else { uniform.serialize(s) }
    }
}

impl<'de> Deserialize<'de> for JitterSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = JitterSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a time like "3ms", or { uniform = "3ms", reorder = true }"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<JitterSpec, E> {
                text.parse().map(|uniform| JitterSpec { uniform, reorder: false }).map_err(E::custom)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<JitterSpec, A::Error> {
                let Table { uniform, reorder } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(JitterSpec { uniform, reorder })
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for JitterSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Jitter".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let limit = generator.subschema_for::<Span>();
        let table = Table::json_schema(generator);
        schemars::json_schema!({
            "description": "Random delay of each packet, uniform from 0 to below this", "anyOf": [limit, table]
        })
    }
}
