//! The filter of ACKs of CAKE: an ACK that waits goes when later ones of its connection say all that it says
//! (Høiland-Jørgensen, Täht and Morton 2018, section III.D).

use crate::queue::tc::choices;
use crate::queue::turns::Waiting;
use crate::{Packet, TcpAck};

choices! {
    /// Which ACKs that wait are dropped when another of their connection arrives, named as in `tc`.
    pub enum AckFilter {
        /// None.
        #[default]
        NoAckFilter = "no-ack-filter",
        /// The first of two or more that the new one supersedes.
        AckFilter = "ack-filter",
        /// Also the only one, if it is the last before the new one and echoes the same marks.
        AckFilterAggressive = "ack-filter-aggressive",
    }
}

impl AckFilter {
    /// The place of the ACK that the last packet of the queue makes redundant.
    pub(super) fn redundant<P: Packet>(self, waiting: &Waiting<P>) -> Option<usize> {
        let last = waiting.packets().checked_sub(1).filter(|&last| last > 0 && self != Self::NoAckFilter)?;
        let new = waiting.get(last)?.tcp_ack()?;
        let mut first: Option<(usize, TcpAck)> = None;
        let own = (0..last).filter_map(|place| Some((place, waiting.get(place)?.tcp_ack()?)));
        for (place, ack) in own.filter(|(_, ack)| ack.connection == new.connection) {
            // If the echo of marks changes, no other ACK carries the echo of the one before.
            first = first.filter(|(_, before)| before.echo == ack.echo);
            if !ack.is_superseded_by(&new) {
                continue;
            }
            if let Some((redundant, _)) = first {
                return Some(redundant);
            }
            first = Some((place, ack));
        }
        let (place, ack) = first.filter(|_| self == Self::AckFilterAggressive)?;
        (place + 1 == last && ack.echo == new.echo).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;
    use crate::tcp_ack::AckBlocks;
    use crate::testing::Parcel;

    fn ack(number: u32) -> TcpAck {
        let sack = AckBlocks::default();
        TcpAck { connection: 1, pure: true, echo: [false; 2], number, timestamps: None, sack }
    }

    /// The place that goes from a queue of these, by `ack-filter` and by `ack-filter-aggressive`.
    fn filtered(acks: &[Option<TcpAck>]) -> [Option<usize>; 2] {
        let mut waiting = Waiting::default();
        for &ack in acks {
            waiting.push(Time::ZERO, Parcel { ack, ..Parcel::of(1, 52) });
        }
        assert_eq!(AckFilter::NoAckFilter.redundant(&waiting), None);
        [AckFilter::AckFilter, AckFilter::AckFilterAggressive].map(|filter| filter.redundant(&waiting))
    }

    #[test]
    fn the_first_of_two_goes_and_the_only_one_if_aggressive() {
        assert_eq!(filtered(&[Some(ack(1))]), [None, None]);
        assert_eq!(filtered(&[Some(ack(1)), Some(ack(2))]), [None, Some(0)]);
        assert_eq!(filtered(&[Some(ack(1)), Some(ack(2)), Some(ack(3))]), [Some(0), Some(0)]);
        // Data between them: the only one is not the last before the new one.
        assert_eq!(filtered(&[Some(ack(1)), None, Some(ack(2))]), [None, None]);
    }

    #[test]
    fn other_connections_and_changes_of_the_echo_are_kept() {
        let other = TcpAck { connection: 2, ..ack(2) };
        assert_eq!(filtered(&[Some(other), Some(ack(2)), Some(ack(3))]), [None, Some(1)]);
        let echo = |number| TcpAck { echo: [true, false], ..ack(number) };
        // The first two differ, so only the second may go, and it is the only one.
        assert_eq!(filtered(&[Some(ack(1)), Some(echo(2)), Some(echo(3))]), [None, Some(1)]);
        assert_eq!(filtered(&[Some(ack(1)), Some(echo(2)), Some(ack(3))]), [None, None]);
        assert_eq!(filtered(&[Some(echo(1)), Some(echo(2)), Some(ack(3))]), [Some(0), Some(0)]);
    }

    #[test]
    fn data_make_acks_redundant_and_are_never_so() {
        let data = |number| TcpAck { pure: false, ..ack(number) };
        assert_eq!(filtered(&[Some(ack(1)), Some(ack(2)), Some(data(3))]), [Some(0), Some(0)]);
        assert_eq!(filtered(&[Some(data(1)), Some(data(2)), Some(ack(3))]), [None, None]);
    }
}
