//! Compiles every `kernel/*.bpf.c` and lists the objects and the headers, which `src/object.rs` embeds: a file in that
//! folder is all that a controller needs.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/clang.rs"]
mod clang;

/// A program on tracepoints, and no controller.
const TRACE: &str = "trace";

fn main() {
    // Cargo runs this in the folder of the package: a path of this tree, wherever it or its target folder was copied
    // to.
    let sources = Path::new("../../kernel");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed={}", sources.display());
    let mut names = files(sources, ".bpf.c");
    for name in &names {
        let source = sources.join(format!("{name}.bpf.c"));
        if let Err(sentence) = clang::compile(&source, sources, &out.join(format!("{name}.o"))) {
            println!("cargo::error={sentence}");
            return;
        }
    }
    names.retain(|name| name != TRACE);
    let write = |name: &str, text: String| fs::write(out.join(name), text).expect("OUT_DIR can be written");
    write("names.rs", list(names.iter().map(|name| format!("{name:?}"))));
    let object = |name: &String| format!("include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.o\"))");
    write("objects.rs", list(names.iter().map(|name| format!("({name:?}, {}.as_slice())", object(name)))));
    let text = |name: &str| fs::read_to_string(sources.join(format!("{name}.h"))).expect("headers can be read");
    let headers = files(sources, ".h");
    write("headers.rs", list(headers.iter().map(|name| format!("({:?}, {:?})", format!("{name}.h"), text(name)))));
}

/// The names of the files in `folder` that end in `ending`, without it, in alphabetical order.
fn files(folder: &Path, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder of controllers can be read");
    let names = entries.filter_map(|entry| entry.expect("a folder lists its files").file_name().into_string().ok());
    let mut names: Vec<_> = names.filter_map(|name| Some(name.strip_suffix(ending)?.to_owned())).collect();
    names.sort();
    names
}

/// A slice of `items` as Rust.
fn list(items: impl Iterator<Item = String>) -> String {
    format!("&[{}]\n", items.collect::<Vec<_>>().join(", "))
}
