//! Media and datagrams over UDP sockets, beside the simulation of the same scenario. Tests assert only results that the
//! path decides, never how well the machine kept up.

mod common;

use std::collections::BTreeSet;

use common::{Job, alone, first_valid, job, possible};
use engine::{Engine as _, Watch};
use record::{EventKind, Tables};

fn simulated(job: &Job) -> Tables {
    let job = engine::Job { plan: job.plan.clone(), seed: job.seed };
    sim::Simulator::default().run(&job, &Watch::default()).unwrap().tables
}

/// The delay that 95 of 100 packets of `flow` do not exceed, in ms, of those sent from `since` on.
fn delay(tables: &Tables, flow: u32, since: f64) -> f64 {
    let packets = &tables.datagrams;
    let rows = (0..packets.sent_s.len()).filter(|&row| packets.flow[row] == flow && packets.sent_s[row] >= since);
    let mut delays: Vec<f64> = rows.map(|row| (packets.arrived_s[row] - packets.sent_s[row]) * 1e3).collect();
    delays.sort_by(f64::total_cmp);
    delays[delays.len() * 95 / 100]
}

/// The share of the frames of `flow` that were shown.
fn shown(tables: &Tables, flow: u32) -> f64 {
    let frames = &tables.video_frames;
    let of_flow: Vec<f64> =
        (0..frames.flow.len()).filter(|&row| frames.flow[row] == flow).map(|row| frames.shown_s[row]).collect();
    of_flow.iter().filter(|at| at.is_finite()).count() as f64 / of_flow.len() as f64
}

#[test]
fn a_call_lives_with_the_tables_of_a_simulated_one() {
    let _alone = alone();
    if !possible() {
        return;
    }
    for cc in ["gcc", "nada", "scream"] {
        let job = job(&format!(
            r#"
            duration = "20s"
            warmup = "10s"
            path = {{ rate = "1.2mbit", rtt = "60ms", queue = "300ms" }}
            record = {{ datagrams = true, flow_series = "100ms", probes = "100ms", events = true }}
            flows = [{{ cc = "{cc}", kind = "media" }}]
        "#
        ));
        let Some(outcome) = first_valid(&job) else { return };
        let [live, simulated] = [outcome.tables, simulated(&job)];
        // What the path can carry, and a rate that the controller reaches within ten seconds.
        let rate = live.flows[0].goodput_bps;
        assert!((300e3..1.2e6).contains(&rate), "{cc}: {rate}");
        // At most the queue and 30 ms of the path, and the lateness that a valid run may have.
        assert!(delay(&live, 0, 10.0) < 30.0 + 300.0 + 40.0, "{cc}");
        // 30 ms and a packet of some 1200 bytes at 1.2 Mbit/s.
        assert!(delay(&live, 0, 0.0) > 30.0 && shown(&live, 0) > 0.9, "{cc}");
        assert_eq!(live.flow_series.rows(), simulated.flow_series.rows(), "{cc}");
        let [probes, of_simulated] = [&live, &simulated].map(|tables| tables.probes.time_s.len());
        assert!(probes > 0 && probes == of_simulated, "{cc}: {probes} {of_simulated}");
        assert!(live.flows[0].rtt_min_ms >= 60.0, "{cc}: {:?}", live.flows[0]);
    }
}

#[test]
fn a_call_and_its_voice_run_beside_the_kernels_tcp() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let job = job(r#"
        duration = "8s"
        warmup = "2s"
        path = { rate = "4mbit", rtt = "40ms", queue = "200ms" }
        record = { datagrams = true, events = true, flow_series = "100ms" }
        flows = [
            { cc = "gcc", kind = "media", media = { repair = "300ms" } },
            { cc = "cubic", start = "1s", stop = "6s" },
            { cc = "newreno", kind = "datagram", packet_size = "200B", source = { rate = "80kbit" }, echo = false },
            { cc = "newreno", kind = "datagram", packet_size = "200B", source = { rate = "80kbit" }, stop = "3s" },
        ]
    "#);
    let Some(outcome) = first_valid(&job) else { return };
    let tables = &outcome.tables;
    let [call, tcp, voice, echoed] = &tables.flows[..] else { panic!("{:?}", tables.flows) };
    assert!(voice.rtt_min_ms.is_nan() && echoed.rtt_min_ms >= 40.4, "{voice:?} {echoed:?}");
    assert!(tcp.goodput_bps > 0.0 && call.goodput_bps > 0.0 && voice.goodput_bps > 0.0, "{tcp:?} {call:?} {voice:?}");
    assert!(delay(tables, 2, 2.0) > 20.0, "half the base RTT");
    let events = tables.events.columns();
    let count = |kind| events.kind.iter().filter(|&&other| other == kind).count();
    assert_eq!((count(EventKind::Start), count(EventKind::Stop)), (4, 2));
    // On a path without overtaking, every number up to the last that arrived has arrived or is of a drop.
    let arrived = (0..tables.datagrams.flow.len()).filter(|&row| tables.datagrams.flow[row] == 2);
    let arrived: BTreeSet<u64> = arrived.map(|row| tables.datagrams.sequence[row]).collect();
    let of_drop = |row: &usize| events.flow[*row] == 2 && events.kind[*row] == EventKind::Drop;
    let dropped: BTreeSet<u64> = (0..events.kind.len()).filter(of_drop).map(|row| events.sequence[row]).collect();
    let last = *arrived.last().unwrap();
    assert!((0..last).all(|number| arrived.contains(&number) || dropped.contains(&number)));
    let series = tables.flow_series.columns();
    assert!(series.time_s.is_sorted() && (0..4).all(|flow| series.flow.contains(&flow)));
    assert!(tables.datagrams.arrived_s.is_sorted());
}

#[test]
fn marks_reach_a_call_over_the_sockets() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let job = job(r#"
        duration = "6s"
        path = { rate = "2mbit", rtt = "40ms", queue = { discipline = "dualpi2", limit = "100p" } }
        record = { datagrams = true }
        [[flows]]
        cc = "scream"
        kind = "media"
        transport = { ecn = true }
        media = { max_rate = "5mbit", feedback = "40ms" }
    "#);
    let Some(outcome) = first_valid(&job) else { return };
    let (flow, link) = (&outcome.tables.flows[0], &outcome.tables.links[0]);
    assert!(flow.marked_packets > 0 && flow.marked_packets <= link.marked_packets, "{flow:?} {link:?}");
    assert!(flow.goodput_bps > 0.0, "{flow:?}");
}
