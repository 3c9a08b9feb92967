//! BBR version 3 in the whole simulator: alone, with random losses, beside CUBIC, when the path changes, and with an
//! application that has little to send.

#[allow(dead_code, reason = "each test takes what it needs of the common part")]
mod common;

use common::run;
use record::Tables;

/// `flows` over a path of `path`, measured from 15 s to 60 s.
fn over(path: &str, flows: &str) -> Tables {
    run(&format!(
        r#"
        duration = "60s"
        warmup = "15s"
        path = {{ {path} }}
        flows = [{flows}]
        record = {{ flow_series = "off", probes = "100ms", link_series = "off" }}
        "#
    ))
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
    // It paces at 99 %, and ProbeRTT costs 2 %. In cruise nothing queues but what two segments of a burst do; a probe
    // adds a quarter of 40 ms in about four round trips of sixty.
    for (rate, queue) in [("10mbit", "1bdp"), ("50mbit", "0.5bdp"), ("50mbit", "5bdp")] {
        let tables = over(&format!(r#"rate = "{rate}", rtt = "40ms", queue = "{queue}""#), BBR);
        let (utilization, queueing) = (tables.links[0].utilization, queueing_ms(&tables));
        assert!(utilization > 0.95, "{rate}, {queue}: {utilization}");
        assert!(queueing < 10.0, "{rate}, {queue}: {queueing} ms");
    }
}

#[test]
fn random_losses_cost_what_they_take_in_each_round_trip_between_two_probes() {
    // The draft, section 5.3.3.5.3: a round trip that loses a share p leaves 1 - p of the rate, for the 63 round trips
    // up to the next probe. On average (1 - (1-p)^63) / (63 p); and of that 96.7 %, as without losses.
    for (loss, p) in [("0.1%", 0.001), ("1%", 0.01_f64)] {
        let tables = over(&format!(r#"rate = "50mbit", rtt = "40ms", queue = "1bdp", loss = "{loss}""#), BBR);
        let left = (0..63).fold(1.0, |rate, _| rate * (1.0 - p));
        let expected = 0.967 * (1.0 - left) / (63.0 * p);
        let utilization = tables.links[0].utilization;
        assert!((utilization - expected).abs() < 0.05, "{loss}: {utilization}, not {expected}");
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
