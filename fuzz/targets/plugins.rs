//! `fuzzed::plugins` with random input.

#![no_main]

use fuzzed::plugins::{ON_PURPOSE, hold};
use libfuzzer_sys::fuzz_target;

/// libFuzzer's hook ends the process at each panic, also at one that the table takes.
fn let_controllers_panic() {
    std::panic::set_hook(Box::new(|panic| {
        if panic.payload_as_str() != Some(ON_PURPOSE) {
            eprintln!("{panic}");
            std::process::abort();
        }
    }));
}

fuzz_target!(init: let_controllers_panic(), |input: &[u8]| hold(input));
