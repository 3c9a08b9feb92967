//! The fields that a filter of ACKs compares, in the headers of a real packet.

use network::{AckBlocks, TcpAck};

use crate::emulator::header::{self, Header, SACK, TCP};

const ECE: u8 = 64;
const CWR: u8 = 128;
/// FIN, SYN, RST, PSH and URG.
const OTHERS: u8 = 0b10_1111;
const TIMESTAMPS: u8 = 8;

/// The fields of the IPv4 `packet` whose header is `header`, or `None` if it is no segment of an open connection.
pub(crate) fn read(packet: &[u8], header: &Header) -> Option<TcpAck> {
    let segment = header.segment.filter(|segment| header.protocol == TCP && !segment.synchronize)?;
    let number = segment.acknowledgement?;
    let transport = packet.get(usize::from(packet[0] & 15) * 4..)?;
    let addresses = u64::from_be_bytes(packet.get(12..20)?.try_into().ok()?);
    let ports = u64::from(header.source) << 16 | u64::from(header.destination);
    let (reserved, flags) = (transport[12] & 15, transport[13]);
    let mut pure = segment.payload == 0 && reserved == 0 && flags & OTHERS == 0;
    let mut timestamps = None;
    for (kind, value) in header::options(packet) {
        match kind {
            TIMESTAMPS if value.len() == 8 => {
                timestamps = Some([0, 4].map(|at| header::double(value, at).unwrap_or_default()));
            }
            SACK => {}
            _ => pure = false,
        }
    }
    let mut sack = AckBlocks::default();
    header::sack_blocks(packet).for_each(|(start, end)| sack.push(start, end));
    Some(TcpAck {
        connection: addresses ^ ports.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        pure,
        echo: [ECE, CWR].map(|flag| flags & flag != 0),
        number,
        timestamps,
        sack,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACK: u8 = 16;

    /// An ACK of 2000 from 10.0.0.1:10000 to 10.0.0.2:20000 with these flags and options.
    fn packet(reserved: u8, flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let offset = (5 + options.len() as u8 / 4) << 4 | reserved;
        packet.extend([0x27, 0x10, 0x4e, 0x20, 0, 0, 0x03, 0xe8, 0, 0, 0x07, 0xd0, offset, flags, 1, 0, 0, 0, 0, 0]);
        packet.extend(options);
        packet.extend(payload);
        packet[3] = packet.len() as u8;
        packet
    }

    fn fields(packet: &[u8]) -> Option<TcpAck> {
        read(packet, &Header::read(packet)?)
    }

    #[test]
    fn a_pure_ack_is_read_with_its_options() {
        let stamps = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 5];
        let sack = [1, 1, 5, 18, 0, 0, 0x10, 0, 0, 0, 0x20, 0, 0, 0, 0x30, 0, 0, 0, 0x40, 0];
        let read = fields(&packet(0, ACK | ECE, &[&stamps[..], &sack].concat(), &[])).unwrap();
        assert_eq!((read.pure, read.echo, read.number, read.timestamps), (true, [true, false], 2000, Some([7, 5])));
        assert_eq!(read.sack.as_slice(), [(0x1000, 0x2000), (0x3000, 0x4000)]);
        let mut other = packet(0, ACK, &[], &[]);
        let same = fields(&other).unwrap();
        assert_eq!(same.connection, read.connection);
        other[21] = 0x11;
        assert_ne!(fields(&other).unwrap().connection, read.connection);
    }

    #[test]
    fn other_flags_options_and_data_are_kept() {
        let pure = |packet: Vec<u8>| fields(&packet).unwrap().pure;
        assert!(pure(packet(0, ACK | CWR, &[], &[])));
        for flag in [1, 4, 8, 32] {
            assert!(!pure(packet(0, ACK | flag, &[], &[])), "{flag}");
        }
        // AE of accurate ECN, data, an option of MPTCP.
        assert!(!pure(packet(1, ACK, &[], &[])));
        assert!(!pure(packet(0, ACK, &[], &[9])));
        assert!(!pure(packet(0, ACK, &[30, 4, 0, 0], &[])));
        assert_eq!(fields(&packet(0, ACK | 2, &[], &[])), None);
        assert_eq!(fields(&packet(0, 4, &[], &[])), None);
    }
}
