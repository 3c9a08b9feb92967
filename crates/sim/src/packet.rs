//! What travels in a simulated network.

use transport::{Acknowledgement, Data};
use units::Bytes;

/// The ECN field of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ecn {
    NotCapable,
    Capable,
    Congestion,
}

/// The two kinds of segment.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Data(Data),
    Ack(Acknowledgement),
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) flow: u32,
    /// The step of its route that it is on.
    pub(crate) step: u32,
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
    pub(crate) body: Body,
}

impl network::Packet for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    #[inline]
    fn ecn_capable(&self) -> bool {
        self.ecn != Ecn::NotCapable
    }

    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Congestion;
    }
}
