//! The controllers of quinn by name.

use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory as _, CubicConfig, NewRenoConfig};

/// Builds the one called `name`, with an initial window in bytes.
pub(crate) fn build(name: &str, now: Instant, packet_size: u16, initial_window: u64) -> Option<Box<dyn Controller>> {
    match name {
        "newreno" => {
            let mut config = NewRenoConfig::default();
            config.initial_window(initial_window);
            Some(Arc::new(config).build(now, packet_size))
        }
        "cubic" => {
            let mut config = CubicConfig::default();
            config.initial_window(initial_window);
            Some(Arc::new(config).build(now, packet_size))
        }
        "bbr" => {
            let mut config = BbrConfig::default();
            config.initial_window(initial_window);
            Some(Arc::new(config).build(now, packet_size))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn those_that_are_listed_can_be_built() {
        let (_, names) = stack::STACKS[1];
        assert!(names.iter().all(|name| build(name, Clock::new().instant(0), 1200, 12_000).is_some()));
        assert!(build("vegas", Clock::new().instant(0), 1200, 12_000).is_none());
    }
}
