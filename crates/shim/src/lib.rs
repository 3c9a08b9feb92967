//! Controllers written for the kernel, run in the simulator.
//!
//! The C file that the kernel runs as BPF struct_ops (`kernel/*.bpf.c`, or a user's own) is compiled natively against
//! `kernel/shim/shim.h`, loaded, and wrapped as a [`Controller`](control::Controller): [`Source::open`], then
//! [`Source::build`] for each flow. The kernel's TCP around its controllers is in `tcp.rs`.
//!
//! A controller in Rust is in a shared object ([`Plugin`]), which Cargo builds from a file or a crate.
//!
//! The file is native code of the user's and runs as such: a crash in it ends the process, with a sentence that names
//! the file (`crash.rs`).

#[cfg(feature = "stacks")]
mod c_stack;
mod cache;
mod cargo;
mod compile;
mod connection;
mod crash;
mod error;
mod library;
mod object;
mod plugin;
#[cfg(feature = "stacks")]
mod stacks;
mod style;
mod tcp;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use control::{Controller, Parameters};

pub use error::Error;
use library::Library;
pub use plugin::{Plugin, Report};
#[cfg(feature = "stacks")]
pub use stacks::Foreign;

/// A compiled controller.
pub struct Source {
    /// Its name in errors.
    name: String,
    object: Arc<[u8]>,
    /// Loaded once for each set of parameters, as they are globals of the object.
    loaded: Mutex<BTreeMap<String, Arc<Library>>>,
}

impl Source {
    /// Compiles the file at `path`, unless its object is in the user's cache.
    ///
    /// # Errors
    /// One sentence: the file cannot be read, there is no compiler, or the compiler's first error.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let object = compile::compile(path)?.into();
        Ok(Self { name: path.display().to_string(), object, loaded: Mutex::default() })
    }

    /// The same for one run: its variables belong to the run, as a module's variables belong to one kernel.
    #[must_use]
    pub fn for_run(&self) -> Self {
        Self { name: self.name.clone(), object: Arc::clone(&self.object), loaded: Mutex::default() }
    }

    /// A controller for one flow, with `parameters`, the rest as the file sets them.
    ///
    /// # Errors
    /// One sentence: a parameter that the file does not have or that is out of range, or why the object cannot be
    /// loaded.
    pub fn build(&self, parameters: &Parameters) -> Result<Box<dyn Controller>, Error> {
        let key = serde_json::to_string(parameters).unwrap_or_default();
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let library = match loaded.get(&key) {
            Some(library) => library.clone(),
            None => {
                let library = Arc::new(Library::load(&self.name, &self.object, parameters)?);
                loaded.entry(key).or_insert(library).clone()
            }
        };
        Ok(Box::new(tcp::Kernel::new(library)))
    }
}
