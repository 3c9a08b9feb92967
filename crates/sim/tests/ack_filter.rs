//! CAKE's filter of ACKs on a slow way back, from the scenario to the tables.

mod common;

use common::run;
use record::{FlowRow, LinkRow};

/// A download over 20 Mbit/s whose ACKs come back over 100 kbit/s: the flow, and the link of the ACKs.
fn download(filter: &str, flow: &str) -> (FlowRow, LinkRow) {
    let text = format!(
        r#"
        duration = "20s"
        warmup = "10s"
        record = {{ flow_series = "off", probes = "off", link_series = "off" }}
        path.rate = "20mbit"
        path.rtt = "40ms"
        path.queue = "100p"
        path.reverse = {{ rate = "100kbit", queue = {{ discipline = "cake", ack_filter = "{filter}" }} }}
        flows = [{{ cc = "newreno", {flow} }}]
        "#
    );
    let tables = run(&text);
    (tables.flows[0].clone(), tables.links[1].clone())
}

#[test]
fn a_filter_lets_few_acks_carry_a_fast_download() {
    let mbit = |filter: &str| download(filter, "").0.goodput_bps / 1e6;
    // 52 bytes at 100 kbit/s: 240.4 ACKs a second, each of two segments of 1448 bytes, are 5.57 Mbit/s. COBALT drops
    // some of the ACKs that wait, and those after them acknowledge more.
    let without = mbit("no-ack-filter");
    assert!((5.5..14.0).contains(&without), "{without}");
    // 1448 of 1500 bytes are goodput. NewReno's sawtooth over a queue of a BDP and a half keeps the link busy.
    let full = 20.0 * 1448.0 / 1500.0;
    for filter in ["ack-filter", "ack-filter-aggressive"] {
        let with = mbit(filter);
        assert!(with > 0.97 * full, "{filter}: {with} of {full}");
    }
}

#[test]
fn the_queue_holds_what_the_filter_leaves() {
    for (filter, most) in [("ack-filter", 2.0), ("ack-filter-aggressive", 1.0)] {
        let (flow, link) = download(filter, "");
        // Nothing is lost for the filter: all losses of data come from a full queue of data.
        assert_eq!(flow.sender.timeouts, 0, "{filter}");
        // Each ACK supersedes all before it, but in a recovery: then it leaves ACKs with blocks that it lacks. 833 ACKs
        // arrive in a second, and the link carries 240.
        assert!(link.queue_packets_p95 <= most, "{filter}: {}", link.queue_packets_p95);
        assert!(link.dropped_packets > 2 * link.departed_packets, "{filter}: {link:?}");
    }
}

#[test]
fn echoes_of_datagrams_are_not_acks_of_tcp() {
    let source = r#"kind = "datagram", source = { rate = "300kbit" }"#;
    let counts = |filter| {
        let (_, link) = download(filter, source);
        (link.dropped_packets, link.departed_packets)
    };
    assert_eq!(counts("no-ack-filter"), counts("ack-filter-aggressive"));
}
