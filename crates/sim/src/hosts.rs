//! The hosts of a run: the phases of their clocks.

use std::sync::Arc;

use scenario::Plan;
use transport::Stack;
use units::{Random, Span};

/// Longer than the timer wheel takes to turn.
const MOST_UP: Span = Span::from_secs(1000);

/// How long the hosts had been up at the start of the run: their timers wait for ticks of the same clock, as where one
/// machine has both ends of all flows, which so is where the run begins between two of its ticks.
pub(crate) fn uptime(seed: u64) -> Span {
    MOST_UP.scale(Random::stream(seed, "uptime", 0).uniform())
}

/// The TCP of each flow of `plan` on its host. The clocks of RTTs and timestamps have a phase of their own, as the
/// timer interrupt comes at any time of a millisecond.
pub(crate) fn stacks(plan: &Plan, seed: u64) -> Vec<Arc<Stack>> {
    let at_start = MOST_UP.scale(Random::stream(seed, "timestamps", 0).uniform());
    let mut stacks: Vec<Arc<Stack>> = Vec::with_capacity(plan.flows.len());
    for (i, flow) in plan.flows.iter().enumerate() {
        let stack = match i.checked_sub(1).filter(|&i| Arc::ptr_eq(&plan.flows[i].settings, &flow.settings)) {
            // Copies of a flow share it.
            Some(before) => Arc::clone(&stacks[before]),
            None if plan.has_phases(flow) => Arc::new(flow.options.on_host(at_start)),
            None => Arc::clone(&flow.options),
        };
        stacks.push(stack);
    }
    stacks
}
