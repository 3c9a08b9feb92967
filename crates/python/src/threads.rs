//! The threads that run controllers written in Python, and how one that never returns is ended.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// How long [`PythonThreads::interrupt`] waits for the threads.
const PATIENCE: Duration = Duration::from_secs(1);

/// Threads of runs whose controllers are in Python, with the numbers that Python knows them by.
#[derive(Debug, Default)]
pub(crate) struct PythonThreads {
    running: Mutex<Vec<(ThreadId, u64)>>,
    /// One has left.
    left: Condvar,
}

impl PythonThreads {
    /// The calling thread runs a controller.
    pub(crate) fn enter(&self, py: Python<'_>) -> PyResult<()> {
        let own = std::thread::current().id();
        let mut threads = self.running();
        if threads.iter().all(|(id, _)| *id != own) {
            threads.push((own, py.import("threading")?.call_method0("get_ident")?.extract()?));
        }
        Ok(())
    }

    /// The run of the calling thread is over.
    pub(crate) fn leave(&self) {
        let own = std::thread::current().id();
        self.running().retain(|(id, _)| *id != own);
        self.left.notify_all();
    }

    /// Raises KeyboardInterrupt in every thread that is in Python code now, and waits until they have left.
    ///
    /// A controller in an endless loop looks at no request to stop. A thread that still runs it when the interpreter
    /// ends would bring the process down.
    pub(crate) fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let threads = self.running().clone();
        if threads.is_empty() {
            return Ok(());
        }
        let ctypes = py.import("ctypes")?;
        let raise = ctypes.getattr("pythonapi")?.getattr("PyThreadState_SetAsyncExc")?;
        let exception = ctypes.call_method1("py_object", (py.get_type::<PyKeyboardInterrupt>(),))?;
        for (_, number) in threads {
            raise.call1((ctypes.call_method1("c_ulong", (number,))?, &exception))?;
        }
        py.detach(|| {
            let waited = self.left.wait_timeout_while(self.running(), PATIENCE, |threads| !threads.is_empty());
            drop(waited);
        });
        Ok(())
    }

    fn running(&self) -> MutexGuard<'_, Vec<(ThreadId, u64)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
