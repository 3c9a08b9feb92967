//! UDP datagrams on the network of a run.

use bytes::BytesMut;
use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Bytes, Ecn, Time};

/// The headers of IP and UDP.
pub(crate) const HEADERS: u64 = IP_HEADER.get() + UDP_HEADER.get();

/// A datagram on its way.
#[derive(Debug)]
pub struct Datagram {
    /// The row of its connection.
    pub flow: u32,
    /// The step of its route that it is on.
    pub(crate) step: u32,
    /// Its codepoint.
    pub ecn: Ecn,
    /// It goes to the receiver of the flow.
    pub forward: bool,
    /// The number by which rows name it, if it carries data.
    pub(crate) number: Option<u64>,
    pub(crate) sent_at: Time,
    /// The payload of UDP.
    pub content: BytesMut,
}

impl Datagram {
    /// One that came from outside (see [`write_number`](Self::write_number)).
    pub fn arrived(flow: u32, forward: bool, ecn: Ecn, content: BytesMut) -> Self {
        let number = engine::read_number(&content).filter(|_| forward);
        Self { flow, step: 0, ecn, forward, number, sent_at: Time::ZERO, content }
    }

    /// Writes its number into the tag at its end, for those that see only the payload. Without a cipher the tag is
    /// zeros.
    pub fn write_number(&mut self) {
        if let Some(number) = self.number {
            engine::write_number(&mut self.content, number);
        }
    }
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

    fn class(&self) -> u32 {
        self.step
    }

    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Congestion;
    }

    fn clear_ecn(&mut self) {
        self.ecn = Ecn::NotCapable;
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
