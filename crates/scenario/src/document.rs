//! From text to [`Scenario`]: reading, overriding single keys, and finding the line and key of an error.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use network::DisciplineSettings;
use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::copies::{Copied, copied};
use crate::deserializer::{KeyError, read};
use crate::error::suggestion;
use crate::{Error, Files, Scenario};

/// Reads a scenario from TOML. `file` names it in errors, and traces are looked up beside it.
pub fn from_toml(text: &str, file: &str) -> Result<Scenario, Error> {
    Document::from_toml(text, file)?.scenario()
}

/// Reads a scenario from the TOML file at `path`, one of `files`.
pub fn from_path(path: impl AsRef<Path>, files: &dyn Files) -> Result<Scenario, Error> {
    Document::from_path(path, files)?.scenario()
}

/// Reads a scenario from JSON of the shape of the TOML document. `null` is a key that is not given.
pub fn from_json(value: &Json, file: &str) -> Result<Scenario, Error> {
    Document::from_json(value, file)?.scenario()
}

/// A scenario as written, in which single keys can still be set.
#[derive(Clone, Debug)]
pub struct Document {
    table: Table,
    origin: Origin,
}

/// The origin of a document, as errors name it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) file: String,
    /// The line of every key in the file.
    lines: BTreeMap<String, usize>,
    /// The keys at which entries were written that are copies, or come after some.
    written: BTreeMap<String, String>,
    /// Losses above 0 that were written as a number alone.
    bare_losses: BTreeMap<String, f64>,
}

impl Origin {
    /// Remarks on bare numbers of losses: 1 is all packets, not one percent.
    pub(crate) fn bare_losses(&self) -> impl Iterator<Item = String> {
        self.bare_losses.iter().map(|(key, share)| {
            let percent = (share * 1e12).round() / 1e10;
            format!("{key} = {share} is a share: {percent} % of the packets; `\"{percent}%\"` says so")
        })
    }
}

impl Document {
    /// The document in `text`, or an error if it is not TOML.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, Error> {
        let located = DeTable::parse(text).map_err(|error| syntax_error(&error, text, file))?;
        let (mut lines, ends) = (BTreeMap::new(), LineEnds::of(text));
        let mut bare_losses = BTreeMap::new();
        each_key(located.get_ref(), String::new(), &mut |key, span, value| {
            lines.insert(key.to_owned(), ends.line(span.start));
            let is_loss = key.ends_with(".loss") && (key.starts_with("path.") || key.starts_with("links."));
            if let (true, Ok(share)) = (is_loss, text[value].parse::<f64>())
                && share > 0.0
            {
                bare_losses.insert(key.to_owned(), share);
            }
        });
        let table = text.parse().map_err(|error| syntax_error(&error, text, file))?;
        Ok(Self { table, origin: Origin { file: file.to_owned(), lines, bare_losses, ..Origin::default() } })
    }

    /// The document in the file at `path`, one of `files`.
    pub fn from_path(path: impl AsRef<Path>, files: &dyn Files) -> Result<Self, Error> {
        let file = path.as_ref().display().to_string();
        let fail = |message| Error { file: file.clone(), line: None, key: String::new(), message };
        let bytes = files.read(path.as_ref()).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            fail(format!("is not UTF-8 text (byte {} is the first that is not)", error.utf8_error().valid_up_to()))
        })?;
        Self::from_toml(&text, &file)
    }

    /// The document in a JSON object.
    pub fn from_json(value: &Json, file: &str) -> Result<Self, Error> {
        let origin = Origin { file: file.to_owned(), ..Origin::default() };
        match to_toml(value, "").map_err(|(key, message)| origin.error(&key, message))? {
            Some(Value::Table(table)) => Ok(Self { table, origin }),
            _ => Err(origin.error("", "a scenario is an object of keys and values")),
        }
    }

    /// Sets the value at a dotted `key`. Numbers index arrays (`flows.0.cc`), and `*` is every entry of one. The value
    /// is read as TOML if it is TOML, otherwise as a string. An unknown key is an error only when the scenario is
    /// read.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        for one in self.each(key)? {
            self.set_one(&one, value)?;
        }
        Ok(())
    }

    /// The keys that match `key`: itself, or one for each entry of the array if it has a `*`.
    fn each(&self, key: &str) -> Result<Vec<String>, Error> {
        let names: Vec<&str> = key.split('.').collect();
        let Some(place) = names.iter().position(|name| *name == "*") else { return Ok(vec![key.to_owned()]) };
        let mut at = self.table.get(names[0]);
        for name in names[..place].iter().skip(1) {
            at = at.and_then(|value| match name.parse::<usize>() {
                Ok(index) => value.get(index),
                Err(_) => value.get(*name),
            });
        }
        let Some(entries) = at.and_then(Value::as_array) else {
            return Err(self.origin.error(key, "`*` stands for every entry of a list, and there is none here"));
        };
        let mut keys = Vec::new();
        for index in 0..entries.len() {
            let entry = index.to_string();
            let mut one = names.clone();
            one[place] = &entry;
            keys.extend(self.each(&one.join("."))?);
        }
        Ok(keys)
    }

    /// As [`set`](Self::set), of a key without `*`.
    fn set_one(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let value = format!("v = {value}")
            .parse::<Table>()
            .ok()
            .filter(|table| table.len() == 1)
            .and_then(|mut table| table.remove("v"))
            .unwrap_or_else(|| Value::String(value.to_owned()));
        let mut root = Value::Table(std::mem::take(&mut self.table));
        let result = put(&mut root, key, value);
        if let Value::Table(table) = root {
            self.table = table;
        }
        result.map_err(|message| self.origin.error(key, message))?;
        let below = format!("{key}.");
        self.origin.lines.retain(|k, _| k != key && !k.starts_with(&below));
        self.origin.bare_losses.retain(|k, _| k != key && !k.starts_with(&below));
        Ok(())
    }

    /// Reads the document as a scenario.
    pub fn scenario(&self) -> Result<Scenario, Error> {
        let Copied { table, written } =
            copied(&self.table).map_err(|(key, message)| self.origin.error(&key, message))?;
        let origin = Origin { written, ..self.origin.clone() };
        let given = Value::Table(table);
        let mut scenario: Scenario = read(&given).map_err(|error| {
            let (key, message) = explain(error, &given);
            origin.error(&key, message)
        })?;
        scenario.origin = origin;
        scenario.complete();
        Ok(scenario)
    }
}

impl Origin {
    /// An error at `key`, with its line, or else the line of the value that contains `key`.
    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> Error {
        let key = &self.as_written(key);
        let mut at = key.as_str();
        let line = loop {
            match (self.lines.get(at), at.rfind('.')) {
                (Some(line), _) => break Some(*line),
                (None, Some(dot)) => at = &at[..dot],
                (None, None) => break None,
            }
        };
        Error { file: self.file.clone(), line, key: key.clone(), message: message.into() }
    }

    /// The key in the file for the value at `key` in the document with all copies written out.
    fn as_written(&self, key: &str) -> String {
        let entry = key.match_indices('.').nth(1).map_or(key.len(), |(end, _)| end);
        self.written.get(&key[..entry]).map_or_else(|| key.to_owned(), |written| format!("{written}{}", &key[entry..]))
    }

    /// The place of a file that the scenario names.
    pub(crate) fn beside(&self, path: impl AsRef<Path>) -> PathBuf {
        Path::new(&self.file).parent().unwrap_or(Path::new("")).join(path)
    }
}

fn syntax_error(error: &toml::de::Error, text: &str, file: &str) -> Error {
    Error {
        file: file.to_owned(),
        line: error.span().map(|span| LineEnds::of(text).line(span.start)),
        key: String::new(),
        message: format!("is not TOML: {}", plain(error.message())),
    }
}

/// The ends of the lines of a text. Counting them anew for every key would take the square of the length.
struct LineEnds(Vec<usize>);

impl LineEnds {
    fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line of a position, counted from 1.
    fn line(&self, position: usize) -> usize {
        1 + self.0.partition_point(|&end| end < position)
    }
}

/// Calls `visit` with the dotted key, the span of the key and the span of the value of all that `table` holds.
fn each_key(table: &DeTable<'_>, prefix: String, visit: &mut impl FnMut(&str, Range<usize>, Range<usize>)) {
    for (name, value) in table {
        each_value(value, name.span(), format!("{prefix}{}", name.get_ref()), visit);
    }
}

fn each_value(
    value: &Spanned<DeValue<'_>>,
    span: Range<usize>,
    key: String,
    visit: &mut impl FnMut(&str, Range<usize>, Range<usize>),
) {
    visit(&key, span, value.span());
    match value.get_ref() {
        DeValue::Table(table) => each_key(table, format!("{key}."), visit),
        DeValue::Array(array) => {
            for (i, item) in array.iter().enumerate() {
                each_value(item, item.span(), format!("{key}.{i}"), visit);
            }
        }
        _ => {}
    }
}

/// Key and message of an error that reading `given` gave.
fn explain(error: KeyError, given: &Value) -> (String, String) {
    let mut key = error.key;
    let mut message = error.message.as_str();
    // A table that reads its keys itself says which of them it is about.
    if let Some((name, about)) = message.strip_prefix('`').and_then(|rest| rest.split_once("`: "))
        && let named = if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") }
        && at(given, &named).is_some()
    {
        (key, message) = (named, about);
    }
    let named: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field") {
        let (name, known) = named.split_first().unwrap_or((&"", &[]));
        if key.ends_with(".reverse.reorder") {
            let message = "there is no such key here: `reorder` stands beside `reverse` and is for both directions; \
                           for this one alone there is `jitter = { uniform = \"3ms\", reorder = true }`";
            return (key, message.to_owned());
        }
        if matches!(*name, "direction" | "dir") && known.contains(&"reverse") {
            let message = "there is no such key here; `reverse = true` is a flow in the other direction";
            return (key, message.to_owned());
        }
        return (key, format!("there is no such key here; {}", suggestion(name, known)));
    }
    if message.starts_with("missing field") {
        let name = named.first().copied().unwrap_or_default();
        let key = if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
        return (key, "is missing".to_owned());
    }
    let key = named.first().and_then(|name| only_table(given, &key, name)).unwrap_or(key);
    (key, plain(message))
}

/// The value in `given` at the dotted `key`.
fn at<'a>(given: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(given, |at, name| match name.parse::<usize>() {
        Ok(index) if at.is_array() => at.get(index),
        _ => at.get(name),
    })
}

/// The key of the only table in the value at `key`, if this table has a value called `name`: a distribution reads its
/// one table as a whole.
fn only_table(given: &Value, key: &str, name: &str) -> Option<String> {
    match at(given, key)? {
        Value::Table(outer) if outer.len() == 1 => {
            outer.iter().find_map(|(inner, value)| value.get(name).map(|_| format!("{key}.{inner}")))
        }
        _ => None,
    }
}

/// `message` of a deserialiser with the names of Rust's types in words.
pub(crate) fn plain(message: &str) -> String {
    let names = [
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number from 0 to 9223372036854775807"),
        ("expected any valid TOML value", "expected at most 9223372036854775807"),
        (" as i128", ""),
        ("expected a map", "expected a table"),
        ("invalid type: map", "invalid type: table"),
        ("expected a sequence", "expected a list"),
        ("invalid type: sequence", "invalid type: list"),
        ("invalid type: unit variant", "invalid type: a name without its settings"),
        ("expected a boolean", "expected true or false"),
        ("expected a string", "expected text in quotes"),
        ("expected string or map", "expected text in quotes"),
        ("invalid value: map, expected map with a single key", "invalid type: table, expected text in quotes"),
        ("expected f64", "expected a number"),
        ("invalid type: null", "invalid type: not a finite number"),
    ];
    let mut message = names.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to));
    if let Some(at) = message.find("expected struct ") {
        message.replace_range(at.., "expected a table");
    }
    message
}

/// Puts `value` at the dotted `key` below `root`, making tables on the way.
fn put(root: &mut Value, key: &str, value: Value) -> Result<(), String> {
    let mut at = root;
    let mut done = String::new();
    for name in key.split('.') {
        if name.is_empty() {
            return Err("a key is names and indices with single dots between".to_owned());
        }
        if let Some(table) = queue_as_table(at, &done) {
            *at = table;
        }
        at = match at {
            Value::Table(table) => table.entry(name).or_insert_with(|| Value::Table(Table::new())),
            Value::Array(array) => {
                let length = array.len();
                name.parse::<usize>().ok().and_then(|i| array.get_mut(i)).ok_or_else(|| {
                    let entries = match length {
                        0 => "is empty".to_owned(),
                        1 => "has one entry, number 0".to_owned(),
                        _ => format!("has {length} entries, 0 to {}", length - 1),
                    };
                    format!("`{name}` is not an index into `{done}`, which {entries}")
                })?
            }
            _ => return Err(format!("`{done}` is not a table: set it as a whole")),
        };
        if !done.is_empty() {
            done.push('.');
        }
        done.push_str(name);
    }
    *at = value;
    Ok(())
}

/// The table for a queue that is written as one word: its limit, or the name of its discipline.
fn queue_as_table(value: &Value, key: &str) -> Option<Value> {
    let Value::String(word) = value else { return None };
    let named = if DisciplineSettings::NAMES.contains(&word.as_str()) { "discipline" } else { "limit" };
    (key.rsplit('.').next() == Some("queue"))
        .then(|| Value::Table(Table::from_iter([(named.to_owned(), value.clone())])))
}

/// JSON as TOML: `None` for `null`, which in objects is a key that is not given.
fn to_toml(value: &Json, key: &str) -> Result<Option<Value>, (String, String)> {
    let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    Ok(Some(match value {
        Json::Null => return Ok(None),
        Json::Bool(b) => Value::Boolean(*b),
        Json::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(whole), _) => Value::Integer(whole),
            (None, Some(_)) if n.is_u64() => {
                return Err((key.to_owned(), format!("`{n}` is too large: at most {}", i64::MAX)));
            }
            (None, real) => Value::Float(real.unwrap_or(f64::NAN)),
        },
        Json::String(s) => Value::String(s.clone()),
        Json::Array(items) => {
            let mut array = Vec::with_capacity(items.len());
            for (i, item) in items.iter().enumerate() {
                let key = below(&i.to_string());
                array.push(to_toml(item, &key)?.ok_or((key, "an array holds no `null`".to_owned()))?);
            }
            Value::Array(array)
        }
        Json::Object(fields) => {
            let mut table = Table::new();
            for (name, field) in fields {
                if let Some(field) = to_toml(field, &below(name))? {
                    table.insert(name.clone(), field);
                }
            }
            Value::Table(table)
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::LineEnds;

    #[test]
    fn a_position_has_the_line_it_lies_in() {
        // The line break itself, at 1 and 2, belongs to the line that it ends.
        let ends = LineEnds::of("a\n\nbc");
        assert_eq!([0, 1, 2, 3, 4].map(|at| ends.line(at)), [1, 1, 2, 3, 3]);
        assert_eq!(LineEnds::of("").line(0), 1);
    }
}
