//! Compiled controllers: those of the house, embedded, and the user's, compiled when asked for.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use control::ControllerRef;
use scratch::Scratch;

use crate::clang;
use crate::error::{LoadError, refused};

/// The controllers that come with the crate, by their names in scenarios.
pub const BUILT_IN: &[&str] = &["cdg", "da", "newreno", "siad"];

pub(crate) static TRACE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/trace.o"));

/// The headers that a controller includes.
const HEADERS: &[(&str, &str)] = &[
    ("ack.h", include_str!("../../../kernel/ack.h")),
    ("tcp.h", include_str!("../../../kernel/tcp.h")),
    ("bpf.h", include_str!("../../../kernel/bpf.h")),
    ("binary64.h", include_str!("../../../kernel/binary64.h")),
    ("events.h", include_str!("../../../kernel/events.h")),
    ("callbacks.h", include_str!("../../../kernel/callbacks.h")),
];

/// The object for `controller`: one of [`BUILT_IN`], or a source in C.
pub(crate) fn find(controller: &ControllerRef) -> Result<Cow<'static, [u8]>, LoadError> {
    if let ControllerRef::Source(path) = controller {
        return compile(path).map(Cow::Owned);
    }
    Ok(Cow::Borrowed(match &*controller.spelling() {
        "cdg" => include_bytes!(concat!(env!("OUT_DIR"), "/cdg.o")).as_slice(),
        "da" => include_bytes!(concat!(env!("OUT_DIR"), "/da.o")),
        "newreno" => include_bytes!(concat!(env!("OUT_DIR"), "/newreno.o")),
        "siad" => include_bytes!(concat!(env!("OUT_DIR"), "/siad.o")),
        name => {
            return Err(LoadError::Refused(format!(
                "there is no controller `{name}` for the kernel (there are {}, and any file that ends in .bpf.c)",
                BUILT_IN.join(", ")
            )));
        }
    }))
}

fn compile(source: &Path) -> Result<Vec<u8>, LoadError> {
    if !source.is_file() {
        return Err(LoadError::Refused(format!("there is no file {}", source.display())));
    }
    let scratch = Scratch::new().map_err(refused("a temporary folder cannot be made"))?;
    for (name, text) in HEADERS {
        fs::write(scratch.path(name), text).map_err(refused(format!("{name} cannot be written")))?;
    }
    let output = scratch.path("controller.o");
    clang::compile(source, scratch.folder(), &output).map_err(LoadError::Refused)?;
    fs::read(&output).map_err(refused("the compiled controller cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_and_a_missing_file_are_named() {
        assert_eq!(
            find(&"bbr9".into()).unwrap_err().to_string(),
            "there is no controller `bbr9` for the kernel (there are cdg, da, newreno, siad, and any file that ends in .bpf.c)"
        );
        assert_eq!(find(&"nowhere/mine.bpf.c".into()).unwrap_err().to_string(), "there is no file nowhere/mine.bpf.c");
    }

    #[test]
    fn a_source_with_an_error_gives_its_first_line() {
        let scratch = Scratch::new().unwrap();
        let source = scratch.path("mine.bpf.c");
        fs::write(&source, "#include \"ack.h\"\nint x = y;\n").unwrap();
        let said = find(&ControllerRef::Source(source)).unwrap_err().to_string();
        assert!(said.starts_with("clang cannot compile ") && said.contains("mine.bpf.c:2:9: error:"), "{said}");
    }
}
