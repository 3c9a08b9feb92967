//! Every setting of every queue at its bounds, as a scenario spells it.

use network::{DisciplineSettings, Limit};

fn read(discipline: &str, settings: &str) -> DisciplineSettings {
    let comma = if settings.is_empty() { "" } else { ", " };
    let text = format!("{{\"discipline\": \"{discipline}\"{comma}{settings}}}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A discipline and settings that are allowed.
const ALLOWED: &[(&str, &str)] = &[
    ("fifo", ""),
    ("fq", ""),
    ("drr", r#""quantum": "1B""#),
    ("codel", r#""interval": "1ns", "target": "0s""#),
    ("fq_codel", r#""flows": 1, "drop_batch": 1, "quantum": "1B", "memory_limit": "1B""#),
    ("fq_codel", r#""flows": 65536, "drop_batch": 1000000"#),
    ("red", r#""min": "1B", "max": "2B", "avpkt": "1B", "burst": 1, "bandwidth": "1bit""#),
    ("red", r#""ecn": true, "harddrop": true, "nodrop": true"#),
    ("avq", r#""alpha": 1000.0, "gamma": "1%", "virtual_limit": "1B", "bandwidth": "1bit""#),
    ("avq", r#""alpha": 1e-9"#),
    ("pie", r#""target": "1ns", "tupdate": "1ns", "alpha": 0, "beta": 0"#),
    ("pie", r#""alpha": 32, "beta": 32"#),
    ("fq_pie", r#""flows": 1, "ecn_prob": 0, "quantum": "1B", "memory_limit": "1B""#),
    ("fq_pie", r#""flows": 65536, "ecn_prob": 100"#),
    ("dualpi2", r#""target": "1ns", "tupdate": "1ns", "alpha": 0.0, "beta": 0.0"#),
    ("dualpi2", r#""alpha": 256.0, "beta": 256.0"#),
    ("dualpi2", r#""coupling_factor": 1, "classic_protection": 1"#),
    ("dualpi2", r#""coupling_factor": 255, "classic_protection": 99"#),
    ("cake", r#""rtt": "1ns", "memlimit": "1B""#),
    ("police", r#""rate": "1bit", "burst": "1B""#),
];

/// A discipline, settings of which one is not allowed, and the key of that one.
const REFUSED: &[(&str, &str, &str)] = &[
    ("drr", r#""quantum": "0B""#, "quantum"),
    ("codel", r#""interval": "0s""#, "interval"),
    ("fq_codel", r#""interval": "0s""#, "interval"),
    ("fq_codel", r#""flows": 0"#, "flows"),
    ("fq_codel", r#""flows": 65537"#, "flows"),
    ("fq_codel", r#""drop_batch": 0"#, "drop_batch"),
    ("fq_codel", r#""drop_batch": 1000001"#, "drop_batch"),
    ("fq_codel", r#""quantum": "0B""#, "quantum"),
    ("fq_codel", r#""memory_limit": "0B""#, "memory_limit"),
    ("red", r#""min": "0B""#, "min"),
    ("red", r#""max": "0B""#, "max"),
    ("red", r#""avpkt": "0B""#, "avpkt"),
    ("red", r#""min": "30kB", "max": "30kB""#, "max"),
    ("red", r#""min": "30kB", "max": "20kB""#, "max"),
    ("red", r#""burst": 0"#, "burst"),
    ("red", r#""bandwidth": "0bit""#, "bandwidth"),
    ("red", r#""harddrop": true"#, "harddrop"),
    ("red", r#""nodrop": true"#, "nodrop"),
    ("avq", r#""alpha": 0.0"#, "alpha"),
    ("avq", r#""alpha": 1000.1"#, "alpha"),
    ("avq", r#""gamma": "0%""#, "gamma"),
    ("avq", r#""virtual_limit": "0B""#, "virtual_limit"),
    ("avq", r#""bandwidth": "0bit""#, "bandwidth"),
    ("pie", r#""target": "0s""#, "target"),
    ("pie", r#""tupdate": "0s""#, "tupdate"),
    ("pie", r#""alpha": 33"#, "alpha"),
    ("pie", r#""beta": 33"#, "beta"),
    ("fq_pie", r#""target": "0s""#, "target"),
    ("fq_pie", r#""flows": 0"#, "flows"),
    ("fq_pie", r#""flows": 65537"#, "flows"),
    ("fq_pie", r#""ecn_prob": 101"#, "ecn_prob"),
    ("fq_pie", r#""quantum": "0B""#, "quantum"),
    ("fq_pie", r#""memory_limit": "0B""#, "memory_limit"),
    ("dualpi2", r#""target": "0s""#, "target"),
    ("dualpi2", r#""tupdate": "0s""#, "tupdate"),
    ("dualpi2", r#""alpha": -0.1"#, "alpha"),
    ("dualpi2", r#""beta": 256.1"#, "beta"),
    ("dualpi2", r#""coupling_factor": 0"#, "coupling_factor"),
    ("dualpi2", r#""coupling_factor": 256"#, "coupling_factor"),
    ("dualpi2", r#""classic_protection": 0"#, "classic_protection"),
    ("dualpi2", r#""classic_protection": 100"#, "classic_protection"),
    ("cake", r#""rtt": "0s""#, "rtt"),
    ("cake", r#""memlimit": "0B""#, "memlimit"),
    ("police", r#""burst": "1kB""#, "rate"),
    ("police", r#""rate": "0bit", "burst": "1kB""#, "rate"),
    ("police", r#""rate": "1mbit""#, "burst"),
    ("police", r#""rate": "1mbit", "burst": "0B""#, "burst"),
];

#[test]
fn settings_are_allowed_up_to_their_bounds_and_refused_beyond_them() {
    for (discipline, settings) in ALLOWED {
        assert_eq!(read(discipline, settings).check(), Ok(()), "{discipline} {settings}");
    }
    for (discipline, settings, expected) in REFUSED {
        let (key, why) = read(discipline, settings).check().expect_err(settings);
        assert_eq!(key, *expected, "{discipline} {settings}");
        assert!(why.len() > 10, "{discipline} {settings}: {why}");
    }
}

#[test]
fn every_queue_but_a_policer_does_without_settings() {
    for name in DisciplineSettings::NAMES {
        assert_eq!(read(name, "").check().is_ok(), *name != "police", "{name}");
    }
}

#[test]
fn queues_have_the_limits_of_tc() {
    let limits = DisciplineSettings::NAMES.iter().filter_map(|name| {
        DisciplineSettings::default_limit(name).map(|limit| match limit {
            Limit::Packets(packets) => (*name, Some(packets)),
            _ => (*name, None),
        })
    });
    let expected = [
        ("codel", Some(1000)),
        ("fq_codel", Some(10_240)),
        ("pie", Some(1000)),
        ("fq_pie", Some(10_240)),
        ("dualpi2", Some(10_000)),
        ("cake", None),
    ];
    assert_eq!(limits.collect::<Vec<_>>(), expected);
}
