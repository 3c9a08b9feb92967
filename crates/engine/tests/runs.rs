//! What surrounds a run: its cost, and the breach that ends it.

use std::io;

use engine::{Conduct, Engine, Failure, Job, Outcome, Stopwatch, Watch};
use scenario::Plan;

#[test]
fn a_stopwatch_reads_the_time_of_the_processor_and_of_the_wall() {
    assert_eq!(Stopwatch { cpu_s: || 1.5, wall_s: || 2.5 }.read(), [1.5, 2.5]);
}

#[test]
fn the_first_breach_stops_a_run_and_is_its_failure() {
    let watch = Watch { conduct: Conduct::default(), ..Watch::default() };
    assert_eq!((watch.is_stopped(), watch.conduct.breach()), (false, None));
    assert!(matches!(watch.failure(), Failure::Interrupted));
    for sentence in ["the first", "the second"] {
        watch.conduct.report(sentence.to_owned());
    }
    assert_eq!((watch.is_stopped(), watch.conduct.breach()), (true, Some("the first")));
    assert!(matches!(watch.failure(), Failure::Controller(sentence) if sentence == "the first"));
}

#[test]
fn every_failure_displays_as_its_sentence() {
    let sentence = || "the link has no rate".to_owned();
    let error = scenario::from_toml("durations = '1s'", "test.toml").unwrap_err();
    let said = error.to_string();
    for (failure, shown) in [
        (Failure::Interrupted, "the run was interrupted".to_owned()),
        (Failure::Scenario(error), said),
        (Failure::Refused(sentence()), sentence()),
        (Failure::Controller(sentence()), sentence()),
        (Failure::CapturePoint(sentence()), sentence()),
        (Failure::Machine(sentence()), sentence()),
        (Failure::Capture(io::Error::other("no room")), "the capture cannot be written: no room".to_owned()),
    ] {
        assert_eq!(failure.to_string(), shown);
    }
}

/// An engine that runs nothing.
struct Idle;

impl Engine for Idle {
    const KIND: &'static str = "idle";
    type Notes = ();

    fn run(self, _job: &Job, _watch: &Watch) -> Result<Outcome, Failure> {
        Err(Failure::Interrupted)
    }
}

/// A plan with a flow of each of these controllers.
fn plan(controllers: &[&str]) -> Plan {
    let flows: Vec<String> = controllers.iter().map(|cc| format!("{{ cc = '{cc}' }}")).collect();
    let path = "path = { rate = '10mbit', rtt = '20ms', queue = '9p' }";
    let text = format!("duration = '1s'\n{path}\nflows = [{}]", flows.join(", "));
    scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
}

#[test]
fn an_engine_refuses_controllers_that_it_cannot_build() {
    assert!(Idle.check(&plan(&["cubic", "newreno"])).is_ok());
    let refused = Idle.check(&plan(&["cubic", "cubik"])).unwrap_err();
    assert!(matches!(&refused, Failure::Scenario(_)) && refused.to_string().contains("cubik"), "{refused}");
}
