//! `fuzzed::scenario_text` with random input.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::scenario_text::hold(input));
