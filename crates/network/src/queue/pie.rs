//! PIE: proportional integral controller enhanced (RFC 8033).
//!
//! Every `tupdate` the probability with which arrivals are dropped follows the queueing delay: by `alpha` where it is
//! off `target`, by `beta` where it has changed. Small probabilities change in smaller steps. Drops are spread, so that
//! neither two come at once nor none for long.
//!
//! | RFC 8033 | here |
//! | --- | --- |
//! | sections 4.2 and 5.2: calculate_drop_prob | [`Pie::step`] |
//! | sections 4.1, 5.1 and 5.4: drop_early, derandomization | [`Pie::drops`] |
//! | section 4.4: burst tolerance | [`Pie::drops`], [`Pie::step`] |
//!
//! The delay is the wait of the packet served last (section 4.3 allows it, Linux does since 5.7). As in Linux: `alpha`
//! and `beta` are sixteenths of 1/s. A packet is dropped neither while less than two full packets wait nor, at
//! probabilities below 20 %, while the delay is below half of `target`. ECN-capable packets are marked up to 10 %,
//! dropped above. The allowance for bursts falls by the time between services. The queue is always governed, also below
//! a third of its limit.
//!
//! Different from Linux: there the first update comes half a second after the queue is made. `tupdate` is rounded there
//! up to a multiple of the kernel's tick, and a tick more, as no timer ends early (20 ms for 15 at 250 Hz). A mark at
//! 8.5 does not begin the sum of probabilities anew, so that marks go on until a packet is dropped or the probability
//! is 0 (here as in section 5.4). The rate of departures (`dq_rate_estimator`) is no alternative. Behind a shaper the
//! packet in service counts as waiting.

use units::packet::MTU;
use units::{Bytes, Random, Span, Time};

use super::fifo::Fifo;
use super::tc::{Dialect, settings};
use super::{Admission, Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

/// How long a burst that begins at an empty queue goes through (MAX_BURST).
const BURST: Span = Span::from_millis(150);
/// A delay above it raises the probability by 2 % at each update.
const LONG: Span = Span::from_millis(250);

settings! {
    /// What a scenario says about PIE, named as in `tc`.
    #[derive(Eq)]
    pub struct PieSettings in "pie", limit packets {
        /// The queueing delay that is aimed at; by default 15ms.
        target: Span = Span::from_millis(15), value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// How often the probability follows; by default 15ms.
        tupdate: Span = Span::from_millis(15), value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// Weight of the distance from `target`, in sixteenths of 1/s; by default 2.
        alpha: u32 = 2, value, from 0, to 32;
        /// Weight of the change of the delay, in sixteenths of 1/s; by default 20.
        beta: u32 = 20, value, from 0, to 32;
        /// Whether ECN-capable packets are marked in place of dropped while the probability is at most 10 %; by default
        /// they are not.
        ecn: bool = false, words("ecn" = true, "noecn" = false);
        /// Whether smaller packets are dropped less; by default they are not.
        bytemode: bool = false, words("bytemode" = true, "nobytemode" = false);
    }
    passed {
        "no_dq_rate_estimator" = "the delay is measured by timestamps";
    }
    refused {
        "dq_rate_estimator" = "the delay is measured by timestamps, not by the rate of departures";
    }
}

impl Settings for PieSettings {
    const DEFAULT_LIMIT: Option<Limit> = Some(Limit::Packets(1000));
    const TC: Option<Dialect<Self>> = Some(Self::DIALECT);

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, _limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(PieQueue { pie: Pie::new(self.tupdate), settings: *self, waiting: Fifo::new() })
    }
}

/// The state of PIE for one queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pie {
    pub(super) probability: f64,
    /// The sum of the probabilities since the last drop.
    accumulated: f64,
    /// The delay of the packet served last. `old_delay` holds it as of the last update.
    delay: Span,
    old_delay: Span,
    /// For so long nothing is dropped.
    burst: Span,
    /// When the last packet was served since `burst` began.
    served: Option<Time>,
    next_update: Time,
}

impl Pie {
    pub(super) fn new(tupdate: Span) -> Self {
        Self {
            probability: 0.0,
            accumulated: 0.0,
            delay: Span::ZERO,
            old_delay: Span::ZERO,
            burst: BURST,
            served: None,
            next_update: Time::ZERO + tupdate,
        }
    }

    /// A queue whose packets have waited `delay` for long, with no update to come.
    #[cfg(test)]
    pub(super) fn standing(probability: f64, delay: Span) -> Self {
        Self { probability, delay, old_delay: delay, burst: Span::ZERO, ..Self::new(Span::MAX) }
    }

    /// Makes all updates that are due by `now`. `empty` says that nothing has waited since the last event.
    pub(super) fn update(&mut self, settings: &PieSettings, now: Time, empty: bool) {
        while self.next_update <= now {
            if self.is_at_rest() {
                // Nothing changes until the next packet, and each update begins the allowance for bursts anew.
                self.served = None;
                self.next_update = now.floor_to(settings.tupdate) + settings.tupdate;
                return;
            }
            self.step(settings, empty);
            self.next_update += settings.tupdate;
        }
    }

    fn is_at_rest(&self) -> bool {
        self.probability == 0.0 && self.delay.is_zero() && self.old_delay.is_zero() && self.burst == BURST
    }

    /// One update of the probability.
    fn step(&mut self, settings: &PieSettings, empty: bool) {
        let seconds = |span: Span| span.as_secs_f64();
        let (alpha, beta) = (f64::from(settings.alpha) / 16.0, f64::from(settings.beta) / 16.0);
        let off = alpha * (seconds(self.delay) - seconds(settings.target))
            + beta * (seconds(self.delay) - seconds(self.old_delay));
        let mut change = off * scale(self.probability);
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        if self.delay > LONG {
            change += 0.02;
        }
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        if self.delay.is_zero() && self.old_delay.is_zero() && empty {
            // About the 2 % of section 5.2.
            self.probability -= self.probability / 64.0;
        }
        let short = Span::from_nanos(settings.target.as_nanos() / 2);
        if self.probability == 0.0 && self.delay < short && self.old_delay < short {
            self.burst = BURST;
            self.served = None;
            self.accumulated = 0.0;
        }
        self.old_delay = self.delay;
    }

    /// True if a packet of `size` that finds `waiting` is to be dropped or marked.
    pub(super) fn drops(&mut self, settings: &PieSettings, size: Bytes, waiting: Bytes, random: &mut Random) -> bool {
        let short = self.delay < Span::from_nanos(settings.target.as_nanos() / 2) && self.probability < 0.2;
        if !self.burst.is_zero() || short || waiting < MTU * 2 {
            return false;
        }
        let share = if settings.bytemode { (size.get() as f64 / MTU.get() as f64).min(1.0) } else { 1.0 };
        let probability = self.probability * share;
        self.accumulated = if probability == 0.0 { 0.0 } else { self.accumulated + probability };
        if self.accumulated < 0.85 {
            return false;
        }
        let drops = self.accumulated >= 8.5 || random.happens(probability);
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }

    /// A packet was dropped as the queue was full.
    pub(super) fn overflowed(&mut self) {
        self.accumulated = 0.0;
    }

    /// A packet is served at `now` that has waited `delay`. `left` says that others wait.
    pub(super) fn serve(&mut self, now: Time, delay: Span, left: bool) {
        self.delay = if left { delay } else { Span::ZERO };
        let before = self.served.replace(now).unwrap_or(now);
        self.burst = self.burst.saturating_sub(now.since(before));
    }
}

/// Which part of a step a small probability makes (section 4.2).
fn scale(probability: f64) -> f64 {
    let steps = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    steps.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, parts)| 1.0 / parts)
}

/// One queue, first in, first out, under PIE.
#[derive(Debug)]
struct PieQueue<P> {
    settings: PieSettings,
    pie: Pie,
    waiting: Fifo<P>,
}

impl<P: Packet> Discipline<P> for PieQueue<P> {
    fn admit(&mut self, packet: &P, cx: &mut Context<'_, P>) -> Admission {
        let Self { settings, pie, .. } = self;
        let waiting = cx.waiting().bytes;
        pie.update(settings, cx.now, waiting == Bytes::ZERO);
        if !pie.drops(settings, packet.size(), waiting, cx.random) {
            return Admission::Take;
        }
        Admission::strike(settings.ecn && packet.ecn().is_capable() && pie.probability <= 0.1)
    }

    fn make_room(&mut self, _packet: &P, _cx: &mut Context<'_, P>) {
        self.pie.overflowed();
    }

    fn pass(&mut self, _packet: &P, cx: &mut Context<'_, P>) {
        self.pie.serve(cx.now, Span::ZERO, false);
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        self.waiting.push(cx.now, packet);
    }

    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        self.pie.update(&self.settings, cx.now, false);
        let (packet, arrived) = self.waiting.pop()?;
        self.pie.serve(cx.now, cx.now.since(arrived), cx.waiting().packets > 1);
        Some(Served { packet, arrived, marked: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, Parcel};

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    const SETTINGS: PieSettings = PieSettings {
        target: Span::from_millis(15),
        tupdate: Span::from_millis(15),
        alpha: 2,
        beta: 20,
        ecn: false,
        bytemode: false,
    };

    fn pie(probability: f64, delay: u64, old_delay: u64) -> Pie {
        Pie {
            probability,
            delay: Span::from_millis(delay),
            old_delay: Span::from_millis(old_delay),
            burst: Span::ZERO,
            ..Pie::new(SETTINGS.tupdate)
        }
    }

    fn near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() <= 1e-9 * expected, "{measured} in place of {expected}");
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let refused = |settings: PieSettings| settings.check().err().map(|(key, _)| key);
        assert_eq!(refused(PieSettings { alpha: 32, beta: 32, ..SETTINGS }), None);
        assert_eq!(refused(PieSettings { alpha: 33, ..SETTINGS }), Some("alpha"));
        assert_eq!(refused(PieSettings { beta: 33, ..SETTINGS }), Some("beta"));
        assert_eq!(refused(PieSettings { target: Span::ZERO, ..SETTINGS }), Some("target"));
        assert_eq!(refused(PieSettings { tupdate: Span::ZERO, ..SETTINGS }), Some("tupdate"));
    }

    #[test]
    fn what_passes_an_idle_link_is_served_without_a_wait() {
        let pie = Pie { burst: BURST, served: Some(ms(0)), ..pie(0.5, 40, 40) };
        let mut queue = Driven::new(PieQueue { settings: SETTINGS, pie, waiting: Fifo::new() });
        queue.pass(ms(30), Parcel::full(0));
        // 30 of the 150 ms of a burst are over.
        let Pie { delay, burst, served, .. } = queue.discipline.pie;
        assert_eq!((delay, burst, served), (Span::ZERO, Span::from_millis(120), Some(ms(30))));
    }

    #[test]
    fn the_probability_follows_the_control_law() {
        // `0.125 x 35 ms + 1.25 x 50 ms = 0.066875`, a 2048th of it below 0.000001.
        let mut pie = pie(0.0, 50, 0);
        pie.step(&SETTINGS, false);
        near(pie.probability, 0.066_875 / 2048.0);
        // The delay stays: `0.125 x 35 ms = 0.004375`, a 128th of it from 0.00001 to 0.0001.
        pie.step(&SETTINGS, false);
        near(pie.probability, 0.066_875 / 2048.0 + 0.004_375 / 128.0);
    }

    #[test]
    fn steps_grow_with_the_probability() {
        for (probability, parts) in [(5e-6, 512.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0), (0.2, 1.0)] {
            // `0.125 x 25 ms + 1.25 x 10 ms = 0.015625`.
            let mut pie = pie(probability, 40, 30);
            pie.step(&SETTINGS, false);
            near(pie.probability, probability + 0.015_625 / parts);
        }
    }

    #[test]
    fn steps_are_bounded_and_long_delays_add_to_them() {
        // `1.25 x 100 ms` and more would be above 0.02.
        let mut bounded = pie(0.3, 200, 100);
        bounded.step(&SETTINGS, false);
        near(bounded.probability, 0.32);
        let mut long = pie(0.3, 251, 100);
        long.step(&SETTINGS, false);
        near(long.probability, 0.34);
        // An empty queue: `0.125 x -15 ms = -0.001875`, then a 64th less: `0.198125 - 0.003095703125`.
        let mut idle = pie(0.2, 0, 0);
        idle.step(&SETTINGS, true);
        near(idle.probability, 0.195_029_296_875);
    }

    #[test]
    fn a_burst_goes_through() {
        let mut random = Random::stream(1, "queue", 0);
        let (size, waiting) = (Bytes::new(1500), Bytes::new(100_000));
        let mut pie = Pie { burst: BURST, ..pie(0.99, 40, 40) };
        // 150 ms from the first service on, with whatever gaps.
        for at in [20, 21, 60, 169] {
            pie.serve(ms(at), Span::from_millis(40), true);
            pie.step(&SETTINGS, false);
            assert!((0..20).all(|_| !pie.drops(&SETTINGS, size, waiting, &mut random)), "{at}");
        }
        assert_eq!(pie.burst, Span::from_millis(1));
        pie.serve(ms(170), Span::from_millis(40), true);
        assert!((0..20).any(|_| pie.drops(&SETTINGS, size, waiting, &mut random)));
        // A quiet queue allows it anew.
        let mut quiet = Pie { probability: 0.0, delay: Span::ZERO, old_delay: Span::ZERO, ..pie };
        quiet.step(&SETTINGS, true);
        assert_eq!(quiet.burst, BURST);
        // The idle time before its first packet is no part of it.
        quiet.update(&SETTINGS, ms(900), true);
        quiet.serve(ms(900), Span::ZERO, false);
        assert_eq!(quiet.burst, BURST);
        quiet.serve(ms(930), Span::from_millis(30), true);
        assert_eq!(quiet.burst, Span::from_millis(120));
    }

    #[test]
    fn drops_are_spread() {
        let mut random = Random::stream(1, "queue", 0);
        let mut pie = pie(0.1, 40, 40);
        let (mut gap, mut gaps) = (0, Vec::new());
        for _ in 0..100_000 {
            gap += 1;
            if pie.drops(&SETTINGS, Bytes::new(1500), Bytes::new(100_000), &mut random) {
                gaps.push(gap);
                gap = 0;
            }
        }
        // None before 0.1 has added up to 0.85, at the 9th. All by 8.5, at the 85th (rounding may need one more). From
        // the 9th on one in ten: `8 + 10` on average.
        assert_eq!(gaps.iter().min(), Some(&9));
        assert!(gaps.iter().all(|&gap| gap <= 86));
        let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
        assert!((mean - 18.0).abs() < 0.5, "{mean}");
    }

    #[test]
    fn short_queues_and_small_packets_are_spared() {
        let mut random = Random::stream(1, "queue", 0);
        let mut drops = |pie: Pie, settings: &PieSettings, size: u64, waiting: u64| {
            let mut pie = Pie { accumulated: 8.5, ..pie };
            pie.drops(settings, Bytes::new(size), Bytes::new(waiting), &mut random)
        };
        assert!(drops(pie(0.1, 40, 40), &SETTINGS, 1500, 3000));
        assert!(!drops(pie(0.1, 40, 40), &SETTINGS, 1500, 2999));
        // Below half of the target, unless the probability is 20 %.
        assert!(!drops(pie(0.19, 7, 40), &SETTINGS, 1500, 3000));
        assert!(drops(pie(0.2, 7, 40), &SETTINGS, 1500, 3000));
        let by_bytes = PieSettings { bytemode: true, ..SETTINGS };
        let mut small = pie(0.3, 40, 40);
        assert!(!small.drops(&by_bytes, Bytes::new(150), Bytes::new(9000), &mut random));
        near(small.accumulated, 0.03);
    }

    #[test]
    fn marks_end_at_ten_percent() {
        for (probability, capable, expected) in
            [(0.1, true, Admission::Mark), (0.1, false, Admission::Drop), (0.11, true, Admission::Drop)]
        {
            let settings = PieSettings { ecn: true, ..SETTINGS };
            let pie = Pie { accumulated: 8.5, ..pie(probability, 40, 40) };
            let mut queue = Driven::new(PieQueue { settings, pie, waiting: Fifo::new() });
            (0..3).for_each(|number| queue.push(ms(0), Parcel::full(number)));
            let packet = if capable { Parcel::full(3).capable() } else { Parcel::full(3) };
            assert_eq!(queue.admit(ms(0), packet), expected);
        }
    }

    #[test]
    fn the_delay_is_that_of_the_packet_served_last() {
        let mut queue = Driven::new(PieQueue { settings: SETTINGS, pie: pie(0.0, 0, 0), waiting: Fifo::new() });
        (0..3).for_each(|number| queue.push(ms(0), Parcel::full(number)));
        assert!(queue.pop(ms(4)).is_some());
        assert_eq!(queue.discipline.pie.delay, Span::from_millis(4));
        // The updates at 15 and 30 ms see it. The last packet leaves an empty queue.
        assert!(queue.pop(ms(31)).is_some());
        assert_eq!(queue.discipline.pie.old_delay, Span::from_millis(4));
        assert!(queue.pop(ms(32)).is_some());
        assert_eq!(queue.discipline.pie.delay, Span::ZERO);
    }

    #[test]
    fn a_quiet_queue_waits_less_than_half_of_the_target_twice() {
        let burst_after = |delay, old_delay, probability| {
            let micros = Span::from_micros;
            let mut pie = Pie { delay: micros(delay), old_delay: micros(old_delay), ..pie(probability, 0, 0) };
            (pie.accumulated, pie.served) = (0.5, Some(ms(3)));
            pie.step(&SETTINGS, false);
            (pie.burst, pie.accumulated, pie.served)
        };
        let (begins, goes_on) = ((BURST, 0.0, None), (Span::ZERO, 0.5, Some(ms(3))));
        // The target is 15 ms.
        assert_eq!(burst_after(7499, 7499, 0.0), begins);
        assert_eq!(burst_after(7500, 7499, 0.0), goes_on);
        assert_eq!(burst_after(7499, 7500, 0.0), goes_on);
        assert_eq!(burst_after(7499, 7499, 0.5), goes_on);
    }

    #[test]
    fn a_queue_at_rest_stays_so_however_long() {
        let rest = Pie { burst: BURST, ..pie(0.0, 0, 0) };
        assert!(rest.is_at_rest());
        let tick = Span::from_nanos(1);
        assert!(!Pie { probability: 1e-9, ..rest }.is_at_rest());
        assert!(!Pie { delay: tick, ..rest }.is_at_rest() && !Pie { old_delay: tick, ..rest }.is_at_rest());
        assert!(!Pie { burst: tick, ..rest }.is_at_rest());
        // 30,000 years in updates of 15 ms. The next one is on their grid.
        let mut long = Pie { served: Some(ms(1)), ..rest };
        long.update(&SETTINGS, ms(1_000_000_000_001), true);
        assert_eq!((long.served, long.next_update), (None, ms(1_000_000_000_005)));
    }

    #[test]
    fn drops_are_certain_once_8_5_have_added_up_and_impossible_below_0_85() {
        let (size, waiting) = (Bytes::new(1500), Bytes::new(9000));
        let drops = |probability, accumulated, seed| {
            let mut pie = Pie { accumulated, ..pie(probability, 40, 40) };
            let drops = pie.drops(&SETTINGS, size, waiting, &mut Random::stream(seed, "queue", 0));
            (drops, pie.accumulated)
        };
        for seed in 0..50 {
            assert_eq!(drops(0.125, 8.375, seed), (true, 0.0));
            assert_eq!(drops(0.25, 0.5, seed), (false, 0.75));
            assert_eq!(drops(0.0, 0.5, seed), (false, 0.0));
        }
        // 0.85 itself is enough for a draw.
        let dropped = (0..50).filter(|&seed| drops(0.85, 0.0, seed).0).count();
        assert!((35..50).contains(&dropped), "{dropped}");
        // A large packet counts no more than a full one.
        let by_bytes = PieSettings { bytemode: true, ..SETTINGS };
        let mut large = pie(0.25, 40, 40);
        large.drops(&by_bytes, Bytes::new(9000), waiting, &mut Random::stream(1, "queue", 0));
        assert_eq!(large.accumulated, 0.25);
    }
}
