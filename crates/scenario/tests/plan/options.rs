//! Options of a stack: each reaches the rules of its connection.

use std::collections::BTreeSet;

use scenario::TransportOptions;
use serde_json::{Value, json};
use transport::Stack;

use crate::dumbbell;

/// The options of a flow of `profile` that has these.
fn options(profile: &str, own: &str) -> Value {
    let flow = format!("profile = \"{profile}\"\ntransport = {{ {own} }}");
    let plan = dumbbell("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"", &flow);
    serde_json::to_value(TransportOptions::of(&plan.flows[0].options)).unwrap()
}

/// Options that are others in a profile. A table of TOML is one of JSON with another sign behind its keys.
const OTHERS: [(&str, &str, &str); 44] = [
    ("linux", "segment_size", r#""536B""#),
    ("linux", "initial_window", "4"),
    ("linux", "receive_window", "45"),
    ("linux", "receive_buffer", r#""65536B""#),
    ("linux", "send_buffer", r#""65536B""#),
    ("linux-3.5", "timestamps", "false"),
    ("real-1992", "sack", "true"),
    ("linux", "clock_tick", r#""10ms""#),
    ("linux", "timestamp_tick", r#""4ms""#),
    ("linux-3.5", "timer_tick", r#""10ms""#),
    ("linux-3.5", "duplicate_threshold", "5"),
    ("linux-3.5", "reordering_adapts", "false"),
    ("freebsd-9", "forward_acknowledgment", "true"),
    ("freebsd-9", "rack", "true"),
    ("linux-3.5", "tail_loss_probe", "true"),
    ("linux", "segmentation_offload", "false"),
    ("linux", "pacing", r#""exact""#),
    ("linux", "limited_transmit", "false"),
    ("real-1992", "fast_recovery", "true"),
    ("linux", "reduction", r#""pipe""#),
    ("freebsd-9", "retransmits", r#""holes""#),
    ("linux", "undo", "false"),
    ("linux", "forward_rto", "false"),
    ("linux", "counting", r#""per-ack""#),
    ("freebsd-9", "counting", r#"{"bytes" = {"limit" = 4}}"#),
    ("linux", "slow_start_at_threshold", "true"),
    ("linux-3.5", "recovery_end_grows", "true"),
    ("linux", "handshake", "false"),
    ("linux", "rto_initial", r#""3s""#),
    ("linux", "rto_min", r#""300ms""#),
    ("linux", "rto_max", r#""60s""#),
    ("linux", "rto_variance_min", r#""50ms""#),
    ("linux", "every_timeout_reduces", "true"),
    ("linux", "window_validation", r#""flight""#),
    ("linux", "slow_start_restart", "false"),
    ("linux", "idle_restart", r#""rfc5681""#),
    ("linux", "ecn", "true"),
    ("linux", "ack_every", "3"),
    ("linux", "delayed_ack_timeout", r#""100ms""#),
    ("linux", "delayed_ack_max", r#""150ms""#),
    ("linux-3.5", "delayed_ack_max", r#""41ms""#),
    ("linux", "quick_acks", "7"),
    ("linux", "quick_acks_again", "7"),
    ("linux", "sack_compression", r#""2ms""#),
];

#[test]
fn every_option_reaches_the_stack_alone() {
    let mut seen = BTreeSet::new();
    for (profile, key, toml) in OTHERS {
        let value: Value = serde_json::from_str(&toml.replace("\" = ", "\": ")).unwrap();
        let mut expected = options(profile, "");
        assert_ne!(expected[key], value, "{key}");
        expected[key] = value;
        if key == "slow_start_restart" {
            // Nothing restarts then.
            expected["idle_restart"] = json!("rfc5681");
        }
        assert_eq!(options(profile, &format!("{key} = {toml}")), expected, "{profile} {key}");
        seen.insert(key.to_owned());
    }
    let marks = options("linux", "ecn = true, ecn_beta = 0.8");
    assert_eq!((&marks["ecn"], &marks["ecn_beta"]), (&json!(true), &json!(0.8)));
    let hides = options("linux", "ecn = true, conceals = \"marks\"");
    assert_eq!(hides["conceals"], json!("marks"));
    seen.extend(["ecn_beta", "conceals"].map(str::to_owned));
    let all: BTreeSet<String> = options("linux", "").as_object().unwrap().keys().cloned().collect();
    assert_eq!(seen, all);
}

#[test]
fn what_no_option_says_is_as_in_the_profile() {
    for profile in transport::PROFILES {
        let stack: Stack = (profile.stack)();
        assert_eq!(TransportOptions::of(&stack).stack(&stack), stack, "{}", profile.name);
    }
}
