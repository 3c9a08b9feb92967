//! The text of a scenario: read, planned, and run if the run is small. Each run asserts `engine::check_physics`.

use std::sync::Arc;

use engine::{Engine as _, Job, Watch};
use scenario::NoFiles;
use sim::Simulator;
use units::Span;

/// Larger numbers make runs that take seconds.
const MOST_DIGITS: usize = 4;
const MOST_FLOWS: usize = 16;

/// True for text whose run takes a moment: no long numbers, no large units.
fn is_small(text: &str) -> bool {
    let longest = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    longest <= MOST_DIGITS && !["gbit", "tbit", "unlimited", "infinite"].iter().any(|large| text.contains(large))
}

/// Runs the scenario of `input`.
///
/// # Panics
/// At an exception.
pub fn hold(input: &[u8]) {
    let text = crate::text(input);
    let Ok(mut plan) = scenario::from_toml(text, "fuzz.toml").and_then(|scenario| scenario.plan(&NoFiles)) else {
        return;
    };
    if !is_small(text) {
        return;
    }
    plan.duration = plan.duration.min(Span::from_millis(400));
    plan.warmup = plan.warmup.min(plan.duration.scale(0.5));
    let few = plan.flows.len() <= MOST_FLOWS && plan.draw(1).is_ok_and(|drawn| drawn.len() <= MOST_FLOWS);
    if few {
        // A controller may be refused when it is made.
        let _ = Simulator::default().run(&Job { plan: Arc::new(plan), seed: 1 }, &Watch::default());
    }
}
