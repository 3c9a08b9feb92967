//! The extension module `ackclock._engine`: the engine for Python.
//!
//! It converts and releases the interpreter lock, nothing else. Tables cross by the Arrow PyCapsule
//! interface without being copied.

mod at_exit;
mod attached;
mod batch;
mod catalogue;
mod controller;
mod custom;
mod decision;
mod destructors;
mod endpoint;
mod engines;
mod event;
mod failure;
mod first_page;
mod json;
mod language;
mod memory;
mod method;
#[cfg(feature = "live")]
mod pinned;
mod plan;
mod quantity;
mod run;
#[cfg(feature = "live")]
mod shell;
#[cfg_attr(not(feature = "native"), path = "no_sources.rs")]
mod sources;
#[cfg(feature = "quic")]
#[cfg_attr(not(feature = "native"), path = "no_stacks.rs")]
mod stacks;
mod sysctls;
mod table;
mod task;
mod tc;
mod threads;

/// The names of the module. Their documentation is in `_engine.pyi`.
#[pyo3::pymodule]
mod _engine {
    #[pymodule_export]
    use crate::batch::Batch;
    #[pymodule_export]
    use crate::catalogue::{columns, controllers, media_controllers, profiles, schema, signals, version};
    #[pymodule_export]
    use crate::endpoint::Endpoint;
    #[cfg(feature = "live")]
    #[pymodule_export]
    use crate::engines::uml::check_virtual_time;
    #[pymodule_export]
    use crate::engines::{check_plan, engines, has_qlog};
    #[pymodule_export]
    use crate::event::{Ack, Context, Loss, Marks, RateSample, SegmentReport, SentState, Transmission};
    #[pymodule_export]
    use crate::failure::{ControllerError, MachineError};
    #[pymodule_export]
    use crate::first_page::{fairness, first_page, first_page_columns, goodput, jain, limit, loss_percent};
    #[pymodule_export]
    use crate::language::{ScenarioError, controller_at, controller_label, resolve, resolve_json, trace_keys};
    #[pymodule_export]
    use crate::memory::available_memory;
    #[cfg(feature = "live")]
    #[pymodule_export]
    use crate::pinned::{kernel_list, kernel_load, kernel_set, kernel_unload};
    #[pymodule_export]
    use crate::plan::{Files, SharedPlan};
    #[pymodule_export]
    use crate::quantity::quantity;
    #[pymodule_export]
    use crate::run::Run;
    #[cfg(feature = "live")]
    #[pymodule_export]
    use crate::shell::{become_root, shell};
    #[pymodule_export]
    use crate::sysctls::{configure, sysctls};
    #[pymodule_export]
    use crate::table::{Table, joined};
    #[pymodule_export]
    use crate::tc::{tc_quantity, tc_queue, tc_words};
}
