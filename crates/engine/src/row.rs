//! The row of a flow, which every engine fills in the same way.

use record::{FlowCounters, FlowDescription, FlowMeter, FlowRow};
use scenario::{DrawnFlow, Plan};
use units::Time;

/// When a flow was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// When it started.
    pub start: Time,
    /// When it stops, if it does not complete before.
    pub stop: Time,
    /// When its last segment arrived, if it has an end of its own and reached it.
    pub completed: Option<Time>,
    /// When its connection was open at the sender, if it was opened.
    pub opened: Option<Time>,
    /// When its first data arrived, of TCP.
    pub first_arrival: Option<Time>,
    /// How often its SYN was sent again.
    pub syn_retransmissions: u32,
    /// How often its SYN-ACK was sent again.
    pub syn_ack_retransmissions: u32,
}

/// The row of `drawn`, flow `index` of `plan`, which was `measured` until the end of the run.
pub fn flow_row(
    (meter, counters): (&FlowMeter, &FlowCounters),
    plan: &Plan,
    index: u32,
    drawn: &DrawnFlow,
    lifetime: Lifetime,
) -> FlowRow {
    let planned = &plan.flows[drawn.of];
    let end = Time::ZERO + plan.duration;
    let Lifetime { start, stop, completed, .. } = lifetime;
    let description = FlowDescription {
        flow: index,
        name: &drawn.name(plan),
        cc: &planned.cc.label(),
        profile: &planned.profile,
        start,
        stop: completed.unwrap_or(stop).min(end),
        base_rtt: planned.base_rtt,
        completion: completed.map(|at| at.since(start)),
        handshake: lifetime.opened.map(|at| at.since(start)),
        first_byte: lifetime.first_arrival.map(|at| at.since(start)),
        syn_retransmissions: lifetime.syn_retransmissions,
        syn_ack_retransmissions: lifetime.syn_ack_retransmissions,
    };
    meter.finish(end, counters, description)
}
