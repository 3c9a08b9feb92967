//! One flow alone: the window against the closed forms of its controller.

use record::EventKind;

use crate::common::{assert_near, at, events, run};

/// One NewReno flow with an ACK per packet of 1000 bytes, over 10 Mbit/s and 40 ms with room for `buffer` packets.
///
/// A packet takes 0.8 ms, so 50 are on the way while one is in service: a window of 51 fills the pipe, one of 51 +
/// `buffer` the queue as well, and the next whole segment is dropped. `at_threshold`: after a loss one ACK grows the
/// window by a segment.
fn saw_tooth(buffer: u32, at_threshold: bool, record: &str) -> record::Tables {
    run(&format!(
        r#"
        duration = "220s"
        warmup = "20s"
        profile = "ns2-linux"
        path = {{ rate = "10mbit", rtt = "40ms", queue = "{buffer}p" }}
        record = {{ flow_series = "{record}", probes = "off", link_series = "off" }}
        [[flows]]
        cc = "newreno"
        transport = {{ segment_size = "960B", slow_start_at_threshold = {at_threshold} }}
        "#
    ))
}

#[test]
fn newreno_meets_its_loss_when_pipe_and_buffer_are_full_and_halves() {
    for buffer in [5, 25, 51] {
        let tables = saw_tooth(buffer, false, "1ack");
        // The drop comes at `52 + B`. In the round trip until it shows, the window gains close to one segment more.
        let full = f64::from(buffer) + 53.0;
        let losses: Vec<_> = events(&tables, EventKind::LossEvent).into_iter().filter(|loss| loss.0 > 20.0).collect();
        assert!(losses.len() > 50, "{}", losses.len());
        for &(time, window) in &losses {
            assert!((full - 0.1..=full).contains(&window), "{window} at {time} s with room for {buffer}");
            let series = &tables.flow_series.columns();
            let after = at(&series.time_s, &series.window_segments, time);
            assert_eq!(after, window / 2.0, "at {time} s");
        }
        assert_eq!(tables.flows[0].sender.timeouts, 0);
    }
}

#[test]
fn the_period_of_newreno_is_the_sum_of_its_round_trips() {
    // From `W/2` to W the window needs `(W^2 - (W/2)^2)/2` ACKs: `3/8 W^2`. Above 51 segments one comes every 0.8 ms.
    // Below, a segment more takes a round trip of 40.8 ms, and 1 % more as the divisor grows within it. Recovery adds a
    // round trip. `B = 5`: `W = 58`. 29 to 51: `22 * 40.8 * 1.01 = 907 ms`, 51 to 58: `381.5 * 0.8 = 305 ms`, then 46
    // ms. `B = 25`: `W = 78`. 39 to 51: `12 * 40.8 * 1.01 = 494 ms`, 51 to 78: `1741.5 * 0.8 = 1393 ms`, then 62 ms. `B
    // = 51`: `W = 104`. 52 to 104: `4056 * 0.8 = 3245 ms`, then 83 ms. `B = 60`: `W = 113`. 56.5 to 113: `4788 * 0.8 =
    // 3831 ms`, then 90 ms. With slow start at the threshold the climb begins a segment higher: from 53, `4003.5 * 0.8
    // = 3203 ms`, from 57.5, `4731 * 0.8 = 3785 ms`.
    for (buffer, at_threshold, period, share) in [
        (5, false, 1.258, 0.03),
        (25, false, 1.949, 0.02),
        (51, false, 3.328, 0.001),
        (60, false, 3.921, 0.001),
        (51, true, 3.286, 0.001),
        (60, true, 3.875, 0.001),
    ] {
        let tables = saw_tooth(buffer, at_threshold, "off");
        let times: Vec<_> = events(&tables, EventKind::LossEvent).iter().map(|loss| loss.0).collect();
        let settled = &times[times.partition_point(|&t| t < 20.0)..];
        let mean = (settled[settled.len() - 1] - settled[0]) / (settled.len() - 1) as f64;
        assert_near(mean, period, share);
    }
}

#[test]
fn the_utilization_of_newreno_follows_from_the_size_of_the_buffer() {
    // A saw-tooth from `W/2` to `W = P + B` over a pipe of `P = 51` carries `3/8 W^2` packets in the time of
    // `P (P - W/2) + (W^2 - P^2)/2`: `3/4 W^2 / (P^2 - P W + W^2)` of the link. `B = 3`: `W = 54`: `2187/2763`.
    // `B = 5`: `W = 56`: `2352/2881`. `B = 13`: `W = 64`: `3072/3433`. `B = 25`: `W = 76`: `4332/4501`.
    for (buffer, share) in [(3, 0.7915), (5, 0.8164), (13, 0.8948), (25, 0.9625), (51, 1.0), (60, 1.0)] {
        let measured = saw_tooth(buffer, false, "off").links[0].utilization;
        assert!((measured - share).abs() < 0.008, "{measured} with room for {buffer}, not {share}");
    }
}

/// The mean window of NewReno under random loss where nothing queues, with `transport` options, over four seeds.
fn window_under_loss(loss: &str, transport: &str) -> f64 {
    let goodput = (1..=4).map(|seed| {
        let tables = run(&format!(
            r#"
            duration = "400s"
            warmup = "20s"
            seed = {seed}
            path = {{ rate = "1gbit", rtt = "100ms", queue = "infinite", loss = "{loss}" }}
            flows = [{{ cc = "newreno", transport = {transport} }}]
            record = {{ flow_series = "off", probes = "off", link_series = "off", events = false }}
            "#
        ));
        tables.flows[0].goodput_bps
    });
    // Segments of 1448 bytes delivered in a round trip of 100 ms.
    goodput.sum::<f64>() / 4.0 * 0.1 / (8.0 * 1448.0)
}

#[test]
fn under_random_loss_the_window_of_newreno_is_that_of_the_square_root_law() {
    // `sqrt(3/(2 b p))` is for losses at regular distances (Mathis, Semke, Mahdavi, Ott 1997). Losses at random make
    // the mean 7 % larger (1.31 for 1.22: Ott, Kemperman, Mathis 1996). The round trip of each recovery, in which the
    // window does not grow, makes it smaller by about one part in the number of round trips from loss to loss, `sqrt(2
    // b / (3 p))`: 4 % at `p = 0.1 %`, 17 % at 2 %, and with `b = 2` relatively less often.
    let each = "{ ack_every = 1 }";
    let second = "{ ack_every = 2, counting = \"per-ack\", quick_acks = 0 }";
    for (loss, one, two, share) in [
        ("0.1%", 38.73, 27.39, 0.10),
        ("0.5%", 17.32, 12.25, 0.10),
        ("1%", 12.25, 8.66, 0.12),
        ("2%", 8.66, 6.12, 0.15),
    ] {
        assert_near(window_under_loss(loss, each), one, share);
        assert_near(window_under_loss(loss, second), two, share);
    }
}

#[test]
fn after_a_loss_cubic_climbs_along_its_cubic() {
    // Packet 400 is lost in slow start: 400 ACKs on top of the initial window of 10 make `W_max = 410`, and 287 remain.
    // `K = cbrt(123/0.4) = 6.750 s`, `W(t) = 410 + 0.4 (t - 6.750)^3`. The pipe holds 8333 packets, and Reno would add
    // but 5.3 segments a second. Each ACK aims at the cubic a round trip ahead. The ACKs of a round trip come within 5
    // ms, a tick or two, and share the count of their first: the window is at `W(t + 0.1)` when they are through, e.g.
    // at `W(2.1) = 410 - 0.4 * 100.5 = 369.8`.
    let tables = run(r#"
        duration = "13s"
        path = { rate = "1gbit", rtt = "100ms", queue = "infinite", loss = { packets = [400] } }
        flows = [{ cc = "cubic", parameters = { hystart = false },
                   transport = { ack_every = 1, sack_compression = "0s" } }]
        record = { flow_series = "1ack", probes = "off" }
        "#);
    let series = &tables.flow_series.columns();
    assert_eq!(events(&tables, EventKind::LossEvent).iter().map(|loss| loss.1).collect::<Vec<_>>(), [410.0]);
    let start = events(&tables, EventKind::Recovered)[0].0;
    assert_eq!(at(&series.time_s, &series.window_segments, start), 287.0);
    let a_round_trip_ahead = [
        (1.0, 337.9),
        (2.0, 369.8),
        (4.0, 402.6),
        (6.0, 409.9),
        (6.75, 410.0),
        (8.0, 411.0),
        (10.0, 425.0),
        (12.0, 471.3),
    ];
    for (t, expected) in a_round_trip_ahead {
        let window = at(&series.time_s, &series.window_segments, start + t + 0.05);
        assert!((window - expected).abs() < 1.5, "{window} after {t} s, not {expected}");
    }
}

/// The first threshold of CUBIC over `rate` Mbit/s and `rtt` ms.
fn first_threshold(rate: u32, rtt: u32, queue: &str) -> f64 {
    let tables = run(&format!(
        r#"
        duration = "1s"
        path = {{ rate = "{rate}mbit", rtt = "{rtt}ms", queue = "{queue}" }}
        flows = [{{ cc = "cubic" }}]
        record = {{ flow_series = "1ack", probes = "off" }}
        "#
    ));
    let thresholds = &tables.flow_series.columns().threshold_segments;
    thresholds.iter().find(|threshold| threshold.is_finite()).copied().unwrap_or(0.0)
}

#[test]
fn cubic_leaves_slow_start_at_the_window_at_which_linux_does() {
    // Seen in Linux 6.18: an ACK train ends slow start, on the slow paths thanks to quick ACKs.
    for (rate, rtt, linux) in [(10, 40, 38.0), (10, 100, 123.0), (50, 40, 247.0), (50, 100, 532.0)] {
        assert_near(first_threshold(rate, rtt, "1bdp"), linux, 0.02);
    }
    // On short paths a train may be half a millisecond longer: without that 37, 19, 19 and 58.
    for (rate, rtt, linux) in [(200, 2, 64.5), (200, 1, 38.5), (100, 2, 34.0), (100, 5, 65.0)] {
        assert_near(first_threshold(rate, rtt, "2000p"), linux, 0.05);
    }
}

#[test]
fn vegas_keeps_alpha_to_beta_of_its_segments_waiting() {
    for (alpha, beta) in [(1, 3), (2, 4), (6, 10)] {
        let tables = run(&format!(
            r#"
            duration = "60s"
            warmup = "20s"
            path = {{ rate = "10mbit", rtt = "40ms", queue = "200p" }}
            flows = [{{ cc = "vegas", parameters = {{ alpha = {alpha}, beta = {beta} }},
                       transport = {{ ack_every = 1 }} }}]
            "#
        ));
        let link = &tables.links[0];
        let band = f64::from(alpha)..=f64::from(beta);
        assert!(band.contains(&link.queue_packets_mean), "{} is not in {band:?}", link.queue_packets_mean);
        assert!(link.queue_packets_max <= f64::from(beta), "{}", link.queue_packets_max);
        assert_eq!((link.dropped_packets, link.utilization), (0, 1.0));
    }
}
