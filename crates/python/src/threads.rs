//! The threads that run controllers written in Python, and how one that never returns is ended.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::attached::{call, number, raise_in};

/// How often [`PythonThreads::interrupt`] raises, and how long it waits each time.
const TIMES: usize = 20;
const PATIENCE: Duration = Duration::from_millis(50);

/// Threads whose runs have controllers in Python, by the numbers that Python knows them by.
#[derive(Debug, Default)]
pub(crate) struct PythonThreads {
    running: Mutex<Vec<u64>>,
    /// One has left.
    left: Condvar,
}

impl PythonThreads {
    /// The thread with the number `own` begins to call Python.
    pub(crate) fn enter(&self, own: u64) {
        self.running().push(own);
    }

    /// The thread with the number `own` has called Python for the last time.
    pub(crate) fn leave(&self, own: u64) {
        self.running().retain(|number| *number != own);
        self.left.notify_all();
    }

    /// Raises KeyboardInterrupt in every thread, and waits until they have left. It raises several times, as a
    /// controller may catch it.
    ///
    /// A controller in an endless loop looks at no request to stop.
    pub(crate) fn interrupt(self: &Arc<Self>, py: Python<'_>) {
        if self.running().is_empty() {
            return;
        }
        // Where Python has no hook any more, it reports such an interrupt, and no more.
        let hook = Hook::set(self, py);
        if self.raise(py) {
            drop(hook.and_then(Hook::unset));
        }
    }

    /// Raises KeyboardInterrupt until all have left, and says whether they have.
    fn raise(&self, py: Python<'_>) -> bool {
        let exception = py.get_type::<PyKeyboardInterrupt>();
        for _ in 0..TIMES {
            for number in self.running().clone() {
                raise_in(number, &exception);
            }
            py.detach(|| {
                let waited = self.left.wait_timeout_while(self.running(), PATIENCE, |threads| !threads.is_empty());
                drop(waited);
            });
            if self.running().is_empty() {
                return true;
            }
        }
        false
    }

    fn running(&self) -> MutexGuard<'_, Vec<u64>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps Python from reporting an interrupt that comes where nothing can be raised (a finalizer, a weak reference's
/// callback): it is raised again. Other exceptions go to the function from before.
struct Hook<'py> {
    sys: Bound<'py, PyModule>,
    before: Bound<'py, PyAny>,
    ours: Bound<'py, PyCFunction>,
}

impl<'py> Hook<'py> {
    /// Python's name of the function that it calls with an exception that cannot be raised.
    const NAME: &'static str = "unraisablehook";

    fn set(threads: &Arc<PythonThreads>, py: Python<'py>) -> PyResult<Self> {
        let sys = py.import("sys")?;
        let before = sys.getattr(Self::NAME)?;
        let (threads, other) = (threads.clone(), before.clone().unbind());
        let ours = PyCFunction::new_closure(py, None, None, move |arguments, _| -> PyResult<()> {
            let py = arguments.py();
            let interrupt = arguments.get_item(0)?.getattr("exc_type")?.is(py.get_type::<PyKeyboardInterrupt>());
            if interrupt && threads.running().contains(&number()) {
                return Ok(());
            }
            call(other.bind(py), arguments).map(drop)
        })?;
        sys.setattr(Self::NAME, &ours)?;
        Ok(Self { sys, before, ours })
    }

    /// Puts the function from before in its place again, unless somebody else has put one there.
    fn unset(self) -> PyResult<()> {
        if self.sys.getattr(Self::NAME)?.is(&self.ours) {
            self.sys.setattr(Self::NAME, self.before)?;
        }
        Ok(())
    }
}
