//! Code of the user, called so that a panic in it is a sentence with its line.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// True while this thread is in such a call.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// The place of the last panic in it.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The result of `code`, or the message of its panic with the place. The panic prints nothing.
pub(crate) fn caught<R>(code: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| if INSIDE.get() { note(panic) } else { before(panic) }));
    });
    let outer = INSIDE.replace(true);
    // A panic has no place if the code has set another hook.
    let _ = PLACE.try_with(RefCell::take);
    let result = catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let message = message_of(&*panic);
        let place = PLACE.try_with(RefCell::take).unwrap_or_default();
        // The destructor of what a panic carries may panic as well. What that carries is forgotten.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(second);
        }
        if place.is_empty() { message } else { format!("{message} ({place})") }
    });
    INSIDE.set(outer);
    result
}

/// Notes the place of a panic, unless that is in Rust's own library. The root of a package without folders is the file
/// of the user.
fn note(panic: &PanicHookInfo<'_>) {
    let Some(location) = panic.location().filter(|place| !is_of_library(place.file())) else { return };
    let line = format!("line {}", location.line());
    let place = if location.file() == "lib.rs" { line } else { format!("{}, {line}", location.file()) };
    let _ = PLACE.try_with(|noted| noted.replace(place));
}

/// True for a file of Rust's library, which has its own name or a place in the toolchain.
fn is_of_library(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("/rustlib/src/rust/library/")
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("for an unknown reason").to_owned()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    const FILE: &str = file!();

    #[test]
    fn a_panic_is_its_message_with_the_place() {
        let first = line!();
        assert_eq!(caught::<()>(|| panic!("{} many", 2)), Err(format!("2 many ({FILE}, line {})", first + 1)));
        assert_eq!(caught::<()>(|| panic!("none")), Err(format!("none ({FILE}, line {})", first + 2)));
        let unknown = caught::<()>(|| std::panic::panic_any(5u8));
        assert_eq!(unknown, Err(format!("for an unknown reason ({FILE}, line {})", first + 3)));
        assert_eq!(
            caught(|| black_box(Vec::<u8>::with_capacity(usize::MAX)).len()),
            Err("capacity overflow".to_owned())
        );
        assert_eq!(caught(|| 5), Ok(5));
    }

    #[test]
    fn a_panic_within_another_call_is_that_calls() {
        let first = line!();
        let outer = caught::<()>(|| {
            assert!(caught::<()>(|| panic!("inner")).is_err());
            panic!("outer");
        });
        assert_eq!(outer, Err(format!("outer ({FILE}, line {})", first + 3)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "what the second panic carries is forgotten, which is a leak")]
    fn what_a_panic_carries_may_panic_when_it_is_dropped() {
        struct Fatal;
        impl Drop for Fatal {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        assert!(caught::<()>(|| std::panic::panic_any(Fatal)).unwrap_err().starts_with("for an unknown reason ("));
    }
}
