//! CUBIC of Linux 2.6.22 to 3.5 (`tcp_cubic.c`). The RFC's is `controllers/cubic.rs`, Linux 6's is `linux/cubic.rs`.
//!
//! Differences from the RFC:
//!
//! | rule of tcp_cubic.c | here |
//! | --- | --- |
//! | C = 410 * 2^10 / 2^40 in units of its clock; beta = 717/1024, in 2.6.22 819/1024 | `Settings` |
//! | the target lies the smallest RTT ahead | `Cubic::avoid_congestion` |
//! | Reno's window grows by the same alpha at any size | `Cubic::avoid_congestion` |
//! | an ACK counts the segments that it covers: it divides by their measured number | `Cubic::avoid_congestion` |
//! | least growth while no loss, or none since a timeout, has shown W_max | `Version::growth_before_loss` |
//! | 2.6.22: beyond W_max at most 16 segments in 100 ms | `Version::max_increment` |
//! | idle time moves the cubic on, and a slow start does not end the epoch (before 4.3) | |
//! | HyStart (since 2.6.29) looks at the first eight RTTs of a round | `HyStart` |

use units::{Span, Time};

use crate::controllers::cubic::{self, MINIMUM_AFTER_MARK, State, alpha_cubic};
use crate::controllers::linux::cubic::Settings;
use crate::entry::Form;
use crate::parameters::{over, with_defaults};
use crate::parts::reno::delegate;
use crate::parts::slow_start::hystart::HyStart;
use crate::range::Literal;
use crate::{Ack, Context, Controller, Loss, Marks, Probe, Reno, Undo};

/// CUBIC 2.3, of Linux 2.6.33 and 3.5.
pub(crate) const CUBIC_2_3: Form = Form {
    parameters: Settings::PARAMETERS,
    probes: cubic::ENTRY.probes,
    make: |given| {
        let version = Version { growth_before_loss: 0.05, max_increment: f64::INFINITY };
        Ok(Box::new(Cubic::new(version, Settings::read(given)?)))
    },
};

/// CUBIC of Linux 2.6.22, which ns-2 has.
pub(crate) const CUBIC_2_6_22: Form = Form {
    parameters: &with_defaults::<{ Settings::PARAMETERS.len() }>(Settings::PARAMETERS, VALUES_2_6_22),
    probes: cubic::ENTRY.probes,
    make: |given| {
        let version = Version { growth_before_loss: 0.02, max_increment: 16.0 };
        Ok(Box::new(Cubic::new(version, Settings::read(&over(VALUES_2_6_22, given))?)))
    },
};

const VALUES_2_6_22: &[(&str, Literal)] = &[("beta", Literal::Number(0.7998)), ("hystart", Literal::Switch(false))];

/// The smallest RTT of a HyStart round may exceed the smallest of all by one part in so many.
const HYSTART_DELAY_DIVISOR: u32 = 16;
/// The time in which the window grows by [`Version::max_increment`].
const INCREMENT_TIME: f64 = 0.1;

/// The constants in which versions differ.
#[derive(Clone, Copy, Debug)]
struct Version {
    /// Least growth, segments for each one counted.
    growth_before_loss: f64,
    /// The most segments in 100 ms beyond W_max.
    max_increment: f64,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Cubic {
    version: Version,
    settings: Settings,
    state: State,
    /// A loss, and no timeout since, has shown where the path ends.
    loss_seen: bool,
    undo: Undo<(State, bool)>,
    hystart: HyStart,
}

impl Cubic {
    fn new(version: Version, settings: Settings) -> Self {
        let Settings { hystart_ack_train, hystart_delay, .. } = settings;
        Self {
            version,
            settings,
            state: State::new(),
            loss_seen: false,
            undo: Undo::default(),
            hystart: HyStart::new(hystart_ack_train, hystart_delay, HYSTART_DELAY_DIVISOR, true),
        }
    }

    /// An ACK in congestion avoidance that counts `credit` segments.
    fn avoid_congestion(&mut self, now: Time, ack: &Ack, credit: f64) {
        let Settings { c, beta, reno_friendly, .. } = self.settings;
        let state = &mut self.state;
        let epoch = state.begin_epoch(c, now);
        let t = now.since(epoch.start).as_secs_f64();
        let cwnd = state.reno.window;
        let share = |counted: f64| (counted / cwnd).min(1.0);
        state.w_est += alpha_cubic(beta) * share(credit);

        let later = t + ack.min_rtt.min(ack.smoothed_rtt).as_secs_f64();
        if reno_friendly && state.w_cubic(c, epoch, t) < state.w_est {
            state.reno.window = cwnd.max(state.w_est);
        } else {
            let target = state.w_cubic(c, epoch, later).clamp(cwnd, 1.5 * cwnd);
            let least = if self.loss_seen { 0.0 } else { self.version.growth_before_loss * cwnd };
            let most = self.version.most_growth(later >= epoch.k, ack.min_rtt);
            state.reno.window += (target - cwnd).min(most).max(least) * share(f64::from(ack.covers()).max(credit));
        }
    }

    /// A congestion event that leaves no window below `minimum`.
    fn reduce(&mut self, minimum: f64) {
        let Settings { beta, fast_convergence, .. } = self.settings;
        self.state.reduce(beta, fast_convergence.then_some((1.0 + beta) / 2.0), minimum);
        self.loss_seen = true;
    }
}

impl Version {
    /// Segments that a round trip may add.
    fn most_growth(&self, beyond_plateau: bool, min_rtt: Span) -> f64 {
        if self.max_increment.is_infinite() || !beyond_plateau {
            return f64::INFINITY;
        }
        self.max_increment * min_rtt.as_secs_f64() / INCREMENT_TIME
    }
}

impl Controller for Cubic {
    delegate!(state.reno: on_idle_restart, keep, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.state.reno.start(cx);
        self.hystart.restart(cx.now);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let credit = if self.state.reno.grows_exponentially(cx) {
            self.state.slow_start(cx, ack, self.settings.hystart.then_some(&mut self.hystart))
        } else {
            ack.avoidance_credit(cx)
        };
        if ack.window_limited && credit > 0.0 {
            self.avoid_congestion(cx.now, ack, credit);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember((self.state, self.loss_seen));
        self.reduce(Reno::MINIMUM);
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        self.undo.forget();
        self.reduce(MINIMUM_AFTER_MARK);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, (self.state, self.loss_seen));
        self.state.time_out(self.settings.beta, loss);
        self.loss_seen = false;
        self.hystart.restart(cx.now);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some((before, loss_seen)) = self.undo.take()
            && self.state.reno.window < before.reno.window
        {
            (self.state, self.loss_seen) = (before, loss_seen);
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.state.probe(&self.hystart, out);
    }
}

#[cfg(test)]
mod tests;
