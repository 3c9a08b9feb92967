//! What the tests over all controllers share.

use std::collections::BTreeMap;

use control::Entry;
use control::{Ack, Controller, Parameters, Probe};
use serde_json::Value;
use units::Span;

/// The value that a documented default writes: a number or a truth value where it reads as one, otherwise a string.
pub(crate) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()))
}

/// One parameter given, the rest at their defaults.
pub(crate) fn one(name: &str, value: Value) -> Parameters {
    BTreeMap::from([(name.to_string(), value)])
}

/// `entry` at its defaults.
pub(crate) fn default_controller(entry: &Entry) -> Box<dyn Controller> {
    entry.build(&Parameters::new()).unwrap()
}

/// An ACK of one segment on a fully used window, without RTT sample.
pub(crate) fn ack() -> Ack {
    Ack {
        smoothed_rtt: Span::from_millis(40),
        min_rtt: Span::from_millis(40),
        newly_acknowledged: 1,
        newly_delivered: 1,
        in_flight_before: 10,
        in_flight: 9,
        window_limited: true,
        sent_to: 10,
        ..Ack::EMPTY
    }
}

/// All probes of `controller`.
pub(crate) fn probes(controller: &dyn Controller) -> BTreeMap<&'static str, f64> {
    struct All(BTreeMap<&'static str, f64>);
    impl Probe for All {
        fn value(&mut self, name: &'static str, value: f64) {
            assert!(self.0.insert(name, value).is_none(), "probe `{name}` shown twice");
        }
    }
    let mut all = All(BTreeMap::new());
    controller.probe(&mut all);
    all.0
}
