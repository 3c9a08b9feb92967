//! Congestion controllers inside the Linux kernel's TCP: compiled from `kernel/*.bpf.c`, loaded as BPF `struct_ops`,
//! and traced.
//!
//! [`Congestion::load`] registers a controller under a name for the socket option `TCP_CONGESTION`. It goes when the
//! [`Loaded`] is dropped, or the process ends however. [`machine`] keeps controllers loaded beyond the process.
//! [`Trace`] records segments of connections under any controller.

mod clang;
mod congestion;
mod error;
mod layout;
pub mod machine;
mod messages;
mod object;
mod requirements;
mod ring;
mod trace;

pub use congestion::{Congestion, Loaded, Probe, ProbeTurns};
pub use error::LoadError;
pub use object::BUILT_IN;
pub use requirements::check;
pub use trace::{Filter, Kind, Segment, Trace, namespace_cookie};
