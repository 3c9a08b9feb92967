//! Recorded media: the times and sizes of an application's writes, as of a video call.

use std::fmt;
use std::sync::Arc;

use units::{Span, Time};

/// As much as is written at once at most: more than any picture of a video.
const LARGEST_WRITE: u32 = 10_000_000;

/// Datagrams in their order: how long after the start each is written, and its payload in bytes.
pub type Datagrams = Arc<[(Span, u32)]>;

/// When an application wrote how many bytes.
///
/// A trace file has a time in milliseconds, counted from the start of the flow and not decreasing, and a number of
/// bytes a line, with spaces or a comma between them. Decimals of times are kept to the nanosecond. Empty lines and
/// lines that begin with `#` are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaTrace {
    writes: Box<[(Span, u32)]>,
}

/// Why a trace of media could not be read. Displays as a sentence without final stop, to follow the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaTraceError {
    /// A line is not a time and a size.
    NotAWrite {
        /// Its number, counted from 1.
        line: usize,
        /// Its content.
        text: String,
    },
    /// A size is out of range.
    Size {
        /// The number of its line, counted from 1.
        line: usize,
        /// Its kind.
        text: String,
    },
    /// A line is earlier than the one before.
    Decreasing {
        /// Its number, counted from 1.
        line: usize,
        /// Its time.
        text: String,
    },
    /// There is no line with a time.
    Empty,
}

impl fmt::Display for MediaTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAWrite { line, text } => {
                write!(f, "line {line}: `{text}` is not a time in milliseconds and a size in bytes, like `40 1316`")
            }
            Self::Size { line, text } => {
                write!(f, "line {line}: `{text}` is no size from 1 to {LARGEST_WRITE} bytes")
            }
            Self::Decreasing { line, text } => {
                write!(
                    f,
                    "line {line}: `{text}` is earlier than the line before; the times of a trace must not decrease"
                )
            }
            Self::Empty => f.write_str("the trace is empty: it needs a line with a time and a size, like `40 1316`"),
        }
    }
}

impl std::error::Error for MediaTraceError {}

impl MediaTrace {
    /// Reads the text of a trace file.
    ///
    /// # Errors
    /// A line that is not a time and a size or goes back in time, a size out of range, or a trace without lines.
    pub fn parse(text: &str) -> Result<Self, MediaTraceError> {
        let mut writes: Vec<(Span, u32)> = Vec::new();
        for (line, text) in (1..).zip(text.lines().map(str::trim)) {
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let mut fields = text.split([',', ' ', '\t']).filter(|field| !field.is_empty());
            let (Some(time), Some(size), None) = (fields.next(), fields.next(), fields.next()) else {
                return Err(MediaTraceError::NotAWrite { line, text: text.into() });
            };
            let (Some(at), Ok(bytes)) = (nanos(time), size.parse::<f64>()) else {
                return Err(MediaTraceError::NotAWrite { line, text: text.into() });
            };
            let whole = bytes.fract() == 0.0 && (1.0..=f64::from(LARGEST_WRITE)).contains(&bytes);
            if !whole {
                return Err(MediaTraceError::Size { line, text: size.into() });
            }
            if writes.last().is_some_and(|(last, _)| at < *last) {
                return Err(MediaTraceError::Decreasing { line, text: time.into() });
            }
            writes.push((at, bytes as u32));
        }
        if writes.is_empty() {
            return Err(MediaTraceError::Empty);
        }
        Ok(Self { writes: writes.into() })
    }

    /// How many datagrams it makes with at most `payload` bytes each.
    pub fn count(&self, payload: u32) -> u64 {
        self.writes.iter().map(|(_, bytes)| u64::from(bytes.div_ceil(payload))).sum()
    }

    /// The datagrams of at most `payload` bytes: bytes written at once fill all but the last.
    pub fn datagrams(&self, payload: u32) -> Datagrams {
        let split = |&(at, bytes): &(Span, u32)| {
            (0..bytes.div_ceil(payload)).map(move |index| (at, payload.min(bytes - index * payload)))
        };
        self.writes.iter().flat_map(split).collect()
    }
}

/// A number of milliseconds in nanoseconds.
fn nanos(text: &str) -> Option<Span> {
    let nanos = (text.parse::<f64>().ok()? * 1e6).round();
    (0.0..=9e18).contains(&nanos).then(|| Span::from_nanos(nanos as u64))
}

/// Recorded datagrams, one after the other.
#[derive(Clone, Debug)]
pub struct Recorded {
    datagrams: Datagrams,
    /// When the flow began.
    start: Option<Time>,
    next: usize,
}

impl Recorded {
    /// These datagrams, of an application that has not begun.
    pub fn new(datagrams: Datagrams) -> Self {
        Self { datagrams, start: None, next: 0 }
    }

    /// The application begins at `now`.
    pub fn start(&mut self, now: Time) {
        self.start = Some(now);
    }

    /// When the next one is written.
    pub fn next_write(&self) -> Option<Time> {
        let (after, _) = self.datagrams.get(self.next)?;
        self.start.map(|start| start + *after)
    }

    /// The payload of the next one, if it is written by `now`.
    pub fn take(&mut self, now: Time) -> Option<u32> {
        self.next_write().filter(|at| *at <= now)?;
        let (_, payload) = self.datagrams[self.next];
        self.next += 1;
        Some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    #[test]
    fn what_is_written_at_once_is_split_into_full_datagrams_and_a_rest() {
        let trace = MediaTrace::parse("# a picture, then sound\n0 3000\r\n\n20,160\n33.5\t1472\n").unwrap();
        // 1500 bytes with headers of 28 carry 1472.
        let datagrams = trace.datagrams(1472);
        let half = Span::from_micros(33_500);
        assert_eq!(*datagrams, [(MS(0), 1472), (MS(0), 1472), (MS(0), 56), (MS(20), 160), (half, 1472)]);
        assert_eq!(trace.count(1472), 5);
    }

    #[test]
    fn recorded_datagrams_come_at_their_times_after_the_start() {
        let mut recorded = Recorded::new(MediaTrace::parse("0 10\n20 30\n20 40").unwrap().datagrams(1000));
        assert_eq!(recorded.next_write(), None);
        let start = Time::ZERO + MS(500);
        recorded.start(start);
        assert_eq!((recorded.take(start), recorded.take(start)), (Some(10), None));
        assert_eq!(recorded.next_write(), Some(start + MS(20)));
        let later = start + MS(30);
        assert_eq!([0; 3].map(|_| recorded.take(later)), [Some(30), Some(40), None]);
        assert_eq!(recorded.next_write(), None);
    }

    #[test]
    fn what_is_no_trace_is_said_in_a_sentence() {
        let message = |text: &str| MediaTrace::parse(text).unwrap_err().to_string();
        let not = |line: usize, text: &str| {
            format!("line {line}: `{text}` is not a time in milliseconds and a size in bytes, like `40 1316`")
        };
        assert_eq!(message("0 100\n20"), not(2, "20"));
        assert_eq!(message("0 100 7"), not(1, "0 100 7"));
        assert_eq!(message("-1 100"), not(1, "-1 100"));
        assert_eq!(message("now 100"), not(1, "now 100"));
        for size in ["0", "1.5", "10000001", "nan"] {
            assert_eq!(message(&format!("0 {size}")), format!("line 1: `{size}` is no size from 1 to 10000000 bytes"));
        }
        assert_eq!(
            message("20 1\n10 1"),
            "line 2: `10` is earlier than the line before; the times of a trace must not decrease"
        );
        assert_eq!(
            message("# nothing\n"),
            "the trace is empty: it needs a line with a time and a size, like `40 1316`"
        );
    }
}
