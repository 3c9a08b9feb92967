//! Westwood of Linux (`tcp_westwood.c`): Westwood+ in bytes and ticks of the kernel's clock. The papers' forms are
//! `controllers/westwood.rs`.
//!
//! | rule of tcp_westwood.c | here |
//! | --- | --- |
//! | a sample each max(RTT, 50 ms) in bytes a tick, two filters of 7/8 and 1/8 in a row | `Westwood::sample` |
//! | a loss halves; window and threshold are the estimate when recovery ends, up or down | `Controller::on_recovered` |
//! | timeout: the estimate is the threshold, and the smallest RTT is measured anew | `Controller::on_timeout` |
//! | an ACK delivers what it covers; slow path: less what duplicate ACKs counted | `Westwood::delivered_by` |
//!
//! The RTT of an ACK counts before its data, as since 6.16. A duplicate ACK without SACK is on the fast path, where it
//! delivers nothing.
//!
//! Differences from Linux: a loss that proves spurious gives the window back for good. Linux sets the estimate when
//! recovery ends all the same. The window after a timeout is the transport's.

use units::Span;

use crate::controllers::westwood;
use crate::entry::Form;
use crate::parameters::parameters;
use crate::parts::linux::{self, Counter, jiffies};
use crate::parts::reno::delegate;
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, TransmitStart, Undo, Wants};

/// The form of Westwood.
pub(crate) const FORM: Form = Form {
    parameters: Settings::PARAMETERS,
    probes: westwood::ENTRY.probes,
    make: |given| Ok(Box::new(Westwood::new(Settings::read(given)?))),
};

parameters! {
    /// The parameters.
    pub(crate) struct Settings {
        /// Ticks of the kernel's clock
        hz: u32 = linux::HZ, unit "ticks per second", range from(100).up_to(1000), source "Linux, CONFIG_HZ";
    }
}

/// The RTT before the first sample (`TCP_WESTWOOD_INIT_RTT`).
const NO_RTT: Span = Span::from_secs(20);
/// So many of the shortest sample are a second (`TCP_WESTWOOD_RTT_MIN`).
const SHORTEST_PER_SECOND: u64 = 20;

/// Two filters in a row, in bytes a tick.
#[derive(Clone, Copy, Debug, Default)]
struct Filter {
    once: f64,
    twice: f64,
}

impl Filter {
    fn take(&mut self, sample: f64) {
        let filter = |old: f64, new: f64| ((7.0 * old + new) / 8.0).floor();
        if self.once == 0.0 && self.twice == 0.0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = filter(self.once, sample);
            self.twice = filter(self.twice, self.once);
        }
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Westwood {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    counter: Counter,
    filter: Filter,
    /// When the present sample began, and the bytes delivered since (`rtt_win_sx`, `bk`).
    since: u64,
    delivered: u64,
    /// Segments that duplicate ACKs have counted already (`accounted`).
    accounted: u32,
    /// No ACK has come yet: counting starts where the first one leads (`first_ack`).
    begins: bool,
    rtt: Span,
    rtt_min: Span,
    /// The next RTT is the smallest (`reset_rtt_min`).
    measures_anew: bool,
    in_recovery: bool,
    /// Recovery has ended with the ACK that comes next.
    ends: bool,
    segment_size: u64,
}

impl Westwood {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            counter: Counter::new(),
            filter: Filter::default(),
            since: 0,
            delivered: 0,
            accounted: 0,
            begins: true,
            rtt: NO_RTT,
            rtt_min: NO_RTT,
            measures_anew: false,
            in_recovery: false,
            ends: false,
            segment_size: 1,
        }
    }

    fn hz(&self) -> u64 {
        u64::from(self.settings.hz)
    }

    fn tick(&self) -> Span {
        Span::from_nanos(1_000_000_000 / self.hz())
    }

    /// Every ACK.
    fn observe(&mut self, now: u64, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt = self.tick() * linux::ticks_rounded_up(rtt.value, self.hz());
        }
        self.sample(now);
        self.delivered += self.delivered_by(ack);
        self.rtt_min = if self.measures_anew { self.rtt } else { self.rtt_min.min(self.rtt) };
        self.measures_anew = false;
        // Linux samples before recovery ends.
        if std::mem::take(&mut self.ends) && ack.ends_recovery {
            self.settle();
        }
    }

    /// Window and threshold are the estimate (CA_EVENT_COMPLETE_CWR).
    fn settle(&mut self) {
        let threshold = self.estimate();
        self.reno = Reno { window: threshold, threshold };
    }

    /// The bytes that `ack` delivers. Counting begins where the first ACK leads. On the fast path an ACK counts
    /// all that it covers, even if duplicate ACKs have counted it.
    fn delivered_by(&mut self, ack: &Ack) -> u64 {
        let mut segments = if std::mem::take(&mut self.begins) { 0 } else { ack.newly_acknowledged };
        if ack.fast_path {
            return u64::from(segments) * self.segment_size;
        }
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

    /// The end of a sample, if it was long enough (`westwood_update_window`).
    fn sample(&mut self, now: u64) {
        let (elapsed, tick) = (now - self.since, self.tick());
        if !self.rtt.is_zero() && tick * elapsed > self.rtt.max(tick * (self.hz() / SHORTEST_PER_SECOND)) {
            self.filter.take((self.delivered / elapsed) as f64);
            (self.delivered, self.since) = (0, now);
        }
    }

    /// BWE RTT_min, at least two segments (`tcp_westwood_bw_rttmin`).
    fn estimate(&self) -> f64 {
        let bytes = self.filter.twice as u64 * (self.rtt_min.as_nanos() / self.tick().as_nanos());
        ((bytes / self.segment_size) as f64).max(Reno::MINIMUM)
    }
}

impl Controller for Westwood {
    delegate!(reno: on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { transmit_start: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.since = jiffies(cx, self.hz());
        self.segment_size = cx.segment_size.get().max(1);
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, _start: &TransmitStart) {
        // The first sample begins when the connection is established.
        if self.begins {
            self.since = jiffies(cx, self.hz());
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(jiffies(cx, self.hz()), ack);
        self.counter.grow_as_reno(&mut self.reno, cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(jiffies(cx, self.hz()), ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.counter.clear();
        self.in_recovery = true;
        self.reno.settle_at(linux::half(&self.reno));
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        if std::mem::take(&mut self.in_recovery) {
            self.ends = true;
            self.settle();
        }
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let threshold = self.estimate();
        self.reno.time_out_to(threshold, loss);
        self.counter.clear();
        self.in_recovery = false;
        self.measures_anew |= !loss.again;
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("bandwidth", self.filter.twice * f64::from(self.settings.hz) / self.segment_size as f64);
        out.value("estimated_window", self.estimate());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt, starting};

    fn at(window: f64) -> (Westwood, World) {
        let (mut world, mut westwood) = (World::new(), Westwood::new(Settings { hz: 1000 }));
        westwood.on_start(&mut world.context());
        westwood.reno = Reno { window, threshold: 2.0 };
        westwood.begins = false;
        (westwood, world)
    }

    #[test]
    fn a_segment_a_millisecond_gives_the_window_of_its_rtt() {
        // 1448 B/ms and 40 ms are 40 segments, less the rounding.
        let (mut westwood, mut world) = at(100.0);
        for _ in 0..5000 {
            world.pass(Span::from_millis(1));
            westwood.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(40), ..ack() });
        }
        let window = probed(&westwood, "estimated_window");
        assert!((38.0..=40.0).contains(&window), "{window}");
    }

    #[test]
    fn two_filters_in_a_row_round_down() {
        // `(7 * 800 + 1605)/8 = 900.6`, then `(7 * 800 + 900)/8 = 812.5`.
        let mut filter = Filter::default();
        filter.take(800.0);
        assert_eq!((filter.once, filter.twice), (800.0, 800.0));
        filter.take(1605.0);
        assert_eq!((filter.once, filter.twice), (900.0, 812.0));
    }

    #[test]
    fn a_loss_halves_and_sets_the_estimate_when_recovery_ends() {
        let (mut westwood, mut world) = at(101.0);
        westwood.filter = Filter { once: 1448.0, twice: 2896.0 };
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

    // Linux 6.12 in virtual time, seed 98023 of `kernel differential --faults modules`: 4 segments.
    #[test]
    fn the_ack_that_ends_a_recovery_counts_for_the_estimate() {
        let (mut westwood, mut world) = at(10.0);
        westwood.on_loss(&mut world.context(), &loss());
        for _ in 0..9 {
            westwood.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(100), ..ack() });
        }
        world.pass(Span::from_millis(101));
        westwood.on_recovered(&mut world.context());
        assert_eq!(westwood.window(), 2.0, "no sample yet");
        // Nine segments in 101 ms are 129 bytes a millisecond: 129 * 100 / 1448 = 8.9.
        let end = Ack { newly_acknowledged: 10, newly_delivered: 1, ends_recovery: true, ..ack() };
        westwood.on_ack(&mut world.context(), &end);
        assert_eq!((westwood.window(), westwood.slow_start_threshold()), (8.0, 8.0));
    }

    #[test]
    fn a_segment_of_a_duplicate_ack_counts_once() {
        let (mut westwood, mut world) = at(100.0);
        let of = |newly_acknowledged| Ack { newly_acknowledged, ..ack() };
        let mut counted = |n| westwood.delivered_by(&of(n)) / 1448;
        // Three duplicates, then an ACK of five, of which three were counted; one of four after six duplicates.
        assert_eq!([0, 0, 0, 5].map(&mut counted), [1, 1, 1, 2]);
        assert_eq!([0, 0, 0, 0, 0, 0, 4].map(&mut counted), [1, 1, 1, 1, 1, 1, 1]);
        westwood.on_recovered(&mut world.context());
        assert_eq!(westwood.accounted, 2);
    }

    #[test]
    fn on_the_fast_path_all_that_an_ack_covers_counts() {
        let (mut westwood, _) = at(100.0);
        let of = |(newly_acknowledged, fast_path)| Ack { newly_acknowledged, fast_path, ..ack() };
        let mut counted = |ack| westwood.delivered_by(&of(ack)) / 1448;
        // Three duplicates, then five of which they counted three. Off the fast path they are taken off later.
        let acks = [(0, false), (0, false), (0, false), (5, true), (0, true), (1, true), (5, false)];
        assert_eq!(acks.map(&mut counted), [1, 1, 1, 5, 0, 1, 2]);
        // The first ACK of a connection counts nothing there.
        let mut westwood = Westwood::new(Settings { hz: 1000 });
        westwood.on_start(&mut World::new().context());
        assert_eq!([2, 2].map(|n| westwood.delivered_by(&of((n, true))) / 1448), [0, 2]);
    }

    #[test]
    fn an_rtt_is_rounded_up_to_a_tick_of_the_kernels_clock() {
        // 41 ms are 11 ticks of 4 ms: 44 ms. A segment a millisecond is 5792 B a tick: 5792 * 11 / 1448 = 44, less the
        // rounding.
        for (hz, most) in [(1000, 41.0), (250, 44.0)] {
            let (mut westwood, mut world) = at(100.0);
            westwood.settings.hz = hz;
            for _ in 0..5000 {
                world.pass(Span::from_millis(1));
                westwood.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(41), ..ack() });
            }
            let window = probed(&westwood, "estimated_window");
            assert!(window <= most && window >= most - 2.0, "{hz}: {window}");
        }
    }

    #[test]
    fn counting_begins_with_the_first_ack_which_counts_as_a_duplicate() {
        let mut westwood = Westwood::new(Settings { hz: 1000 });
        westwood.on_start(&mut World::new().context());
        let of = |newly_acknowledged| Ack { newly_acknowledged, ..ack() };
        assert_eq!([2, 2, 2].map(|n| westwood.delivered_by(&of(n)) / 1448), [1, 1, 2]);
    }

    #[test]
    fn measurement_begins_with_the_first_segment() {
        let (mut world, mut westwood) = (World::new(), Westwood::new(Settings { hz: 1000 }));
        westwood.on_start(&mut world.context());
        world.pass(Span::from_millis(60));
        westwood.on_transmit_start(&mut world.context(), &starting(Span::ZERO));
        let of = |newly_acknowledged| Ack { newly_acknowledged, rtt: rtt(40), ..ack() };
        world.pass(Span::from_millis(40));
        westwood.on_ack(&mut world.context(), &of(1));
        world.pass(Span::from_millis(10));
        westwood.on_ack(&mut world.context(), &of(9));
        // 51 ms are more than 50: one segment for the first ACK, and eight of the nine for the second.
        world.pass(Span::from_millis(1));
        westwood.on_ack(&mut world.context(), &of(2));
        assert_eq!(westwood.filter.twice, f64::from(9 * 1448 / 51));
    }

    #[test]
    fn the_smallest_rtt_is_measured_anew_after_the_first_timeout_of_a_row() {
        for (again, smallest) in [(false, 60), (true, 40)] {
            let (mut westwood, mut world) = at(10.0);
            westwood.on_ack(&mut world.context(), &Ack { rtt: rtt(40), ..ack() });
            westwood.on_timeout(&mut world.context(), &Loss { again, ..loss() });
            westwood.on_ack(&mut world.context(), &Ack { rtt: rtt(60), ..ack() });
            assert_eq!(westwood.rtt_min, Span::from_millis(smallest));
        }
    }
}
