//! What a run takes and gives besides tables: who watches, who stops it, what can go wrong.

#[allow(dead_code, reason = "each test takes what it needs of the common part")]
mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use common::{plan, run};
use control::{Ack, Context, Controller, ControllerRef, Loss, Parameters};
use sim::{Failure, Job, Watch};

const SCENARIO: &str = r#"
    duration = "10s"
    path = { rate = "10mbit", rtt = "40ms", queue = "50p" }
    flows = [{ cc = "newreno" }]
"#;

fn job() -> Job {
    Job { plan: Arc::new(plan(SCENARIO)), seed: 1, controllers: None, capture: None }
}

#[test]
fn what_is_recorded_does_not_change_what_happens() {
    // 12 ms are ten services, so that packets leave and arrive at the very end of the run, where rows are due as well.
    let recorded = |record: &str| {
        let tables = run(&format!(
            r#"
            duration = "6s"
            path = {{ rate = "10mbit", rtt = "24ms", queue = "50p", loss = "0.1%" }}
            flows = [
              {{ cc = "cdg", bytes = "2MB" }},
              {{ cc = "newreno", transport = {{ ack_every = 1 }} }},
              {{ cc = "vegas", start = "1s", stop = "3s" }},
            ]
            record = {record}
            "#
        ));
        (format!("{:?}", tables.flows), format!("{:?}", tables.links), format!("{:?}", tables.events))
    };
    let nothing = recorded(r#"{ flow_series = "off", probes = "off", link_series = "off" }"#);
    for record in [
        r#"{ flow_series = "100ms", probes = "off", link_series = "off" }"#,
        r#"{ flow_series = "1ack", probes = "1ack", link_series = "1ms" }"#,
        r#"{ flow_series = "off", probes = "7ms", link_series = "17us" }"#,
    ] {
        assert!(recorded(record) == nothing, "{record}");
    }
}

#[test]
fn a_run_that_is_told_to_stop_is_interrupted() {
    let watch = Watch::default();
    watch.stop.store(true, Ordering::Relaxed);
    let failure = sim::run(&job(), &watch).expect_err("it was told to stop");
    assert!(matches!(failure, Failure::Interrupted), "{failure}");
    assert!(watch.simulated_nanos.load(Ordering::Relaxed) < 10_000_000_000);
}

#[test]
fn a_finished_run_has_come_to_its_end_and_says_what_it_cost() {
    let watch = Watch::default();
    let outcome = sim::run(&job(), &watch).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(watch.simulated_nanos.load(Ordering::Relaxed), 10_000_000_000);
    assert_eq!(outcome.engine.data_packets, outcome.tables.flows[0].data_packets);
    // A packet arrives, every second one's ACK arrives; timers, quick ACKs and samples are few.
    let per_packet = outcome.engine.events as f64 / outcome.engine.data_packets as f64;
    assert!((1.5..1.65).contains(&per_packet), "{per_packet}");
    assert!(outcome.engine.cpu_s > 0.0 && outcome.engine.wall_s > 0.0);
}

#[test]
fn a_capture_that_cannot_be_written_is_one_sentence() {
    let capture = PathBuf::from("/nowhere/at/all.pcapng");
    let failure = sim::run(&Job { capture: Some(capture), ..job() }, &Watch::default()).expect_err("no such directory");
    let sentence = failure.to_string();
    assert!(sentence.starts_with("the capture `/nowhere/at/all.pcapng` cannot be written: "), "{sentence}");
}

/// A window that never changes.
struct Fixed(f64);

impl Controller for Fixed {
    fn on_ack(&mut self, _cx: &mut Context<'_>, _ack: &Ack) {}
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        self.0
    }
    fn slow_start_threshold(&self) -> f64 {
        self.0
    }
}

#[test]
fn a_controller_from_outside_comes_before_the_registry() {
    let fixed = |cc: &ControllerRef, _: &Parameters| -> Option<Box<dyn Controller>> {
        (*cc == ControllerRef::Registered("newreno")).then(|| Box::new(Fixed(10.0)) as Box<dyn Controller>)
    };
    let outcome = sim::run(&Job { controllers: Some(Arc::new(fixed)), ..job() }, &Watch::default());
    let tables = outcome.unwrap_or_else(|failure| panic!("{failure}")).tables;
    // Ten segments of 1448 bytes a round trip, whose last waits 9 services of 1.2 ms only in the first: 41.2 ms or,
    // with delayed ACKs of pairs, 42.4 ms.
    let goodput = tables.flows[0].goodput_bps;
    assert!((10.0 * 1448.0 * 8.0 / 0.0424..=10.0 * 1448.0 * 8.0 / 0.0412).contains(&goodput), "{goodput}");
    assert!(tables.flow_series.window_segments.iter().all(|window| *window == 10.0));
}

#[test]
fn what_arrives_after_a_flow_stopped_does_not_count_for_it() {
    let tables = run(r#"
        duration = "4s"
        path = { rate = "1mbit", rtt = "20ms", queue = "infinite" }
        flows = [{ cc = "newreno", kind = "datagram", source = { rate = "10mbit" }, stop = "500ms" }]
        "#);
    // A datagram of 1500 bytes every 12 ms, the first after 12 + 10 ms: 40 by 500 ms, in half a second.
    assert_eq!(tables.flows[0].throughput_bps, 40.0 * 12_000.0 / 0.5);
}

#[test]
fn what_was_sent_before_the_measured_interval_is_not_lost_in_it() {
    let tables = run(r#"
        duration = "4s"
        warmup = "1s"
        links = [
            { name = "fast", from = "a", to = "b", rate = "10mbit", delay = "500ms", queue = "100p", duplex = true },
            { name = "slow", from = "b", to = "c", rate = "10kbit", delay = "1ms", queue = "1p", duplex = true },
        ]
        [[flows]]
        cc = "newreno"
        kind = "datagram"
        source = { rate = "1mbit" }
        from = "a"
        to = "c"
        stop = "1s"
        "#);
    // All that the slow link drops after 1 s left before.
    assert!(tables.links.iter().any(|link| link.dropped_packets > 40));
    assert_eq!(tables.flows[0].loss_rate, 0.0);
}

#[test]
fn a_source_with_several_units_a_nanosecond_keeps_its_rate_and_ends() {
    let tables = run(r#"
        duration = "20us"
        path = { rate = "unlimited", rtt = "1us" }
        flows = [{ cc = "newreno", kind = "datagram", packet_size = "28B", source = { rate = "500gbit" } }]
        record = { flow_series = "off", probes = "off", link_series = "off", events = false }
        "#);
    // 500 Gbit/s for 20 us are 44,643 datagrams of 28 bytes.
    let sent = tables.flows[0].data_packets as f64;
    assert!((sent - 44_643.0).abs() < 5.0, "{sent}");
}
