//! Errors of a scenario: one sentence with file, line and key, and the nearest of the names that are known.

use std::fmt;

use control::nearest;

/// Why a scenario cannot be run. Displays as one sentence: `demo.toml, line 7: path.rate: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file, or a name in its place.
    pub file: String,
    /// The line in it, counted from 1, or `None` if the key is not in the file.
    pub line: Option<usize>,
    /// The dotted key, indices of arrays included (`flows.0.cc`), or empty for the document as a whole.
    pub key: String,
    /// The fault, and the values that are allowed.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Error {}

/// An error of one flow: the key below the flow, and the message.
pub(crate) type FlowError = (String, String);

/// The error of a flow at `key`.
pub(crate) fn flow_error(key: impl Into<String>, message: impl Into<String>) -> FlowError {
    (key.into(), message.into())
}

/// "did you mean `a`? (there are `a`, `b`)", or without a name like it only what there is.
pub(crate) fn suggestion(name: &str, known: &[&str]) -> String {
    let list = known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`? (there are {list})"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("there are {list}"),
    }
}
