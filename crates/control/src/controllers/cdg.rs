//! CDG, "CAIA Delay-Gradient" (Hayes and Armitage, "Revisiting TCP Congestion Control using Delay Gradients", IFIP
//! Networking 2011).
//!
//! Once per RTT interval CDG looks at how the smallest and the largest RTT changed. A positive gradient makes it back
//! off with a probability that grows with the gradient. The signs of both show whether the bottleneck queue is full,
//! and only then does a packet loss count as congestion.
//!
//! | equation | here |
//! | --- | --- |
//! | (1) to (4): gradients, queue state | `parts/gradient.rs` |
//! | (5): probability of a back-off | `backoff_probability` |
//! | (6): window per RTT | `Cdg::back_off`, `Cdg::increase` |
//! | (7): shadow window | `Cdg::on_interval`, `Cdg::resync_shadow` |
//! | (8): window on a loss | `Cdg::on_loss` |
//!
//! Notable differences from the paper, and its open points:
//! - G is in milliseconds per RTT interval. The paper gives no unit.
//! - The shadow window starts as the initial window and follows the window's growth, and a congestion loss halves
//!   it, as Figure 2 draws it and (7) does not say.
//! - A loss while the queue state is still unknown is congestion (`unknown_is_congestion`), a loss within a round
//!   trip of a delay back-off is not, as in the authors' FreeBSD module.
//! - Held intervals, in which an ineffectual back-off is withheld, do not grow the window (`hold_freezes_window`).
//! - Congestion indications are counted also where they cannot act, in recovery.
//! - No back-off or loss takes the window below two segments (RFC 5681, equation 4). After a timeout gradients and
//!   queue state are forgotten.
//! - A mark (ECN) is congestion whatever the queue looks like. It keeps `beta_l` of the window itself, as it must not
//!   raise it.
//! - A loss can raise the window, where the shadow window is more than twice as large: (8) taken literally.

use units::Span;

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::{choices, parameters};
use crate::parts::gradient::{CAPACITY, DelayGradient, Gradients, Interval, Queue};
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Marks, Moment, Probe, Reno, Undo, Wants};

/// The entry of CDG in the registry.
pub const ENTRY: Entry = Entry {
    name: "cdg",
    title: "CDG",
    summary: "Backs off with a probability that grows with the RTT gradient; ignores losses unless the queue is full",
    source: "Hayes and Armitage 2011",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("shadow_window", "segments", "s, what NewReno would have; 0 while the queue is empty"),
        Quantity::new("gradient_min_raw", "ms per interval", "Change of the smallest RTT, not smoothed"),
        Quantity::new("gradient_max_raw", "ms per interval", "Change of the largest RTT, not smoothed"),
        Quantity::new("gradient_min", "ms per interval", "Change of the smallest RTT, smoothed"),
        Quantity::new("gradient_max", "ms per interval", "Change of the largest RTT, smoothed"),
        Quantity::new("queue_state", "", "0 unknown, 1 full, 2 empty, 3 rising, 4 falling"),
        Quantity::new("interval", "intervals", "RTT intervals since the start"),
        Quantity::new("interval_rtt_min_ms", "ms", "Smallest RTT of the last interval"),
        Quantity::new("interval_rtt_max_ms", "ms", "Largest RTT of the last interval"),
        Quantity::new("indications", "indications", "k: indications of congestion since a gradient was last negative"),
        Quantity::new("backoffs", "back-offs", "Delay back-offs since the start"),
        Quantity::new("losses_tolerated", "losses", "Losses since the start that were no congestion"),
        Quantity::new("losses_congestion", "losses", "Losses since the start that were congestion"),
        Quantity::new("losses_full", "losses", "Losses since the start while the queue was full"),
    ],
    make: |given| Ok(Box::new(Cdg::new(Settings::read(given)?))),
};

/// The share of the window and of the shadow window that NewReno keeps.
const NEWRENO_BETA: f64 = 0.5;

choices! {
    /// Which window a delay back-off puts into the shadow window.
    pub enum ShadowResync {
        /// The window before the cut (the paper's Figure 2).
        Before = Word("before"),
        /// The window after the cut (FreeBSD).
        After = Word("after"),
    }
}

parameters! {
    /// The parameters, by the paper's symbols.
    pub struct Settings {
        /// Length of the moving average of the gradients; 0 and 1 do not smooth
        a: u32 = 8, unit "intervals", range from(0).up_to(CAPACITY as u32), source "section 3.2, equations 3 and 4";
        /// Scale of the back-off probability: a gradient of G backs off with probability 0.63
        g as "G": Span = Span::from_millis(3),
            unit "time per interval", range from(Span::from_micros(1)).up_to(Span::from_secs(10)),
            source "section 3.4, equation 5";
        /// Share of the window kept on a delay back-off
        beta_d: f64 = 0.7, range above(0.0).below(1.0), source "section 3.5, equation 6";
        /// Share of the window, or of the shadow window if that is larger, kept on a congestion loss
        beta_l: f64 = 0.5, range above(0.0).below(1.0), source "section 3.7, equation 8";
        /// Delay back-offs without a negative gradient after which they are held to be ineffectual
        b: u32 = 5, unit "indications", range from(0).up_to(1_000_000), source "section 3.6";
        /// Indications then ignored; 0 ignores none
        b_prime: u32 = 5, unit "indications", range from(0).up_to(1_000_000), source "section 3.6";
        /// Clock tick on which RTTs are measured; 0s is an exact clock
        rtt_tick: Span = Span::from_millis(1),
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(1)),
            source "section 4: the authors' implementation";
        /// A delay back-off raises the shadow window to the window before or after the cut
        shadow_resync: ShadowResync = ShadowResync::Before, source "section 3.6, equation 7 and Figure 2";
        /// A loss while the queue state is unknown is a sign of congestion
        unknown_is_congestion: bool = true, source "section 3.3";
        /// An interval whose back-off is withheld neither grows the window nor gives the next gradient
        hold_freezes_window: bool = true, source "section 3.6";
        /// Losses do not reduce the window unless the queue looks full
        loss_tolerance: bool = true, source "section 3.3, equation 8";
        /// A congestion loss starts from the shadow window where that is larger
        use_shadow: bool = true, source "section 3.6, equation 8";
        /// A congestion loss may raise the window where the shadow window is more than twice as large
        loss_may_raise: bool = true, source "section 3.7, equation 8";
        /// The window grows and backs off also while losses that are no congestion are repaired
        grows_in_recovery: bool = false, source "section 5, as further work";
        /// Back-offs that do not turn a gradient negative are withheld after a while
        use_ineffectual: bool = true, source "section 3.6";
    }
}

/// The probability of a back-off at gradient `g` with scale `scale`, both in milliseconds per interval (5).
fn backoff_probability(g: f64, scale: f64) -> f64 {
    -libm::expm1(-g / scale)
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    backoffs: u64,
    losses_tolerated: u64,
    losses_congestion: u64,
    losses_full: u64,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Cdg {
    settings: Settings,
    /// w and ssthresh.
    reno: Reno,
    /// s: the window that NewReno would have, 0 while not tracked.
    shadow: f64,
    gradient: DelayGradient,
    /// k: congestion indications since a gradient was last negative.
    indications: u32,
    /// The path was just relieved, by a delay back-off or for a mark: until this segment is acknowledged the effect
    /// is not seen.
    relieved_until: Option<u64>,
    in_recovery: bool,
    undo: Undo<(Reno, f64)>,
    counts: Counts,
}

impl Cdg {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            shadow: 0.0,
            gradient: DelayGradient::new(settings.a as usize, settings.rtt_tick),
            indications: 0,
            relieved_until: None,
            in_recovery: false,
            undo: Undo::default(),
            counts: Counts::default(),
        }
    }

    /// Takes the signals of `ack`, and backs off if they call for it. Returns whether the window may grow on this
    /// ACK, and whether it closed an interval.
    fn observe(&mut self, cx: &mut Context<'_>, ack: &Ack) -> (bool, bool) {
        if self.relieved_until.is_some_and(|point| ack.acknowledged_to >= point) {
            self.relieved_until = None;
        }
        match self.gradient.observe(ack) {
            Interval::Open => (true, false),
            Interval::First => (true, true),
            Interval::Gradients(gradients) => {
                let congested = self.on_interval(cx, gradients);
                (!(congested && self.react(ack)), true)
            }
        }
    }

    /// The end of an interval that gave gradients: whether it indicates congestion.
    fn on_interval(&mut self, cx: &mut Context<'_>, gradients: Gradients) -> bool {
        let scale = self.settings.g.as_millis_f64();
        // (6): X < P[backoff]
        let congested =
            self.deciding_gradient(cx, gradients).is_some_and(|g| cx.random.happens(backoff_probability(g, scale)));
        if self.gradient.queue() == Queue::Empty {
            self.shadow = 0.0; // (7), second case
        }
        if gradients.min < 0.0 || gradients.max < 0.0 {
            self.indications = 0; // The back-offs had effect.
        }
        congested
    }

    /// The gradient that decides on a back-off: the minimum's before the maximum's. In slow start the raw ones come
    /// before the smoothed, for a timely response (section 3.2, footnote 2).
    fn deciding_gradient(&self, at: &Moment, g: Gradients) -> Option<f64> {
        let order = if self.reno.grows_exponentially(at) {
            [g.raw_min, g.min, g.raw_max, g.max]
        } else {
            [g.min, g.max, 0.0, 0.0]
        };
        order.into_iter().find(|&g| g > 0.0)
    }

    /// Answers a congestion indication: backs off, holds, or, while an earlier reaction lasts, does nothing.
    /// Returns whether that forbids the window to grow.
    fn react(&mut self, ack: &Ack) -> bool {
        let s = &self.settings;
        self.indications = self.indications.saturating_add(1);
        // The kernel asks before recovery ends.
        if self.in_recovery || ack.ends_recovery || self.relieved_until.is_some() {
            return true;
        }
        let before = self.reno.window;
        if !s.use_ineffectual || s.b_prime == 0 || self.indications <= s.b {
            self.back_off(ack);
        } else {
            if self.indications >= s.b + s.b_prime {
                self.indications = 0;
            }
            if !s.hold_freezes_window {
                return false;
            }
        }
        self.gradient.skip_next();
        self.resync_shadow(before);
        true
    }

    /// A delay back-off (6), first case.
    fn back_off(&mut self, ack: &Ack) {
        self.reno.threshold = (self.settings.beta_d * self.reno.window).max(Reno::MINIMUM);
        self.reno.window = self.reno.window.min(self.reno.threshold);
        self.relieved_until = Some(ack.sent_to);
        self.counts.backoffs += 1;
    }

    /// The shadow window after a delay back-off (7), first case. `before` is the window before the cut.
    fn resync_shadow(&mut self, before: f64) {
        let w = match self.settings.shadow_resync {
            ShadowResync::Before => before,
            ShadowResync::After => self.reno.window,
        };
        self.shadow = self.shadow.max(w);
    }

    /// Growth: as NewReno in slow start, else a segment per closed interval (6), second case. The shadow window
    /// follows.
    fn increase(&mut self, at: &Moment, ack: &Ack, interval_closed: bool) {
        let before = self.reno.window;
        if self.reno.grows_exponentially(at) {
            self.reno.slow_start(at, ack);
        } else if interval_closed {
            self.reno.window += 1.0;
        }
        if self.shadow > 0.0 {
            self.shadow += self.reno.window - before;
        }
    }

    /// True if a loss now is not of congestion (section 3.3).
    fn tolerates_loss(&self) -> bool {
        let not_congested = match self.gradient.queue() {
            Queue::Full => false,
            Queue::Unknown => !self.settings.unknown_is_congestion,
            Queue::Empty | Queue::Rising | Queue::Falling => true,
        };
        self.settings.loss_tolerance && (not_congested || self.relieved_until.is_some())
    }

    /// Keeps `beta_l` of `from`. The shadow window reacts as NewReno would.
    fn reduce(&mut self, from: f64) {
        self.reno.threshold = (self.settings.beta_l * from).max(Reno::MINIMUM);
        if !self.settings.loss_may_raise {
            self.reno.threshold = self.reno.threshold.min(self.reno.window).max(Reno::MINIMUM);
        }
        self.reno.window = self.reno.threshold.min(from);
        self.shadow *= NEWRENO_BETA;
    }
}

impl Controller for Cdg {
    delegate!(reno: window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { governs_recovery: self.settings.grows_in_recovery, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.shadow = self.reno.window;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        // Without `grows_in_recovery` no window grows in recovery.
        self.in_recovery &= self.settings.grows_in_recovery;
        let (may_grow, interval_closed) = self.observe(cx, ack);
        if may_grow && ack.window_limited && !self.in_recovery {
            self.increase(cx, ack, interval_closed);
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember((self.reno, self.shadow));
        self.in_recovery = true;
        self.counts.losses_full += u64::from(self.gradient.queue() == Queue::Full);
        if self.tolerates_loss() {
            // (8), second case: retransmit, no more. As ssthresh it ends slow start.
            self.reno.threshold = self.reno.window.max(Reno::MINIMUM);
            self.in_recovery = !self.settings.grows_in_recovery;
            self.counts.losses_tolerated += 1;
        } else {
            // (8), first case.
            let shadow = if self.settings.use_shadow { self.shadow } else { 0.0 };
            self.reduce(shadow.max(self.reno.window));
            self.counts.losses_congestion += 1;
        }
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, marks: &Marks) {
        self.undo.forget();
        self.reduce(self.reno.window);
        self.relieved_until = Some(marks.sent_to);
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.in_recovery = false;
        self.relieved_until = None;
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        if !loss.again {
            self.undo.remember((self.reno, self.shadow));
            self.shadow *= NEWRENO_BETA;
        }
        self.reno.timeout(NEWRENO_BETA, loss.again);
        self.gradient.forget();
        self.indications = 0;
        self.relieved_until = None;
        self.in_recovery = false;
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some((reno, shadow)) = self.undo.take() {
            self.reno.restore(reno);
            self.shadow = self.shadow.max(shadow);
        }
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.reno.idle_restart(cx);
        // Changes of the queue meanwhile are no gradient of one round trip.
        self.gradient.skip_next();
    }

    fn probe(&self, out: &mut dyn Probe) {
        let g = self.gradient.gradients();
        out.value("shadow_window", self.shadow);
        out.value("gradient_min_raw", g.raw_min);
        out.value("gradient_max_raw", g.raw_max);
        out.value("gradient_min", g.min);
        out.value("gradient_max", g.max);
        out.value("queue_state", f64::from(self.gradient.queue() as u8));
        out.value("interval", self.gradient.intervals() as f64);
        let last = self.gradient.last();
        out.value("interval_rtt_min_ms", last.map_or(0.0, |e| e.min.as_millis_f64()));
        out.value("interval_rtt_max_ms", last.map_or(0.0, |e| e.max.as_millis_f64()));
        out.value("indications", f64::from(self.indications));
        out.value("backoffs", self.counts.backoffs as f64);
        out.value("losses_tolerated", self.counts.losses_tolerated as f64);
        out.value("losses_congestion", self.counts.losses_congestion as f64);
        out.value("losses_full", self.counts.losses_full as f64);
    }
}

#[cfg(test)]
mod tests;
