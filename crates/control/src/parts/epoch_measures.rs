//! Measures of a congestion epoch by which H-TCP adapts: the largest RTT and the throughput, as Linux takes them.

use units::{Span, Time};

use crate::Ack;

/// How far a sample may exceed the largest RTT so far and count.
const RTT_STEP: Span = Span::from_millis(20);
/// The share of R_max - R_min that a loss keeps.
const RTT_MEMORY: f64 = 0.95;
/// Round trips of an epoch whose throughput counts unsmoothed, and the weight of a later one.
const UNSMOOTHED: f64 = 3.0;
const WEIGHT: f64 = 0.25;

/// The measures of an epoch, which begins when recovery from the last congestion event ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measures {
    start: Time,
    /// R_max.
    pub(crate) rtt_max: Span,
    round_start: Time,
    /// Segments delivered in this round trip.
    delivered: u32,
    /// Throughputs in segments/s: the moving average.
    average: f64,
    /// The largest average (B).
    most: f64,
    /// The largest average of the epoch before.
    before: f64,
}

impl Default for Measures {
    /// A connection that has yet to begin.
    fn default() -> Self {
        Self {
            start: Time::ZERO,
            rtt_max: Span::ZERO,
            round_start: Time::ZERO,
            delivered: 0,
            average: 0.0,
            most: 0.0,
            before: 0.0,
        }
    }
}

impl Measures {
    /// Takes the RTT of `ack`. R_min is the connection's.
    pub(crate) fn observe(&mut self, rtt_min: &mut Span, ack: &Ack) {
        if ack.min_rtt != Span::MAX {
            *rtt_min = ack.min_rtt;
            self.rtt_max = self.rtt_max.max(ack.min_rtt);
        }
        if let Some(rtt) = ack.undelayed_rtt()
            && rtt <= self.rtt_max + RTT_STEP
        {
            self.rtt_max = self.rtt_max.max(rtt);
        }
    }

    /// Counts the delivery of `ack`, which may end a round trip.
    pub(crate) fn deliver(&mut self, now: Time, rtt_min: Span, ack: &Ack) {
        self.delivered += ack.newly_delivered;
        if !ack.round_start {
            return;
        }
        let elapsed = now.since(self.round_start).as_secs_f64();
        if elapsed > 0.0 && self.delivered > 0 {
            let sample = f64::from(self.delivered) / elapsed;
            if self.since(now) <= UNSMOOTHED * rtt_min.as_secs_f64() {
                self.average = sample;
                self.most = sample;
            } else {
                self.average += WEIGHT * (sample - self.average);
                self.most = self.most.max(self.average);
            }
        }
        self.begin_round(now);
    }

    /// A round trip begins.
    pub(crate) fn begin_round(&mut self, now: Time) {
        self.round_start = now;
        self.delivered = 0;
    }

    /// Seconds since the last congestion event.
    pub(crate) fn since(&self, now: Time) -> f64 {
        now.since(self.start).as_secs_f64()
    }

    /// The largest throughput of this epoch.
    pub(crate) fn throughput(&self) -> f64 {
        self.most
    }

    /// Whether the throughput changed by more than the share `delta_b` from the epoch before, if there was one.
    pub(crate) fn throughput_changed(&self, delta_b: f64) -> bool {
        self.before == 0.0 || (self.most - self.before).abs() > delta_b * self.before
    }

    /// R_min/R_max.
    pub(crate) fn rtt_ratio(&self, rtt_min: Span) -> f64 {
        rtt_min.as_secs_f64() / self.rtt_max.as_secs_f64()
    }

    /// A congestion event.
    pub(crate) fn end_epoch(&mut self, now: Time, rtt_min: Span) {
        self.before = self.most;
        self.rtt_max = rtt_min + self.rtt_max.saturating_sub(rtt_min).scale(RTT_MEMORY);
        self.restart(now);
    }

    /// The last congestion event is `now`.
    pub(crate) fn restart(&mut self, now: Time) {
        self.start = now;
        self.begin_round(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    #[test]
    fn round_trips_without_a_length_or_a_delivery_have_no_throughput() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut measures = Measures::default();
        let rtt_min = Span::from_millis(40);
        for (ms, newly_delivered, most) in [(0, 1, 0.0), (10, 10, 1000.0), (20, 0, 1000.0)] {
            let ack = Ack { newly_delivered, round_start: true, ..ack() };
            measures.deliver(at(ms), rtt_min, &ack);
            assert_eq!(measures.throughput(), most, "{ms} ms");
        }
    }

    #[test]
    fn up_to_three_smallest_rtts_a_throughput_counts_as_it_is_and_then_a_quarter() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut measures = Measures::default();
        let rtt_min = Span::from_millis(40);
        for (ms, newly_delivered, most) in [(40, 40, 1000.0), (120, 40, 500.0), (160, 60, 750.0), (200, 0, 750.0)] {
            let ack = Ack { newly_delivered, round_start: true, ..ack() };
            measures.deliver(at(ms), rtt_min, &ack);
            assert_eq!(measures.throughput(), most, "{ms} ms");
        }
    }
}
