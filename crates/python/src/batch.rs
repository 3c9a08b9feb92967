//! Many runs at once, on threads of their own.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::at_exit;
use crate::attached::beneath_a_frame;
use crate::engines;
use crate::failure::Failure;
use crate::plan::SharedPlan;
use crate::run::Run;
use crate::task::Task;
use crate::threads::PythonThreads;

/// How long a call waits before it looks for signals such as Ctrl-C.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// State that the threads share.
pub(crate) struct Work {
    tasks: Vec<Box<dyn Task>>,
    finished: Vec<AtomicBool>,
    /// The first task that no thread has taken.
    next: AtomicUsize,
    /// Stopped as the interpreter ends: whoever waits for it does so for ever.
    abandoned: AtomicBool,
}

type Answer = (usize, Result<Run, Failure>);

/// Runs that are being executed.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Batch {
    cancelling: Cancelling,
    inbox: Mutex<Inbox>,
    /// Those that may be in Python code.
    threads: Option<Arc<PythonThreads>>,
}

struct Inbox {
    receiver: Receiver<Answer>,
    /// Taken from the receiver, not yet handed out.
    waiting: VecDeque<Answer>,
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (jobs, *, engine="sim", threads=None, pcap=None, **options))]
    fn new(
        py: Python<'_>,
        jobs: Vec<(Bound<'_, SharedPlan>, u64)>,
        engine: &str,
        threads: Option<usize>,
        pcap: Option<Vec<Option<PathBuf>>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        if threads == Some(0) {
            return Err(PyValueError::new_err("threads is 0: at least 1 is needed"));
        }
        let pcap = pcap.unwrap_or_else(|| vec![None; jobs.len()]);
        if pcap.len() != jobs.len() {
            let message = format!("pcap has {} entries for {} jobs: one each is needed", pcap.len(), jobs.len());
            return Err(PyValueError::new_err(message));
        }
        let opened = engines::open(engine, options, py)?;
        let task = |((plan, seed), pcap): (_, _)| -> Box<dyn Task> {
            let plan: Bound<'_, SharedPlan> = plan;
            opened.task(plan.get().planned(), seed, pcap)
        };
        let tasks = jobs.into_iter().zip(pcap).map(task).collect();
        let batch = Self::start(tasks, threads.unwrap_or_else(|| opened.threads()), opened.python_threads())?;
        if let Some(threads) = &batch.threads {
            at_exit::stop(&batch.cancelling.0, threads, py)?;
        }
        Ok(batch)
    }

    /// The next run that finishes, with the index of its job.
    #[pyo3(signature = (timeout_s=None))]
    fn next(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<Option<(usize, Run)>> {
        let mut left = match timeout_s {
            Some(seconds) => Duration::try_from_secs_f64(seconds)
                .map_err(|error| PyValueError::new_err(format!("timeout_s is {seconds}: {error}")))?,
            None => Duration::MAX,
        };
        loop {
            py.check_signals()?;
            let wait = left.min(PATIENCE);
            match py.detach(|| self.receive(wait)) {
                Ok((_, Err(Failure::Interrupted))) => {}
                Ok((index, answer)) => {
                    return answer.map(|run| Some((index, run))).map_err(|failure| failure.into_exception(py));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    left -= wait;
                    if left.is_zero() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// True if everything was handed out.
    #[getter]
    fn done(&self) -> bool {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.waiting.retain(|answer| !matches!(answer, (_, Err(Failure::Interrupted))));
        while inbox.waiting.is_empty() {
            match inbox.receiver.try_recv() {
                Ok((_, Err(Failure::Interrupted))) => {}
                Ok(answer) => inbox.waiting.push_back(answer),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
        false
    }

    /// The share of the time of all runs that is behind.
    fn progress(&self) -> f64 {
        let both = self.cancelling.0.tasks.iter().zip(&self.cancelling.0.finished);
        let share = both.map(|(task, finished)| if finished.load(Ordering::Relaxed) { 1.0 } else { task.progress() });
        share.sum::<f64>() / self.cancelling.0.tasks.len().max(1) as f64
    }

    /// Stops every run. Unfinished runs are not handed out.
    fn cancel(&self, py: Python<'_>) {
        self.cancelling.0.cancel();
        self.threads.iter().for_each(|threads| threads.interrupt(py));
    }
}

impl Batch {
    /// Starts `tasks` on at most so many threads, of which `python` may be in Python code.
    fn start(tasks: Vec<Box<dyn Task>>, threads: usize, python: Option<Arc<PythonThreads>>) -> PyResult<Self> {
        let finished = tasks.iter().map(|_| AtomicBool::new(false)).collect();
        let work = Arc::new(Work { tasks, finished, next: AtomicUsize::new(0), abandoned: AtomicBool::new(false) });
        let (sender, receiver) = channel();
        for index in 0..threads.min(work.tasks.len()) {
            let (work, sender, python) = (work.clone(), sender.clone(), python.clone());
            let body = move || match python {
                None => work.execute(&sender),
                Some(threads) => beneath_a_frame(threads, move || work.execute(&sender)),
            };
            std::thread::Builder::new().name(format!("ackclock-{index}")).spawn(body)?;
        }
        let inbox = Mutex::new(Inbox { receiver, waiting: VecDeque::new() });
        Ok(Self { cancelling: Cancelling(work), inbox, threads: python })
    }

    fn receive(&self, wait: Duration) -> Result<Answer, RecvTimeoutError> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match inbox.waiting.pop_front() {
            Some(answer) => Ok(answer),
            None => inbox.receiver.recv_timeout(wait),
        };
        while self.cancelling.0.abandoned.load(Ordering::Relaxed) && !at_exit::is_here() {
            std::thread::park();
        }
        answer
    }
}

/// Work that is stopped when nobody waits for it any more.
struct Cancelling(Arc<Work>);

impl Drop for Cancelling {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Work {
    /// Stops what runs and lets go on nothing that waits for it: for the end of the interpreter.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.cancel();
    }

    fn cancel(&self) {
        self.next.store(self.tasks.len(), Ordering::Relaxed);
        self.tasks.iter().for_each(|task| task.stop());
    }

    /// Takes one task after the other until there is none left.
    fn execute(&self, sender: &Sender<Answer>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(index) else { return };
            let answer = catch_unwind(AssertUnwindSafe(|| task.run()))
                .unwrap_or_else(|panic| Err(Failure::Fault(panic_message(&*panic))));
            self.finished[index].store(true, Ordering::Relaxed);
            if sender.send((index, answer)).is_err() {
                return;
            }
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the engine failed: {}", text.unwrap_or("for an unknown reason"))
}
