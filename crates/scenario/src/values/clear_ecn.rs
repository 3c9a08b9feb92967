//! How scenarios spell equipment that clears the ECN field.

use serde::{Deserialize, Serialize};

/// Where equipment clears the ECN field of packets on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClearEcn {
    /// Before the queue.
    Before,
    /// Behind it.
    After,
}
