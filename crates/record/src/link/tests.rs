//! A meter's results for a few services, worked out by hand.

use super::*;

const UNLIMITED: LinkDescription<'_> = LinkDescription { link: 0, name: "link", rate: None, capacity_bytes: None };

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

const SIZE: Bytes = Bytes::new(1500);

#[test]
fn queue_length_and_delay_are_weighted_by_time() {
    let mut meter = LinkMeter::default();
    // One packet served from 0 to 10 ms. The second arrives at 2 ms, waits 8 ms, and is served until 20 ms. Then idle
    // to 40 ms.
    meter.service(ms(0), ms(10), Span::ZERO, SIZE);
    meter.queue(ms(2), 1);
    meter.queue(ms(10), 0);
    meter.service(ms(10), ms(20), Span::from_millis(8), SIZE);
    let row = meter.finish(
        ms(40),
        LinkDescription {
            link: 3,
            name: "bottleneck",
            rate: Some(Rate::from_mbit(10)),
            capacity_bytes: Some(50_000.0),
        },
    );
    assert_eq!((row.link, row.name.as_str(), row.rate_bps), (3, "bottleneck", 10e6));
    assert_eq!(row.utilization, 0.5);
    assert_eq!(row.queue_packets_mean, 0.2);
    assert_eq!((row.queue_packets_p50, row.queue_packets_max), (0.0, 1.0));
    assert_eq!(row.queue_delay_mean_ms, 2.0);
    assert_eq!((row.queue_delay_p50_ms, row.queue_delay_p99_ms, row.queue_delay_max_ms), (0.0, 8.0, 8.0));
    // One of two packets waited 8 ms.
    assert_eq!((row.packet_queue_delay_mean_ms, row.packet_queue_delay_p95_ms), (4.0, 8.0));
    // 3000 bytes in 40 ms.
    assert_eq!((row.departed_packets, row.throughput_bps), (2, 600_000.0));
}

#[test]
fn a_service_across_the_warm_up_or_the_end_counts_only_inside() {
    let mut meter = LinkMeter::default();
    meter.counters.arrived_packets = 5;
    meter.service(ms(0), ms(10), Span::from_millis(1), SIZE);
    meter.service(ms(10), ms(30), Span::from_millis(2), SIZE);
    meter.restart(ms(20));
    meter.counters.arrived_packets += 2;
    meter.service(ms(30), ms(70), Span::from_millis(4), SIZE);
    let row = meter.finish(ms(60), UNLIMITED);
    assert_eq!((row.utilization, row.rate_bps.is_nan()), (1.0, true));
    // 10 ms at 2 ms delay and 30 ms at 4 ms delay. Only the second packet finished inside.
    assert_eq!(row.queue_delay_mean_ms, 3.5);
    assert_eq!((row.arrived_packets, row.departed_packets, row.departed_bytes), (2, 1, 1500));
}

#[test]
fn what_is_reported_late_counts_as_if_it_had_come_in_time() {
    let mut meter = LinkMeter::default();
    meter.queue(ms(5), 3);
    meter.restart(ms(20));
    // Both happened before the interval: a change of the queue, and a service that reaches into it.
    meter.queue(ms(15), 2);
    meter.service(ms(15), ms(25), Span::from_millis(6), SIZE);
    meter.queue(ms(30), 0);
    let row = meter.finish(ms(40), UNLIMITED);
    assert_eq!((row.queue_packets_mean, row.queue_packets_max), (1.0, 2.0));
    assert_eq!((row.utilization, row.queue_delay_mean_ms), (0.25, 1.5));
}

#[test]
fn a_service_that_ended_before_the_interval_takes_no_time_of_it() {
    let mut meter = LinkMeter::default();
    meter.restart(ms(20));
    meter.service(ms(15), ms(18), Span::from_millis(6), SIZE);
    meter.service(ms(20), ms(30), Span::from_millis(4), SIZE);
    let row = meter.finish(ms(40), UNLIMITED);
    // 10 of 20 ms at 4 ms delay, the rest without.
    assert_eq!((row.utilization, row.queue_delay_mean_ms), (0.5, 2.0));
}

#[test]
fn a_packet_is_in_service_while_its_finish_is_unknown() {
    let mut meter = LinkMeter::default();
    assert!(!meter.is_serving());
    meter.service(ms(0), Time::NEVER, Span::ZERO, SIZE);
    assert!(meter.is_serving());
    meter.departs(ms(10), Span::ZERO, SIZE);
    assert!(!meter.is_serving());
}

#[test]
fn an_outage_that_never_ends_is_busy_to_the_end() {
    let mut meter = LinkMeter::default();
    meter.service(ms(10), Time::NEVER, Span::from_millis(1), SIZE);
    let row = meter.finish(ms(40), UNLIMITED);
    assert_eq!((row.utilization, row.departed_packets), (0.75, 0));
}

#[test]
fn counters_at_a_sampling_time_know_only_finished_departures() {
    let mut meter = LinkMeter::default();
    meter.service(ms(0), ms(10), Span::ZERO, SIZE);
    assert_eq!(meter.counters_at(ms(9)).departed_packets, 0);
    assert_eq!(meter.counters_at(ms(10)).departed_bytes, 1500);
    assert_eq!(meter.finish(ms(20), UNLIMITED).utilization, 0.5);
}

#[test]
fn several_packets_may_depart_when_a_service_of_unknown_length_ends() {
    let mut meter = LinkMeter::default();
    // Served from 10 ms, known only later to end at 30 ms with two departures. The next is given up at 40 ms.
    meter.service(ms(10), Time::NEVER, Span::from_millis(4), SIZE);
    assert_eq!(meter.counters_at(ms(20)).departed_packets, 0);
    meter.departs(ms(30), Span::from_millis(4), SIZE);
    meter.departs(ms(30), Span::from_millis(2), SIZE);
    assert_eq!(meter.counters_at(ms(29)).departed_packets, 0);
    meter.service(ms(30), Time::NEVER, Span::ZERO, SIZE);
    meter.abandon(ms(40));
    let row = meter.finish(ms(60), UNLIMITED);
    assert_eq!(row.packet_queue_delay_mean_ms, 3.0);
    assert_eq!((row.departed_packets, row.departed_bytes, row.utilization), (2, 3000, 0.5));
}

#[test]
fn an_interval_of_no_length_has_no_rates() {
    let mut meter = LinkMeter::default();
    let row = meter.finish(Time::ZERO, UNLIMITED);
    assert_eq!((row.utilization, row.throughput_bps, row.queue_packets_max), (0.0, 0.0, 0.0));
}

/// The row at `end` of a link that could have sent `capacity` bytes.
fn row(mut meter: LinkMeter, end: Time, capacity: f64) -> LinkRow {
    meter.finish(end, LinkDescription { capacity_bytes: Some(capacity), ..UNLIMITED })
}

#[test]
fn an_outage_is_waited_out_at_the_head() {
    // 12 Mbit/s, 1 ms a packet, but nothing from 2 to 10 ms. One arrives at 1.5 ms: half of it is sent by 2 ms,
    // the rest from 10 ms on. The next arrives at 4 ms and is sent from 10.5 to 11.5 ms.
    let half = |halves: u64| Time::ZERO + Span::from_nanos(halves * 500_000);
    let mut meter = LinkMeter::new(Sending::Except([(ms(2), ms(10))].into()));
    meter.service(half(3), half(21), Span::ZERO, SIZE);
    meter.service(half(21), half(23), Span::from_nanos(6_500_000), SIZE);
    // 12 ms of service at 12 Mbit/s.
    let row = row(meter, ms(20), 18_000.0);
    assert_eq!((row.departed_packets, row.busy_share), (2, 0.5));
    assert_eq!(row.utilization, 3000.0 / 18_000.0);
    // The first waits 8 ms, all of them in the outage.
    assert_eq!((row.packet_queue_delay_mean_ms, row.packet_queue_delay_max_ms), (7.25, 8.0));
    // Over 20 ms: 8 ms while it grows from 0 to 8 ms, 0.5 ms at 8 ms, 1 ms at 6.5 ms, otherwise none.
    assert_eq!((row.queue_delay_mean_ms, row.queue_delay_max_ms), ((32.0 + 4.0 + 6.5) / 20.0, 8.0));
    // 10.5 of 20 ms without delay. 19 ms are through at 7 ms: 10.5 + 7 + 1 (at 6.5 ms) = 18.5, and 0.5 more.
    assert!((row.queue_delay_p95_ms / 7.5 - 1.0).abs() < 1.0 / 256.0, "{}", row.queue_delay_p95_ms);
}

#[test]
fn utilization_counts_frames_and_throughput_does_not() {
    // Cells of ATM make 1500 bytes 1696: of 2 ms at 13.568 Mbit/s one takes 1 ms.
    let mut meter = LinkMeter::new(Sending::Except([].into()));
    meter.framed_service(ms(0), ms(1), Span::ZERO, [SIZE, Bytes::new(1696)]);
    let row = row(meter, ms(2), 2.0 * 1696.0);
    assert_eq!((row.utilization, row.busy_share), (0.5, 0.5));
    assert_eq!((row.departed_bytes, row.throughput_bps), (1500, 6_000_000.0));
}

#[test]
fn between_opportunities_the_packet_at_the_head_waits() {
    // One opportunity each 10 ms, a small packet just after each: it waits for the next, all of its time there.
    let mut meter = LinkMeter::new(Sending::AtInstants);
    for packet in 0..10 {
        meter.service(ms(10 * packet), ms(10 * packet + 10), Span::ZERO, Bytes::new(100));
    }
    let row = row(meter, ms(100), 15_000.0);
    assert_eq!((row.busy_share, row.utilization), (1.0, 1000.0 / 15_000.0));
    assert_eq!((row.packet_queue_delay_mean_ms, row.packet_queue_delay_p50_ms), (10.0, 10.0));
    // From 0 to 10 ms, evenly.
    assert_eq!((row.queue_delay_mean_ms, row.queue_delay_max_ms), (5.0, 10.0));
    assert!((row.queue_delay_p50_ms / 5.0 - 1.0).abs() < 1.0 / 256.0, "{}", row.queue_delay_p50_ms);
}

#[test]
fn a_wait_that_began_before_the_interval_is_remembered() {
    let mut meter = LinkMeter::new(Sending::AtInstants);
    meter.restart(ms(20));
    // At the head since 15 ms after 2 ms in the queue. Reported after the interval has begun.
    meter.service(ms(15), ms(25), Span::from_millis(2), SIZE);
    let row = row(meter, ms(30), 1500.0);
    assert_eq!((row.packet_queue_delay_mean_ms, row.queue_delay_max_ms), (12.0, 12.0));
    // From 7 to 12 ms during 5 of 10 ms.
    assert_eq!((row.queue_delay_mean_ms, row.busy_share, row.utilization), (4.75, 0.5, 1.0));
}

#[test]
fn where_nothing_could_leave_nothing_is_utilized() {
    let mut meter = LinkMeter::new(Sending::Except([(Time::ZERO, Time::NEVER)].into()));
    meter.service(ms(1), Time::NEVER, Span::ZERO, SIZE);
    let row = row(meter, ms(11), 0.0);
    assert_eq!((row.utilization, row.queue_delay_max_ms, row.packet_queue_delay_max_ms.is_nan()), (0.0, 10.0, true));
}

#[test]
fn every_counter_is_that_of_the_interval() {
    let of = |n: u64| LinkCounters {
        arrived_packets: 2 * n,
        departed_packets: 3 * n,
        departed_bytes: 4 * n,
        dropped_packets: 5 * n,
        lost_packets: 6 * n,
        marked_packets: 7 * n,
    };
    // Five less two.
    assert_eq!(of(5) - of(2), of(3));
}

#[test]
fn a_service_of_unknown_length_waits_to_its_end_where_all_of_it_is_waiting() {
    // At the head from 0 ms, after 2 ms in the queue, to 10 ms.
    let mut meter = LinkMeter::new(Sending::AtInstants);
    meter.service(ms(0), Time::NEVER, Span::from_millis(2), SIZE);
    meter.departs(ms(10), Span::from_millis(2), SIZE);
    let row = row(meter, ms(20), 3000.0);
    assert_eq!((row.packet_queue_delay_mean_ms, row.queue_delay_max_ms, row.departed_packets), (12.0, 12.0, 1));
}
