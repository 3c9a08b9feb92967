//! The language as a whole: resolved documents, overrides, the schema, the examples.

#![expect(clippy::disallowed_methods, reason = "the tests write and read files of their own")]

use std::io;
use std::path::Path;

use proptest::prelude::*;
use scenario::{Document, NoFiles, Scenario};
use serde_json::json;

/// The files of this machine.
fn disk(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

const EVERYTHING: &str = r#"
name = "everything"
duration = "60s"
warmup = "10s"
seed = 7
profile = "freebsd-9"

[path]
rate = [["0s", "10mbit"], ["20s", "5mbit"]]
delay = { forward = "20ms", reverse = [["0s", "30ms"], ["20s", "20ms"]] }
queue = { limit = "84p", count_in_service = true, mark_above = "30p" }
loss = { model = "gilbert-elliott", good_to_bad = "1%", bad_to_good = "30%" }
jitter = { uniform = "3ms", reorder = true }
reorder = true
reverse = { rate = "1mbit", queue = "50p", loss = "1%", jitter = "2ms" }

[[flows]]
cc = "newreno"
count = 3
start_jitter = "5ms"

[[flows]]
cc = "newreno"
name = "mouse"
start = "10s"
stop = "50s"
bytes = "1MB"
rtt = "70ms"
profile = "linux"
transport = { sack = false, ack_every = 1 }
source = { rate = "2mbit" }

[[flows]]
cc = "newreno"
kind = "datagram"
packet_size = "500B"
source = [["0s", "1mbit"], ["2s", "1.5mbit"]]

[[flows]]
cc = "newreno"
kind = "datagram"
rtt = [["0s", "40ms"], ["10s", "50ms"]]
source = { rate = "1mbit", arrivals = "poisson", on = { uniform = ["2s", "3s"] }, off = "5s" }

[[flows]]
cc = "newreno"
bytes = { pareto = { mean = "30kB", shape = 1.5 } }
every = { exponential = "2s" }

[record]
flow_series = "20acks"
probes = "off"
link_series = "10ms"
events = false
"#;

fn read(text: &str) -> Scenario {
    scenario::from_toml(text, "demo.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn resolved(scenario: &Scenario) -> serde_json::Value {
    serde_json::to_value(scenario).unwrap()
}

#[test]
fn a_resolved_scenario_names_its_defaults() {
    let text = "duration = \"60s\"\npath = { rate = \"10mbit\", rtt = \"40ms\", queue = \"84p\" }\n\
                flows = [{ cc = \"newreno\" }]";
    let expected = json!({
        "name": "demo", "duration": "60s", "warmup": "0s", "seed": 1, "profile": "linux",
        "path": {
            "rate": "10mbit", "rtt": "40ms", "queue": "84p", "loss": "0%",
            "reverse": { "rate": "unlimited", "queue": "infinite", "loss": "0%" }
        },
        "flows": [{
            "cc": "newreno", "name": "newreno-0", "count": 1, "start": "0s", "start_jitter": "0s", "stop": "60s",
            "profile": "linux", "kind": "tcp", "source": "greedy"
        }],
        "record": { "flow_series": "100ms", "probes": "100ms", "link_series": "100ms", "events": true }
    });
    assert_eq!(resolved(&read(text)), expected);
}

#[test]
fn a_resolved_scenario_read_again_as_toml_or_json_is_the_same() {
    let first = resolved(&read(EVERYTHING));
    let toml = toml::to_string(&first).unwrap();
    assert_eq!(resolved(&read(&toml)), first);
    assert_eq!(resolved(&scenario::from_json(&first, "demo.json").unwrap()), first);
}

#[test]
fn json_errors_name_the_key_and_null_is_a_key_not_given() {
    let mut json = json!({
        "duration": "1s", "seed": null,
        "path": { "rate": "1mbit", "rtt": "40ms", "queue": "9p", "loss": 0.25 },
        "flows": [{ "cc": "newreno", "start": null }]
    });
    assert_eq!(scenario::from_json(&json, "builder").unwrap().seed, 1);
    let error = |json: &serde_json::Value| scenario::from_json(json, "builder").unwrap_err().to_string();
    json["path"]["rtt"] = json!("40");
    assert_eq!(error(&json), "builder: path.rtt: `40` has no unit: write `40ms` or `40s`");
    json["flows"] = json!([null]);
    assert_eq!(error(&json), "builder: flows.0: an array holds no `null`");
    json["flows"] = json!([]);
    json["seed"] = json!(u64::MAX);
    assert_eq!(error(&json), "builder: seed: `18446744073709551615` is too large: at most 9223372036854775807");
    assert_eq!(error(&json!("text")), "builder: a scenario is an object of keys and values");
}

#[test]
fn single_keys_are_set_as_toml_or_else_as_text() {
    let mut document = Document::from_toml(EVERYTHING, "demo.toml").unwrap();
    for (key, value) in [
        ("path.queue", "1bdp"),
        ("seed", "9"),
        ("flows.1.transport.sack", "true"),
        ("flows.0.transport.ecn", "true"),
        ("flows.2.source", "[[\"0s\", \"3mbit\"]]"),
        ("record.probes", "\"1ack\""),
    ] {
        document.set(key, value).unwrap();
    }
    let json = resolved(&document.scenario().unwrap());
    assert_eq!(json["path"]["queue"], "1bdp");
    assert_eq!(json["seed"], 9);
    assert_eq!(json["flows"][1]["transport"], json!({ "ack_every": 1, "sack": true }));
    assert_eq!(json["flows"][0]["transport"], json!({ "ecn": true }));
    assert_eq!(json["flows"][2]["source"], json!({ "rate": "3mbit" }));
    assert_eq!(json["record"]["probes"], "1ack");
}

#[test]
fn a_star_sets_a_key_of_every_entry() {
    let two = "duration = \"1s\"\npath = { rate = \"1mbit\", rtt = \"1ms\", queue = \"9p\" }\n\
               flows = [{ cc = \"cubic\" }, { cc = \"newreno\" }]\n";
    let mut document = Document::from_toml(two, "two.toml").unwrap();
    document.set("flows.*.start", "250ms").unwrap();
    document.set("flows.*.transport.sack", "false").unwrap();
    let scenario = serde_json::to_value(document.scenario().unwrap()).unwrap();
    for flow in scenario["flows"].as_array().unwrap() {
        assert_eq!((&flow["start"], &flow["transport"]["sack"]), (&"250ms".into(), &false.into()));
    }
    let error = document.set("path.*.rate", "1mbit").unwrap_err().to_string();
    assert_eq!(error, "two.toml, line 2: path.*.rate: `*` stands for every entry of a list, and there is none here");
}

#[test]
fn a_key_of_a_queue_that_is_a_word_makes_it_a_table() {
    let queue = |word: &str, key: &str, value: &str| {
        let text = format!(
            "duration = \"1s\"\nflows = [{{ cc = \"cubic\" }}]\n\
             path = {{ rate = \"1mbit\", rtt = \"1ms\", queue = \"{word}\" }}"
        );
        let mut document = Document::from_toml(&text, "one.toml").unwrap();
        document.set(key, value).unwrap();
        resolved(&document.scenario().unwrap())["path"]["queue"].clone()
    };
    let of_limit = queue("9p", "path.queue.discipline", "codel");
    assert_eq!((&of_limit["limit"], &of_limit["discipline"]), (&"9p".into(), &"codel".into()));
    let of_name = queue("codel", "path.queue.ecn", "true");
    assert_eq!((&of_name["discipline"], &of_name["ecn"]), (&"codel".into(), &true.into()));
}

#[test]
fn a_key_that_was_set_has_the_line_of_what_it_is_in() {
    let mut document = Document::from_toml(EVERYTHING, "demo.toml").unwrap();
    document.set("path.queue", "0p").unwrap();
    let error = document.scenario().unwrap_err();
    assert_eq!((error.line, error.key.as_str()), (Some(8), "path.queue"));
    document.set("path", "{ rate = \"10\", rtt = \"40ms\", queue = \"9p\" }").unwrap();
    let error = document.scenario().unwrap_err();
    assert_eq!((error.line, error.key.as_str()), (None, "path.rate"));
}

#[test]
fn the_schema_is_as_reviewed() {
    let mut schema = scenario::schema();
    // Without the part that the registry of controllers adds, so that a new controller does not change it.
    let flow = schema["$defs"]["Flow"].as_object_mut().unwrap();
    assert!(flow.remove("allOf").is_some());
    assert!(flow["properties"]["cc"].as_object_mut().unwrap().remove("examples").is_some());
    schema["$defs"].as_object_mut().unwrap().retain(|name, _| !name.starts_with("parameters-"));
    insta::assert_json_snapshot!(schema);
}

#[test]
fn every_example_runs() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut examples: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    examples.sort();
    let names: Vec<_> = examples.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    let expected = [
        "cellular.toml",
        "jitter.toml",
        "on-off.toml",
        "parking-lot.toml",
        "phase-effect.toml",
        "quickstart.toml",
        "route-change.toml",
        "short-flows.toml",
    ];
    assert_eq!(names, expected);
    for path in &examples {
        let plan = scenario::from_path(path, &disk).and_then(|scenario| scenario.plan(&disk));
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    }
}

const REFERENCE: &str = include_str!("../../../docs/scenario.md");

#[test]
fn the_scenarios_in_the_reference_run() {
    let blocks: Vec<&str> =
        REFERENCE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 8);
    for block in blocks {
        let plan = read(block).plan(&NoFiles).unwrap_or_else(|error| panic!("{error}"));
        assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    }
}

proptest! {
    #[test]
    fn reading_a_resolved_scenario_gives_it_back(
        rate in 1u64..1 << 40,
        rtt in 0u64..1 << 40,
        bdp in 0.1f64..10.0,
        loss in 0u32..=10_000,
        seed in 0u64..1 << 62,
        acks in 1u32..1000,
        count in 1u32..5,
        start in 0u64..1_000_000_000,
    ) {
        let scenario = read(&format!(
            "duration = \"60s\"\nseed = {seed}\n\
             [path]\nrate = \"{rate}bit\"\nrtt = \"{rtt}ns\"\nqueue = \"{bdp}bdp\"\nloss = \"{}%\"\n\
             [[flows]]\ncc = \"newreno\"\ncount = {count}\nstart = \"{start}ns\"\n\
             [record]\nprobes = \"{acks}acks\"",
            f64::from(loss) / 100.0
        ));
        let first = resolved(&scenario);
        prop_assert_eq!(&first["seed"], &json!(seed));
        let again = scenario::from_json(&first, "demo.toml").unwrap();
        prop_assert_eq!(resolved(&again), first);
    }
}

/// The resolved document of a star: `links` and `flows` between its nodes.
fn star(links: &str, flows: &str) -> serde_json::Value {
    resolved(&read(&format!("duration = '10s'\nlinks = [{links}]\nflows = [{flows}]")))
}

#[test]
fn copies_are_what_one_would_write_out() {
    let link =
        |number: &str| format!("{{ from = 'n{number}', to = 'hub', rate = '1mbit', delay = '5ms', queue = '9p' }},");
    let flow = |number: &str| {
        format!("{{ name = 'f-{number}', cc = 'cdg', from = 'n{number}', to = 'hub', start = '{number}s' }},")
    };
    let (links, flows) = (["0", "1"].map(&link).concat(), ["0", "1"].map(&flow).concat());
    let counted = |text: &str| text.replacen('{', "{ count = 2, ", 1);
    assert_eq!(star(&counted(&link("{copy}")), &counted(&flow("{copy}"))), star(&links, &flows));
    // A name without the copy in it gets the copy's number, as in any flow with `count`.
    assert_eq!(star(&links, &counted(&flow("{copy}")).replace("f-{copy}", "f")), star(&links, &flows));
}

#[test]
fn copies_may_have_numbers_or_names_of_their_own() {
    let ends = "name = 'n-{copy}', from = '{copy}', to = 'hub'";
    let link = format!("{{ copies = [84, 'a'], {ends}, rate = '1mbit', delay = '5ms', queue = '9p' }}");
    let star = star(&link, "{ cc = 'cdg', from = '84', to = 'hub' }");
    let names: Vec<_> = star["links"].as_array().unwrap().iter().map(|link| (&link["name"], &link["from"])).collect();
    assert_eq!(names, [(&json!("n-84"), &json!("84")), (&json!("n-a"), &json!("a"))]);
}

#[test]
fn a_group_is_copied_as_a_whole() {
    let link = |from: &str, to: &str| {
        format!("{{ from = '{from}', to = '{to}', rate = '1mbit', delay = '5ms', queue = '9p' }},")
    };
    let chains = ["7", "8"].map(|chain| {
        link(&format!("{chain}-1"), &format!("{chain}-2")) + &link(&format!("{chain}-2"), &format!("{chain}-3"))
    });
    let flow = "{ cc = 'cdg', from = '7-1', to = '7-3' }, { cc = 'cdg', count = 3, from = '8-1', to = '8-3' }";
    let each = link("{copy}-1", "{copy}-2") + &link("{copy}-2", "{copy}-3");
    assert_eq!(star(&format!("{{ copies = [7, 8], each = [{each}] }}"), flow), star(&chains.concat(), flow));
}
