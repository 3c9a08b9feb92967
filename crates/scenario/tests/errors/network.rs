//! Keys of the network: `path`, `links`, and the nodes that flows name.

use ::network::DisciplineSettings;

use crate::{DUMBBELL, PARKING_LOT, disk, dumbbell, flow, parking_lot, sentence, with};

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
        "demo.toml, line 4: path.rate: `10kbps` is ambiguous: tc reads bytes, 80kbit, and others read 10kbit; write \
         one of the two"
    );
    assert_eq!(
        dumbbell("\"10mbit\"", "\"0mbit\""),
        "demo.toml, line 4: path.rate: a rate of 0 never sends; for an outage write steps like [[\"0s\", \"10mbit\"], \
         [\"20s\", \"0bit\"]]"
    );
}

#[test]
fn a_list_in_place_of_a_table() {
    let list = "invalid type: list, expected a table";
    assert_eq!(
        dumbbell("queue = \"84p\"", "queue = \"84p\"\nreverse = []"),
        format!("demo.toml, line 7: path.reverse: {list}")
    );
    assert_eq!(
        dumbbell("queue = \"84p\"", "queue = \"84p\"\nreverse = [\"5mbit\"]"),
        format!("demo.toml, line 7: path.reverse: {list}")
    );
    assert_eq!(
        dumbbell("duration = \"60s\"", "duration = \"60s\"\nrecord = []"),
        format!("demo.toml, line 2: record: {list}")
    );
    assert_eq!(
        sentence("duration = \"60s\"\npath = { rate = \"10mbit\", rtt = \"40ms\" }\nflows = [[\"newreno\"]]"),
        format!("demo.toml, line 3: flows.0: {list}")
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
fn a_trace_that_cannot_be_read_or_is_none() {
    assert_eq!(
        dumbbell("\"10mbit\"", "{ trace = \"missing.down\" }"),
        "demo.toml, line 4: path.rate: the trace `missing.down` cannot be read: No such file or directory (os error 2)"
    );
    let directory = env!("CARGO_TARGET_TMPDIR");
    std::fs::write(format!("{directory}/bad.down"), "0\nfast\n").unwrap();
    let text = DUMBBELL.replace("\"10mbit\"", "{ trace = \"bad.down\" }");
    let file = format!("{directory}/demo.toml");
    let error = scenario::from_toml(&text, &file).unwrap().plan(&disk).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{file}, line 4: path.rate: the trace `bad.down`, line 2: `fast` is not a time in milliseconds: a trace \
             has one number, zero or more, a line"
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
        dumbbell("\"84p\"", "\"red\""),
        "demo.toml, line 6: path.queue: `red` has no limit by default: write { discipline = \"red\", limit = \"84p\" }"
    );
    assert!(dumbbell("\"84p\"", "\"fq-codel\"").starts_with(
        "demo.toml, line 6: path.queue: `fq-codel` is neither a limit like `84p` nor a discipline: did you mean \
         `fq_codel`?"
    ));
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
    let names = DisciplineSettings::NAMES.join("`, `");
    assert_eq!(
        queue("discipline = \"fair\""),
        format!("demo.toml, line 6: path.queue.discipline: unknown variant `fair`, expected one of `{names}`")
    );
    let stray = |name: &str| {
        format!(
            "demo.toml, line 6: path.queue.quantum: the discipline `{name}` has no such key, but `drr` or \
             `fq_codel` or `fq_pie` has"
        )
    };
    assert_eq!(queue("quantum = \"1500B\""), stray("fifo"));
    assert_eq!(queue("discipline = \"fq\", quantum = \"1500B\""), stray("fq"));
    assert_eq!(
        queue("quantom = \"1500B\", discipline = \"drr\""),
        "demo.toml, line 6: path.queue.quantom: there is no such key here; did you mean `quantum`? (there are \
          `limit`, `count_in_service`, `count_delayed`, `mark_above`, `discipline`, `quantum`)"
    );
    assert_eq!(
        queue("discipline = \"drr\", quantum = \"0B\""),
        "demo.toml, line 6: path.queue.quantum: `0B` is out of range (allowed: 1B to 1048576B)"
    );
    assert_eq!(
        queue("discipline = \"drr\", quantum = 1500"),
        "demo.toml, line 6: path.queue.quantum: invalid type: integer `1500`, expected a size with its unit, \
         like \"64kB\""
    );
}

#[test]
fn settings_of_queues_that_drop_early_out_of_range() {
    let queue = |discipline: &str, keys: &str| {
        dumbbell("\"84p\"", &format!("{{ limit = \"84p\", discipline = \"{discipline}\", {keys} }}"))
    };
    for (discipline, keys, sentence) in [
        ("red", "min = \"30kB\", max = \"30kB\"", ".max: `30kB` must be above `min`, which is `30kB`"),
        ("red", "harddrop = true", ".harddrop: it says what becomes of packets beside marks, so it needs `ecn = true`"),
        ("red", "probability = \"200%\"", ".probability: `200%` is above 100%"),
        ("avq", "alpha = 0.0", ".alpha: `0` is out of range (allowed: 0.000000001 to 1000)"),
        ("avq", "gamma = \"0%\"", ".gamma: `0%` of a link cannot be aimed at: it must be above 0, like `98%`"),
        ("pie", "tupdate = \"0s\"", ".tupdate: `0s` is out of range (allowed: 1ns to 3600s)"),
        ("pie", "alpha = 33", ".alpha: `33` is out of range (allowed: 0 to 32)"),
        ("fq_pie", "ecn_prob = 101", ".ecn_prob: `101` is out of range (allowed: 0 to 100)"),
        ("dualpi2", "coupling_factor = 0", ".coupling_factor: `0` is out of range (allowed: 1 to 255)"),
        ("dualpi2", "beta = -1.0", ".beta: `-1` is out of range (allowed: 0 to 256)"),
        ("cake", "rtt = \"0s\"", ".rtt: `0s` is out of range (allowed: 1ns to 3600s)"),
        ("police", "burst = \"32kB\"", ": `rate`: a policer needs it, like `10mbit`"),
        ("police", "rate = \"8mbit\"", ": `burst`: a policer needs it, like `32kB`"),
    ] {
        assert_eq!(queue(discipline, keys), format!("demo.toml, line 6: path.queue{sentence}"));
    }
}

#[test]
fn a_setting_of_codel_out_of_range() {
    let queue = |keys: &str| dumbbell("\"84p\"", &format!("{{ discipline = \"fq_codel\", {keys} }}"));
    assert_eq!(
        queue("interval = \"0s\""),
        "demo.toml, line 6: path.queue.interval: `0s` is out of range (allowed: 1ns to 3600s)"
    );
    assert_eq!(queue("flows = 0"), "demo.toml, line 6: path.queue.flows: `0` is out of range (allowed: 1 to 65536)");
    assert_eq!(
        queue("memory_limit = \"0B\""),
        "demo.toml, line 6: path.queue.memory_limit: `0B` is out of range (allowed: 1B to 1000000GB)"
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
fn a_node_that_is_not_there_or_cannot_be_reached() {
    let flow = "cc = \"newreno\"\nfrom = \"a\"\nto = \"c\"";
    assert_eq!(
        parking_lot(flow, "cc = \"newreno\"\nfrom = \"a\"\nto = \"d\""),
        "demo.toml, line 22: flows.0.to: there is no node `d`; there are `a`, `b`, `c`"
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
    assert_eq!(
        path("jitter = { reorder = true }"),
        "demo.toml, line 7: path.jitter: a table of jitter has one of `uniform`, `around`, `normal`, `pareto`, \
         `paretonormal` and `wifi`, or `slot`, or a share as `reorder`"
    );
    assert_eq!(
        path("jitter = { normal = \"3ms\", pareto = \"3ms\" }"),
        "demo.toml, line 7: path.jitter: jitter has one distribution: give only one of `uniform`, `around`, `normal`, \
         `pareto`, `paretonormal` and `wifi`"
    );
    assert_eq!(
        path("jitter = { wifi = \"7000000s\" }"),
        "demo.toml, line 7: path.jitter.wifi: `7000000s` is out of range (allowed: 0s to 91ms)"
    );
    assert_eq!(
        path("jitter = { wifi = \"7ms\", correlation = \"25%\" }"),
        "demo.toml, line 7: path.jitter: `correlation` and `wifi` exclude each other: packets on that channel are \
         independent"
    );
    assert_eq!(
        path("jitter = { slot = { min = \"9ms\", max = \"1ms\" } }"),
        "demo.toml, line 7: path.jitter.slot: max `1ms` is below min `9ms`"
    );
    assert_eq!(
        path("reverse = { jitter = { uniform = \"3ms\", order = true } }"),
        "demo.toml, line 7: path.reverse.jitter.order: there is no such key here; did you mean `reorder`? \
         (there are `uniform`, `around`, `normal`, `pareto`, `paretonormal`, `wifi`, `correlation`, `reorder`, `slot`)"
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
fn a_step_of_more_than_time_and_rate() {
    assert_eq!(
        dumbbell("rate = \"10mbit\"", r#"rate = [["0s", "10mbit", "5ms"]]"#),
        "demo.toml, line 4: path.rate.0: invalid length 3, expected a time and a rate, like [\"20s\", \"5mbit\"]"
    );
}

#[test]
fn packets_that_take_no_delay_need_to_know_of_one() {
    let steps = "rtt = [[\"0s\", \"40ms\"], [\"2s\", \"50ms\"]]\njitter = { reorder = \"25%\" }";
    assert_eq!(
        dumbbell("rtt = \"40ms\"", steps),
        "demo.toml: the jitter of `bottleneck` lets a share of its packets take no delay: there must be one delay \
         behind it, without steps"
    );
}

#[test]
fn letters_that_mean_another_number_in_tc() {
    let queue = |limit: &str| dumbbell("queue = \"84p\"", &format!("queue = \"{limit}\""));
    assert_eq!(
        queue("0.1MB"),
        "demo.toml, line 6: path.queue: `0.1MB` is ambiguous: tc reads 104857B, powers of ten make 100000B of it; \
         write one of the two"
    );
    assert_eq!(
        dumbbell("rate = \"10mbit\"", "rate = \"1Mbps\""),
        "demo.toml, line 4: path.rate: `1Mbps` is ambiguous: tc reads bytes, 8mbit, and others read 1mbit; write one \
         of the two"
    );
    assert_eq!(
        dumbbell("rate = \"10mbit\"", "rate = { rate = \"1mbit\", burst = \"32kbit\" }"),
        "demo.toml, line 4: path.rate.burst: `32kbit` is ambiguous: tc reads 4096B, powers of ten make 4000B of it; \
         write one of the two"
    );
}

#[test]
fn steps_and_tables_that_are_none() {
    let queue = |text: &str| dumbbell("queue = \"84p\"", &format!("queue = {text}"));
    assert_eq!(
        queue("[[\"0s\", \"84p\"], [\"1s\", \"codel\"]]"),
        "demo.toml, line 6: path.queue: the step at `1s` changes more than the limit; the rest of a queue stays"
    );
    assert_eq!(
        queue("{ limit = \"64kB\", count_delayed = true }"),
        "demo.toml, line 6: path.queue: `count_delayed` needs a limit in packets, like `1000p`"
    );
    assert_eq!(
        queue("\"{ limit = \""),
        "demo.toml, line 6: path.queue: `{ limit =` is neither a table nor a list of TOML or JSON: unclosed inline \
         table, expected `}`"
    );
    let loss = |text: &str| dumbbell("queue = \"84p\"", &format!("queue = \"84p\"\nloss = {text}"));
    assert_eq!(
        loss("{ model = \"gilbert-elliott\", good_for = \"0s\", bad_for = \"1s\" }"),
        "demo.toml, line 7: path.loss: `good_for` and `bad_for` are the mean times of the states: they must be above 0"
    );
    assert_eq!(
        loss("{ trace = \"missing.csv\" }"),
        "demo.toml, line 7: path.loss: the table `missing.csv`: cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn times_and_rates_that_no_run_can_hold() {
    let waits = "`7000000s` is out of range (allowed: 0s to 3600s)";
    for (key, why) in [("delay = \"7000000s\"", waits), ("rtt = [[\"0s\", \"1ms\"], [\"1s\", \"7000000s\"]]", waits)] {
        let text = format!(
            "duration = \"9s\"\npath = {{ rate = \"10mbit\", queue = \"9p\", {key} }}\nflows = [{{ cc = \"bbr1\" }}]"
        );
        let error = scenario::from_toml(&text, "demo.toml").unwrap_err().to_string();
        let name = key.split(' ').next().unwrap();
        assert_eq!(error, format!("demo.toml, line 2: path.{name}: {why}"));
    }
    for (text, why) in [
        ("duration = \"1e9s\"", "duration: `1e9s` is too large for a time: at most 31536000s"),
        (
            "duration = \"9s\"\npath = { rate = \"11tbit\" }",
            "path.rate: `11tbit` is too large for a rate: at most 10tbit",
        ),
    ] {
        let error = scenario::from_toml(text, "demo.toml").unwrap_err().to_string();
        assert!(error.ends_with(why), "{error}");
    }
}
