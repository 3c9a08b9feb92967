//! Flows with several paths in one connection: a row for each, their sum, coupled windows, and a path that goes silent.

use std::sync::Arc;

use engine::{Engine as _, Job, Watch};
use quic::{Endpoints, Of, Quic};
use record::{EventKind, Tables};

/// A path of 10 Mbit/s and 50 ms, and one of 4 Mbit/s and 80 ms.
const FAST: &str = "rate = \"10mbit\", delay = \"25ms\", queue = \"42p\", reverse = {}";
const SLOW: &str = "rate = \"4mbit\", delay = \"40ms\", queue = \"30p\", reverse = {}";
/// The first of these, silent from 10 to 15 s.
const SILENT: &str = "rate = [[\"0s\", \"10mbit\"], [\"10s\", \"0bit\"], [\"15s\", \"10mbit\"]], delay = \"25ms\", \
                      queue = \"42p\", reverse = {}";
/// Three flows on the second path, and one on the first.
const RIVALS: &str = "[[flows]]\nname = \"on-a\"\ncc = \"newreno\"\nfrom = \"a\"\nto = \"b\"\n\
                      [[flows]]\nname = \"on-c\"\ncc = \"newreno\"\nfrom = \"c\"\nto = \"d\"\ncount = 3";

/// A multipath flow over a link from `a` to `b` and one from `c` to `d`, with more about the flow and other flows.
fn run(duration: &str, links: [&str; 2], flow: &str, others: &str, seed: u64) -> Tables {
    let [first, second] = links;
    let text = format!(
        r#"
        duration = "{duration}"
        links = [{{ from = "a", to = "b", {first} }}, {{ from = "c", to = "d", {second} }}]
        record = {{ events = true, flow_series = "100ms", probes = "1s" }}
        [[flows]]
        name = "both"
        subflows = [{{ from = "a", to = "b" }}, {{ name = "second", from = "c", to = "d" }}]
        {flow}
        {others}
        "#
    );
    let plan = scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    Quic::default().run(&Job { plan: Arc::new(plan), seed }, &Watch::default()).unwrap().tables
}

/// Bits a second that row `row` brought from `from` to `to` seconds.
fn goodput(tables: &Tables, row: u32, from: f64, to: f64) -> f64 {
    let series = tables.flow_series.columns();
    let until = |time: f64| {
        let known = |&at: &usize| series.flow[at] == row && series.time_s[at] <= time + 1e-9;
        (0..series.flow.len()).rfind(known).map_or(0, |at| series.delivered_bytes[at])
    };
    (until(to) - until(from)) as f64 * 8.0 / (to - from)
}

#[test]
fn unequal_paths_add_up_with_controllers_of_either_kind() {
    for cc in ["noq:newreno", "noq:cubic", "noq:bbr3", "newreno", "cubic", "bbr3"] {
        let tables = run("20s", [FAST, SLOW], &format!("cc = \"{cc}\""), "", 1);
        let [first, second] = &tables.flows[..] else { panic!("{:?}", tables.flows) };
        assert_eq!([&*first.name, &*second.name, &*second.profile], ["both:0", "both:second", "noq"]);
        for (row, rate) in [(0, 10e6), (1, 4e6)] {
            let share = goodput(&tables, row, 5.0, 20.0) / rate;
            assert!((0.8..0.97).contains(&share), "{cc}, path {row}: {share}");
        }
        // A handshake of 51 ms, the identifiers of the other path after it, and its validation.
        assert!(first.start_s == 0.0 && (0.05..0.2).contains(&second.start_s), "{cc}: {}", second.start_s);
        let events = tables.events.columns();
        let starts = (0..events.flow.len()).filter(|&at| events.kind[at] == EventKind::Start).map(|at| events.flow[at]);
        assert_eq!(starts.collect::<Vec<_>>(), [0, 1], "{cc}");
        // Each path has a window and an RTT of its own.
        let series = tables.flow_series.columns();
        let last = |row| (0..series.flow.len()).rfind(|&at| series.flow[at] == row).unwrap();
        let [one, other] = [0, 1].map(last);
        assert!(series.window_segments[one] != series.window_segments[other], "{cc}");
        assert!(series.smoothed_rtt_ms[one] < series.smoothed_rtt_ms[other], "{cc}");
    }
}

#[test]
fn packets_of_each_path_are_counted_in_its_row() {
    let lossy = |path: &str| format!("{path}, loss = \"1%\"");
    let tables = run("20s", [&lossy(FAST), &lossy(SLOW)], "cc = \"noq:cubic\"", "", 1);
    for (flow, name) in tables.flows.iter().zip(["a-b", "c-d"]) {
        let link = tables.links.iter().find(|link| link.name == name).unwrap();
        let discarded = link.lost_packets + link.dropped_packets;
        // noq drops packets with old keys whose numbers are above the number at which another path changed them.
        let with_old_keys = flow.sender.lost_packets.saturating_sub(discarded);
        assert!(discarded > 30 && flow.sender.lost_packets > discarded - 10, "{flow:?} {link:?}");
        assert!(with_old_keys < 50, "{flow:?} {link:?}");
        // 1,472 bytes in a datagram that arrives, of which 1,441 to 1,447 are data.
        let brought = flow.sender.data_packets - discarded - with_old_keys;
        let payload = flow.delivered_bytes as f64 / brought as f64;
        assert!((1350.0..=1447.0).contains(&payload), "{}: {payload}", flow.name);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_no_seed_ends_a_connection() {
    // Keys change within the first thousand packets, when packets with the old ones are on the slower path.
    let lossy = format!("{FAST}, loss = \"0.5%\"");
    let tables = |seed| format!("{:?}", run("3s", [&lossy, SLOW], "cc = \"cubic\"", "", seed));
    let first: Vec<String> = (1..=8).map(tables).collect();
    assert_eq!(first, (1..=8).map(tables).collect::<Vec<_>>());
    assert_ne!(first[0], first[1]);
}

#[test]
fn a_flow_may_have_more_paths_and_copies() {
    const ON_C: &str = "{ from = \"c\", to = \"d\" }";
    let three = "cc = \"newreno\"\nprofile = \"linux\"\ncount = 2\nstart_jitter = \"100ms\"";
    let text = format!(
        r#"
        duration = "10s"
        links = [{{ from = "a", to = "b", {FAST} }}, {{ from = "c", to = "d", {SLOW} }}]
        [[flows]]
        {three}
        subflows = [{{ from = "a", to = "b" }}, {ON_C}, {{ from = "c", to = "d", extra_delay = "9ms" }}]
        "#
    );
    let plan = scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    let tables = Quic::default().run(&Job { plan: Arc::new(plan), seed: 1 }, &Watch::default()).unwrap().tables;
    let names: Vec<&str> = tables.flows.iter().map(|flow| &*flow.name).collect();
    assert_eq!(names, ["newreno-0:0", "newreno-0:1", "newreno-0:2", "newreno-1:0", "newreno-1:1", "newreno-1:2"]);
    assert!(tables.flows.iter().all(|flow| flow.goodput_bps > 2e5), "{:?}", tables.flows);
    let total: f64 = tables.flows.iter().map(|flow| flow.goodput_bps).sum();
    assert!((11.5e6..13.6e6).contains(&total), "{total}");
}

#[test]
fn a_connection_has_the_row_of_its_first_path() {
    let text = format!(
        r#"
        duration = "1s"
        links = [{{ from = "a", to = "b", {FAST} }}, {{ from = "c", to = "d", {SLOW} }}]
        [[flows]]
        cc = "newreno"
        subflows = [{{ from = "a", to = "b" }}, {{ from = "c", to = "d" }}]
        [[flows]]
        cc = "newreno"
        from = "a"
        to = "b"
        "#
    );
    let plan = scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    let (drawn, engine, watch) = (plan.draw(1).unwrap(), Quic::default(), Watch::default());
    let of = Of { plan: &plan, seed: 1, drawn: &drawn, engine: &engine, watch: &watch };
    assert_eq!(Endpoints::new(of, |_| (0, 0)).connections().collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn coupled_windows_move_away_from_congestion_and_take_less_than_two_flows() {
    let with = |coupling: &str| {
        let flow = format!("cc = \"coupled\"\nparameters = {{ coupling = \"{coupling}\" }}");
        let tables = run("30s", [FAST, FAST], &flow, RIVALS, 1);
        [0, 1, 2].map(|row| goodput(&tables, row, 5.0, 30.0))
    };
    let [uncoupled, semi] = ["uncoupled", "semi"].map(with);
    let [on_a, _, rival] = uncoupled;
    assert!((0.67..1.5).contains(&(on_a / rival)), "{uncoupled:?}");
    assert!(semi[0] > 2.0 * semi[1], "{semi:?}");
    assert!(semi[0] + semi[1] < 0.85 * (uncoupled[0] + uncoupled[1]), "{semi:?} and {uncoupled:?}");
}

#[test]
fn a_path_that_goes_silent_leaves_the_data_to_the_other_and_comes_back() {
    for cc in ["noq:cubic", "cubic"] {
        for (silent, links) in [(0, [SILENT, FAST]), (1, [FAST, SILENT])] {
            let tables = run("30s", links, &format!("cc = \"{cc}\""), "", 1);
            let of = |row, from, to| goodput(&tables, row, from, to) / 10e6;
            assert!(of(1 - silent, 10.0, 15.0) > 0.9, "{cc}: {}", of(1 - silent, 10.0, 15.0));
            assert_eq!(of(silent, 11.0, 15.0), 0.0, "{cc}");
            assert!(of(silent, 20.0, 30.0) > 0.9, "{cc}: {}", of(silent, 20.0, 30.0));
        }
    }
    // A path that stays silent keeps the data in flight on it, and the application writes on.
    let gone = SILENT.replace(", [\"15s\", \"10mbit\"]", "");
    let tables = run("60s", [&gone, FAST], "cc = \"noq:cubic\"", "", 1);
    assert!(goodput(&tables, 1, 40.0, 60.0) > 9e6, "{}", goodput(&tables, 1, 40.0, 60.0));
}

#[test]
fn noq_acknowledges_all_paths_on_the_first() {
    // Without a queue a packet of the second path is acknowledged after 40 ms there and 25 ms back.
    let tables = run("5s", [FAST, SLOW], "cc = \"newreno\"", "", 1);
    let [first, second] = [0, 1].map(|row: usize| tables.flows[row].rtt_min_ms);
    assert!((50.0..55.0).contains(&first) && (65.0..72.0).contains(&second), "{first} and {second}");
    // So the second path waits, too, while nothing comes back on the first.
    let silent = SILENT.replace("reverse = {}", "reverse = { rate = [[\"0s\", \"10mbit\"], [\"10s\", \"0bit\"]] }");
    let tables = run("15s", [&silent, FAST], "cc = \"newreno\"", "", 1);
    assert!(goodput(&tables, 1, 11.0, 15.0) < 2e6, "{}", goodput(&tables, 1, 11.0, 15.0));
}
