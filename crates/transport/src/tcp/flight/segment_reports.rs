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
        Some(SegmentReport { sequence, retransmitted, sent, ..SegmentReport::EMPTY })
    }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;

    fn state(delivered: u64) -> SentState {
        SentState { at: Time::ZERO, delivered, lost: 0, marked: 0, in_flight: 1, application_limited: false }
    }

    #[test]
    fn states_are_those_of_the_last_departure_until_they_are_removed() {
        let mut reports = SegmentReports::new(true);
        (0..4).for_each(|number| reports.on_sent(number, state(number)));
        reports.on_sent(2, state(9));
        assert_eq!([0, 2, 3].map(|number| reports.state(number).map(|s| s.delivered)), [Some(0), Some(9), Some(3)]);
        assert_eq!(reports.state(4), None);
        reports.remove_below(2);
        assert_eq!((reports.states.len(), reports.state(2).map(|s| s.delivered)), (2, Some(9)));
        // Removal beyond the last one leaves nothing, and the next departure comes after it.
        reports.remove_below(7);
        assert_eq!(reports.states.len(), 0);
        reports.on_sent(7, state(5));
        assert_eq!(reports.state(7).map(|s| s.delivered), Some(5));
    }

    #[test]
    fn deliveries_are_reported_where_they_are_asked_for_and_losses_always() {
        for deliveries in [true, false] {
            let mut reports = SegmentReports::new(deliveries);
            (0..3).for_each(|number| reports.on_sent(number, state(number)));
            reports.on_delivered(0, false);
            reports.on_lost(1, true);
            assert_eq!(reports.has_deliveries(), deliveries);
            let delivered = reports.poll_delivered().map(|report| (report.sequence, report.retransmitted));
            assert_eq!(delivered, deliveries.then_some((0, false)));
            let lost = reports.poll_lost().map(|report| (report.sequence, report.retransmitted, report.sent));
            assert_eq!(lost, Some((1, true, state(1))));
            reports.on_lost(2, false);
            reports.forget_losses();
            assert!(reports.poll_lost().is_none() && reports.poll_delivered().is_none());
        }
    }
}
