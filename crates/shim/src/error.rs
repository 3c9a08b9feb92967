//! Errors of a controller in C, each as one sentence.

use std::fmt;

/// Why a controller's file cannot be run. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The file cannot be read or compiled, or its object not loaded.
    Source(String),
    /// A parameter is unknown or out of range.
    Parameter(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Source(sentence) | Self::Parameter(sentence)) = self;
        f.write_str(sentence)
    }
}

impl std::error::Error for Error {}
