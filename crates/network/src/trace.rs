//! Recorded links: the trace format of Mahimahi's `mm-link`, and its delivery opportunities one after the other.

use std::fmt;
use std::sync::Arc;

use units::packet::MTU;
use units::{Bytes, Rate, Span, Time};

/// The bytes that one line of a trace delivers.
pub const OPPORTUNITY: Bytes = MTU;

/// The delivery opportunities of a recorded link, repeated for ever.
///
/// A trace file has a time in milliseconds a line, not decreasing. The time of the last line is the period. Times
/// repeat where several opportunities fall together. Beyond `mm-link`, decimals (kept to the nanosecond), Windows line
/// ends, empty lines and lines that begin with `#` are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Nanoseconds since the start of the period.
    times: Box<[u64]>,
    /// The last of them, above zero.
    period: u64,
}

/// Why a trace could not be read. Displays as a sentence without final stop, to follow the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// A line is not a time.
    NotATime {
        /// Its number, counted from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// A line is earlier than the one before.
    Decreasing {
        /// Its number, counted from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// There is no line with a time.
    Empty,
    /// The last time is zero: the trace would repeat without time passing.
    NoPeriod,
}

/// The part of a line that an error quotes. A file that is no trace may be one line of any length.
fn beginning(text: &str) -> String {
    const MOST: usize = 24;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATime { line, text } => {
                write!(
                    f,
                    "line {line}: `{text}` is not a time in milliseconds: a trace has one number, zero or more, a line"
                )
            }
            Self::Decreasing { line, text } => {
                write!(
                    f,
                    "line {line}: `{text}` is earlier than the line before; the times of a trace must not decrease"
                )
            }
            Self::Empty => f.write_str("the trace is empty: it needs at least one line with a time in milliseconds"),
            Self::NoPeriod => {
                f.write_str("the last time of the trace is 0; it must be above 0, as the trace repeats after it")
            }
        }
    }
}

impl std::error::Error for TraceError {}

impl Trace {
    /// Reads the text of a trace file.
    ///
    /// # Errors
    /// A line that is no time or goes back in time, a trace without lines, or one that ends at 0.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut times = Vec::new();
        let mut period = 0;
        for (line, text) in (1..).zip(text.lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let time = nanos(text).ok_or_else(|| TraceError::NotATime { line, text: beginning(text) })?;
            if time < period {
                return Err(TraceError::Decreasing { line, text: beginning(text) });
            }
            period = time;
            times.push(time);
        }
        match (times.is_empty(), period) {
            (true, _) => Err(TraceError::Empty),
            (false, 0) => Err(TraceError::NoPeriod),
            (false, _) => Ok(Self { times: times.into(), period }),
        }
    }

    /// How many opportunities a period has.
    pub const fn opportunities(&self) -> usize {
        self.times.len()
    }

    /// The time after which the trace repeats.
    pub const fn period(&self) -> Span {
        Span::from_nanos(self.period)
    }

    /// True if a time in the file is no whole millisecond: mm-link writes none such.
    pub fn has_fractions(&self) -> bool {
        self.times.iter().any(|time| time % 1_000_000 != 0)
    }

    /// When the link could send [`OPPORTUNITY`], since the start, period after period, for ever.
    pub fn times(trace: Arc<Self>) -> impl Iterator<Item = Time> {
        let count = trace.times.len();
        (0..).map(move |i: usize| {
            let period = Time::from_nanos(trace.period.saturating_mul((i / count) as u64));
            period + Span::from_nanos(trace.times[i % count])
        })
    }

    /// The rate at which a sender that always has data gets through.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.times.len() as u128 * u128::from(OPPORTUNITY.get()) * 8;
        let rate = bits * 1_000_000_000 / u128::from(self.period);
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// Milliseconds in decimal as nanoseconds, or `None` for anything that is not a time of at most 285 years.
fn nanos(text: &str) -> Option<u64> {
    let nanos = (text.parse::<f64>().ok()? * 1e6).round();
    (0.0..=9e18).contains(&nanos).then_some(nanos as u64)
}

/// Uses up the opportunities of a trace in their order.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    trace: Arc<Trace>,
    mean_rate: Rate,
    /// The start of the period of the next opportunity.
    period_start: u64,
    /// The next opportunity.
    next: usize,
    /// The rest of the opportunity used last.
    left: u64,
}

impl Opportunities {
    pub(crate) fn of(trace: Arc<Trace>) -> Self {
        Self { mean_rate: trace.mean_rate(), trace, period_start: 0, next: 0, left: 0 }
    }

    pub(crate) const fn mean_rate(&self) -> Rate {
        self.mean_rate
    }

    /// Lets everything go by that falls at or before `now`.
    #[inline(never)]
    pub(crate) fn skip_until(&mut self, now: Time) {
        self.left = 0;
        let (now, Trace { times, period }) = (now.as_nanos(), &*self.trace);
        if self.period_start.saturating_add(times[self.next]) > now {
            return;
        }
        // The last opportunity of a period falls on its end: whichever period `now` is in still has one to come.
        let in_period = now % period;
        if now - in_period > self.period_start {
            self.period_start = now - in_period;
            self.next = 0;
        }
        self.next += times[self.next..].partition_point(|&time| time <= in_period);
    }

    /// How many have gone by.
    pub(crate) fn passed(&self) -> u128 {
        let Trace { times, period } = &*self.trace;
        u128::from(self.period_start / period) * times.len() as u128 + self.next as u128
    }

    /// Sends `size`, which waits since before the next opportunity: when the last byte leaves.
    #[inline(never)]
    pub(crate) fn serve(&mut self, start: Time, size: Bytes) -> Time {
        if size.get() <= self.left {
            self.left -= size.get();
            return start;
        }
        let needed = size.get() - self.left;
        let count = needed.div_ceil(OPPORTUNITY.get());
        self.left = (OPPORTUNITY.get() - needed % OPPORTUNITY.get()) % OPPORTUNITY.get();
        self.skip(count - 1);
        let finish = self.period_start.saturating_add(self.trace.times[self.next]);
        self.skip(1);
        Time::from_nanos(finish)
    }

    #[inline]
    fn skip(&mut self, count: u64) {
        let length = self.trace.times.len() as u64;
        let mut next = (self.next as u64).saturating_add(count);
        if next >= length {
            self.period_start = self.period_start.saturating_add(self.trace.period.saturating_mul(next / length));
            next %= length;
        }
        self.next = next as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn opportunities(text: &str) -> Opportunities {
        Opportunities::of(Arc::new(Trace::parse(text).unwrap()))
    }

    #[test]
    fn times_go_on_in_the_next_period() {
        let trace = Arc::new(Trace::parse("0\n2\n5").unwrap());
        let millis = Trace::times(trace).map(|time| time.as_nanos() / 1_000_000);
        assert_eq!(millis.take(7).collect::<Vec<_>>(), [0, 2, 5, 5, 7, 10, 10]);
    }

    #[test]
    fn a_trace_knows_its_period_its_opportunities_and_its_mean_rate() {
        // Four times 12000 bits in 10 ms.
        let trace = Trace::parse("# a comment\r\n0\r\n\r\n2.5\r\n2.5\r\n10\r\n").unwrap();
        assert_eq!((trace.opportunities(), trace.period()), (4, Span::from_millis(10)));
        assert_eq!(trace.mean_rate(), Rate::from_bits_per_second(4_800_000));
        assert_eq!(&trace.times[..], [0, 2_500_000, 2_500_000, 10_000_000]);
        assert_eq!(Trace::parse("123456.789012").unwrap().period(), Span::from_nanos(123_456_789_012));
    }

    #[test]
    fn a_bad_trace_is_refused_with_the_line() {
        let error = |text| Trace::parse(text).unwrap_err();
        assert_eq!(error("1\n# no\nx2"), TraceError::NotATime { line: 3, text: "x2".into() });
        let long = format!("1\n{}", "é".repeat(1_000_000));
        assert_eq!(error(&long), TraceError::NotATime { line: 2, text: format!("{}…", "é".repeat(24)) });
        assert_eq!(error("1\n\n0.5"), TraceError::Decreasing { line: 3, text: "0.5".into() });
        for text in ["-1", "nan", "inf", "1e300", "1 2"] {
            assert_eq!(error(text), TraceError::NotATime { line: 1, text: text.into() });
        }
        assert_eq!((error("# nothing\n"), error("0\n0")), (TraceError::Empty, TraceError::NoPeriod));
        assert!(error("x").to_string().starts_with("line 1: `x` is not a time in milliseconds"));
    }

    #[test]
    fn a_trace_repeats_after_its_last_time() {
        let mut trace = opportunities("3\n10");
        let mut at = Time::ZERO;
        let finishes = [(); 5].map(|()| {
            at = trace.serve(at, OPPORTUNITY);
            at
        });
        assert_eq!(finishes, [ms(3), ms(10), ms(13), ms(20), ms(23)]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let mut trace = opportunities("3\n4\n4\n10");
        // `500 + 700` bytes fit into the first. Of the next 500, 300 do.
        assert_eq!(trace.serve(ms(0), Bytes::new(500)), ms(3));
        assert_eq!(trace.serve(ms(3), Bytes::new(700)), ms(3));
        assert_eq!(trace.serve(ms(3), Bytes::new(500)), ms(4));
        // 1300 bytes are left of the first at 4 ms, then the second one, then 200 of the 1500 bytes at 10 ms.
        assert_eq!(trace.serve(ms(4), Bytes::new(3000)), ms(10));
        assert_eq!(trace.serve(ms(10), Bytes::new(1300)), ms(10));
        assert_eq!(trace.serve(ms(10), Bytes::new(1)), ms(13));
    }

    #[test]
    fn what_an_idle_link_does_not_use_is_lost() {
        let mut trace = opportunities("0\n4\n4\n10");
        // An opportunity at the instant of arrival is too late.
        trace.skip_until(ms(0));
        assert_eq!(trace.serve(ms(0), Bytes::new(100)), ms(4));
        trace.skip_until(ms(4));
        assert_eq!(trace.serve(ms(4), Bytes::new(100)), ms(10));
        // 10 ms is also the 0 of the second period.
        assert_eq!(trace.serve(ms(10), OPPORTUNITY), ms(10));
        assert_eq!(trace.serve(ms(10), OPPORTUNITY), ms(14));
        trace.skip_until(ms(14));
        assert_eq!(trace.serve(ms(14), OPPORTUNITY), ms(20));
    }

    #[test]
    fn a_leap_over_many_periods_is_exact() {
        let mut trace = opportunities("3\n4\n10");
        trace.skip_until(ms(86_400_004));
        assert_eq!(trace.serve(ms(86_400_004), OPPORTUNITY), ms(86_400_010));
        // 3000 opportunities are 1000 periods.
        assert_eq!(trace.serve(ms(86_400_010), OPPORTUNITY * 3000), ms(86_410_010));
        trace.skip_until(Time::from_nanos(u64::MAX - 1));
        assert_eq!(trace.serve(Time::from_nanos(u64::MAX - 1), OPPORTUNITY * 10), Time::NEVER);
    }
}
