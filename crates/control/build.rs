//! Writes the list of controllers: one entry for each module that `src/controllers/mod.rs` declares, so that a
//! controller is added by its file and that one line. Writes the controller of CONTRIBUTING.md for the tests, too.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::env;
use std::fs;
use std::path::Path;

const LIST: &str = "src/controllers/mod.rs";
const GUIDE: &str = "../../CONTRIBUTING.md";

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: String| fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
    println!("cargo::rerun-if-changed={LIST}");
    println!("cargo::rerun-if-changed={GUIDE}");
    let list = fs::read_to_string(LIST).expect("the list of controllers can be read");
    let modules = list.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let entries: String = modules.map(|module| format!("    crate::controllers::{module}::ENTRY,\n")).collect();
    write("controllers.rs", format!("&[\n{entries}]\n"));
    // Packages have no guide, and are not tested.
    write("guide.rs", example(&fs::read_to_string(GUIDE).unwrap_or_default()));
}

/// The blocks of the guide that are Rust, but for its first lines, which belong at the start of a file.
fn example(guide: &str) -> String {
    let blocks = guide.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    let code = blocks.take(2).flat_map(str::lines).filter(|line| !line.starts_with("//!"));
    code.map(|line| format!("{line}\n")).collect()
}
