//! Loss intervals and the loss event rate (RFC 5348, sections 5.2 to 5.5).

use std::collections::VecDeque;

use units::{Span, Time};

/// Weights of the intervals, the newest first (section 5.4, n = 8).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// The least by which older intervals are discounted (section 5.5, THRESHOLD).
const LEAST_DISCOUNT: f64 = 0.25;

/// A loss interval that is over: its packets, and its discount factor (DF_i).
#[derive(Clone, Copy, Debug)]
struct Interval {
    packets: f64,
    discount: f64,
}

/// The loss events of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    /// Intervals that are over, the newest first, eight at most.
    closed: VecDeque<Interval>,
    /// The first packet of the last loss event, and when it was lost.
    last: Option<(u64, Time)>,
    discounting: bool,
}

impl Intervals {
    /// No loss yet. `discounting` says whether old intervals count less while the present one is long.
    pub(crate) fn new(discounting: bool) -> Self {
        Self { closed: VecDeque::with_capacity(WEIGHTS.len()), last: None, discounting }
    }

    /// Packet `sequence` was lost at `at`. It begins a loss event if it is more than an RTT
    /// after the first loss of the last one. `first` is the interval before the very first loss, in packets.
    pub(crate) fn lost(&mut self, sequence: u64, at: Time, rtt: Span, first: impl FnOnce() -> f64) -> bool {
        let packets = match self.last {
            Some((_, begin)) if at <= begin + rtt => return false,
            Some((begin, _)) => {
                let packets = sequence.saturating_sub(begin) as f64;
                let discount = self.discount(packets);
                self.closed.iter_mut().for_each(|interval| interval.discount *= discount);
                packets
            }
            None => first(),
        };
        self.closed.truncate(WEIGHTS.len() - 1);
        self.closed.push_front(Interval { packets: packets.max(1.0), discount: 1.0 });
        self.last = Some((sequence, at));
        true
    }

    /// The loss event rate, if the newest packet to arrive was `newest`, or 0 before the first loss.
    pub(crate) fn loss_event_rate(&self, newest: u64) -> f64 {
        let Some((begin, _)) = self.last else { return 0.0 };
        let open = (newest + 1).saturating_sub(begin) as f64;
        let discount = self.discount(open);
        let without = self.mean(None, 1.0);
        let with = self.mean(Some(open), discount);
        (1.0 / without.max(with)).min(1.0)
    }

    /// The discount factor of the closed intervals while the open one has `open` packets (DF).
    fn discount(&self, open: f64) -> f64 {
        if !self.discounting || self.closed.is_empty() {
            return 1.0;
        }
        let mean = self.mean(None, 1.0);
        if open > 2.0 * mean { (2.0 * mean / open).max(LEAST_DISCOUNT) } else { 1.0 }
    }

    /// The weighted mean of the `open` interval, if given, and of the closed ones, these times `discount`.
    fn mean(&self, open: Option<f64>, discount: f64) -> f64 {
        let shift = usize::from(open.is_some());
        let (mut packets, mut weights) = open.map_or((0.0, 0.0), |open| (open * WEIGHTS[0], WEIGHTS[0]));
        for (interval, weight) in self.closed.iter().zip(&WEIGHTS[shift..]) {
            let weight = weight * interval.discount * discount;
            packets += interval.packets * weight;
            weights += weight;
        }
        packets / weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    fn seconds(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    /// Loss events that begin with these packets, a second apart, the first after 100 packets.
    fn events(starts: &[u64], discounting: bool) -> Intervals {
        let mut intervals = Intervals::new(discounting);
        for (second, &start) in (0..).zip(starts) {
            assert!(intervals.lost(start, seconds(second), RTT, || 100.0));
        }
        intervals
    }

    #[test]
    fn without_loss_the_rate_is_zero_and_after_one_that_of_the_first_interval() {
        assert_eq!(Intervals::new(true).loss_event_rate(1000), 0.0);
        assert_eq!(events(&[100], true).loss_event_rate(100), 0.01);
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut intervals = events(&[100], false);
        assert!(!intervals.lost(101, seconds(0) + RTT, RTT, || 1.0));
        assert!(intervals.lost(150, seconds(0) + RTT + Span::from_nanos(1), RTT, || 1.0));
    }

    #[test]
    fn eight_intervals_are_weighted_as_the_rfc_says() {
        // Lengths, the newest first: 10, 20, 30, 40, 50, 60, 70, 80. 10 + 20 + 30 + 40 + 0.8 * 50 + 0.6 * 60 +
        // 0.4 * 70 + 0.2 * 80 = 220, over 6.
        let starts = [0, 80, 150, 210, 260, 300, 330, 350, 360];
        let intervals = events(&starts, false);
        assert!((intervals.loss_event_rate(361) - 6.0 / 220.0).abs() < 1e-12);
        // The open interval counts from where it makes the mean larger: with 100 packets
        // 100 + 10 + 20 + 30 + 0.8 * 40 + 0.6 * 50 + 0.4 * 60 + 0.2 * 70 = 260.
        assert!((intervals.loss_event_rate(459) - 6.0 / 260.0).abs() < 1e-12);
    }

    #[test]
    fn a_long_open_interval_discounts_the_older_ones() {
        // Two closed ones of 100 and an open one of 400: twice the mean over it is 0.5.
        // (400 + 0.5 * 100 + 0.5 * 100) / (1 + 0.5 + 0.5) = 250, without discount 600/3 = 200.
        assert!((events(&[100, 200], true).loss_event_rate(599) - 1.0 / 250.0).abs() < 1e-12);
        assert!((events(&[100, 200], false).loss_event_rate(599) - 1.0 / 200.0).abs() < 1e-12);
        // It stays when the next loss event begins: 400, 100 and 100 weigh 1, 0.5 and 0.5.
        assert!((events(&[100, 200, 600], true).loss_event_rate(600) - 1.0 / 250.0).abs() < 1e-12);
        // Never below a quarter: 0.25 * 200 + 10,000, over 1.5.
        assert!((events(&[100, 200], true).loss_event_rate(10_199) - 1.5 / 10_050.0).abs() < 1e-12);
    }
}
