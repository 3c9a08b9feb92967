//! The server of a link: when the last bit of a packet leaves, given when its service starts.

use std::sync::Arc;

use units::{Bytes, Rate, Span, Time};

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
    /// packet applies to the bits still to be sent. Zero is an outage, and the link is also down before the first step;
    /// the last step holds for ever.
    Steps(Vec<(Time, Rate)>),
    /// As a token bucket lets packets through.
    Shaped(TokenBucket),
    /// At the opportunities of a recorded trace: each delivers up to [`OPPORTUNITY`](crate::OPPORTUNITY) bytes of what
    /// waits at its instant, so several small packets may share one and a large packet may need several. What an
    /// opportunity has left when the queue is empty is lost, and a packet that arrives at the very instant of one is
    /// too late for it.
    Trace(Arc<Trace>),
}

impl Service {
    /// The rate by which a queue before it is measured: the first above 0 of steps, the mean of a trace; `None` if it
    /// is unlimited.
    pub fn nominal(&self) -> Option<Rate> {
        match self {
            Self::Unlimited => None,
            Self::Fixed(rate) => Some(*rate),
            Self::Steps(steps) => steps.iter().map(|&(_, rate)| rate).find(|rate| !rate.is_zero()),
            Self::Trace(trace) => Some(trace.mean_rate()),
            Self::Shaped(bucket) => Some(bucket.rate),
        }
    }

    /// When it sends nothing at all, in order; a last outage ends at [`Time::NEVER`].
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
    /// Of `service`, nothing yet.
    pub fn new(service: &Service) -> Self {
        Self { capacity: Capacity::new(service), work: 0 }
    }

    /// The bytes that could have left by `now`; `None` if unlimited. Asked in order of time.
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

    /// Serves `size` from `start`: when its last bit leaves.
    #[inline]
    pub(crate) fn serve(&mut self, start: Time, size: Bytes) -> Time {
        match self {
            Self::Unlimited => start,
            Self::Schedule(schedule) => schedule.serve(start, size),
            Self::Trace(opportunities) => opportunities.serve(start, size),
            Self::Shaped(shaper) => shaper.serve(start, size),
        }
    }

    /// Whether `size` would take longer than `span` at the rate of `now`. Asked in order of time.
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

/// The work of sending `size`: its bits times 10^9, so that a rate in bits per second does `rate` of it in a
/// nanosecond.
#[inline]
pub(crate) fn bit_nanos(size: Bytes) -> u128 {
    u128::from(size.get()) * 8_000_000_000
}

/// Rates that hold piece by piece. Exact: what a packet leaves of the nanosecond in which its last bit is sent belongs
/// to the next one, so a busy link sends at its rate however the sizes divide; only the reported finish is cut to the
/// nanosecond.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    steps: Box<[(Time, Rate)]>,
    /// The piece in which the last packet finishes.
    serving: Piece,
    /// The piece of the last time asked for the rate.
    present: Piece,
    /// Work of the nanosecond of the last finish that is used up; less than the rate.
    used: u64,
    /// The last packet's time, as neighbours are mostly of one size: divisions are slow.
    packet: PacketTime,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    rate: u64,
    until: Time,
    /// The step that ends it.
    next: usize,
}

#[derive(Clone, Copy, Debug)]
struct PacketTime {
    size: Bytes,
    rate: u64,
    nanos: u64,
    /// Work left over, less than the rate.
    rest: u64,
}

impl Piece {
    #[inline(never)]
    fn advance(&mut self, steps: &[(Time, Rate)]) {
        self.rate = steps[self.next].1.bits_per_second();
        self.next += 1;
        self.until = steps.get(self.next).map_or(Time::NEVER, |step| step.0);
    }

    #[inline]
    fn advance_to(&mut self, now: Time, steps: &[(Time, Rate)]) {
        while self.until <= now && self.next < steps.len() {
            self.advance(steps);
        }
    }
}

impl PacketTime {
    #[cold]
    fn of(size: Bytes, rate: u64) -> Self {
        let (nanos, rest) = match u128::from(rate) {
            0 => (u64::MAX, 0),
            wide => (u64::try_from(bit_nanos(size) / wide).unwrap_or(u64::MAX), (bit_nanos(size) % wide) as u64),
        };
        Self { size, rate, nanos, rest }
    }
}

impl Schedule {
    fn new(first: Piece, steps: Vec<(Time, Rate)>) -> Self {
        Self {
            steps: steps.into(),
            serving: first,
            present: first,
            used: 0,
            packet: PacketTime::of(Bytes::ZERO, first.rate),
        }
    }

    pub(crate) fn fixed(rate: Rate) -> Self {
        Self::new(Piece { rate: rate.bits_per_second(), until: Time::NEVER, next: 0 }, Vec::new())
    }

    fn steps(steps: Vec<(Time, Rate)>) -> Self {
        assert!(steps.is_sorted_by_key(|step| step.0), "the steps of a rate must be in order of time");
        let until = steps.first().map_or(Time::NEVER, |step| step.0);
        Self::new(Piece { rate: 0, until, next: 0 }, steps)
    }

    #[inline]
    pub(crate) fn resume(&mut self, idle_since: Time, now: Time) {
        if idle_since < now {
            self.used = 0;
        }
    }

    #[inline]
    pub(crate) fn serve(&mut self, start: Time, size: Bytes) -> Time {
        self.serving.advance_to(start, &self.steps);
        let rate = self.serving.rate;
        if self.packet.size != size || self.packet.rate != rate {
            self.packet = PacketTime::of(size, rate);
        }
        let PacketTime { nanos, rest, .. } = self.packet;
        let (nanos, used) = if self.used >= rate - rest {
            (nanos.saturating_add(1), self.used - (rate - rest))
        } else {
            (nanos, self.used + rest)
        };
        let finish = start + Span::from_nanos(nanos);
        if finish < self.serving.until {
            self.used = used;
            return finish;
        }
        self.serve_across_steps(start, size)
    }

    #[cold]
    fn serve_across_steps(&mut self, start: Time, size: Bytes) -> Time {
        let mut work = bit_nanos(size) + u128::from(self.used);
        let mut at = start;
        loop {
            let Piece { rate, until, next } = self.serving;
            let rate = u128::from(rate);
            let room = rate * u128::from(until.since(at).as_nanos());
            if work <= room {
                // No room, no work: a packet without bytes takes no time even in an outage.
                let (nanos, used) = if work == 0 { (0, 0) } else { (work / rate, work % rate) };
                self.used = used as u64;
                return at + Span::from_nanos(nanos as u64);
            }
            if next == self.steps.len() {
                self.used = 0;
                return Time::NEVER;
            }
            work -= room;
            at = until;
            self.serving.advance(&self.steps);
        }
    }

    fn rate_at(&mut self, now: Time) -> Rate {
        self.present.advance_to(now, &self.steps);
        Rate::from_bits_per_second(self.present.rate)
    }
}

/// How much a service can send as time passes, whether or not there is anything to send. Asked in order of time.
#[derive(Clone, Debug)]
pub(crate) enum Capacity {
    Unlimited,
    Schedule {
        steps: Box<[(Time, Rate)]>,
        piece: Piece,
        /// Counted up to here.
        until: Time,
    },
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
        Self::Schedule { steps: schedule.steps, piece: schedule.present, until: Time::ZERO }
    }

    /// What could be sent between the last time asked and `now`, in bits times 10^9. Zero where nothing ever waits.
    pub(crate) fn advance(&mut self, now: Time) -> u128 {
        match self {
            Self::Unlimited => 0,
            Self::Schedule { steps, piece, until } => {
                let mut work = 0;
                loop {
                    let to = piece.until.min(now);
                    work += u128::from(piece.rate) * u128::from(to.since(*until).as_nanos());
                    *until = to.max(*until);
                    if piece.until > now || piece.next == steps.len() {
                        return work;
                    }
                    piece.advance(steps);
                }
            }
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
    fn a_full_packet_takes_1200_us_at_10_mbit() {
        let mut server = Server::new(Service::Fixed(mbit(10)));
        assert_eq!(server.serve(ms(5), FULL), Time::from_nanos(6_200_000));
    }

    #[test]
    fn what_a_packet_leaves_of_a_nanosecond_is_not_lost() {
        // 40 bytes at 100 Gbit/s: 3.2 ns each, 16 ns for five.
        let mut server = Server::new(Service::Fixed(mbit(100_000)));
        let mut at = Time::ZERO;
        let finishes = [(); 5].map(|()| {
            // An arrival at the very instant of the last finish is no pause.
            server.resume(at, at);
            at = server.serve(at, Bytes::new(40));
            at.as_nanos()
        });
        assert_eq!(finishes, [3, 6, 9, 12, 16]);
        // After a pause it starts anew.
        server.serve(at, Bytes::new(40));
        server.resume(Time::from_nanos(19), Time::from_nanos(30));
        assert_eq!(server.serve(Time::from_nanos(30), Bytes::new(40)), Time::from_nanos(33));
    }

    #[test]
    fn a_step_in_mid_packet_applies_to_the_rest_of_its_bits() {
        // 12000 bits: 4000 until 2 ms at 2 Mbit/s, 4000 until 6 ms at 1 Mbit/s, 4000 in 0.4 ms at 10 Mbit/s.
        let steps = vec![(Time::ZERO, mbit(2)), (ms(2), mbit(1)), (ms(6), mbit(10))];
        let mut server = Server::new(Service::Steps(steps));
        assert_eq!(server.serve(Time::ZERO, Bytes::ZERO), Time::ZERO);
        let finish = server.serve(Time::ZERO, FULL);
        assert_eq!(finish, Time::from_nanos(6_400_000));
        // The last step holds.
        assert_eq!(server.serve(finish, FULL), Time::from_nanos(7_600_000));
    }

    #[test]
    fn a_packet_that_ends_with_its_step_does_not_see_the_next() {
        let steps = vec![(Time::ZERO, mbit(12)), (ms(1), Rate::default()), (ms(9), mbit(6))];
        let mut server = Server::new(Service::Steps(steps));
        assert_eq!(server.serve(Time::ZERO, FULL), ms(1));
        assert_eq!(server.serve(ms(1), FULL), ms(11));
    }

    #[test]
    fn the_fraction_of_a_nanosecond_that_a_step_cuts_off_is_sent_after_it() {
        // 300 of 320 bits fit into 3 ns at 100 Gbit/s; the rest takes 0.2 ns after the outage.
        let (begin, end) = (Time::from_nanos(3), Time::from_nanos(10));
        let steps = vec![(Time::ZERO, mbit(100_000)), (begin, Rate::default()), (end, mbit(100_000))];
        let mut server = Server::new(Service::Steps(steps));
        assert_eq!(server.serve(Time::ZERO, Bytes::new(40)), end);
    }

    #[test]
    fn an_outage_stops_a_packet_half_way() {
        // 6000 bits in 0.5 ms, nothing until 100 ms, the other 6000 bits in 0.5 ms.
        let half = Time::from_nanos(500_000);
        let steps = vec![(Time::ZERO, mbit(12)), (half, Rate::default()), (ms(100), mbit(12))];
        let mut server = Server::new(Service::Steps(steps));
        assert_eq!(server.serve(Time::ZERO, FULL), Time::from_nanos(100_500_000));
    }

    #[test]
    fn after_a_last_step_to_zero_nothing_leaves() {
        for steps in
            [vec![(Time::ZERO, mbit(12)), (ms(1), Rate::default())], vec![(Time::ZERO, Rate::default())], vec![]]
        {
            let mut server = Server::new(Service::Steps(steps));
            assert_eq!(server.serve(ms(1), FULL), Time::NEVER);
        }
        assert_eq!(Server::new(Service::Fixed(Rate::default())).serve(ms(1), FULL), Time::NEVER);
        assert_eq!(Server::new(Service::Fixed(mbit(1))).serve(ms(1), Bytes::new(u64::MAX)), Time::NEVER);
    }

    #[test]
    fn before_the_first_step_the_link_is_down() {
        let mut server = Server::new(Service::Steps(vec![(ms(10), mbit(12))]));
        assert_eq!(server.serve(Time::ZERO, FULL), ms(11));
    }

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
    #[should_panic(expected = "in order of time")]
    fn steps_out_of_order_are_refused() {
        Server::new(Service::Steps(vec![(ms(1), mbit(1)), (Time::ZERO, mbit(2))]));
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
