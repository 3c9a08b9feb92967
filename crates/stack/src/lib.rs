//! One side of a connection of a QUIC stack, as the engine drives it, and the table by which a shared object shows a
//! stack.
//!
//! A stack reads no clock and no socket: each call has the time of the run in nanoseconds. The engine brings network,
//! applications and tables. It learns from [`Report`]s when packets leave, are acknowledged and lost.

// The same file serves both tables, neither of which needs the crate of the other.
#[path = "../../plugin/src/caught.rs"]
mod caught;
pub mod frames;
pub mod handshake;
pub mod outstanding;
mod table;

use bytes::{Bytes, BytesMut};

pub use self::table::{Answer, Call, Ledger, Ledgers, SYMBOL, Slice, Table, VERSION, call, connect, end};

/// The name of a controller that is not the stack's.
pub const MINE: &str = "mine";

/// A stack of the user, which is in a folder and gives its controllers any names.
pub const C: &str = "c";

/// The stacks by name, with the names of their own controllers.
pub const STACKS: [(&str, &[&str]); 4] = [
    ("noq", &["newreno", "cubic", "bbr3"]),
    ("quinn", &["newreno", "cubic", "bbr"]),
    ("quiche", &["reno", "cubic", "bbr2_gcongestion"]),
    (C, &[]),
];

/// The stacks with several paths in a connection.
pub const MULTIPATH: [&str; 1] = ["noq"];

/// In the place of a number that does not exist.
pub const NONE: u64 = u64::MAX;

/// `number`, unless it is [`NONE`].
pub fn known(number: u64) -> Option<u64> {
    Some(number).filter(|&number| number != NONE)
}

/// The conditions under which a side of a connection begins.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The time of its start.
    pub now: u64,
    /// The seed of everything that it draws.
    pub seed: [u8; 32],
    /// It opens the connection and sends the data.
    pub is_client: bool,
    /// Bytes of a full packet without the headers of IP and UDP.
    pub packet_size: u16,
    /// The window of the connection and of its streams in bytes.
    pub receive_window: u64,
    /// The initial window of the stack's own controllers in bytes.
    pub initial_window: u64,
    /// Paths of the connection, which begins on path 0. Its client opens the others, in their order, once the handshake
    /// is over. Only stacks in [`MULTIPATH`] have more than one.
    pub paths: u32,
}

impl Settings {
    /// Fails for a stack with one path if there are to be more.
    ///
    /// # Errors
    /// A sentence.
    pub fn one_path(&self, stack: &str) -> Result<(), String> {
        if self.paths > 1 { Err(format!("{stack} has one path in a connection")) } else { Ok(()) }
    }
}

/// The headers of IP and UDP around a datagram, as far as a stack reads and writes them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The path, which stands for the addresses of both sides.
    pub path: u32,
    /// The codepoint of ECN.
    pub ecn: u8,
}

/// The decisions of a controller. Any but the window may be [`NONE`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decisions {
    /// Bytes that may be in flight.
    pub window: u64,
    /// The slow-start threshold in bytes.
    pub threshold: u64,
    /// Bytes a second.
    pub pacing_rate: u64,
    /// Bytes that may leave at once.
    pub quantum: u64,
    /// The estimated bandwidth in bits a second.
    pub bandwidth: u64,
}

impl Decisions {
    /// A window of zero, and nothing else.
    pub const EMPTY: Self = Self { window: 0, threshold: NONE, pacing_rate: NONE, quantum: NONE, bandwidth: NONE };
}

/// An event at the sender of a path.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum Report {
    /// A packet of `size` bytes left, which the stack numbers `number` and which asks for an acknowledgement.
    Sent {
        /// The time.
        now: u64,
        /// Its number.
        number: u64,
        /// Its bytes.
        size: u16,
    },
    /// A packet was acknowledged.
    Acknowledged {
        /// The time.
        now: u64,
        /// When it left.
        sent: u64,
        /// Its number.
        number: u64,
    },
    /// All packets of an acknowledgement were reported.
    AcknowledgementEnds {
        /// The time.
        now: u64,
        /// The application had nothing more to send.
        application_limited: bool,
    },
    /// A packet was deemed lost.
    Lost {
        /// The time.
        now: u64,
        /// Its number.
        number: u64,
        /// Its bytes.
        size: u16,
    },
    /// The controller is about to be notified of losses or of a mark.
    Congestion {
        /// The time.
        now: u64,
        /// When the last of these packets left.
        sent: u64,
        /// It is persistent congestion.
        persistent: bool,
        /// A packet was marked.
        marked: bool,
    },
    /// All packets deemed lost were acknowledged.
    Spurious,
    /// Only decisions of the stack's controller may have changed.
    Decided,
}

/// Takes the reports of a sender on one path. It also decides where the controller is not the stack's own.
pub trait Reports: Send + Sync {
    /// Takes a report. `decisions` are those of the stack's controller.
    fn report(&self, report: &Report, decisions: &Decisions);

    /// The decisions of a controller that is not the stack's own.
    fn decisions(&self) -> Decisions;

    /// The window of these decisions.
    fn window(&self) -> u64 {
        self.decisions().window
    }
}

/// An event for the applications.
#[derive(Clone, Debug)]
pub enum Event {
    /// The handshake is over, and path 0 is open.
    Connected,
    /// This other path is open.
    Opened(u32),
    /// The other side has acknowledged all of a stream.
    Acknowledged,
    /// Bytes `from..to` of stream `stream` can be read, in any order. Streams are counted from 0.
    Arrived {
        /// The stream.
        stream: u64,
        /// The first byte.
        from: u64,
        /// The byte after the last.
        to: u64,
    },
    /// A stream was read to its end.
    Complete(u64),
    /// A datagram was received.
    Datagram(Bytes),
    /// The connection is over, for this reason.
    Lost(String),
}

/// One side of a connection.
pub trait Side: Send {
    /// `datagram` arrives.
    fn receive(&mut self, now: u64, header: Header, datagram: BytesMut);

    /// The next datagram that leaves now.
    fn transmit(&mut self, now: u64) -> Option<(Header, &[u8])>;

    /// The deadline has come.
    fn expire(&mut self, now: u64);

    /// When the side is looked at next.
    fn deadline(&mut self) -> Option<u64>;

    /// The next event for the application.
    fn poll(&mut self) -> Option<Event>;

    /// Opens a stream, if the other side allows another one.
    fn open_stream(&mut self) -> Option<u64>;

    /// Writes up to `bytes` zeros into a stream: so many were taken.
    fn write(&mut self, stream: u64, bytes: usize) -> usize;

    /// Ends a stream: true once that is written.
    fn finish(&mut self, stream: u64) -> bool;

    /// Sends a datagram. The oldest goes where the window holds back too many.
    fn send_datagram(&mut self, datagram: Bytes);

    /// The largest datagram in bytes, and the bytes of headers around it.
    fn datagram_room(&mut self) -> (usize, usize);

    /// The side ends, and nothing calls it afterwards: the message if its destructor panics.
    ///
    /// # Errors
    /// See above.
    fn end(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A QUIC stack.
pub trait Stack: Send + Sync {
    /// One side of a connection. `controller` names one of the stack's own, of which each path has one. Without a name
    /// `reports` decides, which is one for each path of a sender, and none for a receiver.
    ///
    /// # Errors
    /// A sentence: the stack has no such controller, has fewer paths, or cannot begin.
    fn connect(
        &self,
        settings: &Settings,
        controller: Option<&str>,
        reports: Vec<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String>;
}
