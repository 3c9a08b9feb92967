//! The options of one flow's endpoints: those of its profile, single ones replaced, and each in its range.

use control::{ControllerRef, Counting, Parameters, registry};
use serde_json::Value;
use transport::{EcnMode, MAX_THRESHOLD, Options};
use units::Span;

use crate::document::plain;
use crate::error::{FlowError, flow_error, suggestion};
use crate::language::Overrides;

/// A timeout below that would come again and again while nothing else happens.
const SHORTEST_TIMEOUT: Span = Span::from_micros(1);

/// No kernel looks at its timers more rarely.
const LONGEST_TICK: Span = Span::from_secs(1);

/// Largest IPv4 packet.
pub(crate) const LARGEST_PACKET: u64 = 65_535;
/// Headers of IPv4 and TCP with room for the options in use.
const HEADERS: u64 = 60;

/// Whether a controller that is to keep more of its window on a mark than on a loss does so.
pub(crate) fn check_keeping(cc: &ControllerRef, parameters: &Parameters, options: &Options) -> Result<(), FlowError> {
    if options.ecn_beta == 0.0 {
        return Ok(());
    }
    let key = "transport.ecn_beta";
    if options.ecn == EcnMode::Off {
        return Err(flow_error(key, "needs marks: `ecn` is false"));
    }
    let ControllerRef::Registered(name) = cc else {
        return Err(flow_error(key, "is for controllers of the simulator's own"));
    };
    let mut controller = registry::build(name, parameters).map_err(|e| flow_error("parameters", e.to_string()))?;
    if controller.keep(1.0) {
        return Ok(());
    }
    Err(flow_error(key, format!("has no effect on `{name}`, which does not answer a mark as a loss-based controller")))
}

/// `base` with single options replaced.
pub(crate) fn options(base: Options, overrides: &Overrides) -> Result<Options, FlowError> {
    let mut options = base;
    for (name, value) in overrides {
        let key = format!("transport.{name}");
        let Ok(Value::Object(mut all)) = serde_json::to_value(&options) else {
            unreachable!("options serialise as an object")
        };
        if !all.contains_key(name) {
            let known: Vec<&str> = all.keys().map(String::as_str).collect();
            return Err(flow_error(key, format!("there is no such option; {}", suggestion(name, &known))));
        }
        all.insert(name.clone(), value.clone());
        options =
            serde_json::from_value(Value::Object(all)).map_err(|error| flow_error(&key, plain(&error.to_string())))?;
    }
    // Only when all are set: one may have to fit another.
    for name in overrides.keys() {
        check_option(name, &options).map_err(|message| flow_error(format!("transport.{name}"), message))?;
    }
    Ok(options)
}

/// Whether option `name` is in its range.
fn check_option(name: &str, options: &Options) -> Result<(), String> {
    let at_least_one = |value: u32| (value == 0).then(|| "must be at least 1".to_owned());
    let problem = match name {
        "segment_size" => {
            let (size, most) = (options.segment_size, LARGEST_PACKET - HEADERS);
            (!(1..=most).contains(&size.get())).then(|| format!("`{size}` is not from 1 to {most} bytes"))
        }
        "initial_window" => at_least_one(options.initial_window),
        "receive_window" => at_least_one(options.receive_window),
        "duplicate_threshold" => {
            let threshold = options.duplicate_threshold;
            let allowed = (1..=MAX_THRESHOLD).contains(&threshold);
            (!allowed).then(|| format!("`{threshold}` is not from 1 to {MAX_THRESHOLD}"))
        }
        "ecn_beta" => (!(0.0..1.0).contains(&options.ecn_beta))
            .then(|| format!("`{}` is not from 0 to below 1", options.ecn_beta)),
        "timer_tick" => (options.timer_tick > LONGEST_TICK)
            .then(|| format!("`{}` is not from 0s to {LONGEST_TICK}", options.timer_tick)),
        "ack_every" => at_least_one(options.ack_every),
        "rto_min" | "rto_max" | "rto_initial" => {
            let Options { rto_min, rto_max, rto_initial, .. } = options;
            let shortest = rto_min.min(rto_max).min(rto_initial);
            if *shortest < SHORTEST_TIMEOUT {
                Some(format!("`{shortest}` is too short for a timeout: at least {SHORTEST_TIMEOUT}"))
            } else {
                (rto_min > rto_max).then(|| format!("rto_min `{rto_min}` is above rto_max `{rto_max}`"))
            }
        }
        "forward_acknowledgment" => (options.forward_acknowledgment && !options.sack)
            .then(|| "needs selective acknowledgements: `sack` is false".to_owned()),
        "counting" => (options.counting == Counting::Bytes { limit: 0 })
            .then(|| "`limit` must be at least 1, or slow start would not grow".to_owned()),
        _ => None,
    };
    problem.map_or(Ok(()), Err)
}
