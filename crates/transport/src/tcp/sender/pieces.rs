//! The view that Linux has of SACK blocks and lost segments: it keeps segments in pieces, which a send buffer may
//! forbid to split, and it ignores copies that the network made.

use super::Sender;
use crate::segment::Acknowledgement;

impl Sender {
    /// `ack` as it counts, if that differs.
    #[inline(always)]
    pub(super) fn as_it_counts(&mut self, ack: &Acknowledgement) -> Option<Acknowledgement> {
        let is_piecewise = !ack.sack.is_empty() && self.backlog.is_buffered() && self.stack.sack();
        if ack.duplicate.is_none() && !is_piecewise {
            return None;
        }
        self.count_blocks(ack, is_piecewise)
    }

    #[cold]
    #[inline(never)]
    fn count_blocks(&mut self, ack: &Acknowledgement, is_piecewise: bool) -> Option<Acknowledgement> {
        let is_copy = ack.duplicate.is_some() && self.is_network_duplicate();
        if !is_copy && !is_piecewise {
            return None;
        }
        let mut counts = *ack;
        if is_copy {
            counts.duplicate = None;
        }
        if is_piecewise {
            let Self { flight, backlog, .. } = self;
            let highest = flight.highest_sacked().map(|number| number + 1);
            let sacked = (highest, |number| flight.is_sacked(number));
            counts.sack = backlog.tag(flight.first(), ack, sacked);
        }
        Some(counts)
    }

    /// True if a duplicate SACK must be of a segment that the network duplicated: there are more of them than
    /// retransmissions.
    fn is_network_duplicate(&mut self) -> bool {
        self.stack.losses.is_linux_rack() && !self.repair.counts_duplicate()
    }

    /// True if the lost segment `sequence` may not leave again where the window has room for `segments`: it is in a
    /// longer piece, which is not split.
    #[inline(always)]
    pub(super) fn is_bound(&mut self, sequence: u64, segments: u32) -> bool {
        self.backlog.is_buffered() && self.is_bound_to_piece(sequence, segments)
    }

    #[cold]
    #[inline(never)]
    fn is_bound_to_piece(&mut self, sequence: u64, segments: u32) -> bool {
        let room = self.driver_room();
        let segments = segments.min(self.output.longest_train(&room));
        !self.backlog.leaves_again(self.flight.first(), sequence, segments)
    }
}
