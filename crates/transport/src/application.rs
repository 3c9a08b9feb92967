//! What the application gives the sender to send.

use units::{Bytes, Random, Rate, Span, Time};

/// The application above a sender.
#[derive(Clone, Debug)]
pub enum Application {
    /// Always has data (FTP, netperf).
    Greedy,
    /// Has this much, from the start.
    Finite(Bytes),
    /// Writes a segment's payload at a time, at a rate that changes stepwise.
    Paced(Pace),
}

/// A stepwise rate turned into instants at which units of `size` are written.
#[derive(Clone, Debug)]
pub struct Pace {
    steps: Vec<(Time, Rate)>,
    size: Bytes,
    /// All that is written: bytes, and the units they make, the last of which may be short.
    bytes: Option<Bytes>,
    total: Option<u64>,
    written: u64,
    /// When the next unit is complete.
    next: Time,
    step: usize,
    started: bool,
    /// What is over of the nanosecond in which the last unit was complete; less than one.
    rest: f64,
    /// The spacing is random: exponential, with the mean that the rate gives.
    poisson: Option<Random>,
}

impl Pace {
    /// Units of `size` at the rates of `steps` (ascending times), at most `total` bytes. The first unit is written at the start, or
    /// when the rate is first positive.
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
        }
    }

    /// The same mean rate as a Poisson process: the spacing between units is exponentially distributed.
    #[must_use]
    pub fn poisson(self, random: Random) -> Self {
        Self { poisson: Some(random), ..self }
    }

    /// All that is written, if it ends.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        self.bytes
    }

    /// Begins at `now`.
    pub fn start(&mut self, now: Time) {
        self.started = true;
        self.next = now;
        self.advance_step(now);
        if self.rate_at().is_zero() {
            self.next = self.after_outage();
        }
    }

    fn rate_at(&self) -> Rate {
        self.steps.get(self.step).map_or(Rate::default(), |s| s.1)
    }

    fn advance_step(&mut self, to: Time) {
        while self.steps.get(self.step + 1).is_some_and(|s| s.0 <= to) {
            self.step += 1;
        }
    }

    /// The next instant at which the rate is positive.
    fn after_outage(&mut self) -> Time {
        while self.rate_at().is_zero() {
            match self.steps.get(self.step + 1) {
                Some(s) => {
                    let at = s.0;
                    self.step += 1;
                    if !self.rate_at().is_zero() {
                        return at;
                    }
                }
                None => return Time::NEVER,
            }
        }
        self.next
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

    /// When the next unit is written.
    pub fn next_write(&self) -> Option<Time> {
        let more = self.total.is_none_or(|t| self.written < t);
        (self.started && more && self.next != Time::NEVER).then_some(self.next)
    }

    /// When the unit after one written at `at` is complete: the rate may change meanwhile.
    fn after(&mut self, at: Time) -> Time {
        self.advance_step(at);
        let units = self.poisson.as_mut().map_or(1.0, Random::exponential);
        let mut left = self.size.get() as f64 * 8.0 * units;
        let mut from = at;
        loop {
            let rate = self.rate_at().bits_per_second() as f64;
            let end = self.steps.get(self.step + 1).map_or(Time::NEVER, |s| s.0);
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
            self.step += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: fn(u64) -> Time = |s| Time::from_nanos(s * 1_000_000_000);

    #[test]
    fn a_stepwise_rate_writes_units_at_the_instants_worked_out_by_hand() {
        // 1000 bytes = 8000 bits: at 8 kbit/s one a second; from 2.5 s at 16 kbit/s.
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

    #[test]
    fn an_outage_postpones_and_a_total_ends_the_writing() {
        let steps = vec![(Time::ZERO, Rate::default()), (SECOND(3), "8kbit".parse().unwrap())];
        let mut pace = Pace::new(steps, Bytes::new(1000), Some(Bytes::new(1500)));
        pace.start(Time::ZERO);
        assert_eq!(pace.next_write(), Some(SECOND(3)));
        assert_eq!(pace.written(SECOND(100), 9), 2);
        assert_eq!(pace.next_write(), None);
    }
}
