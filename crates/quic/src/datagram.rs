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

#[cfg(test)]
mod tests {
    use engine::Routed as _;
    use network::Packet as _;

    use super::*;

    fn sent(number: Option<u64>) -> Datagram {
        let content = BytesMut::from(&[0; 100][..]);
        Datagram { flow: 3, step: 7, ecn: Ecn::Ect0, forward: true, number, sent_at: Time::from_nanos(5), content }
    }

    #[test]
    fn a_datagram_is_a_packet_on_its_route() {
        let mut datagram = sent(Some(4));
        // 20 bytes of IP and 8 of UDP.
        assert_eq!((datagram.size(), datagram.flow(), datagram.sequence()), (Bytes::new(128), 3, Some(4)));
        assert_eq!((datagram.step(), datagram.class()), (7, 7));
        datagram.next_step();
        assert_eq!((datagram.step(), datagram.class()), (8, 8));
        assert_eq!(datagram.ecn(), Ecn::Ect0);
        datagram.mark_congestion();
        assert_eq!(datagram.ecn(), Ecn::Congestion);
        datagram.clear_ecn();
        assert_eq!(datagram.ecn(), Ecn::NotCapable);
    }

    #[test]
    fn the_number_of_data_crosses_in_the_content() {
        for (number, forward, found) in [(Some(0), true, Some(0)), (Some(9), false, None), (None, true, None)] {
            let mut datagram = sent(number);
            datagram.write_number();
            let arrived = Datagram::arrived(2, forward, Ecn::Ect1, datagram.content);
            assert_eq!((arrived.number, arrived.flow, arrived.forward, arrived.ecn), (found, 2, forward, Ecn::Ect1));
        }
    }
}
