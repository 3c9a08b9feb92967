//! A build without the feature `qlog` has no logs of noq.

use std::io::{self, Write};
use std::time::Instant;

use engine::Failure;
use noq_stack::proto::TransportConfig;

use crate::LogOf;

/// Logs that no run has.
pub enum Logs {}

impl Logs {
    /// `None`: they are not built in.
    pub fn new(
        _open: impl Fn(LogOf) -> io::Result<Box<dyn Write + Send + Sync>> + Send + Sync + 'static,
    ) -> Option<Self> {
        None
    }

    pub(crate) fn attach(&self, _: &mut TransportConfig, _: LogOf, _: Instant) -> Result<(), Failure> {
        match *self {}
    }

    pub(crate) fn check(&self) -> Result<(), Failure> {
        match *self {}
    }
}
