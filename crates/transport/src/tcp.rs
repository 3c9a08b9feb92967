//! The two ends of a TCP connection: a sender with the parts it is made of, and a receiver.

mod delivery_rate;
mod pacing;
mod prr;
mod ranges;
mod receiver;
mod recovery;
mod reordering;
pub(crate) mod rtt;
mod scoreboard;
mod segment_reports;
mod sender;
mod spurious;
mod tail_probe;
mod timers;

pub use ranges::Ranges;
pub use receiver::Receiver;
pub use recovery::Phase;
pub use sender::Sender;
