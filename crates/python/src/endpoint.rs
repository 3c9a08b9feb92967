//! One TCP endpoint with a clock that the caller moves, for packet scripts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use control::ControllerRef;
use endpoint::Packet;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use scenario::Error;
use units::Time;

use crate::language::exception;
use crate::plan::SharedPlan;

/// The endpoint. Times are nanoseconds of its clock, packets are objects in JSON.
#[pyclass(module = "ackclock._engine")]
pub(crate) struct Endpoint(Mutex<endpoint::Endpoint>);

impl Endpoint {
    fn lock(&self) -> MutexGuard<'_, endpoint::Endpoint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

#[pymethods]
impl Endpoint {
    /// With the options and the controller of the first flow of a plan.
    #[new]
    fn new(py: Python<'_>, plan: &SharedPlan, window_scale: u8) -> PyResult<Self> {
        let planned = plan.get(py)?;
        let registered = |cc: &ControllerRef| cc.check_registered().map_err(|error| error.to_string());
        planned.check_controllers(registered).map_err(|error| exception(py, &error))?;
        let Some(flow) = planned.flows.first() else {
            return Err(PyValueError::new_err("the scenario has no flow"));
        };
        let refuse = |message: String| {
            let file = format!("scenario `{}`, flow `{}`", planned.name, flow.name());
            exception(py, &Error { file, line: None, key: "cc".to_owned(), message })
        };
        let ControllerRef::Registered(name) = &flow.cc else {
            return Err(refuse(format!("a packet script takes a controller of the registry, not `{}`", flow.cc)));
        };
        let controller = control::registry::build(name, &flow.parameters);
        let controller = controller.map_err(|error| refuse(error.to_string()))?;
        let made = endpoint::Endpoint::new((*flow.options).clone(), controller, window_scale);
        Ok(Self(Mutex::new(made)))
    }

    /// Waits for a SYN.
    fn listen(&self) {
        self.lock().listen();
    }

    /// Sends a SYN.
    fn connect(&self, now: u64) {
        self.lock().connect(at(now));
    }

    /// True if the handshake is over.
    #[getter]
    fn is_open(&self) -> bool {
        self.lock().is_open()
    }

    /// Bytes that arrived in order.
    #[getter]
    fn received(&self) -> u64 {
        self.lock().received()
    }

    /// The application writes. True if the connection is open.
    fn write(&self, size: u64) -> bool {
        self.lock().write(size)
    }

    /// The application closes. True if the connection is open.
    fn close(&self) -> bool {
        self.lock().close()
    }

    /// Small segments leave at once.
    fn set_no_delay(&self, on: bool) {
        self.lock().set_no_delay(on);
    }

    /// ACKs wait from now on.
    fn end_quick_acks(&self) {
        self.lock().end_quick_acks();
    }

    /// A packet arrives. Answers why it cannot be taken, if it cannot.
    fn inject(&self, now: u64, packet: &str) -> PyResult<Option<&'static str>> {
        let packet: Packet = serde_json::from_str(packet).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(self.lock().inject(at(now), &packet).err().map(|refusal| refusal.0))
    }

    /// The packet that leaves now, if one does.
    fn poll_transmit(&self, now: u64) -> PyResult<Option<String>> {
        let packet = self.lock().poll_transmit(at(now)).map(|packet| serde_json::to_string(&packet));
        packet.transpose().map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// When to call `on_timeout`, at the latest.
    fn poll_timeout(&self) -> Option<u64> {
        self.lock().poll_timeout().map(Time::as_nanos)
    }

    /// Deadlines have passed.
    fn on_timeout(&self, now: u64) {
        self.lock().on_timeout(at(now));
    }

    /// The values of `TCP_INFO`, as an object in JSON, or `None` before the connection is open.
    fn information(&self, now: u64) -> PyResult<Option<String>> {
        let information = self.lock().information(at(now)).map(|known| serde_json::to_string(&known));
        information.transpose().map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
