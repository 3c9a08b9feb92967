//! The common part of the spellings, a number and a unit, and serde as that spelling.

use std::fmt;

/// Why a quantity could not be read. Displays as one sentence without a final stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

impl ParseError {
    /// An error that says `message`.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

/// Splits `"10.5mbit"` into the number and the unit, blanks between them allowed.
pub(crate) fn number_and_unit<'a>(text: &'a str, what: &str, example: &str) -> Result<(f64, &'a str), ParseError> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent = matches!(c, 'e' | 'E')
                && text[i + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
            let sign = matches!(c, '+' | '-') && (i == 0 || text[..i].ends_with(['e', 'E']));
            !(c.is_ascii_digit() || c == '.' || exponent || sign)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = text.split_at(end);
    let value: f64 =
        number.parse().map_err(|_| ParseError::new(format!("`{text}` is not a {what}: write it like `{example}`")))?;
    if !value.is_finite() {
        return Err(ParseError::new(format!("`{text}` is not a finite {what}")));
    }
    if value < 0.0 {
        return Err(ParseError::new(format!("`{text}`: a {what} is not negative")));
    }
    Ok((value, unit.trim()))
}

/// The quantity of `value * scale` of its smallest unit, refused if it is above `most`, and where nothing would be left
/// of it.
pub(crate) fn whole<T: fmt::Display>(
    (value, scale): (f64, f64),
    text: &str,
    what: &str,
    most: u64,
    of: fn(u64) -> T,
) -> Result<T, ParseError> {
    let scaled = (value * scale).round();
    if scaled == 0.0 && value > 0.0 {
        return Err(ParseError::new(format!("`{text}` is too small for a {what}")));
    }
    if scaled > most as f64 {
        return Err(ParseError::new(format!("`{text}` is too large for a {what}: at most {}", of(most))));
    }
    Ok(of(scaled as u64))
}

/// Prints `value` in the largest of `units` in which at most three decimals are needed.
pub(crate) fn in_units(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let last = units.len() - 1;
    for (i, &(scale, name)) in units.iter().enumerate() {
        let fits = value >= scale && (scale < 1000 || value.is_multiple_of(scale / 1000));
        if i == last || fits {
            let mut number = format!("{}.{:03}", value / scale, (value % scale) * 1000 / scale);
            number.truncate(number.trim_end_matches('0').trim_end_matches('.').len());
            return write!(f, "{number}{name}");
        }
    }
    Ok(())
}

/// Serialises, deserialises and describes a type that has `Display` and `FromStr` by its spelling.
///
/// The name in errors, a regular expression of all spellings, the text of the JSON schema, and for it an example
/// and the largest value. Needs the crates `serde` and `schemars` where it is used.
#[macro_export]
macro_rules! spelled {
    (
        $type:ident, $expected:literal, $pattern:expr, $description:literal $(, $example:literal $(, $most:expr)?)?
    ) => {
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
                schemars::json_schema!({
                    "type": "string", "pattern": $pattern, "description": $description
                    $(, "examples": [$example] $(, "formatMaximum": ($most.to_string()))?)?
                })
            }
        }
    };
}
