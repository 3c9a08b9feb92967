//! A number of things, as a quantity that can be drawn.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{ParseError, Quantity};

/// A number of things, written without a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(extend("maximum" = Self::LARGEST.0))]
pub struct Count(pub u32);

impl Count {
    /// No number of a scenario is larger.
    pub const LARGEST: Self = Self(1_000_000);
}

impl TryFrom<u32> for Count {
    type Error = ParseError;

    fn try_from(number: u32) -> Result<Self, ParseError> {
        if number > Self::LARGEST.0 {
            return Err(ParseError::new(format!("`{number}` is too large: at most {}", Self::LARGEST)));
        }
        Ok(Self(number))
    }
}

impl From<Count> for u32 {
    fn from(Count(number): Count) -> Self {
        number
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Count {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let number = text.trim().parse().map(Self);
        number.map_err(|_| ParseError::new(format!("`{text}` is not a whole number, like `3`")))
    }
}

impl Quantity for Count {
    const NAME: &'static str = "count";
    const EXAMPLES: [&'static str; 2] = ["2", "3"];
    const UNIT: f64 = 1.0;
    fn to_f64(self) -> f64 {
        f64::from(self.0)
    }
    fn from_f64(value: f64) -> Self {
        Self(value.round() as u32)
    }
    fn whole(number: u64) -> Option<Self> {
        u32::try_from(number).ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, Random};

    #[test]
    fn counts_are_written_and_drawn_as_whole_numbers() {
        let mut random = Random::stream(1, "test", 0);
        let read = |text: &str| serde_json::from_str::<Distribution<Count>>(text).unwrap();
        assert_eq!(read("3"), Distribution::Constant(Count(3)));
        assert_eq!(serde_json::to_string(&read("3")).unwrap(), "3");
        assert!((0..100).all(|_| (1..=4).contains(&read("{\"uniform\": [1, 4]}").draw(&mut random).0)));
        assert!(serde_json::from_str::<Distribution<Count>>("-1").is_err());
        assert!(serde_json::from_str::<Distribution<Count>>("\"three\"").is_err());
    }
}
