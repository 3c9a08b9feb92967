//! The methods of a controller in Python that handle events.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// How many methods there are.
pub(crate) const METHODS: usize = 14;

/// The methods of a controller that handle events.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    Start,
    Ack,
    DuplicateAck,
    Loss,
    Ecn,
    Recovered,
    Timeout,
    Spurious,
    IdleRestart,
    Sent,
    TransmitStart,
    SegmentDelivered,
    SegmentLost,
    Timer,
}

/// The names of the methods in Python.
macro_rules! methods {
    ($($method:ident: $name:literal,)+) => {
        impl Method {
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$method => $name,)+
                }
            }

            pub(crate) fn interned(self, py: Python<'_>) -> &Bound<'_, PyString> {
                match self {
                    $(Self::$method => pyo3::intern!(py, $name),)+
                }
            }
        }
    };
}

methods! {
    Start: "on_start",
    Ack: "on_ack",
    DuplicateAck: "on_duplicate_ack",
    Loss: "on_loss",
    Ecn: "on_ecn",
    Recovered: "on_recovered",
    Timeout: "on_timeout",
    Spurious: "on_spurious",
    IdleRestart: "on_idle_restart",
    Sent: "on_sent",
    TransmitStart: "on_transmit_start",
    SegmentDelivered: "on_segment_delivered",
    SegmentLost: "on_segment_lost",
    Timer: "on_timer",
}
