//! Inputs and outputs of a run besides tables: watching it, stopping it, and its failures.

mod common;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{plan, run};
use control::testing::Steady;
use control::{Ack, Context, Controller, ControllerRef, Loss, Parameters};
use engine::{CaptureTo, Engine as _, Failure, Job, Stopwatch, Watch};
use record::pcapng::Point;
use sim::Simulator;
use units::Rate;

const SCENARIO: &str = r#"
    duration = "10s"
    path = { rate = "10mbit", rtt = "40ms", queue = "50p" }
    flows = [{ cc = "newreno" }]
"#;

fn job() -> Job {
    Job { plan: Arc::new(plan(SCENARIO)), seed: 1 }
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
        (format!("{:?}", tables.flows), format!("{:?}", tables.links), format!("{:?}", tables.events.columns()))
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
    let failure = Simulator::default().run(&job(), &watch).expect_err("it was told to stop");
    assert!(matches!(failure, Failure::Interrupted), "{failure}");
    assert!(watch.elapsed_nanos.load(Ordering::Relaxed) < 10_000_000_000);
}

/// A clock that shows 1 s, 3 s, 5 s and so on.
fn two_seconds_a_look() -> f64 {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    1.0 + 2.0 * LOOKS.fetch_add(1, Ordering::Relaxed) as f64
}

#[test]
fn a_finished_run_has_come_to_its_end_and_says_what_it_cost() {
    let watch = Watch::default();
    let stopwatch = Some(Stopwatch { cpu_s: two_seconds_a_look, wall_s: || 7.0 });
    let outcome = Simulator { stopwatch, ..Simulator::default() }.run(&job(), &watch);
    let outcome = outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(watch.elapsed_nanos.load(Ordering::Relaxed), 10_000_000_000);
    assert_eq!(outcome.cost.data_packets, outcome.tables.flows[0].sender.data_packets);
    // A packet arrives, every second one's ACK arrives, and so does the ACK of a train's end. Timers, quick ACKs and
    // samples are few.
    let per_packet = outcome.cost.events as f64 / outcome.cost.data_packets as f64;
    assert!((1.5..1.7).contains(&per_packet), "{per_packet}");
    // Looked at before and after.
    assert_eq!((outcome.cost.cpu_s, outcome.cost.wall_s), (2.0, 0.0));
}

#[test]
fn each_sample_is_an_event() {
    let events = |interval: &str| {
        let record = format!("record = {{ flow_series = \"{interval}\", link_series = \"{interval}\" }}");
        let text = format!("{SCENARIO}\n{record}");
        let job = Job { plan: Arc::new(plan(&text)), seed: 1 };
        let outcome = Simulator::default().run(&job, &Watch::default()).unwrap_or_else(|failure| panic!("{failure}"));
        outcome.cost.events
    };
    assert_eq!(events("10ms") - events("100ms"), 900);
}

/// Takes nothing.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_capture_that_cannot_be_written_is_one_sentence() {
    let simulator =
        Simulator { capture: Some(CaptureTo { writer: Box::new(Full), point: Point::Sender }), ..Simulator::default() };
    let failure = simulator.run(&job(), &Watch::default()).expect_err("there is no room");
    assert_eq!(failure.to_string(), "the capture cannot be written: no storage space");
}

/// A window that never changes.
fn fixed(window: f64) -> Box<dyn Controller> {
    Box::new(Steady { window, on_ack: |_: &mut Context<'_>, _: &Ack| () })
}

#[test]
fn a_controller_from_outside_comes_before_the_registry() {
    let factory = |cc: &ControllerRef, _: &Parameters| -> Option<Box<dyn Controller>> {
        (*cc == ControllerRef::Registered("newreno")).then(|| fixed(10.0))
    };
    let simulator = Simulator { controllers: Some(Arc::new(factory)), ..Simulator::default() };
    let outcome = simulator.run(&job(), &Watch::default());
    let tables = outcome.unwrap_or_else(|failure| panic!("{failure}")).tables;
    // Ten segments of 1448 bytes a round trip, whose last waits 9 services of 1.2 ms only in the first: 41.2 ms or,
    // with delayed ACKs of pairs, 42.4 ms.
    let goodput = tables.flows[0].goodput_bps;
    assert!((10.0 * 1448.0 * 8.0 / 0.0424..=10.0 * 1448.0 * 8.0 / 0.0412).contains(&goodput), "{goodput}");
    assert!(tables.flow_series.columns().window_segments.iter().all(|window| *window == 10.0));
}

/// The failure of the run of `job` whose NewReno is `of` something else.
fn failure_of(of: fn() -> Box<dyn Controller>, watch: &Watch) -> Failure {
    let factory = move |_: &ControllerRef, _: &Parameters| Some(of());
    let simulator = Simulator { controllers: Some(Arc::new(factory)), ..Simulator::default() };
    simulator.run(&job(), watch).expect_err("it breaks the law")
}

/// Goes wrong at the first ACK.
struct Wrong {
    window: f64,
    rate: Option<Rate>,
    begun: bool,
}

impl Controller for Wrong {
    fn on_ack(&mut self, _cx: &mut Context<'_>, _ack: &Ack) {
        self.begun = true;
    }
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
    fn window(&self) -> f64 {
        if self.begun { self.window } else { 4.0 }
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.rate.filter(|_| self.begun)
    }
}

/// One that has `window` and `rate` from the first ACK on.
fn wrong(window: f64, rate: Option<Rate>) -> Box<dyn Controller> {
    Box::new(Wrong { window, rate, begun: false })
}

#[test]
fn a_decision_outside_the_law_ends_the_run_with_a_sentence_about_it() {
    let windows = "a number of segments from 0 to 10000000";
    type Maker = fn() -> Box<dyn Controller>;
    let cases: [(Maker, String); 6] = [
        (|| wrong(f64::INFINITY, None), format!("window is inf: allowed is {windows}")),
        (|| wrong(f64::NAN, None), format!("window is NaN: allowed is {windows}")),
        (|| wrong(-5.0, None), format!("window is -5: allowed is {windows}")),
        (|| wrong(1e300, None), format!("window is 1e300: allowed is {windows}")),
        (|| wrong(10_000_001.0, None), format!("window is 10000001: allowed is {windows}")),
        (
            || wrong(4.0, Some(Rate::from_bits_per_second(0))),
            "pacing_rate is 0: allowed is a finite rate of at least 1 bit/s, or None".to_owned(),
        ),
    ];
    for (of, sentence) in cases {
        let watch = Watch::default();
        let failure = failure_of(of, &watch);
        assert!(matches!(failure, Failure::Controller(_)), "{failure}");
        assert_eq!(failure.to_string(), format!("flow `newreno-0`: `newreno`: after on_ack the {sentence}"));
    }
    let failure = failure_of(|| fixed(f64::NAN), &Watch::default());
    assert!(failure.to_string().contains("after it is made the window is NaN"), "{failure}");
}

#[test]
fn a_window_of_ours_that_no_path_can_hold_ends_the_run() {
    let text = r#"
        duration = "100s"
        path = { rate = "100mbit", rtt = "40ms", queue = "infinite" }
        [[flows]]
        cc = "newreno"
        # Half of what an earlier connection had (careful resume) is 20,000,000 segments.
        parameters = { slow_start = "careful-resume", saved_window = 40000000, saved_rtt = "40ms" }
        transport = { receive_window = 1000000 }
        "#;
    let job = Job { plan: Arc::new(plan(text)), seed: 1 };
    let failure = Simulator::default().run(&job, &Watch::default()).expect_err("no path holds it").to_string();
    let end = ": allowed is a number of segments from 0 to 10000000";
    assert_eq!(failure, format!("flow `newreno-0`: the window is 20000000{end}"));
}

#[test]
fn what_arrives_after_a_flow_stopped_does_not_count_for_it() {
    let tables = run(r#"
        duration = "4s"
        path = { rate = "1mbit", rtt = "20ms", queue = "infinite" }
        flows = [{ cc = "newreno", kind = "datagram", source = { rate = "10mbit" }, stop = "500ms" }]
        "#);
    // A datagram of 1500 bytes every 12 ms, the first after `12 + 10 ms`: 40 by 500 ms, in half a second.
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
    let sent = tables.flows[0].sender.data_packets as f64;
    assert!((sent - 44_643.0).abs() < 5.0, "{sent}");
}

#[test]
fn recorded_media_leave_as_they_were_written() {
    let text = r#"
        duration = "2s"
        path = { rate = "10mbit", rtt = "20ms", queue = "100p" }
        flows = [{ cc = "newreno", kind = "datagram", echo = false, start = "500ms", source = { trace = "call.txt" } }]
        record = { datagrams = true }
        "#;
    // A picture of 3000 bytes is two datagrams of 1500 bytes with headers of 28, and 56 bytes in a third.
    let file = |_: &std::path::Path| Ok(b"0 3000\n100 160\n1600 160\n".to_vec());
    let plan = scenario::from_toml(text, "test.toml").and_then(|scenario| scenario.plan(&file)).unwrap();
    let tables = common::run_plan(plan, 1);
    let datagrams = &tables.datagrams;
    assert_eq!(datagrams.sequence, [0, 1, 2, 3]);
    for (sent, expected) in datagrams.sent_s.iter().zip([0.5, 0.5, 0.5, 0.6]) {
        common::assert_near(*sent, expected, 1e-9);
    }
    // 1.2 ms for 1500 bytes, 67.2 us for 84, 150.4 us for 188, and 10 ms on the way. The last comes after the end.
    for (arrived, expected) in datagrams.arrived_s.iter().zip([0.5112, 0.5124, 0.512_467_2, 0.610_150_4]) {
        common::assert_near(*arrived, expected, 1e-9);
    }
    assert_eq!((tables.flows[0].sender.data_packets, tables.flows[0].delivered_bytes), (4, 3160));
}
