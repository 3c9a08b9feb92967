//! CUBIC of FreeBSD 9 (`cc_cubic.c` and `cc_cubic.h` of 9.3). The RFC's is `controllers/cubic.rs`.
//!
//! | FreeBSD | here |
//! | --- | --- |
//! | `cubic_ssthresh_update`: half at the first event, 0.8 later | `State::reduce` |
//! | `cubic_post_recovery`: fast convergence, K, the mean RTT | `State::recovered` |
//! | `cubic_cwnd`: C*(t - K)^3 + max_cwnd | `State::w_cubic` |
//! | `tf_cwnd`: 0.8*max_cwnd + 3*0.2/(2 - 0.2)*t/RTT | `State::w_tf` |
//! | `cubic_ack_received`: one step for each window of ACKs (CCF_ABC_SENTAWND) | `State::avoid_congestion` |
//! | `cc_cong_signal(CC_RTO)`: half a window; max_cwnd and K stay, and t starts anew | `State::time_out` |
//! | `cubic_record_rtt`: the smoothed RTT, from the eighth sample on | `State::record_rtt` |
//!
//! Differences from FreeBSD: real numbers for fixed points of 8 bits. With less in flight than the threshold FreeBSD
//! resumes after a recovery from the flight, else from 0.8*max_cwnd. Here the stack resumes from the flight, up to the
//! threshold.

use units::{Span, Time};

use crate::entry::{Form, Quantity};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Loss, Marks, Probe, Reno, Undo};

/// The form of CUBIC.
pub(crate) const FORM: Form = Form {
    parameters: &[],
    probes: &[
        Quantity::new("w_max", "segments", "max_cwnd, the plateau"),
        Quantity::new("k_s", "s", "K, the time from a loss to the plateau"),
        Quantity::new("mean_rtt_ms", "ms", "Mean of the smoothed RTT between the last two losses"),
    ],
    make: |_| Ok(Box::new(Cubic::new())),
};

/// The share that the first congestion event of a connection, and every timeout, keeps.
const HALF: f64 = 0.5;
/// The share that a later one keeps (`CUBIC_BETA`).
const BETA: f64 = 0.8;
/// `CUBIC_C_FACTOR`, segments/s^3.
const C: f64 = 0.4;
/// `CUBIC_FC_FACTOR`.
const CONVERGING: f64 = 0.9;
/// `CUBIC_MIN_RTT_SAMPLES`.
const LEAST_SAMPLES: u32 = 8;
/// `mean_rtt_ticks` at the start: a tick.
const FIRST_MEAN: Span = Span::from_millis(1);

/// The state that a spurious congestion event restores.
#[derive(Clone, Copy, Debug)]
struct State {
    reno: Reno,
    /// The plateau, and the one before it.
    max_cwnd: f64,
    prev_max_cwnd: f64,
    /// Seconds.
    k: f64,
    /// Congestion events; the first timeout of a row is none, as it may be spurious.
    events: u32,
    /// The last timeout has brought no progress (t_rxtshift).
    expired: bool,
    /// t_last_cong.
    since: Time,
    /// Segments acknowledged since the last step (t_bytes_acked).
    acknowledged: f64,
    /// Fast recovery, or a reduction for a mark.
    recovering: bool,
    /// The smallest smoothed RTT.
    min_rtt: Option<Span>,
    mean_rtt: Span,
    /// RTT samples, and of the ACKs of this epoch the number and the sum of smoothed RTTs.
    samples: u32,
    acks: u32,
    sum: Span,
}

impl State {
    const fn new() -> Self {
        Self {
            reno: Reno::new(),
            max_cwnd: 0.0,
            prev_max_cwnd: 0.0,
            k: 0.0,
            events: 0,
            expired: false,
            since: Time::ZERO,
            acknowledged: 0.0,
            recovering: false,
            min_rtt: None,
            mean_rtt: FIRST_MEAN,
            samples: 0,
            acks: 0,
            sum: Span::ZERO,
        }
    }

    fn record_rtt(&mut self, ack: &Ack) {
        self.samples = self.samples.saturating_add(u32::from(ack.rtt.is_some()));
        if self.samples < LEAST_SAMPLES {
            return;
        }
        let smoothed = ack.smoothed_rtt;
        if self.min_rtt.is_none_or(|least| smoothed < least) {
            self.min_rtt = Some(smoothed);
            self.mean_rtt = self.mean_rtt.max(smoothed);
        }
        self.sum += smoothed;
        self.acks += 1;
    }

    /// The cubic `t` seconds after the last event.
    fn w_cubic(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.max_cwnd
    }

    /// The window of a flow of standard TCP then.
    fn w_tf(&self, t: f64) -> f64 {
        let increase = 3.0 * (1.0 - BETA) / (1.0 + BETA);
        BETA * self.max_cwnd + increase * t / self.mean_rtt.as_secs_f64()
    }

    /// An ACK that counts `credit` segments, above the threshold.
    fn avoid_congestion(&mut self, now: Time, limited: bool, credit: f64) {
        self.acknowledged += credit;
        if self.acknowledged < self.reno.window || !limited {
            return;
        }
        self.acknowledged -= self.reno.window;
        if self.min_rtt.is_none() {
            self.reno.window += 1.0;
            return;
        }
        let t = now.since(self.since).as_secs_f64();
        let (w_tf, w_cubic) = (self.w_tf(t), self.w_cubic(t + self.mean_rtt.as_secs_f64()));
        if w_cubic < w_tf {
            self.reno.window = w_tf.max(1.0);
        } else {
            self.reno.window = self.reno.window.max(w_cubic);
        }
        if self.events == 0 {
            self.max_cwnd = self.max_cwnd.max(self.reno.window);
        }
    }

    /// A loss or a mark.
    fn reduce(&mut self) {
        (self.prev_max_cwnd, self.max_cwnd) = (self.max_cwnd, self.reno.window);
        self.reno.multiplicative_decrease(if self.events == 0 { HALF } else { BETA });
        self.events += 1;
        self.recovering = true;
    }

    fn recovered(&mut self, now: Time) {
        if !std::mem::take(&mut self.recovering) {
            return;
        }
        if self.max_cwnd < self.prev_max_cwnd {
            self.max_cwnd *= CONVERGING;
        }
        self.since = now;
        if self.acks > 0 {
            self.mean_rtt = self.sum / u64::from(self.acks);
        }
        (self.acks, self.sum) = (0, Span::ZERO);
        self.k = libm::cbrt(self.max_cwnd * (1.0 - BETA) / C);
    }

    fn time_out(&mut self, now: Time, loss: &Loss) {
        self.reno.timeout(HALF, loss.again);
        self.events += u32::from(std::mem::replace(&mut self.expired, true));
        self.acknowledged = 0.0;
        self.recovering = false;
        self.since = now;
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Cubic {
    state: State,
    undo: Undo<State>,
}

impl Cubic {
    fn new() -> Self {
        Self { state: State::new(), undo: Undo::default() }
    }
}

impl Controller for Cubic {
    delegate!(state.reno: keep, on_idle_restart, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.state.reno.start(cx);
        self.state.max_cwnd = self.state.reno.window;
        self.state.since = cx.now;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let state = &mut self.state;
        state.expired &= ack.newly_acknowledged == 0;
        state.record_rtt(ack);
        let credit = if state.reno.grows_exponentially(cx) {
            state.acknowledged = 0.0;
            if ack.window_limited { state.reno.slow_start(cx, ack) } else { 0.0 }
        } else {
            ack.avoidance_credit(cx)
        };
        if credit > 0.0 {
            state.avoid_congestion(cx.now, ack.window_limited, credit);
        }
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.state.record_rtt(ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.state);
        self.state.reduce();
    }

    fn on_ecn(&mut self, cx: &mut Context<'_>, _marks: &Marks) {
        self.undo.forget();
        self.state.reduce();
        self.state.since = cx.now;
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.state.recovered(cx.now);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.state);
        self.state.time_out(cx.now, loss);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some(before) = self.undo.take()
            && self.state.reno.window < before.reno.window
        {
            self.state = before;
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        let State { max_cwnd, k, mean_rtt, .. } = self.state;
        out.value("w_max", max_cwnd);
        out.value("k_s", k);
        out.value("mean_rtt_ms", mean_rtt.as_secs_f64() * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RttSample;
    use crate::testing::{World, ack, loss};

    fn at_100() -> Cubic {
        let mut cubic = Cubic::new();
        cubic.state.reno.window = 100.0;
        cubic
    }

    /// An ACK of `count` segments with a sample, and a smoothed RTT of 100 ms.
    fn of(count: u32) -> Ack {
        let rtt = Span::from_millis(100);
        Ack {
            rtt: Some(RttSample { value: rtt, delayed: false }),
            smoothed_rtt: rtt,
            newly_acknowledged: count,
            newly_delivered: count,
            ..ack()
        }
    }

    /// After the loss of a window of 100 segments, and its recovery. The mean RTT is 100 ms.
    fn recovered() -> (World, Cubic) {
        let (mut world, mut cubic) = (World::new(), at_100());
        for _ in 0..LEAST_SAMPLES {
            cubic.on_duplicate_ack(&mut world.context(), &of(0));
        }
        cubic.on_loss(&mut world.context(), &loss());
        cubic.on_recovered(&mut world.context());
        (world, cubic)
    }

    #[test]
    fn the_first_loss_halves_and_the_next_ones_keep_four_fifths() {
        let mut world = World::new();
        let mut cubic = at_100();
        cubic.on_loss(&mut world.context(), &loss());
        assert_eq!(cubic.window(), 50.0);
        cubic.on_loss(&mut world.context(), &loss());
        assert_eq!(cubic.window(), 40.0);
    }

    #[test]
    fn the_window_steps_to_the_cubic_once_a_window() {
        let (mut world, mut cubic) = recovered();
        assert_eq!(cubic.window(), 50.0);
        // K is cbrt(100 * 0.2 / 0.4) = 3.684 s, also after the loss that halved. In 0.1 s and an RTT the cubic is at
        // 100 - 0.4 * 3.484^3 = 83.08 segments, standard TCP at 80 + 0.6/1.8 = 80.33.
        world.pass(Span::from_millis(100));
        cubic.on_ack(&mut world.context(), &of(49));
        assert_eq!(cubic.window(), 50.0);
        cubic.on_ack(&mut world.context(), &of(2));
        assert!((cubic.window() - 83.083).abs() < 0.01, "{}", cubic.window());
        // One is left of that window. The next is full after 83 more, at 3.5 s: 100 - 0.4 * 0.084^3, but standard TCP
        // has 80 + 0.6/1.8 * 35 = 91.67.
        world.pass(Span::from_millis(3400));
        cubic.on_ack(&mut world.context(), &of(83));
        assert!((cubic.window() - 99.9998).abs() < 0.001, "{}", cubic.window());
    }

    #[test]
    fn a_timeout_halves_and_leaves_the_plateau() {
        let (mut world, mut cubic) = recovered();
        world.pass(Span::from_millis(100));
        cubic.on_ack(&mut world.context(), &of(50));
        world.pass(Span::from_secs(2));
        cubic.on_timeout(&mut world.context(), &loss());
        // 83.083 / 2, where a loss would have kept four fifths.
        assert_eq!(cubic.window(), 1.0);
        assert!((cubic.slow_start_threshold() - 41.54).abs() < 0.01);
        assert_eq!((cubic.state.max_cwnd, cubic.state.events), (100.0, 1));
        // After slow start, 0.5 s after the timeout, the next window of ACKs takes it back to the old cubic:
        // 100 - 0.4 * (3.684 - 0.6)^3 = 88.27.
        cubic.state.reno.window = 42.0;
        world.pass(Span::from_millis(500));
        cubic.on_ack(&mut world.context(), &of(42));
        assert!((cubic.window() - 88.27).abs() < 0.01, "{}", cubic.window());
    }

    #[test]
    fn a_second_timeout_in_a_row_is_a_congestion_event() {
        let mut world = World::new();
        let mut cubic = at_100();
        cubic.on_timeout(&mut world.context(), &loss());
        cubic.on_ack(&mut world.context(), &of(1));
        cubic.on_timeout(&mut world.context(), &loss());
        assert_eq!(cubic.state.events, 0);
        cubic.on_timeout(&mut world.context(), &loss());
        assert_eq!(cubic.state.events, 1);
        // Every expiry halves, where the stack says so.
        assert_eq!((cubic.window(), cubic.slow_start_threshold()), (1.0, 2.0));
    }

    #[test]
    fn a_lower_loss_puts_the_plateau_a_tenth_lower() {
        let (mut world, mut cubic) = recovered();
        cubic.on_loss(&mut world.context(), &loss());
        cubic.on_recovered(&mut world.context());
        // 50 segments, below 100.
        assert_eq!((cubic.window(), cubic.state.max_cwnd), (40.0, 45.0));
    }

    #[test]
    fn a_spurious_first_loss_leaves_the_next_one_to_halve() {
        let mut world = World::new();
        let mut cubic = at_100();
        cubic.on_loss(&mut world.context(), &loss());
        cubic.on_spurious(&mut world.context());
        assert_eq!(cubic.window(), 100.0);
        cubic.on_loss(&mut world.context(), &loss());
        assert_eq!(cubic.window(), 50.0);
    }

    #[test]
    fn a_mark_keeps_four_fifths_after_a_loss() {
        let mut world = World::new();
        let mut cubic = at_100();
        cubic.on_loss(&mut world.context(), &loss());
        let marks = Marks { in_flight: 50, acknowledged_to: 0, sent_to: 50, at: world.now };
        cubic.on_ecn(&mut world.context(), &marks);
        assert_eq!(cubic.window(), 40.0);
    }
}
