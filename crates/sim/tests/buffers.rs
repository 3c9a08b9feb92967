//! Buffers of hosts: a window over an RTT bounds the goodput, with numbers worked out by hand.

mod common;

use common::run;

/// The goodput in Mbit/s of `flows` over 1 Gbit/s and 70 ms from the second 2 on. `head` comes before the path.
fn goodput(head: &str, flows: &str) -> f64 {
    let tables = run(&format!(
        r#"
        duration = "5s"
        warmup = "2s"
        phase_noise = false
        {head}
        path = {{ rate = "1gbit", rtt = "70ms", queue = "1bdp" }}
        flows = [{flows}]
        "#
    ));
    tables.flows.iter().map(|flow| flow.goodput_bps / 1e6).sum()
}

#[track_caller]
fn assert_near(measured: f64, expected: f64, part: f64) {
    assert!((measured / expected - 1.0).abs() < part, "{measured} is not {expected}");
}

/// Segments of 1448 bytes in each RTT of 70 ms and what a segment takes to cross the link.
fn mbit(segments: f64) -> f64 {
    segments * 1448.0 * 8.0 / 0.070012 / 1e6
}

#[test]
fn a_receive_buffer_bounds_a_flow_by_its_window() {
    // Twice 500 kB make a window of 160 / 256 parts, less a segment: 623,560 bytes or 430 segments.
    let flow = r#"{ cc = "cubic", transport = { receive_buffer = "500kB" } }"#;
    assert_near(goodput("", flow), mbit(430.0), 0.01);
}

#[test]
fn the_receive_buffer_of_linux_bounds_one_flow_and_not_three() {
    let found = |buffer: &str, count: u32| {
        goodput("", &format!(r#"{{ cc = "cubic", count = {count}, transport = {{ receive_buffer = "{buffer}" }} }}"#))
    };
    assert!(found("unlimited", 1) > 850.0);
    // The window of 6 MiB of memory is 160 / 256 parts, less a segment of 1440: 3,930,720 bytes or 2714 segments.
    assert_near(found("4096 131072 6291456", 1), mbit(2714.0), 0.02);
    assert!(found("4096 131072 6291456", 3) > 850.0);
}

#[test]
fn three_flows_with_the_buffers_of_linux_fill_a_gigabit() {
    // Measured by a user on real hosts: 350, 600 and 789 Mbit/s.
    let found = |count: u32| goodput("buffers = \"profile\"", &format!(r#"{{ cc = "cubic", count = {count} }}"#));
    let of_each = [found(1), found(2) / 2.0, found(3) / 3.0];
    assert!(of_each.iter().all(|mbit| (310.0..335.0).contains(mbit)), "{of_each:?}");
}

#[test]
fn a_send_buffer_carries_two_thirds_of_its_memory_in_each_round_trip() {
    // A segment takes 1448 + 832 bytes of 8,000,000: the application goes on with 2339 left, and writes 1170 more. When
    // these are acknowledged, 2340 are left, one too many, so that it waits for the next burst: two in a round trip.
    let flow = r#"{ cc = "cubic", transport = { send_buffer = "4MB", segmentation_offload = false } }"#;
    assert_near(goodput("", flow), mbit(2340.0), 0.01);
}

#[test]
fn a_window_that_grows_with_the_flow_does_not_slow_its_start() {
    let tables = |buffers: &str| {
        run(&format!(
            r#"
            duration = "3s"
            phase_noise = false
            buffers = "{buffers}"
            path = {{ rate = "100mbit", rtt = "70ms", queue = "1bdp" }}
            flows = [{{ cc = "cubic", bytes = "2MB" }}]
            "#
        ))
    };
    let [limited, free] = ["profile", "unlimited"].map(|buffers| tables(buffers).flows[0].completion_s);
    assert!((limited / free - 1.0).abs() < 0.1, "{limited} {free}");
}
