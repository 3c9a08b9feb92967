//! The simulator for web pages.
//!
//! A page hands in a [`Request`] as JSON and gets an [`Answer`], whose columns it reads from the memory of the module.
//! Controllers in JavaScript belong to the page, which is a [`Page`] here. The functions that a page sees are in `abi`.

#[cfg(target_arch = "wasm32")]
mod abi;
mod answer;
mod request;
mod script;

pub use answer::Answer;
pub use request::{Request, check, run, shown};
pub use script::{Decisions, Numbers, Page, described, random};
