//! Connections open on the path, with times worked out by hand.

mod common;

use common::run;
use record::FlowRow;

/// One flow of 14,480 bytes over 10 Mbit/s and 40 ms with exact timers.
fn one(path: &str, flow: &str) -> FlowRow {
    let tables = run(&format!(
        r#"
        duration = "20s"
        path = {{ rate = "10mbit", rtt = "40ms", queue = "1000p", {path} }}
        flows = [{{ cc = "newreno", bytes = "14480B", {flow}
                   transport = {{ timer_tick = "0s", segmentation_offload = false }} }}]
        "#
    ));
    tables.flows.into_iter().next().unwrap()
}

/// SYN, SYN-ACK and ACK have 60, 60 and 52 bytes: 0.048, 0 (the way back is free) and 0.0416 ms.
const HANDSHAKE_MS: f64 = 40.048;
/// A segment takes 1.2 ms.
const FIRST_BYTE_MS: f64 = HANDSHAKE_MS + 0.0416 + 1.2 + 20.0;

#[track_caller]
fn assert_ms(measured: f64, expected: f64) {
    assert!((measured - expected).abs() < 1e-6, "{measured} is not {expected}");
}

#[test]
fn an_opening_takes_a_round_trip_and_its_own_packets() {
    let flow = one("", "");
    assert_ms(flow.handshake_ms, HANDSHAKE_MS);
    assert_ms(flow.first_byte_ms, FIRST_BYTE_MS);
    // Nine more segments.
    assert_ms(1e3 * flow.completion_s, FIRST_BYTE_MS + 9.0 * 1.2);
    assert_eq!((flow.syn_retransmissions, flow.sender.data_packets, flow.sender.timeouts), (0, 10, 0));
}

#[test]
fn without_a_handshake_data_leave_at_once() {
    let tables = run(r#"
        duration = "1s"
        phase_noise = false
        path = { rate = "10mbit", rtt = "40ms", queue = "1000p" }
        flows = [{ cc = "newreno", bytes = "14480B", start = "100ms", transport = { handshake = false } }]
        "#);
    let flow = &tables.flows[0];
    assert!(flow.handshake_ms.is_nan());
    assert_ms(flow.first_byte_ms, 21.2);
    assert_ms(1e3 * flow.completion_s, 21.2 + 9.0 * 1.2);
    assert_eq!(tables.links[0].arrived_packets, 10);
}

#[test]
fn a_lost_syn_or_syn_ack_costs_a_second() {
    let syn = one("loss = { openings = [0] }", "");
    assert_ms(syn.handshake_ms, 1000.0 + HANDSHAKE_MS);
    assert_ms(1e3 * syn.completion_s, 1000.0 + FIRST_BYTE_MS + 9.0 * 1.2);
    assert_eq!((syn.syn_retransmissions, syn.sender.data_packets, syn.sender.timeouts), (1, 10, 0));
    // Both ends send again. The SYN arrives as the timer of the SYN-ACK expires, which begins anew.
    let answer = one("reverse = { loss = { openings = [0] } }", "");
    assert_ms(answer.handshake_ms, 1000.0 + HANDSHAKE_MS);
    assert_eq!((answer.syn_retransmissions, answer.sender.data_packets, answer.sender.timeouts), (1, 10, 0));
}

#[test]
fn a_lost_ack_of_the_syn_ack_costs_nothing_where_data_follow() {
    let flow = one("loss = { openings = [1] }", "");
    assert_ms(flow.handshake_ms, HANDSHAKE_MS);
    // A lost packet takes no time on the link.
    assert_ms(1e3 * flow.completion_s, FIRST_BYTE_MS - 0.0416 + 9.0 * 1.2);
    assert_eq!(flow.syn_retransmissions, 0);
}

#[test]
fn a_list_of_lost_packets_counts_data_alone() {
    let flow = one("loss = { packets = [0] }", "");
    assert_ms(flow.handshake_ms, HANDSHAKE_MS);
    assert_eq!((flow.syn_retransmissions, flow.sender.retransmitted_packets), (0, 1));
}

// Linux: the RTT of a second SYN comes from its timestamp. After a third one the window is a segment.
#[test]
fn a_syn_that_was_sent_twice_leaves_a_window_of_one() {
    let flow = one("loss = { openings = [0, 1] }", "");
    assert_ms(flow.handshake_ms, 2000.0 + HANDSHAKE_MS);
    assert_eq!(flow.syn_retransmissions, 2);
    // One, two, four and three segments: three more round trips of 41.2 ms.
    let rounds = 1e3 * flow.completion_s - 2000.0 - FIRST_BYTE_MS;
    assert!((3.0 * 41.2..3.0 * 41.2 + 6.0).contains(&rounds), "{rounds}");
}

#[test]
fn a_connection_that_nothing_answers_is_never_open() {
    let tables = run(r#"
        duration = "10s"
        path = { rate = "10mbit", rtt = "40ms", queue = "1000p", loss = "100%" }
        flows = [{ cc = "cubic", transport = { timer_tick = "0s" } }]
        "#);
    let flow = &tables.flows[0];
    assert!(flow.handshake_ms.is_nan() && flow.first_byte_ms.is_nan() && flow.rtt_min_ms.is_nan());
    // At 1, 2, 3, 4, 5 and 7 s.
    assert_eq!((flow.syn_retransmissions, flow.sender.data_packets), (6, 0));
}

// The upload of 30 kB behind a second of queue, of which Linux takes 2.4 to 2.9 s from connect to its answer.
#[test]
fn the_first_rtt_of_a_short_flow_is_that_of_the_queue() {
    let tables = run(r#"
        duration = "40s"
        path = { rate = "10mbit", rtt = "20ms", queue = "1s" }
        flows = [
          { name = "bulk", cc = "cubic" },
          { name = "web", cc = "cubic", start = "15s", stop = "35s", bytes = "30kB", every = "2s" },
        ]
        "#);
    let short = &tables.flows[1..];
    assert_eq!(short.len(), 10);
    for flow in short {
        assert!((650.0..1050.0).contains(&flow.handshake_ms), "{}", flow.handshake_ms);
        assert!(flow.sender.timeouts == 0 || flow.sender.lost_packets > 0, "{flow:?}");
    }
    assert!(short.iter().filter(|flow| flow.sender.timeouts == 0).count() >= 9);
}
