//! Keys of flows.

use crate::{DUMBBELL, accepted, disk, dumbbell, flow};

#[test]
fn a_controller_in_a_file_that_is_not_there() {
    assert_eq!(
        dumbbell("cc = \"newreno\"", "cc = \"./mine.bpf.c\""),
        "demo.toml, line 9: flows.0.cc: `./mine.bpf.c` cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn a_class_in_python_is_no_controller_of_a_scenario() {
    for cc in ["./mine.py", "./mine.py:Mine"] {
        assert_eq!(
            dumbbell("cc = \"newreno\"", &format!("cc = \"{cc}\"")),
            format!(
                "demo.toml, line 9: flows.0.cc: `./mine.py` is Python, which no scenario can name: `ackclock compare \
                 {cc}` runs its controller, and so does a scenario that is written in Python"
            )
        );
    }
}

#[test]
fn no_flow_no_copy_or_far_too_many() {
    assert_eq!(dumbbell("[[flows]]\ncc = \"newreno\"", ""), "demo.toml: flows: a scenario needs at least one flow");
    assert_eq!(flow("count = 0"), "demo.toml, line 10: flows.0.count: `0` is out of range (allowed: 1 to 1000000)");
    assert_eq!(
        flow("count = 4000000000"),
        "demo.toml, line 8: flows: there are 4000000000 flows; at most 1000000 are allowed"
    );
    assert!(flow("count = -1").starts_with("demo.toml, line 10: flows.0.count: invalid value: integer `-1`"));
}

#[test]
fn an_unknown_controller_or_parameter() {
    let unknown = dumbbell("newreno", "newrenno");
    assert!(
        unknown.starts_with(
            "demo.toml, line 9: flows.0.cc: there is no controller `newrenno`; did you mean `newreno`? (there are "
        ),
        "{unknown}"
    );
    assert_eq!(
        flow("parameters = { beta = 0.7 }"),
        "demo.toml, line 10: flows.0.parameters: `newreno` has no parameters, so `beta` cannot be set"
    );
}

#[test]
fn a_buffer_has_one_size_or_three_and_room_for_a_segment() {
    let with = |buffer: &str| flow(&format!("transport = {{ receive_buffer = \"{buffer}\" }}"));
    let at = "demo.toml, line 10: flows.0.transport.receive_buffer: ";
    assert_eq!(with("1kB"), format!("{at}`1kB` makes a window of less than a segment"));
    assert_eq!(with("9 8 7"), format!("{at}`9 8 7` does not ascend"));
    assert_eq!(
        with("many"),
        format!(
            "{at}`many` is not \"unlimited\", a size as the application sets it, like \"256kB\", or the three numbers \
             of tcp_rmem or tcp_wmem, like \"4096 131072 6291456\""
        )
    );
}

#[test]
fn a_share_for_marks_needs_marks_and_a_controller_that_takes_them_for_losses() {
    let with = |cc: &str, ecn: bool, share: f64| {
        let key = format!("cc = \"{cc}\"\ntransport = {{ ecn = {ecn}, ecn_beta = {share:?} }}");
        dumbbell("cc = \"newreno\"", &key)
    };
    let at = "demo.toml, line 10: flows.0.transport.ecn_beta: ";
    assert_eq!(with("newreno", true, 1.0), format!("{at}`1` is not from 0 to below 1"));
    assert_eq!(with("newreno", false, 0.8), format!("{at}needs marks: `ecn` is false"));
    assert_eq!(
        with("siad", true, 0.8),
        format!("{at}has no effect on `siad`, which does not answer a mark as a loss-based controller")
    );
}

#[test]
fn an_unknown_profile_or_option() {
    let unknown = flow("profile = \"freebsd\"");
    assert!(
        unknown.starts_with(
            "demo.toml, line 10: flows.0.profile: there is no profile `freebsd`; did you mean `freebsd-9`? (there are `"
        ),
        "{unknown}"
    );
    let unknown = dumbbell("duration = \"60s\"", "duration = \"60s\"\nprofile = \"lunix\"");
    assert!(
        unknown
            .starts_with("demo.toml, line 2: profile: there is no profile `lunix`; did you mean `linux`? (there are `"),
        "{unknown}"
    );
    let unknown = flow("transport = { sak = true }");
    assert!(
        unknown.starts_with(
            "demo.toml, line 10: flows.0.transport.sak: there is no such option; did you mean `sack`? (there are `"
        ),
        "{unknown}"
    );
    assert_eq!(
        flow("transport = { sack = 1 }"),
        "demo.toml, line 10: flows.0.transport.sack: invalid type: integer `1`, expected true or false"
    );
    assert_eq!(
        flow("transport = { ack_every = 0 }"),
        "demo.toml, line 10: flows.0.transport.ack_every: `0` is out of range (allowed: 1 to 10000000)"
    );
    assert_eq!(
        flow("transport = { duplicate_threshold = 17 }"),
        "demo.toml, line 10: flows.0.transport.duplicate_threshold: `17` is out of range (allowed: 1 to 16)"
    );
    assert_eq!(
        flow("transport = { segment_size = \"100kB\" }"),
        "demo.toml, line 10: flows.0.transport.segment_size: `100kB` is out of range (allowed: 1B to 65475B)"
    );
    assert_eq!(
        flow("transport = { counting = { bytes = { limit = 0 } } }"),
        "demo.toml, line 10: flows.0.transport.counting: `limit` must be at least 1, or slow start would not grow"
    );
    accepted("transport = { counting = { bytes = { limit = 1 } } }");
    assert_eq!(
        flow("transport = { counting = \"bytes\" }"),
        "demo.toml, line 10: flows.0.transport.counting: invalid type: a name without its settings, expected a table"
    );
}

#[test]
fn timers_that_are_too_short_too_coarse_or_in_the_wrong_order() {
    assert_eq!(
        flow("transport = { rto_max = \"100ms\" }"),
        "demo.toml, line 10: flows.0.transport.rto_max: rto_min `200ms` is above rto_max `100ms`"
    );
    accepted("transport = { rto_max = \"200ms\" }");
    for name in ["rto_initial", "rto_min", "rto_max"] {
        for value in ["0s", "999ns"] {
            assert_eq!(
                flow(&format!("transport = {{ {name} = \"{value}\" }}")),
                format!(
                    "demo.toml, line 10: flows.0.transport.{name}: `{value}` is out of range (allowed: 1us to 3600s)"
                )
            );
        }
    }
    accepted("transport = { handshake = false, rto_initial = \"1us\", rto_min = \"1us\", rto_max = \"1us\" }");
    assert_eq!(
        flow("transport = { timer_tick = \"1.001s\" }"),
        "demo.toml, line 10: flows.0.transport.timer_tick: `1.001s` is out of range (allowed: 0s to 1s)"
    );
    accepted("transport = { timer_tick = \"10ms\" }");
}

#[test]
fn windows_of_less_than_a_segment_or_without_a_unit() {
    for name in ["initial_window", "receive_window"] {
        assert_eq!(
            flow(&format!("transport = {{ {name} = \"1200B\" }}")),
            format!("demo.toml, line 10: flows.0.transport.{name}: `1200B` is less than a segment of 1448B")
        );
        assert_eq!(
            flow(&format!("transport = {{ {name} = \"64\" }}")),
            format!(
                "demo.toml, line 10: flows.0.transport.{name}: `64` has no unit: write `64B` or `64kB`; a window is a \
                 number of segments, like 45, or a size, like \"64KiB\""
            )
        );
    }
    accepted("transport = { receive_window = \"1000B\", segment_size = \"500B\" }");
}

#[test]
fn datagrams_have_no_options_of_tcp() {
    let source = "source = { rate = \"1mbit\" }";
    assert_eq!(
        flow(&format!("kind = \"datagram\"\n{source}\ntransport = {{ ecn = true }}")),
        "demo.toml, line 12: flows.0.transport.ecn: is for TCP, not for datagrams"
    );
    assert_eq!(
        flow("quick_start = \"1mbit\"\ntransport = { handshake = false }"),
        "demo.toml, line 11: flows.0.transport.handshake: must be true: the request of `quick_start` goes with the SYN"
    );
}

#[test]
fn a_flow_that_stops_before_it_starts_or_starts_after_the_end() {
    assert_eq!(
        flow("start = \"20s\"\nstop = \"20s\""),
        "demo.toml, line 11: flows.0.stop: `20s` is not after the start at `20s`"
    );
    assert_eq!(
        flow("start = \"20s\"\nstart_jitter = \"1s\"\nstop = \"21s\""),
        "demo.toml, line 12: flows.0.stop: `21s` is not after the latest start, jitter included, at `21s`"
    );
    assert_eq!(
        flow("start = \"60s\""),
        "demo.toml, line 10: flows.0.start: `60s` is not before the end of the run at `60s`"
    );
}

#[test]
fn parameters_change_only_where_and_when_they_can() {
    let change = |cc: &str, at: &str, rest: &str| {
        let text = format!("changes = [{{ at = \"{at}\", parameters = {{ num_rtt = 10 }} }}]{rest}");
        dumbbell("cc = \"newreno\"", &format!("cc = \"{cc}\"\n{text}"))
    };
    assert_eq!(
        change("newreno", "10s", ""),
        "demo.toml, line 10: flows.0.changes: `10s`: its parameters cannot change while a flow runs"
    );
    assert_eq!(
        change("siad", "60s", ""),
        "demo.toml, line 10: flows.0.changes: `60s` is not before the end of the flow at `60s`"
    );
    assert_eq!(
        change("siad", "10s", "\nstart = \"20s\""),
        "demo.toml, line 10: flows.0.changes: `10s` is before the latest start of the flow at `20s`"
    );
}

#[test]
fn a_flow_of_no_bytes() {
    assert_eq!(
        flow("bytes = \"0B\""),
        "demo.toml, line 10: flows.0.bytes: must be above 0; without `bytes` the flow has no end"
    );
}

#[test]
fn two_flows_of_one_name() {
    assert_eq!(
        flow("name = \"x-1\"\n[[flows]]\nname = \"x\"\ncc = \"newreno\"\ncount = 2"),
        "demo.toml, line 12: flows.1.name: two flows are named `x-1`: names must differ"
    );
}

#[test]
fn keys_of_datagrams_and_of_tcp_do_not_mix() {
    assert_eq!(
        flow("packet_size = \"500B\""),
        "demo.toml, line 10: flows.0.packet_size: belongs to flows of kind `datagram` or `media`"
    );
    assert_eq!(
        flow("kind = \"datagram\"\nbytes = \"1MB\""),
        "demo.toml, line 11: flows.0.bytes: belongs to flows of kind `tcp`"
    );
    assert_eq!(
        flow("kind = \"datagram\""),
        "demo.toml, line 8: flows.0.source: a flow of kind `datagram` needs a rate, like `{ rate = \"2mbit\" }`"
    );
    assert_eq!(
        flow("kind = \"datagram\"\nsource = { rate = \"1mbit\" }\npacket_size = \"70kB\""),
        "demo.toml, line 12: flows.0.packet_size: `70kB` is out of range (allowed: 28B to 65535B)"
    );
    assert_eq!(
        flow("kind = \"udp\""),
        "demo.toml, line 10: flows.0.kind: unknown variant `udp`, expected one of `tcp`, `datagram`, `media`"
    );
}

#[test]
fn a_source_that_is_none() {
    assert_eq!(
        flow("source = \"lazy\""),
        "demo.toml, line 10: flows.0.source: invalid value: string \"lazy\", expected \"greedy\", \
         { rate = \"2mbit\" }, { rate = \"2mbit\", arrivals = \"poisson\" }, \
         { rate = \"2mbit\", on = \"10s\", off = \"5s\" }, { trace = \"call.txt\" } or steps like [[\"0s\", \
         \"10mbit\"], [\"2s\", \"10.2mbit\"]]"
    );
    assert_eq!(
        flow("source = { rate = \"unlimited\" }"),
        "demo.toml, line 10: flows.0.source: the rate of a source is a rate or steps of rates"
    );
}

#[test]
fn pages_that_cannot_be() {
    for (keys, sentence) in [
        ("think = \"1s\"", "think: needs `bytes`: without, no page would ever be complete"),
        (
            "bytes = \"1kB\"\nevery = \"1s\"\nthink = \"1s\"",
            "think: stands in place of `every`: a page waits for the one before",
        ),
        ("bytes = \"1kB\"\nconnections = 2", "connections: is how many a page has: it needs `think`"),
        ("bytes = \"1kB\"\nthink = \"1s\"\nconnections = 0", "connections: must be at least 1"),
        (
            "bytes = { empirical = \"mah-think\" }\nthink = \"1s\"",
            "bytes: `empirical` has no size called `mah-think`: there is `mah-request` and `mah-reply`",
        ),
    ] {
        let found = flow(keys);
        assert_eq!(found.split_once("flows.0.").map(|(_, said)| said), Some(sentence), "{found}");
    }
}

#[test]
fn distributions_that_are_none() {
    let every = |value: &str| flow(&format!("bytes = \"1MB\"\nevery = {value}"));
    let every_at = "demo.toml, line 11: flows.0.every";
    assert_eq!(
        every("2"),
        format!(
            "{every_at}: invalid type: integer `2`, expected a time like \"2s\", or a distribution like \
             {{ uniform = [\"2s\", \"3s\"] }}"
        )
    );
    assert_eq!(every("\"2\""), format!("{every_at}: `2` has no unit: write `2ms` or `2s`"));
    let one_of = "a distribution is one of `uniform = [\"2s\", \"3s\"]`, `exponential = \"2s\"` and \
                  `pareto = { mean = \"2s\", shape = 1.5 }`";
    assert_eq!(every("{}"), format!("{every_at}: {one_of}"));
    assert_eq!(every("{ exponential = \"2s\", uniform = [\"1s\", \"2s\"] }"), format!("{every_at}: {one_of}"));
    assert_eq!(
        every("{ normal = \"2s\" }"),
        format!(
            "{every_at}.normal: there is no such key here; there are `uniform`, `exponential`, `pareto`, \
             `empirical`, `most`"
        )
    );
    assert_eq!(
        every("{ uniform = [\"3s\", \"2s\"] }"),
        format!("{every_at}: `uniform` ends at `2s`, which is below its start `3s`")
    );
    assert_eq!(
        every("{ uniform = [\"2s\", \"3s\", \"4s\"] }"),
        format!("{every_at}: `uniform` has 3 values: it is from one to another, like `[\"2s\", \"3s\"]`")
    );
    assert_eq!(
        every("{ pareto = { mean = \"2s\", shape = 1 } }"),
        format!("{every_at}.pareto: `shape` is 1: it must be above 1, or there is no mean, and at most 1000")
    );
    assert_eq!(
        flow("bytes = 7"),
        "demo.toml, line 10: flows.0.bytes: invalid type: integer `7`, expected a size like \"30kB\", or a \
         distribution like { uniform = [\"30kB\", \"60kB\"] }"
    );
}

#[test]
fn connections_that_never_end_or_are_far_too_many() {
    assert_eq!(
        flow("every = \"2s\""),
        "demo.toml, line 10: flows.0.every: needs `bytes`: without, none of the connections would end"
    );
    let every = |value: &str| flow(&format!("bytes = \"1MB\"\nevery = {value}"));
    assert_eq!(
        every("\"0s\""),
        "demo.toml, line 11: flows.0.every: must be above 0: it is the time from one start to the next"
    );
    assert_eq!(
        every("\"1ns\""),
        "demo.toml, line 11: flows.0.every: there are about 60000000001 flows; at most 1000000 are allowed"
    );
    // On average there are few, but the times are nearly all a hundredth of their mean.
    let text = format!("{DUMBBELL}bytes = \"1kB\"\nevery = {{ pareto = {{ mean = \"100us\", shape = 1.01 }} }}\n");
    let plan = scenario::from_toml(&text, "demo.toml").unwrap().plan(&disk).unwrap();
    assert_eq!(
        plan.draw(1).err().map(|error| error.to_string()).unwrap_or_default(),
        "scenario `demo`: flows: `newreno-0` makes more than the 1000000 flows that are allowed in a run"
    );
}

#[test]
fn a_flow_named_like_one_of_many_connections() {
    let flows = "name = \"web-12\"\n[[flows]]\ncc = \"cubic\"\nname = \"web\"\nbytes = \"1MB\"\nevery = \"2s\"";
    assert_eq!(
        flow(flows),
        "demo.toml, line 8: flows: a flow is named `web-12`, and so may one of the connections of `web` be: names must \
         differ"
    );
}

#[test]
fn a_source_that_pauses_without_end() {
    let source = |keys: &str| flow(&format!("source = {{ rate = \"2mbit\", {keys} }}"));
    assert_eq!(
        source("on = \"2s\""),
        "demo.toml, line 10: flows.0.source: there is `on` without `off`: a source that pauses needs both"
    );
    assert_eq!(
        source("off = \"2s\""),
        "demo.toml, line 10: flows.0.source: there is `off` without `on`: a source that pauses needs both"
    );
    assert_eq!(
        source("on = \"0s\", off = \"2s\""),
        "demo.toml, line 10: flows.0.source: `on` is 0: a period must take some time"
    );
    assert_eq!(
        source("on = \"1ns\", off = \"1ns\""),
        "demo.toml, line 10: flows.0.source: goes on and off about 30000000000 times; at most 10000000 are allowed"
    );
    // Half of the periods are below 1 s * 1e-9 * 2, one in 2^30 or so makes the mean: 60 s are of 1.5e10 turns, not of
    // 30.
    let long_tail = "{ pareto = { mean = \"1s\", shape = 1.000000001 } }";
    assert_eq!(
        source(&format!("on = {long_tail}, off = {long_tail}")),
        "demo.toml, line 10: flows.0.source: goes on and off about 15000000000 times; at most 10000000 are allowed"
    );
}

#[test]
fn an_option_that_is_one_of_several_words() {
    let reduction = |value: &str| flow(&format!("transport = {{ reduction = {value} }}"));
    let key = "demo.toml, line 10: flows.0.transport.reduction";
    assert_eq!(reduction("3"), format!("{key}: invalid type: integer `3`, expected text in quotes"));
    assert_eq!(reduction("{}"), format!("{key}: invalid type: table, expected text in quotes"));
    assert_eq!(
        reduction("\"prr\""),
        format!("{key}: unknown variant `prr`, expected one of `proportional-rate`, `proportional-rate-ssrb`, `pipe`")
    );
}

#[test]
fn a_flow_whose_name_says_nothing() {
    assert_eq!(
        flow("name = \" \""),
        "demo.toml, line 10: flows.0.name: \" \" is not a name: it needs letters, and no line breaks"
    );
}
