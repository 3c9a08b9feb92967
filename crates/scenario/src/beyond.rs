//! Warnings of values that no run can hold: times on the way of packets, and between rows, beyond its end.

use std::sync::Arc;

use units::packet::MTU;
use units::{Span, Time};

use crate::language::Record;
use crate::plan::{PlannedFlow, PlannedLink};
use crate::values::{Sampling, Source, other_than_default};

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

/// Warnings of times of queue disciplines, other than their defaults, that are as long as the run.
pub(crate) fn in_queues(links: &[PlannedLink], duration: Span) -> Vec<String> {
    let mut warnings = Vec::new();
    for PlannedLink { name, settings, .. } in links {
        for (key, value) in other_than_default(&settings.queue.discipline) {
            let time = value.as_str().and_then(|text| text.parse::<Span>().ok());
            if let Some(time) = time.filter(|time| *time >= duration) {
                warnings.push(format!("`{key}` of the queue of `{name}`, {time}, is as long as the run of {duration}"));
            }
        }
    }
    warnings
}

/// Warnings of flows that offer or start but once, as their next packet or connection comes after their end.
pub(crate) fn between_starts(flows: &[PlannedFlow]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut last: Option<&PlannedFlow> = None;
    for flow in flows {
        // Copies have one warning.
        if last.replace(flow).is_some_and(|last| Arc::ptr_eq(&last.settings, &flow.settings)) {
            continue;
        }
        let life = flow.stop.since(flow.start);
        let pauses = [
            ("every", "connection", flow.every.map(|every| every.mean())),
            ("think", "page", flow.pages.map(|pages| pages.think.mean())),
            ("source", "packet", source(&flow.source)),
        ];
        for (key, one, pause) in pauses {
            if let Some(pause) = pause.filter(|pause| *pause > life) {
                let name = flow.name();
                warnings.push(format!("`{name}` has a {one} in {pause} (`{key}`), and lasts {life}"));
            }
        }
    }
    warnings
}

/// The time that a source takes for a full packet at its highest rate.
fn source(source: &Source) -> Option<Span> {
    let Source::Paced(paced) = source else { return None };
    paced.rate.iter().map(|(_, rate)| *rate).max().map(|rate| rate.time_for(MTU))
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
