//! Duplicate ACKs without SACK: arrivals of unknown segments.

use super::Scoreboard;

impl Scoreboard {
    /// Without SACK, a duplicate ACK shows that some segment arrived (RFC 6582 inflates the window instead). Says
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

    /// `arrived` more segments count as arrived, but no more in all than may have. Says how many more that are, and
    /// whether there were fewer (in Linux tcp_limit_reno_sacked).
    pub(crate) fn count_arrived(&mut self, arrived: u32) -> (u32, bool) {
        let before = self.sacked_count;
        self.sacked_count += arrived;
        let limited = self.limit_duplicates();
        (self.sacked_count.saturating_sub(before), limited)
    }

    /// Of `acknowledged` segments one filled the hole, and duplicates had announced the others. Says whether there were
    /// too many of these (in Linux tcp_remove_reno_sacks).
    pub(crate) fn eat_duplicates(&mut self, acknowledged: u32) -> bool {
        self.sacked_count = self.sacked_count.saturating_sub(acknowledged - 1);
        self.limit_duplicates()
    }

    fn limit_duplicates(&mut self) -> bool {
        let outstanding = self.outstanding();
        let most = outstanding - self.lost_count.max(1).min(outstanding);
        let limited = self.sacked_count > most;
        self.sacked_count = self.sacked_count.min(most);
        limited
    }

    /// Without SACK, outside recovery: the first outstanding segment has moved, and duplicates are counted anew.
    pub(crate) fn clear_duplicates(&mut self) {
        self.sacked_count = 0;
    }
}
