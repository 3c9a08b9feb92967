//! YeAH-TCP (Baiocchi, Castellani and Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007), as the thesis of
//! Edwan (Loughborough 2010, section 7.3) and Linux have it.
//!
//! While the queue is short the window grows as in Scalable TCP. When the queue becomes long, the window gives up its
//! segments in the queue, and grows by a segment a round trip, as other flows that fill the queue.
//!
//! | rule, with R_min the smallest RTT of a round trip, R_base of all | here |
//! | --- | --- |
//! | Q = w (R_min - R_base)/R_min, L = (R_min - R_base)/R_base | `parts/queue_meter.rs` |
//! | slow mode if Q > Q_max or L > 1/phi | `Limits::is_long`, `parts/decongestion.rs` |
//! | fast mode: w += 1/min(w, 100) for each segment | `Yeah::grow` |
//! | slow mode: w += 1/w; once a round trip w -= min(Q/gamma, w/2^epsilon) if Q > Q_max | `QueueBounded::decide` |
//! | the window of a virtual Reno flow, below which w gives up nothing | `QueueBounded::decide` |
//! | loss: w -= max(min(Q, w/2), w/2^delta), after rho round trips in slow mode w/2 | `Limits::cut` |
//!
//! Notable differences from the paper: epsilon and delta are logarithms, as in Linux. A round trip with fewer than
//! three RTT samples decides nothing.
//!
//! The module of Linux (`tcp_yeah.c`) computes in whole segments and microseconds. `kernel/yeah.bpf.c` does the same.
//! It differs from the original in two points. The window after a timeout is the transport's. A timeout begins a round
//! trip of measurement, where the original goes on with the present one. With a stack that counts ACKs it is the module
//! of that time: in fast mode it counts the segments that an ACK covers, in slow mode ACKs.

use crate::entry::{Aim, Entry, Form, Quantity};
use crate::parameters::parameters;
use crate::parts::decongestion::Limits;
use crate::parts::linux::covered;
use crate::parts::queue_bounded::{QueueBounded, leave_to_bounded};
use crate::parts::reno::delegate;
use crate::range::from;
use crate::{Ack, Context, Controller, Counting, Loss, Moment, Probe};

/// The entry of YeAH in the registry.
pub const ENTRY: Entry = Entry {
    name: "yeah",
    title: "YeAH-TCP",
    summary: "Scalable TCP while the queue is short; gives up its part of the queue when that becomes long",
    source: "Baiocchi, Castellani and Vacirca 2007; Linux",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("waiting", "segments", "Q, own segments in the queue"),
        Quantity::new("delay_ratio", "", "L, queueing delay over smallest RTT"),
        Quantity::new("virtual_window", "segments", "reno_count, the window of a virtual Reno flow"),
        Quantity::new("slow_rounds", "round trips", "Round trips in slow mode in a row; 0 in fast mode"),
        Quantity::new("decongestions", "reductions", "Reductions for a long queue since the start"),
    ],
    make: |given| Ok(Box::new(Yeah::new(Settings::read(given)?))),
};

/// YeAH-TCP of Linux.
pub(crate) const LINUX: Form = Form {
    parameters: Settings::PARAMETERS,
    probes: ENTRY.probes,
    make: |given| Ok(Box::new(Yeah::of_linux(Settings::read(given)?))),
};

/// In fast mode so many segments acknowledged add one, or a window of them if that is less (TCP_SCALABLE_AI_CNT).
const SCALABLE: u32 = 100;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Own segments in the queue above which the window gives them up
        q_max: u32 = 80,
            unit "segments", range from(1).up_to(1_000_000), source "the paper's Q_max; Linux, TCP_YEAH_ALPHA";
        /// The queue is long if it takes more than so many parts of the smallest RTT: 1/phi
        phi: u32 = 8, range from(1).up_to(1000), source "the paper's phi; Linux, TCP_YEAH_PHY";
        /// A decongestion takes one part in so many of the queue
        gamma: u32 = 1, range from(1).up_to(1000), source "the paper's gamma; Linux, TCP_YEAH_GAMMA";
        /// A decongestion takes at most the window divided by 2 to the power of this
        epsilon: u32 = 1, range from(0).up_to(16), source "the paper's epsilon; Linux, TCP_YEAH_EPSILON";
        /// A loss takes at least the window divided by 2 to the power of this
        delta: u32 = 3, range from(0).up_to(16), source "the paper's delta; Linux, TCP_YEAH_DELTA";
        /// Round trips in slow mode after which a loss halves the window
        rho: u32 = 16,
            unit "round trips", range from(0).up_to(1_000_000), source "the paper's rho; Linux, TCP_YEAH_RHO";
        /// Round trips in fast mode after which the virtual Reno flow is forgotten
        zeta: u32 = 50,
            unit "round trips", range from(0).up_to(1_000_000), source "the paper's zeta; Linux, TCP_YEAH_ZETA";
        /// Slow start below the threshold; without it the window grows by the rule of fast mode from the beginning
        slow_start: bool = true, source "Edwan 2010, section 7.4, has none";
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Yeah {
    settings: Settings,
    bounded: QueueBounded,
}

impl Settings {
    /// The state that these settings bound, in whole segments or real numbers.
    fn bounded(&self, whole: bool) -> QueueBounded {
        let Self { q_max: queue, phi, gamma, epsilon, delta, rho, zeta, .. } = *self;
        QueueBounded::new(Limits { queue, phi, gamma, epsilon, delta, rho, whole }, zeta)
    }
}

impl Yeah {
    /// The paper's controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self { settings, bounded: settings.bounded(false) }
    }

    /// The module of Linux with `settings`.
    fn of_linux(settings: Settings) -> Self {
        Self { settings, bounded: settings.bounded(true) }
    }

    /// An ACK on a fully used window.
    fn grow(&mut self, at: &Moment, ack: &Ack) {
        let QueueBounded { reno, limits, long_rounds, .. } = &mut self.bounded;
        let exponential = self.settings.slow_start && reno.grows_exponentially(at);
        let credit = if exponential { reno.slow_start(at, ack) } else { ack.avoidance_credit(at) };
        if credit <= 0.0 {
            return;
        }
        let covered = if exponential { credit } else { covered(at, ack) };
        if limits.whole {
            self.count(credit as u32, covered as u32, at.counting);
        } else if *long_rounds == 0 {
            let every = reno.window.min(f64::from(SCALABLE));
            reno.additive_increase(covered, reno.window / every);
        } else {
            reno.additive_increase(credit, 1.0);
        }
    }

    /// Congestion avoidance in whole segments (`tcp_yeah_cong_avoid`), by an ACK that counts for `credit` segments and
    /// covers `covered`.
    fn count(&mut self, credit: u32, covered: u32, counting: Counting) {
        let QueueBounded { reno, counter, long_rounds, .. } = &mut self.bounded;
        let window = reno.window as u32;
        let every = window.min(SCALABLE);
        if *long_rounds > 0 {
            counter.grow(reno, window, credit, counting);
        } else if counting != Counting::PerAck {
            counter.grow(reno, every, covered, counting);
        } else if counter.add(covered) > every {
            reno.window += 1.0;
            counter.clear();
        }
    }
}

impl Controller for Yeah {
    delegate!(bounded.reno: on_start, window, slow_start_threshold);
    leave_to_bounded!(bounded);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.bounded.observe(ack, true);
        if ack.window_limited {
            self.grow(cx, ack);
            self.bounded.end_round(ack);
        }
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.bounded.on_loss();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.bounded.on_timeout(loss);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("waiting", self.bounded.last.queue);
        out.value("delay_ratio", self.bounded.last.ratio());
        out.value("virtual_window", self.bounded.virtual_window);
        out.value("slow_rounds", f64::from(self.bounded.long_rounds));
        out.value("decongestions", f64::from(self.bounded.decongestions));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reno;
    use crate::testing::{World, ack, loss, probed, rtt};

    fn at(window: f64) -> Yeah {
        begun(Yeah::new(Settings::default()), window)
    }

    fn module(window: f64) -> Yeah {
        begun(Yeah::of_linux(Settings::default()), window)
    }

    /// A window of `window` in congestion avoidance, on a path of 100 ms.
    fn begun(mut yeah: Yeah, window: f64) -> Yeah {
        yeah.bounded.reno = Reno { window, threshold: 2.0 };
        yeah.bounded.meter.observe(&Ack { rtt: rtt(100), ..ack() });
        yeah.bounded.meter.restart();
        yeah
    }

    /// A round trip of `millis`, in three ACKs of which the last does not count.
    fn round(yeah: &mut Yeah, millis: u64) {
        let to = yeah.bounded.meter.end() + 1;
        let end = Ack { rtt: rtt(millis), acknowledged_to: to, sent_to: to, ..ack() };
        (0..2).for_each(|_| yeah.on_duplicate_ack(&mut World::new().context(), &end));
        yeah.bounded.meter.observe(&end);
        yeah.bounded.end_round(&end);
    }

    #[test]
    fn a_short_queue_adds_a_segment_for_a_hundred_or_a_window_of_them() {
        for at in [at, module] {
            for (window, acks) in [(1000.0, 100), (50.0, 50)] {
                let mut yeah = at(window);
                for _ in 0..acks {
                    yeah.on_ack(&mut World::new().context(), &ack());
                }
                assert!((yeah.window() - window - 1.0).abs() < 0.01, "{}", yeah.window());
            }
        }
    }

    #[test]
    fn a_queue_above_q_max_is_given_up_once() {
        // 1000 segments at 110 ms: 1000 * 10/110 = 90.9 wait, above 80. They go; then half the window is the virtual
        // one.
        let mut yeah = at(1000.0);
        round(&mut yeah, 110);
        assert!((yeah.window() - 909.0909).abs() < 1e-3, "{}", yeah.window());
        assert_eq!(yeah.slow_start_threshold(), yeah.window());
        assert!((probed(&yeah, "virtual_window") - 454.545).abs() < 1e-2);
    }

    #[test]
    fn a_queue_of_more_than_an_eighth_of_the_rtt_alone_makes_it_reno() {
        // 100 segments at 113 ms: 11.5 wait, but 13 of 100 ms are more than an eighth.
        let mut yeah = at(100.0);
        round(&mut yeah, 113);
        assert_eq!((yeah.window(), probed(&yeah, "slow_rounds")), (100.0, 1.0));
        yeah.on_ack(&mut World::new().context(), &ack());
        assert!((yeah.window() - 100.01).abs() < 1e-9);
    }

    #[test]
    fn a_round_trip_goes_on_where_disorder_ends_without_a_loss_and_in_linux_begins() {
        for (at, rounds) in [(at as fn(f64) -> Yeah, [1.0, 2.0]), (module, [0.0, 1.0])] {
            let mut world = World::new();
            let mut yeah = at(1000.0);
            let of =
                |acknowledged_to, sent_to| Ack { rtt: rtt(110), acknowledged_to, sent_to, in_flight: 1000, ..ack() };
            yeah.on_ack(&mut world.context(), &of(5, 1005));
            // Two arrive above a hole, which the next fills: beyond the end of the round trip.
            yeah.on_duplicate_ack(&mut world.context(), &of(5, 1006));
            yeah.on_duplicate_ack(&mut world.context(), &of(5, 1007));
            yeah.on_ack(&mut world.context(), &of(11, 1011));
            assert_eq!(probed(&yeah, "slow_rounds"), rounds[0]);
            for to in [12, 13, 1013] {
                yeah.on_ack(&mut world.context(), &of(to, to + 1000));
            }
            assert_eq!(probed(&yeah, "slow_rounds"), rounds[1]);
        }
    }

    #[test]
    fn without_slow_start_the_first_window_grows_by_one() {
        let mut yeah = Yeah::new(Settings { slow_start: false, ..Settings::default() });
        yeah.on_start(&mut World::new().context());
        yeah.on_ack(&mut World::new().context(), &Ack { newly_acknowledged: 10, newly_delivered: 10, ..ack() });
        assert_eq!(yeah.window(), 11.0);
    }

    #[test]
    fn in_linux_a_queue_above_q_max_is_given_up_once() {
        // In whole numbers 1000 * 10000/110001 = 90.
        let mut yeah = module(1000.0);
        round(&mut yeah, 110);
        assert_eq!((yeah.window(), probed(&yeah, "virtual_window")), (910.0, 455.0));
        round(&mut yeah, 100);
        assert_eq!((yeah.window(), probed(&yeah, "slow_rounds")), (910.0, 0.0));
    }

    #[test]
    fn the_virtual_reno_flow_grows_with_long_queues_and_is_forgotten_after_fifty_short_ones() {
        let mut yeah = module(100.0);
        (0..3).for_each(|_| round(&mut yeah, 113));
        assert_eq!(probed(&yeah, "virtual_window"), 52.0);
        (0..50).for_each(|_| round(&mut yeah, 100));
        assert_eq!(probed(&yeah, "virtual_window"), 52.0);
        round(&mut yeah, 100);
        assert_eq!(probed(&yeah, "virtual_window"), 2.0);
    }

    #[test]
    fn a_loss_takes_the_queue_and_after_sixteen_long_ones_a_half() {
        let mut world = World::new();
        let mut yeah = module(200.0);
        // 200 * 25/125 = 40 less the microsecond: 39.
        (0..15).for_each(|_| round(&mut yeah, 125));
        yeah.on_loss(&mut world.context(), &loss());
        assert_eq!((yeah.window(), yeah.slow_start_threshold()), (161.0, 161.0));
        (0..1).for_each(|_| round(&mut yeah, 125));
        yeah.on_loss(&mut world.context(), &loss());
        assert_eq!(yeah.window(), 81.0);
        yeah.on_timeout(&mut world.context(), &loss());
        assert_eq!((yeah.window(), yeah.slow_start_threshold()), (1.0, 41.0));
    }

    #[test]
    fn a_stack_that_counts_acks_takes_more_than_a_hundred_segments_of_them() {
        // 51 ACKs of two: 102 segments are more than 100, 50 ACKs are not.
        let mut yeah = module(1000.0);
        let two = Ack { newly_acknowledged: 2, newly_delivered: 2, ..ack() };
        let mut world = World::new();
        world.connection.counting = Counting::PerAck;
        (0..50).for_each(|_| yeah.on_ack(&mut world.context(), &two));
        assert_eq!(yeah.window(), 1000.0);
        yeah.on_ack(&mut world.context(), &two);
        assert_eq!(yeah.window(), 1001.0);
    }
}
