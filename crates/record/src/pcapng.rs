//! Packet captures in pcapng (draft-ietf-opsawg-pcapng) that Wireshark and tshark open.
//!
//! A simulated packet has no bytes of its own. [`TcpHeader`] and [`UdpHeader`] give it the IPv4 and transport headers
//! that it would have on a wire, with checksums for a payload of zeros. Only headers are captured. The original length
//! is the length of the whole packet. An observation point is an interface. A comment records the fate of a packet
//! there.

use std::io::{self, Write};
use std::str::FromStr;

use units::Time;

mod header;

pub use header::{Beginning, Endpoint, Header, Opening, TcpHeader, UdpHeader};

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

/// The observation points of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Point {
    /// As a capture on the machine that sends has them.
    #[default]
    Sender,
    /// As one on the machine that receives.
    Receiver,
    /// Entry to the bottleneck and, on the way back, to the link beside it.
    Bottleneck,
    /// At both ends and at every link, each an interface of its own.
    All,
}

impl FromStr for Point {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "sender" => Ok(Self::Sender),
            "receiver" => Ok(Self::Receiver),
            "bottleneck" => Ok(Self::Bottleneck),
            "all" => Ok(Self::All),
            _ => Err(format!("no place to capture at is called `{name}`: sender, receiver, bottleneck or all")),
        }
    }
}

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
    /// An error of the writer.
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
    /// An error of the writer.
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
    /// An error of the writer.
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

#[cfg(test)]
mod tests {
    use super::header::segment;
    use super::*;

    #[test]
    fn every_point_has_a_name() {
        let named = ["sender", "receiver", "bottleneck", "all"].map(|name| name.parse::<Point>());
        assert_eq!(named, [Point::Sender, Point::Receiver, Point::Bottleneck, Point::All].map(Ok));
        assert!("wire".parse::<Point>().is_err());
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
