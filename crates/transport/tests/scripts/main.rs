//! Scripts: what happens to a sender or a receiver, and what it must answer. On failure the whole transcript is
//! printed.

mod harness;

mod echo;
mod forward;
mod idle;
mod pacing;
mod probes;
mod receiving;
mod recovery;
mod reordering;
mod sending;
mod signals;
mod tahoe;
mod ticks;
mod timeouts;
mod wanted;
