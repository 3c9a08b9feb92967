//! What scenarios mean: plans worked by hand.

#![expect(clippy::disallowed_methods, reason = "the tests write and read files of their own")]

use std::io;
use std::path::Path;
use std::sync::Arc;

use control::ControllerRef;
use network::{
    CodelSettings, DisciplineSettings, DrrSettings, FqCodelSettings, FqSettings, Limit, LossModel, Propagation,
    QueueSettings, Service, Trace,
};
use scenario::{Arrivals, Document, Hop, Kind, OnOff, Paced, Plan, PlannedSubflow, Sampling, Source};
use serde_json::json;
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
    };
    assert_eq!(bottleneck.settings.queue, queue);

    let [short, long] = plan.flows.as_slice() else { panic!("{:?}", plan.flows) };
    assert_eq!((short.name.as_str(), long.name.as_str()), ("newreno-0", "newreno-1"));
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
    assert_eq!(*long.options, transport::Options { sack: false, ack_every: 1, ..transport::freebsd_9() });
}

#[test]
fn a_reverse_way_with_a_rate_is_a_link_of_its_own() {
    let plan = dumbbell(
        "rate = \"10mbit\"\ndelay = { forward = \"20ms\", reverse = \"30ms\" }\nqueue = \"84p\"\n\
         reverse = { rate = \"1mbit\", queue = \"1bdp\", loss = \"1%\" }",
        "",
    );
    assert_eq!(plan.links[1].name, "bottleneck:reverse");
    assert_eq!(plan.links[1].settings.service, Service::Fixed(Rate::from_mbit(1)));
    // 1 Mbit/s over 50 ms are 50 000 bits, 4.17 packets of 12 000 bits.
    assert_eq!(plan.links[1].settings.queue.limit, Limit::Packets(4));
    assert_eq!(plan.flows[0].forward, [hop(Some(0), 20)]);
    assert_eq!(plan.flows[0].reverse, [hop(Some(1), 30)]);
    assert_eq!(plan.bottleneck, Some(0));
}

#[test]
fn an_odd_nanosecond_of_the_rtt_is_not_lost() {
    let plan = dumbbell("rate = \"10mbit\"\nrtt = \"5ns\"\nqueue = \"84p\"", "");
    assert_eq!(
        (plan.flows[0].forward[0].delay.initial(), plan.flows[0].reverse[0].delay.initial()),
        (Span::from_nanos(2), Span::from_nanos(3))
    );
    assert_eq!(plan.flows[0].base_rtt, Span::from_nanos(5));
}

#[test]
fn queues_have_four_units() {
    let limit = |queue: &str| {
        let plan = dumbbell(&format!("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"{queue}\""), "");
        (plan.links[0].settings.queue.limit, plan.warnings.join("\n"))
    };
    assert_eq!(limit("84p"), (Limit::Packets(84), String::new()));
    assert_eq!(limit("84 packets"), (Limit::Packets(84), String::new()));
    assert_eq!(limit("64kB"), (Limit::Bytes(Bytes::new(64_000)), String::new()));
    assert_eq!(limit("64KiB"), (Limit::Bytes(Bytes::new(65_536)), String::new()));
    assert_eq!(limit("1e2ms"), (Limit::Delay(ms(100)), String::new()));
    // 10 Mbit/s over 40 ms are 400 000 bits, 33.3 packets; half of that is 16.7.
    assert_eq!(limit("1bdp"), (Limit::Packets(33), String::new()));
    assert_eq!(limit("0.5bdp"), (Limit::Packets(17), String::new()));

    let tiny = "the queue of `bottleneck` has room for less than two packets of 1500 bytes";
    assert_eq!(limit("1p"), (Limit::Packets(1), tiny.to_owned()));
    // Two packets are 0.06 BDP, which is remarked on otherwise.
    assert_eq!(limit("2p").0, Limit::Packets(2));
    assert_eq!(limit("3kB").0, Limit::Bytes(Bytes::new(3000)));
    assert!(
        ["2p", "3kB", "2.4ms"].iter().all(|queue| limit(queue).1.starts_with("the queue of `bottleneck` is 0.060"))
    );
    assert_eq!(limit("2999B"), (Limit::Bytes(Bytes::new(2999)), tiny.to_owned()));
    // Two packets take 2.4 ms.
    assert_eq!(limit("2.3ms").1, tiny);
    // 100 Mbit/s over 40 ms are 500 000 bytes: a tenth of them are 33.3 packets.
    let short = |queue: &str| {
        let plan = dumbbell(&format!("rate = \"100mbit\"\nrtt = \"40ms\"\nqueue = \"{queue}\""), "");
        plan.warnings.join("\n")
    };
    assert_eq!(
        short("33p"),
        "the queue of `bottleneck` is 0.099 BDP (100mbit over 40ms): controllers that wait for a loss leave most of \
         such a link unused; 1bdp lets them fill it"
    );
    for enough in ["34p", "50kB", "4ms", "0.05bdp"] {
        assert_eq!(short(enough), "", "{enough}");
    }
    assert!(short("49kB").starts_with("the queue of `bottleneck` is 0.098 BDP"));
    assert!(short("3ms").starts_with("the queue of `bottleneck` is 0.075 BDP"));
    let infinite = "the queue of `bottleneck` is infinite: it drops nothing, and delay can grow without bound";
    assert_eq!(limit("infinite"), (Limit::Infinite, infinite.to_owned()));
}

#[test]
fn a_rate_in_steps_counts_by_its_first_that_sends() {
    let plan = dumbbell(
        r#"rate = [["0s", "0bit"], ["1s", "12mbit"], ["2s", "6mbit"]]
           rtt = "40ms"
           queue = "1bdp""#,
        "",
    );
    assert_eq!(plan.links[0].rate, Some(Rate::from_mbit(12)));
    assert_eq!(
        plan.links[0].settings.service,
        Service::Steps(vec![
            (Time::ZERO, Rate::from_mbit(0)),
            (at(1), Rate::from_mbit(12)),
            (at(2), Rate::from_mbit(6))
        ])
    );
    // 12 Mbit/s over 40 ms are 480 000 bits, 40 packets.
    assert_eq!(plan.links[0].settings.queue.limit, Limit::Packets(40));
}

#[test]
fn a_trace_lies_beside_the_scenario_and_counts_by_its_mean() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    std::fs::write(format!("{directory}/two.down"), "1\n2\n").unwrap();
    let text = r#"
        duration = "1s"
        path = { rate = { trace = "two.down" }, rtt = "40ms", queue = "1bdp" }
        flows = [{ cc = "newreno" }]
    "#;
    let plan = scenario::from_toml(text, &format!("{directory}/demo.toml")).unwrap().plan(&disk).unwrap();
    // Two packets in 2 ms are 12 Mbit/s.
    assert_eq!(plan.links[0].rate, Some(Rate::from_mbit(12)));
    assert_eq!(plan.links[0].settings.service, Service::Trace(Arc::new(Trace::parse("1\n2\n").unwrap())));
    assert_eq!(plan.links[0].settings.queue.limit, Limit::Packets(40));
}

#[test]
fn codel_has_the_limit_of_tc_and_its_name_alone_is_a_queue() {
    let queue = |spelling: &str| {
        dumbbell(&format!("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = {spelling}"), "").links[0].settings.queue
    };
    let fq_codel = queue("\"fq_codel\"");
    assert_eq!(fq_codel.limit, Limit::Packets(10_240));
    assert_eq!(fq_codel.discipline, DisciplineSettings::FqCodel(FqCodelSettings::default()));
    assert_eq!(queue("{ discipline = \"fq_codel\" }"), fq_codel);
    let codel = queue("{ discipline = \"codel\", limit = \"50p\", target = \"2ms\", ecn = true }");
    assert_eq!(codel.limit, Limit::Packets(50));
    let settings = CodelSettings { target: ms(2), ecn: true, ..CodelSettings::default() };
    assert_eq!(codel.discipline, DisciplineSettings::Codel(settings));
}

#[test]
fn a_queue_has_a_discipline_and_drr_a_quantum() {
    let discipline = |keys: &str| {
        let queue = format!("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = {{ limit = \"1bdp\", {keys} }}");
        let queue = dumbbell(&queue, "").links[0].settings.queue;
        assert_eq!(queue.limit, Limit::Packets(33));
        queue.discipline
    };
    assert_eq!(discipline("discipline = \"fifo\""), DisciplineSettings::Fifo);
    assert_eq!(discipline("discipline = \"fq\""), DisciplineSettings::FairQueueing(FqSettings {}));
    let drr = |quantum| DisciplineSettings::DeficitRoundRobin(DrrSettings { quantum: Bytes::new(quantum) });
    assert_eq!(discipline("discipline = \"drr\""), drr(1500));
    assert_eq!(discipline("discipline = \"drr\", quantum = \"1b\""), drr(1));
}

#[test]
fn an_unlimited_path_needs_no_queue() {
    let plan = dumbbell("rate = \"unlimited\"\nrtt = \"40ms\"", "");
    assert_eq!((&plan.links[0].settings.service, plan.links[0].rate), (&Service::Unlimited, None));
    assert!(plan.warnings.is_empty());
}

#[test]
fn loss_comes_in_three_models() {
    let loss = |loss: &str| {
        dumbbell(&format!("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"\nloss = {loss}"), "").links[0]
            .settings
            .loss
            .clone()
    };
    assert_eq!(loss("0"), LossModel::None);
    assert_eq!(loss("\"0%\""), LossModel::None);
    assert_eq!(loss("0.01"), LossModel::Bernoulli(fraction(0.01)));
    assert_eq!(loss("1"), LossModel::Bernoulli(fraction(1.0)));
    assert_eq!(loss("{ packets = [11, 10, 11] }"), LossModel::Packets(vec![10, 11]));
    assert_eq!(
        loss("{ model = \"gilbert-elliott\", good_to_bad = \"1%\", bad_to_good = \"30%\" }"),
        LossModel::GilbertElliott {
            good_to_bad: fraction(0.01),
            bad_to_good: fraction(0.3),
            loss_good: fraction(0.0),
            loss_bad: fraction(1.0)
        }
    );
}

#[test]
fn copies_are_numbered_and_unnamed_flows_by_their_place() {
    let names = |flow: &str| {
        let plan = dumbbell("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"", flow);
        plan.flows.into_iter().map(|flow| flow.name).collect::<Vec<_>>()
    };
    assert_eq!(names("count = 3\n[[flows]]\ncc = \"newreno\""), ["newreno-0", "newreno-1", "newreno-2", "newreno-3"]);
    assert_eq!(names("count = 2\nname = \"bulk\""), ["bulk-0", "bulk-1"]);
    assert_eq!(names("name = \"bulk\""), ["bulk"]);
}

#[test]
fn a_multipath_flow_is_a_flow_on_each_of_its_ways() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let plan =
        dumbbell(path, "count = 2\nsubflows = [{}, { name = \"far\", rtt = \"100ms\" }]\n[[flows]]\ncc = \"cubic\"");
    let flows: Vec<_> = plan.flows.iter().map(|flow| (flow.name.as_str(), flow.base_rtt, flow.subflow)).collect();
    let subflow = |flow, index| Some(PlannedSubflow { flow, index, count: 2 });
    assert_eq!(
        flows,
        [
            ("newreno-0:0", ms(40), subflow(0, 0)),
            ("newreno-0:far", ms(100), subflow(0, 1)),
            ("newreno-1:0", ms(40), subflow(1, 0)),
            ("newreno-1:far", ms(100), subflow(1, 1)),
            ("cubic-2", ms(40), None),
        ]
    );
}

#[test]
fn a_quick_start_asks_for_a_rate_that_has_a_code_and_brings_a_handshake() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let flow = |more: &str| dumbbell(path, &format!("profile = \"ns2-linux\"\n{more}")).flows.remove(0);
    assert_eq!((flow("").quick_start, flow("").options.handshake), (None, false));
    let asking = flow("quick_start = \"1mbit\"");
    // 40 kbit/s * 2^4.
    assert_eq!((asking.quick_start, asking.options.handshake), (Some(Rate::from_bits_per_second(640_000)), true));
}

#[test]
fn sources_are_greedy_or_paced_and_datagrams_have_a_size() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let flow = |flow: &str| dumbbell(path, flow).flows.remove(0);
    assert_eq!((&flow("").source, flow("").kind), (&Source::Greedy, Kind::Tcp));
    assert_eq!(flow("source = \"greedy\"").source, Source::Greedy);
    let datagram = flow("kind = \"datagram\"\nsource = { rate = \"2mbit\" }");
    assert_eq!(datagram.source, paced(vec![(Time::ZERO, Rate::from_mbit(2))]));
    assert_eq!(datagram.kind, Kind::Datagram { packet_size: Bytes::new(1500), echo: true });
    let tfrc = plan(
        "duration = \"1s\"\npath = { rate = \"1mbit\", rtt = \"1ms\", queue = \"9p\" }\nflows = [{ cc = \"tfrc\" }]",
    );
    assert_eq!(tfrc.flows[0].kind, Kind::Tfrc { packet_size: Bytes::new(1500) });
    let steps = paced(vec![(Time::ZERO, Rate::from_mbit(10)), (at(2), Rate::from_bits_per_second(10_200_000))]);
    assert_eq!(flow("source = [[\"0s\", \"10mbit\"], [\"2s\", \"10.2mbit\"]]").source, steps);
    assert_eq!(flow("source = { rate = [[\"0s\", \"10mbit\"], [\"2s\", \"10.2mbit\"]] }").source, steps);
}

#[test]
fn a_source_may_pause_for_lengths_given_or_drawn() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let flow = |flow: &str| dumbbell(path, flow).flows.remove(0);
    let rate = vec![(Time::ZERO, Rate::from_mbit(2))];
    let seconds = |n| Span::from_secs(n);
    let periods = Some(OnOff { on: Distribution::Constant(seconds(40)), off: Distribution::Exponential(seconds(5)) });
    let expected = Source::Paced(Paced { rate, arrivals: Arrivals::Poisson, periods });
    let text = r#"source = { rate = "2mbit", arrivals = "poisson", on = "40s", off = { exponential = "5s" } }"#;
    assert_eq!(flow(text).source, expected);
}

#[test]
fn the_steps_of_an_rtt_are_halved_each_and_the_base_rtt_is_that_of_the_beginning() {
    let steps = r#"[["0s", "100ms"], ["30s", "40ms"]]"#;
    let plan = dumbbell(
        &format!("rate = \"12mbit\"\nrtt = {steps}\nqueue = \"1bdp\"\nreorder = true"),
        "[[flows]]\ncc = \"newreno\"\nrtt = [[\"0s\", \"5ns\"], [\"1s\", \"7ns\"]]",
    );
    let route = |initial, later| Propagation::steps(initial, [later]);
    let half = route(ms(50), (at(30), ms(20)));
    assert_eq!(
        plan.flows[0].forward,
        [Hop { link: Some(0), delay: half.clone(), reorder: true, station: None, snoop: None }]
    );
    assert_eq!(plan.flows[0].reverse, [Hop { link: None, delay: half, reorder: true, station: None, snoop: None }]);
    // 12 Mbit/s over 100 ms are 100 packets.
    assert_eq!(plan.links[0].settings.queue.limit, Limit::Packets(100));
    assert_eq!((plan.flows[0].base_rtt, plan.flows[1].base_rtt), (ms(100), Span::from_nanos(5)));
    assert_eq!(plan.flows[1].forward[0].delay, route(Span::from_nanos(2), (at(1), Span::from_nanos(3))));
    assert_eq!(plan.flows[1].reverse[0].delay, route(Span::from_nanos(3), (at(1), Span::from_nanos(4))));
}

#[test]
fn the_delays_of_a_direction_may_have_steps_of_their_own() {
    let delay = r#"delay = { forward = "20ms", reverse = [["0s", "30ms"], ["10s", "10ms"]] }"#;
    let flow = dumbbell(&format!("rate = \"10mbit\"\nqueue = \"84p\"\n{delay}"), "").flows.remove(0);
    assert_eq!(flow.forward, [hop(Some(0), 20)]);
    assert_eq!(flow.reverse[0].delay, Propagation::steps(ms(30), [(at(10), ms(10))]));
}

#[test]
fn jitter_makes_a_link_of_a_reverse_direction_that_only_delayed() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"\njitter = \"3ms\"";
    let plan = dumbbell(&format!("{path}\nreverse = {{ jitter = {{ uniform = \"2ms\", reorder = true }} }}"), "");
    let jitters: Vec<_> = plan.links.iter().map(|link| (link.name.as_str(), link.jitter)).collect();
    assert_eq!(jitters, [("bottleneck", ms(3)), ("bottleneck:reverse", ms(2))]);
    assert_eq!(plan.flows[0].forward, [hop(Some(0), 20)]);
    assert_eq!(plan.flows[0].reverse, [Hop { reorder: true, ..hop(Some(1), 20) }]);
}

#[test]
fn a_direction_that_only_delays_joins_the_hop_before_it_unless_one_of_them_keeps_an_order_that_the_other_breaks() {
    let chain = |keys: &str| {
        let link = r#"rate = "10mbit", queue = "9p", delay"#;
        let text = format!(
            "duration = \"60s\"\nlinks = [{{ from = \"a\", to = \"b\", {link} = \"5ms\", duplex = true }}, \
             {{ from = \"c\", to = \"b\", {link} = [[\"0s\", \"7ms\"], [\"9s\", \"1ms\"]], reverse = {{}}, {keys} }}]\n\
             flows = [{{ cc = \"newreno\", from = \"a\", to = \"c\", extra_delay = \"1ms\" }}]"
        );
        plan(&text).flows.remove(0).forward.clone()
    };
    let steps = |first, second| Propagation::steps(ms(first), [(at(9), ms(second))]);
    assert_eq!(chain(""), [Hop { delay: steps(13, 7), ..hop(Some(0), 0) }]);
    assert_eq!(
        chain("reorder = true"),
        [hop(Some(0), 5), Hop { link: None, delay: steps(8, 2), reorder: true, station: None, snoop: None }]
    );
}

#[test]
fn a_flow_with_an_interval_starts_again_and_again_until_its_stop() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let plan = dumbbell(
        path,
        "[[flows]]\ncc = \"cubic\"\nname = \"web\"\nbytes = \"30kB\"\nevery = \"2s\"\nstart = \"5s\"\nstop = \"11s\"",
    );
    let drawn = plan.draw(1).unwrap();
    let flows: Vec<_> = drawn.iter().map(|f| (f.name(&plan).into_owned(), f.start, f.stop, f.bytes)).collect();
    // 5 s, 7 s and 9 s are before 11 s; what has started goes on to the end of the run.
    let web = |n, start| (format!("web-{n}"), at(start), at(60), Some(Bytes::new(30_000)));
    assert_eq!(flows, [("newreno-0".to_owned(), at(0), at(60), None), web(0, 5), web(1, 7), web(2, 9)]);
}

#[test]
fn pages_are_drawn_as_if_they_took_a_round_trip() {
    let path = "rate = \"10mbit\"\nrtt = \"1s\"\nqueue = \"84p\"";
    let web = "[[flows]]\ncc = \"cubic\"\nname = \"web\"\nbytes = \"30kB\"\nthink = \"2s\"\nconnections = 2\n\
               start = \"5s\"\nstop = \"11s\"";
    let plan = dumbbell(path, web);
    let drawn = plan.draw(1).unwrap();
    let pages = drawn[1..].iter().map(|flow| (flow.start, flow.page.map(|page| (page.number, page.think)), flow.stop));
    // 5 s and 8 s are before 11 s.
    let page = |number, think, start| (at(start), Some((number, ms(think))), at(60));
    let expected = [page(0, 0, 5), page(0, 0, 5), page(1, 2000, 8), page(1, 2000, 8)];
    assert_eq!(pages.collect::<Vec<_>>(), expected);
    // 6 s are two cycles of 3 s, and one begins: three pages of two at most, and the greedy flow.
    assert_eq!(plan.flows.iter().map(|flow| flow.connections()).sum::<u64>(), 7);
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
fn a_controller_of_python_is_not_looked_up() {
    let mut document = Document::from_toml(
        "duration = \"1s\"\npath = { rate = \"1mbit\", rtt = \"9ms\", queue = \"9p\" }",
        "demo.toml",
    )
    .unwrap();
    document.set("flows", "[{ cc = \"python:0\", parameters = { gain = 2 } }]").unwrap();
    let plan = document.scenario().unwrap().plan(&disk).unwrap();
    assert_eq!(plan.flows[0].cc, ControllerRef::Python { index: 0, label: None });
    assert_eq!(plan.flows[0].parameters["gain"], 2);
}

#[test]
fn a_profile_gives_a_controller_the_parameters_of_its_stack() {
    let parameters = |profile: &str, flow: &str| {
        let text = format!(
            "duration = \"1s\"\nprofile = \"{profile}\"\nflows = [{flow}]\n\
             path = {{ rate = \"1mbit\", rtt = \"9ms\", queue = \"9p\" }}"
        );
        plan(&text).flows[0].parameters.clone()
    };
    let linux = parameters("linux", "{ cc = \"cubic\" }");
    assert_eq!((&linux["C"], &linux["whole_segments"]), (&json!(0.4004), &json!(true)));
    // Of the flow before that of the run, and what is given before either.
    let freebsd = parameters("linux", "{ cc = \"cubic\", profile = \"freebsd-9\", parameters = { C = 0.5 } }");
    assert_eq!((&freebsd["C"], &freebsd["beta"]), (&json!(0.5), &json!(0.8)));
    assert!(parameters("linux", "{ cc = \"cubic-rfc\" }").is_empty());
    assert!(parameters("linux", "{ cc = \"cubic\", parameters = { stack = \"standard\" } }").is_empty());
}

#[test]
fn a_controller_in_a_file_is_found_beside_the_scenario_and_named_after_it() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    std::fs::write(format!("{directory}/mine.bpf.c"), "").unwrap();
    let text = "duration = \"1s\"\npath = { rate = \"1mbit\", rtt = \"9ms\", queue = \"9p\" }\n\
                flows = [{ cc = \"mine.bpf.c\" }, { cc = \"mine.bpf.c\", count = 2 }]";
    let plan = scenario::from_toml(text, &format!("{directory}/demo.toml")).unwrap().plan(&disk).unwrap();
    assert_eq!(plan.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>(), ["mine-0", "mine-1", "mine-2"]);
    assert_eq!(plan.flows[0].cc, ControllerRef::Source(format!("{directory}/mine.bpf.c").into()));
    assert_eq!(plan.flows[0].cc.to_string(), "mine.bpf.c");
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

const PARKING_LOT: &str = r#"
    duration = "60s"
    [[links]]
    name = "west"
    from = "a"
    to = "b"
    rate = "10mbit"
    delay = "5ms"
    queue = "84p"
    duplex = true
    [[links]]
    name = "east"
    from = "b"
    to = "c"
    rate = "8mbit"
    delay = "10ms"
    queue = "50p"
    reverse = {}
    [[flows]]
    cc = "newreno"
    from = "a"
    to = "c"
    extra_delay = "2ms"
    [[flows]]
    cc = "newreno"
    from = "b"
    to = "c"
    [[flows]]
    cc = "newreno"
    via = ["c", "b", "a"]
"#;

#[test]
fn a_parking_lot_routes_each_flow_over_its_links() {
    let plan = plan(PARKING_LOT);
    let links: Vec<_> = plan.links.iter().map(|link| (link.name.as_str(), link.delay)).collect();
    assert_eq!(links, [("west", ms(5)), ("west:reverse", ms(5)), ("east", ms(10))]);

    let across = &plan.flows[0];
    assert_eq!(across.forward, [hop(Some(0), 5), hop(Some(2), 12)]);
    // Back over the reverse of east, which only delays, then over that of west.
    assert_eq!(across.reverse, [hop(None, 10), hop(Some(1), 7)]);
    assert_eq!(across.base_rtt, ms(34));

    assert_eq!(plan.flows[1].forward, [hop(Some(2), 10)]);
    assert_eq!(plan.flows[1].reverse, [hop(None, 10)]);

    assert_eq!(plan.flows[2].forward, [hop(None, 10), hop(Some(1), 5)]);
    assert_eq!(plan.flows[2].reverse, [hop(Some(0), 5), hop(Some(2), 10)]);
    // The slowest link with data.
    assert_eq!(plan.bottleneck, Some(2));
}

#[test]
fn the_shortest_way_wins_and_among_equals_the_first_of_the_file() {
    let link = |from: &str, to: &str| {
        format!(
            "[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1mbit\"\ndelay = \"1ms\"\nqueue = \"9p\"\n\
             reverse = {{}}\n"
        )
    };
    let flow = "[[flows]]\ncc = \"newreno\"\nfrom = \"a\"\nto = \"d\"\n";
    let links_of = |links: &[(&str, &str)]| {
        let links: String = links.iter().map(|(from, to)| link(from, to)).collect();
        let plan = plan(&format!("duration = \"1s\"\n{links}{flow}"));
        plan.flows[0].forward.iter().map(|hop| plan.links[hop.link.unwrap()].name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(links_of(&[("a", "b"), ("b", "c"), ("c", "d"), ("a", "c")]), ["a-c", "c-d"]);
    assert_eq!(links_of(&[("a", "b"), ("a", "c"), ("c", "d"), ("b", "d")]), ["a-b", "b-d"]);
    assert_eq!(links_of(&[("a", "c"), ("a", "b"), ("b", "d"), ("c", "d")]), ["a-c", "c-d"]);
}

#[test]
fn hops_that_only_delay_join_the_hop_before_them() {
    let plan = plan(
        r#"
        duration = "1s"
        links = [
            { from = "a", to = "b", rate = "1mbit", delay = "1ms", queue = "9p", reverse = {} },
            { from = "b", to = "c", rate = "1mbit", delay = "2ms", queue = "9p", reverse = {} },
        ]
        flows = [{ cc = "newreno", from = "a", to = "c" }]
        "#,
    );
    assert_eq!(plan.flows[0].reverse, [hop(None, 3)]);
}

#[test]
fn memory_is_bounded_by_what_flows_send_links_serve_and_queues_hold() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let off = "[record]\nflow_series = \"off\"\nprobes = \"off\"\nlink_series = \"off\"\nevents = false";
    let memory = |path: &str, flow: &str| dumbbell(path, &format!("{flow}\n{off}")).estimated_memory().get();
    // A flow takes 4000 B. The path holds 84 + 34 packets of 200 B, twice that in slow start; 10 a flow leave at once.
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
fn a_live_plan_takes_controllers_of_the_kernel_and_still_checks_those_of_the_registry() {
    let scenario = |flow: &str| {
        let path = "path = { rate = \"10mbit\", rtt = \"40ms\", queue = \"84p\" }";
        scenario::from_toml(&format!("duration = \"1s\"\n{path}\nflows = [{{ {flow} }}]"), "test.toml").unwrap()
    };
    let foreign = scenario("cc = \"my_own\", parameters = { gain = 2 }");
    assert_eq!(foreign.plan_live(&disk).unwrap().flows[0].cc, ControllerRef::Engine("my_own".to_owned()));
    assert!(foreign.plan(&disk).is_err());
    assert!(scenario("cc = \"newreno\", parameters = { gain = 2 }").plan_live(&disk).is_err());
}

#[test]
fn a_snoop_agent_is_before_the_link_and_behind_its_way_back() {
    let agent = |flow: &str| {
        let text = format!(
            r#"
            duration = "1s"
            links = [
                {{ from = "server", to = "base", rate = "10mbit", delay = "20ms", queue = "84p", reverse = {{}} }},
                {{ from = "base", to = "phone", rate = "2mbit", delay = "1ms", queue = "84p", reverse = {{}},
                   snoop = {{ timeout_min = "100ms" }} }},
            ]
            flows = [{{ cc = "newreno", {flow} }}]
            "#
        );
        let settings = plan(&text).flows.remove(0).settings;
        [&settings.forward, &settings.reverse].map(|hops| hops.iter().map(|hop| hop.snoop).collect::<Vec<_>>())
    };
    let here = Some(ms(100));
    assert_eq!(agent("from = \"server\", to = \"phone\""), [vec![None, here], vec![None, here]]);
    assert_eq!(agent("from = \"base\", to = \"phone\""), [vec![None], vec![None]], "at the sender");
    assert_eq!(agent("from = \"phone\", to = \"server\""), [vec![None], vec![None, None]], "the wireless end sends");
}
