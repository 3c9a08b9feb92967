//! The files beside a scenario, and errors that name its own.

use std::io;

use crate::document::Origin;
use crate::{Error, Files, Scenario};

/// Reads the files that a scenario names.
pub(crate) struct Reader<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) files: &'a dyn Files,
}

impl<'a> Reader<'a> {
    pub(crate) fn of(scenario: &'a Scenario, files: &'a dyn Files) -> Self {
        Self { origin: &scenario.origin, files }
    }

    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> Error {
        self.origin.error(key, message)
    }

    /// The text in the file at `path`, beside the scenario.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        let bytes = self.files.read(&self.origin.beside(path))?;
        String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
    }
}
