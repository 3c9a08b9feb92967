//! Whole runs over QUIC: the data that a connection carries, how it opens, and that a seed gives the same bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Engine as _, Job, Outcome, Stopwatch, Watch};
use quic::Quic;
use record::{EventKind, Tables};
use scenario::Plan;

fn plan(lines: &str) -> Plan {
    let files = scenario::NoFiles;
    scenario::from_toml(lines, "test.toml").and_then(|scenario| scenario.plan(&files)).unwrap()
}

/// Flows over a dumbbell of 10 Mbit/s and 40 ms, for 20 s.
fn dumbbell(flows: &str) -> Plan {
    on("queue = \"1bdp\"", flows)
}

/// The same with more about the path.
fn on(path: &str, flows: &str) -> Plan {
    plan(&format!(
        "duration = \"20s\"\nwarmup = \"2s\"\npath = {{ rate = \"10mbit\", rtt = \"40ms\", {path} }}\n\
         record = {{ events = true, probes = \"100ms\" }}\nflows = [{flows}]"
    ))
}

fn run(plan: Plan, seed: u64) -> Outcome {
    Quic::default().run(&Job { plan: Arc::new(plan), seed }, &Watch::default()).unwrap()
}

/// When events of a kind happened, in seconds.
fn times(tables: &Tables, kind: EventKind) -> Vec<f64> {
    let events = tables.events.columns();
    events.kind.iter().zip(&events.time_s).filter(|(known, _)| **known == kind).map(|(_, &time)| time).collect()
}

#[test]
fn a_bulk_flow_fills_its_link_with_controllers_of_either_kind() {
    for cc in ["noq:newreno", "noq:cubic", "newreno", "cubic", "bbr1", "bbr3"] {
        let outcome = run(dumbbell(&format!("{{ cc = \"{cc}\" }}")), 1);
        let (flow, link) = (&outcome.tables.flows[0], &outcome.tables.links[0]);
        assert!(link.utilization > 0.9, "{cc}: {}", link.utilization);
        assert_eq!((flow.cc.as_str(), flow.profile.as_str()), (cc, "noq"));
        // 1,472 bytes in a datagram, of which 1,441 to 1,447 are data.
        let payload = flow.delivered_bytes as f64 / flow.sender.data_packets as f64;
        assert!((1350.0..=1447.0).contains(&payload), "{cc}: {payload}");
        assert!(flow.rtt_min_ms >= 40.0 && flow.rtt_p95_ms < 90.0, "{cc}: {flow:?}");
        assert!(outcome.cost.data_packets > flow.sender.data_packets, "the warm-up has some");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let flows = "{ cc = \"noq:cubic\" }, { cc = \"cubic\", start = \"1s\" }, \
                 { cc = \"newreno\", bytes = { pareto = { mean = \"30kB\", shape = 1.5 } }, \
                   every = { exponential = \"200ms\" } }";
    let tables = |seed| format!("{:?}", run(on("queue = \"30p\", loss = \"0.5%\"", flows), seed).tables);
    assert_eq!(tables(1), tables(1));
    assert_ne!(tables(1), tables(2));
}

#[test]
fn a_short_flow_takes_the_round_trips_of_its_handshake_and_its_window() {
    // A handshake of 40 ms. Data leave then, paced at 1.25 windows a round trip, and arrive 20 ms later.
    let outcome = run(dumbbell("{ cc = \"noq:newreno\", bytes = \"10kB\", start = \"3s\" }"), 1);
    let flow = &outcome.tables.flows[0];
    assert_eq!(flow.delivered_bytes, 10_000);
    assert!((0.070..0.090).contains(&flow.completion_s), "{}", flow.completion_s);
    let complete = times(&outcome.tables, EventKind::Complete);
    assert_eq!((complete.len(), complete[0]), (1, 3.0 + flow.completion_s));
    // Only datagrams with data count: each has 28 bytes of IP and UDP and at most 32 of QUIC around its part.
    let (arrived, packets) = (flow.throughput_bps * flow.measured_s / 8.0, flow.sender.data_packets as f64);
    assert!((10_000.0 + 28.0 * 7.0..10_000.0 + 60.0 * packets).contains(&arrived) && packets < 9.0, "{flow:?}");
    // More than a window takes another round trip.
    let outcome = run(dumbbell("{ cc = \"newreno\", bytes = \"20kB\" }"), 1);
    assert!((0.110..0.125).contains(&outcome.tables.flows[0].completion_s), "{:?}", outcome.tables.flows[0]);
}

#[test]
fn a_flow_that_is_complete_does_not_stop() {
    // All of it has arrived after 84 ms, and its last ACK comes back 20 ms later.
    for (stop, ends) in [("3.09s", [vec![], vec![3.0]]), ("3.05s", [vec![3.05], vec![]])] {
        let flow = format!("{{ cc = \"noq:newreno\", bytes = \"10kB\", start = \"3s\", stop = \"{stop}\" }}");
        let tables = run(dumbbell(&flow), 1).tables;
        let whole = |times: Vec<f64>| times.iter().map(|time| (time * 10.0).floor() / 10.0).collect::<Vec<_>>();
        assert_eq!([times(&tables, EventKind::Stop), whole(times(&tables, EventKind::Complete))], ends, "{stop}");
    }
}

#[test]
fn connections_that_come_one_after_the_other_all_complete() {
    let outcome = run(dumbbell("{ cc = \"cubic\", bytes = \"50kB\", every = \"100ms\", stop = \"15s\" }"), 1);
    let flows = &outcome.tables.flows;
    assert_eq!((flows.len(), flows[149].name.as_str()), (150, "cubic-0-149"));
    assert!(flows.iter().all(|flow| flow.completion_s > 0.1), "{:?}", flows[0]);
    let measured: Vec<_> = flows.iter().filter(|flow| flow.start_s >= 2.0).collect();
    assert!(measured.iter().all(|flow| flow.delivered_bytes == 50_000 && flow.sender.data_packets >= 35));
}

#[test]
fn a_source_is_as_fast_as_the_scenario_says_and_a_stopped_flow_sends_no_more() {
    let outcome = run(dumbbell("{ cc = \"noq:cubic\", source = { rate = \"2mbit\" }, stop = \"12s\" }"), 1);
    let flow = &outcome.tables.flows[0];
    assert!((flow.goodput_bps / 2e6 - 1.0).abs() < 0.01, "{}", flow.goodput_bps);
    assert_eq!((flow.stop_s, flow.sender.lost_packets), (12.0, 0));
    assert_eq!(times(&outcome.tables, EventKind::Stop), [12.0]);
}

#[test]
fn two_flows_of_a_kind_share_their_link() {
    for cc in ["noq:newreno", "newreno"] {
        let outcome = run(dumbbell(&format!("{{ cc = \"{cc}\", count = 2, start_jitter = \"100ms\" }}")), 1);
        let [first, second] = [0, 1].map(|index: usize| outcome.tables.flows[index].goodput_bps);
        let share = first / (first + second);
        assert!((0.25..0.75).contains(&share), "{cc}: {share}");
    }
}

#[test]
fn marks_stand_in_for_drops_where_the_scenario_has_them() {
    for cc in ["noq:newreno", "newreno", "cubic"] {
        let queue = "queue = { limit = \"200p\", mark_above = \"15p\" }";
        let flow = |ecn| format!("{{ cc = \"{cc}\", transport = {{ ecn = {ecn} }} }}");
        let outcome = run(on(queue, &flow(true)), 1);
        let marked = &outcome.tables.flows[0];
        assert!(marked.marked_packets > 0 && marked.sender.lost_packets == 0, "{cc}: {marked:?}");
        assert!(!times(&outcome.tables, EventKind::Ecn).is_empty());
        // Without ECN nothing is marked, and the queue fills.
        let outcome = run(on(queue, &flow(false)), 1);
        let flow = &outcome.tables.flows[0];
        assert!(flow.marked_packets == 0 && flow.rtt_p95_ms > 1.5 * marked.rtt_p95_ms, "{cc}: {flow:?}");
    }
}

#[test]
fn losses_are_counted_as_links_and_senders_see_them() {
    let outcome = run(on("queue = \"1bdp\", loss = \"1%\"", "{ cc = \"noq:newreno\" }"), 1);
    let (flow, link) = (&outcome.tables.flows[0], &outcome.tables.links[0]);
    assert!((flow.loss_rate - 0.01).abs() < 0.004, "{flow:?}");
    assert!(flow.sender.lost_packets.abs_diff(link.lost_packets + link.dropped_packets) < 10, "{flow:?} {link:?}");
    let events = times(&outcome.tables, EventKind::LossEvent).len();
    assert!(events > 20 && flow.sender.recoveries > 20, "{events} {flow:?}");
}

#[test]
fn rows_show_window_and_internal_values() {
    let outcome = run(dumbbell("{ cc = \"cdg\" }, { cc = \"noq:bbr3\" }"), 1);
    let series = outcome.tables.flow_series.columns();
    assert!(series.window_segments.iter().all(|window| *window >= 1.0));
    let above =
        series.in_flight_segments.iter().zip(&series.window_segments).filter(|(f, w)| f64::from(**f) > **w + 1.0);
    assert!(above.count() < series.window_segments.len() / 10);
    let names = outcome.tables.probes.names();
    assert!(names.contains(&"bandwidth_estimate_bps") && names.len() > 3, "{names:?}");
}

#[test]
fn rows_may_come_with_acknowledgements() {
    let rows = |every: &str| {
        let mut planned = dumbbell("{ cc = \"newreno\", bytes = \"90kB\" }");
        planned.record.flow_series = every.parse().unwrap();
        run(planned, 1).tables.flow_series.columns().time_s
    };
    let (all, half) = (rows("1ack"), rows("2acks"));
    assert!(all.len() > 20 && all.windows(2).all(|pair| pair[0] <= pair[1]), "{all:?}");
    // The first and every second one after it.
    assert_eq!(half, all.iter().copied().step_by(2).collect::<Vec<_>>());
}

#[test]
fn a_connection_survives_more_holes_than_noq_holds_for_one_that_reads_in_order() {
    // Slow start overshoots a pipe of 1,700 packets with its buffer: some 1,500 packets are lost, each apart.
    let scenario = "duration = \"8s\"\npath = { rate = \"100mbit\", rtt = \"100ms\", queue = \"1bdp\" }\n\
                    flows = [{ cc = \"noq:newreno\" }]";
    let outcome = run(plan(scenario), 1);
    let flow = &outcome.tables.flows[0];
    assert!(flow.sender.lost_packets > 1024 && flow.goodput_bps > 30e6, "{flow:?}");
}

#[test]
fn the_objects_of_pages_are_streams_of_one_connection() {
    let pages = "{ cc = \"newreno\", bytes = \"30kB\", think = \"500ms\", connections = 4 }";
    let outcome = run(dumbbell(pages), 1);
    let flows = &outcome.tables.flows;
    let complete: Vec<_> = flows.iter().filter(|flow| flow.completion_s > 0.0).collect();
    // A page is 120 kB, some 100 ms at 10 Mbit/s, after a pause of half a second and half a round trip.
    assert!((100..140).contains(&complete.len()), "{}", complete.len());
    assert_eq!(times(&outcome.tables, EventKind::Complete).len(), complete.len());
    assert!(complete.iter().all(|flow| flow.delivered_bytes == 30_000 || flow.start_s < 2.0));
    // Only the first page waits for a handshake. Packets are counted in the first row.
    let late = complete.iter().filter(|flow| flow.start_s > 2.0).map(|flow| flow.completion_s);
    let slowest = late.fold(0.0, f64::max);
    assert!(slowest < 0.2 && flows[0].completion_s > 0.1, "{slowest} {:?}", flows[0]);
    // The request for the next page leaves after the pause, and takes half a round trip.
    let ended = |page: &[record::FlowRow]| page.iter().map(|flow| flow.start_s + flow.completion_s).fold(0.0, f64::max);
    for pages in flows[..complete.len() / 4 * 4].chunks_exact(4).collect::<Vec<_>>().windows(2) {
        let pause = pages[1][0].start_s - ended(pages[0]);
        assert!(
            (pause - 0.52).abs() < 1e-6 && pages[1].iter().all(|flow| flow.start_s == pages[1][0].start_s),
            "{pause}"
        );
    }
    assert!(flows[0].sender.data_packets > 1000 && flows[1..].iter().all(|flow| flow.sender.data_packets == 0));
}

#[test]
fn media_are_datagrams_that_are_not_sent_again() {
    let flow = "{ cc = \"newreno\", kind = \"datagram\", packet_size = \"500B\", source = { rate = \"1mbit\" } }";
    let mut planned = on("queue = \"1bdp\", loss = \"1%\"", flow);
    planned.record.datagrams = true;
    let outcome = run(planned, 1);
    let (found, rows) = (&outcome.tables.flows[0], &outcome.tables.datagrams);
    // 1 Mbit/s in IP packets of 500 bytes, 1 % of which are lost. Pacing holds some back, which share a packet.
    assert!((0.92..1.0).contains(&(found.throughput_bps / 1e6)), "{found:?}");
    assert!(found.sender.lost_packets > 20 && found.sender.retransmitted_packets == 0, "{found:?}");
    assert!(rows.sequence.len() > 4800 && rows.sequence.windows(2).all(|pair| pair[0] < pair[1]));
    let delays = rows.arrived_s.iter().zip(&rows.sent_s).map(|(arrived, sent)| arrived - sent);
    let (least, most) = delays.fold((f64::MAX, 0.0), |(least, most), delay| (delay.min(least), delay.max(most)));
    assert!((0.0203..0.0205).contains(&least) && most < 0.2, "{least} {most}");
}

#[test]
fn the_cost_of_a_run_is_the_time_between_two_readings() {
    static READINGS: AtomicU64 = AtomicU64::new(0);
    // The processor's clock comes first: 0 and 2, and the wall's 1 and 3.
    let read = || READINGS.fetch_add(1, Ordering::Relaxed) as f64;
    let stopwatch = Some(Stopwatch { cpu_s: read, wall_s: || 10.0 * READINGS.fetch_add(1, Ordering::Relaxed) as f64 });
    let job = Job { plan: Arc::new(dumbbell("{ cc = \"cubic\", bytes = \"9kB\" }")), seed: 1 };
    let cost = Quic { stopwatch, ..Quic::default() }.run(&job, &Watch::default()).unwrap().cost;
    assert_eq!((cost.cpu_s, cost.wall_s), (2.0, 20.0));
    assert_eq!(run(dumbbell("{ cc = \"cubic\" }"), 1).cost.cpu_s, 0.0, "without clocks");
}

#[test]
fn parameters_change_while_a_flow_runs() {
    let flow = "{ cc = \"aimd\", parameters = { alpha = 1 } }";
    let changed = "{ cc = \"siad\", changes = [{ at = \"10s\", parameters = { num_rtt = 40 } }] }";
    assert!(run(dumbbell(flow), 1).tables.links[0].utilization > 0.9);
    let window = |flow: &str| run(dumbbell(flow), 1).tables.flow_series.columns().window_segments;
    let (with, without) = (window(changed), window("{ cc = \"siad\" }"));
    let half = with.len() / 2 - 2;
    assert_eq!(with[..half], without[..half]);
    assert_ne!(with, without);
}
