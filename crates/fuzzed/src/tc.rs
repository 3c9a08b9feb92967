//! A line of `tc`: read, and what it means is a path that a scenario can have.

use scenario::NoFiles;

/// Reads `input` as a line.
///
/// # Panics
/// At an exception.
pub fn hold(input: &[u8]) {
    let mut words = crate::text(input).split_whitespace();
    let Some(name) = words.next() else { return };
    let words: Vec<&str> = words.collect();
    let Ok(path) = scenario::path_of_tc(name, &words) else { return };
    let document = serde_json::json!({ "duration": "1s", "flows": [{ "cc": "cubic" }], "path": path });
    // It may lack a rate or an RTT, which other options give, and its plan may be refused with a reason.
    if let Ok(read) = scenario::from_json(&document, "fuzz.json") {
        let _ = read.plan(&NoFiles);
    }
}
