//! Runs that share their beginning give what each gives alone.

#[allow(dead_code, reason = "each test takes what it needs of the common part")]
mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::plan;
use control::registry::CONTROLLERS;
use engine::{Engine as _, Job, Outcome, Watch};
use sim::Simulator;

/// Everything that an outcome says, but for the time that it took.
fn whole(outcome: &Outcome) -> String {
    format!("{} {} {:?}", outcome.cost.events, outcome.cost.data_packets, outcome.tables)
}

/// Asks for `scenarios` together and for each alone.
#[track_caller]
fn assert_same(scenarios: &[String]) {
    let job = |text: &String| Job { plan: Arc::new(plan(text)), seed: 3 };
    let watches: Vec<Watch> = scenarios.iter().map(|_| Watch::default()).collect();
    let jobs: Vec<(Job, &Watch)> = scenarios.iter().map(job).zip(&watches).collect();
    let mut together = BTreeMap::new();
    Simulator::default().run_together(&jobs, &mut |index, outcome| {
        assert!(together.insert(index, whole(&outcome.unwrap())).is_none(), "each is given once");
    });
    assert_eq!(together.len(), jobs.len());
    for (index, (job, _)) in jobs.into_iter().enumerate() {
        let alone = whole(&Simulator::default().run(&job, &Watch::default()).unwrap());
        assert!(together[&index] == alone, "run {index} of:\n{}", scenarios[index]);
        assert_eq!(
            watches[index].elapsed_nanos.load(std::sync::atomic::Ordering::Relaxed),
            job.plan.duration.as_nanos()
        );
    }
}

#[test]
fn every_controller_goes_on_from_where_it_was() {
    for name in CONTROLLERS.iter().map(|entry| entry.name) {
        let scenario = |start: &str| {
            format!(
                "duration = \"6s\"\nwarmup = \"500ms\"\n\
                 path = {{ rate = \"8mbit\", rtt = \"30ms\", queue = \"25p\", loss = \"0.4%\", jitter = \"1ms\" }}\n\
                 flows = [{{ cc = \"{name}\" }}, {{ cc = \"{name}\", start = \"{start}\", start_jitter = \"90ms\" }}]\n\
                 record = {{ events = true, flow_series = \"70ms\", link_series = \"100ms\", probes = \"100ms\" }}"
            )
        };
        assert_same(&["4s", "1500ms", "100ms", "3s"].map(scenario));
    }
}

#[test]
fn links_queues_sources_and_rows_go_on_from_where_they_were() {
    let scenario = |starts: [&str; 2]| {
        let [second, third] = starts;
        format!(
            r#"
            duration = "12s"
            links = [
              {{ name = "b", from = "r", to = "z", rate = [["0s", "9mbit"], ["5s", "4mbit"]],
                 delay = [["0s", "9ms"], ["6s", "30ms"]],
                 queue = {{ limit = "60ms", count_in_service = true, mark_above = "15p" }},
                 reverse = {{ rate = "400kbit", queue = "20p" }} }},
              {{ name = "one", from = "a", to = "r", rate = "50mbit", delay = "3ms", queue = "infinite",
                 jitter = {{ uniform = "2ms", reorder = true }}, reverse = {{}} }},
            ]
            flows = [
              {{ cc = "cubic", from = "a", to = "z", transport = {{ ecn = true }} }},
              {{ cc = "bbr3", from = "r", to = "z", start = "{second}", stop = "11s" }},
              {{ cc = "newreno", from = "a", to = "z", start = "{third}", profile = "ns2-linux", bytes = "300kB" }},
              {{ cc = "newreno", from = "a", to = "z", start = "1s",
                 source = {{ rate = "500kbit", arrivals = "poisson" }} }},
              {{ cc = "vegas", from = "a", to = "z", start = "{third}",
                 source = {{ rate = "1mbit", on = "300ms", off = {{ exponential = "400ms" }} }} }},
            ]
            record = {{ events = true, flow_series = "3acks" }}
            "#
        )
    };
    assert_same(&[["2s", "8s"], ["4s", "1s"], ["4s", "4s"], ["2s", "8s"], ["10s", "11s"]].map(scenario));
}

#[test]
fn what_is_not_alike_or_cannot_be_copied_is_run_all_the_same() {
    let scenario = |(start, rest): (&str, &str)| {
        let flows = format!("[{{ cc = \"newreno\" }}, {{ cc = \"cubic\", start = \"{start}\" }}]");
        format!("duration = \"4s\"\npath.rate = \"5mbit\"\n{rest}\nflows = {flows}\n")
    };
    let path = "path.rtt = \"40ms\"\npath.queue = \"30p\"";
    let managed = "path.rtt = \"40ms\"\npath.queue = \"codel\"";
    let longer = "path.rtt = \"50ms\"\npath.queue = \"30p\"";
    assert_same(&[("1s", path), ("2s", longer), ("3s", path), ("1s", path)].map(scenario));
    assert_same(&[("1s", managed), ("2s", managed)].map(scenario));
    assert_same(&[("1s", path)].map(scenario));
}

#[test]
fn runs_that_are_stopped_say_so_and_the_others_go_on() {
    let scenario = |start: &str| {
        let text = format!(
            "duration = \"5s\"\npath = {{ rate = \"90mbit\", rtt = \"40ms\", queue = \"1bdp\" }}\n\
             flows = [{{ cc = \"newreno\" }}, {{ cc = \"cubic\", start = \"{start}\" }}]"
        );
        Job { plan: Arc::new(plan(&text)), seed: 3 }
    };
    let watches = [Watch::default(), Watch::default(), Watch::default()];
    watches[1].stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let jobs: Vec<(Job, &Watch)> = ["1s", "4s", "2s"].map(scenario).into_iter().zip(&watches).collect();
    let mut outcomes = BTreeMap::new();
    Simulator::default().run_together(&jobs, &mut |index, outcome| {
        outcomes.insert(index, outcome.map(|outcome| outcome.cost.data_packets > 0).map_err(|error| error.to_string()));
    });
    let expected = [Ok(true), Err("the run was interrupted".to_owned()), Ok(true)];
    assert!(outcomes.into_values().eq(expected));
}
