//! One source: sections 3, 4.1 and 5.1.

use record::EventKind;

use crate::common::{at, events};
use crate::{DA, NETWORK, Network, alone, packets_per_second, probe, windows};

#[test]
fn the_path_is_as_long_as_the_paper_says() {
    for (bottleneck, base) in [("\"100ms\"", 221.44), ("\"50ms\"", 121.44)] {
        let tables = Network { bottleneck, ..NETWORK }.run(("da", DA, "0s"), None);
        assert_eq!(tables.flow_series.columns().latest_rtt_ms[0], base);
        assert_eq!(tables.flow_series.columns().min_rtt_ms.last(), Some(&base));
    }
}

#[test]
fn twenty_two_packets_leave_the_pipe_unfilled_and_twenty_three_fill_it() {
    // `22/0.22144 = 99.35 packets/s`.
    for (window, rate) in [(22, 99.35), (23, 100.0)] {
        let tables = alone("da", &format!("max_window = {window}, empty_queue = 0"));
        assert_eq!(windows(&tables, 0, 20.0).iter().copied().reduce(f64::min), Some(f64::from(window)));
        assert!((packets_per_second(&tables, 0) - rate).abs() < 0.05, "{}", packets_per_second(&tables, 0));
    }
}

#[test]
fn thirty_seven_packets_are_the_largest_window_without_loss() {
    // 22 on the way, one in service, of the pipe's 22.144, and 15 wait: 37 packets in 370 ms.
    for (window, losses) in [(37, false), (38, true)] {
        let tables = alone("jk", &format!("max_window = {window}, initial_threshold = 16"));
        assert_eq!(!events(&tables, EventKind::Drop).is_empty(), losses, "{window}");
        if !losses {
            assert_eq!(tables.flow_series.columns().latest_rtt_ms.last(), Some(&370.0));
            assert_eq!(tables.flow_series.columns().window_segments.last(), Some(&37.0));
        }
    }
}

#[test]
fn da_leaves_slow_start_at_a_window_of_thirteen() {
    let tables = alone("da", DA);
    let (_, phases) = probe(&tables, 0, "phase");
    let exit = phases.iter().position(|&phase| phase == 2.0).unwrap();
    assert_eq!(tables.flow_series.columns().window_segments[exit], 13.0);
    // `10 W/D = 130/251.44`.
    assert!((probe(&tables, 0, "ndg").1[exit] - 0.517).abs() < 0.0005);
    assert!(phases[exit..].iter().all(|&phase| phase == 2.0));
}

#[test]
fn with_the_printed_sign_da_leaves_slow_start_at_two() {
    let tables = alone("da", &format!("{DA}, ndg_sign = \"below\""));
    let (_, phases) = probe(&tables, 0, "phase");
    let exit = phases.iter().position(|&phase| phase == 2.0).unwrap();
    assert_eq!(tables.flow_series.columns().window_segments[exit], 2.0);
}

#[test]
fn da_settles_at_23_packets_and_fills_the_link_without_loss() {
    for k in ["1.125", "1.25"] {
        let tables = alone("da", &format!("{DA}, K = {k}"));
        assert!(windows(&tables, 0, 20.0).iter().all(|&window| window == 23.0), "K = {k}");
        assert!((packets_per_second(&tables, 0) - 100.0).abs() < 0.05);
        assert!(events(&tables, EventKind::Drop).is_empty());
        let row = &tables.flows[0];
        // 23 packets, one each 10 ms.
        assert_eq!((row.rtt_min_ms, row.rtt_max_ms), (230.0, 230.0));
        assert_eq!(at(&tables.flow_series.columns().time_s, &tables.flow_series.columns().latest_rtt_ms, 90.0), 230.0);
    }
}

#[test]
fn the_other_readings_of_d3_settle_higher_or_not_at_all() {
    let whole = |parameters: &str| -> Vec<u64> {
        let tables = alone("da", &format!("{DA}, {parameters}"));
        assert!((packets_per_second(&tables, 0) - 100.0).abs() < 0.05, "{parameters}");
        let mut whole: Vec<u64> = windows(&tables, 0, 40.0).iter().map(|&window| window as u64).collect();
        whole.sort_unstable();
        whole.dedup();
        whole
    };
    assert_eq!(whole("update_epochs = 1"), [24]);
    assert_eq!(whole("update_epochs = \"interleaved\""), [23]);
    // Two windows in turns: one of 26 that takes 260 ms, more than `1.125 * 221.44 = 249.1`, but its cut falls to the
    // other.
    assert_eq!(whole("update_epochs = \"interleaved\", K = 1.125"), [23, 26]);
}

#[test]
fn a_reference_that_forgets_drifts_upward() {
    for (m, seconds, least) in [(4, 20.0, 280.0), (8, 40.0, 280.0), (32, 90.0, 280.0)] {
        let tables = alone("da", &format!("{DA}, reference = \"last\", last_m = {m}"));
        let (times, references) = probe(&tables, 0, "reference_delay_ms");
        assert!(at(&times, &references, seconds) > least, "M = {m}: {}", at(&times, &references, seconds));
    }
    let tables = alone("da", DA);
    assert_eq!(probe(&tables, 0, "reference_delay_ms").1.last(), Some(&221.44));
}

#[test]
fn jk_uses_seven_eighths_of_the_link_and_loses_every_seven_seconds() {
    let tables = NETWORK.run(("jk", "max_window = 64", "0s"), None);
    let losses: Vec<f64> = events(&tables, EventKind::LossEvent).iter().map(|loss| loss.0).skip(2).collect();
    let period = (losses[losses.len() - 1] - losses[0]) / (losses.len() - 1) as f64;
    assert!((period - 7.2).abs() < 0.1, "{period}");
    let rate = packets_per_second(&tables, 0);
    assert!((85.5..88.5).contains(&rate), "{rate}");
    // Half the window at the loss, which is one or two above 37: 18 or 19.
    let thresholds = &tables.flow_series.columns().threshold_segments;
    assert!([18.0, 19.0].contains(thresholds.last().unwrap()));
    let row = &tables.flows[0];
    assert!((370.0..372.0).contains(&row.rtt_max_ms) && (row.rtt_mean_ms - 290.0).abs() < 4.0, "{}", row.rtt_mean_ms);
    assert!(events(&tables, EventKind::Timeout).is_empty());
}
