//! The pace of an application: a stepwise rate turned into instants at which it writes.

use units::{Bytes, Distribution, Random, Rate, Span, Time};

/// A stepwise rate turned into instants at which units of `size` are written.
#[derive(Clone, Debug)]
pub struct Pace {
    steps: Vec<(Time, Rate)>,
    size: Bytes,
    /// All that is written: bytes, and the units they make, the last of which may be short.
    pub(super) bytes: Option<Bytes>,
    total: Option<u64>,
    written: u64,
    /// When the next unit is complete.
    next: Time,
    step: usize,
    started: bool,
    /// The rest of the nanosecond in which the last unit was complete, below 1.
    rest: f64,
    /// The spacing is random: exponential, with the mean that the rate gives.
    poisson: Option<Random>,
    /// The rate is nothing in between.
    periods: Option<Box<Periods>>,
}

/// The on and off periods of a source, by turns. It begins on.
#[derive(Clone, Debug)]
pub struct Periods {
    on: Distribution<Span>,
    off: Distribution<Span>,
    random: Random,
    /// The state at this time stays.
    last: Time,
    is_on: bool,
    /// When the present period ends.
    until: Time,
}

impl Periods {
    /// Periods with lengths drawn from `random`, none of them after `last`.
    pub fn new(on: Distribution<Span>, off: Distribution<Span>, random: Random, last: Time) -> Self {
        Self { on, off, random, last, is_on: false, until: Time::NEVER }
    }

    /// The other period begins at `now`.
    fn turn(&mut self, now: Time) {
        self.is_on = !self.is_on;
        let distribution = if self.is_on { &self.on } else { &self.off };
        // At least a nanosecond, or time would not advance with a distribution of nearly nothing but zeros.
        let length = distribution.draw(&mut self.random).max(Span::from_nanos(1));
        self.until = if now < self.last { now + length } else { Time::NEVER };
    }
}

impl Pace {
    /// Units of `size` at the rates of `steps` (ascending times), at most `total` bytes. The first unit is written
    /// at the start, or when the rate is first positive.
    pub fn new(steps: Vec<(Time, Rate)>, size: Bytes, total: Option<Bytes>) -> Self {
        let units = total.map(|t| t.get().div_ceil(size.get().max(1)));
        Self {
            steps,
            size,
            bytes: total,
            total: units,
            written: 0,
            next: Time::NEVER,
            step: 0,
            started: false,
            rest: 0.0,
            poisson: None,
            periods: None,
        }
    }

    /// The same mean rate as a Poisson process: the spacing between units is exponentially distributed.
    #[must_use]
    pub fn poisson(self, random: Random) -> Self {
        Self { poisson: Some(random), ..self }
    }

    /// The same rate in on periods only. A unit that is incomplete at the end of one goes on in the next.
    #[must_use]
    pub fn with_periods(self, periods: Periods) -> Self {
        Self { periods: Some(Box::new(periods)), ..self }
    }

    /// Begins at `now`.
    pub fn start(&mut self, now: Time) {
        self.started = true;
        self.next = now;
        if let Some(periods) = &mut self.periods {
            periods.turn(now);
        }
        self.change_until(now);
        if self.rate().is_zero() {
            self.next = self.after_outage();
        }
    }

    fn rate(&self) -> Rate {
        let off = self.periods.as_ref().is_some_and(|periods| !periods.is_on);
        self.steps.get(self.step).filter(|_| !off).map_or(Rate::default(), |s| s.1)
    }

    /// When the rate may change next.
    fn changes_at(&self) -> Time {
        let step = self.steps.get(self.step + 1).map_or(Time::NEVER, |s| s.0);
        self.periods.as_ref().map_or(step, |periods| step.min(periods.until))
    }

    /// It does, at `at`.
    fn change(&mut self, at: Time) {
        self.step += usize::from(self.steps.get(self.step + 1).is_some_and(|s| s.0 <= at));
        if let Some(periods) = self.periods.as_mut().filter(|periods| periods.until <= at) {
            periods.turn(at);
        }
    }

    fn change_until(&mut self, to: Time) {
        while self.changes_at() <= to && self.changes_at() != Time::NEVER {
            self.change(self.changes_at());
        }
    }

    /// The next instant at which the rate is positive.
    fn after_outage(&mut self) -> Time {
        let mut at = self.next;
        while self.rate().is_zero() {
            at = self.changes_at();
            if at == Time::NEVER {
                break;
            }
            self.change(at);
        }
        at
    }

    /// Units written by `now`, counted no further than one beyond `enough`.
    pub fn written(&mut self, now: Time, enough: u64) -> u64 {
        while self.written <= enough && self.next <= now && self.total.is_none_or(|t| self.written < t) {
            self.written += 1;
            let at = self.next;
            self.next = self.after(at);
        }
        self.written
    }

    /// True if unit `number` was written, as far as was asked.
    pub(crate) fn has_written(&self, number: u64) -> bool {
        number < self.written
    }

    /// True if unit `number` is the last that was written by `now`.
    pub(super) fn is_last_written(&self, number: u64, now: Time) -> bool {
        number + 1 == self.written && self.next > now
    }

    /// When the next unit is written.
    pub fn next_write(&self) -> Option<Time> {
        let more = self.total.is_none_or(|t| self.written < t);
        (self.started && more && self.next != Time::NEVER).then_some(self.next)
    }

    /// When the unit after one written at `at` is complete: the rate may change meanwhile.
    fn after(&mut self, at: Time) -> Time {
        self.change_until(at);
        let units = self.poisson.as_mut().map_or(1.0, Random::exponential);
        let mut left = self.size.get() as f64 * 8.0 * units;
        let mut from = at;
        loop {
            let rate = self.rate().bits_per_second() as f64;
            let end = self.changes_at();
            if rate > 0.0 {
                let nanos = left / rate * 1e9 + self.rest;
                let due = from + Span::from_nanos(nanos as u64);
                if due <= end {
                    self.rest = nanos.fract();
                    return due;
                }
                left -= rate * (end.since(from).as_secs_f64() - self.rest / 1e9);
            }
            if end == Time::NEVER {
                return Time::NEVER;
            }
            from = end;
            self.rest = 0.0;
            self.change(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: fn(u64) -> Time = |s| Time::from_nanos(s * 1_000_000_000);

    #[test]
    fn a_stepwise_rate_writes_units_at_the_instants_worked_out_by_hand() {
        // 1000 bytes = 8000 bits: at 8 kbit/s one a second, and from 2.5 s at 16 kbit/s.
        let steps =
            vec![(Time::ZERO, "8kbit".parse().unwrap()), (Time::from_nanos(2_500_000_000), "16kbit".parse().unwrap())];
        let mut pace = Pace::new(steps, Bytes::new(1000), None);
        pace.start(Time::ZERO);
        let mut instants = Vec::new();
        for _ in 0..5 {
            let at = pace.next_write().unwrap();
            instants.push(at.as_secs_f64());
            pace.written(at, u64::MAX - 1);
        }
        // 0, 1, 2, then half a unit by 2.5 s and the other half in 0.25 s, then every 0.5 s.
        assert_eq!(instants, [0.0, 1.0, 2.0, 2.75, 3.25]);
    }

    #[test]
    fn a_poisson_source_keeps_the_mean_rate_and_varies_as_much_as_its_mean() {
        let steps = vec![(Time::ZERO, "8mbit".parse().unwrap())]; // 1000 bytes a millisecond
        let mut pace = Pace::new(steps, Bytes::new(1000), None).poisson(Random::stream(1, "test", 0));
        pace.start(Time::ZERO);
        let mut last = pace.next_write().unwrap();
        pace.written(last, u64::MAX - 1);
        let gaps: Vec<f64> = (0..20_000)
            .map(|_| {
                let at = pace.next_write().unwrap();
                pace.written(at, u64::MAX - 1);
                let gap = at.since(last).as_millis_f64();
                last = at;
                gap
            })
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.06, "{variance}");
    }

    /// The instants in seconds at which units of 1000 bytes are written at 8 kbit/s until 12 s.
    fn instants(mut pace: Pace) -> Vec<f64> {
        pace.start(Time::ZERO);
        let mut instants = Vec::new();
        while let Some(at) = pace.next_write().filter(|&at| at < SECOND(12)) {
            instants.push(at.as_secs_f64());
            pace.written(at, u64::MAX - 1);
        }
        instants
    }

    fn second_a_unit() -> Pace {
        Pace::new(vec![(Time::ZERO, "8kbit".parse().unwrap())], Bytes::new(1000), None)
    }

    #[test]
    fn a_source_with_periods_writes_while_it_is_on_and_makes_up_for_what_a_unit_lacked() {
        let length = |ms| Distribution::Constant(Span::from_millis(ms));
        let periods = Periods::new(length(2500), length(2000), Random::stream(1, "test", 0), SECOND(12));
        // On until 2.5 s, from 4.5 s to 7 s, from 9 s to 11.5 s. Half a unit is done by 2.5 s, and the rest takes until
        // 5 s.
        assert_eq!(instants(second_a_unit().with_periods(periods)), [0.0, 1.0, 2.0, 5.0, 6.0, 7.0, 10.0, 11.0]);
    }

    #[test]
    fn periods_end_with_the_last_time_they_are_asked_for() {
        let length = Distribution::Constant(SECOND(2).since(Time::ZERO));
        let periods = Periods::new(length, length, Random::stream(1, "test", 0), SECOND(3));
        // On until 2 s, off until 4 s, on from then on.
        let expected = [0.0, 1.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0];
        assert_eq!(instants(second_a_unit().with_periods(periods)), expected);
    }

    #[test]
    fn periods_of_no_time_pass() {
        let nothing = Distribution::Constant(Span::ZERO);
        let periods = Periods::new(nothing, nothing, Random::stream(1, "test", 0), Time::from_nanos(1000));
        // On and off for a nanosecond by turns, until the 501st on period stays: a second's work, half a
        // microsecond of it done.
        let mut pace = second_a_unit().with_periods(periods);
        pace.start(Time::ZERO);
        assert_eq!(pace.written(Time::ZERO, u64::MAX - 1), 1);
        assert_eq!(pace.next_write(), Some(Time::from_nanos(1_000_000_500)));
    }

    #[test]
    fn drawn_periods_give_the_rate_their_share_of_the_time() {
        // On a quarter of the time: 2 Mbit/s of 8 Mbit/s, 250 units of 1000 bytes a second.
        let span = |text: &str| Distribution::Exponential(text.parse().unwrap());
        for poisson in [false, true] {
            let periods = Periods::new(span("100ms"), span("300ms"), Random::stream(1, "test", 0), SECOND(4000));
            let steps = vec![(Time::ZERO, "8mbit".parse().unwrap())];
            let mut pace = Pace::new(steps, Bytes::new(1000), None).with_periods(periods);
            if poisson {
                pace = pace.poisson(Random::stream(2, "test", 0));
            }
            pace.start(Time::ZERO);
            let written = pace.written(SECOND(4000), u64::MAX - 1) as f64;
            // 10,000 turns: the standard error is 1.1 %.
            assert!((written / 1e6 - 1.0).abs() < 0.03, "{written}");
        }
    }

    #[test]
    fn an_outage_postpones_and_a_total_ends_the_writing() {
        let steps = vec![(Time::ZERO, Rate::default()), (SECOND(3), "8kbit".parse().unwrap())];
        let mut pace = Pace::new(steps, Bytes::new(1000), Some(Bytes::new(1500)));
        pace.start(Time::ZERO);
        assert_eq!(pace.next_write(), Some(SECOND(3)));
        assert_eq!(pace.written(SECOND(100), 9), 2);
        assert_eq!(pace.next_write(), None);
    }

    #[test]
    fn a_source_that_starts_late_begins_with_the_rate_of_that_time() {
        // 8 kbit/s, from 2 s on 16 kbit/s: a unit each half second from 3 s on.
        let steps = vec![(Time::ZERO, "8kbit".parse().unwrap()), (SECOND(2), "16kbit".parse().unwrap())];
        let mut pace = Pace::new(steps, Bytes::new(1000), None);
        assert_eq!(pace.next_write(), None);
        pace.start(SECOND(3));
        assert_eq!((pace.written(SECOND(3), 9), pace.next_write()), (1, Some(Time::from_nanos(3_500_000_000))));
        assert_eq!([0, 1].map(|number| pace.has_written(number)), [true, false]);
        // Counts one beyond `enough` at most.
        assert_eq!((pace.written(SECOND(9), 2), pace.written(SECOND(9), 4)), (3, 5));
    }

    #[test]
    fn fractions_of_a_nanosecond_add_up() {
        // A byte at 3.2 Gbit/s takes 2.5 ns.
        let mut pace = Pace::new(vec![(Time::ZERO, "3200mbit".parse().unwrap())], Bytes::new(1), None);
        pace.start(Time::ZERO);
        let mut instants = Vec::new();
        for _ in 0..7 {
            let at = pace.next_write().unwrap();
            instants.push(at.as_nanos());
            pace.written(at, u64::MAX - 1);
        }
        assert_eq!(instants, [0, 2, 5, 7, 10, 12, 15]);
    }

    #[test]
    fn outages_in_a_row_pass_and_one_without_end_writes_nothing() {
        let zero = Rate::default();
        let steps = vec![(Time::ZERO, zero), (SECOND(1), zero), (SECOND(3), "8kbit".parse().unwrap())];
        let mut pace = Pace::new(steps, Bytes::new(1000), None);
        pace.start(Time::ZERO);
        assert_eq!(pace.next_write(), Some(SECOND(3)));
        let mut never = Pace::new(vec![(Time::ZERO, zero)], Bytes::new(1000), None);
        never.start(Time::ZERO);
        assert_eq!((never.next_write(), never.written(SECOND(9), 9)), (None, 0));
    }
}
