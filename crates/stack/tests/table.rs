//! The functions behind the table, called as a program calls them.
#![allow(unsafe_code)]

use std::ffi::c_void;

use bytes::{Bytes, BytesMut};
use stack::{Answer, Call, Event, Header, Ledgers, Reports, Settings, Side, Slice, Stack, Table};

/// A side that does nothing, and panics where it is asked to.
struct Fatal {
    at_end: bool,
}

impl Drop for Fatal {
    fn drop(&mut self) {
        assert!(!self.at_end, "at the end");
    }
}

impl Side for Fatal {
    fn receive(&mut self, _now: u64, _header: Header, _datagram: BytesMut) {}

    fn transmit(&mut self, _now: u64) -> Option<(Header, &[u8])> {
        None
    }

    fn expire(&mut self, _now: u64) {
        panic!("at a timer");
    }

    fn deadline(&mut self) -> Option<u64> {
        Some(7)
    }

    fn poll(&mut self) -> Option<Event> {
        None
    }

    fn open_stream(&mut self) -> Option<u64> {
        None
    }

    fn write(&mut self, _stream: u64, _bytes: usize) -> usize {
        0
    }

    fn finish(&mut self, _stream: u64) -> bool {
        false
    }

    fn send_datagram(&mut self, _datagram: Bytes) {}

    fn datagram_room(&mut self) -> (usize, usize) {
        (0, 0)
    }
}

/// Its controller is called `fatal` where its sides panic at the end.
struct Made;

impl Stack for Made {
    fn connect(
        &self,
        _settings: &Settings,
        controller: Option<&str>,
        _reports: Vec<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        Ok(Box::new(Fatal { at_end: controller == Some("fatal") }))
    }
}

extern "C" fn connect(settings: &Settings, controller: Slice<'_>, ledgers: Ledgers<'_>) -> *mut c_void {
    stack::connect(&Made, settings, controller, ledgers)
}

const TABLE: Table = Table::new(connect);

const SETTINGS: Settings = Settings {
    now: 0,
    seed: [0; 32],
    is_client: true,
    packet_size: 1452,
    receive_window: 1 << 20,
    initial_window: 14_520,
    paths: 1,
};

/// An instance of the table.
struct Instance(*mut c_void);

impl Instance {
    fn new(controller: &str) -> Self {
        Self((TABLE.connect)(&SETTINGS, Slice::new(controller.as_bytes()), Ledgers::new(&[])))
    }

    /// The answer to `call`: what has failed, or a number.
    fn call(&self, call: &Call<'_>) -> Result<Option<u64>, String> {
        let mut answer = Answer::Nothing;
        // SAFETY: an instance of this table.
        unsafe { (TABLE.call)(self.0, call, &mut answer) };
        match answer {
            Answer::Failed(why) => Err(why.text().to_owned()),
            Answer::Number(number) => Ok(Some(number)),
            _ => Ok(None),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: an instance of this table, with one owner.
        unsafe { (TABLE.end)(self.0) };
    }
}

/// The message of the panic at the line with `code`.
fn panicked(message: &str, code: &str) -> String {
    let before = include_str!("table.rs").lines().position(|line| line.contains(code)).unwrap();
    format!("panicked: {message} (crates/stack/tests/table.rs, line {})", before + 1)
}

#[test]
fn a_side_that_panics_is_gone_and_every_call_says_why() {
    let side = Instance::new("");
    assert_eq!(side.call(&Call::Deadline), Ok(Some(7)));
    let why = Err(panicked("at a timer", "panic!(\"at a"));
    assert_eq!(side.call(&Call::Expire(1)), why);
    assert_eq!(side.call(&Call::Deadline), why);
    assert_eq!(side.call(&Call::End), why);
}

#[test]
fn a_side_whose_destructor_panics_says_so_at_its_end() {
    let side = Instance::new("fatal");
    assert_eq!(side.call(&Call::End), Err(panicked("at the end", "!self.at_end")));
    let side = Instance::new("");
    assert_eq!(side.call(&Call::End), Ok(None));
}
