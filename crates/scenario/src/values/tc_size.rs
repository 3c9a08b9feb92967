//! Sizes that `tc` spells too: limits of queues, and bursts.

use std::fmt;
use std::str::FromStr;

use units::{Bytes, ParseError, tc};

use super::spelled;

/// A size whose letters mean the same number in `tc`, or are `kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcSize(pub(crate) Bytes);

impl fmt::Display for TcSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get() {
            bytes if bytes > 0 && bytes.is_multiple_of(1000) => write!(f, "{}kB", bytes / 1000),
            bytes => write!(f, "{bytes}B"),
        }
    }
}

impl FromStr for TcSize {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let number = text.trim().trim_end_matches(|c: char| c.is_alphabetic() || c == ' ');
        let unit = text.trim()[number.len()..].trim();
        let thousands = match unit {
            "KB" | "kb" => 1e3,
            "MB" | "mb" => 1e6,
            "GB" | "gb" => 1e9,
            "kbit" => 1e3 / 8.0,
            "mbit" => 1e6 / 8.0,
            "gbit" => 1e9 / 8.0,
            _ => return text.parse().map(Self),
        };
        let value: f64 = number.parse().map_err(|_| ParseError::new(format!("`{text}` is not a size, like `64kB`")))?;
        let (theirs, ours) = (tc::size(&format!("{value}{unit}"))?.get(), (value * thousands) as u64);
        Err(ParseError::new(format!(
            "`{text}` is ambiguous: tc reads {theirs}B, powers of ten make {ours}B of it; write one of the two"
        )))
    }
}

spelled!(
    TcSize,
    "a size with its unit, like \"64kB\"",
    r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*(k?B|b|[KMGkmg]i[bB]|bytes)\s*$",
    "A size with its unit: B, kB (1000 bytes), KiB, MiB or GiB (binary); others mean another number in tc"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_mean_another_number_in_tc_are_refused_with_both() {
        let error = |text: &str| text.parse::<TcSize>().unwrap_err().to_string();
        assert!(error("0.1MB").contains("tc reads 104857B, powers of ten make 100000B"));
        assert!(error("32kbit").contains("tc reads 4096B, powers of ten make 4000B"));
        assert!(error("8mbit").contains("tc reads 1048576B, powers of ten make 1000000B"));
        assert!(error("1gbit").contains("tc reads 134217728B, powers of ten make 125000000B"));
        assert!(error("1GB").contains("tc reads 1073741824B, powers of ten make 1000000000B"));
        let read = |text: &str| text.parse::<TcSize>().map(|size| (size.0.get(), size.to_string()));
        assert_eq!(read("64kB"), Ok((64_000, "64kB".to_owned())));
        assert_eq!(read("4 KiB"), Ok((4096, "4096B".to_owned())));
        assert_eq!(read("2000kB"), Ok((2_000_000, "2000kB".to_owned())));
    }
}
