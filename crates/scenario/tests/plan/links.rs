//! Links: rates, queues, losses.

use std::sync::Arc;

use network::{
    CodelSettings, DisciplineSettings, DrrSettings, FqCodelSettings, FqSettings, Limit, LossModel, Service, Trace,
};
use units::{Bytes, Rate, Time};

use crate::{at, disk, dumbbell, fraction, ms};

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
    // 10 Mbit/s over 40 ms are 400 000 bits, 33.3 packets; half of that is 16.7.
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
