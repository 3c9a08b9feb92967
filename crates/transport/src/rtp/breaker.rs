//! The circuit breaker of a media flow (RFC 8083), which stops a sender that its controller does not hold back.
//!
//! | breaker | stops the flow |
//! | --- | --- |
//! | RTCP timeout (section 4.1) | after three intervals of 5 s without a report |
//! | media timeout (section 4.2) | after [`Breaker::media_timeout`] reports in a row without a new packet |
//! | congestion (section 4.3) | if above ten times the rate of a TCP in [`Breaker::congestion_interval`] reports |
//!
//! An interval of the breaker stands for one RTCP report: feedback within it counts together. If none arrives, the
//! interval goes on until one does. Media usability (section 4.4) is the application's.

use std::collections::VecDeque;

use units::{Span, Time};

/// Td with Tmin = 5 s: the interval of reports that the timeout counts (section 4.1).
const LONGEST_INTERVAL: Span = Span::from_secs(5);
/// Intervals without a report that are a timeout (section 4.1).
const TIMEOUT_INTERVALS: u64 = 3;
/// k, the reports without progress after which the path has failed (section 4.2).
const WITHOUT_PROGRESS: f64 = 5.0;
/// A flow may send at this multiple of the rate of a TCP (section 4.3, "order of magnitude").
const MULTIPLE: f64 = 10.0;

/// The condition that stopped a flow, by its number in RFC 8083.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Reports stayed away (section 4.1).
    RtcpTimeout = 1,
    /// Reports came and no packet had arrived (section 4.2).
    MediaTimeout = 2,
    /// The rate is far above a TCP's (section 4.3).
    Congestion = 3,
}

/// The packets of one interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    sent: u32,
    delivered: u32,
    lost: u32,
    reports: u32,
    length: Span,
    /// The RTT at its end.
    rtt: Span,
}

impl Interval {
    /// The share of its packets that were lost, as its report says.
    fn fraction_lost(&self) -> f64 {
        f64::from(self.lost) / f64::from((self.lost + self.delivered).max(1))
    }
}

/// The breaker of one sender.
#[derive(Clone, Debug)]
pub(super) struct Breaker {
    /// Tdr.
    interval: Span,
    /// G Tf: the time in which the encoder can change its rate, a frame.
    frame: Span,
    current: Interval,
    /// The last ones with a report, at most those of [`LONGEST_INTERVAL`] times [`TIMEOUT_INTERVALS`].
    closed: VecDeque<Interval>,
    /// Intervals with a report, and how many of the last ones the next check of congestion looks at.
    reported: u32,
    congestion_interval: u32,
    without_progress: u32,
    closes_at: Time,
    timeout_at: Time,
}

impl Breaker {
    /// A breaker for reports each `interval` of an encoder that makes a frame in each time of `frame`.
    pub(super) fn new(interval: Span, frame: Span) -> Self {
        let mut new = Self {
            interval,
            frame,
            current: Interval::default(),
            closed: VecDeque::new(),
            reported: 0,
            congestion_interval: 0,
            without_progress: 0,
            closes_at: Time::NEVER,
            timeout_at: Time::NEVER,
        };
        new.congestion_interval = new.congestion_interval(Span::ZERO);
        new
    }

    /// A packet leaves.
    pub(super) fn on_sent(&mut self, now: Time) {
        if self.closes_at == Time::NEVER {
            self.closes_at = now + self.interval;
            self.timeout_at = now + LONGEST_INTERVAL * TIMEOUT_INTERVALS;
        }
        self.current.sent += 1;
    }

    /// A report arrives: so many packets are `delivered` and deemed `lost` by it.
    pub(super) fn on_report(&mut self, now: Time, delivered: u32, lost: u32) {
        self.timeout_at = now + LONGEST_INTERVAL * TIMEOUT_INTERVALS;
        self.current.reports += 1;
        self.current.delivered += delivered;
        self.current.lost += lost;
    }

    /// When it has to be looked at.
    pub(super) fn deadline(&self) -> Time {
        self.closes_at.min(self.timeout_at)
    }

    /// Closes the interval that ends by now, at an RTT of `rtt`. Says which condition stops the flow, if one does.
    pub(super) fn check(&mut self, now: Time, rtt: Span) -> Option<Stopped> {
        if now >= self.timeout_at {
            return Some(Stopped::RtcpTimeout);
        }
        if now < self.closes_at {
            return None;
        }
        self.closes_at = now + self.interval;
        self.current.length += self.interval;
        if self.current.reports == 0 {
            return None;
        }
        let closed = Interval { rtt, ..std::mem::take(&mut self.current) };
        if closed.delivered > 0 {
            self.without_progress = 0;
        } else if closed.sent > 0 {
            self.without_progress += 1;
        }
        self.closed.push_back(closed);
        self.reported += 1;
        let is_congested = self.is_congested();
        self.congestion_interval = self.congestion_interval(rtt);
        if self.without_progress >= self.media_timeout(rtt) {
            return Some(Stopped::MediaTimeout);
        }
        is_congested.then_some(Stopped::Congestion)
    }

    /// MEDIA_TIMEOUT = ceil(k max(Tf, Tr, Tdr) / Tdr) (section 4.2).
    fn media_timeout(&self, rtt: Span) -> u32 {
        let longest = self.frame.max(rtt).max(self.interval);
        (WITHOUT_PROGRESS * longest.as_secs_f64() / self.interval.as_secs_f64()).ceil() as u32
    }

    /// CB_INTERVAL = ceil(3 min(max(10 G Tf, 10 Tr, 3 Tdr), max(15, 3 Td)) / (3 Tdr)) (section 4.3).
    fn congestion_interval(&self, rtt: Span) -> u32 {
        let wanted = (self.frame * 10).max(rtt * 10).max(self.interval * 3);
        let most = LONGEST_INTERVAL * TIMEOUT_INTERVALS;
        (wanted.min(most).as_secs_f64() / self.interval.as_secs_f64()).ceil() as u32
    }

    /// True if more packets left in the last intervals than ten times those of a TCP with the same losses and RTT,
    /// 1 / (Tr sqrt(2 p / 3)) a second. The fraction lost p is the mean over time of those that are reported.
    fn is_congested(&mut self) -> bool {
        let most = LONGEST_INTERVAL.as_secs_f64() * TIMEOUT_INTERVALS as f64 / self.interval.as_secs_f64();
        self.closed.drain(..self.closed.len().saturating_sub(most.ceil() as usize));
        let count = self.congestion_interval as usize;
        if self.reported as usize <= count || self.closed.len() < count {
            return false;
        }
        let judged = || self.closed.range(self.closed.len() - count..);
        let time: f64 = judged().map(|one| one.length.as_secs_f64()).sum();
        let lost = judged().map(|one| one.fraction_lost() * one.length.as_secs_f64()).sum::<f64>() / time;
        let rtt = judged().map(|one| one.rtt.as_secs_f64()).sum::<f64>() / count as f64;
        let rate = judged().map(|one| f64::from(one.sent)).sum::<f64>() / time;
        rate * rtt * (2.0 * lost / 3.0).sqrt() > MULTIPLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Intervals of a second, from 0 on: so many packets leave, arrive and are lost in each. The first that stops.
    fn stops(breaker: &mut Breaker, (sent, delivered, lost): (u32, u32, u32), rtt: Span) -> Option<(u64, Stopped)> {
        (0..30).find_map(|second| {
            (0..sent).for_each(|_| breaker.on_sent(at(1000 * second)));
            if delivered + lost > 0 {
                breaker.on_report(at(1000 * second + 500), delivered, lost);
            }
            breaker.check(at(1000 * second + 1000), rtt).map(|stopped| (second + 1, stopped))
        })
    }

    fn breaker() -> Breaker {
        Breaker::new(Span::from_secs(1), Span::from_millis(40))
    }

    #[test]
    fn ten_times_the_rate_of_a_tcp_stops_it_after_more_than_three_reports() {
        // Half is lost: a TCP has 1 / (0.2 sqrt(1/3)) = 8.66 packets a second at 200 ms, and 17.3 at 100 ms.
        let ms = Span::from_millis;
        assert_eq!(stops(&mut breaker(), (100, 50, 50), ms(200)), Some((4, Stopped::Congestion)));
        assert_eq!(stops(&mut breaker(), (86, 43, 43), ms(200)), None);
        assert_eq!(stops(&mut breaker(), (100, 50, 50), ms(100)), None);
        // Ten RTTs of 450 ms are five intervals.
        assert_eq!(stops(&mut breaker(), (100, 50, 50), ms(450)), Some((6, Stopped::Congestion)));
        // Without loss no rate is too high.
        assert_eq!(stops(&mut breaker(), (10_000, 10_000, 0), ms(450)), None);
    }

    #[test]
    fn one_bad_report_among_good_ones_does_not_stop_it() {
        let mut breaker = breaker();
        for second in 0..9 {
            (0..100).for_each(|_| breaker.on_sent(at(1000 * second)));
            let lost = if second % 3 == 0 { 50 } else { 0 };
            breaker.on_report(at(1000 * second + 500), 100 - lost, lost);
            // A sixth is lost: a TCP has 1 / (0.2 / 3) = 15 packets a second.
            assert_eq!(breaker.check(at(1000 * second + 1000), Span::from_millis(200)), None);
        }
    }

    #[test]
    fn each_report_counts_by_its_time_and_not_by_its_packets() {
        let mut breaker = breaker();
        let mut second = |(sent, lost): (u32, u32), at_second: u64| {
            (0..sent).for_each(|_| breaker.on_sent(at(1000 * at_second)));
            breaker.on_report(at(1000 * at_second + 500), sent - lost, lost);
            breaker.check(at(1000 * at_second + 1000), Span::from_millis(200))
        };
        // Fractions of 0, 0 and 1/2: a sixth. A TCP has 15 packets a second, and 600 in 3 s are more than ten times as
        // many. By packets a thirtieth is lost: 33.5 packets a second.
        let found = [(280, 0), (280, 0), (280, 0), (40, 20)].into_iter().zip(0..).map(|(one, at)| second(one, at));
        assert_eq!(found.collect::<Vec<_>>(), [None, None, None, Some(Stopped::Congestion)]);
    }

    #[test]
    fn an_interval_goes_on_until_a_report_arrives() {
        let mut breaker = breaker();
        let found = (0..10).find_map(|second| {
            (0..100).for_each(|_| breaker.on_sent(at(1000 * second)));
            if second % 2 == 1 {
                breaker.on_report(at(1000 * second + 500), 100, 100);
            }
            breaker.check(at(1000 * second + 1000), Span::from_millis(200)).map(|stopped| (second + 1, stopped))
        });
        assert_eq!(found, Some((8, Stopped::Congestion)), "the fourth report");
    }

    #[test]
    fn five_reports_without_a_new_packet_stop_it() {
        let mut breaker = breaker();
        for second in 0..5 {
            breaker.on_sent(at(1000 * second));
            breaker.on_report(at(1000 * second + 500), 0, 0);
            let expected = (second == 4).then_some(Stopped::MediaTimeout);
            assert_eq!(breaker.check(at(1000 * second + 1000), Span::from_millis(100)), expected);
        }
        // With an RTT of 1.1 s they are six.
        assert_eq!(breaker.media_timeout(Span::from_millis(1100)), 6);
    }

    #[test]
    fn fifteen_seconds_without_a_report_stop_it() {
        assert_eq!(stops(&mut breaker(), (10, 0, 0), Span::from_millis(100)), Some((15, Stopped::RtcpTimeout)));
        // A flow that has sent nothing is not looked at.
        assert_eq!(breaker().deadline(), Time::NEVER);
    }

    #[test]
    fn reports_of_fifteen_seconds_count_however_short_their_intervals() {
        // 10 RTTs of 200 ms are 20 intervals of 100 ms. Half of 100 packets a second is lost.
        let mut breaker = Breaker::new(Span::from_millis(100), Span::from_millis(40));
        let found = (0..300).find_map(|interval| {
            (0..10).for_each(|_| breaker.on_sent(at(100 * interval)));
            breaker.on_report(at(100 * interval + 50), 5, 5);
            breaker.check(at(100 * interval + 100), Span::from_millis(200)).map(|stopped| (interval + 1, stopped))
        });
        assert_eq!(found, Some((21, Stopped::Congestion)));
    }
}
