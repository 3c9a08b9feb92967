//! Packet captures in pcapng (draft-ietf-opsawg-pcapng) that Wireshark and tshark open.
//!
//! A simulated packet has no bytes of its own; [`TcpHeader`] and [`UdpHeader`] give it the IPv4 and transport headers
//! that it would have on a wire, checksums right for a payload of zeros. Only headers are captured; the original length
//! is that of the whole packet. An observation point is an interface; a comment tells what befell a packet there.

use std::io::{self, Write};

use units::{Ecn, Time, packet};

/// LINKTYPE_RAW: packets start with the IP header.
const RAW_IP: u16 = 101;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_INTERFACE_NAME: u16 = 2;
const OPTION_APPLICATION: u16 = 4;
const OPTION_TIME_RESOLUTION: u16 = 9;

const TCP: u8 = 6;
const UDP: u8 = 17;
const IP_HEADER: usize = packet::IP_HEADER.get() as usize;

/// A capture that is being written.
#[derive(Debug)]
pub struct Capture<W: Write> {
    writer: W,
    block: Vec<u8>,
    packet: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Starts a capture with one interface for each observation point.
    ///
    /// # Errors
    ///
    /// What the writer answers.
    pub fn new(writer: W, observation_points: &[&str]) -> io::Result<Self> {
        let mut capture = Self { writer, block: Vec::new(), packet: Vec::new() };
        // Byte order magic, version 1.0, a section of unspecified length.
        capture.begin(SECTION_HEADER);
        capture.block.extend(0x1a2b_3c4d_u32.to_le_bytes());
        capture.block.extend([1, 0, 0, 0]);
        capture.block.extend(u64::MAX.to_le_bytes());
        capture.option(OPTION_APPLICATION, b"ackclock");
        capture.end()?;
        for name in observation_points {
            capture.begin(INTERFACE_DESCRIPTION);
            capture.block.extend(RAW_IP.to_le_bytes());
            // Reserved, then a snapshot length without limit.
            capture.block.extend([0; 6]);
            capture.option(OPTION_INTERFACE_NAME, name.as_bytes());
            capture.option(OPTION_TIME_RESOLUTION, &[9]);
            capture.end()?;
        }
        Ok(capture)
    }

    /// A packet passes the observation point `interface` (the index given to [`Capture::new`]) `at` a time.
    ///
    /// # Errors
    ///
    /// What the writer answers.
    pub fn packet(&mut self, interface: u32, at: Time, header: &impl Header, comment: Option<&str>) -> io::Result<()> {
        self.packet.clear();
        header.write(&mut self.packet);
        let captured = self.packet.len() as u32;
        let original = captured + u32::from(header.payload());
        let nanos = at.as_nanos();
        self.begin(ENHANCED_PACKET);
        for field in [interface, (nanos >> 32) as u32, nanos as u32, captured, original] {
            self.block.extend(field.to_le_bytes());
        }
        self.block.extend_from_slice(&self.packet);
        pad(&mut self.block);
        if let Some(comment) = comment {
            self.option(OPTION_COMMENT, comment.as_bytes());
        }
        self.end()
    }

    /// Ends the capture and gives the writer back, flushed.
    ///
    /// # Errors
    ///
    /// What the writer answers.
    pub fn finish(mut self) -> io::Result<W> {
        self.writer.flush()?;
        Ok(self.writer)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.block.extend(kind.to_le_bytes());
        self.block.extend([0; 4]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        pad(&mut self.block);
    }

    /// Closes the block: end of options, and the total length behind the type and once more at the end.
    fn end(&mut self) -> io::Result<()> {
        self.option(OPTION_END, &[]);
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&length);
        self.block.extend(length);
        self.writer.write_all(&self.block)
    }
}

/// Fields of a block start on multiples of four bytes.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// The headers of one packet.
pub trait Header {
    /// Appends the IPv4 and the transport header.
    fn write(&self, out: &mut Vec<u8>);

    /// Bytes of payload, all zero.
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
    /// Where it comes from.
    pub source: Endpoint,
    /// Where it goes.
    pub destination: Endpoint,
    /// Number of its first byte.
    pub sequence: u32,
    /// The next byte expected from the other side; `None` without ACK flag.
    pub acknowledgment: Option<u32>,
    /// ECN echo (RFC 3168).
    pub ecn_echo: bool,
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
    /// Bytes of payload; the whole packet has at most 65,535.
    pub payload: u16,
}

impl Header for TcpHeader<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + IP_HEADER, 0);
        out.extend(self.source.port.to_be_bytes());
        out.extend(self.destination.port.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.acknowledgment.unwrap_or(0).to_be_bytes());
        let flags = u8::from(self.window_reduced) << 7
            | u8::from(self.ecn_echo) << 6
            | u8::from(self.acknowledgment.is_some()) << 4;
        let words = (packet::TCP_HEADER.get() as usize + self.option_bytes()) / 4;
        out.extend([(words as u8) << 4, flags]);
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
        let sack = self.sack_blocks().len();
        packet::TIMESTAMPS_OPTION.get() as usize * usize::from(self.timestamps.is_some())
            + if sack > 0 { 4 + 8 * sack } else { 0 }
    }

    /// Two no-operations before each option keep its numbers on word boundaries (RFC 7323, appendix A).
    fn write_options(&self, out: &mut Vec<u8>) {
        if let Some((value, echo)) = self.timestamps {
            out.extend([1, 1, 8, 10]);
            out.extend(value.to_be_bytes());
            out.extend(echo.to_be_bytes());
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

/// A UDP datagram (RFC 768).
#[derive(Clone, Copy, Debug)]
pub struct UdpHeader {
    /// Where it comes from.
    pub source: Endpoint,
    /// Where it goes.
    pub destination: Endpoint,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// Bytes of payload; the whole packet has at most 65,535.
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

/// What an IPv4 header needs to know.
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
        // Don't fragment, so the identification may be zero (RFC 6864); 64 hops to live.
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

/// The ones' complement sum of 16-bit words (RFC 1071) on top of `start`; `bytes` are even in number.
fn ones_complement_sum(bytes: &[u8], start: u32) -> u16 {
    let mut sum =
        bytes.chunks_exact(2).fold(start, |sum, word| sum + u32::from(u16::from_be_bytes([word[0], word[1]])));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> TcpHeader<'static> {
        TcpHeader {
            source: Endpoint::sender(0),
            destination: Endpoint::receiver(0),
            sequence: 1,
            acknowledgment: Some(2),
            ecn_echo: false,
            window_reduced: false,
            window: 0xffff,
            timestamps: None,
            sack: &[],
            ecn: Ecn::NotCapable,
            payload: 960,
        }
    }

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
        // Fifteen words of TCP header; 20 + 60 + 960 bytes in all.
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
    }

    #[test]
    fn flows_have_addresses_of_their_own() {
        assert_eq!(Endpoint::sender(255).address, [10, 0, 1, 0]);
        assert_eq!(Endpoint::receiver(65_535).address, [10, 129, 0, 0]);
    }

    #[test]
    fn a_capture_is_blocks_of_whole_words_with_their_length_at_both_ends() {
        let mut capture = Capture::new(Vec::new(), &["bottleneck"]).unwrap();
        capture.packet(0, Time::from_nanos(0x0001_0203_0405), &segment(), Some("queue full")).unwrap();
        let written = capture.finish().unwrap();
        // Section header: 8 + 16 bytes, the application (4 + 8), the end of options (4), the length again (4).
        assert_eq!(written[..12], [0x0a, 0x0d, 0x0d, 0x0a, 44, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a]);
        // Interface: 8 + 8 bytes, the name (4 + 12 padded), the resolution (4 + 4), the end (4), the length (4).
        let interface = &written[44..92];
        assert_eq!(interface[..20], [1, 0, 0, 0, 48, 0, 0, 0, 101, 0, 0, 0, 0, 0, 0, 0, 2, 0, 10, 0]);
        assert_eq!(&interface[20..30], b"bottleneck");
        assert_eq!(interface[32..40], [9, 0, 1, 0, 9, 0, 0, 0]);
        // Packet: 28 bytes, 40 of headers, the comment (4 + 12 padded), the end (4), the length (4).
        let packet = &written[92..];
        assert_eq!(packet.len(), 92);
        assert_eq!(packet[..12], [6, 0, 0, 0, 92, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(packet[12..28], [1, 0, 0, 0, 5, 4, 3, 2, 40, 0, 0, 0, 0xe8, 3, 0, 0]);
        assert_eq!(packet[68..72], [1, 0, 10, 0]);
        assert_eq!(&packet[72..82], b"queue full");
        assert_eq!(packet[84..], [0, 0, 0, 0, 92, 0, 0, 0]);
    }
}
