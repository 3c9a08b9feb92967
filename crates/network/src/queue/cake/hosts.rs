//! Which packets have a queue of their own, and how the queues of one host share its turn.

use crate::queue::tc::choices;

choices! {
    /// How CAKE keeps flows and hosts apart, named as in `tc`.
    pub enum Isolation {
        /// All flows alike, whatever hosts they are of.
        #[default]
        Flows = "flows",
        /// A queue for each host that sends.
        Srchost = "srchost",
        /// A queue for each host that receives.
        Dsthost = "dsthost",
        /// A queue for each pair of hosts.
        Hosts = "hosts",
        /// A queue for each flow; the flows that one host sends share its turn.
        DualSrchost = "dual-srchost",
        /// A queue for each flow; the flows that one host receives share its turn.
        DualDsthost = "dual-dsthost",
        /// A queue for each flow; it gets the smaller of the shares that both its hosts leave it (default of `tc`).
        TripleIsolate = "triple-isolate",
    }
}

impl Isolation {
    /// The number of the queue of packets from one host to another, or `None` if each flow has its own.
    pub(super) fn key(self, [source, destination]: [u32; 2]) -> Option<u64> {
        let (source, destination) = (u64::from(source), u64::from(destination));
        match self {
            Self::Srchost => Some(source),
            Self::Dsthost => Some(destination),
            Self::Hosts => Some(source << 32 | destination),
            Self::Flows | Self::DualSrchost | Self::DualDsthost | Self::TripleIsolate => None,
        }
    }

    /// True if the flows that a host sends share its turn, and if those do that it receives.
    const fn shares(self) -> [bool; 2] {
        [
            matches!(self, Self::DualSrchost | Self::TripleIsolate),
            matches!(self, Self::DualDsthost | Self::TripleIsolate),
        ]
    }
}

/// How many flows with a standing queue each host sends and receives.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    shares: [bool; 2],
    flows: [Vec<u32>; 2],
}

impl Hosts {
    pub(super) fn new(isolation: Isolation) -> Self {
        Self { shares: isolation.shares(), ..Self::default() }
    }

    /// True if hosts share turns at all.
    pub(super) const fn share(&self) -> bool {
        self.shares[0] || self.shares[1]
    }

    /// One more flow from one host to another.
    pub(super) fn add(&mut self, hosts: [u32; 2]) {
        for (flows, host) in self.flows.iter_mut().zip(hosts) {
            let host = host as usize;
            if host >= flows.len() {
                flows.resize(host + 1, 0);
            }
            flows[host] += 1;
        }
    }

    /// One flow less.
    pub(super) fn remove(&mut self, hosts: [u32; 2]) {
        for (flows, host) in self.flows.iter_mut().zip(hosts) {
            flows[host as usize] -= 1;
        }
    }

    /// Among how many a flow between these hosts shares a turn, at least 1.
    pub(super) fn load(&self, hosts: [u32; 2]) -> u32 {
        let shared = self.flows.iter().zip(hosts).zip(self.shares).filter(|(_, shares)| *shares);
        let loads = shared.map(|((flows, host), _)| flows.get(host as usize).copied().unwrap_or_default());
        loads.max().unwrap_or_default().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_shares_with_those_of_its_busier_host() {
        let load = |isolation| {
            let mut hosts = Hosts::new(isolation);
            [[1, 9], [1, 8], [1, 7], [2, 9], [3, 7]].into_iter().for_each(|pair| hosts.add(pair));
            hosts.remove([3, 7]);
            [[1, 9], [2, 9], [3, 6]].map(|pair| hosts.load(pair))
        };
        // Host 1 sends three flows and host 2 one. Host 9 receives two.
        assert_eq!(load(Isolation::DualSrchost), [3, 1, 1]);
        assert_eq!(load(Isolation::DualDsthost), [2, 2, 1]);
        assert_eq!(load(Isolation::TripleIsolate), [3, 2, 1]);
        assert_eq!(load(Isolation::Flows), [1, 1, 1]);
    }

    #[test]
    fn queues_are_for_flows_hosts_or_pairs_of_hosts() {
        let keys = |isolation: Isolation| [[1, 9], [1, 8], [2, 9]].map(|pair| isolation.key(pair));
        assert_eq!(keys(Isolation::Srchost), [Some(1), Some(1), Some(2)]);
        assert_eq!(keys(Isolation::Dsthost), [Some(9), Some(8), Some(9)]);
        let [first, second, third] = keys(Isolation::Hosts);
        assert!(first != second && second != third && third != first);
        assert_eq!(keys(Isolation::TripleIsolate), [None; 3]);
    }
}
