//! TCP-Q (Edwan 2010, section 6.2): Illinois of order 2.
//! Equations and differences from the thesis: `illinois.rs`.

use crate::Entry;
use crate::controllers::illinois;

/// What the registry tells about it.
pub const ENTRY: Entry = illinois::TCP_Q;
