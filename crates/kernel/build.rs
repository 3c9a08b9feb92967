//! Compiles kernel/*.bpf.c; the objects are embedded by `src/object.rs`.

use std::path::{Path, PathBuf};

#[path = "src/clang.rs"]
mod clang;

fn main() {
    // Cargo runs this in the folder of the package: a path of this tree, wherever it or its target folder was copied to.
    let sources = Path::new("../../kernel");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed={}", sources.display());
    for name in ["newreno", "cdg", "siad", "da", "trace"] {
        let source = sources.join(format!("{name}.bpf.c"));
        if let Err(sentence) = clang::compile(&source, sources, &out.join(format!("{name}.o"))) {
            println!("cargo::error={sentence}");
            return;
        }
    }
}
