//! The list of controllers: what there is, and how to build one by name.

use crate::nearest::nearest;
use crate::{Controller, Entry, ParameterError, Parameters, media, tfrc};

/// Every controller, in alphabetical order: those that `controllers/mod.rs` declares (`build.rs`).
pub const CONTROLLERS: &[Entry] = include!(concat!(env!("OUT_DIR"), "/controllers.rs"));

/// The controllers that set the rate of an encoder, in alphabetical order: for flows of kind `media` alone.
pub const MEDIA: &[Entry] = media::ENTRIES;

/// The entry of controller `name`, also one for media, or if there is none, an error with the nearest known name.
pub fn find(name: &str) -> Result<&'static Entry, ParameterError> {
    CONTROLLERS.iter().chain(MEDIA).find(|e| e.name == name).ok_or_else(|| {
        let known = CONTROLLERS.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
        if name == tfrc::NAME {
            return ParameterError(
                "`tfrc` is no controller but a kind of flow: simulated flows take it as their `cc`, with the \
                 parameters `history_discounting` and `smooth`"
                    .to_owned(),
            );
        }
        if LINUX_ONLY.contains(&name) {
            return ParameterError(format!(
                "the simulator has no `{name}`{}; live runs (`--live`) take the kernel's (there are {known})",
                versions(name)
            ));
        }
        let meant = nearest(name, CONTROLLERS.iter().map(|e| e.name));
        let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        ParameterError(format!("there is no controller `{name}`{meant} (there are {known})"))
    })
}

/// The controllers that are versions of `name`, as a remark, empty without any.
fn versions(name: &str) -> String {
    let numbered = |entry: &&Entry| {
        entry.name.strip_prefix(name).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let found: Vec<String> = CONTROLLERS.iter().filter(numbered).map(|entry| format!("`{}`", entry.name)).collect();
    if found.is_empty() { String::new() } else { format!(", but {}", found.join(" and ")) }
}

/// Controllers of Linux that are not among [`CONTROLLERS`] by these names.
const LINUX_ONLY: [&str; 3] = ["bbr", "lp", "nv"];

/// Builds the controller `name`.
pub fn build(name: &str, parameters: &Parameters) -> Result<Box<dyn Controller>, ParameterError> {
    find(name)?.build(parameters)
}

/// What `ackclock new controller --in rust` begins with.
#[cfg(test)]
#[path = "../../../python/ackclock/cli/templates/controller.rs"]
pub mod template;

/// The controller that CONTRIBUTING.md explains, with its tests.
#[cfg(test)]
pub mod guide {
    include!(concat!(env!("OUT_DIR"), "/guide.rs"));

    #[test]
    fn the_example_of_the_guide_builds() {
        assert!(ENTRY.build(&crate::Parameters::new()).is_ok());
    }
}
