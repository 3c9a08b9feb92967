//! TCP-Gentle (Edwan, "Improved Algorithms for TCP Congestion Control", thesis, Loughborough 2010, chapter 7), in its
//! two versions, `gentle-1` and `gentle-2`.
//!
//! A queue that YeAH would estimate decides. While there is none the increase rises by alpha_rocket each round trip
//! (thrust, or rocket). With a queue up to Q_max it is in inverse proportion to the queue (damping), the weaker the
//! more often the queue was too long. A longer queue is given up (decongestion), and growth is then Reno's.
//!
//! | rule, with Q and L as in YeAH | here |
//! | --- | --- |
//! | thrust: fuel += 1, alpha = min(fuel alpha_rocket, alpha_max) | `Gentle::thrust` |
//! | damping: alpha = min(alpha_gh/NP^v Q_max/Q, alpha_gh) | `Gentle::damp` |
//! | decongestion: w -= min(Q/gamma, w/2^epsilon), not below the virtual Reno window | `Gentle::decongest` |
//! | AG and NP: what epochs there were; version 1 counts AG to AG_max once, then NP | `Gentle::count_epoch` |
//! | resets: version 1 after decongestions in a row, version 2 below half the largest window | `Gentle::decongest` |
//! | w += alpha/w for each segment acknowledged; no slow start | `Gentle::grow` |
//! | loss: as YeAH, and all of it begins anew | `Controller::on_loss` |
//!
//! Open points of the thesis, and how they are read:
//! - Damping has Q_max/Q and NP^v, as all derivations. One print has Q/Q_max, the boxes NP without v.
//! - AG is counted to its maximum once, then NP grows with every decongestion, as the boxes have it. `ag_reset_on_np`
//!   counts AG anew for each NP, as the text says. alpha_gl bounds damping only with `alpha_floor`.
//! - Rocket replaces slow start: `slow_start = false`. The box of version 1 has both.
//! - RESET_THRESHOLD is not given: 3. A queue below one segment is none.
//! - In version 2 rounds with a long queue in which the window is above the virtual one do not count as Reno's, and
//!   thrust goes on in them.
//!
//! The form in whole numbers, which `kernel/gentle.h` has as well, is `linux/gentle_1.rs`.

use std::fmt::Debug;
use std::marker::PhantomData;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::{choices, over, parameters, with_defaults};
use crate::parts::decongestion::Limits;
use crate::parts::linux::covered;
use crate::parts::queue_bounded::{QueueBounded, leave_to_bounded};
use crate::parts::queue_meter::Estimate;
use crate::parts::reno::delegate;
use crate::range::{Literal, above, from};
use crate::{Ack, Context, Controller, Loss, Moment, Probe};

/// The entry of TCP-Gentle-1 in the registry.
pub const ENTRY: Entry = Entry {
    name: "gentle-1",
    title: "TCP-Gentle-1",
    summary: "Grows ever faster while no queue stands, and the more gently the longer and the older the queue",
    source: "Edwan 2010, chapter 7",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("alpha", "segments per RTT", "Increase"),
        Quantity::new("waiting", "segments", "Q, own segments in the queue"),
        Quantity::new("delay_ratio", "", "L, queueing delay over smallest RTT"),
        Quantity::new("np", "", "NP, how strongly growth is damped"),
        Quantity::new("ag", "", "AG, the age of alpha"),
        Quantity::new("virtual_window", "segments", "The window of a virtual Reno flow"),
        Quantity::new("reno_rounds", "round trips", "Round trips in reno mode in a row; 0 in gentle mode"),
        Quantity::new("decongestions", "reductions", "Reductions for a long queue since the start"),
    ],
    make: |given| Ok(Box::new(Gentle::<Real>::new(Settings::read(given)?))),
};

pub(super) const VERSION_2: &[(&str, Literal)] = &[("version", Literal::Integer(2))];

/// The entry of TCP-Gentle-2 in the registry.
pub const SECOND: Entry = Entry {
    name: "gentle-2",
    title: "TCP-Gentle-2",
    summary: "TCP-Gentle that damps its growth only once the queue was too long several times",
    parameters: &with_defaults::<{ Settings::PARAMETERS.len() }>(Settings::PARAMETERS, VERSION_2),
    make: |given| Ok(Box::new(Gentle::<Real>::new(Settings::read(&over(VERSION_2, given))?))),
    ..ENTRY
};

choices! {
    /// Which of the two.
    pub enum Version {
        /// Algorithms 2 and 4.
        First = Integer(1),
        /// Algorithms 3 and 5.
        Second = Integer(2),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Which of the two versions
        version: Version = Version::First, source "algorithms 2 and 4, or 3 and 5";
        /// Own segments in the queue above which the window gives them up
        q_max: u32 = 80,
            unit "segments", range from(1).up_to(1_000_000), source "algorithms 2 to 5, Q_max; 50 on the test bed";
        /// Thrust goes on up to so many own segments in the queue
        tpq: u32 = 0, unit "segments", range from(0).up_to(1_000_000), source "algorithms 2 to 5, TPQ; version 1";
        /// The queue is long if it takes more than so many parts of the smallest RTT: 1/phi
        phi: u32 = 8, range from(1).up_to(1000), source "algorithms 2 to 5, phi";
        /// A decongestion takes one part in so many of the queue
        gamma: u32 = 1, range from(1).up_to(1000), source "algorithms 2 to 5, gamma";
        /// A decongestion takes at most the window divided by 2 to the power of this
        epsilon: u32 = 1, range from(0).up_to(16), source "algorithms 2 to 5, epsilon";
        /// A loss takes at least the window divided by 2 to the power of this
        delta: u32 = 3, range from(0).up_to(16), source "algorithms 2 to 5, delta";
        /// Round trips in reno mode after which a loss halves the window
        rho: u32 = 16, unit "round trips", range from(0).up_to(1_000_000), source "algorithms 2 to 5, rho";
        /// Round trips in gentle mode after which the virtual Reno flow is forgotten
        zeta: u32 = 50, unit "round trips", range from(0).up_to(1_000_000), source "algorithms 2 to 5, zeta";
        /// Largest increase in damping
        alpha_gh: f64 = 2.0,
            unit "segments per RTT", range above(0.0).up_to(1000.0), source "algorithms 2 to 5, alpha_gh";
        /// Smallest increase in damping, with `alpha_floor`
        alpha_gl: f64 = 0.1, unit "segments per RTT", range above(0.0).up_to(1000.0), source "section 7.1, alpha_gl";
        /// Damping does not go below alpha_gl
        alpha_floor: bool = false, source "section 7.1; not in the boxes";
        /// Gain of the increase each round trip of thrust
        alpha_rocket: f64 = 2.0,
            unit "segments per RTT", range above(0.0).up_to(1000.0), source "algorithms 2 to 5, alpha_rocket";
        /// Largest increase in thrust
        alpha_max: f64 = 20.0,
            unit "segments per RTT", range above(0.0).up_to(1000.0), source "algorithms 2 to 5, alpha_max";
        /// The first value of NP
        np_min: u32 = 1, range from(1).up_to(1000), source "algorithms 2 to 5, NP_min";
        /// The largest value of NP
        np_max: u32 = 7, range from(1).up_to(1000).not_below("np_min"), source "algorithms 2 to 5, NP_max";
        /// The first value of AG
        ag_min: u32 = 1, range from(0).up_to(1_000_000), source "algorithms 2 to 5, AG_min";
        /// The largest value of AG
        ag_max: u32 = 8, range from(0).up_to(1_000_000).not_below("ag_min"), source "algorithms 2 to 5, AG_max";
        /// Power of NP in damping
        v: u32 = 2, range from(0).up_to(4), source "algorithms 2 to 5, v";
        /// AG is counted anew for each NP
        ag_reset_on_np: bool = false, source "section 7.1; not in the boxes";
        /// Decongestions in a row after which damping begins anew
        reset_threshold: u32 = 3,
            range from(0).up_to(1_000_000), source "algorithm 2, RESET_THRESHOLD, without a value";
        /// Slow start below the threshold
        slow_start: bool = false, source "algorithm 2, which has it";
    }
}

/// The numbers that it computes with: the equations that differ between real and whole ones.
pub(crate) trait Numbers: Copy + Debug + Send + 'static {
    /// Windows are whole segments, and RTTs whole microseconds.
    const WHOLE: bool;

    /// `alpha` as it is stored.
    fn increase(alpha: f64) -> f64;

    /// The increase with `queue` segments waiting of `q_max`, where damping divides by `strength`.
    fn damped(most: f64, strength: f64, q_max: u32, queue: f64) -> f64;

    /// `credit` segments counted at an increase of `alpha`.
    fn grow(bounded: &mut QueueBounded, credit: f64, alpha: f64);
}

/// Real numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real;

impl Numbers for Real {
    const WHOLE: bool = false;

    fn increase(alpha: f64) -> f64 {
        alpha
    }

    fn damped(most: f64, strength: f64, q_max: u32, queue: f64) -> f64 {
        most / strength * (f64::from(q_max) / queue)
    }

    fn grow(bounded: &mut QueueBounded, credit: f64, alpha: f64) {
        bounded.reno.additive_increase(credit, alpha);
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gentle<N = Real> {
    settings: Settings,
    numbers: PhantomData<N>,
    bounded: QueueBounded,
    alpha: f64,
    np: u32,
    ag: u32,
    /// Round trips of thrust in a row.
    fuel: u32,
    /// gm_reset: decongestions in a row.
    resets: u32,
    /// max_cwnd.
    largest_window: f64,
}

impl<N: Numbers> Gentle<N> {
    /// A controller with `settings`.
    pub(crate) fn new(settings: Settings) -> Self {
        let Settings { q_max: queue, phi, gamma, epsilon, delta, rho, zeta, .. } = settings;
        let limits = Limits { queue, phi, gamma, epsilon, delta, rho, whole: N::WHOLE };
        let mut gentle = Self {
            settings,
            numbers: PhantomData,
            bounded: QueueBounded::new(limits, zeta),
            alpha: 0.0,
            np: 0,
            ag: 0,
            fuel: 0,
            resets: 0,
            largest_window: 2.0,
        };
        gentle.begin_anew();
        gentle
    }

    fn is_second(&self) -> bool {
        self.settings.version == Version::Second
    }

    /// Nothing is known of the queue: no damping yet.
    fn begin_anew(&mut self) {
        (self.np, self.ag) = (self.settings.np_min, self.settings.ag_min);
        if self.is_second() {
            (self.fuel, self.largest_window) = (0, 2.0);
            self.alpha = N::increase(self.settings.alpha_rocket);
        } else {
            self.alpha = N::increase(self.settings.alpha_gh);
        }
    }

    /// An ACK on a fully used window.
    fn grow(&mut self, at: &Moment, ack: &Ack) {
        let reno = &mut self.bounded.reno;
        let exponential = self.settings.slow_start && reno.grows_exponentially(at);
        let credit = if exponential { reno.slow_start(at, ack) } else { covered(at, ack) };
        if credit > 0.0 {
            N::grow(&mut self.bounded, credit, self.alpha);
        }
    }

    /// A round trip ends: the mode, and the increase for the next one.
    fn decide(&mut self, estimate: Estimate) {
        self.bounded.last = estimate;
        self.largest_window = self.largest_window.max(self.bounded.reno.window);
        if self.bounded.limits.is_long(&estimate) {
            if self.bounded.has_to_decongest() {
                self.decongest();
            }
            self.bounded.grow_virtual_window();
            if !self.is_second() || self.bounded.reno.window <= self.bounded.virtual_window {
                self.bounded.count_long_round();
            }
        } else {
            self.resets = 0;
            self.bounded.count_short_round();
        }
        if self.bounded.long_rounds > 0 {
            self.alpha = 1.0;
        } else if self.is_second() {
            self.thrust();
            if self.has_queue(0) && self.np > self.settings.np_min {
                self.damp();
            }
        } else if self.has_queue(self.settings.tpq) {
            self.damp();
        } else {
            self.thrust();
        }
    }

    /// More than `allowed` own segments wait, and at least one.
    fn has_queue(&self, allowed: u32) -> bool {
        self.bounded.last.queue >= 1.0 && self.bounded.last.queue > f64::from(allowed)
    }

    fn thrust(&mut self) {
        self.fuel = self.fuel.saturating_add(1);
        let alpha = f64::from(self.fuel) * N::increase(self.settings.alpha_rocket);
        self.alpha = alpha.min(N::increase(self.settings.alpha_max));
    }

    /// The increase with a queue up to Q_max. A longer one leaves it.
    fn damp(&mut self) {
        let Settings { alpha_gh, alpha_gl, alpha_floor, v, q_max, .. } = self.settings;
        if !self.bounded.limits.exceeds_queue(&self.bounded.last) {
            let strength = (0..v).fold(1.0, |product, _| product * f64::from(self.np));
            let most = N::increase(alpha_gh);
            let alpha = N::damped(most, strength, q_max, self.bounded.last.queue);
            self.alpha = alpha.min(most).max(if alpha_floor { N::increase(alpha_gl) } else { 0.0 });
            self.fuel = 0;
        } else if !self.is_second() {
            self.fuel = 0;
        }
    }

    /// The window gives up its part of the queue.
    fn decongest(&mut self) {
        self.bounded.decongest();
        self.fuel = 0;
        let again = if self.is_second() {
            self.bounded.reno.window < self.largest_window / 2.0
        } else {
            self.resets += 1;
            self.resets > self.settings.reset_threshold
        };
        if again {
            self.begin_anew();
        }
        self.count_epoch();
    }

    fn count_epoch(&mut self) {
        let Settings { np_max, ag_min, ag_max, ag_reset_on_np, .. } = self.settings;
        if self.ag < ag_max {
            self.ag += 1;
        } else if self.np < np_max {
            self.np += 1;
            if ag_reset_on_np {
                self.ag = ag_min;
            }
        } else {
            self.ag = ag_min;
        }
    }
}

impl<N: Numbers> Controller for Gentle<N> {
    delegate!(bounded.reno: on_start, window, slow_start_threshold);
    leave_to_bounded!(bounded);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.bounded.observe(ack, true);
        if !ack.window_limited {
            return;
        }
        self.grow(cx, ack);
        if let Some(estimate) = self.bounded.meter.close(ack, self.bounded.reno.window) {
            self.decide(estimate);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.bounded.on_loss();
        self.begin_anew();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.bounded.on_timeout(loss);
        if !loss.again {
            self.begin_anew();
        }
        self.fuel = 0;
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", self.alpha);
        out.value("waiting", self.bounded.last.queue);
        out.value("delay_ratio", self.bounded.last.ratio());
        out.value("np", f64::from(self.np));
        out.value("ag", f64::from(self.ag));
        out.value("virtual_window", self.bounded.virtual_window);
        out.value("reno_rounds", f64::from(self.bounded.long_rounds));
        out.value("decongestions", f64::from(self.bounded.decongestions));
    }
}

#[cfg(test)]
mod tests;
