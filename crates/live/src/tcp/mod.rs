//! The kernel's TCP at the two ends: what its connections do, and what is seen of them.

mod ack_rows;
mod application;
pub(crate) mod endpoints;
pub(crate) mod flow;
pub(crate) mod probes;
pub(crate) mod settings;
mod tcp_events;
pub(crate) mod tracker;
