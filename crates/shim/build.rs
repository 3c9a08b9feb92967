//! Lists the headers of `kernel/`, which `src/compile.rs` embeds.

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
            if name.ends_with(".h") {
                headers.push(format!("{folder}{name}"));
            }
        }
    }
    headers.sort();
    let text = |name: &String| fs::read_to_string(root.join(name)).expect("headers can be read");
    let list: String = headers.iter().map(|name| format!("    ({name:?}, {:?}),\n", text(name))).collect();
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&out).join("headers.rs"), format!("&[\n{list}]\n")).expect("OUT_DIR can be written");
}
