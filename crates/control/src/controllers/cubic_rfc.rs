//! CUBIC as RFC 9438 has it, whatever the profile: `cubic.rs` with the parameters of the RFC.

use super::cubic;
use crate::Entry;

/// The entry of CUBIC by the RFC in the registry.
pub const ENTRY: Entry = Entry {
    name: "cubic-rfc",
    title: "CUBIC of RFC 9438",
    summary: "Grows along a cubic of the time since the last loss, by the letter of the RFC on every profile",
    source: "RFC 9438",
    ..cubic::ENTRY
};
