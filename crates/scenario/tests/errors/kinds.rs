//! Errors in flows that are more than one TCP connection, or none.

use super::*;

#[test]
fn tfrc_is_a_kind_of_its_own() {
    let tfrc = |more: &str| dumbbell("cc = \"newreno\"", &format!("cc = \"tfrc\"\n{more}"));
    assert_eq!(
        tfrc("bytes = \"1MB\""),
        "demo.toml, line 10: flows.0.bytes: is not for `tfrc`, which sends datagrams without end"
    );
    assert_eq!(
        tfrc("kind = \"datagram\""),
        "demo.toml, line 10: flows.0.kind: must be left out: `tfrc` is a kind of its own, datagrams at its own rate"
    );
    assert_eq!(
        tfrc("packet_size = \"28B\""),
        "demo.toml, line 10: flows.0.packet_size: `28B` is not from 29 to 65535 bytes"
    );
    assert_eq!(
        tfrc("parameters = { smoth = true }"),
        "demo.toml, line 10: flows.0.parameters: `tfrc` has no parameter `smoth`; did you mean `smooth`? (there are \
         `history_discounting`, `smooth`)"
    );
}

#[test]
fn media_has_an_encoder_and_controllers_of_its_own() {
    let media = |more: &str| flow(&format!("kind = \"media\"\n{more}"));
    assert_eq!(
        dumbbell("cc = \"newreno\"", "cc = \"gcc\""),
        "demo.toml, line 9: flows.0.cc: `gcc` sets the rate of an encoder: it is for flows of kind `media` \
         (`kind = \"media\"`)"
    );
    assert_eq!(
        flow("direction = \"up\""),
        "demo.toml, line 10: flows.0.direction: there is no such key here; `reverse = true` is a flow in the other \
         direction"
    );
    assert_eq!(
        flow("media = { frame_rate = 25 }"),
        "demo.toml, line 10: flows.0.media: belongs to flows of kind `media`"
    );
    for key in ["bytes = \"1MB\"", "echo = true"] {
        let name = key.split(' ').next().unwrap();
        assert_eq!(
            media(key),
            format!(
                "demo.toml, line 11: flows.0.{name}: is not for flows of kind `media`, which have an encoder and no end"
            )
        );
    }
    assert_eq!(
        media("source = { rate = \"1mbit\" }"),
        "demo.toml, line 11: flows.0.source: of a flow of kind `media` is its encoder: `media` describes it, or a \
         recording has its frames"
    );
    assert_eq!(
        media("packet_size = \"99B\""),
        "demo.toml, line 11: flows.0.packet_size: `99B` is not from 100 to 65535 bytes"
    );
    assert_eq!(
        media("transport = { sack = false }"),
        "demo.toml, line 11: flows.0.transport.sack: is for TCP, not for datagrams"
    );
    for (settings, sentence) in [
        ("frame_rate = 0.5", "frame_rate: `0.5` is out of range (allowed: 1 to 1000)"),
        ("min_rate = \"0bit\"", "min_rate: `0bit` is out of range (allowed: 1bit to 10tbit)"),
        ("max_rate = \"100kbit\"", "max_rate: `100kbit` is below `min_rate`, `150kbit`"),
        ("pacing = 0.5", "pacing: `0.5` is out of range (allowed: 1 to 100)"),
        ("burst_frames = 0", "burst_frames: `0` is out of range (allowed: 1 to 1000)"),
        ("feedback = \"0s\"", "feedback: `0s` is out of range (allowed: 1ms to 10s)"),
        ("breaker = \"6s\"", "breaker: `6s` is out of range (allowed: 100ms to 5s)"),
        ("key_interval = \"0s\"", "key_interval: `0s` is out of range (allowed: 1ns to 3600s)"),
    ] {
        let said = media(&format!("media = {{ {settings} }}"));
        assert_eq!(said, format!("demo.toml, line 11: flows.0.media.{sentence}"));
    }
}

#[test]
fn subflows_are_ways_of_connections_that_always_have_data() {
    let with = |more: &str| flow(&format!("subflows = [{{ rtt = \"10ms\" }}, {{ rtt = \"20ms\" }}]\n{more}"));
    assert_eq!(
        with("rtt = \"40ms\""),
        "demo.toml, line 11: flows.0.rtt: belongs to each of the `subflows`, as the flow has some"
    );
    assert_eq!(
        with("bytes = \"1MB\""),
        "demo.toml, line 11: flows.0.bytes: does not go with `subflows`, which always have data"
    );
    assert_eq!(
        flow("subflows = [{ rtt = \"10ms\" }, { from = \"a\" }]"),
        "demo.toml, line 10: flows.0.subflows.1.from: belongs to scenarios with [[links]]; this one has a [path]"
    );
    assert_eq!(
        flow("subflows = [{ name = \"a\" }, { name = \"a\" }]"),
        "demo.toml, line 8: flows.0.name: two flows are named `newreno-0:a`: names must differ"
    );
}

#[test]
fn a_proxy_sends_on_one_tcp_connection_that_ends_where_it_stands() {
    let proxy = |first: &str, second: &str| {
        let link = |from, to| {
            let keys = "rate = \"1mbit\"\ndelay = \"1ms\"\nqueue = \"9p\"\nreverse = {}";
            format!("[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\n{keys}\n")
        };
        let flow = |name, keys| format!("[[flows]]\ncc = \"newreno\"\nname = \"{name}\"\n{keys}\n");
        let (links, flows) = (link("a", "b") + &link("b", "c"), flow("in", first) + &flow("out", second));
        let text = format!("duration = \"10s\"\n{links}{flows}");
        scenario::from_toml(&text, "demo.toml").and_then(|scenario| scenario.plan(&scenario::NoFiles))
    };
    let (first, out) = ("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"c\"");
    let relays = "relays = { flow = \"in\", buffer = \"64kB\" }";
    let plan = proxy(first, &format!("{out}\n{relays}")).unwrap();
    // 64000 bytes in segments of 1448.
    assert_eq!(plan.flows[1].relays.as_deref().copied(), Some(scenario::PlannedRelay { flow: 0, segments: 44 }));
    for (first, second, message) in [
        (
            first,
            "from = \"b\"\nto = \"c\"\nrelays = { flow = \"up\", buffer = \"1kB\" }",
            "relays.flow: no flow above is named `up`",
        ),
        (
            first,
            "from = \"b\"\nto = \"c\"\nrelays = { flow = \"in\", buffer = \"1kB\" }",
            "relays.buffer: `1kB` holds no segment of 1448 bytes",
        ),
        (
            first,
            "from = \"a\"\nto = \"c\"\nrelays = { flow = \"in\", buffer = \"64kB\" }",
            "relays.flow: the proxy stands where `in` ends: the flow must leave from `b`",
        ),
        (
            first,
            "from = \"b\"\nto = \"c\"\nbytes = \"1MB\"\nrelays = { flow = \"in\", buffer = \"64kB\" }",
            "bytes: does not go with `relays`: one TCP connection sends on what the other delivers",
        ),
        (
            "from = \"a\"\nto = \"b\"\nbytes = \"1MB\"\nevery = \"1s\"",
            "from = \"b\"\nto = \"c\"\nrelays = { flow = \"in\", buffer = \"64kB\" }",
            "relays.flow: `in` is not one TCP connection",
        ),
        (
            "from = \"a\"\nto = \"b\"\ntransport = { segment_size = \"1000B\" }",
            "from = \"b\"\nto = \"c\"\nrelays = { flow = \"in\", buffer = \"64kB\" }",
            "relays.flow: `in` has segments of 1000 bytes and the flow of 1448: both must have the same",
        ),
    ] {
        let error = proxy(first, second).unwrap_err().to_string();
        assert!(error.ends_with(&format!("flows.1.{message}")), "{error}");
    }
    // A third flow sends on what the second does, but not what the first does once more.
    let third = |of: &str, from: &str, to: &str| {
        let keys = format!("from = \"{from}\"\nto = \"{to}\"\nrelays = {{ flow = \"{of}\", buffer = \"64kB\" }}");
        proxy(first, &format!("{out}\n{relays}\n[[flows]]\ncc = \"newreno\"\nname = \"third\"\n{keys}"))
    };
    let again = third("in", "b", "c").unwrap_err().to_string();
    assert!(again.ends_with("flows.2.relays.flow: `in` is sent on by `out` already"), "{again}");
    let chain = third("out", "c", "a");
    assert_eq!(chain.map(|plan| plan.flows[2].relays.as_deref().map(|relay| relay.flow)), Ok(Some(1)));
}

#[test]
fn a_quick_start_asks_for_at_least_80_kilobits_in_a_syn() {
    assert_eq!(
        flow("quick_start = \"79kbit\""),
        "demo.toml, line 10: flows.0.quick_start: `79kbit` is below 80kbit, the least that can be asked for"
    );
    assert_eq!(
        flow("quick_start = \"1mbit\"\nkind = \"datagram\"\nsource = { rate = \"1mbit\" }"),
        "demo.toml, line 10: flows.0.quick_start: belongs to flows of kind `tcp`, whose SYN asks"
    );
}

#[test]
fn a_recording_that_is_none_or_not_for_this_flow() {
    let datagram = |source: &str| flow(&format!("kind = \"datagram\"\nsource = {source}"));
    assert_eq!(
        datagram("{ trace = \"missing.txt\" }"),
        "demo.toml, line 11: flows.0.source: the trace `missing.txt` cannot be read: No such file or directory (os \
         error 2)"
    );
    assert_eq!(
        datagram("{ trace = \"call.txt\", rate = \"1mbit\" }"),
        "demo.toml, line 11: flows.0.source: there is `rate` beside `trace`: a recording has its own times"
    );
    assert_eq!(
        datagram("{ arrivals = \"poisson\" }"),
        "demo.toml, line 11: flows.0.source: there is neither a `rate` nor a `trace`"
    );
    assert_eq!(
        flow("source = { trace = \"call.txt\" }"),
        "demo.toml, line 10: flows.0.source: a recording is for flows of kind `datagram` or `media`"
    );
    let directory = env!("CARGO_TARGET_TMPDIR");
    std::fs::write(format!("{directory}/call.txt"), "0 160\n20 loud\n").unwrap();
    let file = format!("{directory}/demo.toml");
    let planned = |keys: &str| {
        let text = format!("{DUMBBELL}kind = \"datagram\"\nsource = {{ trace = \"call.txt\" }}\n{keys}");
        scenario::from_toml(&text, &file).unwrap().plan(&disk).unwrap_err().to_string()
    };
    assert_eq!(
        planned(""),
        format!(
            "{file}, line 11: flows.0.source: the trace `call.txt`, line 2: `20 loud` is not a time in milliseconds \
             and a size in bytes, like `40 1316`"
        )
    );
    assert_eq!(
        planned("packet_size = \"28B\"\n"),
        format!("{file}, line 11: flows.0.source: datagrams of `28B` have no room for what `call.txt` holds")
    );
    std::fs::write(format!("{directory}/call.txt"), "0 10000000\n1 10000000\n").unwrap();
    assert_eq!(
        planned("packet_size = \"29B\"\n"),
        format!(
            "{file}, line 11: flows.0.source: the trace `call.txt` makes 20000000 datagrams; at most 10000000 are \
             allowed"
        )
    );
}

#[test]
fn a_changed_window_of_less_than_a_segment_or_without_a_unit() {
    let change = |window: &str| flow(&format!("changes = [{{ at = \"10s\", receive_window = {window} }}]"));
    let at = "demo.toml, line 10: flows.0.changes";
    assert_eq!(change("\"1200B\""), format!("{at}: `10s`: `1200B` is less than a segment of 1448B"));
    assert_eq!(change("0"), format!("{at}: `10s`: `0` is less than a segment of 1448B"));
    assert!(change("\"64\"").contains("a window is a number of segments, like 45, or a size, like \"64KiB\""));
    assert!(change("-1").contains("`-1` is no window"), "{}", change("-1"));
    accepted("changes = [{ at = \"10s\", receive_window = \"64KiB\" }, { at = \"20s\", receive_window = 45 }]");
}
