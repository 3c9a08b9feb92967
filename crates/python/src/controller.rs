//! Controllers written in Python.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use control::{Controller, Parameters, Probe, Wants};
use engine::Watch;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use units::{Ecn, Rate, Span, Time};

use crate::event::{Ack, Context, Loss, Marks, SegmentReport, Transmission, span};
use crate::threads::PythonThreads;

/// A larger window, in segments, is taken for a typing error: all of it may leave at once, and is remembered.
const LARGEST_WINDOW: f64 = 10_000_000.0;

/// Callables without arguments that make the controllers.
pub(crate) type Factories = Vec<Py<PyAny>>;

/// Keeps the first exception of a run and stops it.
pub(crate) struct Guard {
    raised: Mutex<Option<PyErr>>,
    watch: Arc<Watch>,
}

impl Guard {
    pub(crate) fn new(watch: Arc<Watch>) -> Self {
        Self { raised: Mutex::new(None), watch }
    }

    /// The exception that ended the run.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The value of `python`; `None` if it raised, the interpreter is gone, or the run is being stopped anyway.
    fn attach<T>(&self, python: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.watch.stop.load(Ordering::Relaxed) {
            return None;
        }
        match Python::try_attach(python) {
            Some(Ok(value)) => return Some(value),
            Some(Err(error)) => {
                self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
            None => {}
        }
        self.watch.stop.store(true, Ordering::Relaxed);
        None
    }
}

/// The controller that the factory at `index` makes; `None` if there is no such factory. If it raises, the run is
/// stopped and what is returned no longer matters.
pub(crate) fn build(
    factories: &Factories,
    index: usize,
    guard: &Arc<Guard>,
    threads: &PythonThreads,
) -> Option<Box<dyn Controller>> {
    let factory = factories.get(index)?;
    let built = guard.attach(|py| {
        threads.enter(py)?;
        let object = factory.call0(py)?;
        let (wants, codepoint) = (wants(object.bind(py))?, codepoint(object.bind(py))?);
        let mut controller = PythonController {
            object,
            guard: guard.clone(),
            wants,
            codepoint,
            window: 1.0,
            threshold: f64::INFINITY,
            pacing: None,
            quantum: 1,
            wake_up_at: None,
        };
        controller.read(py)?;
        Ok(controller)
    });
    match built {
        Some(controller) => Some(Box::new(controller)),
        None => control::registry::build("newreno", &Parameters::new()).ok(),
    }
}

/// A Python object that has the methods of [`Controller`], and its window and rates as attributes.
struct PythonController {
    object: Py<PyAny>,
    guard: Arc<Guard>,
    window: f64,
    threshold: f64,
    pacing: Option<Rate>,
    quantum: u32,
    wake_up_at: Option<Time>,
    wants: Wants,
    codepoint: Ecn,
}

/// The names in the attribute `wants`.
fn wants(object: &Bound<'_, PyAny>) -> PyResult<Wants> {
    let mut wants = Wants::default();
    let Some(names) = object.getattr_opt(pyo3::intern!(object.py(), "wants"))? else { return Ok(wants) };
    for name in names.try_iter()? {
        let name: String = name?.extract()?;
        match name.as_str() {
            "sent" => wants.sent = true,
            "transmit_start" => wants.transmit_start = true,
            "segments" => wants.segments = control::Reports::All,
            "timer" => wants.timer = true,
            "fractional_window" => wants.fractional_window = true,
            "governs_marks" => wants.governs_marks = true,
            "governs_recovery" => wants.governs_recovery = true,
            "exact_rtt" => wants.exact_rtt = true,
            _ => {
                let class = object.get_type().name()?;
                return Err(PyValueError::new_err(format!(
                    "{class}.wants has `{name}`: allowed are sent, transmit_start, segments, timer, fractional_window, \
                     governs_marks, governs_recovery and exact_rtt"
                )));
            }
        }
    }
    Ok(wants)
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
    /// Calls `method(cx)` or `method(cx, argument)`, then reads the attributes.
    fn event<A>(&mut self, cx: &mut control::Context<'_>, method: Method, argument: Option<A>)
    where
        A: for<'py> IntoPyObject<'py>,
    {
        let guard = self.guard.clone();
        guard.attach(|py| {
            let context = Bound::new(py, Context::new(cx))?;
            let name = method.interned(py);
            let object = self.object.bind(py);
            let result = match argument {
                Some(argument) => object.call_method1(name, (&context, argument)),
                None => object.call_method1(name, (&context,)),
            };
            cx.random.clone_from(&context.borrow().random);
            result.and_then(|_| self.read(py))
        });
    }

    /// Takes over the attributes, unless one of them is out of range.
    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        let object = self.object.bind(py);
        let window: f64 = number(object, pyo3::intern!(py, "window"))?;
        let threshold: f64 = number(object, pyo3::intern!(py, "slow_start_threshold"))?;
        let rate: Option<f64> = number(object, pyo3::intern!(py, "pacing_rate"))?;
        let refuse = |attribute: &str, value: f64, allowed: &str| {
            let class = object.get_type().name()?;
            Err(PyValueError::new_err(format!("{class}.{attribute} is {value}: allowed is {allowed}")))
        };
        if !(0.0..=LARGEST_WINDOW).contains(&window) {
            return refuse("window", window, &format!("a number of segments from 0 to {LARGEST_WINDOW}"));
        }
        if threshold.is_nan() {
            return refuse("slow_start_threshold", threshold, "a number of segments, or infinity");
        }
        self.pacing = match rate {
            Some(rate) if rate.is_finite() && rate >= 1.0 => Some(Rate::from_bits_per_second(rate as u64)),
            Some(rate) => return refuse("pacing_rate", rate, "a finite rate of at least 1 bit/s, or None"),
            None => None,
        };
        (self.window, self.threshold) = (window, threshold);
        if self.pacing.is_some()
            && let Some(quantum) = object.getattr_opt(pyo3::intern!(py, "send_quantum"))?
        {
            let quantum: f64 = quantum.extract()?;
            if !(1.0..=LARGEST_WINDOW).contains(&quantum) {
                return refuse("send_quantum", quantum, &format!("a number of segments from 1 to {LARGEST_WINDOW}"));
            }
            self.quantum = quantum as u32;
        }
        if self.wants.timer {
            let at: Option<f64> = number(object, pyo3::intern!(py, "wake_up_at"))?;
            self.wake_up_at = match at {
                Some(at) if at.is_nan() => return refuse("wake_up_at", at, "a time in seconds, or None"),
                // Later than anything that happens: as good as never.
                at => at.filter(|&at| at < 1e9).map(|at| Time::ZERO + Span::from_secs_f64(at)),
            };
        }
        Ok(())
    }
}

/// The number in an attribute of a controller.
fn number<'py, T: FromPyObjectOwned<'py>>(object: &Bound<'py, PyAny>, attribute: &Bound<'py, PyString>) -> PyResult<T> {
    let value = object.getattr(attribute)?;
    value.extract().map_err(|_| {
        let (class, kind) = (object.get_type(), value.get_type());
        let name = |of: &Bound<'py, PyType>| of.name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("{}.{attribute} is of type {}: it must be a number", name(&class), name(&kind)))
    })
}

/// The methods of a controller that handle events.
#[derive(Clone, Copy)]
enum Method {
    Start,
    Ack,
    DuplicateAck,
    Loss,
    Ecn,
    Recovered,
    Timeout,
    Spurious,
    IdleRestart,
    Sent,
    TransmitStart,
    SegmentDelivered,
    SegmentLost,
    Timer,
}

impl Method {
    fn interned(self, py: Python<'_>) -> &Bound<'_, PyString> {
        match self {
            Self::Start => pyo3::intern!(py, "on_start"),
            Self::Ack => pyo3::intern!(py, "on_ack"),
            Self::DuplicateAck => pyo3::intern!(py, "on_duplicate_ack"),
            Self::Loss => pyo3::intern!(py, "on_loss"),
            Self::Ecn => pyo3::intern!(py, "on_ecn"),
            Self::Recovered => pyo3::intern!(py, "on_recovered"),
            Self::Timeout => pyo3::intern!(py, "on_timeout"),
            Self::Spurious => pyo3::intern!(py, "on_spurious"),
            Self::IdleRestart => pyo3::intern!(py, "on_idle_restart"),
            Self::Sent => pyo3::intern!(py, "on_sent"),
            Self::TransmitStart => pyo3::intern!(py, "on_transmit_start"),
            Self::SegmentDelivered => pyo3::intern!(py, "on_segment_delivered"),
            Self::SegmentLost => pyo3::intern!(py, "on_segment_lost"),
            Self::Timer => pyo3::intern!(py, "on_timer"),
        }
    }
}

/// No argument beside the context.
const NONE: Option<Loss> = None;

impl Controller for PythonController {
    fn on_start(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::Start, NONE);
    }

    fn on_ack(&mut self, cx: &mut control::Context<'_>, ack: &control::Ack) {
        self.event(cx, Method::Ack, Some(Ack(*ack, cx.now)));
    }

    fn on_duplicate_ack(&mut self, cx: &mut control::Context<'_>, ack: &control::Ack) {
        self.event(cx, Method::DuplicateAck, Some(Ack(*ack, cx.now)));
    }

    fn on_loss(&mut self, cx: &mut control::Context<'_>, loss: &control::Loss) {
        self.event(cx, Method::Loss, Some(Loss(*loss)));
    }

    fn on_ecn(&mut self, cx: &mut control::Context<'_>, marks: &control::Marks) {
        self.event(cx, Method::Ecn, Some(Marks(*marks)));
    }

    fn on_recovered(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::Recovered, NONE);
    }

    fn on_timeout(&mut self, cx: &mut control::Context<'_>, loss: &control::Loss) {
        self.event(cx, Method::Timeout, Some(Loss(*loss)));
    }

    fn on_spurious(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::Spurious, NONE);
    }

    fn on_idle_restart(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::IdleRestart, NONE);
    }

    fn wants(&self) -> Wants {
        self.wants
    }

    fn on_sent(&mut self, cx: &mut control::Context<'_>, sent: &control::Transmission) {
        self.event(cx, Method::Sent, Some(Transmission(*sent)));
    }

    fn on_transmit_start(&mut self, cx: &mut control::Context<'_>, idle: Span) {
        self.event(cx, Method::TransmitStart, Some(span(idle)));
    }

    fn on_segment_delivered(&mut self, cx: &mut control::Context<'_>, segment: &control::SegmentReport) {
        self.event(cx, Method::SegmentDelivered, Some(SegmentReport(*segment)));
    }

    fn on_segment_lost(&mut self, cx: &mut control::Context<'_>, segment: &control::SegmentReport) {
        self.event(cx, Method::SegmentLost, Some(SegmentReport(*segment)));
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.wake_up_at
    }

    fn on_timer(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, Method::Timer, NONE);
    }

    fn send_quantum(&self) -> u32 {
        self.quantum
    }

    fn ecn_codepoint(&self) -> Ecn {
        self.codepoint
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn probe(&self, out: &mut dyn Probe) {
        let values = self.guard.attach(|py| {
            let answer = self.object.bind(py).call_method0(pyo3::intern!(py, "probe"))?;
            let answer = answer
                .cast::<PyDict>()
                .map_err(|_| PyTypeError::new_err("probe() returns a dictionary of names and numbers"))?;
            answer
                .iter()
                .map(|(name, value)| Ok((name.extract()?, value.extract()?)))
                .collect::<PyResult<Vec<(String, f64)>>>()
        });
        for (name, value) in values.into_iter().flatten() {
            out.value(control::intern(&name), value);
        }
    }
}
