//! The simulated engine: a virtual clock, and the world that lives by it.
//!
//! A run is a function of plan and seed: the same bytes on every machine and however many runs go on beside it. The
//! number of pending events is proportional to links, delays and flows, never to packets.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod ack_fields;
mod acks;
mod agenda;
mod agents;
mod cache_aligned;
mod capture;
mod delayed_ack_timers;
mod endpoints;
mod flow;
mod hosts;
mod packet;
mod partition;
mod recorder;
mod run;
mod world;

pub use run::Simulator;
