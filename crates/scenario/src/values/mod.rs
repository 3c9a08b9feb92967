//! Values that have several spellings. Each reads them with a visitor of its own, so that the error for a wrong one
//! names the allowed ones.

mod changing_queue;
mod clear_ecn;
mod delay;
mod dscp;
mod duplicate;
mod framing;
mod inline;
mod jitter;
mod loss;
mod queue;
mod rate;
mod sampling;
mod source;
mod steps;
mod tc_size;
mod trace;
mod window;

pub use changing_queue::ChangingQueue;
pub use clear_ecn::ClearEcn;
pub use delay::{Delay, DelaySpec};
pub use dscp::Dscp;
pub use duplicate::DuplicateSpec;
pub use framing::FramingSpec;
pub use jitter::JitterSpec;
pub use loss::LossSpec;
pub(crate) use queue::other_than_default;
pub use queue::{Limit, Packets, QueueSpec, path_of_tc};
pub use rate::RateSpec;
pub use sampling::Sampling;
pub use source::{Arrivals, OnOff, Paced, Source};
pub use trace::TraceRef;
pub(crate) use units::spelled;
pub use window::WindowSpec;
