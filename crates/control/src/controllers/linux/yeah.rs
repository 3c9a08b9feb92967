//! YeAH-TCP of Linux (`tcp_yeah.c`), in whole segments and microseconds. The paper's is `controllers/yeah.rs`;
//! `kernel/yeah.bpf.c` does the same as this file.
//!
//! Differences from Linux: the window after a timeout, which is the transport's; a timeout, which begins a round trip
//! of measurement here and in Linux leaves the one under way. A stack that counts ACKs has the module of that time: in
//! fast mode it counts the segments that an ACK covers, in slow mode ACKs.

use crate::controllers::yeah::{self, SCALABLE, Settings};
use crate::entry::{Form, with_values};
use crate::parts::linux;
use crate::parts::queue_bounded::{QueueBounded, leave_to_bounded};
use crate::parts::reno::delegate;
use crate::{Ack, Context, Controller, Counting, Loss, Probe};

/// The form of YeAH-TCP.
pub(crate) const FORM: Form = with_values!(Settings, Yeah, yeah::ENTRY, &[]);

/// The controller.
#[derive(Clone, Copy, Debug)]
struct Yeah {
    settings: Settings,
    bounded: QueueBounded,
}

impl Yeah {
    fn new(settings: Settings) -> Self {
        Self { settings, bounded: settings.bounded(true) }
    }

    /// An ACK on a fully used window (`tcp_yeah_cong_avoid`).
    fn grow(&mut self, ack: &Ack) {
        let QueueBounded { reno, counter, long_rounds, .. } = &mut self.bounded;
        let exponential = self.settings.slow_start && reno.grows_exponentially(ack);
        let credit = if exponential { reno.slow_start(ack) } else { ack.avoidance_credit() };
        if credit <= 0.0 {
            return;
        }
        let window = reno.window as u32;
        if *long_rounds > 0 {
            counter.grow(reno, window, credit as u32, ack.counting);
            return;
        }
        let every = window.min(SCALABLE);
        let covered = if exponential { credit } else { linux::covered(ack) } as u32;
        if ack.counting != Counting::PerAck {
            counter.grow(reno, every, covered, ack.counting);
        } else if counter.add(covered) > every {
            reno.window += 1.0;
            counter.clear();
        }
    }
}

impl Controller for Yeah {
    delegate!(bounded.reno: on_start, window, slow_start_threshold);
    leave_to_bounded!(bounded);

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.bounded.observe(ack, true);
        if ack.window_limited {
            self.grow(ack);
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
        yeah::show(&self.bounded, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::yeah::tests::{adds_one_for_a_hundred_or_a_window, begin, pass};
    use crate::testing::{World, ack, loss, probed, rtt};

    fn at(window: f64) -> Yeah {
        let mut yeah = Yeah::new(Settings::default());
        begin(&mut yeah.bounded, window);
        yeah
    }

    fn round(yeah: &mut Yeah, millis: u64) {
        pass(yeah, |yeah| &mut yeah.bounded, millis);
    }

    #[test]
    fn a_short_queue_adds_a_segment_for_a_hundred_or_a_window_of_them() {
        adds_one_for_a_hundred_or_a_window(|window| Box::new(at(window)));
    }

    #[test]
    fn a_queue_above_q_max_is_given_up_once() {
        // In whole numbers 1000 * 10000/110001 = 90.
        let mut yeah = at(1000.0);
        round(&mut yeah, 110);
        assert_eq!((yeah.window(), probed(&yeah, "virtual_window")), (910.0, 455.0));
        round(&mut yeah, 100);
        assert_eq!((yeah.window(), probed(&yeah, "slow_rounds")), (910.0, 0.0));
    }

    #[test]
    fn the_virtual_reno_flow_grows_with_long_queues_and_is_forgotten_after_fifty_short_ones() {
        let mut yeah = at(100.0);
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
        let mut yeah = at(200.0);
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
    fn a_round_trip_begins_where_disorder_ends_without_a_loss() {
        let mut world = World::new();
        let mut yeah = at(1000.0);
        let of =
            |acknowledged_to, sent_to, in_flight| Ack { rtt: rtt(110), acknowledged_to, sent_to, in_flight, ..ack() };
        yeah.on_ack(&mut world.context(), &of(5, 1005, 1000));
        // Two arrive above a hole, which the next fills: beyond the end of the round trip.
        yeah.on_duplicate_ack(&mut world.context(), &of(5, 1006, 1000));
        yeah.on_duplicate_ack(&mut world.context(), &of(5, 1007, 1000));
        yeah.on_ack(&mut world.context(), &of(11, 1011, 1000));
        assert_eq!(probed(&yeah, "slow_rounds"), 0.0);
        for to in [12, 13, 1013] {
            yeah.on_ack(&mut world.context(), &of(to, to + 1000, 1000));
        }
        assert_eq!(probed(&yeah, "slow_rounds"), 1.0);
    }

    #[test]
    fn a_stack_that_counts_acks_takes_more_than_a_hundred_segments_of_them() {
        // 51 ACKs of two: 102 segments are more than 100, 50 ACKs are not.
        let mut yeah = at(1000.0);
        let two = Ack { newly_acknowledged: 2, newly_delivered: 2, counting: Counting::PerAck, ..ack() };
        (0..50).for_each(|_| yeah.on_ack(&mut World::new().context(), &two));
        assert_eq!(yeah.window(), 1000.0);
        yeah.on_ack(&mut World::new().context(), &two);
        assert_eq!(yeah.window(), 1001.0);
    }
}
