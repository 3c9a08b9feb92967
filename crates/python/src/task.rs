//! Tasks of a batch: runs of any engine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Cost, Engine, Job, Watch};
use scenario::Plan;
use serde::Serialize;
use serde_json::{Value, json};

use crate::attached::let_go;
use crate::destructors::Listening;
use crate::failure::Failure;
use crate::plan::Planned;
use crate::run::Run;

/// One run that is asked for.
pub(crate) trait Task: Send + Sync {
    /// Runs it to its end.
    fn run(&self) -> Result<Run, Failure>;
    /// The share of its time that is behind.
    fn progress(&self) -> f64;
    /// Lets [`Task::run`] end soon.
    fn stop(&self);
}

/// Sets up the engine of one run, from the options of Python.
pub(crate) trait Setup: Send + Sync {
    type Engine: Engine<Notes: Serialize>;
    /// State that is needed again when the run is over.
    type State;

    /// The engine for `plan`. `watch` lets a controller stop the run.
    fn engine(&self, plan: &Plan, watch: &Arc<Watch>) -> Result<(Self::Engine, Self::State), Failure>;

    /// The run of `plan` is over, with `failure` if it gave no tables: what to raise, if anything.
    fn failure(&self, plan: &Plan, state: &Self::State, failure: Option<engine::Failure>) -> Option<Failure>;
}

/// A run of the engine that `S` sets up.
pub(crate) struct EngineTask<S> {
    /// Taken by the run, so that it goes with the last run of its scenario.
    planned: Mutex<Option<Arc<Planned>>>,
    seed: u64,
    setup: S,
    watch: Arc<Watch>,
    /// How long the run is in all, in nanoseconds of the scenario, 0 until it is planned.
    duration_nanos: AtomicU64,
}

impl<S: Setup> EngineTask<S> {
    pub(crate) fn new(planned: Arc<Planned>, seed: u64, setup: S) -> Self {
        let planned = Mutex::new(Some(planned));
        let watch = Arc::new(Watch { looking: Some(let_go), ..Watch::default() });
        Self { planned, seed, setup, watch, duration_nanos: AtomicU64::new(0) }
    }
}

impl<S: Setup> Task for EngineTask<S> {
    fn stop(&self) {
        self.watch.stop.store(true, Ordering::Relaxed);
    }

    fn progress(&self) -> f64 {
        match self.duration_nanos.load(Ordering::Relaxed) {
            0 => 0.0,
            // The clock of a live run may be a little further than its end.
            duration => (self.watch.elapsed_nanos.load(Ordering::Relaxed) as f64 / duration as f64).min(1.0),
        }
    }

    fn run(&self) -> Result<Run, Failure> {
        let listening = Listening::begin();
        let answer = self.run_alone();
        match listening {
            Some(listening) => listening.end(answer),
            None => answer,
        }
    }
}

impl<S: Setup> EngineTask<S> {
    fn run_alone(&self) -> Result<Run, Failure> {
        let planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner).take();
        let planned = planned.ok_or_else(|| Failure::Fault("a task runs only once".to_owned()))?;
        let plan = planned.get().map_err(Failure::Scenario)?;
        drop(planned);
        let (engine, state) = self.setup.engine(&plan, &self.watch)?;
        self.duration_nanos.store(plan.duration.as_nanos(), Ordering::Relaxed);
        let result = engine.run(&Job { plan: plan.clone(), seed: self.seed }, &self.watch);
        let (outcome, failure) = match result {
            Ok(outcome) => (Some(outcome), None),
            Err(failure) => (None, Some(failure)),
        };
        match (self.setup.failure(&plan, &state, failure), outcome) {
            (None, Some(outcome)) => {
                Ok(Run::new(outcome.tables, engine_of(S::Engine::KIND, outcome.cost, &outcome.notes)?))
            }
            (Some(failure), _) => Err(failure),
            (None, None) => Err(Failure::Fault("the run gave no tables".to_owned())),
        }
    }
}

/// The entry `engine` of results: kind, cost and notes.
pub(crate) fn engine_of(kind: &str, cost: Cost, notes: &impl Serialize) -> Result<Value, Failure> {
    let Cost { events, data_packets, cpu_s, wall_s } = cost;
    let mut engine = json!({
        "kind": kind, "events": events, "data_packets": data_packets, "cpu_s": cpu_s, "wall_s": wall_s,
    });
    let notes = serde_json::to_value(notes).map_err(|error| Failure::Fault(error.to_string()))?;
    if let (Value::Object(engine), Value::Object(notes)) = (&mut engine, notes) {
        engine.extend(notes);
    }
    Ok(engine)
}
