//! Which options a scenario may give: each in its range, and none that has no effect beside the others.

use control::{ControllerRef, Counting, Parameters, registry};
use serde_json::Value;
use transport::{Buffer, Conceals, EcnMode, MAX_THRESHOLD, Marks, Stack};
use units::Bytes;

use super::TransportOptions;
use crate::document::plain;
use crate::error::{FlowError, flow_error, suggestion};
use crate::language::{Flow, Overrides};
use crate::plan::Kind;
use crate::values::WindowSpec;

/// Windows that count segments, and take a size as well.
pub(crate) const IN_SEGMENTS: [&str; 2] = ["initial_window", "receive_window"];

const NEEDS_SACK: &str = "needs selective acknowledgements: `sack` is false";

/// Refuses a controller that is to keep more of its window on a mark than on a loss, and cannot.
pub(crate) fn check_keeping(cc: &ControllerRef, parameters: &Parameters, stack: &Stack) -> Result<(), FlowError> {
    if stack.marks.kept() == 0.0 {
        return Ok(());
    }
    let key = "transport.ecn_beta";
    let ControllerRef::Registered(name) = cc else {
        return Err(flow_error(key, "is for controllers of the simulator's own"));
    };
    let mut controller = registry::build(name, parameters).map_err(|e| flow_error("parameters", e.to_string()))?;
    if controller.keep(1.0) {
        return Ok(());
    }
    Err(flow_error(key, format!("has no effect on `{name}`, which does not answer a mark as a loss-based controller")))
}

/// Refuses options of `flow` that its protocol lacks: TFRC and media have `ecn` alone, other datagrams none. A
/// rate is granted with the SYN of a handshake.
pub(crate) fn check_kind(flow: &Flow, kind: Kind) -> Result<(), FlowError> {
    let applies = |name: &str| match kind {
        Kind::Tcp => true,
        Kind::Tfrc { .. } | Kind::Media { .. } => name == "ecn",
        Kind::Datagram { .. } => false,
    };
    if let Some(name) = flow.transport.keys().find(|name| !applies(name)) {
        return Err(flow_error(format!("transport.{name}"), "is for TCP, not for datagrams"));
    }
    let refused = flow.quick_start.is_some() && flow.transport.get("handshake") == Some(&Value::Bool(false));
    if refused {
        return Err(flow_error("transport.handshake", "must be true: the request of `quick_start` goes with the SYN"));
    }
    Ok(())
}

/// The stack `profile` with single options replaced. An option that has no effect is refused, unless it repeats the
/// stack's own value.
pub(crate) fn overlay(profile: &Stack, overrides: &Overrides) -> Result<Stack, FlowError> {
    let overrides = &in_segments(profile, overrides)?;
    let own = TransportOptions::of(profile);
    let mut given = own.clone();
    for (name, value) in overrides {
        set(&mut given, name, value)?;
    }
    given.out_of_bounds().map_err(|(name, why)| flow_error(format!("transport.{name}"), why))?;
    // Only when all are set: one may have to fit another.
    for name in overrides.keys() {
        check_relations(name, &given).map_err(|message| flow_error(format!("transport.{name}"), message))?;
    }
    let stack = given.stack(profile);
    if stack.smallest_window() == Some(0) {
        let message = format!("`{}` makes a window of less than a segment", stack.buffers.sizes.receive);
        return Err(flow_error("transport.receive_buffer", message));
    }
    for name in overrides.keys() {
        let Some(reason) = without_effect(name, &TransportOptions::of(&stack), &own, &stack) else { continue };
        let mut others = own.clone();
        for (other, value) in overrides.iter().filter(|(other, _)| *other != name) {
            set(&mut others, other, value)?;
        }
        let without = others.stack(profile);
        // `of` names a time or rule even if the stack has none.
        let is_placeholder = matches!(&**name, "delayed_ack_timeout" | "idle_restart" | "retransmits");
        let known = !is_placeholder || without_effect(name, &own, &own, profile).is_some();
        let so = known && without == stack && by_name(&TransportOptions::of(&without))[name] == by_name(&given)[name];
        if !so {
            return Err(flow_error(format!("transport.{name}"), reason));
        }
    }
    Ok(stack)
}

/// `overrides` with sizes of windows in whole segments.
fn in_segments(profile: &Stack, overrides: &Overrides) -> Result<Overrides, FlowError> {
    let given = overrides.get("segment_size").and_then(Value::as_str).and_then(|size| size.parse::<Bytes>().ok());
    let segment = given.unwrap_or(profile.segment_size);
    let mut overrides = overrides.clone();
    for name in IN_SEGMENTS {
        let Some(size) = overrides.get(name).and_then(Value::as_str) else { continue };
        let segments = WindowSpec::size(size).and_then(|window| window.segments(segment));
        let segments = segments.map_err(|message| flow_error(format!("transport.{name}"), message))?;
        overrides.insert(name.to_owned(), segments.into());
    }
    Ok(overrides)
}

/// Sets option `name` to `value`.
fn set(options: &mut TransportOptions, name: &str, value: &Value) -> Result<(), FlowError> {
    let key = format!("transport.{name}");
    let mut all = by_name(options);
    if !all.contains_key(name) {
        let known: Vec<&str> = all.keys().map(String::as_str).collect();
        return Err(flow_error(key, format!("there is no such option; {}", suggestion(name, &known))));
    }
    all.insert(name.to_owned(), value.clone());
    *options =
        serde_json::from_value(Value::Object(all)).map_err(|error| flow_error(&key, plain(&error.to_string())))?;
    Ok(())
}

pub(super) fn by_name(options: &TransportOptions) -> Overrides {
    let Ok(Value::Object(all)) = serde_json::to_value(options) else { unreachable!("options serialise as an object") };
    all
}

/// Refuses option `name` where it does not fit the others.
pub(super) fn check_relations(name: &str, options: &TransportOptions) -> Result<(), String> {
    let problem = match name {
        "ecn_beta" => (!(0.0..1.0).contains(&options.ecn_beta))
            .then(|| format!("`{}` is not from 0 to below 1", options.ecn_beta)),
        "rto_min" | "rto_max" => {
            let TransportOptions { rto_min, rto_max, .. } = options;
            (rto_min > rto_max).then(|| format!("rto_min `{rto_min}` is above rto_max `{rto_max}`"))
        }
        "delayed_ack_max" => {
            let (most, least) = (options.delayed_ack_max, options.delayed_ack_timeout);
            let constant = !most.is_zero() && most <= least && options.ack_every > 1;
            constant.then(|| format!("must be 0s or above delayed_ack_timeout `{least}`"))
        }
        "counting" => (options.counting == Counting::Bytes { limit: 0 })
            .then(|| "`limit` must be at least 1, or slow start would not grow".to_owned()),
        _ => None,
    };
    problem.map_or(Ok(()), Err)
}

/// Why option `name` has no effect beside the options `used`, if it has none. `own` are the options of the profile.
fn without_effect(name: &str, used: &TransportOptions, own: &TransportOptions, stack: &Stack) -> Option<String> {
    let marks = used.ecn != EcnMode::Off;
    let reason = match name {
        "rack"
        | "tail_loss_probe"
        | "reordering_adapts"
        | "sack_compression"
        | "forward_acknowledgment"
        | "retransmits"
            if !used.sack =>
        {
            NEEDS_SACK
        }
        "forward_acknowledgment" | "retransmits" | "reordering_adapts" if used.rack => {
            "has no effect: `rack` decides what is lost"
        }
        "retransmits" | "recovery_end_grows" | "reduction"
            if !(used.fast_recovery || (marks && name != "retransmits")) =>
        {
            "has no effect without fast recovery: `fast_recovery` is false"
        }
        "recovery_end_grows" if !used.sack && !marks => NEEDS_SACK,
        "reordering_adapts" if used.duplicate_threshold == MAX_THRESHOLD => {
            "has no effect: `duplicate_threshold` is the largest"
        }
        "undo" if !used.timestamps && !used.sack => "needs evidence: `timestamps` and `sack` are false",
        "conceals" if used.conceals == Conceals::Marks && !marks => "has no effect without marks: `ecn` is false",
        "conceals"
            if used.conceals == Conceals::Losses
                && used.receive_window == own.receive_window
                && used.receive_buffer == Buffer::Unlimited =>
        {
            "needs a `receive_window` or a `receive_buffer`: nothing else bounds a sender that sees no loss"
        }
        "ecn_beta" if stack.marks == Marks::Off => "needs marks: `ecn` is false",
        "idle_restart" if !used.slow_start_restart => "has no effect: `slow_start_restart` is false",
        "delayed_ack_timeout" | "delayed_ack_max" if used.ack_every == 1 => {
            "has no effect where each segment is acknowledged: `ack_every` is 1"
        }
        "quick_acks" | "quick_acks_again" if used.ack_every == 1 && used.sack_compression.is_zero() => {
            "has no effect where no ACK waits: `ack_every` is 1 and there is no `sack_compression`"
        }
        "delayed_ack_max" => return beyond_patience(used, own),
        "rto_min" => return below_variance(used, own, stack),
        _ => return None,
    };
    Some(reason.to_owned())
}

/// The message if no ACK waits as long as this lets it, given or not: the sender would take it for lost.
fn beyond_patience(used: &TransportOptions, own: &TransportOptions) -> Option<String> {
    let hidden = own.delayed_ack_max.min(used.delayed_ack_max) >= used.rto_min;
    hidden.then(|| format!("has no effect: no ACK waits for longer than `rto_min`, {}", used.rto_min))
}

/// The message if the smallest timeout, given or not, is at most the variance term and the slack of the profile.
fn below_variance(used: &TransportOptions, own: &TransportOptions, stack: &Stack) -> Option<String> {
    let least = stack.timers.rto_variance_min + stack.timers.rto_slack;
    // A receiver delays no ACK for longer than the smallest timeout.
    let bounds_delay = !used.delayed_ack_max.is_zero();
    let hidden = used.rto_min.max(own.rto_min) <= least && !bounds_delay;
    hidden.then(|| format!("has no effect: no timeout of this stack is below {least}"))
}
