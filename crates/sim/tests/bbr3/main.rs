//! BBR version 3 in the whole simulator: alone, with random losses, beside CUBIC, when the path changes, and with an
//! application that has little to send.

#[path = "../common/mod.rs"]
mod common;
mod model;

use common::run;
use record::Tables;

/// `flows` over a path of `path`, measured from 15 s to 60 s.
fn over(path: &str, flows: &str) -> Tables {
    run(&document(path, flows))
}

fn document(path: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "60s"
        warmup = "15s"
        path = {{ {path} }}
        flows = [{flows}]
        record = {{ flow_series = "off", probes = "100ms", link_series = "off" }}
        "#
    )
}

const BBR: &str = r#"{ cc = "bbr3" }"#;
const CUBIC: &str = r#"{ cc = "cubic" }"#;

fn queueing_ms(tables: &Tables) -> f64 {
    tables.flows[0].rtt_mean_ms - tables.flows[0].base_rtt_ms
}

fn share(tables: &Tables) -> f64 {
    tables.flows[0].goodput_bps / tables.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>()
}

#[test]
fn alone_it_fills_the_link_and_queues_little_at_every_buffer() {
    // It paces at 99 %, and ProbeRTT costs 2 %. In cruise only the two segments of a burst queue. A probe adds a
    // quarter of 40 ms in about four round trips of sixty.
    for (rate, queue) in [("10mbit", "1bdp"), ("50mbit", "0.5bdp"), ("50mbit", "5bdp")] {
        let tables = over(&format!(r#"rate = "{rate}", rtt = "40ms", queue = "{queue}""#), BBR);
        let (utilization, queueing) = (tables.links[0].utilization, queueing_ms(&tables));
        assert!(utilization > 0.95, "{rate}, {queue}: {utilization}");
        assert!(queueing < 10.0, "{rate}, {queue}: {queueing} ms");
    }
}

/// 50 Mbit/s hold 166.7 segments of 1500 bytes in 40 ms.
fn path_with(loss: f64, margin: f64, threshold: f64) -> model::Path {
    let per_second = 50e6 / 8.0 / 1500.0;
    model::Path { flight: 0.04 * per_second, per_second, loss, margin, threshold }
}

/// Mean utilization from 15 s to 60 s with the first `seeds`, and its standard error.
fn mean(seeds: u32, used: impl Fn(u32) -> f64) -> (f64, f64) {
    let all: Vec<f64> = (1..=seeds).map(used).collect();
    let mean = all.iter().sum::<f64>() / f64::from(seeds);
    let variance = all.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / f64::from(seeds - 1);
    (mean, (variance / f64::from(seeds)).sqrt())
}

/// Asserts that the utilization simulated on `path` with each of `pacings` is within `near` of the one that follows
/// from the draft's rules, or within so many standard `errors` of the difference.
fn follows_the_draft(path: model::Path, pacings: &[&str], seeds: u32, (near, errors): (f64, f64)) {
    let (expected, error) = mean(seeds, |seed| model::utilization(path, 15.0, 60.0, seed));
    for pacing in pacings {
        let keys = format!(r#"rate = "50mbit", rtt = "40ms", queue = "1bdp", loss = "{}%""#, path.loss * 100.0);
        let parameters = format!("{{ pacing_margin = {:?}, loss_thresh = {:?} }}", path.margin, path.threshold);
        let flow = format!(r#"{{ cc = "bbr3", parameters = {parameters}, transport = {{ pacing = "{pacing}" }} }}"#);
        let plan = common::plan(&document(&keys, &flow));
        let (simulated, own) = mean(seeds, |seed| common::run_plan(plan.clone(), u64::from(seed)).links[0].utilization);
        let model::Path { loss, margin, threshold, .. } = path;
        let case = format!("loss {loss}, margin {margin}, threshold {threshold}, {pacing}");
        let differ = (simulated - expected).abs();
        assert!(
            differ < near.max(errors * (own * own + error * error).sqrt()),
            "{case}: {simulated:.3} ± {own:.3}, not {expected:.3} ± {error:.3}"
        );
    }
}

#[test]
fn random_losses_cost_what_the_draft_makes_of_them() {
    // Up to 1 % most probes reach the bandwidth.
    for (loss, margin) in [(0.001, 0.0), (0.001, 0.01), (0.005, 0.0), (0.005, 0.01), (0.01, 0.0), (0.01, 0.01)] {
        follows_the_draft(path_with(loss, margin, 0.02), &["exact", "linux"], 8, (0.05, 0.0));
    }
    // Four of 167 segments are more than 2 %. At 1.5 % 2.5 are lost of a flight: most probes end at once, and the
    // result depends on the few that do not, so that single runs have from 0.2 to 0.8. The model sends segment by
    // segment, as exact pacing does. In trains it is more: by 0.035 in the test below, and here by up to 0.1.
    follows_the_draft(path_with(0.015, 0.0, 0.02), &["exact"], 16, (0.05, 2.0));
    follows_the_draft(path_with(0.015, 0.01, 0.02), &["exact"], 16, (0.05, 2.0));
}

#[test]
fn without_probes_that_end_by_loss_the_short_term_model_alone_lowers_it() {
    for margin in [0.0, 0.01] {
        for loss in [0.0, 0.001, 0.005, 0.01, 0.015] {
            follows_the_draft(path_with(loss, margin, 0.9), &["exact", "linux"], 4, (0.04, 0.0));
        }
    }
}

#[test]
fn beside_cubic_neither_starves() {
    for queue in ["0.5bdp", "1bdp", "2bdp"] {
        let tables = over(&format!(r#"rate = "50mbit", rtt = "40ms", queue = "{queue}""#), &format!("{BBR}, {CUBIC}"));
        let part = share(&tables);
        assert!((0.1..0.9).contains(&part), "{queue}: {part}");
    }
}

#[test]
fn two_of_them_share_evenly() {
    let tables = over(r#"rate = "50mbit", rtt = "40ms", queue = "1bdp""#, &format!("{BBR}, {BBR}"));
    let part = share(&tables);
    assert!((0.35..0.65).contains(&part), "{part}");
}

#[test]
fn a_connection_that_resumes_delivers_two_megabytes_sooner_and_loses_nothing() {
    // 833 segments of 1500 bytes are 50 Mbit/s over 200 ms.
    let after = |keys: &str| {
        let path = r#"rate = "50mbit", rtt = "200ms", queue = "1bdp""#;
        let flow = format!(r#"{{ cc = "bbr3", bytes = "2MB"{keys} }}"#);
        let tables = over(path, &flow);
        (tables.flows[0].completion_s, tables.links[0].dropped_packets)
    };
    let (fresh, _) = after("");
    let (resumed, dropped) = after(r#", parameters = { saved_window = 833, saved_rtt = "200ms" }"#);
    assert_eq!(dropped, 0);
    assert!(resumed < fresh - 0.3, "{resumed} s, {fresh} s");
}
