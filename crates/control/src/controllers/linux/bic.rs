//! BIC of Linux (`tcp_bic.c`). The paper's is `controllers/bic.rs`.
//!
//! | rule of tcp_bic.c | here |
//! | --- | --- |
//! | below W_max: a quarter of the way, at most 16 segments in an RTT, 20 RTTs for the last one | `Bic::update` |
//! | beyond: as slowly for 4 segments, then faster, 16 from 48 segments on | `Bic::update` |
//! | no W_max yet: at least 5 % a round trip | `Bic::update` |
//! | the count of segments for one more, divided by the segments per ACK (`delayed_ack`) | `Bic::update` |
//! | loss: 819/1024 kept, W_max 9/10 of the window below the last W_max; low windows halve | `Bic::threshold` |
//!
//! Difference from Linux: the window after a timeout is the transport's.

use crate::controllers::bic;
use crate::entry::Form;
use crate::parameters::parameters;
use crate::parts::linux::{Counter, HZ, avoidance, jiffies};
use crate::parts::reno::delegate;
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The form of BIC.
pub(crate) const FORM: Form = Form {
    parameters: Settings::PARAMETERS,
    probes: bic::ENTRY.probes,
    make: |given| Ok(Box::new(Bic::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters of the module.
    pub(crate) struct Settings {
        /// Up to this window it is Reno
        low_window: u32 = 14, unit "segments", range from(0).up_to(1_000_000), source "Linux, low_window";
        /// A loss below the last W_max puts the next one lower, to leave room for new flows
        fast_convergence: bool = true, source "Linux, fast_convergence";
    }
}

/// Largest increase, segments a round trip (`max_increment`).
const MAX_INCREMENT: u32 = 16;
/// One part in so many of the way to W_max (`BICTCP_B`).
const WAY: u32 = 4;
/// Round trips for the last part of the way (`smooth_part`).
const SMOOTH_PART: u32 = 20;
/// The share kept on a loss, and its unit (`beta`, `BICTCP_BETA_SCALE`).
const KEPT: u32 = 819;
const SCALE: u32 = 1024;
/// Without W_max the window grows by a segment for so many counted.
const UNKNOWN_EVERY: u32 = 20;
/// The count of an unchanged window is computed again after so many ticks.
const REFRESH: u64 = HZ as u64 / 32;
/// Segments per ACK are in 16ths (`ACK_RATIO_SHIFT`), two at first.
const RATIO: u32 = 16;

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Bic {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    counter: Counter,
    /// W_max (`last_max_cwnd`); 0 while unknown.
    w_max: f64,
    /// A segment more for so many counted (`cnt`).
    every: u32,
    last_window: u32,
    last_time: u64,
    /// Segments per ACK, in 16ths (`delayed_ack`).
    ratio: u32,
    /// A timeout is being repaired.
    in_repair: bool,
}

impl Bic {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            counter: Counter::new(),
            w_max: 0.0,
            every: 0,
            last_window: 0,
            last_time: 0,
            ratio: 2 * RATIO,
            in_repair: false,
        }
    }

    fn is_low(&self) -> bool {
        self.reno.window <= f64::from(self.settings.low_window)
    }

    /// The count of segments for one more (`bictcp_update`).
    fn update(&mut self, now: u64) {
        let window = self.reno.window as u32;
        if self.last_window == window && now - self.last_time <= REFRESH {
            return;
        }
        (self.last_window, self.last_time) = (window, now);
        if window <= self.settings.low_window {
            self.every = window;
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
        self.every = (every * RATIO / self.ratio).max(1);
    }

    /// The threshold after a congestion event (`bictcp_recalc_ssthresh`).
    fn threshold(&mut self) -> f64 {
        let window = self.reno.window;
        let share = |kept: u32, of: u32| (window as u64 * u64::from(kept) / u64::from(of)) as f64;
        let converges = self.settings.fast_convergence && window < self.w_max;
        self.w_max = if converges { share(SCALE + KEPT, 2 * SCALE) } else { window };
        self.counter.clear();
        if self.is_low() { share(1, 2) } else { share(KEPT, SCALE) }
    }
}

impl Controller for Bic {
    delegate!(reno: on_start, on_idle_restart, keep, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        // Linux counts before recovery ends.
        if !self.in_repair && !ack.ends_recovery {
            self.ratio = self.ratio - self.ratio / RATIO + ack.newly_acknowledged;
        }
        self.in_repair &= !ack.ends_repair;
        if let Some(credit) = avoidance(&mut self.reno, cx, ack) {
            self.update(jiffies(cx, HZ.into()));
            self.counter.grow(&mut self.reno, self.every, credit, cx.counting);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        // The ACK that shows the first hole still is one of a connection in order, and covers nothing.
        if ack.first_duplicate && !self.in_repair {
            self.ratio -= self.ratio / RATIO;
        }
        self.in_repair &= !ack.ends_repair;
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        let threshold = self.threshold();
        self.reno.settle_at(threshold);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.undo.restore(&mut self.reno);
        self.in_repair = false;
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let threshold = self.threshold();
        self.reno.time_out_to(threshold, loss);
        // `bictcp_reset`
        let Self { settings, reno, undo, .. } = *self;
        *self = Self { reno, undo, in_repair: true, ..Self::new(settings) };
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("w_max", self.w_max);
        out.value("increase", self.reno.window / f64::from(self.every.max(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    fn at(window: f64, w_max: f64) -> Bic {
        // An ACK for each segment.
        let bic = Bic { w_max, ratio: RATIO, ..Bic::new(Settings::default()) };
        Bic { reno: Reno { window, threshold: 2.0 }, ..bic }
    }

    #[test]
    fn up_to_the_low_window_it_is_reno() {
        let mut bic = at(14.0, 1000.0);
        let all = Ack { newly_acknowledged: 14, newly_delivered: 14, ..ack() };
        bic.on_ack(&mut World::new().context(), &all);
        assert_eq!(bic.window(), 15.0);
        bic.reno.window = 14.0;
        bic.on_loss(&mut World::new().context(), &loss());
        assert_eq!(bic.window(), 7.0);
    }

    #[test]
    fn the_distance_from_the_last_maximum_gives_the_count() {
        // A quarter of the way: above 16 segments w/16; 10 segments w/10; at most one, w * 20/4. Beyond: w * 20/4 for
        // four segments, then 3w/(w - w_max) up to 48, then w/16.
        for (window, w_max, every) in [
            (400.0, 1000.0, 25),
            (400.0, 440.0, 40),
            (400.0, 408.0, 200),
            (400.0, 407.0, 2000),
            (400.0, 405.0, 2000),
            (400.0, 397.0, 2000),
            (400.0, 396.0, 300),
            (400.0, 390.0, 120),
            (400.0, 352.0, 25),
            (400.0, 350.0, 25),
            (400.0, 0.0, 20),
        ] {
            let mut bic = at(window, w_max);
            bic.update(0);
            assert_eq!((bic.every, probed(&bic, "increase")), (every, window / f64::from(every)), "{w_max}");
        }
    }

    #[test]
    fn the_count_is_divided_by_the_segments_per_ack() {
        let mut bic = at(400.0, 1000.0);
        bic.ratio = 2 * RATIO;
        bic.update(0);
        assert_eq!(bic.every, 12);
        // 32 - 32/16 + 3.
        bic.on_ack(&mut World::new().context(), &Ack { newly_acknowledged: 3, newly_delivered: 3, ..ack() });
        assert_eq!(bic.ratio, 33);
        // The first duplicate ACK covers none, 33 - 33/16. Those after it do not count.
        for first_duplicate in [true, false] {
            bic.on_duplicate_ack(&mut World::new().context(), &Ack { newly_acknowledged: 0, first_duplicate, ..ack() });
        }
        assert_eq!(bic.ratio, 31);
        // Nor does the ACK that ends a recovery, which covers SACKed segments.
        let end = Ack { newly_acknowledged: 20, newly_delivered: 1, ends_recovery: true, ..ack() };
        bic.on_ack(&mut World::new().context(), &end);
        assert_eq!(bic.ratio, 31);
    }

    #[test]
    fn segments_per_ack_count_again_after_the_ack_that_ends_the_repair_of_a_timeout() {
        let (mut world, mut bic) = (World::new(), at(400.0, 1000.0));
        bic.on_timeout(&mut world.context(), &loss());
        let before = bic.ratio;
        let of = |ends_repair| Ack { newly_acknowledged: 20, newly_delivered: 20, ends_repair, ..ack() };
        for (ends_repair, added) in [(false, 0), (true, 0), (false, 20 - before / RATIO)] {
            bic.on_ack(&mut world.context(), &of(ends_repair));
            assert_eq!(bic.ratio, before + added);
        }
        bic.on_timeout(&mut world.context(), &loss());
        bic.on_spurious(&mut world.context());
        assert!(!bic.in_repair);
    }

    #[test]
    fn a_loss_keeps_819_of_1024_and_a_timeout_forgets_all() {
        let mut world = World::new();
        let mut bic = at(400.0, 0.0);
        bic.on_loss(&mut world.context(), &loss());
        // 400 * 819/1024 = 319.9; then 319 * 1843/2048 = 287.07.
        assert_eq!((bic.window(), probed(&bic, "w_max")), (319.0, 400.0));
        bic.on_loss(&mut world.context(), &loss());
        assert_eq!((bic.window(), probed(&bic, "w_max")), (255.0, 287.0));
        bic.on_timeout(&mut world.context(), &loss());
        assert_eq!((bic.window(), bic.slow_start_threshold(), probed(&bic, "w_max")), (1.0, 203.0, 0.0));
    }
}
