//! The text of a table as rows of cells: lines, or JSON.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::dates::Date;

/// More rows than this, repeated until the end of the run, are refused.
pub(super) const MOST_ROWS: usize = 2_000_000;

/// A row: its number in the file, from 1, and its cells.
pub(super) type Row<'a> = (usize, Vec<Cow<'a, str>>);

/// A table before its columns have meanings.
pub(super) struct Rows<'a> {
    pub(super) header: Option<Vec<String>>,
    pub(super) rows: Box<dyn Iterator<Item = Row<'a>> + 'a>,
    /// The seconds from row to row, if the format has no column of times.
    pub(super) every: Option<f64>,
}

/// True if `text` is JSON.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The lines with cells.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.trim_start_matches('\u{feff}').lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The first line with cells.
pub(super) fn first_line(text: &str) -> Option<&str> {
    lines(text).next().map(|(_, line)| line)
}

/// The character that keeps the cells of `line` apart, blanks if there is none.
fn separator(line: &str) -> Option<char> {
    let quoted = line.split('"').step_by(2);
    ['\t', ';', ','].into_iter().find(|&one| quoted.clone().any(|part| part.contains(one)))
}

/// The cells of a line. One in quotes may have separators in it, and doubled quotes.
pub(super) fn cells(line: &str) -> Vec<Cow<'_, str>> {
    cut(line, separator(line))
}

fn cut(line: &str, separator: Option<char>) -> Vec<Cow<'_, str>> {
    let ends = |c: char| separator.map_or_else(|| c.is_whitespace(), |one| one == c);
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        // Several blanks are one separator.
        rest = if separator.is_none() { rest.trim_start() } else { rest.trim_start_matches(' ') };
        let (cell, behind) = match rest.strip_prefix('"').and_then(quoted) {
            Some((cell, behind)) => {
                let end = behind.find(ends).unwrap_or(behind.len());
                (cell, &behind[end..])
            }
            None => {
                let end = rest.find(ends).unwrap_or(rest.len());
                (Cow::Borrowed(rest[..end].trim()), &rest[end..])
            }
        };
        found.push(cell);
        match behind.chars().next() {
            Some(one) => rest = &behind[one.len_utf8()..],
            None => return found,
        }
    }
}

/// The cell that begins behind a quote, and the text behind its closing quote. `None` if it does not close.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut from = 0;
    loop {
        let end = from + text[from..].find('"')?;
        if !text[end + 1..].starts_with('"') {
            let cell = text[..end].trim();
            let cell = if cell.contains("\"\"") { cell.replace("\"\"", "\"").into() } else { cell.into() };
            return Some((cell, &text[end + 1..]));
        }
        from = end + 2;
    }
}

/// A number with a decimal comma (`93,4`) with a point.
fn with_point(cell: Cow<'_, str>) -> Cow<'_, str> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match cell.split_once(',') {
        Some((whole, part)) if digits(whole) && digits(part) => format!("{whole}.{part}").into(),
        _ => cell,
    }
}

/// True if a cell is no name.
fn is_value(cell: &str) -> bool {
    cell.parse::<f64>().is_ok_and(f64::is_finite) || Date::read(cell).is_some()
}

impl<'a> Rows<'a> {
    /// The rows of `text`.
    pub(super) fn of(text: &'a str) -> Result<Self, String> {
        if is_json(text) {
            return of_json(text);
        }
        let mut lines = lines(text).peekable();
        let &(_, first) = lines.peek().ok_or("the table is empty")?;
        let separator = separator(first);
        let names = cut(first, separator);
        let header = (!names.iter().any(|cell| is_value(cell)))
            .then(|| names.into_iter().map(Cow::into_owned).collect::<Vec<String>>());
        if header.is_some() {
            lines.next();
        }
        let pointed = matches!(separator, Some(';' | '\t'));
        let rows = lines.map(move |(number, line)| {
            let cells = cut(line, separator);
            (number, if pointed { cells.into_iter().map(with_point).collect() } else { cells })
        });
        Ok(Self { header, rows: Box::new(rows), every: None })
    }
}

/// A list of objects is a row each, and an object with lists a column each. Both may be in another object.
fn of_json<'a>(text: &str) -> Result<Rows<'a>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
    table(&value).ok_or_else(|| "has no table: JSON has one as a list of objects, or as an object of lists".to_owned())
}

fn table<'a>(value: &Value) -> Option<Rows<'a>> {
    match value {
        Value::Array(rows) => objects(rows),
        Value::Object(object) => lists(object).or_else(|| object.values().find_map(table)),
        _ => None,
    }
}

fn cell<'a>(value: Option<&Value>) -> Cow<'a, str> {
    match value {
        Some(Value::String(text)) => text.clone().into(),
        Some(Value::Null) | None => Cow::Borrowed(""),
        Some(other) => other.to_string().into(),
    }
}

fn objects<'a>(rows: &[Value]) -> Option<Rows<'a>> {
    let header: Vec<String> = rows.first()?.as_object()?.keys().cloned().collect();
    let cells = |row: &Value| header.iter().map(|name| cell(row.get(name))).collect::<Vec<_>>();
    let rows: Vec<Row<'a>> = (1..).zip(rows.iter().map(cells)).collect();
    Some(Rows { header: Some(header), rows: Box::new(rows.into_iter()), every: None })
}

/// Columns as long as the longest list. With `current` they are rings with a sample a second, as the history of a dish
/// of Starlink has them: so many samples there have been.
fn lists<'a>(object: &Map<String, Value>) -> Option<Rows<'a>> {
    let lists = object.iter().filter_map(|(name, value)| Some((name, value.as_array()?)));
    let lists = lists.filter(|(_, list)| !list.iter().any(|value| value.is_object() || value.is_array()));
    let longest = lists.clone().map(|(_, list)| list.len()).max().filter(|&most| most > 1)?;
    let (header, columns): (Vec<String>, Vec<&Vec<Value>>) =
        lists.filter(|(_, list)| list.len() == longest).map(|(name, list)| (name.clone(), list)).unzip();
    let current = object.get("current").and_then(|value| cell(Some(value)).parse::<usize>().ok());
    let (from, samples) = match current {
        Some(current) if current < longest => (0, current),
        Some(current) => (current % longest, longest),
        None => (0, longest),
    };
    let row = |at: usize| columns.iter().map(|column| cell(column.get((from + at) % longest))).collect();
    let rows: Vec<Row<'a>> = (0..samples).map(|at| (at + 1, row(at))).collect();
    Some(Rows { header: Some(header), rows: Box::new(rows.into_iter()), every: current.map(|_| 1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Vec<String>>, Vec<Vec<String>>) {
        let rows = Rows::of(text).unwrap();
        let cells = rows.rows.map(|(_, row)| row.into_iter().map(Cow::into_owned).collect());
        (rows.header, cells.collect())
    }

    #[test]
    fn quotes_keep_separators_in_their_cell() {
        let line = "1,\"Troy, \"\"NY\"\"\",,\"x\" , 2";
        assert_eq!(cells(line), ["1", "Troy, \"NY\"", "", "x", "2"]);
        assert_eq!(cells("a;\"b,c\";d"), ["a", "b,c", "d"]);
        assert_eq!(cells("  1  \"2 3\"  4"), ["1", "2 3", "4"]);
        assert_eq!(cells("1,\"open,2"), ["1", "\"open", "2"]);
        // Semicolons stay apart from commas of numbers.
        assert_eq!(cells("1,5;2"), ["1,5", "2"]);
    }

    #[test]
    fn a_decimal_comma_is_a_point_where_commas_do_not_separate() {
        let of = |text: &str| read(text).1;
        assert_eq!(of("time_s;rate_mbit\n0,5;93,4\n"), [["0.5", "93.4"]]);
        assert_eq!(of("time_s\trate_mbit\n0\t93,4\n"), [["0", "93.4"]]);
        assert_eq!(of("time_s;rate_mbit\n0;1,2,3\n"), [["0", "1,2,3"]]);
        assert_eq!(of("time_s,rate_mbit\n0,93\n"), [["0", "93"]]);
    }

    #[test]
    fn a_header_has_no_value() {
        assert_eq!(read("time_s,rate\n0,1\n").0, Some(vec!["time_s".to_owned(), "rate".to_owned()]));
        assert_eq!(read("LTE 0 1\nLTE 1 2\n").0, None);
        assert_eq!(read("2019.11.25_15.34.34,LTE\n").0, None);
    }

    #[test]
    fn json_is_rows_or_columns() {
        let header = |names: [&str; 2]| Some(names.map(str::to_owned).to_vec());
        let sabre = r#"[{"duration_ms": 1000, "bandwidth_kbps": 5.5}, {"duration_ms": 500, "bandwidth_kbps": 7}]"#;
        assert_eq!(
            read(sabre),
            (
                header(["bandwidth_kbps", "duration_ms"]),
                vec![vec!["5.5".to_owned(), "1000".to_owned()], vec!["7".to_owned(), "500".to_owned()]]
            )
        );
        // Seven samples so far: the oldest of the last three is at place 1.
        let ring = r#"{"apiVersion": "9", "dishGetHistory": {"current": "7", "a": [7, 5, 6], "b": [1, 2, 3],
            "outages": [{"cause": "SKY"}]}}"#;
        let rows = [["5", "2"], ["6", "3"], ["7", "1"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(read(ring), (header(["a", "b"]), rows.to_vec()));
        assert_eq!(read(r#"{"current": 1, "a": [7, 0], "b": [1, 0]}"#).1.len(), 1);
        let refused = |text| Rows::of(text).err().unwrap();
        assert!(refused("{\"a\": 1}").starts_with("has no table"));
        assert!(refused("[1, 2").starts_with("is no JSON: EOF"));
    }
}
