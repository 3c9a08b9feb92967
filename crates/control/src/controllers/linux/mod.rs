//! Controllers as the modules of Linux have them: whole segments, counters between them, and the module's own rules.
//! [`STACKS`](crate::stacks::STACKS) says which profile has which. The paper's or the RFC's form has the same name in
//! the registry and is the file of that name one folder up.

pub(crate) mod bic;
pub(crate) mod cubic;
pub(crate) mod cubic_2_3;
pub(crate) mod gentle_1;
pub(crate) mod highspeed;
pub(crate) mod htcp;
pub(crate) mod hybla;
pub(crate) mod illinois;
pub(crate) mod pit;
pub(crate) mod reno;
pub(crate) mod scalable;
pub(crate) mod vegas;
pub(crate) mod veno;
pub(crate) mod westwood;
