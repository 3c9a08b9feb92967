//! The meaning of scenarios: plans worked by hand.

#![expect(clippy::disallowed_methods, reason = "the tests write and read files of their own")]

mod flows;
mod links;
mod options;
mod routes;

use std::io;
use std::path::Path;

use control::ControllerRef;
use network::{DisciplineSettings, Framing, Limit, LossModel, QueueSettings, Service};
use scenario::{Hop, Paced, Plan, Sampling, Source};
use transport::{Acks, Delay, Stack};
use units::{Bytes, Distribution, Fraction, Rate, Span, Time};

/// The files of this machine.
fn disk(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

fn plan(text: &str) -> Plan {
    scenario::from_toml(text, "demo.toml")
        .and_then(|scenario| scenario.plan(&disk))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn dumbbell(path: &str, flow: &str) -> Plan {
    plan(&format!("duration = \"60s\"\n[path]\n{path}\n[[flows]]\ncc = \"newreno\"\n{flow}"))
}

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// A hop of constant delay in ms.
fn hop(link: Option<usize>, delay: u64) -> Hop {
    Hop { link, delay: ms(delay).into(), reorder: false, station: None, snoop: None }
}

fn paced(rate: Vec<(Time, Rate)>) -> Source {
    Source::Paced(Paced { rate, ..Paced::default() })
}

fn fraction(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

#[test]
fn a_dumbbell_has_one_link_and_delays_each_flow_by_its_own_rtt() {
    let plan = plan(
        r#"
        name = "CDG against NewReno"
        duration = "60s"
        [path]
        rate = "10mbit"
        rtt = "40ms"
        queue = { limit = "84p", count_in_service = true, mark_above = "30p" }
        loss = "1%"
        [[flows]]
        cc = "newreno"
        [[flows]]
        cc = "newreno"
        rtt = "70ms"
        start = "20s"
        start_jitter = "5ms"
        stop = "90s"
        bytes = "1MB"
        profile = "freebsd-9"
        transport = { sack = false, ack_every = 1 }
        "#,
    );
    assert_eq!(plan.name, "CDG against NewReno");
    assert_eq!((plan.duration, plan.warmup, plan.seed, plan.bottleneck), (Span::from_secs(60), Span::ZERO, 1, Some(0)));
    assert_eq!(plan.record.flow_series, Sampling::Every(ms(100)));
    assert!(plan.record.events && plan.warnings.is_empty());

    let [bottleneck] = plan.links.as_slice() else { panic!("{:?}", plan.links) };
    assert_eq!((bottleneck.name.as_str(), bottleneck.rate), ("bottleneck", Some(Rate::from_mbit(10))));
    assert_eq!(bottleneck.settings.service, Service::Fixed(Rate::from_mbit(10)));
    assert_eq!(bottleneck.settings.loss, LossModel::Bernoulli(fraction(0.01)));
    let queue = QueueSettings {
        limit: Limit::Packets(84),
        count_in_service: true,
        mark_above: Some(30),
        discipline: DisciplineSettings::Fifo,
        framing: Framing::default(),
    };
    assert_eq!(bottleneck.settings.queue, queue);

    let [short, long] = plan.flows.as_slice() else { panic!("{:?}", plan.flows) };
    assert_eq!((short.name(), long.name()), ("newreno-0".to_owned(), "newreno-1".to_owned()));
    assert_eq!(short.forward, [hop(Some(0), 20)]);
    assert_eq!(short.reverse, [hop(None, 20)]);
    assert_eq!((short.start, short.stop, short.bytes), (Time::ZERO, at(60), None));
    assert_eq!(*short.options, transport::linux());
    assert_eq!(long.forward, [hop(Some(0), 35)]);
    assert_eq!(long.reverse, [hop(None, 35)]);
    assert_eq!((short.base_rtt, long.base_rtt), (ms(40), ms(70)));
    // The run ends before the flow would stop.
    assert_eq!((long.start, long.start_jitter, long.stop), (at(20), ms(5), at(60)));
    assert_eq!(long.bytes, Some(Distribution::Constant(Bytes::new(1_000_000))));
    let freebsd = transport::freebsd_9().without_sack();
    let acks = Acks { delay: Delay::None, ..freebsd.acks };
    assert_eq!(*long.options, Stack { acks, ..freebsd });
}

#[test]
fn what_is_drawn_depends_on_the_seed_and_on_no_other_flow() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let web = "bytes = { pareto = { mean = \"30kB\", shape = 1.5 } }\nstart_jitter = \"1s\"\n\
               every = { exponential = \"10ms\" }";
    let web_of = |every: &str, seed| {
        let plan = dumbbell(path, &format!("{web}\n[[flows]]\ncc = \"cubic\"\nbytes = \"1kB\"\nevery = \"{every}\""));
        let mut drawn = plan.draw(seed).unwrap();
        drawn.retain(|flow| flow.of == 0);
        drawn
    };
    let drawn = web_of("1s", 1);
    assert_eq!(drawn, web_of("20ms", 1));
    assert_ne!(drawn, web_of("1s", 2));
    // 59.5 s on average of 100 a second: the standard deviation is 77. Under shape 1.5 the median is 10 kB * 2^(2/3) =
    // 15,874 bytes.
    assert!((5650..6250).contains(&drawn.len()), "{}", drawn.len());
    let mut sizes: Vec<u64> = drawn.iter().map(|flow| flow.bytes.unwrap().get()).collect();
    sizes.sort_unstable();
    assert!((15_300..16_500).contains(&sizes[sizes.len() / 2]), "{}", sizes[sizes.len() / 2]);
    assert!(drawn.is_sorted_by_key(|flow| flow.start) && drawn[0].start < at(1));
    assert!(drawn.iter().enumerate().all(|(i, flow)| flow.number == Some(i as u32)));
}

#[test]
fn an_anchored_scenario_names_its_files_from_the_root() {
    let text = r#"
        duration = "1s"
        flows = [
            { cc = "../mine.bpf.c", from = "a", to = "b", parameters = { trace = "no.file" } },
            { cc = "/else/where.bpf.c", from = "a", to = "b" },
        ]
        [[links]]
        from = "a"
        to = "b"
        delay = "1ms"
        rate = { trace = "down.trace" }
        reverse = { rate = { trace = "traces/up.trace" } }
    "#;
    let scenario = scenario::from_toml(text, "demo.toml").unwrap().anchored("/home/me".as_ref());
    let json = serde_json::to_value(&scenario).unwrap();
    assert_eq!(json["flows"][0]["cc"], "/home/me/../mine.bpf.c");
    assert_eq!(json["flows"][0]["parameters"]["trace"], "no.file");
    assert_eq!(json["flows"][1]["cc"], "/else/where.bpf.c");
    assert_eq!(json["links"][0]["rate"]["trace"], "/home/me/down.trace");
    assert_eq!(json["links"][0]["reverse"]["rate"]["trace"], "/home/me/traces/up.trace");
}

#[test]
fn memory_is_bounded_by_what_flows_send_links_serve_and_queues_hold() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let off = "[record]\nflow_series = \"off\"\nprobes = \"off\"\nlink_series = \"off\"\nevents = false";
    let memory = |path: &str, flow: &str| dumbbell(path, &format!("{flow}\n{off}")).estimated_memory().get();
    // A flow takes 4000 B. The path holds 84 + 34 packets of 200 B, twice as many in slow start. 10 a flow leave at
    // once.
    assert_eq!(memory(path, ""), 4_000 + 246 * 200);
    assert_eq!(memory(path, "count = 10"), 40_000 + 336 * 200);
    // 10 kB are 7 segments of 1448 B.
    assert_eq!(memory(path, "bytes = \"10kB\""), 4_000 + 7 * 200);
    assert_eq!(memory(path, "transport = { receive_window = 20 }"), 4_000 + 20 * 200);
    assert_eq!(memory("rate = \"unlimited\"\nrtt = \"40ms\"", "transport = { receive_window = 20 }"), 4_000 + 20 * 200);
    // Every tenth of the 50 011 ACKs, and one row more for the end.
    let sampled = dumbbell(path, &off.replace("flow_series = \"off\"", "flow_series = \"10acks\"")).estimated_memory();
    assert_eq!(sampled.get(), 4_000 + 246 * 200 + 5_002 * 160);
}

#[test]
fn a_window_that_changes_to_a_size_has_its_whole_segments() {
    let changes = "changes = [{ at = \"1s\", receive_window = \"64KiB\" }, { at = \"2s\", receive_window = 9 }]";
    let plan = dumbbell("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"", changes);
    // 65536 bytes are 45 segments of 1448.
    let windows: Vec<_> = plan.flows[0].changes.iter().map(|change| change.receive_window).collect();
    assert_eq!(windows, [Some(45), Some(9)]);
}

#[test]
fn a_plan_leaves_names_of_the_kernel_to_the_engine_and_checks_those_of_the_registry() {
    let scenario = |flow: &str| {
        let path = "path = { rate = \"10mbit\", rtt = \"40ms\", queue = \"84p\" }";
        scenario::from_toml(&format!("duration = \"1s\"\n{path}\nflows = [{{ {flow} }}]"), "test.toml").unwrap()
    };
    let foreign = scenario("cc = \"my_own\", parameters = { gain = 2 }");
    let plan = foreign.plan(&disk).unwrap();
    assert_eq!(plan.flows[0].cc, ControllerRef::Engine("my_own".to_owned()));
    let refused = plan.check_controllers(|cc| Err(format!("no `{cc}` here"))).unwrap_err();
    assert_eq!(refused.to_string(), "test.toml, line 3: flows.0.cc: no `my_own` here");
    assert!(scenario("cc = \"newreno\", parameters = { gain = 2 }").plan(&disk).is_err());
}
