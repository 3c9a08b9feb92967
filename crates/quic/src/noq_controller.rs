//! The controllers of noq by name.

use std::sync::Arc;
use std::time::Instant;

use control::ControllerRef;
use noq_proto::congestion::{Bbr3Config, Controller, ControllerFactory as _, CubicConfig, NewRenoConfig};

/// A controller of noq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoqController {
    NewReno,
    Cubic,
    Bbr3,
}

const ALL: [(&str, NoqController); 3] =
    [("noq:newreno", NoqController::NewReno), ("noq:cubic", NoqController::Cubic), ("noq:bbr3", NoqController::Bbr3)];

impl NoqController {
    /// The beginning of their names.
    pub(crate) const PREFIX: &str = "noq:";

    /// The one called `name`.
    pub(crate) fn find(name: &str) -> Option<Self> {
        ALL.into_iter().find(|(known, _)| *known == name).map(|(_, found)| found)
    }

    /// The one that a scenario names, if it names one.
    pub(crate) fn of(cc: &ControllerRef) -> Option<Self> {
        match cc {
            ControllerRef::Engine(name) => Self::find(name),
            _ => None,
        }
    }

    /// All names.
    pub(crate) fn names() -> String {
        ALL.map(|(name, _)| name).join(", ")
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

/// The names of the controllers of noq, as scenarios write them.
pub fn controllers() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(|(name, _)| name)
}
