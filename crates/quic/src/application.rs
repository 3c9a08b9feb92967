//! The applications at both ends of a connection: one writes, the other reads.

use bytes::Bytes;
use noq_proto::{Connection, Dir, Event, ReadError, StreamEvent, StreamId};
use transport::Pace;
use units::Time;

/// So much is written at once, if there is as much.
const CHUNK: u64 = 1 << 20;
/// The data that is written: zeros, which are never looked at.
static CONTENT: [u8; CHUNK as usize] = [0; CHUNK as usize];
/// A greedy application is so many windows and bytes ahead of what has arrived.
const WINDOWS_AHEAD: u64 = 8;
const BYTES_AHEAD: u64 = 16 << 20;

/// The application that writes into a stream.
#[derive(Debug)]
pub(crate) struct Writer {
    stream: Option<StreamId>,
    /// Bytes in all; `None` without end.
    total: Option<u64>,
    /// When units of so many bytes are written; `None` if all is there from the start.
    pace: Option<(Pace, u64)>,
    written: u64,
    finished: bool,
}

impl Writer {
    pub(crate) fn new(total: Option<u64>, pace: Option<(Pace, u64)>) -> Self {
        Self { stream: None, total, pace, written: 0, finished: false }
    }

    /// The connection is open.
    pub(crate) fn open(&mut self, now: Time, connection: &mut Connection) {
        self.stream = connection.streams().open(Dir::Uni);
        if let Some((pace, _)) = &mut self.pace {
            pace.start(now);
        }
    }

    /// Writes what there is, where `delivered` bytes have arrived and the window is `window` bytes.
    pub(crate) fn write(&mut self, now: Time, connection: &mut Connection, delivered: u64, window: u64) {
        let Some(stream) = self.stream.filter(|_| !self.finished) else { return };
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

    /// When more is written.
    pub(crate) fn next_write(&self) -> Option<Time> {
        self.pace.as_ref().and_then(|(pace, _)| pace.next_write())
    }
}

/// The application that reads.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// Bytes that arrived in order.
    pub(crate) delivered: u64,
    /// The end of the stream was read.
    pub(crate) complete: bool,
}

impl Reader {
    /// Reads what there is. `Err` says why the connection is over.
    pub(crate) fn read(&mut self, connection: &mut Connection) -> Result<(), String> {
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(stream) = connection.streams().accept(dir) {
                        self.read_stream(connection, stream);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read_stream(connection, id),
                Event::ConnectionLost { reason } => return Err(reason.to_string()),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_stream(&mut self, connection: &mut Connection, id: StreamId) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.delivered += chunk.bytes.len() as u64,
                Ok(None) => {
                    self.complete = true;
                    break;
                }
                Err(ReadError::Blocked | ReadError::Reset(_)) => break,
            }
        }
        // More room is announced at the next look at the connection.
        let _ = chunks.finalize();
    }
}
