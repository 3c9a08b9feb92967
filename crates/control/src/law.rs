//! The law for decisions of controllers: the values that a run can go on with, whatever language they come from.

use std::fmt;

use units::Rate;

use crate::Controller;

/// The largest window, in segments: all of it may leave at once, and is remembered. No path holds more.
pub const LARGEST_WINDOW: f64 = 10_000_000.0;

/// A decision outside the law. Displays as `window is NaN: allowed is a number of segments from 0 to 10000000`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breach {
    /// The decision, by its name in [`Controller`].
    pub decision: &'static str,
    /// Its value.
    pub value: f64,
    /// The values that are allowed.
    pub allowed: &'static str,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { decision, value, allowed } = self;
        write!(f, "{decision} is ")?;
        // A hundred zeros help nobody.
        match value.abs() {
            size if size != 0.0 && !(1e-5..1e16).contains(&size) => write!(f, "{value:?}")?,
            _ => write!(f, "{value}")?,
        }
        write!(f, ": allowed is {allowed}")
    }
}

/// `value`, if it is `lawful`.
fn checked(lawful: bool, decision: &'static str, value: f64, allowed: &'static str) -> Result<f64, Breach> {
    if lawful { Ok(value) } else { Err(Breach { decision, value, allowed }) }
}

/// A window in segments.
///
/// # Errors
/// It is no number from 0 to [`LARGEST_WINDOW`].
pub fn window(value: f64) -> Result<f64, Breach> {
    let lawful = (0.0..=LARGEST_WINDOW).contains(&value);
    checked(lawful, "window", value, "a number of segments from 0 to 10000000")
}

/// A slow-start threshold in segments, infinite before the first congestion event.
///
/// # Errors
/// It is negative or NaN.
pub fn threshold(value: f64) -> Result<f64, Breach> {
    checked(value >= 0.0, "slow_start_threshold", value, "a number of segments from 0 on, or infinity")
}

/// The pacing rate of so many bits per second.
///
/// # Errors
/// It is below one, or no finite number.
pub fn rate(value: f64) -> Result<Rate, Breach> {
    let lawful = value.is_finite() && value >= 1.0;
    checked(lawful, "pacing_rate", value, "a finite rate of at least 1 bit/s, or None")
        .map(|bits| Rate::from_bits_per_second(bits as u64))
}

/// The segments of a burst.
///
/// # Errors
/// It is no number from 1 to [`LARGEST_WINDOW`].
pub fn quantum(value: f64) -> Result<u32, Breach> {
    let lawful = (1.0..=LARGEST_WINDOW).contains(&value);
    checked(lawful, "send_quantum", value, "a number of segments from 1 to 10000000").map(|count| count as u32)
}

/// All decisions of a controller.
///
/// # Errors
/// The first one outside the law.
pub fn check(controller: &dyn Controller) -> Result<(), Breach> {
    let (decided, threshold_now, paced) = controller.decisions();
    window(decided)?;
    threshold(threshold_now)?;
    if let Some(paced) = paced {
        rate(paced.bits_per_second() as f64)?;
        // The value 0 counts as 1.
        quantum(controller.send_quantum().max(1).into())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_law_are_allowed_and_nothing_beyond() {
        assert_eq!([window(0.0), window(1e7)], [Ok(0.0), Ok(1e7)]);
        for value in [-5.0, 10_000_001.0, f64::INFINITY, f64::NAN] {
            assert!(window(value).is_err(), "{value}");
        }
        assert_eq!(threshold(f64::INFINITY), Ok(f64::INFINITY));
        assert_eq!(threshold(0.0), Ok(0.0));
        for value in [-1.0, f64::NEG_INFINITY, f64::NAN] {
            assert!(threshold(value).is_err(), "{value}");
        }
        assert_eq!(rate(1.0), Ok(Rate::from_bits_per_second(1)));
        for value in [0.0, 0.5, -1.0, f64::INFINITY, f64::NAN] {
            assert!(rate(value).is_err(), "{value}");
        }
        assert_eq!([quantum(1.0), quantum(1e7)], [Ok(1), Ok(10_000_000)]);
        for value in [0.0, 1e8, f64::NAN] {
            assert!(quantum(value).is_err(), "{value}");
        }
        let sentence = "window is inf: allowed is a number of segments from 0 to 10000000";
        assert_eq!(window(f64::INFINITY).unwrap_err().to_string(), sentence);
        let sentence = "pacing_rate is 1e-300: allowed is a finite rate of at least 1 bit/s, or None";
        assert_eq!(rate(1e-300).unwrap_err().to_string(), sentence);
    }
}
