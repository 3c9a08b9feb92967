//! The laws of physics: tables at the bounds of every law pass, and a step beyond a bound is refused by its law.

mod segment;

use engine::{Fabric, check_physics, flow_row};
use record::{DatagramRow, FlowCounters, FlowMeter, Lifetime, StationDescription, StationMeter, Tables};
use scenario::Plan;
use segment::Segment;
use units::{Span, Time};

/// 10 ms in each direction, and 90,000 bytes in packets of 1000.
fn plan(keys: &str) -> Plan {
    over("20ms", keys)
}

/// The same over another base RTT.
fn over(rtt: &str, keys: &str) -> Plan {
    let text = format!(
        "duration = '9s'\npath = {{ rate = '8mbit', rtt = '{rtt}', queue = '20p'{keys} }}\n\
         flows = [{{ cc = 'newreno', bytes = '90kB', transport = {{ segment_size = '1000B' }} }}]\n"
    );
    scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
}

/// Tables of 9 s at the bounds of the laws: 100 packets, of which 10 were lost, and a datagram as fast as light.
fn tables(plan: &Plan) -> Tables {
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    let mut tables = Tables::default();
    let lifetime = Lifetime {
        start: at(0),
        stop: at(9000),
        completed: Some(at(10)),
        opened: None,
        first_arrival: None,
        syn_retransmissions: 0,
        syn_ack_retransmissions: 0,
    };
    let drawn = &plan.draw(1).unwrap()[0];
    let mut flow = flow_row((&FlowMeter::new(), &FlowCounters::default()), plan, 0, drawn, lifetime);
    (flow.sender.data_packets, flow.sender.retransmitted_packets, flow.loss_rate) = (100, 100, 0.1);
    (flow.delivered_bytes, flow.measured_s) = (90_000, 9.0);
    (flow.goodput_bps, flow.throughput_bps) = (80_000.0, 80_000.0);
    (flow.rtt_min_ms, flow.rtt_mean_ms, flow.rtt_max_ms) = (20.0, 20.0, 22.0);
    (flow.rtt_p50_ms, flow.rtt_p90_ms, flow.rtt_p95_ms, flow.rtt_p99_ms) = (20.0, 21.0, 21.0, 22.0);
    flow.completion_s = 0.01;
    tables.flows.push(flow);

    tables.links = Fabric::<Segment>::new(plan, 1, true).rows(at(9000), plan);
    let link = &mut tables.links[0];
    (link.utilization, link.busy_share) = (1.0, 1.0);
    (link.queue_packets_p50, link.queue_packets_p95) = (1.0, 2.0);
    (link.queue_packets_mean, link.queue_packets_max) = (2.0, 2.0);
    (link.queue_delay_p50_ms, link.queue_delay_p95_ms, link.queue_delay_p99_ms) = (0.0, 1.0, 1.0);
    (link.queue_delay_mean_ms, link.queue_delay_max_ms) = (2.0, 2.0);
    (link.packet_queue_delay_p50_ms, link.packet_queue_delay_p95_ms) = (0.0, 1.0);
    (link.packet_queue_delay_p99_ms, link.packet_queue_delay_max_ms) = (2.0, 2.0);
    link.packet_queue_delay_mean_ms = 2.0;
    (link.arrived_packets, link.departed_packets, link.dropped_packets, link.lost_packets) = (100, 90, 6, 4);
    (link.departed_bytes, link.capacity_bytes) = (90_000, 90_000.0 - 65_535.0);

    let described = StationDescription { link: 0, name: "station", wlan: "wlan", is_access_point: false };
    let mut station = StationMeter::default().finish(at(9000), described);
    (station.attempts, station.retries, station.collisions, station.errors) = (10, 10, 6, 4);
    (station.sent_frames, station.acknowledged_frames) = (5, 5);
    (station.airtime_share, station.airtime_s) = (1.0, 9.0);
    tables.stations.push(station);
    tables.datagrams.push(DatagramRow { flow: 0, sent_s: 1.0, sequence: 0, arrived_s: 1.01 });
    tables
}

/// A change of the tables, and the law that refuses it.
type Breach = (fn(&mut Tables), &'static str);

const OF_FLOWS: [Breach; 16] = [
    (|tables| tables.flows[0].loss_rate = 1.01, "a share of the packets is lost"),
    (|tables| tables.flows[0].loss_rate = -0.01, "a share of the packets is lost"),
    (|tables| tables.flows[0].sender.retransmitted_packets = 101, "packets sent again are packets sent"),
    (|tables| tables.flows[0].measured_s = 9.01, "it lives within the measured interval"),
    (|tables| tables.flows[0].goodput_bps = -1.0, "rates are not negative"),
    (|tables| tables.flows[0].throughput_bps = -1.0, "rates are not negative"),
    (|tables| tables.flows[0].rtt_p90_ms = 21.5, "quantiles of the RTT ascend"),
    (|tables| tables.flows[0].rtt_mean_ms = 19.9, "the RTT is within its extremes"),
    (|tables| tables.flows[0].rtt_mean_ms = 22.1, "the RTT is within its extremes"),
    (|tables| tables.flows[0].rtt_max_ms = 21.9, "the RTT is within its extremes"),
    (|tables| tables.flows[0].rtt_min_ms = 19.9, "no ACK outruns light"),
    (|tables| tables.flows[0].completion_s = 0.0099, "no byte outruns light"),
    (|tables| tables.flows[0].delivered_bytes = 90_001, "no more arrives than is to be sent"),
    (|tables| tables.flows[0].throughput_bps = 79_999.0, "delivered bytes have arrived"),
    (|tables| tables.flows[0].loss_rate = 0.11, "sent is delivered, lost or under way"),
    (|tables| tables.links[0].departed_bytes = 89_999, "it carried 89999 bytes, and 90000 arrived"),
];

const OF_LINKS: [Breach; 18] = [
    (|tables| tables.links[0].utilization = 1.01, "it sends for a share of the time"),
    (|tables| tables.links[0].busy_share = 1.01, "it is busy for a share of the time"),
    (|tables| tables.links[0].busy_share = -0.01, "it is busy for a share of the time"),
    (|tables| tables.links[0].queue_packets_p50 = 2.1, "quantiles of the queue ascend"),
    (|tables| tables.links[0].queue_packets_p95 = 2.1, "the queue is within its maximum"),
    (|tables| tables.links[0].queue_packets_mean = 2.1, "its mean is, too"),
    (|tables| tables.links[0].queue_packets_mean = -0.1, "its mean is, too"),
    (|tables| tables.links[0].queue_delay_p95_ms = 1.1, "quantiles of the delay ascend"),
    (|tables| tables.links[0].queue_delay_p50_ms = -0.1, "quantiles of the delay ascend"),
    (|tables| tables.links[0].queue_delay_mean_ms = 2.1, "the mean delay is within them"),
    (|tables| tables.links[0].packet_queue_delay_p95_ms = 2.1, "quantiles of packets' delays ascend"),
    (|tables| tables.links[0].packet_queue_delay_p99_ms = 2.1, "quantiles of packets' delays ascend"),
    (|tables| tables.links[0].packet_queue_delay_mean_ms = 2.1, "packets' mean delay is within them"),
    (|tables| tables.links[0].capacity_bytes = 24_464.0, "no more leaves than can"),
    (|tables| tables.links[0].departed_bytes = 90_001, "no more leaves than can"),
    (|tables| tables.links[0].departed_packets = 91, "only packets that arrived leave"),
    (|tables| tables.links[0].dropped_packets = 7, "only packets that arrived leave"),
    (|tables| tables.links[0].lost_packets = 5, "only packets that arrived leave"),
];

const OF_OTHERS: [Breach; 7] = [
    (|tables| tables.stations[0].retries = 11, "frames sent again are attempts"),
    (|tables| tables.stations[0].errors = 5, "an attempt fails in one way"),
    (|tables| tables.stations[0].collisions = 7, "an attempt fails in one way"),
    (|tables| tables.stations[0].acknowledged_frames = 6, "acknowledged frames were sent"),
    (|tables| tables.stations[0].airtime_share = 1.01, "it sends for a share of the time"),
    (|tables| tables.stations[0].airtime_s = 9.01, "it sends in the measured interval"),
    (|tables| tables.datagrams.arrived_s[0] = 1.009, "sent at 1 s took"),
];

fn check(plan: &Plan, tables: &Tables) -> Result<(), String> {
    check_physics(plan, &plan.draw(1).unwrap(), tables)
}

#[test]
fn a_step_beyond_a_bound_is_refused_by_its_law() {
    let plan = plan("");
    assert_eq!(check(&plan, &tables(&plan)), Ok(()));
    for (breach, law) in [&OF_FLOWS[..], &OF_LINKS, &OF_OTHERS].concat() {
        let mut broken = tables(&plan);
        breach(&mut broken);
        let found = check(&plan, &broken);
        assert!(found.as_ref().is_err_and(|sentence| sentence.contains(law)), "{law}: {found:?}");
    }
}

#[test]
fn an_rtt_is_read_on_the_clocks_of_the_host() {
    // The timestamps of Linux have ticks of 1 ms: 19.8 ms may be read as 19 ms, and no less.
    let plan = over("19800us", "");
    let mut tables = tables(&plan);
    for (rtt_ms, holds) in [(19.8, true), (19.0, true), (18.9, false)] {
        tables.flows[0].rtt_min_ms = rtt_ms;
        assert_eq!(check(&plan, &tables).is_ok(), holds, "{rtt_ms} ms");
    }
}

#[test]
fn copies_of_a_link_may_arrive_for_lost_packets() {
    let plan = plan(", duplicate = '10%'");
    let mut tables = tables(&plan);
    tables.flows[0].loss_rate = 0.11;
    assert_eq!(check(&plan, &tables), Ok(()));
}

#[test]
fn jitter_that_makes_packets_earlier_counts_as_distance() {
    let plan = plan(", jitter = { normal = '1ms' }");
    let mut tables = tables(&plan);
    tables.datagrams.arrived_s[0] = 1.0095;
    assert_eq!(check(&plan, &tables), Ok(()));
    tables.datagrams.arrived_s[0] = 1.0;
    assert!(check(&plan, &tables).is_err());
}

#[test]
fn totals_of_a_run_with_a_warm_up_are_not_compared() {
    let mut plan = plan("");
    plan.warmup = Span::from_millis(1);
    let mut tables = tables(&plan);
    tables.flows[0].measured_s = 8.999;
    tables.stations[0].airtime_s = 8.999;
    assert_eq!(check(&plan, &tables), Ok(()));
    tables.flows[0].throughput_bps = 0.0;
    tables.flows[0].loss_rate = 1.0;
    tables.links[0].departed_bytes = 0;
    tables.links[0].dropped_packets = 99;
    assert_eq!(check(&plan, &tables), Ok(()));
}

#[test]
fn compressed_headers_let_more_leave_than_the_capacity_says() {
    // 90 packets, each 20 bytes shorter on the link than in the packet.
    let plan = plan(", framing = { overhead = -20 }");
    let mut tables = tables(&plan);
    tables.links[0].capacity_bytes = 90_000.0 - 65_535.0 - 90.0 * 20.0;
    assert_eq!(check(&plan, &tables), Ok(()));
    tables.links[0].capacity_bytes -= 1.0;
    assert!(check(&plan, &tables).is_err_and(|sentence| sentence.contains("no more leaves than can")));
}
