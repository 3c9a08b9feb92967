//! Every way to get a scenario wrong, with the whole sentence that answers it.

#![expect(clippy::disallowed_methods, reason = "the tests write and read files of their own")]

mod copies;
mod flows;
mod framing;
mod kinds;
mod losses;
mod memory;
mod network;
mod options;
mod receivers;
mod wlans;

use std::io;
use std::path::Path;

use control::ControllerRef;
use scenario::Document;

const DUMBBELL: &str = r#"duration = "60s"

[path]
rate = "10mbit"
rtt = "40ms"
queue = "84p"

[[flows]]
cc = "newreno"
"#;

const PARKING_LOT: &str = r#"duration = "60s"

[[links]]
from = "a"
to = "b"
rate = "10mbit"
delay = "5ms"
queue = "84p"
duplex = true

[[links]]
from = "b"
to = "c"
rate = "10mbit"
delay = "5ms"
queue = "84p"
duplex = true

[[flows]]
cc = "newreno"
from = "a"
to = "c"
"#;

/// The files of this machine.
fn disk(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

fn sentence(text: &str) -> String {
    let plan = scenario::from_toml(text, "demo.toml").and_then(|scenario| scenario.plan(&disk));
    let registered = |cc: &ControllerRef| cc.check_registered().map_err(|error| error.to_string());
    match plan.and_then(|plan| plan.check_controllers(registered).map(|()| plan)) {
        Ok(plan) => panic!("planned: {plan:?}"),
        Err(error) => error.to_string(),
    }
}

/// The sentence about `text` with one line of it replaced.
fn with(text: &str, line: &str, replacement: &str) -> String {
    assert_eq!(text.matches(line).count(), 1, "{line}");
    sentence(&text.replace(line, replacement))
}

fn dumbbell(line: &str, replacement: &str) -> String {
    with(DUMBBELL, line, replacement)
}

fn flow(line: &str) -> String {
    sentence(&format!("{DUMBBELL}{line}\n"))
}

/// Panics unless the flow with `line` is planned.
fn accepted(line: &str) {
    let text = format!("{DUMBBELL}{line}\n");
    if let Err(error) = scenario::from_toml(&text, "demo.toml").and_then(|scenario| scenario.plan(&disk)) {
        panic!("{line}: {error}");
    }
}

fn parking_lot(line: &str, replacement: &str) -> String {
    with(PARKING_LOT, line, replacement)
}

#[test]
fn text_that_is_not_toml() {
    assert_eq!(dumbbell("[path]", "[path"), "demo.toml, line 3: is not TOML: unclosed table, expected `]`");
    assert_eq!(dumbbell("[path]", "[path]\nrate = \"1mbit\""), "demo.toml, line 5: is not TOML: duplicate key");
}

#[test]
fn a_file_that_cannot_be_read_or_is_not_text() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    let missing = scenario::from_path(format!("{directory}/missing.toml"), &disk).unwrap_err().to_string();
    assert_eq!(missing, format!("{directory}/missing.toml: cannot be read: No such file or directory (os error 2)"));
    std::fs::write(format!("{directory}/latin1.toml"), b"name = \"Z\xfcrich\"").unwrap();
    let latin1 = scenario::from_path(format!("{directory}/latin1.toml"), &disk).unwrap_err().to_string();
    assert_eq!(latin1, format!("{directory}/latin1.toml: is not UTF-8 text (byte 9 is the first that is not)"));
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest_and_the_list() {
    assert_eq!(
        dumbbell("rtt = ", "rt = "),
        "demo.toml, line 5: path.rt: there is no such key here; did you mean `rtt`? \
         (there are `rate`, `rtt`, `delay`, `queue`, `framing`, `loss`, `jitter`, `duplicate`, \
         `clear_ecn`, `reorder`, `reverse`)"
    );
    assert_eq!(
        flow("[flows.sources]"),
        "demo.toml, line 10: flows.0.sources: there is no such key here; did you mean `source`? (there are `cc`, \
         `parameters`, `name`, `count`, `start`, `start_jitter`, `stop`, `bytes`, `every`, `think`, `connections`, \
         `rtt`, `reverse`, `from`, `to`, `via`, `extra_delay`, `subflows`, `relays`, `quick_start`, `access_category`, \
         `dscp`, `profile`, `transport`, `kind`, `media`, `echo`, `packet_size`, `source`, `changes`)"
    );
    assert_eq!(
        dumbbell("queue = \"84p\"", "queue = { limit = \"84p\", mark = \"30p\" }"),
        "demo.toml, line 6: path.queue.mark: there is no such key here; did you mean `mark_above`? \
         (there are `limit`, `count_in_service`, `count_delayed`, `mark_above`, `discipline`)"
    );
}

#[test]
fn a_missing_key() {
    assert_eq!(dumbbell("duration = \"60s\"", ""), "demo.toml: duration: is missing");
    assert_eq!(dumbbell("rate = \"10mbit\"", ""), "demo.toml, line 3: path.rate: is missing");
    assert_eq!(dumbbell("cc = \"newreno\"", ""), "demo.toml, line 8: flows.0.cc: is missing");
    assert_eq!(
        dumbbell("queue = \"84p\"", ""),
        "demo.toml, line 3: path.queue: is missing: write packets `84p`, bytes `64kB`, a time `100ms`, `1bdp` or \
         `infinite`"
    );
}

#[test]
fn a_duration_of_zero_and_a_warmup_as_long_as_the_run() {
    assert_eq!(dumbbell("60s", "0s"), "demo.toml, line 1: duration: must be above 0, like `60s`");
    assert_eq!(
        dumbbell("duration = \"60s\"", "duration = \"60s\"\nwarmup = \"60s\""),
        "demo.toml, line 2: warmup: `60s` leaves nothing to measure of the duration `60s`"
    );
    assert_eq!(dumbbell("60s", "60"), "demo.toml, line 1: duration: `60` has no unit: write `60ms` or `60s`");
}

#[test]
fn a_sampling_that_is_none() {
    let record = |line: &str| flow(&format!("[record]\n{line}"));
    assert_eq!(
        record("probes = \"often\""),
        "demo.toml, line 11: record.probes: `often` is not a time: write it like `40ms`; a sampling is a time like \
         `100ms`, a number of ACKs like `20acks`, or `off`"
    );
    assert_eq!(
        record("probes = \"0s\""),
        "demo.toml, line 11: record.probes: `0s`: the time between samples must be above 0; `off` takes none"
    );
    assert_eq!(
        record("flow_series = \"0acks\""),
        "demo.toml, line 11: record.flow_series: `0acks` is not a whole number of ACKs above 0, like `20acks`"
    );
    assert_eq!(
        record("link_series = \"20acks\""),
        "demo.toml, line 11: record.link_series: `20acks`: a link sees no ACKs; write a time like `100ms`, or `off`"
    );
}

#[test]
fn keys_of_the_two_forms_do_not_mix() {
    assert_eq!(
        flow("from = \"a\""),
        "demo.toml, line 10: flows.0.from: belongs to scenarios with [[links]]; this one has a [path]"
    );
    assert_eq!(
        parking_lot("cc = \"newreno\"", "cc = \"newreno\"\nrtt = \"40ms\""),
        "demo.toml, line 21: flows.0.rtt: belongs to scenarios with a [path]; with [[links]] write `extra_delay`"
    );
    assert_eq!(
        parking_lot("cc = \"newreno\"", "cc = \"newreno\"\nreverse = true"),
        "demo.toml, line 21: flows.0.reverse: belongs to scenarios with a [path]; among [[links]] write `from` and `to`"
    );
    assert_eq!(
        parking_lot(
            "rate = \"10mbit\"\ndelay = \"5ms\"\nqueue = \"84p\"\nduplex = true\n\n[[flows]]",
            "rate = \"10mbit\"\ndelay = \"5ms\"\nqueue = \"1bdp\"\nduplex = true\n\n[[flows]]"
        ),
        "demo.toml, line 16: links.1.queue: `1bdp` needs the base RTT of a [path]; for a link write packets, bytes or \
         a time"
    );
}

#[test]
fn keys_that_cannot_be_set() {
    let set = |key: &str| {
        let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
        document.set(key, "1").and_then(|()| document.scenario()).unwrap_err().to_string()
    };
    assert_eq!(
        set("flows.1.cc"),
        "demo.toml, line 8: flows.1.cc: `1` is not an index into `flows`, which has one entry, number 0"
    );
    let mut document = Document::from_toml(&format!("{DUMBBELL}[[flows]]\ncc = \"cdg\"\n"), "demo.toml").unwrap();
    assert_eq!(
        document.set("flows.2.cc", "1").unwrap_err().to_string(),
        "demo.toml, line 8: flows.2.cc: `2` is not an index into `flows`, which has 2 entries, 0 to 1"
    );
    assert_eq!(
        set("path.rate.limit"),
        "demo.toml, line 4: path.rate.limit: `path.rate` is not a table: set it as a whole"
    );
    assert_eq!(set("path..rate"), "demo.toml, line 3: path..rate: a key is names and indices with single dots between");
    assert!(set("path.speed").starts_with("demo.toml, line 3: path.speed: there is no such key here; there are `"));
}
