//! Limited slow start (RFC 3742): above `max_ssthresh` segments the window grows by half of these a round trip at most,
//! where doubling would lose thousands of segments at once.

/// Segments that one counted segment adds to a window of `window` segments (RFC 3742, section 2).
pub(super) fn growth(window: f64, max_ssthresh: f64) -> f64 {
    if window <= max_ssthresh {
        return 1.0;
    }
    let k = (window / (0.5 * max_ssthresh)).floor();
    1.0 / k
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_the_limit_a_round_trip_adds_half_of_it() {
        // K = int(cwnd / 50): 1 up to the limit of 100, 2 to 150, 3 to 200, 10 at 520.
        for (window, expected) in [(10.0, 1.0), (100.0, 1.0), (101.0, 0.5), (150.0, 1.0 / 3.0), (520.0, 0.1)] {
            assert_eq!(growth(window, 100.0), expected, "{window}");
        }
    }
}
