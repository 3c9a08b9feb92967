//! Proxies that split a connection: which flow sends on what another delivers.

use crate::language::{Flow, Protocol};
use crate::plan::{Kind, PlannedFlow, PlannedRelay};
use crate::values::Source;

/// The data that `flow` sends on, if it leaves from a proxy, in segments of `segment_size`. `above` are the flows above
/// it in the file, `planned` their plans. An error is the key below the flow and the message.
pub(crate) fn relayed(
    flow: &Flow,
    segment_size: u64,
    above: &[Flow],
    planned: &[PlannedFlow],
) -> Result<Option<PlannedRelay>, (String, String)> {
    let Some(relay) = &flow.relays else { return Ok(None) };
    let fail = |key: &str, message: String| Err((key.to_owned(), message));
    let single = [
        ("count", flow.count > 1),
        ("bytes", flow.bytes.is_some()),
        ("every", flow.every.is_some()),
        ("think", flow.think.is_some()),
        ("subflows", !flow.subflows.is_empty()),
        ("source", flow.source != Source::Greedy),
        ("kind", flow.kind != Protocol::Tcp),
    ];
    if let Some((key, _)) = single.iter().find(|(_, given)| *given) {
        return fail(key, "does not go with `relays`: one TCP connection sends on what the other delivers".to_owned());
    }
    let name = &relay.flow;
    let found = above.iter().find(|other| other.name.as_ref() == Some(name));
    let index = planned.iter().position(|other| other.name() == *name);
    let (Some(found), Some(index)) = (found, index) else {
        return fail("relays.flow", format!("no flow above is named `{name}`"));
    };
    let taken = &planned[index];
    if taken.is_many() || taken.subflow.is_some() || taken.kind != Kind::Tcp {
        return fail("relays.flow", format!("`{name}` is not one TCP connection"));
    }
    if let Some(other) = planned.iter().find(|other| other.relays.as_ref().is_some_and(|relay| relay.flow == index)) {
        return fail("relays.flow", format!("`{name}` is sent on by `{}` already", other.name()));
    }
    let (end, start) = (last_node(found), first_node(flow));
    if end.is_none() || end != start {
        let end = end.map_or_else(|| "a node".to_owned(), |end| format!("`{end}`"));
        return fail("relays.flow", format!("the proxy stands where `{name}` ends: the flow must leave from {end}"));
    }
    let size = taken.options.segment_size.get();
    if size != segment_size {
        return fail(
            "relays.flow",
            format!("`{name}` has segments of {size} bytes and the flow of {segment_size}: both must have the same"),
        );
    }
    let segments = relay.buffer.get() / size.max(1);
    if segments == 0 {
        return fail("relays.buffer", format!("`{}` holds no segment of {size} bytes", relay.buffer));
    }
    Ok(Some(PlannedRelay { flow: index, segments }))
}

fn first_node(flow: &Flow) -> Option<&String> {
    flow.via.as_ref().and_then(|via| via.first()).or(flow.from.as_ref())
}

fn last_node(flow: &Flow) -> Option<&String> {
    flow.via.as_ref().and_then(|via| via.last()).or(flow.to.as_ref())
}
