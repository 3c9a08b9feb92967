//! Detects a token-bucket policer (`bbr_lt_bw_sampling`): two intervals in a row, of at least four round trips each,
//! lose more than a fifth and have about the same rate. This rate is then the bandwidth for 48 round trips.

use units::Time;

use super::BANDWIDTH_UNIT;

/// The least and the longest interval, in round trips.
const INTERVAL: u32 = 4;
const LONGEST_INTERVAL: u32 = 4 * INTERVAL;
/// Lost over delivered from which an interval counts as lossy, in 1/256: a fifth.
const LOSSY: u64 = 50;
/// Two rates are the same if they differ by no more than an eighth...
const SAME_SHARE: u64 = 8;
/// ... or by 4 kbit/s, in bytes per second.
const SAME_RATE: u64 = 500;
/// For so many round trips the rate is used.
const USED: u32 = 48;
/// An interval that is longer in milliseconds says nothing.
const LONGEST: u64 = u32::MAX as u64 / 1000;

/// Counts of the connection at one ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    /// Segments delivered, and when the last of them was.
    pub(super) delivered: u64,
    pub(super) delivered_at: Time,
    /// Segments deemed lost.
    pub(super) lost: u64,
    /// Some of them by this ACK, or by a timeout.
    pub(super) loses: bool,
    /// A round trip ends.
    pub(super) round_start: bool,
    pub(super) application_limited: bool,
}

/// The change that a sample makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Nothing,
    /// A policer: its rate holds from now on.
    Policed,
}

/// The state of the search.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    in_use: bool,
    /// Round trips in the interval, or since the rate is used.
    rounds: u32,
    /// The rate of the last interval, 0 without one.
    bandwidth: u64,
    start_ms: u64,
    start_delivered: u64,
    start_lost: u64,
}

impl Policer {
    /// The rate of a policer, while one is found.
    pub(super) fn bandwidth(&self) -> Option<u64> {
        self.in_use.then_some(self.bandwidth)
    }

    /// The search begins anew (`bbr_reset_lt_bw_sampling`).
    pub(super) fn reset(&mut self, count: &Count) {
        *self = Self::default();
        self.begin_interval(count);
    }

    /// While a rate is in use: a round trip ends in ProbeBW. Says whether that was the last one.
    pub(super) fn end_round(&mut self) -> bool {
        self.rounds += 1;
        self.rounds >= USED
    }

    fn begin_interval(&mut self, count: &Count) {
        self.start_ms = count.delivered_at.as_nanos() / 1_000_000;
        self.start_delivered = count.delivered;
        self.start_lost = count.lost;
        self.rounds = 0;
    }

    /// An ACK or a timeout while no rate is in use. `bytes_per_second` converts a bandwidth.
    pub(super) fn sample(&mut self, count: &Count, bytes_per_second: impl Fn(u64) -> u64) -> Finding {
        if !self.sampling {
            // From the first loss on: until then the bucket empties.
            if !count.loses {
                return Finding::Nothing;
            }
            self.begin_interval(count);
            self.sampling = true;
        }
        if count.application_limited {
            self.reset(count);
            return Finding::Nothing;
        }
        self.rounds += u32::from(count.round_start);
        if self.rounds < INTERVAL {
            return Finding::Nothing;
        }
        if self.rounds > LONGEST_INTERVAL {
            self.reset(count);
            return Finding::Nothing;
        }
        // An interval ends with a loss: then the bucket is empty again.
        match self.interval_bandwidth(count) {
            Some(bandwidth) if count.loses => self.end_interval(count, bandwidth, bytes_per_second),
            _ => Finding::Nothing,
        }
    }

    /// The rate of an interval that was lossy.
    fn interval_bandwidth(&mut self, count: &Count) -> Option<u64> {
        let lost = count.lost.saturating_sub(self.start_lost);
        let delivered = count.delivered.saturating_sub(self.start_delivered);
        if delivered == 0 || lost * 256 < LOSSY * delivered {
            return None;
        }
        let millis = (count.delivered_at.as_nanos() / 1_000_000).saturating_sub(self.start_ms);
        if millis >= LONGEST {
            self.reset(count);
            return None;
        }
        (millis >= 1).then(|| delivered * BANDWIDTH_UNIT / (millis * 1000))
    }

    fn end_interval(&mut self, count: &Count, bandwidth: u64, bytes_per_second: impl Fn(u64) -> u64) -> Finding {
        let difference = bandwidth.abs_diff(self.bandwidth);
        let same = difference * SAME_SHARE <= self.bandwidth || bytes_per_second(difference) <= SAME_RATE;
        if self.bandwidth > 0 && same {
            self.bandwidth = u64::midpoint(bandwidth, self.bandwidth);
            self.in_use = true;
            self.rounds = 0;
            return Finding::Policed;
        }
        self.bandwidth = bandwidth;
        self.begin_interval(count);
        Finding::Nothing
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    /// After `n` round trips of 100 ms with 100 segments delivered and `lost` lost in each.
    fn count(n: u64, lost: u64) -> Count {
        Count {
            delivered: 100 * n,
            delivered_at: Time::ZERO + Span::from_millis(100) * n,
            lost: lost * n,
            loses: true,
            round_start: true,
            application_limited: false,
        }
    }

    /// The first round trip of `rounds` with which a policer is found.
    fn found(lost: u64, rounds: u64) -> Option<(u64, Option<u64>)> {
        let mut policer = Policer::default();
        let found = (1..=rounds).find(|&n| policer.sample(&count(n, lost), |bw| bw) == Finding::Policed);
        found.map(|n| (n, policer.bandwidth()))
    }

    #[test]
    fn two_lossy_intervals_of_one_rate_show_a_policer() {
        // The first round trip counts for the first interval, which ends with the fourth after 300 ms and 300 segments.
        // Four more end the second. 100 segments in 100 ms: 2^24 / 1000 a microsecond.
        assert_eq!(found(20, 20), Some((8, Some(BANDWIDTH_UNIT / 1000))));
    }

    #[test]
    fn less_than_a_fifth_lost_shows_none() {
        // 19 of 100 are 48.64/256, below 50.
        assert_eq!(found(19, 40), None);
    }

    #[test]
    fn a_flow_that_its_application_limits_shows_none() {
        let mut policer = Policer::default();
        for n in 1..40 {
            let limited = n % 3 == 0;
            policer.sample(&Count { application_limited: limited, ..count(n, 50) }, |bw| bw);
            assert_eq!(policer.bandwidth(), None);
        }
    }

    #[test]
    fn a_rate_is_used_for_48_round_trips() {
        let mut policer = Policer::default();
        (1..=8).for_each(|n| {
            policer.sample(&count(n, 20), |bw| bw);
        });
        assert_eq!((1..=60).find(|_| policer.end_round()), Some(48));
    }

    /// True if an interval that begins with a loss ends with the next one, after `rounds` round trips.
    fn ends_after(rounds: u64) -> bool {
        let mut policer = Policer::default();
        for n in 1..=rounds {
            let loses = n == 1 || n == rounds;
            policer.sample(&Count { loses, ..count(n, 20) }, |bw| bw);
        }
        policer.bandwidth > 0
    }

    #[test]
    fn an_interval_has_four_to_sixteen_round_trips() {
        assert_eq!([3, 4, 16, 17].map(ends_after), [false, true, true, false]);
    }

    #[test]
    fn rates_are_the_same_within_an_eighth_or_four_kilobits() {
        let same = |second, bytes_per_second: u64| {
            let mut policer = Policer { bandwidth: 8000, rounds: 9, ..Policer::default() };
            let finding = policer.end_interval(&count(10, 20), second, |_| bytes_per_second);
            (finding == Finding::Policed, policer.bandwidth, policer.rounds)
        };
        // The rate of a policer is half-way between both. Otherwise the second one counts for the next interval.
        assert_eq!(same(9000, 501), (true, 8500, 0));
        assert_eq!(same(9001, 501), (false, 9001, 0));
        assert_eq!(same(7000, 501), (true, 7500, 0));
        assert_eq!(same(20_000, 500), (true, 14_000, 0));
        let mut first = Policer::default();
        assert_eq!(first.end_interval(&count(10, 20), 5, |_| 0), Finding::Nothing);
        assert_eq!((first.bandwidth, first.start_lost, first.start_delivered, first.start_ms), (5, 200, 1000, 1000));
    }

    #[test]
    fn the_rate_of_an_interval_is_what_it_delivered_by_its_milliseconds() {
        let rate = |delivered, lost, millis| {
            let delivered_at = Time::ZERO + Span::from_millis(millis);
            Policer::default().interval_bandwidth(&Count { delivered, lost, delivered_at, ..count(0, 0) })
        };
        // 50 of 256 are lossy, 49 are not. In two milliseconds 256 are 128 a millisecond.
        assert_eq!(rate(256, 50, 2), Some(128 * BANDWIDTH_UNIT / 1000));
        assert_eq!((rate(256, 49, 2), rate(0, 50, 2), rate(256, 50, 0)), (None, None, None));
        assert!(rate(1 << 20, 1 << 20, LONGEST - 1).is_some() && rate(1 << 20, 1 << 20, LONGEST).is_none());
    }
}
