//! The table that an object shows under one name.

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::mem::size_of;

use units::Random;

use crate::instance;
use crate::signals::{Ack, Context, DIGEST, Decisions, Event, SegmentReport, Wants};

/// The version of the table and of its functions. It counts up with every change; a signal more changes the layout.
pub const VERSION: u32 = 5;

/// The name of the table in an object.
pub const SYMBOL: &CStr = c"ACKCLOCK_CONTROLLER";

/// Text in UTF-8, valid as long as its subject.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    at: *const u8,
    length: usize,
    owner: PhantomData<&'a str>,
}

impl<'a> Text<'a> {
    /// The text of a string.
    pub const fn new(text: &'a str) -> Self {
        Self { at: text.as_ptr(), length: text.len(), owner: PhantomData }
    }

    /// The string.
    pub fn get(self) -> &'a str {
        // SAFETY: made from a string that is still there.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.at, self.length)) }
    }
}

/// Takes a named internal of a controller.
pub type Show = extern "C" fn(taker: *mut c_void, name: Text<'_>, value: f64);

/// The answer of [`Table::make`].
#[repr(C)]
#[derive(Debug)]
pub struct Made {
    /// For the other functions. If the controller could not be made, it only has the message.
    pub instance: *mut c_void,
    /// There is a controller.
    pub is_made: bool,
    /// It failed by a panic, not by its parameters.
    pub has_panicked: bool,
    /// The wishes of the controller.
    pub wants: Wants,
    /// Its first decisions.
    pub decisions: Decisions,
}

/// A controller of an object.
#[repr(C)]
#[derive(Debug)]
pub struct Table {
    /// [`VERSION`]: nothing below is read if it is another.
    pub version: u32,
    /// [`Table::LAYOUT`], so that a signal more is another layout.
    pub layout: u32,
    /// Gives the memory of a certain random stream: [`Context::random`] points to one of the simulator's.
    pub stream: extern "C" fn(&mut [u64; 2]),
    /// The name of the controller.
    pub name: Text<'static>,
    /// Makes it with parameters, an object in JSON.
    pub make: extern "C" fn(parameters: Text<'_>, made: &mut Made),
    /// Handles an event: false if that failed.
    pub event: unsafe extern "C" fn(*mut c_void, &mut Context, &Event<'_>, &mut Decisions) -> bool,
    /// Calls [`keep`](control::Controller::keep): false if that failed.
    pub keep: unsafe extern "C" fn(*mut c_void, window: f64, &mut Decisions) -> bool,
    /// Shows its internals to `taker`: false if that failed.
    pub probe: unsafe extern "C" fn(*mut c_void, taker: *mut c_void, show: Show) -> bool,
    /// Runs the destructor of the controller: false if that failed. Only its message and the end may follow.
    pub finish: unsafe extern "C" fn(*mut c_void) -> bool,
    /// Why the last call failed.
    pub message: unsafe extern "C" fn(*const c_void) -> Text<'static>,
    /// Ends it.
    pub end: unsafe extern "C" fn(*mut c_void),
}

/// The memory of a random stream, which both sides must have alike.
pub extern "C" fn stream(memory: &mut [u64; 2]) {
    const { assert!(size_of::<Random>() == size_of::<[u64; 2]>()) };
    // SAFETY: of the same size, and words may have any value.
    *memory = unsafe { std::mem::transmute::<Random, [u64; 2]>(Random::stream(1, "plugin", 0)) };
}

// SAFETY: constants.
unsafe impl Sync for Table {}

impl Table {
    /// The sizes of the types that cross, and the fields of all signals.
    pub const LAYOUT: u32 = DIGEST.wrapping_add(Self::SIZES);

    const SIZES: u32 = (size_of::<Ack>() + size_of::<SegmentReport>() * 3 + size_of::<Context>() * 5) as u32
        + (size_of::<Event<'_>>() * 7 + size_of::<Decisions>() * 11 + size_of::<Made>() * 13) as u32;

    /// The controller `name`, made by `make`.
    pub const fn new(name: &'static str, make: extern "C" fn(Text<'_>, &mut Made)) -> Self {
        Self {
            version: VERSION,
            layout: Self::LAYOUT,
            stream,
            name: Text::new(name),
            make,
            event: instance::event,
            keep: instance::keep,
            probe: instance::probe,
            finish: instance::finish,
            message: instance::message,
            end: instance::end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_changes_with_the_size_of_every_type_and_with_the_fields() {
        // Each size has a factor of its own, so that two changes do not cancel out.
        let sizes = [
            (size_of::<Ack>(), 1),
            (size_of::<SegmentReport>(), 3),
            (size_of::<Context>(), 5),
            (size_of::<Event<'_>>(), 7),
            (size_of::<Decisions>(), 11),
            (size_of::<Made>(), 13),
        ];
        let sum: usize = sizes.into_iter().map(|(size, factor)| size * factor).sum();
        assert_eq!(Table::SIZES, sum as u32);
        assert_eq!(Table::LAYOUT, DIGEST.wrapping_add(sum as u32));
    }

    #[test]
    fn the_memory_of_a_stream_is_that_of_one_and_the_same_seed() {
        let mut memory = [0; 2];
        stream(&mut memory);
        // SAFETY: of the same size, and a stream may be in any state.
        let mut random = unsafe { std::mem::transmute::<[u64; 2], Random>(memory) };
        assert_eq!(random.uniform(), Random::stream(1, "plugin", 0).uniform());
        assert_eq!(Text::new("name").get(), "name");
    }
}
