//! Numbers of bytes, and fractions, with their spelling.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use crate::parse::{ParseError, number_and_unit, whole};
use crate::spelled;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// No size of a scenario is larger: a petabyte.
    pub const LARGEST: Self = Self(1_000_000_000_000_000);

    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// This less `other`, at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n > 0 && n.is_multiple_of(1_000_000_000) => write!(f, "{}GB", n / 1_000_000_000),
            n if n > 0 && n.is_multiple_of(1_000_000) => write!(f, "{}MB", n / 1_000_000),
            n if n > 0 && n.is_multiple_of(1000) => write!(f, "{}kB", n / 1000),
            n => write!(f, "{n}B"),
        }
    }
}

impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (value, unit) = number_and_unit(text, "size", "64kB")?;
        let scale = match unit {
            "B" | "b" | "bytes" => 1.0,
            "kB" | "KB" | "kb" => 1e3,
            "MB" | "mb" => 1e6,
            "GB" | "gb" => 1e9,
            "KiB" | "kib" => 1024.0,
            "MiB" | "mib" => 1_048_576.0,
            "GiB" | "gib" => 1_073_741_824.0,
            "" => {
                return Err(ParseError::new(format!("`{text}` has no unit: write `{text}B` or `{text}kB`")));
            }
            _ => {
                return Err(ParseError::new(format!(
                    "`{text}`: unknown unit `{unit}` of a size; there are B, kB, MB, GB, KiB, MiB and GiB"
                )));
            }
        };
        whole((value, scale), text, "size", Self::LARGEST.0, Self)
    }
}

spelled!(
    Bytes,
    "a size with its unit, like \"64kB\"",
    r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*([kKMGmg]?[bB]|[KMGkmg]i[bB]|bytes)\s*$",
    "A size with its unit: B, kB, MB, GB (powers of ten), KiB, MiB or GiB (binary)",
    "64kB",
    Self::LARGEST
);

/// A number from 0 to 1: a probability or a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Fraction(f64);

impl Fraction {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);

    /// `value` as a fraction, or `None` outside 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// True if it is exactly zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{:.9}", self.0 * 100.0);
        write!(f, "{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl FromStr for Fraction {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (value, unit) = number_and_unit(text, "fraction", "1%")?;
        let value = match unit {
            "%" => value / 100.0,
            "" => value,
            _ => return Err(ParseError::new(format!("`{text}`: write a fraction like `1%` or `0.01`"))),
        };
        Self::new(value).ok_or_else(|| ParseError::new(format!("`{text}` is above 100%")))
    }
}

impl serde::Serialize for Fraction {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Fraction {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Fraction;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a fraction like \"1%\" or 0.01")
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Fraction, E> {
                v.parse().map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Fraction, E> {
                Fraction::new(v).ok_or_else(|| E::custom(format!("{v} is not between 0 and 1")))
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Fraction, E> {
                self.visit_f64(v as f64)
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Fraction, E> {
                self.visit_f64(v as f64)
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Fraction {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fraction".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A fraction: a number from 0 to 1, or a percentage like \"1%\"",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*%?\s*$" }
            ],
            "examples": ["1%", 0.01]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_print_in_the_largest_unit_of_which_they_are_whole() {
        let sizes = [0, 999, 1000, 1001, 2_000_000, 2_001_000, 3_000_000_000, 3_001_000_000].map(Bytes::new);
        let printed = ["0B", "999B", "1kB", "1001B", "2MB", "2001kB", "3GB", "3001MB"];
        assert_eq!(sizes.map(|size| size.to_string()), printed);
    }

    #[test]
    fn fractions_read_as_percent_or_number_and_stay_within_one() {
        assert_eq!("1%".parse::<Fraction>().unwrap().get(), 0.01);
        assert_eq!("0.25".parse::<Fraction>().unwrap().get(), 0.25);
        assert!("101%".parse::<Fraction>().unwrap_err().to_string().contains("above 100%"));
        assert!("-1%".parse::<Fraction>().unwrap_err().to_string().contains("not negative"));
        assert_eq!(Fraction(0.005).to_string(), "0.5%");
    }

    #[test]
    fn sizes_keep_decimal_and_binary_apart() {
        assert_eq!("64kB".parse::<Bytes>().unwrap(), Bytes::new(64_000));
        assert_eq!("64KiB".parse::<Bytes>().unwrap(), Bytes::new(65_536));
        assert!("64".parse::<Bytes>().unwrap_err().to_string().contains("no unit"));
        assert_eq!(Bytes::new(64_000).to_string(), "64kB");
    }
}
