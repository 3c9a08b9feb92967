//! Pages of connections: one begins when all connections of the page before are complete and its reader has paused.

use std::ops::Range;

use scenario::DrawnFlow;
use units::{Span, Time};

use super::AllAgents;
use crate::agenda::Planned;
use crate::partition::Partition;

/// The pages of all flows. Without pages it takes no memory.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// The page of each connection, or empty if there are no pages.
    page_of: Vec<u32>,
    pages: Vec<Page>,
}

#[derive(Debug)]
struct Page {
    /// Its connections.
    connections: Range<u32>,
    /// How many of them are not complete.
    open: u32,
    /// The pause before it.
    think: Span,
    /// The flow of the plan that it is of.
    of: usize,
}

/// No page.
const NONE: u32 = u32::MAX;

impl Pages {
    pub(crate) fn new(drawn: &[DrawnFlow]) -> Self {
        let mut new = Self::default();
        if drawn.iter().all(|flow| flow.page.is_none()) {
            return new;
        }
        let mut last = None;
        for (index, flow) in (0..).zip(drawn) {
            let Some(page) = flow.page else {
                new.page_of.push(NONE);
                continue;
            };
            if last.replace((flow.of, page.number)) != Some((flow.of, page.number)) {
                new.pages.push(Page { connections: index..index, open: 0, think: page.think, of: flow.of });
            }
            new.page_of.push(new.pages.len() as u32 - 1);
            if let Some(page) = new.pages.last_mut() {
                page.connections.end += 1;
                page.open += 1;
            }
        }
        new
    }

    /// Connection `index` is complete. If it was the last of its page: the connections of the next, and the pause
    /// before them.
    pub(crate) fn complete(&mut self, index: u32) -> Option<(Range<u32>, Span)> {
        let number = *self.page_of.get(index as usize)? as usize;
        let page = self.pages.get_mut(number)?;
        page.open -= 1;
        if page.open > 0 {
            return None;
        }
        let of = page.of;
        let next = self.pages.get(number + 1).filter(|next| next.of == of)?;
        Some((next.connections.clone(), next.think))
    }
}

impl Partition<'_, AllAgents> {
    /// Connection `index` is complete: if its page is, the reader pauses and asks for the next, which begins when the
    /// request has crossed the path.
    pub(super) fn turn_page(&mut self, now: Time, index: u32) {
        let Some((connections, think)) = self.agents.pages.complete(index) else { return };
        let planned = &self.plan.flows[self.drawn[index as usize].of];
        let at = now + think + planned.base_rtt.scale(0.5);
        if at >= planned.stop {
            return;
        }
        connections.for_each(|connection| self.agenda.add(at, Planned::Start(connection)));
        self.quiet_until = self.quiet_until.min(at);
    }
}

#[cfg(test)]
mod tests {
    use scenario::Page as Drawn;
    use units::Time;

    use super::*;

    fn connection(of: usize, page: Option<(u32, u64)>) -> DrawnFlow {
        let page = page.map(|(number, think)| Drawn { number, think: Span::from_secs(think) });
        DrawnFlow { of, number: None, start: Time::ZERO, stop: Time::NEVER, bytes: None, page }
    }

    #[test]
    fn the_last_of_a_page_calls_for_the_next() {
        let drawn = [
            connection(0, None),
            connection(1, Some((0, 0))),
            connection(1, Some((0, 0))),
            connection(1, Some((1, 7))),
            connection(2, Some((0, 0))),
        ];
        let mut pages = Pages::new(&drawn);
        assert_eq!(pages.complete(0), None);
        assert_eq!(pages.complete(2), None);
        assert_eq!(pages.complete(1), Some((3..4, Span::from_secs(7))));
        // A page of another flow is not the next.
        assert_eq!(pages.complete(3), None);
        assert_eq!(Pages::new(&drawn[..1]).complete(0), None);
    }
}
