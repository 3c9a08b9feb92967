//! Rows about the sender of a flow, which every engine writes in the same way.

use control::Probe;
use record::{EventKind, EventRow, Probes, milliseconds, seconds};
use transport::Event;
use units::Time;

/// The row of `event`, which the sender of `flow` reports at `at`.
pub fn sender_event(at: Time, flow: u32, event: Event) -> EventRow {
    let (kind, sequence, value) = match event {
        Event::DeemedLost { sequence, rtt, .. } => (EventKind::DeemedLost, Some(sequence), Some(milliseconds(rtt))),
        Event::Retransmission { sequence } => (EventKind::Retransmission, Some(sequence), None),
        Event::LossEvent { window } => (EventKind::LossEvent, None, Some(window)),
        Event::Recovered => (EventKind::Recovered, None, None),
        Event::Timeout { window } => (EventKind::Timeout, None, Some(window)),
        Event::TailLossProbe { sequence } => (EventKind::TailLossProbe, Some(sequence), None),
        Event::Spurious => (EventKind::Spurious, None, None),
        Event::CongestionEcho { window } => (EventKind::Ecn, None, Some(window)),
        Event::CircuitBreaker { condition } => (EventKind::CircuitBreaker, None, Some(f64::from(condition as u8))),
    };
    EventRow { sequence: sequence.unwrap_or(u64::MAX), value: value.unwrap_or(f64::NAN), ..flow_event(at, flow, kind) }
}

/// A row about the whole of `flow`: its start, its stop or its completion.
pub fn flow_event(at: Time, flow: u32, kind: EventKind) -> EventRow {
    EventRow { time_s: seconds(at), kind, flow, link: u32::MAX, sequence: u64::MAX, value: f64::NAN }
}

/// Takes the internals of the controller of a flow as rows.
#[derive(Debug)]
pub struct ProbeRows<'a> {
    /// The rows.
    pub probes: &'a mut Probes,
    /// When they are taken.
    pub at: Time,
    /// The flow.
    pub flow: u32,
}

impl Probe for ProbeRows<'_> {
    fn value(&mut self, name: &'static str, value: f64) {
        self.probes.push(self.at, self.flow, name, value);
    }
}
