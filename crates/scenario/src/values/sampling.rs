//! How scenarios spell the times between samples.

use std::fmt;
use std::str::FromStr;

use units::{ParseError, Span};

use super::spelled;

/// How often a series gets a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Never.
    Off,
    /// Once in this time, at its multiples.
    Every(Span),
    /// At every n-th ACK that brings an RTT sample.
    Acks(u32),
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Every(span) => span.fmt(f),
            Self::Acks(1) => f.write_str("1ack"),
            Self::Acks(n) => write!(f, "{n}acks"),
        }
    }
}

impl FromStr for Sampling {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        if text == "off" {
            return Ok(Self::Off);
        }
        if let Some(number) = text.strip_suffix("acks").or_else(|| text.strip_suffix("ack")) {
            return match number.trim_end().parse() {
                Ok(n) if n > 0 => Ok(Self::Acks(n)),
                _ => Err(ParseError::new(format!("`{text}` is not a whole number of ACKs above 0, like `20acks`"))),
            };
        }
        let span: Span = text.parse().map_err(|error| {
            ParseError::new(format!(
                "{error}; a sampling is a time like `100ms`, a number of ACKs like `20acks`, or `off`"
            ))
        })?;
        if span.is_zero() {
            return Err(ParseError::new(format!(
                "`{text}`: the time between samples must be above 0; `off` takes none"
            )));
        }
        Ok(Self::Every(span))
    }
}

spelled!(
    Sampling,
    "a time like \"100ms\", a number of ACKs like \"20acks\", or \"off\"",
    r"^\s*(off|[0-9]+\s*acks?|[0-9.]+([eE][-+]?[0-9]+)?\s*(ns|us|µs|ms|s|min|[nmu]?secs?))\s*$",
    "A time between samples, a number of ACKs with an RTT sample, or off"
);
