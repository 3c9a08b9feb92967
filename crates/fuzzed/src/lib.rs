//! Properties that hold for every input, each a function of the input's bytes that panics at an exception.
//!
//! The fuzzers in `fuzz/targets/` call them with random input (`make fuzz`). `tests/corpora.rs` calls them with each
//! file of `fuzz/corpora/`, so `cargo test` replays the corpora without instrumentation.

pub mod endpoints;
#[cfg(target_os = "linux")]
pub mod plugins;
pub mod runs;
pub mod scenario_text;
pub mod tables;
pub mod tc;

/// The text at the beginning of `input`, to the first byte that is no UTF-8.
fn text(input: &[u8]) -> &str {
    input.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}
