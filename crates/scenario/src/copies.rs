//! Copies of flows and links: `count` or `copies`, with `{copy}` in the places where they differ.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::draw::MOST_FLOWS;

/// The placeholder of the number or name of the copy.
const PLACEHOLDER: &str = "{copy}";

/// The keys that say how many copies there are.
const HOW_MANY: &str = "`count = 8` or `copies = [1, 2]`";

/// The lists whose entries may be copied.
const LISTS: [&str; 2] = ["flows", "links"];

/// An error: the key and the message.
type Fault = (String, String);

/// A document with all copies written out.
pub(crate) struct Copied {
    pub(crate) table: Table,
    /// For entries that are not where they were written: `flows.3` came from `flows.1`.
    pub(crate) written: BTreeMap<String, String>,
}

/// `table` with all copies written out.
pub(crate) fn copied(table: &Table) -> Result<Copied, Fault> {
    let mut copied = Copied { table: table.clone(), written: BTreeMap::new() };
    for list in LISTS {
        let Some(Value::Array(entries)) = table.get(list) else { continue };
        let mut all: Vec<Value> = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            for (written, copy) in copies_of(list, entry, &format!("{list}.{index}"))? {
                let now = format!("{list}.{}", all.len());
                if now != written {
                    copied.written.insert(now, written);
                }
                all.push(copy);
            }
        }
        copied.table.insert(list.to_owned(), Value::Array(all));
    }
    Ok(copied)
}

/// The copies of `entry` at `key`, each with the key of the text that it was made from.
fn copies_of(list: &str, entry: &Value, key: &str) -> Result<Vec<(String, Value)>, Fault> {
    let as_written = || Ok(vec![(key.to_owned(), entry.clone())]);
    let Value::Table(table) = entry else { return as_written() };
    let differing = find_text(entry, key, &|text| text.contains(PLACEHOLDER));
    let group = table.get("each");
    if !table.contains_key("count") && !table.contains_key("copies") {
        return match (differing, group) {
            (Some((at, text)), _) => Err((at, format!("`{text}` is of copies: write {HOW_MANY} beside it"))),
            (None, Some(_)) => Err((format!("{key}.each"), format!("is of copies: write {HOW_MANY} beside it"))),
            (None, None) => as_written(),
        };
    }
    if differing.is_none() {
        // Flows that do not differ are copied by the plan.
        if list == "flows" && !table.contains_key("copies") && group.is_none() {
            return as_written();
        }
        let message = format!(
            "its copies are all alike: write `{PLACEHOLDER}` where they differ, like `to = \"n{PLACEHOLDER}\"`"
        );
        return Err((key.to_owned(), message));
    }
    let names = names(table, key)?;
    if let Some((at, text)) = find_text(entry, key, &has_other_placeholder) {
        return Err((at, format!("`{text}`: the only placeholder is `{PLACEHOLDER}`, the number or name of the copy")));
    }
    let parts = match group {
        Some(each) => entries_of_group(table, each, key)?,
        None => vec![(key.to_owned(), without_number(table))],
    };
    let copy =
        |name: &String| parts.iter().map(|(written, part)| (written.clone(), filled(part, name))).collect::<Vec<_>>();
    Ok(names.iter().flat_map(copy).collect())
}

/// The numbers or names of the copies that an entry asks for.
fn names(table: &Table, key: &str) -> Result<Vec<String>, Fault> {
    let fault = |name: &str, message: String| Err((format!("{key}.{name}"), message));
    let Some(copies) = table.get("copies") else {
        let count = table.get("count").and_then(Value::as_integer).and_then(|count| u64::try_from(count).ok());
        return match count {
            Some(count @ 1..=MOST_FLOWS) => Ok((0..count).map(|copy| copy.to_string()).collect()),
            _ => fault("count", format!("must be a whole number from 1 to {MOST_FLOWS}")),
        };
    };
    if table.contains_key("count") {
        return fault("copies", "is given beside `count`: one of them is enough".to_owned());
    }
    let name = |value: &Value| match value {
        Value::Integer(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    match copies.as_array().and_then(|copies| copies.iter().map(name).collect::<Option<Vec<_>>>()) {
        Some(names) if !names.is_empty() => Ok(names),
        _ => fault("copies", format!("`{copies}` is no list of whole numbers or names, like `[1, 2, 3]`")),
    }
}

/// The entries that a group at `key` copies together, each with its own key.
fn entries_of_group(table: &Table, each: &Value, key: &str) -> Result<Vec<(String, Value)>, Fault> {
    if let Some(other) = table.keys().find(|name| !["count", "copies", "each"].contains(&name.as_str())) {
        return Err((format!("{key}.{other}"), "belongs into the entries of `each`".to_owned()));
    }
    let key = format!("{key}.each");
    match each.as_array() {
        Some(entries) if entries.iter().all(Value::is_table) => {
            let keyed = entries.iter().enumerate().map(|(index, entry)| (format!("{key}.{index}"), entry.clone()));
            Ok(keyed.collect())
        }
        _ => Err((key, "must be a list of tables, which are copied together".to_owned())),
    }
}

/// The entry of one copy: without number, and with its own name for each if it has one that says nothing of it.
fn without_number(table: &Table) -> Value {
    let mut table = table.clone();
    table.remove("count");
    table.remove("copies");
    if let Some(Value::String(name)) = table.get_mut("name")
        && !name.contains(PLACEHOLDER)
    {
        name.push('-');
        name.push_str(PLACEHOLDER);
    }
    Value::Table(table)
}

/// `value` with the name of the copy in place of the placeholder.
fn filled(value: &Value, name: &str) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace(PLACEHOLDER, name)),
        Value::Array(items) => Value::Array(items.iter().map(|item| filled(item, name)).collect()),
        Value::Table(table) => {
            Value::Table(table.iter().map(|(key, inner)| (key.clone(), filled(inner, name))).collect())
        }
        other => other.clone(),
    }
}

/// The first text in `value`, which is at `key`, that is `wanted`, with its key.
fn find_text(value: &Value, key: &str, wanted: &dyn Fn(&str) -> bool) -> Option<(String, String)> {
    match value {
        Value::String(text) => wanted(text).then(|| (key.to_owned(), text.clone())),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| find_text(item, &format!("{key}.{index}"), wanted))
        }
        Value::Table(table) => {
            table.iter().find_map(|(name, inner)| find_text(inner, &format!("{key}.{name}"), wanted))
        }
        _ => None,
    }
}

/// True if braces are left when all copies have their names.
fn has_other_placeholder(text: &str) -> bool {
    text.replace(PLACEHOLDER, "").contains(['{', '}'])
}
