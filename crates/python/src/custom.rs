//! Controllers from outside the registry, for engines that run the project's own: written in Python, or in files.

use std::sync::Arc;

use control::{ControllerRef, Parameters};
use engine::{Factory, Watch};
use pyo3::prelude::*;
use scenario::{Error, Plan, PlannedFlow};

use crate::attached::let_go;
use crate::controller::{Factories, Guard, Raised, build};
use crate::engines::Options;
use crate::failure::Failure;
use crate::sources::{Compiled, Report};
use crate::threads::PythonThreads;

/// Controllers that are not in the registry, for all runs of a batch.
pub(crate) struct CustomControllers {
    /// Those written in Python.
    factories: Factories,
    /// The controllers in files.
    compiled: Compiled,
    /// The flows whose controllers these are.
    takes: fn(&PlannedFlow) -> bool,
    threads: Arc<PythonThreads>,
}

impl CustomControllers {
    /// The controllers of the option `controllers`.
    pub(crate) fn take(options: &Options<'_>) -> PyResult<Arc<Self>> {
        let factories: Factories = options.take("controllers")?.unwrap_or_default();
        if !factories.is_empty() {
            // Threads of runs find it loaded. An interrupt within an import comes where Python cannot raise it.
            Python::attach(|py| py.import("ackclock.calls").map(drop))?;
        }
        Ok(Arc::new(Self { factories, ..Self::in_files(|_| true) }))
    }

    /// Controllers in files, for the flows that an engine `takes`.
    pub(crate) fn in_files(takes: fn(&PlannedFlow) -> bool) -> Self {
        let (factories, compiled) = (Factories::default(), Compiled::default());
        Self { factories, compiled, takes, threads: Arc::default() }
    }

    /// The threads of runs that call Python, if they do.
    pub(crate) fn python_threads(&self) -> Option<Arc<PythonThreads>> {
        (!self.factories.is_empty()).then(|| self.threads.clone())
    }

    /// The factory of the controllers of `plan`. `watch` stops the run when one fails, and the guard has the reason.
    pub(crate) fn factory(self: &Arc<Self>, plan: &Plan, watch: &Arc<Watch>) -> Result<(Factory, Arc<Guard>), Failure> {
        let given = self.factories.len();
        let missing = |cc: &ControllerRef| matches!(cc, ControllerRef::Python { index, .. } if *index >= given);
        if let Some(flow) = plan.flows.iter().find(|flow| (self.takes)(flow) && missing(&flow.cc)) {
            let message = format!(
                "the controller `{}` is one written in Python, and only a program that brings it can run it",
                flow.cc
            );
            let file = format!("scenario `{}`, flow `{}`", plan.name, flow.name());
            return Err(Failure::Scenario(Error { file, line: None, key: "cc".to_owned(), message }));
        }
        let sources = self.compiled.of(plan, self.takes).map_err(Failure::Scenario)?;
        let guard = Arc::new(Guard::new(watch.clone()));
        let (custom, guarded) = (self.clone(), guard.clone());
        let reporting = guard.clone();
        let report: Report = Arc::new(move |sentence| reporting.stop(sentence));
        let controllers = move |cc: &ControllerRef, parameters: &Parameters| match cc {
            ControllerRef::Source(path) => sources.build(path, parameters, &report),
            ControllerRef::Python { index, label } => build(&custom.factories, (*index, label.as_deref()), &guarded),
            ControllerRef::Registered(_) | ControllerRef::Engine(_) => None,
        };
        Ok((Arc::new(controllers), guard))
    }
}

/// The failure of a controller in a finished run, if one failed.
pub(crate) fn raised(guard: &Guard) -> Option<Failure> {
    let_go();
    guard.take().map(|raised| match raised {
        Raised::Exception(error) => Failure::Raised(error),
        Raised::Panic(sentence) => Failure::Controller(sentence),
    })
}
