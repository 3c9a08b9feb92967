//! No option of the transport is silent: in every profile each value either changes a run that exercises it, or is
//! refused.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{fingerprint, run_plan};
use scenario::{Plan, TransportOptions};
use serde_json::Value;
use transport::{PROFILES, Profile};

/// Short runs with something for every rule: their description, the options that they set beside the tried ones, and
/// the scenario. `FLOW` is the part that all flows share.
const EXERCISES: [(&str, &str, &str); 10] = [
    (
        "losses of data and of ACKs, a source that pauses and short flows",
        "",
        r#"
        duration = "6s"
        path = { rate = "4mbit", rtt = "50ms", queue = "20p", loss = "2%", reverse = { loss = "10%" } }
        flows = [
          { cc = "newreno", FLOW },
          { cc = "newreno", FLOW, source = { rate = "6mbit", on = "200ms", off = "700ms" } },
          { cc = "cubic", FLOW, bytes = "30kB", every = "250ms" },
        ]
        "#,
    ),
    (
        "losses in bursts",
        "",
        r#"
        duration = "6s"
        path.rate = "8mbit"
        path.rtt = "60ms"
        path.queue = "60p"
        path.loss = { model = "gilbert-elliott", good_to_bad = "1%", bad_to_good = "25%" }
        flows = [{ cc = "newreno", FLOW }, { cc = "cubic", FLOW }]
        "#,
    ),
    (
        "reordering",
        "",
        r#"
        duration = "6s"
        path.rate = "5mbit"
        path.rtt = "50ms"
        path.queue = "50p"
        path.loss = "0.2%"
        path.jitter = { uniform = "20ms", reorder = true }
        flows = [{ cc = "newreno", FLOW }, { cc = "siad", FLOW }]
        "#,
    ),
    (
        "marks",
        "",
        r#"
        duration = "6s"
        path = { rate = "5mbit", rtt = "40ms", queue = { limit = "100p", mark_above = "8p" } }
        flows = [{ cc = "newreno", FLOW }, { cc = "newreno", FLOW, bytes = "60kB", every = "700ms" }]
        "#,
    ),
    (
        "an outage",
        "",
        r#"
        duration = "10s"
        path.rate = [["0s", "4mbit"], ["1s", "0bit"], ["7s", "4mbit"]]
        path.rtt = "60ms"
        path.queue = "60p"
        path.reverse = { loss = "20%" }
        flows = [{ cc = "newreno", FLOW }, { cc = "newreno", FLOW }]
        "#,
    ),
    (
        "a path that is longer for a second",
        "",
        r#"
        duration = "10s"
        path.rate = "4mbit"
        path.rtt = [["0s", "40ms"], ["1s", "900ms"], ["2s", "40ms"], ["5s", "2s"], ["6s", "40ms"]]
        path.queue = "60p"
        flows = [{ cc = "newreno", FLOW }]
        "#,
    ),
    (
        "windows that are not used",
        "",
        r#"
        duration = "10s"
        path = { rate = "10mbit", rtt = "40ms", queue = "200p" }
        flows = [
          { cc = "newreno", FLOW, source = { rate = "8mbit", on = "1s", off = "600ms" } },
          { cc = "newreno", FLOW, source = { rate = "500kbit", on = "700ms", off = "1500ms" } },
        ]
        "#,
    ),
    (
        "pacing",
        "",
        r#"
        duration = "6s"
        path = { rate = "5mbit", rtt = "40ms", queue = "20p", loss = "0.5%" }
        flows = [{ cc = "bbr1", FLOW }, { cc = "bbr1", FLOW, source = { rate = "1mbit", on = "300ms", off = "200ms" } }]
        "#,
    ),
    (
        "ACKs that wait on a long path, and timeouts",
        "quick_acks = 0, receive_window = 3",
        r#"
        duration = "30s"
        path = { rate = "20mbit", rtt = "900ms", queue = "100p", loss = "8%" }
        flows = [{ cc = "newreno", FLOW }, { cc = "newreno", FLOW }, { cc = "newreno", FLOW }]
        "#,
    ),
    (
        "timeouts on a short path",
        "",
        r#"
        duration = "6s"
        path = { rate = "20mbit", rtt = "2ms", queue = "100p", loss = "20%" }
        flows = [
          { cc = "newreno", FLOW },
          { cc = "newreno", FLOW, bytes = "10kB", every = "50ms" },
          { cc = "newreno", FLOW, bytes = "1kB", every = "50ms" },
        ]
        "#,
    ),
];

/// Values of the options that are neither switches nor names.
const NUMBERS: [(&str, &[&str]); 22] = [
    ("segment_size", &[r#""500B""#, r#""1460B""#]),
    ("initial_window", &["1", "4", "10", "40"]),
    ("receive_window", &["2", "8"]),
    ("receive_buffer", &[r#""unlimited""#, r#""10kB""#, r#""4096 16384 32768""#]),
    ("send_buffer", &[r#""unlimited""#, r#""1kB""#, r#""4096 16384 32768""#]),
    ("clock_tick", &[r#""0s""#, r#""1ms""#, r#""10ms""#]),
    ("timestamp_tick", &[r#""0s""#, r#""100ms""#]),
    ("timer_tick", &[r#""0s""#, r#""1ms""#, r#""10ms""#]),
    ("duplicate_threshold", &["1", "5", "16"]),
    ("counting", &[r#""per-ack""#, r#""segments""#, "{ bytes = { limit = 1 } }", "{ bytes = { limit = 2 } }"]),
    ("rto_initial", &[r#""500ms""#, r#""2s""#]),
    ("rto_min", &[r#""10ms""#, r#""210ms""#, r#""600ms""#]),
    ("rto_max", &[r#""1500ms""#, r#""2s""#]),
    ("rto_variance_min", &[r#""0s""#, r#""300ms""#]),
    ("ecn", &["false", "true", r#""accurate""#]),
    ("ecn_beta", &["0.0", "0.9"]),
    ("ack_every", &["1", "2", "4"]),
    ("delayed_ack_timeout", &[r#""10ms""#, r#""300ms""#]),
    ("delayed_ack_max", &[r#""0s""#, r#""150ms""#, r#""500ms""#]),
    ("quick_acks", &["0", "5"]),
    ("quick_acks_again", &["0", "3"]),
    ("sack_compression", &[r#""0s""#, r#""1ms""#, r#""2ms""#]),
];

/// Options that others depend on, with a value that takes something away.
const PARTNERS: [&str; 8] = [
    "",
    "sack = false",
    "rack = false, fast_recovery = false",
    "ecn = true",
    "ack_every = 1",
    "slow_start_restart = false",
    "handshake = false, timestamps = false",
    "handshake = true",
];

/// Every value to try of every option, as TOML.
fn values() -> BTreeMap<String, Vec<String>> {
    let schema = serde_json::to_value(scenario::schema()).unwrap();
    let options = schema["$defs"]["Flow"]["properties"]["transport"]["properties"].as_object().unwrap();
    let of = |(name, option): (&String, &Value)| {
        let names = option["$ref"]
            .as_str()
            .and_then(|reference| schema["$defs"][reference.strip_prefix("#/$defs/")?]["oneOf"].as_array());
        let numbers = NUMBERS.iter().find(|(known, _)| known == name);
        let values = match (numbers, names) {
            (Some((_, values)), _) => values.iter().map(|&value| value.to_owned()).collect(),
            (None, Some(names)) => names.iter().map(|one| one["const"].to_string()).collect(),
            (None, None) if option["type"] == "boolean" => vec!["false".to_owned(), "true".to_owned()],
            (None, None) => panic!("no values to try of `{name}`"),
        };
        assert!(values.iter().all(|value| value != "null"), "{name}: {values:?}");
        (name.clone(), values)
    };
    options.iter().map(of).collect()
}

/// The plan of an exercise whose flows have `profile` with these options, or why it is refused.
fn plan(exercise: usize, profile: &str, options: &[&str]) -> Result<Plan, String> {
    let (_, set, text) = EXERCISES[exercise];
    let own = set.split(", ").filter(|one| !options.iter().any(|other| other.contains(key(one))));
    let given: Vec<&str> = options.iter().copied().chain(own).filter(|option| !option.is_empty()).collect();
    let flow = format!("profile = \"{profile}\", transport = {{ {} }}", given.join(", "));
    let read = |_: &Path| unreachable!("no exercise names a file");
    let scenario = scenario::from_toml(&text.replace("FLOW", &flow), "exercise.toml");
    scenario.and_then(|scenario| scenario.plan(&read)).map_err(|error| error.to_string())
}

fn key(option: &str) -> &str {
    option.split_once(" = ").map_or("none", |(key, _)| key)
}

/// The fingerprints of the exercises with certain options, found when they are asked for.
struct Prints<'a> {
    profile: &'a str,
    partner: &'a str,
    known: [Option<u64>; EXERCISES.len()],
}

impl Prints<'_> {
    fn of(&mut self, exercise: usize) -> u64 {
        *self.known[exercise].get_or_insert_with(|| {
            let plan = plan(exercise, self.profile, &[self.partner]).unwrap();
            fingerprint(run_plan(plan, 1))
        })
    }
}

/// The options of `profile` with `partner` that accept a value and do nothing with it.
fn silent(profile: &Profile, partner: &str, values: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(without) = plan(0, profile.name, &[partner]) else { return found };
    let stack = without.flows[0].options.clone();
    let own = serde_json::to_value(TransportOptions::of(&stack)).unwrap();
    let mut prints = Prints { profile: profile.name, partner, known: [None; EXERCISES.len()] };
    for (name, values) in values {
        if partner.split([',', '=']).any(|word| word.trim() == name) {
            continue;
        }
        for value in values {
            let option = format!("{name} = {value}");
            let Ok(with) = plan(0, profile.name, &[partner, &option]) else { continue };
            let asked = serde_json::to_value(TransportOptions::of(&with.flows[0].options)).unwrap();
            if with.flows[0].options == stack {
                // The option equals the default.
                if asked[name] != own[name] || !says(&own[name], value) {
                    found.push(format!("{} {partner}: {option} is dropped", profile.name));
                }
                continue;
            }
            let acts = (0..EXERCISES.len()).any(|exercise| {
                // An exercise may have a controller that does without the option.
                let plan = plan(exercise, profile.name, &[partner, &option]);
                plan.is_ok_and(|plan| fingerprint(run_plan(plan, 1)) != prints.of(exercise))
            });
            if !acts {
                found.push(format!("{} {partner}: {option} changes no exercise", profile.name));
            }
        }
    }
    found
}

/// True if TOML `value` is this one.
fn says(own: &Value, value: &str) -> bool {
    let written = own.to_string();
    written == value || written.replace(['{', '}', ':', '"', ' '], "") == value.replace(['{', '}', '=', '"', ' '], "")
}

#[test]
fn every_value_of_every_option_acts_or_is_refused() {
    let values = values();
    let found: Vec<String> = PROFILES.iter().flat_map(|profile| silent(profile, "", &values)).collect();
    assert!(found.is_empty(), "{} silent:\n{}", found.len(), found.join("\n"));
}

#[test]
fn no_option_is_silent_beside_another_that_takes_something_away() {
    let values = values();
    let mut found = Vec::new();
    for profile in PROFILES {
        for partner in &PARTNERS[1..] {
            found.extend(silent(profile, partner, &values));
        }
    }
    assert!(found.is_empty(), "{} silent:\n{}", found.len(), found.join("\n"));
}
