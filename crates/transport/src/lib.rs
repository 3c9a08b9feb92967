//! A TCP sender and receiver as state machines: they are handed `now` and an event, and answer what to send and
//! when to be woken. Nothing in them sleeps, reads a clock, or knows a scenario.

mod acknowledge;
mod application;
mod datagram;
mod journal;
mod options;
#[cfg(test)]
mod property;
mod ranges;
mod receiver;
mod recovery;
mod reduction;
mod reordering;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod timers;

pub use application::{Application, Pace, Periods};
pub use datagram::{DatagramSink, DatagramSource};
pub use journal::{Event, Journal};
pub use options::{Options, PROFILES, Profile, Reduction, freebsd_9, linux, linux_3_5, ns2_linux, real_1992};
pub use ranges::Ranges;
pub use receiver::Receiver;
pub use segment::{Acknowledgement, Data, SackBlocks};
pub use sender::{Phase, Sender, SenderCounters};
