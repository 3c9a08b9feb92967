//! The route of a flow over links between nodes, forward and reverse, and the Snoop agents on it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use network::Propagation;
use units::Span;

use crate::error::suggestion;
use crate::language::{Flow, Protocol};
use crate::plan::Hop;

/// The routes of the data and of the ACKs.
pub(crate) struct Routes {
    pub(crate) forward: Vec<Hop>,
    pub(crate) reverse: Vec<Hop>,
    /// The nodes of sender and receiver, by number.
    pub(crate) hosts: [u32; 2],
}

/// A direction between two nodes, in the order of the file.
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) hop: Hop,
    /// A Snoop agent is at its wired end.
    pub(crate) border: Option<Border>,
}

/// The side of an edge on which a Snoop agent sits, with its shortest timeout: packets pass the agent before they take
/// the edge, or after it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Border {
    Before(Span),
    After(Span),
}

/// The routes of `flow` over `edges`. An error is the name of the key and the message.
pub(crate) fn graph_routes(flow: &Flow, edges: &[Edge]) -> Result<Routes, (&'static str, String)> {
    if flow.rtt.is_some() {
        return Err(("rtt", "belongs to scenarios with a [path]; with [[links]] write `extra_delay`".to_owned()));
    }
    let mut routes = match (&flow.from, &flow.to, &flow.via) {
        (Some(from), Some(to), None) => {
            check_node("from", from, edges)?;
            check_node("to", to, edges)?;
            if from == to {
                return Err(("to", format!("`{to}` is where the flow starts: it must lead to another node")));
            }
            routes(
                &shortest(from, to, edges).map_err(|m| ("to", m))?,
                &shortest(to, from, edges).map_err(|m| ("from", format!("ACKs have no way back: {m}")))?,
                flow,
            )
        }
        (None, None, Some(nodes)) if nodes.len() >= 2 => {
            for node in nodes {
                check_node("via", node, edges)?;
            }
            let back: Vec<String> = nodes.iter().rev().cloned().collect();
            routes(
                &along(nodes, edges).map_err(|m| ("via", m))?,
                &along(&back, edges).map_err(|m| ("via", format!("ACKs have no way back: {m}")))?,
                flow,
            )
        }
        (None, None, Some(_)) => return Err(("via", "needs at least the two nodes of sender and receiver".to_owned())),
        (_, _, Some(_)) => return Err(("via", "names all nodes: give either `from` and `to`, or `via`".to_owned())),
        (None, _, None) => return Err(("from", "is missing: the node of the sender".to_owned())),
        (_, None, None) => return Err(("to", "is missing: the node of the receiver".to_owned())),
    };
    let known = nodes(edges);
    routes.hosts = ends(flow).map(|node| known.iter().take_while(|other| node > Some(**other)).count() as u32);
    let extra = Propagation::from(flow.extra_delay.unwrap_or_default());
    for route in [&mut routes.forward, &mut routes.reverse] {
        if let Some(last) = route.last_mut() {
            last.delay = last.delay.plus(&extra);
        }
    }
    Ok(routes)
}

fn nodes(edges: &[Edge]) -> BTreeSet<&str> {
    edges.iter().flat_map(|edge| [edge.from.as_str(), edge.to.as_str()]).collect()
}

/// The nodes of sender and receiver.
fn ends(flow: &Flow) -> [Option<&str>; 2] {
    let via = flow.via.as_deref().unwrap_or_default();
    [flow.from.as_ref().or(via.first()), flow.to.as_ref().or(via.last())].map(|node| node.map(String::as_str))
}

fn check_node(key: &'static str, node: &str, edges: &[Edge]) -> Result<(), (&'static str, String)> {
    let nodes = nodes(edges);
    if nodes.contains(node) {
        return Ok(());
    }
    let known: Vec<&str> = nodes.into_iter().collect();
    Err((key, format!("there is no node `{node}`; {}", suggestion(node, &known))))
}

/// The route of fewest hops. Of equal ones, the one whose links come first in the file.
fn shortest<'a>(from: &str, to: &str, edges: &'a [Edge]) -> Result<Vec<&'a Edge>, String> {
    let mut arrived_by = BTreeMap::from([(from, None)]);
    let mut reached = VecDeque::from([from]);
    while let Some(node) = reached.pop_front() {
        for edge in edges.iter().filter(|edge| edge.from == node) {
            if !arrived_by.contains_key(edge.to.as_str()) {
                arrived_by.insert(&edge.to, Some(edge));
                reached.push_back(&edge.to);
            }
        }
    }
    let mut at = *arrived_by.get(to).ok_or_else(|| format!("no links lead from `{from}` to `{to}`"))?;
    let mut route = Vec::new();
    while let Some(edge) = at {
        route.push(edge);
        at = arrived_by[edge.from.as_str()];
    }
    route.reverse();
    Ok(route)
}

/// The route over `nodes`, one link from each to the next.
fn along<'a>(nodes: &[String], edges: &'a [Edge]) -> Result<Vec<&'a Edge>, String> {
    let edge = |pair: &[String]| {
        let edge = edges.iter().find(|edge| edge.from == pair[0] && edge.to == pair[1]);
        edge.ok_or_else(|| format!("no link leads from `{}` to `{}`", pair[0], pair[1]))
    };
    nodes.windows(2).map(edge).collect()
}

/// The hops over `forward` and `reverse`, with a Snoop agent where TCP data enters a link with one after another link
/// and the ACKs come back over the same: at the sender there is nothing to hide.
fn routes(forward: &[&Edge], reverse: &[&Edge], flow: &Flow) -> Routes {
    let hops = |route: &[&Edge]| route.iter().map(|edge| edge.hop.clone()).collect::<Vec<Hop>>();
    let (mut data, mut acks) = (hops(forward), hops(reverse));
    let tcp = flow.kind == Protocol::Tcp;
    for (place, edge) in forward.iter().enumerate().skip(1).filter(|_| tcp) {
        let Some(Border::Before(timeout_min)) = edge.border else { continue };
        let back = reverse.iter().position(|other| {
            (&other.from, &other.to) == (&edge.to, &edge.from) && other.border == Some(Border::After(timeout_min))
        });
        if let Some(hop) = back.and_then(|place| acks.get_mut(place + 1)) {
            hop.snoop = Some(timeout_min);
            data[place].snoop = Some(timeout_min);
            break; // one agent is enough for a flow: the first
        }
    }
    Routes { forward: merged(data), reverse: merged(acks), hosts: [0, 1] }
}

/// Adds hops that only delay to the hop before them, unless that lets packets overtake where they must not.
fn merged(hops: Vec<Hop>) -> Vec<Hop> {
    let mut merged: Vec<Hop> = Vec::new();
    for hop in hops {
        match (hop.link, merged.last_mut()) {
            (None, Some(last)) if hop.snoop.is_none() && (hop.delay.is_constant() || hop.reorder == last.reorder) => {
                last.delay = last.delay.plus(&hop.delay);
            }
            _ => merged.push(hop),
        }
    }
    merged
}
