//! TCP-Fs (Edwan 2010, section 6.2): Illinois with a smoothed decrease.
//! Equations and differences from the thesis: `illinois.rs`.

use crate::Entry;
use crate::controllers::illinois;

/// The entry in the registry.
pub const ENTRY: Entry = illinois::TCP_FS;
