//! TCP-Fq (Edwan 2010, section 6.2): Illinois whose decrease alone has order 2.
//! Equations and differences from the thesis: `illinois.rs`.

use crate::Entry;
use crate::controllers::illinois;

/// The entry in the registry.
pub const ENTRY: Entry = illinois::TCP_FQ;
