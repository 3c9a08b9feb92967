//! Tests of `start.rs`.

use std::sync::{Arc, Mutex};

use super::*;
use crate::SentState;
use crate::registry::build;
use crate::testing::{World, ack, loss, probed, rtt, starting};

fn started(cc: &str, text: &str) -> (Box<dyn Controller>, World) {
    let mut world = World::new();
    let mut controller = build(cc, &serde_json::from_str(text).unwrap()).unwrap();
    controller.on_start(&mut world.context());
    (controller, world)
}

/// Segments up to `to` delivered, of which `newly` by this ACK.
fn acked(newly: u32, to: u64) -> Ack {
    Ack {
        rtt: rtt(40),
        newly_acknowledged: newly,
        newly_delivered: newly,
        delivered: to,
        acknowledged_to: to,
        sent_to: to + 40,
        ..ack()
    }
}

#[test]
fn the_growth_of_slow_start_is_that_of_the_method_and_then_that_of_the_controller() {
    for (method, window) in [("classic", 20.0), ("limited", 15.0), ("hystart++", 18.0), ("rapid-start", 30.0)] {
        let text = format!(r#"{{"slow_start": "{method}", "limited_above": 9}}"#);
        let (mut controller, mut world) = started("cubic", &text);
        // Above 9 segments K = int(10 / 4.5) = 2; HyStart++ counts eight of an ACK.
        controller.on_ack(&mut world.context(), &acked(10, 10));
        assert_eq!(controller.window(), window, "{method}");
        controller.on_loss(&mut world.context(), &loss());
        let after = controller.window();
        controller.on_ack(&mut world.context(), &Ack { window_limited: false, ..acked(10, 20) });
        assert!(method == "rapid-start" || controller.window() == after, "{method}");
    }
}

#[test]
fn an_unused_window_does_not_grow_and_a_timeout_doubles_up_to_the_threshold() {
    let (mut controller, mut world) = started("newreno", r#"{"slow_start": "rapid-start"}"#);
    controller.on_ack(&mut world.context(), &Ack { window_limited: false, ..acked(10, 10) });
    assert_eq!(controller.window(), 10.0);
    controller.on_timeout(&mut world.context(), &loss());
    controller.on_ack(&mut world.context(), &acked(2, 12));
    assert_eq!((controller.window(), controller.slow_start_threshold()), (3.0, 5.0));
    controller.on_ack(&mut world.context(), &acked(4, 16));
    assert_eq!(controller.window(), 5.0);
}

#[test]
fn what_a_mark_leaves_is_up_to_the_controller_but_not_in_a_retreat() {
    let marks = Marks { in_flight: 20, acknowledged_to: 10, sent_to: 60, at: units::Time::ZERO };
    for (method, left) in [("classic", 16.0), ("rapid-start", 0.0)] {
        let (mut controller, mut world) = started("newreno", &format!(r#"{{"slow_start": "{method}"}}"#));
        controller.on_ack(&mut world.context(), &acked(10, 10));
        controller.on_ecn(&mut world.context(), &marks);
        let before = controller.window();
        assert!(controller.keep(16.0));
        assert_eq!(controller.window(), if left > 0.0 { left } else { before }, "{method}");
    }
    let (mut siad, _) = started("siad", "{}");
    assert!(!siad.keep(16.0));
}

#[test]
fn rapid_start_lands_by_what_its_first_recovery_shows() {
    let (mut controller, mut world) = started("newreno", r#"{"slow_start": "rapid-start"}"#);
    (1..=2).for_each(|n| controller.on_ack(&mut world.context(), &acked(10, 10 * n)));
    // 50 segments, of which 60 were sent in all; 5/6 of them, less 5/6 for the one that is lost.
    let mut lost = loss();
    lost.sent_to = 60;
    controller.on_loss(&mut world.context(), &lost);
    assert!((controller.window() - 245.0 / 6.0).abs() < 1e-9, "{}", controller.window());
    // 15 delivered and 3 lost: 5 and 2.5 less.
    controller.on_duplicate_ack(&mut world.context(), &Ack { newly_lost: 3, ..acked(15, 20) });
    assert!((controller.window() - 200.0 / 6.0).abs() < 1e-9, "{}", controller.window());
    // The end of recovery: 14 delivered take 14/3. Afterwards it is NewReno.
    controller.on_ack(&mut world.context(), &acked(14, 60));
    let landed = 172.0 / 6.0;
    assert!((controller.window() - landed).abs() < 1e-9, "{}", controller.window());
    controller.on_ack(&mut world.context(), &acked(1, 61));
    assert!((controller.window() - landed - 1.0 / landed).abs() < 1e-9);
}

#[test]
fn the_initial_window_is_paced_over_the_handshake_until_it_is_delivered() {
    let (mut controller, mut world) = started("cubic", r#"{"initial_pacing": true}"#);
    assert_eq!(controller.pacing_rate(), None);
    controller.on_handshake(&mut world.context(), Span::from_millis(100));
    // Ten of 1448 bytes in 100 ms.
    assert_eq!(controller.pacing_rate(), Some(Rate::from_bits_per_second(1_158_400)));
    controller.on_ack(&mut world.context(), &acked(9, 9));
    assert!(controller.pacing_rate().is_some());
    controller.on_ack(&mut world.context(), &acked(1, 10));
    assert_eq!(controller.pacing_rate(), None);
    assert_eq!(controller.window(), 20.0);
}

#[test]
fn without_a_handshake_or_where_it_is_switched_off_the_initial_window_is_not_paced() {
    for (text, millis) in [(r#"{"initial_pacing": true}"#, 0), (r#"{"slow_start": "classic"}"#, 100)] {
        let (mut controller, mut world) = started("newreno", text);
        controller.on_handshake(&mut world.context(), Span::from_millis(millis));
        assert_eq!(controller.pacing_rate(), None, "{text}");
    }
}

#[test]
fn hystart_ends_slow_start_under_newreno_as_under_cubic() {
    let (mut controller, mut world) = started("newreno", r#"{"slow_start": "hystart"}"#);
    (1..=2).for_each(|n| controller.on_ack(&mut world.context(), &Ack { rtt: None, ..acked(10, 10 * n) }));
    // On a path of 40 ms 46 are too long. Eight samples, and the ninth ends it.
    for n in 1..=9 {
        assert!(controller.slow_start_threshold().is_infinite());
        world.pass(Span::from_millis(5));
        controller.on_ack(&mut world.context(), &Ack { rtt: rtt(46), ..acked(1, 20 + n) });
    }
    assert_eq!((controller.window(), controller.slow_start_threshold()), (39.0, 39.0));
}

#[test]
fn in_the_retreat_of_careful_resume_duplicate_acks_count_for_what_the_path_held() {
    let text = r#"{"slow_start": "careful-resume", "saved_window": 200, "saved_rtt": "40ms"}"#;
    let (mut controller, mut world) = started("newreno", text);
    controller.on_ack(&mut world.context(), &acked(10, 10));
    assert_eq!(controller.window(), 100.0);
    controller.on_ack(&mut world.context(), &acked(20, 30));
    // Ten before the jump and twenty: half of them.
    controller.on_loss(&mut world.context(), &Loss { sent_to: 130, ..loss() });
    assert_eq!(controller.window(), 15.0);
    controller.on_duplicate_ack(&mut world.context(), &acked(30, 30));
    assert_eq!(controller.window(), 15.0);
    controller.on_ack(&mut world.context(), &acked(10, 130));
    assert_eq!(controller.slow_start_threshold(), 70.0);
}

#[test]
fn another_start_shows_window_and_threshold_of_the_controller_inside() {
    let (mut controller, mut world) = started("newreno", r#"{"slow_start": "classic"}"#);
    controller.on_loss(&mut world.context(), &loss());
    assert_eq!(controller.reno().copied(), Some(Reno { window: 5.0, threshold: 5.0 }));
}

/// A controller that records its calls.
struct Inside {
    reno: Reno,
    calls: Arc<Mutex<Vec<&'static str>>>,
}

impl Inside {
    fn note(&self, call: &'static str) {
        self.calls.lock().unwrap().push(call);
    }
}

impl Controller for Inside {
    fn wants(&self) -> Wants {
        Wants { timer: true, ..Wants::default() }
    }

    fn join(&mut self, _: &Subflows, _: usize) {
        self.note("join");
    }

    fn on_start(&mut self, _: &mut Context<'_>) {
        self.note("start");
    }

    fn on_handshake(&mut self, _: &mut Context<'_>, _: Span) {
        self.note("handshake");
    }

    fn on_ack(&mut self, _: &mut Context<'_>, _: &Ack) {
        self.note("ack");
    }

    fn on_duplicate_ack(&mut self, _: &mut Context<'_>, _: &Ack) {
        self.note("duplicate");
    }

    fn on_loss(&mut self, _: &mut Context<'_>, _: &Loss) {
        self.note("loss");
    }

    fn on_ecn(&mut self, _: &mut Context<'_>, _: &Marks) {
        self.note("mark");
    }

    fn keep(&mut self, window: f64) -> bool {
        self.note("keep");
        window > 7.0
    }

    fn on_recovered(&mut self, _: &mut Context<'_>) {
        self.note("recovered");
    }

    fn on_timeout(&mut self, _: &mut Context<'_>, _: &Loss) {
        self.note("timeout");
    }

    fn on_spurious(&mut self, _: &mut Context<'_>) {
        self.note("spurious");
    }

    fn on_idle_restart(&mut self, _: &mut Context<'_>) {
        self.note("idle");
    }

    fn on_sent(&mut self, _: &mut Context<'_>, _: &Transmission) {
        self.note("sent");
    }

    fn on_transmit_start(&mut self, _: &mut Context<'_>, _: &TransmitStart) {
        self.note("transmit");
    }

    fn on_segment_delivered(&mut self, _: &mut Context<'_>, _: &SegmentReport) {
        self.note("delivered");
    }

    fn on_segment_lost(&mut self, _: &mut Context<'_>, _: &SegmentReport) {
        self.note("lost");
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(Time::from_nanos(7))
    }

    fn on_timer(&mut self, _: &mut Context<'_>) {
        self.note("timer");
    }

    fn set_parameters(&mut self, _: &Parameters) -> Result<(), ParameterError> {
        self.note("parameters");
        Err(ParameterError("no".to_owned()))
    }

    fn window(&self) -> f64 {
        self.reno.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.reno.threshold
    }

    fn reno(&mut self) -> Option<&mut Reno> {
        Some(&mut self.reno)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_mbit(3))
    }

    fn send_quantum(&self) -> u32 {
        5
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("inner", 9.0);
    }
}

#[test]
fn every_event_and_question_reaches_the_controller_inside() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let inside = Inside { reno: Reno { window: 8.0, threshold: 6.0 }, calls: calls.clone() };
    let settings = Settings::read(&Parameters::from([("slow_start".to_owned(), "classic".into())])).unwrap();
    let mut start = Start::new(settings, Box::new(inside));
    let mut world = World::new();
    let cx = &mut world.context();
    let marks = Marks { in_flight: 8, acknowledged_to: 0, sent_to: 8, at: Time::ZERO };
    let sent = SentState { at: Time::ZERO, delivered: 0, lost: 0, marked: 0, in_flight: 1, application_limited: false };
    let report = SegmentReport { sequence: 0, sent, ..SegmentReport::EMPTY };
    start.join(&Subflows::new(1), 0);
    start.on_start(cx);
    start.on_handshake(cx, Span::from_millis(40));
    start.on_transmit_start(cx, &starting(Span::ZERO));
    let transmission = Transmission { sequence: 0, retransmission: false, in_flight: 1, application_limited: false };
    start.on_sent(cx, &transmission);
    start.on_segment_delivered(cx, &report);
    start.on_ack(cx, &ack());
    start.on_duplicate_ack(cx, &ack());
    start.on_segment_lost(cx, &report);
    start.on_loss(cx, &loss());
    start.on_recovered(cx);
    start.on_ecn(cx, &marks);
    assert!(start.keep(8.0) && !start.keep(6.0));
    start.on_timeout(cx, &loss());
    start.on_spurious(cx);
    start.on_idle_restart(cx);
    start.on_timer(cx);
    assert_eq!(start.set_parameters(&Parameters::new()).unwrap_err().to_string(), "no");
    let expected = "join start handshake transmit sent delivered ack duplicate lost loss recovered mark keep keep \
        timeout spurious idle timer parameters";
    assert_eq!(calls.lock().unwrap().join(" "), expected);
    assert_eq!((start.window(), start.slow_start_threshold(), start.send_quantum()), (8.0, 6.0, 5));
    assert_eq!((start.pacing_rate(), start.poll_timeout()), (Some(Rate::from_mbit(3)), Some(Time::from_nanos(7))));
    assert_eq!(start.wants(), Wants { timer: true, ..Wants::default() });
    assert_eq!(probed(&start, "inner"), 9.0);
}

#[test]
fn without_a_limit_hystart_plus_plus_counts_all_of_an_ack() {
    let (mut controller, mut world) = started("newreno", r#"{"slow_start": "hystart++", "ack_limit": 0}"#);
    controller.on_ack(&mut world.context(), &acked(10, 10));
    assert_eq!(controller.window(), 20.0);
}

#[test]
fn cubic_keeps_its_hystart_unless_another_start_takes_its_place() {
    for (text, ends) in [("{}", true), (r#"{"initial_pacing": true}"#, true), (r#"{"slow_start": "classic"}"#, false)] {
        let (mut controller, mut world) = started("cubic", text);
        (1..=2).for_each(|n| controller.on_ack(&mut world.context(), &Ack { rtt: None, ..acked(10, 10 * n) }));
        for n in 1..=9 {
            world.pass(Span::from_millis(5));
            controller.on_ack(&mut world.context(), &Ack { rtt: rtt(46), ..acked(1, 20 + n) });
        }
        assert_eq!(controller.slow_start_threshold().is_finite(), ends, "{text}");
    }
}
