//! The order in which segments left, also of segments that left at the same instant.

use units::Time;

use super::Sent;

/// From here on: by how much the next new segment was ahead of one that was sent again, when it left.
pub(super) const AHEAD: u32 = 6;

/// The bits of such a distance.
const BITS: u32 = u32::BITS - AHEAD;
const MOST_AHEAD: u64 = (1 << BITS) - 1;

/// The place of a transmission among all, as they left. Of segments that leave at the same instant, a retransmission
/// comes after all earlier transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    at: Time,
    /// The next new segment at that moment, and then how far it was ahead, the farthest first.
    order: u64,
}

impl Place {
    fn new(at: Time, number: u64, ahead: u64) -> Self {
        Self { at, order: (number + ahead) << BITS | (MOST_AHEAD - ahead) }
    }

    /// The segment.
    pub(super) fn number(self) -> u64 {
        (self.order >> BITS).saturating_sub(MOST_AHEAD - (self.order & MOST_AHEAD))
    }
}

impl Sent {
    /// The place of this transmission of `number`.
    pub(super) fn place(&self, number: u64) -> Place {
        Place::new(self.at, number, (self.flags >> AHEAD).into())
    }
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmission {
    pub(super) number: u64,
    pub(super) at: Time,
    /// The next new segment at that moment.
    pub(super) sent_to: u64,
}

impl Retransmission {
    pub(super) fn place(&self) -> Place {
        Place::new(self.at, self.number, self.sent_to - self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::AMBIGUOUS;
    use super::*;
    use crate::tcp::flight::delivery_rate::DeliveryRate;

    fn sent(at: u64, flags: u32) -> Sent {
        Sent::new(Time::from_nanos(at), DeliveryRate::default().state(), flags)
    }

    #[test]
    fn a_segment_sent_again_comes_behind_what_had_left_and_before_what_follows() {
        // At 5 ns segments 7 and 8 left, then 3 again, then 9.
        let again = sent(5, AMBIGUOUS | (9 - 3) << AHEAD).place(3);
        assert!(sent(5, 0).place(8) < again);
        assert!(again < sent(5, 0).place(9));
        assert!(again < sent(6, 0).place(4), "the time counts first");
        let retransmission = Retransmission { number: 3, at: Time::from_nanos(5), sent_to: 9 };
        assert_eq!((retransmission.place(), again.number(), sent(5, 0).place(8).number()), (again, 3, 8));
        assert!(
            again < Retransmission { number: 4, ..retransmission }.place(),
            "of two sent again the lower left first"
        );
    }
}
