//! Runs: the job, the outcome with its cost, the failures, and the trait of engines.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use control::ControllerRef;
use record::Tables;
use scenario::Plan;

use crate::Conduct;

/// Something that runs plans. A value belongs to one run, and holds what that needs beside its job.
pub trait Engine: Sized {
    /// The name by which results say which engine gave them.
    const KIND: &'static str;

    /// Its notes on a run beside tables and cost.
    type Notes;

    /// Refuses a controller that it cannot build. By default it builds controllers of the registry, in files, and in
    /// Python.
    ///
    /// # Errors
    /// Why not: a sentence that begins with the name.
    fn builds(&self, cc: &ControllerRef) -> Result<(), String> {
        cc.check_registered().map_err(|error| error.to_string())
    }

    /// Refuses a plan that it cannot run, by default one whose controllers it cannot build.
    ///
    /// # Errors
    /// [`Failure::Scenario`], [`Failure::Refused`] or [`Failure::Machine`], about the first thing that it cannot do.
    fn check(&self, plan: &Plan) -> Result<(), Failure> {
        plan.check_controllers(|cc| self.builds(cc)).map_err(Failure::Scenario)
    }

    /// Runs `job` from start to end on the calling thread.
    ///
    /// # Errors
    /// Why there are no tables.
    fn run(self, job: &Job, watch: &Watch) -> Result<Outcome<Self::Notes>, Failure>;
}

/// One run to do.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario, resolved.
    pub plan: Arc<Plan>,
    /// Master seed of this run, in place of the plan's.
    pub seed: u64,
}

/// Lets others watch a run and stop it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set to stop the run soon.
    pub stop: AtomicBool,
    /// How far the run has come, in nanoseconds of the scenario.
    pub elapsed_nanos: AtomicU64,
    /// Called on the thread of the run whenever it looks at `stop`, so that a caller can let other threads run or show
    /// progress.
    pub looking: Option<fn()>,
    /// A breach of the law for decisions of controllers stops the run as well.
    pub conduct: Conduct,
}

impl Watch {
    /// True if the run is to end soon.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.conduct.is_broken()
    }

    /// Why a run that was stopped has no tables.
    pub fn failure(&self) -> Failure {
        self.conduct.breach().map_or(Failure::Interrupted, |sentence| Failure::Controller(sentence.to_owned()))
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome<N = ()> {
    /// The tables.
    pub tables: Tables,
    /// Its cost.
    pub cost: Cost,
    /// Notes of the engine.
    pub notes: N,
}

/// The cost of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Events handled. The simulator counts events of its queues, which depend on how the plan is cut. A live run
    /// counts packets moved.
    pub events: u64,
    /// Data packets sent.
    pub data_packets: u64,
    /// CPU time of its threads, seconds.
    pub cpu_s: f64,
    /// Wall-clock time, seconds.
    pub wall_s: f64,
}

/// Clocks for the cost of a run, for engines that read no clock themselves. Only differences of their readings have a
/// meaning.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    /// CPU time of the calling thread, seconds.
    pub cpu_s: fn() -> f64,
    /// Wall-clock time, seconds.
    pub wall_s: fn() -> f64,
}

impl Stopwatch {
    /// Readings of both clocks.
    pub fn read(&self) -> [f64; 2] {
        [(self.cpu_s)(), (self.wall_s)()]
    }
}

/// Why a run gave no tables. Displays as one sentence.
#[derive(Debug)]
pub enum Failure {
    /// Stopped through [`Watch::stop`].
    Interrupted,
    /// The scenario is impossible under this seed.
    Scenario(scenario::Error),
    /// The engine cannot run the plan.
    Refused(String),
    /// A controller could not be made, or decided what no run can go on with.
    Controller(String),
    /// The plan has no place where packets are to be captured.
    CapturePoint(String),
    /// The capture that was asked for could not be written.
    Capture(io::Error),
    /// The machine lacks something that the run needs.
    Machine(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("the run was interrupted"),
            Self::Scenario(error) => error.fmt(f),
            Self::Capture(error) => write!(f, "the capture cannot be written: {error}"),
            Self::Refused(message)
            | Self::Controller(message)
            | Self::CapturePoint(message)
            | Self::Machine(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}
