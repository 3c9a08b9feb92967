//! An invariant of every network, whatever is sent across it: no packet appears from nowhere or vanishes.
//!
//! Each run also asserts the laws of `engine::check_physics`.

mod common;

use std::fmt::Write;

use common::{events, plan, run, run_plan};
use network::Limit;
use proptest::prelude::*;
use record::{EventKind, FlowRow, Tables};
use scenario::{DrawnFlow, Kind, Plan, PlannedFlow};

/// When all sources stop, and how long a run then has to empty its queues, seconds.
const STOP: f64 = 4.0;
const DURATION: f64 = 12.0;

fn pick(choices: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(choices)
}

fn controller() -> impl Strategy<Value = String> {
    let known: Vec<_> = control::registry::CONTROLLERS.iter().map(|entry| entry.name.to_owned()).collect();
    prop::sample::select(known)
}

fn rate() -> impl Strategy<Value = &'static str> {
    pick(&[
        "'1mbit'",
        "'7777777bit'",
        "'30mbit'",
        "[['0s', '8mbit'], ['1s', '2mbit'], ['3s', '9mbit']]",
        "[['0s', '10mbit'], ['1500ms', '0bit'], ['2200ms', '10mbit']]",
    ])
}

fn queue() -> impl Strategy<Value = &'static str> {
    pick(&[
        "'1p'",
        "'40p'",
        "'2000B'",
        "'64kB'",
        "'100ms'",
        "'infinite'",
        "{ limit = '30p', count_in_service = true }",
        "{ limit = '20kB', count_in_service = true, mark_above = '4p' }",
        "{ limit = '50ms', count_in_service = true, mark_above = '0p' }",
        "{ limit = 'infinite', mark_above = '20p' }",
        "{ limit = '50p', count_delayed = true }",
        "[['0s', '60p'], ['1s', '7p']]",
        "{ limit = '20p', discipline = 'fq' }",
        "{ limit = '9kB', mark_above = '4p', discipline = 'fq' }",
        "{ limit = '30p', count_in_service = true, discipline = 'drr' }",
        "{ limit = '60ms', discipline = 'drr', quantum = '300B' }",
        "{ limit = '40p', discipline = 'red', burst = 4, gentle = true }",
        "{ limit = '40p', discipline = 'avq' }",
        "{ discipline = 'pie', target = '5ms', ecn = true }",
        "'fq_pie'",
        "'dualpi2'",
        "{ discipline = 'cake', memlimit = '20kB' }",
        "{ limit = '40p', discipline = 'police', rate = '5mbit', burst = '9kB' }",
    ])
}

fn loss() -> impl Strategy<Value = &'static str> {
    pick(&[
        "'0%'",
        "'0%'",
        "'1%'",
        "'20%'",
        "{ model = 'gilbert-elliott', good_to_bad = '1%', bad_to_good = '20%' }",
        "{ packets = [0, 3, 4, 50, 51, 52, 53, 54] }",
        "{ model = 'gilbert-elliott', good_for = '1s', bad_for = '50ms' }",
        "[['0s', '0%'], ['1s', '5%']]",
    ])
}

fn jitter() -> impl Strategy<Value = &'static str> {
    pick(&["'0s'", "'0s'", "'4ms'", "{ uniform = '30ms', reorder = true }", "{ normal = '3ms', reorder = true }"])
}

/// Delays, and whether packets may overtake each other where they become shorter.
fn route() -> impl Strategy<Value = (&'static str, bool)> {
    let delay = pick(&[
        "'0s'",
        "'7ms'",
        "'60ms'",
        "[['0s', '80ms'], ['1s', '1ms'], ['2500ms', '40ms']]",
        "[['0s', '3ms'], ['1300ms', '0s'], ['2s', '200ms']]",
    ]);
    (delay, prop::bool::ANY)
}

prop_compose! {
    /// The keys of a link in one direction.
    fn service()(rate in rate(), queue in queue(), loss in loss(), jitter in jitter()) -> [String; 4] {
        [format!("rate = {rate}"), format!("queue = {queue}"), format!("loss = {loss}"), format!("jitter = {jitter}")]
    }
}

fn transport() -> impl Strategy<Value = &'static str> {
    pick(&[
        "{}",
        "{}",
        "{ ecn = true }",
        "{ ecn = true, ack_every = 1 }",
        "{ sack = false }",
        "{ sack = false, timestamps = false }",
        "{ receive_window = 8 }",
        "{ rack = false, tail_loss_probe = false, undo = false, limited_transmit = false }",
        "{ reduction = 'pipe', counting = 'per-ack', initial_window = 1 }",
        "{ ack_every = 8, delayed_ack_timeout = '500ms' }",
    ])
}

prop_compose! {
    fn tcp()(
        cc in controller(),
        profile in pick(&["linux", "linux-3.5", "freebsd-9", "ns2-linux", "real-1992"]),
        transport in transport(),
        life in pick(&[
            "",
            "",
            "start = '1s'",
            "start_jitter = '1s'",
            "start = '500ms'\nstop = '2s'",
            "bytes = '1B'",
            "bytes = '200kB'",
            "bytes = '2897B'\nstart = '100ms'",
            "source = { rate = '500kbit' }",
            "source = { rate = '900kbit', arrivals = 'poisson' }",
            "source = { rate = '3mbit' }\nbytes = '300kB'",
            "source = [['0s', '1mbit'], ['1s', '0bit'], ['3s', '2mbit']]",
            "source = { rate = '2mbit', on = '300ms', off = { exponential = '200ms' } }",
            "bytes = '30kB'\nevery = { uniform = ['1ms', '400ms'] }",
            "bytes = { pareto = { mean = '9kB', shape = 1.2 } }\nevery = { exponential = '100ms' }\nstart = '300ms'",
            "bytes = { exponential = '50kB' }",
        ]),
    ) -> String {
        format!("cc = '{cc}'\nprofile = '{profile}'\ntransport = {transport}\n{life}")
    }
}

prop_compose! {
    fn datagrams()(
        cc in controller(),
        size in pick(&["100B", "1500B", "9000B"]),
        source in pick(&[
            "{ rate = '700kbit' }",
            "{ rate = '4mbit', arrivals = 'poisson' }",
            "[['0s', '0bit'], ['1s', '3mbit'], ['2s', '1mbit']]",
            "{ rate = '3mbit', arrivals = 'poisson', on = { uniform = ['100ms', '1s'] }, off = '100ms' }",
        ]),
    ) -> String {
        format!("cc = '{cc}'\nkind = 'datagram'\npacket_size = '{size}'\nsource = {source}")
    }
}

/// A flow without its route.
fn flow() -> impl Strategy<Value = String> {
    prop_oneof![4 => tcp(), 1 => datagrams()].prop_map(|keys| {
        let stop = if keys.contains("stop") { String::new() } else { format!("\nstop = '{STOP}s'") };
        format!("[[flows]]\n{keys}{stop}\n")
    })
}

prop_compose! {
    /// One bottleneck, and maybe another for the ACKs.
    fn dumbbell()(
        forward in service(),
        reverse in prop::option::of(service()),
        (rtt, reorder) in route(),
        flows in prop::collection::vec((flow(), prop::option::of(route())), 1..5),
    ) -> String {
        let mut text = format!("path.rtt = {rtt}\npath.reorder = {reorder}\n");
        forward.iter().for_each(|key| writeln!(text, "path.{key}").unwrap());
        reverse.iter().flatten().for_each(|key| writeln!(text, "path.reverse.{key}").unwrap());
        for (flow, rtt) in flows {
            text += &flow;
            rtt.iter().for_each(|(rtt, _)| writeln!(text, "rtt = {rtt}").unwrap());
        }
        text
    }
}

prop_compose! {
    /// Two or three links in a row, with flows over any part of them in either direction.
    fn chain()(
        links in prop::collection::vec((service(), route()), 2..4),
        flows in prop::collection::vec((flow(), 0usize..4, 0usize..3, pick(&["0s", "0s", "11ms"])), 1..5),
    ) -> String {
        let mut text = String::new();
        for (i, (keys, (delay, reorder))) in links.iter().enumerate() {
            writeln!(text, "[[links]]\nfrom = 'n{i}'\nto = 'n{}'\nduplex = true", i + 1).unwrap();
            writeln!(text, "delay = {delay}\nreorder = {reorder}").unwrap();
            keys.iter().for_each(|key| writeln!(text, "{key}").unwrap());
        }
        let nodes = links.len() + 1;
        for (flow, from, step, extra) in flows {
            let from = from % nodes;
            let to = (from + 1 + step % (nodes - 1)) % nodes;
            writeln!(text, "{flow}from = 'n{from}'\nto = 'n{to}'\nextra_delay = '{extra}'").unwrap();
        }
        text
    }
}

fn scenario() -> impl Strategy<Value = String> {
    let head = format!("duration = '{DURATION}s'\nrecord = {{ flow_series = '200ms', probes = '300ms' }}\n");
    prop_oneof![dumbbell(), chain()].prop_map(move |network| format!("{head}{network}"))
}

/// The packets that a link holds at the end.
struct Rest {
    waiting: u64,
    /// Nothing waits, and nothing can be on its way or in service.
    at_rest: bool,
}

fn rest(tables: &Tables, link: usize) -> Rest {
    let series = &tables.link_series;
    let last = (0..series.link.len()).rfind(|&row| series.link[row] as usize == link).unwrap();
    assert_eq!(series.time_s[last], DURATION);
    let waiting = u64::from(series.queue_packets[last]);
    Rest { waiting, at_rest: waiting == 0 && is_quiet(tables) }
}

/// No flow has sent anything, and nothing has left any link, for longer than delays and timers of receivers are. A
/// timeout just before the end leaves a packet in service.
fn is_quiet(tables: &Tables) -> bool {
    const LATELY: f64 = DURATION - 2.0;
    let (links, flows) = (&tables.link_series, &tables.flow_series.columns());
    let still = |time_s: &[f64], of: &[u32], count: &[u64]| {
        let rows = || (0..of.len()).filter(|&row| time_s[row] >= LATELY);
        rows().all(|row| rows().find(|&first| of[first] == of[row]).is_some_and(|first| count[first] == count[row]))
    };
    still(&links.time_s, &links.link, &links.departed_bytes) && still(&flows.time_s, &flows.flow, &flows.sent_packets)
}

/// At every link, each arrived packet has left, was dropped or lost, or is still there. Queues keep to their limit.
fn check_links(plan: &Plan, tables: &Tables) {
    let events = tables.events.columns();
    for (index, (link, planned)) in tables.links.iter().zip(&plan.links).enumerate() {
        let name = &link.name;
        let rest = rest(tables, index);
        let there = link.arrived_packets - link.departed_packets - link.dropped_packets - link.lost_packets;
        if rest.at_rest {
            assert_eq!(there, 0, "{name}");
        } else {
            assert!((rest.waiting..=rest.waiting + 1).contains(&there), "{name}: {there}, {} wait", rest.waiting);
        }
        let count = |kind| {
            let of_link = |row: &usize| events.link[*row] as usize == index && events.kind[*row] == kind;
            (0..events.kind.len()).filter(of_link).count() as u64
        };
        assert_eq!(count(EventKind::Drop), link.dropped_packets, "{name}");
        assert_eq!(count(EventKind::Lost), link.lost_packets, "{name}");
        assert_eq!(count(EventKind::Mark), link.marked_packets, "{name}");
        if let Limit::Packets(limit) = planned.settings.queue.limit {
            let waiting = limit - u32::from(planned.settings.queue.count_in_service);
            assert!(link.queue_packets_max <= f64::from(waiting), "{name}: {}", link.queue_packets_max);
        }
        if let Limit::Bytes(limit) = planned.settings.queue.limit {
            let series = &tables.link_series;
            let own = series.queue_bytes.iter().zip(&series.link).filter(|(_, link)| **link as usize == index);
            own.for_each(|(&bytes, _)| assert!(bytes <= limit.get(), "{name}: {bytes}"));
        }
    }
}

/// No flow delivers data that it did not send, and none sends data that it was not given.
fn check_flows(plan: &Plan, drawn: &[DrawnFlow], tables: &Tables) {
    assert_eq!(tables.flows.len(), drawn.len());
    let events = tables.events.columns();
    for (flow, drawn) in tables.flows.iter().zip(drawn) {
        let (name, planned) = (&flow.name, &plan.flows[drawn.of]);
        assert_eq!(*name, drawn.name(plan));
        let full = match planned.kind {
            Kind::Tcp => planned.options.segment_size.get(),
            Kind::Datagram { packet_size, .. } | Kind::Tfrc { packet_size } => packet_size.get() - 28,
            Kind::Media { packet_size } => packet_size.get() - 40,
        };
        let fresh = flow.sender.data_packets - flow.sender.retransmitted_packets;
        assert!(flow.delivered_bytes <= fresh * full, "{name}");
        let of_flow = |kind| {
            let own = |row: &usize| events.flow[*row] == flow.flow && events.kind[*row] == kind;
            (0..events.kind.len()).filter(own).count() as u64
        };
        assert_eq!(of_flow(EventKind::Timeout), flow.sender.timeouts, "{name}");
        let again = of_flow(EventKind::Retransmission);
        let probes = of_flow(EventKind::TailLossProbe);
        assert!((again..=again + probes).contains(&flow.sender.retransmitted_packets), "{name}");
    }
}

/// The packets that open a connection towards its receiver: SYNs, and the ACK of the SYN-ACK.
fn opening_packets(flow: &PlannedFlow, row: &FlowRow) -> u64 {
    let opens = flow.kind == Kind::Tcp && flow.options.handshake && row.start_s < row.stop_s;
    u64::from(opens) + row.syn_retransmissions + u64::from(row.handshake_ms.is_finite())
}

/// The first links of the flows saw all that the flows sent, and all that their last links passed on arrived at the
/// ends.
fn check_between(plan: &Plan, drawn: &[DrawnFlow], tables: &Tables) {
    let at_rest: Vec<_> = (0..tables.links.len()).map(|link| rest(tables, link).at_rest).collect();
    for (index, link) in tables.links.iter().enumerate() {
        let uses = |hops: &[scenario::Hop]| hops.iter().any(|hop| hop.link == Some(index));
        let others = plan.flows.iter().any(|flow| uses(&flow.reverse));
        let flows = drawn.iter().map(|drawn| &plan.flows[drawn.of]).zip(&tables.flows);
        let data: Vec<_> = flows.filter(|(flow, _)| uses(&flow.forward)).collect();
        let first = data.iter().all(|(flow, _)| flow.forward[0].link == Some(index));
        let last = data.iter().all(|(flow, _)| flow.forward.last().is_some_and(|hop| hop.link == Some(index)));
        if first && !others {
            let sent: u64 = data.iter().map(|(_, row)| row.sender.data_packets).sum();
            let openings: u64 = data.iter().map(|(flow, row)| opening_packets(flow, row)).sum();
            // An ACK of the SYN-ACK leaves again for each SYN-ACK that comes again.
            let again: u64 = data.iter().map(|(_, row)| row.syn_ack_retransmissions).sum();
            let least = sent + openings;
            assert!((least..=least + again).contains(&link.arrived_packets), "{}: {sent}, {openings}", link.name);
        }
        if last && !others && at_rest[index] {
            let arrived: f64 = data.iter().map(|(_, row)| row.throughput_bps * row.measured_s / 8.0).sum();
            // Arrivals after a flow stopped or was complete do not count for it.
            assert!(arrived < link.departed_bytes as f64 + 1.0, "{}: {arrived}", link.name);
        }
    }
}

/// The tables are tables: columns of one length, times in order and within the run.
fn check_tables(tables: Tables) {
    for table in tables.into_tables() {
        let rows = table.columns[0].data.len();
        for column in &table.columns {
            assert_eq!(column.data.len(), rows, "{}.{}", table.name, column.name);
        }
        if let record::Data::F64(times) = &table.columns[0].data {
            assert!(times.is_sorted(), "{}", table.name);
            assert!(times.iter().all(|time| (0.0..=DURATION).contains(time)), "{}", table.name);
        }
    }
}

prop_compose! {
    /// Flows with an end over a path that loses some of everything, yet never for long. There is time for a timeout of
    /// 120 s, the longest, for each segment: a back-off stays until a segment sent once is acknowledged (Karn), and
    /// where each flight is lost but for its first segments, none is.
    fn finite()(
        rate in pick(&["1mbit", "8mbit", "100mbit"]),
        queue in pick(&["'3p'", "'50p'", "'infinite'", "{ limit = '30p', mark_above = '5p' }",
            "{ limit = '9p', discipline = 'fq' }", "{ limit = '20kB', discipline = 'drr' }"]),
        loss in pick(&["0%", "1%", "5%"]),
        reverse in pick(&["{}", "{ loss = '5%' }", "{ rate = '200kbit', queue = '5p', loss = '1%' }"]),
        flows in prop::collection::vec(
            (
                controller(),
                pick(&["linux", "linux-3.5", "freebsd-9", "ns2-linux", "real-1992"]),
                transport(),
                1u32..100_000,
            ),
            1..4,
        ),
        seed in 1..1000,
    ) -> (String, Vec<u32>) {
        let mut text = format!("duration = '20000s'\nseed = {seed}\npath.rtt = '30ms'\n");
        write!(text, "path.rate = '{rate}'\npath.queue = {queue}\npath.loss = '{loss}'\n").unwrap();
        writeln!(text, "path.reverse = {reverse}").unwrap();
        text += "record = { flow_series = 'off', probes = 'off', link_series = 'off' }\n";
        for (cc, profile, transport, bytes) in &flows {
            write!(text, "[[flows]]\ncc = '{cc}'\nprofile = '{profile}'\n").unwrap();
            write!(text, "transport = {transport}\nbytes = '{bytes}B'\n").unwrap();
        }
        (text, flows.into_iter().map(|flow| flow.3).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_appears_from_nowhere_or_vanishes(text in scenario(), seed in 0u64..1000) {
        let plan = plan(&text);
        let tables = run_plan(plan.clone(), seed);
        check_links(&plan, &tables);
        let drawn = plan.draw(seed).unwrap();
        check_flows(&plan, &drawn, &tables);
        check_between(&plan, &drawn, &tables);
        check_tables(tables);
    }

    #[test]
    fn samples_and_events_change_no_statistics_behind_a_warm_up(
        text in scenario(),
        warmup in pick(&["300ms", "1s", "1500ms", "3500ms"]),
        seed in 0u64..1000,
    ) {
        // Debug prints every digit, and nulls, which are equal to nothing.
        let rows = |record: &str| {
            let (_, network) = text.split_once("record").and_then(|(_, rest)| rest.split_once('\n')).unwrap();
            let head = format!("duration = '{DURATION}s'\nwarmup = '{warmup}'\nrecord = {record}\n");
            let tables = run_plan(plan(&format!("{head}{network}")), seed);
            format!("{:#?}", (tables.flows, tables.links))
        };
        let sampled = rows("{ flow_series = '7ms', link_series = '3ms', probes = '300ms' }");
        prop_assert_eq!(rows("{ flow_series = 'off', link_series = 'off', probes = 'off', events = false }"), sampled);
    }

    #[test]
    fn whatever_is_lost_a_finite_flow_is_delivered_to_the_last_byte((text, bytes) in finite()) {
        let tables = run(&text);
        prop_assert_eq!(events(&tables, EventKind::Complete).len(), bytes.len());
        for (flow, &bytes) in tables.flows.iter().zip(&bytes) {
            prop_assert_eq!(flow.delivered_bytes, u64::from(bytes));
            prop_assert!(flow.completion_s >= 0.015, "{}", flow.completion_s);
        }
    }
}

#[test]
fn a_flow_that_loses_all_but_the_first_segments_of_each_flight_ends_between_timeouts() {
    // Hybla multiplies a window of 2 by `2^21` after an RTT of 538 ms. Each flight overflows the queue of three
    // packets, and after the timeout everything is sent again: no RTT is ever sampled, and each timeout is twice the
    // last.
    let text = "duration = '3600s'\npath = { rtt = '30ms', rate = '1mbit', queue = '3p' }\n\
        [[flows]]\ncc = 'hybla'\nprofile = 'ns2-linux'\nbytes = '43200B'\n\
        transport = { ack_every = 8, delayed_ack_timeout = '500ms' }\n";
    let tables = run(text);
    assert_eq!(tables.flows[0].delivered_bytes, 43_200);
    assert!(tables.flows[0].completion_s > 290.0, "{}", tables.flows[0].completion_s);
}

#[test]
fn lost_copies_are_no_lost_packets_of_their_sender() {
    // The first ten segments and their copies find room for two.
    let text = "duration = '90ms'\npath = { rtt = '30ms', rate = '1mbit', queue = '1p', duplicate = '100%' }\n\
        [[flows]]\ncc = 'newreno'\n";
    let tables = run(text);
    let flow = &tables.flows[0];
    assert!(tables.links[0].dropped_packets > flow.sender.data_packets, "{flow:?}");
    assert!(flow.loss_rate > 0.5 && flow.loss_rate <= 1.0, "{flow:?}");
}
