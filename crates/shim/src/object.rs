//! Shared objects: loaded from memory, and their symbols.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::{Error, crash};

/// A loaded copy of an object. It is unloaded when this is dropped.
#[derive(Debug)]
pub(crate) struct Object {
    handle: NonNull<c_void>,
    /// The file that it was loaded from: while it is open, no other has its path.
    _file: File,
}

// SAFETY: the loader may be called from any thread.
unsafe impl Send for Object {}
unsafe impl Sync for Object {}

impl Object {
    /// Loads a copy of its own from memory: the loader takes a file or a path that it has loaded for the same object.
    pub(crate) fn open(name: &str, object: &[u8]) -> Result<Self, Error> {
        let cannot = |why: String| Error::Source(format!("`{name}` cannot be loaded: {why}"));
        let memory =
            memfd_create(c"ackclock-controller", MemfdFlags::CLOEXEC).map_err(|error| cannot(error.to_string()))?;
        let mut file = File::from(memory);
        file.write_all(object).map_err(|error| cannot(error.to_string()))?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default();
        // SAFETY: the path ends with a zero. Constructors of the object run, as the user wants who names it.
        let load = || unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = crash::naming(&named(name), "", load);
        crash::loaded(&named(name));
        let handle = NonNull::new(handle).ok_or_else(|| {
            // SAFETY: called on the thread on which dlopen has just failed.
            let message = text(unsafe { libc::dlerror() }).unwrap_or("the loader does not say why");
            // Without the path.
            cannot(message.split_once(": ").map_or(message, |(_, why)| why).to_owned())
        })?;
        Ok(Self { handle, _file: file })
    }

    /// The address of the symbol `name`.
    pub(crate) fn symbol<T>(&self, name: &CStr) -> Option<NonNull<T>> {
        // SAFETY: the handle is valid, and the name ends with a zero.
        NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) }.cast())
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: nothing of the object is in use.
        unsafe { libc::dlclose(self.handle.as_ptr()) };
    }
}

/// A name as C has it.
pub(crate) fn named(name: &str) -> CString {
    CString::new(name.replace('\0', "")).unwrap_or_default()
}

/// The string at `at`, if there is one.
pub(crate) fn text<'a>(at: *const c_char) -> Option<&'a str> {
    // SAFETY: strings of an object and of the loader end with a zero and live longer than their use here.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) }.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cross_to_c_and_back() {
        assert_eq!((named("mine"), named("mi\0ne")), (c"mine".to_owned(), c"mine".to_owned()));
        assert_eq!((text(c"mine".as_ptr()), text(std::ptr::null())), (Some("mine"), None));
    }
}
