//! Queues, delays and rates, mostly with sources that do not react.

#![expect(clippy::disallowed_methods, reason = "the tests write and read files of their own")]

use crate::common::{assert_near, at, run};

/// A datagram flow with `source` over a link of 10 Mbit/s, on which 1500 bytes take 1.2 ms.
fn datagrams(source: &str, queue: &str, duration: &str) -> record::Tables {
    run(&format!(
        r#"
        duration = "{duration}"
        path = {{ rate = "10mbit", rtt = "40ms", queue = {queue} }}
        flows = [{{ cc = "newreno", kind = "datagram", source = {source} }}]
        record = {{ flow_series = "off", probes = "off", link_series = "off", events = false }}
        "#
    ))
}

#[test]
fn the_queue_of_random_arrivals_is_that_of_m_d_1() {
    // Pollaczek and Khinchine: `rho^2/(2 (1 - rho))` packets wait, each for `rho/(2 (1 - rho))` services of 1.2 ms. The
    // queueing delay of a link is the waiting time of the packet in service, and zero the share `1 - rho` of the time:
    // rho times that.
    for (rate, packets, wait, delay) in [("5mbit", 0.25, 0.6, 0.3), ("8mbit", 1.6, 2.4, 1.92)] {
        let source = format!("{{ rate = \"{rate}\", arrivals = \"poisson\" }}");
        let tables = datagrams(&source, "\"infinite\"", "2000s");
        let (link, flow) = (&tables.links[0], &tables.flows[0]);
        // Over 2000 s the standard error is about 1 %.
        assert_near(link.queue_packets_mean, packets, 0.03);
        assert_near(link.queue_delay_mean_ms, delay, 0.03);
        assert_near(flow.rtt_mean_ms - 41.2, wait, 0.03);
    }
}

#[test]
fn a_small_waiting_room_turns_away_what_theory_says() {
    // At load 1, arrivals in a service: none with probability `1/e = 0.3679`. No room (a room shorter than any packet):
    // Erlang's `rho/(1 + rho) = 0.5`. Room for one: a departure leaves the system empty if none arrived during its
    // service, so on average 0.3679 of an interval between arrivals is idle beside each service, and of 1.3679 arrivals
    // one is served: `0.3679/1.3679 = 0.2689`.
    for (room, lost) in [("\"100B\"", 0.5), ("\"1p\"", 0.2689)] {
        let tables = datagrams(r#"{ rate = "10mbit", arrivals = "poisson" }"#, room, "1000s");
        let link = &tables.links[0];
        // 830,000 arrivals: the standard error is 0.0006.
        let share = link.dropped_packets as f64 / link.arrived_packets as f64;
        assert!((share - lost).abs() < 0.002, "{share} with room for {room}, not {lost}");
    }
}

#[test]
fn an_overloaded_link_serves_without_a_pause_to_the_very_end() {
    // 20 s hold 16,666 services of 1.2 ms and 0.8 ms of the next. The last of 20,000 arrivals, one a millisecond, comes
    // at 19.999 s in service number 16,666, so 3334 wait. Packet number 16,667 came at 16.666 s and waited until
    // 19.9992 s.
    let tables = datagrams(r#"{ rate = "12mbit" }"#, "\"infinite\"", "20s");
    let link = &tables.links[0];
    assert_eq!((link.arrived_packets, link.departed_packets), (20_000, 16_666));
    assert_eq!((link.utilization, link.throughput_bps), (1.0, 9_999_600.0));
    assert_eq!(link.queue_packets_max, 3334.0);
    assert!((link.queue_delay_max_ms - 3333.2).abs() < 1e-6, "{}", link.queue_delay_max_ms);
}

#[test]
fn one_packet_alone_takes_its_transmission_times_and_the_propagation() {
    // 1500 bytes take 1.2 ms at 10 Mbit/s, behind the ACK of the SYN-ACK, of 52 bytes, 0.0416 ms more. An ACK takes
    // 0.416 ms at 1 Mbit/s, an echo of 44 bytes 0.352 ms.
    let segment = r#"cc = "newreno", bytes = "1448B", transport = { ack_every = 1 }"#;
    let datagram = r#"cc = "newreno", kind = "datagram", source = { rate = "10kbit" }, stop = "100ms""#;
    let slow = r#"reverse = { rate = "1mbit", queue = "infinite" }"#;
    let free = r#"reverse = { rate = "unlimited" }"#;
    for (flow, reverse, rtt) in
        [(segment, free, 41.2416), (datagram, free, 41.2), (segment, slow, 41.6576), (datagram, slow, 41.552)]
    {
        let tables = run(&format!(
            r#"
            duration = "2s"
            phase_noise = false
            path = {{ rate = "10mbit", rtt = "40ms", queue = "10p", {reverse} }}
            flows = [{{ {flow} }}]
            "#
        ));
        assert_eq!(tables.flows[0].sender.data_packets, 1);
        assert_eq!((tables.flows[0].rtt_min_ms, tables.flows[0].rtt_max_ms), (rtt, rtt));
    }
}

#[test]
fn a_segment_over_two_links_is_stored_and_forwarded() {
    // `1.2 ms + 10 ms`, then `2.4 ms + 20 ms` at 5 Mbit/s: 33.6 ms there. Back, 52 bytes take `0.0832 ms + 20 ms` and
    // `0.0416 ms + 10 ms`.
    let tables = run(r#"
        duration = "2s"
        phase_noise = false
        links = [
          { from = "a", to = "b", rate = "10mbit", delay = "10ms", queue = "10p", duplex = true },
          { from = "b", to = "c", rate = "5mbit", delay = "20ms", queue = "10p", duplex = true },
        ]
        flows = [{ cc = "newreno", from = "a", to = "c", bytes = "1448B",
                   transport = { ack_every = 1, handshake = false } }]
        "#);
    let flow = &tables.flows[0];
    assert_eq!((flow.completion_s, flow.rtt_min_ms), (0.0336, 63.7248));
    let busy: Vec<_> = tables.links.iter().map(|link| (link.utilization * 2e6).round()).collect();
    assert_eq!(busy, [1200.0, 42.0, 2400.0, 83.0]);
}

#[test]
fn a_queue_of_84_packets_with_the_one_in_service_holds_100_8_ms() {
    // `84 * 1.2 ms = 100.8 ms` with the packet's own service, so it waited 83 services: 99.6 ms, and 83 wait.
    // Datagrams every 1 ms meet departures every 1.2 ms at the same instant every 6 ms: a room that opens is filled at
    // once.
    let full = r#"{ limit = "84p", count_in_service = true }"#;
    let tables = datagrams(r#"{ rate = "12mbit" }"#, full, "20s");
    let (link, flow) = (&tables.links[0], &tables.flows[0]);
    assert_eq!((link.queue_packets_max, link.queue_delay_max_ms), (83.0, 99.6));
    assert_eq!(flow.rtt_max_ms, 140.8);
    // The phase of an ACK clock is fixed: 40 ms are 33 services and 0.4 ms, so whatever an ACK lets go finds 0.8 ms of
    // a service to go: `82 * 1.2 + 0.8 = 99.2 ms`. 42 ms are 35 services.
    for (rtt, delay) in [("40ms", 99.2), ("42ms", 99.6)] {
        let tables = run(&format!(
            r#"
            duration = "30s"
            phase_noise = false
            path = {{ rate = "10mbit", rtt = "{rtt}", queue = {full} }}
            flows = [{{ cc = "newreno", transport = {{ ack_every = 1 }} }}]
            "#
        ));
        let link = &tables.links[0];
        assert_eq!((link.queue_packets_max, link.queue_delay_max_ms), (83.0, delay), "{rtt}");
    }
}

/// Rate in bit/s of IP packets that a NewReno flow with a queue of 60 packets delivers from one time to another.
fn delivered_between(rate: &str, spans: &[(f64, f64)]) -> Vec<f64> {
    let tables = run(&format!(
        r#"
        duration = "60s"
        path = {{ rate = {rate}, rtt = "40ms", queue = "60p" }}
        flows = [{{ cc = "newreno" }}]
        "#
    ));
    let series = &tables.flow_series.columns();
    let delivered = |time| at(&series.time_s, &series.delivered_bytes, time) as f64 * 8.0 * 1500.0 / 1448.0;
    spans.iter().map(|&(from, to)| (delivered(to) - delivered(from)) / (to - from)).collect()
}

#[test]
fn goodput_follows_the_steps_of_the_rate() {
    let steps = r#"[["0s", "10mbit"], ["20s", "5mbit"], ["40s", "0bit"], ["42s", "20mbit"]]"#;
    let measured = delivered_between(steps, &[(5.0, 20.0), (22.0, 40.0), (40.2, 42.0), (50.0, 60.0)]);
    for (measured, expected) in measured.iter().zip([10e6, 5e6, 0.0, 20e6]) {
        assert!((measured - expected).abs() <= 0.02 * expected, "{measured}, not {expected}");
    }
}

#[test]
fn goodput_follows_the_opportunities_of_a_trace() {
    // Three opportunities of 1500 bytes every 4 ms: 9 Mbit/s.
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("three_in_four.down");
    std::fs::write(&file, "1\n2\n4\n").unwrap();
    let trace = format!("{{ trace = \"{}\" }}", file.display());
    let measured = delivered_between(&trace, &[(10.0, 60.0)]);
    assert_near(measured[0], 9e6, 0.01);
}

#[test]
fn an_outage_counts_as_waiting_and_not_as_capacity() {
    // 2 Mbit/s of datagrams, one every 6 ms, each 1.2 ms at 10 Mbit/s. The one of 5.004 s is at the head until 7 s, so
    // it waits 1996 ms and each behind it 4.8 ms less: 416 packets, together `416 x 1996 - 4.8 x 415 x 416 / 2 =
    // 416,000 ms`.
    let tables = run(r#"
        duration = "20s"
        path = { rate = [["0s", "10mbit"], ["5s", "0bit"], ["7s", "10mbit"]], rtt = "40ms", queue = "infinite" }
        flows = [{ cc = "newreno", kind = "datagram", source = { rate = "2mbit" } }]
        "#);
    let link = &tables.links[0];
    // 18 s at 10 Mbit/s.
    assert_eq!((link.departed_packets, link.capacity_bytes), (3334, 22.5e6));
    assert_near(link.utilization, 3334.0 * 1500.0 / 22.5e6, 1e-12);
    assert_near(link.packet_queue_delay_mean_ms, 416_000.0 / 3334.0, 1e-9);
    assert_eq!((link.packet_queue_delay_max_ms, link.queue_delay_max_ms), (1996.0, 1996.0));
    // At the head: 1996 ms during which the wait grows to 1996 ms, then 1.2 ms for each wait.
    assert_near(link.queue_delay_mean_ms, (1996.0 * 998.0 + 1.2 * 416_000.0) / 20_000.0, 1e-9);
    assert_near(link.busy_share, (1.2 * 3334.0 + 1996.0) / 20_000.0, 1e-9);
    // The samples agree with the table: nothing could leave from 5 to 7 s.
    let series = &tables.link_series;
    let capacity = |time| at(&series.time_s, &series.capacity_bytes, time);
    assert_eq!([capacity(5.0), capacity(6.0), capacity(7.0), capacity(8.0)], [6.25e6, 6.25e6, 6.25e6, 7.5e6]);
}

#[test]
fn bursts_of_a_trace_are_measured_by_what_they_could_carry() {
    // 101 opportunities a second: one each millisecond up to 100 ms, and one at 1 s. A datagram every 50 ms.
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("burst.down");
    let times: Vec<_> = (1..=100).chain([1000]).map(|millis: u32| millis.to_string()).collect();
    std::fs::write(&file, times.join("\n")).unwrap();
    let tables = run(&format!(
        r#"
        duration = "21s"
        warmup = "1s"
        path = {{ rate = {{ trace = "{}" }}, rtt = "40ms", queue = "infinite" }}
        flows = [{{ cc = "newreno", kind = "datagram", source = {{ rate = "240kbit" }} }}]
        "#,
        file.display()
    ));
    let link = &tables.links[0];
    assert_eq!((link.departed_packets, link.capacity_bytes), (400, 20.0 * 101.0 * 1500.0));
    assert_near(link.utilization, 20.0 / 101.0, 1e-12);
    // A second has 20 packets. The one of 100 ms waits 900 ms for the opportunity at its end, and the 17 that follow it
    // wait 49 ms less each: 900 to 67 ms, together 8703 ms. The next, of 1 s, waits for 18 ms, and the packet of 1.05 s
    // waits for 1 ms.
    assert_near(link.packet_queue_delay_mean_ms, (8703.0 + 18.0 + 1.0) / 20.0, 1e-9);
    assert_eq!((link.packet_queue_delay_max_ms, link.queue_delay_max_ms), (900.0, 900.0));
    // At the head: 900 ms up to 900 ms. Then 17 packets for 1 ms each, halfway through it at 850.5 ms and 49 ms less
    // each, together 7794.5. Then 1 ms around 17.5 ms, and 1 ms around 0.5 ms.
    assert_near(link.queue_delay_mean_ms, (900.0 * 450.0 + 7794.5 + 18.0) / 1000.0, 1e-9);
    assert_near(link.busy_share, 0.919, 1e-12);
}

#[test]
fn a_token_bucket_lets_bursts_through_and_its_rate_in_the_long_run() {
    // 4 Mbit/s and 15 kB on a line of 40 Mbit/s, at load 8 Mbit/s: datagrams of 1500 bytes each 1.5 ms, 0.3 ms each on
    // the line. The bucket loses 1500 bytes and gains 750 a datagram: number 19 finds `15,000 - 19 x 750 = 750` and is
    // the first to wait. In 10 s there are `15,000 + 5,000,000` tokens, for 3343 datagrams.
    let tables = run(r#"
        duration = "10s"
        path = { rate = { rate = "4mbit", burst = "15kB", peakrate = "40mbit" }, rtt = "40ms", queue = "infinite" }
        flows = [{ cc = "newreno", kind = "datagram", source = { rate = "8mbit" } }]
        "#);
    let (link, flow) = (&tables.links[0], &tables.flows[0]);
    assert_eq!(link.departed_packets, 3343);
    assert_eq!((link.rate_bps, link.capacity_bytes, link.departed_bytes), (4e6, 5_015_000.0, 5_014_500));
    // The first are not delayed: 0.3 ms and the propagation.
    assert!((flow.rtt_min_ms - 40.3).abs() < 1e-9, "{}", flow.rtt_min_ms);
    // Number 3342 comes at 5013 ms, and its tokens at `(3343 x 1500 - 15,000) bytes / 500,000 bytes/s = 9999 ms`.
    assert_near(link.packet_queue_delay_max_ms, 9999.0 - 5013.0, 0.001);
}

#[test]
fn a_token_bucket_can_send_what_it_has_saved_before_the_measured_interval() {
    // Two datagrams, so the 10 kB are there again at 1 s, when 40 more come at once.
    let tables = run(r#"
        duration = "1.1s"
        warmup = "1s"
        path = { rate = { rate = "0.4mbit", burst = "10kB", peakrate = "400mbit" }, rtt = "40ms", queue = "infinite" }
        [[flows]]
        cc = "newreno"
        kind = "datagram"
        source = [["0s", "0.1mbit"], ["0.1s", "0bit"], ["1s", "40mbit"]]
        "#);
    let link = &tables.links[0];
    // 10 kB and 0.1 s of 50 kB/s are ten packets of 1500 bytes, of which the last one begins as the run ends.
    assert_eq!((link.capacity_bytes, link.departed_bytes), (15_000.0, 13_500));
    assert_near(link.utilization, 0.9, 1e-12);
}

#[test]
fn at_an_unlimited_rate_no_more_is_sent_again_than_was_lost() {
    // All of a window arrives in one instant: RACK orders segments sent in one instant by their order of transmission.
    let tables = run(r#"
        duration = "30s"
        path = { rate = "unlimited", rtt = "100ms", queue = "infinite", loss = "1%" }
        flows = [{ cc = "newreno", transport = { receive_window = 2000 } }]
        record = { flow_series = "off", probes = "off", link_series = "off" }
        "#);
    let (again, lost) = (tables.flows[0].sender.retransmitted_packets, tables.links[0].lost_packets);
    assert!(lost > 30 && again <= lost && again + 2 >= lost, "{again} of {lost}");
}
