//! QUIC stacks of the user where no shared objects are built: there are none.

use std::collections::BTreeMap;
use std::path::PathBuf;

use quic::Stacks;
use scenario::{Error, Plan};

/// None.
pub(crate) struct UserStacks {}

impl UserStacks {
    pub(crate) fn new(_: BTreeMap<&'static str, PathBuf>) -> Self {
        Self {}
    }

    /// There is none. A controller in a file is refused before.
    pub(crate) fn of(&self, _: &Plan) -> Result<Option<Stacks>, Error> {
        Ok(None)
    }
}
