//! Controllers as the modules of Linux have them: whole segments, counters between them, and the module's own rules.
//! [`STACKS`](crate::stacks::STACKS) says which profile has which. The paper's or the RFC's form has the same name in
//! the registry and is the file of that name one folder up.

pub(crate) mod older;
pub(crate) mod reno;
pub(crate) mod todo;
