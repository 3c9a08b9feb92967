//! How a network is cut into three places, which see each other only after a delay: the senders of all flows, their
//! receivers, and the links between them.

use network::{DisciplineSettings, Service};
use scenario::{Plan, PlannedLink};
use units::{Span, Time};

use crate::route::{NO_LINK, Routes};
use crate::stages::Stages;

/// The place of the senders.
pub const SENDERS: usize = 0;
/// The place of the receivers.
pub const RECEIVERS: usize = 1;
/// The place of the links.
pub const NETWORK: usize = 2;

/// A cut: the end of each wire, how long it takes from place to place at least, and the stages of the links.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The place to which each wire brings packets.
    pub(crate) end: Vec<usize>,
    /// By origin and destination. A pair without a wire has [`Span::MAX`].
    lookahead: [[Span; 3]; 3],
    /// None if the links are one stage that takes packets from itself.
    pub(crate) stages: Option<Stages>,
}

impl Cut {
    /// The cut of the network of `plan` with these `routes`, or `None` if it has to stay whole. Every wire must lead
    /// from one place to one place. Every way from a place back to it must take time, and what happens at one instant
    /// must have the order of the wires. No row may depend on the instant at which a link is looked at, as rows do if a
    /// queue drops or marks at its head.
    pub(crate) fn new(plan: &Plan, routes: &Routes) -> Option<Self> {
        let managed = plan.links.iter().any(|link| link.settings.queue.discipline != DisciplineSettings::Fifo);
        if !plan.media.is_empty() || (managed && plan.record.events) {
            return None;
        }
        let mut lookahead = [[Span::MAX; 3]; 3];
        for host in [SENDERS, RECEIVERS].into_iter().filter(|&host| routes.offers[host]) {
            lookahead[host][NETWORK] = Span::ZERO;
        }
        let mut end = Vec::new();
        for ((wire, between), (delay, _)) in (0..).zip(&routes.between).zip(&routes.delays) {
            let (from, to) = (only(between.from)?, only(between.to)?);
            if delay.shortest().is_zero() && !keeps_order(plan, routes, wire) {
                return None;
            }
            lookahead[from][to] = lookahead[from][to].min(delay.shortest());
            end.push(to);
        }
        let cut = Self { end, lookahead, stages: Stages::new(plan, routes) };
        (!cut.shortest_cycle().is_zero()).then_some(cut)
    }

    /// The shortest time after which something at one place can come back to it by way of another.
    pub fn shortest_cycle(&self) -> Span {
        let [s, r, n] = [SENDERS, RECEIVERS, NETWORK];
        let cycles: [&[usize]; 5] = [&[s, r], &[s, n], &[r, n], &[s, r, n], &[s, n, r]];
        let length = |cycle: &&[usize]| {
            let steps = cycle.iter().zip(cycle.iter().cycle().skip(1));
            steps.fold(Span::ZERO, |sum, (&from, &to)| sum + self.lookahead[from][to])
        };
        cycles.iter().map(length).min().unwrap_or(Span::MAX)
    }

    /// Until when nothing is to come to `place` that is not there already, where the places are past all that happens
    /// before `clocks`.
    pub fn horizon(&self, place: usize, clocks: &[Time; 3]) -> Time {
        let others = (0..3).filter(|&other| other != place);
        others.map(|other| clocks[other] + self.lookahead[other][place]).min().unwrap_or(Time::NEVER)
    }
}

/// True if a packet arrives behind `wire`, which has no delay, later than at its link, or at the same instant in the
/// order of the wires.
fn keeps_order(plan: &Plan, routes: &Routes, wire: u32) -> bool {
    let link = routes.wire_link[wire as usize];
    let is_behind = || {
        let mut before = routes.between_links().filter(|&(_, to)| to == link);
        link != NO_LINK && routes.entries().all(|entry| entry != link) && before.all(|(before, _)| before < wire)
    };
    let serves = |link: &PlannedLink| matches!(link.settings.service, Service::Fixed(_) | Service::Steps(_));
    plan.links.get(link as usize).is_some_and(serves) || is_behind()
}

/// The place at which `there` is true, if it is at one only.
fn only(there: [bool; 3]) -> Option<usize> {
    let mut places = (0..3).filter(|&place| there[place]);
    places.next().filter(|_| places.next().is_none())
}
