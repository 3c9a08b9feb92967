//! Compiled controllers: this project's, embedded, and the user's, compiled on request.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::process::Command;

use control::ControllerRef;
use scratch::Scratch;

use crate::clang;
use crate::error::{LoadError, refused};

/// The controllers that come with the crate, by their names in scenarios: every `kernel/*.bpf.c`.
pub const BUILT_IN: &[&str] = include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// Their objects, by name.
static OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));

pub(crate) static TRACE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/trace.o"));

/// The types of a kernel, in C and as it shows them.
const TYPES: &str = "vmlinux.h";
const KERNEL: &str = "/sys/kernel/btf/vmlinux";

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
            "there is no controller `{name}` for the kernel (there are {}, and any file that ends in .c)",
            BUILT_IN.join(", ")
        ))
    })
}

fn compile(source: &Path) -> Result<Vec<u8>, LoadError> {
    if !source.is_file() {
        return Err(LoadError::Refused(format!("there is no file {}", source.display())));
    }
    let scratch = Scratch::new().map_err(refused("a temporary folder cannot be made"))?;
    let text = fs::read(source).map_err(refused(format!("{} cannot be read", source.display())))?;
    if String::from_utf8_lossy(&text).contains("ack.h\"") {
        for (name, text) in HEADERS {
            fs::write(scratch.path(name), text).map_err(refused(format!("{name} cannot be written")))?;
        }
    } else {
        types_of_kernel(source, &scratch.path(TYPES))?;
    }
    let output = scratch.path("controller.o");
    clang::compile(source, scratch.folder(), &output).map_err(LoadError::Refused)?;
    fs::read(&output).map_err(refused("the compiled controller cannot be read"))
}

/// Writes the types of the running kernel to `file` for a source in the style of libbpf, unless the file exists beside
/// it.
fn types_of_kernel(source: &Path, file: &Path) -> Result<(), LoadError> {
    if source.with_file_name(TYPES).exists() {
        return Ok(());
    }
    let dumped = Command::new("bpftool").args(["btf", "dump", "file", KERNEL, "format", "c"]).output();
    match dumped {
        Ok(done) if done.status.success() => {
            fs::write(file, done.stdout).map_err(refused(format!("{TYPES} cannot be written")))
        }
        _ => Err(LoadError::Refused(format!(
            "{} needs {TYPES} beside it, or bpftool, which writes it (Debian: apt install bpftool)",
            source.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_and_a_missing_file_are_named() {
        assert_eq!(
            find(&"bbr9".into()).unwrap_err().to_string(),
            "there is no controller `bbr9` for the kernel (there are cdg, da, gentle-1, gentle-2, illinois, jk, \
             newreno, pit, siad, tcp-c, tcp-fq, tcp-fs, tcp-q, yeah, and any file that ends in .c)"
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
