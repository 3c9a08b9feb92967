//! A QUIC stack of the user in C, from a folder in which `make stack.so` builds it.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;

use crate::{Error, compile};

/// The object in the folder.
const OBJECT: &str = "stack.so";

/// The object of the stack in `folder`, once `make` has brought it up to date.
pub(crate) fn object(folder: &Path) -> Result<Vec<u8>, Error> {
    let shown = folder.display();
    let failed = |what: &str, error: &io::Error| Error::Source(format!("`{shown}` cannot be {what}: {error}"));
    // Another process may be building it.
    let lock = File::open(folder).map_err(|error| failed("read", &error))?;
    lock.lock().map_err(|error| failed("read", &error))?;
    let made = Command::new("make").env("LC_ALL", "C").arg("--silent").arg("-C").arg(folder).arg(OBJECT).output();
    let made = made.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Source(format!("`{shown}` cannot be built: there is no `make` on the PATH")),
        _ => failed("built", &error),
    })?;
    compile::accepted(folder, made)?;
    fs::read(folder.join(OBJECT)).map_err(|error| failed("built", &error))
}

#[cfg(test)]
mod tests {
    use scratch::Scratch;

    use super::*;

    #[test]
    fn make_brings_the_object_up_to_date() {
        let scratch = Scratch::new().unwrap();
        let built = |makefile: &str| {
            fs::write(scratch.path("Makefile"), makefile).unwrap();
            object(scratch.folder())
                .map_err(|error| error.to_string().replace(&scratch.folder().display().to_string(), "mine"))
        };
        let rule = ".PHONY: stack.so\nstack.so:\n\tprintf 'object' > stack.so\n";
        assert_eq!(built(rule), Ok(b"object".to_vec()));
        assert_eq!(
            built("stack.so: .PHONY\n.PHONY:\n\t@echo 'stack.c:1: error: no type' >&2; false\n"),
            Err("`mine` does not compile: stack.c:1: error: no type".to_owned())
        );
        fs::remove_file(scratch.path(OBJECT)).unwrap();
        let none = built(&rule.replace("> stack.so", "> other.so")).unwrap_err();
        assert!(none.starts_with("`mine` cannot be built: No such file"), "{none}");
        let missing = object(&scratch.path("none")).unwrap_err().to_string();
        assert!(missing.contains("none` cannot be read: No such file"), "{missing}");
    }
}
