//! Live runs, compared with the settings of their scenarios. Tests assert only results that the path decides, never how
//! well the machine kept up.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{alone, job, kernel_tells, possible, run};
use engine::{Failure, Watch};
use live::{Algorithms, Outcome, ProjectControllers};
use record::EventKind;

fn count(outcome: &Outcome, kind: EventKind) -> u64 {
    outcome.tables.events.columns().kind.iter().filter(|&&other| other == kind).count() as u64
}

#[test]
fn reno_fills_ten_megabits_and_sees_the_round_trip_time_of_the_path() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let job = job(r#"
        duration = "4s"
        warmup = "1s"
        path = { rate = "10mbit", rtt = "40ms", queue = "1bdp" }
        flows = [{ cc = "newreno" }]
        record = { flow_series = "10ms" }
    "#);
    // The round trip of the handshake, which the notes do not mention: a SYN of 60 bytes takes 0.048 ms.
    let first_rtt = |outcome: &Outcome| {
        let series = outcome.tables.flow_series.columns();
        series.smoothed_rtt_ms.iter().copied().find(|rtt| !rtt.is_nan()).unwrap()
    };
    let quiet = |outcome: &Outcome| outcome.notes.valid && first_rtt(outcome) < 41.2;
    let Some(outcome) = common::first_with(&job, quiet) else { return };
    let (flow, link) = (&outcome.tables.flows[0], &outcome.tables.links[0]);
    assert!(link.utilization > 0.93, "{link:?}");
    // A segment takes 1.2 ms, so no sample is below 41.2 ms.
    assert!(flow.rtt_min_ms >= 41.2, "{flow:?}");
    assert!(flow.rtt_max_ms > 60.0, "the queue of 40 ms fills: {flow:?}");
    // 1448 of 1500 bytes are payload.
    assert!((flow.goodput_bps / link.throughput_bps / (1448.0 / 1500.0) - 1.0).abs() < 0.02, "{flow:?}");
    assert_eq!(count(&outcome, EventKind::Start), 1);
    let series = &outcome.tables.flow_series.columns();
    let first = first_rtt(&outcome);
    assert!((40.0..41.2).contains(&first), "the handshake finds the path empty: {first}");
    // The SYN leaves late on a busy machine, the others not before their time.
    assert!((40.048..60.0).contains(&flow.handshake_ms), "{flow:?}");
    assert!(flow.first_byte_ms > flow.handshake_ms + 21.2, "{flow:?}");
    assert_eq!(flow.syn_retransmissions, 0);
    assert!(series.window_segments.iter().any(|&window| window > 40.0));
    assert!(series.time_s.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn every_packet_is_accounted_for_and_drops_are_those_of_the_queue() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let Some(outcome) = run(r#"
        duration = "4s"
        path = { rate = "10mbit", rtt = "40ms", queue = "20p" }
        flows = [{ cc = "cubic", bytes = "2MB" }, { cc = "newreno", start = "1s", stop = "3s" }]
    "#) else {
        return;
    };
    let link = &outcome.tables.links[0];
    assert!(link.dropped_packets > 0, "{link:?}");
    assert_eq!(count(&outcome, EventKind::Drop), link.dropped_packets);
    let of_flows: f64 = outcome.tables.flows.iter().map(|f| f.loss_rate * f.sender.data_packets as f64).sum();
    let events = outcome.tables.events.columns();
    let drops = events.kind.iter().zip(&events.sequence).filter(|row| *row.0 == EventKind::Drop);
    let without_data = drops.filter(|row| *row.1 == u64::MAX).count() as u64;
    assert_eq!(of_flows.round() as u64 + without_data, link.dropped_packets);
    let sent: u64 = outcome.tables.flows.iter().map(|flow| flow.sender.data_packets).sum();
    assert_eq!(outcome.cost.data_packets, sent);
    // Beside data each flow sends its SYN and the ACK of the SYN-ACK, and the first its FIN, which may be dropped, and
    // the ACK of the receiver's.
    let repeated: u64 = outcome.tables.flows.iter().map(|flow| flow.syn_retransmissions).sum();
    let others = link.arrived_packets - sent - repeated;
    assert!((6..10).contains(&others), "{others}: {link:?}");
    assert_eq!(link.arrived_packets, link.departed_packets + link.dropped_packets, "all is over before the end");
    let complete = &outcome.tables.flows[0];
    assert_eq!((complete.delivered_bytes, complete.completion_s.is_finite()), (2_000_000, true), "{complete:?}");
    let stopped = &outcome.tables.flows[1];
    assert_eq!((stopped.start_s, stopped.stop_s, stopped.measured_s), (1.0, 3.0, 2.0));
    assert_eq!((count(&outcome, EventKind::Stop), count(&outcome, EventKind::Complete)), (1, 1));
    let retransmitted: u64 = outcome.tables.flows.iter().map(|flow| flow.sender.retransmitted_packets).sum();
    assert_eq!(count(&outcome, EventKind::Retransmission), retransmitted);
}

#[test]
fn a_lost_opening_costs_a_second_and_lists_of_lost_packets_count_data_alone() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let one = |path: &str| {
        run(&format!(
            r#"
            duration = "3s"
            path = {{ rate = "10mbit", rtt = "40ms", queue = "100p", {path} }}
            flows = [{{ cc = "newreno", bytes = "14480B" }}]
            "#
        ))
        .map(|outcome| outcome.tables.flows.into_iter().next().unwrap())
    };
    for path in ["loss = { openings = [0] }", "reverse = { loss = { openings = [0] } }"] {
        let Some(flow) = one(path) else { return };
        // The kernel's timer waits for its next tick.
        assert!((1040.0..2000.0).contains(&flow.handshake_ms), "{flow:?}");
        assert_eq!(
            (flow.syn_retransmissions, flow.sender.timeouts, flow.sender.retransmitted_packets),
            (1, 0, 0),
            "{flow:?}"
        );
        assert!(flow.completion_s > 1.04, "{flow:?}");
    }
    let Some(flow) = one("loss = { packets = [0] }") else { return };
    assert!(flow.handshake_ms < 1000.0 && flow.completion_s < 1.0, "{flow:?}");
    assert_eq!((flow.syn_retransmissions, flow.sender.retransmitted_packets), (0, 1), "{flow:?}");
}

#[test]
fn random_loss_takes_its_share() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let Some(outcome) = run(r#"
        duration = "5s"
        path = { rate = "20mbit", rtt = "10ms", queue = "100p", loss = "2%" }
        flows = [{ cc = "cubic" }]
    "#) else {
        return;
    };
    let link = &outcome.tables.links[0];
    let (n, lost) = (link.arrived_packets as f64, link.lost_packets as f64);
    // Four standard deviations of a binomial distribution.
    assert!((lost - 0.02 * n).abs() < 4.0 * (n * 0.02 * 0.98).sqrt(), "{link:?}");
    assert_eq!(count(&outcome, EventKind::Lost), link.lost_packets);
    assert!(outcome.tables.flows[0].sender.recoveries > 0);
}

#[test]
fn a_rate_step_and_a_stop_show_in_the_series_of_the_link() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let Some(outcome) = run(r#"
        duration = "5s"
        path = { rate = [["0s", "20mbit"], ["2s", "5mbit"]], rtt = "20ms", queue = "100ms" }
        flows = [{ cc = "cubic", stop = "4s" }]
        record = { link_series = "500ms" }
    "#) else {
        return;
    };
    let series = &outcome.tables.link_series;
    let forward: Vec<(f64, u64)> = (0..series.time_s.len())
        .filter(|&i| series.link[i] == 0)
        .map(|i| (series.time_s[i], series.departed_bytes[i]))
        .collect();
    let times: Vec<f64> = forward.iter().map(|&(at, _)| at).collect();
    assert_eq!(times, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]);
    let rate = |from: usize, to: usize| (forward[to].1 - forward[from].1) as f64 * 8.0 / 0.5 / (to - from) as f64;
    // A full queue ahead of it, the link sends at its rate, to one packet in half a second.
    assert!((rate(5, 8) / 5e6 - 1.0).abs() < 0.01, "{forward:?}");
    assert!(rate(2, 4) > 15e6, "{forward:?}");
    assert_eq!(rate(9, 10), 0.0);
}

#[test]
fn a_trace_serves_at_its_opportunities() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("six-megabits.trace");
    // One packet each 2 ms: 6 Mbit/s.
    std::fs::write(&path, (1..=500).map(|i| format!("{}\n", 2 * i)).collect::<String>()).unwrap();
    let Some(outcome) = run(&format!(
        r#"
        duration = "3s"
        warmup = "1s"
        path = {{ rate = {{ trace = {path:?} }}, rtt = "20ms", queue = "50p" }}
        flows = [{{ cc = "newreno" }}]
        "#
    )) else {
        return;
    };
    let link = &outcome.tables.links[0];
    assert!((link.throughput_bps / 6e6 - 1.0).abs() < 0.05, "{link:?}");
}

#[test]
fn each_flow_has_its_own_round_trip_time() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let Some(outcome) = run(r#"
        duration = "3s"
        path = { rate = "20mbit", rtt = "20ms", queue = "50p" }
        flows = [
            { cc = "newreno", source = { rate = "1mbit" } },
            { cc = "cubic", rtt = "100ms", source = { rate = "1mbit" } },
        ]
    "#) else {
        return;
    };
    let [near, far] = &outcome.tables.flows[..] else { panic!() };
    assert_eq!((near.base_rtt_ms, far.base_rtt_ms), (20.0, 100.0));
    // A segment takes 0.6 ms, and two may meet. The delayed ACK of a single segment waits for 40 ms.
    assert!((20.6..62.0).contains(&near.rtt_min_ms), "{near:?}");
    assert!((100.6..142.0).contains(&far.rtt_min_ms), "{far:?}");
    // 1 Mbit/s of payload for 3 s, less the data under way.
    for flow in [near, far] {
        assert!((340_000..=380_000).contains(&flow.delivered_bytes), "{flow:?}");
    }
}

#[test]
fn marks_are_seen_by_the_kernel() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let Some(outcome) = run(r#"
        duration = "3s"
        path = { rate = "10mbit", rtt = "20ms", queue = { limit = "100p", mark_above = "10p" } }
        flows = [{ cc = "newreno", transport = { ecn = true } }]
    "#) else {
        return;
    };
    let (flow, link) = (&outcome.tables.flows[0], &outcome.tables.links[0]);
    assert!(link.marked_packets > 0 && link.dropped_packets == 0, "{link:?}");
    assert_eq!(count(&outcome, EventKind::Mark), link.marked_packets);
    assert!(flow.marked_packets > 0 && flow.marked_packets <= link.marked_packets, "{flow:?}");
    // The window comes down for each round with marks: the queue never grows to its end.
    assert!(link.queue_packets_max < 90.0, "{link:?}");
    assert!(count(&outcome, EventKind::Ecn) > 0);
}

#[test]
fn rows_at_acks_tell_the_window_as_each_ack_left_it() {
    let _alone = alone();
    if !possible() || !kernel_tells() {
        return;
    }
    let mut job = job(r#"
        duration = "2s"
        path = { rate = "50mbit", rtt = "40ms", queue = "500p" }
        flows = [{ cc = "newreno" }, { cc = "newreno", start = "200ms" }]
        record = { flow_series = "1ack" }
    "#);
    job.gso_max_segs = Some(1);
    // Segments that one ACK lets out. The kernel's own choice makes 2.5 of it, and a busy machine joins trains.
    let short = |outcome: &Outcome| outcome.notes.trains.mean < 2.3;
    // Every ACK has a row, and is for one segment or two. But on a busy machine a receiver that had to wait joins more.
    let first_rows = |outcome: &Outcome| -> Vec<usize> {
        let flows = &outcome.tables.flow_series.columns().flow;
        (0..flows.len()).filter(|&row| flows[row] == 0).collect()
    };
    let rows_and_arrived = |outcome: &Outcome| {
        let rows = first_rows(outcome);
        let arrived = rows.last().map_or(0, |&last| outcome.tables.flow_series.columns().arrived_packets[last]);
        (rows.len() as u64, arrived)
    };
    let one_or_two = |outcome: &Outcome| {
        let (rows, arrived) = rows_and_arrived(outcome);
        (arrived / 2..=arrived).contains(&rows)
    };
    // Ten segments leave at once, a round trip after the start, and are acknowledged one by one 40 ms later: each lets
    // the window grow by one.
    let at_first = |outcome: &Outcome| -> Vec<(f64, f64)> {
        let (rows, series) = (first_rows(outcome), outcome.tables.flow_series.columns());
        rows.iter().take(10).map(|&row| (series.time_s[row], series.window_segments[row])).collect()
    };
    let one_by_one = |rows: &[(f64, f64)]| rows.iter().map(|row| row.1).eq((11..=20).map(f64::from));
    // A segment takes 0.24 ms, so do the ACKs after each other: 2.16 ms, some of them late.
    let in_time = |rows: &[(f64, f64)]| rows[0].0 < 0.1 && rows[9].0 - rows[0].0 < 0.00716;
    let as_on_a_wire = |outcome: &Outcome| {
        let rows = at_first(outcome);
        outcome.notes.valid && short(outcome) && one_or_two(outcome) && one_by_one(&rows) && in_time(&rows)
    };
    let Some(outcome) = common::first_with(&job, as_on_a_wire) else { return };
    assert_eq!(outcome.notes.gso_max_segs, Some(1));
    assert!(short(&outcome), "{:?}", outcome.notes.trains);
    assert_eq!((outcome.notes.state_source, outcome.notes.missed_records), ("tracepoint", 0));
    let series = &outcome.tables.flow_series.columns();
    assert!(series.time_s.windows(2).all(|pair| pair[0] <= pair[1]), "rows are in the order of time");
    let first = first_rows(&outcome);
    let rows = at_first(&outcome);
    assert!(one_by_one(&rows) && in_time(&rows) && rows[0].0 > 0.08024, "{rows:?}");
    let rtt = series.latest_rtt_ms[first[0]];
    assert!((40.2..60.0).contains(&rtt), "{rtt}");
    let second = (0..series.flow.len()).find(|&row| series.flow[row] == 1).unwrap();
    assert!(series.time_s[second] > 0.24024, "{}", series.time_s[second]);
    assert!(one_or_two(&outcome), "rows and packets: {:?}", rows_and_arrived(&outcome));
}

#[test]
fn controllers_of_this_project_tell_of_themselves_at_every_so_manieth_ack() {
    let _alone = alone();
    if !possible() || !kernel_tells() {
        return;
    }
    let outcome = |probes: &str| {
        let mut job = job(&format!(
            r#"
            duration = "2s"
            path = {{ rate = "20mbit", rtt = "20ms", queue = "100p" }}
            flows = [{{ cc = "cdg" }}, {{ cc = "da" }}]
            record = {{ flow_series = "1ack", probes = "{probes}" }}
            "#
        ));
        job.algorithms = Arc::new(ProjectControllers);
        common::first_valid(&job)
    };
    for (probes, every) in [("1ack", 1), ("20acks", 20)] {
        let Some(Outcome { tables, .. }) = outcome(probes) else { return };
        assert!(tables.probes.time_s.is_sorted(), "rows of all controllers are in the order of time");
        for (flow, name) in [(0, "backoffs"), (1, "epoch")] {
            let acks = tables.flow_series.columns().flow.iter().filter(|&&of| of == flow).count();
            let probes = &tables.probes;
            let named =
                |row: &usize| probes.names()[usize::from(probes.code[*row])] == name && probes.flow[*row] == flow;
            let rows: Vec<f64> = (0..probes.flow.len()).filter(named).map(|row| probes.value[row]).collect();
            // An ACK that acknowledges nothing new is none for a controller.
            let turns = acks.div_ceil(every);
            assert!((9 * turns / 10..=turns + 1).contains(&rows.len()), "{name}: {} rows of {turns}", rows.len());
            assert!(rows.is_sorted(), "{name}: {rows:?}");
            let of_flow = |rows: &[u32], times: &[f64]| -> Vec<u64> {
                rows.iter().zip(times).filter(|row| *row.0 == flow).map(|row| row.1.to_bits()).collect()
            };
            let acks = of_flow(&tables.flow_series.columns().flow, &tables.flow_series.columns().time_s);
            // All probes of a turn have its time. An interrupt between the record of an ACK and TCP's reading of its
            // clock sets them more than a moment apart: 101 us at one of 1494 turns of one run in 20.
            let mut at = of_flow(&probes.flow, &probes.time_s);
            at.dedup();
            let alone: Vec<f64> =
                at.iter().filter(|at| acks.binary_search(at).is_err()).map(|&at| f64::from_bits(at)).collect();
            assert!(alone.len() <= 1 + at.len() / 100, "{name}: the turns at {alone:?} of {} have no ACK", at.len());
        }
    }
}

#[test]
fn what_is_told_of_a_flow_ends_when_it_stops() {
    let _alone = alone();
    if !possible() || !kernel_tells() {
        return;
    }
    let flows: String =
        (1..=16).map(|i| format!("{{ cc = \"cdg\", start = \"{i}ms\", stop = \"{}ms\" }},", 1000 + 7 * i)).collect();
    let mut job = job(&format!(
        r#"
        duration = "1500ms"
        path = {{ rate = "100mbit", rtt = "20ms", queue = "1bdp" }}
        flows = [{flows}]
        record = {{ flow_series = "1ack", probes = "1ack" }}
        "#
    ));
    job.algorithms = Arc::new(ProjectControllers);
    let Some(outcome) = common::first_valid(&job) else { return };
    let (tables, stop) = (&outcome.tables, |flow: u32| f64::from(1007 + 7 * flow) / 1000.0);
    let acks = tables.flow_series.columns();
    // The thread that closes a flow comes up to a millisecond after its stop, in which ACKs arrive.
    assert!(acks.flow.iter().zip(&acks.time_s).all(|(&flow, &at)| at <= stop(flow)));
    assert!(tables.probes.flow.iter().zip(&tables.probes.time_s).all(|(&flow, &at)| at <= stop(flow)));
    assert!((0..16).all(|flow| tables.probes.flow.contains(&flow)));
}

#[test]
fn two_runs_at_once_do_not_meet() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let scenario = |rate: &str| {
        format!(
            "duration = \"2s\"\npath = {{ rate = \"{rate}\", rtt = \"20ms\", queue = \"50p\" }}\n\
             flows = [{{ cc = \"cubic\" }}]"
        )
    };
    std::thread::scope(|scope| {
        let slow = std::thread::Builder::new().spawn_scoped(scope, || run(&scenario("5mbit"))).unwrap();
        let fast = run(&scenario("20mbit"));
        let slow = slow.join().unwrap();
        for (outcome, rate) in [(slow, 5e6), (fast, 20e6)] {
            let Some(outcome) = outcome else { continue };
            let flow = &outcome.tables.flows[0];
            assert!((0.8 * rate..rate).contains(&flow.goodput_bps), "{flow:?}");
        }
    });
}

#[test]
fn a_run_that_is_stopped_says_so_at_once() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let job = job("duration = \"60s\"\npath = { rate = \"5mbit\", rtt = \"20ms\", queue = \"50p\" }\n\
         flows = [{ cc = \"cubic\" }]");
    let watch = Arc::new(Watch::default());
    std::thread::scope(|scope| {
        let stopper = Arc::clone(&watch);
        std::thread::Builder::new()
            .spawn_scoped(scope, move || {
                common::under_way(&stopper);
                stopper.stop.store(true, std::sync::atomic::Ordering::Relaxed);
            })
            .unwrap();
        let ended = common::run_job(&job, &watch);
        watch.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(ended, Err(Failure::Interrupted)), "{:?}", ended.err());
    });
    assert!(watch.elapsed_nanos.load(std::sync::atomic::Ordering::Relaxed) < 30_000_000_000);
}

#[test]
fn twins_in_the_kernel_tell_of_themselves() {
    if !possible() {
        return;
    }
    if let Err(error) = ProjectControllers.check(&"cdg".into(), &control::Parameters::new()) {
        eprintln!("skipped: {error}");
        return;
    }
    let _alone = alone();
    let mut job = job(r#"
        duration = "3s"
        path = { rate = "10mbit", rtt = "40ms", queue = "20p" }
        flows = [{ cc = "cdg" }, { cc = "cdg", parameters = { G = "5ms" } }, { cc = "newreno" }]
        record = { probes = "100ms" }
    "#);
    job.algorithms = Arc::new(ProjectControllers);
    let Some(outcome) = common::first_valid(&job) else { return };
    let probes = &outcome.tables.probes;
    for flow in [0, 1] {
        let rows = probes.flow.iter().filter(|&&other| other == flow).count();
        // Each name once at the first ACK after 100 ms. With a small window ACKs come together once in a round trip, of
        // at most 64 ms here, so that turns are up to 164 ms apart. In the first round trips there is no value.
        assert!((16..=32).contains(&(rows / probes.names().len())), "{rows} rows of {:?}", probes.names());
    }
    assert!(!probes.flow.contains(&2));
    assert!(probes.time_s.iter().all(|&at| (0.0..=3.0).contains(&at)));
    assert!(outcome.tables.flows.iter().all(|flow| flow.delivered_bytes > 0));
}

#[test]
fn the_kernels_bbr_tells_of_its_model_of_the_path() {
    let _alone = alone();
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    if !possible() || !available.split_whitespace().any(|name| name == "bbr") {
        eprintln!("skipped: the kernel has no `bbr`");
        return;
    }
    let Some(outcome) = run(r#"
        duration = "2s"
        path = { rate = "10mbit", rtt = "40ms", queue = "2bdp" }
        flows = [{ cc = "bbr1" }]
        record = { probes = "100ms" }
    "#) else {
        return;
    };
    let probes = &outcome.tables.probes;
    let values = |name: &str| {
        let rows = probes.code.iter().zip(&probes.value);
        rows.filter(|(code, _)| probes.names()[usize::from(**code)] == name).map(|row| *row.1).collect::<Vec<f64>>()
    };
    // Looks every 100 ms, some of which a busy machine skips.
    assert!((3..=21).contains(&values("bandwidth").len()), "{}", values("bandwidth").len());
    // 10 Mbit/s are 833 packets of 1500 bytes a second, and 1.2 million bytes. A busy machine bunches ACKs, which show
    // more than there is.
    let last = *values("bandwidth").last().unwrap();
    assert!((100.0..100_000.0).contains(&last), "{last}");
    assert!(values("min_rtt_ms").iter().all(|&rtt| rtt == 0.0 || rtt >= 40.0), "{:?}", values("min_rtt_ms"));
    // 739/256 in Startup, 512/256 after it.
    let gains = values("window_gain");
    assert!(gains.iter().all(|gain| [739.0 / 256.0, 2.0, 1.0].contains(gain)), "{gains:?}");
}
