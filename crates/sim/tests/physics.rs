//! The laws of `engine::check_physics` notice a table that breaks them.

mod common;

use common::{plan, run_plan};
use engine::check_physics;
use record::{FlowRow, LinkRow, StationRow, Tables};
use units::Bytes;

/// A way to spoil the tables of a run, and the law that it breaks.
type Spoilt = (&'static str, fn(&mut Tables));

fn flow(tables: &mut Tables) -> &mut FlowRow {
    &mut tables.flows[0]
}

fn link(tables: &mut Tables) -> &mut LinkRow {
    &mut tables.links[0]
}

fn station(tables: &mut Tables) -> &mut StationRow {
    &mut tables.stations[0]
}

/// 40 ms there and back, 20 kB and a datagram flow, over a link of 10 Mbit/s and a WLAN.
const SCENARIO: &str = "duration = '2s'\nrecord = { datagrams = true }\n\
    links = [{ from = 'a', to = 'ap', rate = '10mbit', delay = '20ms', queue = '20p', duplex = true }]\n\
    wlans = [{ standard = '802.11n', stations = ['s'] }]\n\
    [[flows]]\ncc = 'newreno'\nfrom = 'a'\nto = 's'\nbytes = '200kB'\n\
    [[flows]]\ncc = 'newreno'\nkind = 'datagram'\nsource = { rate = '1mbit' }\nfrom = 'a'\nto = 'ap'\n";

const SPOILT: &[Spoilt] = &[
    ("a share of the packets is lost", |tables| flow(tables).loss_rate = 1.01),
    ("a share of the packets is lost", |tables| flow(tables).loss_rate = f64::NAN),
    ("packets sent again", |tables| flow(tables).sender.retransmitted_packets = 1 << 40),
    ("within the measured interval", |tables| flow(tables).measured_s = 2.1),
    ("rates are not negative", |tables| flow(tables).goodput_bps = -1.0),
    ("quantiles of the RTT", |tables| flow(tables).rtt_p50_ms = flow(tables).rtt_p99_ms * 1.1),
    ("within its extremes", |tables| flow(tables).rtt_mean_ms = flow(tables).rtt_max_ms * 1.1),
    ("within its extremes", |tables| flow(tables).rtt_mean_ms = flow(tables).rtt_min_ms * 0.9),
    ("no ACK outruns light", |tables| flow(tables).rtt_min_ms = 39.9),
    ("no byte outruns light", |tables| flow(tables).completion_s = 0.019),
    ("than is to be sent", |tables| flow(tables).delivered_bytes = 200_001),
    ("delivered bytes have arrived", |tables| flow(tables).throughput_bps /= 2.0),
    ("sent is delivered, lost", |tables| flow(tables).loss_rate = 0.5),
    ("sends for a share", |tables| link(tables).utilization = 1.1),
    ("busy for a share", |tables| link(tables).busy_share = -0.1),
    ("quantiles of the queue", |tables| link(tables).queue_packets_p50 = 21.0),
    ("queue is within", |tables| link(tables).queue_packets_max = -1.0),
    ("its mean is, too", |tables| link(tables).queue_packets_mean = 21.0),
    ("quantiles of the delay", |tables| link(tables).queue_delay_p95_ms = 1e6),
    ("mean delay is within them", |tables| link(tables).queue_delay_mean_ms = 1e6),
    ("quantiles of packets' delays", |tables| link(tables).packet_queue_delay_p50_ms = 1e6),
    ("packets' mean delay", |tables| link(tables).packet_queue_delay_mean_ms = 1e6),
    ("no more leaves than can", |tables| link(tables).departed_bytes = 2_600_000),
    ("only packets that arrived leave", |tables| link(tables).lost_packets = 1 << 40),
    ("frames sent again", |tables| station(tables).retries = 1 << 40),
    ("fails in one way", |tables| station(tables).errors = station(tables).attempts + 1),
    ("acknowledged frames were sent", |tables| station(tables).acknowledged_frames = 1 << 40),
    ("sends for a share", |tables| station(tables).airtime_share = 1.01),
    ("in the measured interval", |tables| station(tables).airtime_s = 2.01),
    ("bytes, and", |tables| link(tables).departed_bytes = 1000),
    ("less than light", |tables| tables.datagrams.arrived_s[0] = tables.datagrams.sent_s[0] + 0.019),
];

#[test]
fn a_table_that_breaks_a_law_is_noticed_with_the_name_of_the_law() {
    let plan = plan(SCENARIO);
    let drawn = plan.draw(1).unwrap();
    assert_eq!(drawn[0].bytes, Some(Bytes::new(200_000)));
    let tables = run_plan(plan.clone(), 1);
    assert_eq!(check_physics(&plan, &drawn, &tables), Ok(()));
    for (law, spoil) in SPOILT {
        let mut spoilt = tables.clone();
        spoil(&mut spoilt);
        let broken = check_physics(&plan, &drawn, &spoilt).expect_err(law);
        assert!(broken.contains(law), "{law}: {broken}");
    }
}

#[test]
fn laws_about_totals_wait_for_a_run_without_a_warm_up() {
    let mut plan = plan(SCENARIO);
    let drawn = plan.draw(1).unwrap();
    let mut tables = run_plan(plan.clone(), 1);
    // Ten packets that waited when the measured interval began.
    tables.links[0].arrived_packets -= 10;
    assert!(check_physics(&plan, &drawn, &tables).is_err());
    plan.warmup = plan.duration.scale(0.001);
    tables.flows.iter_mut().for_each(|row| row.measured_s = row.measured_s.min(1.998));
    assert_eq!(check_physics(&plan, &drawn, &tables), Ok(()));
}
