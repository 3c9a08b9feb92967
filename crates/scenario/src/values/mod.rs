//! Values that have several spellings. Each reads them with a visitor of its own, so that a wrong one is answered
//! with what is allowed.

mod delay;
mod jitter;
mod loss;
mod queue;
mod rate;
mod sampling;
mod source;
mod steps;

pub use delay::{Delay, DelaySpec};
pub use jitter::JitterSpec;
pub use loss::LossSpec;
pub use queue::{Limit, Packets, QueueSpec};
pub use rate::RateSpec;
pub use sampling::Sampling;
pub use source::{Arrivals, OnOff, Paced, Source};
pub(crate) use units::spelled;
