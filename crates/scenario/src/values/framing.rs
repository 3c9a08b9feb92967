//! How scenarios spell the frames of a link.

use std::fmt;

use network::Framing;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::inline::inline;
use crate::error::suggestion;

/// Frames on a link: `"pppoe-vcmux"`, `"wireguard pppoe-ptm ether-vlan"`, or `{ overhead = 40, link_layer = "atm" }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramingSpec(pub Framing);

impl FramingSpec {
    /// True if packets take their own bytes alone.
    pub(crate) fn is_none(&self) -> bool {
        self.0.if_any().is_none()
    }
}

impl Serialize for FramingSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}

impl<'de> Deserialize<'de> for FramingSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = FramingSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("frames like \"pppoe-vcmux\", or { overhead = 32, link_layer = \"atm\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<FramingSpec, E> {
                if let Some(spec) = inline(text) {
                    return spec;
                }
                let unknown = |word: &str| {
                    let parts = word.split(['+', ',', '/', '|']).filter(|part| !part.is_empty());
                    if parts.clone().count() > 1 && parts.clone().all(|part| Framing::names().contains(&part)) {
                        let several = parts.collect::<Vec<_>>().join(" ");
                        return E::custom(format!("`{word}`: several headers have spaces between: \"{several}\""));
                    }
                    E::custom(format!("`{word}` is no keyword of framing: {}", suggestion(word, &Framing::names())))
                };
                checked(Framing::of(text).map_err(unknown)?)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<FramingSpec, A::Error> {
                checked(Framing::deserialize(MapAccessDeserializer::new(map))?)
            }
        }
        d.deserialize_any(Visitor)
    }
}

fn checked<E: de::Error>(framing: Framing) -> Result<FramingSpec, E> {
    framing.check().map_err(|(key, why)| E::custom(format!("`{key}`: {why}")))?;
    Ok(FramingSpec(framing))
}

impl schemars::JsonSchema for FramingSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Framing".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let table = Framing::json_schema(generator);
        let name = Framing::names().join("|");
        let names = format!(r"^\s*(({name})(\s+({name}))*)?\s*$");
        schemars::json_schema!({
            "description": "Headers, padding and cells of a line: keywords as `cake` of tc has them, or their sizes",
            "anyOf": [{ "type": "string", "pattern": names }, table]
        })
    }
}
