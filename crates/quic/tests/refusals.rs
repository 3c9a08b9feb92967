//! Plans that do not run over QUIC, and the sentences that say so.

use std::sync::Arc;

use engine::{Engine as _, Job, Watch};
use quic::{Quic, Stacks, controllers};
use stack::{Reports, Settings, Side, Stack};

/// The sentence that refuses flows, with more lines of the scenario.
fn refusal(flows: &str, more: &str) -> String {
    let text = format!(
        "duration = \"1s\"\n{more}path = {{ rate = \"10mbit\", rtt = \"40ms\", queue = \"1bdp\" }}\nflows = [{flows}]"
    );
    let plan = scenario::from_toml(&text, "test.toml").and_then(|scenario| scenario.plan(&scenario::NoFiles)).unwrap();
    Quic::default().check(&plan).err().map(|failure| failure.to_string()).unwrap_or_default()
}

#[test]
fn what_cannot_run_is_refused_by_a_sentence_that_names_the_key() {
    let marks = "it needs the number of marked packets, and noq tells its controllers only that there are some";
    for (flow, sentence) in [
        ("cc = \"dctcp\"", format!("flow `dctcp-0`, cc: `dctcp` cannot run over QUIC: {marks}")),
        ("cc = \"prague\"", format!("flow `prague-0`, cc: `prague` cannot run over QUIC: {marks}")),
        (
            "cc = \"c4\", transport = { ecn = true }",
            format!("flow `c4-0`, transport.ecn: `c4` cannot use marks over QUIC: {marks}"),
        ),
        (
            "cc = \"noq:vegas\"",
            "test.toml, line 3: flows.0.cc: noq has no controller `noq:vegas` (there are noq:newreno, noq:cubic, \
             noq:bbr3)"
                .to_owned(),
        ),
        (
            "cc = \"quinn:bbr3\"",
            "test.toml, line 3: flows.0.cc: quinn has no controller `quinn:bbr3` (there are quinn:newreno, \
             quinn:cubic, quinn:bbr)"
                .to_owned(),
        ),
        (
            "cc = \"quiche:bbr\"",
            "test.toml, line 3: flows.0.cc: quiche has no controller `quiche:bbr` (there are quiche:reno, \
             quiche:cubic, quiche:bbr2_gcongestion)"
                .to_owned(),
        ),
        (
            "cc = \"quiche:cubic\", transport = { ecn = true }",
            "flow `quiche:cubic-0`, transport.ecn: quiche does not understand marks".to_owned(),
        ),
        (
            "cc = \"noq:cubic\", parameters = { C = 1 }",
            "flow `noq:cubic-0`, cc: `noq:cubic` has no parameters".to_owned(),
        ),
        ("cc = \"tfrc\"", "flow `tfrc-0`, cc: `tfrc` does not run over QUIC, as noq paces by itself".to_owned()),
        (
            "cc = \"cubic\", profile = \"freebsd-9\"",
            "flow `cubic-0`, profile: `freebsd-9` is a TCP, and the stack of this engine is noq".to_owned(),
        ),
        (
            "cc = \"cubic\", transport = { sack = false }",
            "flow `cubic-0`, transport.sack: it is a rule of TCP; QUIC has that of noq".to_owned(),
        ),
        (
            "cc = \"cubic\", transport = { segment_size = \"536B\" }",
            "flow `cubic-0`, transport.segment_size: `536B` makes QUIC packets of 560 bytes (allowed: 1200 to 65527)"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal(&format!("{{ {flow} }}"), ""), sentence);
    }
}

#[test]
fn all_other_controllers_can_be_built() {
    let needs_marks = ["dctcp", "prague"];
    let ours = control::registry::CONTROLLERS.iter().map(|entry| entry.name).filter(|name| !needs_marks.contains(name));
    for name in ours.map(str::to_owned).chain(controllers()) {
        assert_eq!(refusal(&format!("{{ cc = \"{name}\" }}"), ""), "", "{name}");
    }
}

#[test]
fn stacks_with_one_path_refuse_a_multipath_flow() {
    for (cc, stack) in [("quinn:cubic", "quinn"), ("quiche:cubic", "quiche"), ("c:reno", "c")] {
        let text = format!(
            r#"
            duration = "1s"
            links = [{{ from = "a", to = "b", rate = "10mbit", delay = "20ms", queue = "9p", reverse = {{}} }}]
            [[flows]]
            name = "both"
            cc = "{cc}"
            subflows = [{{ from = "a", to = "b" }}, {{ from = "a", to = "b" }}]
            "#
        );
        let plan = scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
        let failure = Quic::default().check(&plan).err().map(|failure| failure.to_string());
        let sentence = format!("flow `both:0`, subflows: {stack} has one path in a connection");
        assert_eq!(failure, Some(sentence));
    }
}

/// A stack of the user that begins no connection.
struct Refusing;

impl Stack for Refusing {
    fn connect(
        &self,
        _settings: &Settings,
        _controller: Option<&str>,
        _reports: Vec<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        Err("it is not ready".to_owned())
    }
}

#[test]
fn a_stack_from_outside_needs_a_builder_and_may_refuse_a_connection() {
    let text = "duration = \"1s\"\npath = { rate = \"10mbit\", rtt = \"40ms\", queue = \"1bdp\" }\n\
                flows = [{ name = \"own\", cc = \"quinn:cubic\" }]";
    let plan = scenario::from_toml(text, "test.toml").and_then(|scenario| scenario.plan(&scenario::NoFiles)).unwrap();
    let job = Job { plan: Arc::new(plan), seed: 1 };
    let failure = |quic: Quic| {
        assert!(quic.check(&job.plan).is_ok());
        quic.run(&job, &Watch::default()).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(failure(Quic::default()), "flow `own`: quinn is not built in, and nothing builds it here");
    let stacks: Stacks = Arc::new(|cc| (cc.spelling() == "quinn:cubic").then(|| Arc::new(Refusing) as Arc<dyn Stack>));
    assert_eq!(failure(Quic { stacks: Some(stacks), ..Quic::default() }), "flow `own`: it is not ready");
}
