//! Compiled controllers: those of the house, embedded, and the user's, compiled when asked for.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use control::ControllerRef;
use scratch::Scratch;

use crate::clang;
use crate::error::{LoadError, refused};

/// The controllers that come with the crate, by their names in scenarios: every `kernel/*.bpf.c`.
pub const BUILT_IN: &[&str] = include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// Their objects, by name.
static OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

pub(crate) static TRACE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/trace.o"));

/// The headers that a controller includes: every `kernel/*.h`.
const HEADERS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// The object for `controller`: one of [`BUILT_IN`], or a source in C.
pub(crate) fn find(controller: &ControllerRef) -> Result<Cow<'static, [u8]>, LoadError> {
    if controller.is_object() {
        return Err(LoadError::Refused(format!(
            "`{controller}` is for the simulator: the kernel takes controllers in C"
        )));
    }
    if let ControllerRef::Source(path) = controller {
        return compile(path).map(Cow::Owned);
    }
    let name = controller.spelling();
    let object = OBJECTS.iter().find(|(known, _)| *known == name).map(|(_, object)| Cow::Borrowed(*object));
    object.ok_or_else(|| {
        LoadError::Refused(format!(
            "there is no controller `{name}` for the kernel (there are {}, and any file that ends in .bpf.c)",
            BUILT_IN.join(", ")
        ))
    })
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
            "there is no controller `bbr9` for the kernel (there are cdg, da, gentle-1, gentle-2, illinois, jk, \
             newreno, pit, siad, tcp-c, tcp-fq, tcp-fs, tcp-q, yeah, and any file that ends in .bpf.c)"
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
