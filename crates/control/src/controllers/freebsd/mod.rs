//! Controllers as FreeBSD has them. [`STACKS`](crate::stacks::STACKS) says which profile has which.

pub(crate) mod cubic;
