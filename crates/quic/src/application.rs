//! The applications at both ends of a connection: one writes, into streams or datagrams, the other reads.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use record::{DatagramRow, seconds};
use stack::{Event, Side};
use transport::{Pace, Ranges, Writes};
use units::Time;

/// So much is written at once, if there is as much.
const CHUNK: u64 = 1 << 20;
/// A greedy application is so many windows and bytes ahead of the bytes that have arrived.
const WINDOWS_AHEAD: u64 = 8;
const BYTES_AHEAD: u64 = 16 << 20;
/// A datagram begins with its number and the time at which it was written.
const DATAGRAM_HEAD: usize = 16;

/// The application that writes.
#[derive(Debug)]
pub(crate) enum Writer {
    /// Into streams, which are opened one after the other.
    Streams(Vec<Outgoing>),
    /// Datagrams, a full one with `full` bytes without the headers of QUIC.
    Datagrams { writes: Writes, full: u32, next: u64 },
}

/// A stream to be written.
#[derive(Debug)]
pub(crate) struct Outgoing {
    stream: Option<u64>,
    /// Bytes in all, or `None` without end.
    total: Option<u64>,
    /// When units of so many bytes are written, or `None` if all is there from the start.
    pace: Option<(Pace, u64)>,
    written: u64,
    finished: bool,
}

impl Outgoing {
    pub(crate) fn new(total: Option<u64>, pace: Option<(Pace, u64)>) -> Self {
        Self { stream: None, total, pace, written: 0, finished: false }
    }

    /// Writes what there is, where `arrived` bytes have arrived and the window is `window` bytes.
    fn write(&mut self, now: Time, side: &mut dyn Side, arrived: u64, window: u64) {
        if self.finished {
            return;
        }
        // The other side may allow only so many streams at a time.
        self.stream = self.stream.or_else(|| side.open_stream());
        let Some(stream) = self.stream else { return };
        let total = self.total.unwrap_or(u64::MAX);
        let there = match &mut self.pace {
            Some((pace, unit)) => total.min(pace.written(now, u64::MAX - 1).saturating_mul(*unit)),
            None => total.min(arrived + WINDOWS_AHEAD * window + BYTES_AHEAD),
        };
        // Small pieces would cost more than they are worth.
        if self.pace.is_none() && there < total && there < self.written + CHUNK {
            return;
        }
        while self.written < there {
            match side.write(stream, CHUNK.min(there - self.written) as usize) {
                0 => return,
                bytes => self.written += bytes as u64,
            }
        }
        if self.written == total {
            self.finished = side.finish(stream);
        }
    }
}

impl Writer {
    /// The connection is open.
    pub(crate) fn open(&mut self, now: Time) {
        match self {
            Self::Streams(streams) => {
                streams.iter_mut().filter_map(|one| one.pace.as_mut()).for_each(|(pace, _)| pace.start(now));
            }
            Self::Datagrams { writes, .. } => writes.start(now),
        }
    }

    /// Writes the available bytes (see [`Outgoing::write`]).
    pub(crate) fn write(&mut self, now: Time, side: &mut dyn Side, reader: &Reader, window: u64) {
        match self {
            Self::Streams(streams) => {
                let behind = streams.iter().take_while(|stream| stream.finished).count();
                for (number, stream) in streams.iter_mut().enumerate().skip(behind) {
                    stream.write(now, side, reader.arrived(number), window);
                }
            }
            Self::Datagrams { writes, full, next } => {
                while let Some(payload) = writes.take(now, *next, *full) {
                    // As many bytes on the wire as in UDP alone.
                    let (most, overhead) = side.datagram_room();
                    let size =
                        (payload as usize).saturating_sub(overhead).clamp(DATAGRAM_HEAD, most.max(DATAGRAM_HEAD));
                    let mut content = BytesMut::with_capacity(size);
                    content.put_u64(*next);
                    content.put_u64(now.as_nanos());
                    content.resize(size, 0);
                    side.send_datagram(content.freeze());
                    *next += 1;
                }
            }
        }
    }

    /// When more is written.
    pub(crate) fn next_write(&self) -> Option<Time> {
        match self {
            Self::Streams(streams) => streams.iter().filter_map(|one| one.pace.as_ref()?.0.next_write()).min(),
            Self::Datagrams { writes, .. } => writes.next_write(),
        }
    }

    /// Another stream is to be written.
    pub(crate) fn add(&mut self, stream: Outgoing) {
        if let Self::Streams(streams) = self {
            streams.push(stream);
        }
    }

    /// True if lost data is sent again.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self, Self::Streams(_))
    }
}

/// A stream as it is read.
#[derive(Debug, Default)]
struct Incoming {
    arrived: Ranges,
    /// Those that have arrived, in any order.
    bytes: u64,
    complete: bool,
}

/// The application that reads.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    streams: Vec<Incoming>,
    datagrams: u64,
    /// The path of the datagram that arrived last.
    pub(crate) path: usize,
    /// Bytes of streams that each path brought first.
    brought: Vec<u64>,
    /// Rows of datagrams that were not taken yet.
    pub(crate) rows: Vec<DatagramRow>,
}

impl Reader {
    /// Bytes of stream `number` that arrived in order, or all bytes of datagrams.
    pub(crate) fn delivered(&self, number: usize) -> u64 {
        let first = self.streams.get(number).and_then(|stream| stream.arrived.first());
        first.filter(|&(start, _)| start == 0).map_or(0, |(_, end)| end) + self.datagrams
    }

    /// Bytes of stream `number` that have arrived in any order.
    fn arrived(&self, number: usize) -> u64 {
        self.streams.get(number).map_or(0, |stream| stream.bytes)
    }

    /// Bytes of streams that path `path` brought first.
    pub(crate) fn brought(&self, path: usize) -> u64 {
        self.brought.get(path).copied().unwrap_or(0)
    }

    /// True if stream `number` was read to its end.
    pub(crate) fn is_complete(&self, number: usize) -> bool {
        self.streams.get(number).is_some_and(|stream| stream.complete)
    }

    /// Reads what there is. `Err` says why the connection is over.
    pub(crate) fn read(&mut self, now: Time, flow: u32, side: &mut dyn Side) -> Result<(), String> {
        while let Some(event) = side.poll() {
            match event {
                Event::Arrived { stream, from, to } if from < to => self.arrive(stream, from, to),
                Event::Complete(stream) => self.stream(stream).complete = true,
                Event::Datagram(datagram) => self.read_datagram(now, flow, datagram),
                Event::Lost(why) => return Err(why),
                _ => {}
            }
        }
        Ok(())
    }

    /// Bytes `from..to` of a stream have arrived.
    fn arrive(&mut self, stream: u64, from: u64, to: u64) {
        let mut new = 0;
        let stream = self.stream(stream);
        stream.arrived.insert(from, to, |from, to| new += to - from);
        stream.bytes += new;
        if self.brought.len() <= self.path {
            self.brought.resize(self.path + 1, 0);
        }
        self.brought[self.path] += new;
    }

    fn stream(&mut self, number: u64) -> &mut Incoming {
        let number = number as usize;
        if self.streams.len() <= number {
            self.streams.resize_with(number + 1, Incoming::default);
        }
        &mut self.streams[number]
    }

    fn read_datagram(&mut self, now: Time, flow: u32, mut datagram: Bytes) {
        self.datagrams += datagram.len() as u64;
        let (sequence, sent) = (datagram.get_u64(), Time::from_nanos(datagram.get_u64()));
        self.rows.push(DatagramRow { sent_s: seconds(sent), flow, sequence, arrived_s: seconds(now) });
    }
}
