//! One flow as the emulator sees it: by the headers of its packets.

use std::sync::atomic::{AtomicU64, Ordering};

use network::Purpose;
use record::{FlowCounters, FlowMeter, Lifetime};
use units::Time;

use super::header::{self, Header};
use super::path::InTransit;
use crate::tcp::tracker::Tracker;

/// Counters of a flow that other threads read while it runs. Under [`Flows::One`](super::Flows::One) they count a
/// direction.
#[derive(Debug, Default)]
pub(crate) struct SharedCounters {
    pub(crate) sent: AtomicU64,
    pub(crate) retransmitted: AtomicU64,
    /// Data packets; under [`Flows::One`](super::Flows::One) bytes.
    pub(crate) arrived: AtomicU64,
    /// IP bytes of the data packets, but not under [`Flows::One`](super::Flows::One).
    pub(crate) arrived_bytes: AtomicU64,
    /// Packets in the queues of the path.
    pub(crate) waiting: AtomicU64,
    /// The latest round-trip time in nanoseconds, or 0 before the first.
    pub(crate) latest_rtt: AtomicU64,
}

/// Measurements of a flow, with times of the run.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) meter: FlowMeter,
    pub(crate) counters: FlowCounters,
    /// SYNs that left the sender.
    syns: u32,
    /// When the first SYN-ACK arrived at the sender.
    opened: Option<Time>,
    /// When the first data arrived at the receiver.
    first_arrival: Option<Time>,
}

impl Measured {
    /// How its connection opened.
    pub(crate) fn opening(&self) -> Lifetime {
        let Self { opened, first_arrival, syns, .. } = *self;
        Lifetime { opened, first_arrival, syn_retransmissions: syns.saturating_sub(1), ..Lifetime::default() }
    }
}

/// A flow that passes the emulator.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) measured: Measured,
    pub(super) tracker: Tracker,
    /// Packets that arrive later do not count.
    pub(super) stop: Time,
    pub(super) last_read: Time,
    /// An ACK was delivered since.
    pub(super) clocked: bool,
    /// Data packets of the present train.
    pub(super) train: u32,
    /// The receiver has sent its FIN.
    pub(super) closes: bool,
}

impl Flow {
    /// A SYN leaves the sender.
    pub(super) fn synchronize(&mut self, sequence: u32) {
        self.measured.syns += 1;
        self.tracker.synchronize(sequence);
    }

    /// What `segment` is for. Beside its data a sender has nothing to acknowledge but the SYN and the FIN of the
    /// receiver.
    pub(super) fn purpose(&mut self, segment: &header::Segment, reverse: bool) -> Purpose {
        self.closes |= reverse && segment.finish;
        if segment.payload > 0 {
            Purpose::Data
        } else if segment.synchronize || (!reverse && !segment.finish && !self.closes) {
            Purpose::Opening
        } else if segment.finish || !reverse {
            Purpose::Closing
        } else {
            Purpose::Data
        }
    }

    /// The packet `bytes` arrives at the sender: `now` on the clock of the path, `at` of the run.
    pub(super) fn answer_arrives(&mut self, now: Time, at: Time, bytes: &[u8], shared: &SharedCounters) {
        self.clocked = true;
        let Some(segment) = Header::read(bytes).and_then(|header| header.segment) else { return };
        if segment.synchronize {
            self.measured.opened = self.measured.opened.or((at <= self.stop).then_some(at));
            return;
        }
        let Some(acknowledgement) = segment.acknowledgement else { return };
        if let Some(rtt) = self.tracker.acknowledge(now, acknowledgement, header::sack_blocks(bytes)) {
            self.measured.meter.rtt(rtt);
            shared.latest_rtt.store(rtt.as_nanos(), Ordering::Relaxed);
        }
    }

    /// `packet`, which carries data, arrives at the receiver at `at` of the run.
    pub(super) fn data_arrive(&mut self, at: Time, packet: &InTransit, shared: &SharedCounters) {
        self.measured.first_arrival.get_or_insert(at);
        let counters = &mut self.measured.counters;
        counters.arrived_packets += 1;
        counters.arrived_bytes += u64::from(packet.size);
        counters.marked_packets += u64::from(packet.marked);
        shared.arrived.store(counters.arrived_packets, Ordering::Relaxed);
        shared.arrived_bytes.store(counters.arrived_bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_of_a_sender_without_data_opens_the_connection_until_the_receiver_has_sent_its_fin() {
        let segment = |synchronize, finish, payload| header::Segment {
            sequence: 1,
            acknowledgement: Some(1),
            synchronize,
            finish,
            reset: false,
            payload,
        };
        let (ack, syn, fin) = (segment(false, false, 0), segment(true, false, 0), segment(false, true, 0));
        let (data, last) = (segment(false, false, 1448), segment(false, true, 1448));
        let mut flow = Flow::default();
        let seen = [
            (&syn, false, Purpose::Opening),
            (&syn, true, Purpose::Opening),
            (&ack, false, Purpose::Opening),
            (&data, false, Purpose::Data),
            (&ack, true, Purpose::Data),
            (&last, false, Purpose::Data),
            (&fin, false, Purpose::Closing),
            (&ack, true, Purpose::Data),
            (&fin, true, Purpose::Closing),
            (&ack, false, Purpose::Closing),
            (&fin, true, Purpose::Closing),
        ];
        for (number, (segment, reverse, purpose)) in seen.into_iter().enumerate() {
            assert_eq!(flow.purpose(segment, reverse), purpose, "{number}");
        }
    }
}
