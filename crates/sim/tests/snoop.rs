//! Snoop agents on whole paths: losses of the last link stay hidden from the sender.

mod common;

use common::run;
use record::{EventKind, Tables};

/// NewReno over a wired link, with losses on request, and a wireless one of 2 Mbit/s that loses 2 %.
fn wireless(snoop: &str, wired_loss: &str) -> Tables {
    run(&format!(
        r#"
        duration = "120s"
        [[links]]
        from = "server"
        to = "base"
        rate = "10mbit"
        delay = "50ms"
        queue = "100p"
        reverse = {{}}
        loss = {wired_loss}
        [[links]]
        from = "base"
        to = "phone"
        rate = "2mbit"
        delay = "1ms"
        queue = "100p"
        reverse = {{}}
        loss = "2%"
        {snoop}
        [[flows]]
        cc = "newreno"
        from = "server"
        to = "phone"
        transport = {{ receive_window = 40, tail_loss_probe = false }}
        "#
    ))
}

fn count(tables: &Tables, kind: EventKind) -> usize {
    common::events(tables, kind).len()
}

#[test]
fn behind_an_agent_the_sender_sees_no_loss_of_the_wireless_link() {
    let tables = wireless("snoop = {}", "\"0%\"");
    assert!(count(&tables, EventKind::Lost) > 100, "the link loses");
    assert_eq!(count(&tables, EventKind::LossEvent), 0);
    // The sender waits too long for a packet that is lost again and again.
    assert!(count(&tables, EventKind::Timeout) * 50 < count(&tables, EventKind::Lost));
    // 2 Mbit/s of IP bytes without the 2 % that are lost and their headers.
    assert!(tables.flows[0].goodput_bps > 1.75e6, "{}", tables.flows[0].goodput_bps);
}

#[test]
fn packets_that_the_agent_sends_are_none_of_the_sender_and_are_not_lost_by_it() {
    let tables = run(r#"
        duration = "5s"
        [[links]]
        from = "a"
        to = "b"
        rate = "10mbit"
        delay = "10ms"
        queue = "100p"
        reverse = {}
        [[links]]
        from = "b"
        to = "c"
        rate = "1mbit"
        delay = "5ms"
        queue = "100p"
        loss = "60%"
        snoop = {}
        reverse = {}
        [[flows]]
        cc = "newreno"
        from = "a"
        to = "c"
        "#);
    // Copies are lost as well: the events have more losses than the sender has packets.
    let sent = tables.flows[0].sender.data_packets;
    assert!(count(&tables, EventKind::Lost) as u64 > sent, "{sent}");
    assert!((0.3..=1.0).contains(&tables.flows[0].loss_rate), "{}", tables.flows[0].loss_rate);
}

#[test]
fn without_an_agent_the_same_losses_cost_most_of_the_rate() {
    let tables = wireless("", "\"0%\"");
    assert!(count(&tables, EventKind::LossEvent) > 50);
    assert!(tables.flows[0].goodput_bps < 1.3e6, "{}", tables.flows[0].goodput_bps);
}

#[test]
fn what_is_lost_before_the_agent_reaches_the_sender() {
    let tables = wireless("snoop = {}", "{ packets = [1000, 3000, 5000] }");
    let events = tables.events.columns();
    let rows = (0..events.kind.len()).filter(|&row| events.kind[row] == EventKind::Lost && events.link[row] == 0);
    let lost: Vec<f64> = rows.map(|row| events.time_s[row]).collect();
    let seen = common::events(&tables, EventKind::LossEvent);
    assert_eq!(lost.len(), 3);
    for lost in lost {
        assert!(seen.iter().any(|(time, _)| (lost..lost + 1.0).contains(time)), "{lost}: {seen:?}");
    }
}

/// When a megabyte over a lossy last link, with lost ACKs, is complete: seconds.
fn completion(last_link: &str) -> f64 {
    let tables = run(&format!(
        r#"
        duration = "200s"
        links = [
            {{ from = "a", to = "b", rate = "10mbit", delay = "20ms", queue = "20p", reverse = {{}} }},
            {{ from = "b", to = "c", rate = "2mbit", delay = "1ms", queue = "20p", reverse = {{ loss = "5%" }},
               {last_link} }},
        ]
        flows = [{{ cc = "cubic", from = "a", to = "c", bytes = "1MB" }}]
        "#
    ));
    assert_eq!(tables.flows[0].delivered_bytes, 1_000_000);
    tables.flows[0].completion_s
}

#[test]
fn a_finite_flow_is_delivered_whole_through_an_agent_and_sooner() {
    let [without, with] = ["", ", snoop = {}"].map(|more| completion(&format!("loss = \"10%\"{more}")));
    assert!(with < without, "{with} s, without an agent {without} s");
}

#[test]
fn an_agent_repairs_nothing_of_flows_that_are_not_tcp() {
    let flows = |agent: &str| {
        let tables = run(&format!(
            r#"
            duration = "5s"
            links = [
                {{ from = "a", to = "b", rate = "10mbit", delay = "10ms", queue = "20p", reverse = {{}} }},
                {{ from = "b", to = "c", rate = "2mbit", delay = "10ms", queue = "20p", loss = "10%", reverse = {{}},
                   jitter = {{ slot = {{ min = "1ms", max = "10ms", packets = 4 }} }}{agent} }},
            ]
            flows = [
                {{ cc = "tfrc", from = "a", to = "c" }},
                {{ cc = "gcc", kind = "media", from = "a", to = "c" }},
                {{ cc = "newreno", kind = "datagram", source = {{ rate = "80kbit" }}, from = "a", to = "c" }},
            ]
            "#
        ));
        format!("{:?}", tables.flows)
    };
    assert_eq!(flows(", snoop = {}"), flows(""));
}
