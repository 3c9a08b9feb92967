//! Slow starts under NewReno in the whole simulator: how many round trips a transfer takes, where each leaves slow
//! start, and its losses on the way.

mod common;

use common::{assert_near, run};
use record::Tables;

/// One flow of `cc` with `start` over `rate` and 100 ms, an ACK per packet, for `seconds` or until `end` is sent.
fn started(cc: &str, start: &str, rate: &str, queue: &str, seconds: u32, end: &str) -> Tables {
    run(&format!(
        r#"
        duration = "{seconds}s"
        path = {{ rate = "{rate}", rtt = "100ms", queue = "{queue}" }}
        flows = [{{ cc = "{cc}", parameters = {{ {start} }}, transport = {{ ack_every = 1 }}{end} }}]
        record = {{ flow_series = "1ack", probes = "off", link_series = "off" }}
        "#
    ))
}

/// The window with which slow start ended, in segments.
fn left(tables: &Tables) -> f64 {
    let series = tables.flow_series.columns();
    let at = series.threshold_segments.iter().position(|threshold| threshold.is_finite());
    series.window_segments[at.expect("slow start has ended")]
}

#[test]
fn a_megabyte_takes_as_many_round_trips_as_the_windows_add_up_to_it() {
    // 691 segments of 1448 bytes, and a round trip for the handshake. Doubling `10 20 40 ... 640`: in the seventh.
    // Tripling `10 30 90 270 810`: in the fifth. Limited to 40: `10 20 40`, then 20 more each, `60 80 100 120 140 160`:
    // in the ninth. A jump to half of 1600 after the first: in the second of 800.
    let cases = [
        (r#"slow_start = "classic""#, 7),
        (r#"slow_start = "hystart++", ack_limit = 0"#, 7),
        (r#"slow_start = "search""#, 7),
        (r#"slow_start = "rapid-start""#, 5),
        (r#"slow_start = "limited", limited_above = 40"#, 9),
        (r#"slow_start = "careful-resume", saved_window = 1600, saved_rtt = "100ms""#, 2),
    ];
    for (start, rounds) in cases {
        let tables = started("newreno", start, "1gbit", "1bdp", 5, r#", bytes = "1MB""#);
        let seconds = tables.flows[0].completion_s;
        // The last flight takes up to a round trip to leave where it is paced, which the first of these two is not.
        let most = if start.contains("rapid") || start.contains("careful") { 1.2 } else { 0.3 };
        let more = seconds / 0.1 - f64::from(1 + rounds);
        assert!((-0.5..most).contains(&more), "{start}: {seconds} s");
    }
}

#[test]
fn those_that_look_for_the_end_of_the_path_find_it_before_anything_is_lost() {
    // 50 Mbit/s and 100 ms are 417 packets, and a queue of twelve times that follows. Classic slow start fills it all.
    let lost = |start: &str| {
        let tables = started("newreno", &format!(r#"slow_start = "{start}""#), "50mbit", "12bdp", 6, "");
        (tables.flows[0].sender.lost_packets, left(&tables) / 417.0)
    };
    assert!(lost("classic").0 > 3000, "{}", lost("classic").0);
    // The window of 640 is the first that queues, and its packets still find the path empty at their head. HyStart sees
    // half an RTT of ACKs a round before, while the window grows from 320 to 640. HyStart++ waits for a round whose
    // smallest RTT is longer, the round of 1280, and then grows five times by a quarter at most: to 7.5 to 9.4 times
    // the path. SEARCH: data sent from 0.7 s on at twice the rate of the link are acknowledged at half that speed. x ms
    // on, `600 + 8.3 x` packets were sent in 350 ms, and 1459 delivered: short by 26 % at `x = 165`, acknowledged at
    // `0.8 s + 2 x = 1.13 s`, when the window is `640 + 4.17 * 330 = 4.9` times the path. Bins of 35 ms may add 0.7 of
    // it.
    for (start, low, high) in [("hystart", 0.75, 1.55), ("hystart++", 7.0, 9.5), ("search", 4.5, 6.0)] {
        let (packets, share) = lost(start);
        assert_eq!(packets, 0, "{start}");
        assert!((low..high).contains(&share), "{start} left at {share} of the path");
    }
}

#[test]
fn cubic_has_its_own_hystart_switched_off_by_another_method() {
    let of = |start: &str| started("cubic", start, "50mbit", "2bdp", 3, "");
    let (own, hystart, classic) = (of(""), of(r#"slow_start = "hystart""#), of(r#"slow_start = "classic""#));
    assert_near(left(&hystart), left(&own), 0.02);
    assert!(classic.flows[0].sender.lost_packets > 300 && own.flows[0].sender.lost_packets == 0);
}

#[test]
fn rapid_start_lands_near_half_of_what_the_path_held() {
    // NewReno keeps half of the 834 packets of path and queue: 417 after the first recovery.
    let tables = started("newreno", r#"slow_start = "rapid-start""#, "50mbit", "1bdp", 10, "");
    let recovered = common::events(&tables, record::EventKind::Recovered);
    let series = tables.flow_series.columns();
    let window = common::at(&series.time_s, &series.window_segments, recovered[0].0 + 0.01);
    assert_near(window, 417.0, 0.15);
    assert_eq!(tables.flows[0].sender.timeouts, 0);
}
