//! The handle of a scenario: resolved, planned, with the files that it names. It travels from the scenario language to
//! engines, caches and reports. Its text and its files are its identity.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use control::ControllerRef;
use overview::metrics;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use scenario::{Error, Kind, Plan, Scenario};
use serde_json::{Value, json};
use units::Time;

use crate::catalogue::to_python;
use crate::json::text;
use crate::language::{NO_FILE, exception, failure, json_value};

/// The largest file that a scenario may name, in bytes: a trace of an hour at 1 Gbit/s has 300 million lines.
const LARGEST_FILE: u64 = 1 << 30;

/// Why code is not read that nobody named.
const CODE: &str = "it is code and can do all that you can: it runs where the command line names it, or with --trust";

/// The bytes of a file that a scenario names.
struct Content {
    bytes: Vec<u8>,
    /// The same for pickles, which write an object once however often it is referred to.
    pickled: PyOnceLock<Py<PyBytes>>,
}

/// Files by their absolute paths.
type Contents = BTreeMap<PathBuf, Arc<Content>>;

/// The code that may run.
#[derive(Default)]
enum Code {
    #[default]
    None,
    /// Controllers in these files, by their paths without links.
    Named(BTreeSet<PathBuf>),
    /// All that a scenario names.
    Every,
}

/// Files that scenarios name: each is opened once, however many scenarios name it. It is the one door for code: without
/// being named here, a controller in a file is not read, and so it never runs.
#[pyclass(frozen, module = "ackclock._engine")]
#[derive(Default)]
pub(crate) struct Files {
    known: Mutex<Contents>,
    code: Code,
}

#[pymethods]
impl Files {
    /// `code` has the controllers in files that may run, as a command line spells them; `trusted` lets all run.
    #[new]
    #[pyo3(signature = (code=Vec::new(), *, beside=None, trusted=false))]
    fn new(code: Vec<String>, beside: Option<PathBuf>, trusted: bool) -> Self {
        let places = [PathBuf::new(), beside.unwrap_or_default()];
        let files = code.iter().filter_map(|spelled| ControllerRef::from(spelled.as_str()).file());
        let named = files.flat_map(|file| places.each_ref().map(|place| std::fs::canonicalize(place.join(&file))));
        let code = if trusted { Code::Every } else { Code::Named(named.flatten().collect()) };
        Self { known: Mutex::default(), code }
    }
}

impl Files {
    /// Whether the file at `path` is no code, or code that may run.
    fn may_run(&self, path: &Path) -> bool {
        let is_code = matches!(ControllerRef::from(path.to_string_lossy().as_ref()), ControllerRef::Source(_));
        match &self.code {
            _ if !is_code => true,
            Code::Every => true,
            Code::None => false,
            Code::Named(named) => std::fs::canonicalize(path).is_ok_and(|place| named.contains(&place)),
        }
    }

    /// The file at the absolute `path`.
    fn read(&self, path: &Path) -> io::Result<Arc<Content>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = known.get(path) {
            return Ok(content.clone());
        }
        if !self.may_run(path) {
            // One that is missing is said to be.
            std::fs::metadata(path)?;
            return Err(io::Error::other(CODE));
        }
        let content = Arc::new(Content { bytes: read_file(path)?, pickled: PyOnceLock::new() });
        Ok(known.entry(path.to_owned()).or_insert(content).clone())
    }
}

/// The bytes of the file at `path`. A device or a pipe could go on for ever.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let refuse = |why: String| Err(io::Error::other(why));
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return refuse("it is no regular file".to_owned());
    }
    if about.len() > LARGEST_FILE {
        return refuse(format!("it has {} bytes, more than the {LARGEST_FILE} that are allowed", about.len()));
    }
    std::fs::read(path)
}

/// Reads files for one scenario, and notes which.
struct Reader<'a> {
    files: &'a Files,
    named: RefCell<Contents>,
}

impl scenario::Files for Reader<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let path = std::path::absolute(path)?;
        let content = self.files.read(&path)?;
        let bytes = content.bytes.clone();
        self.named.borrow_mut().insert(path, content);
        Ok(bytes)
    }
}

/// A resolved scenario, the files that it names, and its plan.
pub(crate) struct Planned {
    resolved: String,
    contents: Contents,
    /// Made when first asked for, unless resolving has made it.
    plan: OnceLock<Result<Arc<Plan>, Error>>,
    /// True for each flow that sends all it can. Found once for all repetitions.
    greedy: OnceLock<Vec<bool>>,
}

impl Planned {
    /// The plan, the same for all who ask.
    pub(crate) fn get(&self) -> Result<Arc<Plan>, Error> {
        self.plan.get_or_init(|| self.plan_anew().map(Arc::new)).clone()
    }

    /// True for each flow that sends all it can.
    pub(crate) fn greedy(&self) -> Result<&[bool], Error> {
        if let Some(greedy) = self.greedy.get() {
            return Ok(greedy);
        }
        let found = metrics::greedy(&json_value(&self.resolved)?["flows"]);
        Ok(self.greedy.get_or_init(|| found))
    }

    /// The plan of the text, with the files as they were read for it.
    fn plan_anew(&self) -> Result<Plan, Error> {
        let files = Files { known: Mutex::new(self.contents.clone()), code: Code::None };
        let reader = Reader { files: &files, named: RefCell::default() };
        scenario::from_json(&json_value(&self.resolved)?, NO_FILE)?.plan(&reader)
    }
}

/// A scenario that is resolved and planned.
#[pyclass(frozen, name = "Plan", module = "ackclock._engine")]
pub(crate) struct SharedPlan(Arc<Planned>);

impl SharedPlan {
    /// The handle of `scenario`, whose file is in `directory`. Its text names files by absolute paths.
    pub(crate) fn of(scenario: Scenario, directory: &Path, files: &Files) -> Result<Self, Error> {
        let reader = Reader { files, named: RefCell::default() };
        // Only the plan finds keys that contradict each other. Its errors name files as they are written.
        let plan = scenario.plan(&reader)?;
        let names_files = !reader.named.borrow().is_empty();
        let anchored = scenario.anchored(directory);
        let resolved = text(&serde_json::to_value(&anchored).map_err(|error| failure(error.to_string()))?);
        let plan = if names_files { anchored.plan(&reader)? } else { plan };
        let plan = OnceLock::from(Ok(Arc::new(plan)));
        let (contents, greedy) = (reader.named.into_inner(), OnceLock::new());
        Ok(Self(Arc::new(Planned { resolved, contents, plan, greedy })))
    }

    /// The part that tasks share.
    pub(crate) fn planned(&self) -> Arc<Planned> {
        Arc::clone(&self.0)
    }

    /// The plan, or the exception that says why there is none.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Arc<Plan>> {
        self.0.get().map_err(|error| exception(py, &error))
    }
}

#[pymethods]
impl SharedPlan {
    /// The plan of a text that is resolved already, with the files that it names. Any other is read when needed.
    #[new]
    #[pyo3(signature = (resolved, files=None))]
    fn new(resolved: String, files: Option<BTreeMap<PathBuf, Vec<u8>>>) -> Self {
        let content = |(path, bytes)| (path, Arc::new(Content { bytes, pickled: PyOnceLock::new() }));
        let contents = files.unwrap_or_default().into_iter().map(content).collect();
        Self(Arc::new(Planned { resolved, contents, plan: OnceLock::new(), greedy: OnceLock::new() }))
    }

    /// The resolved scenario as JSON.
    #[getter]
    fn resolved(&self) -> &str {
        &self.0.resolved
    }

    /// The bytes of the files that the scenario names, by their absolute paths.
    #[getter]
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (path, content) in &self.0.contents {
            let bytes = content.pickled.get_or_init(py, || PyBytes::new(py, &content.bytes).unbind());
            files.set_item(path.as_os_str(), bytes)?;
        }
        Ok(files)
    }

    /// The name in reports.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.get(py)?.name.clone())
    }

    /// The master seed.
    #[getter]
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.get(py)?.seed)
    }

    /// The links that data of each flow cross, as rows of the table of links.
    #[getter]
    fn routes(&self, py: Python<'_>) -> PyResult<Vec<Vec<usize>>> {
        Ok(self.get(py)?.routes())
    }

    /// Facts about the scenario, for people.
    fn inspect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &inspected(self.get(py)?.as_ref()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, own) = (slf.py(), slf.get());
        let arguments = (own.resolved(), own.files(py)?).into_pyobject(py)?;
        (slf.get_type(), arguments).into_pyobject(py)
    }

    fn __eq__(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Content>, &Arc<Content>)| Arc::ptr_eq(a, b) || a.bytes == b.bytes;
        let (own, other) = (&self.0, &other.0);
        Arc::ptr_eq(own, other)
            || own.resolved == other.resolved
                && own.contents.keys().eq(other.contents.keys())
                && own.contents.values().zip(other.contents.values()).all(same)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.resolved.hash(&mut hasher);
        hasher.finish()
    }
}

/// Facts about `plan`, as JSON.
fn inspected(plan: &Plan) -> Value {
    let flows = plan.flows.iter().map(|flow| {
        let usual = if flow.kind == Kind::Tcp { flow.options.usual_flight() } else { None };
        json!({
            "name": flow.name(),
            "cc": flow.cc.label(),
            "profile": flow.profile,
            "usual_flight_bytes": usual.map(|bytes| bytes.get()),
            "base_rtt_ms": record::milliseconds(flow.base_rtt),
            "start_s": record::seconds(flow.start),
            "stop_s": record::seconds(flow.stop),
            "connections": flow.connections(),
        })
    });
    let links = plan.links.iter().map(|link| {
        json!({
            "name": link.name,
            "rate_bps": link.rate.map(|rate| rate.bits_per_second()),
            "delay_ms": record::milliseconds(link.delay),
        })
    });
    json!({
        "warnings": plan.warnings,
        "notes": plan.notes,
        "estimated_memory_bytes": plan.estimated_memory().get(),
        "duration_s": record::seconds(Time::ZERO + plan.duration),
        "warmup_s": record::seconds(Time::ZERO + plan.warmup),
        "bottleneck": plan.bottleneck.map(|link| &plan.links[link].name),
        "flows": flows.collect::<Value>(),
        "links": links.collect::<Value>(),
    })
}
