//! How much of the usual decrease a loss event takes, in whole numbers, as `kernel/pit.bpf.c` computes it: the kernel
//! has no floating point. Shares are in units of 2^-32, and rounded down.

use super::canceller::Cancelled;
use super::{Combine, Definition, Settings};

/// One, in units of 2^-32.
pub(super) const ONE: u64 = 1 << 32;

/// What a loss event showed, in units of 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) rho: u64,
    pub(super) noise: u64,
    pub(super) span: u64,
    pub(super) mu: u64,
}

/// What `cancelled` and the extremes of the gaps show, with the packet time `unit`, nanoseconds.
pub(super) fn shares(settings: &Settings, cancelled: &Cancelled, (least, most): (u32, u32), unit: u64) -> Shares {
    let rho = match settings.definition {
        Definition::Count => u64::from(cancelled.count) << 32,
        Definition::Sum => ((cancelled.sum << 16) / unit.max(1)) << 16,
        Definition::Share => (u64::from(cancelled.count) << 32) / u64::from(cancelled.first.max(1)),
    };
    let a = (settings.a * ONE as f64).round() as u64;
    let rest = exponential(times(rho, a));
    let noise = ((ONE - rest) << 31) / ((ONE + rest) / 2);
    let span = ONE - (u64::from(least) << 32) / u64::from(most);
    let mu = match settings.combine {
        Combine::Sum => (ONE - span + noise).min(ONE),
        Combine::Product => ONE - times(span, ONE - noise),
    };
    Shares { rho, noise, span, mu }
}

/// The window that `mu` of a halving leaves of `window`, whole segments.
pub(super) fn left(window: u64, mu: u64) -> u64 {
    (window * (2 * ONE - mu)) >> 33
}

/// x y
fn times(x: u64, y: u64) -> u64 {
    ((u128::from(x) * u128::from(y)) >> 32) as u64
}

/// exp(-x), with an error below 2^-20; 0 from 32 on.
fn exponential(x: u64) -> u64 {
    const UNIT: u64 = 1 << 30;
    if x >= 32 * ONE {
        return 0;
    }
    // x/ln 2 in units of 2^-24: exp(-x) is two to the power of minus that, of which whole halvings are shifts.
    let halvings = ((x >> 8) * 1_549_082_005) >> 30;
    // ln 2 times the rest, below ln 2, in units of 2^-30; its power series to the eighth power.
    let rest = ((halvings & 0xff_ffff) * 744_261_118) >> 24;
    let series = (1..=8).rev().fold(UNIT, |sum, k| UNIT - ((rest * sum) >> 30) / k);
    (series >> (halvings >> 24)) << 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_real_numbers_but_for_a_millionth() {
        for x in [0.0, 0.1, 0.5, 1.0, 2.0, 3.7, 10.0, 31.9, 32.0, 1000.0] {
            let found = exponential((x * ONE as f64) as u64) as f64 / ONE as f64;
            assert!((found - libm::exp(-x)).abs() < 1e-6, "{x}: {found}");
        }
        assert_eq!(exponential(0), ONE);
    }

    #[test]
    fn a_window_is_halved_by_a_whole_decrease_and_kept_without_one() {
        assert_eq!((left(41, ONE), left(41, 0), left(40, ONE / 4)), (20, 41, 35));
    }

    #[test]
    fn shares_are_those_of_real_numbers() {
        // Three differences of 0.25, 0.25 and 0.5 T, of six; S_min/S_max = 1/4. By hand as in the tests of `pit`.
        let cancelled = Cancelled { count: 3, sum: 2_000_000, first: 6 };
        let of = |definition, combine| {
            let settings = Settings { definition, combine, ..Settings::default() };
            shares(&settings, &cancelled, (1_000_000, 4_000_000), 2_000_000)
        };
        let near = |share: u64, expected: f64| assert!((share as f64 / ONE as f64 - expected).abs() < 1e-6);
        let count = of(Definition::Count, Combine::Sum);
        assert_eq!((count.rho, count.span, count.mu), (3 * ONE, 3 * ONE / 4, ONE));
        near(count.noise, 0.905_148);
        near(of(Definition::Sum, Combine::Sum).mu, 0.712_117);
        near(of(Definition::Share, Combine::Product).mu, 0.433_689);
    }
}
