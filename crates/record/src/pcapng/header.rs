//! The IPv4 and transport headers that a packet would have on a wire.

use units::{Ecn, packet};

const TCP: u8 = 6;
const UDP: u8 = 17;
const IP_HEADER: usize = packet::IP_HEADER.get() as usize;

/// The headers of one packet.
pub trait Header {
    /// Appends the IPv4 and the transport header.
    fn write(&self, out: &mut Vec<u8>);

    /// Bytes that follow, which are zero in a simulated packet.
    fn payload(&self) -> u16;
}

/// An address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// IPv4 address.
    pub address: [u8; 4],
    /// Port.
    pub port: u16,
}

impl Endpoint {
    /// The sender of `flow`: in 10.0.0.0/9, from 10.0.0.1 on, port 49152.
    pub const fn sender(flow: u32) -> Self {
        Self { address: Self::address(0x0a00_0000, flow), port: 49152 }
    }

    /// The receiver of `flow`: in 10.128.0.0/9, from 10.128.0.1 on, port 5001.
    pub const fn receiver(flow: u32) -> Self {
        Self { address: Self::address(0x0a80_0000, flow), port: 5001 }
    }

    const fn address(network: u32, flow: u32) -> [u8; 4] {
        (network | ((flow + 1) & 0x007f_ffff)).to_be_bytes()
    }
}

/// A TCP segment (RFC 9293).
#[derive(Clone, Copy, Debug)]
pub struct TcpHeader<'a> {
    /// The sender.
    pub source: Endpoint,
    /// The receiver.
    pub destination: Endpoint,
    /// Number of its first byte.
    pub sequence: u32,
    /// The next byte expected from the other side, or `None` without ACK flag.
    pub acknowledgment: Option<u32>,
    /// ECN echo (RFC 3168).
    pub ecn_echo: bool,
    /// This segment ends the written data, or the data that were handed down at once (PSH).
    pub push: bool,
    /// Its sender sends nothing behind it (FIN).
    pub finish: bool,
    /// Congestion window reduced (RFC 3168).
    pub window_reduced: bool,
    /// The window field, unscaled.
    pub window: u16,
    /// The timestamp option (RFC 7323): value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks (RFC 2018), first byte and the one after the last: as many as fit, 4, or 3 beside timestamps.
    pub sack: &'a [(u32, u32)],
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// The announcements of a packet with SYN, or `None` without it.
    pub opening: Option<Opening>,
    /// With accurate ECN (RFC 9768) the three bits of ACE, which take the place of [`Self::ecn_echo`] and
    /// [`Self::window_reduced`].
    pub accurate: Option<u8>,
    /// Bytes of payload. The whole packet has at most 65,535.
    pub payload: u16,
}

/// The options of a SYN about its sender (RFC 9293, section 3.7.1, and RFC 7323).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The largest segment that it takes, without options.
    pub largest_segment: u16,
    /// Selective acknowledgements are understood.
    pub sack_permitted: bool,
    /// Bits by which its windows are shifted from then on.
    pub window_scale: u8,
}

impl Header for TcpHeader<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + IP_HEADER, 0);
        out.extend(self.source.port.to_be_bytes());
        out.extend(self.destination.port.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.acknowledgment.unwrap_or(0).to_be_bytes());
        // AE, CWR and ECE, one behind the other.
        let congestion = self.accurate.unwrap_or(u8::from(self.window_reduced) << 1 | u8::from(self.ecn_echo));
        let flags = (congestion & 0b11) << 6
            | u8::from(self.acknowledgment.is_some()) << 4
            | u8::from(self.push) << 3
            | u8::from(self.opening.is_some()) << 1
            | u8::from(self.finish);
        let words = (packet::TCP_HEADER.get() as usize + self.option_bytes()) / 4;
        out.extend([(words as u8) << 4 | congestion >> 2 & 1, flags]);
        out.extend(self.window.to_be_bytes());
        // Checksum, filled in below, and urgent pointer.
        out.extend([0; 4]);
        self.write_options(out);
        let packet =
            Packet { source: self.source, destination: self.destination, ecn: self.ecn, payload: self.payload };
        packet.complete(&mut out[start..], TCP, 16);
    }

    fn payload(&self) -> u16 {
        self.payload
    }
}

impl TcpHeader<'_> {
    fn sack_blocks(&self) -> &[(u32, u32)] {
        let fit = if self.timestamps.is_some() { 3 } else { 4 };
        &self.sack[..self.sack.len().min(fit)]
    }

    fn option_bytes(&self) -> usize {
        let mut options = Vec::new();
        self.write_options(&mut options);
        options.len()
    }

    /// Two no-operations before each option keep its numbers on word boundaries (RFC 7323, appendix A). The permission
    /// of SACK takes their place before a timestamp, as in Linux.
    fn write_options(&self, out: &mut Vec<u8>) {
        let permitted = self.opening.is_some_and(|opening| opening.sack_permitted);
        if let Some(opening) = self.opening {
            out.extend([2, 4]);
            out.extend(opening.largest_segment.to_be_bytes());
        }
        match (self.timestamps, permitted) {
            (Some((value, echo)), _) => {
                out.extend(if permitted { [4, 2] } else { [1, 1] });
                out.extend([8, 10]);
                out.extend(value.to_be_bytes());
                out.extend(echo.to_be_bytes());
            }
            (None, true) => out.extend([1, 1, 4, 2]),
            (None, false) => {}
        }
        if let Some(opening) = self.opening {
            out.extend([1, 3, 3, opening.window_scale]);
        }
        let blocks = self.sack_blocks();
        if !blocks.is_empty() {
            out.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for (first, end) in blocks {
                out.extend(first.to_be_bytes());
                out.extend(end.to_be_bytes());
            }
        }
    }
}

/// The first bytes of a packet that was on a wire.
#[derive(Clone, Copy, Debug)]
pub struct Beginning<'a> {
    /// From the IP header on.
    pub bytes: &'a [u8],
    /// How many bytes of the packet follow.
    pub rest: u16,
}

impl Header for Beginning<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }

    fn payload(&self) -> u16 {
        self.rest
    }
}

/// A UDP datagram (RFC 768).
#[derive(Clone, Copy, Debug)]
pub struct UdpHeader {
    /// The sender.
    pub source: Endpoint,
    /// The receiver.
    pub destination: Endpoint,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// Bytes of payload. The whole packet has at most 65,535.
    pub payload: u16,
}

impl Header for UdpHeader {
    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + IP_HEADER, 0);
        out.extend(self.source.port.to_be_bytes());
        out.extend(self.destination.port.to_be_bytes());
        out.extend((8 + self.payload).to_be_bytes());
        out.extend([0; 2]);
        let packet =
            Packet { source: self.source, destination: self.destination, ecn: self.ecn, payload: self.payload };
        packet.complete(&mut out[start..], UDP, 6);
    }

    fn payload(&self) -> u16 {
        self.payload
    }
}

/// The fields that an IPv4 header needs.
struct Packet {
    source: Endpoint,
    destination: Endpoint,
    ecn: Ecn,
    payload: u16,
}

impl Packet {
    /// Writes the IPv4 header (RFC 791) in front of the transport header that is there, then both checksums, the
    /// transport's `checksum_at` bytes into its header.
    fn complete(&self, bytes: &mut [u8], protocol: u8, checksum_at: usize) {
        let (ip, transport) = bytes.split_at_mut(IP_HEADER);
        let segment = transport.len() as u16 + self.payload;
        let total = IP_HEADER as u16 + segment;
        // Don't fragment, so the identification may be zero (RFC 6864). 64 hops to live.
        ip[..12].copy_from_slice(&[0x45, self.ecn.bits(), 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        ip[12..16].copy_from_slice(&self.source.address);
        ip[16..20].copy_from_slice(&self.destination.address);
        let checksum = !ones_complement_sum(ip, 0);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        // The pseudo header: both addresses, the protocol and the length of the segment.
        let pseudo = ones_complement_sum(&ip[12..20], u32::from(protocol) + u32::from(segment));
        let checksum = match !ones_complement_sum(transport, u32::from(pseudo)) {
            // To UDP, zero means that there is no checksum (RFC 768).
            0 if protocol == UDP => 0xffff,
            checksum => checksum,
        };
        transport[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// The ones' complement sum of 16-bit words (RFC 1071) on top of `start`. The number of `bytes` is even.
fn ones_complement_sum(bytes: &[u8], start: u32) -> u16 {
    let mut sum =
        bytes.chunks_exact(2).fold(start, |sum, word| sum + u32::from(u16::from_be_bytes([word[0], word[1]])));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// A data segment without options, from which the tests of this module and of captures make others.
#[cfg(test)]
pub(super) fn segment() -> TcpHeader<'static> {
    TcpHeader {
        source: Endpoint::sender(0),
        destination: Endpoint::receiver(0),
        sequence: 1,
        acknowledgment: Some(2),
        ecn_echo: false,
        push: false,
        finish: false,
        window_reduced: false,
        window: 0xffff,
        timestamps: None,
        sack: &[],
        ecn: Ecn::NotCapable,
        opening: None,
        accurate: None,
        payload: 960,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(header: &impl Header) -> Vec<u8> {
        let mut out = Vec::new();
        header.write(&mut out);
        out
    }

    #[test]
    fn the_checksum_of_a_widely_printed_header_is_b861() {
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8,
            0x00, 0xc7,
        ];
        assert_eq!(!ones_complement_sum(&header, 0), 0xb861);
        // No carry is left in 0xffff, and 0x10000 is 1.
        assert_eq!(ones_complement_sum(&[0xff, 0xff], 0), 0xffff);
        assert_eq!(ones_complement_sum(&[0xff, 0xff], 1), 1);
    }

    #[test]
    fn a_segment_without_options_is_these_40_bytes() {
        // IP: 4500+03e8+4000+4006+0a00+0001+0a80+0001 = 0xdd70, complement 0x228f.
        // TCP: 0a00+0001+0a80+0001+0006+03d4 (pseudo) + c000+1389+0001+0002+5010+ffff = 0x23bf7, carried 0x3bf9,
        // complement 0xc406.
        assert_eq!(
            bytes(&segment()),
            [
                0x45, 0x00, 0x03, 0xe8, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0x22, 0x8f, 10, 0, 0, 1, 10, 128, 0,
                1, //
                0xc0, 0x00, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0xff, 0xff, 0xc4, 0x06, 0, 0,
            ]
        );
    }

    #[test]
    fn options_are_aligned_and_as_many_sack_blocks_written_as_fit() {
        let sack = [(1, 2), (3, 4), (5, 6), (7, 8)];
        let header = TcpHeader { timestamps: Some((0x0102, 0x0304)), sack: &sack, ..segment() };
        let written = bytes(&header);
        assert_eq!(written.len(), 80);
        // Fifteen words of TCP header, and 20 + 60 + 960 bytes in all.
        assert_eq!((written[32], &written[2..4]), (0xf0, &[0x04, 0x10][..]));
        assert_eq!(written[40..56], [1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4, 1, 1, 5, 26]);
        assert_eq!(written[72..80], [0, 0, 0, 5, 0, 0, 0, 6]);
        assert_eq!(bytes(&TcpHeader { sack: &sack, ..segment() }).len(), 40 + 36);
    }

    #[test]
    fn flags_and_the_ecn_field_are_where_they_belong() {
        let header = TcpHeader { ecn: Ecn::Congestion, ecn_echo: true, acknowledgment: None, ..segment() };
        let written = bytes(&header);
        assert_eq!((written[1], written[33]), (3, 0x40));
        let header = TcpHeader { ecn: Ecn::Ect0, window_reduced: true, ..segment() };
        let written = bytes(&header);
        assert_eq!((written[1], written[33]), (2, 0x90));
        assert_eq!(bytes(&TcpHeader { push: true, ..segment() })[33], 0x18);
        assert_eq!(bytes(&TcpHeader { finish: true, ..segment() })[33], 0x11);
    }

    #[test]
    fn a_syn_announces_what_its_sender_can_as_linux_does() {
        let opening = Some(Opening { largest_segment: 1460, sack_permitted: true, window_scale: 14 });
        let header = TcpHeader { opening, acknowledgment: None, timestamps: Some((7, 0)), payload: 0, ..segment() };
        let written = bytes(&header);
        // Ten words of TCP header, with SYN alone.
        assert_eq!((written[32], written[33], written.len()), (0xa0, 0x02, 60));
        assert_eq!(written[40..], [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 14]);
        let bare = TcpHeader { timestamps: None, ..header };
        assert_eq!(bytes(&bare)[40..], [2, 4, 5, 0xb4, 1, 1, 4, 2, 1, 3, 3, 14]);
        let opening = opening.map(|opening| Opening { sack_permitted: false, ..opening });
        assert_eq!(bytes(&TcpHeader { opening, ..bare })[40..], [2, 4, 5, 0xb4, 1, 3, 3, 14]);
    }

    #[test]
    fn the_three_bits_of_accurate_ecn_lie_across_two_bytes() {
        let written = bytes(&TcpHeader { accurate: Some(0b101), ..segment() });
        assert_eq!((written[32], written[33]), (0x51, 0x50));
        let written = bytes(&TcpHeader { accurate: Some(0b010), ..segment() });
        assert_eq!((written[32], written[33]), (0x50, 0x90));
    }

    #[test]
    fn flows_have_addresses_of_their_own() {
        assert_eq!(Endpoint::sender(255).address, [10, 0, 1, 0]);
        assert_eq!(Endpoint::receiver(65_535).address, [10, 129, 0, 0]);
    }

    #[test]
    fn the_beginning_of_a_packet_is_written_as_it_is_and_says_what_follows() {
        let beginning = Beginning { bytes: &[0x45, 1, 2], rest: 700 };
        assert_eq!((bytes(&beginning), beginning.payload()), (vec![0x45, 1, 2], 700));
    }

    #[test]
    fn a_checksum_of_zero_is_written_as_it_is_by_tcp_and_as_all_ones_by_udp() {
        // The checksum above is 0xc406: with as much more in the sequence number the sum is 0xffff.
        assert_eq!(bytes(&TcpHeader { sequence: 1 + 0xc406, ..segment() })[36..38], [0, 0]);
        let (source, destination) = (Endpoint::sender(0), Endpoint::receiver(0));
        let checksum = |payload| {
            let written = bytes(&UdpHeader { source, destination, ecn: Ecn::NotCapable, payload });
            u16::from_be_bytes([written[26], written[27]])
        };
        // The length counts twice: the sums of these payloads go through all values.
        let checksums: Vec<u16> = (0..=65_507).map(checksum).collect();
        assert!(checksums.contains(&0xffff) && !checksums.contains(&0));
        assert_eq!(checksums.iter().collect::<std::collections::BTreeSet<_>>().len(), 65_508);
    }

    #[test]
    fn each_kind_of_header_says_how_many_bytes_follow() {
        let TcpHeader { source, destination, ecn, .. } = segment();
        assert_eq!(TcpHeader { payload: 961, ..segment() }.payload(), 961);
        assert_eq!(UdpHeader { source, destination, ecn, payload: 962 }.payload(), 962);
        assert_eq!(Beginning { bytes: &[0; 40], rest: 963 }.payload(), 963);
    }
}
