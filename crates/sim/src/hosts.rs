//! What is outside the network: the flows, their acknowledgements, and what is recorded of them. Links report to it.

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

/// The flows of a run with all that belongs to them. In one place, so that a link reports to it by one reference.
pub(crate) struct Hosts<'a> {
    pub(crate) flows: Vec<Lines<Flow>>,
    pub(crate) acks: Acks,
    pub(crate) recorder: Recorder,
    pub(crate) capture: Option<Capture>,
    pub(crate) plan: &'a Plan,
}

impl Tap<Packet> for Hosts<'_> {
    #[inline]
    fn taken(&mut self, link: u32, packet: &Packet, at: Time, marked: bool) {
        if let Some(capture) = &mut self.capture {
            capture.at_link(link, at, packet, &self.acks, marked);
        }
    }

    fn discarded(&mut self, link: u32, packet: Packet, at: Time, why: Discard) {
        if let Some(capture) = &mut self.capture {
            capture.at_discard(link, at, &packet, &self.acks, why);
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
