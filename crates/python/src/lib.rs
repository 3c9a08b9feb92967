//! The extension module `ackclock._engine`: what Python may ask of the engine.
//!
//! It converts and releases the interpreter lock, nothing else. Tables cross by the Arrow PyCapsule
//! interface without being copied.

mod batch;
mod catalogue;
mod controller;
mod event;
mod language;
mod table;

/// What Python may ask of the engine. The documentation of its names is in `_engine.pyi`.
#[pyo3::pymodule]
mod _engine {
    #[pymodule_export]
    use crate::batch::{Batch, Run};
    #[pymodule_export]
    use crate::catalogue::{controllers, profiles, schema, version};
    #[pymodule_export]
    use crate::event::{Ack, Context, Loss, Marks, RateSample};
    #[pymodule_export]
    use crate::language::{ScenarioError, inspect, resolve, resolve_json};
    #[pymodule_export]
    use crate::table::Table;
}
