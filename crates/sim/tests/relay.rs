//! Proxies that split a connection: what one flow delivers, another sends on.

mod common;

use common::run;
use record::{EventKind, Tables};

/// NewReno over a first link, `near`, and a second, `far`, with a proxy between them whose flow has `relays` as well.
fn split(first: &str, near: &str, far: &str, buffer: &str) -> Tables {
    run(&format!(
        r#"
        duration = "30s"
        [[links]]
        from = "a"
        to = "b"
        {near}
        [[links]]
        from = "b"
        to = "c"
        {far}
        [[flows]]
        cc = "newreno"
        name = "in"
        from = "a"
        to = "b"
        {first}
        [[flows]]
        cc = "newreno"
        name = "out"
        from = "b"
        to = "c"
        relays = {{ flow = "in", buffer = "{buffer}" }}
        "#
    ))
}

const FAST: &str = "rate = \"20mbit\"\ndelay = \"5ms\"\nqueue = \"100p\"\nreverse = {}";
const SLOW: &str = "rate = \"2mbit\"\ndelay = \"20ms\"\nqueue = \"100p\"\nreverse = {}";

fn delivered(tables: &Tables, flow: usize) -> u64 {
    tables.flows[flow].delivered_bytes
}

#[test]
fn what_the_first_delivers_the_second_delivers_to_the_byte() {
    // 1 MB is 690 segments of 1448 bytes and one of 880.
    for (near, far) in [(FAST, SLOW), (SLOW, FAST)] {
        let tables = split("bytes = \"1MB\"", near, far, "64kB");
        assert_eq!((delivered(&tables, 0), delivered(&tables, 1)), (1_000_000, 1_000_000));
        let complete = common::events(&tables, EventKind::Complete);
        assert_eq!(complete.len(), 2);
        let (first, second) = (complete[0].0, complete[1].0);
        // At 2 Mbit/s 691 packets of 1500 bytes take 4.1 s. The other link adds some round trips.
        assert!(first < second && (4.1..5.0).contains(&second), "{complete:?}");
    }
}

#[test]
fn a_slow_second_link_holds_the_first_flow_back() {
    // 64000 bytes are 44 segments: never more are held or on their way to the proxy.
    let tables = split("", FAST, SLOW, "64kB");
    let ahead = delivered(&tables, 0) - delivered(&tables, 1);
    assert!(ahead <= 44 * 1448, "{ahead}");
    // The slow link is full all the same: 2 Mbit/s but for headers and the start.
    assert!(tables.flows[1].goodput_bps > 1.85e6, "{}", tables.flows[1].goodput_bps);
    assert_eq!(common::events(&tables, EventKind::Timeout).len(), 0);
}

#[test]
fn a_proxy_of_one_segment_passes_one_on_at_a_time() {
    // Each takes 0.6 ms and 5 ms to the proxy, 6 ms and 20 ms on, and the ACKs 20 ms and 5 ms back: 56.6 ms. The
    // receiver behind and the proxy acknowledge every segment.
    let each = "transport = { ack_every = 1 }";
    let tables = run(&format!(
        r#"
        duration = "30s"
        links = [
            {{ from = "a", to = "b", rate = "20mbit", delay = "5ms", queue = "9p", reverse = {{}} }},
            {{ from = "b", to = "c", rate = "2mbit", delay = "20ms", queue = "9p", reverse = {{}} }},
        ]
        [[flows]]
        cc = "newreno"
        name = "in"
        from = "a"
        to = "b"
        {each}
        [[flows]]
        cc = "newreno"
        name = "out"
        from = "b"
        to = "c"
        {each}
        relays = {{ flow = "in", buffer = "1448B" }}
        "#
    ));
    let segments = delivered(&tables, 1) / 1448;
    assert!((525..=530).contains(&segments), "{segments}");
}

#[test]
fn a_lost_window_update_is_repeated() {
    // The link of the ACKs loses a third: among them are updates of a window that was closed, which nothing but a
    // repetition replaces. NewReno alone would wait for ever.
    let near = "rate = \"20mbit\"\ndelay = \"5ms\"\nqueue = \"100p\"\nreverse = { loss = \"33%\" }";
    let tables = split("", near, SLOW, "4kB");
    // Two segments at a time: some 45 ms each, and 200 ms after a lost update.
    assert!(delivered(&tables, 1) / 1448 > 200, "{}", delivered(&tables, 1) / 1448);
}

#[test]
fn acknowledgements_nearby_grow_the_window_faster() {
    // Edwan 2010, section 2.10: with a proxy that acknowledges at once the window over a long path grows faster than
    // from end to end. 1 % of loss on the near link costs a flow of 20 ms little, and one of 220 ms most of its rate.
    let near = "rate = \"20mbit\"\ndelay = \"10ms\"\nqueue = \"100p\"\nreverse = {}\nloss = \"1%\"";
    let far = "rate = \"20mbit\"\ndelay = \"100ms\"\nqueue = \"400p\"\nreverse = {}";
    let split = split("", near, far, "1MB");
    let whole = run(&format!(
        "duration = \"30s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\n{near}\n[[links]]\nfrom = \"b\"\nto = \"c\"\n{far}\n\
         [[flows]]\ncc = \"newreno\"\nfrom = \"a\"\nto = \"c\""
    ));
    assert!(split.flows[1].goodput_bps > 4.0 * whole.flows[0].goodput_bps);
}
