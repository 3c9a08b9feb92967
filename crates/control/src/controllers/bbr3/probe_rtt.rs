//! BBR.min_rtt and the visits to ProbeRTT (sections 5.3.4 and 5.5.7).

use units::{Span, Time};

/// BBR.MinRTTFilterLen.
const MIN_RTT_FILTER_LEN: Span = Span::from_secs(10);
/// BBR.ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
/// BBR.ProbeRTTDuration.
const PROBE_RTT_DURATION: Span = Span::from_millis(200);

/// The smallest RTT, and when it was last seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    min_rtt: Span,
    stamp: Time,
    probe_min_delay: Span,
    probe_min_stamp: Time,
    expired: bool,
}

impl MinRtt {
    pub(super) const fn new() -> Self {
        let (min_rtt, stamp) = (Span::MAX, Time::ZERO);
        Self { min_rtt, stamp, probe_min_delay: min_rtt, probe_min_stamp: stamp, expired: false }
    }

    /// The connection begins.
    pub(super) fn start(&mut self, now: Time) {
        (self.stamp, self.probe_min_stamp) = (now, now);
    }

    /// The handshake took `rtt`.
    pub(super) fn set(&mut self, rtt: Span) {
        self.min_rtt = rtt;
    }

    /// BBR.min_rtt; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Span> {
        (self.min_rtt != Span::MAX).then_some(self.min_rtt)
    }

    /// BBR.probe_rtt_expired: no smaller RTT was seen for the interval of ProbeRTT.
    pub(super) fn is_expired(&self) -> bool {
        self.expired
    }

    /// UpdateMinRTT().
    pub(super) fn update(&mut self, now: Time, rtt: Option<Span>) {
        self.expired = now > self.probe_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = rtt
            && (rtt < self.probe_min_delay || self.expired)
        {
            (self.probe_min_delay, self.probe_min_stamp) = (rtt, now);
        }
        if self.probe_min_delay < self.min_rtt || now > self.stamp + MIN_RTT_FILTER_LEN {
            (self.min_rtt, self.stamp) = (self.probe_min_delay, self.probe_min_stamp);
        }
    }

    /// ProbeRTT is over.
    pub(super) fn schedule_next(&mut self, now: Time) {
        self.probe_min_stamp = now;
    }
}

/// A visit to ProbeRTT.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeRtt {
    done_stamp: Option<Time>,
    round_done: bool,
    /// The range of delivered counts in the last visit. Segments that left at these counts do not show the bandwidth.
    held_back: (u64, u64),
    idle_restart: bool,
}

impl ProbeRtt {
    pub(super) const fn new() -> Self {
        Self { done_stamp: None, round_done: false, held_back: (u64::MAX, 0), idle_restart: false }
    }

    /// Sending resumed, and nothing was delivered since (BBR.idle_restart).
    pub(super) fn is_idle_restart(&self) -> bool {
        self.idle_restart
    }

    /// Sending resumes, or a segment was delivered since.
    pub(super) fn set_idle_restart(&mut self, idle_restart: bool) {
        self.idle_restart = idle_restart;
    }

    /// EnterProbeRTT(), when so many are `delivered`.
    pub(super) fn enter(&mut self, delivered: u64) {
        self.done_stamp = None;
        self.held_back.0 = delivered;
    }

    /// MarkConnectionAppLimited(): the segments sent up to now do not show the bandwidth.
    pub(super) fn hold_back(&mut self, sent: u64) {
        self.held_back.1 = sent;
    }

    /// Whether a segment that left when so many were delivered does not show the bandwidth.
    pub(super) fn is_held_back(&self, prior_delivered: u64) -> bool {
        (self.held_back.0..=self.held_back.1).contains(&prior_delivered)
    }

    /// Whether the data in flight have come down to the window.
    pub(super) fn is_drained(&self) -> bool {
        self.done_stamp.is_some()
    }

    /// They have come down `now`.
    pub(super) fn drain(&mut self, now: Time) {
        self.done_stamp = Some(now + PROBE_RTT_DURATION);
        self.round_done = false;
    }

    /// Whether a round trip has passed since.
    pub(super) fn is_round_done(&mut self, round_begins: bool) -> bool {
        self.round_done |= round_begins;
        self.round_done
    }

    /// Whether the time has passed.
    pub(super) fn is_done(&self, now: Time) -> bool {
        self.done_stamp.is_some_and(|done| now > done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_rtt_expires_later_than_five_seconds_after_it_was_seen() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let rtt = |ms| Some(Span::from_millis(ms));
        let mut least = MinRtt::new();
        least.start(at(0));
        assert_eq!(least.get(), None);
        for (now, sample, expired, expected) in [
            (10, 40, false, 40),
            (20, 41, false, 40),
            // An equal one does not renew it.
            (30, 40, false, 40),
            (5010, 45, false, 40),
            (5011, 45, true, 40),
            // The one that was seen at the expiry takes the place of the first after ten seconds.
            (10_010, 50, false, 40),
            (10_011, 50, false, 45),
        ] {
            least.update(at(now), rtt(sample));
            assert_eq!((least.is_expired(), least.get()), (expired, rtt(expected)), "{now}");
        }
    }
}
