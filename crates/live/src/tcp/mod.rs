//! The kernel's TCP at the two ends: what its connections do, and what is seen of them.

mod application;
mod changes;
pub(crate) mod endpoints;
mod rows;
pub(crate) mod shown;
pub(crate) mod tracker;
