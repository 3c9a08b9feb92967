//! The fate of each segment, for controllers that ask for it: the state in which each outstanding one
//! left, and the reports that wait for the controller.

use std::collections::VecDeque;

use control::{SegmentReport, SentState};

/// The reports of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentReports {
    /// Segments delivered are reported, not lost ones alone.
    deliveries: bool,
    /// The number that the first of `states` has.
    first: u64,
    /// The state at the last transmission of each outstanding segment.
    states: VecDeque<SentState>,
    /// Not yet taken.
    delivered: VecDeque<SegmentReport>,
    lost: VecDeque<SegmentReport>,
}

impl SegmentReports {
    /// Reports of lost segments, and of `deliveries` as well.
    pub(super) fn new(deliveries: bool) -> Self {
        Self { deliveries, ..Self::default() }
    }

    /// True if segments delivered are reported.
    pub(super) fn has_deliveries(&self) -> bool {
        self.deliveries
    }

    /// Segment `number`, the next new one or one that is outstanding, leaves in `state`.
    pub(super) fn on_sent(&mut self, number: u64, state: SentState) {
        let index = self.index(number);
        match self.states.get_mut(index) {
            Some(last) => *last = state,
            None => self.states.push_back(state),
        }
    }

    /// Segment `number` was delivered.
    #[inline(never)]
    pub(super) fn on_delivered(&mut self, number: u64, retransmitted: bool) {
        if self.deliveries {
            let report = self.report(number, retransmitted);
            self.delivered.extend(report);
        }
    }

    /// Segment `number` is deemed lost.
    pub(super) fn on_lost(&mut self, number: u64, retransmitted: bool) {
        let report = self.report(number, retransmitted);
        self.lost.extend(report);
    }

    /// The segments just deemed lost were not.
    pub(super) fn forget_losses(&mut self) {
        self.lost.clear();
    }

    /// The state in which `number` left last.
    #[inline(never)]
    pub(super) fn state(&self, number: u64) -> Option<SentState> {
        self.states.get(self.index(number)).copied()
    }

    /// Nothing below `number` is outstanding any more.
    pub(super) fn remove_below(&mut self, number: u64) {
        while self.first < number && self.states.pop_front().is_some() {
            self.first += 1;
        }
        self.first = number;
    }

    /// The next segment delivered.
    pub(super) fn poll_delivered(&mut self) -> Option<SegmentReport> {
        self.delivered.pop_front()
    }

    /// The next segment deemed lost.
    pub(super) fn poll_lost(&mut self) -> Option<SegmentReport> {
        self.lost.pop_front()
    }

    fn index(&self, number: u64) -> usize {
        number.saturating_sub(self.first) as usize
    }

    fn report(&self, sequence: u64, retransmitted: bool) -> Option<SegmentReport> {
        let sent = self.state(sequence)?;
        Some(SegmentReport { sequence, retransmitted, rtt: None, sent })
    }
}
