//! Rows about the sender of a flow, which every engine writes in the same way.

use control::Probe;
use record::{EventKind, EventRow, Probes, VideoFrameRow, VideoFrames, milliseconds, seconds};
use transport::{Event, Frame, FrameArrival};
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

/// Puts the `frames` that the encoder of `flow` has made among `rows`, with the `arrivals` of the first of them.
pub fn video_frames(flow: u32, frames: &[Frame], arrivals: &[FrameArrival], rows: &mut VideoFrames) {
    let known = |at: Option<Time>| at.map_or(f64::NAN, seconds);
    for (number, frame) in (0..).zip(frames) {
        let arrival = arrivals.get(number as usize).copied().unwrap_or_default();
        rows.push(VideoFrameRow {
            captured_s: seconds(frame.captured),
            flow,
            frame: number,
            bytes: frame.bytes,
            is_key: frame.key,
            complete_s: known(arrival.complete),
            shown_s: known(arrival.shown),
        });
    }
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
