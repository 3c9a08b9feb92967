//! Parts that several controllers share.

pub(crate) mod bounded;
pub(crate) mod decongestion;
pub(crate) mod epoch_measures;
pub(crate) mod gradient;
pub(crate) mod linux;
pub(crate) mod probabilistic;
pub(crate) mod queue_bounded;
pub(crate) mod queue_meter;
pub(crate) mod reno;
pub(crate) mod slow_start;
pub(crate) mod undo;
pub(crate) mod windowed_max;
