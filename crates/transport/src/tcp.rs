//! The two ends of a TCP connection: a sender with the parts it is made of, and a receiver.

mod ack_delay;
mod driver;
mod flight;
mod opening;
mod output;
mod ranges;
mod receiver;
mod repair;
pub(crate) mod rtt;
mod sender;
pub(crate) mod stack;
mod ticks;

pub use driver::{Decision, Driver};
pub use flight::{DeliveryRate, DeliveryState};
pub use opening::{ActiveOpen, Opened, OpeningKind, OpeningPacket, PassiveOpen};
pub use ranges::Ranges;
pub use receiver::Receiver;
pub use repair::Phase;
pub use rtt::{DelayedAckDetector, RttEstimator};
pub use sender::{Sender, SenderState};

#[cfg(test)]
mod tests {
    use super::{Receiver, Sender};

    // A million flows at once are to fit in 2 GiB, with rings, controllers and meters: 2,147 bytes each. In the
    // simulator each end fills whole cache lines.
    #[test]
    fn the_ends_of_a_flow_fit_in_ten_and_three_cache_lines() {
        let lines = |bytes: usize| bytes.div_ceil(64);
        assert_eq!((lines(size_of::<Sender>()), lines(size_of::<Receiver>())), (10, 3));
    }
}
