//! What can keep a run from giving tables.

use std::fmt;
use std::path::PathBuf;

/// Why a run gave no tables. Displays as one sentence.
#[derive(Debug)]
pub enum Failure {
    /// Stopped through [`Watch::stop`](crate::Watch::stop).
    Interrupted,
    /// The scenario asks for too much under this seed.
    Scenario(scenario::Error),
    /// A controller could not be made.
    Controller(String),
    /// The capture could not be written.
    Capture(PathBuf, std::io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("the run was interrupted"),
            Self::Scenario(error) => error.fmt(f),
            Self::Controller(message) => f.write_str(message),
            Self::Capture(path, error) => write!(f, "the capture `{}` cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for Failure {}
