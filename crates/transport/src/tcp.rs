//! The two ends of a TCP connection: a sender with the parts it is made of, and a receiver.

mod ack_delay;
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
pub(crate) mod stack;
mod tail_probe;
mod ticks;
mod timers;
mod usage;

pub use ranges::Ranges;
pub use receiver::Receiver;
pub use recovery::Phase;
pub use sender::{Sender, SenderState};

#[cfg(test)]
mod tests {
    use super::{Receiver, Sender};

    // A million flows at once are to fit in 2 GiB, with rings, controllers and meters: 2,147 bytes each. In the
    // simulator either end lies in whole cache lines.
    #[test]
    fn the_ends_of_a_flow_fit_in_ten_and_three_cache_lines() {
        let lines = |bytes: usize| bytes.div_ceil(64);
        assert_eq!((lines(size_of::<Sender>()), lines(size_of::<Receiver>())), (10, 3));
    }
}
