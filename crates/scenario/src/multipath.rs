//! The paths of a multipath flow: a flow for each.

use crate::language::{Flow, Protocol, Subflow};
use crate::values::Source;

/// A flow on one of its paths: the end of its name, the prefix of its keys below the flow, and its settings.
pub(crate) struct OnPath {
    pub(crate) suffix: String,
    pub(crate) key: String,
    pub(crate) flow: Flow,
}

/// The keys of a path, which a flow has itself or leaves to its subflows.
pub(crate) const ROUTE: [&str; 5] = ["rtt", "from", "to", "via", "extra_delay"];

/// The paths of `flow`, one if it has no subflows. An error is the key below the flow and the message.
pub(crate) fn paths(flow: &Flow) -> Result<Vec<OnPath>, (String, String)> {
    if flow.subflows.is_empty() {
        return Ok(vec![OnPath { suffix: String::new(), key: String::new(), flow: flow.clone() }]);
    }
    check(flow)?;
    let on_path = |(i, subflow): (usize, &Subflow)| {
        let name = subflow.name.clone().unwrap_or_else(|| i.to_string());
        OnPath { suffix: format!(":{name}"), key: format!("subflows.{i}."), flow: flow.on(subflow) }
    };
    Ok(flow.subflows.iter().enumerate().map(on_path).collect())
}

/// Refuses keys of `flow` that do not go with subflows.
fn check(flow: &Flow) -> Result<(), (String, String)> {
    let Flow { rtt, from, to, via, extra_delay, .. } = flow;
    let own = [rtt.is_some(), from.is_some(), to.is_some(), via.is_some(), extra_delay.is_some()];
    if let Some((key, _)) = ROUTE.iter().zip(own).find(|(_, given)| *given) {
        return Err(((*key).to_owned(), "belongs to each of the `subflows`, as the flow has some".to_owned()));
    }
    let single = [
        ("bytes", flow.bytes.is_some()),
        ("every", flow.every.is_some()),
        ("think", flow.think.is_some()),
        ("source", flow.source != Source::Greedy),
        ("kind", flow.kind != Protocol::Tcp),
        ("changes", !flow.changes.is_empty()),
    ];
    if let Some((key, _)) = single.iter().find(|(_, given)| *given) {
        let message = "does not go with `subflows`, which always have data";
        return Err(((*key).to_owned(), message.to_owned()));
    }
    Ok(())
}
