//! The list of controllers: what there is, and how to build one by name.

use crate::nearest::nearest;
use crate::{Controller, Entry, ParameterError, Parameters};

/// Every controller, in alphabetical order: those that `controllers/mod.rs` declares (`build.rs`).
pub const CONTROLLERS: &[Entry] = include!(concat!(env!("OUT_DIR"), "/controllers.rs"));

/// The entry of controller `name`; if there is none, an error with the nearest known name.
pub fn find(name: &str) -> Result<&'static Entry, ParameterError> {
    CONTROLLERS.iter().find(|e| e.name == name).ok_or_else(|| {
        let nearest = nearest(name, CONTROLLERS.iter().map(|e| e.name)).unwrap_or_default();
        let known = CONTROLLERS.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
        ParameterError(format!("there is no controller `{name}`; did you mean `{nearest}`? (there are {known})"))
    })
}

/// Builds the controller `name`.
pub fn build(name: &str, parameters: &Parameters) -> Result<Box<dyn Controller>, ParameterError> {
    find(name)?.build(parameters)
}

/// The controller that CONTRIBUTING.md explains, with its tests.
#[cfg(test)]
pub mod guide {
    include!(concat!(env!("OUT_DIR"), "/guide.rs"));

    #[test]
    fn the_example_of_the_guide_builds() {
        assert!(ENTRY.build(&crate::Parameters::new()).is_ok());
    }
}
