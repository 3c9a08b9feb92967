//! The controllers of noq by name.

use std::sync::Arc;
use std::time::Instant;

use noq_proto::congestion::{Bbr3Config, Controller, ControllerFactory as _, CubicConfig, NewRenoConfig};

/// A controller of noq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoqController {
    NewReno,
    Cubic,
    Bbr3,
}

const ALL: [(&str, NoqController); 3] =
    [("newreno", NoqController::NewReno), ("cubic", NoqController::Cubic), ("bbr3", NoqController::Bbr3)];

impl NoqController {
    /// The one called `name`.
    pub(crate) fn find(name: &str) -> Option<Self> {
        ALL.into_iter().find(|(known, _)| *known == name).map(|(_, found)| found)
    }

    /// Builds it, with an initial window in bytes.
    pub(crate) fn build(self, now: Instant, packet_size: u16, initial_window: u64) -> Box<dyn Controller> {
        match self {
            Self::NewReno => {
                let mut config = NewRenoConfig::default();
                config.initial_window(initial_window);
                Arc::new(config).build(now, packet_size)
            }
            Self::Cubic => {
                let mut config = CubicConfig::default();
                config.initial_window(initial_window);
                Arc::new(config).build(now, packet_size)
            }
            Self::Bbr3 => {
                let mut config = Bbr3Config::default();
                config.initial_window(initial_window);
                Arc::new(config).build(now, packet_size)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_listed_can_be_found() {
        let (_, names) = stack::STACKS[0];
        assert!(names.iter().all(|name| NoqController::find(name).is_some()));
        assert_eq!(names.len(), ALL.len());
    }
}
