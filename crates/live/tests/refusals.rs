//! The whole sentence of every refusal.

mod common;

use common::job;
use engine::Engine as _;

fn refused(toml: &str) -> String {
    let job = job(&format!("duration = \"1s\"\n{toml}"));
    live::check(&job.plan, job.algorithms.as_ref()).unwrap_err().to_string()
}

const PATH: &str = "path = { rate = \"10mbit\", rtt = \"40ms\", queue = \"1bdp\" }\n";

fn flow(text: &str) -> String {
    refused(&format!("{PATH}flows = [{{ name = \"a\", {text} }}]"))
}

#[test]
fn what_cannot_run_live_is_named() {
    assert_eq!(flow(r#"cc = "tfrc""#), "flow `a`: cc `tfrc` cannot run live: the kernel's TCP has no such flow");
    let small = r#"cc = "newreno", kind = "datagram", packet_size = "32B", source = { rate = "1mbit" }"#;
    assert_eq!(flow(small), "flow `a`: a datagram with 4 bytes of payload cannot run live; 8 have room for its number");
    assert_eq!(
        flow(r#"cc = "python:0", kind = "media""#),
        "flow `a`: cc `python:0` cannot run live: Python would be late"
    );
    assert_eq!(flow(r#"cc = "python:0""#), "flow `a`: cc `python:0` cannot run live: the kernel cannot call Python");
    assert_eq!(
        flow(r#"cc = "newreno", profile = "linux-3.5""#),
        "flow `a`: profile `linux-3.5` cannot run live: the kernel's TCP is that of `linux`"
    );
    assert_eq!(
        flow(r#"cc = "newreno", transport = { initial_window = 3 }"#),
        "flow `a`: transport.initial_window cannot be changed in a live run"
    );
    assert_eq!(
        flow(r#"cc = "newreno", transport = { handshake = false }"#),
        "flow `a`: transport.handshake cannot be changed in a live run"
    );
    assert_eq!(
        flow(r#"cc = "newreno", count = 65"#),
        "flows: 65 connections are too many for a live run, which has at most 64"
    );
    assert_eq!(
        flow(r#"cc = "newreno", transport = { segment_size = "47B" }"#),
        "flow `a`: transport.segment_size `47B` cannot run live: the kernel's TCP sends at least 48 bytes"
    );
    assert_eq!(
        flow(r#"cc = "newreno", rtt = "61s""#),
        "flow `a`: a base RTT of 61s cannot run live: across more than 60s the kernel makes no connection"
    );
    assert_eq!(
        flow(r#"cc = "newreno", transport = { ecn = "accurate" }"#),
        "flow `a`: transport.ecn `accurate` cannot run live but with cc `dctcp`, whose receiver reports each change of \
         marks; false and true can"
    );
    assert_eq!(
        flow(r#"cc = "newreno", transport = { conceals = "losses", receive_buffer = "1MB" }"#),
        "flow `a`: transport.conceals cannot be changed in a live run"
    );
    let clearing = PATH.replace(" }", ", clear_ecn = \"after\" }");
    assert_eq!(
        refused(&format!("{clearing}flows = [{{ cc = \"newreno\" }}]")),
        "clear_ecn of `bottleneck` cannot run live: the ECN field is only cleared in simulation"
    );
    let message = flow(r#"cc = "fictitious""#);
    assert!(
        message.starts_with("flow `a`: the kernel has no congestion controller `fictitious`; it has "),
        "{message}"
    );
    assert_eq!(
        flow(r#"cc = "cubic", parameters = { beta = 0.8 }"#),
        "flow `a`: the kernel's `cubic` takes no parameters, and `beta` is given"
    );
}

#[test]
fn what_holds_for_all_flows_must_be_the_same_for_all() {
    let flows = r#"flows = [{ cc = "newreno" }, { cc = "cubic", transport = { sack = false } }]"#;
    assert_eq!(
        refused(&format!("{PATH}{flows}")),
        "flow `cubic-1`: transport.sack must be as for `newreno-0`: in a live run it holds for all flows"
    );
}

#[test]
fn settings_of_tcp_bind_no_datagrams() {
    let flows = r#"flows = [
        { cc = "gcc", kind = "media" },
        { cc = "newreno" },
        { cc = "cubic", kind = "datagram", source = { rate = "1mbit" } },
        { cc = "cubic", transport = { sack = false } },
    ]"#;
    assert_eq!(
        refused(&format!("{PATH}{flows}")),
        "flow `cubic-3`: transport.sack must be as for `newreno-1`: in a live run it holds for all flows"
    );
}

#[test]
fn a_kernel_in_virtual_time_has_no_flows_of_datagrams() {
    let job = job(&format!("duration = \"1s\"\n{PATH}flows = [{{ name = \"a\", cc = \"gcc\", kind = \"media\" }}]"));
    let queues = live::Queues::default();
    let live = live::Live { algorithms: job.algorithms, controllers: None, gso_max_segs: None, capture: None, queues };
    let refusal = live::VirtualTime(live).check(&job.plan).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "flow `a`: a flow of datagrams runs in real time or simulated, but not in a kernel in virtual time"
    );
}

#[test]
fn a_way_over_several_links_is_refused() {
    let links = r#"
        links = [
            { from = "a", to = "b", rate = "10mbit", delay = "1ms", queue = "10p", duplex = true },
            { from = "b", to = "c", rate = "10mbit", delay = "1ms", queue = "10p", duplex = true },
        ]
        flows = [{ cc = "newreno", from = "a", to = "c" }]
    "#;
    assert_eq!(
        refused(links),
        "flow `newreno-0`: it passes several links one after the other, which cannot run live; one each way can"
    );
}
