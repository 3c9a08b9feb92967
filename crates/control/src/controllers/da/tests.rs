//! The Delay Algorithm on single events, with numbers worked out by hand.

use super::*;
use crate::RttSample;
use crate::testing::{World, ack, loss, probed, rtt};

/// A path with one packet every 10 ms at the bottleneck and 221.44 ms without queue (section 4.1).
const BASE: Span = Span::from_micros(221_440);
const SERVICE: Span = Span::from_millis(10);

fn delay(value: Span) -> Option<RttSample> {
    Some(RttSample { value, delayed: false })
}

/// A DA whose heads of window are acknowledged one by one.
struct Flow {
    da: Da,
    world: World,
    sent: u64,
}

impl Flow {
    fn new(settings: Settings) -> Self {
        let mut flow = Self { da: Da::new(settings), world: World::new(), sent: 100 };
        flow.world.connection.initial_window = 1.0;
        flow.da.on_start(&mut flow.world.context());
        flow
    }

    /// In avoidance at `window` with a reference of `millis`, the first head just sent and its epoch decided on.
    fn cruising(settings: Settings, window: f64, millis: u64) -> Self {
        let mut flow = Self::new(settings);
        flow.da.reno.window = window;
        flow.da.reference.observe(Span::from_millis(millis));
        flow.da.enter_avoidance(&Ack { sent_to: flow.sent, ..ack() });
        flow.da.settling = false;
        flow
    }

    /// The head of window comes back after `value`. Returns the window then.
    fn head(&mut self, value: Span) -> f64 {
        let acknowledged_to = self.sent + 1;
        self.sent += 50;
        let ack = Ack { rtt: delay(value), acknowledged_to, sent_to: self.sent, ..ack() };
        self.da.on_ack(&mut self.world.context(), &ack);
        self.da.window()
    }

    fn head_ms(&mut self, millis: u64) -> f64 {
        self.head(Span::from_millis(millis))
    }

    /// One decision: the head that settles and the one that counts, both of `millis`.
    fn epochs(&mut self, millis: u64) -> f64 {
        self.da.settling = true;
        self.head_ms(millis);
        self.head_ms(millis)
    }

    /// An ACK in slow start.
    fn ack(&mut self, value: Span) {
        self.da.on_ack(&mut self.world.context(), &Ack { rtt: delay(value), sent_to: self.sent, ..ack() });
    }

    fn phase(&self) -> f64 {
        probed(&self.da, "phase")
    }
}

/// Slow start from one on the path of section 4.1: the ACK of a packet lets two leave back to back, of which the second
/// queues for one service more than the first.
fn slow_start(settings: Settings) -> Flow {
    let mut flow = Flow::new(settings);
    for round in 0.. {
        // In the round trip that begins with 2^r packets, the n-th pair meets a queue of n packets before its second.
        let packets = 1 << round;
        for n in 0..packets {
            if flow.phase() == 2.0 {
                return flow;
            }
            flow.ack(BASE + SERVICE * u64::div_ceil(n, 2));
        }
    }
    unreachable!("slow start ends")
}

#[test]
fn slow_start_ends_at_a_window_of_thirteen() {
    // The second packet of a pair takes 10 ms longer than the first. In the round trip of eight to sixteen packets
    // such ACKs come at W = 9, 11, 13, ...: `NDG = 10 W/D` is `90/231.44 = 0.389`, `110/241.44 = 0.456` and
    // `130/251.44 = 0.517`.
    let flow = slow_start(Settings::default());
    assert_eq!(flow.da.window(), 13.0);
    assert!((probed(&flow.da, "ndg") - 0.517).abs() < 0.0005);
    assert_eq!(flow.da.reference.delay(), Some(BASE));
}

#[test]
fn the_printed_sign_ends_slow_start_at_two() {
    let flow = slow_start(Settings { ndg_sign: NdgSign::Below, ..Settings::default() });
    assert_eq!(flow.da.window(), 2.0);
    assert_eq!(probed(&flow.da, "ndg"), 0.0);
}

#[test]
fn an_ack_that_counts_two_segments_halves_the_gradient() {
    // dW = 2: (10/2) * 20/250 = 0.4.
    let mut flow = Flow::new(Settings::default());
    flow.da.reno.window = 20.0;
    flow.ack(Span::from_millis(240));
    flow.da.reno.window = 20.0;
    let two = Ack { rtt: rtt(250), newly_delivered: 2, ..ack() };
    flow.da.on_ack(&mut flow.world.context(), &two);
    assert!((probed(&flow.da, "ndg") - 0.4).abs() < 1e-9);
    assert_eq!((flow.da.window(), flow.phase()), (22.0, 1.0));
}

#[test]
fn acks_without_delay_grow_the_window_and_interrupt_the_gradient() {
    let mut flow = Flow::new(Settings::default());
    flow.da.reno.window = 30.0;
    flow.ack(Span::from_millis(230));
    flow.da.on_ack(&mut flow.world.context(), &ack());
    flow.ack(Span::from_millis(250));
    assert_eq!((flow.da.window(), flow.phase()), (33.0, 1.0));
}

#[test]
fn slow_start_ends_at_the_largest_window() {
    let mut flow = Flow::new(Settings { max_window: 4, ..Settings::default() });
    for _ in 0..5 {
        flow.ack(BASE);
    }
    assert_eq!((flow.da.window(), flow.phase()), (4.0, 2.0));
}

#[test]
fn each_case_of_d3() {
    // Reference 200 ms, K = 1.25. Above 250 ms: 20 * 200/320 = 12.5; up to it, and not equal to the reference: hold;
    // at the reference, and below it: + 1. A queue of half a packet, 20 (1 - 200/205.128), counts as none.
    for (micros, window) in [
        (320_000, 12.5),
        (250_000, 20.0),
        (230_000, 20.0),
        (205_129, 20.0),
        (205_128, 21.0),
        (200_000, 21.0),
        (190_000, 21.0),
    ] {
        let mut flow = Flow::cruising(Settings::default(), 20.0, 200);
        assert_eq!(flow.head(Span::from_micros(micros)), window, "{micros} us");
    }
}

#[test]
fn the_queue_that_counts_as_none_is_a_parameter() {
    // 205 ms: 20 (1 - 200/205) = 0.488 packets.
    for (empty_queue, window) in [(0.0, 20.0), (0.4, 20.0), (0.5, 21.0)] {
        let mut flow = Flow::cruising(Settings { empty_queue, ..Settings::default() }, 20.0, 200);
        assert_eq!(flow.head_ms(205), window, "{empty_queue}");
    }
}

#[test]
fn a_shorter_delay_is_the_next_reference() {
    let mut flow = Flow::cruising(Settings::default(), 20.0, 200);
    flow.head_ms(190);
    assert_eq!(probed(&flow.da, "reference_delay_ms"), 190.0);
    // Above 1.25 * 190 = 237.5: 21 * 190/240.
    assert_eq!(flow.epochs(240), 16.625);
}

#[test]
fn every_second_epoch_decides_and_the_other_only_lowers_the_reference() {
    let mut flow = Flow::cruising(Settings::default(), 20.0, 200);
    let windows = [200, 400, 200, 180, 300].map(|millis| flow.head_ms(millis));
    // The head of 400 ms left before the window grew, and so did the head of 180. 22 * 180/300 = 13.2.
    assert_eq!(windows[..4], [21.0, 21.0, 22.0, 22.0]);
    assert!((windows[4] - 13.2).abs() < 1e-12, "{}", windows[4]);
}

#[test]
fn with_an_update_every_epoch_each_head_decides() {
    let settings = Settings { update_epochs: UpdateEpochs::Every, ..Settings::default() };
    let mut flow = Flow::cruising(settings, 20.0, 200);
    assert_eq!([200, 300, 200].map(|millis| flow.head_ms(millis)), [21.0, 14.0, 15.0]);
}

#[test]
fn interleaved_windows_take_turns() {
    let settings = Settings { update_epochs: UpdateEpochs::Interleaved, ..Settings::default() };
    let mut flow = Flow::cruising(settings, 20.0, 200);
    // W^0 = W^1 = 20. D = 200: W^2 = W^0 + 1. D = 400: W^3 = W^1/2. D = 200: W^4 = W^2 + 1. D = 200: W^5 = W^3 + 1.
    assert_eq!([200, 400, 200, 200].map(|millis| flow.head_ms(millis)), [21.0, 10.0, 22.0, 11.0]);
}

#[test]
fn only_the_head_of_window_counts_in_avoidance() {
    // The head is packet 100: 100 acknowledges the one before it.
    let mut flow = Flow::cruising(Settings::default(), 20.0, 200);
    for _ in 0..10 {
        let other = Ack { rtt: rtt(150), acknowledged_to: 100, sent_to: flow.sent, ..ack() };
        flow.da.on_ack(&mut flow.world.context(), &other);
    }
    assert_eq!(flow.da.window(), 20.0);
    assert_eq!(probed(&flow.da, "reference_delay_ms"), 200.0);
}

#[test]
fn a_window_never_falls_below_one_nor_grows_beyond_the_largest() {
    let mut flow = Flow::cruising(Settings::default(), 1.2, 200);
    assert_eq!(flow.head_ms(2000), 1.0);
    let mut flow = Flow::cruising(Settings { max_window: 32, ..Settings::default() }, 31.5, 200);
    assert_eq!([flow.epochs(200), flow.epochs(200)], [32.0, 32.0]);
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut flow = Flow::cruising(Settings::default(), 20.0, 200);
    let unused = Ack { rtt: rtt(200), acknowledged_to: 101, sent_to: 150, window_limited: false, ..ack() };
    flow.da.on_ack(&mut flow.world.context(), &unused);
    assert_eq!(flow.da.window(), 20.0);
}

#[test]
fn minimal_buffering_is_added_to_what_a_decrease_computes() {
    let settings = Settings { min_buffer: 2.0, ..Settings::default() };
    // 20 * 200/320 + 2.
    assert_eq!(Flow::cruising(settings, 20.0, 200).head_ms(320), 14.5);
    assert_eq!(Flow::cruising(settings, 20.0, 200).head_ms(240), 20.0);
    assert_eq!(Flow::cruising(settings, 20.0, 200).head_ms(200), 21.0);
}

#[test]
fn an_optimistic_window_grows_while_the_delay_is_stable() {
    let mut flow = Flow::cruising(Settings { optimistic: true, ..Settings::default() }, 20.0, 200);
    assert_eq!(flow.epochs(250), 21.0);
    // 21 * 200/280.
    assert_eq!(flow.epochs(280), 15.0);
}

#[test]
fn the_reference_is_replaced_at_the_fourth_reduction_in_a_row() {
    let mut flow = Flow::cruising(Settings { max_reduce: 4, ..Settings::default() }, 64.0, 100);
    // Each halves: also the fourth, whose delay then is the reference.
    for (window, reductions, reference) in
        [(32.0, 1.0, 100.0), (16.0, 2.0, 100.0), (8.0, 3.0, 100.0), (4.0, 0.0, 200.0)]
    {
        assert_eq!(flow.epochs(200), window);
        assert_eq!(probed(&flow.da, "reductions"), reductions);
        assert_eq!(probed(&flow.da, "reference_delay_ms"), reference);
    }
    assert_eq!(probed(&flow.da, "reference_renewals"), 1.0);
    assert_eq!(flow.epochs(200), 5.0);
    assert_eq!(probed(&flow.da, "decreases"), 4.0);
}

#[test]
fn a_hold_between_reductions_starts_the_count_anew() {
    let mut flow = Flow::cruising(Settings { max_reduce: 4, ..Settings::default() }, 64.0, 100);
    for millis in [200, 200, 200, 120, 200, 200, 200] {
        flow.epochs(millis);
    }
    assert_eq!(probed(&flow.da, "reductions"), 3.0);
    assert_eq!(probed(&flow.da, "reference_delay_ms"), 100.0);
}

#[test]
fn without_max_reduce_the_reference_stays() {
    let mut flow = Flow::cruising(Settings::default(), 64.0, 100);
    for _ in 0..10 {
        flow.epochs(200);
    }
    assert_eq!((flow.da.window(), probed(&flow.da, "reductions")), (1.0, 10.0));
    assert_eq!(probed(&flow.da, "reference_delay_ms"), 100.0);
}

#[test]
fn a_reference_of_the_last_delays_drifts_upward() {
    let settings = Settings {
        reference: ReferenceRule::Last,
        last_m: 2,
        update_epochs: UpdateEpochs::Every,
        ..Settings::default()
    };
    let mut flow = Flow::cruising(settings, 20.0, 200);
    // After 210 ms twice the smallest of the last two is 210: the third finds no queue.
    assert_eq!([210, 210, 210].map(|millis| flow.head_ms(millis)), [20.0, 20.0, 21.0]);
}

#[test]
fn a_loss_starts_anew_with_half_the_window_as_threshold_and_keeps_the_reference() {
    let mut flow = Flow::cruising(Settings { max_reduce: 4, ..Settings::default() }, 23.7, 200);
    flow.epochs(300);
    flow.da.reno.window = 23.7;
    flow.da.on_loss(&mut flow.world.context(), &loss());
    assert_eq!((flow.da.window(), flow.da.slow_start_threshold(), flow.phase()), (1.0, 11.0, 1.0));
    assert_eq!((probed(&flow.da, "reductions"), probed(&flow.da, "reductions_total")), (0.0, 2.0));
    assert_eq!(probed(&flow.da, "reference_delay_ms"), 200.0);
    // Ten ACKs without queue lead to the threshold and into avoidance.
    for n in 0..10 {
        assert_eq!(flow.phase(), 1.0, "{n}");
        flow.ack(Span::from_millis(200));
    }
    assert_eq!((flow.da.window(), flow.phase()), (11.0, 2.0));
}

#[test]
fn a_spurious_timeout_returns_to_avoidance() {
    let mut flow = Flow::cruising(Settings::default(), 20.0, 200);
    flow.da.on_timeout(&mut flow.world.context(), &loss());
    flow.da.on_timeout(&mut flow.world.context(), &Loss { again: true, ..loss() });
    assert_eq!((flow.da.window(), flow.da.slow_start_threshold()), (1.0, 2.0));
    flow.da.on_spurious(&mut flow.world.context());
    assert_eq!((flow.da.window(), flow.phase()), (20.0, 2.0));
    // The next ACK names a head. The head after it decides.
    flow.head_ms(200);
    assert_eq!([flow.head_ms(200), flow.head_ms(200)], [20.0, 21.0]);
}

#[test]
fn an_update_that_is_none_is_refused_with_what_is_allowed() {
    for wrong in ["0", "3", "\"1\"", "\"both\"", "1.5", "null"] {
        let given = serde_json::from_str(&format!("{{\"update_epochs\": {wrong}}}")).unwrap();
        let error = ENTRY.build(&given).err().unwrap().to_string();
        assert!(error.ends_with("(allowed: 1, 2 or \"interleaved\")"), "{error}");
    }
    let given = serde_json::from_str(r#"{"update_epochs": "interleaved"}"#).unwrap();
    assert!(ENTRY.build(&given).is_ok());
}
