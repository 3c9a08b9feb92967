//! The fields of a packet that the emulator reads, and the one that it writes: the congestion mark.

use units::Ecn;

/// The headers of an IPv4 packet, as far as they matter on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) protocol: u8,
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) ecn: Ecn,
    /// Fields of a TCP segment.
    pub(crate) segment: Option<Segment>,
}

/// The header of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) sequence: u32,
    /// The number in a segment with the ACK flag.
    pub(crate) acknowledgement: Option<u32>,
    pub(crate) synchronize: bool,
    pub(crate) finish: bool,
    pub(crate) reset: bool,
    /// Bytes of payload.
    pub(crate) payload: u32,
}

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Kinds of TCP options.
const END: u8 = 0;
const PADDING: u8 = 1;
pub(crate) const SACK: u8 = 5;

impl Header {
    /// Reads `packet`; `None` if it is not a whole IPv4 packet.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let first = *packet.first()?;
        let ip = usize::from(first & 15) * 4;
        let length = usize::from(word(packet, 2)?);
        if first >> 4 != 4 || ip < 20 || length > packet.len() || length < ip {
            return None;
        }
        let protocol = packet[9];
        let transport = &packet[ip..length];
        let ports = matches!(protocol, TCP | UDP) && transport.len() >= 4;
        Some(Self {
            protocol,
            source: if ports { word(transport, 0)? } else { 0 },
            destination: if ports { word(transport, 2)? } else { 0 },
            ecn: Ecn::of(packet[1]),
            segment: if protocol == TCP { segment(transport) } else { None },
        })
    }
}

fn segment(transport: &[u8]) -> Option<Segment> {
    let header = usize::from(transport.get(12)? >> 4) * 4;
    let flags = *transport.get(13)?;
    Some(Segment {
        sequence: double(transport, 4)?,
        acknowledgement: if flags & ACK == 0 { None } else { Some(double(transport, 8)?) },
        synchronize: flags & SYN != 0,
        finish: flags & FIN != 0,
        reset: flags & RST != 0,
        payload: transport.len().checked_sub(header)? as u32,
    })
}

/// The options of the TCP segment in the whole IPv4 packet `packet`: kind and value.
pub(crate) fn options(packet: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let transport = packet.get(usize::from(packet[0] & 15) * 4..).unwrap_or_default();
    let header = usize::from(transport.get(12).copied().unwrap_or(0) >> 4) * 4;
    let mut options = transport.get(20..header).unwrap_or_default();
    std::iter::from_fn(move || {
        loop {
            let (&kind, rest) = options.split_first()?;
            match (kind, rest) {
                (END, _) => return None,
                (PADDING, rest) => options = rest,
                (kind, &[length, ..]) => {
                    let (option, rest) = options.split_at_checked(usize::from(length))?;
                    options = rest;
                    return Some((kind, option.get(2..)?));
                }
                _ => return None,
            }
        }
    })
}

/// The SACK blocks of a TCP segment in the whole IPv4 packet `packet` (RFC 2018): first byte, and the one behind the
/// last.
pub(crate) fn sack_blocks(packet: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let blocks = options(packet).filter(|&(kind, _)| kind == SACK).last().map_or(&[][..], |(_, blocks)| blocks);
    blocks.chunks_exact(8).filter_map(|block| Some((double(block, 0)?, double(block, 4)?)))
}

/// Marks the IPv4 packet: congestion experienced (CE, RFC 3168, section 5), and the checksum brought up to date (RFC
/// 1624, equation 3).
pub(crate) fn mark_congestion(packet: &mut [u8]) {
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    packet[1] |= 3;
    let after = u16::from_be_bytes([packet[0], packet[1]]);
    let checksum = u16::from_be_bytes([packet[10], packet[11]]);
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// Puts `number` where the TCP segment in the IPv4 packet has its sequence number: that. `None` for other packets.
pub(crate) fn exchange_sequence(packet: &mut [u8], number: u32) -> Option<u32> {
    let at = usize::from(packet.first()? & 15) * 4 + 4;
    let before = double(packet, at)?;
    packet[at..at + 4].copy_from_slice(&number.to_be_bytes());
    Some(before)
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn double(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.0.0.1:10000 to 10.0.0.2:20000, ECT(0), sequence 1000, acknowledgement 2000, ACK, 12 bytes of options, 4 of
    /// payload.
    fn packet() -> Vec<u8> {
        let mut packet = vec![0x45, 2, 0, 56, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend([0x27, 0x10, 0x4e, 0x20, 0, 0, 0x03, 0xe8, 0, 0, 0x07, 0xd0, 0x80, ACK, 1, 0, 0, 0, 0, 0]);
        packet.extend([1; 12]);
        packet.extend([7; 4]);
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    #[test]
    fn a_sequence_number_is_exchanged_and_put_back() {
        let mut other = packet();
        assert_eq!(exchange_sequence(&mut other, 7), Some(1000));
        assert_eq!(Header::read(&other).unwrap().segment.unwrap().sequence, 7);
        assert_eq!(exchange_sequence(&mut other, 1000), Some(7));
        assert_eq!(other, packet());
        assert_eq!(exchange_sequence(&mut [0x45; 20], 7), None);
    }

    /// The one's complement of the one's complement sum (RFC 791).
    fn checksum(header: &[u8]) -> u16 {
        let mut sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn a_segment_is_read_with_ports_numbers_and_payload() {
        let header = Header::read(&packet()).unwrap();
        assert_eq!((header.protocol, header.source, header.destination, header.ecn), (TCP, 10_000, 20_000, Ecn::Ect0));
        let expected = Segment {
            sequence: 1000,
            acknowledgement: Some(2000),
            synchronize: false,
            finish: false,
            reset: false,
            payload: 4,
        };
        assert_eq!(header.segment, Some(expected));
    }

    #[test]
    fn what_is_cut_short_or_not_ipv4_is_not_read() {
        let whole = packet();
        for length in 0..whole.len() {
            assert_eq!(Header::read(&whole[..length]), None, "{length}");
        }
        assert_eq!(Header::read(&[0x60; 56]), None);
    }

    #[test]
    fn sack_blocks_are_found_among_other_options() {
        let mut packet = packet();
        assert_eq!(sack_blocks(&packet).count(), 0, "padding alone");
        // A header of 52 bytes: timestamps, padding and two blocks.
        packet.truncate(40);
        packet[32] = 0xd0;
        packet.extend([8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 18]);
        packet.extend([0, 0, 0x10, 0, 0, 0, 0x20, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 9]);
        packet.extend([0, 0]);
        packet[3] = packet.len() as u8;
        assert_eq!(sack_blocks(&packet).collect::<Vec<_>>(), [(0x1000, 0x2000), (0xffff_ffff, 9)]);
        // Cut short, or with a length that is none.
        for length in 20..packet.len() {
            assert!(sack_blocks(&packet[..length]).count() <= 2);
        }
        packet[41] = 0;
        assert_eq!(sack_blocks(&packet).count(), 0);
    }

    #[test]
    fn a_marked_packet_has_a_valid_checksum() {
        for identification in 0..=u16::MAX {
            let mut packet = packet();
            packet[4..6].copy_from_slice(&identification.to_be_bytes());
            packet[10..12].fill(0);
            let sum = checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            mark_congestion(&mut packet);
            assert_eq!(packet[1], 3);
            assert_eq!(checksum(&packet[..20]), 0, "{identification}");
        }
    }

    #[test]
    fn flags_of_a_segment_are_told_apart() {
        for flags in [SYN, RST, FIN] {
            let mut packet = packet();
            packet[33] = flags;
            let segment = Header::read(&packet).unwrap().segment.unwrap();
            let read = [segment.synchronize, segment.reset, segment.finish];
            assert_eq!((read, segment.acknowledgement), ([SYN, RST, FIN].map(|flag| flag == flags), None));
        }
    }
}
