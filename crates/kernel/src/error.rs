//! Why a controller cannot be loaded into the kernel, or not be changed there, as one sentence.

use std::fmt;

use control::ParameterError;

/// Why something could not be loaded, traced or set. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// This machine cannot do it: a capability, a kernel option, a version or a tool is missing.
    Unavailable(String),
    /// A parameter is wrong.
    Parameter(ParameterError),
    /// There is no such controller, its source does not compile, or the kernel refuses it.
    Refused(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(sentence) | Self::Refused(sentence) => f.write_str(sentence),
            Self::Parameter(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<ParameterError> for LoadError {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error)
    }
}

/// For `map_err`: the sentence that `what` failed.
pub(crate) fn refused<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> LoadError {
    move |error| LoadError::Refused(format!("{what}: {error:#}"))
}
