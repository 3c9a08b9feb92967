//! Congestion that does not reach the sender: equipment that clears the ECN field, and receivers that conceal.

mod common;

use common::run;
use record::Tables;

/// A flow of NewReno with ECN for 10 s behind a queue that marks at 10 packets and holds 40, a quarter more than the
/// path. `path` and `transport` have further keys.
fn marked(path: &str, transport: &str) -> Tables {
    run(&format!(
        r#"
        duration = "10s"
        path = {{ rate = "8mbit", rtt = "40ms", queue = {{ limit = "40p", mark_above = "10p" }}{path} }}
        flows = [{{ cc = "newreno", transport = {{ ecn = true{transport} }} }}]
        "#
    ))
}

/// Marked and dropped packets.
fn counts(tables: &Tables) -> (u64, u64) {
    (tables.links[0].marked_packets, tables.links[0].dropped_packets)
}

#[test]
fn a_sender_that_is_told_of_marks_causes_no_drops() {
    let (marks, drops) = counts(&marked("", ""));
    assert!(marks > 0 && drops == 0, "{marks} marks, {drops} drops");
}

#[test]
fn with_the_field_cleared_before_it_a_queue_drops_in_place_of_marking() {
    let (marks, drops) = counts(&marked(r#", clear_ecn = "before""#, ""));
    assert!(marks == 0 && drops > 0, "{marks} marks, {drops} drops");
}

#[test]
fn with_the_field_cleared_behind_it_a_queue_marks_in_vain() {
    let (marks, drops) = counts(&marked(r#", clear_ecn = "after""#, ""));
    assert!(marks > 0 && drops > 0, "{marks} marks, {drops} drops");
}

#[test]
fn a_receiver_that_conceals_marks_has_the_same_effect() {
    let cleared = counts(&marked(r#", clear_ecn = "after""#, ""));
    assert_eq!(counts(&marked("", r#", conceals = "marks""#)), cleared);
}

#[test]
fn a_receiver_that_conceals_losses_has_a_sender_that_does_not_slow_down() {
    let path = r#", loss = "2%""#;
    let bounded = ", receive_window = 128";
    let (honest, liar) = (marked(path, bounded), marked(path, &format!("{bounded}, conceals = \"losses\"")));
    let (honest, liar) = (&honest.flows[0], &liar.flows[0]);
    assert!(honest.sender.recoveries > 0 && liar.sender.recoveries == 0);
    assert!(liar.throughput_bps > 1.2 * honest.throughput_bps);
    // Goodput counts the bytes that arrived: lost ones never do.
    assert!(liar.goodput_bps < liar.throughput_bps);
}
