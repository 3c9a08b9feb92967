//! Every way to get a scenario wrong, with the whole sentence that answers it.

use scenario::Document;
use units::Bytes;

const DUMBBELL: &str = r#"duration = "60s"

[path]
rate = "10mbit"
rtt = "40ms"
queue = "84p"

[[flows]]
cc = "newreno"
"#;

const PARKING_LOT: &str = r#"duration = "60s"

[[links]]
from = "a"
to = "b"
rate = "10mbit"
delay = "5ms"
queue = "84p"
duplex = true

[[links]]
from = "b"
to = "c"
rate = "10mbit"
delay = "5ms"
queue = "84p"
duplex = true

[[flows]]
cc = "newreno"
from = "a"
to = "c"
"#;

fn sentence(text: &str) -> String {
    match scenario::from_toml(text, "demo.toml").and_then(|scenario| scenario.plan()) {
        Ok(plan) => panic!("planned: {plan:?}"),
        Err(error) => error.to_string(),
    }
}

/// The sentence about `text` with one line of it replaced.
fn with(text: &str, line: &str, replacement: &str) -> String {
    assert_eq!(text.matches(line).count(), 1, "{line}");
    sentence(&text.replace(line, replacement))
}

fn dumbbell(line: &str, replacement: &str) -> String {
    with(DUMBBELL, line, replacement)
}

fn flow(line: &str) -> String {
    sentence(&format!("{DUMBBELL}{line}\n"))
}

/// Panics unless the flow with `line` is planned.
fn accepted(line: &str) {
    let text = format!("{DUMBBELL}{line}\n");
    if let Err(error) = scenario::from_toml(&text, "demo.toml").and_then(|scenario| scenario.plan()) {
        panic!("{line}: {error}");
    }
}

fn parking_lot(line: &str, replacement: &str) -> String {
    with(PARKING_LOT, line, replacement)
}

#[test]
fn text_that_is_not_toml() {
    assert_eq!(dumbbell("[path]", "[path"), "demo.toml, line 3: is not TOML: unclosed table, expected `]`");
    assert_eq!(dumbbell("[path]", "[path]\nrate = \"1mbit\""), "demo.toml, line 5: is not TOML: duplicate key");
}

#[test]
fn a_file_that_cannot_be_read_or_is_not_text() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    let missing = scenario::from_path(format!("{directory}/missing.toml")).unwrap_err().to_string();
    assert_eq!(missing, format!("{directory}/missing.toml: cannot be read: No such file or directory (os error 2)"));
    std::fs::write(format!("{directory}/latin1.toml"), b"name = \"Z\xfcrich\"").unwrap();
    let latin1 = scenario::from_path(format!("{directory}/latin1.toml")).unwrap_err().to_string();
    assert_eq!(latin1, format!("{directory}/latin1.toml: is not UTF-8 text (byte 9 is the first that is not)"));
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest_and_the_list() {
    assert_eq!(
        dumbbell("rtt = ", "rt = "),
        "demo.toml, line 5: path.rt: there is no such key here; did you mean `rtt`? \
         (there are `rate`, `rtt`, `delay`, `queue`, `loss`, `jitter`, `reorder`, `reverse`)"
    );
    assert_eq!(
        flow("[flows.sources]"),
        "demo.toml, line 10: flows.0.sources: there is no such key here; did you mean `source`? (there are `cc`, \
         `parameters`, `name`, `count`, `start`, `start_jitter`, `stop`, `bytes`, `every`, `rtt`, `from`, `to`, `via`, \
         `extra_delay`, `profile`, `transport`, `kind`, `packet_size`, `source`)"
    );
    assert_eq!(
        dumbbell("queue = \"84p\"", "queue = { limit = \"84p\", mark = \"30p\" }"),
        "demo.toml, line 6: path.queue.mark: there is no such key here; did you mean `mark_above`? \
         (there are `limit`, `count_in_service`, `mark_above`, `discipline`, `quantum`)"
    );
}

#[test]
fn a_missing_key() {
    assert_eq!(dumbbell("duration = \"60s\"", ""), "demo.toml: duration: is missing");
    assert_eq!(dumbbell("rate = \"10mbit\"", ""), "demo.toml, line 3: path.rate: is missing");
    assert_eq!(dumbbell("cc = \"newreno\"", ""), "demo.toml, line 8: flows.0.cc: is missing");
    assert_eq!(
        dumbbell("queue = \"84p\"", ""),
        "demo.toml, line 3: path.queue: is missing: write packets `84p`, bytes `64kB`, a time `100ms`, `1bdp` or \
         `infinite`"
    );
}

#[test]
fn a_rate_without_unit_in_kbps_or_of_zero() {
    assert_eq!(
        dumbbell("\"10mbit\"", "\"10\""),
        "demo.toml, line 4: path.rate: `10` has no unit: write `10mbit` or `10kbit`"
    );
    assert_eq!(
        dumbbell("\"10mbit\"", "10"),
        "demo.toml, line 4: path.rate: invalid type: integer `10`, expected a rate like \"10mbit\", \"unlimited\", \
         steps like [[\"0s\", \"10mbit\"], [\"20s\", \"5mbit\"]] or { trace = \"FILE\" }"
    );
    assert_eq!(
        dumbbell("\"10mbit\"", "\"10kbps\""),
        "demo.toml, line 4: path.rate: `10kbps`: `kbps` is ambiguous (tc reads bytes, others bits); write bit, kbit, \
         mbit or gbit"
    );
    assert_eq!(
        dumbbell("\"10mbit\"", "\"0mbit\""),
        "demo.toml, line 4: path.rate: a rate of 0 never sends; for an outage write steps like [[\"0s\", \"10mbit\"], \
         [\"20s\", \"0bit\"]]"
    );
}

#[test]
fn steps_out_of_order_late_empty_or_all_zero() {
    assert_eq!(
        dumbbell("\"10mbit\"", r#"[["0s", "10mbit"], ["20s", "5mbit"], ["20s", "1mbit"]]"#),
        "demo.toml, line 4: path.rate: a step at `20s` follows one at `20s`: their times must increase"
    );
    assert_eq!(
        dumbbell("\"10mbit\"", r#"[["1s", "10mbit"]]"#),
        "demo.toml, line 4: path.rate: the first step is at `1s`: it must be at `0s`"
    );
    assert_eq!(
        dumbbell("\"10mbit\"", "[]"),
        "demo.toml, line 4: path.rate: there is no step: write steps like [[\"0s\", \"10mbit\"], [\"20s\", \"5mbit\"]]"
    );
    assert_eq!(
        dumbbell("\"10mbit\"", r#"[["0s", "0bit"]]"#),
        "demo.toml, line 4: path.rate: a rate of 0 never sends: at least one step must be above 0"
    );
    assert_eq!(
        dumbbell("\"10mbit\"", "[[\"0s\", \"10mbit\"],\n[\"20s\", \"5\"]]"),
        "demo.toml, line 5: path.rate.1.1: `5` has no unit: write `5mbit` or `5kbit`"
    );
}

#[test]
fn a_controller_in_a_file_that_is_not_there() {
    assert_eq!(
        dumbbell("cc = \"newreno\"", "cc = \"./mine.bpf.c\""),
        "demo.toml, line 9: flows.0.cc: `./mine.bpf.c` cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn a_trace_that_cannot_be_read_or_is_none() {
    assert_eq!(
        dumbbell("\"10mbit\"", "{ trace = \"missing.down\" }"),
        "demo.toml, line 4: path.rate: the trace `missing.down` cannot be read: No such file or directory (os error 2)"
    );
    let directory = env!("CARGO_TARGET_TMPDIR");
    std::fs::write(format!("{directory}/bad.down"), "0\nfast\n").unwrap();
    let text = DUMBBELL.replace("\"10mbit\"", "{ trace = \"bad.down\" }");
    let file = format!("{directory}/demo.toml");
    let error = scenario::from_toml(&text, &file).unwrap().plan().unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{file}, line 4: path.rate: the trace `bad.down`, line 2: `fast` is not a time in milliseconds: a trace has \
             one number, zero or more, a line"
        )
    );
}

#[test]
fn a_queue_of_nothing_without_unit_or_in_bdp_of_no_rate() {
    assert_eq!(
        dumbbell("\"84p\"", "\"0p\""),
        "demo.toml, line 6: path.queue: `0p`: a queue must have room for something"
    );
    assert_eq!(
        dumbbell("\"84p\"", "\"84\""),
        "demo.toml, line 6: path.queue: `84` has no unit: a queue is `84p`, `64kB`, `100ms`, `1bdp` or `infinite`"
    );
    assert_eq!(
        dumbbell("\"84p\"", "\"84 cells\""),
        "demo.toml, line 6: path.queue: `84 cells` is no limit of a queue: write `84p`, `64kB`, `100ms`, `1bdp` or \
         `infinite`"
    );
    assert_eq!(
        dumbbell("\"84p\"", "\"1.5p\""),
        "demo.toml, line 6: path.queue: `1.5p` is not a whole number of packets, like `84p`"
    );
    assert_eq!(
        dumbbell("\"84p\"", "\"0.01bdp\""),
        "demo.toml, line 6: path.queue: `0.01bdp` is no whole packet at 10mbit and 40ms: a queue must have room for one"
    );
    assert_eq!(
        dumbbell(
            "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"",
            "rate = \"unlimited\"\nrtt = \"40ms\"\nqueue = \"1bdp\""
        ),
        "demo.toml, line 6: path.queue: `1bdp` needs a rate, but this link is unlimited"
    );
}

#[test]
fn a_discipline_that_does_not_exist_or_a_quantum_without_use() {
    let queue = |keys: &str| dumbbell("\"84p\"", &format!("{{ limit = \"84p\", {keys} }}"));
    assert_eq!(
        queue("discipline = \"fair\""),
        "demo.toml, line 6: path.queue.discipline: unknown variant `fair`, expected one of `fifo`, `fq`, `drr`"
    );
    let stray = "demo.toml, line 6: path.queue: `quantum` belongs to the discipline `drr`";
    assert_eq!(queue("quantum = \"1500B\""), stray);
    assert_eq!(queue("discipline = \"fq\", quantum = \"1500B\""), stray);
    assert_eq!(
        queue("discipline = \"drr\", quantum = \"0B\""),
        "demo.toml, line 6: path.queue: `quantum` must be above 0, like `1500B`"
    );
}

#[test]
fn a_loss_above_one_or_of_no_model() {
    assert_eq!(dumbbell("[path]", "[path]\nloss = \"150%\""), "demo.toml, line 4: path.loss: `150%` is above 100%");
    assert_eq!(dumbbell("[path]", "[path]\nloss = 1.5"), "demo.toml, line 4: path.loss: 1.5 is not between 0 and 1");
    assert_eq!(
        dumbbell("[path]", "[path]\nloss = { model = \"gilbert-elliott\", good_to_bad = \"1%\" }"),
        "demo.toml, line 4: path.loss: a table of loss is { model = \"gilbert-elliott\", good_to_bad = \"1%\", \
         bad_to_good = \"30%\" }, with loss_good and loss_bad if wanted, or { packets = [10, 11] }"
    );
    assert_eq!(
        dumbbell("[path]", "[path]\nloss = { model = \"gilbert\" }"),
        "demo.toml, line 4: path.loss.model: unknown variant `gilbert`, expected `gilbert-elliott`"
    );
}

#[test]
fn rtt_and_delay_both_or_neither() {
    assert_eq!(
        dumbbell("rtt = \"40ms\"", "rtt = \"40ms\"\ndelay = \"20ms\""),
        "demo.toml, line 6: path.delay: there is an `rtt` too: give either `rtt` or `delay`"
    );
    assert_eq!(
        dumbbell("rtt = \"40ms\"", ""),
        "demo.toml, line 3: path: give either `rtt` or `delay`, like `rtt = \"40ms\"`"
    );
    assert_eq!(
        dumbbell("rtt = \"40ms\"", "delay = { forward = \"20ms\" }"),
        "demo.toml, line 5: path.delay.reverse: is missing"
    );
}

#[test]
fn a_path_without_rate_and_without_delay_on_which_no_time_passes() {
    assert_eq!(
        dumbbell("rate = \"10mbit\"\nrtt = \"40ms\"", "rate = \"unlimited\"\nrtt = \"0s\""),
        "demo.toml, line 8: flows.0.rtt: is 0 on an unlimited path: no time would pass; give a delay or a rate"
    );
}

#[test]
fn no_network_or_two_of_them() {
    assert_eq!(
        sentence("duration = \"1s\"\nflows = [{ cc = \"newreno\" }]"),
        "demo.toml: there is no network: give either [path] or [[links]]"
    );
    assert_eq!(
        parking_lot("[[flows]]", "[path]\nrate = \"1mbit\"\nrtt = \"1ms\"\nqueue = \"9p\"\n[[flows]]"),
        "demo.toml, line 3: links: there is a [path] too: a scenario has either [path] or [[links]]"
    );
}

#[test]
fn a_duration_of_zero_and_a_warmup_as_long_as_the_run() {
    assert_eq!(dumbbell("60s", "0s"), "demo.toml, line 1: duration: must be above 0, like `60s`");
    assert_eq!(
        dumbbell("duration = \"60s\"", "duration = \"60s\"\nwarmup = \"60s\""),
        "demo.toml, line 2: warmup: `60s` leaves nothing to measure of the duration `60s`"
    );
    assert_eq!(dumbbell("60s", "60"), "demo.toml, line 1: duration: `60` has no unit: write `60ms` or `60s`");
}

#[test]
fn no_flow_no_copy_or_far_too_many() {
    assert_eq!(dumbbell("[[flows]]\ncc = \"newreno\"", ""), "demo.toml: flows: a scenario needs at least one flow");
    assert_eq!(flow("count = 0"), "demo.toml, line 10: flows.0.count: must be at least 1");
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
        "demo.toml, line 10: flows.0.transport.ack_every: must be at least 1"
    );
    assert_eq!(
        flow("transport = { segment_size = \"100kB\" }"),
        "demo.toml, line 10: flows.0.transport.segment_size: `100kB` is not from 1 to 65475 bytes"
    );
    assert_eq!(
        flow("transport = { rto_max = \"100ms\" }"),
        "demo.toml, line 10: flows.0.transport.rto_max: rto_min `200ms` is above rto_max `100ms`"
    );
    for name in ["rto_initial", "rto_min", "rto_max"] {
        for value in ["0s", "999ns"] {
            assert_eq!(
                flow(&format!("transport = {{ {name} = \"{value}\" }}")),
                format!(
                    "demo.toml, line 10: flows.0.transport.{name}: `{value}` is too short for a timeout: at least 1us"
                )
            );
        }
    }
    accepted("transport = { rto_initial = \"1us\", rto_min = \"1us\", rto_max = \"1us\" }");
    let sack = "needs selective acknowledgements: `sack` is false";
    for transport in ["profile = \"real-1992\"\ntransport = {", "profile = \"linux\"\ntransport = { sack = false,"] {
        assert_eq!(
            flow(&format!("{transport} forward_acknowledgment = true }}")),
            format!("demo.toml, line 11: flows.0.transport.forward_acknowledgment: {sack}")
        );
    }
    // What the profile sets is without effect then.
    accepted("profile = \"linux-3.5\"\ntransport = { sack = false }");
    accepted("profile = \"real-1992\"\ntransport = { sack = true, forward_acknowledgment = true }");
    assert_eq!(
        flow("transport = { counting = { bytes = { limit = 0 } } }"),
        "demo.toml, line 10: flows.0.transport.counting: `limit` must be at least 1, or slow start would not grow"
    );
    accepted("transport = { counting = { bytes = { limit = 1 } } }");
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
        "demo.toml, line 10: flows.0.packet_size: belongs to flows of kind `datagram`"
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
        "demo.toml, line 12: flows.0.packet_size: `70kB` is not from 28 to 65535 bytes"
    );
    assert_eq!(
        flow("kind = \"udp\""),
        "demo.toml, line 10: flows.0.kind: unknown variant `udp`, expected `tcp` or `datagram`"
    );
}

#[test]
fn a_source_that_is_none() {
    assert_eq!(
        flow("source = \"lazy\""),
        "demo.toml, line 10: flows.0.source: invalid value: string \"lazy\", expected \"greedy\", \
         { rate = \"2mbit\" }, { rate = \"2mbit\", arrivals = \"poisson\" }, \
         { rate = \"2mbit\", on = \"10s\", off = \"5s\" } or steps like [[\"0s\", \"10mbit\"], [\"2s\", \"10.2mbit\"]]"
    );
    assert_eq!(
        flow("source = { rate = \"unlimited\" }"),
        "demo.toml, line 10: flows.0.source: the rate of a source is a rate or steps of rates"
    );
}

#[test]
fn a_sampling_that_is_none() {
    let record = |line: &str| flow(&format!("[record]\n{line}"));
    assert_eq!(
        record("probes = \"often\""),
        "demo.toml, line 11: record.probes: `often` is not a time: write it like `40ms`; a sampling is a time like \
         `100ms`, a number of ACKs like `20acks`, or `off`"
    );
    assert_eq!(
        record("probes = \"0s\""),
        "demo.toml, line 11: record.probes: `0s`: the time between samples must be above 0; `off` takes none"
    );
    assert_eq!(
        record("flow_series = \"0acks\""),
        "demo.toml, line 11: record.flow_series: `0acks` is not a whole number of ACKs above 0, like `20acks`"
    );
    assert_eq!(
        record("link_series = \"20acks\""),
        "demo.toml, line 11: record.link_series: `20acks`: a link sees no ACKs; write a time like `100ms`, or `off`"
    );
}

#[test]
fn keys_of_the_two_forms_do_not_mix() {
    assert_eq!(
        flow("from = \"a\""),
        "demo.toml, line 10: flows.0.from: belongs to scenarios with [[links]]; this one has a [path]"
    );
    assert_eq!(
        parking_lot("cc = \"newreno\"", "cc = \"newreno\"\nrtt = \"40ms\""),
        "demo.toml, line 21: flows.0.rtt: belongs to scenarios with a [path]; with [[links]] write `extra_delay`"
    );
    assert_eq!(
        parking_lot(
            "rate = \"10mbit\"\ndelay = \"5ms\"\nqueue = \"84p\"\nduplex = true\n\n[[flows]]",
            "rate = \"10mbit\"\ndelay = \"5ms\"\nqueue = \"1bdp\"\nduplex = true\n\n[[flows]]"
        ),
        "demo.toml, line 16: links.1.queue: `1bdp` needs the base RTT of a [path]; for a link write packets, bytes or a \
         time"
    );
}

#[test]
fn a_node_that_is_not_there_or_cannot_be_reached() {
    let flow = "cc = \"newreno\"\nfrom = \"a\"\nto = \"c\"";
    assert_eq!(
        parking_lot(flow, "cc = \"newreno\"\nfrom = \"a\"\nto = \"d\""),
        "demo.toml, line 22: flows.0.to: there is no node `d`; did you mean `c`? (there are `a`, `b`, `c`)"
    );
    assert_eq!(
        parking_lot(flow, "cc = \"newreno\"\nfrom = \"a\"\nto = \"a\""),
        "demo.toml, line 22: flows.0.to: `a` is where the flow starts: it must lead to another node"
    );
    assert_eq!(
        parking_lot(flow, "cc = \"newreno\"\nfrom = \"a\""),
        "demo.toml, line 19: flows.0.to: is missing: the node of the receiver"
    );
    assert_eq!(
        parking_lot(flow, "cc = \"newreno\"\nvia = [\"a\", \"c\"]"),
        "demo.toml, line 21: flows.0.via: no link leads from `a` to `c`"
    );
    assert_eq!(
        parking_lot(flow, "cc = \"newreno\"\nvia = [\"a\"]"),
        "demo.toml, line 21: flows.0.via: needs at least the two nodes of sender and receiver"
    );
    assert_eq!(
        parking_lot(flow, "cc = \"newreno\"\nfrom = \"a\"\nvia = [\"a\", \"b\"]"),
        "demo.toml, line 22: flows.0.via: names all nodes: give either `from` and `to`, or `via`"
    );
    let one_way = PARKING_LOT.replacen("duplex = true", "", 1);
    assert_eq!(
        sentence(&one_way),
        "demo.toml, line 21: flows.0.from: ACKs have no way back: no links lead from `c` to `a`"
    );
    assert_eq!(
        with(&one_way, flow, "cc = \"newreno\"\nfrom = \"c\"\nto = \"a\""),
        "demo.toml, line 22: flows.0.to: no links lead from `c` to `a`"
    );
}

#[test]
fn a_link_to_itself_of_one_name_or_with_two_reverse_directions() {
    assert_eq!(
        parking_lot("to = \"b\"", "to = \"a\""),
        "demo.toml, line 5: links.0.to: the link leads from `a` to itself"
    );
    assert_eq!(
        parking_lot("from = \"a\"\nto = \"b\"", "from = \"a\"\nto = \"b\"\nname = \"b-c\""),
        "demo.toml, line 3: links: two links are named `b-c`: names must differ"
    );
    assert_eq!(
        parking_lot("from = \"a\"\nto = \"b\"", "from = \"a\"\nto = \"b\"\nreverse = { rate = \"1mbit\" }"),
        "demo.toml, line 6: links.0.reverse: `duplex` makes the reverse direction like the forward one: give either of \
         the two"
    );
}

#[test]
fn delays_whose_steps_are_none() {
    let rtt = |value: &str| dumbbell("rtt = \"40ms\"", &format!("rtt = {value}"));
    assert_eq!(
        rtt("40"),
        "demo.toml, line 5: path.rtt: invalid type: integer `40`, expected a time like \"40ms\", or steps like \
         [[\"0s\", \"100ms\"], [\"30s\", \"40ms\"]]"
    );
    assert_eq!(
        rtt("[]"),
        "demo.toml, line 5: path.rtt: there is no step: write steps like [[\"0s\", \"100ms\"], [\"30s\", \"40ms\"]]"
    );
    assert_eq!(
        rtt(r#"[["1s", "40ms"]]"#),
        "demo.toml, line 5: path.rtt: the first step is at `1s`: it must be at `0s`"
    );
    assert_eq!(
        rtt(r#"[["0s", "40ms"], ["2s", "30ms"], ["2s", "50ms"]]"#),
        "demo.toml, line 5: path.rtt: a step at `2s` follows one at `2s`: their times must increase"
    );
    assert_eq!(
        rtt(r#"[["0s"]]"#),
        "demo.toml, line 5: path.rtt.0: invalid length 1, expected a time and a delay, like [\"30s\", \"40ms\"]"
    );
    assert_eq!(
        flow("rtt = true"),
        "demo.toml, line 10: flows.0.rtt: invalid type: boolean `true`, expected a time like \"40ms\", or steps like \
         [[\"0s\", \"100ms\"], [\"30s\", \"40ms\"]]"
    );
    assert_eq!(
        dumbbell("rtt = \"40ms\"", "delay = 20"),
        "demo.toml, line 5: path.delay: invalid type: integer `20`, expected a time like \"20ms\", steps like \
         [[\"0s\", \"50ms\"], [\"30s\", \"20ms\"]], or { forward = \"20ms\", reverse = \"30ms\" }"
    );
}

#[test]
fn a_path_on_which_no_time_passes_for_a_while() {
    let path = "rate = \"unlimited\"\nrtt = [[\"0s\", \"40ms\"], [\"2s\", \"0s\"]]";
    assert_eq!(
        dumbbell("rate = \"10mbit\"\nrtt = \"40ms\"", path),
        "demo.toml, line 8: flows.0.rtt: is 0 on an unlimited path: no time would pass; give a delay or a rate"
    );
}

#[test]
fn jitter_that_is_none() {
    let path = |line: &str| dumbbell("queue = \"84p\"", &format!("queue = \"84p\"\n{line}"));
    assert_eq!(
        path("jitter = 3"),
        "demo.toml, line 7: path.jitter: invalid type: integer `3`, expected a time like \"3ms\", or \
         { uniform = \"3ms\", reorder = true }"
    );
    assert_eq!(path("jitter = { reorder = true }"), "demo.toml, line 7: path.jitter.uniform: is missing");
    assert_eq!(
        path("reverse = { jitter = { uniform = \"3ms\", order = true } }"),
        "demo.toml, line 7: path.reverse.jitter.order: there is no such key here; did you mean `reorder`? \
         (there are `uniform`, `reorder`)"
    );
    assert_eq!(
        path("reorder = 1"),
        "demo.toml, line 7: path.reorder: invalid type: integer `1`, expected true or false"
    );
}

#[test]
fn reordering_in_the_reverse_direction() {
    let there = "there is no such key here: `reorder` stands beside `reverse` and is for both directions; for this one \
                 alone there is `jitter = { uniform = \"3ms\", reorder = true }`";
    assert_eq!(
        dumbbell("queue = \"84p\"", "queue = \"84p\"\nreverse = { reorder = true }"),
        format!("demo.toml, line 7: path.reverse.reorder: {there}")
    );
    assert_eq!(
        parking_lot("duplex = true\n\n[[flows]]", "reverse = { reorder = true }\n\n[[flows]]"),
        format!("demo.toml, line 17: links.1.reverse.reorder: {there}")
    );
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
            "{every_at}.normal: there is no such key here; did you mean `uniform`? (there are `uniform`, \
             `exponential`, `pareto`)"
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
        format!("{every_at}.pareto: `shape` is 1: it must be above 1, or there is no mean")
    );
    assert_eq!(
        flow("bytes = 7"),
        "demo.toml, line 10: flows.0.bytes: invalid type: integer `7`, expected a size like \"30kB\", or a distribution \
         like { uniform = [\"30kB\", \"60kB\"] }"
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
    let plan = scenario::from_toml(&text, "demo.toml").unwrap().plan().unwrap();
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
        "demo.toml, line 8: flows: a flow is named `web-12`, and so may one of the connections of `web` be: names must differ"
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
    // Half of the periods are below 1 s * 1e-9 * 2, one in 2^30 or so makes the mean: 60 s are of 1.5e10 turns, not of 30.
    let long_tail = "{ pareto = { mean = \"1s\", shape = 1.000000001 } }";
    assert_eq!(
        source(&format!("on = {long_tail}, off = {long_tail}")),
        "demo.toml, line 10: flows.0.source: goes on and off about 15000000000 times; at most 10000000 are allowed"
    );
}

#[test]
fn short_flows_take_memory_while_they_last_and_all_at_once_only_where_more_is_offered_than_passes() {
    let estimate = |settings: &[(&str, &str)]| {
        let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
        let off = ["flow_series", "probes", "link_series"].map(|series| (format!("record.{series}"), "off"));
        off.iter().for_each(|(key, value)| document.set(key, value).unwrap());
        document.set("record.events", "false").unwrap();
        settings.iter().for_each(|(key, value)| document.set(key, value).unwrap());
        document.scenario().unwrap().plan().unwrap().estimated_memory().get()
    };
    let dense = |bytes| [("flows.0.every", "1ms"), ("flows.0.bytes", bytes)];
    // 10 Mbit/s pass 1250 bytes in a millisecond, of which 1000 with 52 of headers leave 198: a connection needs 1052/198 ms
    // for its bytes and one RTT, 40 ms and 100.8 ms in the full queue. 146.1 ms, and twice that: 293 connections overlap, 8000 B
    // each. Of all 60,001 there remain 1000 B each. In the network are 236 packets and 10 a connection, of 200 B.
    assert_eq!(estimate(&dense("1kB")), 60_001_000 + 293 * 8_000 + (236 + 2930) * 200);
    // 1252 bytes are too many: all 60,001 connections are there at once, of one segment each.
    assert_eq!(estimate(&dense("1200B")), 60_001 * (1_000 + 8_000 + 200));
    // So they are on a link that is down for a while, or if the application of each takes its time.
    let down = ("path.rate", r#"[["0s", "10mbit"], ["9s", "0bit"], ["10s", "10mbit"]]"#);
    assert!(estimate(&[&dense("1kB")[..], &[down]].concat()) > 60_001 * 9_000);
    assert!(estimate(&[&dense("1kB")[..], &[("flows.0.source", r#"{ rate = "1kbit" }"#)]].concat()) > 60_001 * 9_000);
    // 300 kB are 208 segments, 310,816 B of 1.25 MB a second: 0.331 s. 10, 20, 40, 80 and 58 leave in 5 RTTs, 0.704 s: of the 61
    // connections 3 overlap. A window of 20 makes that 11 RTTs, 1.549 s: 4 overlap, which 80 packets are of.
    let long = [("flows.0.every", "1s"), ("flows.0.bytes", "300kB")];
    assert_eq!(estimate(&long), 61_000 + 3 * 8_000 + (236 + 30) * 200);
    assert_eq!(
        estimate(&[&long[..], &[("flows.0.transport.receive_window", "20")]].concat()),
        61_000 + 4 * 8_000 + 80 * 200
    );
}

#[test]
fn a_run_that_would_exhaust_the_memory() {
    let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
    document.set("path.queue", "infinite").unwrap();
    document.set("record.events", "false").unwrap();
    let plan = document.scenario().unwrap().plan().unwrap();
    // 60 s of 10 Mbit/s are 50 001 packets, and 10 of the initial window, of 200 B: 10.0 MB; 601 samples of 240, 768 and
    // 160 B: 0.7 MB; a flow: 8 kB.
    assert_eq!(plan.estimated_memory(), Bytes::new(10_002_200 + 701_968 + 8_000));
    assert_eq!(plan.check_memory(Bytes::new(14_000_000)), Ok(()));
    assert_eq!(
        plan.check_memory(Bytes::new(13_000_000)).unwrap_err().to_string(),
        "scenario `demo`: the run may take 11 MB of memory, more than 80% of the 13 MB available: sample less often \
         (record), shorten the duration, run fewer flows, or bound what is in flight (rate, queue, \
         transport.receive_window)"
    );
}

/// What the dumbbell takes with `settings`, in whole gigabytes.
fn gigabytes(settings: &[(&str, &str)]) -> u64 {
    let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
    settings.iter().for_each(|(key, value)| document.set(key, value).unwrap());
    document.scenario().unwrap().plan().unwrap().estimated_memory().get() / 1_000_000_000
}

#[test]
fn memory_that_nothing_bounds() {
    let overload = [("flows.0.kind", "datagram"), ("flows.0.source", r#"{ rate = "12gbit" }"#), ("duration", "100s")];
    // 12 Gbit/s for 100 s are 100 million datagrams. An infinite queue keeps them, of 200 B each; a short one drops
    // nearly all, each an event of 80 B.
    assert_eq!(gigabytes(&[&overload[..], &[("path.queue", "infinite"), ("record.events", "false")]].concat()), 20);
    assert_eq!(gigabytes(&overload), 7);
    // What jitter holds back is under way: 12 Gbit/s for 10 s are 10 million packets, and twice that fits, as in slow start.
    let held_back = [("path.jitter", "10s"), ("path.rate", "12gbit"), ("record.events", "false")];
    assert_eq!(gigabytes(&[&overload[..], &held_back[..]].concat()), 4);
    // An initial window of 100 million segments is remembered, of 200 B each, whatever the queue drops of it.
    assert_eq!(gigabytes(&[("flows.0.transport.initial_window", "100000000"), ("record.events", "false")]), 20);
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
fn a_step_of_more_than_time_and_rate() {
    assert_eq!(
        dumbbell("rate = \"10mbit\"", r#"rate = [["0s", "10mbit", "5ms"]]"#),
        "demo.toml, line 4: path.rate.0: invalid length 3, expected a time and a rate, like [\"20s\", \"5mbit\"]"
    );
}

#[test]
fn a_flow_whose_name_says_nothing() {
    assert_eq!(
        flow("name = \" \""),
        "demo.toml, line 10: flows.0.name: \" \" is not a name: it needs letters, and no line breaks"
    );
}

#[test]
fn keys_that_cannot_be_set() {
    let set = |key: &str| {
        let mut document = Document::from_toml(DUMBBELL, "demo.toml").unwrap();
        document.set(key, "1").and_then(|()| document.scenario()).unwrap_err().to_string()
    };
    assert_eq!(
        set("flows.1.cc"),
        "demo.toml, line 8: flows.1.cc: `1` is not an index into `flows`, which has 1 entries, the first of them 0"
    );
    assert_eq!(
        set("path.queue.limit"),
        "demo.toml, line 6: path.queue.limit: `path.queue` is not a table: set it as a whole"
    );
    assert_eq!(set("path..rate"), "demo.toml, line 3: path..rate: a key is names and indices with single dots between");
    assert!(set("path.speed").starts_with("demo.toml, line 3: path.speed: there is no such key here; did you mean `"));
}
