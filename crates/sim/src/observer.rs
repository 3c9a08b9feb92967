//! What the world makes of what happens to packets at links: events, counts of flows, the capture.

use engine::Tap;
use network::Discard;
use record::{EventRow, FrameRow};
use scenario::Plan;
use units::Time;

use crate::capture::Capture;
use crate::flow::Flow;
use crate::lines::Lines;
use crate::packet::{Acks, Body, Packet};
use crate::recorder::Recorder;

/// The parts of the world that links report to.
pub(crate) struct Observer<'a> {
    pub(crate) flows: &'a [Lines<Flow>],
    pub(crate) plan: &'a Plan,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) capture: &'a mut Option<Capture>,
    pub(crate) acks: &'a mut Acks,
}

impl Tap<Packet> for Observer<'_> {
    #[inline]
    fn taken(&mut self, link: u32, packet: &Packet, at: Time, marked: bool) {
        if let Some(capture) = self.capture {
            capture.at_link(link, at, packet, self.acks, marked);
        }
    }

    fn discarded(&mut self, link: u32, packet: Packet, at: Time, why: Discard) {
        if let Some(capture) = self.capture {
            capture.at_discard(link, at, &packet, self.acks, why);
        }
        match packet.body() {
            Body::Data(data) => {
                // One that left before the measured interval is not among those sent in it.
                let counts = data.timestamp >= Time::ZERO + self.plan.warmup;
                if let Some(meter) = self.recorder.flows.get_mut(self.flows[packet.flow as usize].meter as usize) {
                    meter.counters.dropped_packets += u64::from(counts);
                }
            }
            Body::Ack(slot) => {
                self.acks.take(slot);
            }
        }
    }

    fn event(&mut self, row: EventRow) {
        if self.recorder.events {
            self.recorder.tables.events.push(row);
        }
    }

    fn frame(&mut self, row: FrameRow) {
        if self.plan.record.frames {
            self.recorder.tables.frames.push(row);
        }
    }
}
