//! TCP-Gentle-2 (Edwan 2010, section 7.1, algorithms 3 and 5). Equations and differences from the thesis:
//! `gentle_1.rs`.

use crate::Entry;
use crate::controllers::gentle_1;

/// The entry in the registry.
pub const ENTRY: Entry = gentle_1::SECOND;
