//! `fuzzed::tables` with random input.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::tables::hold(input));
