//! Routes as steps over links and wires, built once from the plan.

use std::collections::BTreeMap;

use scenario::{Hop, Plan};
use units::Span;

/// One step of a route: an optional link, then a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The link to pass; `NO_LINK` where there is nothing but delay.
    pub(crate) link: u32,
    pub(crate) wire: u32,
    pub(crate) delay: Span,
    /// Behind the wire is the end of the route, not another step.
    pub(crate) last: bool,
}

pub(crate) const NO_LINK: u32 = u32::MAX;

/// What the routes of a plan make of it.
#[derive(Debug)]
pub(crate) struct Routes {
    /// All steps; those of one route follow each other.
    pub(crate) steps: Vec<Step>,
    /// First step of data and of ACKs, per flow.
    pub(crate) starts: Vec<(u32, u32)>,
    /// The link in front of each wire; `NO_LINK` for none.
    pub(crate) wire_link: Vec<u32>,
    /// Per link: the shortest delay behind it, and whether more than one wire is.
    pub(crate) behind: Vec<Behind>,
}

/// What is behind a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    pub(crate) shortest: Span,
    pub(crate) several: bool,
}

impl Routes {
    /// Packets that leave the same link for the same delay share a wire: they arrive in the order in which they leave. That keeps the
    /// number of pending events at the number of different delays, however many flows there are.
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut wires: BTreeMap<(u32, bool, Span), u32> = BTreeMap::new();
        let mut routes = Self {
            steps: Vec::new(),
            starts: Vec::new(),
            wire_link: Vec::new(),
            behind: vec![Behind { shortest: Span::MAX, several: false }; plan.links.len()],
        };
        for flow in &plan.flows {
            let forward = routes.add(&flow.forward, false, &mut wires);
            let reverse = routes.add(&flow.reverse, true, &mut wires);
            routes.starts.push((forward, reverse));
        }
        for &(link, _, delay) in wires.keys() {
            if let Some(behind) = routes.behind.get_mut(link as usize) {
                behind.several |= behind.shortest != Span::MAX;
                behind.shortest = behind.shortest.min(delay);
            }
        }
        routes
    }

    fn add(&mut self, hops: &[Hop], reverse: bool, wires: &mut BTreeMap<(u32, bool, Span), u32>) -> u32 {
        let first = self.steps.len() as u32;
        for (i, hop) in hops.iter().enumerate() {
            let link = hop.link.map_or(NO_LINK, |l| l as u32);
            let next = wires.len() as u32;
            // Wires without a link carry either data or ACKs, so that a wire of one kind never wakes for the other.
            let wire = *wires.entry((link, reverse && link == NO_LINK, hop.delay)).or_insert(next);
            if wire == next {
                self.wire_link.push(link);
            }
            self.steps.push(Step { link, wire, delay: hop.delay, last: i + 1 == hops.len() });
        }
        first
    }
}
