//! Scripts of events at a sender or a receiver, and of the answers that they require. On failure the whole transcript
//! is printed.

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
