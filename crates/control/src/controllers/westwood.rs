//! TCP Westwood (Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood: bandwidth estimation for enhanced
//! transport over wireless links", MobiCom 2001) and Westwood+ (Grieco and Mascolo, ACM CCR 34(2), 2004).
//!
//! NewReno that does not halve: it estimates from its ACKs at which rate the path delivers, and a loss leaves the
//! window that this rate needs without a queue.
//!
//! | rule | here |
//! | --- | --- |
//! | loss: ssthresh = BWE RTT_min, w at most that; timeout: the same ssthresh, w = 1 | `Westwood::threshold` |
//! | Westwood+: a sample each max(RTT, 50 ms), two filters of 7/8 and 1/8 in a row | `Plus` |
//! | Westwood: a sample each ACK, Tustin's filter (section 3.2) | `Tustin` |
//!
//! Notable differences from the papers: ACKs that arrive at one instant are one sample of Tustin's filter, and a
//! silence counts as empty samples, one each tau/2. Segments count as delivered when an ACK shows it, cumulatively or
//! by SACK.
//!
//! With `arithmetic = "linux"` it is Linux's module, which is Westwood+ in bytes and ticks of the kernel's clock, `hz`,
//! to which an RTT is rounded up: a loss halves, and the window and threshold of the estimate come at the end of
//! recovery, then as often upwards as down; after a timeout the smallest RTT is measured anew. Its rule for what an ACK
//! delivers is that of its slow path, which Linux takes for ACKs that report holes or end a recovery: on the fast path
//! what duplicate ACKs have counted is not taken off. A loss that proves spurious gives the window back for good; Linux
//! sets the estimate when recovery ends all the same. The window after a timeout is the transport's.

use units::{Span, Time};

use crate::entry::{Entry, Quantity};
use crate::parameters::{choices, parameters};
use crate::parts::linux::{self, Arithmetic, Counter};
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo, Wants};

/// What the registry tells about Westwood.
pub const ENTRY: Entry = Entry {
    name: "westwood",
    title: "TCP Westwood",
    summary: "NewReno that leaves on a loss what the estimated rate of delivery needs without a queue",
    source: "Mascolo et al. 2001; Grieco and Mascolo 2004; Linux",
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("bandwidth", "segments/s", "BWE, the estimated rate of delivery"),
        Quantity::new("estimated_window", "segments", "BWE times the smallest RTT"),
    ],
    make: |given| Ok(Box::new(Westwood::new(Settings::read(given)?))),
};

/// The shortest sample of Westwood+, and how many of it are a second.
const SHORTEST: Span = Span::from_millis(50);
const SHORTEST_PER_SECOND: u64 = 20;
/// What a loss keeps in Linux until recovery ends.
const BETA: f64 = 0.5;
/// No RTT yet, in Linux.
const NO_RTT: Span = Span::from_secs(20);

choices! {
    /// How samples become an estimate.
    pub enum Filter {
        /// Westwood+.
        Plus = Word("plus"),
        /// Westwood.
        Tustin = Word("tustin"),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// The filter of Westwood+ or that of Westwood
        filter: Filter = Filter::Plus, source "Grieco and Mascolo 2004; Mascolo et al. 2001, section 3.2";
        /// The time constant of the filter of Westwood
        tau: Span = Span::from_millis(500),
            unit "time", range above(Span::ZERO).up_to(Span::from_secs(100)), source "Mascolo et al. 2001, section 3.2";
        /// Real numbers, or the whole numbers of the module in Linux, which is Westwood+
        arithmetic: Arithmetic = Arithmetic::Float, source "Linux, tcp_westwood.c";
        /// Ticks of the kernel's clock, in the arithmetic of Linux
        hz: u32 = linux::HZ, unit "ticks per second", range from(100).up_to(1000), source "CONFIG_HZ";
    }
}

/// Westwood+: two filters in a row. Segments a second, or in Linux bytes a tick, rounded down.
#[derive(Clone, Copy, Debug, Default)]
struct Plus {
    once: f64,
    twice: f64,
}

impl Plus {
    fn take(&mut self, sample: f64, whole: bool) {
        let filter = |old: f64, new: f64| {
            let filtered = (7.0 * old + new) / 8.0;
            if whole { filtered.floor() } else { filtered }
        };
        if self.once == 0.0 && self.twice == 0.0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = filter(self.once, sample);
            self.twice = filter(self.twice, self.once);
        }
    }
}

/// Westwood: one filter of varying weight, segments a second.
#[derive(Clone, Copy, Debug, Default)]
struct Tustin {
    estimate: f64,
    last_sample: f64,
}

impl Tustin {
    /// A sample of `elapsed` seconds.
    fn take(&mut self, sample: f64, elapsed: f64, tau: f64) {
        let silent = (elapsed / (tau / 2.0)).floor();
        if silent >= 1.0 {
            // A sample of tau/2 has the weight (2 tau - tau/2)/(2 tau + tau/2).
            self.estimate *= libm::pow(0.6, silent);
            self.last_sample = 0.0;
        }
        let rest = elapsed - silent * tau / 2.0;
        let kept = (2.0 * tau - rest) / (2.0 * tau + rest);
        self.estimate = kept * self.estimate + (1.0 - kept) * f64::midpoint(sample, self.last_sample);
        self.last_sample = sample;
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Westwood {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    counter: Counter,
    plus: Plus,
    tustin: Tustin,
    /// When the present sample began, and what was delivered since: segments, in Linux bytes.
    since: Time,
    delivered: u64,
    /// Segments that duplicate ACKs have counted already, in Linux.
    accounted: u32,
    /// No ACK has come yet: Linux counts from where the first one leads.
    begins: bool,
    rtt: Span,
    rtt_min: Span,
    /// The next RTT is the smallest.
    measures_anew: bool,
    in_recovery: bool,
    segment_size: u64,
}

impl Westwood {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            counter: Counter::default(),
            plus: Plus::default(),
            tustin: Tustin::default(),
            since: Time::ZERO,
            delivered: 0,
            accounted: 0,
            begins: true,
            rtt: NO_RTT,
            rtt_min: NO_RTT,
            measures_anew: false,
            in_recovery: false,
            segment_size: 1,
        }
    }

    fn computes_as_linux(&self) -> bool {
        self.settings.arithmetic == Arithmetic::Linux
    }

    fn hz(&self) -> u64 {
        u64::from(self.settings.hz)
    }

    /// Of the kernel's clock.
    fn tick(&self) -> Span {
        Span::from_nanos(1_000_000_000 / self.hz())
    }

    /// Every ACK.
    fn observe(&mut self, now: Time, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let ticks = linux::ticks_rounded_up(rtt.value, self.hz());
            self.rtt = if self.computes_as_linux() { self.tick() * ticks } else { rtt.value };
        }
        if self.settings.filter == Filter::Tustin && !self.computes_as_linux() {
            self.sample_ack(now, ack);
        } else {
            self.sample_round_trip(now);
            self.delivered += self.delivered_by(ack);
        }
        self.rtt_min = if self.measures_anew { self.rtt } else { self.rtt_min.min(self.rtt) };
        self.measures_anew = false;
    }

    /// What `ack` delivers: segments, in Linux bytes by the rule for duplicate and cumulative ACKs.
    fn delivered_by(&mut self, ack: &Ack) -> u64 {
        if !self.computes_as_linux() {
            return u64::from(ack.newly_delivered);
        }
        let mut segments = if std::mem::take(&mut self.begins) { 0 } else { ack.newly_acknowledged };
        if segments == 0 {
            self.accounted += 1;
            segments = 1;
        } else if segments > 1 {
            let counted = self.accounted.min(segments);
            segments = if self.accounted >= segments { 1 } else { segments - counted };
            self.accounted -= counted;
        }
        u64::from(segments) * self.segment_size
    }

    /// Westwood+: the end of a sample, if it was long enough.
    fn sample_round_trip(&mut self, now: Time) {
        let elapsed = now.since(self.since);
        if self.computes_as_linux() {
            let (hz, tick) = (self.hz(), self.tick());
            let elapsed = linux::ticks(now, hz) - linux::ticks(self.since, hz);
            if !self.rtt.is_zero() && tick * elapsed > self.rtt.max(tick * (hz / SHORTEST_PER_SECOND)) {
                self.plus.take((self.delivered / elapsed) as f64, true);
                (self.delivered, self.since) = (0, now);
            }
        } else if elapsed > self.rtt.max(SHORTEST) {
            self.plus.take(self.delivered as f64 / elapsed.as_secs_f64(), false);
            (self.delivered, self.since) = (0, now);
        }
    }

    /// Westwood: each ACK is a sample.
    fn sample_ack(&mut self, now: Time, ack: &Ack) {
        self.delivered += u64::from(ack.newly_delivered);
        let elapsed = now.since(self.since).as_secs_f64();
        if elapsed > 0.0 && self.delivered > 0 {
            self.tustin.take(self.delivered as f64 / elapsed, elapsed, self.settings.tau.as_secs_f64());
            (self.delivered, self.since) = (0, now);
        }
    }

    /// BWE, segments a second.
    fn bandwidth(&self) -> f64 {
        match self.settings.filter {
            _ if self.computes_as_linux() => self.plus.twice * f64::from(self.settings.hz) / self.segment_size as f64,
            Filter::Plus => self.plus.twice,
            Filter::Tustin => self.tustin.estimate,
        }
    }

    /// BWE RTT_min, at least two segments.
    fn threshold(&self) -> f64 {
        if !self.computes_as_linux() {
            return (self.bandwidth() * self.rtt_min.as_secs_f64()).max(Reno::MINIMUM);
        }
        let bytes = self.plus.twice as u64 * (self.rtt_min.as_nanos() / self.tick().as_nanos());
        ((bytes / self.segment_size) as f64).max(Reno::MINIMUM)
    }
}

impl Controller for Westwood {
    delegate!(reno: on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.since = cx.now;
        self.segment_size = cx.segment_size.get().max(1);
    }

    fn wants(&self) -> Wants {
        Wants { transmit_start: self.computes_as_linux(), ..Wants::default() }
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, _idle: Span) {
        // In Linux the first sample begins when the connection is established.
        if self.begins {
            self.since = cx.now;
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
        if self.computes_as_linux() {
            self.counter.grow_as_reno(&mut self.reno, ack);
        } else {
            self.reno.grow(ack);
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.counter.clear();
        if self.computes_as_linux() {
            self.in_recovery = true;
            let half = (self.reno.window * BETA).floor();
            linux::reduce(&mut self.reno, half);
        } else {
            let threshold = self.threshold();
            linux::reduce(&mut self.reno, threshold);
        }
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        if std::mem::take(&mut self.in_recovery) {
            let threshold = self.threshold();
            self.reno = Reno { window: threshold, threshold };
        }
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let threshold = self.threshold();
        linux::time_out(&mut self.reno, threshold, loss);
        self.counter.clear();
        self.in_recovery = false;
        self.measures_anew |= self.computes_as_linux() && !loss.again;
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("bandwidth", self.bandwidth());
        out.value("estimated_window", self.threshold());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    fn at(window: f64, settings: Settings) -> (Westwood, World) {
        let (mut world, mut westwood) = (World::new(), Westwood::new(settings));
        westwood.on_start(&mut world.context());
        westwood.reno = Reno { window, threshold: 2.0 };
        westwood.begins = false;
        (westwood, world)
    }

    fn linux() -> Settings {
        Settings { arithmetic: Arithmetic::Linux, hz: 1000, ..Settings::default() }
    }

    /// An ACK of a segment each millisecond on a path of 40 ms.
    fn acks(westwood: &mut Westwood, world: &mut World, count: u32) {
        for _ in 0..count {
            world.pass(Span::from_millis(1));
            westwood.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(40), ..ack() });
        }
    }

    #[test]
    fn a_segment_a_millisecond_leaves_the_window_of_its_rtt() {
        // 1000 segments/s and 40 ms are 40 segments; in Linux 1448 B/ms less what is rounded down.
        let tustin = Settings { filter: Filter::Tustin, ..Settings::default() };
        for (settings, least) in [(Settings::default(), 39.0), (tustin, 39.0), (linux(), 38.0)] {
            let (mut westwood, mut world) = at(100.0, settings);
            acks(&mut westwood, &mut world, 5000);
            let window = probed(&westwood, "estimated_window");
            assert!(window >= least && window <= 40.0 + 1e-9, "{settings:?}: {window}");
        }
    }

    #[test]
    fn two_filters_take_an_eighth_of_an_eighth_of_a_new_sample() {
        // From 800: a sample of 1600 makes the first 900 and the second 812.5, then 987.5 and 834.375.
        let mut plus = Plus::default();
        plus.take(800.0, false);
        assert_eq!((plus.once, plus.twice), (800.0, 800.0));
        plus.take(1600.0, false);
        assert_eq!((plus.once, plus.twice), (900.0, 812.5));
        plus.take(1600.0, true);
        assert_eq!((plus.once, plus.twice), (987.0, 834.0));
    }

    #[test]
    fn a_silence_of_half_tau_keeps_three_fifths() {
        let mut tustin = Tustin { estimate: 1000.0, last_sample: 1000.0 };
        tustin.take(0.0, 0.5, 0.5);
        assert!((tustin.estimate - 360.0).abs() < 1e-9, "{}", tustin.estimate);
    }

    #[test]
    fn a_loss_leaves_the_estimate_but_does_not_raise_the_window() {
        for (window, after) in [(100.0, 40.0), (20.0, 20.0)] {
            let (mut westwood, mut world) = at(window, Settings::default());
            westwood.plus = Plus { once: 1000.0, twice: 1000.0 };
            westwood.rtt_min = Span::from_millis(40);
            westwood.on_loss(&mut world.context(), &loss());
            assert_eq!((westwood.window(), westwood.slow_start_threshold()), (after, 40.0));
        }
    }

    #[test]
    fn linux_halves_and_sets_the_estimate_when_recovery_ends() {
        let (mut westwood, mut world) = at(101.0, linux());
        westwood.plus = Plus { once: 1448.0, twice: 2896.0 };
        westwood.rtt_min = Span::from_millis(40);
        westwood.on_loss(&mut world.context(), &loss());
        assert_eq!(westwood.window(), 50.0);
        // 2896 * 40 / 1448.
        westwood.on_recovered(&mut world.context());
        assert_eq!((westwood.window(), westwood.slow_start_threshold()), (80.0, 80.0));
        westwood.on_timeout(&mut world.context(), &loss());
        assert_eq!((westwood.window(), westwood.slow_start_threshold()), (1.0, 80.0));
        westwood.on_recovered(&mut world.context());
        assert_eq!(westwood.window(), 1.0, "a repair after a timeout sets nothing");
    }

    #[test]
    fn linux_counts_a_segment_for_a_duplicate_ack_once() {
        let (mut westwood, mut world) = at(100.0, linux());
        let of = |newly_acknowledged| Ack { newly_acknowledged, ..ack() };
        let mut counted = |n| westwood.delivered_by(&of(n)) / 1448;
        // Three duplicates, then an ACK of five, of which three were counted; one of four after six duplicates.
        assert_eq!([0, 0, 0, 5].map(&mut counted), [1, 1, 1, 2]);
        assert_eq!([0, 0, 0, 0, 0, 0, 4].map(&mut counted), [1, 1, 1, 1, 1, 1, 1]);
        westwood.on_recovered(&mut world.context());
        assert_eq!(westwood.accounted, 2);
    }

    #[test]
    fn linux_rounds_an_rtt_up_to_a_tick_of_the_kernels_clock() {
        // 41 ms are 11 ticks of 4 ms: 44 ms. A segment a millisecond is 5792 B a tick: 5792 * 11 / 1448 = 44, less what
        // is rounded down.
        for (hz, most) in [(1000, 41.0), (250, 44.0)] {
            let (mut westwood, mut world) = at(100.0, Settings { hz, ..linux() });
            for _ in 0..5000 {
                world.pass(Span::from_millis(1));
                westwood.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(41), ..ack() });
            }
            let window = probed(&westwood, "estimated_window");
            assert!(window <= most && window >= most - 2.0, "{hz}: {window}");
        }
    }

    #[test]
    fn linux_counts_from_the_first_ack_on_and_takes_it_for_a_duplicate() {
        let mut westwood = Westwood::new(linux());
        westwood.on_start(&mut World::new().context());
        let of = |newly_acknowledged| Ack { newly_acknowledged, ..ack() };
        assert_eq!([2, 2, 2].map(|n| westwood.delivered_by(&of(n)) / 1448), [1, 1, 2]);
    }

    #[test]
    fn linux_begins_to_measure_with_the_first_segment() {
        let (mut world, mut westwood) = (World::new(), Westwood::new(linux()));
        westwood.on_start(&mut world.context());
        world.pass(Span::from_millis(60));
        westwood.on_transmit_start(&mut world.context(), Span::ZERO);
        let of = |newly_acknowledged| Ack { newly_acknowledged, rtt: rtt(40), ..ack() };
        world.pass(Span::from_millis(40));
        westwood.on_ack(&mut world.context(), &of(1));
        world.pass(Span::from_millis(10));
        westwood.on_ack(&mut world.context(), &of(9));
        // 51 ms are more than 50: one segment for the first ACK, and eight of the nine for the second.
        world.pass(Span::from_millis(1));
        westwood.on_ack(&mut world.context(), &of(2));
        assert_eq!(westwood.plus.twice, f64::from(9 * 1448 / 51));
    }

    #[test]
    fn linux_measures_the_smallest_rtt_anew_after_the_first_timeout_of_a_row() {
        for (again, smallest) in [(false, 60), (true, 40)] {
            let (mut westwood, mut world) = at(10.0, linux());
            westwood.on_ack(&mut world.context(), &Ack { rtt: rtt(40), ..ack() });
            westwood.on_timeout(&mut world.context(), &Loss { again, ..loss() });
            westwood.on_ack(&mut world.context(), &Ack { rtt: rtt(60), ..ack() });
            assert_eq!(westwood.rtt_min, Span::from_millis(smallest));
        }
    }
}
