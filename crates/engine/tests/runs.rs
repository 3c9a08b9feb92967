//! What surrounds a run: its cost, and the breach that ends it.

use engine::{Conduct, Failure, Stopwatch, Watch};

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
