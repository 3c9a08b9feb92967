//! Controllers in shared objects: the table of functions by which the simulator calls one.
//!
//! A file of Rust that has a controller and its [`Entry`](control::Entry), as every file of `control` does, becomes a
//! plug-in by one line, `plugin::export!(ENTRY);`, and a crate of the type `cdylib` around it:
//!
//! ```
//! use control::{Ack, Aim, Context, Controller, Entry, Loss, Reno};
//!
//! const ENTRY: Entry = Entry {
//!     name: "halving",
//!     title: "Halving",
//!     summary: "Half the window on a loss",
//!     source: "mine",
//!     aim: Aim::General,
//!     parameters: &[],
//!     probes: &[],
//!     make: |_| Ok(Box::new(Halving(Reno::new()))),
//! };
//! plugin::export!(ENTRY);
//!
//! struct Halving(Reno);
//!
//! impl Controller for Halving {
//!     fn on_start(&mut self, cx: &mut Context<'_>) {
//!         self.0.start(cx);
//!     }
//!     fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
//!         self.0.grow(cx, ack);
//!     }
//!     fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
//!         self.0.multiplicative_decrease(0.5);
//!     }
//!     fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
//!         self.0.timeout(0.5, loss.again);
//!     }
//!     fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
//!         self.0.idle_restart(cx);
//!     }
//!     fn window(&self) -> f64 {
//!         self.0.window
//!     }
//!     fn slow_start_threshold(&self) -> f64 {
//!         self.0.threshold
//!     }
//! }
//! ```
//!
//! Nothing of Rust's own layout crosses between object and simulator: they may come from different compilers, and from
//! different builds of `control`. `signals.rs` and `table.rs` have all that does. [`VERSION`] counts its changes. No
//! panic crosses either: a function says that it failed, and why. `shim` is the side that loads objects.
#![allow(unsafe_code)]

mod caught;
mod instance;
mod signals;
mod table;

pub use instance::make;
pub use signals::{
    Ack, Context, Crosses, Decisions, Event, Loss, Marks, Maybe, Moment, RateSample, Restart, RttSample,
};
pub use signals::{SegmentReport, SentState, Transmission, TransmitStart, Wants};
pub use table::{Made, SYMBOL, Show, Table, Text, VERSION, stream};

/// Makes a shared object of this crate that holds the controller of an [`Entry`](control::Entry).
#[macro_export]
macro_rules! export {
    ($entry:expr) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub static ACKCLOCK_CONTROLLER: $crate::Table = {
            extern "C" fn make(parameters: $crate::Text, made: &mut $crate::Made) {
                $crate::make(&$entry, parameters, made);
            }
            $crate::Table::new($entry.name, make)
        };
    };
}
