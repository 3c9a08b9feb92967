//! The windows of the controllers as a reviewer sees them: whole segments at every second of a fixed path, the events
//! of that second, and a line that draws the first seconds.

mod common;

use std::fmt::Write;

use common::{at, run};
use control::registry::CONTROLLERS;
use record::{EventKind, Tables};

const SECONDS: u32 = 60;

/// A letter for each height: the window from nothing to the largest in the line.
const HEIGHTS: [char; 9] = [' ', '.', ':', '-', '=', '+', '*', '#', '@'];

/// The windows at these times, drawn.
fn drawn(windows: &[f64]) -> String {
    let most = windows.iter().copied().fold(1.0, f64::max);
    windows.iter().map(|window| HEIGHTS[(window / most * 8.0).round() as usize]).collect()
}

fn windows(tables: &Tables, times: impl Iterator<Item = f64>) -> Vec<f64> {
    let series = &tables.flow_series.columns();
    times.map(|time| at(&series.time_s, &series.window_segments, time)).collect()
}

/// How often each kind of event happened, in the order of the kinds.
fn counts(tables: &Tables) -> String {
    let count = |kind: usize| tables.events.columns().kind.iter().filter(|&&k| k as usize == kind).count();
    let named = EventKind::NAMES.iter().enumerate().map(|(kind, name)| (name, count(kind)));
    named.filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

/// One flow over 10 Mbit/s and 40 ms with room for 84 packets, including the one in service.
fn trajectory(cc: &str, profile: &str, parameters: &str, loss: &str) -> String {
    let tables = run(&format!(
        r#"
        duration = "{SECONDS}s"
        phase_noise = false
        profile = "{profile}"
        path.queue = {{ limit = "84p", count_in_service = true }}
        path.rate = "10mbit"
        path.rtt = "40ms"
        path.loss = "{loss}"
        flows = [{{ cc = "{cc}", parameters = {parameters} }}]
        record = {{ flow_series = "50ms", link_series = "100ms" }}
        "#
    ));
    let mut text = String::new();
    writeln!(text, "loss {loss}; {}", counts(&tables)).unwrap();
    let (flow, link) = (&tables.flows[0], &tables.links[0]);
    let goodput = flow.goodput_bps * 1e-6;
    let (mean, most) = (link.queue_packets_mean, link.queue_packets_max);
    writeln!(text, "goodput {goodput:.2} Mbit/s, queue {mean:.0} on average, {most:.0} at most").unwrap();
    writeln!(text, "\nwindow in segments at every second:").unwrap();
    let every_second: Vec<_> = windows(&tables, (0..SECONDS).map(f64::from));
    for (row, ten) in every_second.chunks(10).enumerate() {
        let cells: String = ten.iter().map(|window| format!("{:5.0}", window.floor())).collect();
        writeln!(text, "{:>4} s{cells}", 10 * row).unwrap();
    }
    writeln!(text, "\nevery 50 ms, {} for the largest of a line:", HEIGHTS[8]).unwrap();
    for row in 0..4 {
        let times = (0..100).map(|column| f64::from(5 * row) + 0.05 * f64::from(column));
        writeln!(text, "{:>4} s |{}|", 5 * row, drawn(&windows(&tables, times))).unwrap();
    }
    text
}

/// The trajectories without random loss and with 1 %.
fn both(cc: &str, profile: &str, parameters: &str) -> String {
    format!("{}\n{}", trajectory(cc, profile, parameters, "0%"), trajectory(cc, profile, parameters, "1%"))
}

/// The profile and the parameters of `cc`, from its paper's time if they matter.
fn setting(cc: &str) -> (&'static str, &'static str) {
    match cc {
        "aimd" => ("freebsd-9", "{ alpha = 0.31, beta = 0.8 }"),
        "card" => ("ns2-linux", "{}"),
        "da" | "jk" => ("real-1992", "{ max_window = 1000 }"),
        "dual" => ("real-1992", "{}"),
        "cdg" | "newreno" | "vegas" => ("freebsd-9", "{}"),
        "siad" => ("linux-3.5", "{}"),
        _ => ("linux", "{}"),
    }
}

#[test]
fn every_controller_goes_as_it_was_reviewed() {
    for entry in CONTROLLERS {
        let (profile, parameters) = setting(entry.name);
        insta::assert_snapshot!(entry.name.replace('-', "_"), both(entry.name, profile, parameters));
    }
}
