//! The thread with the ends of all connections: it hands noq what arrives and the time, and sends what noq has.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use bytes::BytesMut;
use engine::{Failure, Schedule, Series};
use noq_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use quic::{Datagram, Endpoints};
use record::Histogram;
use units::{Ecn, Time};

use crate::host::arrivals::Arrivals;
use crate::host::system;
use crate::tcp::settings::Settings;

/// Datagrams that one call takes.
const BATCH: usize = 32;
/// Room for the largest.
const LARGEST: usize = 1 << 16;

/// One side of a connection: its socket, and the address of the other.
struct Side {
    socket: OwnedFd,
    state: UdpSocketState,
    other: SocketAddr,
}

/// The two sides of a connection, the sender first.
pub(super) struct Connection {
    row: u32,
    sides: [Side; 2],
}

impl Connection {
    /// The connection of `row` over `sockets`, each with the address of the other.
    pub(super) fn new(row: u32, sockets: [OwnedFd; 2], others: [SocketAddrV4; 2]) -> io::Result<Self> {
        let side = |socket: OwnedFd, other| -> io::Result<Side> {
            let state = UdpSocketState::new((&socket).into())?;
            Ok(Side { socket, state, other: SocketAddr::V4(other) })
        };
        let ([near, far], [to_far, to_near]) = (sockets, others);
        Ok(Self { row, sides: [side(near, to_far)?, side(far, to_near)?] })
    }
}

/// The ends at the end of a run.
pub(super) struct Ended<'a> {
    pub(super) endpoints: Endpoints<'a>,
    /// Nanoseconds by which timers were late.
    pub(super) lateness: Histogram,
    /// Datagrams that could not be sent.
    pub(super) dropped: u64,
    pub(super) cpu_nanos: u64,
}

/// The ends of all connections at work.
pub(super) struct Ends<'a> {
    settings: Settings<'a>,
    connections: Vec<Connection>,
    /// The index of the connection of each row.
    of_row: Vec<usize>,
    arrivals: Arrivals,
    schedule: Schedule,
    buffer: Box<[u8]>,
    ended: Ended<'a>,
}

impl<'a> Ends<'a> {
    /// Fails where the process may open no more files.
    pub(super) fn new(
        settings: Settings<'a>,
        endpoints: Endpoints<'a>,
        connections: Vec<Connection>,
    ) -> io::Result<Self> {
        let arrivals = Arrivals::new()?;
        let mut of_row = vec![0; settings.drawn.len()];
        for (index, connection) in connections.iter().enumerate() {
            of_row[connection.row as usize] = index;
            for (side, Side { socket, .. }) in connection.sides.iter().enumerate() {
                arrivals.add(socket, (2 * index + side) as u32)?;
            }
        }
        Ok(Self {
            settings,
            connections,
            of_row,
            arrivals,
            schedule: Schedule::new(settings.plan, &[Series::Flows, Series::Probes]),
            buffer: vec![0; BATCH * LARGEST].into(),
            ended: Ended { endpoints, lateness: Histogram::new(), dropped: 0, cpu_nanos: 0 },
        })
    }

    /// Runs on the calling thread until the end or a halt.
    pub(super) fn run(mut self) -> Result<Ended<'a>, Failure> {
        let cpu = system::thread_cpu();
        let late = self.settings.begin();
        self.ended.lateness.record(late.as_nanos(), 1);
        let end = Time::ZERO + self.settings.plan.duration;
        loop {
            let over = self.settings.is_over();
            let now = self.now();
            self.settings.elapsed.store(now.as_nanos(), Ordering::Relaxed);
            self.catch_up(now, end)?;
            if now >= end || over {
                break;
            }
            let due = self.next().min(end);
            let arrived = self.arrivals.wait(due.since(self.now()));
            let now = self.now();
            if now >= due {
                self.ended.lateness.record(now.since(due).as_nanos(), 1);
            }
            self.catch_up(now, end)?;
            for index in arrived {
                self.receive(index / 2, index % 2, end)?;
            }
        }
        self.ended.cpu_nanos = system::thread_cpu() - cpu;
        Ok(self.ended)
    }

    /// The time of the run.
    fn now(&self) -> Time {
        self.settings.run_time(system::monotonic())
    }

    /// When something is due next.
    fn next(&self) -> Time {
        self.ended.endpoints.next_timer().min(self.schedule.warmup()).min(self.schedule.next())
    }

    /// Does all that is due by `now`, in the order in which it is.
    fn catch_up(&mut self, now: Time, end: Time) -> Result<(), Failure> {
        loop {
            let due = self.next();
            if due > now.min(end) {
                return Ok(());
            }
            let endpoints = &mut self.ended.endpoints;
            // First at its instant: what else happens then is measured.
            if self.schedule.take_warmup(due) {
                endpoints.begin_measuring(due);
                continue;
            }
            if endpoints.next_timer() == due {
                // The instant of the end is outside the run, but for its rows.
                if due >= end && self.schedule.next() > end {
                    return Ok(());
                }
                if due < end {
                    endpoints.expire(now)?;
                    self.send();
                    continue;
                }
            }
            let due = self.schedule.next();
            let (series, probes) = (self.schedule.take(Series::Flows, due), self.schedule.take(Series::Probes, due));
            self.ended.endpoints.sample(due, series, probes);
        }
    }

    /// Takes the datagrams that have come to a side of a connection, before the `end`.
    fn receive(&mut self, index: usize, side: usize, end: Time) -> Result<(), Failure> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut metas = [RecvMeta::default(); BATCH];
        let result = loop {
            let Connection { row, sides } = &self.connections[index];
            let (row, Side { socket, state, .. }) = (*row, &sides[side]);
            let mut parts = buffer.chunks_mut(LARGEST).map(IoSliceMut::new).collect::<Vec<_>>();
            let count = match state.recv(socket.into(), &mut parts, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(Failure::Machine(format!("a socket cannot be read: {error}"))),
            };
            if let Err(failure) = self.deliver(row, side, end, parts.iter().zip(&metas[..count])) {
                break Err(failure);
            }
        };
        self.buffer = buffer;
        result
    }

    /// Hands received datagrams to noq.
    fn deliver<'b>(
        &mut self,
        row: u32,
        side: usize,
        end: Time,
        received: impl Iterator<Item = (&'b IoSliceMut<'b>, &'b RecvMeta)>,
    ) -> Result<(), Failure> {
        for (part, meta) in received {
            let ecn = meta.ecn.map_or(Ecn::NotCapable, |codepoint| Ecn::of(codepoint as u8));
            // The kernel may have joined several of one size.
            for content in part[..meta.len].chunks(meta.stride.max(1)) {
                let now = self.now();
                if now < end {
                    let datagram = Datagram::arrived(row, side == 1, ecn, BytesMut::from(content));
                    self.ended.endpoints.deliver(now, datagram)?;
                    self.send();
                }
            }
        }
        Ok(())
    }

    /// Sends what leaves now.
    fn send(&mut self) {
        let Self { ended, connections, of_row, .. } = self;
        for mut datagram in ended.endpoints.leaving() {
            datagram.write_number();
            let connection = &connections[of_row[datagram.flow as usize]];
            let Side { socket, state, other } = &connection.sides[usize::from(!datagram.forward)];
            let transmit = Transmit {
                destination: *other,
                ecn: EcnCodepoint::from_bits(datagram.ecn.bits()),
                contents: &datagram.content,
                segment_size: None,
                src_ip: None,
            };
            ended.dropped += u64::from(state.try_send(socket.into(), &transmit).is_err());
        }
    }
}
