//! Modules of older kernels, for the profiles of these kernels.

pub(crate) mod cubic;
pub(crate) mod highspeed;
pub(crate) mod htcp;
pub(crate) mod scalable;
