//! A queue that is the kernel's: records of a link whose packets wait in a queue discipline of the kernel.
//!
//! The random losses of the link come first, then the discipline. It has the rate of the link, so a packet that it
//! hands out goes straight into service, at the link behind it. There, packets of different sizes that a token bucket
//! hands out closer than they can be served wait for each other.
//!
//! The kernel says at once when it drops an arrival. A packet that it drops later is missed when the next one of its
//! queue comes out: with those disciplines, flows never overtake themselves.

use std::collections::VecDeque;

use network::{Departure, Discard, Egress, Link, LinkSettings, LossModel, Offered, Packet, QueueSettings, Service};
use record::{EventKind, EventRow, LinkDescription, LinkMeter, LinkRow, LinkSeries, Sending, seconds};
use rustix::io::read;
use scenario::PlannedLink;
use units::{Ecn, Random, Time};

use crate::emulator::Emulator;
use crate::emulator::header::{self, Header};
use crate::emulator::offload::PREFIX;
use crate::emulator::path::InTransit;
use crate::host::router::Sent;

/// Reports of a queue about packets.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Rows of the table of events, if that is wanted.
    pub(crate) events: Option<Vec<EventRow>>,
    /// Lost or dropped, and not yet handed out.
    pub(crate) dropped: Vec<(InTransit, Discard)>,
}

/// A link and its packets in the kernel. Times do not decrease.
pub(crate) struct KernelQueue {
    /// Its index in the plan.
    pub(crate) link: u32,
    /// Flows may overtake each other.
    fair: bool,
    /// Loses packets, and serves the others at once.
    losses: Link<InTransit>,
    meter: LinkMeter,
    offered: Offered,
    offered_before: f64,
    /// Packets in the kernel, with the times of their arrivals, which ascend.
    waiting: VecDeque<(InTransit, Time)>,
    /// When the packets arrived that the kernel has handed out and whose service has not begun.
    handed_out: VecDeque<Time>,
    /// Up to then a packet is in service.
    busy_until: Time,
}

impl KernelQueue {
    /// The records of the link `index`, which is as `planned`, under `seed`.
    pub(crate) fn new(planned: &PlannedLink, index: usize, fair: bool, seed: u64) -> Self {
        let settings = LinkSettings {
            service: Service::Unlimited,
            queue: QueueSettings::default(),
            loss: planned.settings.loss.clone(),
        };
        let stream = |name| Random::stream(seed, name, index as u64);
        Self {
            link: index as u32,
            fair,
            losses: Link::new(settings, stream("loss"), stream("queue")),
            meter: LinkMeter::new(Sending::Steadily),
            offered: Offered::new(&planned.settings.service),
            offered_before: 0.0,
            waiting: VecDeque::new(),
            handed_out: VecDeque::new(),
            busy_until: Time::ZERO,
        }
    }

    /// `planned` behind the kernel's queue: it loses nothing, and all may wait.
    pub(crate) fn behind(planned: &mut PlannedLink) {
        planned.settings.queue = QueueSettings::default();
        planned.settings.loss = LossModel::None;
    }

    /// `packet` arrives. If true, it waits in the kernel, and is to be sent there.
    pub(crate) fn offer(&mut self, now: Time, packet: InTransit, notes: &mut Notes) -> bool {
        self.meter.counters.arrived_packets += 1;
        let mut passed = Passed(false);
        self.losses.offer(now, packet, &mut passed);
        if !passed.0 {
            self.meter.counters.lost_packets += 1;
            self.note(notes, now, EventKind::Lost, &packet, f64::NAN);
            notes.dropped.push((packet, Discard::Lost));
            return false;
        }
        self.waiting.push_back((packet, now));
        true
    }

    /// The kernel has taken the packet that was offered last.
    pub(crate) fn take(&mut self, now: Time) {
        // One that finds the link idle is served at once.
        if self.waiting() > 1 || now < self.busy_until {
            self.meter.queue(now, self.waiting());
        }
    }

    /// The kernel has dropped it.
    pub(crate) fn refuse(&mut self, now: Time, notes: &mut Notes) {
        if let Some((packet, _)) = self.waiting.pop_back() {
            self.discard(now, packet, Discard::Full, notes);
        }
    }

    /// The kernel hands out the packet in `place`, with a congestion mark or without: that packet.
    pub(crate) fn hand_out(&mut self, now: Time, place: u32, marked: bool, notes: &mut Notes) -> Option<InTransit> {
        let at = self.waiting.iter().position(|(packet, _)| packet.place == place)?;
        let (mut packet, arrived) = self.waiting.remove(at)?;
        let mut index = 0;
        for _ in 0..at {
            let (other, _) = self.waiting[index];
            if !self.fair || (other.flow, other.reverse) == (packet.flow, packet.reverse) {
                self.waiting.remove(index);
                self.discard(now, other, Discard::Head, notes);
            } else {
                index += 1;
            }
        }
        if marked && packet.ecn.is_capable() {
            packet.mark_congestion();
            self.meter.counters.marked_packets += 1;
            self.note(notes, now, EventKind::Mark, &packet, f64::from(self.waiting()));
        }
        self.handed_out.push_back(arrived);
        Some(packet)
    }

    /// The service of `packet`, which the kernel has handed out, starts.
    pub(crate) fn departed(&mut self, packet: &InTransit, departure: &Departure) {
        let &Departure { start, finish, .. } = departure;
        let arrived = self.handed_out.pop_front().unwrap_or(start);
        self.meter.queue(start, self.waiting());
        self.meter.service(start, finish, start.since(arrived), packet.size());
        self.busy_until = finish;
    }

    /// The measured interval begins.
    pub(crate) fn restart(&mut self, now: Time) {
        self.meter.restart(now);
        self.offered_before = self.offered.bytes_by(now).unwrap_or(0.0);
    }

    /// Corrects the row of this link in `series`, where the rows of all links at `now` begin at `first`.
    pub(crate) fn sample(&mut self, now: Time, series: &mut LinkSeries, first: usize) {
        let row = first + self.link as usize;
        let counters = self.meter.counters_at(now);
        series.queue_packets[row] += self.in_kernel();
        series.queue_bytes[row] += self.waiting.iter().map(|(packet, _)| packet.size().get()).sum::<u64>();
        series.dropped_packets[row] = counters.dropped_packets;
        series.lost_packets[row] = counters.lost_packets;
        series.marked_packets[row] = counters.marked_packets;
    }

    /// The row of the link over the interval that ends at `end`.
    pub(crate) fn row(&mut self, end: Time, planned: &PlannedLink) -> LinkRow {
        let capacity_bytes = self.offered.bytes_by(end).map(|bytes| bytes - self.offered_before);
        let (name, rate) = (&planned.name, planned.rate);
        self.meter.finish(end, LinkDescription { link: self.link, name, rate, capacity_bytes })
    }

    /// Packets in the kernel.
    pub(crate) fn in_kernel(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// These, and those that it has handed out and whose service has not begun.
    fn waiting(&self) -> u32 {
        self.in_kernel() + self.handed_out.len() as u32
    }

    fn discard(&mut self, now: Time, packet: InTransit, why: Discard, notes: &mut Notes) {
        self.meter.counters.dropped_packets += 1;
        let queued = self.waiting();
        self.meter.queue(now, queued);
        self.note(notes, now, EventKind::Drop, &packet, f64::from(queued));
        notes.dropped.push((packet, why));
    }

    fn note(&self, notes: &mut Notes, at: Time, kind: EventKind, packet: &InTransit, value: f64) {
        if let Some(events) = &mut notes.events {
            let sequence = packet.sequence.unwrap_or(u64::MAX);
            events.push(EventRow { time_s: seconds(at), kind, flow: packet.flow, link: self.link, sequence, value });
        }
    }
}

impl Emulator<'_> {
    /// `packet` goes to a queue of the kernel, with its place where the sequence number is: the kernel's copy is only
    /// to wait, and by that it is known again.
    pub(super) fn send_to_kernel(&mut self, now: Time, queue: usize, packet: &InTransit) {
        let bytes = self.packet(packet);
        let before = header::exchange_sequence(bytes, packet.place);
        let sent = self.routers[queue].send(&self.pool.at(packet.place)[PREFIX..PREFIX + packet.size as usize]);
        if let Some(before) = before {
            header::exchange_sequence(self.packet(packet), before);
        }
        self.dropped += u64::from(sent == Sent::Lost);
        self.path.sent(now, queue, sent == Sent::Taken);
    }

    /// Reads what queues of the kernel hand out.
    pub(super) fn receive_handed_out(&mut self) {
        for queue in 0..self.routers.len() {
            if !std::mem::take(&mut self.handing_out[queue]) {
                continue;
            }
            let Ok(length) = read(self.routers[queue].tun(), &mut self.buffer[..]) else { continue };
            let now = self.settings.clock.now();
            let known = self.buffer.get_mut(PREFIX..length).and_then(|packet| {
                let ecn = Header::read(packet)?.ecn;
                Some((header::exchange_sequence(packet, 0)?, ecn == Ecn::Congestion))
            });
            if let Some((place, marked)) = known {
                self.path.handed_out(now, queue, place, marked);
                self.release_all_dropped(now, None);
            }
        }
    }
}

/// True if a packet passed the losses.
struct Passed(bool);

impl Egress<InTransit> for Passed {
    fn depart(&mut self, _packet: InTransit, _departure: Departure) {
        self.0 = true;
    }
}

#[cfg(test)]
mod tests {
    use network::Purpose;
    use scenario::Plan;
    use units::Span;

    use super::*;
    use crate::emulator::path::Path;

    /// 10 Mbit/s and 10 ms each way, from the start of the clock on. The queue of the link is the kernel's.
    fn path(fair: bool, more: &str) -> (Path, Plan) {
        let toml = format!(
            "duration = \"1s\"\npath = {{ rate = \"10mbit\", rtt = \"20ms\", queue = \"9p\"{more} }}\n\
             flows = [{{ cc = \"newreno\" }}, {{ cc = \"newreno\" }}]\nrecord = {{ link_series = \"2ms\" }}"
        );
        let plan = scenario::from_toml(&toml, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
        let link = plan.bottleneck.unwrap();
        (Path::with_queues(&plan, 1, Span::ZERO, &[(link, fair)]), plan)
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn packet(place: u32, flow: u32) -> InTransit {
        InTransit {
            place,
            size: 1500,
            flow,
            route: flow,
            reverse: false,
            step: 0,
            ecn: Ecn::Ect0,
            marked: false,
            sequence: Some(u64::from(place)),
            purpose: Purpose::Data,
            ack: None,
            sent: Time::ZERO,
        }
    }

    /// Sends packets of these flows to the kernel at `micros`. Their places count from 0.
    fn send(path: &mut Path, micros: u64, flows: &[u32]) {
        for (place, &flow) in (0..).zip(flows) {
            assert_eq!(path.offer(at(micros), packet(place, flow)), Some(0));
            path.sent(at(micros), 0, true);
        }
    }

    /// Places of the packets that come out by `micros`, with their marks and the microseconds at which they should.
    fn out(path: &mut Path, micros: u64) -> Vec<(u32, bool, u64)> {
        path.advance(at(micros));
        let due = std::iter::from_fn(|| path.pop_due(at(micros)));
        due.map(|(packet, due)| (packet.place, packet.marked, due.as_nanos() / 1000)).collect()
    }

    fn dropped(path: &mut Path) -> Vec<u32> {
        std::iter::from_fn(|| path.poll_dropped()).map(|(packet, _)| packet.place).collect()
    }

    #[test]
    fn packets_are_served_as_the_kernel_hands_them_out() {
        let (mut path, plan) = path(false, "");
        send(&mut path, 0, &[0, 0, 0]);
        path.handed_out(at(0), 0, 0, false);
        // A token bucket is a little early. The link behind it keeps its rate.
        path.handed_out(at(1190), 0, 1, true);
        assert_eq!(path.queued_packets(), 2);
        path.handed_out(at(2400), 0, 2, false);
        path.handed_out(at(2500), 0, 77, false);
        assert_eq!(out(&mut path, 20_000), [(0, false, 11_200), (1, true, 12_400), (2, false, 13_600)]);
        let tables = path.finish(at(1_000_000), &plan);
        let row = &tables.links[plan.bottleneck.unwrap()];
        assert_eq!((row.arrived_packets, row.departed_packets, row.marked_packets), (3, 3, 1));
        assert_eq!((row.dropped_packets, row.queue_packets_max), (0, 2.0));
        // 2 packets for 1.2 ms and 1 for 1.2 ms, of a second.
        assert!((row.queue_packets_mean - 0.0036).abs() < 1e-9, "{row:?}");
        assert!((row.utilization - 0.0036).abs() < 1e-9);
        // The kernel says nothing until a packet comes out: at 2 ms one waits.
        assert_eq!(
            (&tables.series.queue_packets[..2], &tables.series.departed_bytes[..2]),
            (&[0, 1][..], &[0, 1500][..])
        );
        let events: Vec<_> = tables.events.iter().map(|row| (row.kind, row.sequence)).collect();
        assert_eq!(events, [(EventKind::Mark, 1)]);
    }

    #[test]
    fn a_packet_that_is_overtaken_in_its_queue_was_dropped() {
        for (fair, lost) in [(false, vec![1, 2]), (true, vec![1])] {
            let (mut path, plan) = path(fair, "");
            send(&mut path, 0, &[0, 0, 1, 0]);
            path.handed_out(at(0), 0, 0, false);
            path.handed_out(at(1200), 0, 3, false);
            let mut found = dropped(&mut path);
            found.sort_unstable();
            assert_eq!(found, lost);
            let row = &path.finish(at(1_000_000), &plan).links[plan.bottleneck.unwrap()];
            assert_eq!(row.dropped_packets, lost.len() as u64);
        }
    }

    #[test]
    fn an_arrival_that_the_kernel_refuses_never_counted_as_waiting() {
        let (mut path, plan) = path(false, "");
        send(&mut path, 0, &[0, 0]);
        path.handed_out(at(0), 0, 0, false);
        assert_eq!(path.offer(at(10), packet(2, 0)), Some(0));
        path.sent(at(10), 0, false);
        assert_eq!(dropped(&mut path), [2]);
        let tables = path.finish(at(1_000_000), &plan);
        let row = &tables.links[plan.bottleneck.unwrap()];
        assert_eq!((row.arrived_packets, row.dropped_packets, row.queue_packets_max), (3, 1, 1.0));
    }

    #[test]
    fn the_losses_of_the_link_come_before_its_queue() {
        let (mut path, plan) = path(false, ", loss = { packets = [1] }");
        assert_eq!(path.offer(at(0), packet(0, 0)), Some(0));
        path.sent(at(0), 0, true);
        assert_eq!(path.offer(at(0), packet(1, 0)), None);
        assert_eq!(dropped(&mut path), [1]);
        let row = &path.finish(at(1_000_000), &plan).links[plan.bottleneck.unwrap()];
        assert_eq!((row.arrived_packets, row.lost_packets), (2, 1));
    }
}
