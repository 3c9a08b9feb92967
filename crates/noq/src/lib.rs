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

pub use noq_proto as proto;
pub use stack;
use stack::{MINE, Reports, Settings, Side, Stack};

pub use self::export::{ByDefault, ByFactory, Make, Named};
pub use self::peer::{Attach, Peer};
use crate::clock::Clock;
use crate::controllers::NoqController;
use crate::passing::{Factory, Maker};

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
        reports: Vec<Box<dyn Reports>>,
        attach: Attach<'_>,
    ) -> Result<Peer, String> {
        let (clock, maker) = (Clock::new(), self.maker(controller, *settings)?);
        let factory = (!reports.is_empty()).then(|| Factory::new(maker, reports, clock));
        Peer::open(settings, clock, factory, attach)
    }

    /// Makes controllers of this name, if there is one.
    fn maker(&self, name: Option<&str>, settings: Settings) -> Result<Maker, String> {
        let Settings { packet_size, initial_window, .. } = settings;
        let Some(name) = name else { return Ok(Box::new(|_| None)) };
        if let Some(mine) = self.mine.filter(|_| name == MINE) {
            return Ok(Box::new(move |now| Some(mine(now, packet_size))));
        }
        let found = NoqController::find(name).ok_or_else(|| format!("noq has no controller `{name}`"))?;
        Ok(Box::new(move |now| Some(found.build(now, packet_size, initial_window))))
    }
}

impl Stack for Exported {
    fn connect(
        &self,
        settings: &Settings,
        controller: Option<&str>,
        reports: Vec<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        Ok(Box::new(self.attached(settings, controller, reports, &mut |_, _| {})?))
    }
}
