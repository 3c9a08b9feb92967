//! A capture of the packets that pass the emulator.
//!
//! The emulator only fills chunks of the file. A thread of its own writes them.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use engine::{Failure, Interfaces, comment};
use network::Discard;
use record::pcapng::{self, Beginning, Point};
use scenario::Plan;
use units::{Span, Time};

use crate::emulator::Clock;
use crate::emulator::path::InTransit;
use crate::host::system;

/// So much of each packet is captured: every header of TCP over IP.
const CAPTURED: usize = 128;
/// The file grows by so much at once, at least.
const CHUNK: usize = 64 << 10;
/// The span between writes.
const TICK: Span = Span::from_millis(50);

/// The emulator's end: a send never waits.
struct Chunks {
    chunk: Vec<u8>,
    writer: Sender<Vec<u8>>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK + (CHUNK >> 4)));
        // A writer that has met a full disk says so in the end.
        let _ = self.writer.send(chunk);
        Ok(())
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// A capture as the emulator fills it.
pub(crate) struct Capture {
    file: pcapng::Capture<Chunks>,
    interfaces: Interfaces,
    /// The links that data and ACKs of each flow of the plan pass.
    links: Vec<[Option<usize>; 2]>,
    /// From 1970 to the start of the clock of the path.
    began: Span,
}

/// Writes the chunks of a capture as they come.
pub(crate) struct Writer {
    chunks: Receiver<Vec<u8>>,
}

/// The capture that is asked for by file and point, if any, and its writer with its file.
pub(crate) type Opened = (Option<Capture>, Option<(Writer, File)>);

/// Opens the capture of a run of `plan` on `clock`. A file that is there is replaced.
pub(crate) fn open(to: Option<&(PathBuf, Point)>, plan: &Plan, clock: Clock) -> Result<Opened, Failure> {
    let Some((file, point)) = to else { return Ok((None, None)) };
    let (capture, writer) = Capture::new(*point, plan, clock)?;
    let file = File::create(file).map_err(Failure::Capture)?;
    Ok((Some(capture), Some((writer, file))))
}

impl Capture {
    /// A capture at `point` of a run of `plan` on `clock`, and its writer.
    fn new(point: Point, plan: &Plan, clock: Clock) -> Result<(Self, Writer), Failure> {
        let (interfaces, names) = Interfaces::new(point, plan)?;
        let (writer, chunks) = channel();
        let file = pcapng::Capture::new(Chunks { chunk: Vec::new(), writer }, &names).map_err(Failure::Capture)?;
        let of = |flow: &scenario::PlannedFlow| [&flow.forward, &flow.reverse].map(|hops| hops.first()?.link);
        let links = plan.flows.iter().map(of).collect();
        let began = Span::from_nanos(system::wall_clock() - clock.now().as_nanos());
        Ok((Self { file, interfaces, links, began }, Writer { chunks }))
    }

    /// `packet` leaves its end, and is offered to the link behind that: lost or dropped there if `discarded`.
    pub(crate) fn enters(&mut self, now: Time, packet: &InTransit, bytes: &[u8], discarded: Option<Discard>) {
        let end = if packet.reverse { self.interfaces.receiver } else { self.interfaces.sender };
        self.write(end, now, bytes, None);
        self.write(self.link(packet), now, bytes, discarded.map(comment));
    }

    /// `packet`, which entered before, is dropped while it waits.
    pub(crate) fn leaves_queue(&mut self, now: Time, packet: &InTransit, bytes: &[u8], why: Discard) {
        self.write(self.link(packet), now, bytes, Some(comment(why)));
    }

    /// `packet` comes out of the path.
    pub(crate) fn arrives(&mut self, now: Time, packet: &InTransit, bytes: &[u8]) {
        let end = if packet.reverse { self.interfaces.sender } else { self.interfaces.receiver };
        self.write(end, now, bytes, None);
    }

    fn link(&self, packet: &InTransit) -> Option<u32> {
        let link = self.links.get(packet.route as usize)?[usize::from(packet.reverse)]?;
        self.interfaces.links[link]
    }

    fn write(&mut self, interface: Option<u32>, now: Time, bytes: &[u8], comment: Option<&str>) {
        let Some(interface) = interface else { return };
        let captured = &bytes[..bytes.len().min(CAPTURED)];
        let packet = Beginning { bytes: captured, rest: (bytes.len() - captured.len()) as u16 };
        // Chunks take everything.
        let _ = self.file.packet(interface, now + self.began, &packet, comment);
    }
}

impl Writer {
    /// Writes to `file` until nobody can send any more.
    ///
    /// # Errors
    /// The file cannot be written: it ends somewhere.
    pub(crate) fn run(self, mut file: impl Write) -> io::Result<()> {
        loop {
            match self.chunks.try_recv() {
                Ok(chunk) => file.write_all(&chunk)?,
                Err(TryRecvError::Disconnected) => return file.flush(),
                // Sleeping instead of waiting spares the emulator the waking.
                Err(TryRecvError::Empty) => system::sleep(TICK),
            }
        }
    }
}
