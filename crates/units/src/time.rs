//! Points in time and lengths of time in whole nanoseconds, with their spelling.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::parse::{ParseError, in_units, number_and_unit, whole};
use crate::spelled;

/// A point in time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

const UNITS: &[(u64, &str)] = &[(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")];

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens: "no deadline" where an `Option` would cost.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for tables and plots.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time since `earlier`, or zero if that is ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The last point at or before this one on a clock of `tick`, or this point itself for an exact clock (tick 0).
    #[must_use]
    pub const fn floor_to(self, tick: Span) -> Self {
        if tick.0 == 0 { self } else { Self(self.0 - self.0 % tick.0) }
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);
    /// No time of a scenario is longer: a year.
    pub const LONGEST: Self = Self::from_secs(31_536_000);
    /// Nothing in a network waits longer, and no packet is on its way longer: an hour, farther than to Jupiter.
    pub const LONGEST_WAIT: Self = Self::from_secs(3600);

    /// A span of `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }

    /// A span of `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Self(n * 1000)
    }

    /// A span of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n * 1_000_000)
    }

    /// A span of `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// The nearest span of `seconds`, or zero for negative numbers and NaN.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Milliseconds, for controllers whose papers count in them.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The shortest span of whole ticks that is no shorter than this one, or this one itself for an exact clock (tick
    /// 0).
    #[must_use]
    pub const fn ceil_to(self, tick: Self) -> Self {
        if tick.0 == 0 { self } else { Self(self.0.div_ceil(tick.0).saturating_mul(tick.0)) }
    }

    /// The longest span of whole ticks that is no longer than this one, or this one itself for an exact clock (tick 0).
    #[must_use]
    pub const fn floor_to(self, tick: Self) -> Self {
        if tick.0 == 0 { self } else { Self(self.0 - self.0 % tick.0) }
    }

    /// True if the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This span less `other`, at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This span `factor` times, at most [`Span::MAX`].
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// This span scaled by a real factor, rounded to the nanosecond.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        self.saturating_mul(factor)
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        in_units(f, self.0, UNITS)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Span(self.0), f)
    }
}

impl FromStr for Span {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (value, unit) = number_and_unit(text, "time", "40ms")?;
        let scale = match unit {
            "s" | "sec" | "secs" => 1e9,
            "ms" | "msec" | "msecs" => 1e6,
            "us" | "usec" | "usecs" | "µs" => 1e3,
            "ns" | "nsec" | "nsecs" => 1.0,
            "min" => 60e9,
            "" => {
                return Err(ParseError::new(format!("`{text}` has no unit: write `{text}ms` or `{text}s`")));
            }
            _ => {
                return Err(ParseError::new(format!(
                    "`{text}`: unknown unit `{unit}` of time; there are ns, us, ms, s and min"
                )));
            }
        };
        whole((value, scale), text, "time", Self::LONGEST.0, Self)
    }
}

impl FromStr for Time {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        text.parse().map(|Span(nanos)| Self(nanos))
    }
}

spelled!(
    Span,
    "a time with its unit, like \"40ms\"",
    r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*(ns|us|µs|ms|s|min|[nmu]?secs?)\s*$",
    "A length of time with its unit: ns, us, ms, s or min",
    "40ms",
    Self::LONGEST
);
spelled!(
    Time,
    "a time with its unit, like \"20s\"",
    r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*(ns|us|µs|ms|s|min|[nmu]?secs?)\s*$",
    "A point in time, counted from the start of the run, with its unit",
    "20s",
    Span::LONGEST
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_scaled_to_the_nearest_nanosecond() {
        assert_eq!([0.5, 1.5, 0.0].map(|factor| Span::from_nanos(5).scale(factor).as_nanos()), [3, 8, 0]);
        assert_eq!([Span::ZERO, Span::from_nanos(1)].map(|span| span.to_string()), ["0s", "1ns"]);
    }

    #[test]
    fn spans_read_and_print_as_tc_spells_them() {
        for (text, nanos, printed) in [
            ("40ms", 40_000_000, "40ms"),
            ("1.5 s", 1_500_000_000, "1.5s"),
            ("250us", 250_000, "250us"),
            ("1e3ms", 1_000_000_000, "1s"),
            ("2min", 120_000_000_000, "120s"),
            ("0s", 0, "0s"),
            ("1200us", 1_200_000, "1.2ms"),
            ("1.2345678s", 1_234_567_800, "1234567.8us"),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!((span.as_nanos(), span.to_string().as_str()), (nanos, printed), "{text}");
        }
    }

    #[test]
    fn a_time_without_unit_or_below_zero_is_refused_with_the_remedy() {
        let error = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(error("40"), "`40` has no unit: write `40ms` or `40s`");
        assert_eq!(error("-1s"), "`-1s`: a time is not negative");
        assert!(error("40 fortnights").contains("unknown unit `fortnights`"));
        assert!(error("fast").contains("write it like `40ms`"));
        assert!(error("1e300s").contains("too large"));
        assert_eq!(error("0.0000000001ns"), "`0.0000000001ns` is too small for a time");
        assert_eq!("0ns".parse(), Ok(Span::ZERO));
    }

    #[test]
    fn a_clock_with_a_tick_shows_the_last_tick() {
        let now = Time::from_nanos(12_345_678);
        assert_eq!(now.floor_to(Span::from_millis(1)), Time::from_nanos(12_000_000));
        assert_eq!(now.floor_to(Span::ZERO), now);
        let span = Span::from_micros(12_001);
        assert_eq!(span.ceil_to(Span::from_millis(4)), Span::from_millis(16));
        assert_eq!(span.ceil_to(Span::ZERO), span);
        assert_eq!(Span::from_millis(12).ceil_to(Span::from_millis(4)), Span::from_millis(12));
        assert_eq!(span.floor_to(Span::from_millis(5)), Span::from_millis(10));
        assert_eq!(span.floor_to(Span::ZERO), span);
    }

    proptest::proptest! {
        #[test]
        fn printing_and_reading_a_span_of_up_to_13_days_gives_it_back(nanos in 0u64..1 << 50) {
            let span = Span::from_nanos(nanos);
            proptest::prop_assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
    }
}
