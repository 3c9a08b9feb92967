//! How a sysctl spells the value of an option.

use transport::{Buffer, EcnMode};
use units::{Bytes, Span};

use super::super::TransportOptions;

/// The setting of explicit congestion notification.
pub(in crate::transport_options) const ECN: &str = "tcp_ecn";

/// A switch.
pub(in crate::transport_options) const SWITCH: Words<bool> = &[("1", true), ("0", false)];
/// Tail loss probes (tcp_schedule_loss_probe).
pub(in crate::transport_options) const PROBES: Words<bool> =
    &[("3", true), ("4", true), ("0", false), ("1", false), ("2", false)];
/// The endpoint may use ECN. Accurate ECN is for a controller to ask for, which no sysctl does.
pub(in crate::transport_options) const MODES: Words<EcnMode> = &[
    ("0", EcnMode::Off),
    ("1", EcnMode::Classic),
    ("2", EcnMode::Classic),
    ("3", EcnMode::Classic),
    ("4", EcnMode::Classic),
    ("5", EcnMode::Classic),
    ("1", EcnMode::Accurate),
];

/// Sizes with which a buffer does not limit a live run.
const UNLIMITED: &str = "4096 8388608 268435456";
/// The first of three sizes.
const LEAST: u64 = 4096;
/// `tcp_comp_sack_nr` of Linux: segments for which a compressed ACK may wait at most.
const SEGMENTS: &str = "44";
/// `tcp_tso_win_divisor` of Linux.
const DIVISOR: u64 = 3;
/// From this one on no train waits.
const NO_TRAIN: u64 = 100;

/// The spellings of values: the first of a value is written, the first of a spelling is read.
type Words<T> = &'static [(&'static str, T)];

/// A sysctl and its spelling of a value.
pub(in crate::transport_options) struct Form<T: 'static> {
    name: &'static str,
    /// Its values, for readers.
    takes: &'static str,
    spelling: Spelling<T>,
}

enum Spelling<T: 'static> {
    Words(Words<T>),
    /// A number, and a unit in which it counts.
    Number {
        of: fn(&T) -> u64,
        value: fn(u64) -> T,
        unit: u64,
    },
    Other {
        write: fn(&T) -> Option<String>,
        read: fn(&str, &mut T) -> Result<(), String>,
    },
}

pub(in crate::transport_options) const fn words<T>(name: &'static str, words: Words<T>) -> Form<T> {
    Form { name, takes: "", spelling: Spelling::Words(words) }
}

pub(in crate::transport_options) const fn number(name: &'static str) -> Form<u32> {
    let value = |number: u64| number.min(u64::from(u32::MAX)) as u32;
    Form { name, takes: "a number", spelling: Spelling::Number { of: |&value| value.into(), value, unit: 1 } }
}

/// A time in multiples of `nanoseconds`.
pub(in crate::transport_options) const fn time(name: &'static str, nanoseconds: u64) -> Form<Span> {
    let spelling = Spelling::Number { of: |span: &Span| span.as_nanos(), value: Span::from_nanos, unit: nanoseconds };
    Form { name, takes: "a number", spelling }
}

/// The number of segments of SACK compression, which is off with none.
pub(in crate::transport_options) const fn compressed(name: &'static str) -> Form<Span> {
    let write = |span: &Span| Some(if span.is_zero() { "0" } else { SEGMENTS }.to_owned());
    let read = |value: &str, span: &mut Span| match value {
        SEGMENTS => Ok(()),
        "0" => {
            *span = Span::ZERO;
            Ok(())
        }
        _ => Err(format!("it is 0 or {SEGMENTS}")),
    };
    Form { name, takes: "0 or 44", spelling: Spelling::Other { write, read } }
}

/// A buffer, in three sizes of memory.
pub(in crate::transport_options) const fn buffer(name: &'static str) -> Form<Buffer> {
    let write = |buffer: &Buffer| Some(sizes(buffer));
    let read = |value: &str, buffer: &mut Buffer| {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        *buffer = match value.parse() {
            _ if value == UNLIMITED => Buffer::Unlimited,
            // A buffer that cannot grow is as one that an application sets, which Linux doubles.
            Ok(Buffer::Tuned { initial, most, .. }) if initial == most => Buffer::Fixed(Bytes::new(most.get() / 2)),
            Ok(buffer @ Buffer::Tuned { .. }) => buffer,
            _ => return Err("it is three ascending numbers".to_owned()),
        };
        Ok(())
    };
    Form { name, takes: "three ascending numbers", spelling: Spelling::Other { write, read } }
}

/// The three sizes that make a `buffer`.
fn sizes(buffer: &Buffer) -> String {
    match *buffer {
        Buffer::Unlimited => UNLIMITED.to_owned(),
        Buffer::Fixed(bytes) => Buffer::tuned(LEAST.min(2 * bytes.get()), 2 * bytes.get(), 2 * bytes.get()).to_string(),
        tuned @ Buffer::Tuned { .. } => tuned.to_string(),
    }
}

/// Segments wait for a train while they are a smaller part of the window than this. Live runs leave it as it is.
pub(in crate::transport_options) const fn divisor(name: &'static str) -> Form<bool> {
    let read = |value: &str, waits: &mut bool| match value.parse::<u64>() {
        Ok(divisor) if divisor == DIVISOR || divisor >= NO_TRAIN => {
            *waits = divisor == DIVISOR;
            Ok(())
        }
        _ => Err(format!("{DIVISOR} is, and from {NO_TRAIN} on no train waits")),
    };
    Form { name, takes: "3, or 100 and more", spelling: Spelling::Other { write: |_| None, read } }
}

impl<T: Clone + PartialEq> Form<T> {
    fn write(&self, value: &T) -> Option<String> {
        match self.spelling {
            Spelling::Words(words) => words.iter().find(|(_, of)| of == value).map(|(word, _)| (*word).to_owned()),
            Spelling::Number { of, unit, .. } => Some((of(value) / unit).to_string()),
            Spelling::Other { write, .. } => write(value),
        }
    }

    fn read(&self, spelled: &str, value: &mut T) -> Result<(), String> {
        match self.spelling {
            Spelling::Words(words) => {
                let found = words.iter().find(|(word, _)| *word == spelled);
                *value = found.ok_or_else(|| format!("it is {}", listed(words)))?.1.clone();
            }
            Spelling::Number { value: of, unit, .. } => {
                let number: u64 = spelled.parse().map_err(|_| "it is a number".to_owned())?;
                *value = of(number.checked_mul(unit).ok_or_else(|| "it is too large".to_owned())?);
            }
            Spelling::Other { read, .. } => read(spelled, value)?,
        }
        Ok(())
    }
}

/// "0, 1 or 2".
fn listed<T>(words: Words<T>) -> String {
    let mut all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    all.sort_unstable();
    all.dedup();
    let (last, others) = all.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

/// A sysctl that sets an option.
pub(in crate::transport_options) struct Declared<T: 'static> {
    pub(in crate::transport_options) option: &'static str,
    pub(in crate::transport_options) form: Form<T>,
    pub(in crate::transport_options) of: fn(&TransportOptions) -> &T,
    pub(in crate::transport_options) of_mut: fn(&mut TransportOptions) -> &mut T,
}

/// The same whatever the type of the option.
pub(in crate::transport_options) trait SetsOption: Sync {
    /// The option.
    fn option(&self) -> &'static str;
    /// The sysctl, below `net.ipv4`.
    fn name(&self) -> &'static str;
    /// The values that are read.
    fn takes(&self) -> String;
    /// The value in live runs, if they set it.
    fn write(&self, options: &TransportOptions) -> Option<String>;
    /// Sets the option to `value`, or says which values there are.
    fn read(&self, value: &str, options: &mut TransportOptions) -> Result<(), String>;
    /// Sets the option to its value in `from`, if live runs set it.
    fn copy(&self, from: &TransportOptions, to: &mut TransportOptions);
}

impl<T: Clone + PartialEq + Sync> SetsOption for Declared<T> {
    fn option(&self) -> &'static str {
        self.option
    }

    fn name(&self) -> &'static str {
        self.form.name
    }

    fn takes(&self) -> String {
        match self.form.spelling {
            Spelling::Words(words) => listed(words),
            _ => self.form.takes.to_owned(),
        }
    }

    fn write(&self, options: &TransportOptions) -> Option<String> {
        self.form.write((self.of)(options))
    }

    fn read(&self, value: &str, options: &mut TransportOptions) -> Result<(), String> {
        self.form.read(value, (self.of_mut)(options))
    }

    fn copy(&self, from: &TransportOptions, to: &mut TransportOptions) {
        if self.write(from).is_some() {
            *(self.of_mut)(to) = (self.of)(from).clone();
        }
    }
}
