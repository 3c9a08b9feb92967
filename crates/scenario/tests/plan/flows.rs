//! Flows: sources, copies, controllers.

use control::ControllerRef;
use scenario::{Arrivals, Document, Kind, OnOff, Paced, PlannedFlow, PlannedSubflow, Source};
use serde_json::json;
use transport::EcnMode;
use units::{Bytes, Distribution, Rate, Span, Time};

use crate::{at, disk, dumbbell, ms, paced, plan};

#[test]
fn copies_are_numbered_and_unnamed_flows_by_their_place() {
    let names = |flow: &str| {
        let plan = dumbbell("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"", flow);
        plan.flows.iter().map(PlannedFlow::name).collect::<Vec<_>>()
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
    let names: Vec<_> = plan.flows.iter().map(PlannedFlow::name).collect();
    let flows: Vec<_> = (names.iter().map(String::as_str).zip(&plan.flows))
        .map(|(name, flow)| (name, flow.base_rtt, flow.subflow.as_deref().copied()))
        .collect();
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
fn a_flow_with_an_interval_starts_again_and_again_until_its_stop() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"";
    let plan = dumbbell(
        path,
        "[[flows]]\ncc = \"cubic\"\nname = \"web\"\nbytes = \"30kB\"\nevery = \"2s\"\nstart = \"5s\"\nstop = \"11s\"",
    );
    let drawn = plan.draw(1).unwrap();
    let flows: Vec<_> = drawn.iter().map(|f| (f.name(&plan), f.start, f.stop, f.bytes)).collect();
    // 5 s, 7 s and 9 s are before 11 s. Connections that have started go on to the end of the run.
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
fn a_profile_gives_a_controller_the_form_of_its_stack() {
    let parameters = |profile: &str, flow: &str| {
        let text = format!(
            "duration = \"1s\"\nprofile = \"{profile}\"\nflows = [{flow}]\n\
             path = {{ rate = \"1mbit\", rtt = \"9ms\", queue = \"9p\" }}"
        );
        plan(&text).flows[0].parameters.clone()
    };
    let linux = parameters("linux", "{ cc = \"cubic\" }");
    assert_eq!(linux["stack"], json!("linux"));
    // The flow's profile goes before the run's, and a given parameter before either.
    assert_eq!(parameters("linux", "{ cc = \"cubic\", profile = \"freebsd-9\" }")["stack"], json!("freebsd-9"));
    let rfc = "{ cc = \"cubic\", parameters = { stack = \"standard\", C = 0.5 } }";
    assert_eq!(parameters("linux", rfc)["C"], json!(0.5));
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
    assert_eq!(plan.flows.iter().map(PlannedFlow::name).collect::<Vec<_>>(), ["mine-0", "mine-1", "mine-2"]);
    assert_eq!(plan.flows[0].cc, ControllerRef::Source(format!("{directory}/mine.bpf.c").into()));
    assert_eq!(plan.flows[0].cc.to_string(), "mine.bpf.c");
}

#[test]
fn a_controller_that_needs_marks_says_so_where_it_gets_none() {
    let warnings = |queue: &str, transport: &str, controllers: &[&str]| {
        let flow = |cc: &&str| format!("[[flows]]\ncc = \"{cc}\"\ntransport = {{ {transport} }}\n");
        let flows: String = controllers.iter().map(flow).collect();
        let path = format!("[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nqueue = {queue}");
        plan(&format!("duration = \"60s\"\n{path}\n{flows}")).warnings
    };
    let said =
        |flow: usize, name: &str, but: &str| format!("`{name}-{flow}`: `{name}` needs notice of each mark, but {but}");
    let marking = "{ limit = \"33p\", mark_above = \"5p\" }";
    let off = "`transport.ecn` is false, so that nothing is marked and it answers to losses alone: leave `ecn` out";
    assert_eq!(
        warnings(marking, "ecn = false", &["dctcp", "prague", "dctcp", "cubic", "bbr1"]),
        [said(0, "dctcp", off), said(1, "prague", off)]
    );
    let classic = "`transport.ecn` is true, so that one mark is echoed for a whole round trip: leave `ecn` out";
    assert_eq!(warnings(marking, "ecn = true", &["prague"]), [said(0, "prague", classic)]);
    let plain = "no queue on its way marks, so that it answers to losses alone: give one `mark_above` or a discipline";
    assert_eq!(warnings("\"33p\"", "", &["dctcp"]), [said(0, "dctcp", plain)]);
    assert!(warnings(marking, "", &["dctcp", "prague"]).is_empty());
    assert!(warnings("{ discipline = \"dualpi2\" }", "", &["dctcp", "prague"]).is_empty());
}

#[test]
fn a_controller_that_needs_marks_gets_accurate_ecn_unless_the_scenario_says_otherwise() {
    let path = "[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"33p\"";
    let ecn = |flow: &str| plan(&format!("duration = \"60s\"\n{path}\n[[flows]]\n{flow}")).flows[0].options.ecn();
    assert_eq!(ecn("cc = \"dctcp\""), EcnMode::Accurate);
    assert_eq!(ecn("cc = \"prague\"\nprofile = \"ns2-linux\""), EcnMode::Accurate);
    assert_eq!(ecn("cc = \"dctcp\"\ntransport = { ecn = false }"), EcnMode::Off);
    assert_eq!(ecn("cc = \"dctcp\"\ntransport = { ecn = true }"), EcnMode::Classic);
    assert_eq!(ecn("cc = \"dctcp\"\ntransport = { sack = false }"), EcnMode::Accurate);
    assert_eq!(ecn("cc = \"cubic\""), EcnMode::Off);
}
