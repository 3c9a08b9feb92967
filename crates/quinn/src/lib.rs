//! The QUIC stack quinn as [`Stack`], for shared objects: with its own controllers, or with one of a user.
//!
//! quinn is the ancestor of noq, so clock, export, keys and most of a connection are the same text as in `crates/noq`.

#[path = "../../noq/src/clock.rs"]
mod clock;
mod controllers;
#[path = "../../noq/src/crypto.rs"]
mod crypto;
#[path = "../../noq/src/export.rs"]
mod export;
mod flight;
mod passing;
#[path = "../../noq/src/peer.rs"]
mod peer;
mod shims;
mod side;

use std::time::Instant;

pub use quinn_proto as proto;
use quinn_proto::congestion::Controller;
pub use stack;
use stack::{MINE, Reports, Settings, Side, Stack};

use crate::clock::Clock;
pub use crate::export::{ByDefault, ByFactory, Make, Named};
use crate::flight::SharedFlight;
use crate::passing::{Factory, Passing};
pub use crate::peer::{Attach, Peer};
use crate::side::Reporting;

/// The stack, with a controller besides its own if it has one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exported {
    /// Makes the controller [`MINE`].
    pub mine: Option<Make>,
}

impl Exported {
    fn own(&self, name: Option<&str>, now: Instant, settings: &Settings) -> Result<Box<dyn Controller>, String> {
        let name = name.ok_or("quinn runs controllers of quinn alone")?;
        if let Some(mine) = self.mine.filter(|_| name == MINE) {
            return Ok(mine(now, settings.packet_size));
        }
        let made = controllers::build(name, now, settings.packet_size, settings.initial_window);
        made.ok_or_else(|| format!("quinn has no controller `{name}`"))
    }
}

impl Stack for Exported {
    fn connect(
        &self,
        settings: &Settings,
        controller: Option<&str>,
        reports: Vec<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        settings.one_path("quinn")?;
        let clock = Clock::new();
        let Some(reports) = reports.into_iter().next() else {
            return Ok(Box::new(Peer::open(settings, clock, None, &mut |_, _| {})?));
        };
        let own = self.own(controller, clock.instant(settings.now), settings)?;
        let flight = SharedFlight::new(reports, clock);
        let factory = Factory(Passing::new(own, flight.clone()));
        let peer = Peer::open(settings, clock, Some(factory), &mut |_, _| {})?;
        Ok(Box::new(Reporting::new(peer, flight)))
    }
}
