//! Routes as steps over links and wires, built once from the plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use network::{FlowClass, Propagation};
use scenario::{Hop, Plan};
use units::Span;

use crate::cut::{NETWORK, RECEIVERS, SENDERS};

/// One step of a route: an optional link, then a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The link to pass, or `NO_LINK` if there is only delay.
    pub(crate) link: u32,
    pub(crate) wire: u32,
    /// The station at the other end, where the link is the queue of a wireless station.
    pub(crate) station: u32,
    /// Behind the wire is the end of the route, not another step.
    pub(crate) last: bool,
}

pub(crate) const NO_LINK: u32 = u32::MAX;

/// The routes of a plan as steps.
#[derive(Debug)]
pub(crate) struct Routes {
    /// All steps, grouped by route.
    pub(crate) steps: Vec<Step>,
    /// First step of data and of ACKs, per flow.
    pub(crate) starts: Vec<(u32, u32)>,
    /// The link in front of each wire, or `NO_LINK` for none.
    pub(crate) wire_link: Vec<u32>,
    /// The delay of each wire, and whether packets may overtake each other on it.
    pub(crate) delays: Vec<(Propagation, bool)>,
    /// True for wires to hosts that take time for a packet.
    pub(crate) to_hosts: Vec<bool>,
    /// Between which places each wire leads.
    pub(crate) between: Vec<Between>,
    /// The places at which routes begin with a link.
    pub(crate) offers: [bool; 3],
    /// One for each link.
    pub(crate) behind: Vec<Behind>,
    /// By how much the wires behind each link are shorter than their delays: packets get it back with their jitter.
    pub(crate) leads: Vec<Span>,
}

/// The places from which a wire takes packets, and those to which it brings them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Between {
    pub(crate) from: [bool; 3],
    pub(crate) to: [bool; 3],
}

/// The wires behind a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    /// The shortest delay of all wires, at any time.
    pub(crate) shortest: Span,
    /// A packet may arrive before one that left earlier: there are several wires, or one on which packets overtake each
    /// other.
    pub(crate) overtaking: bool,
}

/// Packets share a wire by the link they leave (without one, by whether they carry ACKs), the delay, whether they
/// overtake each other, and whether a host at its end takes time for them.
type Wires = BTreeMap<(u32, bool, Propagation, bool, bool), u32>;

impl Routes {
    /// Packets that leave the same link for the same delay share a wire: they arrive in the order in which they leave.
    /// So the number of pending events is the number of different delays, however many flows there are.
    ///
    /// With `hosts`, the hosts of the plan take time for a packet (see [`Plan::has_phases`]).
    pub(crate) fn new(plan: &Plan, hosts: bool) -> Self {
        let mut wires = Wires::new();
        let mut routes = Self {
            steps: Vec::new(),
            starts: Vec::new(),
            wire_link: Vec::new(),
            delays: Vec::new(),
            to_hosts: Vec::new(),
            between: Vec::new(),
            offers: [false; 3],
            leads: leads(plan),
            behind: vec![Behind { shortest: Span::MAX, overtaking: false }; plan.links.len()],
        };
        for (i, flow) in plan.flows.iter().enumerate() {
            // Copies of a flow take its steps.
            if i > 0 && Arc::ptr_eq(&flow.settings, &plan.flows[i - 1].settings) {
                routes.starts.push(routes.starts[i - 1]);
                continue;
            }
            let hosts = hosts && plan.has_phases(flow);
            let forward = routes.add(plan, &flow.forward, (false, hosts), &mut wires);
            let reverse = routes.add(plan, &flow.reverse, (true, hosts), &mut wires);
            routes.starts.push((forward, reverse));
        }
        for (link, _, delay, overtaking, _) in wires.keys() {
            if let Some(behind) = routes.behind.get_mut(*link as usize) {
                behind.overtaking |= *overtaking || behind.shortest != Span::MAX;
                behind.shortest = behind.shortest.min(delay.shortest());
            }
        }
        routes
    }

    /// The wires from step to step, each with the link behind it, or `NO_LINK`.
    pub(crate) fn between_links(&self) -> impl Iterator<Item = (u32, u32)> {
        self.steps.windows(2).filter(|steps| !steps[0].last).map(|steps| (steps[0].wire, steps[1].link))
    }

    /// The link with which each route begins, or `NO_LINK`.
    pub(crate) fn entries(&self) -> impl Iterator<Item = u32> {
        self.starts.iter().flat_map(|&(forward, reverse)| [forward, reverse]).map(|step| self.steps[step as usize].link)
    }

    /// The hosts and code points of packets, by their steps.
    pub(crate) fn classes(&self, plan: &Plan) -> Arc<[FlowClass]> {
        let mut classes = vec![FlowClass::default(); self.steps.len()];
        for (flow, &(forward, reverse)) in plan.flows.iter().zip(&self.starts) {
            let FlowClass { hosts: [sender, receiver], dscp } = flow.class;
            classes[forward as usize..][..flow.forward.len()].fill(flow.class);
            let back = FlowClass { hosts: [receiver, sender], dscp };
            classes[reverse as usize..][..flow.reverse.len()].fill(back);
        }
        classes.into()
    }

    fn add(&mut self, plan: &Plan, hops: &[Hop], (reverse, hosts): (bool, bool), wires: &mut Wires) -> u32 {
        let first = self.steps.len() as u32;
        for (i, hop) in hops.iter().enumerate() {
            let link = hop.link.map_or(NO_LINK, |l| l as u32);
            let next = wires.len() as u32;
            let varies = !hop.delay.is_constant() || hop.link.is_some_and(|l| !plan.links[l].jitter.is_none());
            let overtaking = hop.reorder && varies;
            let lead = hop.link.map_or(Span::ZERO, |l| self.leads[l]);
            let delay = if lead.is_zero() { hop.delay.clone() } else { hop.delay.map(|delay| delay - lead) };
            let last = i + 1 == hops.len();
            let to_host = hosts && last && !overtaking;
            // Wires without a link carry either data or ACKs, so that a wire of one kind never wakes for the other.
            let key = (link, reverse && link == NO_LINK, delay.clone(), overtaking, to_host);
            let wire = *wires.entry(key).or_insert(next);
            if wire == next {
                self.wire_link.push(link);
                self.delays.push((delay, overtaking));
                self.to_hosts.push(to_host);
                self.between.push(Between::default());
            }
            let [here, there] = if reverse { [RECEIVERS, SENDERS] } else { [SENDERS, RECEIVERS] };
            let between = &mut self.between[wire as usize];
            between.from[if i == 0 && link == NO_LINK { here } else { NETWORK }] = true;
            between.to[if last { there } else { NETWORK }] = true;
            if i == 0 && link != NO_LINK {
                self.offers[here] = true;
            }
            let station = hop.station.unwrap_or_default();
            self.steps.push(Step { link, wire, station, last });
        }
        first
    }
}

/// By how much jitter may make packets earlier behind each link, at most by the shortest delay there.
fn leads(plan: &Plan) -> Vec<Span> {
    let mut leads: Vec<Span> = plan.links.iter().map(|link| link.jitter.lead()).collect();
    for hop in plan.flows.iter().flat_map(|flow| flow.forward.iter().chain(&flow.reverse)) {
        if let Some(lead) = hop.link.and_then(|link| leads.get_mut(link)) {
            *lead = (*lead).min(hop.delay.shortest());
        }
    }
    leads
}
