//! Programs of the user's own across an emulated path.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};

use engine::{Cost, Engine as _, Failure, Watch};
use live::{Live, Shell, ShellOutcome};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use record::pcapng::Point;

use crate::batch::PATIENCE;
use crate::failure::{Failure as Raised, MachineError};
use crate::plan::SharedPlan;
use crate::run::Run;
use crate::task::engine_of;

/// Moves the process into a user namespace in which it may make network namespaces.
#[pyfunction]
pub(crate) fn become_root() -> PyResult<()> {
    live::become_root().map_err(|refusal| MachineError::new_err(refusal.to_string()))
}

/// Runs `near`, and `far` at the other end, across the path of a plan. Returns the exit status of `near`, the tables,
/// and why the log is not whole.
#[expect(clippy::too_many_arguments, reason = "in Python they have names")]
#[pyfunction]
#[pyo3(signature = (
    plan, seed, near, far, log=None, meter=None, gso_max_segs=None, pcap=None, pcap_at="sender"
))]
pub(crate) fn shell(
    py: Python<'_>,
    plan: &SharedPlan,
    seed: u64,
    near: Vec<OsString>,
    far: Vec<OsString>,
    log: Option<PathBuf>,
    meter: Option<Py<PyAny>>,
    gso_max_segs: Option<u16>,
    pcap: Option<PathBuf>,
    pcap_at: &str,
) -> PyResult<(i32, Run, [Option<String>; 2])> {
    let plan = plan.get(py)?;
    let point: Point = pcap_at.parse().map_err(PyValueError::new_err)?;
    let capture = pcap.map(|file| (file, point));
    let shell = Shell { plan: plan.clone(), seed, near, far, log, gso_max_segs, capture };
    let watch = Watch::default();
    let (sender, mut readings) = channel();
    let outcome = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            live::shell(&shell, &watch, &mut move |reading| {
                // Nobody listens where there is no meter.
                let _ = sender.send(reading);
            })
        });
        let mut interrupted = Ok(());
        while interrupted.is_ok() {
            let readings = &mut readings;
            match py.detach(move || readings.recv_timeout(PATIENCE)) {
                Ok(reading) => {
                    if let Some(meter) = &meter {
                        let [to_far, to_near] = reading.delivered_bytes;
                        let values = (reading.elapsed.as_secs_f64(), to_far, to_near, reading.queue_packets);
                        interrupted = meter.call1(py, values).map(drop);
                    }
                }
                Err(RecvTimeoutError::Timeout) => interrupted = py.check_signals(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        watch.stop.fetch_or(interrupted.is_err(), Ordering::Relaxed);
        let outcome = py.detach(|| thread.join());
        interrupted.map(|()| outcome)
    })?;
    let failed = |failure| match failure {
        Failure::Refused(_) | Failure::CapturePoint(_) => Raised::of(failure, &plan, None).into_exception(py),
        other => MachineError::new_err(other.to_string()),
    };
    let outcome = outcome.map_err(|_| PyRuntimeError::new_err("the engine failed"))?.map_err(failed)?;
    let ShellOutcome { status, elapsed, turned_away, tables, fidelity, log_failed, capture_failed } = outcome;
    let cost = Cost { events: 0, data_packets: 0, cpu_s: fidelity.emulator_cpu_s, wall_s: elapsed.as_secs_f64() };
    let run = engine_of(Live::KIND, cost, &fidelity).map(|mut engine| {
        engine["turned_away"] = turned_away.into();
        Run::new(tables, engine)
    });
    Ok((status, run.map_err(|failure| failure.into_exception(py))?, [log_failed, capture_failed]))
}
