//! The columns of a table with their values, and the times of its rows.

use units::{Span, Time};

use super::columns::{Column, choose};
use super::dates::Date;
use super::rows::{MOST_ROWS, Rows, cells, first_line};

const SHORTEST_PERIOD: Span = Span::from_millis(1);
/// Names of columns in a sentence.
const MOST_NAMES: usize = 3;

/// The name of a column, and its values in seconds, bits per second, bits or shares.
pub(super) type Series = (String, Vec<f64>);

/// A table as it is read.
pub(super) struct Sheet {
    names: Vec<String>,
    columns: Vec<Column>,
    /// For each column, empty for one that is left out.
    values: Vec<Vec<f64>>,
    every: Option<f64>,
    rows: usize,
}

impl Sheet {
    /// Reads `text`; `columns` are named in place of a header, or choose some of it.
    pub(super) fn read(text: &str, columns: Option<&str>) -> Result<Self, String> {
        let read = Rows::of(text)?;
        let names = names(read.header.as_deref(), columns, text)?;
        let mut columns = names.iter().map(|name| Column::named(name)).collect::<Result<Vec<_>, _>>()?;
        // A word like `rate` goes before a unit alone.
        if !columns.iter().any(|column| matches!(column, Column::Rate(_) | Column::Bytes)) {
            for (column, name) in columns.iter_mut().zip(&names).filter(|(column, _)| **column == Column::Ignored) {
                *column = Column::by_unit(name).unwrap_or(Column::Ignored);
            }
        }
        let values = vec![Vec::new(); columns.len()];
        let mut sheet = Self { names, columns, values, every: read.every, rows: 0 };
        let mut dates = Dates::default();
        for (number, cells) in read.rows {
            sheet.rows += 1;
            if cells.len() != sheet.columns.len() {
                let (found, wanted) = (cells.len(), sheet.columns.len());
                return Err(format!("line {number} has {found} cells, not the {wanted} of the header"));
            }
            if sheet.rows > MOST_ROWS {
                return Err(format!("the table has more than {MOST_ROWS} rows"));
            }
            for (at, cell) in cells.iter().enumerate().filter(|(at, _)| sheet.columns[*at] != Column::Ignored) {
                let value = dates.value(cell, sheet.columns[at], &sheet.names[at]);
                sheet.values[at].push(value.map_err(|why| format!("line {number}: {why}"))?);
            }
        }
        if sheet.rows == 0 { Err("the table has no rows".to_owned()) } else { Ok(sheet) }
    }

    /// The column of the kind that `wanted` accepts, if there is one. Several are a question to the user.
    pub(super) fn column(&self, wanted: fn(Column) -> bool) -> Result<Option<Series>, String> {
        let mut found = (0..self.columns.len()).filter(|&at| wanted(self.columns[at]));
        let Some(first) = found.next() else { return Ok(None) };
        if let Some(second) = found.next() {
            let (first, other) = (&self.names[first], &self.names[second]);
            let kind = self.columns[second].kind();
            return Err(format!(
                "`{first}` and `{other}` are both {kind}: choose one, as in columns = \"{other}\" beside `trace`, or \
                 --trace 'FILE:{other}'"
            ));
        }
        Ok(Some((self.names[first].clone(), self.values[first].clone())))
    }

    /// The times of the rows from the first on, and the time after which they begin again: the last row holds as long
    /// as the one before, or as its own column says.
    pub(super) fn times(&self) -> Result<(Vec<Time>, Span), String> {
        let time = self.column(|column| matches!(column, Column::Time(_)))?;
        let (name, seconds, last) = match (time, self.intervals()?) {
            (Some((name, seconds)), _) => {
                let last = seconds.len() - 1;
                let held = if last == 0 { 0.0 } else { seconds[last] - seconds[last - 1] };
                (name, seconds, held)
            }
            (None, Some((name, lengths))) => {
                let mut end = 0.0;
                let mut begins = Vec::with_capacity(lengths.len());
                for length in &lengths {
                    begins.push(end);
                    end += length;
                }
                (name, begins, lengths[lengths.len() - 1])
            }
            (None, None) => {
                let names = self.names.join(", ");
                return Err(format!("there is no column of times, like `time_s` or `duration_ms`, among {names}"));
            }
        };
        if let Some(at) = seconds.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(format!("row {} of `{name}` is not later than the row before: times must increase", at + 2));
        }
        let times: Vec<Time> = seconds.iter().map(|&s| Time::ZERO + Span::from_secs_f64(s - seconds[0])).collect();
        let ends = times[times.len() - 1].since(Time::ZERO);
        let period = match times.as_slice() {
            [_] => Span::from_secs_f64(last),
            [.., before, at] if self.has_times() => ends + at.since(*before),
            _ => ends + Span::from_secs_f64(last),
        };
        if period < SHORTEST_PERIOD && !(times.len() == 1 && period.is_zero()) {
            return Err(format!("the table is over after {period}: is the unit of `{name}` meant?"));
        }
        Ok((times, period))
    }

    fn has_times(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, Column::Time(_)))
    }

    /// The seconds of each row, where the table or its format has them.
    fn intervals(&self) -> Result<Option<Series>, String> {
        let every = self.every.map(|seconds| ("rows".to_owned(), vec![seconds; self.rows]));
        Ok(self.column(|column| matches!(column, Column::Interval(_)))?.or(every))
    }

    /// The rates of the rows: a column of them, or of bytes that passed in the interval of a row, which is `lengths` if
    /// there is no column of it.
    pub(super) fn rates(&self, lengths: impl Fn(usize) -> Span) -> Result<Option<Series>, String> {
        if let Some(rate) = self.column(|column| matches!(column, Column::Rate(_)))? {
            return Ok(Some(rate));
        }
        let Some((name, bits)) = self.column(|column| column == Column::Bytes)? else { return Ok(None) };
        let intervals = self.intervals()?;
        let over = |(at, bits): (usize, f64)| {
            let seconds = intervals.as_ref().map_or_else(|| lengths(at).as_secs_f64(), |(_, seconds)| seconds[at]);
            if seconds > 0.0 { bits / seconds } else { 0.0 }
        };
        Ok(Some((name, bits.into_iter().enumerate().map(over).collect())))
    }

    /// A clause for each thing of the table that a reader may take otherwise.
    pub(super) fn remarks(&self) -> Vec<String> {
        let with = |wanted: fn(&str, Column) -> bool| -> Vec<String> {
            let named = self.names.iter().zip(&self.columns).filter(|&(name, &column)| wanted(name, column));
            named.map(|(name, _)| format!("`{name}`")).collect()
        };
        let bits = with(|name, column| matches!(column, Column::Rate(_)) && name.to_lowercase().contains("bps"));
        let left_out = with(|name, column| column == Column::Ignored && !["-", ""].contains(&name));
        let bits = (!bits.is_empty()).then(|| format!("counts bits in {}", listed(&bits)));
        let left_out = (!left_out.is_empty()).then(|| format!("has no use here for {}", listed(&left_out)));
        bits.into_iter().chain(left_out).collect()
    }
}

/// The first of `names`, and how many there are more.
fn listed(names: &[String]) -> String {
    match names.split_at_checked(MOST_NAMES) {
        Some((first, rest)) if !rest.is_empty() => format!("{} and {} more", first.join(", "), rest.len()),
        _ => names.join(", "),
    }
}

/// The names of the columns of `text`, as `columns` or its header have them.
fn names(header: Option<&[String]>, columns: Option<&str>, text: &str) -> Result<Vec<String>, String> {
    let Some(columns) = columns else {
        return header.map(<[String]>::to_vec).ok_or_else(|| {
            format!(
                "the table has no header: write one like `time_s,rate_mbit`, or columns = \"time_s rate_mbit\" beside \
                 `trace` (it begins with `{}`)",
                first_line(text).unwrap_or_default().chars().take(40).collect::<String>()
            )
        });
    };
    let given: Vec<String> = cells(columns).into_iter().map(|cell| cell.into_owned()).collect();
    match header {
        Some(header) => match choose(header, &given) {
            Some(chosen) => Ok(chosen),
            None if given.len() == header.len() => Ok(given),
            None => Err(format!(
                "columns = \"{columns}\" has a name that the header lacks, and not one for each of its columns: {}",
                header.join(", ")
            )),
        },
        None => Ok(given),
    }
}

/// Reads cells: numbers, and dates, whose values count from the first of them.
#[derive(Default)]
struct Dates {
    first: Option<Date>,
}

impl Dates {
    /// The value of `cell` in the unit of the column called `name`.
    fn value(&mut self, cell: &str, column: Column, name: &str) -> Result<f64, String> {
        if cell.is_empty() {
            return Err(format!("`{name}` is empty"));
        }
        let Column::Time(unit) = column else {
            let value = cell.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            let value = value.map(|value| value * column.factor());
            return value.ok_or_else(|| format!("`{cell}` is not a number, zero or more"));
        };
        if let Ok(value) = cell.parse::<f64>() {
            let unit = unit.ok_or_else(|| {
                format!("the column `{name}` has no unit that is known here, and no dates: name it like `time_s`")
            })?;
            if value.is_finite() && value >= 0.0 {
                return Ok(value * unit);
            }
        }
        let Some(date) = Date::read(cell) else {
            return Err(format!("`{cell}` is not a number, zero or more, and no date like `2024-05-01 10:00:00`"));
        };
        let first = self.first.get_or_insert_with(|| date.clone());
        if first.zone != date.zone {
            let zones = [&first.zone, &date.zone].map(|zone| if zone.is_empty() { "none" } else { zone });
            return Err(format!("the zone changes from {} to {}: write the times of one zone", zones[0], zones[1]));
        }
        Ok((date.nanos - first.nanos) as f64 / 1e9)
    }
}
