//! The loaded object of a file in C: its callbacks, parameters, and the memory of its connections.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_void};
use std::ptr::{from_mut, from_ref, null_mut};
use std::sync::Arc;

use control::stacks::LINUX;
use control::{Parameters, declared_name, registry};
use serde_json::Value;
use units::{Random, Span};

use crate::connection::{AckSample, Connection, ProbeValue, RateSample};
use crate::object::{Object, named, text};
use crate::{Error, crash};

type Number = Option<unsafe extern "C" fn(*mut u64) -> u32>;
type Nothing = Option<unsafe extern "C" fn(*mut u64)>;

/// `struct tcp_congestion_ops`.
#[repr(C)]
struct Ops {
    ssthresh: Number,
    cong_avoid: Nothing,
    set_state: Nothing,
    cwnd_event: Nothing,
    in_ack_event: Nothing,
    pkts_acked: Nothing,
    min_tso_segs: Number,
    cong_control: Nothing,
    undo_cwnd: Number,
    sndbuf_expand: Number,
    flags: u32,
    name: [c_char; 16],
    init: Nothing,
    release: Nothing,
}

/// `struct ack_parameter`.
#[repr(C)]
struct RawParameter {
    name: *const c_char,
    kind: *const c_char,
    choices: *const c_char,
    at: *mut c_void,
    size: u64,
    next: *const Self,
}

/// `struct ack_module`.
#[repr(C)]
struct Module {
    connection_size: u64,
    ops: *const Ops,
    parameters: *const *const RawParameter,
    state_size: *const u64,
    probes: *const *const c_char,
    compiler: *const c_char,
}

/// One loaded copy of an object, with the parameters that it has for good.
pub(crate) struct Library {
    /// Last of all it is unloaded: connections hold the library, and names of probes were copied.
    _object: Object,
    /// Its name in the message of a crash.
    name: CString,
    /// Into the object, which stays loaded as long as this.
    ops: &'static Ops,
    /// Words of state that a connection needs beside `icsk_ca_priv`.
    state_words: usize,
    probes: Vec<&'static str>,
}

// SAFETY: what belongs to a connection is in its `Connection`, and the pointer to the connection that a callback is
// about is local to the thread. Further variables of the object belong to one run, which calls one controller at a
// time.
unsafe impl Send for Library {}
unsafe impl Sync for Library {}

impl Library {
    /// Loads a copy of `object`, made from the file `name`, and sets `given`.
    pub(crate) fn load(name: &str, object: &[u8], given: &Parameters) -> Result<Self, Error> {
        let refuse = |what: &str| Error::Source(format!("`{name}` {what}"));
        let object = Object::open(name, object)?;
        // SAFETY: what CONTROLLER defines under this name is a `struct ack_module`, constant and as long-lived as the
        // object.
        let Some(module) = object.symbol::<Module>(c"ack_module").map(|module| unsafe { module.as_ref() }) else {
            return Err(refuse("defines no controller: it needs CONTROLLER(\"ack_name\", ...) of ack.h"));
        };
        // SAFETY: its pointers are to memory of the object.
        let (probes, ops, state_words) = unsafe {
            (
                text(*module.probes).map(names).unwrap_or_default(),
                &*module.ops,
                (*module.state_size).div_ceil(8) as usize,
            )
        };
        let probes = probes.into_iter().map(control::intern).collect();
        let library = Self { _object: object, name: named(name), ops, state_words, probes };
        if module.connection_size != size_of::<Connection>() as u64 {
            return Err(refuse("was compiled with another layout of `struct connection`"));
        }
        let ops = library.ops;
        if ops.ssthresh.is_none() || ops.undo_cwnd.is_none() || (ops.cong_avoid.is_none() && ops.cong_control.is_none())
        {
            return Err(refuse("needs the callbacks ssthresh, undo_cwnd, and cong_avoid or cong_control"));
        }
        // The kernel refuses it otherwise, and the file is for both.
        let bytes: Vec<u8> = ops.name.iter().map(|&c| c as u8).take_while(|&byte| byte != 0).collect();
        let called = declared_name(&bytes).map_err(|why| Error::Source(format!("`{name}`: {why}")))?;
        // SAFETY: constructors of the object have built the list. It ends with a null pointer.
        let mut parameters = Vec::new();
        let mut next = unsafe { *module.parameters };
        while let Some(parameter) = unsafe { next.as_ref() } {
            parameters.push(parameter);
            next = parameter.next;
        }
        parameters.reverse();
        set(name, &parameters, given)?;
        check_ranges(name, &called, given)?;
        Ok(library)
    }

    /// True if `cong_control` decides everything, also during recovery.
    pub(crate) fn controls_all(&self) -> bool {
        self.ops.cong_control.is_some()
    }
}

/// The names in a list with commas between.
fn names(list: &str) -> Vec<&str> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// Sets the parameters `given` in the object.
fn set(controller: &str, known: &[&RawParameter], given: &Parameters) -> Result<(), Error> {
    for (name, value) in given {
        let Some(parameter) = known.iter().find(|parameter| text(parameter.name) == Some(name)) else {
            let known: Vec<String> = known.iter().filter_map(|p| text(p.name)).map(|p| format!("`{p}`")).collect();
            return Err(Error::Parameter(if known.is_empty() {
                format!("`{controller}` has no parameters, so `{name}` cannot be set")
            } else {
                format!("`{controller}` has no parameter `{name}` (there are {})", known.join(", "))
            }));
        };
        let (kind, choices) =
            (text(parameter.kind).unwrap_or_default(), names(text(parameter.choices).unwrap_or_default()));
        let number = encode(kind, &choices, value).map_err(|allowed| {
            Error::Parameter(format!("`{controller}`, parameter `{name}`: {value} is not allowed (allowed: {allowed})"))
        })?;
        // SAFETY: `at` is a variable of `size` bytes, an integer. No connection uses the object yet.
        unsafe {
            match parameter.size {
                1 => parameter.at.cast::<u8>().write(number as u8),
                2 => parameter.at.cast::<u16>().write(number as u16),
                4 => parameter.at.cast::<u32>().write(number as u32),
                _ => parameter.at.cast::<u64>().write(number),
            }
        }
    }
    Ok(())
}

/// The file `name` with the controller `called`: where that is the form for the kernel of one of the registry, its
/// ranges hold.
fn check_ranges(name: &str, called: &str, given: &Parameters) -> Result<(), Error> {
    let Some(entry) = called.strip_prefix("ack_").and_then(|plain| registry::find(plain).ok()) else { return Ok(()) };
    let known = entry.form(LINUX).unwrap_or_else(|| entry.standard()).parameters;
    let shared: Parameters = given
        .iter()
        .filter(|(key, _)| known.iter().any(|parameter| parameter.name == key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let wrong = |error: control::ParameterError| {
        Error::Parameter(error.to_string().replacen(&format!("`{}`", entry.name), &format!("`{name}`"), 1))
    };
    entry.build_for(LINUX, &shared).map(drop).map_err(wrong)
}

/// `value`, as a scenario writes it, in the units of type `kind` of ack.h, or the allowed values as an error.
fn encode(kind: &str, choices: &[&str], value: &Value) -> Result<u64, String> {
    const UNIT: f64 = 4_294_967_296.0;
    let whole = |below: u64| value.as_u64().filter(|&number| number < below);
    let (number, allowed) = match kind {
        "span" => (
            value.as_str().and_then(|text| text.parse::<Span>().ok()).map(Span::as_nanos),
            "a time such as \"3ms\"".to_owned(),
        ),
        "real" => (
            value.as_f64().filter(|x| (0.0..UNIT).contains(x)).map(|x| (x * UNIT).round() as u64),
            "a number from 0, below 4294967296".to_owned(),
        ),
        "bool" => (value.as_bool().map(u64::from), "true or false".to_owned()),
        "choice" => {
            let text = value.as_str().map_or_else(|| value.to_string(), |text| text.replace('-', "_"));
            let allowed = choices.iter().map(|name| name.replace('_', "-")).collect::<Vec<_>>().join(", ");
            (choices.iter().position(|name| *name == text).map(|at| at as u64), allowed)
        }
        "u8" => (whole(1 << 8), "a whole number from 0 to 255".to_owned()),
        "u16" => (whole(1 << 16), "a whole number from 0 to 65535".to_owned()),
        _ => (whole(1 << 32), "a whole number from 0 to 4294967295".to_owned()),
    };
    number.ok_or(allowed)
}

/// The connection of one flow: the state that the callbacks see, and the state that the controller keeps.
pub(crate) struct Instance {
    library: Arc<Library>,
    connection: Box<Connection>,
    /// STORED_STATE.
    state: Vec<u64>,
    record: Vec<ProbeValue>,
    /// There is no memory for the state: STORED_STATE is NULL.
    #[cfg(test)]
    pub(crate) starved: bool,
}

// SAFETY: the pointers in the connection are to memory that the instance owns, or null outside of a call.
unsafe impl Send for Instance {}

impl Instance {
    pub(crate) fn new(library: Arc<Library>) -> Self {
        let (state, record) = (vec![0; library.state_words], vec![ProbeValue::default(); library.probes.len()]);
        Self {
            library,
            connection: Box::new(Connection::new(draw)),
            state,
            record,
            #[cfg(test)]
            starved: false,
        }
    }

    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The last record of the probes.
    pub(crate) fn probes(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let shown = self.library.probes.iter().zip(&self.record).filter(|(_, shown)| shown.divisor != 0);
        shown.map(|(&name, shown)| (name, shown.value as f64 / shown.divisor as f64))
    }

    /// Runs `callback` with the connection and two more arguments. A controller that lacks it does nothing. `event` is
    /// its name in the message of a crash.
    fn call<R>(
        &mut self,
        event: &'static str,
        random: Option<&mut Random>,
        arguments: [u64; 3],
        callback: impl FnOnce(&Ops, *mut u64) -> R,
    ) -> R {
        let connection = &mut self.connection;
        connection.stored = self.state.as_mut_ptr().cast();
        #[cfg(test)]
        if self.starved {
            connection.stored = null_mut();
        }
        connection.record = self.record.as_mut_ptr().cast();
        connection.source = random.map_or(null_mut(), |random| from_mut(random).cast());
        let [a, b, c] = arguments;
        let mut arguments = [from_mut::<Connection>(connection) as u64, a, b, c];
        let library = &self.library;
        let result = crash::naming(&library.name, event, || callback(library.ops, arguments.as_mut_ptr()));
        self.connection.source = null_mut();
        result
    }

    fn run(
        &mut self,
        event: &'static str,
        random: Option<&mut Random>,
        arguments: [u64; 3],
        callback: impl FnOnce(&Ops) -> Nothing,
    ) {
        self.call(event, random, arguments, |ops, arguments| {
            if let Some(callback) = callback(ops) {
                // SAFETY: a function of the object, which stays loaded. The array holds the connection, whose memory
                // belongs to this instance, and the arguments of the callback.
                unsafe { callback(arguments) };
            }
        });
    }

    fn ask(&mut self, event: &'static str, random: &mut Random, callback: impl FnOnce(&Ops) -> Number) -> u32 {
        self.call(event, Some(random), [0; 3], |ops, arguments| {
            // SAFETY: as in `run`.
            callback(ops).map_or(0, |callback| unsafe { callback(arguments) })
        })
    }

    pub(crate) fn init(&mut self, random: &mut Random) {
        self.run("init", Some(random), [0; 3], |ops| ops.init);
    }

    pub(crate) fn ssthresh(&mut self, random: &mut Random) -> u32 {
        self.ask("ssthresh", random, |ops| ops.ssthresh)
    }

    pub(crate) fn undo_cwnd(&mut self, random: &mut Random) -> u32 {
        self.ask("undo_cwnd", random, |ops| ops.undo_cwnd)
    }

    pub(crate) fn set_state(&mut self, random: &mut Random, next: u8) {
        self.run("set_state", Some(random), [next.into(), 0, 0], |ops| ops.set_state);
    }

    pub(crate) fn cwnd_event(&mut self, random: &mut Random, event: u32) {
        self.run("cwnd_event", Some(random), [event.into(), 0, 0], |ops| ops.cwnd_event);
    }

    pub(crate) fn pkts_acked(&mut self, random: &mut Random, sample: &AckSample) {
        self.run("pkts_acked", Some(random), [from_ref(sample) as u64, 0, 0], |ops| ops.pkts_acked);
    }

    pub(crate) fn in_ack_event(&mut self, random: &mut Random, flags: u64) {
        self.run("in_ack_event", Some(random), [flags, 0, 0], |ops| ops.in_ack_event);
    }

    pub(crate) fn cong_avoid(&mut self, random: &mut Random, ack: u32, acked: u32) {
        self.run("cong_avoid", Some(random), [ack.into(), acked.into(), 0], |ops| ops.cong_avoid);
    }

    pub(crate) fn cong_control(&mut self, random: &mut Random, ack: u32, flags: u64, sample: &RateSample) {
        self.run("cong_control", Some(random), [ack.into(), flags, from_ref(sample) as u64], |ops| ops.cong_control);
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.run("release", None, [0; 3], |ops| ops.release);
    }
}

/// 32 bits from the random stream of the flow, or 0 if there is none, as at its end.
extern "C" fn draw(source: *mut c_void) -> u32 {
    // SAFETY: null, or the stream that `call` borrows for as long as the callback runs.
    let random = unsafe { source.cast::<Random>().as_mut() };
    random.map_or(0, |random| (random.uniform() * 4_294_967_296.0) as u32)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_in_the_units_of_ack_h() {
        let choices = ["1", "2", "in_turns"];
        for (kind, given, stored) in [
            ("span", json!("3ms"), 3_000_000),
            ("real", json!(0.75), 3 << 30),
            ("u32", json!(20), 20),
            ("bool", json!(true), 1),
            ("choice", json!(2), 1),
            ("choice", json!("in-turns"), 2),
        ] {
            assert_eq!(encode(kind, &choices, &given), Ok(stored), "{kind} {given}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_answered_by_what_is_allowed() {
        assert_eq!(encode("choice", &["a_b", "c"], &json!("d")), Err("a-b, c".to_owned()));
        assert!(encode("u32", &[], &json!(-1)).is_err());
        assert!(encode("real", &[], &json!(4_294_967_296u64)).is_err());
        for (kind, most) in [("u8", 255), ("u16", 65_535), ("u32", u64::from(u32::MAX))] {
            assert_eq!(encode(kind, &[], &json!(most)), Ok(most));
            let allowed = format!("a whole number from 0 to {most}");
            assert_eq!(encode(kind, &[], &json!(most + 1)), Err(allowed));
        }
        assert!(encode("span", &[], &json!(3)).is_err());
    }
}
