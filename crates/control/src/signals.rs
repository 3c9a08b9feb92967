//! Signals of a connection to its controller: an ACK, a loss, a mark, and the moment at which they come.

mod declared;

use serde::{Deserialize, Serialize};
use units::{Bytes, Span, Time};

/// How acknowledgements are counted for window growth: a property of the sender's stack, not of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Every ACK counts one segment however many it covers (RFC 5681 before byte counting, Linux 3.5, REAL).
    PerAck,
    /// Appropriate byte counting (RFC 3465): all segments covered count, in slow start at most `limit` an ACK.
    Bytes {
        /// L, in segments.
        #[schemars(range(min = 1, max = u32::MAX))]
        limit: u32,
    },
    /// Every segment that an ACK delivers counts once, in slow start and after. One SACKed earlier does not count again
    /// (Linux since 3.18).
    Segments,
}

impl Counting {
    /// Segments that `ack` counts in slow start.
    pub fn in_slow_start(self, ack: &Ack) -> u32 {
        match self {
            Self::PerAck => 1,
            Self::Bytes { limit } => ack.newly_acknowledged.min(limit),
            Self::Segments => ack.newly_delivered,
        }
    }
}

/// The segments of which a controller gets reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    /// None.
    #[default]
    None,
    /// Lost ones: [`on_segment_lost`](crate::Controller::on_segment_lost).
    Lost,
    /// All: [`on_segment_delivered`](crate::Controller::on_segment_delivered) as well.
    All,
}

impl Reports {
    /// Whether there are any.
    #[inline]
    pub fn any(self) -> bool {
        self != Self::None
    }
}

/// A type of fields, and its value in a signal that says nothing.
trait Empty {
    const EMPTY: Self;
}

/// Values in a signal that says nothing.
macro_rules! empty {
    ($($type:ty = $value:expr,)+) => {
        $(impl Empty for $type {
            const EMPTY: Self = $value;
        })+
    };
}

empty! {
    bool = false,
    u32 = 0,
    u64 = 0,
    f64 = 0.0,
    Time = Self::ZERO,
    Span = Self::ZERO,
    Bytes = Self::ZERO,
    Counting = Self::Segments,
    Reports = Self::None,
}

impl<T> Empty for Option<T> {
    const EMPTY: Self = None;
}

/// The structures of all signals.
macro_rules! structures {
    (
        moment { $($moment:tt)* }
        objects { $($objects:tt)* }
        parts {
            $(
                $(#[doc = $about:literal])+
                $name:ident { $($fields:tt)* }
            )+
        }
    ) => {
        structures! { @scripts $($moment)* $($objects)* }
        $(structures! { @one $(#[doc = $about])+ $name { $($fields)* } })+
    };
    (@scripts $(
        $(#[doc = $about:literal])+
        $name:ident { $($shown:tt)* }
        hidden { $($hidden:tt)* }
        computed { $($computed:tt)* }
        methods { $($methods:tt)* }
    )+) => {
        $(structures! { @one $(#[doc = $about])+ $name { $($shown)* $($hidden)* } })+
    };
    (@one $(#[doc = $about:literal])+ $name:ident { $(
        $(#[doc = $meaning:literal])+
        $field:ident: $type:ty $(= $empty:expr $(, none $when:literal)?)?;
    )* }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $(
                $(#[doc = $meaning])+
                $($(#[doc = concat!(" [`", stringify!($empty), "`] ", $when, ".")])?)?
                pub $field: $type,
            )*
        }

        impl Empty for $name {
            const EMPTY: Self = Self { $($field: structures!(@value $type $(= $empty)?),)* };
        }

        impl $name {
            /// One that says nothing, for literals to name only the fields that they set.
            pub const EMPTY: Self = <Self as Empty>::EMPTY;
        }
    };
    (@value $type:ty) => { <$type as Empty>::EMPTY };
    (@value $type:ty = $value:expr) => { $value };
}

crate::signals!(structures);

impl Default for Wants {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Moment {
    /// The clock of the host at the time of the event, of which timestamps and jiffies are ticks.
    pub fn host_clock(&self) -> Time {
        self.now + self.host_clock_at_start
    }
}

impl Ack {
    /// RTT by the timestamp option, for an ACK that arrives `at` a moment: its time less the echoed value, on the clock
    /// of the option. With delayed ACKs it contains the wait of the first segment covered (RFC 7323, section 4.1).
    /// `None` without timestamps.
    pub fn timestamp_rtt(&self, at: &Moment) -> Option<Span> {
        let on_clock = |time: Time| (time + at.host_clock_at_start).floor_to(at.timestamp_tick);
        (self.timestamp_echo != Time::NEVER).then(|| on_clock(at.now).since(on_clock(self.timestamp_echo)))
    }

    /// The RTT sample, unless it may contain the delayed-ACK timer.
    pub fn undelayed_rtt(&self) -> Option<Span> {
        self.rtt.filter(|rtt| !rtt.delayed).map(|rtt| rtt.value)
    }

    /// The delay of the forward path where it is known, otherwise the RTT. Either one less its own minimum is a
    /// queueing delay, of the forward path or of both.
    pub fn forward_delay(&self) -> Option<Span> {
        self.one_way_delay.or_else(|| self.undelayed_rtt())
    }

    /// Whether segments above the cumulative point have arrived or are lost: in Linux the state is Disorder at least.
    pub fn leaves_disorder(&self) -> bool {
        self.sent_to.checked_sub(self.acknowledged_to) != Some(self.in_flight.into())
    }

    /// Segments that this ACK covers. If it ends a recovery these were counted when they were SACKed, and only those
    /// that it delivers count.
    pub fn covers(&self) -> u32 {
        if self.ends_recovery { self.newly_delivered } else { self.newly_acknowledged }
    }

    /// Segments that this ACK counts in slow start.
    pub fn slow_start_credit(&self, at: &Moment) -> f64 {
        f64::from(at.counting.in_slow_start(self))
    }

    /// Segments that this ACK counts in congestion avoidance.
    pub fn avoidance_credit(&self, at: &Moment) -> f64 {
        match at.counting {
            Counting::PerAck => 1.0,
            Counting::Bytes { .. } => f64::from(self.newly_acknowledged),
            Counting::Segments => f64::from(self.newly_delivered),
        }
    }
}

impl Loss {
    /// Segments sent and not acknowledged cumulatively (FlightSize, RFC 5681).
    pub fn flight_size(&self) -> u32 {
        (self.sent_to - self.acknowledged_to) as u32
    }
}

impl Marks {
    /// The loss event that a controller without ECN rule of its own takes this for.
    pub fn as_loss(&self) -> Loss {
        Loss {
            in_flight: self.in_flight,
            newly_lost: 0,
            again: false,
            acknowledged_to: self.acknowledged_to,
            sent_to: self.sent_to,
            sent_at: self.at,
        }
    }
}
