//! Throughput, RTT, queue and window over time, one above the other.

use serde_json::Value;

use crate::MANY_FLOWS;
use crate::levels;
use crate::panels::{Curve, bands, list, object, over_time};
use crate::run::{Label, Run};
use crate::statistics::{held, interpolate, linspace, map, median, select, sorted};

/// The number of steps of a curve over time.
const STEPS: usize = 400;

/// The approximate number of bins of throughput in a run.
const BINS: f64 = 60.0;

/// More ticks would merge into a block on a screen.
const MOST_TICKS: f64 = 500.0;

/// The panels over time.
pub(crate) fn stack(labels: &[Label<'_>]) -> Vec<Value> {
    let first = labels[0].first();
    let duration = labels.iter().map(|label| label.first().duration_s()).fold(0.0, f64::max);
    let grid = &*linspace(0.0, duration, STEPS + 1);
    let width = bin_width(first, duration);
    let by_flow = labels.len() == 1;
    let throughput = bands(labels, &|run| {
        let by_group = !by_flow || run.flow_count() > MANY_FLOWS;
        let curves = if by_group { throughput_by_group(run, width) } else { throughput_by_flow(run, width) };
        together(run, on_grid(curves, grid, width, 1e6), by_flow, &|values| values.iter().sum())
    });
    let of_signal = |column| {
        bands(labels, &|run| {
            let curves = on_grid(signal(run, column), grid, (run.duration_s() / 20.0).max(1.0), 1.0);
            together(run, curves, by_flow, &mean)
        })
    };
    let (rtt, window) = (of_signal("latest_rtt_ms"), of_signal("window_segments"));
    let queue = bands(labels, &|run| vec![levels::queue(run, grid)]);
    let drops = labels.iter().map(drops).collect();
    vec![
        over_time(["throughput", "throughput (Mbit/s)"], grid, &throughput, levels::rate(first, grid), Vec::new()),
        over_time(["rtt", "RTT (ms)"], grid, &rtt, levels::base_rtt(first, grid), Vec::new()),
        over_time(["queue", "queue (ms)"], grid, &queue, levels::buffer(first, grid), drops),
        over_time(["window", "window (segments)"], grid, &window, None, Vec::new()),
    ]
}

/// The bins of the throughput in seconds: a whole number of the intervals between samples.
fn bin_width(run: &Run<'_>, duration: f64) -> f64 {
    let mut times = sorted(run.numbers("flow_series", "time_s").to_vec());
    times.dedup();
    let mut steps = Vec::new();
    for n in 1..times.len() {
        steps.push(times[n] - times[n - 1]);
    }
    let step = if steps.is_empty() { duration } else { median(steps) };
    (duration / BINS / step).round_ties_even().max(1.0) * step
}

/// The curves at the times of the grid, in `unit`. A value is missing if the latest one is older than `longest`.
fn on_grid(mut curves: Vec<Curve>, grid: &[f64], longest: f64, unit: f64) -> Vec<Curve> {
    for Curve { times, values, .. } in &mut curves {
        *values = map(&held(times, values, grid, longest), &|value| value / unit);
    }
    curves
}

/// The curves, or unless they are `by_flow` one in place of several, which joins their known values.
fn together(run: &Run<'_>, curves: Vec<Curve>, by_flow: bool, join: &dyn Fn(&[f64]) -> f64) -> Vec<Curve> {
    if by_flow || curves.len() < 2 {
        return curves;
    }
    let mut values = Vec::new();
    for n in 0..curves[0].values.len() {
        let mut known: Vec<f64> = curves.iter().map(|curve| curve.values[n]).collect();
        known.retain(|value| value.is_finite());
        values.push(join(&known));
    }
    vec![Curve { cc: run.only_controller(), values, ..Curve::default() }]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Binned throughput (bit/s at the centre of the bin) of every flow, during its life.
fn throughput_by_flow(run: &Run<'_>, width: f64) -> Vec<Curve> {
    let (flows, starts, stops) = (run.flows("flow"), run.flows("start_s"), run.flows("stop_s"));
    let sample = |column| run.numbers("flow_series", column);
    let (sampled, times, totals) = (sample("flow"), sample("time_s"), sample("arrived_bytes"));
    let bins = (stops.iter().copied().fold(0.0, f64::max) / width).round_ties_even() as usize;
    let mut curves = run.groups(false).0;
    for (row, curve) in curves.iter_mut().enumerate() {
        let is_own = |flow| flow == flows[row];
        let (mut times, mut totals) = (select(times, sampled, &is_own), select(totals, sampled, &is_own));
        if times.is_empty() {
            continue;
        }
        times.insert(0, times[0].min(starts[row]));
        totals.insert(0, 0.0);
        let edges: Vec<f64> = (0..=bins).map(|bin| bin as f64 * width).collect();
        let delivered = map(&edges, &|edge| interpolate(edge, &times, &totals));
        for bin in 0..bins {
            let centre = (edges[bin] + edges[bin + 1]) / 2.0;
            if (starts[row]..=stops[row]).contains(&centre) {
                curve.times.push(centre);
                curve.values.push((delivered[bin + 1] - delivered[bin]) * 8.0 / width);
            }
        }
    }
    curves
}

/// Binned throughput (bit/s at the centre of the bin) of all flows of a group together.
///
/// Data that arrived between the last sample of a flow and its end count at the end if it began after the warm-up.
fn throughput_by_group(run: &Run<'_>, width: f64) -> Vec<Curve> {
    let (starts, stops, lives) = (run.flows("start_s"), run.flows("stop_s"), run.flows("measured_s"));
    let totals = run.arrived_bytes();
    let bins = (stops.iter().copied().fold(0.0, f64::max) / width).round_ties_even().max(1.0) as usize;
    // A sample counts what came since the one before, so on the edge of two bins it belongs to the first.
    let bin = |time: f64| ((time / width - 1e-6).ceil() as usize).saturating_sub(1).min(bins - 1);
    let (mut curves, group_of) = run.groups(true);
    for curve in &mut curves {
        curve.times = (0..bins).map(|bin| (bin as f64 + 0.5) * width).collect();
        curve.values = vec![0.0; bins];
    }
    let mut counted = vec![0.0; stops.len()];
    let (times, samples) = (run.numbers("flow_series", "time_s"), run.numbers("flow_series", "arrived_bytes"));
    for (n, row) in run.sampled_rows().into_iter().enumerate() {
        if row < counted.len() {
            curves[group_of[row]].values[bin(times[n])] += samples[n] - counted[row];
            counted[row] = samples[n];
        }
    }
    for (row, &group) in group_of.iter().enumerate() {
        let life = stops[row] - starts[row];
        if (lives[row] - life).abs() <= 1e-8 + 1e-5 * life.abs() {
            curves[group].values[bin(stops[row])] += (totals[row] - counted[row]).max(0.0);
        }
    }
    for curve in &mut curves {
        curve.values = map(&curve.values, &|bytes| bytes * 8.0 / width);
    }
    curves
}

/// A signal of each flow. Many flows are shown by group: the mean over its flows that are sampled at an instant.
fn signal(run: &Run<'_>, column: &str) -> Vec<Curve> {
    let (mut curves, group_of) = run.groups(run.flow_count() > MANY_FLOWS);
    let mut counts = vec![Vec::new(); curves.len()];
    let (times, values) = (run.numbers("flow_series", "time_s"), run.numbers("flow_series", column));
    for (n, row) in run.sampled_rows().into_iter().enumerate() {
        let Some(&group) = group_of.get(row).filter(|_| values[n].is_finite()) else { continue };
        let (curve, counts) = (&mut curves[group], &mut counts[group]);
        if curve.times.last() != Some(&times[n]) {
            curve.times.push(times[n]);
            curve.values.push(0.0);
            counts.push(0.0);
        }
        let last = counts.len() - 1;
        curve.values[last] += values[n];
        counts[last] += 1.0;
    }
    for (curve, counts) in curves.iter_mut().zip(counts) {
        for (value, count) in curve.values.iter_mut().zip(counts) {
            *value /= count;
        }
    }
    curves
}

/// The drops in the first repetition of a label.
fn drops(label: &Label<'_>) -> Value {
    let (run, duration) = (label.first(), label.first().duration_s());
    let names = run.texts("events", "kind");
    let (kinds, times) = (run.numbers("events", "kind"), run.numbers("events", "time_s"));
    let mut times = select(times, kinds, &|kind| names.get(kind as usize).is_some_and(|name| name == "drop"));
    if times.len() as f64 > MOST_TICKS {
        let mut places = sorted(map(&times, &|time| (time / duration * MOST_TICKS).round_ties_even()));
        places.dedup();
        times = map(&places, &|place| place / MOST_TICKS * duration);
    }
    object(vec![("label", label.name.clone().into()), ("cc", run.only_controller().into()), ("at", list(&times))])
}
