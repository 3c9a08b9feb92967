//! When rows of series are due.

use scenario::{Plan, Sampling};
use units::{Span, Time};

/// Rows that are due at multiples of a span.
pub(crate) struct Samples {
    spans: [Option<Span>; 3],
    due: [Time; 3],
    /// The first of these.
    pub(crate) next: Time,
}

pub(crate) const SERIES: usize = 0;
pub(crate) const PROBES: usize = 1;
pub(crate) const LINKS: usize = 2;

impl Samples {
    pub(crate) fn new(plan: &Plan) -> Self {
        let span = |sampling| match sampling {
            Sampling::Every(span) => Some(span),
            Sampling::Off | Sampling::Acks(_) => None,
        };
        let spans = [span(plan.record.flow_series), span(plan.record.probes), span(plan.record.link_series)];
        let due = spans.map(|s| if s.is_some() { Time::ZERO } else { Time::NEVER });
        Self { spans, due, next: due[0].min(due[1]).min(due[2]) }
    }

    /// Whether rows of `kind` are due at `now`; if so they are next due a span later.
    pub(crate) fn take(&mut self, kind: usize, now: Time) -> bool {
        let due = self.due[kind] <= now;
        if due && let Some(span) = self.spans[kind] {
            self.due[kind] += span;
            self.next = self.due[0].min(self.due[1]).min(self.due[2]);
        }
        due
    }
}
