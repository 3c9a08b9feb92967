//! SIAD, "Scalable Increase Adaptive Decrease" (Kuehlewind, "TCP SIAD: Congestion Control supporting High Speed and Low
//! Latency", ETH TIK technical report 367, 2016).
//!
//! On a loss SIAD gives up what waits in the queue, by its RTTs, and aims to be back at the window of the loss after a
//! configured number of RTTs, whatever the rate: two losses are always as many round trips apart.
//!
//! | equation (section III.A) | here |
//! | --- | --- |
//! | (1), (6): increase per ACK, Fast Increase | `Siad::grow` |
//! | (3): Scalable Increase | `Siad::scalable_increase` |
//! | (4), (5): trend | `Siad::deviation`, `Siad::decrease` |
//! | (7) to (9): Adaptive Decrease | `Siad::decrease` |
//! | (10) to (14): window at the loss | `Siad::window_at_loss` |
//! | (15) to (19): Additional Decrease | `Siad::additional_decrease` |
//! | section III.B, base RTT | `siad/base_rtt.rs` |
//!
//! Notable differences from the paper, and its open points:
//! - Windows are whole segments and alpha is a real number. Every window is rounded down.
//! - (13) goes with alpha at or above half the window, and (12) takes off one segment at least.
//! - (18) divides by one where it would divide by zero, and its alpha is one at least.
//! - If alpha exceeds the window after an Additional Decrease, the window grows as in slow start until it has reached
//!   alpha, and alpha stays. `clamp_after_ad` sets alpha to the window, which the paper's words allow as well.
//! - An Additional Decrease comes when the window is more than alpha + 2 above the threshold: about one RTT after the
//!   decrease.
//! - `num_ms` alone gives the RTTs of an epoch, two at least.
//! - Segments SACKed before do not count when the cumulative point moves over them.
//! - A timeout is a regular decrease, unless the window of data had one, with a window of one segment. Until the next
//!   one there is no Additional Decrease. A spurious loss is taken back.
//! - RTT samples are taken on ACKs that may grow the window, as in the author's implementation. None is below a tick.

mod base_rtt;
mod settings;

use units::Span;

use self::base_rtt::BaseRtt;
use self::settings::MIN_RTTS;
pub use self::settings::{RttSource, Settings, Trend};
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::check;
use crate::{Ack, Context, Controller, Loss, ParameterError, Parameters, Probe, RESOLUTION, Reno, Undo};

/// The entry of SIAD in the registry.
pub const ENTRY: Entry = Entry {
    name: "siad",
    title: "SIAD",
    summary: "Gives up its part of the queue on a loss, and is back at the old window after a configured number of \
        RTTs",
    source: "Kuehlewind 2016",
    aim: Aim::Fast,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("alpha", "segments per RTT", "alpha"),
        Quantity::new("incthresh", "segments", "Target: Linear Increment below it, Fast Increase from it on"),
        Quantity::new("cmax", "segments", "cwnd_max, the window at the last congestion event"),
        Quantity::new("num_rtt", "RTTs", "Num_RTT"),
        Quantity::new("rtt_min_ms", "ms", "RTT_min; 0 while not known"),
        Quantity::new("rtt_curr_ms", "ms", "RTT_curr; 0 while not known"),
        Quantity::new("cnt_dec", "decreases", "Additional Decreases in this epoch"),
        Quantity::new("drained", "", "1 when no Additional Decrease is due any more in this epoch"),
        Quantity::new("region", "", "1 slow start, 2 Linear Increment, 3 Fast Increase"),
        Quantity::new("event_case", "", "Case of `Siad::window_at_loss`, 0 to 5, at the last regular decrease"),
        Quantity::new("overestimate", "segments", "Segments that this case took off the window"),
        Quantity::new("trend", "segments", "Addition to the window at the loss that gave the target"),
        Quantity::new("ssthresh_at_event", "segments", "Threshold that the last regular decrease set"),
        Quantity::new("events", "events", "Regular decreases since the start"),
        Quantity::new("additional_decreases", "decreases", "Additional Decreases since the start"),
    ],
    make: |given| Ok(Box::new(Siad::new(Settings::read(given)?))),
};

/// The region of the window (section III.A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    SlowStart = 1,
    LinearIncrement = 2,
    FastIncrease = 3,
}

/// The state of the current congestion epoch, which a spurious loss restores.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// cwnd, a whole number, and ssthresh.
    reno: Reno,
    /// The target: below it Linear Increment, from it on Fast Increase.
    incthresh: f64,
    /// alpha, segments per RTT.
    alpha: f64,
    /// cwnd_max: the window at the last congestion event.
    cmax: f64,
    /// Num_RTT.
    num_rtt: u32,
    /// Additional Decreases so far.
    cnt_dec: u32,
    /// No Additional Decrease any more: the queue was empty once, or there is nothing more to give.
    drained: bool,
    /// The window has grown since the last regular decrease was complete.
    grew: bool,
}

/// The last regular decrease, for probes.
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    case: u8,
    overestimate: f64,
    trend: f64,
    ssthresh: f64,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Siad {
    settings: Settings,
    epoch: Epoch,
    rtt: BaseRtt,
    /// Segments acknowledged that have not yet grown the window.
    credit: f64,
    /// The state before the last loss event.
    undo: Undo<(Epoch, BaseRtt)>,
    last: Event,
    events: u64,
    additional_decreases: u64,
}

/// Parts of a tick that a smoothed RTT has at least.
const LEAST_PARTS: u64 = 32;

/// `rtt` rounded down to ticks, or to halves of halves of them.
fn in_parts(rtt: Span, tick: Span) -> Span {
    let mut part = tick.as_nanos();
    while part > 1 && LEAST_PARTS * part > rtt.as_nanos() {
        part /= 2;
    }
    rtt / part * part
}

impl Siad {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let reno = Reno::new();
        Self {
            settings,
            epoch: Epoch {
                reno,
                incthresh: reno.window,
                alpha: reno.window,
                cmax: reno.window,
                num_rtt: settings.num_rtt,
                cnt_dec: 0,
                drained: true,
                grew: false,
            },
            rtt: BaseRtt::UNKNOWN,
            credit: 0.0,
            undo: Undo::default(),
            last: Event::default(),
            events: 0,
            additional_decreases: 0,
        }
    }

    /// A new Num_RTT holds at once (section III.C): alpha goes as its inverse, so that the epoch still aims at the same
    /// target. With Num_ms each congestion event derives Num_RTT anew.
    fn keep_num_rtt(&mut self) {
        if self.settings.num_ms.is_zero() {
            let before = std::mem::replace(&mut self.epoch.num_rtt, self.settings.num_rtt);
            self.epoch.alpha *= f64::from(before) / f64::from(self.epoch.num_rtt);
        }
    }

    fn min_cwnd(&self) -> f64 {
        f64::from(self.settings.min_cwnd)
    }

    /// The RTT sample of `ack`, if there is one. By the timestamps at least a tick, as a shorter one would be no
    /// time at all. Whole ticks count of the smoothed RTT, too, so that an empty queue has the same RTT again and
    /// again. On a short path these are halves of a tick, quarters and so on, and an RTT has at least `LEAST_PARTS` of
    /// them.
    fn sample(&self, cx: &Context<'_>, ack: &Ack) -> Option<Span> {
        let timestamp = match self.settings.rtt_source {
            RttSource::Timestamp => ack.timestamp_rtt(cx),
            RttSource::Smoothed => None,
        };
        let tick = cx.timestamp_tick.max(RESOLUTION);
        let smoothed = || (!ack.smoothed_rtt.is_zero()).then(|| in_parts(ack.smoothed_rtt, tick));
        timestamp.map(|sample| sample.max(tick)).or_else(smoothed)
    }

    /// Learns from the RTT of `ack` whether the queue has been empty in this epoch (section III.B).
    fn observe(&mut self, cx: &Context<'_>, ack: &Ack) {
        if let Some(sample) = self.sample(cx, ack) {
            let grown = self.epoch.reno.window > self.epoch.reno.threshold + self.epoch.alpha + 1.0;
            self.epoch.drained |= self.rtt.observe(sample, grown);
        }
        let Epoch { reno, incthresh, .. } = self.epoch;
        self.epoch.drained |= reno.in_slow_start() || reno.window > incthresh; // Nobody waits for an empty queue there.
    }

    /// (3): from ssthresh to the target in Num_RTT round trips, at least one segment in each and at most as in slow
    /// start.
    fn scalable_increase(&self) -> f64 {
        let Epoch { reno, incthresh, num_rtt, .. } = self.epoch;
        ((incthresh - reno.threshold) / f64::from(num_rtt)).clamp(1.0, reno.threshold.max(1.0))
    }

    /// `delivered` segments more: the window grows by alpha a round trip (1), at most by one for each of them.
    fn grow(&mut self, delivered: u32) {
        self.credit += f64::from(delivered);
        loop {
            let Epoch { reno: Reno { window: old, threshold }, incthresh, alpha, .. } = self.epoch;
            let step = (old / alpha).max(1.0);
            if self.credit < step {
                return;
            }
            self.credit -= step;
            let window = old + 1.0;
            self.epoch.reno.window = window;
            self.epoch.grew = true;
            if window < threshold {
                self.epoch.alpha = window; // slow start: doubles in a round trip
            } else if old < threshold {
                self.epoch.alpha = if incthresh > threshold { self.scalable_increase() } else { 1.0 };
            } else if old < incthresh && window >= incthresh {
                self.epoch.alpha = 1.0; // Fast Increase begins
            } else if window > incthresh {
                self.epoch.alpha = (alpha + 1.0).min((window / 2.0).max(1.0)); // (6)
            }
        }
    }

    /// (10) to (14): the number of the case, and cwnd_max, the window about one RTT ago, when the loss happened.
    fn window_at_loss(&self) -> (u8, f64) {
        let Epoch { reno: Reno { window, threshold }, incthresh, alpha, num_rtt, grew, .. } = self.epoch;
        let (case, grown) = if !grew {
            (0, 0.0)
        } else if window <= threshold || alpha >= window {
            (5, window / 2.0)
        } else if window > incthresh && alpha >= (window / 2.0).floor() {
            (4, window / 3.0)
        } else if window >= incthresh && incthresh > threshold && alpha == 1.0 {
            (3, ((incthresh - threshold) / f64::from(num_rtt)).max(1.0))
        } else if window > incthresh {
            (2, alpha / 2.0)
        } else {
            (1, alpha)
        };
        (case, (window - grown).max(self.min_cwnd()))
    }

    /// The addition to cwnd_max, now `cmax`, that gives the next target, after a decrease to `threshold`: (5), or its
    /// substitute.
    fn deviation(&self, cx: &mut Context<'_>, cmax: f64, threshold: f64) -> f64 {
        match self.settings.trend {
            Trend::Paper => cmax - self.epoch.cmax,
            Trend::None => 0.0,
            Trend::Random => (cx.random.uniform() - 0.5) * (cmax - threshold),
        }
    }

    /// A regular decrease: threshold and window, target, and the increase that leads there.
    fn decrease(&mut self, cx: &mut Context<'_>) {
        self.undo.remember((self.epoch, self.rtt));
        self.credit = 0.0;
        if self.settings.min_guard {
            self.rtt.guard_against_creeping();
        }
        let (case, cmax) = self.window_at_loss();
        let threshold = match self.rtt.without_backlog(cmax) {
            Some(left) => left.floor() - self.settings.margin, // (8)
            None => cmax / 2.0,
        };
        let threshold = threshold.floor().max(self.min_cwnd());
        if !self.settings.num_ms.is_zero()
            && let Some(mean) = self.rtt.expected_mean()
        {
            let rtts = self.settings.num_ms.as_nanos() / mean.as_nanos().max(1);
            self.epoch.num_rtt = u32::try_from(rtts).unwrap_or(u32::MAX).max(MIN_RTTS);
        }
        let trend = self.deviation(cx, cmax, threshold);
        self.last = Event { case, overestimate: self.epoch.reno.window - cmax, trend, ssthresh: threshold };
        self.events += 1;
        self.epoch.incthresh = (cmax + trend).max(threshold); // (4)
        self.epoch.cmax = cmax;
        self.set_window(self.epoch.reno.window.min(threshold), threshold);
    }

    /// Puts window and threshold where a reduction leaves them, with the alpha that goes with that.
    fn set_window(&mut self, window: f64, threshold: f64) {
        self.epoch.reno = Reno { window, threshold };
        self.epoch.alpha = self.scalable_increase();
        self.double_in_slow_start();
    }

    /// In slow start alpha is the window.
    fn double_in_slow_start(&mut self) {
        if self.epoch.reno.in_slow_start() {
            self.epoch.alpha = self.epoch.reno.window;
        }
    }

    /// The window is down and a new epoch begins: Additional Decreases are due if `drained` is false.
    fn begin_epoch(&mut self, drained: bool) {
        self.rtt.of_epoch = Span::MAX;
        self.epoch.cnt_dec = 0;
        self.epoch.drained = drained;
        self.epoch.grew = false;
    }

    /// True if the queue has not been empty in the round trip since the last decrease.
    fn calls_for_additional_decrease(&self) -> bool {
        let Epoch { reno, alpha, num_rtt, cnt_dec, drained, .. } = self.epoch;
        !drained && reno.window > reno.threshold + alpha + 2.0 && cnt_dec < num_rtt - 1 && reno.window > self.min_cwnd()
    }

    /// Additional Decrease, by which the window loses its backlog and so much more that it can grow for a round trip
    /// with an empty queue. `left` is the part of the window about one RTT ago that the path itself holds.
    fn additional_decrease(&mut self, left: f64) {
        self.credit = 0.0;
        self.additional_decreases += 1;
        self.epoch.cnt_dec += 1;
        let Epoch { incthresh, num_rtt, cnt_dec, .. } = self.epoch;
        let remaining = f64::from(num_rtt - cnt_dec); // round trips to the target
        let climb = |from: f64, round_trips: f64| ((incthresh - from) / round_trips).max(1.0);
        let lower = left - self.settings.margin; // (15)
        let (window, alpha) = if lower <= self.min_cwnd() {
            (self.min_cwnd(), climb(self.min_cwnd(), remaining))
        } else {
            let red = lower / remaining; // (17)
            let alpha_new = climb(lower, (remaining - 1.0).max(1.0)); // (18)
            let window = (lower - red.max(alpha_new)).floor().max(self.min_cwnd()); // (16)
            (window, if alpha_new > red { alpha_new } else { climb(window, remaining) }) // (19)
        };
        let clamped = self.settings.clamp_after_ad && alpha > window;
        self.epoch.drained = window == self.min_cwnd() || alpha > window;
        self.epoch.alpha = if clamped { window } else { alpha };
        self.epoch.reno = Reno { window, threshold: window - 1.0 };
    }

    fn region(&self) -> Region {
        let Epoch { reno, incthresh, .. } = self.epoch;
        if reno.in_slow_start() {
            Region::SlowStart
        } else if reno.window < incthresh {
            Region::LinearIncrement
        } else {
            Region::FastIncrease
        }
    }
}

impl Controller for Siad {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        let window = cx.initial_window;
        // All at the initial window: the first phase is a slow start.
        self.epoch = Epoch { incthresh: window, alpha: window, cmax: window, ..self.epoch };
        self.epoch.reno.start(cx);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx, ack);
        if !ack.window_limited {
            return;
        }
        if self.calls_for_additional_decrease()
            && let Some(left) = self.rtt.without_backlog(self.epoch.reno.threshold)
        {
            self.additional_decrease(left);
        } else {
            self.grow(ack.newly_delivered);
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.decrease(cx);
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.begin_epoch(false);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        if !loss.again {
            self.decrease(cx);
        }
        self.credit = 0.0;
        self.set_window(1.0, self.epoch.reno.threshold);
        self.begin_epoch(true);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some((before, rtt)) = self.undo.take() {
            let window = self.epoch.reno.window.max(before.reno.window);
            self.epoch = Epoch { reno: Reno { window, ..before.reno }, ..before };
            self.keep_num_rtt();
            self.rtt.take_event_back(&rtt);
            self.double_in_slow_start();
        }
    }

    fn set_parameters(&mut self, given: &Parameters) -> Result<(), ParameterError> {
        check(ENTRY.name, Settings::PARAMETERS, given)?;
        self.settings.change(given)?;
        self.keep_num_rtt();
        Ok(())
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.epoch.reno.idle_restart(cx);
        self.double_in_slow_start();
    }

    fn window(&self) -> f64 {
        self.epoch.reno.window
    }

    fn slow_start_threshold(&self) -> f64 {
        // An Additional Decrease to two segments leaves one. Only SIAD needs to know.
        self.epoch.reno.threshold.max(Reno::MINIMUM)
    }

    fn probe(&self, out: &mut dyn Probe) {
        let known = |rtt: Span| if rtt == Span::MAX { 0.0 } else { rtt.as_millis_f64() };
        out.value("alpha", self.epoch.alpha);
        out.value("incthresh", self.epoch.incthresh);
        out.value("cmax", self.epoch.cmax);
        out.value("num_rtt", f64::from(self.epoch.num_rtt));
        out.value("rtt_min_ms", known(self.rtt.minimum));
        out.value("rtt_curr_ms", known(self.rtt.current));
        out.value("cnt_dec", f64::from(self.epoch.cnt_dec));
        out.value("drained", f64::from(u8::from(self.epoch.drained)));
        out.value("region", f64::from(self.region() as u8));
        out.value("event_case", f64::from(self.last.case));
        out.value("overestimate", self.last.overestimate);
        out.value("trend", self.last.trend);
        out.value("ssthresh_at_event", self.last.ssthresh);
        out.value("events", self.events as f64);
        out.value("additional_decreases", self.additional_decreases as f64);
    }
}

#[cfg(test)]
mod tests;
