//! DualPI2: the coupled dual queue of L4S (RFC 9332, appendix A).
//!
//! Packets of scalable senders, ECT(1) or CE, wait in the low-latency queue L, all others in the classic queue C. A PI
//! controller on the longer of both delays gives the base probability p'. Classic packets are dropped or marked with
//! p'^2. Packets of L are marked with `coupling_factor` p', so that both kinds of senders get the same rate, and also
//! if they waited longer than `step_thresh`. L goes first. A credit keeps `classic_protection` percent for C while both
//! wait.
//!
//! | RFC 9332, appendix A | here |
//! | --- | --- |
//! | figure 3: dequeue, coupled marking, overload | [`DualPi2::strikes`] |
//! | figure 4: the PI update | [`DualPi2::update`] |
//! | section 4.2.2 and figure 3: the scheduler | [`DualPi2::takes_low`] |
//!
//! As in Linux, with the names of its `tc`: a step replaces the ramp. ECT(0) packets are marked where others of C are
//! dropped. Nothing is struck by probability while less than two full packets wait behind it. Weighted round robin goes
//! by a credit in bytes, which only packets served while both queues wait change. Drops come when the turn of a packet
//! comes (`drop_dequeue`). Different from Linux: no step in packets, no `memlimit` (in Linux twice the limit in full
//! packets, of memory), no filters, which can put packets that are not ECN-capable into L, and p' is not rounded to 32
//! bits.

use std::collections::VecDeque;

use units::packet::MTU;
use units::{Ecn, Random, Span, Time};

use super::tc::{Dialect, settings};
use super::turns::Waiting;
use super::{Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

settings! {
    /// What a scenario says about DualPI2, named as in `tc`.
    pub struct DualPi2Settings in "dualpi2", limit packets {
        /// The queueing delay of C that is aimed at; by default 15ms.
        target: Span = Span::from_millis(15), value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// How often p' follows; by default 16ms.
        tupdate: Span = Span::from_millis(16), value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// Weight of the distance from `target`, in 1/s; by default 0.16.
        alpha: f64 = 0.16, value, from 0.0, to 256.0;
        /// Weight of the change of the delay, in 1/s; by default 3.2.
        beta: f64 = 3.2, value, from 0.0, to 256.0;
        /// Packets of L that waited longer are marked; by default 1ms.
        step_thresh: Span = Span::from_millis(1), value, from Span::ZERO, to Span::LONGEST_WAIT;
        /// Only those that found at least so many packets waiting in L; by default 0.
        min_qlen_step: u32 = 0, value "p", from 0, to 1_000_000;
        /// By which p' is multiplied for L; by default 2.
        coupling_factor: u32 = 2, value, from 1, to 255;
        /// Percent of the link that C gets at least while both wait; by default 10.
        classic_protection: u32 = 10, value "%", from 1, to 99;
        /// Whether overload lets the queue overflow in place of dropping packets of L too; by default it does not.
        overflow: bool = false, words("overflow" = true, "drop_on_overload" = false);
        /// Whether all ECN-capable packets wait in L; by default only ECT(1) and CE do.
        any_ect: bool = false, words("any_ect" = true, "l4s_ect" = false);
    }
    passed {
        "drop_dequeue" = "packets are dropped when their turn comes";
        "split_gso" = "packets are single segments";
        "no_split_gso" = "packets are single segments";
    }
    refused {
        "drop_enqueue" = "packets are dropped when their turn comes (`drop_dequeue`)";
        "memlimit" = "`limit` alone bounds the queue";
        "max_rtt" = "give `target`, `tupdate`, `alpha` and `beta`, which tc derives from it and prints";
        "typical_rtt" = "give `target`, `tupdate`, `alpha` and `beta`, which tc derives from it and prints";
    }
}

impl Settings for DualPi2Settings {
    const DEFAULT_LIMIT: Option<Limit> = Some(Limit::Packets(10_000));
    const TC: Option<Dialect<Self>> = Some(Self::DIALECT);

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, _limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(DualPi2::new(*self))
    }
}

/// Both queues at work.
#[derive(Debug)]
struct DualPi2<P> {
    settings: DualPi2Settings,
    low: Waiting<P>,
    classic: Waiting<P>,
    /// For each packet of L: true if it found enough waiting for the step.
    steps: VecDeque<bool>,
    /// p'.
    probability: f64,
    /// The longer delay at the last update.
    old_delay: Span,
    next_update: Time,
    /// C is served while it is above 0 and both wait, in bytes times percent. Service of the one while the other is
    /// empty leaves it as it is.
    credit: i64,
}

impl<P: Packet> DualPi2<P> {
    fn new(settings: DualPi2Settings) -> Self {
        let next_update = Time::ZERO + settings.tupdate;
        let mut new = Self {
            settings,
            low: Waiting::default(),
            classic: Waiting::default(),
            steps: VecDeque::new(),
            probability: 0.0,
            old_delay: Span::ZERO,
            next_update,
            credit: 0,
        };
        new.credit = new.first_credit();
        new
    }

    /// The credit that a busy period begins with: L may send some full packets before C gets its share.
    fn first_credit(&self) -> i64 {
        MTU.get() as i64 * (2 * i64::from(self.settings.classic_protection) - 100)
    }

    fn is_low(&self, ecn: Ecn) -> bool {
        match ecn {
            Ecn::Ect1 | Ecn::Congestion => true,
            Ecn::Ect0 => self.settings.any_ect,
            Ecn::NotCapable => false,
        }
    }

    /// Makes all updates of p' that are due by `now`.
    fn update(&mut self, now: Time) {
        let DualPi2Settings { target, tupdate, alpha, beta, .. } = self.settings;
        while self.next_update <= now {
            let at = self.next_update;
            let age = |since: Option<Time>| since.map_or(Span::ZERO, |since| at.since(since));
            let delay = age(self.low.since()).max(age(self.classic.since()));
            if self.probability == 0.0 && delay.is_zero() && self.old_delay.is_zero() && self.is_empty() {
                // Nothing changes until the next packet.
                self.next_update = now.floor_to(tupdate) + tupdate;
                return;
            }
            let seconds = |span: Span| span.as_secs_f64();
            let change = alpha * (seconds(delay) - seconds(target)) + beta * (seconds(delay) - seconds(self.old_delay));
            let most = if self.settings.overflow { 1.0 / f64::from(self.settings.coupling_factor) } else { 1.0 };
            self.probability = (self.probability + change).clamp(0.0, most);
            self.old_delay = delay;
            self.next_update = at + tupdate;
        }
    }

    fn is_empty(&self) -> bool {
        self.low.packets() + self.classic.packets() == 0
    }

    /// True if L is served next.
    fn takes_low(&self) -> bool {
        self.low.packets() > 0 && (self.classic.packets() == 0 || self.credit <= 0)
    }

    /// Decides on a packet of L or C whose turn comes.
    fn strikes(&self, low: bool, capable: bool, random: &mut Random) -> Strike {
        let coupled = f64::from(self.settings.coupling_factor) * self.probability;
        let overload = coupled >= 1.0;
        let mut classic = || random.happens(self.probability) && random.happens(self.probability);
        match (low, overload) {
            (true, false) => {
                if random.happens(coupled) {
                    Strike::Mark
                } else {
                    Strike::None
                }
            }
            (true, true) => {
                if !self.settings.overflow && classic() {
                    Strike::Drop
                } else {
                    Strike::Mark
                }
            }
            (false, _) if !classic() => Strike::None,
            (false, true) => Strike::Drop,
            (false, false) => {
                if capable {
                    Strike::Mark
                } else {
                    Strike::Drop
                }
            }
        }
    }
}

/// The decision on a packet whose turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strike {
    None,
    Mark,
    Drop,
}

impl<P: Packet> Discipline<P> for DualPi2<P> {
    fn pass(&mut self, _packet: &P, cx: &mut Context<'_, P>) {
        self.update(cx.now);
        self.credit = self.first_credit();
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        self.update(cx.now);
        if self.is_low(packet.ecn()) {
            self.steps.push_back(self.low.packets() >= self.settings.min_qlen_step as usize);
            self.low.push(cx.now, packet);
        } else {
            self.classic.push(cx.now, packet);
        }
    }

    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        self.update(cx.now);
        loop {
            let low = self.takes_low();
            let both = self.low.packets() > 0 && self.classic.packets() > 0;
            let queue = if low { &mut self.low } else { &mut self.classic };
            let (packet, arrived) = queue.pop()?;
            let steps = low && self.steps.pop_front().unwrap_or_default();
            let size = packet.size().get() as i64;
            let behind = cx.waiting().bytes - packet.size();
            let capable = packet.ecn().is_capable();
            let strike = if behind < MTU * 2 { Strike::None } else { self.strikes(low, capable, cx.random) };
            if strike == Strike::Drop {
                cx.drop(packet);
                continue;
            }
            if both {
                let protection = i64::from(self.settings.classic_protection);
                self.credit += size * if low { protection } else { protection - 100 };
            }
            let step = steps && cx.now.since(arrived) > self.settings.step_thresh;
            let marked = capable && (strike == Strike::Mark || step);
            return Some(Served { packet, arrived, marked });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, Parcel};

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn l4s(number: u32) -> Parcel {
        Parcel { ecn: Ecn::Ect1, ..Parcel::full(number) }
    }

    fn queue(settings: DualPi2Settings) -> Driven<DualPi2<Parcel>> {
        Driven::new(DualPi2::new(settings))
    }

    fn near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() <= 1e-9, "{measured} in place of {expected}");
    }

    #[test]
    fn the_base_probability_follows_the_longer_delay() {
        let mut queue = queue(DualPi2Settings::default());
        queue.push(ms(0), Parcel::full(0));
        queue.push(ms(6), l4s(1));
        // At 16 ms the first waits for 16 ms: `0.16 x 1 ms + 3.2 x 16 ms = 0.05136`.
        queue.discipline.update(ms(16));
        near(queue.discipline.probability, 0.051_36);
        // At 32 ms it waits for 32 ms: `0.16 x 17 ms + 3.2 x 16 ms = 0.05392` more.
        queue.discipline.update(ms(47));
        near(queue.discipline.probability, 0.105_28);
        // Both are gone: `0.16 x -15 ms + 3.2 x -32 ms = -0.1048`, then -0.0024, which ends at 0.
        assert!(queue.pop(ms(47)).is_some() && queue.pop(ms(47)).is_some());
        queue.discipline.update(ms(48));
        near(queue.discipline.probability, 0.000_48);
        queue.discipline.update(ms(64));
        assert_eq!(queue.discipline.probability, 0.0);
    }

    /// How often packets of one kind are marked and dropped under `probability`, of a thousand.
    fn struck(settings: DualPi2Settings, probability: f64, packet: Parcel) -> (usize, usize) {
        let mut queue = queue(settings);
        queue.discipline.next_update = Time::NEVER;
        queue.discipline.probability = probability;
        // No step: all within 1 ms. Two packets are left behind the last that can be struck.
        (0..10_002).for_each(|number| queue.push(ms(0), Parcel { number, ..packet }));
        let served = std::iter::from_fn(|| queue.pop(ms(1)));
        let marked = served.filter(|served| served.marked).count();
        (marked, queue.dropped().len())
    }

    #[test]
    fn the_square_strikes_the_classic_and_the_double_the_scalable() {
        let settings = DualPi2Settings::default();
        // `0.3^2 = 9` % of 10,000: 900 with a standard deviation of 29. 0.6: 6000, with 49.
        let (marked, dropped) = struck(settings, 0.3, Parcel::full(0));
        assert!(marked == 0 && dropped.abs_diff(900) < 100, "{dropped}");
        let (marked, dropped) = struck(settings, 0.3, Parcel::full(0).capable());
        assert!(dropped == 0 && marked.abs_diff(900) < 100, "{marked}");
        let (marked, dropped) = struck(settings, 0.3, l4s(0));
        assert!(dropped == 0 && marked.abs_diff(6000) < 170, "{marked}");
    }

    #[test]
    fn overload_drops_the_scalable_as_the_classic() {
        let settings = DualPi2Settings::default();
        // Twice 0.6 is above 1: 36 % are dropped, the rest is marked, all but the last two.
        let (marked, dropped) = struck(settings, 0.6, l4s(0));
        assert!(dropped.abs_diff(3600) < 170 && marked + dropped >= 10_000, "{marked} {dropped}");
        let (marked, dropped) = struck(settings, 0.6, Parcel::full(0).capable());
        assert!(marked == 0 && dropped.abs_diff(3600) < 170, "{dropped}");
        let overflow = DualPi2Settings { overflow: true, ..settings };
        assert_eq!(struck(overflow, 0.6, l4s(0)).1, 0);
    }

    #[test]
    fn the_step_marks_what_waited_longer() {
        let mut queue = queue(DualPi2Settings::default());
        (0..10).for_each(|number| queue.push(ms(0), l4s(number)));
        assert!(!queue.pop(ms(1)).is_some_and(|served| served.marked));
        assert!(queue.pop(Time::from_nanos(1_000_001)).is_some_and(|served| served.marked));
        // The first two found less than two in L, however many come behind them.
        let mut few = super::tests::queue(DualPi2Settings { min_qlen_step: 2, ..DualPi2Settings::default() });
        (0..4).for_each(|number| few.push(ms(0), l4s(number)));
        let marks = [(); 4].map(|()| few.pop(ms(2)).is_some_and(|served| served.marked));
        assert_eq!(marks, [false, false, true, true]);
    }

    #[test]
    fn nothing_is_struck_with_less_than_two_full_packets_behind_it() {
        let mut queue = queue(DualPi2Settings { step_thresh: Span::from_millis(100), ..DualPi2Settings::default() });
        queue.discipline.next_update = Time::NEVER;
        // As good as every packet of L is marked.
        queue.discipline.probability = 0.499_999_999;
        for size in [1500, 1500, 1500, 1499, 1500] {
            queue.push(ms(0), Parcel { size, ..l4s(0) });
        }
        // Behind the first 5999 bytes wait, then 4499, 2999, 1500 and none.
        let marks = [(); 5].map(|()| queue.pop(ms(0)).is_some_and(|served| served.marked));
        assert_eq!(marks, [true, true, false, false, false]);
    }

    #[test]
    fn service_of_one_queue_alone_gives_the_other_no_credit() {
        for alone_is_low in [true, false] {
            let mut queue = queue(DualPi2Settings::default());
            let kind = |low: bool| if low { l4s(0) } else { Parcel::full(0) };
            (0..1001).for_each(|_| queue.push(ms(0), kind(alone_is_low)));
            (0..1000).for_each(|_| assert!(queue.pop(ms(0)).is_some()));
            assert_eq!(queue.discipline.credit, 1500 * -80);
            // From now on both wait: nine of L before the first of C, as from the beginning, and one in ten.
            (0..100).for_each(|_| {
                queue.push(ms(0), kind(true));
                queue.push(ms(0), kind(false));
            });
            let order: Vec<bool> =
                (0..50).filter_map(|_| queue.pop(ms(0))).map(|s| s.packet.ecn == Ecn::Ect1).collect();
            assert_eq!(order.iter().position(|low| !low), Some(9), "{alone_is_low}");
            assert_eq!(order.iter().filter(|&&low| !low).count(), 5, "{alone_is_low}");
        }
    }

    #[test]
    fn the_classic_queue_keeps_its_share() {
        let mut queue = queue(DualPi2Settings::default());
        for number in 0..400 {
            queue.push(ms(0), l4s(number));
            queue.push(ms(0), Parcel::full(1000 + number));
        }
        // The first credit is `1500 x -80`. Each packet of L adds `1500 x 10`: after nine it is above 0, one of C takes
        // `1500 x 90` off. So one in ten.
        let order: Vec<bool> = (0..100).filter_map(|_| queue.pop(ms(1))).map(|s| s.packet.number >= 1000).collect();
        assert_eq!(order.iter().position(|&classic| classic), Some(9));
        assert_eq!(order.iter().filter(|&&classic| classic).count(), 10);
    }

    #[test]
    fn codepoints_choose_the_queue() {
        let mut queue = queue(DualPi2Settings::default());
        for ecn in [Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1, Ecn::Congestion] {
            queue.push(ms(0), Parcel { ecn, ..Parcel::full(0) });
        }
        assert_eq!((queue.discipline.classic.packets(), queue.discipline.low.packets()), (2, 2));
        let any = DualPi2::<Parcel>::new(DualPi2Settings { any_ect: true, ..DualPi2Settings::default() });
        assert!(any.is_low(Ecn::Ect0) && !any.is_low(Ecn::NotCapable));
    }

    #[test]
    fn a_packet_that_came_with_an_update_counts_at_the_next_one() {
        let settings = DualPi2Settings { alpha: 1.0, beta: 2.0, ..DualPi2Settings::default() };
        let mut queue = queue(settings);
        (0..2).for_each(|number| queue.push(ms(16), Parcel::full(number)));
        assert!(queue.pop(ms(40)).is_some());
        // Nothing has waited at 16 ms. At 32 ms: `1 x (16 - 15) ms + 2 x 16 ms = 0.033`.
        assert!((queue.discipline.probability - 0.033).abs() < 1e-12, "{}", queue.discipline.probability);
        // An empty queue at rest stays so for 30,000 years.
        let mut rest = super::tests::queue(settings);
        rest.discipline.update(ms(1_000_000_000_001));
        assert_eq!(rest.discipline.next_update, ms(1_000_000_000_016));
    }
}
