//! Duplicate ACKs without SACK: arrivals of unknown segments.

use super::Scoreboard;

impl Scoreboard {
    /// Without SACK, a duplicate ACK tells that some segment arrived (RFC 6582 inflates the window instead). Says
    /// whether there is one that may have.
    pub(crate) fn count_duplicate(&mut self) -> bool {
        let room = self.sacked_count + self.lost_count.max(1) < self.outstanding();
        self.sacked_count += u32::from(room);
        room
    }

    /// Without SACK, inside recovery: of `acknowledged` segments one filled the hole, and duplicates had announced
    /// the others.
    pub(crate) fn discount_duplicates(&mut self, acknowledged: u32) {
        self.sacked_count = self.sacked_count.saturating_sub(acknowledged - 1);
        self.sacked_count = self.sacked_count.min(self.outstanding() - self.lost_count);
    }

    /// Without SACK, outside recovery: the first outstanding segment has moved, and duplicates are counted anew.
    pub(crate) fn clear_duplicates(&mut self) {
        self.sacked_count = 0;
    }
}
