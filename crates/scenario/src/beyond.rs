//! Warnings of values that no run can hold: times on the way of packets, and between rows, beyond its end.

use units::packet::MTU;
use units::{Span, Time};

use crate::language::Record;
use crate::plan::{PlannedFlow, PlannedLink};
use crate::values::Sampling;

/// Warnings of flows whose data cannot arrive until the run ends after `duration`, and of jitter beyond it.
pub(crate) fn on_the_way(flows: &[PlannedFlow], links: &[PlannedLink], duration: Span) -> Vec<String> {
    let end = Time::ZERO + duration;
    let mut warnings: Vec<String> = Vec::new();
    for flow in flows {
        let least: Span =
            flow.forward.iter().map(|hop| hop.delay.shortest() + service(hop.link.map(|link| &links[link]))).sum();
        let left = end.since(flow.start);
        if least >= left {
            let name = flow.name();
            warnings.push(format!(
                "no data of `{name}` can arrive: its way takes at least {least}, and the run ends {left} after its \
                 start"
            ));
        }
    }
    for PlannedLink { name, jitter, .. } in links {
        let largest = jitter.spreads.iter().map(|(_, spread)| spread.size).max().unwrap_or_default();
        let slot = jitter.slots.map_or(Span::ZERO, |slots| slots.min);
        let most = largest.max(slot);
        if most >= duration {
            warnings.push(format!("the jitter of `{name}`, {most}, is as long as the run of {duration}"));
        }
    }
    warnings
}

/// The time that a full packet takes on a link at its nominal rate.
fn service(link: Option<&PlannedLink>) -> Span {
    link.and_then(|link| link.rate).map_or(Span::ZERO, |rate| rate.time_for(MTU))
}

/// Warnings of series whose rows are further apart than a run of `duration`, if `record` says so.
pub(crate) fn between_rows(record: &Record, duration: Span) -> Vec<String> {
    let usual = Record::default();
    let series = [
        ("flow_series", record.flow_series, usual.flow_series),
        ("probes", record.probes, usual.probes),
        ("link_series", record.link_series, usual.link_series),
    ];
    let mut warnings = Vec::new();
    for (name, sampling, usual) in series {
        if let Sampling::Every(span) = sampling
            && sampling != usual
            && span > duration
        {
            warnings.push(format!("`record.{name}` has no row: {span} is longer than the run of {duration}"));
        }
    }
    warnings
}
