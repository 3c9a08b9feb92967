//! The packet of tests of the crate from outside.

use network::Packet;
use units::{Bytes, Ecn};

/// Flows that packets take turns in.
pub(crate) const FLOWS: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) number: u32,
    pub(crate) size: u64,
    pub(crate) ecn: Ecn,
}

impl Packet for Parcel {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> u32 {
        self.number % FLOWS
    }
    fn class(&self) -> u32 {
        self.flow()
    }
    fn mark_congestion(&mut self) {
        assert!(self.ecn.is_capable(), "only what is capable is marked");
        self.ecn = Ecn::Congestion;
    }
    fn clear_ecn(&mut self) {
        self.ecn = Ecn::NotCapable;
    }
}
