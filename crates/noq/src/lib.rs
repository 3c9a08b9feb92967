//! The QUIC stack noq as [`Stack`]: the same for the engine, which has it built in, and for a shared object, which has
//! it with a controller of the user or from sources of the user.
//!
//! Such an object is a crate of the type `cdylib` with `noq_stack::export!(Mine);`, or `noq_stack::export!();`.

mod clock;
mod controllers;
mod crypto;
mod export;
mod passing;
mod peer;
mod shims;

use std::time::Instant;

pub use noq_proto as proto;
use noq_proto::congestion::Controller;
pub use stack;
use stack::{MINE, Reports, Settings, Side, Stack};

pub use self::export::{ByDefault, ByFactory, Make, Named};
pub use self::peer::{Attach, Peer};
use crate::clock::Clock;
use crate::controllers::NoqController;
use crate::passing::Passing;

/// The stack, with a controller besides its own if it has one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exported {
    /// Makes the controller [`MINE`].
    pub mine: Option<Make>,
}

impl Exported {
    /// The same as [`Stack::connect`], and `attach` adds to the rules of the connection.
    ///
    /// # Errors
    /// See there.
    pub fn attached(
        &self,
        settings: &Settings,
        controller: Option<&str>,
        reports: Option<Box<dyn Reports>>,
        attach: Attach<'_>,
    ) -> Result<Peer, String> {
        let clock = Clock::new();
        let passing = reports.map(|reports| {
            let own = controller.map(|name| self.own(name, clock.instant(settings.now), settings)).transpose()?;
            Ok::<_, String>(Passing::new(own, reports.into(), clock))
        });
        Peer::open(settings, clock, passing.transpose()?, attach)
    }

    fn own(&self, name: &str, now: Instant, settings: &Settings) -> Result<Box<dyn Controller>, String> {
        if let Some(mine) = self.mine.filter(|_| name == MINE) {
            return Ok(mine(now, settings.packet_size));
        }
        let found = NoqController::find(name).ok_or_else(|| format!("noq has no controller `{name}`"))?;
        Ok(found.build(now, settings.packet_size, settings.initial_window))
    }
}

impl Stack for Exported {
    fn connect(
        &self,
        settings: &Settings,
        controller: Option<&str>,
        reports: Option<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        Ok(Box::new(self.attached(settings, controller, reports, &mut |_, _| {})?))
    }
}
