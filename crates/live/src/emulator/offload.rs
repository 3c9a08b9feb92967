//! Packets that cross a device: IPv4 with a `struct virtio_net_hdr` in front (linux/virtio_net.h), and data of TCP as
//! trains of segments.
//!
//! TCP hands a train down whole, and here it is taken apart as the kernel would do it. This spares a system call and a
//! checksum for each segment. A packet to be delivered is always one segment: the receiver counts packets when it
//! acknowledges.

use crate::emulator::header::TCP;

/// Length of the header in front.
pub(crate) const PREFIX: usize = 10;
/// The most that one read brings.
pub(crate) const LONGEST: usize = PREFIX + 65_535;

/// The checksum of the transport is to be completed from `csum_start` on.
const NEEDS_CSUM: u8 = 1;
/// The packet is a train of TCP segments over IPv4.
const GSO_TCPV4: u8 = 1;
/// The offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// FIN and PSH, which only the last segment of a train has.
const LAST_ONLY: u8 = 1 | 8;

/// The result of one read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train<'a> {
    /// With the header in front.
    bytes: &'a [u8],
    /// How it is divided, or `None` if it is one packet.
    split: Option<Split>,
}

#[derive(Clone, Copy, Debug)]
struct Split {
    /// Bytes of the IPv4 header, and of it and the TCP header.
    ip: usize,
    headers: usize,
    /// Payload of each segment but the last.
    segment: usize,
}

impl<'a> Train<'a> {
    /// `bytes` as read from a device. `None` if no device gives such bytes.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (prefix, packet) = bytes.split_at_checked(PREFIX)?;
        let split = match prefix[1] {
            0 => None,
            GSO_TCPV4 => Some(Split::read(packet, usize::from(u16::from_ne_bytes([prefix[4], prefix[5]])))?),
            _ => return None,
        };
        Some(Self { bytes, split })
    }

    /// How many packets it is.
    pub(crate) fn packets(&self) -> usize {
        let Some(Split { headers, segment, .. }) = self.split else { return 1 };
        (self.bytes.len() - PREFIX - headers).div_ceil(segment).max(1)
    }

    /// Writes packet `index` to `place`, with the header that a device takes in front: the length of the packet without
    /// it. `None` if it does not fit.
    pub(crate) fn copy(&self, index: usize, place: &mut [u8]) -> Option<usize> {
        let Some(split) = self.split else {
            place.get_mut(..self.bytes.len())?.copy_from_slice(self.bytes);
            return Some(self.bytes.len() - PREFIX);
        };
        let (headers, payload) = self.bytes[PREFIX..].split_at(split.headers);
        let from = index * split.segment;
        let part = payload.get(from..payload.len().min(from + split.segment))?;
        let length = split.headers + part.len();
        let (prefix, packet) = place.get_mut(..PREFIX + length)?.split_at_mut(PREFIX);
        prefix.copy_from_slice(&unfinished(split.ip));
        packet[..split.headers].copy_from_slice(headers);
        packet[split.headers..].copy_from_slice(part);
        let last = from + split.segment >= payload.len();
        split.number(&mut packet[..split.headers], index, length, last);
        Some(length)
    }
}

impl Split {
    /// How the train `packet` is divided into segments with `segment` bytes of payload.
    fn read(packet: &[u8], segment: usize) -> Option<Self> {
        let ip = usize::from(packet.first()? & 15) * 4;
        let headers = ip + usize::from(packet.get(ip + 12)? >> 4) * 4;
        let whole = ip >= 20 && headers >= ip + 20 && headers <= packet.len();
        (whole && packet[9] == TCP && segment > 0).then_some(Self { ip, headers, segment })
    }

    /// Turns the headers of the train into the headers of its segment `index`: lengths, identification, sequence
    /// number, flags, checksums.
    fn number(self, headers: &mut [u8], index: usize, length: usize, last: bool) {
        let (ip, tcp) = headers.split_at_mut(self.ip);
        put(ip, 2, length as u16);
        put(ip, 4, word(ip, 4).wrapping_add(index as u16));
        put(ip, 10, 0);
        put(ip, 10, !fold(sum(ip)));
        let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        tcp[4..8].copy_from_slice(&sequence.wrapping_add((index * self.segment) as u32).to_be_bytes());
        if !last {
            tcp[13] &= !LAST_ONLY;
        }
        // The sum over the pseudo-header (RFC 9293, section 3.1), from which whoever needs the checksum completes it.
        let pseudo = sum(&ip[12..20]) + u32::from(TCP) + (length - self.ip) as u32;
        put(tcp, TCP_CHECKSUM, fold(pseudo));
    }
}

/// The header in front of a TCP segment behind `ip` bytes of IPv4 header, whose checksum is not completed.
fn unfinished(ip: usize) -> [u8; PREFIX] {
    let [a, b] = (ip as u16).to_ne_bytes();
    let [c, d] = (TCP_CHECKSUM as u16).to_ne_bytes();
    [NEEDS_CSUM, 0, 0, 0, 0, 0, a, b, c, d]
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

/// The sum of the 16-bit words of `bytes`, of which there is an even number.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|pair| u32::from(word(pair, 0))).sum()
}

/// The one's complement sum (RFC 1071).
fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACK_PSH_FIN: u8 = 16 | 8 | 1;

    /// From 10.0.0.1 to 10.0.0.2, identification 0xffff, sequence 0xffff_fffe, with `payload`: to be divided after each
    /// 4 bytes.
    fn train(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![NEEDS_CSUM, GSO_TCPV4, 40, 0, 0, 0, 20, 0, 16, 0];
        bytes[4..6].copy_from_slice(&4u16.to_ne_bytes());
        bytes.extend([0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0x27, 0x10, 0x4e, 0x20, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0x07, 0xd0, 0x50, ACK_PSH_FIN, 1, 0]);
        bytes.extend([0xab, 0xcd, 0, 0]);
        bytes.extend(payload);
        bytes
    }

    fn packets(bytes: &[u8]) -> Vec<Vec<u8>> {
        let train = Train::read(bytes).unwrap();
        let copy = |index| {
            let mut place = [0; PREFIX + 44];
            let length = train.copy(index, &mut place).unwrap();
            place[..PREFIX + length].to_vec()
        };
        (0..train.packets()).map(copy).collect()
    }

    #[test]
    fn a_train_is_taken_apart_as_tcp_would_have_sent_it() {
        let packets = packets(&train(b"abcdefghij"));
        let payloads: Vec<&[u8]> = packets.iter().map(|packet| &packet[PREFIX + 40..]).collect();
        assert_eq!(payloads, [&b"abcd"[..], b"efgh", b"ij"]);
        let of = |at: usize| packets.iter().map(|packet| word(packet, PREFIX + at)).collect::<Vec<_>>();
        assert_eq!(of(2), [44, 44, 42], "length");
        assert_eq!(of(4), [0xffff, 0, 1], "identification");
        assert_eq!((of(24), of(26)), (vec![0xffff, 0, 0], vec![0xfffe, 2, 6]), "sequence number");
        // Header of 20 bytes, and flags: PSH and FIN in the last only.
        assert_eq!(of(32), [0x5010, 0x5010, 0x5000 | u16::from(ACK_PSH_FIN)]);
    }

    #[test]
    fn the_segments_of_a_train_have_checksums_of_their_own() {
        let packets = packets(&train(b"abcdefghij"));
        let of = |at: usize| packets.iter().map(|packet| word(packet, PREFIX + at)).collect::<Vec<_>>();
        // 4500 + 002c + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0002 = d935. With ffff, carried round, it is d935 again. The
        // next has identification 0. The last has identification 1 and a length that is 2 less: d934.
        assert_eq!(of(10), [!0xd935, !0xd935, !0xd934]);
        // The sum of addresses, protocol and length: 0a00 + 0001 + 0a00 + 0002 + 0006 + 0018, and two less.
        assert_eq!(of(36), [0x1421, 0x1421, 0x141f]);
        // To be completed from byte 20 on, at byte 16 of it.
        let places = [20u16.to_ne_bytes(), 16u16.to_ne_bytes()].concat();
        assert!(packets.iter().all(|packet| packet[..6] == [1, 0, 0, 0, 0, 0] && packet[6..PREFIX] == places));
    }

    #[test]
    fn one_packet_passes_as_it_is() {
        let mut bytes = train(b"abcd");
        bytes[1] = 0;
        assert_eq!(packets(&bytes), [bytes]);
    }

    #[test]
    fn what_is_no_train_is_refused_and_what_is_too_long_does_not_fit() {
        let whole = train(b"abcdefghij");
        for length in 0..PREFIX + 40 {
            assert!(Train::read(&whole[..length]).is_none_or(|train| train.split.is_none()), "{length}");
        }
        for (at, value) in [(1, 3), (4, 0), (PREFIX, 0x44), (PREFIX + 9, 17), (PREFIX + 32, 0x40)] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            bytes[5] = 0;
            assert!(Train::read(&bytes).is_none(), "{at}");
        }
        assert_eq!(Train::read(&whole).unwrap().copy(0, &mut [0; PREFIX + 43]), None);
        assert_eq!(Train::read(&whole).unwrap().copy(3, &mut [0; 100]), None);
    }
}
