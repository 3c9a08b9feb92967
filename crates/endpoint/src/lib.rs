//! A TCP endpoint as packet scripts see one: packets with flags, sequence numbers and options go in and come out,
//! an application writes and closes.
//!
//! The sender and the receiver of `transport` count whole segments and know no handshake of packets. This crate
//! translates: it opens the connection, numbers the bytes of segments, ends with FIN, and probes a window of zero. Like
//! them it is a state machine: it is handed `now`, and answers what leaves and when to be woken.

mod connection;
mod endpoint;
mod incoming;
mod information;
mod limits;
mod outgoing;
mod packet;
mod persist;

pub use endpoint::Endpoint;
pub use information::Information;
pub use packet::{Packet, PacketOptions, Refusal, Timestamps};
