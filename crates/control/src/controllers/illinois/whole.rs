//! Illinois in the whole numbers of Linux: RTTs in microseconds, the increase in 128ths, the decrease in 64ths.

use super::{Extrema, Form, Settings};
use crate::parts::linux::{Counter, avoidance, micros};
use crate::{Ack, Loss, Probe, Reno};

const ALPHA_SCALE: u32 = 128;
const BETA_SCALE: u32 = 64;
/// Standard TCP.
const ALPHA_BASE: u32 = ALPHA_SCALE;
const BETA_BASE: u32 = BETA_SCALE / 2;
/// Samples above this count as this, about 3.3 s (`RTT_MAX`).
const LONGEST_RTT: u64 = (u32::MAX / (10 * ALPHA_SCALE)) as u64;
/// The power of a delay, times an increase of up to 11 bits, has at most 64.
const BITS: u32 = 64 - 11;
/// Shares of the largest delay are in units of this.
const SHARE: f64 = 10_000.0;

/// State and parameters in whole numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
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
    pub(super) sum: u64,
    pub(super) count: u32,
    /// The round trip ends with an ACK beyond this segment.
    pub(super) end: u64,
    /// Segments that the present ACK covers.
    covered: u32,
    counter: Counter,
    /// d_a and d_m of the last round trip, microseconds.
    delay: u64,
    delay_max: u64,
}

impl Whole {
    pub(super) fn new(settings: &Settings) -> Self {
        let scaled = |x: f64, scale: u32| ((x * f64::from(scale)) as u32).max(1);
        let alpha_max = scaled(settings.alpha_max, ALPHA_SCALE);
        Self {
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

    pub(super) fn observe(&mut self, settings: &Settings, ack: &Ack) {
        self.covered = ack.newly_acknowledged;
        let Some(rtt) = ack.rtt else { return };
        let rtt = micros(rtt.value).min(LONGEST_RTT);
        if settings.extrema == Extrema::Sample {
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

    pub(super) fn on_ack(&mut self, settings: &Settings, reno: &mut Reno, ack: &Ack) {
        if ack.acknowledged_to > self.end {
            self.decide(settings, reno.window);
            self.restart(ack.sent_to);
        }
        let exponential = reno.grows_exponentially(ack);
        let credit = avoidance(reno, ack);
        // What slow start leaves of an ACK is lost.
        if credit.is_some() && !exponential {
            let counted = u64::from(self.counter.add(self.covered));
            let grown = counted * u64::from(self.alpha) / u64::from(ALPHA_SCALE);
            let window = reno.window as u64;
            if grown >= window {
                reno.window += (grown / window) as f64;
                self.counter.clear();
            }
        }
    }

    /// A round trip begins; it ends with an ACK beyond `end`.
    fn restart(&mut self, end: u64) {
        (self.end, self.count, self.sum) = (end, 0, 0);
    }

    /// A round trip ends.
    fn decide(&mut self, settings: &Settings, window: f64) {
        if self.count > 0 && settings.extrema == Extrema::WindowAverage {
            self.widen(self.sum / u64::from(self.count));
        }
        if window < settings.window_threshold {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
        } else if self.count > 0 {
            self.delay = self.sum / u64::from(self.count) - self.base;
            self.delay_max = self.largest - self.base;
            self.alpha = self.alpha(settings);
            self.beta = self.beta(settings);
        }
    }

    /// The increase for the next round trip.
    fn alpha(&mut self, settings: &Settings) -> u32 {
        if self.delay > share(settings.eta_1, self.delay_max) {
            self.above = true;
            if settings.theta_in_a_row {
                self.low = 0;
            }
            return self.alpha_at(settings);
        }
        if self.above {
            self.low += 1;
            if self.low < settings.theta {
                return self.alpha;
            }
            (self.low, self.above) = (0, false);
        }
        self.alpha_max
    }

    /// The increase at a delay above d_1.
    fn alpha_at(&self, settings: &Settings) -> u32 {
        let n = settings.orders().0;
        let (da, dm) = shortened(self.delay, self.delay_max, n);
        let d1 = power(share(settings.eta_1, dm), n);
        let (above, range) = (power(da, n).saturating_sub(d1), (power(dm, n) - d1).max(1));
        let (least, most) = (u64::from(self.alpha_min), u64::from(self.alpha_max));
        (range * most / (range + above * (most - least) / least)) as u32
    }

    /// The decrease.
    fn beta(&self, settings: &Settings) -> u32 {
        let (d2, d3) = (share(settings.eta_2, self.delay_max), share(settings.eta_3, self.delay_max));
        let range = u64::from(self.beta_max - self.beta_min);
        let middle = u64::midpoint(d2, d3);
        let late = u64::midpoint(d2, middle);
        let smoothed = settings.form == Form::Fs;
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

    /// The threshold that a loss leaves.
    pub(super) fn threshold(&self, settings: &Settings, reno: &Reno) -> f64 {
        let window = reno.window as u64;
        let given_up = window * u64::from(self.beta) / u64::from(BETA_SCALE);
        (if settings.legacy_beta_bug { given_up } else { window - given_up }) as f64
    }

    pub(super) fn clear_counter(&mut self) {
        self.counter.clear();
    }

    pub(super) fn time_out(&mut self, loss: &Loss) {
        (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
        (self.low, self.above) = (0, false);
        self.restart(loss.sent_to);
        self.counter.clear();
    }

    pub(super) fn probe(&self, out: &mut dyn Probe) {
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
