//! The structures that cross between an object and the simulator, in the layout of C.
//!
//! The declaration of the signals in `control` makes a mirror of each. Times and spans are nanoseconds, rates bits per
//! second, sizes bytes.

use std::ffi::c_void;

use control::{Counting, Reports};
use units::{Bytes, Random, Rate, Span, Time};

/// A type that crosses.
pub trait Crosses: Copy {
    /// Its mirror.
    type Mirror: Copy;

    /// The mirror of this value.
    fn mirror(&self) -> Self::Mirror;

    /// The value of a mirror.
    fn of(mirror: &Self::Mirror) -> Self;
}

/// An option.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum Maybe<T> {
    /// None.
    No,
    /// Some.
    Yes(T),
}

impl<T: Crosses> Crosses for Option<T> {
    type Mirror = Maybe<T::Mirror>;

    fn mirror(&self) -> Self::Mirror {
        self.as_ref().map_or(Maybe::No, |value| Maybe::Yes(value.mirror()))
    }

    fn of(mirror: &Self::Mirror) -> Self {
        match mirror {
            Maybe::No => None,
            Maybe::Yes(mirror) => Some(T::of(mirror)),
        }
    }
}

/// Types that cross as one number: `type as number: to, from`.
macro_rules! numbers {
    ($($type:ty as $number:ty: $to:expr, $from:expr;)+) => {$(
        impl Crosses for $type {
            type Mirror = $number;

            #[inline]
            fn mirror(&self) -> $number {
                let to: fn($type) -> $number = $to;
                to(*self)
            }

            #[inline]
            fn of(mirror: &$number) -> Self {
                let from: fn($number) -> $type = $from;
                from(*mirror)
            }
        }
    )+};
}

numbers! {
    bool as bool: |value| value, |value| value;
    u32 as u32: |value| value, |value| value;
    u64 as u64: |value| value, |value| value;
    f64 as f64: |value| value, |value| value;
    Time as u64: Time::as_nanos, Time::from_nanos;
    Span as u64: Span::as_nanos, Span::from_nanos;
    Rate as u64: Rate::bits_per_second, Rate::from_bits_per_second;
    Bytes as u64: Bytes::get, Bytes::new;
    Counting as u64: to_credit, from_credit;
    Reports as u8: to_segments, from_segments;
}

/// The limit in bytes counting, and a number above all limits for the others.
fn to_credit(counting: Counting) -> u64 {
    match counting {
        Counting::Bytes { limit } => limit.into(),
        Counting::PerAck => u64::MAX - 1,
        Counting::Segments => u64::MAX,
    }
}

fn from_credit(credit: u64) -> Counting {
    match u32::try_from(credit) {
        Ok(limit) => Counting::Bytes { limit },
        Err(_) if credit == u64::MAX => Counting::Segments,
        Err(_) => Counting::PerAck,
    }
}

fn to_segments(reports: Reports) -> u8 {
    match reports {
        Reports::None => 0,
        Reports::Lost => 1,
        Reports::All => 2,
    }
}

fn from_segments(number: u8) -> Reports {
    match number {
        0 => Reports::None,
        1 => Reports::Lost,
        _ => Reports::All,
    }
}

/// A number of `texts` that begins with `number`. White space does not count: compilers write it differently.
const fn digest(mut number: u32, texts: &[&str]) -> u32 {
    let mut text = 0;
    while text < texts.len() {
        let (bytes, mut at) = (texts[text].as_bytes(), 0);
        while at < bytes.len() {
            if !bytes[at].is_ascii_whitespace() {
                number = (number ^ bytes[at] as u32).wrapping_mul(16_777_619);
            }
            at += 1;
        }
        text += 1;
    }
    number
}

/// The mirrors of all signals.
macro_rules! mirrors {
    (
        moment { $($moment:tt)* }
        objects { $($objects:tt)* }
        parts { $($(#[doc = $about:literal])+ $name:ident { $($fields:tt)* })+ }
    ) => {
        mirrors! { @scripts $($moment)* $($objects)* }
        $(mirrors! { @one $name { $($fields)* } })+

        /// A number of all fields and their types, in their order.
        pub(crate) const DIGEST: u32 = digest(SCRIPTS, &[$($name::FIELDS),+]);
    };
    (@scripts $(
        $(#[doc = $about:literal])+
        $name:ident { $($shown:tt)* }
        hidden { $($hidden:tt)* }
        computed { $($computed:tt)* }
        methods { $($methods:tt)* }
    )+) => {
        $(mirrors! { @one $name { $($shown)* $($hidden)* } })+

        const SCRIPTS: u32 = digest(0, &[$($name::FIELDS),+]);
    };
    (@one $name:ident {
        $($(#[doc = $about:literal])+ $field:ident: $type:ty $(= $empty:expr $(, none $when:literal)?)?;)*
    }) => {
        #[doc = concat!("See [`control::", stringify!($name), "`].")]
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $($field: <$type as Crosses>::Mirror,)*
        }

        impl $name {
            const FIELDS: &str = concat!($(stringify!($field), ":", stringify!($type), ";"),*);
        }

        impl Crosses for control::$name {
            type Mirror = $name;

            fn mirror(&self) -> $name {
                $name { $($field: self.$field.mirror(),)* }
            }

            fn of(mirror: &$name) -> Self {
                Self { $($field: Crosses::of(&mirror.$field),)* }
            }
        }
    };
}

control::signals!(mirrors);

/// See [`control::Context`].
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    moment: Moment,
    /// The simulator's [`Random`].
    random: *mut c_void,
}

impl Context {
    /// The context of an event. The random stream is borrowed as long as it is handled.
    pub fn new(of: &mut control::Context<'_>) -> Self {
        Self { moment: of.moment.mirror(), random: std::ptr::from_mut::<Random>(of.random).cast() }
    }

    /// As `control` has it.
    ///
    /// # Safety
    /// The event is still being handled, and the stream of both sides is the same kind of thing.
    pub unsafe fn get(&mut self) -> control::Context<'_> {
        control::Context {
            moment: Crosses::of(&self.moment),
            // SAFETY: as the caller promises.
            random: unsafe { &mut *self.random.cast::<Random>() },
        }
    }
}

/// The events: the methods of [`control::Controller`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "they have the names of the methods; a handshake took nanoseconds")]
pub enum Event<'a> {
    Start,
    Handshake(u64),
    Ack(&'a Ack),
    DuplicateAck(&'a Ack),
    Loss(&'a Loss),
    Ecn(&'a Marks),
    Recovered,
    Timeout(&'a Loss),
    Spurious,
    IdleRestart,
    Sent(&'a Transmission),
    TransmitStart(&'a TransmitStart),
    SegmentDelivered(&'a SegmentReport),
    SegmentLost(&'a SegmentReport),
    Timer,
}

impl Event<'_> {
    /// The name of the method.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start => "on_start",
            Self::Handshake(_) => "on_handshake",
            Self::Ack(_) => "on_ack",
            Self::DuplicateAck(_) => "on_duplicate_ack",
            Self::Loss(_) => "on_loss",
            Self::Ecn(_) => "on_ecn",
            Self::Recovered => "on_recovered",
            Self::Timeout(_) => "on_timeout",
            Self::Spurious => "on_spurious",
            Self::IdleRestart => "on_idle_restart",
            Self::Sent(_) => "on_sent",
            Self::TransmitStart(_) => "on_transmit_start",
            Self::SegmentDelivered(_) => "on_segment_delivered",
            Self::SegmentLost(_) => "on_segment_lost",
            Self::Timer => "on_timer",
        }
    }
}

/// The decisions of a controller after an event.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Decisions {
    /// The window in segments.
    pub window: f64,
    /// The slow-start threshold in segments.
    pub threshold: f64,
    /// The pacing rate in bits per second.
    pub pacing: Maybe<u64>,
    /// Segments of a burst.
    pub quantum: u32,
    /// When its timer is due, in nanoseconds.
    pub timeout: Maybe<u64>,
    /// The answer of `keep`.
    pub keeps: bool,
}

impl Decisions {
    /// The decisions of a controller that has yet to be made.
    pub const NONE: Self =
        Self { window: 1.0, threshold: f64::INFINITY, pacing: Maybe::No, quantum: 1, timeout: Maybe::No, keeps: false };

    /// The decisions of `controller`.
    pub fn of(controller: &dyn control::Controller) -> Self {
        let (window, threshold, pacing) = controller.decisions();
        Self {
            window,
            threshold,
            pacing: pacing.mirror(),
            quantum: controller.send_quantum(),
            timeout: controller.poll_timeout().mirror(),
            keeps: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_fnv_1a_of_the_letters_without_blanks() {
        // The offset basis of 32 bits, and the digest of `a` by the reference of FNV.
        assert_eq!(digest(0x811c_9dc5, &["a"]), 0xe40c_292c);
        assert_eq!(digest(0x811c_9dc5, &["foobar"]), 0xbf9c_f968);
        assert_eq!(digest(0x811c_9dc5, &["foo", "", " b\na", "r\t"]), 0xbf9c_f968);
        assert_eq!(digest(7, &[]), 7);
    }

    #[test]
    fn counting_and_reports_cross_as_numbers_of_their_own() {
        let counts = [
            Counting::Bytes { limit: 0 },
            Counting::Bytes { limit: 2 },
            Counting::Bytes { limit: u32::MAX },
            Counting::PerAck,
            Counting::Segments,
        ];
        assert_eq!(counts.map(|count| count.mirror()), [0, 2, u64::from(u32::MAX), u64::MAX - 1, u64::MAX]);
        assert_eq!(counts.map(|count| Counting::of(&count.mirror())), counts);
        let reports = [Reports::None, Reports::Lost, Reports::All];
        assert_eq!(reports.map(|report| report.mirror()), [0, 1, 2]);
        assert_eq!(reports.map(|report| Reports::of(&report.mirror())), reports);
        let known = [None, Some(Span::from_millis(2))];
        assert_eq!(known.map(|span| Option::<Span>::of(&span.mirror())), known);
    }

    #[test]
    fn every_event_has_the_name_of_its_method() {
        let acks = control::Ack::EMPTY.mirror();
        let losses = control::Loss::EMPTY.mirror();
        let segments = control::SegmentReport::EMPTY.mirror();
        let start = control::TransmitStart { idle: Span::ZERO, application_limited: false }.mirror();
        let names = [
            Event::Start,
            Event::Handshake(5),
            Event::Ack(&acks),
            Event::DuplicateAck(&acks),
            Event::Loss(&losses),
            Event::Ecn(&control::Marks::EMPTY.mirror()),
            Event::Recovered,
            Event::Timeout(&losses),
            Event::Spurious,
            Event::IdleRestart,
            Event::Sent(&control::Transmission::EMPTY.mirror()),
            Event::TransmitStart(&start),
            Event::SegmentDelivered(&segments),
            Event::SegmentLost(&segments),
            Event::Timer,
        ]
        .map(|event| event.name());
        let methods = "start handshake ack duplicate_ack loss ecn recovered timeout spurious idle_restart sent \
                       transmit_start segment_delivered segment_lost timer";
        assert_eq!(names.to_vec(), methods.split(' ').map(|method| format!("on_{method}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_signal_crosses_with_all_of_its_fields() {
        let ack = control::Ack {
            rtt: Some(control::RttSample { value: Span::from_millis(40), delayed: true }),
            newly_delivered: 3,
            newly_sacked: Some(9),
            round_start: true,
            timestamp_echo: Time::from_nanos(5),
            limit: 12,
            ..control::Ack::EMPTY
        };
        assert_eq!(control::Ack::of(&ack.mirror()), ack);
        assert_eq!(control::Ack::of(&control::Ack::EMPTY.mirror()), control::Ack::EMPTY);
    }
}
