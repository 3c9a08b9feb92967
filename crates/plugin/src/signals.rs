//! The structures that cross between an object and the simulator, in the layout of C.
//!
//! Each mirrors one of `control` field by field. Times and spans are nanoseconds, rates bits per second.

use std::ffi::c_void;

use control::{Counting, Reports};
use units::{Bytes, Random, Rate, Span, Time};

/// The mirror of a type.
pub trait Mirror {
    /// The type.
    type Of: Copy;

    /// The mirror of a value.
    fn of(value: &Self::Of) -> Self;

    /// The value.
    fn get(&self) -> Self::Of;
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

impl<T: Mirror> Mirror for Maybe<T> {
    type Of = Option<T::Of>;

    fn of(value: &Option<T::Of>) -> Self {
        value.as_ref().map_or(Self::No, |value| Self::Yes(T::of(value)))
    }

    fn get(&self) -> Option<T::Of> {
        match self {
            Self::No => None,
            Self::Yes(value) => Some(value.get()),
        }
    }
}

/// Types of one number: `name(number) of Type: to, from`.
macro_rules! numbers {
    ($($(#[$about:meta])* $name:ident($number:ty) of $of:ty: $to:expr, $from:expr;)+) => {$(
        $(#[$about])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name($number);

        impl Mirror for $name {
            type Of = $of;

            fn of(value: &$of) -> Self {
                let to: fn($of) -> $number = $to;
                Self(to(*value))
            }

            fn get(&self) -> $of {
                let from: fn($number) -> $of = $from;
                from(self.0)
            }
        }
    )+};
}

numbers! {
    /// A time in nanoseconds.
    Moment(u64) of Time: Time::as_nanos, Time::from_nanos;
    /// A span in nanoseconds.
    Nanos(u64) of Span: Span::as_nanos, Span::from_nanos;
    /// A rate in bits per second.
    BitsPerSecond(u64) of Rate: Rate::bits_per_second, Rate::from_bits_per_second;
    /// A size in bytes.
    Octets(u64) of Bytes: Bytes::get, Bytes::new;
    /// See [`Counting`]: the limit in bytes counting, and a number above all limits for the others.
    Credit(u64) of Counting: to_credit, from_credit;
    /// See [`Reports`].
    Segments(u8) of Reports: to_segments, from_segments;
}

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

/// Types that are their own mirrors.
macro_rules! plain {
    ($($name:ty),+) => {$(
        impl Mirror for $name {
            type Of = Self;

            fn of(value: &Self) -> Self {
                *value
            }

            fn get(&self) -> Self {
                *self
            }
        }
    )+};
}

plain!(u32, u64, f64, bool);

/// Mirrors of structures of `control`, with the mirrors of their fields.
macro_rules! mirrors {
    ($($(#[$about:meta])* $name:ident { $($field:ident: $kind:ty,)+ })+) => {$(
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $($field: $kind,)+
        }

        impl Mirror for $name {
            type Of = control::$name;

            fn of(value: &control::$name) -> Self {
                Self { $($field: Mirror::of(&value.$field),)+ }
            }

            fn get(&self) -> control::$name {
                control::$name { $($field: self.$field.get(),)+ }
            }
        }
    )+};
}

mirrors! {
    /// See [`control::SentState`].
    SentState {
        at: Moment,
        delivered: u64,
        lost: u64,
        marked: u64,
        in_flight: u32,
        application_limited: bool,
    }
    /// See [`control::SegmentReport`].
    SegmentReport {
        sequence: u64,
        retransmitted: bool,
        rtt: Maybe<Nanos>,
        sent: SentState,
    }
    /// See [`control::Transmission`].
    Transmission {
        sequence: u64,
        retransmission: bool,
        in_flight: u32,
        application_limited: bool,
    }
    /// See [`control::RateSample`].
    RateSample {
        delivered: u64,
        interval: Nanos,
        application_limited: bool,
        prior_delivered: u64,
        is_retransmission: bool,
        sent: Maybe<SentState>,
    }
    /// See [`control::Ack`].
    Ack {
        rtt: Maybe<RttSample>,
        timestamp_echo: Moment,
        timestamp_tick: Nanos,
        timestamp_at_start: Nanos,
        smoothed_rtt: Nanos,
        min_rtt: Nanos,
        one_way_delay: Maybe<Nanos>,
        newly_acknowledged: u32,
        newly_delivered: u32,
        newly_lost: u32,
        delivered: u64,
        lost: u64,
        in_flight_before: u32,
        in_flight: u32,
        newly_sacked: Maybe<u64>,
        first_duplicate: bool,
        ends_recovery: bool,
        rate: Maybe<RateSample>,
        round_start: bool,
        ecn_echo: bool,
        newly_marked: u32,
        marked: u64,
        application_limited: bool,
        window_limited: bool,
        acknowledged_to: u64,
        sent_to: u64,
        counting: Credit,
        slow_start_at_threshold: bool,
    }
    /// See [`control::Restart`].
    Restart {
        window: f64,
        threshold: f64,
        idle: bool,
    }
    /// See [`control::Loss`].
    Loss {
        in_flight: u32,
        newly_lost: u32,
        again: bool,
        acknowledged_to: u64,
        sent_to: u64,
        sent_at: Moment,
    }
    /// See [`control::Marks`].
    Marks {
        in_flight: u32,
        acknowledged_to: u64,
        sent_to: u64,
        at: Moment,
    }
    /// See [`control::RttSample`].
    RttSample {
        value: Nanos,
        delayed: bool,
    }
    /// See [`control::TransmitStart`].
    TransmitStart {
        idle: Nanos,
        application_limited: bool,
    }
    /// See [`control::Wants`].
    Wants {
        sent: bool,
        transmit_start: bool,
        segments: Segments,
        timer: bool,
        fractional_window: bool,
        governs_marks: bool,
        needs_marks: bool,
        governs_recovery: bool,
        slow_starts_on_loss: bool,
        exact_rtt: bool,
        l4s: bool,
    }
}

/// See [`control::Context`].
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    now: Moment,
    segment_size: Octets,
    initial_window: f64,
    restart: Maybe<Restart>,
    departure: Moment,
    host_clock_at_start: Nanos,
    /// The simulator's [`Random`].
    random: *mut c_void,
}

impl Context {
    /// The context of an event; the random stream is borrowed as long as it is handled.
    pub fn new(of: &mut control::Context<'_>) -> Self {
        Self {
            now: Mirror::of(&of.now),
            segment_size: Mirror::of(&of.segment_size),
            initial_window: of.initial_window,
            restart: Mirror::of(&of.restart),
            departure: Mirror::of(&of.departure),
            host_clock_at_start: Mirror::of(&of.host_clock_at_start),
            random: std::ptr::from_mut::<Random>(of.random).cast(),
        }
    }

    /// As `control` has it.
    ///
    /// # Safety
    /// The event is still being handled, and the stream of both sides is the same kind of thing.
    pub unsafe fn get(&mut self) -> control::Context<'_> {
        control::Context {
            now: self.now.get(),
            segment_size: self.segment_size.get(),
            initial_window: self.initial_window,
            restart: self.restart.get(),
            departure: self.departure.get(),
            host_clock_at_start: self.host_clock_at_start.get(),
            // SAFETY: as the caller promises.
            random: unsafe { &mut *self.random.cast::<Random>() },
        }
    }
}

/// The events: the methods of [`control::Controller`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "they have the names of the methods")]
pub enum Event<'a> {
    Start,
    Handshake(Nanos),
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
    /// The pacing rate.
    pub pacing: Maybe<BitsPerSecond>,
    /// Segments of a burst.
    pub quantum: u32,
    /// When its timer is due.
    pub timeout: Maybe<Moment>,
    /// The answer of `keep`.
    pub keeps: bool,
}

impl Decisions {
    /// Those of a controller that has yet to be made.
    pub const NONE: Self =
        Self { window: 1.0, threshold: f64::INFINITY, pacing: Maybe::No, quantum: 1, timeout: Maybe::No, keeps: false };

    /// Those of `controller`.
    pub fn of(controller: &dyn control::Controller) -> Self {
        let (window, threshold, pacing) = controller.decisions();
        Self {
            window,
            threshold,
            pacing: Mirror::of(&pacing),
            quantum: controller.send_quantum(),
            timeout: Mirror::of(&controller.poll_timeout()),
            keeps: false,
        }
    }
}
