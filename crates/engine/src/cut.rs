//! How a network is cut into three places, which see each other only after a delay: the senders of all flows, their
//! receivers, and the links between them.

use network::DisciplineSettings;
use scenario::Plan;
use units::{Span, Time};

use crate::route::Routes;

/// The place of the senders.
pub const SENDERS: usize = 0;
/// The place of the receivers.
pub const RECEIVERS: usize = 1;
/// The place of the links.
pub const NETWORK: usize = 2;

/// A cut: the end of each wire, and how long it takes from place to place at least.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The place to which each wire brings packets.
    pub(crate) end: Vec<usize>,
    /// By origin and destination. A pair without a wire has [`Span::MAX`].
    lookahead: [[Span; 3]; 3],
}

impl Cut {
    /// The cut of the network of `plan` with these `routes`, or `None` if it has to stay whole. Every wire must lead
    /// from one place to one place. A wire between two places must have a delay. No row may depend on the instant at
    /// which a link is looked at, as rows do if a queue drops or marks at its head.
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
        for (between, (delay, _)) in routes.between.iter().zip(&routes.delays) {
            let (from, to) = (only(between.from)?, only(between.to)?);
            if from != to && delay.shortest().is_zero() {
                return None;
            }
            lookahead[from][to] = lookahead[from][to].min(delay.shortest());
            end.push(to);
        }
        Some(Self { end, lookahead })
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

/// The place at which `there` is true, if it is at one only.
fn only(there: [bool; 3]) -> Option<usize> {
    let mut places = (0..3).filter(|&place| there[place]);
    places.next().filter(|_| places.next().is_none())
}
