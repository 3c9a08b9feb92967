//! Values of several parts in one text: `{ limit = "84p", discipline = "red" }`, as on a command line.

use serde::de;
use serde::de::DeserializeOwned;
use toml::Value;

use crate::deserializer::{KeyError, read};
use crate::document::plain;

/// `text` as a value if it is a table or a list, in TOML or JSON, or `None` for any other text.
pub(crate) fn inline<T: DeserializeOwned, E: de::Error>(text: &str) -> Option<Result<T, E>> {
    let text = text.trim();
    text.starts_with(['{', '[']).then(|| {
        let value = value(text).map_err(E::custom)?;
        read_as(&value)
    })
}

/// What `value` describes.
pub(crate) fn read_as<T: DeserializeOwned, E: de::Error>(value: &Value) -> Result<T, E> {
    read(value).map_err(|KeyError { key, message }| {
        E::custom(if key.is_empty() { message } else { format!("`{key}`: {message}") })
    })
}

fn value(text: &str) -> Result<Value, String> {
    match format!("v = {text}").parse::<toml::Table>() {
        Ok(table) => Ok(table.into_iter().next().map_or(Value::Boolean(false), |(_, value)| value)),
        Err(error) => serde_json::from_str::<serde_json::Value>(text)
            .ok()
            .and_then(|value| Value::try_from(value).ok())
            .ok_or_else(|| {
                let why = plain(error.message());
                format!("`{text}` is neither a table nor a list of TOML or JSON: {why}")
            }),
    }
}
