//! The limits of QUIC: plans are refused before anything starts, by the first flow and key that cannot run.

use control::{ControllerRef, Wants};
use scenario::{Kind, PlannedFlow, TransportOptions};
use serde_json::Value;
use stack::MULTIPATH;
use transport::{EcnMode, Stack, linux};
use units::packet::{IP_HEADER, TCP_HEADER, TIMESTAMPS_OPTION};

use crate::datagram::HEADERS;

/// The profile that scenarios name where they name none.
const PROFILE: &str = "linux";
/// The sizes of QUIC packets that noq sends without looking for the MTU.
const PACKET_SIZES: std::ops::RangeInclusive<u64> = 1200..=65_527;

/// The name of the stack in place of a profile.
pub(crate) fn stack_of(cc: &ControllerRef) -> &str {
    cc.stack().map_or("noq", |(stack, _)| stack)
}

/// The controller of a stack itself that `cc` is, by its name there.
pub(crate) fn own(cc: &ControllerRef) -> Option<&str> {
    let (_, name) = cc.stack()?;
    Some(if cc.file().is_some() { stack::MINE } else { name })
}

/// The controllers of QUIC stacks themselves, as scenarios write them.
pub(crate) fn names() -> impl Iterator<Item = String> {
    stack::STACKS.into_iter().flat_map(|(stack, names)| names.iter().map(move |name| format!("{stack}:{name}")))
}

/// Bytes of a full packet of `stack` without the headers of IP and UDP: its IP packet is as large as one of TCP.
pub(crate) fn packet_size(stack: &Stack) -> u64 {
    let options = if stack.timestamps { TIMESTAMPS_OPTION.get() } else { 0 };
    (stack.segment_size.get() + IP_HEADER.get() + TCP_HEADER.get() + options).saturating_sub(HEADERS)
}

/// Refuses a controller by its name.
pub(crate) fn check_controller(cc: &ControllerRef) -> Result<(), String> {
    match cc.stack() {
        None => cc.check_registered().map_err(|error| error.to_string()),
        Some((stack::C, _)) if cc.file().is_none() => Ok(()),
        Some((stack::C, _)) => Err(format!("`{cc}`: a stack in C takes no controller from outside")),
        Some(_) if cc.file().is_some() || names().any(|name| name == cc.spelling()) => Ok(()),
        Some((stack, _)) => {
            let names: Vec<String> = names().filter(|name| name.starts_with(stack)).collect();
            Err(format!("{stack} has no controller `{cc}` (there are {})", names.join(", ")))
        }
    }
}

/// Refuses settings that a flow cannot have over QUIC.
pub(crate) fn check_flow(flow: &PlannedFlow) -> Result<(), String> {
    let refusals = [
        (matches!(flow.kind, Kind::Tfrc { .. }), "cc: `tfrc` does not run over QUIC, as noq paces by itself"),
        (matches!(flow.kind, Kind::Media { .. }), "kind: `media` does not run over QUIC, whose datagrams noq paces"),
        (flow.relays.is_some(), "relays: a proxy of TCP does not run over QUIC"),
        (
            flow.changes.iter().any(|change| change.receive_window.is_some()),
            "changes.receive_window: the windows of QUIC are noq's",
        ),
        (flow.quick_start.is_some(), "quick_start: QUIC does not ask routers for a rate"),
    ];
    if let Some((_, sentence)) = refusals.into_iter().find(|(refused, _)| *refused) {
        return Err(sentence.to_owned());
    }
    let mut hops = flow.forward.iter().chain(&flow.reverse);
    if hops.any(|hop| hop.snoop.is_some()) {
        return Err("snoop: an agent cannot read the acknowledgements of QUIC".to_owned());
    }
    if flow.subflow.is_some() && !MULTIPATH.contains(&stack_of(&flow.cc)) {
        return Err(format!("subflows: {} has one path in a connection", stack_of(&flow.cc)));
    }
    if stack_of(&flow.cc) == "quiche" && flow.options.ecn() != EcnMode::Off {
        return Err("transport.ecn: quiche does not understand marks".to_owned());
    }
    if flow.profile != PROFILE {
        return Err(format!("profile: `{}` is a TCP, and the stack of this engine is noq", flow.profile));
    }
    if let Some(option) = foreign_option(&flow.options) {
        return Err(format!("transport.{option}: it is a rule of TCP; QUIC has that of noq"));
    }
    let size = packet_size(&flow.options);
    if !PACKET_SIZES.contains(&size) {
        return Err(format!(
            "transport.segment_size: `{}` makes QUIC packets of {size} bytes (allowed: {} to {})",
            flow.options.segment_size,
            PACKET_SIZES.start(),
            PACKET_SIZES.end()
        ));
    }
    if flow.cc.stack().is_some() && !(flow.given.is_empty() && flow.changes.is_empty()) {
        return Err(format!("cc: `{}` has no parameters", flow.cc));
    }
    Ok(())
}

/// Refuses a controller that needs signals which noq does not give its controllers.
pub(crate) fn check_wants(flow: &PlannedFlow, wants: &Wants) -> Result<(), String> {
    let why = "it needs the number of marked packets, and noq tells its controllers only that there are some";
    if wants.needs_marks {
        return Err(format!("cc: `{}` cannot run over QUIC: {why}", flow.cc));
    }
    if wants.l4s && flow.options.ecn() != EcnMode::Off {
        return Err(format!("transport.ecn: `{}` cannot use marks over QUIC: {why}", flow.cc));
    }
    Ok(())
}

/// The name of an option that differs from the default and means nothing to QUIC.
fn foreign_option(stack: &Stack) -> Option<String> {
    let given = TransportOptions::of(stack);
    let possible = TransportOptions {
        segment_size: given.segment_size,
        initial_window: given.initial_window,
        receive_window: given.receive_window,
        ecn: given.ecn,
        handshake: given.handshake,
        ..TransportOptions::of(&linux())
    };
    let possible = TransportOptions::of(&possible.stack(&linux()));
    let [given, possible] = [given, possible].map(|options| serde_json::to_value(options).unwrap_or_default());
    let different: Vec<_> = given.as_object()?.iter().filter(|(name, value)| possible[*name] != **value).collect();
    // One may have changed the others.
    let explains = |(name, value): &(&String, &Value)| {
        let mut alone = possible.clone();
        alone[*name] = (*value).clone();
        let alone = serde_json::from_value::<TransportOptions>(alone).ok();
        alone.is_some_and(|options| options.stack(&linux()) == *stack)
    };
    let named = different.iter().copied().find(explains).or(different.first().copied());
    named.map(|(name, _)| name.clone())
}
