//! The fields that a filter of ACKs compares, in the packet of a simulated ACK. No queue sees the ACK itself.
//!
//! SACK blocks are packed into 96 bits, relative to the ACK number. An ACK whose blocks do not fit (four of them need
//! to end within 4095 segments, three within 65,535) says nothing to a filter, so none drops it.

use network::{AckBlocks, TcpAck};
use transport::Acknowledgement;

/// The bits of all SACK blocks together.
const BITS: u32 = 96;

/// The fields, packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckFields {
    /// The ACK number, modulo 2^32.
    pub(crate) number: u32,
    /// Start and end of each SACK block above that number, the lowest bits first.
    pub(crate) blocks: u128,
    /// How many there are.
    pub(crate) count: u32,
    /// Before them a segment is reported that arrived twice.
    pub(crate) duplicate: bool,
    /// The flags AE (RFC 9768), CWR and ECE.
    pub(crate) echo: [bool; 3],
}

/// The bits of one number if there are `count` blocks.
const fn width(count: u32) -> u32 {
    let width = BITS / (2 * count);
    if width > 32 { 32 } else { width }
}

impl AckFields {
    /// The fields of `ack`, with the flags that echo marks, or `None` if its blocks do not fit.
    pub(crate) fn of(ack: &Acknowledgement, echo: [bool; 3]) -> Option<Self> {
        let count = ack.sack.len() as u32;
        let mut blocks = 0;
        let edges = ack.sack.iter(ack.cumulative).flat_map(|(start, end)| [start, end]);
        for (edge, place) in edges.zip(0..) {
            let above = edge - ack.cumulative;
            if above >> width(count) != 0 {
                return None;
            }
            blocks |= u128::from(above) << (place * width(count));
        }
        let duplicate = ack.duplicate.is_some();
        Some(Self { number: ack.cumulative as u32, blocks, count, duplicate, echo })
    }

    /// The same for a filter.
    pub(crate) fn unpacked(&self, flow: u32) -> TcpAck {
        let &Self { number, blocks, count, duplicate, echo: [accurate, reduced, echo] } = self;
        let mut sack = AckBlocks::default();
        if duplicate {
            sack.push(number.wrapping_sub(1), number);
        }
        for block in 0..count {
            let edge = |place: u32| {
                let mask = (1 << width(count)) - 1;
                number.wrapping_add((blocks >> (place * width(count)) & mask) as u32)
            };
            sack.push(edge(2 * block), edge(2 * block + 1));
        }
        // Timestamps of a receiver never go back.
        TcpAck { connection: u64::from(flow), pure: !accurate, echo: [echo, reduced], number, timestamps: None, sack }
    }
}

#[cfg(test)]
mod tests {
    use transport::SackBlocks;

    use super::*;

    fn ack(cumulative: u64, blocks: &[(u64, u64)]) -> Acknowledgement {
        let mut sack = SackBlocks::default();
        blocks.iter().for_each(|&(start, end)| sack.push(cumulative, start, end));
        Acknowledgement { cumulative, sack, ..Acknowledgement::default() }
    }

    #[test]
    fn a_filter_reads_what_the_ack_says() {
        for blocks in [&[][..], &[(5, 9)], &[(5, 9), (2, 3)], &[(700, 900), (2, 3), (5, 60_000)]] {
            // Numbers cross the end of 32 bits.
            let base = (7 << 32) - 2;
            let blocks: Vec<_> = blocks.iter().map(|(start, end)| (base + start, base + end)).collect();
            let read = AckFields::of(&ack(base, &blocks), [false, true, false]).unwrap().unpacked(3);
            let expected: Vec<_> = blocks.iter().map(|&(start, end)| (start as u32, end as u32)).collect();
            assert_eq!((read.connection, read.pure, read.echo), (3, true, [false, true]));
            assert_eq!((read.number, read.sack.as_slice()), (u32::MAX - 1, &expected[..]));
        }
    }

    #[test]
    fn blocks_that_do_not_fit_say_nothing_and_a_duplicate_lies_below() {
        let four = [(4000, 4095), (1, 2), (3, 4), (5, 6)];
        let read = AckFields::of(&ack(0, &four), [false; 3]).unwrap().unpacked(0);
        assert_eq!(read.sack.as_slice(), four.map(|(start, end)| (start as u32, end as u32)));
        assert_eq!(AckFields::of(&ack(0, &[(4000, 4096), (1, 2), (3, 4), (5, 6)]), [false; 3]), None);
        let twice = Acknowledgement { duplicate: Some(4), ..ack(9, &[(12, 13)]) };
        let read = AckFields::of(&twice, [true, false, false]).unwrap().unpacked(0);
        assert_eq!((read.sack.as_slice(), read.pure), (&[(8, 9), (12, 13)][..], false));
    }
}
