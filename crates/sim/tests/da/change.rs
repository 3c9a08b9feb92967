//! A longer way: section 5.1, Figures 7 and 8. At 20 s the propagation from G to C goes from 50 to 100 ms, both ways.

use record::EventKind;

use crate::common::{at, events};
use crate::{DA, NETWORK, Network, packets_per_second, probe, windows};

const LONGER: &str = "[[\"0s\", \"50ms\"], [\"20s\", \"100ms\"]]";

fn longer(parameters: &str) -> record::Tables {
    Network { bottleneck: LONGER, ..NETWORK }.run(("da", &format!("{DA}, {parameters}"), "0s"), None)
}

#[test]
fn the_reference_is_replaced_at_the_fourth_reduction_and_the_window_recovers() {
    for optimistic in [false, true] {
        let tables = longer(&format!("max_reduce = 4, optimistic = {optimistic}"));
        let (times, references) = probe(&tables, 0, "reference_delay_ms");
        assert_eq!(at(&times, &references, 20.0), 121.44);
        let replaced = references.iter().position(|&reference| reference > 121.44).unwrap();
        let (_, decreases) = probe(&tables, 0, "decreases");
        let before = at(&times, &decreases, 20.0);
        assert_eq!(decreases[replaced] - before, 4.0, "optimistic = {optimistic}");
        // Nothing queues by then. Four decisions, one each two round trips of at most 260 ms, after the first longer
        // one.
        assert_eq!(references[replaced], 221.44);
        assert!(times[replaced] < 22.5, "{}", times[replaced]);
        assert_eq!(probe(&tables, 0, "reference_renewals").1.last(), Some(&1.0));
        // The pipe holds 22.144 packets now.
        assert!(windows(&tables, 0, 50.0).iter().all(|&window| window >= 22.144), "optimistic = {optimistic}");
        assert!(events(&tables, EventKind::Drop).is_empty());
    }
}

#[test]
fn without_max_reduce_the_longer_way_looks_congested_for_ever() {
    let tables = longer("max_reduce = 0");
    assert_eq!(probe(&tables, 0, "reference_delay_ms").1.last(), Some(&121.44));
    assert_eq!(tables.flow_series.columns().window_segments.last(), Some(&1.0));
    assert!(packets_per_second(&tables, 0) < 10.0);
}
