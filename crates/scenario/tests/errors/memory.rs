//! The part of the machine's memory that a run may take.

use scenario::{Document, NoFiles};
use units::Bytes;

use crate::DUMBBELL;

#[test]
fn short_flows_take_memory_while_they_last_and_all_at_once_only_where_more_is_offered_than_passes() {
    let estimate = |settings: &[(&str, &str)]| {
        let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
        let off = ["flow_series", "probes", "link_series"].map(|series| (format!("record.{series}"), "off"));
        off.iter().for_each(|(key, value)| document.set(key, value).unwrap());
        document.set("record.events", "false").unwrap();
        settings.iter().for_each(|(key, value)| document.set(key, value).unwrap());
        document.scenario().unwrap().plan(&NoFiles).unwrap().estimated_memory().get()
    };
    let dense = |bytes| [("flows.0.every", "1ms"), ("flows.0.bytes", bytes)];
    // 10 Mbit/s pass 1250 bytes in a millisecond, of which 1000 with 52 of headers leave 198: a connection needs
    // 1052/198 ms for its bytes and one RTT, 40 ms and 100.8 ms in the full queue. 146.1 ms, and twice that: 293
    // connections overlap, 4000 B each. All 60,001 leave 1000 B each. In the network are 236 packets and 10 a
    // connection, of 200 B.
    assert_eq!(estimate(&dense("1kB")), 60_001_000 + 293 * 4_000 + (236 + 2930) * 200);
    // 1252 bytes are too many: all 60,001 connections are there at once, of one segment each.
    assert_eq!(estimate(&dense("1200B")), 60_001 * (1_000 + 4_000 + 200));
    // So they are on a link that is down for a while, or if the application of each takes its time.
    let down = ("path.rate", r#"[["0s", "10mbit"], ["9s", "0bit"], ["10s", "10mbit"]]"#);
    assert!(estimate(&[&dense("1kB")[..], &[down]].concat()) > 60_001 * 5_000);
    assert!(estimate(&[&dense("1kB")[..], &[("flows.0.source", r#"{ rate = "1kbit" }"#)]].concat()) > 60_001 * 5_000);
    // 300 kB are 208 segments, 310,816 B of 1.25 MB a second: 0.331 s. 10, 20, 40, 80 and 58 leave in 5 RTTs, 0.704 s:
    // of the 61 connections 3 overlap. A window of 20 makes that 11 RTTs, 1.549 s: 4 overlap, which 80 packets are of.
    let long = [("flows.0.every", "1s"), ("flows.0.bytes", "300kB")];
    assert_eq!(estimate(&long), 61_000 + 3 * 4_000 + (236 + 30) * 200);
    assert_eq!(
        estimate(&[&long[..], &[("flows.0.transport.receive_window", "20")]].concat()),
        61_000 + 4 * 4_000 + 80 * 200
    );
}

#[test]
fn a_run_that_would_exhaust_the_memory() {
    let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
    document.set("path.queue", "infinite").unwrap();
    document.set("record.events", "false").unwrap();
    // 60 s of 10 Mbit/s are 50 001 packets, and 10 of the initial window, of 200 B: 10.0 MB. 601 samples of 160 and 160
    // B: 0.2 MB, as NewReno has no probes. A flow: 4 kB.
    let plan = document.scenario().unwrap().plan(&NoFiles).unwrap();
    assert_eq!(plan.estimated_memory(), Bytes::new(10_002_200 + 192_320 + 4_000));
    // The 15 probes of SIAD are as many rows of 64 B a sample: 0.6 MB.
    document.set("flows.0.cc", "siad").unwrap();
    let plan = document.scenario().unwrap().plan(&NoFiles).unwrap();
    assert_eq!(plan.estimated_memory(), Bytes::new(10_002_200 + 192_320 + 576_960 + 4_000));
    assert_eq!(plan.check_memory(Bytes::new(14_000_000)), Ok(()));
    assert_eq!(
        plan.check_memory(Bytes::new(13_000_000)).unwrap_err().to_string(),
        "scenario `demo`: the run may take 11 MB of memory, more than 80% of the 13 MB available: sample less often \
         (record), shorten the duration, run fewer flows, or bound what is in flight (rate, queue, \
         transport.receive_window)"
    );
}

#[test]
fn an_estimate_beyond_every_machine_is_no_figure() {
    let overload = [
        ("flows.0.kind", "datagram"),
        ("flows.0.source", r#"{ rate = "10tbit" }"#),
        ("duration", "31536000s"),
        ("path.queue", "infinite"),
    ];
    let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
    overload.iter().for_each(|(key, value)| document.set(key, value).unwrap());
    let plan = document.scenario().unwrap().plan(&NoFiles).unwrap();
    let refused = plan.check_memory(Bytes::new(13_000_000)).unwrap_err().to_string();
    assert!(refused.contains("the run may take more than 1000000.0 GB of memory, more than 80%"), "{refused}");
}

#[test]
fn a_count_of_flows_that_saturates_is_no_figure() {
    let text = format!("{DUMBBELL}bytes = \"1MB\"\nevery = \"1ns\"\ncount = 1000000\n");
    let mut countless = Document::from_toml(&text, "demo.toml").unwrap();
    countless.set("duration", "31536000s").unwrap();
    let refused = countless.scenario().unwrap().plan(&NoFiles).unwrap_err().to_string();
    assert!(
        refused.ends_with("there are more than 1000000000000000000 flows; at most 1000000 are allowed"),
        "{refused}"
    );
}

/// Memory of the dumbbell with `settings`, in whole gigabytes.
fn gigabytes(settings: &[(&str, &str)]) -> u64 {
    let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
    settings.iter().for_each(|(key, value)| document.set(key, value).unwrap());
    document.scenario().unwrap().plan(&NoFiles).unwrap().estimated_memory().get() / 1_000_000_000
}

#[test]
fn memory_that_nothing_bounds() {
    let overload = [("flows.0.kind", "datagram"), ("flows.0.source", r#"{ rate = "12gbit" }"#), ("duration", "100s")];
    // 12 Gbit/s for 100 s are 100 million datagrams. An infinite queue keeps them, of 200 B each. A short one drops
    // nearly all, each an event of 60 B: a little below 6 GB.
    assert_eq!(gigabytes(&[&overload[..], &[("path.queue", "infinite"), ("record.events", "false")]].concat()), 20);
    assert_eq!(gigabytes(&overload), 5);
    // Packets that jitter holds back are under way: 12 Gbit/s for 10 s are 10 million packets, and twice that fits, as
    // in slow start.
    let held_back = [("path.jitter", "10s"), ("path.rate", "12gbit"), ("record.events", "false")];
    assert_eq!(gigabytes(&[&overload[..], &held_back[..]].concat()), 4);
    // An initial window of 10 million segments is remembered, of 200 B each, whatever the queue drops of it.
    assert_eq!(gigabytes(&[("flows.0.transport.initial_window", "10000000"), ("record.events", "false")]), 2);
}
