//! The emulator: moves packets between the devices of the two ends and the [`Path`], at the right time.
//!
//! One thread. Writing to a device runs the receiving TCP, and its response can be read at once.

pub(crate) mod capture;
mod clock;
mod flow;
mod header;
mod kernel_queue;
pub(crate) mod log;
pub(crate) mod offload;
pub(crate) mod path;
pub(crate) mod pool;
mod tcp_ack;
#[cfg(test)]
mod tests;
mod waiter;

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::read_number;
use network::{Discard, Purpose};
use record::{EventKind, EventRow, Histogram, seconds};
use rustix::io::{Errno, read, write};
use units::{Span, Time};

use self::capture::Capture;
pub(crate) use self::clock::Clock;
use self::flow::Flow;
pub(crate) use self::flow::{Measured, SharedCounters};
use self::header::Header;
use self::offload::{LONGEST, PREFIX, Train};
use self::path::{InTransit, LinkTables, Path};
use self::pool::Pool;
use self::waiter::Waiter;
use crate::host::router::Router;
use crate::host::system;

/// Packets read from one device before the emulator looks at due deliveries again.
const BATCH: usize = 64;
/// A delivery that is later than this is a stall: the machine was busy elsewhere.
const STALL: Span = Span::from_millis(5);
/// Packets of a flow that are read within this time of each other, with no ACK in between, left TCP as one train.
const TRAIN_GAP: Span = Span::from_micros(50);
/// The emulator runs before the endpoints, and both before everything else.
pub(crate) const PRIORITY: i32 = 2;

/// Which ports belong to which flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flows<'a> {
    /// Flow i sends from port [`SENDER_PORT`] + i. The slice has the plan's flow for each. Segments of TCP have their
    /// numbers, and datagrams of UDP the numbers at their end.
    ByPort(&'a [usize]),
    /// Everything takes the way of the first flow of the plan.
    One,
}

/// The port from which flow 0 sends.
pub(crate) const SENDER_PORT: u16 = 10_000;
/// Flows by hash, where programs of the user's own send.
const HASHED: u32 = 1024;

/// The arguments of an emulator.
pub(crate) struct Settings<'a> {
    pub(crate) clock: Clock,
    pub(crate) flows: Flows<'a>,
    pub(crate) shared: &'a [SharedCounters],
    /// When each flow stops, from the start of the run.
    pub(crate) stops: Vec<Time>,
    /// The longest time whose deliveries share a wake-up.
    pub(crate) together: Span,
    /// Payload of a full segment, by which segments are numbered.
    pub(crate) segment: u64,
    pub(crate) warmup: Time,
    /// When the run ends, if not before by a halt, or [`Time::NEVER`] for no other end.
    pub(crate) end: Time,
    pub(crate) events: bool,
    /// Set when all threads are to end.
    pub(crate) halt: &'a AtomicBool,
    /// A capture of the packets that pass.
    pub(crate) capture: Option<Capture>,
}

/// The emulator's report at the end.
pub(crate) struct Report {
    /// When the run ended.
    pub(crate) ended: Time,
    pub(crate) links: LinkTables,
    pub(crate) measured: Vec<Measured>,
    pub(crate) events: Vec<EventRow>,
    /// Nanoseconds by which deliveries were late.
    pub(crate) lateness: Histogram,
    pub(crate) stalls: u64,
    pub(crate) dropped: u64,
    /// Lengths of the trains in which data packets came.
    pub(crate) trains: Histogram,
    /// Packets taken in and delivered.
    pub(crate) moved: u64,
    pub(crate) cpu_nanos: u64,
    pub(crate) first: bool,
}

pub(crate) struct Emulator<'a> {
    settings: Settings<'a>,
    /// Near the senders and far from them.
    devices: [&'a OwnedFd; 2],
    /// The queues of the kernel.
    routers: &'a mut [Router],
    /// Devices that can no more be read, as a command of the user's has removed them.
    broken: [bool; 2],
    /// Devices in which a packet may wait to be read.
    fresh: [bool; 2],
    /// The same of the devices behind the queues of the kernel.
    handing_out: Vec<bool>,
    virtual_time: bool,
    /// Wakes the thread when something is due.
    waiter: Waiter,
    /// The result of one read.
    buffer: Box<[u8]>,
    path: Path,
    pool: Pool,
    flows: Vec<Flow>,
    measuring: bool,
    events: Vec<EventRow>,
    lateness: Histogram,
    stalls: u64,
    dropped: u64,
    trains: Histogram,
    moved: u64,
}

impl<'a> Emulator<'a> {
    /// An emulator with its packets in `pool`. Fails where the process may open no more files.
    pub(crate) fn new(
        settings: Settings<'a>,
        devices: [&'a OwnedFd; 2],
        routers: &'a mut [Router],
        path: Path,
        pool: Pool,
    ) -> std::io::Result<Self> {
        let flow = |&stop: &Time| Flow { stop, ..Flow::default() };
        let all: Vec<&OwnedFd> = devices.into_iter().chain(routers.iter().map(Router::tun)).collect();
        let waiter = Waiter::new(settings.clock, &all, settings.together)?;
        Ok(Self {
            flows: settings.stops.iter().map(flow).collect(),
            settings,
            devices,
            broken: [false; 2],
            fresh: [true; 2],
            handing_out: vec![false; routers.len()],
            routers,
            virtual_time: system::in_virtual_time(),
            waiter,
            buffer: vec![0xff; LONGEST].into(),
            path,
            pool,
            measuring: false,
            events: Vec::new(),
            lateness: Histogram::new(),
            stalls: 0,
            dropped: 0,
            trains: Histogram::new(),
            moved: 0,
        })
    }

    /// Runs on the calling thread until the end or a halt.
    pub(crate) fn run(mut self, plan: &scenario::Plan) -> Report {
        let first = system::run_first(PRIORITY);
        let cpu = system::thread_cpu();
        let end = self.path.start() + self.settings.end.since(Time::ZERO);
        self.lateness.record(self.settings.clock.now().since(self.path.start()).as_nanos(), 1);
        let ended = loop {
            let over = self.settings.halt.load(Ordering::Acquire);
            let now = self.settings.clock.now();
            if now >= end || over {
                break self.run_time(now).min(self.settings.end);
            }
            self.path.advance(now);
            self.deliver(now);
            self.receive(false);
            self.receive(true);
            self.receive_handed_out();
            if self.fresh == [false; 2] && !self.handing_out.contains(&true) {
                self.wait(end);
            }
        };
        self.begin_measuring(ended);
        for flow in &self.flows {
            self.trains.record(u64::from(flow.train), u64::from(flow.train > 0));
        }
        Report {
            links: self.path.finish(ended, plan),
            ended,
            measured: self.flows.into_iter().map(|flow| flow.measured).collect(),
            events: self.events,
            lateness: self.lateness,
            stalls: self.stalls,
            dropped: self.dropped,
            trains: self.trains,
            moved: self.moved,
            cpu_nanos: system::thread_cpu() - cpu,
            first,
        }
    }

    /// Until a packet comes, or something is due.
    fn wait(&mut self, end: Time) {
        let Self { waiter, path, fresh, handing_out, broken, .. } = self;
        let next = |instant| {
            let due = path.timeout_after(instant);
            if end > instant { due.min(end) } else { due }
        };
        waiter.wait(next, |device| match device.checked_sub(fresh.len()) {
            None => fresh[device] = !broken[device],
            Some(queue) => handing_out[queue] = true,
        });
    }

    /// Delivers the packets that are due by `now`.
    fn deliver(&mut self, now: Time) {
        let mut stalled = false;
        while let Some((packet, due)) = self.path.pop_due(now) {
            let at = self.settings.clock.now();
            let late = at.since(due);
            if due >= self.path.start() {
                self.lateness.record(late.as_nanos(), 1);
                stalled |= late > STALL;
            }
            self.arrive(at, &packet);
            self.moved += 1;
            self.pool.release(packet.place);
            if packet.reverse {
                // The time of its arrival is now.
                self.receive(false);
            }
        }
        self.stalls += u64::from(stalled);
    }

    /// `packet` comes out of the path.
    fn arrive(&mut self, now: Time, packet: &InTransit) {
        if packet.marked {
            header::mark_congestion(self.packet(packet));
        }
        match self.settings.flows {
            Flows::ByPort(_) => self.record_arrival(now, packet),
            Flows::One => {
                let shared = &self.settings.shared[usize::from(packet.reverse)];
                shared.arrived.fetch_add(u64::from(packet.size), Ordering::Relaxed);
                shared.waiting.store(u64::from(self.path.queued_packets()), Ordering::Relaxed);
            }
        }
        let end = usize::from(!packet.reverse);
        let bytes = &self.pool.at(packet.place)[..PREFIX + packet.size as usize];
        if let Some(capture) = &mut self.settings.capture {
            capture.arrives(now, packet, &bytes[PREFIX..]);
        }
        self.dropped += u64::from(write(self.devices[end], bytes) != Ok(bytes.len()));
        // The segments that an ACK lets out are there already.
        self.fresh[end] |= packet.reverse && !self.broken[end];
    }

    /// The bytes of `packet`.
    fn packet(&mut self, packet: &InTransit) -> &mut [u8] {
        &mut self.pool.at(packet.place)[PREFIX..PREFIX + packet.size as usize]
    }

    fn record_arrival(&mut self, now: Time, packet: &InTransit) {
        self.begin_measuring(self.run_time(now));
        let at = self.run_time(now);
        let flow = &mut self.flows[packet.flow as usize];
        let shared = &self.settings.shared[packet.flow as usize];
        if packet.reverse {
            let bytes = &self.pool.at(packet.place)[PREFIX..PREFIX + packet.size as usize];
            flow.answer_arrives(now, at, bytes, shared);
        } else if packet.sequence.is_some() && at <= flow.stop {
            flow.data_arrive(at, packet, shared);
        }
    }

    /// Reads the packets that have come from one end.
    fn receive(&mut self, reverse: bool) {
        let mut taken = 0;
        while taken < BATCH && self.fresh[usize::from(reverse)] {
            // Whatever one read brings came at one instant.
            let mut buffer = std::mem::take(&mut self.buffer);
            match read(self.devices[usize::from(reverse)], &mut buffer[..]) {
                Ok(length) => {
                    taken += self.take_apart(&buffer[..length], reverse);
                    self.fresh[usize::from(reverse)] &= !self.virtual_time;
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.fresh[usize::from(reverse)] = false;
                    if error != Errno::AGAIN {
                        self.broken[usize::from(reverse)] = true;
                        self.waiter.forget(self.devices[usize::from(reverse)]);
                        self.dropped += 1;
                    }
                }
            }
            self.buffer = buffer;
        }
    }

    /// Puts `bytes`, read from one end, on the path packet by packet. Returns the number of packets.
    fn take_apart(&mut self, bytes: &[u8], reverse: bool) -> usize {
        let now = self.settings.clock.now();
        let Some(train) = Train::read(bytes) else {
            self.dropped += 1;
            return 1;
        };
        for index in 0..train.packets() {
            let Some(place) = self.pool.take() else {
                self.dropped += 1;
                continue;
            };
            self.moved += 1;
            let length = train.copy(index, self.pool.at(place));
            self.dropped += u64::from(length.is_none());
            match length.and_then(|length| self.identify(now, place, length, reverse)) {
                Some(packet) => self.offer(now, packet),
                None => self.pool.release(place),
            }
        }
        train.packets()
    }

    /// `packet` enters the path, which may drop it or others.
    fn offer(&mut self, now: Time, packet: InTransit) {
        if let Some(queue) = self.path.offer(now, packet) {
            self.send_to_kernel(now, queue, &packet);
        }
        let discarded = self.release_all_dropped(now, Some(packet.place));
        if let Some(capture) = &mut self.settings.capture {
            let bytes = &self.pool.at(packet.place)[PREFIX..PREFIX + packet.size as usize];
            capture.enters(now, &packet, bytes, discarded);
        }
        if discarded.is_some() {
            self.release_dropped(&packet);
        }
    }

    /// Gives back the places of all packets that were lost or dropped, but for the one in `arrived`: what befell that.
    fn release_all_dropped(&mut self, now: Time, arrived: Option<u32>) -> Option<Discard> {
        let mut discarded = None;
        while let Some((dropped, why)) = self.path.poll_dropped() {
            if Some(dropped.place) == arrived {
                discarded = Some(why);
                continue;
            }
            if let Some(capture) = &mut self.settings.capture {
                let bytes = &self.pool.at(dropped.place)[PREFIX..PREFIX + dropped.size as usize];
                capture.leaves_queue(now, &dropped, bytes, why);
            }
            self.release_dropped(&dropped);
        }
        discarded
    }

    /// `packet` was lost or dropped on the path.
    fn release_dropped(&mut self, packet: &InTransit) {
        self.pool.release(packet.place);
        // One that left before the measured interval is not among those sent in it.
        let counts = packet.sequence.is_some() && self.run_time(packet.sent) >= self.settings.warmup;
        if counts && let Some(flow) = self.flows.get_mut(packet.flow as usize) {
            flow.measured.counters.dropped_packets += 1;
        }
    }

    /// The packet in `place`, read at `now`. `None` if it does not belong on the path.
    fn identify(&mut self, now: Time, place: u32, length: usize, reverse: bool) -> Option<InTransit> {
        let bytes = &self.pool.at(place)[PREFIX..PREFIX + length];
        let header = Header::read(bytes)?;
        let number = read_number(bytes).filter(|_| header.protocol == header::UDP && !reverse);
        let mut packet = InTransit {
            place,
            size: length as u32,
            flow: 0,
            route: 0,
            reverse,
            step: 0,
            ecn: header.ecn,
            marked: false,
            sequence: None,
            purpose: Purpose::Data,
            ack: if self.path.filters_acks() { tcp_ack::read(bytes, &header) } else { None },
            sent: now,
        };
        match self.settings.flows {
            Flows::One => packet.flow = hash(&header),
            Flows::ByPort(routes) if header.protocol == header::UDP => {
                (packet.flow, packet.route) = route_of(&header, reverse, routes)?;
                packet.sequence = number;
                if number.is_some() {
                    self.count_train(now, packet.flow);
                }
            }
            Flows::ByPort(routes) => {
                let segment = header.segment?;
                // The ends of a connection are closed by hand at the end of the flow: that is not part of the run.
                if segment.reset {
                    return None;
                }
                (packet.flow, packet.route) = route_of(&header, reverse, routes)?;
                packet.purpose = self.flows[packet.flow as usize].purpose(&segment, reverse);
                if !reverse {
                    packet.sequence = self.record_departure(now, packet.flow, &segment);
                }
            }
        }
        Some(packet)
    }

    /// A segment leaves its sender: its number, if it carries data.
    fn record_departure(&mut self, now: Time, index: u32, segment: &header::Segment) -> Option<u64> {
        let at = self.run_time(now);
        self.begin_measuring(at);
        let flow = &mut self.flows[index as usize];
        if segment.synchronize {
            flow.synchronize(segment.sequence);
        }
        if segment.payload == 0 {
            return None;
        }
        let sending = flow.tracker.send(now, segment.sequence, segment.payload);
        let sequence = sending.offset / self.settings.segment;
        let counters = &mut flow.measured.counters.sender;
        counters.data_packets += 1;
        let shared = &self.settings.shared[index as usize];
        shared.sent.store(counters.data_packets, Ordering::Relaxed);
        if sending.again {
            counters.retransmitted_packets += 1;
            // The kernel does not report how many segments it deemed lost. It deemed each of these lost.
            counters.lost_packets += 1;
            shared.retransmitted.store(counters.retransmitted_packets, Ordering::Relaxed);
            if self.settings.events {
                let (time_s, kind, value) = (seconds(at), EventKind::Retransmission, f64::NAN);
                self.events.push(EventRow { time_s, kind, flow: index, link: u32::MAX, sequence, value });
            }
        }
        self.count_train(now, index);
        Some(sequence)
    }

    /// Data of flow `index` leave its sender.
    fn count_train(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.train > 0 && (flow.clocked || now.since(flow.last_read) > TRAIN_GAP) {
            self.trains.record(u64::from(flow.train), 1);
            flow.train = 0;
        }
        flow.clocked = false;
        flow.train += 1;
        flow.last_read = now;
    }

    fn run_time(&self, now: Time) -> Time {
        Time::ZERO + now.since(self.path.start())
    }

    /// The measured interval has begun, if it has.
    #[inline]
    fn begin_measuring(&mut self, now: Time) {
        if !self.measuring && now >= self.settings.warmup {
            self.measuring = true;
            let measured = self.flows.iter_mut().map(|flow| &mut flow.measured);
            measured.for_each(|flow| flow.meter.restart(self.settings.warmup, flow.counters));
        }
    }
}

/// The flow of a packet, by the port of its sender, and its flow of the plan.
fn route_of(header: &Header, reverse: bool, routes: &[usize]) -> Option<(u32, u32)> {
    let port = if reverse { header.destination } else { header.source };
    let flow = port.checked_sub(SENDER_PORT)?;
    Some((u32::from(flow), *routes.get(usize::from(flow))? as u32))
}

/// A number for queues that are fair to flows (stochastic fairness queueing, McKenney 1990).
fn hash(header: &Header) -> u32 {
    let mixed = u32::from(header.source) ^ u32::from(header.destination).rotate_left(16) ^ u32::from(header.protocol);
    mixed.wrapping_mul(0x9e37_79b1) >> 16 & (HASHED - 1)
}
