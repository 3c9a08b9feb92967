//! The instants at which the application of a flow writes.

use engine::pace;
use scenario::Plan;
use transport::Pace;
use units::{Bytes, Span, Time};

fn plan(flow: &str) -> Plan {
    let path = "path = { rate = '10mbit', rtt = '20ms', queue = '9p' }";
    let text = format!("duration = '9s'\n{path}\nflows = [{{ cc = 'newreno', {flow} }}]");
    scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
}

/// The pace of its application in units of 1000 bytes, once it has started.
fn started(flow: &str, seed: u64) -> Option<Pace> {
    let plan = plan(flow);
    let mut pace = pace(&plan.flows[0], &plan.draw(seed).unwrap()[0], Bytes::new(1000), seed)?;
    pace.start(Time::ZERO);
    Some(pace)
}

/// Units written by so many milliseconds.
fn written(pace: &mut Pace, ms: u64) -> u64 {
    pace.written(Time::ZERO + Span::from_millis(ms), u64::MAX - 1)
}

#[test]
fn a_greedy_application_has_no_pace() {
    assert!(started("bytes = '90kB'", 1).is_none());
}

#[test]
fn an_application_writes_at_its_rate_up_to_its_bytes() {
    // A unit a millisecond, the first at the start.
    let mut pace = started("source = { rate = '8mbit' }", 1).unwrap();
    assert_eq!([0, 1, 9, 10].map(|ms| written(&mut pace, ms)), [1, 2, 10, 11]);
    let mut pace = started("source = { rate = '8mbit' }, bytes = '4500B'", 1).unwrap();
    assert_eq!([2, 100].map(|ms| written(&mut pace, ms)), [3, 5]);
}

#[test]
fn random_arrivals_have_the_rate_as_their_mean_and_are_the_same_under_a_seed() {
    let times = |seed| {
        let mut pace = started("source = { rate = '8mbit', arrivals = 'poisson' }", seed).unwrap();
        Vec::from_iter((0..5000).map(|ms| written(&mut pace, ms)))
    };
    let (first, other) = (times(1), times(2));
    assert!(first == times(1) && first != other);
    for times in [first, other] {
        assert!((4700..5300).contains(times.last().unwrap()), "{:?}", times.last());
    }
}
