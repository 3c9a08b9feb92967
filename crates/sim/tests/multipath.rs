//! Multipath flows on whole paths: what each coupling does with two links, and Quick-Start.

mod common;

use common::{at, plan, run};
use record::Tables;

/// A multipath flow and single-path flows over two links of 10 Mbit/s: as many on each as the numbers say.
fn shared(coupling: &str, rivals: [u32; 2]) -> Tables {
    let [first, second] = rivals;
    run(&format!(
        r#"
        duration = "120s"
        warmup = "20s"
        links = [
            {{ from = "a", to = "b", rate = "10mbit", delay = "25ms", queue = "42p", reverse = {{}} }},
            {{ from = "c", to = "d", rate = "10mbit", delay = "25ms", queue = "42p", reverse = {{}} }},
        ]
        record = {{ probes = "off" }}
        [[flows]]
        name = "both"
        cc = "coupled"
        parameters = {{ coupling = "{coupling}" }}
        subflows = [{{ from = "a", to = "b" }}, {{ name = "second", from = "c", to = "d" }}]
        [[flows]]
        name = "on-a"
        cc = "newreno"
        from = "a"
        to = "b"
        count = {first}
        [[flows]]
        name = "on-c"
        cc = "newreno"
        from = "c"
        to = "d"
        count = {second}
        "#
    ))
}

/// The share of the windows of the multipath flow that is on the first link, each second from 20 s on.
fn shares(tables: &Tables) -> Vec<f64> {
    let series = tables.flow_series.columns();
    let window = |flow: u32, time: f64| {
        let rows: Vec<usize> = (0..series.flow.len()).filter(|&row| series.flow[row] == flow).collect();
        let times: Vec<f64> = rows.iter().map(|&row| series.time_s[row]).collect();
        at(&times, &rows.iter().map(|&row| series.window_segments[row]).collect::<Vec<_>>(), time)
    };
    (20..120).map(f64::from).map(|time| window(0, time) / (window(0, time) + window(1, time))).collect()
}

#[test]
fn subflows_are_flows_named_after_the_flow_and_their_place() {
    let tables = shared("semi", [1, 1]);
    let names: Vec<&str> = tables.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["both:0", "both:second", "on-a", "on-c"]);
    let total: f64 = tables.flows.iter().map(|flow| flow.goodput_bps).sum();
    assert!(total > 17e6, "both links are used: {total}");
}

#[test]
fn uncoupled_subflows_take_an_equal_share_of_each_link() {
    let tables = shared("uncoupled", [1, 1]);
    for (own, rival) in [(0, 2), (1, 3)] {
        let ratio = tables.flows[own].goodput_bps / tables.flows[rival].goodput_bps;
        assert!((0.67..1.5).contains(&ratio), "{ratio}");
    }
}

#[test]
fn semi_coupled_subflows_take_about_as_much_as_one_flow_and_move_away_from_congestion() {
    let tables = shared("semi", [1, 3]);
    let both = tables.flows[0].goodput_bps + tables.flows[1].goodput_bps;
    assert!(tables.flows[0].goodput_bps > 2.0 * tables.flows[1].goodput_bps);
    assert!(both < 7.5e6, "{both}");
}

#[test]
fn fully_coupled_windows_flip_between_the_links_more_than_others() {
    let deviation = |coupling: &str| {
        let shares = shares(&shared(coupling, [1, 1]));
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        (shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / shares.len() as f64).sqrt()
    };
    let [fully, uncoupled] = ["fully", "uncoupled"].map(deviation);
    assert!(fully > uncoupled, "{fully} and {uncoupled}");
}

/// One flow over 100 Mbit/s and 100 ms that may ask for 80 Mbit/s, beside a load.
fn quick_start(ask: &str, load: &str) -> Tables {
    run(&format!(
        r#"
        duration = "3s"
        path = {{ rate = "100mbit", rtt = "100ms", queue = "infinite" }}
        record = {{ flow_series = "10ms" }}
        [[flows]]
        cc = "newreno"
        profile = "ns2-linux"
        start = "1s"
        {ask}
        {load}
        "#
    ))
}

/// Bytes that had arrived for flow 0 at `time`.
fn delivered(tables: &Tables, time: f64) -> u64 {
    let series = tables.flow_series.columns();
    let rows: Vec<usize> = (0..series.flow.len()).filter(|&row| series.flow[row] == 0).collect();
    let times: Vec<f64> = rows.iter().map(|&row| series.time_s[row]).collect();
    at(&times, &rows.iter().map(|&row| series.delivered_bytes[row]).collect::<Vec<_>>(), time)
}

/// The window of `flow` in the first row after `opened`, when its SYN-ACK has come and nothing is acknowledged yet.
fn window_once_open(tables: &Tables, flow: u32, opened: f64) -> f64 {
    let series = tables.flow_series.columns();
    let is_next = |&row: &usize| series.flow[row] == flow && series.time_s[row] > opened + 0.015;
    series.window_segments[(0..series.flow.len()).find(is_next).unwrap()]
}

#[test]
fn an_idle_path_grants_what_is_asked_for_and_it_arrives_at_that_rate() {
    let tables = quick_start("quick_start = \"80mbit\"", "");
    // `40 kbit/s * 2^10 = 40.96 Mbit/s`. From 1.15 s on, a handshake and half an RTT after the start: in 80 ms
    // `0.4096 MB`.
    let arrived = delivered(&tables, 1.24) - delivered(&tables, 1.16);
    let wire = arrived as f64 * 1040.0 / 1000.0;
    assert!((wire / 409_600.0 - 1.0).abs() < 0.02, "{arrived}");
    assert_eq!(delivered(&tables, 1.14), 0, "not before the handshake");
    let without = quick_start("transport = { handshake = true }", "");
    assert!(delivered(&without, 1.24) < 30_000, "{}", delivered(&without, 1.24));
}

#[test]
fn a_busy_link_grants_what_is_left_and_a_full_one_nothing() {
    let load = |rate: &str| {
        format!("[[flows]]\ncc = \"newreno\"\nkind = \"datagram\"\nsource = {{ rate = \"{rate}\" }}\nname = \"load\"")
    };
    let window = |rate: &str| {
        let tables = quick_start("quick_start = \"80mbit\"", &load(rate));
        window_once_open(&tables, 0, 1.1)
    };
    // `100 - 75 = 25 Mbit/s` are left: code 9 is 20.48 Mbit/s, 256 kB a round trip, 246 packets of 1040 bytes.
    assert_eq!(window("75mbit"), 246.0);
    assert_eq!(window("99.99mbit"), 2.0, "the initial window of the profile");
}

#[test]
fn a_link_grants_no_rate_twice_within_a_round_trip() {
    let plan = plan(
        r#"
        duration = "1s"
        path = { rate = "100mbit", rtt = "100ms", queue = "infinite" }
        record = { flow_series = "10ms" }
        flows = [{ cc = "newreno", profile = "ns2-linux", quick_start = "40.96mbit", count = 3 }]
        "#,
    );
    let tables = common::run_plan(plan, 1);
    // 40.96 Mbit/s are 512 kB a round trip, 492 packets of 1040 bytes, and `100 - 2 * 40.96 = 18.08` leave 10.24
    // Mbit/s.
    assert_eq!([0, 1, 2].map(|flow| window_once_open(&tables, flow, 0.1)), [492.0, 492.0, 123.0]);
}
