//! TCP-Fq (Edwan 2010, section 6.2): Illinois whose decrease alone has order 2.
//! Equations and differences from the thesis: `illinois.rs`.

use crate::Entry;
use crate::controllers::illinois;

/// What the registry tells about it.
pub const ENTRY: Entry = illinois::TCP_FQ;
