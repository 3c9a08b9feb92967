//! Delay against throughput, and distribution functions.

use std::ops::Range;

use serde_json::Value;

use crate::panels::{Band, Panel, list, object};
use crate::run::{Label, Run};
use crate::statistics::{geomspace, linspace, map, rank, select, sorted};
use crate::{MANY_FLOWS, TENFOLD};

/// The number of points of a distribution.
const POINTS: usize = 400;

/// Size classes of transfers for completion times: the name, and the least number of bytes of this class and the next.
const SIZES: [(&str, Range<f64>); 4] = [
    ("below 10 kB", 0.0..1e4),
    ("10 to 100 kB", 1e4..1e5),
    ("100 kB to 1 MB", 1e5..1e6),
    ("1 MB and more", 1e6..f64::INFINITY),
];

/// The runs of a label with the rows of one flow, or of all.
struct Coloured<'a> {
    label: String,
    cc: String,
    of: Vec<(&'a Run<'a>, Range<usize>)>,
}

impl<'a> Coloured<'a> {
    /// All flows of a label.
    fn all(label: &'a Label<'a>) -> Self {
        let of = label.of.iter().map(|run| (run, 0..run.flow_count())).collect();
        Self { label: label.name.clone(), cc: label.first().only_controller(), of }
    }
}

/// The labels, or the flows of a single label.
fn coloured<'a>(labels: &'a [Label<'a>]) -> Vec<Coloured<'a>> {
    let first = labels[0].first();
    let mut found: Vec<Coloured<'a>> = labels.iter().map(Coloured::all).collect();
    if labels.len() == 1 && (2..=MANY_FLOWS).contains(&first.flow_count()) {
        let all = found.remove(0);
        for (row, curve) in first.groups(false).0.into_iter().enumerate() {
            let mut of = all.of.clone();
            of.retain(|(_, rows)| rows.contains(&row));
            of.iter_mut().for_each(|(_, rows)| *rows = row..row + 1);
            found.push(Coloured { label: curve.name, cc: curve.cc, of });
        }
    }
    found
}

/// Points of delay and goodput, one for each flow.
pub(crate) fn plane(labels: &[Label<'_>]) -> Value {
    let mut points = Vec::new();
    for one in coloured(labels) {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for (run, rows) in one.of {
            let (delays, rates) = (run.delays_above_base(), run.flows("goodput_bps"));
            for row in rows {
                let (delay, rate) = (delays[row], rates[row] / 1e6);
                if delay.is_finite() && rate.is_finite() {
                    x.push(delay);
                    y.push(rate);
                }
            }
        }
        let (label, cc) = (one.label.into(), one.cc.into());
        points.push(object(vec![("label", label), ("cc", cc), ("x", list(&x)), ("y", list(&y))]));
    }
    object(vec![
        ("x_label", "median RTT above the base RTT (ms)".into()),
        ("y_label", "goodput of a flow (Mbit/s)".into()),
        ("points", points.into()),
    ])
}

/// Distribution functions: of the RTT samples, and of completion times by size.
pub(crate) fn distributions(labels: &[Label<'_>]) -> Vec<Value> {
    let mut found = Vec::new();
    let samples = in_order(coloured(labels), &|run, rows| {
        let own = sorted(run.flows("flow")[rows].to_vec());
        let is_own = |flow| rank(&own, flow).checked_sub(1).is_some_and(|place| own[place] == flow);
        select(run.numbers("flow_series", "latest_rtt_ms"), run.numbers("flow_series", "flow"), &is_own)
    });
    if samples.iter().any(|one| !one.median.is_empty()) {
        found.push(distribution("rtt-distribution", "share of the time", "RTT (ms)", samples));
    }
    for (number, (name, sizes)) in SIZES.into_iter().enumerate() {
        let times = in_order(labels.iter().map(Coloured::all).collect(), &|run, _| {
            let times =
                select(run.flows("completion_s"), run.flows("delivered_bytes"), &|bytes| sizes.contains(&bytes));
            map(&times, &|time| time * 1e3)
        });
        if times.iter().any(|one| one.median.len() > 1) {
            let (id, title) = (format!("completion-{number}"), format!("share of the transfers of {name}"));
            found.push(distribution(&id, &title, "completion time (ms)", times));
        }
    }
    found
}

/// The rising values of each label or flow.
fn in_order(of: Vec<Coloured<'_>>, values: &dyn Fn(&Run<'_>, Range<usize>) -> Vec<f64>) -> Vec<Band> {
    let mut found = Vec::new();
    for one in of {
        let mut of_all = Vec::new();
        for (run, rows) in one.of {
            of_all.extend_from_slice(&values(run, rows));
        }
        found.push(Band { label: one.label, cc: one.cc, median: sorted(of_all), ends: Vec::new() });
    }
    found
}

/// The distribution functions of rising values.
fn distribution(name: &str, title: &str, x_label: &str, mut curves: Vec<Band>) -> Value {
    curves.retain(|one| !one.median.is_empty());
    let mut ends = Vec::new();
    for Band { median: values, .. } in &curves {
        ends.extend_from_slice(&[values[0], values[values.len() - 1]]);
    }
    let ends = sorted(ends);
    let (low, high) = (ends[0], ends[ends.len() - 1]);
    let log_x = low > 0.0 && high > TENFOLD * low;
    let x = if log_x { geomspace(low, high, POINTS) } else { linspace(low, high, POINTS) };
    for Band { median: values, .. } in &mut curves {
        *values = map(&x, &|at| rank(values, at) as f64 / values.len() as f64);
    }
    let (curves, floor) = (&*curves, Some(0.0));
    Panel { name, title, x_label, log: false, log_x, floor, x: &x, curves, level: None, ticks: Vec::new() }.into_json()
}
