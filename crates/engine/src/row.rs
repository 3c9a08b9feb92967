//! The row of a flow, which every engine fills in the same way.

use record::{FlowCounters, FlowDescription, FlowMeter, FlowRow, Lifetime};
use scenario::{DrawnFlow, Plan};
use units::Time;

/// The row of `drawn`, flow `index` of `plan`, which was `measured` until the end of the run.
pub fn flow_row(
    (meter, counters): (&FlowMeter, &FlowCounters),
    plan: &Plan,
    index: u32,
    drawn: &DrawnFlow,
    lifetime: Lifetime,
) -> FlowRow {
    let planned = &plan.flows[drawn.of];
    let description = FlowDescription {
        flow: index,
        name: &drawn.name(plan),
        cc: &planned.cc.label(),
        profile: &planned.profile,
        base_rtt: planned.base_rtt,
        lifetime,
    };
    meter.finish(Time::ZERO + plan.duration, counters, description)
}
