//! Paths over time as tables: a file with a column of times, and columns of rates, delays or losses.
//!
//! A row holds from its time until the time of the next row, the last one as long as the one before. Then the table
//! begins again. The names of the columns include units.

mod columns;
mod dates;
mod rows;
mod sheet;

use std::borrow::Cow;

use units::{Fraction, Rate, Span, Time};

use self::columns::Column;
use self::rows::{MOST_ROWS, cells, first_line, is_json};
use self::sheet::{Series, Sheet};
use crate::reader::Reader;
use crate::values::{Delay, DelaySpec, LossSpec, TraceRef};
use crate::{Error, Files, Scenario};

/// Rates and delays beyond these are taken for a mistaken unit.
const LARGEST_RATE: f64 = 1e13;
const SMALLEST_MEAN: f64 = 100.0;
const LONGEST_DELAY: f64 = 60.0;

/// Values over time.
#[derive(Debug)]
pub(crate) struct TimeTable {
    /// The time of each row, from 0.
    times: Vec<Time>,
    /// The time after which it begins again, or zero if it has one row only.
    pub(crate) period: Span,
    /// An error where several columns have rates, and so for the others.
    rate: Values,
    /// In seconds.
    delay: Values,
    rtt: Values,
    loss: Values,
    /// Clauses about columns that a reader may take otherwise.
    remarks: Vec<String>,
}

type Values = Result<Option<Series>, String>;

/// The values of a column, if there is one.
fn values(column: &Values) -> Result<Option<&[f64]>, String> {
    Ok(column.as_ref().map_err(Clone::clone)?.as_ref().map(|(_, values)| values.as_slice()))
}

/// True if `text` is a table, and no trace in the format of mm-link with its one number a line.
pub(crate) fn is_table(text: &str, columns: Option<&str>) -> bool {
    columns.is_some() || is_json(text) || first_line(text).is_some_and(|line| cells(line).len() > 1)
}

impl TimeTable {
    /// Reads `text`; `columns` are named in place of a header, or choose some of it.
    pub(crate) fn parse(text: &str, columns: Option<&str>) -> Result<Self, String> {
        let sheet = Sheet::read(text, columns)?;
        let (times, period) = sheet.times()?;
        let length = |at: usize| times.get(at + 1).map_or(Time::ZERO + period, |next| *next).since(times[at]);
        let rate = sheet.rates(length);
        let delay = sheet.column(|column| matches!(column, Column::Delay(_)));
        let rtt = sheet.column(|column| matches!(column, Column::Rtt(_)));
        let loss = sheet.column(|column| matches!(column, Column::Loss(_)));
        let table = Self { rate, delay, rtt, loss, remarks: sheet.remarks(), times, period };
        table.check()?;
        Ok(table)
    }

    /// Refuses values whose unit cannot be meant.
    fn check(&self) -> Result<(), String> {
        if let Ok(Some((name, values))) = &self.rate {
            let (mean, most) = (self.mean(values), values.iter().copied().fold(0.0, f64::max));
            if most > LARGEST_RATE || mean < SMALLEST_MEAN {
                let mean = Rate::from_bits_per_second(mean as u64);
                return Err(format!("the mean of `{name}` is {mean}: its unit cannot be meant"));
            }
        }
        for (name, values) in [&self.delay, &self.rtt].into_iter().flatten().flatten() {
            if let Some(most) = values.iter().find(|&&value| value > LONGEST_DELAY) {
                return Err(format!("`{name}` has {most} s, more than {LONGEST_DELAY}: its unit cannot be meant"));
            }
        }
        if let Ok(Some((name, values))) = &self.loss
            && let Some(most) = values.iter().find(|&&value| value > 1.0)
        {
            return Err(format!("`{name}` has {most}, and is a share from 0 to 1; name percentages `loss_percent`"));
        }
        Ok(())
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
        let mut changes: Vec<(Time, T)> =
            self.times.iter().copied().zip(values.iter().map(|&value| of(value))).collect();
        changes.dedup_by_key(|(_, value)| *value);
        let is_constant = changes.len() < 2;
        let mut steps: Vec<(Time, T)> = Vec::new();
        let mut begins = Span::ZERO;
        loop {
            for &(at, value) in &changes {
                let at = at + begins;
                if at >= Time::ZERO + end {
                    return Ok(steps);
                }
                if steps.last().is_none_or(|last| last.1 != value) {
                    steps.push((at, value));
                }
            }
            begins += self.period;
            if is_constant || self.period.is_zero() {
                return Ok(steps);
            }
            if steps.len() > MOST_ROWS {
                return Err(format!("the table has more than {MOST_ROWS} steps until the end of the run"));
            }
        }
    }

    /// The rates until `end`, and the mean.
    pub(crate) fn rates(&self, end: Span) -> Result<(Vec<(Time, Rate)>, Rate), String> {
        let rates = values(&self.rate)?.ok_or("has no column of rates, like `rate_mbit`")?;
        let of = |value: f64| Rate::from_bits_per_second(value.round() as u64);
        Ok((self.steps(rates, end, of)?, of(self.mean(rates))))
    }

    /// The delays until `end`, of a round trip or one way, and the mean.
    fn delays(&self, end: Span, round_trip: bool) -> Result<(DelaySpec, Span), String> {
        let (values, factor) = match (values(&self.rtt)?, values(&self.delay)?) {
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
        let values = values(&self.loss)?.ok_or("has no column of losses, like `loss` or `loss_percent`")?;
        let of = |value: f64| Fraction::new(value).unwrap_or_default();
        Ok((LossSpec::of_steps(&self.steps(values, end, of)?), of(self.mean(values))))
    }

    /// The keys of a path that the table has values for.
    pub(crate) fn keys(&self) -> Result<Vec<&'static str>, String> {
        let has = |column: &Values| values(column).map(|values| values.is_some());
        let (delay, rtt) = (has(&self.delay)?, has(&self.rtt)?);
        let keys =
            [("rate", has(&self.rate)?), (if rtt { "rtt" } else { "delay" }, rtt || delay), ("loss", has(&self.loss)?)];
        Ok(keys.into_iter().filter_map(|(key, has)| has.then_some(key)).collect())
    }

    /// Sentences about the table in `file`, whose values are those of `key`.
    pub(crate) fn notes(&self, key: &str, file: &str, mean: impl std::fmt::Display) -> Vec<String> {
        let mut notes = vec![note(key, file, self.period, mean)];
        if !self.remarks.is_empty() {
            notes.push(format!("`{}` {}", name_of(file), self.remarks.join(", and ")));
        }
        notes
    }
}

/// The keys of a path that the file with `text` has values for.
pub fn trace_keys(text: &str, columns: Option<&str>) -> Result<Vec<&'static str>, String> {
    if is_table(text, columns) { TimeTable::parse(text, columns)?.keys() } else { Ok(vec!["rate"]) }
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
                filler.delay("path.delay", forward, false)?;
                filler.delay("path.delay", reverse, false)?;
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
        let notes = self.read(key, trace, |table, _| Ok(table.notes(key, &trace.trace, &mean)))?;
        add_notes(&mut self.notes, notes);
        Ok(())
    }
}

/// Adds those of `more` that are not among `notes`.
pub(crate) fn add_notes(notes: &mut Vec<String>, more: Vec<String>) {
    for note in more {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// A sentence about a file with values over time.
pub(crate) fn note(key: &str, file: &str, period: Span, mean: impl std::fmt::Display) -> String {
    let period = Span::from_nanos(period.as_nanos() / 1000 * 1000);
    format!("{key} is that of `{}`: a mean of {mean}, and it repeats every {period}", name_of(file))
}

fn name_of(file: &str) -> Cow<'_, str> {
    std::path::Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy())
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
    fn a_table_whose_value_never_changes_is_one_step_however_long_the_run_is() {
        assert_eq!(rates("time_ms,rate_mbit\n0,10\n1,10\n", None, u64::MAX / 2_000_000), [(at(0), 10_000_000)]);
        // A change in each period: those of a long run are too many, and rows without a change cost nothing.
        let rows: String = (0..1000).map(|row| format!("{row},{}\n", 10 + u32::from(row == 0))).collect();
        let table = TimeTable::parse(&format!("time_ms,rate_mbit\n{rows}"), None).unwrap();
        assert!(table.rates(Span::from_secs(10_000_000)).unwrap_err().contains("more than 2000000 steps until"));
        let steps = rates("time_s,rate_mbit\n0,1\n1,2\n2,1\n", None, 7000);
        assert_eq!(steps.iter().map(|(at, _)| at.as_nanos() / 1_000_000_000).collect::<Vec<_>>(), [0, 1, 2, 4, 5]);
    }

    #[test]
    fn a_unit_by_the_second_is_a_rate_where_no_word_is() {
        assert_eq!(
            rates("Time (s),Download (Mbps)\n0,4\n1,2\n", None, 2000),
            [(at(0), 4_000_000), (at(1000), 2_000_000)]
        );
        assert_eq!(rates("time_s,peak_mbps,rate_mbit\n0,9,4\n", None, 1000), [(at(0), 4_000_000)]);
        let both = TimeTable::parse("time_s,down_mbps,up_mbps\n0,9,4\n", None).unwrap();
        assert!(both.rates(Span::from_secs(1)).unwrap_err().starts_with("`down_mbps` and `up_mbps` are both rates"));
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
        assert_eq!(table.keys().unwrap(), ["rate", "rtt", "loss"]);
        assert_eq!(table.delays(Span::from_secs(20), true).unwrap().1, Span::from_micros(47_500));
        assert_eq!(table.delays(Span::from_secs(20), false).unwrap().0.delay.initial(), Span::from_millis(20));
        assert!((table.losses(Span::from_secs(20)).unwrap().1.get() - 0.0075).abs() < 1e-12);
        assert!(is_table(leo, None) && !is_table("1\n2\n", None));
    }

    #[test]
    fn a_delay_is_half_of_an_rtt_or_the_column_of_its_own() {
        let means = |header: &str, row: &str| {
            let table = TimeTable::parse(&format!("{header}\n{row}\n"), None).unwrap();
            let mean = |round_trip| table.delays(Span::from_secs(1), round_trip).unwrap().1.as_nanos() / 1_000_000;
            (mean(true), mean(false))
        };
        assert_eq!(means("time_s,rtt_ms", "0,40"), (40, 20));
        assert_eq!(means("time_s,delay_ms", "0,15"), (30, 15));
        assert_eq!(means("time_s,rtt_ms,delay_ms", "0,40,15"), (40, 15));
    }

    #[test]
    fn an_error_names_the_line_or_the_place_in_the_lists() {
        let refused = |text: &str| TimeTable::parse(text, None).unwrap_err();
        assert!(
            refused("time_s,rate_mbit\n0,1\n1,x\n").starts_with("line 3: "),
            "{}",
            refused("time_s,rate_mbit\n0,1\n1,x\n")
        );
        let lists = r#"{"time_s": [0, 1, 2], "rate_mbit": [1, "x", 2]}"#;
        assert!(refused(lists).starts_with("line 2: "), "{}", refused(lists));
        let objects = r#"[{"time_s": 0, "rate_mbit": 1}, {"time_s": 1, "rate_mbit": "x"}]"#;
        assert!(refused(objects).starts_with("line 2: "), "{}", refused(objects));
    }

    #[test]
    fn logs_with_dates_and_columns_of_their_own_are_read() {
        // Raca et al. (2020): dates with full stops, kbit/s without a unit, text, and a rate each way.
        let log = "Timestamp,Operator,Speed,DL_bitrate,UL_bitrate\n\
                   2019.11.25_15.34.34,\"B, 5G\",0,1000,20\n2019.11.25_15.34.36,B,1,3000,-\n";
        let chosen = Some("DL_bitrate=rate_kbit");
        assert_eq!(rates(log, chosen, 3000), [(at(0), 1_000_000), (at(2000), 3_000_000)]);
        // Rows with their durations, as players have them. The last one holds as long as it says.
        let player = r#"[{"duration_ms": 1000, "bandwidth_kbps": 500, "latency_ms": 20},
                         {"duration_ms": 250, "bandwidth_kbps": 800, "latency_ms": 20}]"#;
        let table = TimeTable::parse(player, None).unwrap();
        assert_eq!((table.period, table.keys().unwrap()), (Span::from_millis(1250), vec!["rate", "delay"]));
        assert_eq!(rates(player, None, 1300), [(at(0), 500_000), (at(1000), 800_000), (at(1250), 500_000)]);
        // A dish of Starlink: a sample a second, and a rate each way.
        let dish = r#"{"dishGetHistory": {"current": "2", "popPingDropRate": [0, 0.5, 0],
                       "popPingLatencyMs": [40, 60, 0], "downlinkThroughputBps": [1, 2, 3],
                       "uplinkThroughputBps": [1, 2, 3]}}"#;
        let table = TimeTable::parse(dish, None).unwrap();
        assert_eq!(table.delays(Span::from_secs(2), true).unwrap().1, Span::from_millis(50));
        assert_eq!(table.losses(Span::from_secs(2)).unwrap().1.get(), 0.25);
        assert_eq!(
            table.keys().unwrap_err(),
            "`downlinkThroughputBps` and `uplinkThroughputBps` are both rates: choose one, as in columns = \
             \"uplinkThroughputBps\" beside `trace`, or --trace 'FILE:uplinkThroughputBps'"
        );
    }

    #[test]
    fn two_columns_of_one_kind_are_a_question() {
        for (header, kind) in [
            ("time_s,ul_rate_mbit,dl_rate_mbit", "rates"),
            ("time_s,rtt_stddev_ms,rtt_avg_ms", "RTTs"),
            ("time_s,min_delay_ms,delay_ms", "delays"),
            ("time_s,loss,plr", "losses"),
        ] {
            let table = TimeTable::parse(&format!("{header}\n0,0.5,0.5\n1,0.5,0.5\n"), None);
            let error = table.and_then(|table| table.keys()).unwrap_err();
            let names: Vec<&str> = header.split(',').skip(1).collect();
            let begins = format!("`{}` and `{}` are both {kind}: choose one, as in columns = ", names[0], names[1]);
            assert!(error.starts_with(&begins), "{error}");
        }
        let twice = "time_s,t_s,rate_mbit\n0,0,1\n";
        assert!(TimeTable::parse(twice, None).unwrap_err().starts_with("`time_s` and `t_s` are both times"));
        // A question about one key is none about another.
        let table = TimeTable::parse("time_s,ul_mbit_rate,dl_mbit_rate,rtt_ms\n0,1,2,30\n", None).unwrap();
        assert_eq!(table.delays(Span::from_secs(1), true).unwrap().1, Span::from_millis(30));
        let chosen = TimeTable::parse("time_s,ul_mbit_rate,dl_mbit_rate\n0,1,2\n", Some("dl_mbit_rate")).unwrap();
        assert_eq!(chosen.rates(Span::from_secs(1)).unwrap().1, Rate::from_mbit(2));
        let other = TimeTable::parse("time_s,rate_mbit\n0,1\n", Some("a b c")).unwrap_err();
        assert!(other.ends_with("not one for each of its columns: time_s, rate_mbit"), "{other}");
    }

    #[test]
    fn columns_without_a_use_are_named() {
        let table = TimeTable::parse("time_s,rate_mbps,jitter_ms,a,b,c\n0,1,2,x,,\n", None).unwrap();
        let notes = table.notes("path.rate", "logs/lte.csv", "1mbit");
        assert_eq!(
            notes,
            [
                "path.rate is that of `lte.csv`: a mean of 1mbit, and it repeats every 0s",
                "`lte.csv` counts bits in `rate_mbps`, and has no use here for `jitter_ms`, `a`, `b` and 1 more"
            ]
        );
        let mut once = notes.clone();
        add_notes(&mut once, notes.clone());
        assert_eq!(once, notes);
    }

    #[test]
    fn units_that_cannot_be_meant_are_refused() {
        let refused = |text: &str, columns| TimeTable::parse(text, columns).unwrap_err();
        assert!(refused("0.0,4.0\n1.0,2.5\n", None).contains("has no header: write one like `time_s,rate_mbit`"));
        assert!(refused("time_s,rate_gbit\n0,4000000\n1,5000000\n", None).contains("its unit cannot be meant"));
        let mean = "the mean of `rate_bit` is 95bit: its unit cannot be meant";
        assert_eq!(refused("time_s,rate_bit\n0,90\n1,100\n", None), mean);
        assert!(refused("time_us,rate_mbit\n0,4\n1,5\n", None).starts_with("the table is over after 2us"));
        assert!(refused("time_s,throughput_MBps\n0,4\n", None).contains("bits to some and bytes to others"));
        assert!(refused("time,rate_mbit\n0,4\n", None).contains("has no unit"));
        assert!(refused("time,rate_mbit\nyesterday,4\n", None).contains("no date like `2024-05-01 10:00:00`"));
        let zones = "time,rate_mbit\n2023-11-05 01:59:59 CDT,4\n2023-11-05 01:00:00 CST,4\n";
        assert!(refused(zones, None).starts_with("line 3: the zone changes from CDT to CST"));
        assert!(refused("time_s,loss\n0,5\n", None).contains("name percentages `loss_percent`"));
        assert!(refused("time_s,rtt_s\n0,400\n", None).contains("more than 60"));
        assert!(refused("time_s,rate_mbit\n1,4\n1,5\n", None).contains("times must increase"));
        assert!(refused("time_s,rate_mbit\n1,x\n", None).contains("line 2: `x` is not a number"));
        assert!(refused("time_s,rate_mbit\n1\n", None).contains("line 2 has 1 cells"));
        assert!(refused("rate_mbit,loss\n1,0\n", None).contains("no column of times"));
    }
}
