//! Round-trip time: the estimator and the retransmission timeout (RFC 6298), and who delays ACKs.

use units::{Span, Time};

use crate::{Timers, Variance};

/// The smallest RTTs seen since the smallest one, at least a quarter of the window apart, in order.
#[derive(Clone, Debug, Default)]
struct Later {
    minima: Vec<(Time, Span)>,
}

/// Smoothed RTT, its variation, and the retransmission timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// The smoothed RTT, or zero before the first sample.
    pub smoothed: Span,
    pub(crate) variation: Span,
    /// The smallest sample, or [`Span::MAX`] before the first.
    pub minimum: Span,
    /// When the smallest RTT was seen.
    minimum_at: Time,
    /// Candidates for its place, once the smallest RTT is old.
    later: Option<Box<Later>>,
    /// The last sample.
    pub latest: Span,
    pub(crate) backoff: u16,
    has_sample: bool,
    /// A SYN was sent again, and gave no sample.
    after_syn: bool,
    /// The variance term where it goes by rounds (rttvar_us), and the largest of this round (mdev_max_us), in
    /// microseconds.
    spread: u32,
    largest: u32,
    /// The round ends when more than this is acknowledged (rtt_seq, modulo 2^32).
    round: u32,
}

impl Default for RttEstimator {
    fn default() -> Self {
        Self::new()
    }
}

impl RttEstimator {
    /// An estimator without a sample.
    pub fn new() -> Self {
        Self {
            smoothed: Span::ZERO,
            variation: Span::ZERO,
            minimum: Span::MAX,
            minimum_at: Time::ZERO,
            later: None,
            latest: Span::ZERO,
            backoff: 0,
            has_sample: false,
            after_syn: false,
            spread: 0,
            largest: 0,
            round: 0,
        }
    }

    /// A SYN was sent again, and gave no sample (RFC 6298, 5.7).
    pub(crate) fn open_without_sample(&mut self) {
        self.after_syn = true;
    }

    /// Takes a sample for the timeout (RFC 6298, 2.2 and 2.3). Only a sample ends a back-off (Karn's algorithm).
    pub fn sample(&mut self, rtt: Span) {
        self.backoff = 0;
        if self.has_sample {
            let (s, r) = (self.smoothed.as_nanos(), rtt.as_nanos());
            self.variation = Span::from_nanos((3 * self.variation.as_nanos() + s.abs_diff(r)) / 4);
            self.smoothed = Span::from_nanos((7 * s + r) / 8);
        } else {
            self.has_sample = true;
            self.smoothed = rtt;
            self.variation = rtt / 2;
        }
    }

    /// The same of a sender that has everything below `first` acknowledged, and `next` as its next new segment.
    #[inline]
    pub(crate) fn sample_of_round(&mut self, rtt: Span, timers: &Timers, first: u64, next: u64) {
        match timers.rto_variance {
            Variance::Deviation => self.sample(rtt),
            Variance::LargestOfRounds => self.sample_as_linux(rtt, timers.rto_variance_min, first, next),
        }
    }

    /// Takes a sample as Linux does (tcp_rtt_estimator).
    fn sample_as_linux(&mut self, rtt: Span, least: Span, first: u64, next: u64) {
        let had_sample = self.has_sample;
        let (before, variation) = (self.smoothed, self.variation);
        self.sample(rtt);
        let (least, next) = (micros(least), next as u32);
        if !had_sample {
            self.spread = micros(self.variation * 4).max(least);
            (self.largest, self.round) = (self.spread, next);
            return;
        }
        let below = before.saturating_sub(rtt);
        if below > variation {
            // A shorter RTT would widen the timeout.
            self.variation = variation + (below - variation) / 32;
        }
        self.largest = self.largest.max(micros(self.variation * 4));
        self.spread = self.spread.max(self.largest);
        if (first as u32).wrapping_sub(self.round) as i32 > 0 {
            self.spread -= (self.spread - self.largest) / 4;
            (self.largest, self.round) = (least, next);
        }
    }

    /// Notes the sample that controllers see, at `now`. The smallest one covers the last `window`, or with zero the
    /// whole connection.
    #[inline]
    pub fn observe(&mut self, rtt: Span, now: Time, window: Span) {
        self.latest = rtt;
        if rtt <= self.minimum {
            (self.minimum, self.minimum_at) = (rtt, now);
            self.later = None;
        } else if !window.is_zero() && now.since(self.minimum_at) > window / 4 {
            self.observe_later(rtt, now, window);
        }
    }

    /// A sample above the smallest one, which is an old one: those that may take its place are few (after Kathleen
    /// Nichols, as in Linux), not every sample.
    #[inline(never)]
    fn observe_later(&mut self, rtt: Span, now: Time, window: Span) {
        let later = &mut self.later.get_or_insert_default().minima;
        while later.last().is_some_and(|&(_, other)| other >= rtt) {
            later.pop();
        }
        if later.last().is_none_or(|&(at, _)| now.since(at) > window / 4) {
            later.push((now, rtt));
        }
        while now.since(self.minimum_at) > window {
            (self.minimum_at, self.minimum) = if later.is_empty() { (now, rtt) } else { later.remove(0) };
        }
    }

    pub(crate) fn has_sample(&self) -> bool {
        self.has_sample
    }

    /// The retransmission timeout in whole ticks, back-off included, which doubles these.
    pub(crate) fn timeout(&self, timers: &Timers) -> Span {
        let base = self.exact_timeout(timers).ceil_to(timers.tick);
        base.saturating_mul(1 << self.backoff.min(16)).min(timers.rto_max)
    }

    /// The same for a timer, which rounds up to whole ticks by itself once it is due.
    #[inline]
    pub(crate) fn timer(&self, timers: &Timers) -> Span {
        if self.backoff > 0 { self.timeout(timers) } else { self.exact_timeout(timers).min(timers.rto_max) }
    }

    /// A lower bound of [`timer`](Self::timer) after a sample, quickly computed. Variance by rounds is in whole
    /// microseconds.
    #[inline]
    pub(crate) fn least_timer(&self, timers: &Timers) -> Span {
        (self.smoothed + timers.rto_variance_min.saturating_sub(Span::from_micros(1))).min(timers.rto_max)
    }

    #[inline]
    fn exact_timeout(&self, timers: &Timers) -> Span {
        if self.has_sample {
            let variance = match timers.rto_variance {
                Variance::Deviation => (self.variation * 4).max(timers.rto_variance_min),
                Variance::LargestOfRounds => Span::from_micros(self.spread.into()),
            };
            (self.smoothed + variance + timers.rto_slack).max(timers.rto_min)
        } else if self.after_syn {
            timers.rto_after_syn
        } else {
            timers.rto_initial
        }
    }

    /// Doubles the timeout (RFC 6298, 5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }
}

/// True if the receiver delays ACKs, learnt from how many segments its ACKs cover: a counter from 0 to 5, up on an
/// ACK for several segments, down on an ACK for one.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayedAckDetector(u8);

impl DelayedAckDetector {
    /// Notes an ACK for `covered` new segments in order. True if a sample of it may contain the delayed-ACK timer.
    pub fn may_be_delayed(&mut self, covered: u32) -> bool {
        let delays = self.0 > 0;
        match covered {
            0 => false,
            1 => {
                self.0 = self.0.saturating_sub(1);
                delays
            }
            _ => {
                self.0 = (self.0 + 1).min(5);
                false
            }
        }
    }
}

pub(crate) fn micros(span: Span) -> u32 {
    u32::try_from(span.as_nanos() / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{freebsd_9, linux, plain};

    const MS: fn(u64) -> Span = Span::from_millis;

    #[test]
    fn the_timeout_follows_rfc_6298() {
        let mut rtt = RttEstimator::new();
        let timers = Timers { rto_min: MS(1), ..plain().timers };
        assert_eq!(rtt.timeout(&timers), MS(1000), "before the first sample");
        rtt.sample(MS(100));
        assert_eq!(rtt.timeout(&timers), MS(300), "SRTT + 4 * R/2");
        rtt.sample(MS(200));
        // RTTVAR = 3/4 * 50 + 1/4 * 100 = 62.5, SRTT = 7/8 * 100 + 1/8 * 200 = 112.5
        assert_eq!(rtt.timeout(&timers), Span::from_micros(362_500));
        rtt.back_off();
        assert_eq!(rtt.timeout(&timers), MS(725));
        rtt.back_off();
        assert_eq!(rtt.timeout(&timers), MS(1450));
        // RTTVAR = 3/4 * 62.5 + 1/4 * 12.5 = 50, SRTT = 7/8 * 112.5 + 1/8 * 100 = 110.9375
        rtt.sample(MS(100));
        assert_eq!(rtt.timeout(&timers), Span::from_nanos(310_937_500), "a sample ends the back-off");
    }

    #[test]
    fn after_a_syn_that_was_sent_again_the_timeout_is_longer_until_the_first_sample() {
        let mut rtt = RttEstimator::new();
        rtt.open_without_sample();
        assert_eq!(rtt.timeout(&plain().timers), MS(3000));
        rtt.sample(MS(1000));
        assert_eq!(rtt.timeout(&plain().timers), MS(3000), "1 s + 4 * 0.5 s");
        rtt.sample(MS(1000));
        assert_eq!(rtt.timeout(&plain().timers), MS(2500));
    }

    // net/ipv4/tcp_timer.c, tcp_retransmit_timer: icsk_rto, in jiffies, is shifted.
    #[test]
    fn whole_ticks_double() {
        let mut rtt = RttEstimator::new();
        let timers = linux().timers;
        rtt.sample_of_round(MS(41), &timers, 0, 10);
        assert_eq!((rtt.timeout(&timers), rtt.timer(&timers)), (MS(244), MS(241)), "61 ticks");
        rtt.back_off();
        assert_eq!((rtt.timeout(&timers), rtt.timer(&timers)), (MS(488), MS(488)), "not 121, which are 482 ms");
    }

    // net/ipv4/tcp_input.c, tcp_rtt_estimator.
    #[test]
    fn in_linux_the_variance_falls_by_a_quarter_a_round() {
        let mut rtt = RttEstimator::new();
        let timers = linux().timers;
        rtt.sample_of_round(MS(200), &timers, 0, 0);
        assert_eq!(rtt.timer(&timers), MS(600), "200 + 4 * 100");
        // Deviations of zero: 4 * 75, 4 * 56.25, 4 * 42.19 ms. The first round ends with segment 1.
        rtt.sample_of_round(MS(200), &timers, 1, 12);
        assert_eq!(rtt.timer(&timers), MS(600), "the largest of this round was 400");
        rtt.sample_of_round(MS(200), &timers, 2, 13);
        rtt.sample_of_round(MS(200), &timers, 12, 24);
        assert_eq!(rtt.timer(&timers), MS(600), "that of a round ends after 12");
        rtt.sample_of_round(MS(200), &timers, 13, 25);
        // The largest of that round was 225: 400 - 175/4.
        assert_eq!(rtt.timer(&timers), Span::from_micros(556_250));
    }

    #[test]
    fn in_linux_an_rtt_far_below_the_mean_adds_an_eighth_to_the_variance() {
        let mut rtt = RttEstimator::new();
        let timers = linux().timers;
        rtt.sample_of_round(MS(400), &timers, 0, 0);
        for n in 1..60 {
            rtt.sample_of_round(MS(400), &timers, 10 * n, 10 * n + 9);
        }
        assert_eq!(rtt.variation.as_nanos() / 1000, 0);
        // 320 ms less: RFC 6298 adds 80 to the deviation, Linux 10.
        rtt.sample_of_round(MS(80), &timers, 700, 710);
        assert_eq!(rtt.variation.as_nanos() / 1_000_000, 10);
    }

    #[test]
    fn each_stack_keeps_its_own_floor() {
        let mut rtt = RttEstimator::new();
        for n in 0..200 {
            rtt.sample_of_round(MS(40), &linux().timers, n, n + 1);
        }
        assert_eq!(rtt.timeout(&linux().timers), MS(240), "Linux: srtt + 200 ms");
        assert_eq!(rtt.timeout(&freebsd_9().timers), MS(240), "FreeBSD: srtt + 200 ms of slack, 230 at least");
        for _ in 0..200 {
            rtt.sample(MS(10));
        }
        assert_eq!(rtt.timeout(&freebsd_9().timers), MS(230));
    }

    #[test]
    fn the_smallest_rtt_is_forgotten_when_it_leaves_the_window() {
        let at = |s: u64| Time::ZERO + Span::from_secs(s);
        let window = Span::from_secs(100);
        let mut rtt = RttEstimator::new();
        for (s, ms, smallest) in [(0, 40, 40), (20, 60, 40), (30, 70, 40), (40, 50, 40), (60, 80, 40), (70, 55, 40)] {
            rtt.observe(MS(ms), at(s), window);
            assert_eq!(rtt.minimum, MS(smallest), "at {s} s");
        }
        rtt.observe(MS(90), at(100), window);
        assert_eq!(rtt.minimum, MS(40), "100 s old");
        rtt.observe(MS(90), at(101), window);
        assert_eq!(rtt.minimum, MS(50), "that of 40 s");
        rtt.observe(MS(90), at(141), window);
        assert_eq!(rtt.minimum, MS(55), "that of 70 s");
        rtt.observe(MS(54), at(150), window);
        assert_eq!(rtt.minimum, MS(54), "a smaller one");
        rtt.observe(MS(99), at(400), window);
        assert_eq!(rtt.minimum, MS(99), "nothing else is left");
        rtt.observe(MS(200), at(4000), Span::ZERO);
        assert_eq!(rtt.minimum, MS(99), "of the whole connection");
    }

    #[test]
    fn samples_that_may_follow_the_smallest_are_more_than_a_quarter_of_the_window_apart() {
        let at = |s: u64| Time::ZERO + Span::from_secs(s);
        let mut rtt = RttEstimator::new();
        let window = Span::from_secs(40);
        for (ms, s) in [(50, 0), (60, 10), (70, 11), (80, 21), (85, 22)] {
            rtt.observe(MS(ms), at(s), window);
        }
        assert_eq!(rtt.minimum, MS(50));
        rtt.observe(MS(90), at(41), window);
        assert_eq!(rtt.minimum, MS(70), "60 ms came a quarter after the smallest");
        rtt.observe(MS(95), at(52), window);
        assert_eq!(rtt.minimum, MS(85), "80 ms came a quarter after 70 ms");
    }

    #[test]
    fn a_single_segment_ack_is_suspect_only_once_acks_are_known_to_be_delayed() {
        let mut detector = DelayedAckDetector::default();
        assert!(!detector.may_be_delayed(1));
        assert!(!detector.may_be_delayed(2));
        assert!(detector.may_be_delayed(1), "one ACK for two, then one for one");
        assert!(!detector.may_be_delayed(1), "back at zero");
    }

    #[test]
    fn acks_for_several_segments_show_that_acks_are_delayed() {
        let mut detector = DelayedAckDetector::default();
        assert!(!detector.may_be_delayed(1));
        // Six for two segments count five. An ACK that covers nothing in order says nothing.
        assert!([2, 2, 2, 2, 2, 2, 0].iter().all(|&covered| !detector.may_be_delayed(covered)));
        assert_eq!([(); 6].map(|()| detector.may_be_delayed(1)), [true, true, true, true, true, false]);
    }
}
