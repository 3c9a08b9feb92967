//! Windows: a number of segments, or a size.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::Bytes;

/// A window as a scenario spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSpec {
    /// So many segments.
    Segments(u32),
    /// The whole segments of a size.
    Size(Bytes),
}

impl WindowSpec {
    /// The window in segments of this size.
    ///
    /// # Errors
    /// A window of less than a segment.
    pub fn segments(self, segment: Bytes) -> Result<u32, String> {
        let (segments, spelled) = match self {
            Self::Segments(segments) => (segments, format!("`{segments}`")),
            Self::Size(size) => {
                let whole = size.get().checked_div(segment.get()).unwrap_or_default();
                (u32::try_from(whole).unwrap_or(u32::MAX), format!("`{size}`"))
            }
        };
        if segments == 0 { Err(format!("{spelled} is less than a segment of {segment}")) } else { Ok(segments) }
    }

    /// A size as it is spelled.
    pub(crate) fn size(text: &str) -> Result<Self, String> {
        let wrong = |error| format!("{error}; a window is a number of segments, like 45, or a size, like \"64KiB\"");
        text.parse().map(Self::Size).map_err(wrong)
    }
}

impl Serialize for WindowSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Segments(segments) => segments.serialize(serializer),
            Self::Size(size) => size.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WindowSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Spelling;
        impl Visitor<'_> for Spelling {
            type Value = WindowSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of segments, like 45, or a size, like \"64KiB\"")
            }

            fn visit_i64<E: Error>(self, segments: i64) -> Result<WindowSpec, E> {
                let segments = u32::try_from(segments).map_err(|_| E::custom(format!("`{segments}` is no window")))?;
                Ok(WindowSpec::Segments(segments))
            }

            fn visit_u64<E: Error>(self, segments: u64) -> Result<WindowSpec, E> {
                self.visit_i64(i64::try_from(segments).unwrap_or(i64::MAX))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<WindowSpec, E> {
                WindowSpec::size(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Spelling)
    }
}

impl JsonSchema for WindowSpec {
    fn schema_name() -> Cow<'static, str> {
        "Window".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Bytes>();
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1, "maximum": u32::MAX, "format": "uint32" }, size] })
    }
}
