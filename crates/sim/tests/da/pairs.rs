//! Two sources: sections 4.2 and 5.2.

use record::{EventKind, Tables};

use crate::common::events;
use crate::{NETWORK, Network, packets_per_second, windows};

/// The same controller at A and B, B starting later.
fn pair(network: &Network, cc: &str, parameters: &str, start: &str) -> Tables {
    network.run((cc, parameters, "0s"), Some((cc, parameters, start)))
}

/// The share of A in the packets of both to C.
fn share_of_a(tables: &Tables) -> f64 {
    let [a, b] = [0, 1].map(|flow| packets_per_second(tables, flow));
    a / (a + b)
}

#[test]
fn the_phase_effect_starves_a_or_b_as_the_delay_of_b_has_it() {
    for (b, share) in [("9.8ms", 0.10), ("9.4ms", 0.10), ("3.5ms", 0.92)] {
        for start in ["0s", "1s"] {
            let tables = pair(&Network { b, ..NETWORK }, "jk", "max_window = 32", start);
            assert!((share_of_a(&tables) - share).abs() < 0.01, "{b}, {start}: {}", share_of_a(&tables));
        }
    }
}

#[test]
fn more_buffer_does_not_end_the_phase_effect() {
    for (b, starved) in [("9.8ms", 0), ("3.5ms", 1)] {
        let tables = pair(&Network { b, places: 30, ..NETWORK }, "jk", "max_window = 64", "0s");
        let share = [share_of_a(&tables), 1.0 - share_of_a(&tables)][starved];
        assert!(share < 0.2, "{b}: {share}");
    }
}

#[test]
fn on_equal_paths_a_pair_of_jk_uses_six_sevenths_of_the_link() {
    let tables = pair(&NETWORK, "jk", "max_window = 32, initial_threshold = 16", "0s");
    let used = packets_per_second(&tables, 0) + packets_per_second(&tables, 1);
    assert!((85.0..88.0).contains(&used), "{used}");
    // Four or five losses of each in 20 s.
    let losses = events(&tables, EventKind::LossEvent).iter().filter(|loss| loss.0 >= 20.0).count();
    assert!((32..=40).contains(&losses), "{losses}");
}

#[test]
fn pairs_of_da_fill_the_link_without_loss_and_none_starves() {
    for b in ["3.5ms", "5ms", "9.4ms", "9.8ms"] {
        for k in ["1.125", "1.25"] {
            for start in ["0s", "100ms", "1s", "3s"] {
                let tables =
                    pair(&Network { b, ..NETWORK }, "da", &format!("max_window = 32, empty_queue = 0, K = {k}"), start);
                let place = format!("{b}, K = {k}, {start}");
                assert!(events(&tables, EventKind::Drop).is_empty(), "{place}");
                let used = packets_per_second(&tables, 0) + packets_per_second(&tables, 1);
                assert!((used - 100.0).abs() < 0.1, "{place}: {used}");
                assert!((0.25..0.75).contains(&share_of_a(&tables)), "{place}: {}", share_of_a(&tables));
            }
        }
    }
}

#[test]
fn with_k_of_nine_eighths_the_windows_are_those_of_the_paper() {
    // Section 4.2: A has 9 and 13 packets, B 15 and 10.
    for (b, whole) in [("9.8ms", [9, 15]), ("3.5ms", [13, 10])] {
        let tables = pair(&Network { b, ..NETWORK }, "da", "max_window = 32, empty_queue = 0, K = 1.125", "0s");
        let last = [0, 1].map(|flow| *windows(&tables, flow, 20.0).last().unwrap() as u64);
        assert_eq!(last, whole, "{b}");
    }
}

#[test]
fn minimal_buffering_shares_nearly_equally() {
    for start in ["0s", "100ms", "300ms", "1s", "3s"] {
        let parameters = "max_window = 32, empty_queue = 0, K = 1.125, min_buffer = 2";
        let tables = pair(&Network { b: "9.8ms", ..NETWORK }, "da", parameters, start);
        assert!((0.44..0.56).contains(&share_of_a(&tables)), "{start}: {}", share_of_a(&tables));
        assert!(events(&tables, EventKind::Drop).is_empty());
    }
}
