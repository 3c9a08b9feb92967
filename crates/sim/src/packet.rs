//! Packets of a simulated network.

use network::{Purpose, TcpAck};
use transport::{Data, OpeningKind, OpeningPacket};
use units::{Bytes, Ecn, Time};

use crate::ack_fields::AckFields;
use crate::acks::AckSlot;

/// The kinds of packet. An acknowledgement is large, so it stays in one place ([`Acks`]) while its packet moves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Data(Data),
    Ack(AckSlot),
    /// It opens a connection, as [`Packet::opening`] says.
    Opening,
}

/// A packet on its way: 32 bytes without a hole or an invalid value, so that they are moved whole. A compiler
/// that finds either moves the pieces around it, and the next wider read has to wait for them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Packet {
    pub(crate) flow: u32,
    /// The step of its route that it is on.
    pub(crate) step: u32,
    /// The number of a data segment, the timestamp that a packet echoes that opens a connection, or the place of an
    /// acknowledgement, above it the ACK number if a filter reads that.
    number: u64,
    /// Of a filtered ACK the first SACK blocks.
    timestamp: Time,
    /// IP bytes: no packet is larger than 65,535.
    size: u16,
    /// Bytes of payload, which of the packets that open a connection it is, or more SACK blocks.
    payload: u16,
    /// The ECN codepoint in its own two bits, the bits below, and in the upper half the last SACK blocks.
    flags: u32,
}

const ECN: u32 = 0b11;
const ACK: u32 = 1 << 2;
const RETRANSMISSION: u32 = 1 << 3;
const REDUCED: u32 = 1 << 4;
const PUSH: u32 = 1 << 5;
/// Without [`ACK`]: a copy that a link made.
const COPY: u32 = 1 << 7;
/// Beside [`ACK`]: it opens a connection.
const OPENING: u32 = 1 << 6;
/// Beside [`ACK`]: a filter may read its fields. Then come the three flags, and the number of SACK blocks.
const TOLD: u32 = 1 << 7;
const DUPLICATE: u32 = 1 << 8;
const ECHO: [u32; 3] = [1 << 9, 1 << 10, 1 << 11];
const BLOCKS: u32 = 12;

impl Packet {
    /// `data` in a packet of `size` IP bytes.
    #[inline]
    pub(crate) fn of_data(flow: u32, step: u32, size: u32, ecn: Ecn, data: &Data) -> Self {
        debug_assert!(size <= u32::from(u16::MAX) && data.payload <= size, "an IPv4 packet");
        let retransmission = if data.retransmission { RETRANSMISSION } else { 0 };
        let reduced = if data.reduced { REDUCED } else { 0 };
        let push = if data.push { PUSH } else { 0 };
        let Data { sequence: number, timestamp, payload, .. } = *data;
        let (size, payload) = (size as u16, payload as u16);
        let flags = retransmission | reduced | push | u32::from(ecn.bits());
        Self { flow, step, number, timestamp, size, payload, flags }
    }

    /// The acknowledgement in `slot`, in a packet of `size` IP bytes.
    #[inline]
    pub(crate) fn of_ack(flow: u32, step: u32, size: u32, slot: AckSlot) -> Self {
        let number = u64::from(slot.0);
        Self { flow, step, number, timestamp: Time::ZERO, size: size as u16, payload: 0, flags: ACK }
    }

    /// Gives an acknowledgement the fields that a filter reads.
    pub(crate) fn tell(&mut self, fields: Option<AckFields>) {
        self.flags &= TOLD - 1;
        let Some(AckFields { number, blocks, count, duplicate, echo }) = fields else { return };
        self.number = self.number & u64::from(u32::MAX) | u64::from(number) << 32;
        self.timestamp = Time::from_nanos(blocks as u64);
        self.payload = (blocks >> 64) as u16;
        let flags = echo.iter().zip(ECHO).filter(|(on, _)| **on).map(|(_, flag)| flag).sum::<u32>();
        self.flags |= TOLD | if duplicate { DUPLICATE } else { 0 } | flags | count << BLOCKS;
        self.flags |= ((blocks >> 80) as u32) << 16;
    }

    /// The fields written by [`tell`](Self::tell).
    pub(crate) fn fields(&self) -> Option<AckFields> {
        (self.flags & (ACK | OPENING | TOLD) == ACK | TOLD).then(|| AckFields {
            number: (self.number >> 32) as u32,
            blocks: u128::from(self.timestamp.as_nanos())
                | u128::from(self.payload) << 64
                | u128::from(self.flags >> 16) << 80,
            count: self.flags >> BLOCKS & 7,
            duplicate: self.flags & DUPLICATE != 0,
            echo: ECHO.map(|flag| self.flags & flag != 0),
        })
    }

    /// `opening` in a packet of `size` IP bytes.
    pub(crate) fn of_opening(flow: u32, step: u32, size: u32, opening: &OpeningPacket) -> Self {
        let &OpeningPacket { kind, timestamp, echo } = opening;
        let payload = kind as u16;
        Self { flow, step, number: echo.as_nanos(), timestamp, size: size as u16, payload, flags: ACK | OPENING }
    }

    /// Its ECN codepoint.
    #[inline]
    pub(crate) fn ecn(&self) -> Ecn {
        Ecn::of((self.flags & ECN) as u8)
    }

    /// The segment or acknowledgement that it carries.
    #[inline]
    pub(crate) fn body(&self) -> Body {
        if self.flags & ACK != 0 {
            return if self.flags & OPENING == 0 { Body::Ack(AckSlot(self.number as u32)) } else { Body::Opening };
        }
        Body::Data(Data {
            sequence: self.number,
            timestamp: self.timestamp,
            payload: u32::from(self.payload),
            retransmission: self.flags & RETRANSMISSION != 0,
            reduced: self.flags & REDUCED != 0,
            push: self.flags & PUSH != 0,
        })
    }

    /// Its content if it opens a connection.
    #[inline(never)]
    pub(crate) fn opening(&self) -> OpeningPacket {
        let kinds = [OpeningKind::Syn, OpeningKind::SynAck, OpeningKind::Ack];
        OpeningPacket {
            kind: kinds[usize::from(self.payload)],
            timestamp: self.timestamp,
            echo: Time::from_nanos(self.number),
        }
    }

    /// True if it is data that a link has sent twice, the second time.
    pub(crate) fn is_copy(&self) -> bool {
        self.flags & (ACK | COPY) == COPY
    }

    /// IP bytes.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        u32::from(self.size)
    }
}

impl network::Packet for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn()
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    fn class(&self) -> u32 {
        self.step
    }

    fn purpose(&self) -> Purpose {
        if self.flags & OPENING == 0 { Purpose::Data } else { Purpose::Opening }
    }

    fn tcp_ack(&self) -> Option<TcpAck> {
        Some(self.fields()?.unpacked(self.flow))
    }

    fn duplicate(&self) -> Option<Self> {
        // An acknowledgement has only one place.
        (self.flags & ACK == 0).then_some(Self { flags: self.flags | COPY, ..*self })
    }

    fn mark_congestion(&mut self) {
        self.flags |= u32::from(Ecn::Congestion.bits());
    }

    fn clear_ecn(&mut self) {
        self.flags &= !ECN;
    }
}

impl engine::Routed for Packet {
    #[inline]
    fn step(&self) -> u32 {
        self.step
    }

    #[inline]
    fn next_step(&mut self) {
        self.step += 1;
    }

    fn sequence(&self) -> Option<u64> {
        match self.body() {
            Body::Data(data) => Some(data.sequence),
            Body::Ack(_) | Body::Opening => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_half_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn a_packet_carries_what_was_put_into_it() {
        let data = Data {
            sequence: 1 << 40,
            timestamp: Time::from_nanos(7),
            payload: 65_483,
            retransmission: true,
            reduced: false,
            push: true,
        };
        let packet = Packet::of_data(3, 4, 65_535, Ecn::Congestion, &data);
        assert!(matches!(packet.body(), Body::Data(carried) if carried == data));
        assert_eq!((packet.flow, packet.step, packet.size(), packet.ecn()), (3, 4, 65_535, Ecn::Congestion));
        let ack = Packet::of_ack(3, 4, 52, AckSlot(u32::MAX));
        assert!(matches!(ack.body(), Body::Ack(AckSlot(u32::MAX))) && network::Packet::purpose(&ack) == Purpose::Data);
        let mut told = ack;
        for echo in [[true, false, true], [false, true, false]] {
            let fields = AckFields { number: u32::MAX, blocks: (1 << 96) - 2, count: 4, duplicate: echo[0], echo };
            told.tell(Some(fields));
            assert_eq!(told.fields(), Some(fields));
            assert!(matches!(told.body(), Body::Ack(AckSlot(u32::MAX))) && told.ecn() == Ecn::NotCapable);
        }
        told.tell(None);
        assert_eq!((told.fields(), ack.fields(), packet.fields()), (None, None, None));
        for kind in [OpeningKind::Syn, OpeningKind::SynAck, OpeningKind::Ack] {
            let opening = OpeningPacket { kind, timestamp: Time::from_nanos(7), echo: Time::NEVER };
            let packet = Packet::of_opening(3, 4, 60, &opening);
            assert!(matches!(packet.body(), Body::Opening) && packet.opening() == opening);
            assert_eq!(
                (packet.size(), packet.ecn(), network::Packet::purpose(&packet)),
                (60, Ecn::NotCapable, Purpose::Opening)
            );
        }
    }
}
