//! The applications at both ends of a connection: one writes, into streams or datagrams, the other reads.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use noq_proto::{Connection, Dir, Event, StreamEvent, StreamId};
use record::{DatagramRow, seconds};
use transport::{Pace, Ranges, Writes};
use units::Time;

/// So much is written at once, if there is as much.
const CHUNK: u64 = 1 << 20;
/// The data that is written: zeros, which are never looked at.
static CONTENT: [u8; CHUNK as usize] = [0; CHUNK as usize];
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
    stream: Option<StreamId>,
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

    /// Writes what there is, where `delivered` bytes have arrived and the window is `window` bytes.
    fn write(&mut self, now: Time, connection: &mut Connection, delivered: u64, window: u64) {
        if self.finished {
            return;
        }
        // The other side may allow only so many streams at a time.
        self.stream = self.stream.or_else(|| connection.streams().open(Dir::Uni));
        let Some(stream) = self.stream else { return };
        let total = self.total.unwrap_or(u64::MAX);
        let there = match &mut self.pace {
            Some((pace, unit)) => total.min(pace.written(now, u64::MAX - 1).saturating_mul(*unit)),
            None => total.min(delivered + WINDOWS_AHEAD * window + BYTES_AHEAD),
        };
        // Small pieces would cost more than they are worth.
        if self.pace.is_none() && there < total && there < self.written + CHUNK {
            return;
        }
        while self.written < there {
            let piece = CHUNK.min(there - self.written) as usize;
            let mut pieces = [Bytes::from_static(&CONTENT[..piece])];
            match connection.send_stream(stream).write_chunks(&mut &mut pieces[..]) {
                Ok(bytes) if bytes > 0 => self.written += bytes as u64,
                _ => return,
            }
        }
        if self.written == total {
            self.finished = connection.send_stream(stream).finish().is_ok();
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
    pub(crate) fn write(&mut self, now: Time, connection: &mut Connection, reader: &Reader, window: u64) {
        match self {
            Self::Streams(streams) => {
                let behind = streams.iter().take_while(|stream| stream.finished).count();
                for (number, stream) in streams.iter_mut().enumerate().skip(behind) {
                    stream.write(now, connection, reader.delivered(number), window);
                }
            }
            Self::Datagrams { writes, full, next } => {
                while let Some(payload) = writes.take(now, *next, *full) {
                    let most = connection.datagrams().max_size().unwrap_or(0);
                    // As many bytes on the wire as in UDP alone.
                    let overhead = usize::from(connection.current_mtu()).saturating_sub(most);
                    let size =
                        (payload as usize).saturating_sub(overhead).clamp(DATAGRAM_HEAD, most.max(DATAGRAM_HEAD));
                    let mut content = BytesMut::with_capacity(size);
                    content.put_u64(*next);
                    content.put_u64(now.as_nanos());
                    content.resize(size, 0);
                    // The oldest goes where the window holds back too many.
                    let _ = connection.datagrams().send(content.freeze(), true);
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
    complete: bool,
}

/// The application that reads.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    streams: Vec<Incoming>,
    datagrams: u64,
    /// Rows of datagrams that were not taken yet.
    pub(crate) rows: Vec<DatagramRow>,
}

impl Reader {
    /// Bytes of stream `number` that arrived in order, or all bytes of datagrams.
    pub(crate) fn delivered(&self, number: usize) -> u64 {
        let first = self.streams.get(number).and_then(|stream| stream.arrived.first());
        first.filter(|&(start, _)| start == 0).map_or(0, |(_, end)| end) + self.datagrams
    }

    /// True if stream `number` was read to its end.
    pub(crate) fn is_complete(&self, number: usize) -> bool {
        self.streams.get(number).is_some_and(|stream| stream.complete)
    }

    /// Reads what there is. `Err` says why the connection is over.
    pub(crate) fn read(&mut self, now: Time, flow: u32, connection: &mut Connection) -> Result<(), String> {
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(stream) = connection.streams().accept(dir) {
                        self.read_stream(connection, stream);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read_stream(connection, id),
                Event::DatagramReceived => {
                    while let Some(datagram) = connection.datagrams().recv() {
                        self.read_datagram(now, flow, datagram);
                    }
                }
                Event::ConnectionLost { reason } => return Err(reason.to_string()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads in any order: noq ends a connection that waits for data in more than 1,024 places.
    fn read_stream(&mut self, connection: &mut Connection, id: StreamId) {
        let number = id.index() as usize;
        if self.streams.len() <= number {
            self.streams.resize_with(number + 1, Incoming::default);
        }
        let incoming = &mut self.streams[number];
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(false) else { return };
        while let Ok(chunk) = chunks.next(usize::MAX) {
            let Some(chunk) = chunk else {
                incoming.complete = true;
                break;
            };
            let end = chunk.offset + chunk.bytes.len() as u64;
            if chunk.offset < end {
                incoming.arrived.insert(chunk.offset, end, |_, _| {});
            }
        }
        // More room is announced at the next look at the connection.
        let _ = chunks.finalize();
    }

    fn read_datagram(&mut self, now: Time, flow: u32, mut datagram: Bytes) {
        self.datagrams += datagram.len() as u64;
        let (sequence, sent) = (datagram.get_u64(), Time::from_nanos(datagram.get_u64()));
        self.rows.push(DatagramRow { sent_s: seconds(sent), flow, sequence, arrived_s: seconds(now) });
    }
}
