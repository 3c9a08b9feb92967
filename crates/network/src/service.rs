//! The server of a link: when the last bit of a packet leaves, given when its service starts.

use std::sync::Arc;

use units::{Bytes, Rate, Span, Time};

use crate::schedule::{Schedule, Work, bit_nanos};
use crate::shaper::{Shaper, TokenBucket};
use crate::trace::{OPPORTUNITY, Opportunities, Trace};

/// How fast a link serves.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// At once: nothing ever waits.
    Unlimited,
    /// At one rate.
    Fixed(Rate),
    /// At the rate of the latest step, each given with the time from which it holds, in order of time. A step in mid
    /// packet applies to the bits still to be sent. Zero is an outage, and the link is also down before the first step.
    /// The last step holds for ever.
    Steps(Vec<(Time, Rate)>),
    /// As a token bucket lets packets through.
    Shaped(TokenBucket),
    /// At the opportunities of a recorded trace: each delivers up to [`OPPORTUNITY`](crate::OPPORTUNITY) bytes of the
    /// packets that wait at its instant, so several small packets may share one and a large packet may need several.
    /// The rest of an opportunity is lost when the queue is empty, and a packet that arrives at the very instant of one
    /// is too late for it.
    Trace(Arc<Trace>),
}

impl Service {
    /// The rate by which a queue before it is measured: the first above 0 of steps, the mean of a trace, or `None` if
    /// it is unlimited.
    pub fn nominal(&self) -> Option<Rate> {
        match self {
            Self::Unlimited => None,
            Self::Fixed(rate) => Some(*rate),
            Self::Steps(steps) => steps.iter().map(|&(_, rate)| rate).find(|rate| !rate.is_zero()),
            Self::Trace(trace) => Some(trace.mean_rate()),
            Self::Shaped(bucket) => Some(bucket.rate),
        }
    }

    /// When it sends nothing at all, in order. A last outage ends at [`Time::NEVER`].
    pub fn outages(&self) -> Vec<(Time, Time)> {
        let Self::Steps(steps) = self else { return Vec::new() };
        let before = std::iter::once((Time::ZERO, Rate::default()));
        let begins = before.chain(steps.iter().copied());
        let ends = steps.iter().map(|step| step.0).chain([Time::NEVER]);
        let pieces = begins.zip(ends).map(|((begin, rate), end)| (begin, end, rate));
        pieces.filter(|(begin, end, rate)| begin < end && *rate == Rate::default()).map(|(b, e, _)| (b, e)).collect()
    }
}

/// How much a service could have sent since the start.
#[derive(Clone, Debug)]
pub struct Offered {
    capacity: Capacity,
    /// In bits times 10^9.
    work: u128,
}

impl Offered {
    /// The state of `service` before anything is served.
    pub fn new(service: &Service) -> Self {
        Self { capacity: Capacity::new(service), work: 0 }
    }

    /// The bytes that could have left by `now`, or `None` if unlimited. Asked in order of time.
    pub fn bytes_by(&mut self, now: Time) -> Option<f64> {
        self.work += self.capacity.advance(now);
        (!matches!(self.capacity, Capacity::Unlimited)).then(|| self.work as f64 / 8e9)
    }
}

/// A service at work. Starts come in order of time, none before the previous finish.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    Unlimited,
    Schedule(Schedule),
    Trace(Opportunities),
    Shaped(Box<Shaper>),
}

impl Server {
    pub(crate) fn new(service: Service) -> Self {
        match service {
            Service::Unlimited => Self::Unlimited,
            Service::Fixed(rate) => Self::Schedule(Schedule::fixed(rate)),
            Service::Steps(steps) => Self::Schedule(Schedule::steps(steps)),
            Service::Trace(trace) => Self::Trace(Opportunities::of(trace)),
            Service::Shaped(bucket) => Self::Shaped(Box::new(Shaper::new(bucket))),
        }
    }

    /// Nothing waited from `idle_since` until `now`, when a packet arrives: what could have been sent meanwhile is
    /// lost.
    #[inline]
    pub(crate) fn resume(&mut self, idle_since: Time, now: Time) {
        match self {
            Self::Unlimited | Self::Shaped(_) => {}
            Self::Schedule(schedule) => schedule.resume(idle_since, now),
            Self::Trace(opportunities) => opportunities.skip_until(now),
        }
    }

    /// The bytes that may leave at `now` in addition to the rate: the tokens of a bucket.
    pub(crate) fn stock(&self, now: Time) -> Bytes {
        match self {
            Self::Shaped(shaper) => shaper.stock(now),
            Self::Unlimited | Self::Schedule(_) | Self::Trace(_) => Bytes::ZERO,
        }
    }

    /// Serves `size` from `start`: when its last bit leaves.
    #[inline(always)]
    pub(crate) fn serve(&mut self, start: Time, size: Bytes) -> Time {
        match self {
            Self::Unlimited => start,
            Self::Schedule(schedule) => schedule.serve(start, size),
            Self::Trace(opportunities) => opportunities.serve(start, size),
            Self::Shaped(shaper) => shaper.serve(start, size),
        }
    }

    /// True if `size` would take longer than `span` at the rate of `now`. Asked in order of time.
    #[inline(never)]
    pub(crate) fn takes_longer(&mut self, now: Time, size: Bytes, span: Span) -> bool {
        let rate = match self {
            Self::Unlimited => return false,
            Self::Schedule(schedule) => schedule.rate_at(now),
            Self::Trace(opportunities) => opportunities.mean_rate(),
            Self::Shaped(shaper) => shaper.rate(),
        };
        bit_nanos(size) > u128::from(rate.bits_per_second()) * u128::from(span.as_nanos())
    }
}

/// How much a service can send as time passes, whether or not there is anything to send. Asked in order of time.
#[derive(Clone, Debug)]
pub(crate) enum Capacity {
    Unlimited,
    Schedule(Work),
    Trace(Opportunities),
}

impl Capacity {
    pub(crate) fn new(service: &Service) -> Self {
        let schedule = match service {
            Service::Unlimited => return Self::Unlimited,
            Service::Trace(trace) => return Self::Trace(Opportunities::of(Arc::clone(trace))),
            Service::Fixed(rate) => Schedule::fixed(*rate),
            Service::Shaped(bucket) => Schedule::fixed(bucket.rate),
            Service::Steps(steps) => Schedule::steps(steps.clone()),
        };
        Self::Schedule(schedule.work())
    }

    /// The possible work between the last time asked and `now`, in bits times 10^9. Zero if nothing ever waits.
    pub(crate) fn advance(&mut self, now: Time) -> u128 {
        match self {
            Self::Unlimited => 0,
            Self::Schedule(work) => work.advance(now),
            Self::Trace(opportunities) => {
                let before = opportunities.passed();
                opportunities.skip_until(now);
                bit_nanos(OPPORTUNITY) * (opportunities.passed() - before)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn mbit(n: u64) -> Rate {
        Rate::from_mbit(n)
    }

    const FULL: Bytes = Bytes::new(1500);

    #[test]
    fn the_time_to_send_is_judged_by_the_rate_of_the_moment() {
        let steps = vec![(Time::ZERO, mbit(12)), (ms(5), Rate::default()), (ms(9), mbit(6))];
        let mut server = Server::new(Service::Steps(steps));
        // A packet that is under way from 4.5 to 10 ms does not change what holds now.
        assert_eq!(server.serve(Time::from_nanos(4_500_000), FULL), ms(10));
        assert!(!server.takes_longer(ms(4), FULL, Span::from_millis(1)));
        assert!(server.takes_longer(ms(4), Bytes::new(1501), Span::from_millis(1)));
        assert!(server.takes_longer(ms(5), Bytes::new(1), Span::from_secs(1000)));
        assert!(!server.takes_longer(ms(5), Bytes::ZERO, Span::ZERO));
        assert!(!server.takes_longer(ms(9), FULL, Span::from_millis(2)));
        assert!(server.takes_longer(ms(9), FULL, Span::from_nanos(1_999_999)));
    }

    #[test]
    fn capacity_is_what_the_schedule_could_have_sent_meanwhile() {
        // 3 ms without service, 4 ms at 10 Mbit/s, an outage: 40 000 bits.
        let steps = vec![(ms(3), mbit(10)), (ms(7), Rate::default())];
        let mut capacity = Capacity::new(&Service::Steps(steps));
        let bits = [2, 4, 5, 50, 90].map(|millis| capacity.advance(ms(millis)) / 1_000_000_000);
        assert_eq!(bits, [0, 10_000, 10_000, 20_000, 0]);
        let mut capacity = Capacity::new(&Service::Fixed(mbit(10)));
        assert_eq!([3, 3, 4].map(|millis| capacity.advance(ms(millis)) / 1_000_000_000), [30_000, 0, 10_000]);
    }

    #[test]
    fn capacity_of_a_trace_is_its_opportunities() {
        // At 2, 2 and 5 ms, then at 7, 7 and 10 ms: 12 000 bits each.
        let trace = Trace::parse("2\n2\n5\n").unwrap();
        let mut capacity = Capacity::new(&Service::Trace(Arc::new(trace)));
        let opportunities = [1, 2, 4, 5, 9, 25].map(|millis| capacity.advance(ms(millis)) / 12_000_000_000_000);
        assert_eq!(opportunities, [0, 2, 0, 1, 2, 10]);
    }

    #[test]
    fn outages_are_the_pieces_without_a_rate() {
        let steps = vec![(ms(3), mbit(10)), (ms(7), Rate::default()), (ms(8), mbit(1)), (ms(9), Rate::default())];
        let outages = Service::Steps(steps).outages();
        assert_eq!(outages, [(Time::ZERO, ms(3)), (ms(7), ms(8)), (ms(9), Time::NEVER)]);
        assert_eq!(Service::Steps(vec![(Time::ZERO, mbit(1))]).outages(), []);
        assert_eq!(Service::Fixed(mbit(1)).outages(), []);
    }

    #[test]
    fn what_could_have_left_adds_up() {
        // 10 Mbit/s: 1250 bytes a millisecond.
        let mut offered = Offered::new(&Service::Fixed(mbit(10)));
        assert_eq!([1, 1, 3].map(|millis| offered.bytes_by(ms(millis))), [Some(1250.0), Some(1250.0), Some(3750.0)]);
        assert_eq!(Offered::new(&Service::Unlimited).bytes_by(ms(1)), None);
    }
}
