//! What the world makes of what a link reports: rows, counts, packets on wires.

use network::{Departure, Discard, Egress, Jitter, Wire};
use record::{EventKind, LinkMeter};
use units::{Bytes, Time};

use crate::agenda::Agenda;
use crate::capture::Capture;
use crate::flow::Flow;
use crate::packet::{Acks, Body, Packet};
use crate::recorder::Recorder;
use crate::route::Step;

/// The observer of one link.
pub(crate) struct LinkObserver<'a> {
    pub(crate) index: u32,
    pub(crate) meter: &'a mut LinkMeter,
    pub(crate) jitter: &'a mut Jitter,
    pub(crate) wires: &'a mut [Wire<Packet>],
    pub(crate) steps: &'a [Step],
    pub(crate) traffic: &'a mut Agenda,
    pub(crate) flows: &'a [Flow],
    pub(crate) warmup: Time,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) capture: &'a mut Option<Capture>,
    pub(crate) acks: &'a mut Acks,
}

impl Egress<Packet> for LinkObserver<'_> {
    #[inline]
    fn take(&mut self, packet: &Packet, at: Time, marked: bool, queued: u32) {
        if queued > 0 {
            self.meter.queue(at, queued);
        }
        if let Some(capture) = self.capture {
            capture.at_link(self.index, at, packet, self.acks, marked);
        }
    }

    #[inline(never)]
    fn mark(&mut self, packet: &Packet, at: Time, queued: u32) {
        self.meter.counters.marked_packets += 1;
        self.note(at, EventKind::Mark, packet, f64::from(queued));
    }

    /// The packet goes on the wire, on which it arrives after its last bit has left.
    #[inline]
    fn depart(&mut self, packet: Packet, departure: Departure) {
        let waited = departure.start.since(departure.arrived);
        self.meter.queue(departure.start, departure.queued_packets);
        self.meter.service(departure.start, departure.finish, waited, Bytes::new(u64::from(packet.size)));
        let step = self.steps[packet.step as usize];
        let wire = &mut self.wires[step.wire as usize];
        if wire.push(departure.finish, self.jitter.draw(), packet) {
            self.traffic.set(step.wire, wire.next_arrival().unwrap_or(Time::NEVER));
        }
    }

    #[inline(never)]
    fn discard(&mut self, packet: Packet, at: Time, why: Discard, queued: u32) {
        if let Some(capture) = self.capture {
            capture.at_discard(self.index, at, &packet, self.acks, why);
        }
        if matches!(why, Discard::Evicted | Discard::Head) {
            self.meter.queue(at, queued);
        }
        if let Body::Data(data) = packet.body {
            // One that left before the measured interval is not among those sent in it.
            let counts = data.timestamp >= self.warmup;
            let meter = self.flows[packet.flow as usize].meter as usize;
            if let Some(meter) = self.recorder.flows.get_mut(meter) {
                meter.counters.dropped_packets += u64::from(counts);
            }
        }
        if let Body::Ack(slot) = packet.body {
            self.acks.take(slot);
        }
        if why == Discard::Lost {
            self.meter.counters.lost_packets += 1;
            self.note(at, EventKind::Lost, &packet, f64::NAN);
        } else {
            self.meter.counters.dropped_packets += 1;
            self.note(at, EventKind::Drop, &packet, f64::from(queued));
        }
    }
}

impl LinkObserver<'_> {
    fn note(&mut self, at: Time, kind: EventKind, packet: &Packet, value: f64) {
        let sequence = match packet.body {
            Body::Data(data) => Some(data.sequence),
            Body::Ack(_) => None,
        };
        self.recorder.event(at, kind, packet.flow, Some(self.index), sequence, Some(value));
    }
}
