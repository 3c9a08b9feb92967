//! Many runs at once, on threads of their own.

use std::collections::{BTreeMap, VecDeque};
use std::fs::OpenOptions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use control::Parameters;
use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use scenario::{Error, Plan};
use sim::{Engine, Job, Watch};

use crate::controller::{Factories, Guard, build, factory};
use crate::language::{available_memory, exception, plan};
use crate::table::{Table, record_batch};

/// How long [`Batch::next`] waits before it looks for signals such as Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// One run that is asked for.
struct Task {
    resolved: String,
    seed: u64,
    pcap: Option<PathBuf>,
    watch: Arc<Watch>,
    /// Simulated time in all; 0 until the scenario is planned.
    duration_nanos: AtomicU64,
    finished: AtomicBool,
}

/// What the threads share.
struct Work {
    tasks: Vec<Task>,
    /// The first task that no thread has taken.
    next: AtomicUsize,
    factories: Arc<Factories>,
    /// Controllers in C by their files, compiled when the first run asks for them.
    sources: Mutex<Sources>,
}

/// Why a run gave no tables.
enum Failure {
    Scenario(Error),
    Raised(PyErr),
    /// Stopped on request.
    Interrupted,
    /// A packet capture that cannot be written.
    Capture(PathBuf, std::io::Error),
    /// A fault of the engine.
    Fault(String),
}

type Answer = (usize, Result<Run, Failure>);

/// Runs that are being executed.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Batch {
    work: Arc<Work>,
    inbox: Mutex<Inbox>,
}

struct Inbox {
    receiver: Receiver<Answer>,
    /// Taken from the receiver, not yet handed out.
    waiting: VecDeque<Answer>,
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (jobs, *, threads=None, controllers=None, pcap=None))]
    fn new(
        jobs: Vec<(String, u64)>,
        threads: Option<usize>,
        controllers: Option<Factories>,
        pcap: Option<Vec<Option<PathBuf>>>,
    ) -> PyResult<Self> {
        if threads == Some(0) {
            return Err(PyValueError::new_err("threads is 0: at least 1 is needed"));
        }
        let pcap = pcap.unwrap_or_else(|| vec![None; jobs.len()]);
        if pcap.len() != jobs.len() {
            let message = format!("pcap has {} entries for {} jobs: one each is needed", pcap.len(), jobs.len());
            return Err(PyValueError::new_err(message));
        }
        let tasks = jobs.into_iter().zip(pcap).map(|((resolved, seed), pcap)| Task {
            resolved,
            seed,
            pcap,
            watch: Arc::default(),
            duration_nanos: AtomicU64::new(0),
            finished: AtomicBool::new(false),
        });
        let work = Arc::new(Work {
            tasks: tasks.collect(),
            next: AtomicUsize::new(0),
            factories: Arc::new(controllers.unwrap_or_default()),
            sources: Mutex::default(),
        });
        let (sender, receiver) = channel();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for index in 0..threads.unwrap_or(cores).min(work.tasks.len()) {
            let (work, sender) = (work.clone(), sender.clone());
            std::thread::Builder::new().name(format!("ackclock-{index}")).spawn(move || work.execute(&sender))?;
        }
        Ok(Self { work, inbox: Mutex::new(Inbox { receiver, waiting: VecDeque::new() }) })
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

    /// Whether everything was handed out.
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

    /// The share of the simulated time that is behind.
    fn progress(&self) -> f64 {
        let share = |task: &Task| {
            let duration = task.duration_nanos.load(Ordering::Relaxed);
            match (task.finished.load(Ordering::Relaxed), duration) {
                (true, _) => 1.0,
                (false, 0) => 0.0,
                _ => task.watch.simulated_nanos.load(Ordering::Relaxed) as f64 / duration as f64,
            }
        };
        self.work.tasks.iter().map(share).sum::<f64>() / self.work.tasks.len().max(1) as f64
    }

    /// Stops every run; those that have not finished are not handed out.
    fn cancel(&self) {
        self.work.cancel();
    }
}

impl Batch {
    fn receive(&self, wait: Duration) -> Result<Answer, RecvTimeoutError> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        match inbox.waiting.pop_front() {
            Some(answer) => Ok(answer),
            None => inbox.receiver.recv_timeout(wait),
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.work.cancel();
    }
}

impl Work {
    fn cancel(&self) {
        self.next.store(self.tasks.len(), Ordering::Relaxed);
        for task in &self.tasks {
            task.watch.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Takes one task after the other until there is none left.
    fn execute(&self, sender: &Sender<Answer>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(index) else { return };
            let answer = catch_unwind(AssertUnwindSafe(|| self.run(task)))
                .unwrap_or_else(|panic| Err(Failure::Fault(panic_message(&*panic))));
            task.finished.store(true, Ordering::Relaxed);
            if sender.send((index, answer)).is_err() {
                return;
            }
        }
    }

    fn run(&self, task: &Task) -> Result<Run, Failure> {
        let plan = plan(&task.resolved).map_err(Failure::Scenario)?;
        if let Some(available) = available_memory() {
            plan.check_memory(available).map_err(Failure::Scenario)?;
        }
        if let Some(flow) = plan
            .flows
            .iter()
            .find(|flow| flow.cc.starts_with("python:") && factory(&self.factories, &flow.cc).is_none())
        {
            let message = format!(
                "the controller `{}` is one written in Python, and only a program that brings it can run it",
                flow.cc
            );
            let file = format!("scenario `{}`, flow `{}`", plan.name, flow.name);
            return Err(Failure::Scenario(Error { file, line: None, key: "cc".to_owned(), message }));
        }
        let sources = self.sources(&plan)?;
        task.duration_nanos.store(plan.duration.as_nanos(), Ordering::Relaxed);
        let guard = Arc::new(Guard::new(task.watch.clone()));
        let factories = self.factories.clone();
        let job = Job {
            plan: Arc::new(plan),
            seed: task.seed,
            controllers: Some(Arc::new({
                let guard = guard.clone();
                move |name: &str, parameters: &Parameters| match sources.get(Path::new(name)) {
                    Some(source) => source.build(parameters).ok(),
                    None => build(&factories, name, &guard),
                }
            })),
            capture: task.pcap.clone(),
        };
        let outcome = sim::run(&job, &task.watch);
        if let (Err(_), Some(path)) = (&outcome, &task.pcap) {
            discard(path);
        }
        if let Some(error) = guard.take() {
            return Err(Failure::Raised(error));
        }
        let outcome = outcome.map_err(|failure| match failure {
            sim::Failure::Interrupted => Failure::Interrupted,
            sim::Failure::Scenario(error) => Failure::Scenario(error),
            sim::Failure::Capture(path, error) => Failure::Capture(path, error),
            other => Failure::Fault(other.to_string()),
        })?;
        let tables = outcome.tables.into_tables().map(|table| {
            let name = table.name;
            record_batch(table).map(|batch| (name, batch))
        });
        let tables = tables.into_iter().collect::<Result<_, _>>();
        Ok(Run { tables: tables.map_err(|error| Failure::Fault(error.to_string()))?, engine: outcome.engine })
    }
}

/// Controllers in C by their files.
type Sources = BTreeMap<PathBuf, Arc<shim::Source>>;

impl Work {
    /// The controllers of `plan` that are files in C. What keeps one of its flows from having its own is the answer instead.
    fn sources(&self, plan: &Plan) -> Result<Sources, Failure> {
        let mut sources = Sources::new();
        for flow in &plan.flows {
            let Some(path) = flow.controller_source() else { continue };
            let refuse = |key: &str, error: shim::Error| {
                let file = format!("scenario `{}`, flow `{}`", plan.name, flow.name);
                Failure::Scenario(Error { file, line: None, key: key.to_owned(), message: error.to_string() })
            };
            if !sources.contains_key(path) {
                sources.insert(path.to_owned(), self.source(path).map_err(|error| refuse("cc", error))?);
            }
            let built = sources[path].build(&flow.parameters);
            built.map_err(|error| match error {
                shim::Error::Source(_) => refuse("cc", error),
                shim::Error::Parameter(_) => refuse("parameters", error),
            })?;
        }
        Ok(sources)
    }

    /// The controller in the file at `path`: for all runs of the batch the same.
    fn source(&self, path: &Path) -> Result<Arc<shim::Source>, shim::Error> {
        let mut known = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(path) {
            Some(source) => Ok(source.clone()),
            None => {
                let source = Arc::new(shim::Source::open(path)?);
                Ok(known.entry(path.to_owned()).or_insert(source).clone())
            }
        }
    }
}

impl Failure {
    fn into_exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Scenario(error) => exception(py, &error),
            Self::Raised(error) => error,
            Self::Capture(path, error) => {
                let reason = error.to_string();
                // Without the number that Rust puts after it: the number is an argument of its own.
                let reason = reason.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((error.raw_os_error(), reason, path))
            }
            Self::Interrupted => PyRuntimeError::new_err("the run was stopped"),
            Self::Fault(message) => PyRuntimeError::new_err(message),
        }
    }
}

/// Removes the beginning of a packet capture. What is no regular file, such as a pipe, stays, and so does what could not
/// have been written to.
fn discard(path: &Path) {
    let regular = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    if regular && OpenOptions::new().write(true).open(path).is_ok() {
        // There is nothing to tell: the run has failed for another reason already.
        let _ = std::fs::remove_file(path);
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the engine failed: {}", text.unwrap_or("for an unknown reason"))
}

/// The tables of one run.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Run {
    tables: Vec<(&'static str, RecordBatch)>,
    engine: Engine,
}

#[pymethods]
impl Run {
    /// The table called `name`.
    fn table(&self, name: &str) -> PyResult<Table> {
        let found = self.tables.iter().find(|(known, _)| *known == name);
        found.map(|(_, batch)| Table(batch.clone())).ok_or_else(|| {
            let known = self.tables.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
            PyKeyError::new_err(format!("there is no table `{name}`; there are {known}"))
        })
    }

    /// What the run cost.
    #[getter]
    fn engine<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let engine = PyDict::new(py);
        engine.set_item("kind", "sim")?;
        engine.set_item("events", self.engine.events)?;
        engine.set_item("data_packets", self.engine.data_packets)?;
        engine.set_item("cpu_s", self.engine.cpu_s)?;
        engine.set_item("wall_s", self.engine.wall_s)?;
        Ok(engine)
    }
}
