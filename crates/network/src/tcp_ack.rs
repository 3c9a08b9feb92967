//! The fields of a TCP segment that decide whether a later ACK makes an earlier one redundant.

/// The fields of an acknowledging TCP segment that a filter of ACKs compares. Numbers count bytes or segments, modulo
/// 2^32, and ascend to the next as in TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpAck {
    /// The same for all segments of one direction of a connection.
    pub connection: u64,
    /// It carries nothing that is lost with it: no data, no flag but ACK, ECE and CWR, no option but SACK blocks and
    /// timestamps.
    pub pure: bool,
    /// ECE and CWR (RFC 3168, section 6.1).
    pub echo: [bool; 2],
    /// The ACK number.
    pub number: u32,
    /// The timestamp and its echo (RFC 7323), where a filter has to compare them.
    pub timestamps: Option<[u32; 2]>,
    /// SACK blocks [start, end), the first of them below `number` if it is a duplicate (RFC 2883).
    pub sack: AckBlocks,
}

/// SACK blocks in the order of the segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckBlocks {
    blocks: [(u32, u32); 5],
    count: u8,
}

impl AckBlocks {
    /// Appends the block [start, end). More than five are never in a segment: a sixth is left out.
    pub fn push(&mut self, start: u32, end: u32) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = (start, end);
            self.count += 1;
        }
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    fn length(&self) -> u32 {
        self.as_slice().iter().fold(0, |sum, &(start, end)| sum.wrapping_add(end.wrapping_sub(start)))
    }
}

/// True if `one` is before `other`, modulo 2^32 (RFC 9293, section 3.4).
const fn before(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

impl TcpAck {
    /// True if `later`, of the same direction of the same connection, says all that this one does, and more.
    pub(crate) fn is_superseded_by(&self, later: &Self) -> bool {
        let aged = match (self.timestamps, later.timestamps) {
            (Some(own), Some(new)) => own.iter().zip(new).all(|(&own, new)| !before(new, own)),
            _ => true,
        };
        self.pure && aged && !before(later.number, self.number) && self.sack_is_in(later) && {
            later.number != self.number || later.sack.length() > self.sack.length()
        }
    }

    /// True if each of its blocks is within one of `later`, and none reports a duplicate.
    fn sack_is_in(&self, later: &Self) -> bool {
        self.sack.as_slice().iter().all(|&(start, end)| {
            let is_in = |&(first, last): &(u32, u32)| !before(start, first) && !before(last, end);
            !before(start, self.number) && later.sack.as_slice().iter().any(is_in)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u32, blocks: &[(u32, u32)]) -> TcpAck {
        let mut sack = AckBlocks::default();
        blocks.iter().for_each(|&(start, end)| sack.push(start, end));
        TcpAck { connection: 1, pure: true, echo: [false; 2], number, timestamps: None, sack }
    }

    #[test]
    fn a_higher_number_supersedes_also_past_the_end_of_numbers() {
        assert!(ack(10, &[]).is_superseded_by(&ack(11, &[])));
        assert!(ack(u32::MAX, &[]).is_superseded_by(&ack(0, &[])));
        assert!(!ack(11, &[]).is_superseded_by(&ack(10, &[])));
        // A duplicate ACK counts.
        assert!(!ack(10, &[]).is_superseded_by(&ack(10, &[])));
    }

    #[test]
    fn blocks_must_be_in_those_of_the_later() {
        let old = ack(10, &[(20, 22), (15, 16)]);
        assert!(old.is_superseded_by(&ack(10, &[(20, 23), (15, 16)])));
        assert!(!old.is_superseded_by(&ack(10, &[(20, 22), (15, 16)])));
        assert!(!old.is_superseded_by(&ack(10, &[(20, 30)])));
        assert!(old.is_superseded_by(&ack(12, &[(15, 16), (20, 22)])));
        // A hole is filled and the blocks are gone: a careful filter keeps them.
        assert!(!old.is_superseded_by(&ack(30, &[])));
        assert!(ack(10, &[]).is_superseded_by(&ack(10, &[(20, 21)])));
    }

    #[test]
    fn what_says_more_than_its_number_is_kept() {
        assert!(!TcpAck { pure: false, ..ack(10, &[]) }.is_superseded_by(&ack(11, &[])));
        // A duplicate SACK, and then an ACK of more.
        assert!(!ack(10, &[(8, 9)]).is_superseded_by(&ack(11, &[(8, 9)])));
        let stamped = |number, stamps| TcpAck { timestamps: Some(stamps), ..ack(number, &[]) };
        assert!(stamped(10, [5, 5]).is_superseded_by(&stamped(11, [5, 6])));
        assert!(!stamped(10, [5, 7]).is_superseded_by(&stamped(11, [6, 6])));
    }
}
