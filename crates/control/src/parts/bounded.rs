//! Bounds for numbers that are not NaN.

/// A number with a bound on it. Neither is NaN: an instruction decides, where `f64::max` and `min` take five as they
/// decide for NaN, too.
pub(crate) trait Bounded {
    /// The number, or `least` if that is larger.
    fn at_least(self, least: Self) -> Self;
    /// The number, or `most` if that is smaller.
    fn at_most(self, most: Self) -> Self;
}

impl Bounded for f64 {
    #[inline]
    fn at_least(self, least: Self) -> Self {
        debug_assert!(!self.is_nan() && !least.is_nan(), "{self} at least {least}");
        if self > least { self } else { least }
    }

    #[inline]
    fn at_most(self, most: Self) -> Self {
        debug_assert!(!self.is_nan() && !most.is_nan(), "{self} at most {most}");
        if self < most { self } else { most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_library_for_all_numbers_but_nan() {
        let numbers =
            [f64::NEG_INFINITY, f64::MIN, -1.5, -f64::MIN_POSITIVE, 0.0, 1e-300, 2.0, f64::MAX, f64::INFINITY];
        for one in numbers {
            for other in numbers {
                assert_eq!(one.at_least(other).to_bits(), one.max(other).to_bits(), "{one} {other}");
                assert_eq!(one.at_most(other).to_bits(), one.min(other).to_bits(), "{one} {other}");
            }
        }
    }
}
