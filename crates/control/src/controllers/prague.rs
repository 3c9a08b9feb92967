//! Prague, the congestion control of L4S (draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331, section 4).
//!
//! Like DCTCP, Prague gives up half the share of marked segments. Four rules make it fit for the Internet: its packets
//! announce this response (ECT(1)), it paces them, and every unmarked segment lets it grow. Below 25 ms it takes the
//! share of a flow of 25 ms, so that short paths do not starve long ones.
//!
//! | draft, section 2.4 | here |
//! | --- | --- |
//! | alpha += g (frac - alpha), once a virtual round trip | `Prague::estimate` |
//! | cwnd (1 - alpha/2), once a virtual round trip, starting with the first mark | `Prague::reduce` |
//! | cwnd += (delivered - marked) / cwnd, times (srtt / rtt_virt)^2 | `Prague::grow` |
//! | rtt_virt = max(srtt, 25 ms), `transition` round trips after slow start | `Prague::virtual_rtt` |
//! | loss: half, and no increase for a round trip | `Controller::on_loss`, [`Reno`] |
//! | pacing at cwnd / srtt, twice that in slow start; bursts of 250 us | `Controller::pacing_rate` |
//!
//! Differences: marks are counted in segments. Windows do not fall below two segments, where the authors' code goes on
//! to slow down by its pacing and by smaller packets. The detection of classic ECN queues, which the draft has switched
//! off, is not there, nor are the variations of the pacing rate by 3 % of the authors' code for Linux.

use units::{Rate, Span, Time};

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Moment, Probe, Reno, Undo, Wants};

/// The entry of Prague in the registry.
pub const ENTRY: Entry = Entry {
    name: "prague",
    title: "Prague",
    summary: "DCTCP for the Internet: paced, for queues of L4S, independent of the RTT below 25 ms",
    source: "draft-briscoe-iccrg-prague-congestion-control-04",
    aim: Aim::Marks,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("alpha", "", "alpha, the estimated share of marked segments"),
        Quantity::new("marked_share", "", "frac, the share of the last virtual round trip"),
        Quantity::new("virtual_rtt_ms", "ms", "rtt_virt; 0 before the first sample"),
        Quantity::new("reductions", "reductions", "Reductions for marks since the start"),
    ],
    make: |given| Ok(Box::new(Prague::new(Settings::read(given)?))),
};

/// The share of the window kept on a loss.
const BETA: f64 = 0.5;
/// A burst takes so long at the pacing rate.
const LONGEST_BURST: Span = Span::from_micros(250);
/// The pacing rate over the rate of the window while that is below half the threshold.
const SLOW_START_PACING: f64 = 2.0;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Weight of the last virtual round trip in the estimate
        g: f64 = 0.0625, range above(0.0).up_to(1.0), source "section 2.4, g; Linux, prague_shift_g";
        /// The estimate at the first mark; 1 makes the first reduction a half
        initial_alpha: f64 = 1.0, range from(0.0).up_to(1.0), source "section 2.4, alpha; Linux, prague_alpha_on_init";
        /// A flow whose RTT is below it grows and yields as one of this RTT; 0 leaves it to its own
        virtual_rtt: Span = Span::from_millis(25),
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(1)),
            source "section 2.4, rtt_virt; Linux, prague_rtt_target";
        /// So many round trips after slow start
        transition: u32 = 4,
            unit "round trips", range from(0).up_to(100_000),
            source "Linux, prague_rtt_transition of the authors' module (2024)";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// Payload of a segment, bytes.
    segment: u64,
    smoothed_rtt: Span,
    alpha: f64,
    marked_share: f64,
    /// Something on the path marks.
    has_seen_mark: bool,
    /// Segments delivered and marked since the last update of alpha.
    delivered: u64,
    marked: u64,
    /// When that was, and it lasts until more than this is acknowledged.
    updated_at: Time,
    round_end: u64,
    /// Round trips since slow start.
    rounds: u32,
    next_round: u64,
    /// The last reduction for a mark: its time, and the number of segments sent by then.
    reduced: Option<(Time, u64)>,
    /// No growth until more than this is acknowledged: the round trip after a loss.
    lost_to: Option<u64>,
    reductions: u64,
}

impl Prague {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            segment: 1,
            smoothed_rtt: Span::ZERO,
            alpha: settings.initial_alpha,
            marked_share: 0.0,
            has_seen_mark: false,
            delivered: 0,
            marked: 0,
            updated_at: Time::ZERO,
            round_end: 0,
            rounds: 0,
            next_round: 0,
            reduced: None,
            lost_to: None,
            reductions: 0,
        }
    }

    /// The RTT that it behaves by.
    fn virtual_rtt(&self) -> Span {
        let independent = !self.reno.in_slow_start() && self.rounds >= self.settings.transition;
        if independent { self.smoothed_rtt.max(self.settings.virtual_rtt) } else { self.smoothed_rtt }
    }

    /// True if the virtual round trip is over that began at `start`, when everything below `end` was sent.
    fn has_elapsed(&self, now: Time, ack: &Ack, start: Time, end: u64) -> bool {
        ack.acknowledged_to > end && (self.virtual_rtt() <= self.smoothed_rtt || now.since(start) >= self.virtual_rtt())
    }

    /// Counts and returns the marks of `ack`. After a virtual round trip the estimate follows their share.
    fn estimate(&mut self, now: Time, ack: &Ack) -> u32 {
        let repeated = if ack.ecn_echo { ack.newly_delivered } else { 0 };
        let marked = if ack.newly_marked > 0 { ack.newly_marked } else { repeated };
        self.has_seen_mark |= marked > 0;
        self.delivered += u64::from(ack.newly_delivered);
        self.marked += u64::from(marked);
        if self.delivered > 0 && self.has_elapsed(now, ack, self.updated_at, self.round_end) {
            self.marked_share = (self.marked as f64 / self.delivered as f64).min(1.0);
            if self.has_seen_mark {
                self.alpha += self.settings.g * (self.marked_share - self.alpha);
            }
            (self.delivered, self.marked) = (0, 0);
            (self.updated_at, self.round_end) = (now, ack.sent_to);
        }
        marked
    }

    /// Gives up half the share of marked segments.
    fn reduce(&mut self, now: Time, ack: &Ack) {
        self.undo.forget();
        self.reno.multiplicative_decrease(1.0 - self.alpha / 2.0);
        self.reduced = Some((now, ack.sent_to));
        self.reductions += 1;
    }

    /// Grows by the segments that were not marked.
    fn grow(&mut self, at: &Moment, ack: &Ack, marked: u32) {
        if !ack.window_limited || self.lost_to.is_some() {
            return;
        }
        let unmarked = |credit: f64| (credit - f64::from(marked)).max(0.0);
        if self.reno.in_slow_start() {
            let room = self.reno.threshold - self.reno.window;
            self.reno.window += unmarked(ack.slow_start_credit(at)).min(room);
            return;
        }
        let virtual_rtt = self.virtual_rtt();
        let scale =
            if virtual_rtt.is_zero() { 1.0 } else { self.smoothed_rtt.as_secs_f64() / virtual_rtt.as_secs_f64() };
        self.reno.additive_increase(unmarked(ack.avoidance_credit(at)), scale * scale);
    }

    /// Takes in the marks of an ACK. Returns the segments that it reports as marked.
    fn on_marks(&mut self, now: Time, ack: &Ack) -> u32 {
        self.smoothed_rtt = ack.smoothed_rtt;
        if ack.acknowledged_to > self.next_round {
            self.next_round = ack.sent_to;
            self.rounds = if self.reno.in_slow_start() { 0 } else { self.rounds.saturating_add(1) };
        }
        self.lost_to = self.lost_to.filter(|&end| ack.acknowledged_to <= end);
        let marked = self.estimate(now, ack);
        let may_reduce = match self.reduced {
            Some((start, end)) => self.has_elapsed(now, ack, start, end),
            None => true,
        };
        if marked > 0 && may_reduce && self.lost_to.is_none() {
            self.reduce(now, ack);
        }
        marked
    }

    /// Bytes per second.
    fn rate(&self) -> f64 {
        let gain = if self.reno.window < self.reno.threshold / 2.0 { SLOW_START_PACING } else { 1.0 };
        gain * self.reno.window * self.segment as f64 / self.smoothed_rtt.as_secs_f64()
    }
}

impl Controller for Prague {
    delegate!(reno: on_spurious(undo), on_idle_restart, window, slow_start_threshold);

    fn wants(&self) -> Wants {
        Wants { governs_marks: true, needs_marks: true, l4s: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.segment = cx.segment_size.get().max(1);
        self.reno.start(cx);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let marked = self.on_marks(cx.now, ack);
        self.grow(cx, ack, marked);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.on_marks(cx.now, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember(self.reno);
        self.reno.multiplicative_decrease(BETA);
        self.lost_to = Some(loss.sent_to);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.reno.timeout(BETA, loss.again);
        self.lost_to = None;
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let is_known = !self.smoothed_rtt.is_zero();
        is_known.then(|| Rate::from_bits_per_second(((self.rate() * 8.0) as u64).max(1)))
    }

    fn send_quantum(&self) -> u32 {
        if self.smoothed_rtt.is_zero() {
            return 1;
        }
        ((self.rate() * LONGEST_BURST.as_secs_f64() / self.segment as f64) as u32).max(1)
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("alpha", self.alpha);
        out.value("marked_share", self.marked_share);
        out.value("virtual_rtt_ms", self.virtual_rtt().as_millis_f64());
        out.value("reductions", self.reductions as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed};

    const fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    /// In congestion avoidance, long after slow start.
    fn at(window: f64, alpha: f64) -> Prague {
        Prague {
            reno: Reno { window, threshold: window },
            alpha,
            rounds: 100,
            segment: 1448,
            ..Prague::new(Settings::default())
        }
    }

    /// An ACK up to segment `to` of `sent_to`, for ten segments of which `marked` were marked, on a path of 40 ms.
    fn acked(to: u64, sent_to: u64, marked: u32) -> Ack {
        let (newly_marked, ecn_echo) = (marked, marked > 0);
        Ack {
            newly_acknowledged: 10,
            newly_delivered: 10,
            acknowledged_to: to,
            sent_to,
            newly_marked,
            ecn_echo,
            smoothed_rtt: ms(40),
            ..ack()
        }
    }

    #[test]
    fn a_mark_takes_half_the_estimate_and_growth_goes_on_by_what_was_not_marked() {
        let mut world = World::new();
        let mut prague = Prague { round_end: 1000, ..at(100.0, 0.2) };
        // 100 less a tenth is 90. The seven unmarked add 7/90.
        prague.on_ack(&mut world.context(), &acked(10, 110, 3));
        assert_eq!((prague.window(), prague.slow_start_threshold()), (90.0 + 7.0 / 90.0, 90.0));
        // No further reduction up to 110, but growth.
        let before = prague.window();
        prague.on_ack(&mut world.context(), &acked(110, 200, 4));
        assert!((prague.window() - before - 6.0 / before).abs() < 1e-12);
        let before = prague.window();
        prague.on_ack(&mut world.context(), &acked(120, 210, 10));
        assert!((prague.window() - 0.9 * before).abs() < 1e-12);
    }

    #[test]
    fn the_estimate_waits_for_the_first_mark_and_follows_their_share() {
        let mut world = World::new();
        let mut prague = at(100.0, 1.0);
        prague.on_ack(&mut world.context(), &acked(10, 110, 0));
        assert_eq!(probed(&prague, "alpha"), 1.0);
        (2..=11).for_each(|n| prague.on_ack(&mut world.context(), &acked(10 * n, 110 + 10 * n, 4)));
        // 44 of 110: 15/16 + 0.4/16 = 0.9625.
        prague.on_ack(&mut world.context(), &acked(120, 230, 4));
        assert_eq!(probed(&prague, "marked_share"), 0.4);
        assert!((probed(&prague, "alpha") - 0.9625).abs() < 1e-12);
    }

    #[test]
    fn below_25_ms_it_grows_as_a_flow_of_25_ms_of_the_same_rate_would() {
        // (5 / 25)^2 = 0.04 segments a round trip of 5 ms: five of them 0.2, as one segment in 25 ms adds 5/25 of the
        // window that the same rate has at 5 ms.
        let mut world = World::new();
        let mut prague = at(50.0, 0.0);
        let ack = Ack { smoothed_rtt: ms(5), ..acked(10, 60, 0) };
        prague.on_ack(&mut world.context(), &ack);
        assert!((prague.window() - 50.0 - 0.04 * 10.0 / 50.0).abs() < 1e-12, "{}", prague.window());
        assert_eq!(probed(&prague, "virtual_rtt_ms"), 25.0);
        // Not before four round trips after slow start, and not where it is switched off.
        let switched_off = Settings { virtual_rtt: Span::ZERO, ..Settings::default() };
        for mut prague in [Prague { rounds: 0, ..at(50.0, 0.0) }, Prague { settings: switched_off, ..at(50.0, 0.0) }] {
            prague.on_ack(&mut world.context(), &ack);
            assert!((prague.window() - 50.2).abs() < 1e-12, "{}", prague.window());
        }
    }

    #[test]
    fn the_virtual_rtt_holds_from_the_fourth_round_trip_after_slow_start() {
        let mut prague = Prague { rounds: 0, ..at(50.0, 0.0) };
        let seen: Vec<f64> = (1..=5)
            .map(|n| {
                let ack = Ack { smoothed_rtt: ms(10), ..acked(100 * n, 100 * n, 0) };
                prague.on_ack(&mut World::new().context(), &ack);
                probed(&prague, "virtual_rtt_ms")
            })
            .collect();
        assert_eq!(seen, [10.0, 10.0, 10.0, 25.0, 25.0]);
    }

    #[test]
    fn below_25_ms_it_yields_and_estimates_once_in_25_ms() {
        let mut world = World::new();
        let mut prague = at(100.0, 0.2);
        let of = |to: u64| Ack { smoothed_rtt: ms(5), newly_marked: 10, ..acked(to, to + 100, 10) };
        // ACKs of all that was sent, 5 ms apart: each ends a round trip, the one at 25 ms a virtual one.
        let windows: Vec<_> = (0..=5)
            .map(|n: u64| {
                world.now = Time::ZERO + ms(1000 + 5 * n);
                prague.on_ack(&mut world.context(), &of(100 * n + 50 + n));
                (prague.window() * 10.0).round() / 10.0
            })
            .collect();
        // The first ACK also updates alpha, to 0.2 * 15/16 + 1/16 = 0.25: an eighth of 100. Then 0.297 for the second.
        assert_eq!(windows[..5], [87.5; 5]);
        assert_eq!(windows[5], (875.0_f64 * (1.0 - 0.296_875 / 2.0)).round() / 10.0);
        assert_eq!(probed(&prague, "reductions"), 2.0);
    }

    #[test]
    fn slow_start_ends_at_the_first_mark_with_half_the_window() {
        let mut world = World::new();
        let mut prague = Prague { round_end: 1000, ..Prague::new(Settings::default()) };
        prague.on_start(&mut world.context());
        prague.on_ack(&mut world.context(), &acked(10, 30, 0));
        assert_eq!(prague.window(), 20.0);
        prague.on_ack(&mut world.context(), &acked(20, 40, 1));
        assert_eq!((prague.window(), prague.slow_start_threshold()), (10.0 + 9.0 / 10.0, 10.0));
    }

    #[test]
    fn a_loss_halves_and_stops_growth_for_a_round_trip() {
        let mut world = World::new();
        let mut prague = at(100.0, 0.1);
        prague.on_loss(&mut world.context(), &loss());
        assert_eq!(prague.window(), 50.0);
        prague.on_ack(&mut world.context(), &acked(10, 60, 3));
        assert_eq!(prague.window(), 50.0);
        prague.on_ack(&mut world.context(), &acked(20, 70, 0));
        assert_eq!(prague.window(), 50.2);
        prague.on_spurious(&mut world.context());
        assert_eq!(prague.window(), 100.0);
    }

    #[test]
    fn it_paces_by_its_window_twice_as_fast_in_slow_start_in_bursts_of_250_us() {
        // 100 segments of 1448 bytes in 40 ms are 28.96 Mbit/s, 0.6 segments in 250 us. Ten times that are 6.
        let mut world = World::new();
        let mut prague = at(99.9, 0.0);
        prague.on_ack(&mut world.context(), &Ack { window_limited: false, ..acked(10, 110, 0) });
        prague.reno.window = 100.0;
        assert_eq!(prague.pacing_rate(), Some(Rate::from_bits_per_second(28_960_000)));
        assert_eq!(prague.send_quantum(), 1);
        prague.reno = Reno { window: 1000.0, threshold: 1000.0 };
        assert_eq!(prague.send_quantum(), 6);
        prague.reno = Reno { window: 100.0, threshold: 1000.0 };
        assert_eq!(prague.pacing_rate(), Some(Rate::from_bits_per_second(57_920_000)));
        assert!(prague.wants().l4s);
    }

    #[test]
    fn duplicate_acks_bring_marks_to_the_estimate_and_the_window_without_growth() {
        let mut world = World::new();
        let mut prague = Prague { round_end: 105, ..at(100.0, 0.2) };
        // Four of ten on a duplicate, which takes a tenth at once; two of ten on the one that ends the round: 6 of 20.
        prague.on_duplicate_ack(&mut world.context(), &acked(100, 110, 4));
        assert_eq!((prague.window(), probed(&prague, "marked_share")), (90.0, 0.0));
        prague.on_duplicate_ack(&mut world.context(), &acked(106, 116, 2));
        assert_eq!((prague.window(), probed(&prague, "marked_share")), (90.0, 0.3));
        assert!((probed(&prague, "alpha") - (0.2 * 15.0 + 0.3) / 16.0).abs() < 1e-12);
    }

    #[test]
    fn an_echo_without_a_count_of_marks_is_of_all_that_it_delivers() {
        let mut world = World::new();
        let mut prague = at(100.0, 0.2);
        prague.on_ack(&mut world.context(), &Ack { newly_marked: 0, ..acked(10, 110, 3) });
        assert_eq!((probed(&prague, "marked_share"), probed(&prague, "reductions")), (1.0, 1.0));
        // alpha is 0.25: an eighth less, and no segment to grow by.
        assert_eq!(prague.window(), 87.5);
    }

    #[test]
    fn an_ack_without_deliveries_ends_no_estimate() {
        let mut prague = at(100.0, 0.2);
        prague.on_duplicate_ack(&mut World::new().context(), &Ack { newly_delivered: 0, ..acked(10, 110, 0) });
        assert_eq!((probed(&prague, "marked_share"), prague.round_end), (0.0, 0));
    }

    #[test]
    fn a_round_trip_ends_beyond_what_was_sent_and_slow_start_paces_up_to_half_the_threshold() {
        let mut prague = Prague { rounds: 3, next_round: 100, ..at(100.0, 0.2) };
        for (to, rounds) in [(100, 3), (101, 4)] {
            prague.on_ack(&mut World::new().context(), &acked(to, 200, 0));
            assert_eq!(prague.rounds, rounds);
        }
        // 500 segments of 1448 bytes in 40 ms, and twice 499.
        for (window, megabytes) in [(500.0, 18.1), (499.0, 36.1276)] {
            prague.reno = Reno { window, threshold: 1000.0 };
            assert!((prague.rate() * 1e-6 - megabytes).abs() < 1e-9, "{window}");
        }
    }
}
