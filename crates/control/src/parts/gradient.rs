//! The delay-gradient signal: how the smallest and the largest RTT of a round trip change from one round trip to
//! the next (Hayes and Armitage 2011, sections 3.2 and 3.3).
//!
//! | equation | here |
//! | --- | --- |
//! | (1), (2): gradients of minimum and maximum | [`DelayGradient::close`] |
//! | (3), (4): moving average | [`MovingAverage`] |
//! | Figure 1: queue state | [`Queue::next`] |
//!
//! Differences from the paper: equation (3) as printed sums a+1 terms, here a, as in (4). Gradients that are not there
//! yet count as zero. RTTs are read on a clock tick, without which an exactly flat minimum, hence an empty queue, would
//! hardly be seen.

use units::Span;

use crate::Ack;

/// The longest moving average.
pub(crate) const CAPACITY: usize = 64;

/// RTT samples beyond this are taken as this, so that sums of differences stay exact.
const LONGEST_RTT: Span = Span::from_secs(3600);

/// On an exact clock, smoothed gradients smaller than this are zero to the queue state: half the step of an average
/// of eight on a clock tick of one millisecond.
const FLAT: f64 = 1.0 / 16.0;

/// The state of the bottleneck queue as the smoothed gradients show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Queue {
    Unknown = 0,
    Full = 1,
    Empty = 2,
    Rising = 3,
    Falling = 4,
}

impl Queue {
    /// The state after smoothed gradients `min` and `max`: a filling queue that meets its limit clips the maximum
    /// first, a draining one that runs empty clips the minimum first (Figure 1). Without a clear sign the state
    /// stays.
    fn next(self, min: f64, max: f64) -> Self {
        if min > 0.0 && max <= 0.0 {
            Self::Full
        } else if min >= 0.0 && max < 0.0 {
            Self::Empty
        } else if min > 0.0 && max > 0.0 {
            Self::Rising
        } else if min < 0.0 && max < 0.0 {
            Self::Falling
        } else {
            self
        }
    }
}

/// The smallest and the largest RTT of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extremes {
    pub(crate) min: Span,
    pub(crate) max: Span,
}

/// Gradients at the end of an interval, in milliseconds per RTT interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Gradients {
    pub(crate) raw_min: f64,
    pub(crate) raw_max: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// The effect of an ACK on the RTT interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Interval {
    /// It goes on.
    Open,
    /// It ended, with no interval before it to compare with.
    First,
    /// It ended, with these gradients.
    Gradients(Gradients),
}

/// The estimator: fed with every ACK, it closes RTT intervals and keeps the gradients.
#[derive(Clone, Debug)]
pub(crate) struct DelayGradient {
    tick: Span,
    open: Option<Extremes>,
    /// The interval should end, but has no valid sample yet.
    overdue: bool,
    last: Option<Extremes>,
    /// The last interval may be compared with.
    comparable: bool,
    min: MovingAverage,
    max: MovingAverage,
    gradients: Gradients,
    queue: Queue,
    intervals: u64,
}

impl DelayGradient {
    /// Averages over `a` intervals (0 or 1: no smoothing, at most [`CAPACITY`]). RTTs are on a clock of `tick`, zero
    /// for an exact one.
    pub(crate) fn new(a: usize, tick: Span) -> Self {
        Self {
            tick,
            open: None,
            overdue: false,
            last: None,
            comparable: false,
            min: MovingAverage::new(a),
            max: MovingAverage::new(a),
            gradients: Gradients::default(),
            queue: Queue::Unknown,
            intervals: 0,
        }
    }

    /// Accounts the RTT sample of `ack` to the open interval and closes that if the round ends here. An interval
    /// without a valid sample stays open until one arrives.
    pub(crate) fn observe(&mut self, ack: &Ack) -> Interval {
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.delayed) {
            let sample = self.on_clock(rtt.value);
            self.open = Some(match self.open {
                Some(open) => Extremes { min: open.min.min(sample), max: open.max.max(sample) },
                None => Extremes { min: sample, max: sample },
            });
        }
        self.overdue |= ack.round_start;
        if !self.overdue {
            return Interval::Open;
        }
        match self.open.take() {
            Some(ended) => self.close(ended),
            None => Interval::Open,
        }
    }

    /// The next interval gives no gradient: the last change shows only in the one after it (section 3.5).
    pub(crate) fn skip_next(&mut self) {
        self.comparable = false;
    }

    /// Forgets gradients and queue state: the path is another.
    pub(crate) fn forget(&mut self) {
        self.comparable = false;
        self.min.clear();
        self.max.clear();
        self.gradients = Gradients::default();
        self.queue = Queue::Unknown;
    }

    pub(crate) fn queue(&self) -> Queue {
        self.queue
    }

    /// The latest gradients, zero before the first.
    pub(crate) fn gradients(&self) -> Gradients {
        self.gradients
    }

    /// Intervals closed so far.
    pub(crate) fn intervals(&self) -> u64 {
        self.intervals
    }

    /// The last closed interval.
    pub(crate) fn last(&self) -> Option<Extremes> {
        self.last
    }

    /// On a clock with a tick an RTT is the whole ticks in it plus one, as a kernel that counts ticks measures it.
    fn on_clock(&self, rtt: Span) -> Span {
        let rtt = rtt.min(LONGEST_RTT);
        if self.tick.is_zero() { rtt } else { self.tick * (rtt.as_nanos() / self.tick.as_nanos() + 1) }
    }

    fn close(&mut self, ended: Extremes) -> Interval {
        self.overdue = false;
        self.intervals += 1;
        let before = self.last.replace(ended).filter(|_| self.comparable);
        self.comparable = true;
        let Some(before) = before else { return Interval::First };
        let raw_min = difference(ended.min, before.min); // (1)
        let raw_max = difference(ended.max, before.max); // (2)
        self.min.push(raw_min); // (4)
        self.max.push(raw_max);
        self.gradients = Gradients {
            raw_min: millis(raw_min),
            raw_max: millis(raw_max),
            min: self.min.millis(),
            max: self.max.millis(),
        };
        let flat = |g: f64| if self.tick.is_zero() && g.abs() < FLAT { 0.0 } else { g };
        self.queue = self.queue.next(flat(self.gradients.min), flat(self.gradients.max));
        Interval::Gradients(self.gradients)
    }
}

fn difference(now: Span, before: Span) -> i64 {
    now.as_nanos() as i64 - before.as_nanos() as i64
}

fn millis(nanos: i64) -> f64 {
    nanos as f64 * 1e-6
}

/// The mean of the last `length` values, those before the first counted as zero. Whole nanoseconds: the sum never
/// drifts.
#[derive(Clone, Debug)]
struct MovingAverage {
    ring: [i64; CAPACITY],
    length: usize,
    oldest: usize,
    sum: i64,
}

impl MovingAverage {
    fn new(length: usize) -> Self {
        Self { ring: [0; CAPACITY], length: length.clamp(1, CAPACITY), oldest: 0, sum: 0 }
    }

    fn push(&mut self, value: i64) {
        let dropped = std::mem::replace(&mut self.ring[self.oldest], value);
        self.sum += value - dropped;
        self.oldest = (self.oldest + 1) % self.length;
    }

    fn millis(&self) -> f64 {
        self.sum as f64 / (self.length as f64 * 1e6)
    }

    fn clear(&mut self) {
        *self = Self::new(self.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RttSample;
    use crate::testing::{ack, rtt};

    /// An interval with these extremes.
    fn interval(estimator: &mut DelayGradient, min: u64, max: u64) -> Interval {
        assert_eq!(estimator.observe(&Ack { rtt: rtt(max), ..ack() }), Interval::Open);
        estimator.observe(&Ack { rtt: rtt(min), round_start: true, ..ack() })
    }

    #[test]
    fn gradients_are_differences_of_the_extremes_and_averages_divide_by_a_from_the_start() {
        let mut estimator = DelayGradient::new(8, Span::from_millis(1));
        assert_eq!(interval(&mut estimator, 40, 44), Interval::First);
        let Interval::Gradients(g) = interval(&mut estimator, 42, 52) else { panic!("no gradient") };
        assert_eq!(g, Gradients { raw_min: 2.0, raw_max: 8.0, min: 0.25, max: 1.0 });
        let Interval::Gradients(g) = interval(&mut estimator, 41, 48) else { panic!("no gradient") };
        assert_eq!(g, Gradients { raw_min: -1.0, raw_max: -4.0, min: 0.125, max: 0.5 });
    }

    #[test]
    fn the_average_holds_eight_gradients_and_a_skipped_interval_adds_none() {
        let mut estimator = DelayGradient::new(8, Span::from_millis(1));
        let mut floor = 40;
        interval(&mut estimator, floor, floor);
        for _ in 0..8 {
            floor += 4;
            interval(&mut estimator, floor, floor);
        }
        assert_eq!(estimator.gradients().min, 4.0);
        estimator.skip_next();
        // 12 ms higher, but not compared: the average is not (last - first)/8.
        floor += 12;
        assert_eq!(interval(&mut estimator, floor, floor), Interval::First);
        assert_eq!(estimator.gradients().min, 4.0);
        // The next gradient drives the oldest out: (7 * 4 - 4)/8.
        floor -= 4;
        interval(&mut estimator, floor, floor);
        assert_eq!(estimator.gradients().min, 3.0);
    }

    #[test]
    fn without_smoothing_the_average_is_the_gradient() {
        for a in [0, 1] {
            let mut estimator = DelayGradient::new(a, Span::from_millis(1));
            interval(&mut estimator, 40, 40);
            interval(&mut estimator, 43, 45);
            let g = estimator.gradients();
            assert_eq!((g.min, g.max), (3.0, 5.0));
        }
    }

    #[test]
    fn each_row_of_the_queue_table_and_otherwise_the_state_stays() {
        for (min, max, state) in [
            (0.5, 0.0, Queue::Full),
            (0.5, -0.5, Queue::Full),
            (0.0, -0.5, Queue::Empty),
            (0.5, 0.5, Queue::Rising),
            (-0.5, -0.5, Queue::Falling),
        ] {
            assert_eq!(Queue::Unknown.next(min, max), state, "{min} {max}");
        }
        for (min, max) in [(0.0, 0.0), (0.0, 0.5), (-0.5, 0.0), (-0.5, 0.5)] {
            assert_eq!(Queue::Full.next(min, max), Queue::Full, "{min} {max}");
            assert_eq!(Queue::Unknown.next(min, max), Queue::Unknown, "{min} {max}");
        }
    }

    #[test]
    fn the_clock_tick_rounds_down_and_adds_one() {
        let mut estimator = DelayGradient::new(1, Span::from_millis(1));
        let sample = |micros| Some(RttSample { value: Span::from_micros(micros), delayed: false });
        estimator.observe(&Ack { rtt: sample(40_999), round_start: true, ..ack() });
        assert_eq!(estimator.last(), Some(Extremes { min: Span::from_millis(41), max: Span::from_millis(41) }));
        estimator.observe(&Ack { rtt: sample(41_000), round_start: true, ..ack() });
        assert_eq!(estimator.gradients().raw_min, 1.0);
    }

    #[test]
    fn on_an_exact_clock_a_sixteenth_of_a_millisecond_is_flat() {
        let mut estimator = DelayGradient::new(1, Span::ZERO);
        let mut observe = |min: u64, max: u64| {
            let sample = |micros| Some(RttSample { value: Span::from_micros(micros), delayed: false });
            estimator.observe(&Ack { rtt: sample(max), ..ack() });
            estimator.observe(&Ack { rtt: sample(min), round_start: true, ..ack() });
            estimator.queue()
        };
        observe(40_000, 60_000);
        assert_eq!(observe(40_050, 55_000), Queue::Empty);
        assert_eq!(observe(40_150, 50_000), Queue::Full);
    }

    #[test]
    fn an_interval_without_a_valid_sample_stays_open_until_one_comes() {
        let mut estimator = DelayGradient::new(8, Span::from_millis(1));
        let delayed = Some(RttSample { value: Span::from_millis(140), delayed: true });
        assert_eq!(estimator.observe(&Ack { rtt: None, round_start: true, ..ack() }), Interval::Open);
        assert_eq!(estimator.observe(&Ack { rtt: delayed, round_start: true, ..ack() }), Interval::Open);
        assert_eq!(estimator.intervals(), 0);
        assert_eq!(estimator.observe(&Ack { rtt: rtt(40), ..ack() }), Interval::First);
        assert_eq!(estimator.observe(&Ack { rtt: rtt(50), ..ack() }), Interval::Open);
        assert_eq!(estimator.intervals(), 1);
    }

    #[test]
    fn forgetting_leaves_no_gradient_and_no_queue_state() {
        let mut estimator = DelayGradient::new(2, Span::from_millis(1));
        interval(&mut estimator, 40, 40);
        interval(&mut estimator, 44, 44);
        assert_eq!(estimator.queue(), Queue::Rising);
        estimator.forget();
        assert_eq!((estimator.queue(), estimator.gradients()), (Queue::Unknown, Gradients::default()));
        assert_eq!(interval(&mut estimator, 50, 50), Interval::First);
        interval(&mut estimator, 52, 52);
        assert_eq!(estimator.gradients().min, 1.0);
    }

    #[test]
    fn the_signs_of_both_gradients_give_the_state_of_the_queue() {
        for (min, max, state) in [
            (1.0, 0.0, Queue::Full),
            (1.0, -1.0, Queue::Full),
            (0.0, -1.0, Queue::Empty),
            (1.0, 1.0, Queue::Rising),
            (-1.0, -1.0, Queue::Falling),
            (0.0, 1.0, Queue::Unknown),
            (-1.0, 0.0, Queue::Unknown),
            (0.0, 0.0, Queue::Unknown),
        ] {
            assert_eq!(Queue::Unknown.next(min, max), state, "{min} {max}");
        }
    }
}
