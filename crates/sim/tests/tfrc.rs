//! TFRC flows (RFC 5348) on whole paths: the rate under losses of a known rate, beside TCP, and when reports stop.

mod common;

use common::{at, events, run};
use record::{EventKind, Tables};

/// The mean of a probe from `from` seconds on.
fn mean_probe(tables: &Tables, name: &str, from: f64) -> f64 {
    let probes = &tables.probes;
    let code = probes.names().iter().position(|known| *known == name).expect("a probe of it");
    let rows = probes.time_s.iter().zip(probes.code.iter().zip(&probes.value));
    let values: Vec<f64> =
        rows.filter(|(time, (c, _))| **time >= from && usize::from(**c) == code).map(|(_, (_, v))| *v).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// One TFRC flow with packets of 1000 bytes of payload over 100 Mbit/s and 100 ms.
fn alone(loss: &str) -> Tables {
    run(&format!(
        r#"
        duration = "120s"
        warmup = "20s"
        path = {{ rate = "100mbit", rtt = "100ms", queue = "infinite", loss = {loss} }}
        flows = [{{ cc = "tfrc", packet_size = "1028B" }}]
        "#
    ))
}

#[test]
fn a_packet_lost_of_every_hundred_gives_the_rate_of_the_equation() {
    let every: Vec<String> = (1..300).map(|n| (100 * n).to_string()).collect();
    let tables = alone(&format!("{{ packets = [{}] }}", every.join(", ")));
    // `p = 0.01` and `R = 100.08 ms`: 112,332 bytes/s at 100 ms, worked out in control::tfrc, times `100/100.08`.
    let goodput = tables.flows[0].goodput_bps / 8.0;
    assert!((goodput / 112_240.0 - 1.0).abs() < 0.01, "{goodput}");
    assert!((mean_probe(&tables, "loss_event_rate", 20.0) - 0.01).abs() < 1e-4);
    assert!((mean_probe(&tables, "rtt_ms", 20.0) - 100.08).abs() < 0.01);
}

#[test]
fn under_random_loss_the_rate_is_that_of_the_equation_at_the_reported_loss() {
    let tables = alone("\"0.1%\"");
    let p = mean_probe(&tables, "loss_event_rate", 20.0);
    // Some of the losses are in the round trip of another: 38 packets in each.
    assert!((0.0008..0.0011).contains(&p), "{p}");
    let expected = control::tfrc::equation(1000.0, 0.10008, p);
    let goodput = tables.flows[0].goodput_bps / 8.0;
    // The mean of `1/sqrt(p)` is above 1/sqrt of the mean.
    assert!((0.97..1.1).contains(&(goodput / expected)), "{goodput} of {expected}");
}

#[test]
fn beside_newreno_both_have_a_fair_share_and_tfrc_the_smoother_rate() {
    let tables = run(r#"
        duration = "200s"
        warmup = "50s"
        path.rate = "10mbit"
        path.rtt = "50ms"
        path.queue = { discipline = "red", limit = "200p", min = "30kB", max = "90kB" }
        flows = [{ cc = "tfrc" }, { cc = "newreno", transport = { ack_every = 1 } }]
        "#);
    let [tfrc, reno] = [&tables.flows[0], &tables.flows[1]].map(|flow| flow.goodput_bps);
    assert!((0.5..2.0).contains(&(tfrc / reno)), "{tfrc} and {reno}");
    assert!(tfrc + reno > 8.5e6, "{}", tfrc + reno);
    let series = tables.flow_series.columns();
    // Over the mean of the windows of each flow, the mean of their changes from one second to the next.
    let roughness = |flow: u32| {
        let rows = series.flow.iter().zip(&series.window_segments).zip(&series.time_s);
        let windows: Vec<f64> =
            rows.filter(|((f, _), t)| **f == flow && **t > 50.0).map(|((_, w), _)| *w).step_by(10).collect();
        let changes: f64 = windows.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        changes / windows.iter().sum::<f64>()
    };
    assert!(roughness(0) < 0.7 * roughness(1), "{} and {}", roughness(0), roughness(1));
}

#[test]
fn when_the_path_fails_the_rate_is_halved_again_and_again_and_comes_back() {
    let tables = run(r#"
        duration = "40s"
        path = { rate = [["0s", "2mbit"], ["20s", "0bit"], ["25s", "2mbit"]], rtt = "50ms", queue = "20p" }
        flows = [{ cc = "tfrc" }]
        "#);
    let timeouts = events(&tables, EventKind::Timeout);
    assert!(timeouts.len() >= 3 && timeouts.iter().all(|(t, _)| (20.0..27.0).contains(t)), "{timeouts:?}");
    let series = tables.flow_series.columns();
    let rate = |time: f64| at(&series.time_s, &series.pacing_rate_bps, time);
    assert!(rate(24.9) < rate(19.9) / 4.0, "{} of {}", rate(24.9), rate(19.9));
    assert!(rate(39.0) > 1.5e6, "{}", rate(39.0));
}

#[test]
fn a_source_below_the_allowed_rate_is_sent_as_it_is_written() {
    let tables = run(r#"
        duration = "30s"
        warmup = "10s"
        path = { rate = "10mbit", rtt = "40ms", queue = "84p" }
        flows = [{ cc = "tfrc", packet_size = "1028B", source = { rate = "822.4kbit" } }]
        "#);
    // 100 packets a second of 1028 IP bytes: 1000 bytes of payload each.
    assert!((tables.flows[0].goodput_bps - 800_000.0).abs() < 1000.0, "{}", tables.flows[0].goodput_bps);
    assert_eq!(tables.flows[0].sender.lost_packets, 0);
}
