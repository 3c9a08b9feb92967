//! Names that tables hold for the rest of the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// `name` for the rest of the process, stored once however often it is asked for: tables name probes by static strings,
/// and controllers from files or from Python bring names of their own. Not for names without number.
pub fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.into());
    names.insert(new);
    new
}

#[cfg(test)]
mod tests {
    use super::intern;

    #[test]
    fn a_name_is_stored_once() {
        let (first, second) = (intern("shadow"), intern(&String::from("shadow")));
        assert_eq!(first, "shadow");
        assert!(std::ptr::eq(first, second));
        assert!(!std::ptr::eq(first, intern("other")));
    }
}
