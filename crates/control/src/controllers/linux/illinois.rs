//! TCP-Illinois of Linux (`tcp_illinois.c`), and the orders of Edwan's thesis in its whole numbers: RTTs in
//! microseconds, the increase in 128ths, the decrease in 64ths. The paper's is `controllers/illinois.rs`.
//! `kernel/illinois.bpf.c` does the same as this file.
//!
//! | rule of tcp_illinois.c | here |
//! | --- | --- |
//! | alpha = alpha_max up to d_1, then k1/(k2 + d_a) | `Illinois::alpha_at` |
//! | beta = beta_min up to d_2, beta_max from d_3, linear between | `Illinois::beta` |
//! | alpha_max again after theta round trips with a short queue, in a row or not | `Illinois::alpha` |
//! | the window grows once the segments counted times alpha make a window | `Illinois::grow` |
//!
//! Differences from Linux: its constants are parameters. Linux does not have powers above the first. The window after a
//! timeout is the transport's. `legacy_beta_bug` has the module of before 2.6.23, whose threshold after a loss is the
//! part that should have been given up.

use crate::controllers::illinois::{self, Extrema, Form as Curves, LINUX_THETA, Settings};
use crate::entry::Form;
use crate::parameters::{over, with_defaults};
use crate::parts::linux::{Counter, avoidance, micros};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Moment, ParameterError, Probe, Reno, Undo, Wants};

/// The form of Illinois `$name` with these values.
macro_rules! form {
    ($name:literal, $values:expr) => {
        Form {
            parameters: &with_defaults::<{ Settings::PARAMETERS.len() }>(Settings::PARAMETERS, $values),
            probes: illinois::ENTRY.probes,
            make: |given| make($name, Settings::read(&over($values, given))?),
        }
    };
}

/// The form of TCP-Illinois.
pub(crate) const FORM: Form = form!("illinois", &[LINUX_THETA]);
/// The form of TCP-Q.
pub(crate) const TCP_Q: Form = form!("tcp-q", illinois::TCP_Q_VALUES);
/// The form of TCP-C.
pub(crate) const TCP_C: Form = form!("tcp-c", illinois::TCP_C_VALUES);
/// The form of TCP-Fq.
pub(crate) const TCP_FQ: Form = form!("tcp-fq", illinois::TCP_FQ_VALUES);
/// The form of TCP-Fs.
pub(crate) const TCP_FS: Form = form!("tcp-fs", illinois::TCP_FS_VALUES);

/// Illinois `name`, where its numbers fit.
fn make(name: &str, settings: Settings) -> Result<Box<dyn Controller>, ParameterError> {
    let most = f64::from(1 << INCREASE_BITS) / f64::from(ALPHA_SCALE);
    if settings.alpha_max >= most {
        let given = settings.alpha_max;
        let message =
            format!("`{name}`, parameter `alpha_max`: {given} is out of range (allowed: below {most} in Linux)");
        return Err(ParameterError(message));
    }
    Ok(Box::new(Illinois::new(settings)))
}

const ALPHA_SCALE: u32 = 128;
const BETA_SCALE: u32 = 64;
/// Standard TCP.
const ALPHA_BASE: u32 = ALPHA_SCALE;
const BETA_BASE: u32 = BETA_SCALE / 2;
/// Samples above this count as this, about 3.3 s (`RTT_MAX`).
const LONGEST_RTT: u64 = (u32::MAX / (10 * ALPHA_SCALE)) as u64;
/// Bits of an increase in 128ths.
const INCREASE_BITS: u32 = 11;
/// Bits of the power of a delay: times an increase it has at most 64.
const BITS: u32 = 64 - INCREASE_BITS;
/// Shares of the largest delay are in units of this.
const SHARE: f64 = 10_000.0;

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Illinois {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    alpha: u32,
    beta: u32,
    alpha_min: u32,
    alpha_max: u32,
    beta_min: u32,
    beta_max: u32,
    above: bool,
    low: u32,
    /// Least and largest RTT, microseconds.
    base: u64,
    largest: u64,
    sum: u64,
    count: u32,
    /// The round trip ends with an ACK beyond this segment.
    end: u64,
    /// Segments that the present ACK covers.
    covered: u32,
    counter: Counter,
    /// d_a and d_m of the last round trip, microseconds.
    delay: u64,
    delay_max: u64,
}

impl Illinois {
    fn new(settings: Settings) -> Self {
        let scaled = |x: f64, scale: u32| ((x * f64::from(scale)) as u32).max(1);
        let alpha_max = scaled(settings.alpha_max, ALPHA_SCALE);
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            alpha: alpha_max,
            beta: BETA_BASE,
            alpha_min: scaled(settings.alpha_min, ALPHA_SCALE),
            alpha_max,
            beta_min: scaled(settings.beta_min, BETA_SCALE),
            beta_max: scaled(settings.beta_max, BETA_SCALE),
            above: false,
            low: 0,
            base: u64::MAX,
            largest: 0,
            sum: 0,
            count: 0,
            end: 0,
            covered: 0,
            counter: Counter::default(),
            delay: 0,
            delay_max: 0,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        self.covered = ack.newly_acknowledged;
        let Some(rtt) = ack.rtt else { return };
        let rtt = micros(rtt.value).min(LONGEST_RTT);
        if self.settings.extrema == Extrema::Sample {
            self.widen(rtt);
        }
        self.count += 1;
        self.sum += rtt;
    }

    /// Takes `rtt` into the extremes.
    fn widen(&mut self, rtt: u64) {
        self.base = self.base.min(rtt);
        self.largest = self.largest.max(rtt);
    }

    /// An ACK that may grow the window (`tcp_illinois_cong_avoid`).
    fn grow(&mut self, at: &Moment, ack: &Ack) {
        let exponential = self.reno.grows_exponentially(at);
        // Linux drops the rest of the ACK when slow start ends.
        if avoidance(&mut self.reno, at, ack).is_none() || exponential {
            return;
        }
        let counted = u64::from(self.counter.add(self.covered));
        let grown = counted * u64::from(self.alpha) / u64::from(ALPHA_SCALE);
        let window = self.reno.window as u64;
        if grown >= window {
            self.reno.window += (grown / window) as f64;
            self.counter.clear();
        }
    }

    /// A round trip begins. It ends with an ACK beyond `end`.
    fn restart(&mut self, end: u64) {
        (self.end, self.count, self.sum) = (end, 0, 0);
    }

    /// A round trip ends.
    fn decide(&mut self) {
        if self.count > 0 && self.settings.extrema == Extrema::WindowAverage {
            self.widen(self.sum / u64::from(self.count));
        }
        if self.reno.window < self.settings.window_threshold {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
        } else if self.count > 0 {
            self.delay = self.sum / u64::from(self.count) - self.base;
            self.delay_max = self.largest - self.base;
            self.alpha = self.alpha();
            self.beta = self.beta();
        }
    }

    /// The increase for the next round trip.
    fn alpha(&mut self) -> u32 {
        if self.delay > share(self.settings.eta_1, self.delay_max) {
            self.above = true;
            if self.settings.theta_in_a_row {
                self.low = 0;
            }
            return self.alpha_at();
        }
        if self.above {
            self.low += 1;
            if self.low < self.settings.theta {
                return self.alpha;
            }
            (self.low, self.above) = (0, false);
        }
        self.alpha_max
    }

    /// The increase at a delay above d_1.
    fn alpha_at(&self) -> u32 {
        let n = self.settings.orders().0;
        let (da, dm) = shortened(self.delay, self.delay_max, n);
        let d1 = power(share(self.settings.eta_1, dm), n);
        let (above, range) = (power(da, n).saturating_sub(d1), (power(dm, n) - d1).max(1));
        let (least, most) = (u64::from(self.alpha_min), u64::from(self.alpha_max));
        (range * most / (range + above * (most - least) / least)) as u32
    }

    /// The decrease.
    fn beta(&self) -> u32 {
        let settings = &self.settings;
        let (d2, d3) = (share(settings.eta_2, self.delay_max), share(settings.eta_3, self.delay_max));
        let range = u64::from(self.beta_max - self.beta_min);
        let middle = u64::midpoint(d2, d3);
        let late = u64::midpoint(d2, middle);
        let smoothed = settings.form == Curves::Fs;
        if self.delay <= if smoothed { late } else { d2 } {
            return self.beta_min;
        }
        if self.delay >= d3 || d3 <= d2 {
            return self.beta_max;
        }
        if smoothed && self.delay < middle {
            return self.beta_min + (range * (self.delay - late) / (2 * (middle - late))) as u32;
        }
        let n = settings.orders().1;
        let (da, dm) = shortened(self.delay, self.delay_max, n);
        let (d2, d3) = (power(share(settings.eta_2, dm), n), power(share(settings.eta_3, dm), n));
        let beyond = power(da, n).saturating_sub(d2);
        self.beta_min + (range * beyond / (d3 - d2).max(1)).min(range) as u32
    }

    /// The threshold after a congestion event (`tcp_illinois_ssthresh`).
    fn threshold(&self) -> f64 {
        let window = self.reno.window as u64;
        let given_up = window * u64::from(self.beta) / u64::from(BETA_SCALE);
        (if self.settings.legacy_beta_bug { given_up } else { window - given_up }) as f64
    }
}

impl Controller for Illinois {
    delegate!(reno: on_start, on_spurious(undo), on_idle_restart, keep, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { exact_rtt: true, ..Wants::default() }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
        if ack.acknowledged_to > self.end {
            self.decide();
            self.restart(ack.sent_to);
        }
        self.grow(cx, ack);
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.counter.clear();
        self.reno.settle_at(self.threshold());
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.time_out_to(self.threshold(), loss);
        (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
        (self.low, self.above) = (0, false);
        self.restart(loss.sent_to);
        self.counter.clear();
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", f64::from(self.alpha) / f64::from(ALPHA_SCALE));
        out.value("beta", f64::from(self.beta) / f64::from(BETA_SCALE));
        out.value("delay_ms", self.delay as f64 / 1000.0);
        out.value("delay_max_ms", self.delay_max as f64 / 1000.0);
    }
}

/// The share `eta` of a delay.
fn share(eta: f64, delay: u64) -> u64 {
    (eta * SHARE).round() as u64 * delay / SHARE as u64
}

/// Both delays with so many of the last bits dropped that the power of the larger one has [`BITS`].
fn shortened(da: u64, dm: u64, n: u32) -> (u64, u64) {
    let shift = (u64::BITS - dm.leading_zeros()).saturating_sub(BITS / n);
    (da >> shift, dm >> shift)
}

fn power(d: u64, n: u32) -> u64 {
    (1..n).fold(d, |product, _| product * d)
}

#[cfg(test)]
mod tests;
