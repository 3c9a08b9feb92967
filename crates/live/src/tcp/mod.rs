//! The kernel's TCP at the two ends: its connections, and their observation.

mod ack_rows;
mod application;
pub(crate) mod endpoints;
pub(crate) mod flow;
pub(crate) mod probes;
pub(crate) mod settings;
mod tcp_events;
pub(crate) mod tracker;
