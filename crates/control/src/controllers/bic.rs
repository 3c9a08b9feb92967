//! BIC (Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance networks", INFOCOM
//! 2004).
//!
//! A binary search for the window that the path holds: between the window that the last loss left and the one at which
//! it happened the window goes half the way each round trip, but by S_max at most. Beyond, it looks for a new maximum
//! by steps that double.
//!
//! | rule | here |
//! | --- | --- |
//! | w < W_max: w += (W_max - w)/2 a round trip, within S_min and S_max | `Bic::increase` |
//! | w >= W_max: w += S_min, 2 S_min, 4 S_min, ... S_max a round trip | `Bic::increase` |
//! | loss: W_max = w, w -= beta w | `Bic::reduced` |
//! | fast convergence: W_max = w (2 - beta)/2 on a loss below the last one | `Bic::reduced` |
//! | up to the low window it is NewReno | `Bic::increase`, `Bic::reduced` |
//!
//! Notable differences from the paper: what a round trip adds comes in equal parts with its ACKs. As long as no loss
//! has shown W_max the window grows by S_max.
//!
//! With `arithmetic = "linux"` it is Linux's module with its own constants (at most 16 segments a round trip, a
//! quarter of the way, 819/1024 kept, 20 round trips for the last segment), but for: the clock, which is exact and
//! not that of jiffies; the window after a timeout, which is the transport's.

use units::{Span, Time};

use crate::entry::{Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::linux::{self, Arithmetic, Counter, avoidance};
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// What the registry tells about BIC.
pub const ENTRY: Entry = Entry {
    name: "bic",
    title: "BIC",
    summary: "Searches between the windows after and at the last loss by halving, beyond by doubling its steps",
    source: "Xu, Harfoush and Rhee 2004; Linux",
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("w_max", "segments", "The window that the search aims at; 0 while no loss has shown one"),
        Quantity::new("increase", "segments per RTT", "Increase"),
    ],
    make: |given| Ok(Box::new(Bic::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Largest increase
        s_max: f64 = 32.0, unit "segments per RTT", range above(0.0).up_to(10_000.0), source "S_max";
        /// Smallest increase
        s_min: f64 = 0.01, unit "segments per RTT", range above(0.0).up_to(10_000.0), source "S_min";
        /// Share of the window given up on a loss
        beta: f64 = 0.125, range above(0.0).below(1.0), source "beta";
        /// Up to this window it is NewReno
        low_window: u32 = 14, unit "segments", range from(0).up_to(1_000_000), source "low_window";
        /// A loss below the last W_max puts the next one lower, to leave room for new flows
        fast_convergence: bool = true, source "fast convergence";
        /// Real numbers, or the whole numbers of the module in Linux with its own constants for S_max, S_min and beta
        arithmetic: Arithmetic = Arithmetic::Float, source "Linux, tcp_bic.c";
    }
}

/// Constants of Linux: the largest increase, the share of the way (1 in so many), round trips for the last of it, the
/// share kept in 1024ths.
const MAX_INCREMENT: u32 = 16;
const WAY: u32 = 4;
const SMOOTH_PART: u32 = 20;
const KEPT: u32 = 819;
const SCALE: u32 = 1024;
/// While nothing is known the window grows by a segment for so many counted, 5 % a round trip.
const UNKNOWN_EVERY: u32 = 20;
/// An unchanged window is looked at again after this.
const REFRESH: Span = Span::from_nanos(1_000_000_000 / 32);
/// Segments per ACK are kept in 16ths; two at first.
const RATIO: u32 = 16;

/// What Linux keeps besides.
#[derive(Clone, Copy, Debug)]
struct Whole {
    counter: Counter,
    /// A segment more for so many counted.
    every: u32,
    last_window: u32,
    last_time: Time,
    /// delayed_ack: segments per ACK, in 16ths.
    ratio: u32,
}

impl Whole {
    const fn new() -> Self {
        let (counter, ratio) = (Counter::new(), 2 * RATIO);
        Self { counter, every: 0, last_window: 0, last_time: Time::ZERO, ratio }
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Bic {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// W_max; 0 while unknown.
    w_max: f64,
    /// The window at the last loss.
    last_loss: f64,
    /// The step beyond W_max; 0 below it.
    probing: f64,
    increase: f64,
    in_recovery: bool,
    whole: Whole,
}

impl Bic {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let increase = settings.s_max;
        let (reno, undo, whole) = (Reno::new(), Undo::default(), Whole::new());
        Self { settings, reno, undo, w_max: 0.0, last_loss: 0.0, probing: 0.0, increase, in_recovery: false, whole }
    }

    fn is_low(&self) -> bool {
        self.reno.window <= f64::from(self.settings.low_window)
    }

    /// The increase for the round trip that begins.
    fn increase(&mut self) -> f64 {
        let Settings { s_max, s_min, .. } = self.settings;
        let step = if self.is_low() {
            return 1.0;
        } else if self.w_max == 0.0 {
            s_max
        } else if self.reno.window < self.w_max {
            self.probing = 0.0;
            (self.w_max - self.reno.window) / 2.0
        } else {
            self.probing = if self.probing == 0.0 { s_min } else { (2.0 * self.probing).min(s_max) };
            self.probing
        };
        step.max(s_min).min(s_max)
    }

    /// A segment more for how many counted, in Linux (`bictcp_update`).
    fn update(&mut self, now: Time) {
        let window = self.reno.window as u32;
        if self.whole.last_window == window && now.since(self.whole.last_time) <= REFRESH {
            return;
        }
        (self.whole.last_window, self.whole.last_time) = (window, now);
        if window <= self.settings.low_window {
            self.whole.every = window;
            return;
        }
        let most = self.w_max as u32;
        let mut every = if window < most {
            match (most - window) / WAY {
                distance if distance > MAX_INCREMENT => window / MAX_INCREMENT,
                0 | 1 => window * SMOOTH_PART / WAY,
                distance => window / distance,
            }
        } else if window < most + WAY {
            window * SMOOTH_PART / WAY
        } else if window < most + MAX_INCREMENT * (WAY - 1) {
            window * (WAY - 1) / (window - most)
        } else {
            window / MAX_INCREMENT
        };
        if most == 0 {
            every = every.min(UNKNOWN_EVERY);
        }
        self.whole.every = (every * RATIO / self.whole.ratio).max(1);
    }

    /// A congestion event: the threshold that it leaves.
    fn reduced(&mut self) -> f64 {
        let window = self.reno.window;
        let Settings { beta, fast_convergence, arithmetic, .. } = self.settings;
        let low = self.is_low();
        self.probing = 0.0;
        if arithmetic == Arithmetic::Linux {
            let w = window as u64;
            let share = |kept: u32, of: u32| (w * u64::from(kept) / u64::from(of)) as f64;
            let converges = fast_convergence && window < self.w_max;
            self.w_max = if converges { share(SCALE + KEPT, 2 * SCALE) } else { window };
            self.whole.counter.clear();
            return if low { share(1, 2) } else { share(KEPT, SCALE) };
        }
        let converges = fast_convergence && window < self.last_loss;
        self.w_max = if converges { window * (2.0 - beta) / 2.0 } else { window };
        self.last_loss = window;
        window * if low { 0.5 } else { 1.0 - beta }
    }

    fn grow_by_whole_segments(&mut self, now: Time, ack: &Ack) {
        if let Some(credit) = avoidance(&mut self.reno, ack) {
            self.update(now);
            self.whole.counter.grow(&mut self.reno, self.whole.every, credit, ack.counting);
            self.increase = self.reno.window / f64::from(self.whole.every);
        }
    }
}

impl Controller for Bic {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if self.settings.arithmetic == Arithmetic::Linux {
            // Linux counts before recovery ends.
            if !self.in_recovery && !ack.ends_recovery {
                let ratio = &mut self.whole.ratio;
                *ratio = *ratio - *ratio / RATIO + ack.newly_acknowledged;
            }
            self.grow_by_whole_segments(cx.now, ack);
            return;
        }
        if ack.round_start {
            self.increase = self.increase();
        }
        self.reno.grow_by(ack, self.increase);
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        // In Linux the ACK that shows the first hole still is one of a connection in order, and covers nothing.
        if ack.first_duplicate && !self.in_recovery {
            self.whole.ratio -= self.whole.ratio / RATIO;
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        let threshold = self.reduced();
        linux::reduce(&mut self.reno, threshold);
        self.increase = self.increase();
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.in_recovery = false;
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let threshold = if loss.again { self.reno.threshold } else { self.reduced() };
        linux::time_out(&mut self.reno, threshold, loss);
        self.in_recovery = true;
        if self.settings.arithmetic == Arithmetic::Linux {
            (self.w_max, self.whole) = (0.0, Whole::new());
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("w_max", self.w_max);
        out.value("increase", self.increase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64, w_max: f64, arithmetic: Arithmetic) -> Bic {
        let mut bic = Bic::new(Settings { arithmetic, ..Settings::default() });
        bic.reno = Reno { window, threshold: 2.0 };
        (bic.w_max, bic.last_loss) = (w_max, w_max);
        // An ACK for each segment.
        bic.whole.ratio = RATIO;
        bic
    }

    /// A whole round trip: the increase is decided, and comes.
    fn round(bic: &mut Bic) -> f64 {
        let all = bic.window() as u32;
        let ack = Ack { round_start: true, newly_acknowledged: all, newly_delivered: all, ..ack() };
        bic.reno.window = f64::from(all);
        bic.on_ack(&mut World::new().context(), &ack);
        bic.window() - f64::from(all)
    }

    #[test]
    fn half_the_way_but_at_most_32_and_at_least_a_hundredth() {
        for (window, increase) in [(100.0, 32.0), (936.0, 32.0), (960.0, 20.0), (999.0, 0.5)] {
            assert!((round(&mut at(window, 1000.0, Arithmetic::Float)) - increase).abs() < 1e-9, "{window}");
        }
        assert!((round(&mut at(1000.0, 1000.001, Arithmetic::Float)) - 0.01).abs() < 1e-9);
    }

    #[test]
    fn beyond_the_maximum_the_step_doubles() {
        let mut bic = at(1000.0, 1000.0, Arithmetic::Float);
        let steps: Vec<f64> = (0..13).map(|_| (round(&mut bic) * 1e4).round() / 1e4).collect();
        assert_eq!(steps, [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 32.0]);
    }

    #[test]
    fn a_loss_takes_an_eighth_and_below_the_last_one_aims_lower() {
        let mut world = World::new();
        let mut bic = at(800.0, 0.0, Arithmetic::Float);
        bic.on_loss(&mut world.context(), &loss());
        assert_eq!((bic.window(), probed(&bic, "w_max"), probed(&bic, "increase")), (700.0, 800.0, 32.0));
        // 700 is below 800: 700 * 1.875/2 = 656.25.
        bic.on_loss(&mut world.context(), &loss());
        assert_eq!((bic.window(), probed(&bic, "w_max")), (612.5, 656.25));
    }

    #[test]
    fn up_to_the_low_window_it_is_newreno() {
        for arithmetic in [Arithmetic::Float, Arithmetic::Linux] {
            let mut bic = at(14.0, 1000.0, arithmetic);
            assert_eq!(round(&mut bic), 1.0);
            bic.reno.window = 14.0;
            bic.on_loss(&mut World::new().context(), &loss());
            assert_eq!(bic.window(), 7.0);
        }
    }

    #[test]
    fn linux_counts_acks_by_the_distance_from_the_last_maximum() {
        // A quarter of the way: above 16 segments w/16; 10 segments w/10; at most one, w * 20/4. Beyond: w * 20/4 for
        // four segments, then 3w/(w - w_max) up to 48, then w/16.
        for (window, w_max, every) in [
            (400.0, 1000.0, 25),
            (400.0, 440.0, 40),
            (400.0, 405.0, 2000),
            (400.0, 397.0, 2000),
            (400.0, 390.0, 120),
            (400.0, 352.0, 25),
            (400.0, 0.0, 20),
        ] {
            let mut bic = at(window, w_max, Arithmetic::Linux);
            bic.update(Time::from_nanos(1));
            assert_eq!(bic.whole.every, every, "{window} of {w_max}");
        }
    }

    #[test]
    fn linux_divides_by_the_segments_per_ack() {
        let mut bic = at(400.0, 1000.0, Arithmetic::Linux);
        bic.whole.ratio = 2 * RATIO;
        bic.update(Time::from_nanos(1));
        assert_eq!(bic.whole.every, 12);
        // 32 - 32/16 + 3.
        bic.on_ack(&mut World::new().context(), &Ack { newly_acknowledged: 3, newly_delivered: 3, ..ack() });
        assert_eq!(bic.whole.ratio, 33);
        // The first duplicate ACK covers none, 33 - 33/16; those after it do not count.
        for first_duplicate in [true, false] {
            bic.on_duplicate_ack(&mut World::new().context(), &Ack { newly_acknowledged: 0, first_duplicate, ..ack() });
        }
        assert_eq!(bic.whole.ratio, 31);
        // Nor does the ACK that ends a recovery, which covers what was SACKed.
        let end = Ack { newly_acknowledged: 20, newly_delivered: 1, ends_recovery: true, ..ack() };
        bic.on_ack(&mut World::new().context(), &end);
        assert_eq!(bic.whole.ratio, 31);
    }

    #[test]
    fn linux_keeps_819_of_1024_and_forgets_all_after_a_timeout() {
        let mut world = World::new();
        let mut bic = at(400.0, 0.0, Arithmetic::Linux);
        bic.on_loss(&mut world.context(), &loss());
        // 400 * 819/1024 = 319.9; then 319 * 1843/2048 = 287.07.
        assert_eq!((bic.window(), probed(&bic, "w_max")), (319.0, 400.0));
        bic.on_loss(&mut world.context(), &loss());
        assert_eq!((bic.window(), probed(&bic, "w_max")), (255.0, 287.0));
        bic.on_timeout(&mut world.context(), &loss());
        assert_eq!((bic.window(), bic.slow_start_threshold(), probed(&bic, "w_max")), (1.0, 203.0, 0.0));
    }

    #[test]
    fn a_second_timeout_in_a_row_does_not_lower_the_aim() {
        let mut world = World::new();
        let mut bic = at(400.0, 0.0, Arithmetic::Float);
        bic.on_timeout(&mut world.context(), &loss());
        bic.on_timeout(&mut world.context(), &Loss { again: true, ..loss() });
        assert_eq!(probed(&bic, "w_max"), 400.0);
    }
}
