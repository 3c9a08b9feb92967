//! Round-trip time: the estimator and the retransmission timeout (RFC 6298), and who delays ACKs.

use units::{Span, Time};

use crate::Timers;

/// The smallest RTTs seen since the smallest one, at least a quarter of the window apart, in order.
#[derive(Clone, Debug, Default)]
struct Later {
    minima: Vec<(Time, Span)>,
}

/// Smoothed RTT, its variation, and the retransmission timeout.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    pub(crate) smoothed: Span,
    pub(crate) variation: Span,
    pub(crate) minimum: Span,
    /// When the smallest RTT was seen.
    minimum_at: Time,
    /// Candidates for its place, once the smallest RTT is old.
    later: Option<Box<Later>>,
    pub(crate) latest: Span,
    pub(crate) backoff: u32,
    has_sample: bool,
}

impl RttEstimator {
    pub(crate) fn new() -> Self {
        Self {
            smoothed: Span::ZERO,
            variation: Span::ZERO,
            minimum: Span::MAX,
            minimum_at: Time::ZERO,
            later: None,
            latest: Span::ZERO,
            backoff: 0,
            has_sample: false,
        }
    }

    /// Takes a sample for the timeout (RFC 6298, 2.2 and 2.3); only that ends a back-off (Karn's algorithm).
    pub(crate) fn sample(&mut self, rtt: Span) {
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

    /// Notes the sample that controllers see, at `now`; the smallest one is that of the last `window`, or with zero of
    /// the whole connection.
    #[inline]
    pub(crate) fn observe(&mut self, rtt: Span, now: Time, window: Span) {
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

    /// The smallest RTT as far as it is known: before the first sample of data that of the handshake.
    pub(crate) fn shortest(&self) -> Span {
        if self.minimum == Span::MAX && self.has_sample { self.smoothed } else { self.minimum }
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

    #[inline]
    fn exact_timeout(&self, timers: &Timers) -> Span {
        if self.has_sample {
            let variance = (self.variation * 4).max(timers.rto_variance_min);
            (self.smoothed + variance + timers.rto_slack).max(timers.rto_min)
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
pub(crate) struct DelayedAckDetector(u8);

impl DelayedAckDetector {
    /// Notes an ACK for `covered` new segments in order; says whether a sample of it may contain the delayed-ACK timer.
    pub(crate) fn may_be_delayed(&mut self, covered: u32) -> bool {
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

/// The RTT between two readings of a clock with `tick`.
pub(crate) fn on_clock(sent: Time, now: Time, tick: Span) -> Span {
    now.floor_to(tick).since(sent.floor_to(tick))
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
        // RTTVAR = 3/4 * 50 + 1/4 * 100 = 62.5; SRTT = 7/8 * 100 + 1/8 * 200 = 112.5
        assert_eq!(rtt.timeout(&timers), Span::from_micros(362_500));
        rtt.back_off();
        assert_eq!(rtt.timeout(&timers), MS(725));
        rtt.back_off();
        assert_eq!(rtt.timeout(&timers), MS(1450));
        // RTTVAR = 3/4 * 62.5 + 1/4 * 12.5 = 50; SRTT = 7/8 * 112.5 + 1/8 * 100 = 110.9375
        rtt.sample(MS(100));
        assert_eq!(rtt.timeout(&timers), Span::from_nanos(310_937_500), "a sample ends the back-off");
    }

    // net/ipv4/tcp_timer.c, tcp_retransmit_timer: icsk_rto, in jiffies, is shifted.
    #[test]
    fn whole_ticks_double() {
        let mut rtt = RttEstimator::new();
        let timers = linux().timers;
        rtt.sample(MS(41));
        assert_eq!((rtt.timeout(&timers), rtt.timer(&timers)), (MS(244), MS(241)), "61 ticks");
        rtt.back_off();
        assert_eq!((rtt.timeout(&timers), rtt.timer(&timers)), (MS(488), MS(488)), "not 121, which are 482 ms");
    }

    #[test]
    fn each_stack_keeps_its_own_floor() {
        let mut rtt = RttEstimator::new();
        for _ in 0..200 {
            rtt.sample(MS(40));
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
        // Six for two segments count five; an ACK that covers nothing in order says nothing.
        assert!([2, 2, 2, 2, 2, 2, 0].iter().all(|&covered| !detector.may_be_delayed(covered)));
        assert_eq!([(); 6].map(|()| detector.may_be_delayed(1)), [true, true, true, true, true, false]);
    }
}
