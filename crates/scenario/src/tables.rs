//! Paths over time as tables: a file with a column of times, and columns of rates, delays or losses.
//!
//! A row holds from its time until the time of the next row, the last one as long as the one before. Then the table
//! begins again. The names of the columns include units.

use std::borrow::Cow;

use units::{Fraction, Rate, Span, Time};

use crate::reader::Reader;
use crate::values::{Delay, DelaySpec, LossSpec, TraceRef};
use crate::{Error, Files, Scenario};

/// More rows than this, repeated until the end of the run, are refused.
const MOST_ROWS: usize = 2_000_000;
/// Rates and delays beyond these are taken for a mistaken unit.
const LARGEST_RATE: f64 = 1e13;
const SMALLEST_MEAN: f64 = 100.0;
const LONGEST_DELAY: f64 = 60.0;
const SHORTEST_PERIOD: Span = Span::from_millis(1);

/// The meaning of a column, with the factor that its unit brings.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Time(f64),
    Rate(f64),
    /// Bytes that passed in the interval of the row.
    Bytes,
    Interval(f64),
    Delay(f64),
    Rtt(f64),
    Loss(f64),
    Ignored,
}

/// Words in names of columns for times, and their lengths in seconds.
const SECONDS: [(&str, f64); 10] = [
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("seconds", 1.0),
    ("ms", 1e-3),
    ("millis", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ns", 1e-9),
    ("min", 60.0),
];

/// Words for rates, in bits per second.
const BITS: [(&str, f64); 10] = [
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("mbit/s", 1e6),
    ("gbit/s", 1e9),
    ("bytes/s", 8.0),
    ("byte/s", 8.0),
];

/// Units of a rate that some read as bits and others as bytes.
const AMBIGUOUS: [&str; 4] = ["bps", "kbps", "mbps", "gbps"];

impl Column {
    /// The column called `name`.
    fn named(name: &str) -> Result<Self, String> {
        let lower = name.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !(c.is_alphanumeric() || c == '/' || c == '%')).filter(|w| !w.is_empty()).collect();
        let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
        let unit = |known: &[(&str, f64)], example: &str| {
            let found = words.iter().rev().find_map(|word| known.iter().find(|(unit, _)| unit == word));
            if let Some(word) = words.iter().find(|word| AMBIGUOUS.contains(word)) {
                return Err(format!(
                    "the column `{name}`: `{word}` is bits to some and bytes to others, tc among them; name it like \
                     `{example}`"
                ));
            }
            found
                .map(|&(_, factor)| factor)
                .ok_or_else(|| format!("the column `{name}` has no unit that is known here: name it like `{example}`"))
        };
        Ok(if has(&["interval", "elapsed"]) {
            Self::Interval(unit(&SECONDS, "interval_ms")?)
        } else if has(&["rate", "throughput", "bandwidth", "capacity", "bw"]) {
            Self::Rate(unit(&BITS, "rate_mbit")?)
        } else if has(&["rtt"]) {
            Self::Rtt(unit(&SECONDS, "rtt_ms")?)
        } else if has(&["delay", "latency", "owd"]) {
            Self::Delay(unit(&SECONDS, "delay_ms")?)
        } else if has(&["loss", "plr"]) {
            Self::Loss(if has(&["%", "percent", "pct"]) { 0.01 } else { 1.0 })
        } else if has(&["bytes"]) {
            Self::Bytes
        } else if has(&["time", "t", "timestamp"]) {
            Self::Time(unit(&SECONDS, "time_s")?)
        } else {
            Self::Ignored
        })
    }
}

/// Values over time.
#[derive(Debug, Default)]
pub(crate) struct TimeTable {
    /// The time of each row, from 0.
    times: Vec<Time>,
    /// The time after which it begins again, or zero if it has one row only.
    pub(crate) period: Span,
    rate: Option<Vec<f64>>,
    /// In seconds.
    delay: Option<Vec<f64>>,
    rtt: Option<Vec<f64>>,
    loss: Option<Vec<f64>>,
}

/// True if `text` is a table, and no trace in the format of mm-link with its one number a line.
pub(crate) fn is_table(text: &str, columns: Option<&str>) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    columns.is_some() || first.is_some_and(|line| cells(line).len() > 1)
}

/// The cells of a line, which commas, semicolons, tabs or blanks keep apart.
fn cells(line: &str) -> Vec<&str> {
    let cut: Vec<&str> = match line.find([',', ';', '\t']).and_then(|at| line[at..].chars().next()) {
        Some(separator) => line.split(separator).collect(),
        None => line.split_whitespace().collect(),
    };
    cut.into_iter().map(|cell| cell.trim().trim_matches('"')).collect()
}

/// The numbers of a row, or nothing if it is a header.
fn numbers(line: &str) -> Option<Vec<f64>> {
    let parse = |cell: &str| cell.parse::<f64>().ok().filter(|value| value.is_finite());
    cells(line).into_iter().map(parse).collect()
}

impl TimeTable {
    /// Reads `text`; `columns` are named in place of a header.
    pub(crate) fn parse(text: &str, columns: Option<&str>) -> Result<Self, String> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
        let &(_, first) = lines.peek().ok_or("the table is empty")?;
        let has_header = numbers(first).is_none();
        let names: Vec<String> = match columns {
            Some(columns) => cells(columns).into_iter().map(str::to_owned).collect(),
            None if has_header => cells(first).into_iter().map(str::to_owned).collect(),
            None => {
                return Err(format!(
                    "the table has no header: write one like `time_s,rate_mbit`, or columns = \"time_s rate_mbit\" \
                     beside `trace` (it begins with `{}`)",
                    first.chars().take(40).collect::<String>()
                ));
            }
        };
        if has_header {
            lines.next();
        }
        let columns = names.iter().map(|name| Column::named(name)).collect::<Result<Vec<_>, _>>()?;
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for (number, line) in lines {
            let found = cells(line);
            if found.len() != columns.len() {
                return Err(format!(
                    "line {number} has {} cells, not the {} of the header",
                    found.len(),
                    columns.len()
                ));
            }
            let value = |(cell, column): (&&str, &Column)| match cell.parse::<f64>() {
                Ok(value) if value.is_finite() && (value >= 0.0 || matches!(column, Column::Ignored)) => Ok(value),
                _ if *column == Column::Ignored => Ok(0.0),
                _ => Err(format!("line {number}: `{cell}` is not a number, zero or more")),
            };
            rows.push(found.iter().zip(&columns).map(value).collect::<Result<_, _>>()?);
            if rows.len() > MOST_ROWS {
                return Err(format!("the table has more than {MOST_ROWS} rows"));
            }
        }
        Self::of_rows(&names, &columns, &rows)
    }

    fn of_rows(names: &[String], columns: &[Column], rows: &[Vec<f64>]) -> Result<Self, String> {
        let column = |wanted: fn(&Column) -> Option<f64>| {
            let (at, factor) = columns.iter().enumerate().find_map(|(at, column)| Some((at, wanted(column)?)))?;
            Some((names[at].as_str(), rows.iter().map(|row| row[at] * factor).collect::<Vec<f64>>()))
        };
        let time = column(|c| if let Column::Time(f) = c { Some(*f) } else { None });
        let Some((time, seconds)) = time else {
            return Err(format!("there is no column of times, like `time_s`, among {}", names.join(", ")));
        };
        let Some(&start) = seconds.first() else { return Err("the table has no rows".to_owned()) };
        if let Some(at) = seconds.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(format!("row {} of `{time}` is not later than the row before: times must increase", at + 2));
        }
        let times: Vec<Time> = seconds.iter().map(|&s| Time::ZERO + Span::from_secs_f64(s - start)).collect();
        let last = times.len() - 1;
        let period =
            if last == 0 { Span::ZERO } else { times[last].since(times[last - 1]) + times[last].since(Time::ZERO) };
        if last > 0 && period < SHORTEST_PERIOD {
            return Err(format!("the table is over after {period}: is the unit of `{time}` meant?"));
        }
        let lengths = |at: usize| if at < last { times[at + 1] } else { Time::ZERO + period }.since(times[at]);
        let rate = column(|c| if let Column::Rate(f) = c { Some(*f) } else { None });
        let bytes = column(|c| (*c == Column::Bytes).then_some(8.0));
        let interval = column(|c| if let Column::Interval(f) = c { Some(*f) } else { None });
        let rate = match (rate, bytes, interval) {
            (Some(rate), ..) => Some(rate),
            (None, Some((name, bits)), interval) => {
                let seconds = |at: usize| match &interval {
                    Some((_, seconds)) => seconds[at],
                    None => lengths(at).as_secs_f64(),
                };
                let over = |(at, bits): (usize, f64)| if seconds(at) > 0.0 { bits / seconds(at) } else { 0.0 };
                Some((name, bits.into_iter().enumerate().map(over).collect()))
            }
            _ => None,
        };
        let delay = column(|c| if let Column::Delay(f) = c { Some(*f) } else { None });
        let rtt = column(|c| if let Column::Rtt(f) = c { Some(*f) } else { None });
        let loss = column(|c| if let Column::Loss(f) = c { Some(*f) } else { None });
        let table = Self { times, period, rate: None, delay: None, rtt: None, loss: None };
        if let Some((name, values)) = &rate {
            let (mean, most) = (table.mean(values), values.iter().copied().fold(0.0, f64::max));
            if most > LARGEST_RATE || mean < SMALLEST_MEAN {
                let mean = Rate::from_bits_per_second(mean as u64);
                return Err(format!("the mean of `{name}` is {mean}: its unit cannot be meant"));
            }
        }
        for (name, values) in [&delay, &rtt].into_iter().flatten() {
            if let Some(most) = values.iter().find(|&&value| value > LONGEST_DELAY) {
                return Err(format!("`{name}` has {most} s, more than {LONGEST_DELAY}: its unit cannot be meant"));
            }
        }
        if let Some((name, values)) = &loss
            && let Some(most) = values.iter().find(|&&value| value > 1.0)
        {
            return Err(format!("`{name}` has {most}, and is a share from 0 to 1; name percentages `loss_percent`"));
        }
        let values = |column: Option<(&str, Vec<f64>)>| column.map(|(_, values)| values);
        Ok(Self { rate: values(rate), delay: values(delay), rtt: values(rtt), loss: values(loss), ..table })
    }

    /// The mean of `values` over a period.
    fn mean(&self, values: &[f64]) -> f64 {
        if self.period.is_zero() {
            return values.first().copied().unwrap_or_default();
        }
        let end = Time::ZERO + self.period;
        let ends = self.times.iter().skip(1).copied().chain([end]);
        let parts = self.times.iter().zip(ends).zip(values);
        parts.map(|((&from, to), value)| value * to.since(from).as_secs_f64()).sum::<f64>() / self.period.as_secs_f64()
    }

    /// `values` as steps until `end`. Steps without a change are left out.
    fn steps<T: PartialEq + Copy>(
        &self,
        values: &[f64],
        end: Span,
        of: impl Fn(f64) -> T,
    ) -> Result<Vec<(Time, T)>, String> {
        let mut steps: Vec<(Time, T)> = Vec::new();
        let mut begins = Span::ZERO;
        loop {
            for (&at, &value) in self.times.iter().zip(values) {
                let (at, value) = (at + begins, of(value));
                if at >= Time::ZERO + end {
                    return Ok(steps);
                }
                if steps.last().is_none_or(|last| last.1 != value) {
                    steps.push((at, value));
                }
            }
            begins += self.period;
            if self.period.is_zero() {
                return Ok(steps);
            }
            if steps.len() > MOST_ROWS {
                return Err(format!("the table has more than {MOST_ROWS} steps until the end of the run"));
            }
        }
    }

    /// The rates until `end`, and the mean.
    pub(crate) fn rates(&self, end: Span) -> Result<(Vec<(Time, Rate)>, Rate), String> {
        let rates = self.rate.as_deref().ok_or("has no column of rates, like `rate_mbit`")?;
        let of = |value: f64| Rate::from_bits_per_second(value.round() as u64);
        Ok((self.steps(rates, end, of)?, of(self.mean(rates))))
    }

    /// The delays until `end`, of a round trip or one way, and the mean.
    fn delays(&self, end: Span, round_trip: bool) -> Result<(DelaySpec, Span), String> {
        let (values, factor) = match (&self.rtt, &self.delay) {
            (Some(rtt), _) if round_trip => (rtt, 1.0),
            (_, Some(delay)) if !round_trip => (delay, 1.0),
            (Some(rtt), _) => (rtt, 0.5),
            (None, Some(delay)) => (delay, 2.0),
            (None, None) => return Err("has no column of delays, like `rtt_ms` or `delay_ms`".to_owned()),
        };
        let of = |value: f64| Span::from_secs_f64(value * factor);
        Ok((DelaySpec::of_steps(&self.steps(values, end, of)?), of(self.mean(values))))
    }

    /// The losses until `end`, and the mean.
    fn losses(&self, end: Span) -> Result<(LossSpec, Fraction), String> {
        let values = self.loss.as_deref().ok_or("has no column of losses, like `loss` or `loss_percent`")?;
        let of = |value: f64| Fraction::new(value).unwrap_or_default();
        Ok((LossSpec::of_steps(&self.steps(values, end, of)?), of(self.mean(values))))
    }

    /// The keys of a path that the table has values for.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        let delay = if self.rtt.is_some() { "rtt" } else { "delay" };
        let has = [
            ("rate", self.rate.is_some()),
            (delay, self.rtt.is_some() || self.delay.is_some()),
            ("loss", self.loss.is_some()),
        ];
        has.into_iter().filter_map(|(key, has)| has.then_some(key)).collect()
    }
}

/// The keys of a path that the file with `text` has values for.
pub fn trace_keys(text: &str, columns: Option<&str>) -> Result<Vec<&'static str>, String> {
    if is_table(text, columns) { TimeTable::parse(text, columns).map(|table| table.keys()) } else { Ok(vec!["rate"]) }
}

impl Scenario {
    /// The same with the delays and losses of tables in place of their files, and a sentence about each. Rates are read
    /// with their links.
    pub(crate) fn with_tables(&self, files: &dyn Files) -> Result<(Cow<'_, Self>, Vec<String>), Error> {
        let mut scenario = self.clone();
        let mut filler = Filler { reader: Reader::of(self, files), end: self.duration, notes: Vec::new() };
        if let Some(path) = &mut scenario.path {
            if let Some(rtt) = &mut path.rtt {
                filler.delay("path.rtt", rtt, true)?;
            }
            if let Some(Delay { forward, reverse }) = &mut path.delay {
                let before = filler.notes.len();
                filler.delay("path.delay", forward, false)?;
                filler.delay("path.delay", reverse, false)?;
                filler.notes.truncate(before + 1);
            }
            filler.loss("path.loss", &mut path.loss)?;
            filler.loss("path.reverse.loss", &mut path.reverse.loss)?;
        }
        for (i, link) in scenario.links.iter_mut().enumerate() {
            filler.delay(&format!("links.{i}.delay"), &mut link.delay, false)?;
            filler.loss(&format!("links.{i}.loss"), &mut link.loss)?;
            if let Some(reverse) = &mut link.reverse {
                filler.loss(&format!("links.{i}.reverse.loss"), &mut reverse.loss)?;
            }
        }
        for (i, flow) in scenario.flows.iter_mut().enumerate() {
            let subflows = flow.subflows.iter_mut().filter_map(|subflow| subflow.rtt.as_mut());
            for rtt in flow.rtt.iter_mut().chain(subflows) {
                filler.delay(&format!("flows.{i}.rtt"), rtt, true)?;
            }
        }
        let notes = filler.notes;
        Ok(if notes.is_empty() { (Cow::Borrowed(self), notes) } else { (Cow::Owned(scenario), notes) })
    }
}

/// Puts values in the place of files.
struct Filler<'a> {
    reader: Reader<'a>,
    end: Span,
    notes: Vec<String>,
}

impl Filler<'_> {
    fn delay(&mut self, key: &str, spec: &mut DelaySpec, round_trip: bool) -> Result<(), Error> {
        let Some(trace) = spec.trace.take() else { return Ok(()) };
        let (read, mean) = self.read(key, &trace, |table, end| table.delays(end, round_trip))?;
        self.note(key, &trace, mean)?;
        *spec = read;
        Ok(())
    }

    fn loss(&mut self, key: &str, spec: &mut LossSpec) -> Result<(), Error> {
        let Some(trace) = spec.trace.take() else { return Ok(()) };
        let (read, mean) = self.read(key, &trace, TimeTable::losses)?;
        self.note(key, &trace, format!("{:.3}%", mean.get() * 100.0))?;
        *spec = read;
        Ok(())
    }

    fn table(&self, trace: &TraceRef) -> Result<TimeTable, String> {
        let text = self.reader.read(&trace.trace).map_err(|error| format!("cannot be read: {error}"))?;
        if !is_table(&text, trace.columns.as_deref()) {
            return Err("is a trace of delivery opportunities, which has rates alone".to_owned());
        }
        TimeTable::parse(&text, trace.columns.as_deref())
    }

    fn read<T>(
        &self,
        key: &str,
        trace: &TraceRef,
        of: impl Fn(&TimeTable, Span) -> Result<T, String>,
    ) -> Result<T, Error> {
        let read = self.table(trace).and_then(|table| of(&table, self.end));
        read.map_err(|message| self.reader.error(key, format!("the table `{}`: {message}", trace.trace)))
    }

    fn note(&mut self, key: &str, trace: &TraceRef, mean: impl std::fmt::Display) -> Result<(), Error> {
        let period = self.read(key, trace, |table, _| Ok(table.period))?;
        self.notes.push(note(key, &trace.trace, period, mean));
        Ok(())
    }
}

/// A sentence about a file with values over time.
pub(crate) fn note(key: &str, file: &str, period: Span, mean: impl std::fmt::Display) -> String {
    let period = Span::from_nanos(period.as_nanos() / 1000 * 1000);
    let file = std::path::Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
    format!("{key} is that of `{file}`: a mean of {mean}, and it repeats every {period}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn rates(text: &str, columns: Option<&str>, end: u64) -> Vec<(Time, u64)> {
        let (steps, _) = TimeTable::parse(text, columns).unwrap().rates(Span::from_millis(end)).unwrap();
        steps.into_iter().map(|(at, rate)| (at, rate.bits_per_second())).collect()
    }

    #[test]
    fn a_table_repeats_after_the_last_row_has_held_as_long_as_the_one_before() {
        let text = "time_s,rate_mbit\n10.0,4.0\n11.0,2.5\n13.0,8\n";
        let expected = [(0, 4_000_000), (1000, 2_500_000), (3000, 8_000_000), (5000, 4_000_000), (6000, 2_500_000)];
        assert_eq!(rates(text, None, 6500), expected.map(|(ms, rate)| (at(ms), rate)));
        let table = TimeTable::parse(text, None).unwrap();
        // 4 for 1 s, 2.5 for 2 s, 8 for 2 s.
        assert_eq!(
            (table.period, table.rates(Span::from_secs(1)).unwrap().1),
            (Span::from_secs(5), Rate::from_mbit(5))
        );
    }

    #[test]
    fn the_sets_that_people_have_are_read() {
        // Pensieve: seconds and Mbit/s without a header, blanks between.
        assert_eq!(rates("0.5 1.5\n1.5\t2\n", Some("time_s rate_mbit"), 2000).len(), 2);
        // A 3G log (Riiser et al. 2013): time, milliseconds, position, bytes, milliseconds.
        let log = "1290 100 59.8 10.7 1000 1000\n1291 1100 59.8 10.7 3000 500\n";
        let steps = rates(log, Some("- time_ms - - bytes interval_ms"), 2000);
        assert_eq!(steps, [(at(0), 8000), (at(1000), 48_000)]);
        // LEO: delays and losses as well.
        let leo = "Time (s);RTT (ms);Throughput [Mbit/s];Loss (%)\n0;40;100;0\n15;55;80;1.5\n";
        let table = TimeTable::parse(leo, None).unwrap();
        assert_eq!(table.keys(), ["rate", "rtt", "loss"]);
        assert_eq!(table.delays(Span::from_secs(20), true).unwrap().1, Span::from_micros(47_500));
        assert_eq!(table.delays(Span::from_secs(20), false).unwrap().0.delay.initial(), Span::from_millis(20));
        assert!((table.losses(Span::from_secs(20)).unwrap().1.get() - 0.0075).abs() < 1e-12);
        assert!(is_table(leo, None) && !is_table("1\n2\n", None));
    }

    #[test]
    fn units_that_cannot_be_meant_are_refused() {
        let refused = |text: &str, columns| TimeTable::parse(text, columns).unwrap_err();
        assert!(refused("0.0,4.0\n1.0,2.5\n", None).contains("has no header: write one like `time_s,rate_mbit`"));
        assert!(refused("time_s,rate_gbit\n0,4000000\n1,5000000\n", None).contains("its unit cannot be meant"));
        assert!(refused("time_us,rate_mbit\n0,4\n1,5\n", None).starts_with("the table is over after 2us"));
        assert!(refused("time_s,throughput_mbps\n0,4\n", None).contains("bits to some and bytes to others"));
        assert!(refused("time,rate_mbit\n0,4\n", None).contains("has no unit"));
        assert!(refused("time_s,loss\n0,5\n", None).contains("name percentages `loss_percent`"));
        assert!(refused("time_s,rtt_s\n0,400\n", None).contains("more than 60"));
        assert!(refused("time_s,rate_mbit\n1,4\n1,5\n", None).contains("times must increase"));
        assert!(refused("time_s,rate_mbit\n1,x\n", None).contains("line 2: `x` is not a number"));
        assert!(refused("time_s,rate_mbit\n1\n", None).contains("line 2 has 1 cells"));
        assert!(refused("rate_mbit,loss\n1,0\n", None).contains("no column of times"));
    }
}
