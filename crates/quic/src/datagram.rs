//! UDP datagrams on the network of a run.

use bytes::BytesMut;
use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Bytes, Ecn, Time};

/// The headers of IP and UDP.
pub(crate) const HEADERS: u64 = IP_HEADER.get() + UDP_HEADER.get();

/// A datagram on its way.
#[derive(Debug)]
pub(crate) struct Datagram {
    pub(crate) flow: u32,
    /// The step of its route that it is on.
    pub(crate) step: u32,
    pub(crate) ecn: Ecn,
    /// It goes to the receiver of the flow.
    pub(crate) forward: bool,
    /// The number by which rows name it, if it carries data.
    pub(crate) number: Option<u64>,
    pub(crate) sent_at: Time,
    pub(crate) content: BytesMut,
}

impl network::Packet for Datagram {
    fn size(&self) -> Bytes {
        Bytes::new(HEADERS + self.content.len() as u64)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Congestion;
    }
}

impl engine::Routed for Datagram {
    fn step(&self) -> u32 {
        self.step
    }

    fn next_step(&mut self) {
        self.step += 1;
    }

    fn sequence(&self) -> Option<u64> {
        self.number
    }
}
