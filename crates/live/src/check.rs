//! The limits of live runs: plans are refused before anything starts.

use std::fmt;

use control::ControllerRef;
use scenario::{Kind, Plan, PlannedFlow, Sampling, TransportOptions};
use serde_json::{Map, Value};
use transport::{EcnMode, Stack, linux};
use units::Span;

use crate::algorithm::Algorithms;
use crate::datagrams;
use crate::testbed::of_tcp;

/// As many connections as one run may have.
pub const MOST_FLOWS: usize = 64;
/// The profile that describes the kernel's TCP.
const PROFILE: &str = "linux";
/// The kernel sends no smaller segments (its setting tcp_min_snd_mss).
const SMALLEST_SEGMENT: u64 = 48;

/// The kernel's controller whose receiver reports each mark to the sender, by a state machine of its own in place of
/// accurate ECN (RFC 8257, section 3.2).
const COUNTS_MARKS: &str = "dctcp";

/// The kernel gives up a connection that is not made within some two minutes.
const LONGEST_RTT: Span = Span::from_secs(60);

/// Why a plan cannot run live. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// Refuses a `plan` that cannot run live with `algorithms`, by the first flow or key that cannot.
pub fn check(plan: &Plan, algorithms: &dyn Algorithms) -> Result<(), Refusal> {
    check_links(plan)?;
    let first = of_tcp(plan).next();
    for flow in &plan.flows {
        let refuse = |message: String| Refusal(format!("flow `{}`: {message}", flow.name()));
        check_flow(flow).map_err(refuse)?;
        let Some(first) = first.filter(|_| !datagrams::are_of(flow)) else { continue };
        algorithms.check(&flow.cc, &flow.given).map_err(refuse)?;
        if let Some(option) = differing(&flow.options, &first.options) {
            let name = first.name();
            return Err(refuse(format!(
                "transport.{option} must be as for `{name}`: in a live run it holds for all flows"
            )));
        }
    }
    if let (sampling @ Sampling::Acks(_), Some(_)) = (plan.record.flow_series, first) {
        algorithms.check_trace().map_err(|why| Refusal(no_rows(sampling, &why)))?;
    }
    let connections: u64 = plan.flows.iter().map(|flow| flow.connections()).sum();
    if connections > MOST_FLOWS as u64 {
        return Err(too_many(connections));
    }
    Ok(())
}

/// Refuses links that are only simulated.
pub(crate) fn check_links(plan: &Plan) -> Result<(), Refusal> {
    if let Some(medium) = plan.media.first() {
        return Err(Refusal(format!("wlans: `{}` cannot run live: a wireless medium is only simulated", medium.name)));
    }
    if let Some(link) = plan.links.iter().find(|link| link.duplicate.is_some()) {
        return Err(Refusal(format!(
            "duplicate of `{}` cannot run live: packets are only copied in simulation",
            link.name
        )));
    }
    if let Some(link) = plan.links.iter().find(|link| link.clear_ecn.is_some()) {
        return Err(Refusal(format!(
            "clear_ecn of `{}` cannot run live: the ECN field is only cleared in simulation",
            link.name
        )));
    }
    Ok(())
}

/// Why there are no rows at ACKs.
pub(crate) fn no_rows(sampling: Sampling, why: &str) -> String {
    format!(
        "record.flow_series: `{sampling}` needs the kernel's trace in a live run, write a time like `10ms` instead: \
         {why}"
    )
}

pub(crate) fn too_many(connections: u64) -> Refusal {
    Refusal(format!("flows: {connections} connections are too many for a live run, which has at most {MOST_FLOWS}"))
}

fn check_flow(flow: &PlannedFlow) -> Result<(), String> {
    match flow.kind {
        Kind::Tcp => check_tcp(flow)?,
        Kind::Datagram { .. } | Kind::Media { .. } => datagrams::check(flow)?,
        Kind::Tfrc { .. } => return Err("cc `tfrc` cannot run live: the kernel's TCP has no such flow".to_owned()),
    }
    if !flow.changes.is_empty() {
        return Err("changes cannot run live".to_owned());
    }
    check_route(flow)
}

fn check_tcp(flow: &PlannedFlow) -> Result<(), String> {
    if let ControllerRef::Python { .. } = flow.cc {
        return Err(format!("cc `{}` cannot run live: the kernel cannot call Python", flow.cc));
    }
    if flow.profile != PROFILE {
        return Err(format!("profile `{}` cannot run live: the kernel's TCP is that of `{PROFILE}`", flow.profile));
    }
    if flow.options.segment_size.get() < SMALLEST_SEGMENT {
        return Err(format!(
            "transport.segment_size `{}` cannot run live: the kernel's TCP sends at least {SMALLEST_SEGMENT} bytes",
            flow.options.segment_size
        ));
    }
    if flow.base_rtt > LONGEST_RTT {
        return Err(format!(
            "a base RTT of {} cannot run live: across more than {LONGEST_RTT} the kernel makes no connection",
            flow.base_rtt
        ));
    }
    if flow.relays.is_some() {
        return Err("relays cannot run live: proxies are only simulated".to_owned());
    }
    if flow.quick_start.is_some() {
        return Err("quick_start cannot run live: it is only simulated".to_owned());
    }
    if flow.pages.is_some() {
        return Err("think cannot run live: pages that wait for each other are only simulated".to_owned());
    }
    if flow.options.ecn() == EcnMode::Accurate && flow.cc != ControllerRef::Registered(COUNTS_MARKS) {
        return Err(format!(
            "transport.ecn `accurate` cannot run live but with cc `{COUNTS_MARKS}`, whose receiver reports each change \
             of marks; false and true can"
        ));
    }
    if let Some(option) = foreign_option(&flow.options) {
        return Err(format!("transport.{option} cannot be changed in a live run"));
    }
    Ok(())
}

pub(crate) fn check_route(flow: &PlannedFlow) -> Result<(), String> {
    if flow.subflow.is_some() {
        return Err("subflows cannot run live: multipath flows are only simulated".to_owned());
    }
    if flow.forward.len() > 1 || flow.reverse.len() > 1 {
        return Err("it passes several links one after the other, which cannot run live; one each way can".to_owned());
    }
    Ok(())
}

/// The name of an option that differs from the kernel's and cannot be set: it is no sysctl, and not the size of the
/// device's packets.
fn foreign_option(stack: &Stack) -> Option<String> {
    let given = TransportOptions::of(stack);
    if let Err(option) = given.sysctls() {
        return Some(option.to_owned());
    }
    let kernel = linux();
    let possible = given.by_sysctls(&TransportOptions::of(&kernel));
    let possible = TransportOptions { segment_size: given.segment_size, ..possible };
    let [given, possible] = [given, TransportOptions::of(&possible.stack(&kernel))].map(by_name);
    given.into_iter().find_map(|(name, value)| (possible[&name] != value).then_some(name))
}

/// The first option that holds for all flows, being a sysctl or a size of the device, and differs.
fn differing(one: &Stack, other: &Stack) -> Option<&'static str> {
    let [one, other] = [one, other].map(|stack| by_name(TransportOptions::of(stack)));
    std::iter::once("segment_size").chain(TransportOptions::set_by_sysctls()).find(|name| one[*name] != other[*name])
}

fn by_name(options: TransportOptions) -> Map<String, Value> {
    let Ok(Value::Object(all)) = serde_json::to_value(options) else { unreachable!("options serialise as an object") };
    all
}
