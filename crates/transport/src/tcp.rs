//! The two ends of a TCP connection: a sender with the parts it is made of, and a receiver.

mod delivery_rate;
mod forward_rto;
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
mod usage;

pub use ranges::Ranges;
pub use receiver::Receiver;
pub use recovery::Phase;
pub use sender::{Sender, SenderState};

#[cfg(test)]
mod tests {
    use super::{Receiver, Sender};

    // A million flows at once are to fit in 2 GiB, with rings, controllers and meters: 2,147 bytes each.
    #[test]
    fn both_ends_of_a_flow_fit_in_768_bytes() {
        let bytes = size_of::<Sender>() + size_of::<Receiver>();
        assert!(bytes <= 768, "{bytes}");
    }
}
