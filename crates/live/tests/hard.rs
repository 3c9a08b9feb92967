//! Hard times for a connection: silence, heavy loss, marks, overtaking. Under every controller of this project in the
//! kernel, and two of the kernel's own.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{alone, first_with, job, kernel_tells, possible, settled, threads_and_files};
use live::{Outcome, ProjectControllers};
use record::{EventKind, FlowState};

const OWN: &str = r#"{ cc = "cdg" }, { cc = "siad" }, { cc = "da" }"#;
const ALL: &str = r#"{ cc = "newreno" }, { cc = "cubic" }, { cc = "cdg" }, { cc = "siad" }, { cc = "da" }"#;

/// The first valid run of `toml`, as `first_with` has it.
fn run(toml: &str) -> Option<Outcome> {
    run_with(toml, |_| true)
}

/// The first valid run of `toml` that `holds`, as `first_with` has it.
fn run_with(toml: &str, holds: impl Fn(&Outcome) -> bool) -> Option<Outcome> {
    let mut job = job(toml);
    job.algorithms = Arc::new(ProjectControllers);
    let before = threads_and_files("self");
    let outcome = first_with(&job, |outcome| outcome.notes.valid && holds(outcome))?;
    assert_eq!(settled(before), before, "programs, links and sockets are gone");
    assert_eq!((outcome.notes.state_source, outcome.notes.missed_records), ("tracepoint", 0));
    Some(outcome)
}

/// When something happened to a flow, and the value.
fn events(outcome: &Outcome, flow: usize, kind: EventKind) -> Vec<(f64, f64)> {
    let events = &outcome.tables.events.columns();
    let of_flow = |&i: &usize| events.flow[i] as usize == flow && events.kind[i] == kind;
    (0..events.kind.len()).filter(of_flow).map(|i| (events.time_s[i], events.value[i])).collect()
}

#[test]
fn a_silent_second_runs_into_timeouts_that_turn_out_to_be_spurious() {
    let _alone = alone();
    if !possible() || !kernel_tells() {
        return;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("silent-second.trace");
    // 12 Mbit/s for a second, and nothing for another: what waits is late, not lost.
    let opportunities = (1..=1000).chain([2000]).map(|i| format!("{i}\n"));
    std::fs::write(&path, opportunities.collect::<String>()).unwrap();
    let Some(outcome) = run(&format!(
        r#"
        duration = "5s"
        path = {{ rate = {{ trace = {path:?} }}, rtt = "40ms", queue = "100p" }}
        flows = [{ALL}, {{ cc = "cdg", parameters = {{ beta_d = 0.5 }} }}]
        record = {{ flow_series = "1ms" }}
        "#
    )) else {
        return;
    };
    let series = &outcome.tables.flow_series.columns();
    // Reno, CUBIC and CDG keep this share of the window on a timeout.
    let kept = [Some(0.5), Some(717.0 / 1024.0), Some(0.5), None, None, Some(0.5)];
    let mut going_on = 0;
    for (flow, kept) in kept.into_iter().enumerate() {
        let row = &outcome.tables.flows[flow];
        let timeouts = events(&outcome, flow, EventKind::Timeout);
        assert_eq!((timeouts.len() as u64, row.sender.timeouts > 0), (row.sender.timeouts, true), "{row:?}");
        let rows: Vec<usize> = (0..series.flow.len()).filter(|&i| series.flow[i] as usize == flow).collect();
        let near = |at: f64| rows.iter().copied().find(|&i| series.time_s[i] > at).unwrap();
        let over = [EventKind::Spurious, EventKind::Recovered].map(|kind| events(&outcome, flow, kind)).concat();
        for &(at, window) in timeouts.iter().filter(|timeout| timeout.0 < 4.9) {
            // An ACK that comes in the instant of the timer undoes it before the next look. The trace notices an undo
            // with the ACK after it, of which a flow of two segments has none for a while.
            if over.iter().any(|end| (at..at + 0.005).contains(&end.0)) {
                continue;
            }
            let after = near(at);
            assert_eq!((series.state[after], series.window_segments[after]), (FlowState::Loss, 1.0), "{row:?} at {at}");
            let (threshold, was) = (series.threshold_segments[after], series.state[near(at - 0.01)]);
            if let (Some(kept), FlowState::Open) = (kept, was) {
                assert!(
                    (threshold - (kept * window).max(2.0)).abs() <= 1.0,
                    "{row:?} at {at}: {threshold} of {window}"
                );
            }
        }
        let delivered = |at| series.delivered_bytes[near(at)];
        going_on += u32::from(delivered(4.9) > delivered(1.9));
    }
    // A round-trip time of more than a second makes timeouts of three: one flow or another may wait for its own.
    assert!(going_on >= 4, "{:?}", outcome.tables.flows);
    let spurious = outcome.tables.flows.iter().map(|flow| flow.sender.spurious).sum::<u64>();
    assert!(spurious > 0);
    assert!(windows_taken_back(&outcome) > 0);
}

/// Checks that windows return to their value before the last reduction, which its event records. Returns how many were
/// compared. SIAD and DA are left out: the next ACK, by which the trace notices an undo, has an RTT of more than a
/// second, on which they may reduce anew.
fn windows_taken_back(outcome: &Outcome) -> u32 {
    let series = &outcome.tables.flow_series.columns();
    let mut compared = 0;
    for flow in [0, 1, 2, 5] {
        let reductions =
            [events(outcome, flow, EventKind::Timeout), events(outcome, flow, EventKind::LossEvent)].concat();
        for (at, _) in events(outcome, flow, EventKind::Spurious) {
            // The ACK that takes one back may show the next loss.
            if reductions.iter().any(|reduction| (at..at + 0.005).contains(&reduction.0)) {
                continue;
            }
            let last = reductions.iter().filter(|reduction| reduction.0 < at).max_by(|a, b| a.0.total_cmp(&b.0));
            let (_, before) = last.expect("something was reduced");
            let soon =
                |&i: &usize| series.flow[i] as usize == flow && (at + 0.001..at + 0.005).contains(&series.time_s[i]);
            if let Some(after) = (0..series.flow.len()).find(soon) {
                let window = series.window_segments[after];
                assert!(window + 2.0 >= *before, "flow {flow} at {at}: {window}, before {before}");
                compared += u32::from(*before > 2.0);
            }
        }
    }
    compared
}

#[test]
fn a_flow_that_loses_three_of_ten_packets_times_out_and_goes_on() {
    let _alone = alone();
    if !possible() || !kernel_tells() {
        return;
    }
    let toml = format!(
        r#"
        duration = "3s"
        path = {{ rate = "20mbit", rtt = "20ms", queue = "100p", loss = "30%" }}
        flows = [{ALL}]
        "#
    );
    // In one run of some a segment is lost again and again, and its flow still waits in the end.
    let going_on = |row: &record::FlowRow| row.sender.timeouts > 0 && row.delivered_bytes > 10_000;
    let Some(outcome) = run_with(&toml, |outcome| outcome.tables.flows.iter().all(going_on)) else { return };
    for (flow, row) in outcome.tables.flows.iter().enumerate() {
        assert!(going_on(row), "{row:?}");
        assert_eq!(events(&outcome, flow, EventKind::Timeout).len() as u64, row.sender.timeouts);
        assert_eq!(events(&outcome, flow, EventKind::LossEvent).len() as u64, row.sender.recoveries);
    }
}

#[test]
fn marks_bring_the_windows_of_twins_down_before_anything_is_dropped() {
    let _alone = alone();
    if !possible() || !kernel_tells() {
        return;
    }
    let ecn = OWN.replace(" }", ", transport = { ecn = true } }");
    let Some(outcome) = run(&format!(
        r#"
        duration = "2s"
        path = {{ rate = "10mbit", rtt = "20ms", queue = {{ limit = "200p", mark_above = "10p" }} }}
        flows = [{ecn}]
        "#
    )) else {
        return;
    };
    let link = &outcome.tables.links[0];
    assert!(link.dropped_packets == 0 && link.queue_packets_max < 150.0, "{link:?}");
    for (flow, row) in outcome.tables.flows.iter().enumerate() {
        let echoes = events(&outcome, flow, EventKind::Ecn);
        assert!(row.marked_packets > 0 && echoes.len() > 2, "{row:?}");
        // At most one reduction a round trip.
        assert!(echoes.windows(2).all(|pair| pair[1].0 - pair[0].0 > 0.02), "{row:?} {echoes:?}");
        assert_eq!((row.sender.timeouts, row.sender.recoveries, row.sender.spurious), (0, 0, 0), "{row:?}");
    }
}

#[test]
fn what_overtaking_made_the_sender_believe_lost_is_taken_back() {
    let _alone = alone();
    if !possible() || !kernel_tells() {
        return;
    }
    let Some(outcome) = run(&format!(
        r#"
        duration = "2s"
        path = {{ rate = "20mbit", rtt = "40ms", queue = "infinite", jitter = {{ uniform = "15ms", reorder = true }} }}
        flows = [{ALL}]
        "#
    )) else {
        return;
    };
    let sum = |of: fn(&record::FlowRow) -> u64| outcome.tables.flows.iter().map(of).sum::<u64>();
    assert!(outcome.tables.links[0].dropped_packets == 0 && sum(|row| row.sender.recoveries) > 0);
    assert!(sum(|row| row.sender.spurious) > 0, "{:?}", outcome.tables.flows);
    for (flow, row) in outcome.tables.flows.iter().enumerate() {
        assert_eq!(events(&outcome, flow, EventKind::Spurious).len() as u64, row.sender.spurious);
        assert!(row.delivered_bytes > 50_000, "{row:?}");
    }
}
