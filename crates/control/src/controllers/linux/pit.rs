//! Reno with loss differentiation in whole numbers, as `kernel/pit.bpf.c` computes it, because the kernel has no
//! floating point. Shares are in units of 2^-32, and rounded down. Windows are whole segments. `controllers/pit.rs` has
//! the rules.

use crate::controllers::pit::{self, Combine, Definition, Evidence, Numbers, Pit, Settings, Shown};
use crate::entry::{Form, with_values};
use crate::parts::linux::Counter;
use crate::{Ack, Moment, Reno};

/// The form of Reno with loss differentiation.
pub(crate) const FORM: Form = with_values!(Settings, Pit::<Whole>, pit::ENTRY, &[]);

/// Whole numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    counter: Counter,
}

impl Numbers for Whole {
    fn grow(&mut self, reno: &mut Reno, at: &Moment, ack: &Ack) {
        self.counter.grow_as_reno(reno, at, ack);
    }

    fn reduce(&mut self) {
        self.counter.clear();
    }

    fn half(window: f64) -> f64 {
        (window / 2.0).floor()
    }

    fn halve(reno: &mut Reno) {
        reno.settle_at(Self::half(reno.window));
    }

    fn left(settings: &Settings, evidence: &Evidence, window: f64) -> (Shown, f64) {
        let shares = shares(settings, evidence);
        let real = |share: u64| share as f64 / ONE as f64;
        let [rho, noise, span, mu] = [shares.rho, shares.noise, shares.span, shares.mu].map(real);
        (Shown { rho, noise, span, mu }, left(window as u64, shares.mu) as f64)
    }
}

/// One, in units of 2^-32.
const ONE: u64 = 1 << 32;

/// The noise, span and share of a loss event, in units of 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shares {
    rho: u64,
    noise: u64,
    span: u64,
    mu: u64,
}

/// The shares that `evidence` shows.
fn shares(settings: &Settings, evidence: &Evidence) -> Shares {
    let Evidence { cancelled, extremes: (least, most), packet_time: unit } = *evidence;
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
fn left(window: u64, mu: u64) -> u64 {
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
    // ln 2 times the rest, below ln 2, in units of 2^-30. Its power series to the eighth power.
    let rest = ((halvings & 0xff_ffff) * 744_261_118) >> 24;
    let series = (1..=8).rev().fold(UNIT, |sum, k| UNIT - ((rest * sum) >> 30) / k);
    (series >> (halvings >> 24)) << 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::pit::canceller::Cancelled;

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
            let evidence = Evidence { cancelled, extremes: (1_000_000, 4_000_000), packet_time: 2_000_000 };
            shares(&settings, &evidence)
        };
        let near = |share: u64, expected: f64| assert!((share as f64 / ONE as f64 - expected).abs() < 1e-6);
        let count = of(Definition::Count, Combine::Sum);
        assert_eq!((count.rho, count.span, count.mu), (3 * ONE, 3 * ONE / 4, ONE));
        near(count.noise, 0.905_148);
        near(of(Definition::Sum, Combine::Sum).mu, 0.712_117);
        near(of(Definition::Share, Combine::Product).mu, 0.433_689);
    }

    #[test]
    fn a_loss_event_leaves_whole_segments() {
        // Gaps of T and 4 T, without noise: an eighth of 40 goes. Gaps from T to 3 T: half a third, 33 1/3 segments
        // stay, rounded down.
        let left = |most| {
            let cancelled = Cancelled { count: 0, sum: 0, first: 6 };
            let evidence = Evidence { cancelled, extremes: (2_000_000, most), packet_time: 2_000_000 };
            Whole::left(&Settings::default(), &evidence, 40.0).1
        };
        assert_eq!((left(8_000_000), left(6_000_000), Whole::half(41.0)), (35.0, 33.0, 20.0));
    }
}
