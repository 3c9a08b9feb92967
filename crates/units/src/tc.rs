//! Quantities as `tc` spells them. Its letters mean other numbers than in scenarios.
//!
//! In a rate, `bit` and a bare number are bits, and `bps` bytes per second. Prefixes of a size are powers of 1024. A
//! bare time counts microseconds.

use crate::{Bytes, ParseError, Rate, Span};

/// Bits per second.
const RATES: &[(&str, f64)] = &[("", 1.0), ("bit", 1.0), ("bps", 8.0)];
/// Bytes.
const SIZES: &[(&str, f64)] = &[("", 1.0), ("b", 1.0), ("bit", 0.125)];
/// Nanoseconds.
const TIMES: &[(&str, f64)] = &[
    ("", 1e3),
    ("us", 1e3),
    ("usec", 1e3),
    ("usecs", 1e3),
    ("ms", 1e6),
    ("msec", 1e6),
    ("msecs", 1e6),
    ("s", 1e9),
    ("sec", 1e9),
    ("secs", 1e9),
    ("ns", 1.0),
    ("nsec", 1.0),
    ("nsecs", 1.0),
];
/// Each multiplies by a thousand, or by 1024.
const PREFIXES: [&str; 5] = ["", "k", "m", "g", "t"];

/// A rate of `tc`: `10mbit`, `1Mbps` (8 Mbit/s), `1mibit` (1048576 bit/s).
///
/// # Errors
/// It is none.
pub fn rate(text: &str) -> Result<Rate, ParseError> {
    let bits = scaled(text, RATES, 1000.0).ok_or_else(|| wrong(text, "rate", "10mbit"))?;
    Ok(Rate::from_bits_per_second(bits.round() as u64))
}

/// A size of `tc`: `1600`, `15k` (15360 bytes), `32kbit` (4096 bytes).
///
/// # Errors
/// It is none.
pub fn size(text: &str) -> Result<Bytes, ParseError> {
    let bytes = scaled(text, SIZES, 1024.0).ok_or_else(|| wrong(text, "size", "32kb"))?;
    Ok(Bytes::new(bytes as u64))
}

/// A time of `tc`: `100ms`, `250` (microseconds).
///
/// # Errors
/// It is none.
pub fn time(text: &str) -> Result<Span, ParseError> {
    let found = number_and_unit(text).and_then(|(number, unit)| Some(number * factor(TIMES, &unit)?));
    let nanos = found.ok_or_else(|| wrong(text, "time", "100ms"))?;
    Ok(Span::from_nanos(nanos.round() as u64))
}

/// `rate` in bits per second, as `tc` reads and scenarios read it.
pub fn spelled_rate(rate: Rate) -> String {
    format!("{}bit", rate.bits_per_second())
}

fn wrong(text: &str, what: &str, example: &str) -> ParseError {
    ParseError::new(format!("{text}: is no {what} of tc, like {example}"))
}

/// The number and the unit, in small letters.
fn number_and_unit(text: &str) -> Option<(f64, String)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.to_ascii_lowercase()))
}

fn factor(units: &[(&str, f64)], unit: &str) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// The number in the unit of `units`, which may have a prefix; an `i` behind the prefix makes it one of 1024.
fn scaled(text: &str, units: &[(&str, f64)], thousand: f64) -> Option<f64> {
    let (number, unit) = number_and_unit(text)?;
    PREFIXES.iter().zip(0..).find_map(|(prefix, power)| {
        let rest = unit.strip_prefix(prefix)?;
        let binary = rest.strip_prefix('i').filter(|_| power > 0);
        let base = if binary.is_some() { 1024.0 } else { thousand };
        let of_unit = factor(units, binary.unwrap_or(rest))?;
        Some(number * of_unit * (0..power).fold(1.0, |product, _| product * base))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_count_bits_or_bytes() {
        for (text, bits) in [
            ("1Mbps", 8_000_000),
            ("1mbit", 1_000_000),
            ("500", 500),
            ("1.5Mbit", 1_500_000),
            ("10kbit", 10_000),
            ("1mibit", 1_048_576),
            ("2kbps", 16_000),
        ] {
            assert_eq!(rate(text), Ok(Rate::from_bits_per_second(bits)), "{text}");
        }
    }

    #[test]
    fn prefixes_of_sizes_are_powers_of_1024() {
        for (text, bytes) in [
            ("0.1MB", 104_857),
            ("32kbit", 4096),
            ("1600", 1600),
            ("1600b", 1600),
            ("15k", 15_360),
            ("1Mb", 1_048_576),
            ("64kb", 65_536),
        ] {
            assert_eq!(size(text), Ok(Bytes::new(bytes)), "{text}");
        }
    }

    #[test]
    fn a_bare_time_counts_microseconds() {
        let times = ["100ms", "250", "1s", "7nsecs"].map(|text| time(text).unwrap().as_nanos());
        assert_eq!(times, [100_000_000, 250_000, 1_000_000_000, 7]);
    }

    #[test]
    fn other_words_are_no_quantities() {
        assert_eq!(rate("fast").unwrap_err().to_string(), "fast: is no rate of tc, like 10mbit");
        assert_eq!(size("1.2.3k").unwrap_err().to_string(), "1.2.3k: is no size of tc, like 32kb");
        assert_eq!(time("1min").unwrap_err().to_string(), "1min: is no time of tc, like 100ms");
        assert!(rate("10ibit").is_err() && size("").is_err() && time("-1ms").is_err());
    }
}
