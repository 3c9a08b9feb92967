//! The bytes that an endpoint receives, as the segments that its receiver counts.

use crate::packet::Refusal;

/// The ends of the segments received in order. The first byte has number 1.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    ends: Vec<u64>,
    /// The length of segments out of order, from the first of them until the hole is filled.
    unit: Option<u64>,
    /// The position of the FIN of the other side, once it has arrived.
    fin: Option<u64>,
}

impl Incoming {
    /// Nothing has arrived.
    pub(crate) fn new() -> Self {
        Self { ends: Vec::new(), unit: None, fin: None }
    }

    /// The number after the last byte of the first `segments`.
    fn next(&self, segments: u64) -> u64 {
        let known = self.ends.len() as u64;
        let beyond = segments.saturating_sub(known) * self.unit.unwrap_or(0);
        let base = (segments.min(known) as usize).checked_sub(1).map_or(1, |last| self.ends[last]);
        base + beyond
    }

    /// The acknowledgment number when `segments` were delivered in order: a FIN counts one more.
    pub(crate) fn acknowledged(&self, segments: u64) -> u64 {
        let next = self.next(segments);
        next + u64::from(self.fin == Some(next))
    }

    /// The bytes of segments [start, end).
    pub(crate) fn block(&self, start: u64, end: u64) -> (u64, u64) {
        (self.next(start), self.next(end))
    }

    /// A FIN arrived that has this number.
    pub(crate) fn on_fin(&mut self, number: u64) {
        self.fin = Some(number);
    }

    /// The number of the segment whose `length` bytes begin at `sequence`, with `segments` delivered in order.
    ///
    /// Numbers need boundaries: in order each segment makes its own. Out of order all segments have to be of one length
    /// until the hole is filled.
    pub(crate) fn number(&mut self, sequence: u64, length: u64, segments: u64) -> Result<u64, Refusal> {
        const UNEVEN: Refusal = Refusal("segments out of order are modelled only where all are of one length");
        self.settle(segments);
        let next = self.next(segments);
        if sequence < next {
            let number = self.ends.partition_point(|&end| end <= sequence) as u64;
            let whole = self.next(number) == sequence && self.next(number + 1) == sequence + length;
            return if whole { Ok(number) } else { Err(Refusal("a segment that arrives again in other parts")) };
        }
        if let Some(unit) = self.unit {
            let even = length == unit && (sequence - next).is_multiple_of(unit);
            return if even { Ok(segments + (sequence - next) / unit) } else { Err(UNEVEN) };
        }
        if sequence == next {
            self.ends.push(next + length);
            return Ok(segments);
        }
        if !(sequence - next).is_multiple_of(length) {
            return Err(UNEVEN);
        }
        self.unit = Some(length);
        Ok(segments + (sequence - next) / length)
    }

    /// Notes the ends of delivered segments beyond the known ends.
    pub(crate) fn settle(&mut self, segments: u64) {
        while (self.ends.len() as u64) < segments {
            self.ends.push(self.next(self.ends.len() as u64 + 1));
        }
    }

    /// Nothing is missing: the next segment may be of any length again.
    pub(crate) fn on_whole(&mut self, segments: u64) {
        self.settle(segments);
        self.unit = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_in_order_may_be_of_any_length() {
        let mut bytes = Incoming::new();
        assert_eq!(bytes.number(1, 1000, 0), Ok(0));
        assert_eq!(bytes.acknowledged(1), 1001);
        assert_eq!(bytes.number(1001, 300, 1), Ok(1));
        assert_eq!(bytes.acknowledged(2), 1301);
        assert_eq!(bytes.number(1001, 300, 2), Ok(1), "again");
        bytes.on_fin(1301);
        assert_eq!(bytes.acknowledged(2), 1302);
    }

    #[test]
    fn segments_out_of_order_are_of_one_length() {
        let mut bytes = Incoming::new();
        assert_eq!(bytes.number(1, 500, 0), Ok(0));
        // 1 to 501 arrived. 2501 is two segments of 1000 bytes further.
        assert_eq!(bytes.number(2501, 1000, 1), Ok(3));
        assert_eq!(bytes.block(3, 4), (2501, 3501));
        assert!(bytes.number(1501, 700, 1).is_err());
        assert!(bytes.number(1501, 500, 1).is_err(), "half of one");
        assert_eq!(bytes.number(501, 1000, 1), Ok(1));
        assert_eq!(bytes.acknowledged(2), 1501);
    }
}
