//! A file of rates, delays or losses over time, in each place that names one: CSV, and traces of Mahimahi.

use std::path::Path;

const PLACES: [&str; 4] = [
    "path = { rate = { trace = 'FILE' }, rtt = '40ms', queue = '20p' }",
    "path = { rate = '10mbit', rtt = { trace = 'FILE' }, queue = '20p' }",
    "path = { rate = '10mbit', rtt = '40ms', queue = '20p', loss = { trace = 'FILE' } }",
    "path = { rate = { trace = 'FILE', columns = 'time_ms rate_mbit' }, rtt = '40ms', queue = '20p' }",
];
const NAMES: [&str; 3] = ["t.csv", "t.down", "t.trace"];

/// Reads a file whose place, name and repetition the first three bytes of `input` choose.
///
/// # Panics
/// At an exception.
pub fn hold(input: &[u8]) {
    let [place, name, long, content @ ..] = input else { return };
    let place = PLACES[usize::from(*place) % PLACES.len()].replace("FILE", NAMES[usize::from(*name) % NAMES.len()]);
    // A table repeats until the end of the run, and must not be unrolled so far.
    let duration = if long % 2 == 0 { "10s" } else { "10000000s" };
    let text = format!("duration = '{duration}'\nflows = [{{ cc = 'cubic' }}]\n{place}\n");
    let read = scenario::from_toml(&text, "fuzz.toml").expect("the text is a scenario");
    if let Err(error) = read.plan(&|_: &Path| Ok(content.to_vec())) {
        let sentence = error.to_string();
        assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence:?}");
    }
}
