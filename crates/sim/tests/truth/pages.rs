//! Pages of connections, whose readers pause between them.

use record::EventKind;
use units::Empirical;

use crate::common::{assert_near, events, run};

#[test]
fn a_page_begins_when_its_reader_has_paused_and_asked() {
    let tables = run(r#"
        duration = "10s"
        path = { rate = "10mbit", rtt = "40ms", queue = "infinite" }
        [[flows]]
        name = "web"
        cc = "newreno"
        start = "1s"
        bytes = "30kB"
        connections = 3
        think = "1s"
        "#);
    let times = |kind| events(&tables, kind).into_iter().map(|(time, _)| time).collect::<Vec<_>>();
    let (starts, ends) = (times(EventKind::Start), times(EventKind::Complete));
    assert_eq!(starts[..3], [1.0; 3]);
    assert!(starts.len() > 15 && starts.len().is_multiple_of(3), "{}", starts.len());
    // 1 s of thinking, and the request takes 20 ms.
    for (page, begins) in starts.chunks(3).enumerate().skip(1) {
        let complete = ends[3 * page - 1];
        assert!(begins.iter().all(|begin| (begin - complete - 1.02).abs() < 1e-9), "{begins:?} after {complete}");
    }
    let names: Vec<&str> = tables.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names[..4], ["web-0", "web-1", "web-2", "web-3"]);
    assert_eq!(names.len(), starts.len(), "what never started has no row");
}

#[test]
fn web_traffic_offers_the_load_of_its_distributions() {
    // On an ample path a page takes few round trips of 10 ms: nearly all of a cycle is thinking.
    let tables = run(r#"
        duration = "1100s"
        warmup = "100s"
        path = { rate = "1gbit", rtt = "10ms", queue = "infinite" }
        record = { flow_series = "off", probes = "off", link_series = "off", events = false }
        [[flows]]
        cc = "newreno"
        count = 100
        start_jitter = "20s"
        bytes = { empirical = "mah-reply", most = "20kB" }
        connections = { empirical = "mah-connections" }
        think = { empirical = "mah-think", most = "20s" }
        "#);
    let mean = |name: &str, most| Empirical::named(name).map_or(f64::NAN, |table| table.mean(most));
    let (reply, connections) = (mean("mah-reply", 20e3), mean("mah-connections", f64::INFINITY));
    let cycle = mean("mah-think", 20.0) + 0.03;
    let delivered: u64 = tables.flows.iter().map(|flow| flow.delivered_bytes).sum();
    // Some 7600 pages. The standard error of their sizes is about 1.6 %.
    assert_near(delivered as f64 / 1000.0, 100.0 * reply * connections / cycle, 0.06);
}
