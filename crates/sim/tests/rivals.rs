//! The loss-based rivals in the whole simulator, against the closed forms of their saw-teeth: when they fill a link,
//! how long they take from loss to loss, the queue that they leave, and their cost of losses.

mod common;

use common::{assert_near, events, run};
use record::{EventKind, Tables};

/// One flow of `cc` over `rate` and 100 ms with an ACK per packet of 1500 bytes and room for `buffer` packets, with
/// SACK and proportional rate reduction as in Linux.
fn alone(cc: &str, rate: &str, buffer: u32) -> Tables {
    run(&format!(
        r#"
        duration = "240s"
        warmup = "40s"
        path = {{ rate = "{rate}", rtt = "100ms", queue = "{buffer}p" }}
        flows = [{{ cc = "{cc}", transport = {{ ack_every = 1, counting = "per-ack" }} }}]
        record = {{ flow_series = "off", probes = "off", link_series = "10ms" }}
        "#
    ))
}

/// The mean time from loss event to loss event after 40 s, in seconds.
fn epoch(tables: &Tables) -> f64 {
    let times: Vec<_> = events(tables, EventKind::LossEvent).iter().map(|loss| loss.0).collect();
    let settled = &times[times.partition_point(|&t| t < 40.0)..];
    assert!(settled.len() > 5, "{} loss events", settled.len());
    (settled[settled.len() - 1] - settled[0]) / (settled.len() - 1) as f64
}

/// The shortest queue between 40 s and the end, in packets.
fn shortest_queue(tables: &Tables) -> u32 {
    let series = &tables.link_series;
    let settled = series.time_s.partition_point(|&t| t < 40.0);
    series.queue_packets[settled..].iter().copied().min().unwrap()
}

// 10 Mbit/s and 100 ms hold 83.3 packets of 1500 bytes and one in service.

#[test]
fn what_a_loss_keeps_says_how_much_buffer_fills_the_link() {
    // `share (BDP + B) = BDP`: NewReno 0.5 (`B = 84`), CUBIC 0.7 (`B = 36`), H-TCP up to 0.8 (`B = 21`), Scalable 0.875
    // (`B = 12`). With half of it, the link is idle after each loss.
    for (cc, buffer) in [("newreno", 84), ("cubic", 36), ("htcp", 21), ("scalable", 12)] {
        let ample = alone(cc, "10mbit", buffer).links[0].utilization;
        let scarce = alone(cc, "10mbit", buffer / 2).links[0].utilization;
        assert!(ample >= 0.999, "{cc}: {ample} with room for {buffer}");
        assert!(scarce <= 0.993, "{cc}: {scarce} with room for {}", buffer / 2);
    }
}

#[test]
fn the_epoch_of_newreno_grows_with_the_rate_and_that_of_scalable_does_not() {
    // With a full queue a round trip takes as long as the packets of the window, `W = BDP + B + 1`. Detection and
    // recovery take two. NewReno regains `W/2` in `W/2` round trips of `3/4` of that on average. 10 Mbit/s: `84.5 *
    // 152.1 ms + 2 * 203 ms`. 20 Mbit/s: `168 * 151.2 ms + 2 * 202 ms`.
    for (rate, buffer, seconds) in [("10mbit", 84, 13.26), ("20mbit", 167, 25.80)] {
        assert_near(epoch(&alone("newreno", rate, buffer)), seconds, 0.01);
    }
    // Scalable regains `W/8` by `W/8/0.01` ACKs, 12.5 full round trips (13.4 of the shorter ones on the way): 14.5 of
    // 152.4, 151.2, 150.7 and 151.1 ms.
    for (rate, buffer, seconds) in
        [("10mbit", 42, 2.210), ("20mbit", 84, 2.192), ("50mbit", 210, 2.185), ("100mbit", 420, 2.191)]
    {
        assert_near(epoch(&alone("scalable", rate, buffer)), seconds, 0.015);
    }
}

#[test]
fn htcp_leaves_a_standing_queue_in_a_buffer_larger_than_the_bandwidth_delay_product() {
    // It keeps half at least: `0.5 (84 + B) - 84` packets stay in the queue, 42 for twice the BDP and 84 for three
    // times. Up to the BDP the queue just empties. It keeps the same share of the window's gain in the round trip in
    // which the loss is seen, at most alpha: epochs of 2, 2.2, 2.7, 3.6 and 4.6 s end with `f = 11, 13, 19, 29, 40`. It
    // keeps `0.8 * 0.4 * 11`, `0.67 * 0.67 * 13`, `0.5 * f`.
    for (buffer, standing, more) in [(21, 0, 4), (42, 0, 6), (84, 0, 10), (168, 42, 15), (252, 84, 20)] {
        let shortest = shortest_queue(&alone("htcp", "10mbit", buffer));
        let expected = standing..=standing + more;
        assert!(expected.contains(&shortest), "{shortest} with room for {buffer}, not {expected:?}");
    }
}

#[test]
fn relentless_alone_meets_a_loss_in_every_second_round_trip() {
    // The window stays at `126 + 2` packets: 153.6 ms a round trip, one to lose and one to recover.
    assert_near(epoch(&alone("relentless", "10mbit", 42)), 0.3072, 0.01);
}

#[test]
fn e_tcp_loses_one_packet_in_a_hundred_at_every_rate() {
    // `a = p D(w)`: `p = 0.01 + 1.5/w^2`. `1.5/w^2` is 0.0001 for the 126 packets at 10 Mbit/s, and less above.
    for (rate, buffer) in [("10mbit", 42), ("30mbit", 126), ("100mbit", 420)] {
        let flow = &alone("e-tcp", rate, buffer).flows[0];
        assert_near(flow.sender.lost_packets as f64 / flow.sender.data_packets as f64, 0.01, 0.03);
    }
}

/// One flow over a path on which nothing queues and the packets of `loss` are lost, with `transport` options besides an
/// ACK per packet.
fn struck(
    controller: &str,
    loss: &str,
    transport: &str,
    duration: u32,
    warmup: u32,
    seed: u32,
    series: &str,
) -> Tables {
    run(&format!(
        r#"
        duration = "{duration}s"
        warmup = "{warmup}s"
        seed = {seed}
        path = {{ rate = "1gbit", rtt = "100ms", queue = "infinite", loss = {loss} }}
        flows = [{{ {controller}, transport = {{ ack_every = 1{transport} }} }}]
        record = {{ flow_series = "{series}", probes = "off", link_series = "off" }}
        "#
    ))
}

#[test]
fn relentless_pays_one_segment_for_each_that_was_lost() {
    // All at once. Spread over the window, so that most are found during recovery. One that is sent and found lost
    // during a recovery, which another follows at once.
    let sets =
        ["400", "400, 401, 405, 406", "400, 410, 430, 470, 520, 521", "400, 401, 402, 403, 801, 802", "400, 790, 830"];
    for packets in sets {
        // Without SACK growth begins with the ACK after the one that ends recovery. With it that ACK would add to the
        // window as well, by all that it delivers.
        for transport in [
            ", recovery_end_grows = false",
            ", recovery_end_grows = false, rack = false, tail_loss_probe = false",
            ", recovery_end_grows = false, reduction = \"pipe\"",
            ", sack = false",
        ] {
            let loss = format!("{{ packets = [{packets}] }}");
            let tables = struck("cc = \"relentless\"", &loss, transport, 10, 0, 1, "1ack");
            let losses = events(&tables, EventKind::LossEvent);
            let recovered = events(&tables, EventKind::Recovered);
            let series = &tables.flow_series.columns();
            let place = || format!("packets {packets}{transport}");
            // The window at the start of recovery, less the window at the next ACK, which has added a four-hundredth
            // already, or at the next loss.
            let mut windows: Vec<_> =
                series.time_s.iter().copied().zip(series.window_segments.iter().copied()).collect();
            windows.extend(&losses);
            windows.sort_by(|a, b| a.0.total_cmp(&b.0));
            let after = |end: f64| {
                windows.iter().find(|row| row.0 > end || losses[1..].contains(row) && row.0 == end).unwrap().1
            };
            let paid: f64 = losses.iter().zip(&recovered).map(|(loss, end)| loss.1 - after(end.0)).sum();
            let lost = tables.flows[0].sender.lost_packets;
            assert_eq!(lost, packets.split(',').count() as u64, "{}", place());
            assert!((paid - lost as f64).abs() < 0.01, "{paid} paid for {lost}, {}", place());
            assert_eq!(tables.flows[0].sender.timeouts, 0, "{}", place());
        }
    }
}

/// The mean window of `cc` in the form of its paper under random loss, over four seeds.
fn window_under_loss(cc: &str, loss: &str) -> f64 {
    let controller = format!("cc = \"{cc}\", parameters = {{ stack = \"standard\" }}");
    let run = |seed| struck(&controller, &format!("\"{loss}\""), "", 500, 50, seed, "off");
    let goodput = (1..=4).map(|seed| run(seed).flows[0].goodput_bps);
    // Segments of 1448 bytes delivered in a round trip of 100 ms.
    goodput.sum::<f64>() / 4.0 * 0.1 / (8.0 * 1448.0)
}

#[test]
fn the_response_to_random_loss_is_that_of_the_papers() {
    // HighSpeed: `0.12/p^0.835` (RFC 3649, section 5). Scalable: `0.0749/p`, the mean of a saw-tooth with peak
    // `0.08/p`.
    for (cc, loss, window) in
        [("highspeed", "0.01%", 262.6), ("scalable", "0.05%", 149.8), ("scalable", "0.01%", 749.0)]
    {
        assert_near(window_under_loss(cc, loss), window, 0.1);
    }
}

#[test]
fn dctcp_keeps_the_queue_around_the_threshold_of_marks() {
    // Alizadeh et al. 2010, section 3.3: `W* = BDP + K = 84 + 40`, `alpha = sqrt(2/W*) = 0.127`. The window goes up to
    // `W* + 1`, and down by `alpha/2` of that: 7.9. The queue goes from 41 down to 33. A segment is in service, and
    // some decreases come a segment late.
    let tables = run(r#"
        duration = "60s"
        path = { rate = "10mbit", rtt = "100ms", queue = { limit = "200p", mark_above = "40p" } }
        flows = [{ cc = "dctcp", transport = { ecn = "accurate", ack_every = 1 } }]
        record = { flow_series = "off", probes = "off", link_series = "10ms" }
        "#);
    let series = &tables.link_series;
    let settled = series.time_s.partition_point(|&t| t < 20.0);
    let queue = || series.queue_packets[settled..].iter().copied();
    let (shortest, longest) = (queue().min().unwrap(), queue().max().unwrap());
    assert!((30..=34).contains(&shortest), "{shortest}");
    assert!((40..=42).contains(&longest), "{longest}");
    assert_eq!(tables.flows[0].sender.lost_packets, 0);
}
