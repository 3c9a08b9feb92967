//! Values that have several spellings. Each reads them with a visitor of its own, so that a wrong one is answered
//! with what is allowed.

mod delay;
mod jitter;
mod loss;
mod queue;
mod rate;
mod sampling;
mod source;
mod steps;

pub use delay::{Delay, DelaySpec};
pub use jitter::JitterSpec;
pub use loss::LossSpec;
pub use queue::{Limit, Packets, QueueSpec};
pub use rate::RateSpec;
pub use sampling::Sampling;
pub use source::{Arrivals, OnOff, Paced, Source};

/// Serialises, deserialises and describes a type that has `Display` and `FromStr` by its spelling.
macro_rules! spelled {
    ($type:ident, $expected:literal, $pattern:literal, $description:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expected)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                d.deserialize_any(Visitor)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern, "description": $description })
            }
        }
    };
}
pub(crate) use spelled;
