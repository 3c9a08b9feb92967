//! `fuzzed::runs` with random input. Scenarios without a plan leave the corpus.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|input: &[u8]| -> Corpus { if fuzzed::runs::hold(input) { Corpus::Keep } else { Corpus::Reject } });
