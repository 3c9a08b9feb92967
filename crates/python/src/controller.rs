//! Controllers written in Python.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use control::law;
use control::{Controller, Parameters, Probe, Wants};
use engine::Watch;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use record::seconds;
use units::{Ecn, Rate, Span, Time};

use crate::attached::{attach, attribute, call, import, is_ours, release};
use crate::decision::{FAR, Named};
use crate::event::{Ack, Context, Loss, Shown};
use crate::failure::ControllerError;
use crate::method::{METHODS, Method};

/// Callables without arguments that make the controllers.
pub(crate) type Factories = Vec<Py<PyAny>>;

/// Keeps the first exception of a run, or the sentence about a controller that failed, and stops it.
pub(crate) struct Guard {
    raised: Mutex<Option<Raised>>,
    watch: Arc<Watch>,
}

/// The failure of a controller.
pub(crate) enum Raised {
    Exception(PyErr),
    Panic(String),
}

impl Guard {
    pub(crate) fn new(watch: Arc<Watch>) -> Self {
        Self { raised: Mutex::new(None), watch }
    }

    /// Keeps the sentence about a controller in an object, and stops the run.
    pub(crate) fn stop(&self, sentence: String) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(Raised::Panic(sentence));
        self.watch.stop.store(true, Ordering::Relaxed);
    }

    /// What ended the run.
    pub(crate) fn take(&self) -> Option<Raised> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The value of `python`. `None` if it raised, the interpreter is gone, or the run is being stopped anyway.
    fn attach<T>(&self, python: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.watch.stop.load(Ordering::Relaxed) {
            return None;
        }
        match attach(python) {
            Some(Ok(value)) => return Some(value),
            Some(Err(error)) => {
                let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
                if let (None, Some(error)) = (&*raised, attach(|py| ordinary(py, error))) {
                    *raised = Some(Raised::Exception(error));
                }
            }
            None => {}
        }
        self.watch.stop.store(true, Ordering::Relaxed);
        None
    }
}

/// `error`, or one that `except Exception` catches in place of SystemExit, GeneratorExit and their like, and that a
/// generator hands on in place of StopIteration. Ctrl-C stays.
fn ordinary(py: Python<'_>, error: PyErr) -> PyErr {
    let handed_on = error.is_instance_of::<PyException>(py) && !error.is_instance_of::<PyStopIteration>(py);
    if handed_on || error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return error;
    }
    let shown = error.to_string();
    let found = ControllerError::new_err(shown.strip_suffix(": ").unwrap_or(&shown).to_owned());
    found.set_cause(py, Some(error));
    found
}

/// `error` with a note that `place`, a controller or its method, raised it. A call with wrong arguments leaves no line
/// of its file in the traceback.
fn noted(py: Python<'_>, error: PyErr, place: &str) -> PyErr {
    if !error.is_instance_of::<ControllerError>(py) {
        // Without the note the exception is still the one that was raised.
        let _ = error.value(py).call_method1("add_note", (format!("raised by {place}"),));
    }
    error
}

/// The controller called `label` that the factory at `index` makes, or `None` if there is no such factory. If it
/// raises, the run is stopped and the returned value no longer matters.
pub(crate) fn build(
    factories: &Factories,
    (index, label): (usize, Option<&str>),
    guard: &Arc<Guard>,
) -> Option<Box<dyn Controller>> {
    let factory = factories.get(index)?;
    let make = |py: Python<'_>| -> PyResult<PythonController> {
        let object = call(factory.bind(py), &PyTuple::empty(py))?.unbind();
        let name = named(object.bind(py), label)?;
        let (mut wants, pauses) = wants(object.bind(py))?;
        wants.l4s = codepoint(object.bind(py))? == Ecn::Ect1;
        let mut decided = Decided {
            name,
            wants,
            window: 1.0,
            threshold: f64::INFINITY,
            pacing: None,
            quantum: 1,
            wake_up_at: None,
            pauses,
            pause_until: Time::ZERO,
        };
        let taken_over = import(pyo3::intern!(py, "ackclock.calls"))?.getattr("taken_over")?;
        let first = call(&taken_over, &(&object,).into_pyobject(py)?)?;
        decided.take(object.bind(py), &first, "it is made")?;
        Ok(PythonController { calls: Calls::new(py)?, object, guard: guard.clone(), decided })
    };
    let name = label.unwrap_or("the controller");
    let built = guard.attach(|py| make(py).map_err(|error| noted(py, error, &format!("{name}, when it is made"))));
    match built {
        Some(controller) => Some(Box::new(controller)),
        None => control::registry::build("newreno", &Parameters::new()).ok(),
    }
}

/// A Python object that has the methods of [`Controller`], and its window and rates as attributes.
struct PythonController {
    object: Py<PyAny>,
    calls: Calls,
    guard: Arc<Guard>,
    decided: Decided,
}

impl Drop for PythonController {
    /// Gives the object up on this thread, at once: another thread does not listen to its destructor.
    fn drop(&mut self) {
        attach(|py| {
            // Its arguments hold the controller, too.
            self.calls.ack = None;
            release(std::mem::replace(&mut self.object, py.None()).into_bound(py));
        });
    }
}

/// The name in errors of the class of `object`, with its file where `label` is one.
fn named(object: &Bound<'_, PyAny>, label: Option<&str>) -> PyResult<String> {
    let class = object.get_type().name()?.to_string();
    Ok(match label {
        None => class,
        Some(label) if label.rsplit(':').next() == Some(&class) => label.to_owned(),
        Some(label) => format!("{label}:{class}"),
    })
}

/// The decisions of the controller.
struct Decided {
    name: String,
    window: f64,
    threshold: f64,
    pacing: Option<Rate>,
    quantum: u32,
    wake_up_at: Option<Time>,
    /// ACKs before this are not shown, for a controller that asks for pauses.
    pause_until: Time,
    pauses: bool,
    wants: Wants,
}

/// The names in the attribute `wants`, of which `pauses` is for this file alone.
fn wants(object: &Bound<'_, PyAny>) -> PyResult<(Wants, bool)> {
    let (mut wants, mut pauses) = (Wants::default(), false);
    let Some(names) = object.getattr_opt(pyo3::intern!(object.py(), "wants"))? else { return Ok((wants, pauses)) };
    for name in names.try_iter()? {
        let name: String = name?.extract()?;
        match name.as_str() {
            "sent" => wants.sent = true,
            "transmit_start" => wants.transmit_start = true,
            "segments" => wants.segments = control::Reports::All,
            "timer" => wants.timer = true,
            "pauses" => pauses = true,
            "fractional_window" => wants.fractional_window = true,
            "governs_marks" => wants.governs_marks = true,
            "governs_recovery" => wants.governs_recovery = true,
            "slow_starts_on_loss" => wants.slow_starts_on_loss = true,
            "exact_rtt" => wants.exact_rtt = true,
            _ => {
                let class = object.get_type().name()?;
                return Err(PyValueError::new_err(format!(
                    "{class}.wants has `{name}`: allowed are sent, transmit_start, segments, timer, pauses, \
                     fractional_window, governs_marks, governs_recovery, slow_starts_on_loss and exact_rtt"
                )));
            }
        }
    }
    Ok((wants, pauses))
}

/// The ECN codepoint that the attribute `ecn_codepoint` names.
fn codepoint(object: &Bound<'_, PyAny>) -> PyResult<Ecn> {
    let Some(name) = object.getattr_opt(pyo3::intern!(object.py(), "ecn_codepoint"))? else { return Ok(Ecn::Ect0) };
    match name.extract::<String>().as_deref() {
        Ok("ect0") => Ok(Ecn::Ect0),
        Ok("ect1") => Ok(Ecn::Ect1),
        _ => {
            let class = object.get_type().name()?;
            Err(PyValueError::new_err(format!("{class}.ecn_codepoint is {name}: allowed are ect0 and ect1")))
        }
    }
}

impl PythonController {
    /// Calls `method(cx)` or `method(cx, argument)`, and takes over the decisions.
    fn event<A>(&mut self, cx: &mut control::Context<'_>, method: Method, argument: Option<A>)
    where
        A: for<'py> IntoPyObject<'py>,
    {
        let Self { guard, object, calls, decided } = self;
        let handle = |py: Python<'_>, decided: &mut Decided| -> PyResult<()> {
            let (context, object) = (Bound::new(py, Context::new(cx))?, &*object);
            let arguments = match argument {
                Some(argument) => (object, &context, argument).into_pyobject(py)?,
                None => (object, &context).into_pyobject(py)?,
            };
            let answer = call(calls.function(py, method)?, &arguments);
            context.get().put_back(cx, py);
            decided.take(object.bind(py), &answer?, method.name())
        };
        guard.attach(|py| handle(py, decided).map_err(|error| decided.noted(py, error, method.name())));
    }

    /// As [`PythonController::event`], with an ACK: objects of the last one are used again.
    fn ack(&mut self, cx: &mut control::Context<'_>, method: Method, ack: &control::Ack) {
        let Self { guard, object, calls, decided } = self;
        if cx.now < decided.pause_until {
            return;
        }
        let mut handle = |py: Python<'_>, decided: &mut Decided| -> PyResult<()> {
            let reused = match calls.ack.take() {
                Some(reused) if reused.fill(py, cx, ack) => reused,
                _ => Reused::new(py, object, cx, ack)?,
            };
            let answer = call(calls.function(py, method)?, reused.arguments.bind(py));
            reused.context.get().put_back(cx, py);
            calls.ack = Some(reused);
            decided.take(object.bind(py), &answer?, method.name())
        };
        guard.attach(|py| handle(py, decided).map_err(|error| decided.noted(py, error, method.name())));
    }
}

impl Decided {
    /// `error`, which `method` of the controller raised, with a note of that.
    fn noted(&self, py: Python<'_>, error: PyErr, method: &str) -> PyErr {
        noted(py, error, &format!("{}.{method}", self.name))
    }

    /// Takes over what `decisions` of controller.py gives after `event`, unless something in it is outside the law.
    fn take(&mut self, object: &Bound<'_, PyAny>, decisions: &Bound<'_, PyAny>, event: &str) -> PyResult<()> {
        let decisions = decisions.cast::<PyTuple>()?;
        let named = Named { name: &self.name, event };
        self.window = named.lawful(&*decisions.get_borrowed_item(0)?, law::window)?;
        self.threshold = named.lawful(&*decisions.get_borrowed_item(1)?, law::threshold)?;
        let rate = decisions.get_borrowed_item(2)?;
        self.pacing = if rate.is_none() { None } else { Some(named.lawful(&rate, law::rate)?) };
        if self.pacing.is_some() {
            self.quantum = named.lawful(&*decisions.get_borrowed_item(3)?, law::quantum)?;
        }
        if self.wants.timer {
            self.wake_up_at = named.point(object, pyo3::intern!(object.py(), "wake_up_at"))?.filter(|&at| at < FAR);
        }
        if self.pauses {
            let at = named.point(object, pyo3::intern!(object.py(), "pause_until"))?;
            self.pause_until = at.unwrap_or(Time::ZERO);
        }
        Ok(())
    }
}

/// The functions of controller.py that call a method, and the objects that they are called with.
struct Calls {
    caller: Py<PyAny>,
    functions: [Option<Py<PyAny>>; METHODS],
    ack: Option<Reused>,
}

impl Calls {
    fn new(py: Python<'_>) -> PyResult<Self> {
        let caller = import(pyo3::intern!(py, "ackclock.calls"))?.getattr("caller")?.unbind();
        Ok(Self { caller, functions: Default::default(), ack: None })
    }

    fn function<'py>(&mut self, py: Python<'py>, method: Method) -> PyResult<&Bound<'py, PyAny>> {
        let known = &mut self.functions[method as usize];
        if known.is_none() {
            *known = Some(call(self.caller.bind(py), &(method.interned(py),).into_pyobject(py)?)?.unbind());
        }
        match known {
            Some(known) => Ok(known.bind(py)),
            None => unreachable!(),
        }
    }
}

/// The arguments of the last event with an ACK.
struct Reused {
    context: Py<Context>,
    ack: Py<Ack>,
    arguments: Py<PyTuple>,
}

impl Reused {
    fn new(py: Python<'_>, object: &Py<PyAny>, cx: &control::Context<'_>, ack: &control::Ack) -> PyResult<Self> {
        let (context, ack) = (Py::new(py, Context::new(cx))?, Py::new(py, Ack::new(ack, cx))?);
        let arguments = (object, &context, &ack).into_pyobject(py)?.unbind();
        Ok(Self { context, ack, arguments })
    }

    /// Fills the objects anew, unless somebody has stored one of them: then only we and `arguments` refer to it.
    fn fill(&self, py: Python<'_>, cx: &control::Context<'_>, ack: &control::Ack) -> bool {
        let (context, known) = (self.context.bind(py), self.ack.bind(py));
        let ours = is_ours(context, 2) && is_ours(known, 2);
        if ours {
            context.get().set(cx, py);
            known.get().set(ack, cx, py);
        }
        ours
    }
}

/// No argument beside the context.
const NONE: Option<Loss> = None;

impl Controller for PythonController {
    fn on_start(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::Start, NONE);
    }

    fn on_ack(&mut self, cx: &mut control::Context<'_>, ack: &control::Ack) {
        self.ack(cx, Method::Ack, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut control::Context<'_>, ack: &control::Ack) {
        self.ack(cx, Method::DuplicateAck, ack);
    }

    fn on_loss(&mut self, cx: &mut control::Context<'_>, loss: &control::Loss) {
        self.event(cx, Method::Loss, Some(loss.shown(cx)));
    }

    fn on_ecn(&mut self, cx: &mut control::Context<'_>, marks: &control::Marks) {
        self.event(cx, Method::Ecn, Some(marks.shown(cx)));
    }

    fn on_recovered(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::Recovered, NONE);
    }

    fn on_timeout(&mut self, cx: &mut control::Context<'_>, loss: &control::Loss) {
        self.event(cx, Method::Timeout, Some(loss.shown(cx)));
    }

    fn on_spurious(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::Spurious, NONE);
    }

    fn on_idle_restart(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::IdleRestart, NONE);
    }

    fn wants(&self) -> Wants {
        self.decided.wants
    }

    fn on_sent(&mut self, cx: &mut control::Context<'_>, sent: &control::Transmission) {
        self.event(cx, Method::Sent, Some(sent.shown(cx)));
    }

    fn on_transmit_start(&mut self, cx: &mut control::Context<'_>, start: &control::TransmitStart) {
        self.event(cx, Method::TransmitStart, Some(start.idle.shown(cx)));
    }

    fn on_segment_delivered(&mut self, cx: &mut control::Context<'_>, segment: &control::SegmentReport) {
        self.event(cx, Method::SegmentDelivered, Some(segment.shown(cx)));
    }

    fn on_segment_lost(&mut self, cx: &mut control::Context<'_>, segment: &control::SegmentReport) {
        self.event(cx, Method::SegmentLost, Some(segment.shown(cx)));
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.decided.wake_up_at
    }

    fn on_timer(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::Timer, NONE);
        if self.decided.wake_up_at.is_some_and(|at| at <= cx.now) {
            self.guard.attach(|py| -> PyResult<()> {
                let value = attribute(self.object.bind(py), pyo3::intern!(py, "wake_up_at"))?;
                let named = Named { name: &self.decided.name, event: &format!("on_timer at {} s", seconds(cx.now)) };
                let allowed = format!("a later time, from {} s on, or None", seconds(cx.now + Span::from_nanos(1)));
                Err(named.refusal("wake_up_at", &value, &allowed))
            });
        }
    }

    fn send_quantum(&self) -> u32 {
        self.decided.quantum
    }

    fn window(&self) -> f64 {
        self.decided.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.decided.threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.decided.pacing
    }

    fn probe(&self, out: &mut dyn Probe) {
        let show = |py: Python<'_>| {
            let probe = attribute(self.object.bind(py), pyo3::intern!(py, "probe"))?;
            let answer = call(&probe, &PyTuple::empty(py))?;
            let answer = answer
                .cast::<PyDict>()
                .map_err(|_| PyTypeError::new_err("probe() returns a dictionary of names and numbers"))?;
            answer
                .iter()
                .map(|(name, value)| Ok((name.extract()?, value.extract()?)))
                .collect::<PyResult<Vec<(String, f64)>>>()
        };
        let values = self.guard.attach(|py| show(py).map_err(|error| self.decided.noted(py, error, "probe")));
        for (name, value) in values.into_iter().flatten() {
            out.value(control::intern(&name), value);
        }
    }
}
