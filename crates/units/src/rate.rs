//! Rates in bits per second, with their spelling.

use std::fmt;
use std::str::FromStr;

use crate::parse::{ParseError, in_units, number_and_unit, whole};
use crate::spelled;
use crate::{Bytes, Span};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

const UNITS: &[(u64, &str)] =
    &[(1_000_000_000_000, "tbit"), (1_000_000_000, "gbit"), (1_000_000, "mbit"), (1000, "kbit"), (1, "bit")];

impl Rate {
    /// No rate of a scenario is higher: a full packet takes a nanosecond.
    pub const LARGEST: Self = Self(10_000_000_000_000);

    /// `n` bits per second.
    pub const fn from_bits_per_second(n: u64) -> Self {
        Self(n)
    }

    /// `n` megabits per second.
    pub const fn from_mbit(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// True if nothing moves at this rate.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// How long `size` takes to send, rounded to the nanosecond, or [`Span::MAX`] at rate zero.
    #[must_use]
    pub fn time_for(self, size: Bytes) -> Span {
        const BIT_NANOS: u64 = 8_000_000_000;
        if self.0 == 0 {
            return Span::MAX;
        }
        let nanos = match size.get().checked_mul(BIT_NANOS).and_then(|n| n.checked_add(self.0 / 2)) {
            Some(bit_nanos) => bit_nanos / self.0,
            None => {
                let wide = u128::from(size.get()) * u128::from(BIT_NANOS) + u128::from(self.0 / 2);
                u64::try_from(wide / u128::from(self.0)).unwrap_or(u64::MAX)
            }
        };
        Span::from_nanos(nanos)
    }

    /// How much goes through in `span`, rounded down to whole bytes.
    #[must_use]
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000;
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_units(f, self.0, UNITS)
    }
}

impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (value, unit) = number_and_unit(text, "rate", "10mbit")?;
        let scale = match unit {
            "bit" => 1.0,
            "kbit" | "Kbit" => 1e3,
            "mbit" | "Mbit" | "Mbit/s" => 1e6,
            "gbit" | "Gbit" | "Gbit/s" => 1e9,
            "tbit" | "Tbit" => 1e12,
            "" => {
                return Err(ParseError::new(format!("`{text}` has no unit: write `{text}mbit` or `{text}kbit`")));
            }
            "bps" | "kbps" | "Kbps" | "mbps" | "Mbps" | "gbps" | "Gbps" => {
                let bits = format!("{}bit", unit[..unit.len() - 3].to_lowercase());
                let bytes = value * 8.0;
                return Err(ParseError::new(format!(
                    "`{text}` is ambiguous: tc reads bytes, {bytes}{bits}, and others read {value}{bits}; write one of \
                     the two"
                )));
            }
            _ => {
                return Err(ParseError::new(format!(
                    "`{text}`: unknown unit `{unit}` of a rate; there are bit, kbit, mbit, gbit and tbit"
                )));
            }
        };
        whole((value, scale), text, "rate", Self::LARGEST.0, Self)
    }
}

spelled!(
    Rate,
    "a rate with its unit, like \"10mbit\"",
    r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*([kKmMgGtT]?bit|[MG]bit/s)\s*$",
    "A rate of IP bytes with its unit: bit, kbit, mbit, gbit or tbit, powers of ten",
    "10mbit",
    Self::LARGEST
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_1500_bytes_takes_1200_us_at_10_mbit() {
        let rate: Rate = "10mbit".parse().unwrap();
        assert_eq!(rate.time_for(Bytes::new(1500)), Span::from_micros(1200));
        assert_eq!(rate.bytes_in(Span::from_millis(40)), Bytes::new(50_000));
    }

    #[test]
    fn a_rate_whose_product_overflows_64_bits_is_still_exact() {
        let rate = Rate::from_bits_per_second(8);
        assert_eq!(rate.time_for(Bytes::new(10_000_000_000)), Span::from_secs(10_000_000_000));
    }

    #[test]
    fn ambiguous_and_bare_rates_are_refused() {
        let error = |text: &str| text.parse::<Rate>().unwrap_err().to_string();
        assert!(error("10kbps").contains("ambiguous"));
        assert!(error("1Mbps").contains("tc reads bytes, 8mbit, and others read 1mbit"));
        assert!(error("10").contains("no unit"));
        assert!(error("10 furlong").contains("unknown unit"));
        assert_eq!("10Mbit/s".parse::<Rate>().unwrap(), Rate::from_mbit(10));
    }

    #[test]
    fn rates_print_in_the_unit_that_reads_best() {
        for (bits, printed) in
            [(10_000_000, "10mbit"), (1_544_000, "1.544mbit"), (64_000, "64kbit"), (1001, "1.001kbit"), (0, "0bit")]
        {
            assert_eq!(Rate(bits).to_string(), printed);
        }
    }
}
