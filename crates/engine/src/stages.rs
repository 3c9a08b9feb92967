//! The stages of the links of a network that is cut. A packet passes them in order, so each stage is a loop over all
//! packets that come to it in a turn.

use scenario::Plan;

use crate::route::{NO_LINK, Routes};

/// In one place of several: the mark of a wire that ends in another.
pub(crate) const ELSEWHERE: u8 = u8::MAX;
/// At most so many stages.
const MOST: u8 = 16;

/// The stage of each link, and of the links to which each wire leads.
#[derive(Clone, Debug)]
pub(crate) struct Stages {
    pub(crate) of_link: Vec<u8>,
    pub(crate) of_wire: Vec<u8>,
    pub(crate) count: u8,
}

impl Stages {
    /// The stages of the links of `plan`, or `None` if a link is reached again from itself, or takes packets both from
    /// another link and from a host without delay.
    pub(crate) fn new(plan: &Plan, routes: &Routes) -> Option<Self> {
        let (of_link, of_wire) = (vec![0; plan.links.len()], vec![0; routes.delays.len()]);
        let mut stages = Self { of_link, of_wire, count: 1 };
        if routes.between_links().any(|(_, to)| to == NO_LINK) {
            return None;
        }
        while routes.between_links().fold(false, |moved, (wire, to)| stages.follow(routes, wire, to) || moved) {
            if stages.count > MOST {
                return None;
            }
        }
        let begins = |link: u32| stages.of_link.get(link as usize).is_none_or(|&stage| stage == 0);
        routes.entries().all(begins).then_some(stages)
    }

    /// Puts link `to` behind `wire`. Says whether anything moved.
    fn follow(&mut self, routes: &Routes, wire: u32, to: u32) -> bool {
        let (wire, to) = (wire as usize, to as usize);
        let after = self.of_link.get(routes.wire_link[wire] as usize).map_or(0, |stage| stage + 1);
        let stage = after.max(self.of_wire[wire]).max(self.of_link[to]);
        self.count = self.count.max(stage + 1);
        let moved = (self.of_wire[wire], self.of_link[to]) != (stage, stage);
        (self.of_wire[wire], self.of_link[to]) = (stage, stage);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stages of the links of a plan with `flows`, by name. Hosts p, q and r are before the nodes a, b and c of a
    /// ring, whose links have one direction.
    fn stages(flows: &str) -> Option<Vec<(String, u8)>> {
        let link = |(from, to, reverse): (&str, &str, &str)| {
            let ends = format!("name = '{from}{to}'\nfrom = '{from}'\nto = '{to}'\n");
            format!("[[links]]\n{ends}rate = '9mbit'\nqueue = '9p'\ndelay = '1ms'\n{reverse}\n")
        };
        let hosts = [("p", "a"), ("q", "b"), ("r", "c")].map(|(from, to)| link((from, to, "reverse = {}")));
        let ring = [("a", "b"), ("b", "c"), ("c", "a")].map(|(from, to)| link((from, to, "")));
        let flow = |ends: &str| {
            let (from, to) = ends.split_at(1);
            format!("[[flows]]\ncc = 'newreno'\nfrom = '{from}'\nto = '{to}'\n")
        };
        let flows: String = flows.split(' ').map(flow).collect();
        let text = format!("duration = '1s'\n{}{}{flows}", hosts.concat(), ring.concat());
        let plan = scenario::from_toml(&text, "test.toml").and_then(|scenario| scenario.plan(&scenario::NoFiles));
        let plan = plan.unwrap_or_else(|error| panic!("{error}"));
        let stages = Stages::new(&plan, &Routes::new(&plan, false))?;
        Some(plan.links.iter().map(|link| link.name.clone()).zip(stages.of_link).collect())
    }

    #[test]
    fn a_link_is_a_stage_behind_the_links_that_lead_to_it() {
        // ACKs pass r's link and the rest of the ring.
        let found = stages("pr").unwrap();
        for (name, stage) in [("pa", 0), ("ab", 1), ("bc", 2), ("rc", 0), ("ca", 1)] {
            assert!(found.contains(&(name.into(), stage)), "{name}: {found:?}");
        }
    }

    #[test]
    fn there_are_no_stages_where_packets_enter_in_between_or_go_round() {
        assert!(stages("pr ar").is_none(), "one flow enters where another comes from a link");
        assert!(stages("pr qp rq").is_none(), "each link of the ring leads to the next");
    }
}
