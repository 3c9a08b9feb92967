//! Lists texts to embed: the headers of `kernel/` with the functions of the kernel for `src/compile.rs`, and for
//! `src/cargo.rs` the sources of the crates against which controllers in Rust are built.

use std::path::Path;
use std::{env, fs};

fn main() {
    // Cargo runs this in the folder of the package: a path of this tree, wherever it or its target folder was copied
    // to.
    let root = Path::new("../../kernel");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut headers = Vec::new();
    for folder in ["", "shim/"] {
        for entry in fs::read_dir(root.join(folder)).expect("the folder of headers can be read") {
            let name = entry.expect("a folder lists its files").file_name().into_string().unwrap_or_default();
            if name.ends_with(".h") || name == "kfuncs.c" {
                headers.push(format!("{folder}{name}"));
            }
        }
    }
    headers.sort();
    embed("headers.rs", root, &headers);
    let tree = Path::new("../..");
    let mut sources = vec!["Cargo.lock".to_owned(), "Cargo.toml".to_owned()];
    let stacks: &[&str] =
        if env::var_os("CARGO_FEATURE_STACKS").is_some() { &["noq", "quiche", "quinn", "stack"] } else { &[] };
    for package in ["control", "plugin", "units"].iter().chain(stacks) {
        sources_of(tree, &format!("crates/{package}"), &mut sources);
    }
    sources.iter().for_each(|name| println!("cargo::rerun-if-changed={}", tree.join(name).display()));
    println!("cargo::rerun-if-changed={}", tree.join("crates/control/src/controllers").display());
    embed("sources.rs", tree, &sources);
}

/// Lists files of the folder `root` with their texts.
fn embed(list: &str, root: &Path, files: &[String]) {
    let text = |name: &String| fs::read_to_string(root.join(name)).expect("sources can be read");
    let rows: String = files.iter().map(|name| format!("    ({name:?}, {:?}),\n", text(name))).collect();
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join(list), format!("&[\n{rows}]\n")).expect("OUT_DIR can be written");
}

/// All that a build of the package in `folder` reads: tests and their snapshots are no part of it.
fn sources_of(root: &Path, folder: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(root.join(folder)).expect("the folder of a package can be read");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a folder lists its files").file_name().into_string().unwrap_or_default())
        .collect();
    names.sort();
    for name in names.iter().filter(|name| !matches!(name.as_str(), "tests" | "tests.rs" | "testing" | "examples")) {
        let path = format!("{folder}/{name}");
        if root.join(&path).is_dir() {
            sources_of(root, &path, found);
        } else if name.ends_with(".rs") || name == "Cargo.toml" || name == "README.md" {
            found.push(path);
        }
    }
}
