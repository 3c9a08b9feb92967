//! `fuzzed::endpoints` with random input.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::endpoints::hold(input));
