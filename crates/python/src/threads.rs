//! The threads that run controllers written in Python, and how one that never returns is ended.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::attached::raise_in;

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
    pub(crate) fn interrupt(&self, py: Python<'_>) {
        let exception = py.get_type::<PyKeyboardInterrupt>();
        for _ in 0..TIMES {
            let threads = self.running().clone();
            if threads.is_empty() {
                return;
            }
            for number in threads {
                raise_in(number, &exception);
            }
            py.detach(|| {
                let waited = self.left.wait_timeout_while(self.running(), PATIENCE, |threads| !threads.is_empty());
                drop(waited);
            });
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<u64>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
