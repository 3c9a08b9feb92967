//! Values that a file has over time.

use serde::{Deserialize, Serialize};

/// A file with values over time, in place of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRef {
    /// A file, relative to the scenario: a table with a column of times, or for rates one in the format of mm-link.
    pub trace: String,
    /// The columns of a table without a header, like `"time_s rate_mbit"`, with `-` for one that is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
}

impl TraceRef {
    /// The file with its columns.
    pub(crate) fn new(trace: String, columns: Option<String>) -> Self {
        Self { trace, columns }
    }
}
