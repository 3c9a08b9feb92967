//! Promises of the delay-based controllers: the queue among themselves, and the share that they leave to NewReno.

mod common;

use common::{assert_near, run};
use record::Tables;

/// `flows` over 10 Mbit/s, on which 1500 bytes take 1.2 ms, and 40 ms with room for `queue` packets, from 50 to 200 s.
fn share(flows: &str, queue: u32) -> Tables {
    share_among_hosts(flows, queue, true)
}

/// The same, of hosts that take microseconds for a packet or not.
fn share_among_hosts(flows: &str, queue: u32, phase_noise: bool) -> Tables {
    run(&format!(
        r#"
        duration = "200s"
        phase_noise = {phase_noise}
        warmup = "50s"
        path = {{ rate = "10mbit", rtt = "40ms", queue = "{queue}p" }}
        flows = [{flows}]
        record = {{ flow_series = "off", probes = "off", link_series = "off", events = false }}
        "#
    ))
}

/// The goodput of all flows of controller `cc` together, in Mbit/s.
fn goodput(tables: &Tables, cc: &str) -> f64 {
    tables.flows.iter().filter(|flow| flow.cc == cc).map(|flow| flow.goodput_bps).sum::<f64>() * 1e-6
}

/// One flow of `cc`, and from 5 s on one of NewReno.
fn beside_newreno(cc: &str, queue: u32) -> Tables {
    share(&format!(r#"{{ cc = "{cc}" }}, {{ cc = "newreno", start = "5s" }}"#), queue)
}

/// Ten flows of `cc` and ten of NewReno with a buffer of 300 ms: the share of the former.
fn share_among_twenty(cc: &str) -> f64 {
    let flows = format!(
        r#"{{ cc = "{cc}", count = 10, start_jitter = "1s" }}, {{ cc = "newreno", count = 10, start_jitter = "1s" }}"#
    );
    let tables = share(&flows, 250);
    let (own, newreno) = (goodput(&tables, cc), goodput(&tables, "newreno"));
    own / (own + newreno)
}

#[test]
fn each_flow_of_fast_keeps_alpha_segments_in_the_queue() {
    // Each flow meets an empty queue with its first segment, so that it knows the path.
    let flow = |alpha: u32, start: u32| {
        format!(
            r#"{{ cc = "fast", parameters = {{ alpha = {alpha} }}, start = "{start}ms",
                 transport = {{ ack_every = 1, initial_window = 1 }} }}"#
        )
    };
    for (alpha, count) in [(5, 1), (20, 1), (40, 1), (20, 3)] {
        let flows: Vec<_> = (0..count).map(|n| flow(alpha, 5 * n)).collect();
        let tables = share(&flows.join(","), 300);
        let link = &tables.links[0];
        assert_near(link.queue_packets_mean, f64::from(alpha * count), 0.05);
        assert_eq!((link.dropped_packets, link.utilization), (0, 1.0));
        for flow in &tables.flows {
            // 10 Mbit/s, of which 1448 bytes in 1500 are payload.
            assert_near(flow.goodput_bps * f64::from(count), 9.653e6, 0.05);
        }
    }
}

#[test]
fn alone_ledbat_keeps_its_target_of_queueing_delay() {
    for target in [25, 50, 100] {
        for slow_start in [false, true] {
            let parameters = format!(r#"{{ target = "{target}ms", slow_start = {slow_start} }}"#);
            let tables = share(&format!(r#"{{ cc = "ledbat", parameters = {parameters} }}"#), 200);
            let link = &tables.links[0];
            // A segment more or less is 1.2 ms.
            let off = link.queue_delay_mean_ms - f64::from(target);
            assert!(off.abs() < 1.2, "{} ms, not {target}", link.queue_delay_mean_ms);
            assert_eq!((link.dropped_packets, link.utilization), (0, 1.0));
        }
    }
}

#[test]
fn background_controllers_leave_newreno_what_it_has_alone() {
    // LEDBAT yields where NewReno queues for longer than the target: 250 packets take 300 ms.
    for (cc, queue) in [("tcp-lp", 34), ("tcp-lp", 84), ("nice", 34), ("nice", 84), ("ledbat", 250)] {
        let alone = goodput(&share(r#"{ cc = "newreno" }"#, queue), "newreno");
        let beside = goodput(&beside_newreno(cc, queue), "newreno");
        assert!(beside > 0.97 * alone, "{beside} beside {cc} and {queue} packets, {alone} alone");
    }
    // One of its own kind takes half, and LEDBAT where the queue is shorter than the target.
    for (cc, queue) in [("newreno", 84), ("ledbat", 34)] {
        let tables = beside_newreno(cc, queue);
        let first = tables.flows[0].goodput_bps * 1e-6;
        assert!((3.5..6.2).contains(&first), "{first} of {cc} with {queue} packets");
    }
}

#[test]
fn many_flows_of_nice_send_less_than_a_segment_a_round_trip() {
    let flows =
        r#"{ cc = "nice", count = 10, start_jitter = "1s" }, { cc = "newreno", count = 10, start_jitter = "1s" }"#;
    let tables = share(flows, 34);
    // A round trip takes 82 ms at most: a segment in each of them would be 0.14 Mbit/s a flow, 1.4 together.
    let nice = goodput(&tables, "nice");
    assert!(nice < 0.7, "{nice}");
}

#[test]
fn background_controllers_use_an_idle_path() {
    // TCP-LP halves at pipe and 15 % of the buffer, `35 + 13`: a saw-tooth of 93 % (see the law in `truth`), less what
    // three round trips without growth at the bottom cost. Trains, of two segments here, add a delay of their own, by
    // which TCP-LP takes 60 % of the path. The second of each train, or the second segment in the queue, waits exactly
    // as long as the threshold of Nice: it is no delay, unless a host is later by microseconds.
    for (noise, trains, cc, least, most) in [
        (true, false, "tcp-lp", 0.85, 0.93),
        (false, false, "nice", 0.99, 1.0),
        (true, false, "nice", 0.05, 0.25),
        (true, false, "ledbat", 1.0, 1.0),
        (true, true, "tcp-lp", 0.55, 0.65),
        (false, true, "nice", 0.99, 1.0),
        (true, true, "nice", 0.05, 0.25),
        (true, true, "ledbat", 1.0, 1.0),
    ] {
        let flow = format!(r#"{{ cc = "{cc}", transport = {{ segmentation_offload = {trains} }} }}"#);
        let utilization = share_among_hosts(&flow, 84, noise).links[0].utilization;
        assert!((least..=most).contains(&utilization), "{utilization} by {cc}, trains {trains}");
    }
}

#[test]
fn pert_keeps_the_queue_between_its_thresholds_without_loss() {
    let tables = share(r#"{ cc = "pert", count = 4, start_jitter = "1s" }"#, 84);
    let link = &tables.links[0];
    assert!((5.0..10.0).contains(&link.queue_delay_mean_ms), "{} ms", link.queue_delay_mean_ms);
    assert!(link.utilization > 0.95, "{}", link.utilization);
    assert_eq!(link.dropped_packets, 0);
}

#[test]
fn hd_keeps_the_queue_below_its_threshold_among_its_like() {
    let tables = share(r#"{ cc = "hd", count = 4, start_jitter = "1s" }"#, 250);
    let link = &tables.links[0];
    assert!((5.0..20.0).contains(&link.queue_delay_mean_ms), "{} ms", link.queue_delay_mean_ms);
    assert!(link.utilization > 0.98, "{}", link.utilization);
    assert_eq!(link.dropped_packets, 0);
}

#[test]
fn hd_coexists_with_loss_based_flows_where_other_delay_based_ones_starve() {
    let (hd, pert) = (share_among_twenty("hd"), share_among_twenty("pert"));
    // Half would be fair. PERT, which backs off the more surely the longer the queue is, goes down to its two segments.
    assert!((0.3..0.5).contains(&hd), "{hd}");
    assert!(pert < hd / 3.0, "{pert} beside {hd}");
}

#[test]
fn copa_alone_fills_a_path_whatever_its_rate() {
    for (rate, rtt) in [("10mbit", "40ms"), ("100mbit", "40ms"), ("200mbit", "20ms"), ("500mbit", "20ms")] {
        let tables = run(&format!(
            r#"
            duration = "20s"
            warmup = "5s"
            path = {{ rate = "{rate}", rtt = "{rtt}", queue = "1bdp" }}
            flows = [{{ cc = "copa" }}]
            record = {{ flow_series = "off", probes = "off", link_series = "off", events = false }}
            "#
        ));
        let utilization = tables.links[0].utilization;
        assert!(utilization > 0.95, "{rate}, {rtt}: {utilization}");
    }
}
