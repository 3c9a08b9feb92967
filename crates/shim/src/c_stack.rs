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
