//! The two ends of a TCP connection: a sender with the parts it is made of, and a receiver.

mod prr;
mod ranges;
mod receiver;
mod reordering;
pub(crate) mod rtt;
mod scoreboard;
mod sender;

pub use ranges::Ranges;
pub use receiver::Receiver;
pub use sender::{Phase, Sender, SenderCounters};
