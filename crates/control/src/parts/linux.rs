//! What modules of Linux share: windows in whole segments, a counter of segments acknowledged between them, and ticks.

use units::{Span, Time};

use crate::{Ack, Context, Counting, Moment, Reno};

/// Ticks a second of a kernel's clock (CONFIG_HZ), by default: the value of the kernel that this project is compared
/// with.
pub(crate) const HZ: u32 = 250;

/// `snd_cwnd_cnt`: segments acknowledged since the window last grew in congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counter(u32);

impl Counter {
    /// Nothing is counted yet.
    pub(crate) const fn new() -> Self {
        Self(0)
    }

    /// A reduction or timeout begins.
    pub(crate) fn clear(&mut self) {
        self.0 = 0;
    }

    /// One segment more for each `every` of `credit` counted (`tcp_cong_avoid_ai`). Until 3.18 Linux counted ACKs, and
    /// it took one more than `every` of them.
    pub(crate) fn grow(&mut self, reno: &mut Reno, every: u32, credit: u32, counting: Counting) {
        let every = every.max(1);
        if counting == Counting::PerAck {
            if self.0 >= every {
                reno.window += 1.0;
                self.0 = 0;
            } else {
                self.0 += 1;
            }
            return;
        }
        // Segments counted towards a larger number count now.
        if self.0 >= every {
            self.0 = 0;
            reno.window += 1.0;
        }
        self.0 += credit;
        if self.0 >= every {
            let segments = self.0 / every;
            self.0 -= segments * every;
            reno.window += f64::from(segments);
        }
    }

    /// `credit` segments more to count: how many there are then.
    pub(crate) fn add(&mut self, credit: u32) -> u32 {
        self.0 += credit;
        self.0
    }

    /// Slow start, then one segment a window (`tcp_reno_cong_avoid`).
    pub(crate) fn grow_as_reno(&mut self, reno: &mut Reno, at: &Moment, ack: &Ack) {
        if let Some(credit) = avoidance(reno, at, ack) {
            self.grow(reno, reno.window as u32, credit, at.counting);
        }
    }
}

/// The window that `ack` may grow goes through slow start: the segments that are left for congestion avoidance, if any.
pub(crate) fn avoidance(reno: &mut Reno, at: &Moment, ack: &Ack) -> Option<u32> {
    if !ack.window_limited {
        return None;
    }
    let credit = if reno.grows_exponentially(at) { reno.slow_start(at, ack) } else { ack.avoidance_credit(at) };
    (credit > 0.0).then_some(credit as u32)
}

/// Segments that `ack` covers, for a controller that counts them where its stack counts ACKs.
pub(crate) fn covered(at: &Moment, ack: &Ack) -> f64 {
    if at.counting == Counting::Segments { ack.avoidance_credit(at) } else { f64::from(ack.newly_acknowledged) }
}

/// Half the window, rounded down (`tcp_reno_ssthresh`).
pub(crate) fn half(reno: &Reno) -> f64 {
    (reno.window * 0.5).floor()
}

/// `rtt` in whole microseconds, in which Linux measures.
pub(crate) fn micros(rtt: Span) -> u64 {
    rtt.as_nanos() / 1000
}

/// Now, in ticks of the host's clock, which ticks `hz` times a second (jiffies).
pub(crate) fn jiffies(cx: &Context<'_>, hz: u64) -> u64 {
    ticks(cx.host_clock(), hz)
}

/// `at`, a time of the host's clock, in its ticks.
pub(crate) fn ticks(at: Time, hz: u64) -> u64 {
    at.as_nanos() / (1_000_000_000 / hz)
}

/// A span in such ticks: those that it begins count (`usecs_to_jiffies`, `msecs_to_jiffies`).
pub(crate) fn ticks_rounded_up(span: Span, hz: u64) -> u64 {
    micros(span).div_ceil(1_000_000 / hz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    fn at(window: f64) -> Reno {
        Reno { window, threshold: 2.0 }
    }

    #[test]
    fn what_is_left_of_a_window_counts_for_the_next_segment() {
        let (mut reno, mut counter) = (at(10.0), Counter::default());
        // 25 of ten each are two segments, and five are left. Seven more are another one.
        counter.grow(&mut reno, 10, 25, Counting::Segments);
        assert_eq!((reno.window, counter.0), (12.0, 5));
        counter.grow(&mut reno, 12, 7, Counting::Segments);
        assert_eq!((reno.window, counter.0), (13.0, 0));
    }

    #[test]
    fn what_was_counted_towards_more_counts_one_segment() {
        let (mut reno, mut counter) = (at(100.0), Counter(90));
        counter.grow(&mut reno, 20, 1, Counting::Segments);
        assert_eq!((reno.window, counter.0), (101.0, 1));
    }

    #[test]
    fn a_stack_that_counts_acks_takes_one_more_than_a_window_of_them() {
        let (mut reno, mut counter) = (at(10.0), Counter::default());
        for _ in 0..10 {
            counter.grow(&mut reno, 10, 2, Counting::PerAck);
        }
        assert_eq!(reno.window, 10.0);
        counter.grow(&mut reno, 10, 2, Counting::PerAck);
        assert_eq!((reno.window, counter.0), (11.0, 0));
    }

    #[test]
    fn instants_round_down_to_ticks_and_spans_up() {
        // 4 ms and 1 ms. Parts of a microsecond do not count.
        for (nanos, of_250, of_1000) in [
            (40_000_000, (10, 10), (40, 40)),
            (40_000_999, (10, 10), (40, 40)),
            (40_001_000, (10, 11), (40, 41)),
            (43_999_000, (10, 11), (43, 44)),
        ] {
            let at = |hz| (ticks(Time::from_nanos(nanos), hz), ticks_rounded_up(Span::from_nanos(nanos), hz));
            assert_eq!((at(250), at(1000)), (of_250, of_1000), "{nanos}");
        }
    }

    #[test]
    fn slow_start_leaves_what_goes_beyond_the_threshold() {
        let mut reno = Reno { window: 8.0, threshold: 10.0 };
        let five = Ack { newly_acknowledged: 5, newly_delivered: 5, ..ack() };
        assert_eq!((avoidance(&mut reno, &Moment::EMPTY, &five), reno.window), (Some(3), 10.0));
        assert_eq!(avoidance(&mut reno, &Moment::EMPTY, &Ack { window_limited: false, ..five }), None);
    }

    #[test]
    fn nothing_is_left_of_an_ack_that_slow_start_uses_up() {
        // Two segments to a threshold of ten. Of the third one is left.
        for (delivered, left, window) in [(1, None, 9.0), (2, None, 10.0), (3, Some(1), 10.0)] {
            let mut reno = Reno { window: 8.0, threshold: 10.0 };
            let ack = Ack { newly_acknowledged: delivered, newly_delivered: delivered, ..ack() };
            assert_eq!((avoidance(&mut reno, &Moment::EMPTY, &ack), reno.window), (left, window), "{delivered}");
        }
    }
}
