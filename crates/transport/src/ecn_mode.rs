//! How the two ends of a connection use explicit congestion notification.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Explicit congestion notification: whether it is in use, and how much the receiver says of marks. Spelled
/// `false`, `true` and `"accurate"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// Not in use: queues drop.
    #[default]
    Off,
    /// The receiver echoes a mark until the sender says that it has reduced its window: one signal a round trip
    /// (RFC 3168).
    Classic,
    /// The receiver counts marks, and every ACK carries the count (AccECN, RFC 9768). The count is whole, as ACE
    /// field and option together let a sender know it; the bytes of the option and the handshake are left out.
    Accurate,
}

const ACCURATE: &str = "accurate";

impl Serialize for EcnMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Classic => serializer.serialize_bool(true),
            Self::Accurate => serializer.serialize_str(ACCURATE),
        }
    }
}

impl<'de> Deserialize<'de> for EcnMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Spelling;
        impl Visitor<'_> for Spelling {
            type Value = EcnMode;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("false, true or \"accurate\"")
            }

            fn visit_bool<E: Error>(self, on: bool) -> Result<EcnMode, E> {
                Ok(if on { EcnMode::Classic } else { EcnMode::Off })
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<EcnMode, E> {
                if text == ACCURATE {
                    return Ok(EcnMode::Accurate);
                }
                Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Spelling)
    }
}

impl JsonSchema for EcnMode {
    fn schema_name() -> Cow<'static, str> {
        "EcnMode".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [false, true, ACCURATE] })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json, to_string};

    use super::*;

    #[test]
    fn modes_are_spelled_as_they_are_read() {
        for (mode, text) in [(EcnMode::Off, "false"), (EcnMode::Classic, "true"), (EcnMode::Accurate, "\"accurate\"")] {
            assert_eq!(to_string(&mode).unwrap(), text);
            assert_eq!(from_str::<EcnMode>(text).unwrap(), mode);
        }
        for text in ["\"classic\"", "1"] {
            let error = from_str::<EcnMode>(text).unwrap_err().to_string();
            assert!(error.contains("expected false, true or \"accurate\""), "{error}");
        }
    }

    #[test]
    fn the_schema_allows_the_three_spellings_in_place() {
        let schema = EcnMode::json_schema(&mut SchemaGenerator::default());
        assert_eq!(schema.as_value(), &json!({ "enum": [false, true, "accurate"] }));
        assert_eq!((EcnMode::schema_name().as_ref(), EcnMode::inline_schema()), ("EcnMode", true));
    }
}
