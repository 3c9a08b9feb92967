//! The two ends of a TFRC flow (RFC 5348): datagrams at the rate that the throughput equation allows, and a receiver
//! that reports the loss event rate. Their effect on the rate is in [`control::tfrc`].

mod intervals;
mod receiver;
mod sender;

pub use receiver::{Feedback, TfrcSink};
pub use sender::TfrcSource;
