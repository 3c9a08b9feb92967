//! DA, the Delay Algorithm (Dabbous, "Analysis of a delay based congestion avoidance algorithm", 1992).
//!
//! DA times the head of each window, the first packet sent in an epoch of one round trip. If it took substantially
//! longer than the reference delay, the smallest so far, the window shrinks to the size with the same throughput
//! without a queue. If it met no queue, the window grows by one. The paper's equations, which have no numbers, are
//! numbered here in their order.
//!
//! | equation | here |
//! | --- | --- |
//! | NDG = (dD/dW)/(D/W): end of slow start (section 3) | `Da::slow_start` |
//! | (D1): W = W * D_t/D_a, the window without queue (section 3) | `Da::decrease` |
//! | (D2): D_t = min(D_t, D_a), the reference (section 3) | `Reference::observe`, `da/reference.rs` |
//! | (D3): decrease, hold or increase (section 3) | `Da::next_window` |
//! | MAX-REDUCE: the reference is replaced (section 5.1) | `Da::decrease` |
//! | minimal buffering, optimistic increase (section 5.2) | `min_buffer`, `optimistic` |
//!
//! Notable differences from the paper, and its open points:
//! - Slow start ends when NDG is *above* 0.5. The paper prints smaller, which would end it at a window of 2 and not at
//!   the 13 that it reports. `ndg_sign` has the printed sign.
//! - (D3) computes W^{i+2} from W^i. To the letter these are two windows in turns, which drift apart where sources
//!   compete. Here one window is decided on in every second epoch. `update_epochs` has the other readings.
//! - A delay equal to K times the reference holds the window, one equal to the reference grows it: (D3) leaves both
//!   out. No two delays of a real host are equal, so a head met no queue if (D1) finds at most `empty_queue` packets
//!   in it.
//! - In slow start each ACK gives a delay, in avoidance only the ACK of the head of window.
//! - The reference survives losses. Slow start after a loss ends at half the window, if not by NDG before, and grows
//!   also on ACKs of retransmitted packets, which give no delay.
//! - The window computed by a decrease is at least one packet.
//! - The credit W_c of the receiver is the transport's business.

mod reference;
mod settings;

use units::Span;

use self::reference::Reference;
pub use self::settings::{NdgSign, ReferenceRule, Settings, UpdateEpochs};
use crate::entry::{Aim, Entry, Quantity};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Moment, Probe, Reno, Undo};

/// The entry of DA in the registry.
pub const ENTRY: Entry = Entry {
    name: "da",
    title: "DA",
    summary: "Shrinks the window by the ratio of smallest to measured delay, grows it by one when nothing queues",
    source: "Dabbous 1992",
    aim: Aim::Delay,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("reference_delay_ms", "ms", "D_t"),
        Quantity::new("delay_ms", "ms", "D_a of the last head of window; in slow start of the last ACK"),
        Quantity::new("ndg", "", "The last normalized delay gradient"),
        Quantity::new("phase", "", "1 slow start, 2 avoidance"),
        Quantity::new("epoch", "epochs", "Epochs since the start"),
        Quantity::new("reductions", "decreases", "Decreases by delay in a row"),
        Quantity::new("reductions_total", "decreases", "Decreases by delay and losses since the start"),
        Quantity::new("decreases", "decreases", "Decreases by delay since the start"),
        Quantity::new("reference_renewals", "renewals", "How often MAX-REDUCE replaced the reference"),
    ],
    make: |given| Ok(Box::new(Da::new(Settings::read(given)?))),
};

/// The two phases of section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    SlowStart = 1,
    Avoidance = 2,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    epochs: u64,
    decreases: u64,
    losses: u64,
    renewals: u64,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Da {
    settings: Settings,
    /// W, and the threshold that a loss leaves.
    reno: Reno,
    /// The window of the epoch before (W^i, while W is W^{i+1}).
    previous_window: f64,
    phase: Phase,
    reference: Reference,
    /// X: the head of window whose ACK ends the epoch.
    head: Option<u64>,
    /// This epoch's head left before the last decision took effect.
    settling: bool,
    /// The delay of the ACK before, in slow start.
    last_delay: Option<Span>,
    /// Decreases in a row.
    reductions: u32,
    undo: Undo<(Reno, Phase)>,
    delay: Span,
    ndg: f64,
    counts: Counts,
}

impl Da {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        let reference = match settings.reference {
            ReferenceRule::Min => Reference::min(),
            ReferenceRule::Last => Reference::last(settings.last_m as usize),
        };
        Self {
            settings,
            reno: Reno::new(),
            previous_window: 1.0,
            phase: Phase::SlowStart,
            reference,
            head: None,
            settling: false,
            last_delay: None,
            reductions: 0,
            undo: Undo::default(),
            delay: Span::ZERO,
            ndg: 0.0,
            counts: Counts::default(),
        }
    }

    fn max_window(&self) -> f64 {
        f64::from(self.settings.max_window)
    }

    /// Slow start: one segment an ACK, until the delay grows with the window.
    fn slow_start(&mut self, at: &Moment, ack: &Ack, delay: Option<Span>) {
        let increase = if ack.window_limited { ack.slow_start_credit(at) } else { 0.0 };
        if let Some(delay) = delay {
            self.delay = delay;
            self.reference.observe(delay);
            if self.last_delay.is_some_and(|last| self.gradient_ends_slow_start(last, delay, increase)) {
                self.enter_avoidance(ack);
                return;
            }
        }
        self.last_delay = delay;
        self.reno.window = (self.reno.window + increase).min(self.max_window());
        if self.reno.window >= self.max_window().min(self.reno.threshold) {
            self.enter_avoidance(ack);
        }
    }

    /// NDG = (dD/dW)/(D/W), with the window before this ACK's `increase`, against its threshold.
    fn gradient_ends_slow_start(&mut self, last: Span, delay: Span, increase: f64) -> bool {
        if increase == 0.0 {
            return false;
        }
        let difference = delay.as_secs_f64() - last.as_secs_f64();
        self.ndg = (difference / increase) / (delay.as_secs_f64() / self.reno.window);
        match self.settings.ndg_sign {
            NdgSign::Above => self.ndg > self.settings.ndg_threshold,
            NdgSign::Below => self.ndg < self.settings.ndg_threshold,
        }
    }

    fn enter_avoidance(&mut self, ack: &Ack) {
        self.phase = Phase::Avoidance;
        self.begin_epochs(ack);
    }

    /// The next new packet is the first head of window.
    fn begin_epochs(&mut self, ack: &Ack) {
        self.previous_window = self.reno.window;
        self.head = Some(ack.sent_to);
        self.settling = true;
    }

    fn enter_slow_start(&mut self) {
        self.phase = Phase::SlowStart;
        self.head = None;
        self.last_delay = None;
        self.reductions = 0;
    }

    /// The head of window took `delay`: the next new packet is the next head.
    fn end_of_epoch(&mut self, ack: &Ack, delay: Span) {
        self.head = Some(ack.sent_to);
        self.counts.epochs += 1;
        self.delay = delay;
        let settling = self.settling;
        self.settling = !settling;
        if settling && self.settings.update_epochs == UpdateEpochs::Second {
            self.reference.observe(delay);
            return;
        }
        let window = self.reno.window;
        let next = self.next_window(delay).clamp(1.0, self.max_window());
        self.reno.window = if ack.window_limited { next } else { next.min(window) };
        self.previous_window = window;
    }

    /// (D3).
    fn next_window(&mut self, delay: Span) -> f64 {
        let window = match self.settings.update_epochs {
            UpdateEpochs::Interleaved => self.previous_window,
            UpdateEpochs::Every | UpdateEpochs::Second => self.reno.window,
        };
        let old = self.reference.delay().unwrap_or(delay); // D_t^i
        let reference = self.reference.observe(delay); // D_t^{i+1}
        // In nanoseconds, where K times the reference can be met exactly.
        if delay.as_nanos() as f64 > self.settings.k * old.as_nanos() as f64 {
            return self.decrease(window, reference, delay);
        }
        self.reductions = 0;
        let stable = queue(window, old, delay) > self.settings.empty_queue;
        if stable && !self.settings.optimistic { window } else { window + 1.0 }
    }

    /// (D1) and section 5.2: the window that leaves no queue, or a minimal one.
    fn decrease(&mut self, window: f64, reference: Span, delay: Span) -> f64 {
        self.counts.decreases += 1;
        self.reductions += 1;
        if self.reductions == self.settings.max_reduce {
            self.reference.replace(delay);
            self.counts.renewals += 1;
            self.reductions = 0;
        }
        // In nanoseconds, so that a whole window comes out whole.
        window * reference.as_nanos() as f64 / delay.as_nanos() as f64 + self.settings.min_buffer
    }

    fn lose(&mut self) {
        self.counts.losses += 1;
        self.reno.tahoe();
        self.enter_slow_start();
    }
}

/// Packets in the queue: what the window has beyond that of (D1).
fn queue(window: f64, reference: Span, delay: Span) -> f64 {
    window * (delay.as_nanos() as f64 - reference.as_nanos() as f64) / delay.as_nanos() as f64
}

impl Controller for Da {
    delegate!(reno: window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.reno.window = self.reno.window.min(self.max_window());
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let delay = ack.undelayed_rtt().filter(|delay| !delay.is_zero());
        if self.phase == Phase::SlowStart {
            self.slow_start(cx, ack, delay);
            return;
        }
        let Some(head) = self.head else {
            self.begin_epochs(ack);
            return;
        };
        // A head without a usable delay: the next packet that has one replaces it.
        if let Some(delay) = delay.filter(|_| ack.acknowledged_to > head) {
            self.end_of_epoch(ack, delay);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember((self.reno, self.phase));
        self.lose();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, (self.reno, self.phase));
        self.lose();
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some((reno, phase)) = self.undo.take() {
            self.reno.restore(reno);
            self.phase = phase;
            self.head = None;
        }
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.reno.idle_restart(cx);
        self.enter_slow_start();
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("reference_delay_ms", self.reference.delay().unwrap_or(Span::ZERO).as_millis_f64());
        out.value("delay_ms", self.delay.as_millis_f64());
        out.value("ndg", self.ndg);
        out.value("phase", f64::from(self.phase as u8));
        out.value("epoch", self.counts.epochs as f64);
        out.value("reductions", f64::from(self.reductions));
        out.value("reductions_total", (self.counts.decreases + self.counts.losses) as f64);
        out.value("decreases", self.counts.decreases as f64);
        out.value("reference_renewals", self.counts.renewals as f64);
    }
}

#[cfg(test)]
mod tests;
