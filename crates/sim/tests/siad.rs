//! SIAD (Kühlewind 2016) through the whole simulator, against the closed forms of its saw-tooth.
//!
//! In steady state the window of one flow runs from the bandwidth-delay product BDP, less one, to `BDP + B`, in N round
//! trips. It does so in `B + 1` where those are fewer, as it grows by one segment at least. The path is 100 ms, a
//! packet has 1500 bytes: 1 Mbit/s holds 8.33.

mod common;

use common::{assert_near, events, run};
use record::{EventKind, Tables};

/// `flows` over `rate` Mbit/s with a base RTT of 100 ms, the first 20 s left out of the statistics.
fn dumbbell(duration: u32, rate: f64, queue: &str, flows: &str) -> Tables {
    run(&format!(
        r#"
        duration = "{duration}s"
        warmup = "20s"
        profile = "linux-3.5"
        phase_noise = false
        path = {{ rate = "{rate}mbit", rtt = "100ms", queue = {queue} }}
        flows = [{flows}]
        record = {{ flow_series = "off", probes = "100ms", link_series = "5ms" }}
        "#
    ))
}

fn siad(parameters: &str) -> String {
    format!("{{ cc = \"siad\", parameters = {{ {parameters} }} }}")
}

/// One flow with `num_rtt` over a buffer of `bdp` BDP.
fn alone(duration: u32, rate: f64, bdp: f64, num_rtt: u32) -> Tables {
    dumbbell(duration, rate, &format!("\"{bdp}bdp\""), &siad(&format!("num_rtt = {num_rtt}")))
}

/// Packets that the buffer holds.
fn buffer(rate: f64, bdp: f64) -> f64 {
    (bdp * rate * 100.0 / 12.0).round()
}

/// Times of the loss events after the first 20 s.
fn loss_events(tables: &Tables) -> Vec<f64> {
    events(tables, EventKind::LossEvent).iter().map(|event| event.0).filter(|&time| time > 20.0).collect()
}

/// Time in seconds and value of probe `name` of flow 0.
fn probed(tables: &Tables, name: &str) -> Vec<(f64, f64)> {
    let probes = &tables.probes;
    let code = probes.names().iter().position(|known| *known == name).expect("a probe of SIAD");
    let rows = probes.time_s.iter().zip(probes.flow.iter().zip(probes.code.iter().zip(&probes.value)));
    rows.filter(|(_, (flow, (c, _)))| **flow == 0 && usize::from(**c) == code)
        .map(|(&t, (_, (_, &v)))| (t, v))
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Mean time from the last drop of one loss event to the first of the next, drops further apart than 1.5 full round
/// trips being of different events.
fn loss_event_distance(tables: &Tables, full_rtt: f64) -> f64 {
    let drops: Vec<f64> =
        events(tables, EventKind::Drop).iter().map(|event| event.0).filter(|&time| time > 20.0).collect();
    let gaps: Vec<f64> = drops.windows(2).map(|two| two[1] - two[0]).filter(|gap| *gap > 1.5 * full_rtt).collect();
    assert!(gaps.len() > 10, "{} epochs", gaps.len());
    gaps.iter().sum::<f64>() / gaps.len() as f64
}

#[test]
fn losses_are_num_rtt_round_trips_apart_at_every_rate() {
    // N round trips of growth, one until the loss shows, one to recover, of 125 ms in the mean with half a BDP of
    // buffer: 2.75 s and 5.25 s. At 2 and 5 Mbit/s `B + 1` is 9 and 22, so `11 * 0.124 = 1.364 s`, and for `N = 40` at
    // 5 Mbit/s `24 * 0.1252 = 3.005 s`.
    let rates = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    for (num_rtt, few, some, many) in [(20, 1.364, 2.75, 2.75), (40, 1.364, 3.005, 5.25)] {
        let distances = rates.map(|rate| loss_event_distance(&alone(120, rate, 0.5, num_rtt), 0.15));
        for (rate, (distance, expected)) in rates.iter().zip(distances.iter().zip([few, some, many, many, many, many]))
        {
            assert!((distance / expected - 1.0).abs() < 0.1, "{distance} s at {rate} Mbit/s, not {expected}");
        }
        assert_near(distances[5], distances[2], 0.06);
    }
}

#[test]
fn the_saw_tooth_runs_from_the_pipe_to_pipe_and_buffer() {
    // 10 Mbit/s: BDP 83.3 and B packets: the loss comes at `84 + B`, one in service, and the window falls to 82.
    // `alpha = (B + 1)/20`.
    for (bdp, at_loss, alpha) in [(0.5, 126.0, 2.15), (1.0, 167.0, 4.2), (2.0, 251.0, 8.4)] {
        let tables = alone(120, 10.0, bdp, 20);
        let value = |name| median(probed(&tables, name).iter().filter(|p| p.0 > 20.0).map(|p| p.1).collect());
        assert!((value("cmax") - at_loss).abs() <= 0.02 * at_loss, "{} with {bdp} BDP", value("cmax"));
        // Up to three more, as ticks and delayed ACKs make all RTTs, the base RTT too, a millisecond or two longer.
        assert!((82.0..=85.0).contains(&value("ssthresh_at_event")), "{}", value("ssthresh_at_event"));
        assert_near(value("alpha"), alpha, 0.1);
    }
}

#[test]
fn the_queue_empties_in_every_epoch_and_is_about_half_full_in_the_mean() {
    // A saw-tooth from BDP to `BDP + B` waits in the mean `(1/2 + r/3)/(1 + r/2)` of a buffer of r BDP.
    for num_rtt in [20, 40] {
        for (bdp, fill) in [(0.3, 0.522), (0.5, 0.533), (0.7, 0.543), (1.0, 0.556), (1.5, 0.571), (2.0, 0.583)] {
            let tables = alone(120, 10.0, bdp, num_rtt);
            assert_near(tables.links[0].queue_packets_mean / buffer(10.0, bdp), fill, 0.08);
            let series = &tables.link_series;
            for epoch in loss_events(&tables).windows(2) {
                let index = |time| series.time_s.partition_point(|&t| t < time);
                let least = series.queue_packets[index(epoch[0])..index(epoch[1])].iter().min();
                assert_eq!(least, Some(&0), "from {} s with {bdp} BDP and N = {num_rtt}", epoch[0]);
            }
        }
    }
}

#[test]
fn the_link_is_used_whatever_the_buffer() {
    for bdp in [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0] {
        let link = &alone(320, 10.0, bdp, 20).links[0];
        assert!(link.utilization >= 0.96, "{} with {bdp} BDP", link.utilization);
    }
}

#[test]
fn throughput_goes_with_the_inverse_of_the_probability_of_a_congestion_event() {
    // An epoch carries `N + 2` to 3 windows (equation 20, with the factor that its derivation gives): the mean window
    // is `1/(p (N + 2.5))`.
    for rate in [5.0, 10.0, 20.0, 50.0, 100.0] {
        let tables = alone(120, rate, 0.5, 20);
        let carried = tables.links[0].departed_packets as f64;
        let p = loss_events(&tables).len() as f64 / carried;
        let window = carried / 100.0 * (0.1 + buffer(rate, 0.5) * 0.012 / rate / 2.0);
        assert!((0.88..=1.12).contains(&(window * p * 22.5)), "{} at {rate} Mbit/s", window * p * 22.5);
    }
}

#[test]
fn fewer_round_trips_between_losses_take_more_of_a_shared_link() {
    let shares = [15, 20, 30, 40, 60].map(|num_rtt| {
        let flows = format!("{}, {}", siad(&format!("num_rtt = {num_rtt}")), siad("num_rtt = 30"));
        let tables = dumbbell(320, 20.0, "\"0.5bdp\"", &flows);
        assert!(tables.links[0].utilization > 0.97, "{}", tables.links[0].utilization);
        tables.flows[0].throughput_bps / (tables.flows[0].throughput_bps + tables.flows[1].throughput_bps)
    });
    assert!(shares.is_sorted_by(|more, less| more > less), "{shares:?}");
    assert!((0.43..=0.57).contains(&shares[2]), "equals share alike: {shares:?}");
}

#[test]
fn against_newreno_num_rtt_sets_the_share() {
    // Losses that hit both: in N round trips NewReno climbs from N to 2 N packets, 1.5 N in the mean, of the 125 that
    // pipe and half of a buffer of one BDP hold: 60 for `N = 40`, 30 for `N = 20`. Not every loss hits it, so it gets a
    // little more.
    for (num_rtt, share) in [(40, 60.0 / 125.0), (20, 30.0 / 125.0)] {
        let flows = format!(
            r#"{{ cc = "siad", parameters = {{ num_rtt = {num_rtt} }}, transport = {{ ack_every = 1 }} }},
               {{ cc = "newreno", start = "300ms", transport = {{ ack_every = 1 }} }}"#
        );
        let tables = dumbbell(320, 10.0, "\"1bdp\"", &flows);
        let newreno = tables.flows[1].throughput_bps / 10e6;
        assert!((-0.02..0.08).contains(&(newreno - share)), "{newreno} with N = {num_rtt}, not {share}");
    }
}

#[test]
fn epochs_of_equal_length_in_time_make_flows_of_different_rtt_share_alike() {
    let shares = ["num_rtt = 20", "num_ms = \"4s\""].map(|parameters| {
        let long = siad(parameters).replace("cc =", "rtt = \"200ms\", start = \"300ms\", cc =");
        let tables = dumbbell(320, 20.0, "\"250p\"", &format!("{}, {long}", siad(parameters)));
        tables.flows[0].throughput_bps / tables.flows[1].throughput_bps
    });
    assert!(shares[0] > 2.0 && (0.6..1.7).contains(&shares[1]), "{shares:?}");
}

#[test]
fn losses_that_are_not_congestion_cost_little() {
    // NewReno's window is `sqrt(3/(2 b p)) = 12.2` of 83 with delayed ACKs at 0.5 %. SIAD finds the queue empty and
    // gives up one segment.
    let utilization = |flow: &str| {
        let tables = run(&format!(
            r#"
            duration = "320s"
            warmup = "20s"
            profile = "linux-3.5"
        phase_noise = false
            path = {{ rate = "10mbit", rtt = "100ms", queue = "0.5bdp", loss = "0.5%" }}
            flows = [{flow}]
            "#
        ));
        tables.links[0].utilization
    };
    let (with_siad, with_newreno) = (utilization(&siad("")), utilization(&siad("").replace("siad", "newreno")));
    assert!(with_siad > 0.8, "{with_siad}");
    assert!((0.12..0.18).contains(&with_newreno), "{with_newreno}");
}

#[test]
fn every_echo_of_marks_is_a_regular_decrease_and_begins_an_epoch() {
    // A queue that marks from 41 packets on keeps marking while it drains, so that a second echo follows the first:
    // case 0.
    let flow = siad("").replace("cc =", "transport = { ecn = true }, cc =");
    let tables = dumbbell(60, 10.0, r#"{ limit = "200p", mark_above = "41p" }"#, &flow);
    let (echoes, recoveries) = (events(&tables, EventKind::Ecn), events(&tables, EventKind::Recovered));
    assert!(echoes.len() > 20 && echoes.len() - recoveries.len() <= 1, "{} {}", echoes.len(), recoveries.len());
    assert_eq!(probed(&tables, "events").last().map(|p| p.1), Some(echoes.len() as f64));
    assert_eq!((tables.links[0].dropped_packets, loss_events(&tables).len()), (0, 0));
}

#[test]
fn smoothed_round_trip_times_will_do() {
    for bdp in [0.3, 0.5, 1.0] {
        let flow = siad("rtt_source = \"smoothed\"");
        let tables = dumbbell(120, 10.0, &format!("\"{bdp}bdp\""), &flow);
        assert!(tables.links[0].utilization > 0.98, "{} with {bdp} BDP", tables.links[0].utilization);
    }
}

/// The base RTT in ms that a flow with `margin` has found at 59 s, after a start at `start` ms, and the regular
/// decreases from 60 s until it knows the next one within 5 ms. The path goes from 100 to 40 ms at 30 s, and to 140 ms
/// at 60 s.
fn after_steps(margin: u32, start: u32) -> (f64, f64) {
    let tables = run(&format!(
        r#"
        duration = "90s"
        profile = "linux-3.5"
        phase_noise = false
        path = {{ rate = "10mbit", rtt = [["0s", "100ms"], ["30s", "40ms"], ["60s", "140ms"]], queue = "42p" }}
        flows = [{{ cc = "siad", parameters = {{ margin = {margin} }}, start = "{start}ms" }}]
        record = {{ flow_series = "off", probes = "10ms", link_series = "off" }}
        "#
    ));
    let (base, decreases) = (probed(&tables, "rtt_min_ms"), probed(&tables, "events"));
    let index = |time: f64| base.partition_point(|sample| sample.0 < time);
    let learnt =
        (index(60.0)..base.len()).find(|&i| (base[i].1 - 141.0).abs() <= 5.0).expect("the longer path is noticed");
    (base[index(59.0)].1, decreases[learnt].1 - decreases[index(60.0)].1)
}

#[test]
fn a_longer_path_is_known_after_one_decrease() {
    for margin in [1, 2] {
        assert_eq!(after_steps(margin, 0).1, 1.0, "margin {margin}");
    }
}

#[test]
fn of_a_shorter_path_a_margin_of_one_may_keep_a_standing_queue_and_a_margin_of_two_does_not() {
    // 40 ms, 1.2 of transmission and as much again that the first of two segments waits for the second: 42 ms, and the
    // tick.
    let starts = [0, 100, 200, 300, 400, 500, 600, 700, 800];
    let stale = |margin| starts.iter().filter(|&&start| after_steps(margin, start).0 > 45.0).count();
    assert_eq!(stale(2), 0);
    let of_nine = stale(1);
    assert!((1..=8).contains(&of_nine), "{of_nine} of {}", starts.len());
}

// Section III.C: the application may change Num_RTT at any time.
#[test]
fn num_rtt_changed_while_the_flow_runs_changes_the_saw_tooth() {
    // 20 round trips from one loss event to the next, and 40 from 100 s on: both fewer than the 42 of one segment each.
    let change = "changes = [{ at = \"100s\", parameters = { num_rtt = 40 } }], cc =";
    let tables = dumbbell(200, 10.0, "\"0.5bdp\"", &siad("num_rtt = 20").replace("cc =", change));
    let period = |from: f64, to: f64| {
        let events: Vec<f64> = loss_events(&tables).into_iter().filter(|time| (from..to).contains(time)).collect();
        median(events.windows(2).map(|pair| pair[1] - pair[0]).collect())
    };
    let ratio = period(110.0, 200.0) / period(20.0, 100.0);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
}
