//! Delays that change, jitter, sources that pause, and short flows.

use std::sync::Arc;

use control::Parameters;
use record::{EventKind, Tables};

use crate::common::{assert_near, at, events, plan, run, run_plan};

/// The RTT samples of a flow: when each came, and how long it was, in ms.
fn samples(tables: &Tables) -> Vec<(f64, f64)> {
    let series = &tables.flow_series.columns();
    series.time_s.iter().copied().zip(series.latest_rtt_ms.iter().copied()).collect()
}

/// A datagram of 1500 bytes every 10 ms over a link of 1 Gbit/s, on which it takes 12 us and its echo nothing.
fn datagrams(path: &str) -> Tables {
    run(&format!(
        r#"
        duration = "20s"
        path = {{ rate = "1gbit", queue = "100p", {path} }}
        flows = [{{ cc = "newreno", kind = "datagram", source = {{ rate = "1200kbit" }} }}]
        record = {{ flow_series = "1ack" }}
        "#
    ))
}

/// The longest time between two samples after `from`, and how many there are in the 1.5 ms after it.
fn gap_and_burst(samples: &[(f64, f64)], from: f64) -> (f64, usize) {
    let gap = samples.windows(2).map(|pair| pair[1].0 - pair[0].0).fold(0.0, f64::max);
    (gap, samples.iter().filter(|&&(time, _)| (from..from + 0.0015).contains(&time)).count())
}

#[test]
fn a_longer_route_delays_what_leaves_after_the_change() {
    let tables = datagrams(r#"rtt = [["0s", "40ms"], ["10s", "100ms"]]"#);
    // Data that leave the sender by 9.97 s are back by 10.01 s. Data of 9.98 s and 9.99 s arrive by 10.01 s. Their
    // echoes leave after the change: `12 us + 20 ms + 50 ms`.
    for &(time, rtt) in &samples(&tables) {
        let expected = if time < 10.015 {
            40.012
        } else if time < 10.07 {
            70.012
        } else {
            100.012
        };
        assert!((rtt - expected).abs() < 1e-6, "{rtt} at {time}");
    }
    // From 9.97 s on, whose echo is back at 10.010012 s, to 9.98 s, whose echo comes at 10.050012 s.
    assert_near(gap_and_burst(&samples(&tables), 0.0).0, 0.04, 1e-9);
}

#[test]
fn a_shorter_route_overtakes_nobody_unless_it_may() {
    let steps = r#"rtt = [["0s", "100ms"], ["10s", "40ms"]]"#;
    let ordered = samples(&datagrams(steps));
    // The echo of 9.94 s leaves at 9.990012 s and is back at 10.040012 s. The echoes of 9.95 s and 9.96 s leave after
    // the change, for 20 ms, and are held back until then. Data of 9.99 s arrive at 10.040012 s together with data of
    // 10 s and 10.01 s.
    assert!(ordered.is_sorted_by_key(|sample| sample.0));
    let rtt_of = |sent: f64| {
        let sample = ordered.iter().find(|(time, rtt)| (time - rtt / 1e3 - sent).abs() < 1e-6);
        sample.unwrap_or_else(|| panic!("no sample of {sent}")).1
    };
    for (sent, rtt) in [
        (9.94, 100.012),
        (9.95, 90.012),
        (9.96, 80.012),
        (9.97, 70.012),
        (9.99, 70.012),
        (10.0, 60.012),
        (10.01, 50.012),
        (10.02, 40.012),
        (10.03, 40.012),
    ] {
        assert!((rtt_of(sent) - rtt).abs() < 1e-6, "{} of {sent}, not {rtt}", rtt_of(sent));
    }
    // With overtaking, data that leave after the change are back after 40 ms whatever left before.
    let overtaking = samples(&datagrams(&format!("{steps}, reorder = true")));
    let early = overtaking.iter().filter(|(time, _)| *time < 10.0501).map(|(time, rtt)| time - rtt / 1e3);
    assert!(early.clone().any(|sent| sent > 9.9999), "10 s is back at 10.040012 s");
    assert!(overtaking.iter().all(|(_, rtt)| *rtt < 100.013));
}

#[test]
fn tcp_sees_no_reordering_when_the_route_gets_shorter_and_a_lot_where_it_may_overtake() {
    // 90 segments keep the link busy for the 100 ms of a round trip, so some are under way when the route changes.
    for (reorder, some) in [("false", false), ("true", true)] {
        let tables = run(&format!(
            r#"
            duration = "20s"
            path = {{ rate = "10mbit", rtt = [["0s", "100ms"], ["10s", "40ms"]], queue = "1000p", reorder = {reorder} }}
            flows = [{{ cc = "newreno", bytes = "15MB", transport = {{ receive_window = 90 }} }}]
            "#
        ));
        // Nothing is lost, so only a segment that overtook can disturb the sender.
        let state = tables.flow_series.columns().state.iter().any(|&state| state != record::FlowState::Open);
        let disturbed = state || !events(&tables, EventKind::DeemedLost).is_empty();
        assert_eq!((tables.links[0].dropped_packets, disturbed), (0, some), "reorder = {reorder}");
    }
}

#[test]
fn jitter_is_uniform_and_independent_where_packets_are_further_apart() {
    for reorder in ["false", "true"] {
        let jitter = format!("jitter = {{ uniform = \"3ms\", reorder = {reorder} }}");
        let tables = datagrams(&format!(r#"rtt = "40ms", {jitter}, reverse = {{ {jitter} }}"#));
        let rtts: Vec<f64> = samples(&tables).iter().map(|sample| sample.1 - 40.012).collect();
        assert!(rtts.len() > 1900 && rtts.iter().all(|rtt| (0.0..6.0).contains(rtt)));
        // The sum of two: mean 3 ms, variance `2 * 9/12 = 1.5 ms^2`. Over 1995 samples the standard errors are 0.9 %
        // and 2.7 %.
        let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
        let variance = rtts.iter().map(|rtt| (rtt - mean) * (rtt - mean)).sum::<f64>() / rtts.len() as f64;
        assert_near(mean, 3.0, 0.03);
        assert_near(variance, 1.5, 0.09);
        // A tenth is below 1.342 ms: `x^2/18 = 0.1`.
        let low = rtts.iter().filter(|&&rtt| rtt < 1.342).count() as f64 / rtts.len() as f64;
        assert!((low - 0.1).abs() < 0.02, "{low}");
    }
}

#[test]
fn jitter_keeps_the_order_of_packets_unless_it_may_reorder() {
    // 10 Mbit/s send a segment every 1.2 ms: a jitter of 8 ms turns many around.
    for (jitter, some) in [(r#""8ms""#, false), (r#"{ uniform = "8ms", reorder = true }"#, true)] {
        let tables = run(&format!(
            r#"
            duration = "20s"
            path = {{ rate = "10mbit", rtt = "40ms", queue = "1000p", jitter = {jitter} }}
            flows = [{{ cc = "newreno", transport = {{ receive_window = 60 }} }}]
            record = {{ flow_series = "10ms" }}
            "#
        ));
        let disturbed = tables.flow_series.columns().state.iter().any(|&state| state != record::FlowState::Open);
        assert_eq!((tables.links[0].dropped_packets, disturbed), (0, some), "{jitter}");
        assert!(tables.flows[0].rtt_min_ms >= 41.2, "{}", tables.flows[0].rtt_min_ms);
    }
}

#[test]
fn a_source_that_pauses_sends_at_its_rate_while_it_is_on() {
    // 400 kbit/s of 1000 bytes: one every 20 ms, the first at once, and 2000 more in 40 s. The last of them, at 40 s,
    // is still on.
    let tables = run(r#"
        duration = "200s"
        path = { rate = "10mbit", rtt = "40ms", queue = "100p" }
        flows = [{ cc = "newreno", kind = "datagram", packet_size = "1000B",
                   source = { rate = "400kbit", on = "40s", off = "40s" } }]
        "#);
    let series = &tables.flow_series.columns();
    let sent = |time| at(&series.time_s, &series.sent_packets, time);
    let counts = [39.9, 79.9, 119.9, 159.9, 199.9].map(sent);
    assert_eq!(counts, [1996, 2001, 3996, 4001, 5996]);
    let arrived = |time| at(&series.time_s, &series.arrived_packets, time);
    assert_eq!([79.9, 159.9].map(arrived), [2001, 4001]);
}

#[test]
fn the_drawn_lengths_of_pauses_give_their_share_of_the_rate_to_tcp_and_datagrams() {
    // On 1 s and off 3 s on average: a quarter of 2 Mbit/s.
    let source =
        r#"{ rate = "2mbit", on = { exponential = "1s" }, off = { exponential = "3s" }, arrivals = "poisson" }"#;
    let tables = run(&format!(
        r#"
        duration = "20000s"
        path = {{ rate = "10mbit", rtt = "10ms", queue = "100p" }}
        flows = [
          {{ cc = "newreno", source = {source} }},
          {{ cc = "newreno", kind = "datagram", source = {source} }},
        ]
        record = {{ flow_series = "off", probes = "off", link_series = "off", events = false }}
        "#
    ));
    // 5000 turns: the standard error is 1.6 %.
    assert_near(tables.flows[0].goodput_bps, 500e3, 0.05);
    assert_near(tables.flows[1].throughput_bps, 500e3, 0.05);
}

#[test]
fn short_flows_start_when_and_send_what_was_drawn_and_take_as_long_as_they_must() {
    // On an empty path of 1 Gbit/s and 40 ms, 10 segments of 12 us make the initial window: 14,480 bytes arrive 20 ms
    // after the last of them was sent. The SYN of 60 bytes takes 0.48 us, and the ACK of 52 bytes before the data 0.416
    // us. 40 ms go by between the two.
    let tables = run(r#"
        duration = "100s"
        phase_noise = false
        path = { rate = "1gbit", rtt = "40ms", queue = "1000p" }
        flows = [{ name = "web", cc = "newreno", bytes = "14480B", every = { uniform = ["200ms", "300ms"] },
                   start = "1s", stop = "90s" }]
        "#);
    let flows = &tables.flows;
    // 89 s hold 356 times of 250 ms on average, with a standard deviation of 29 ms each: 2.2 in all.
    assert!((348..366).contains(&flows.len()), "{}", flows.len());
    let gaps: Vec<f64> = flows.windows(2).map(|pair| pair[1].start_s - pair[0].start_s).collect();
    assert!(gaps.iter().all(|gap| (0.2..=0.3).contains(gap)));
    assert_near(gaps.iter().sum::<f64>() / gaps.len() as f64, 0.25, 0.02);
    assert_eq!((flows[0].start_s, flows[0].name.as_str(), flows[7].name.as_str()), (1.0, "web-0", "web-7"));
    assert!(flows.last().is_some_and(|last| last.start_s < 90.0));
    for (index, flow) in flows.iter().enumerate() {
        assert_eq!((flow.flow as usize, flow.delivered_bytes, flow.sender.data_packets), (index, 14_480, 10));
        assert!((flow.completion_s - 0.060_120_896).abs() < 1e-9, "{}", flow.completion_s);
    }
    assert_eq!(events(&tables, EventKind::Complete).len(), flows.len());
}

#[test]
fn short_flows_that_end_before_the_measured_interval_count_for_nothing_in_it() {
    let tables = run(r#"
        duration = "20s"
        warmup = "10s"
        path = { rate = "10mbit", rtt = "40ms", queue = "100p" }
        flows = [{ cc = "newreno", bytes = "30kB", every = "1s" }, { cc = "cubic", source = { rate = "1mbit" } }]
        "#);
    let names: Vec<&str> = tables.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[19], names[20]), (21, "newreno-0-0", "newreno-0-19", "cubic-1"));
    for (index, flow) in tables.flows[..20].iter().enumerate() {
        let (delivered, measured) = if index < 10 { (0, false) } else { (30_000, true) };
        assert_eq!(
            (flow.delivered_bytes, flow.measured_s > 0.0, flow.rtt_min_ms > 0.0),
            (delivered, measured, measured)
        );
        assert!(flow.completion_s > 0.0);
    }
}

#[test]
fn short_flows_fill_a_link_as_much_as_they_offer() {
    // 30 kB each 100 ms on average are 21 segments of 52 bytes of headers: 31,092 bytes, 2.487 Mbit/s.
    let mut planned = plan(
        r#"
        duration = "2000s"
        path = { rate = "100mbit", rtt = "20ms", queue = "1000p" }
        flows = [{ cc = "cubic", bytes = "30kB", every = { exponential = "100ms" } }]
        record = { flow_series = "off", probes = "off", link_series = "off", events = false }
        "#,
    );
    let tables = run_plan(planned.clone(), 1);
    // 20,000 starts: the standard error is 0.7 %.
    assert_near(tables.links[0].throughput_bps, 2.487e6, 0.02);
    assert_near(tables.flows.len() as f64, 20_000.0, 0.02);
    assert!(tables.flows[..19_000].iter().all(|flow| flow.delivered_bytes == 30_000));
    // The starts are the same whatever other flows there are.
    let settings = Arc::make_mut(&mut planned.flows[0].settings);
    (settings.cc, settings.parameters) = ("newreno".into(), Parameters::new());
    let others = run_plan(planned, 1);
    let starts = |tables: &Tables| tables.flows.iter().map(|flow| flow.start_s).collect::<Vec<_>>();
    assert_eq!(starts(&tables), starts(&others));
}
