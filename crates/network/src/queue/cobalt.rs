//! COBALT: CoDel beside BLUE, as CAKE has it (Høiland-Jørgensen, Täht and Morton 2018, "Piece of CAKE", section III-B).
//!
//! CoDel's part counts up while the wait is above target and down, at the same pace, once it is not, in place of
//! starting anew. BLUE's part drops at random: its probability rises by 1/256 when the buffer overflows and falls by
//! 1/4096 when the queue is found empty, at most once a `target` each. Until it has come to rest, an empty queue is
//! looked at now and then ([`Cobalt::is_at_rest`]).

use units::{Random, Span, Time};

/// How BLUE's probability rises and falls.
const RISE: f64 = 1.0 / 256.0;
const FALL: f64 = 1.0 / 4096.0;

/// The parameters of COBALT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameters {
    /// How long packets may wait in the long run.
    pub(super) target: Span,
    /// For how long the wait may be above it.
    pub(super) interval: Span,
    /// How long a full packet takes on the link.
    pub(super) mtu_time: Span,
}

/// The decision on the packet at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Serve,
    Mark,
    Drop,
}

/// The state of COBALT for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    count: u32,
    /// `count` has changed by a strike or by rest. Linux computes 1/sqrt(count) then, and it is 0 before: of a queue
    /// that was never struck, the first strike comes with the second packet above target, not an interval later.
    counted: bool,
    dropping: bool,
    /// When CoDel's part strikes next, or when it may forget while `count` is 0.
    drop_next: Time,
    /// BLUE's probability and when it changed last.
    blue: f64,
    blue_changed: Time,
}

impl Cobalt {
    /// The time after `t` at which the next strike is due: the control law of CoDel.
    fn law(&self, t: Time, interval: Span) -> Time {
        if self.counted { t + interval.scale(1.0 / f64::from(self.count.max(1)).sqrt()) } else { t }
    }

    /// One strike more.
    fn count_up(&mut self, interval: Span) {
        self.count = self.count.saturating_add(1);
        self.counted = true;
        self.drop_next = self.law(self.drop_next, interval);
    }

    /// One strike less.
    fn count_down(&mut self, interval: Span) {
        self.count -= 1;
        self.counted = true;
        self.drop_next = self.law(self.drop_next, interval);
    }

    /// The buffer overflowed, and this queue lost a packet.
    pub(super) fn overflowed(&mut self, parameters: &Parameters, now: Time) {
        if now.since(self.blue_changed) > parameters.target {
            self.blue = (self.blue + RISE).min(1.0);
            self.blue_changed = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was found empty.
    pub(super) fn emptied(&mut self, parameters: &Parameters, now: Time) {
        if self.blue > 0.0 && now.since(self.blue_changed) > parameters.target {
            self.blue = (self.blue - FALL).max(0.0);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count_down(parameters.interval);
        }
    }

    /// BLUE's probability.
    #[cfg(test)]
    pub(super) const fn probability(&self) -> f64 {
        self.blue
    }

    /// True if nothing changes any more while the queue is empty.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.blue == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// Decides on a packet that waited `sojourn`.
    pub(super) fn verdict(
        &mut self,
        parameters: &Parameters,
        now: Time,
        sojourn: Span,
        capable: bool,
        random: &mut Random,
    ) -> Verdict {
        let Parameters { target, interval, mtu_time } = *parameters;
        let above = sojourn > target && sojourn > mtu_time.saturating_mul(4);
        // These read the schedule before this packet changes it.
        let mut late = now > self.drop_next;
        let mut due = self.count > 0 && now >= self.drop_next;
        if above && !self.dropping {
            self.dropping = true;
            self.drop_next = self.law(now, interval);
            self.count = self.count.max(1);
        } else if !above {
            self.dropping = false;
        }
        let mut verdict = Verdict::Serve;
        if due && self.dropping {
            verdict = if capable { Verdict::Mark } else { Verdict::Drop };
            self.count_up(interval);
            late = now > self.drop_next;
        } else {
            while due {
                self.count_down(interval);
                late = now > self.drop_next;
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.blue > 0.0 && random.happens(self.blue) {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + interval;
        } else if late && verdict != Verdict::Drop {
            self.drop_next = now;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    const PARAMETERS: Parameters =
        Parameters { target: Span::from_millis(5), interval: Span::from_millis(100), mtu_time: Span::from_millis(1) };

    /// The instants at which a queue in which every packet waits for `wait` is struck, looked at each millisecond.
    fn strikes(cobalt: &mut Cobalt, from: u64, to: u64, wait: u64) -> Vec<u64> {
        let mut random = Random::stream(1, "queue", 0);
        let mut verdict = |at| cobalt.verdict(&PARAMETERS, ms(at), Span::from_millis(wait), false, &mut random);
        (from..to).filter(|&at| verdict(at) == Verdict::Drop).collect()
    }

    #[test]
    fn strikes_follow_the_control_law_and_come_to_rest_as_they_came() {
        let mut cobalt = Cobalt { counted: true, ..Cobalt::default() };
        assert_eq!(strikes(&mut cobalt, 999, 1000, 1), [] as [u64; 0]);
        // Above target from 1000 ms on: an interval later the first, as number 2 the next `100/sqrt(2) = 70.7` later:
        // 1170.71; `+ 100/sqrt(3) = 1228.45`; `+ 50 = 1278.45`.
        assert_eq!(strikes(&mut cobalt, 1000, 1300, 20), [1100, 1171, 1229, 1279]);
        assert_eq!(cobalt.count, 5);
        // 100/sqrt(5) = 44.7 after 1278.45, at 1323.17, the count falls: by 100/sqrt(4) = 50, 57.7, 70.7 and 100 later
        // again, at 1373.17, 1430.91, 1501.62 and 1601.62.
        assert_eq!(strikes(&mut cobalt, 1300, 1325, 1), [] as [u64; 0]);
        assert_eq!(cobalt.count, 4);
        strikes(&mut cobalt, 1325, 1503, 1);
        assert_eq!(cobalt.count, 1);
        strikes(&mut cobalt, 1503, 1603, 1);
        assert_eq!(cobalt.count, 0);
    }

    #[test]
    fn a_wait_after_a_long_silence_is_struck_at_once() {
        let mut cobalt = Cobalt { counted: true, ..Cobalt::default() };
        assert_eq!(strikes(&mut cobalt, 1000, 1001, 1), [] as [u64; 0]);
        // The last packet was less than an interval ago.
        assert_eq!(strikes(&mut cobalt, 1099, 1101, 20), [] as [u64; 0]);
        let mut cobalt = Cobalt { counted: true, ..Cobalt::default() };
        assert_eq!(strikes(&mut cobalt, 1000, 1001, 1), [] as [u64; 0]);
        // More than an interval ago: the first packet begins it, the second is struck, then 100/sqrt(2) later.
        assert_eq!(strikes(&mut cobalt, 1102, 1180, 20), [1103, 1173]);
    }

    #[test]
    fn a_queue_that_was_never_struck_is_struck_at_once() {
        let mut cobalt = Cobalt::default();
        assert_eq!(strikes(&mut cobalt, 999, 1000, 1), [] as [u64; 0]);
        // `100/sqrt(2) = 70.71` and `100/sqrt(3) = 57.74` from the first packet above target on.
        assert_eq!(strikes(&mut cobalt, 1000, 1130, 20), [1001, 1071, 1129]);
    }

    #[test]
    fn a_wait_of_few_packets_is_none() {
        // Above target, but not above four full packets.
        let slow = Parameters { mtu_time: Span::from_millis(5), ..PARAMETERS };
        let mut random = Random::stream(1, "queue", 0);
        let mut cobalt = Cobalt::default();
        cobalt.verdict(&slow, ms(0), Span::from_millis(20), false, &mut random);
        assert!(!cobalt.dropping);
        cobalt.verdict(&slow, ms(0), Span::from_millis(21), false, &mut random);
        assert!(cobalt.dropping);
    }

    #[test]
    fn capable_packets_are_marked_by_codel_and_dropped_by_blue() {
        let mut random = Random::stream(1, "queue", 0);
        let mut cobalt = Cobalt { count: 1, dropping: true, ..Cobalt::default() };
        let verdict = cobalt.verdict(&PARAMETERS, ms(1), Span::from_millis(20), true, &mut random);
        assert_eq!(verdict, Verdict::Mark);
        // 100/sqrt(2) ms after the time at which it was due, 0.
        assert_eq!(cobalt.drop_next.as_nanos() / 1_000_000, 70);
        cobalt.blue = 1.0;
        let verdict = cobalt.verdict(&PARAMETERS, ms(2), Span::from_millis(20), true, &mut random);
        assert_eq!(verdict, Verdict::Drop);
    }

    #[test]
    fn a_mark_that_comes_late_begins_the_schedule_anew() {
        // Due at 0 and again at 70.7 ms: at 500 ms one packet is marked, and the next strike is due at once.
        let mut random = Random::stream(1, "queue", 0);
        let mut cobalt = Cobalt { count: 1, dropping: true, ..Cobalt::default() };
        let verdict = cobalt.verdict(&PARAMETERS, ms(500), Span::from_millis(20), true, &mut random);
        assert_eq!((verdict, cobalt.count, cobalt.drop_next), (Verdict::Mark, 2, ms(500)));
    }

    #[test]
    fn overflow_raises_blue_and_emptiness_lowers_it() {
        let mut cobalt = Cobalt::default();
        // At most once in 5 ms: at 6 and 12 ms, not at 9.
        for at in [6, 9, 12] {
            cobalt.overflowed(&PARAMETERS, ms(at));
        }
        assert_eq!((cobalt.blue, cobalt.count, cobalt.dropping), (2.0 / 256.0, 1, true));
        for at in [15, 18, 21, 24] {
            cobalt.emptied(&PARAMETERS, ms(at));
        }
        assert_eq!((cobalt.blue, cobalt.dropping), (2.0 / 256.0 - 2.0 / 4096.0, false));
    }

    #[test]
    fn blue_changes_at_most_once_in_more_than_a_target() {
        let mut cobalt = Cobalt { blue: 0.5, blue_changed: ms(10), ..Cobalt::default() };
        cobalt.emptied(&PARAMETERS, ms(15));
        cobalt.overflowed(&PARAMETERS, ms(15));
        assert_eq!((cobalt.blue, cobalt.blue_changed), (0.5, ms(10)));
        cobalt.emptied(&PARAMETERS, ms(16));
        assert_eq!((cobalt.blue, cobalt.blue_changed), (0.5 - 1.0 / 4096.0, ms(16)));
        cobalt.overflowed(&PARAMETERS, ms(22));
        assert_eq!(cobalt.blue, 0.5 - 1.0 / 4096.0 + 1.0 / 256.0);
        // Neither above 1 nor below 0, and nothing is to be lowered at 0.
        cobalt.blue = 1.0;
        cobalt.overflowed(&PARAMETERS, ms(100));
        assert_eq!(cobalt.blue, 1.0);
        cobalt.blue = 1.0 / 8192.0;
        cobalt.emptied(&PARAMETERS, ms(200));
        cobalt.emptied(&PARAMETERS, ms(300));
        assert_eq!((cobalt.blue, cobalt.blue_changed), (0.0, ms(200)));
    }

    #[test]
    fn rest_is_without_strikes_to_take_back_and_without_blue() {
        let rest = Cobalt { drop_next: ms(50), ..Cobalt::default() };
        assert_eq!([49, 50, 51].map(|at| rest.is_at_rest(ms(at))), [false, true, true]);
        assert!(!Cobalt { blue: 0.1, ..rest }.is_at_rest(ms(60)) && !Cobalt { count: 1, ..rest }.is_at_rest(ms(60)));
        // Each look at the empty queue takes one strike back once it is time: at 50 ms, and `100/sqrt(1)` later.
        let mut two = Cobalt { count: 2, counted: true, ..rest };
        for (at, count) in [(49, 2), (50, 1), (149, 1), (150, 0), (151, 0)] {
            two.emptied(&PARAMETERS, ms(at));
            assert_eq!(two.count, count, "{at}");
        }
    }
}
