//! QUIC over UDP sockets, compared with the settings of the scenarios. Tests assert only results that the path decides,
//! never how well the machine kept up.
#![cfg(feature = "quic")]

mod common;

use std::sync::Arc;

use common::{alone, first_of, possible};
use engine::{Engine as _, Failure, Job, Watch};
use live::{Outcome, QuicLive};
use quic::Quic;
use record::EventKind;
use scenario::{NoFiles, Plan};

/// Flows over a path of 10 Mbit/s and 40 ms.
fn plan(top: &str, path: &str, flows: &str) -> Arc<Plan> {
    let toml = format!(
        "{top}\nname = \"test\"\npath = {{ rate = \"10mbit\", rtt = \"40ms\", {path} }}\n\
         record = {{ events = true, flow_series = \"10ms\", datagrams = true }}\nflows = [{flows}]"
    );
    Arc::new(scenario::from_toml(&toml, "test.toml").unwrap().plan(&NoFiles).unwrap())
}

fn attempt(plan: &Arc<Plan>, seed: u64) -> Result<Outcome, Failure> {
    QuicLive(Quic::default()).run(&Job { plan: Arc::clone(plan), seed }, &Watch::default())
}

/// The first valid run, if the machine is not too busy for any.
fn run(top: &str, path: &str, flows: &str) -> Option<Outcome> {
    let plan = plan(top, path, flows);
    first_of(plan.seed, |seed| attempt(&plan, seed).unwrap(), |outcome| outcome.notes.valid)
}

fn count(outcome: &Outcome, kind: EventKind) -> u64 {
    outcome.tables.events.columns().kind.iter().filter(|&&other| other == kind).count() as u64
}

#[test]
fn a_bulk_flow_fills_its_link_and_every_drop_is_one_of_the_queue() {
    let _alone = alone();
    if !possible() {
        return;
    }
    for cc in ["noq:cubic", "newreno"] {
        let flow = format!("{{ cc = \"{cc}\" }}");
        let Some(outcome) = run("duration = \"5s\"\nwarmup = \"1s\"", "queue = \"1bdp\"", &flow) else { return };
        let (flow, link) = (&outcome.tables.flows[0], &outcome.tables.links[0]);
        assert!(link.utilization > 0.9, "{cc}: {link:?}");
        assert_eq!((flow.cc.as_str(), flow.profile.as_str()), (cc, "noq"));
        assert!(flow.rtt_min_ms >= 41.2 && flow.rtt_max_ms > 60.0, "{cc}: the queue of 40 ms fills: {flow:?}");
        let payload = flow.delivered_bytes as f64 / flow.sender.data_packets as f64;
        assert!((1350.0..=1447.0).contains(&payload), "{cc}: {payload}");
        // Drops of data have the number of their packet. The others are of acknowledgements of the receiver's frames.
        let events = outcome.tables.events.columns();
        let drops = || (0..events.kind.len()).filter(|&row| events.kind[row] == EventKind::Drop);
        let measured = drops().filter(|&row| events.time_s[row] >= 1.0).count() as u64;
        assert_eq!(measured, link.dropped_packets, "{cc}");
        let numbered = drops().filter(|&row| events.sequence[row] != u64::MAX).count();
        assert!(numbered > 0 && numbered <= drops().count(), "{cc}");
        assert!(outcome.cost.data_packets >= flow.sender.data_packets);
        assert_eq!((outcome.notes.state_source, outcome.notes.drops_outside), ("noq", 0));
        assert!(outcome.notes.trains.mean >= 1.0 && outcome.cost.cpu_s > 0.0);
    }
}

#[test]
fn marks_cross_the_sockets_and_stand_in_for_drops() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let queue = "queue = { limit = \"400p\", mark_above = \"15p\" }";
    let flow = "{ cc = \"noq:newreno\", transport = { ecn = true } }";
    let Some(outcome) = run("duration = \"4s\"", queue, flow) else { return };
    let flow = &outcome.tables.flows[0];
    assert!(flow.marked_packets > 0 && count(&outcome, EventKind::Ecn) > 0, "{flow:?}");
    assert_eq!((flow.sender.lost_packets, outcome.tables.links[0].dropped_packets), (0, 0));
}

#[test]
fn short_flows_pages_and_datagrams_arrive_no_sooner_than_the_path_lets_them() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let flows = "{ cc = \"noq:newreno\", bytes = \"10kB\" },\n\
                 { name = \"media\", cc = \"newreno\", kind = \"datagram\", source = { rate = \"1mbit\" } },\n\
                 { name = \"reader\", cc = \"cubic\", bytes = \"20kB\", think = \"200ms\", connections = 2 }";
    let Some(outcome) = run("duration = \"3s\"", "queue = \"100p\"", flows) else { return };
    let short = &outcome.tables.flows[0];
    assert_eq!(short.delivered_bytes, 10_000);
    // A handshake of 40 ms, and 20 ms of the data.
    assert!(short.completion_s > 0.06, "{short:?}");
    let media = &outcome.tables.flows[1];
    assert_eq!(media.name, "media");
    let datagrams = &outcome.tables.datagrams;
    assert!(media.delivered_bytes > 200_000 && datagrams.flow.len() > 100, "{media:?}");
    assert!(datagrams.sent_s.iter().zip(&datagrams.arrived_s).all(|(sent, arrived)| arrived - sent > 0.02));
    let objects: Vec<_> = outcome.tables.flows[2..].iter().filter(|flow| flow.completion_s.is_finite()).collect();
    assert!(objects.len() > 4 && objects.iter().all(|object| object.delivered_bytes == 20_000), "{objects:?}");
}

#[test]
fn what_cannot_run_is_refused_by_its_name() {
    let refused = |plan: &Plan| match QuicLive(Quic::default()).check(plan) {
        Err(Failure::Refused(sentence)) => sentence,
        other => panic!("{other:?}"),
    };
    let of =
        |flow: &str| refused(&plan("duration = \"1s\"", "queue = \"1bdp\"", &format!("{{ name = \"a\", {flow} }}")));
    assert_eq!(of("cc = \"python:0\""), "flow `a`: cc `python:0` cannot run live: Python would be late");
    assert!(of("cc = \"dctcp\"").contains("cc: `dctcp` cannot run over QUIC"));
    let paths = of("cc = \"noq:cubic\", subflows = [{ rtt = \"40ms\" }, { rtt = \"60ms\" }]");
    assert_eq!(paths, "flow `a:0`: subflows cannot run live: multipath flows are only simulated");
    let two = r#"
        duration = "1s"
        links = [
            { from = "a", to = "b", rate = "10mbit", delay = "1ms", queue = "10p", duplex = true },
            { from = "b", to = "c", rate = "10mbit", delay = "1ms", queue = "10p", duplex = true },
        ]
        flows = [{ cc = "newreno", from = "a", to = "c" }]
    "#;
    let plan = scenario::from_toml(two, "test.toml").unwrap().plan(&NoFiles).unwrap();
    let sentence = refused(&plan);
    assert!(sentence.starts_with("flow `newreno-0`: it passes several links one after the other"), "{sentence}");
}

#[test]
fn too_many_connections_are_refused_before_anything_starts() {
    let plan = plan("duration = \"1s\"", "queue = \"1bdp\"", "{ cc = \"cubic\", count = 65 }");
    let Err(Failure::Refused(sentence)) = attempt(&plan, 1) else { panic!("65 connections") };
    assert_eq!(sentence, "flows: 65 connections are too many for a live run, which has at most 64");
}
