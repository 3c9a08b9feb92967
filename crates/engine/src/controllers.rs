//! The controllers of flows, and the law that those from outside the registry are held to.

use std::sync::{Arc, OnceLock};

use control::{Ack, Context, Controller, ControllerRef, Loss, Marks, ParameterError, Parameters, Probe, SegmentReport};
use control::{Subflows, Transmission, TransmitStart, Wants, law};
use scenario::PlannedFlow;
use units::{Rate, Span, Time};

use crate::Failure;

/// Makes the controllers that the registry does not know: asked for each flow, with its parameters.
pub type Factory = Arc<dyn Fn(&ControllerRef, &Parameters) -> Option<Box<dyn Controller>> + Send + Sync>;

/// Whether the controllers of a run keep to the law for decisions, see [`law`].
#[derive(Clone, Debug, Default)]
pub struct Conduct(Arc<OnceLock<String>>);

impl Conduct {
    /// Notes a breach, one sentence. The first one of a run counts.
    pub fn report(&self, sentence: String) {
        self.0.get_or_init(|| sentence);
    }

    /// Notes the breach of the controller of `flow`, if there is one.
    pub fn note(&self, flow: &PlannedFlow, checked: Result<(), law::Breach>) {
        if let Err(breach) = checked {
            self.report(format!("flow `{}`: the {breach}", flow.name()));
        }
    }

    /// True after a breach.
    pub fn is_broken(&self) -> bool {
        self.0.get().is_some()
    }

    /// The sentence about the breach.
    pub fn breach(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// The controller of `flow` with the `parameters` that the engine takes of it. One of `factory` is held to the law:
/// `conduct` has its breach.
///
/// # Errors
/// [`Failure::Controller`] if neither `factory` nor the registry has it, or not with these parameters.
pub fn controller(
    factory: Option<&Factory>,
    flow: &PlannedFlow,
    parameters: &Parameters,
    conduct: &Conduct,
) -> Result<Box<dyn Controller>, Failure> {
    match factory.and_then(|make| make(&flow.cc, parameters)) {
        Some(controller) => Ok(Box::new(Lawful::new(controller, flow, conduct))),
        None => control::registry::build(&flow.cc.spelling(), parameters)
            .map_err(|error| Failure::Controller(format!("flow `{}`: {error}", flow.name()))),
    }
}

/// A controller whose decisions are checked after each event. After a breach it gets no events, and has its last
/// lawful decisions.
struct Lawful {
    controller: Box<dyn Controller>,
    /// Where its breach is noted, until there is one.
    conduct: Option<Conduct>,
    /// Its name in that sentence.
    name: String,
    window: f64,
    threshold: f64,
    rate: Option<Rate>,
    quantum: u32,
}

impl Lawful {
    fn new(controller: Box<dyn Controller>, flow: &PlannedFlow, conduct: &Conduct) -> Self {
        let name = match &flow.cc {
            ControllerRef::Python { .. } => flow.cc.label(),
            _ => flow.cc.spelling(),
        };
        let name = format!("flow `{}`: `{name}`", flow.name());
        let conduct = Some(conduct.clone());
        let (window, threshold, rate, quantum) = (1.0, f64::INFINITY, None, 1);
        let mut lawful = Self { controller, conduct, name, window, threshold, rate, quantum };
        lawful.take("it is made");
        lawful
    }

    /// Hands on the event called `name`.
    fn event(&mut self, name: &str, handle: impl FnOnce(&mut dyn Controller)) {
        if self.conduct.is_some() {
            handle(self.controller.as_mut());
            self.take(name);
        }
    }

    /// Takes the decisions after the event called `name`, or notes the breach in them.
    fn take(&mut self, name: &str) {
        match law::check(self.controller.as_ref()) {
            Ok(()) => {
                (self.window, self.threshold, self.rate) = self.controller.decisions();
                self.quantum = self.controller.send_quantum();
            }
            Err(breach) => {
                let sentence = format!("{}: after {name} the {breach}", self.name);
                self.conduct.take().into_iter().for_each(|conduct| conduct.report(sentence.clone()));
            }
        }
    }
}

/// Events that are handed on: `method(argument)`.
macro_rules! events {
    ($($method:ident($($argument:ident: $type:ty)?);)+) => {$(
        fn $method(&mut self, cx: &mut Context<'_>, $($argument: $type)?) {
            self.event(stringify!($method), |controller| controller.$method(cx, $($argument)?));
        }
    )+};
}

impl Controller for Lawful {
    events! {
        on_start();
        on_handshake(rtt: Span);
        on_ack(ack: &Ack);
        on_duplicate_ack(ack: &Ack);
        on_loss(loss: &Loss);
        on_ecn(marks: &Marks);
        on_recovered();
        on_timeout(loss: &Loss);
        on_spurious();
        on_idle_restart();
        on_sent(sent: &Transmission);
        on_transmit_start(start: &TransmitStart);
        on_segment_delivered(segment: &SegmentReport);
        on_segment_lost(segment: &SegmentReport);
        on_timer();
    }

    fn wants(&self) -> Wants {
        self.controller.wants()
    }

    fn join(&mut self, subflows: &Subflows, index: usize) {
        self.event("join", |controller| controller.join(subflows, index));
    }

    fn keep(&mut self, window: f64) -> bool {
        let mut keeps = false;
        self.event("keep", |controller| keeps = controller.keep(window));
        keeps
    }

    fn set_parameters(&mut self, given: &Parameters) -> Result<(), ParameterError> {
        let mut result = Ok(());
        self.event("set_parameters", |controller| result = controller.set_parameters(given));
        result
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.conduct.as_ref().and_then(|_| self.controller.poll_timeout())
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn send_quantum(&self) -> u32 {
        self.quantum
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.controller.probe(out);
    }
}
