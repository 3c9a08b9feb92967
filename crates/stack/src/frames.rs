//! The frames of a QUIC packet (RFC 9000, section 19), as far as an observer of a stack reads them: acknowledged
//! packets, and whether the packet asks for an acknowledgement.

use std::ops::RangeInclusive;

/// Reads the frames in `payload`, and passes each range of acknowledged packet numbers on. Returns whether the packet
/// asks for an acknowledgement. An unknown frame asks for one, and ends the reading.
pub fn read(payload: &[u8], mut acknowledged: impl FnMut(RangeInclusive<u64>)) -> bool {
    let mut rest = Rest(payload);
    let mut asks = false;
    while let Some(kind) = rest.number() {
        let (passed, frame_asks) = match kind {
            // PADDING, ACK, CONNECTION_CLOSE.
            0 => (Some(()), false),
            2 | 3 => (rest.acknowledgement(kind == 3, &mut acknowledged), false),
            0x1c => (rest.numbers(2).and_then(|()| rest.bytes()), false),
            0x1d => (rest.numbers(1).and_then(|()| rest.bytes()), false),
            _ => (rest.pass(kind), true),
        };
        asks |= frame_asks;
        if passed.is_none() {
            break;
        }
    }
    asks
}

/// The unread part of a packet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    /// An integer of variable length (section 16).
    fn number(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let length = 1 << (first >> 6);
        let bytes = self.0.get(..length)?;
        let number = bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        self.0 = &self.0[length..];
        Some(number & (u64::MAX >> (66 - 8 * length)))
    }

    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }

    /// A length, and so many bytes.
    fn bytes(&mut self) -> Option<()> {
        let length = self.number()?;
        self.skip(usize::try_from(length).ok()?)
    }

    fn all(&mut self) -> Option<()> {
        self.skip(self.0.len())
    }

    /// Passes a frame that asks for an acknowledgement.
    fn pass(&mut self, kind: u64) -> Option<()> {
        match kind {
            // PING, HANDSHAKE_DONE.
            1 | 0x1e => Some(()),
            // Limits, STOP_SENDING, RESET_STREAM, RETIRE_CONNECTION_ID.
            0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => self.numbers(1),
            5 | 0x11 | 0x15 => self.numbers(2),
            4 => self.numbers(3),
            // CRYPTO, NEW_TOKEN.
            6 => self.numbers(1).and_then(|()| self.bytes()),
            7 | 0x31 => self.bytes(),
            // STREAM: with an offset, with a length.
            0x08..=0x0f => {
                self.numbers(if kind & 4 == 0 { 1 } else { 2 })?;
                if kind & 2 == 0 { self.all() } else { self.bytes() }
            }
            // NEW_CONNECTION_ID ends with a token of 16 bytes.
            0x18 => self.numbers(2).and_then(|()| self.bytes()).and_then(|()| self.skip(16)),
            // PATH_CHALLENGE, PATH_RESPONSE.
            0x1a | 0x1b => self.skip(8),
            // DATAGRAM without a length.
            0x30 => self.all(),
            _ => None,
        }
    }

    /// An ACK frame (section 19.3).
    fn acknowledgement(&mut self, with_marks: bool, range: &mut impl FnMut(RangeInclusive<u64>)) -> Option<()> {
        let largest = self.number()?;
        self.number()?;
        let more = self.number()?;
        let mut last = largest;
        let mut first = last.checked_sub(self.number()?)?;
        range(first..=last);
        for _ in 0..more {
            last = first.checked_sub(self.number()? + 2)?;
            first = last.checked_sub(self.number()?)?;
            range(first..=last);
        }
        if with_marks { self.numbers(3) } else { Some(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(payload: &[u8]) -> (bool, Vec<RangeInclusive<u64>>) {
        let mut ranges = Vec::new();
        (read(payload, |range| ranges.push(range)), ranges)
    }

    #[test]
    fn an_acknowledgement_with_gaps_is_its_ranges() {
        // The largest is 100, in two bytes. A delay and one more range follow, behind two packets that are missing.
        let ack = [2, 0x40, 100, 5, 1, 3, 1, 2];
        assert_eq!(of(&ack), (false, vec![97..=100, 92..=94]));
        // Counts of marks and padding follow, then MAX_DATA.
        let marked = [&[3][..], &ack[1..], &[7, 0, 1, 0, 0, 0x10, 0x44, 0]].concat();
        assert_eq!(of(&marked), (true, vec![97..=100, 92..=94]));
    }

    #[test]
    fn packets_ask_for_an_acknowledgement_unless_they_only_acknowledge_pad_or_close() {
        assert_eq!(of(&[0, 0, 0]), (false, vec![]));
        assert!(!of(&[0x1d, 0, 2, 65, 66]).0 && !of(&[0x1c, 1, 6, 1, 65, 0]).0);
        // A datagram without a length, an unknown frame, and each other frame before an ACK of 9.
        assert!(of(&[0x30, 2, 9]).0 && of(&[0x21]).0);
        for frame in [
            &[1][..],
            &[4, 1, 2, 3],
            &[5, 1, 2],
            &[6, 0, 2, 65, 66],
            &[7, 1, 65],
            &[0x0a, 4, 1, 65],
            &[0x0e, 4, 0x80, 0, 0, 7, 1, 65],
            &[0x10, 1],
            &[0x11, 1, 2],
            &[0x14, 1],
            &[0x15, 1, 2],
            &[0x18, 1, 0, 1, 65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x1a, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x1e],
            &[0x31, 1, 65],
        ] {
            assert_eq!(of(&[frame, &[2, 9, 0, 0, 0]].concat()), (true, vec![9..=9]), "{frame:?}");
        }
    }

    #[test]
    fn a_frame_that_ends_early_is_not_read() {
        assert_eq!(of(&[2, 9, 0, 0]), (false, vec![]));
        assert_eq!(of(&[2, 1, 0, 0, 2]), (false, vec![]));
        assert_eq!(of(&[0xc0, 1]), (false, vec![]));
    }
}
