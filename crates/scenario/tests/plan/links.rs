//! Links: rates, queues, losses.

use std::sync::Arc;

use network::{
    Chance, CodelSettings, DisciplineSettings, DrrSettings, Early, FqCodelSettings, FqSettings, Framing, JitterModel,
    Limit, LinkLayer, LossModel, Service, Shape, Slots, Spread, TokenBucket, Trace,
};
use units::{Bytes, Rate, Span, Time};

use crate::{at, disk, dumbbell, fraction, ms, plan};

#[test]
fn queues_have_four_units() {
    let limit = |queue: &str| {
        let plan = dumbbell(&format!("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"{queue}\""), "");
        (plan.links[0].settings.queue.limit, plan.warnings.join("\n"))
    };
    assert_eq!(limit("84p"), (Limit::Packets(84), String::new()));
    assert_eq!(limit("84 packets"), (Limit::Packets(84), String::new()));
    assert_eq!(limit("64kB"), (Limit::Bytes(Bytes::new(64_000)), String::new()));
    assert_eq!(limit("64KiB"), (Limit::Bytes(Bytes::new(65_536)), String::new()));
    assert_eq!(limit("1e2ms"), (Limit::Delay(ms(100)), String::new()));
    // 10 Mbit/s over 40 ms are 400 000 bits, 33.3 packets. Half is 16.7.
    assert_eq!(limit("1bdp"), (Limit::Packets(33), String::new()));
    assert_eq!(limit("0.5bdp"), (Limit::Packets(17), String::new()));

    let tiny = "the queue of `bottleneck` has room for less than two packets of 1500 bytes";
    assert_eq!(limit("1p"), (Limit::Packets(1), tiny.to_owned()));
    // Two packets are 0.06 BDP, which is remarked on otherwise.
    assert_eq!(limit("2p").0, Limit::Packets(2));
    assert_eq!(limit("3kB").0, Limit::Bytes(Bytes::new(3000)));
    assert!(
        ["2p", "3kB", "2.4ms"].iter().all(|queue| limit(queue).1.starts_with("the queue of `bottleneck` is 0.060"))
    );
    assert_eq!(limit("2999B"), (Limit::Bytes(Bytes::new(2999)), tiny.to_owned()));
    // Two packets take 2.4 ms.
    assert_eq!(limit("2.3ms").1, tiny);
    // 100 Mbit/s over 40 ms are 500 000 bytes: a tenth of them are 33.3 packets.
    let short = |queue: &str| {
        let plan = dumbbell(&format!("rate = \"100mbit\"\nrtt = \"40ms\"\nqueue = \"{queue}\""), "");
        plan.warnings.join("\n")
    };
    assert_eq!(
        short("33p"),
        "the queue of `bottleneck` is 0.099 BDP (100mbit over 40ms): controllers that wait for a loss leave most of \
         such a link unused; 1bdp lets them fill it"
    );
    for enough in ["34p", "50kB", "4ms", "0.05bdp"] {
        assert_eq!(short(enough), "", "{enough}");
    }
    assert!(short("49kB").starts_with("the queue of `bottleneck` is 0.098 BDP"));
    assert!(short("3ms").starts_with("the queue of `bottleneck` is 0.075 BDP"));
    let infinite = "the queue of `bottleneck` is infinite: it drops nothing, and delay can grow without bound";
    assert_eq!(limit("infinite"), (Limit::Infinite, infinite.to_owned()));
}

#[test]
fn a_rate_in_steps_counts_by_its_first_that_sends() {
    let plan = dumbbell(
        r#"rate = [["0s", "0bit"], ["1s", "12mbit"], ["2s", "6mbit"]]
           rtt = "40ms"
           queue = "1bdp""#,
        "",
    );
    assert_eq!(plan.links[0].rate, Some(Rate::from_mbit(12)));
    assert_eq!(
        plan.links[0].settings.service,
        Service::Steps(vec![
            (Time::ZERO, Rate::from_mbit(0)),
            (at(1), Rate::from_mbit(12)),
            (at(2), Rate::from_mbit(6))
        ])
    );
    // 12 Mbit/s over 40 ms are 480 000 bits, 40 packets.
    assert_eq!(plan.links[0].settings.queue.limit, Limit::Packets(40));
}

#[test]
fn a_trace_lies_beside_the_scenario_and_counts_by_its_mean() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    std::fs::write(format!("{directory}/two.down"), "1\n2\n").unwrap();
    let text = r#"
        duration = "1s"
        path = { rate = { trace = "two.down" }, rtt = "40ms", queue = "1bdp" }
        flows = [{ cc = "newreno" }]
    "#;
    let plan = scenario::from_toml(text, &format!("{directory}/demo.toml")).unwrap().plan(&disk).unwrap();
    // Two packets in 2 ms are 12 Mbit/s.
    assert_eq!(plan.links[0].rate, Some(Rate::from_mbit(12)));
    assert_eq!(plan.links[0].settings.service, Service::Trace(Arc::new(Trace::parse("1\n2\n").unwrap())));
    assert_eq!(plan.links[0].settings.queue.limit, Limit::Packets(40));
}

#[test]
fn codel_has_the_limit_of_tc_and_its_name_alone_is_a_queue() {
    let queue = |spelling: &str| {
        dumbbell(&format!("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = {spelling}"), "").links[0].settings.queue
    };
    let fq_codel = queue("\"fq_codel\"");
    assert_eq!(fq_codel.limit, Limit::Packets(10_240));
    assert_eq!(fq_codel.discipline, DisciplineSettings::FqCodel(FqCodelSettings::default()));
    assert_eq!(queue("{ discipline = \"fq_codel\" }"), fq_codel);
    let codel = queue("{ discipline = \"codel\", limit = \"50p\", target = \"2ms\", ecn = true }");
    assert_eq!(codel.limit, Limit::Packets(50));
    let settings = CodelSettings { target: ms(2), ecn: true, ..CodelSettings::default() };
    assert_eq!(codel.discipline, DisciplineSettings::Codel(settings));
}

#[test]
fn a_queue_has_a_discipline_and_drr_a_quantum() {
    let discipline = |keys: &str| {
        let queue = format!("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = {{ limit = \"1bdp\", {keys} }}");
        let queue = dumbbell(&queue, "").links[0].settings.queue;
        assert_eq!(queue.limit, Limit::Packets(33));
        queue.discipline
    };
    assert_eq!(discipline("discipline = \"fifo\""), DisciplineSettings::Fifo);
    assert_eq!(discipline("discipline = \"fq\""), DisciplineSettings::FairQueueing(FqSettings {}));
    let drr = |quantum| DisciplineSettings::DeficitRoundRobin(DrrSettings { quantum: Bytes::new(quantum) });
    assert_eq!(discipline("discipline = \"drr\""), drr(1500));
    assert_eq!(discipline("discipline = \"drr\", quantum = \"1b\""), drr(1));
}

#[test]
fn an_unlimited_path_needs_no_queue() {
    let plan = dumbbell("rate = \"unlimited\"\nrtt = \"40ms\"", "");
    assert_eq!((&plan.links[0].settings.service, plan.links[0].rate), (&Service::Unlimited, None));
    assert!(plan.warnings.is_empty());
}

#[test]
fn loss_comes_in_three_models() {
    let loss = |loss: &str| {
        dumbbell(&format!("rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"\nloss = {loss}"), "").links[0]
            .settings
            .loss
            .clone()
    };
    assert_eq!(loss("0"), LossModel::None);
    assert_eq!(loss("\"0%\""), LossModel::None);
    assert_eq!(loss("0.01"), LossModel::Bernoulli(fraction(0.01)));
    assert_eq!(loss("1"), LossModel::Bernoulli(fraction(1.0)));
    let listed = |data: &[u64], openings: &[u64]| LossModel::Packets { data: data.into(), openings: openings.into() };
    assert_eq!(loss("{ packets = [11, 10, 11] }"), listed(&[10, 11], &[]));
    assert_eq!(loss("{ openings = [2, 0] }"), listed(&[], &[0, 2]));
    assert_eq!(loss("{ packets = [1], openings = [0] }"), listed(&[1], &[0]));
    assert_eq!(
        loss("{ model = \"gilbert-elliott\", good_to_bad = \"1%\", bad_to_good = \"30%\" }"),
        LossModel::GilbertElliott {
            good_to_bad: fraction(0.01),
            bad_to_good: fraction(0.3),
            loss_good: fraction(0.0),
            loss_bad: fraction(1.0)
        }
    );
}

/// The first link of a path with these keys.
fn link(keys: &str) -> scenario::PlannedLink {
    dumbbell(&format!("rate = \"10mbit\"\nrtt = \"40ms\"\n{keys}"), "").links[0].clone()
}

#[test]
fn losses_may_last_correlate_and_change() {
    let loss = |loss: &str| link(&format!("queue = \"84p\"\nloss = {loss}")).settings.loss;
    let (good_for, bad_for) = (Span::from_secs(10), ms(200));
    let (loss_good, loss_bad) = (fraction(0.0), fraction(0.5));
    assert_eq!(
        loss(r#"{ model = "gilbert-elliott", good_for = "10s", bad_for = "200ms", loss_bad = "50%" }"#),
        LossModel::Periods { good_for, bad_for, loss_good, loss_bad }
    );
    // Of lost packets 0.1 + 0.5 * 0.9 = 55 % are followed by another, of others 5 %.
    assert_eq!(
        loss(r#"{ share = "10%", correlation = "50%" }"#),
        LossModel::GilbertElliott {
            good_to_bad: fraction(0.05),
            bad_to_good: fraction(0.45),
            loss_good: fraction(0.0),
            loss_bad: fraction(1.0)
        }
    );
    let steps = vec![(Time::ZERO, LossModel::None), (at(20), LossModel::Bernoulli(fraction(0.01)))];
    assert_eq!(loss(r#"[["0s", "0%"], ["20s", "1%"]]"#), LossModel::Steps(steps));
}

#[test]
fn the_limit_of_a_queue_may_change_and_count_what_is_under_way() {
    let changing = link(r#"queue = [["0s", "100p"], ["20s", "1bdp"], ["30s", { limit = "10p" }]]"#);
    assert_eq!(changing.settings.queue.limit, Limit::Packets(100));
    assert_eq!(changing.limits, [(at(20), Limit::Packets(33)), (at(30), Limit::Packets(10))]);
    let held = link(r#"queue = { limit = "1000p", count_delayed = true }"#);
    assert_eq!((held.settings.queue.limit, held.held), (Limit::Packets(1000), Some(1000)));
    let fq = link(r#"queue = [["0s", "fq_codel"], ["9s", "fq_codel:5p"]]"#);
    assert_eq!((fq.settings.queue.limit, fq.limits), (Limit::Packets(10_240), vec![(at(9), Limit::Packets(5))]));
}

#[test]
fn jitter_has_laws_correlation_early_packets_and_slots() {
    let jitter = |jitter: &str| link(&format!("queue = \"84p\"\njitter = {jitter}")).jitter;
    let spread = |shape, millis, correlation| Spread { shape, size: ms(millis), correlation: fraction(correlation) };
    let one = |spread| JitterModel { spreads: vec![(Time::ZERO, spread)], early: None, slots: None };
    assert_eq!(jitter("\"3ms\""), one(spread(Shape::Uniform, 3, 0.0)));
    assert_eq!(jitter(r#"{ around = "3ms", reorder = true }"#), one(spread(Shape::Around, 3, 0.0)));
    assert_eq!(jitter(r#"{ wifi = "7ms" }"#), one(spread(Shape::Wifi, 7, 0.0)));
    let normal = r#"{ normal = "20ms", correlation = "25%" }"#;
    assert_eq!(jitter(normal), one(spread(Shape::Normal, 20, 0.25)));
    let early = |share, correlation, gap| {
        let chance = Chance { share: fraction(share), correlation: fraction(correlation) };
        Some(Early { chance, gap })
    };
    assert_eq!(jitter(r#"{ reorder = "25%" }"#).early, early(0.25, 0.0, 1));
    let gaps = r#"{ pareto = "2ms", reorder = { share = "25%", correlation = "50%", gap = 5 } }"#;
    assert_eq!((jitter(gaps).early, jitter(gaps).spreads.len()), (early(0.25, 0.5, 5), 1));
    let slots = |max, packets, bytes| Some(Slots { min: Span::from_micros(800), max, packets, bytes });
    let slot = r#"{ slot = { min = "800us", max = "10ms", packets = 42, bytes = "64kB" } }"#;
    assert_eq!(jitter(slot).slots, slots(ms(10), Some(42), Some(Bytes::new(64_000))));
    assert_eq!(jitter(r#"{ slot = { min = "800us" } }"#).slots, slots(Span::from_micros(800), None, None));
    let steps = jitter(r#"[["0s", "0ms"], ["5s", { normal = "1ms" }]]"#);
    assert_eq!(steps.spreads, [(Time::ZERO, spread(Shape::Uniform, 0, 0.0)), (at(5), spread(Shape::Normal, 1, 0.0))]);
}

#[test]
fn a_bucket_needs_no_peak_and_a_share_may_arrive_twice() {
    let bucket = dumbbell("rate = { rate = \"1mbit\", burst = \"4KiB\" }\nrtt = \"40ms\"\nqueue = \"84p\"", "");
    let expected = TokenBucket { rate: Rate::from_mbit(1), burst: Bytes::new(4096), peak: TokenBucket::AT_ONCE };
    assert_eq!(bucket.links[0].settings.service, Service::Shaped(expected));
    let twice = link("queue = \"84p\"\nduplicate = { share = \"1%\", correlation = \"25%\" }").duplicate;
    assert_eq!(twice, Some(Chance { share: fraction(0.01), correlation: fraction(0.25) }));
}

#[test]
fn every_value_has_one_spelling_as_a_text_too() {
    let keys = |rate: &str, queue: &str, loss: &str, jitter: &str| {
        dumbbell(&format!("rate = {rate}\nrtt = \"40ms\"\nqueue = {queue}\nloss = {loss}\njitter = {jitter}"), "").links
    };
    let tables = keys(
        r#"[["0s", "1mbit"], ["2s", "2mbit"]]"#,
        r#"{ limit = "84p", discipline = "drr", quantum = "1kB" }"#,
        r#"{ packets = [1, 2] }"#,
        r#"{ uniform = "1ms", reorder = true }"#,
    );
    let texts = keys(
        r#"'[["0s", "1mbit"], ["2s", "2mbit"]]'"#,
        r#"'{ limit = "84p", discipline = "drr", quantum = "1kB" }'"#,
        r#"'{ "packets": [1, 2] }'"#,
        r#"'{ uniform = "1ms", reorder = true }'"#,
    );
    assert_eq!(tables, texts);
    assert_eq!(
        link("queue = \"codel:50p\"").settings.queue,
        link("queue = { discipline = \"codel\", limit = \"50p\" }").settings.queue
    );
}

#[test]
fn a_table_over_time_has_rates_delays_and_losses() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    std::fs::write(format!("{directory}/leo.csv"), "time_s,rate_mbit,rtt_ms,loss\n0,12,40,0\n1,6,50,0.1\n").unwrap();
    let text = r#"
        duration = "3s"
        flows = [{ cc = "newreno" }]
        [path]
        rate = { trace = "leo.csv" }
        rtt = { trace = "leo.csv" }
        loss = { trace = "leo.csv" }
        queue = "1bdp"
    "#;
    let scenario = scenario::from_toml(text, &format!("{directory}/demo.toml")).unwrap();
    let plan = scenario.plan(&disk).unwrap();
    let steps = [(0, 12), (1, 6), (2, 12)].map(|(second, mbit)| (at(second), Rate::from_mbit(mbit)));
    assert_eq!(plan.links[0].settings.service, Service::Steps(steps.to_vec()));
    let lost = |share| LossModel::Bernoulli(fraction(share));
    let losses =
        [(0, LossModel::None), (1, lost(0.1)), (2, LossModel::None)].map(|(second, model)| (at(second), model));
    assert_eq!(plan.links[0].settings.loss, LossModel::Steps(losses.to_vec()));
    let hop = &plan.flows[0].forward[0].delay;
    assert_eq!([0, 1, 2].map(|second| hop.at(at(second))), [20, 25, 20].map(ms));
    // 9 Mbit/s over 40 ms are 30 packets.
    assert_eq!(plan.links[0].settings.queue.limit, Limit::Packets(30));
    assert_eq!(
        plan.notes,
        [
            "path.rate is that of `leo.csv`: a mean of 9mbit, and it repeats every 2s",
            "path.rtt is that of `leo.csv`: a mean of 45ms, and it repeats every 2s",
            "path.loss is that of `leo.csv`: a mean of 5.000%, and it repeats every 2s",
        ]
    );
    // The files stay in the document that is written down.
    let anchored = serde_json::to_value(scenario.anchored(directory.as_ref())).unwrap();
    assert_eq!(anchored["path"]["rtt"], serde_json::json!({ "trace": format!("{directory}/leo.csv") }));
}

#[test]
fn a_line_frames_packets_and_a_bdp_counts_what_they_take() {
    let framed = |overhead, mpu, link_layer| Framing { overhead, mpu, link_layer, ..Framing::default() };
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"1bdp\"\nframing = \"pppoe-vcmux\"\n\
                reverse = { rate = \"1mbit\", queue = \"20p\", framing = { overhead = -4, mpu = 64 } }";
    let links = dumbbell(path, "").links;
    let [data, acks] = links.as_slice() else { panic!("{links:?}") };
    assert_eq!(data.settings.queue.framing, framed(32, 0, LinkLayer::Atm));
    // 400,000 bits, and a full packet takes 32 cells of 53 bytes: 29.5.
    assert_eq!(data.settings.queue.limit, Limit::Packets(29));
    assert_eq!(acks.settings.queue.framing, framed(-4, 64, LinkLayer::None));
    let both = "duration = \"1s\"\nlinks = [{ from = \"a\", to = \"b\", rate = \"10mbit\", delay = \"5ms\", \
                queue = \"84p\", framing = \"ethernet ether-vlan\", duplex = true }]\n\
                flows = [{ cc = \"newreno\", from = \"a\", to = \"b\" }]";
    let links = plan(both).links;
    assert_eq!(
        links.iter().map(|link| link.settings.queue.framing).collect::<Vec<_>>(),
        [framed(42, 84, LinkLayer::None); 2]
    );
}

#[test]
fn a_warning_says_what_no_run_can_hold() {
    let warnings = |path: &str, rest: &str| {
        let flows = "flows = [{ cc = \"newreno\", start = \"2s\" }]";
        plan(&format!("duration = \"5s\"\npath = {{ rate = \"10mbit\", queue = \"1bdp\", {path} }}\n{flows}\n{rest}"))
            .warnings
    };
    // Half of the RTT and 1.2 ms for a packet, in the 3 s that are left.
    let late =
        "no data of `newreno-0` can arrive: its way takes at least 5001.2ms, and the run ends 3s after its start";
    assert_eq!(warnings("rtt = \"10s\"", ""), [late]);
    assert!(warnings("rtt = \"5s\"", "").is_empty());
    let jitter = "the jitter of `bottleneck`, 5s, is as long as the run of 5s";
    assert_eq!(warnings("rtt = \"40ms\", jitter = { normal = \"5s\" }", ""), [jitter]);
    assert!(warnings("rtt = \"40ms\", jitter = \"4s\"", "").is_empty());
    let queue = "queue = { discipline = \"codel\", target = \"5s\" }";
    let warned = "`target` of the queue of `bottleneck`, 5s, is as long as the run of 5s";
    let codel = |queue: &str| {
        let path = "path = { rate = \"10mbit\", rtt = \"40ms\", ";
        plan(&format!("duration = \"5s\"\n{path}{queue} }}\nflows = [{{ cc = \"newreno\" }}]")).warnings
    };
    assert_eq!(codel(queue), [warned]);
    assert!(codel(&queue.replace("5s", "4s")).is_empty());
    let rows = "`record.flow_series` has no row: 6s is longer than the run of 5s";
    assert_eq!(warnings("rtt = \"40ms\"", "record = { flow_series = \"6s\" }"), [rows]);
    assert!(warnings("rtt = \"40ms\"", "record = { flow_series = \"5s\" }").is_empty());
}

#[test]
fn warnings_of_flows_that_start_or_offer_but_once() {
    let warnings = |flow: &str| {
        let path = "path = { rate = \"10mbit\", rtt = \"40ms\", queue = \"1bdp\" }";
        plan(&format!("duration = \"5s\"\n{path}\nflows = [{{ cc = \"newreno\", start = \"2s\", {flow} }}]")).warnings
    };
    for (flow, warning) in [
        ("bytes = \"9kB\", every = \"4s\"", "`newreno-0` has a connection in 4s (`every`), and lasts 3s"),
        ("bytes = \"9kB\", think = \"4s\"", "`newreno-0` has a page in 4s (`think`), and lasts 3s"),
        // 12,000 bits.
        ("source = { rate = \"3kbit\" }", "`newreno-0` has a packet in 4s (`source`), and lasts 3s"),
    ] {
        assert_eq!(warnings(flow), [warning]);
        assert!(warnings(&flow.replace("4s", "3s").replace("3kbit", "4kbit")).is_empty(), "{flow}");
    }
}

#[test]
fn every_value_is_written_as_it_is_read() {
    let written = |keys: &str, key: &str| {
        let text = format!(
            "duration = \"60s\"\npath = {{ rate = \"10mbit\", rtt = \"40ms\", queue = \"84p\", {keys} }}\n\
             flows = [{{ cc = \"newreno\" }}]"
        );
        let scenario = scenario::from_toml(&text.replacen("rate = \"10mbit\", ", "", usize::from(key == "rate")), "a");
        serde_json::to_value(scenario.unwrap_or_else(|error| panic!("{keys}: {error}"))).unwrap()["path"][key].clone()
    };
    let periods = r#"{"model":"gilbert-elliott","good_for":"10s","bad_for":"200ms","loss_good":"1%","loss_bad":"50%"}"#;
    let states = periods.replace(r#""good_for":"10s","bad_for":"200ms""#, r#""good_to_bad":"2%","bad_to_good":"30%""#);
    let steps = format!(r#"[["0s","0%"],["20s",{states}]]"#);
    for (key, value) in [
        ("loss", r#""1.5%""#),
        ("loss", periods),
        ("loss", &states),
        ("loss", r#"{"packets":[1,2]}"#),
        ("loss", r#"{"packets":[]}"#),
        ("loss", r#"{"openings":[0,3]}"#),
        ("loss", r#"{"packets":[7],"openings":[0]}"#),
        ("loss", &steps),
        ("rate", r#""12mbit""#),
        ("rate", r#""unlimited""#),
        ("rate", r#"[["0s","1mbit"],["2s","0bit"]]"#),
        ("rate", r#"{"rate":"1mbit","burst":"4096B"}"#),
        ("rate", r#"{"rate":"1mbit","burst":"4096B","peakrate":"2mbit"}"#),
    ] {
        // A table of JSON is one of TOML with another sign between key and value.
        let toml = value.replace("\":", "\" = ");
        assert_eq!(written(&format!("{key} = {toml}"), key), serde_json::from_str::<serde_json::Value>(value).unwrap());
    }
}

#[test]
fn a_share_of_losses_without_a_unit_is_remarked_on() {
    let warnings = |keys: &str| {
        plan(&format!(
            "duration = \"5s\"\npath = {{ rate = \"10mbit\", rtt = \"40ms\", queue = \"84p\", {keys} }}\n\
             flows = [{{ cc = \"newreno\" }}]"
        ))
        .warnings
    };
    assert_eq!(warnings("loss = 0.07"), ["path.loss = 0.07 is a share: 7 % of the packets; `\"7%\"` says so"]);
    assert_eq!(
        warnings("reverse = { loss = 0.0015 }"),
        ["path.reverse.loss = 0.0015 is a share: 0.15 % of the packets; `\"0.15%\"` says so"]
    );
    for none in ["loss = 0", "loss = 0.0", "loss = \"7%\"", "duplicate = 0.01"] {
        assert!(warnings(none).is_empty(), "{none}");
    }
}
