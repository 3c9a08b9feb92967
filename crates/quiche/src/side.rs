//! One side of a connection of quiche, and the calls of its application.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quiche::{Connection, ConnectionId, RecvInfo};
use stack::outstanding::{Outstanding, Packet};
use stack::{Decisions, Event, Header, NONE, Report, Reports, Settings, Side};

use crate::session::{Seed, Seen};
use crate::settings;

/// The two sides of every connection. Connections do not meet, so all have the same.
const CLIENT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 443));
const SERVER: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 443));
/// Identifiers of connections, of 8 bytes as noq and quinn have them.
const IDENTIFIERS: [[u8; 8]; 2] = [[0x5e; 8], [0xc1; 8]];
/// At most so much is given to quiche at once: it takes as much as its window has room for.
const CHUNK: usize = 1 << 16;
/// The data that is written: zeros, which are never looked at.
static CONTENT: [u8; CHUNK] = [0; CHUNK];

/// A stream that is written.
#[derive(Debug, Default)]
struct Outgoing {
    /// Bytes that quiche has not taken yet.
    waiting: usize,
    /// The application has written all.
    ends: bool,
    /// quiche has the end.
    ended: bool,
    /// It is a stream of quiche.
    begun: bool,
}

/// A packet that quiche has made, until its pacer lets it leave.
#[derive(Debug)]
struct Held {
    at: u64,
    size: usize,
    /// Its number, if it asks for an acknowledgement.
    number: Option<u64>,
}

/// The packets of a sender, and where they are reported.
struct Sender {
    reports: Box<dyn Reports>,
    outstanding: Outstanding,
    /// Lost packets of the last loss event that are not acknowledged.
    lost: Vec<u64>,
    /// When that event began. Packets that left before belong to it.
    recovery_start: Option<u64>,
    lost_bytes: u64,
    next_number: u64,
    window: u64,
}

/// One side of a connection.
pub(crate) struct Peer {
    connection: Connection,
    /// The start of the run.
    start: Instant,
    seed: Seed,
    addresses: [SocketAddr; 2],
    packet_size: usize,
    /// The packet that is held or has just left.
    buffer: Vec<u8>,
    /// Room for data that is read, which is never looked at.
    space: Vec<u8>,
    held: Option<Held>,
    /// The time of the last call with one.
    now: u64,
    streams: Vec<Outgoing>,
    sender: Option<Sender>,
    connected: bool,
    over: bool,
    /// Events that the application has not taken yet.
    events: VecDeque<Event>,
    /// Ended streams that are not acknowledged.
    unacknowledged: Vec<u64>,
    read: Vec<u64>,
}

/// The instant of now in a session.
#[expect(clippy::disallowed_methods, reason = "in a session it is the time of the run")]
fn instant() -> Instant {
    Instant::now()
}

/// The time of the run at `instant`.
fn since(start: Instant, instant: Instant) -> u64 {
    instant.saturating_duration_since(start).as_nanos() as u64
}

/// The number of a stream with this index from the client in quiche.
fn stream_id(index: u64) -> u64 {
    4 * index + 2
}

impl Peer {
    pub(crate) fn open(
        settings: &Settings,
        controller: Option<&str>,
        reports: Option<Box<dyn Reports>>,
    ) -> Result<Self, String> {
        let mut config = settings::config(settings, controller)?;
        let mut seed = Seed::new(settings.seed);
        let (start, _) = seed.session(0, instant);
        let identifier = ConnectionId::from_ref(&IDENTIFIERS[usize::from(settings.is_client)]);
        let addresses = if settings.is_client { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
        let [own, other] = addresses;
        let (connection, _) = seed.session(settings.now, || match settings.is_client {
            true => quiche::connect(Some("receiver"), &identifier, own, other, &mut config),
            false => quiche::accept(&identifier, None, own, other, &mut config),
        });
        let mut peer = Self {
            connection: connection.map_err(|error| error.to_string())?,
            start,
            seed,
            addresses,
            packet_size: usize::from(settings.packet_size),
            buffer: vec![0; usize::from(settings.packet_size).max(1472)],
            space: vec![0; CHUNK],
            held: None,
            now: settings.now,
            streams: Vec::new(),
            sender: None,
            connected: false,
            over: false,
            events: VecDeque::new(),
            unacknowledged: Vec::new(),
            read: Vec::new(),
        };
        let sender = |reports| Sender {
            reports,
            outstanding: Outstanding::default(),
            lost: Vec::new(),
            recovery_start: None,
            lost_bytes: 0,
            next_number: 0,
            window: 0,
        };
        peer.sender = reports.map(sender);
        peer.report(&Report::Decided);
        Ok(peer)
    }

    /// Passes a report on, with the decisions of now.
    fn report(&mut self, report: &Report) {
        let Some(sender) = &mut self.sender else { return };
        let Some(path) = self.connection.path_stats().next() else { return };
        sender.window = path.cwnd as u64;
        let decisions = Decisions {
            window: sender.window,
            bandwidth: path.max_bandwidth.map_or(NONE, |bytes| 8 * bytes),
            ..Decisions::EMPTY
        };
        sender.reports.report(report, &decisions);
    }

    /// Reports acknowledged packets, and then those that are lost since.
    fn account(&mut self, now: u64, seen: Seen) {
        let Some(sender) = &mut self.sender else { return };
        let mut acknowledged: Vec<Packet> = Vec::new();
        let mut late = false;
        for range in seen.acknowledged {
            acknowledged.extend(sender.outstanding.acknowledge(*range.start(), *range.end()));
            let from = sender.lost.partition_point(|number| number < range.start());
            if sender.lost.get(from).is_some_and(|number| number <= range.end()) {
                sender.lost.retain(|number| !range.contains(number));
                late |= sender.lost.is_empty();
            }
        }
        let limited = sender.outstanding.bytes() + (self.packet_size as u64) < sender.window;
        let all = self.connection.stats().lost_bytes;
        let lost = sender.outstanding.lose(all.saturating_sub(sender.lost_bytes));
        sender.lost_bytes = all;
        if let Some(last) = lost.last() {
            if sender.recovery_start.is_none_or(|start| last.sent > start) {
                sender.recovery_start = Some(now);
                sender.lost.clear();
            }
            sender.lost.extend(lost.iter().map(|packet| packet.number));
        }
        acknowledged.sort_unstable_by_key(|packet| packet.number);
        for Packet { number, sent, .. } in &acknowledged {
            self.report(&Report::Acknowledged { now, sent: *sent, number: *number });
        }
        if late {
            self.report(&Report::Spurious);
        }
        if !acknowledged.is_empty() {
            self.report(&Report::AcknowledgementEnds { now, application_limited: limited });
        }
        for &Packet { number, size, .. } in &lost {
            self.report(&Report::Lost { now, number, size });
        }
        if let Some(last) = lost.last() {
            self.report(&Report::Congestion { now, sent: last.sent, persistent: false, marked: false });
        }
    }

    /// Gives quiche the data that it has room for.
    fn feed(&mut self, now: u64) {
        let Self { connection, streams, seed, unacknowledged, .. } = self;
        for (index, stream) in streams.iter_mut().enumerate().filter(|(_, stream)| !stream.ended) {
            let id = stream_id(index as u64);
            loop {
                let most = stream.waiting.min(CHUNK);
                let ends = stream.ends && most == stream.waiting;
                if most == 0 && !ends {
                    break;
                }
                let (sent, _) = seed.session(now, || connection.stream_send(id, &CONTENT[..most], ends));
                let Ok(taken) = sent else { break };
                stream.begun = true;
                stream.waiting -= taken;
                stream.ended = ends && taken == most;
                if stream.ended {
                    unacknowledged.push(index as u64);
                }
                if taken < most || stream.ended {
                    break;
                }
            }
        }
    }

    /// Takes the next packet from quiche.
    fn hold(&mut self, now: u64) -> Option<Held> {
        let Self { connection, seed, buffer, start, sender, .. } = self;
        let (made, seen) = seed.session(now, || connection.send(buffer));
        let (size, info) = made.ok()?;
        let number = seen.sealed.zip(sender.as_mut()).and_then(|((low, bits, asks), sender)| {
            // Numbers only grow (RFC 9000, section 12.3).
            let above = (sender.next_number >> bits << bits) + low;
            let number = if above < sender.next_number { above + (1 << bits) } else { above };
            sender.next_number = number + 1;
            asks.then_some(number)
        });
        Some(Held { at: since(*start, info.at).max(now), size, number })
    }

    /// Reads all that has arrived.
    fn collect(&mut self) {
        let Self { connection, events, connected, seed, now, space, .. } = self;
        if !*connected && connection.is_established() {
            *connected = true;
            events.push_back(Event::Connected);
        }
        for id in connection.readable() {
            let stream = id / 4;
            let from = self.read.get(stream as usize).copied().unwrap_or(0);
            let mut to = from;
            let mut complete = false;
            while let (Ok((count, is_last)), _) = seed.session(*now, || connection.stream_recv(id, space)) {
                to += count as u64;
                complete |= is_last;
            }
            if self.read.len() <= stream as usize {
                self.read.resize(stream as usize + 1, 0);
            }
            self.read[stream as usize] = to;
            events.push_back(Event::Arrived { stream, from, to });
            if complete {
                events.push_back(Event::Complete(stream));
            }
        }
        while let Ok(length) = connection.dgram_recv(space) {
            events.push_back(Event::Datagram(Bytes::copy_from_slice(&space[..length])));
        }
        // quiche forgets a stream whose end is acknowledged.
        let before = self.unacknowledged.len();
        self.unacknowledged.retain(|&stream| connection.stream_capacity(stream_id(stream)).is_ok());
        events.extend((self.unacknowledged.len()..before).map(|_| Event::Acknowledged));
        if !self.over && (connection.is_closed() || connection.is_draining()) {
            self.over = true;
            let error = connection.local_error().or(connection.peer_error());
            let why = error.map_or_else(
                || "closed".to_owned(),
                |error| format!("error {:#x} {}", error.error_code, String::from_utf8_lossy(&error.reason)),
            );
            events.push_back(Event::Lost(why));
        }
    }
}

impl Side for Peer {
    fn receive(&mut self, now: u64, _header: Header, mut datagram: BytesMut) {
        self.now = now;
        let Self { connection, seed, addresses: [to, from], .. } = self;
        let info = RecvInfo { from: *from, to: *to };
        // An error ends the connection, and `collect` finds out.
        let (_, seen) = seed.session(now, || connection.recv(&mut datagram, info));
        self.account(now, seen);
    }

    fn transmit(&mut self, now: u64) -> Option<(Header, &[u8])> {
        self.now = now;
        if self.held.is_none() {
            self.feed(now);
            self.held = self.hold(now);
        }
        let Held { size, number, .. } = self.held.take_if(|held| held.at <= now)?;
        if let (Some(number), Some(sender)) = (number, &mut self.sender) {
            sender.outstanding.push(Packet { number, sent: now, size: size as u16 });
            self.report(&Report::Sent { now, number, size: size as u16 });
        }
        Some((Header::default(), &self.buffer[..size]))
    }

    fn expire(&mut self, now: u64) {
        self.now = now;
        let Self { connection, seed, start, .. } = self;
        if connection.timeout_instant().is_some_and(|at| since(*start, at) <= now) {
            let ((), seen) = seed.session(now, || connection.on_timeout());
            self.account(now, seen);
        }
    }

    fn deadline(&mut self) -> Option<u64> {
        let timeout = self.connection.timeout_instant().map(|at| since(self.start, at));
        let held = self.held.as_ref().map(|held| held.at);
        timeout.into_iter().chain(held).min()
    }

    fn poll(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.collect();
        }
        self.events.pop_front()
    }

    fn open_stream(&mut self) -> Option<u64> {
        let waiting = self.streams.iter().filter(|stream| !stream.begun).count() as u64;
        if waiting >= self.connection.peer_streams_left_uni() {
            return None;
        }
        self.streams.push(Outgoing::default());
        Some(self.streams.len() as u64 - 1)
    }

    fn write(&mut self, stream: u64, bytes: usize) -> usize {
        self.streams[stream as usize].waiting += bytes;
        bytes
    }

    fn finish(&mut self, stream: u64) -> bool {
        self.streams[stream as usize].ends = true;
        true
    }

    fn send_datagram(&mut self, datagram: Bytes) {
        if self.connection.is_dgram_send_queue_full() {
            let first = std::cell::Cell::new(true);
            self.connection.dgram_purge_outgoing(|_| first.replace(false));
        }
        let _ = self.connection.dgram_send(&datagram);
    }

    fn datagram_room(&mut self) -> (usize, usize) {
        let most = self.connection.dgram_max_writable_len().unwrap_or(0);
        (most, self.packet_size.saturating_sub(most))
    }
}
