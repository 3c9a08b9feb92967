//! Hosts and classes in CAKE, from the scenario to the tables.

mod common;

use common::{assert_near, run};

/// Three flows to `laptop` and one to `phone` behind 20 Mbit/s with this queue: the goodputs in Mbit/s.
fn goodputs(queue: &str) -> Vec<f64> {
    let text = format!(
        r#"
        duration = "20s"
        warmup = "5s"
        record = {{ flow_series = "off", probes = "off", link_series = "off" }}
        links = [
            {{ from = "server", to = "home", rate = "20mbit", delay = "10ms", queue = {queue}, reverse = {{}} }},
            {{ from = "home", to = "laptop", rate = "1gbit", delay = "0ms", queue = "infinite", duplex = true }},
            {{ from = "home", to = "phone", rate = "1gbit", delay = "0ms", queue = "infinite", duplex = true }},
        ]
        flows = [
            {{ cc = "cubic", from = "server", to = "laptop", count = 3 }},
            {{ cc = "cubic", from = "server", to = "phone", dscp = "CS1" }},
        ]
        "#
    );
    run(&text).flows.iter().map(|flow| flow.goodput_bps / 1e6).collect()
}

#[test]
fn hosts_and_classes_have_their_shares() {
    // 1448 of 1500 bytes are goodput.
    let all = 20.0 * 1448.0 / 1500.0;
    let phone = |keys: &str| goodputs(&format!(r#"{{ discipline = "cake"{keys} }}"#))[3] / all;
    assert_near(phone(""), 0.25, 0.03);
    assert_near(phone(r#", isolation = "dual-dsthost""#), 0.5, 0.03);
    assert_near(phone(r#", isolation = "triple-isolate""#), 0.25, 0.03);
    // CS1 is bulk: a sixteenth however many others there are, and a little more while they are silent after a loss.
    let bulk = phone(r#", diffserv = "diffserv3""#);
    assert!((0.0625..0.075).contains(&bulk), "{bulk}");
}
