//! Requests of a page: to check a scenario, and to run it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use control::{ControllerRef, Parameters};
use engine::{CaptureTo, Engine as _, Failure, Job, Stopwatch, Watch};
use record::pcapng::Point;
use scenario::{Document, Error, Plan, Scenario};
use serde::Deserialize;
use serde_json::{Value, json};
use sim::Simulator;
use units::{Bytes, Time};

use crate::answer::Answer;
use crate::script::{self, Page};

/// A run that needs more is refused: browsers give a page no more than some GB.
const MOST_MEMORY: Bytes = Bytes::new(1 << 30);

/// A scenario, and how to run it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The scenario, TOML.
    pub text: String,
    /// The name of its file, for errors. Other files are looked up beside it.
    pub file: String,
    /// Dotted keys and the values to set there.
    pub overrides: Vec<(String, String)>,
    /// The contents of files that it may name, by their paths.
    pub files: BTreeMap<String, String>,
    /// The seed, in place of the scenario's.
    pub seed: Option<u64>,
    /// The classes of controllers that the page has.
    pub classes: Vec<String>,
    /// The place of a packet capture, if one is wanted.
    pub capture: Option<String>,
}

impl Request {
    fn scenario(&self) -> Result<Scenario, Error> {
        let mut document = Document::from_toml(&self.text, &self.file)?;
        for (key, value) in &self.overrides {
            document.set(key, value)?;
        }
        document.scenario()
    }

    /// The resolved scenario as JSON, and its plan.
    fn resolved(&self) -> Result<(Value, Plan), Error> {
        let scenario = self.scenario()?;
        let file = |path: &Path| match self.files.get(&*path.to_string_lossy()) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "this page has no such file")),
        };
        let plan = scenario.plan(&file)?;
        let simulator = Simulator::default();
        plan.check_controllers(|cc| if self.has(cc) { Ok(()) } else { simulator.builds(cc) })?;
        plan.check_memory(MOST_MEMORY)?;
        Ok((serde_json::to_value(&scenario).unwrap_or(Value::Null), plan))
    }

    /// True if `cc` is a class of the page.
    fn has(&self, cc: &ControllerRef) -> bool {
        matches!(cc, ControllerRef::Engine(name) if self.classes.contains(name))
    }
}

/// Checks the scenario of `request`: its facts, or the error.
pub fn check(request: &Request) -> Value {
    request.resolved().map_or_else(|error| refused(&error), |(resolved, plan)| facts(resolved, &plan))
}

/// Runs the scenario of `request` for `page`. `looking` is called whenever the run looks at `watch`.
pub fn run(request: &Request, page: &'static dyn Page, watch: &Arc<Watch>, clocks: Option<Stopwatch>) -> Answer {
    let (resolved, plan) = match request.resolved() {
        Ok(found) => found,
        Err(error) => return Answer::without_tables(refused(&error)),
    };
    let mut facts = facts(resolved, &plan);
    let plan = Arc::new(plan);
    let classes = request.classes.clone();
    let watched = watch.clone();
    let controllers = move |cc: &ControllerRef, parameters: &Parameters| match cc {
        ControllerRef::Engine(class) if classes.contains(class) => {
            Some(script::build(page, class, parameters, &watched))
        }
        _ => None,
    };
    let kept = Kept::default();
    let capture = match request.capture.as_deref().map(str::parse::<Point>) {
        Some(Ok(point)) => Some(CaptureTo { writer: Box::new(kept.clone()), point }),
        Some(Err(message)) => return Answer::without_tables(failed(&message)),
        None => None,
    };
    let captured = capture.is_some();
    let simulator = Simulator { controllers: Some(Arc::new(controllers)), capture, cores: 1, stopwatch: clocks };
    let seed = request.seed.unwrap_or(plan.seed);
    match simulator.run(&Job { plan, seed }, watch) {
        Ok(outcome) => {
            let cost = &outcome.cost;
            facts["seed"] = json!(seed);
            facts["cost"] = json!({ "events": cost.events, "data_packets": cost.data_packets, "wall_s": cost.wall_s });
            Answer::new(facts, outcome.tables, captured.then(|| kept.take()))
        }
        Err(Failure::Scenario(error)) => Answer::without_tables(refused(&error)),
        Err(failure) => Answer::without_tables(failed(&failure.to_string())),
    }
}

/// The first page of a report on the runs of `request`, or the error: see [`overview::page`].
pub fn shown(request: &[u8]) -> Value {
    overview::page(request).unwrap_or_else(|error| failed(&error))
}

/// Facts about a plan.
fn facts(resolved: Value, plan: &Plan) -> Value {
    json!({
        "scenario": resolved,
        "seed": plan.seed,
        "duration_s": record::seconds(Time::ZERO + plan.duration),
        "warmup_s": record::seconds(Time::ZERO + plan.warmup),
        "warnings": plan.warnings,
        "routes": plan.routes(),
    })
}

fn refused(error: &Error) -> Value {
    json!({ "error": { "line": error.line, "key": error.key, "message": error.message, "text": error.to_string() } })
}

fn failed(text: &str) -> Value {
    json!({ "error": { "line": null, "key": "", "message": text, "text": text } })
}

/// The bytes of a capture.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
