//! The own segments in the queue, estimated once a round trip from its smallest RTT: YeAH and TCP-Gentle decide by
//! them.

use crate::Ack;
use crate::parts::linux::micros;

/// With fewer samples a round trip gives no estimate: they may all be of delayed ACKs.
const ENOUGH: u32 = 3;

/// What one round trip has shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    /// Q: own segments in the queue.
    pub(crate) queue: f64,
    /// The queueing delay, and the smallest RTT of all, in one unit of time.
    pub(crate) delay: u64,
    pub(crate) base: u64,
}

impl Estimate {
    /// L: the queueing delay over the smallest RTT.
    pub(crate) fn ratio(&self) -> f64 {
        self.delay as f64 / self.base.max(1) as f64
    }
}

/// Takes RTT samples, and closes round trips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueMeter {
    /// In whole microseconds, one more than measured, and whole segments, as Linux. Otherwise in nanoseconds.
    whole: bool,
    /// The smallest RTT of all and of this round trip.
    base: u64,
    least: u64,
    samples: u32,
    /// The round trip ends with an ACK beyond this segment.
    end: u64,
    /// The next new segment at the last ACK.
    sent_to: u64,
    /// After a timeout: everything below was outstanding.
    repaired_at: Option<u64>,
}

impl QueueMeter {
    pub(crate) fn new(whole: bool) -> Self {
        Self { whole, base: u64::MAX, least: u64::MAX, samples: 0, end: 0, sent_to: 0, repaired_at: None }
    }

    /// Every ACK.
    pub(crate) fn observe(&mut self, ack: &Ack) {
        self.sent_to = ack.sent_to;
        if let Some(rtt) = ack.rtt {
            let rtt = if self.whole { micros(rtt.value) + 1 } else { rtt.value.as_nanos().max(1) };
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
        if self.repaired_at.is_some_and(|end| ack.acknowledged_to >= end) {
            self.restart();
        }
    }

    /// A timeout: a round trip begins, and another one once everything below `outstanding` is acknowledged.
    pub(crate) fn time_out(&mut self, outstanding: u64) {
        self.restart();
        self.repaired_at = Some(outstanding);
    }

    /// Whether some segment outstanding at a timeout is not yet acknowledged.
    pub(crate) fn is_repairing(&self) -> bool {
        self.repaired_at.is_some()
    }

    /// The estimate for `window` if `ack`, which was observed, ends a round trip with enough samples: its own belongs
    /// to that round trip.
    pub(crate) fn close(&mut self, ack: &Ack, window: f64) -> Option<Estimate> {
        if ack.acknowledged_to <= self.end {
            return None;
        }
        let enough = self.samples >= ENOUGH;
        let (least, base, repaired_at) = (self.least, self.base, self.repaired_at);
        self.restart();
        self.repaired_at = repaired_at;
        enough.then(|| {
            let delay = least - base;
            let queue = window * delay as f64 / least as f64;
            Estimate { queue: if self.whole { queue.floor() } else { queue }, delay, base }
        })
    }

    /// Where the round trip ends.
    #[cfg(test)]
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// A round trip begins with the next segment that leaves.
    pub(crate) fn restart(&mut self) {
        (self.end, self.samples, self.least) = (self.sent_to, 0, u64::MAX);
        self.repaired_at = None;
    }

    /// The path is measured anew.
    pub(crate) fn forget(&mut self) {
        self.restart();
        self.base = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, rtt};

    fn at(millis: u64, acknowledged_to: u64) -> Ack {
        Ack { rtt: rtt(millis), acknowledged_to, sent_to: acknowledged_to + 10, ..ack() }
    }

    #[test]
    fn the_smallest_rtt_of_a_round_trip_gives_the_queue_its_last_ack_included() {
        let mut meter = QueueMeter::new(false);
        meter.observe(&at(100, 1));
        assert_eq!(meter.close(&at(100, 1), 50.0), None, "one sample");
        for (millis, to) in [(150, 2), (140, 11)] {
            meter.observe(&at(millis, to));
            assert_eq!(meter.close(&at(millis, to), 50.0), None, "of the same round trip");
        }
        // 50 segments, of 125 ms 25 in the queue: 10 of them.
        meter.observe(&at(125, 12));
        let estimate = meter.close(&at(125, 12), 50.0).unwrap();
        assert!((estimate.queue - 10.0).abs() < 1e-9, "{estimate:?}");
        assert_eq!((estimate.delay, estimate.base), (25_000_000, 100_000_000));
    }

    #[test]
    fn in_whole_numbers_the_queue_is_rounded_down() {
        let mut meter = QueueMeter::new(true);
        for (millis, to) in [(100, 1), (200, 2), (200, 3)] {
            meter.observe(&at(millis, to));
            meter.close(&at(millis, to), 50.0);
        }
        meter.observe(&at(101, 12));
        // 50 * 1000/101001 = 0.495.
        let expected = Estimate { queue: 0.0, delay: 1000, base: 100_001 };
        assert_eq!(meter.close(&at(101, 12), 50.0), Some(expected));
    }

    #[test]
    fn what_was_measured_while_a_timeout_was_repaired_does_not_count() {
        let mut meter = QueueMeter::new(false);
        meter.observe(&at(100, 1));
        meter.time_out(11);
        for to in [2, 3, 4, 12] {
            meter.observe(&at(200, to));
            assert_eq!(meter.close(&at(200, to), 50.0), None, "{to}");
        }
        assert_eq!(meter.end(), 22, "the round trip begins with the ACK that completes the repair");
    }

    #[test]
    fn a_path_that_is_measured_anew_has_no_smallest_rtt() {
        let mut meter = QueueMeter::new(false);
        meter.observe(&at(100, 1));
        meter.forget();
        for to in [12, 13, 14] {
            meter.observe(&at(200, to));
        }
        assert_eq!(meter.close(&at(200, 14), 50.0).unwrap().delay, 0);
    }
}
