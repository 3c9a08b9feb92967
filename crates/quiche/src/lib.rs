//! The QUIC stack quiche as [`Stack`], for a shared object: with its own controllers, its own pacing, and BoringSSL.
//!
//! Such an object is a crate of the type `cdylib` with `quiche_stack::export!();`. It is linked with
//! `--wrap` for each function of `session.rs`.

mod session;
mod settings;
mod side;

pub use stack;
use stack::{Reports, Settings, Side, Stack};

use crate::side::Peer;

/// The stack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exported;

impl Stack for Exported {
    fn connect(
        &self,
        settings: &Settings,
        controller: Option<&str>,
        reports: Vec<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        settings.one_path("quiche")?;
        let reports = reports.into_iter().next();
        if reports.is_some() && controller.is_none() {
            return Err("quiche runs controllers of quiche alone".to_owned());
        }
        Ok(Box::new(Peer::open(settings, controller, reports)?))
    }
}

/// Makes a shared object of this crate that holds the stack.
#[macro_export]
macro_rules! export {
    () => {
        $crate::stack::export!($crate::Exported);
    };
}
