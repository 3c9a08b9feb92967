//! Flows of media on whole paths: GCC alone and beside others, repair, marks, controllers of TCP as an encoder's rate.

mod common;

use std::fmt::Write;

use common::{at, run};
use record::Tables;

/// A call of a minute with `flow` over `path`.
fn call(path: &str, flow: &str) -> Tables {
    run(&format!(
        r#"
        duration = "60s"
        warmup = "20s"
        path = {{ rtt = "100ms", {path} }}
        record = {{ datagrams = true }}
        flows = [{{ name = "call", kind = "media", {flow} }}]
        "#
    ))
}

const MEGABIT: &str = r#"rate = "1mbit", queue = "300ms""#;

/// The share of frames that were shown, of those captured before the last second.
fn shown(tables: &Tables) -> f64 {
    let frames = &tables.video_frames;
    let seen: Vec<bool> = frames
        .captured_s
        .iter()
        .zip(&frames.shown_s)
        .filter(|(at, _)| **at < 59.0)
        .map(|(_, s)| s.is_finite())
        .collect();
    seen.iter().filter(|shown| **shown).count() as f64 / seen.len() as f64
}

#[test]
fn gcc_fills_a_link_of_a_megabit_and_keeps_its_queue_short() {
    let tables = call(MEGABIT, r#"cc = "gcc""#);
    let flow = &tables.flows[0];
    assert!((0.75e6..0.97e6).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
    assert!(flow.rtt_p95_ms < 250.0 && flow.loss_rate < 0.01, "{flow:?}");
    assert!(shown(&tables) > 0.99, "{}", shown(&tables));
}

#[test]
fn an_encoder_has_its_highest_rate_where_the_path_has_more() {
    let tables = call(r#"rate = "10mbit", queue = "300ms""#, r#"cc = "gcc", media = { max_rate = "900kbit" }"#);
    let flow = &tables.flows[0];
    assert!((flow.goodput_bps / 0.9e6 - 1.0).abs() < 0.03, "{}", flow.goodput_bps);
    // 50 ms each way, and 1.2 ms for a packet of 1500 bytes.
    assert!(flow.rtt_p95_ms < 103.0, "{}", flow.rtt_p95_ms);
    // 30 frames a second for a minute.
    let frames = tables.video_frames.frame.len();
    assert!((1740..1860).contains(&frames), "{frames}");
}

#[test]
fn frames_after_a_loss_wait_for_a_key_frame_or_for_a_repair() {
    let lossy = r#"rate = "10mbit", queue = "300ms", loss = "1%""#;
    let plain = call(lossy, r#"cc = "gcc""#);
    let repaired = call(lossy, r#"cc = "gcc", media = { repair = "500ms" }"#);
    let protected = call(lossy, r#"cc = "gcc", media = { fec = 0.3 }"#);
    let keys = |tables: &Tables| tables.video_frames.is_key.iter().filter(|key| **key).count();
    assert_eq!(plain.flows[0].sender.retransmitted_packets, 0);
    assert!(repaired.flows[0].sender.retransmitted_packets > 10);
    let [plain_shown, repaired_shown, protected_shown] = [&plain, &repaired, &protected].map(shown);
    assert!(plain_shown < 0.95, "{plain_shown}");
    assert!(repaired_shown > 0.99 && protected_shown > 0.97, "{repaired_shown} {protected_shown}");
    assert!(keys(&plain) > 10 && keys(&repaired) < 5, "{} {}", keys(&plain), keys(&repaired));
}

#[test]
fn reports_that_are_lost_are_made_up_for_by_the_next() {
    let path = format!(r#"{MEGABIT}, reverse = {{ loss = "5%" }}"#);
    let flow = &call(&path, r#"cc = "gcc""#).flows[0];
    // Two reports in a row are lost once in 400: 40 s have 400 reports of 10 packets.
    assert!(flow.sender.lost_packets < 100, "{}", flow.sender.lost_packets);
    assert!(flow.goodput_bps > 0.6e6, "{}", flow.goodput_bps);
}

#[test]
fn an_outage_stops_a_call_and_it_comes_back() {
    let tables =
        call(r#"rate = [["0s", "1mbit"], ["30s", "0bit"], ["40s", "1mbit"]], queue = "300ms""#, r#"cc = "gcc""#);
    let flow = &tables.flows[0];
    assert!(flow.sender.timeouts > 2, "{}", flow.sender.timeouts);
    let series = tables.flow_series.columns();
    let delivered = |time: f64| at(&series.time_s, &series.delivered_bytes, time);
    assert!(delivered(60.0) - delivered(50.0) > 100_000, "{}", delivered(60.0) - delivered(50.0));
}

#[test]
fn the_windows_of_da_and_cdg_are_rates_of_an_encoder() {
    // The lowest rate of the encoder is 150 kbit/s.
    for cc in ["da", "cdg", "cubic"] {
        let tables = call(MEGABIT, &format!(r#"cc = "{cc}""#));
        let flow = &tables.flows[0];
        assert!((0.2e6..0.98e6).contains(&flow.goodput_bps), "{cc}: {}", flow.goodput_bps);
    }
}

/// The values of a probe of a flow in the second half of 200 s.
fn probed(tables: &Tables, flow: usize, name: &str) -> Vec<f64> {
    let probes = &tables.probes;
    let code = probes.names().iter().position(|known| *known == name).expect("a probe of the controller");
    let is_asked = |row: &usize| {
        (probes.time_s[*row] > 100.0, probes.flow[*row] as usize, usize::from(probes.code[*row])) == (true, flow, code)
    };
    (0..probes.value.len()).filter(is_asked).map(|row| probes.value[row]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// 200 s of calls with NADA, of which the second half is measured, each with this priority.
fn nada(rate: &str, priorities: &[f64]) -> Tables {
    let flow = |priority| format!(r#"{{ kind = "media", cc = "nada", parameters = {{ priority = {priority} }} }}"#);
    let flows: Vec<String> = priorities.iter().map(flow).collect();
    run(&format!(
        r#"
        duration = "200s"
        warmup = "100s"
        path = {{ rtt = "100ms", rate = "{rate}", queue = "300ms" }}
        flows = [{}]
        "#,
        flows.join(", ")
    ))
}

#[test]
fn nada_settles_where_its_closed_form_says() {
    let cases: [(&str, &[f64]); 5] =
        [("1mbit", &[1.0]), ("600kbit", &[1.0]), ("1mbit", &[2.0]), ("2mbit", &[1.0, 1.0]), ("1500kbit", &[2.0, 1.0])];
    for (rate, priorities) in cases {
        let tables = nada(rate, priorities);
        for (flow, priority) in priorities.iter().enumerate() {
            let (signal, target) = (probed(&tables, flow, "signal_ms"), probed(&tables, flow, "target_rate_bps"));
            // x = PRIO XREF RMAX / r, with 10 ms and 1.5 Mbit/s.
            let expected: Vec<f64> = target.iter().map(|rate| priority * 10.0 * 1.5e6 / rate).collect();
            let ratio = mean(&signal) / mean(&expected);
            assert!((ratio - 1.0).abs() < 0.05, "{rate}, {priorities:?}, flow {flow}: {ratio}");
        }
    }
}

#[test]
fn calls_of_nada_share_by_their_weights() {
    let shares = |rate, priorities: [f64; 2]| {
        let tables = nada(rate, &priorities);
        tables.flows[0].goodput_bps / tables.flows[1].goodput_bps
    };
    let equal = shares("2mbit", [1.0, 1.0]);
    assert!((equal - 1.0).abs() < 0.05, "{equal}");
    // The smallest of 15 delays spans more time for the slower flow, which therefore measures a shorter queue.
    let weighted = shares("1500kbit", [2.0, 1.0]);
    assert!((1.6..2.0).contains(&weighted), "{weighted}");
}

#[test]
fn an_encoder_behind_a_full_window_skips_frames() {
    let last = |limit: &str| {
        let media = format!(r#"cc = "cubic", media = {{ queue_limit = "{limit}" }}"#);
        let frames = call(r#"rate = "300kbit", queue = "1s""#, &media).video_frames;
        let waited = frames.captured_s.iter().zip(&frames.complete_s).map(|(captured, complete)| complete - captured);
        (frames.frame.len(), waited.fold(0.0, f64::max))
    };
    let (few, short) = last("350ms");
    let (all, long) = last("100s");
    assert!(few < all && short < long, "{few} of {all} frames, {short} and {long} s");
}

#[test]
fn marks_of_a_queue_are_reported_packet_by_packet() {
    let flow = r#"cc = "cubic", transport = { ecn = true }"#;
    let tables = call(r#"rate = "1mbit", queue = { discipline = "codel", limit = "1s", ecn = true }"#, flow);
    let flow = &tables.flows[0];
    assert!(flow.marked_packets > 0 && flow.sender.lost_packets == 0, "{flow:?}");
    let ecn = tables.events.columns().kind.iter().filter(|kind| **kind == record::EventKind::Ecn).count();
    assert!(ecn > 0);
}

#[test]
fn a_recording_gives_the_times_of_the_frames() {
    let text = r#"
        duration = "10s"
        path = { rate = "10mbit", rtt = "100ms", queue = "300ms" }
        record = { datagrams = true }
        flows = [{ cc = "gcc", kind = "media", source = { trace = "frames.txt" }, media = { min_rate = "400kbit" } }]
    "#;
    let writes: String = (0..500).map(|n| format!("{} {}\n", 20 * n, if n % 2 == 0 { 3000 } else { 1000 })).collect();
    let file = |_: &std::path::Path| Ok(writes.clone().into_bytes());
    let plan = scenario::from_toml(text, "test.toml").and_then(|scenario| scenario.plan(&file)).unwrap();
    let frames = common::run_plan(plan, 1).video_frames;
    assert_eq!(&frames.captured_s[..3], [0.0, 0.02, 0.04]);
    // 500 writes of 2000 bytes each 20 ms are 800 kbit/s, and 400 kbit/s are sent at first.
    assert_eq!(&frames.bytes[..3], [1500, 500, 1500]);
}

/// What a reviewer looks at: rates and delays each second, and the frames.
fn summary(tables: &Tables) -> String {
    let (flow, series) = (&tables.flows[0], tables.flow_series.columns());
    let mut text = String::new();
    writeln!(text, "goodput {:.3} Mbit/s, loss {:.4}", flow.goodput_bps / 1e6, flow.loss_rate).unwrap();
    writeln!(text, "rtt {:.1} to {:.1} ms, p95 {:.1} ms", flow.rtt_min_ms, flow.rtt_max_ms, flow.rtt_p95_ms).unwrap();
    writeln!(text, "shown {:.4} of {} frames", shown(tables), tables.video_frames.frame.len()).unwrap();
    writeln!(text, "\ntarget in kbit/s at every second:").unwrap();
    let every: Vec<f64> = (0..60).map(|time| at(&series.time_s, &series.pacing_rate_bps, f64::from(time))).collect();
    for (row, ten) in every.chunks(10).enumerate() {
        let cells: String = ten.iter().map(|rate| format!("{:6.0}", rate / 1e3)).collect();
        writeln!(text, "{:>4} s{cells}", 10 * row).unwrap();
    }
    text
}

#[test]
fn every_controller_of_media_goes_as_it_was_reviewed() {
    for entry in control::registry::MEDIA {
        let steps = r#"rate = [["0s", "1mbit"], ["20s", "2.5mbit"], ["40s", "600kbit"]], queue = "300ms""#;
        let tables = call(steps, &format!("cc = \"{}\"", entry.name));
        insta::assert_snapshot!(entry.name, summary(&tables));
    }
}
