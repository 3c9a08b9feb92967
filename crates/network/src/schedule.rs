//! Rates that hold piece by piece, and transmission at them to the fraction of a nanosecond.

use units::{Bytes, Rate, Span, Time};

/// The work of sending `size`: its bits times 10^9, so that a rate in bits per second does `rate` of it in a
/// nanosecond.
#[inline]
pub(crate) fn bit_nanos(size: Bytes) -> u128 {
    u128::from(size.get()) * 8_000_000_000
}

/// Rates that hold piece by piece. Exact: the rest of the nanosecond in which a packet's last bit is sent belongs to
/// the next packet. So a busy link sends at its rate however the sizes divide. Only the reported finish is cut to the
/// nanosecond.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    steps: Box<[(Time, Rate)]>,
    /// The piece in which the last packet finishes.
    serving: Piece,
    /// The piece of the last time asked for the rate.
    present: Piece,
    /// Work of the nanosecond of the last finish that is used up. Less than the rate.
    used: u64,
    /// The last packet's time, as neighbours are mostly of one size: divisions are slow.
    packet: PacketTime,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
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

    /// One rate.
    pub(crate) fn fixed(rate: Rate) -> Self {
        Self::new(Piece { rate: rate.bits_per_second(), until: Time::NEVER, next: 0 }, Vec::new())
    }

    /// # Panics
    /// If the steps are not in order of time.
    pub(crate) fn steps(steps: Vec<(Time, Rate)>) -> Self {
        assert!(steps.is_sorted_by_key(|step| step.0), "the steps of a rate must be in order of time");
        let until = steps.first().map_or(Time::NEVER, |step| step.0);
        Self::new(Piece { rate: 0, until, next: 0 }, steps)
    }

    /// Nothing waited from `idle_since` until `now`.
    #[inline]
    pub(crate) fn resume(&mut self, idle_since: Time, now: Time) {
        if idle_since < now {
            self.used = 0;
        }
    }

    /// Serves `size` from `start`, not before the last finish: when its last bit leaves.
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

    /// The rate of `now`, whatever is being served. Asked in order of time.
    pub(crate) fn rate_at(&mut self, now: Time) -> Rate {
        self.present.advance_to(now, &self.steps);
        Rate::from_bits_per_second(self.present.rate)
    }

    /// The work that it can do, from the start on, before anything is served.
    pub(crate) fn work(self) -> Work {
        Work { steps: self.steps, piece: self.present, until: Time::ZERO }
    }
}

/// How much work the rates of a schedule do as time passes, whether or not there is anything to send.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    steps: Box<[(Time, Rate)]>,
    piece: Piece,
    /// Counted up to here.
    until: Time,
}

impl Work {
    /// The work between the last time asked and `now`. Asked in order of time.
    pub(crate) fn advance(&mut self, now: Time) -> u128 {
        let Self { steps, piece, until } = self;
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
        let mut schedule = Schedule::fixed(mbit(10));
        assert_eq!(schedule.serve(ms(5), FULL), Time::from_nanos(6_200_000));
    }

    #[test]
    fn what_a_packet_leaves_of_a_nanosecond_is_not_lost() {
        // 40 bytes at 100 Gbit/s: 3.2 ns each, 16 ns for five.
        let mut schedule = Schedule::fixed(mbit(100_000));
        let mut at = Time::ZERO;
        let finishes = [(); 5].map(|()| {
            // An arrival at the very instant of the last finish is no pause.
            schedule.resume(at, at);
            at = schedule.serve(at, Bytes::new(40));
            at.as_nanos()
        });
        assert_eq!(finishes, [3, 6, 9, 12, 16]);
        // After a pause it starts anew.
        schedule.serve(at, Bytes::new(40));
        schedule.resume(Time::from_nanos(19), Time::from_nanos(30));
        assert_eq!(schedule.serve(Time::from_nanos(30), Bytes::new(40)), Time::from_nanos(33));
    }

    #[test]
    fn a_step_in_mid_packet_applies_to_the_rest_of_its_bits() {
        // 12000 bits: 4000 until 2 ms at 2 Mbit/s, 4000 until 6 ms at 1 Mbit/s, 4000 in 0.4 ms at 10 Mbit/s.
        let steps = vec![(Time::ZERO, mbit(2)), (ms(2), mbit(1)), (ms(6), mbit(10))];
        let mut schedule = Schedule::steps(steps);
        assert_eq!(schedule.serve(Time::ZERO, Bytes::ZERO), Time::ZERO);
        let finish = schedule.serve(Time::ZERO, FULL);
        assert_eq!(finish, Time::from_nanos(6_400_000));
        // The last step holds.
        assert_eq!(schedule.serve(finish, FULL), Time::from_nanos(7_600_000));
    }

    #[test]
    fn a_packet_that_ends_with_its_step_does_not_see_the_next() {
        let steps = vec![(Time::ZERO, mbit(12)), (ms(1), Rate::default()), (ms(9), mbit(6))];
        let mut schedule = Schedule::steps(steps);
        assert_eq!(schedule.serve(Time::ZERO, FULL), ms(1));
        assert_eq!(schedule.serve(ms(1), FULL), ms(11));
    }

    #[test]
    fn the_fraction_of_a_nanosecond_that_a_step_cuts_off_is_sent_after_it() {
        // 300 of 320 bits fit into 3 ns at 100 Gbit/s. The rest takes 0.2 ns after the outage.
        let (begin, end) = (Time::from_nanos(3), Time::from_nanos(10));
        let steps = vec![(Time::ZERO, mbit(100_000)), (begin, Rate::default()), (end, mbit(100_000))];
        let mut schedule = Schedule::steps(steps);
        assert_eq!(schedule.serve(Time::ZERO, Bytes::new(40)), end);
    }

    #[test]
    fn an_outage_stops_a_packet_half_way() {
        // 6000 bits in 0.5 ms, nothing until 100 ms, the other 6000 bits in 0.5 ms.
        let half = Time::from_nanos(500_000);
        let steps = vec![(Time::ZERO, mbit(12)), (half, Rate::default()), (ms(100), mbit(12))];
        let mut schedule = Schedule::steps(steps);
        assert_eq!(schedule.serve(Time::ZERO, FULL), Time::from_nanos(100_500_000));
    }

    #[test]
    fn after_a_last_step_to_zero_nothing_leaves() {
        for steps in
            [vec![(Time::ZERO, mbit(12)), (ms(1), Rate::default())], vec![(Time::ZERO, Rate::default())], vec![]]
        {
            let mut schedule = Schedule::steps(steps);
            assert_eq!(schedule.serve(ms(1), FULL), Time::NEVER);
        }
        assert_eq!(Schedule::fixed(Rate::default()).serve(ms(1), FULL), Time::NEVER);
        assert_eq!(Schedule::fixed(mbit(1)).serve(ms(1), Bytes::new(u64::MAX)), Time::NEVER);
    }

    #[test]
    fn before_the_first_step_the_link_is_down() {
        let mut schedule = Schedule::steps(vec![(ms(10), mbit(12))]);
        assert_eq!(schedule.serve(Time::ZERO, FULL), ms(11));
    }

    #[test]
    #[should_panic(expected = "in order of time")]
    fn steps_out_of_order_are_refused() {
        Schedule::steps(vec![(ms(1), mbit(1)), (Time::ZERO, mbit(2))]);
    }
}
