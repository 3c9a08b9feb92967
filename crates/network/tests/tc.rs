//! The words of `tc` for every setting of every queue discipline: read(write(x)) = x, and every word of the parsers of
//! `tc` is read or refused with a reason.

use std::collections::BTreeSet;

use network::{DisciplineSettings, Limit, TcMeaning, TcQueue};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use units::{Bytes, Rate};

/// The words that the parsers of iproute2 6.18 take.
const PARSERS: &[(&str, &str)] = &[
    ("pfifo", "limit"),
    ("bfifo", "limit"),
    ("codel", "limit target ce_threshold interval ecn noecn"),
    (
        "fq_codel",
        "limit flows quantum drop_batch target ce_threshold ce_threshold_selector memory_limit interval ecn noecn",
    ),
    ("pie", "limit target tupdate alpha beta ecn noecn bytemode nobytemode dq_rate_estimator no_dq_rate_estimator"),
    (
        "fq_pie",
        "limit flows target tupdate alpha beta quantum memory_limit ecn_prob ecn noecn bytemode nobytemode \
         dq_rate_estimator no_dq_rate_estimator",
    ),
    ("red", "limit min max burst avpkt probability bandwidth ecn harddrop nodrop adaptative adaptive qevent"),
    (
        "dualpi2",
        "limit memlimit target tupdate alpha beta coupling_factor l4s_ect any_ect step_thresh min_qlen_step overflow \
         drop_on_overload drop_enqueue drop_dequeue split_gso no_split_gso classic_protection max_rtt typical_rtt",
    ),
    (
        "cake",
        "bandwidth unlimited autorate-ingress rtt datacentre lan metro regional internet oceanic satellite \
         interplanetary besteffort precedence diffserv8 diffserv4 diffserv diffserv3 nowash wash split-gso \
         no-split-gso flowblind srchost dsthost hosts flows dual-srchost dual-dsthost triple-isolate nat nonat ptm atm \
         noatm raw conservative ipoa-vcmux ipoa-llcsnap bridged-vcmux bridged-llcsnap pppoa-vcmux pppoa-llc \
         pppoe-vcmux pppoe-llcsnap pppoe-ptm bridged-ptm via-ethernet ethernet ether-vlan docsis overhead mpu ingress \
         egress no-ack-filter ack-filter ack-filter-aggressive memlimit fwmark",
    ),
];

/// The words that `tc -d qdisc show` prints besides.
const PRINTED: &[(&str, &str)] = &[("red", "ewma Plog Scell_log")];

/// Settings for which `tc` has no word.
const WITHOUT_WORD: &[(&str, &str)] = &[("red", "gentle")];

fn read(line: &str) -> Result<TcQueue<DisciplineSettings>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    DisciplineSettings::from_tc(words[0], &words[1..])
}

/// The discipline as a scenario spells `settings`, if they are allowed.
fn allowed(settings: &Map<String, Value>) -> Option<DisciplineSettings> {
    let found: DisciplineSettings = serde_json::from_value(Value::Object(settings.clone())).ok()?;
    found.check().ok().map(|()| found)
}

fn spelled(settings: DisciplineSettings) -> Map<String, Value> {
    serde_json::to_value(settings).unwrap().as_object().unwrap().clone()
}

/// A limit of the kind that `discipline` has in `tc`.
fn limit(discipline: &str) -> Limit {
    let words = DisciplineSettings::words_of_tc();
    match words.iter().find(|word| word.discipline == discipline && word.word == "limit").and_then(|word| word.takes) {
        Some("PACKETS") => Limit::Packets(77),
        Some(_) => Limit::Bytes(Bytes::new(400_000)),
        None => Limit::Infinite,
    }
}

/// `settings` are the same when they are written and read, or the writer names a setting that `tc` lacks.
fn check_law(discipline: &str, settings: DisciplineSettings) {
    let limit = limit(discipline);
    match settings.tc_words(limit) {
        Ok(words) => {
            let limit = Some(limit).filter(|limit| *limit != Limit::Infinite);
            assert_eq!(read(&words.join(" ")), Ok(TcQueue { settings, limit, rate: None }), "{words:?}");
        }
        Err(why) => {
            let known = WITHOUT_WORD.iter().map(|(of, key)| (*of, format!("`tc` has no `{key}`")));
            assert!(known.into_iter().any(|one| one == (discipline, why.clone())), "{discipline}: {why}");
        }
    }
}

/// The disciplines with settings that `tc` has, by their names there.
fn disciplines() -> Vec<&'static str> {
    PARSERS.iter().map(|(name, _)| *name).filter(|name| !name.ends_with("fifo")).collect()
}

/// Values of every kind. A setting takes those that fit it.
fn value() -> impl Strategy<Value = Value> {
    let words: Vec<&str> = DisciplineSettings::words_of_tc().into_iter().map(|word| word.word).collect();
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0u32..300).prop_map(Value::from),
        (-64i32..0).prop_map(Value::from),
        (0.0..1.0f64).prop_map(Value::from),
        (0u64..10_000_000).prop_map(|micros| json!(format!("{micros}us"))),
        (0u64..10_000_000).prop_map(|bytes| json!(format!("{bytes}B"))),
        (0u64..1_000_000_000).prop_map(|bits| json!(format!("{bits}bit"))),
        prop::sample::select(words).prop_map(Value::from),
        Just(json!("none")),
    ]
}

proptest! {
    #[test]
    fn settings_that_are_written_and_read_are_the_same(
        discipline in prop::sample::select(disciplines()),
        values in prop::collection::vec(prop::collection::vec(value(), 24), 12),
    ) {
        let mut settings = spelled(read(discipline).unwrap().settings);
        let keys: Vec<String> = settings.keys().filter(|key| *key != "discipline").cloned().collect();
        for (key, values) in keys.iter().zip(values) {
            let changed = |value| {
                let mut changed = settings.clone();
                changed.insert(key.clone(), value);
                allowed(&changed).map(|_| changed)
            };
            if let Some(changed) = values.into_iter().find_map(changed) {
                settings = changed;
            }
        }
        check_law(discipline, allowed(&settings).unwrap());
    }
}

#[test]
fn every_single_setting_is_written_and_read() {
    let words = DisciplineSettings::words_of_tc();
    let words = words.iter().map(|word| json!(word.word));
    let plain = [json!(true), json!(false), json!(3), json!(0.25), json!("3ms"), json!("3000B"), json!("3mbit")];
    let values: Vec<Value> = plain.into_iter().chain(words).chain([json!("none")]).collect();
    for discipline in disciplines() {
        let mut usual = spelled(read(discipline).unwrap().settings);
        if discipline == "red" {
            // Its other switches need this one.
            usual.insert("ecn".to_owned(), json!(true));
        }
        for key in usual.keys().filter(|key| *key != "discipline") {
            let changed = values.iter().filter(|value| *value != &usual[key]).filter_map(|value| {
                let mut changed = usual.clone();
                changed.insert(key.clone(), value.clone());
                if key == "flowblind" {
                    changed.insert("isolation".to_owned(), json!("flows"));
                }
                allowed(&changed)
            });
            let count = changed.inspect(|settings| check_law(discipline, *settings)).count();
            assert!(count > 0, "{discipline}: no value of `{key}` was tried");
        }
    }
}

#[test]
fn every_word_of_the_parsers_is_known() {
    let known: BTreeSet<(&str, &str)> =
        DisciplineSettings::words_of_tc().into_iter().map(|word| (word.discipline, word.word)).collect();
    let all = PARSERS.iter().chain(PRINTED);
    let all = all.flat_map(|(name, words)| words.split_whitespace().map(move |word| (*name, word))).collect();
    let differing: Vec<_> = known.symmetric_difference(&all).collect();
    assert!(differing.is_empty(), "declared or taken alone: {differing:?}");
}

#[test]
fn every_word_is_read_or_refused_with_its_reason() {
    for word in DisciplineSettings::words_of_tc() {
        let line = [word.discipline, " ", word.word].concat();
        match (word.meaning, word.takes) {
            (TcMeaning::Refused(why), _) => {
                assert_eq!(read(&line), Err(format!("{}: `{}`: {why}", word.discipline, word.word)));
            }
            (TcMeaning::Passed(_), _) => assert_eq!(read(&line), read(word.discipline)),
            (_, Some(_)) => {
                assert_eq!(read(&line), Err(format!("{}: `{}` needs a value", word.discipline, word.word)));
            }
            // RED has a switch that needs `ecn`.
            (_, None) => assert!(read(&line.replace("nodrop", "nodrop ecn")).is_ok(), "{line}"),
        }
    }
}

/// The settings of a line that differ from its discipline's defaults.
fn given(line: &str) -> Value {
    let queue = read(line).unwrap();
    let usual = spelled(read(line.split_whitespace().next().unwrap()).unwrap().settings);
    let settings = spelled(queue.settings);
    settings.into_iter().filter(|(key, value)| usual[key] != *value).collect::<Map<_, _>>().into()
}

#[test]
fn lines_mean_what_they_say() {
    let red = "red limit 400kB min 15kB max 45kB avpkt 1500 burst 17 bandwidth 1gbit probability 0.1 ecn adaptive \
               harddrop nodrop";
    assert_eq!(
        given(red),
        json!({
            "min": "15360B", "max": "46080B", "avpkt": "1500B", "burst": 17, "bandwidth": "1gbit",
            "probability": "10%", "ecn": true, "adaptive": true, "harddrop": true, "nodrop": true,
        })
    );
    assert_eq!(read(red).unwrap().limit, Some(Limit::Bytes(Bytes::new(409_600))));
    // Nothing is marked without `ecn`, so nothing is dropped in place of a mark.
    assert_eq!(given("red limit 400kB harddrop adaptive"), json!({ "adaptive": true }));
    // Without a word about it, tc takes 10 Mbit/s.
    assert_eq!(spelled(read("red limit 9k").unwrap().settings)["bandwidth"], json!("10mbit"));
    assert_eq!(
        given("fq_codel memory_limit 4Mb drop_batch 8 ce_threshold 2500 noecn"),
        json!({ "memory_limit": "4194304B", "drop_batch": 8, "ce_threshold": "2.5ms", "ecn": false })
    );
    assert_eq!(
        given("fq_pie memory_limit 1mb quantum 300 ecn_prob 25 bytemode ecn"),
        json!({ "memory_limit": "1048576B", "quantum": "300B", "ecn_prob": 25, "bytemode": true, "ecn": true })
    );
    assert_eq!(
        given(
            "dualpi2 step_thresh 2ms min_qlen_step 3p coupling_factor 4 classic_protection 20% overflow any_ect \
             alpha 0.5"
        ),
        json!({
            "step_thresh": "2ms", "min_qlen_step": 3, "coupling_factor": 4, "classic_protection": 20,
            "overflow": true, "any_ect": true, "alpha": 0.5,
        })
    );
    let cake = read("cake bandwidth 20Mbit pppoe-ptm ether-vlan metro dual-srchost ack-filter").unwrap();
    assert_eq!(cake.rate, Some(Rate::from_mbit(20)));
    assert_eq!(
        given("cake bandwidth unlimited pppoe-ptm ether-vlan metro dual-srchost ack-filter"),
        json!({
            "overhead": 34, "link_layer": "ptm", "rtt": "10ms", "isolation": "dual-srchost",
            "ack_filter": "ack-filter",
        })
    );
}

#[test]
fn the_last_of_two_words_for_one_setting_counts() {
    assert_eq!(given("cake flowblind hosts"), json!({ "isolation": "hosts" }));
    assert_eq!(given("cake hosts flowblind"), json!({ "isolation": "flows", "flowblind": true }));
    assert_eq!(given("pie ecn noecn"), json!({}));
}

#[test]
fn a_line_that_cannot_be_read_is_one_sentence() {
    for (line, sentence) in [
        (
            "codel targte 5ms",
            "codel: there is no `targte`; there are limit, target, interval, ce_threshold, ecn, noecn",
        ),
        ("codel target", "codel: `target` needs a value"),
        ("codel limit few", "codel: few: is no whole number"),
        ("red probability 2%", "red: 2%: is no share from 0 to 1, like 0.02"),
        ("pie alpha 99", "pie: `alpha`: `99` is out of range (allowed: 0 to 32)"),
        ("choke limit 9", "there is no discipline `choke`"),
    ] {
        assert_eq!(read(line), Err(sentence.to_owned()));
    }
}
