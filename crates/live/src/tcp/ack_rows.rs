//! Rows of the series that are due at ACKs.
//!
//! The kernel reports a segment before it processes it. So the next observation completes the row of an ACK: the ACK
//! after it, or the next look at the connection. Rows of several flows are put in the order of time before they are
//! handed out.

use record::{FlowSample, seconds};
use scenario::Sampling;
use units::Time;

/// The rows of all flows.
pub(crate) struct AckRows {
    rows: engine::AckRows,
    /// When the ACK of each flow came whose row waits to be completed.
    due: Vec<Option<Time>>,
    completed: Vec<FlowSample>,
}

impl AckRows {
    /// The rows of so many `flows`, or `None` if rows are not counted in ACKs.
    pub(crate) fn new(sampling: Sampling, flows: usize) -> Option<Self> {
        let rows = engine::AckRows::new(sampling, flows)?;
        Some(Self { rows, due: vec![None; flows], completed: Vec::new() })
    }

    /// When the ACK of `flow` came whose row waits.
    pub(crate) fn due(&self, flow: usize) -> Option<Time> {
        self.due[flow]
    }

    /// An ACK arrives at `at`.
    pub(crate) fn ack(&mut self, at: Time, flow: usize) {
        if self.rows.take(flow) {
            self.due[flow] = Some(at);
        }
    }

    /// The row of `flow` that waits is this one.
    pub(crate) fn complete(&mut self, flow: usize, row: FlowSample) {
        self.due[flow] = None;
        self.completed.push(row);
    }

    /// Hands out the rows up to `upto`, in the order of time: all of them are completed.
    pub(crate) fn hand_out(&mut self, upto: Time, take: impl FnMut(FlowSample)) {
        self.completed.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
        let count = self.completed.partition_point(|row| row.time_s <= seconds(upto));
        self.completed.drain(..count).for_each(take);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use record::FlowState;
    use units::Span;

    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn row(millis: u64, flow: u32) -> FlowSample {
        row_at(seconds(at(millis)), flow)
    }

    pub(in crate::tcp) fn row_at(time_s: f64, flow: u32) -> FlowSample {
        FlowSample {
            time_s,
            flow,
            window_segments: 10.0,
            threshold_segments: f64::INFINITY,
            in_flight_segments: 0,
            latest_rtt_ms: f64::NAN,
            smoothed_rtt_ms: f64::NAN,
            min_rtt_ms: f64::NAN,
            base_rtt_ms: 0.0,
            delivered_bytes: 0,
            arrived_packets: 0,
            arrived_bytes: 0,
            sent_packets: 0,
            retransmitted_packets: 0,
            pacing_rate_bps: f64::NAN,
            state: FlowState::Open,
        }
    }

    #[test]
    fn every_third_ack_has_a_row_beginning_with_the_first() {
        let mut rows = AckRows::new(Sampling::Acks(3), 1).unwrap();
        let mut with_row = Vec::new();
        for n in 0..8 {
            rows.ack(at(n), 0);
            if let Some(due) = rows.due(0) {
                with_row.push(due);
                rows.complete(0, row(n, 0));
            }
        }
        assert_eq!(with_row, [at(0), at(3), at(6)]);
    }

    #[test]
    fn rows_of_two_flows_come_out_in_the_order_of_time_and_no_sooner_than_they_are_complete() {
        let mut rows = AckRows::new(Sampling::Acks(1), 2).unwrap();
        for (millis, flow) in [(1, 0), (4, 0), (2, 1), (6, 1)] {
            rows.complete(flow, row(millis, flow as u32));
        }
        let mut out = Vec::new();
        rows.hand_out(at(4), |row| out.push(row.time_s));
        assert_eq!(out, [0.001, 0.002, 0.004]);
        rows.hand_out(at(9), |row| out.push(row.time_s));
        assert_eq!(out[3..], [0.006]);
    }
}
