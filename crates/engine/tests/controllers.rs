//! Controllers from outside the registry: every event reaches them, until they decide what no run can go on with.

use std::sync::{Arc, Mutex};

use control::{Ack, Context, Controller, Loss, Marks, Moment, ParameterError, Parameters, Probe, SegmentReport};
use control::{Subflows, Transmission, TransmitStart, Wants};
use engine::{Conduct, Factory, Failure, controller};
use scenario::Plan;
use units::{Random, Rate, Span, Time};

/// The calls, and the decisions after each.
#[derive(Default)]
struct State {
    calls: Vec<&'static str>,
    window: f64,
}

/// Notes every call. Its window is the shared one.
#[derive(Clone)]
struct Noting(Arc<Mutex<State>>);

impl Noting {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(State { calls: Vec::new(), window: 7.0 })))
    }

    fn note(&self, call: &'static str) {
        self.0.lock().unwrap().calls.push(call);
    }

    fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap().calls)
    }

    fn decide(&self, window: f64) {
        self.0.lock().unwrap().window = window;
    }

    /// The engine's controller around this one, for the flow of a plan.
    fn made(&self, conduct: &Conduct) -> Box<dyn Controller> {
        let noting = self.clone();
        let factory: Factory = Arc::new(move |_, _| Some(Box::new(noting.clone())));
        let made = controller(Some(&factory), &plan().flows[0], &Parameters::new(), conduct);
        made.unwrap_or_else(|failure| panic!("{failure}"))
    }
}

impl Controller for Noting {
    fn wants(&self) -> Wants {
        Wants { sent: true, ..Wants::default() }
    }
    fn join(&mut self, _subflows: &Subflows, _index: usize) {
        self.note("join");
    }
    fn on_start(&mut self, _cx: &mut Context<'_>) {
        self.note("on_start");
    }
    fn on_handshake(&mut self, _cx: &mut Context<'_>, _rtt: Span) {
        self.note("on_handshake");
    }
    fn on_ack(&mut self, _cx: &mut Context<'_>, _ack: &Ack) {
        self.note("on_ack");
    }
    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, _ack: &Ack) {
        self.note("on_duplicate_ack");
    }
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.note("on_loss");
    }
    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        self.note("on_ecn");
    }
    fn keep(&mut self, _window: f64) -> bool {
        self.note("keep");
        true
    }
    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.note("on_recovered");
    }
    fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.note("on_timeout");
    }
    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.note("on_spurious");
    }
    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {
        self.note("on_idle_restart");
    }
    fn on_sent(&mut self, _cx: &mut Context<'_>, _sent: &Transmission) {
        self.note("on_sent");
    }
    fn on_transmit_start(&mut self, _cx: &mut Context<'_>, _start: &TransmitStart) {
        self.note("on_transmit_start");
    }
    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, _segment: &SegmentReport) {
        self.note("on_segment_delivered");
    }
    fn on_segment_lost(&mut self, _cx: &mut Context<'_>, _segment: &SegmentReport) {
        self.note("on_segment_lost");
    }
    fn poll_timeout(&self) -> Option<Time> {
        Some(Time::from_nanos(77))
    }
    fn on_timer(&mut self, _cx: &mut Context<'_>) {
        self.note("on_timer");
    }
    fn set_parameters(&mut self, given: &Parameters) -> Result<(), ParameterError> {
        self.note("set_parameters");
        if given.is_empty() { Ok(()) } else { Err(ParameterError("no".to_owned())) }
    }
    fn window(&self) -> f64 {
        self.0.lock().unwrap().window
    }
    fn slow_start_threshold(&self) -> f64 {
        self.window() + 2.0
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(8_000))
    }
    fn send_quantum(&self) -> u32 {
        5
    }
    fn probe(&self, out: &mut dyn Probe) {
        out.value("noted", 1.5);
    }
}

fn plan() -> Plan {
    let path = "path = { rate = '10mbit', rtt = '20ms', queue = '9p' }";
    let text =
        format!("duration = '1s'\n{path}\nflows = [{{ name = 'own', cc = 'mine', parameters = {{ alpha = 1 }} }}]");
    scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
}

/// Every event once, in the order of [`EVENTS`].
fn all_events(controller: &mut dyn Controller) {
    let random = &mut Random::stream(1, "flow", 0);
    let cx = &mut Context { moment: Moment::EMPTY, random };
    controller.join(&Subflows::new(2), 0);
    controller.on_start(cx);
    controller.on_handshake(cx, Span::from_millis(9));
    controller.on_ack(cx, &Ack::EMPTY);
    controller.on_duplicate_ack(cx, &Ack::EMPTY);
    controller.on_loss(cx, &Loss::EMPTY);
    controller.on_ecn(cx, &Marks::EMPTY);
    controller.keep(3.0);
    controller.on_recovered(cx);
    controller.on_timeout(cx, &Loss::EMPTY);
    controller.on_spurious(cx);
    controller.on_idle_restart(cx);
    controller.on_sent(cx, &Transmission::EMPTY);
    controller.on_transmit_start(cx, &TransmitStart { idle: Span::ZERO, application_limited: false });
    controller.on_segment_delivered(cx, &SegmentReport::EMPTY);
    controller.on_segment_lost(cx, &SegmentReport::EMPTY);
    controller.on_timer(cx);
    let _ = controller.set_parameters(&Parameters::new());
}

const EVENTS: [&str; 18] = [
    "join",
    "on_start",
    "on_handshake",
    "on_ack",
    "on_duplicate_ack",
    "on_loss",
    "on_ecn",
    "keep",
    "on_recovered",
    "on_timeout",
    "on_spurious",
    "on_idle_restart",
    "on_sent",
    "on_transmit_start",
    "on_segment_delivered",
    "on_segment_lost",
    "on_timer",
    "set_parameters",
];

fn decisions(controller: &dyn Controller) -> (f64, f64, Option<u64>, u32) {
    let rate = controller.pacing_rate().map(|rate| rate.bits_per_second());
    (controller.window(), controller.slow_start_threshold(), rate, controller.send_quantum())
}

#[test]
fn every_event_reaches_the_controller_and_its_decisions_are_taken() {
    let (noting, conduct) = (Noting::new(), Conduct::default());
    let mut made = noting.made(&conduct);
    assert_eq!(decisions(made.as_ref()), (7.0, 9.0, Some(8_000), 5), "as it is made");
    all_events(made.as_mut());
    assert_eq!(noting.calls(), EVENTS);
    assert!(made.wants().sent && made.keep(1.0));
    assert_eq!(made.poll_timeout(), Some(Time::from_nanos(77)));
    // Decisions count from the next event on.
    noting.decide(11.5);
    assert_eq!(made.window(), 7.0);
    made.on_recovered(&mut Context { moment: Moment::EMPTY, random: &mut Random::stream(1, "flow", 0) });
    assert_eq!(decisions(made.as_ref()), (11.5, 13.5, Some(8_000), 5));
    let mut shown = Shown(Vec::new());
    made.probe(&mut shown);
    assert_eq!((shown.0, conduct.is_broken()), (vec![("noted", 1.5)], false));
}

/// Internal values.
struct Shown(Vec<(&'static str, f64)>);

impl Probe for Shown {
    fn value(&mut self, name: &'static str, value: f64) {
        self.0.push((name, value));
    }
}

#[test]
fn after_a_breach_a_controller_gets_no_event_and_keeps_its_last_lawful_decisions() {
    let (noting, conduct) = (Noting::new(), Conduct::default());
    let mut made = noting.made(&conduct);
    noting.decide(-1.0);
    all_events(made.as_mut());
    assert_eq!(noting.calls(), ["join"], "the first event after which the window is negative");
    assert_eq!(decisions(made.as_ref()), (7.0, 9.0, Some(8_000), 5));
    assert_eq!((made.poll_timeout(), made.keep(1.0)), (None, false));
    let sentence = "flow `own`: `mine`: after join the window is -1: \
                    allowed is a number of segments from 0 to 10000000";
    assert_eq!(conduct.breach(), Some(sentence));
    // One that is never lawful has a window of one segment.
    let (noting, conduct) = (Noting::new(), Conduct::default());
    noting.decide(f64::NAN);
    let made = noting.made(&conduct);
    assert_eq!(decisions(made.as_ref()), (1.0, f64::INFINITY, None, 1));
    assert!(conduct.breach().is_some_and(|sentence| sentence.contains("after it is made the window is NaN")));
}

#[test]
fn parameters_that_a_controller_refuses_are_refused() {
    let mut made = Noting::new().made(&Conduct::default());
    let given = &plan().flows[0].given;
    assert_eq!(made.set_parameters(given).map_err(|error| error.0), Err("no".to_owned()));
    assert!(made.set_parameters(&Parameters::new()).is_ok());
}

#[test]
fn a_breach_of_a_flow_is_noted_with_its_name() {
    let conduct = Conduct::default();
    conduct.note(&plan().flows[0], Ok(()));
    assert!(!conduct.is_broken());
    conduct.note(&plan().flows[0], control::law::window(f64::INFINITY).map(|_| ()));
    assert_eq!(
        conduct.breach(),
        Some("flow `own`: the window is inf: allowed is a number of segments from 0 to 10000000")
    );
}

#[test]
fn the_registry_makes_what_the_factory_does_not() {
    let factory: Factory = Arc::new(|_, _| None);
    let mut plan = plan();
    let made = controller(Some(&factory), &plan.flows[0], &Parameters::new(), &Conduct::default());
    assert!(matches!(made.map(|_| ()), Err(Failure::Controller(why)) if why.starts_with("flow `own`: ")));
    let text = "duration = '1s'\npath = { rate = '10mbit', rtt = '20ms', queue = '9p' }\nflows = [{ cc = 'newreno' }]";
    plan = scenario::from_toml(text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    let made = controller(None, &plan.flows[0], &Parameters::new(), &Conduct::default());
    assert!(made.is_ok_and(|made| made.window() >= 1.0));
}
