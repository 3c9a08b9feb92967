//! The table that an object shows, and the functions behind it. All that crosses has the layout of C. No panic crosses:
//! the side is gone, and every later call answers why.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use bytes::{Bytes, BytesMut};

use crate::caught::caught;
use crate::{Decisions, Event, Header, NONE, Report, Reports, Settings, Side, Stack};

/// The version of the table. It counts up with every change.
pub const VERSION: u32 = 2;

/// The name of the table in an object.
pub const SYMBOL: &CStr = c"ACKCLOCK_STACK";

/// Bytes, valid as long as their subject.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a> {
    at: *const u8,
    length: usize,
    owner: PhantomData<&'a [u8]>,
}

impl<'a> Slice<'a> {
    /// The bytes of a slice.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { at: bytes.as_ptr(), length: bytes.len(), owner: PhantomData }
    }

    /// The slice.
    pub fn get(self) -> &'a [u8] {
        // SAFETY: made from a slice that is still there.
        unsafe { std::slice::from_raw_parts(self.at, self.length) }
    }

    /// The text that it was made from.
    pub fn text(self) -> &'a str {
        std::str::from_utf8(self.get()).unwrap_or_default()
    }
}

/// A call of [`Side`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// [`Side::receive`].
    Receive(u64, Header, Slice<'a>),
    /// [`Side::transmit`].
    Transmit(u64),
    /// [`Side::expire`].
    Expire(u64),
    /// [`Side::deadline`].
    Deadline,
    /// [`Side::poll`].
    Poll,
    /// [`Side::open_stream`].
    OpenStream,
    /// [`Side::write`]: stream, bytes.
    Write(u64, usize),
    /// [`Side::finish`].
    Finish(u64),
    /// [`Side::send_datagram`].
    SendDatagram(Slice<'a>),
    /// [`Side::datagram_room`].
    DatagramRoom,
    /// The last call: the side ends, and fails if its destructor does. An object in C that does not know it yet ends
    /// the side by [`Table::end`].
    End,
}

/// The answer to a [`Call`]. Slices are valid until the next call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// Nothing, or no more.
    Nothing,
    /// A number: [`NONE`] if there is none.
    Number(u64),
    /// [`Side::datagram_room`].
    Room(usize, usize),
    /// A datagram that leaves.
    Leaves(Header, Slice<'a>),
    /// [`Event::Connected`].
    Connected,
    /// [`Event::Opened`].
    Opened(u32),
    /// [`Event::Acknowledged`].
    Acknowledged,
    /// [`Event::Arrived`].
    Arrived(u64, u64, u64),
    /// [`Event::Complete`].
    Complete(u64),
    /// [`Event::Datagram`].
    Datagram(Slice<'a>),
    /// [`Event::Lost`].
    Lost(Slice<'a>),
    /// There is no side, for this reason.
    Failed(Slice<'a>),
}

/// The reports of a path as an object sees them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    /// Passed to the functions.
    pub at: *const c_void,
    /// [`Reports::report`].
    pub report: unsafe extern "C" fn(*const c_void, &Report, &Decisions),
    /// [`Reports::decisions`].
    pub decisions: unsafe extern "C" fn(*const c_void) -> Decisions,
}

/// The ledgers of the paths of a sender, valid for a call. A receiver has none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ledgers<'a> {
    at: *const Ledger,
    count: usize,
    owner: PhantomData<&'a [Ledger]>,
}

impl<'a> Ledgers<'a> {
    /// The ledgers of a slice.
    pub const fn new(ledgers: &'a [Ledger]) -> Self {
        Self { at: ledgers.as_ptr(), count: ledgers.len(), owner: PhantomData }
    }

    /// The slice.
    pub fn get(self) -> &'a [Ledger] {
        // SAFETY: made from a slice that is still there.
        unsafe { std::slice::from_raw_parts(self.at, self.count) }
    }
}

// SAFETY: behind it is a `Reports`, which is both.
unsafe impl Send for Ledger {}
unsafe impl Sync for Ledger {}

impl Reports for Ledger {
    fn report(&self, report: &Report, decisions: &Decisions) {
        // SAFETY: the program keeps it as long as the side.
        unsafe { (self.report)(self.at, report, decisions) }
    }

    fn decisions(&self) -> Decisions {
        // SAFETY: as above.
        unsafe { (self.decisions)(self.at) }
    }
}

/// A stack in an object.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// [`VERSION`]: nothing below is read if it is another.
    pub version: u32,
    /// [`Table::LAYOUT`].
    pub layout: u32,
    /// Makes one side of a connection. The name of the controller is empty where the ledgers decide.
    pub connect: extern "C" fn(&Settings, controller: Slice<'_>, Ledgers<'_>) -> *mut c_void,
    /// Calls it.
    pub call: unsafe extern "C" fn(*mut c_void, &Call<'_>, &mut Answer<'static>),
    /// Ends it.
    pub end: unsafe extern "C" fn(*mut c_void),
}

impl Table {
    /// The sizes of the types that cross.
    pub const LAYOUT: u32 = (size_of::<Settings>() + size_of::<Decisions>() * 3 + size_of::<Report>() * 5) as u32
        + (size_of::<Call<'_>>() * 7 + size_of::<Answer<'_>>() * 11 + size_of::<Ledger>() * 13) as u32;

    /// The stack whose sides `connect` makes, by [`connect`].
    pub const fn new(connect: extern "C" fn(&Settings, Slice<'_>, Ledgers<'_>) -> *mut c_void) -> Self {
        Self { version: VERSION, layout: Self::LAYOUT, connect, call, end }
    }
}

/// Makes a shared object of this crate that shows the stack `$stack`.
#[macro_export]
macro_rules! export {
    ($stack:expr) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub static ACKCLOCK_STACK: $crate::Table = {
            extern "C" fn connect(
                settings: &$crate::Settings,
                controller: $crate::Slice<'_>,
                ledgers: $crate::Ledgers<'_>,
            ) -> *mut ::std::ffi::c_void {
                $crate::connect(&$stack, settings, controller, ledgers)
            }
            $crate::Table::new(connect)
        };
    };
}

/// A side in an object.
struct Instance {
    side: Option<Box<dyn Side>>,
    /// The bytes of the last answer, or why there is no side.
    kept: Bytes,
}

/// [`Table::connect`] of `stack`.
pub fn connect(stack: &dyn Stack, settings: &Settings, controller: Slice<'_>, ledgers: Ledgers<'_>) -> *mut c_void {
    let reports = ledgers.get().iter().map(|ledger| Box::new(*ledger) as Box<dyn Reports>).collect();
    let controller = Some(controller.text()).filter(|name| !name.is_empty());
    let connected = caught(|| stack.connect(settings, controller, reports));
    let instance = match connected.unwrap_or_else(|message| Err(format!("panicked: {message}"))) {
        Ok(side) => Instance { side: Some(side), kept: Bytes::new() },
        Err(why) => Instance { side: None, kept: why.into() },
    };
    Box::into_raw(Box::new(instance)).cast()
}

/// [`Table::call`].
///
/// # Safety
/// `instance` is of [`connect`], and in one call at a time.
pub unsafe extern "C" fn call(instance: *mut c_void, call: &Call<'_>, answer: &mut Answer<'static>) {
    // SAFETY: as asked for.
    let Instance { side, kept } = unsafe { &mut *instance.cast::<Instance>() };
    let Some(living) = side else {
        *answer = Answer::Failed(Slice::new(lasting(kept)));
        return;
    };
    let handled = match call {
        Call::End => {
            let ending = side.take();
            caught(|| drop(ending)).map(|()| Answer::Nothing)
        }
        _ => caught(|| handle(living.as_mut(), call, kept)),
    };
    match handled {
        Ok(given) => *answer = given,
        Err(message) => {
            *kept = format!("panicked: {message}").into();
            // Its destructor may panic as well: it has none to run.
            std::mem::forget(side.take());
            *answer = Answer::Failed(Slice::new(lasting(kept)));
        }
    }
}

/// Bytes that stay until the next call.
fn lasting(bytes: &[u8]) -> &'static [u8] {
    // SAFETY: the program reads an answer before its next call.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) }
}

fn handle(side: &mut dyn Side, call: &Call<'_>, kept: &mut Bytes) -> Answer<'static> {
    let mut keep = |bytes: Bytes| {
        *kept = bytes;
        Slice::new(lasting(kept))
    };
    match *call {
        Call::Receive(now, header, datagram) => side.receive(now, header, BytesMut::from(datagram.get())),
        Call::Transmit(now) => match side.transmit(now) {
            Some((header, datagram)) => return Answer::Leaves(header, Slice::new(lasting(datagram))),
            None => return Answer::Nothing,
        },
        Call::Expire(now) => side.expire(now),
        Call::Deadline => return Answer::Number(side.deadline().unwrap_or(NONE)),
        Call::Poll => {
            return match side.poll() {
                None => Answer::Nothing,
                Some(Event::Connected) => Answer::Connected,
                Some(Event::Opened(path)) => Answer::Opened(path),
                Some(Event::Acknowledged) => Answer::Acknowledged,
                Some(Event::Arrived { stream, from, to }) => Answer::Arrived(stream, from, to),
                Some(Event::Complete(stream)) => Answer::Complete(stream),
                Some(Event::Datagram(datagram)) => Answer::Datagram(keep(datagram)),
                Some(Event::Lost(why)) => Answer::Lost(keep(why.into())),
            };
        }
        Call::OpenStream => return Answer::Number(side.open_stream().unwrap_or(NONE)),
        Call::Write(stream, bytes) => return Answer::Number(side.write(stream, bytes) as u64),
        Call::Finish(stream) => return Answer::Number(u64::from(side.finish(stream))),
        Call::SendDatagram(datagram) => side.send_datagram(Bytes::copy_from_slice(datagram.get())),
        Call::DatagramRoom => {
            let (most, around) = side.datagram_room();
            return Answer::Room(most, around);
        }
        // `call` has the side itself.
        Call::End => {}
    }
    Answer::Nothing
}

/// [`Table::end`].
///
/// # Safety
/// `instance` is of [`connect`], and nothing calls it afterwards.
pub unsafe extern "C" fn end(instance: *mut c_void) {
    // SAFETY: as asked for.
    let instance = unsafe { Box::from_raw(instance.cast::<Instance>()) };
    // A destructor that panics leaks the rest. Its message is for callers of `Call::End`.
    let _ = caught(|| drop(instance));
}
