//! The rates that a Quick-Start request can ask for (RFC 4782, section 3.1).

use units::Rate;

/// The unit of the request: code n is 40 kbit/s times 2^n, from 1 to [`LARGEST_CODE`].
const UNIT: Rate = Rate::from_bits_per_second(40_000);
const LARGEST_CODE: u32 = 15;

/// The largest rate not above `rate` that a request can ask for, or `None` below 80 kbit/s.
pub fn quick_start_rate(rate: Rate) -> Option<Rate> {
    let code = (rate.bits_per_second() / UNIT.bits_per_second()).checked_ilog2()?.min(LARGEST_CODE);
    (code > 0).then(|| Rate::from_bits_per_second(UNIT.bits_per_second() << code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_rounded_down_to_one_of_fifteen_rates() {
        let rounded = |kbit: u64| {
            quick_start_rate(Rate::from_bits_per_second(1000 * kbit)).map(|rate| rate.bits_per_second() / 1000)
        };
        assert_eq!([rounded(79), rounded(80), rounded(159), rounded(160)], [None, Some(80), Some(80), Some(160)]);
        // 40 kbit/s * 2^11 = 81.92 Mbit/s, and 2^15 times is 1.31072 Gbit/s.
        assert_eq!([rounded(100_000), rounded(10_000_000)], [Some(81_920), Some(1_310_720)]);
    }
}
