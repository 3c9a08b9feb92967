//! One class of CAKE: flow queues by deficit round robin, each under COBALT.

use std::collections::VecDeque;

use units::packet::MTU;
use units::{Bytes, Rate, Span, Time};

use super::hosts::{Hosts, Isolation};
use crate::Packet;
use crate::queue::cobalt::{Cobalt, Parameters, Verdict};
use crate::queue::turns::{Turns, Waiting};
use crate::queue::{Context, Served};

/// Queues in a set of the hash.
const WAYS: u32 = 8;

/// Flow queues at work.
#[derive(Debug)]
pub(super) struct Tin<P> {
    turns: Turns,
    pub(super) flows: Flows<P>,
    /// It goes before lower tins as long as it keeps to this rate: the next time it does.
    rate: Option<Rate>,
    due: Time,
}

/// The queues of a tin, without their turns.
#[derive(Debug)]
pub(super) struct Flows<P> {
    pub(super) parameters: Parameters,
    pub(super) queues: Vec<FlowQueue<P>>,
    /// The empty queues whose COBALT has not come to rest, and which of them is looked at next.
    decaying: VecDeque<u32>,
    isolation: Isolation,
    hosts: Hosts,
    /// The bytes of a turn, for a flow that shares it with no other.
    quantum: u64,
}

#[derive(Debug)]
pub(super) struct FlowQueue<P> {
    pub(super) waiting: Waiting<P>,
    pub(super) cobalt: Cobalt,
    /// It is among those that decay.
    pub(super) decays: bool,
    /// Whose queue it was last, by hash.
    tag: u64,
    /// From which host to which its packets go.
    hosts: [u32; 2],
    standing: Standing,
}

/// How a queue with turns to come counts for its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Not yet: it has not used up its first turn.
    Sparse,
    /// Not yet: it had nothing to send when its first turn was over.
    Spent,
    /// It does.
    Bulk,
}

impl<P: Packet> Tin<P> {
    /// `rtt` is the interval of CoDel, where the link does not need more for its packets.
    pub(super) fn new(rate: Option<Rate>, rtt: Span, flows: u32, isolation: Isolation) -> Self {
        let mtu_time = rate.map_or(Span::ZERO, |rate| rate.time_for(MTU));
        let twentieth = Span::from_nanos(rtt.as_nanos() / 20);
        let target = twentieth.max(mtu_time.scale(1.5));
        let interval = (rtt + target.saturating_sub(twentieth)).max(target.saturating_mul(2));
        let per_second = rate.map_or(u64::MAX, |rate| rate.bits_per_second() / 8);
        let quantum = (per_second >> 12).clamp(300, MTU.get());
        let queue = |_| FlowQueue {
            waiting: Waiting::default(),
            cobalt: Cobalt::default(),
            decays: false,
            tag: u64::MAX,
            hosts: [0; 2],
            standing: Standing::Sparse,
        };
        let flows = Flows {
            parameters: Parameters { target, interval, mtu_time },
            queues: (0..flows).map(queue).collect(),
            decaying: VecDeque::new(),
            isolation,
            hosts: Hosts::new(isolation),
            quantum,
        };
        let turns = Turns::new(flows.queues.len() as u32, Bytes::new(quantum)).forgetting();
        Self { turns, flows, rate, due: Time::ZERO }
    }

    /// The queue of `packet`: the one in its set that is its own already, or that is free, or where its hash points.
    pub(super) fn queue_of(&mut self, packet: &P, cx: &mut Context<'_, P>) -> u32 {
        let Self { turns, flows: Flows { queues, isolation, .. }, .. } = self;
        if queues.len() == 1 {
            return 0;
        }
        let key = isolation.key(cx.class_of(packet).hosts).unwrap_or_else(|| u64::from(packet.flow()));
        let tag = turns.hash(key, cx);
        let first = ((tag * queues.len() as u64) >> 32) as u32;
        let set = first / WAYS * WAYS;
        let ways = (0..WAYS).map(|way| set + (first + way) % WAYS);
        let own = ways.clone().find(|&way| queues[way as usize].tag == tag);
        let is_free = |way| !turns.is_listed(way) && !queues[way as usize].decays;
        let free = || ways.clone().find(|&way| is_free(way));
        let chosen = own.or_else(free).unwrap_or(first);
        queues[chosen as usize].tag = tag;
        chosen
    }

    /// True if a queue has a turn to come.
    pub(super) fn is_listed(&self) -> bool {
        self.turns.listed().next().is_some()
    }

    /// The tin may send again before lower ones at this time.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// A packet arrives at an empty tin. Unused time is not made up for.
    pub(super) fn begin(&mut self, now: Time) {
        if !self.is_listed() {
            self.due = self.due.max(now);
        }
    }

    /// It sent `size`, link layer and all.
    pub(super) fn spend(&mut self, now: Time, size: Bytes) {
        let Some(rate) = self.rate else { return };
        let time = rate.time_for(size);
        self.due = if self.due < now { self.due + time } else { self.due.max(now + time) };
    }

    /// Queue `index` has something to send, from one of `hosts` to the other.
    pub(super) fn list(&mut self, index: u32, hosts: [u32; 2], cx: &mut Context<'_, P>) {
        let Self { turns, flows, .. } = self;
        let queue = &mut flows.queues[index as usize];
        if std::mem::take(&mut queue.decays) {
            flows.decaying.retain(|&other| other != index);
        }
        if !flows.hosts.share() {
            return turns.list(index);
        }
        if !turns.is_listed(index) {
            (queue.hosts, queue.standing) = (hosts, Standing::Sparse);
            turns.list_with(index, share(flows.quantum, flows.hosts.load(hosts), cx));
        } else if queue.standing == Standing::Spent {
            queue.standing = Standing::Bulk;
            flows.hosts.add(queue.hosts);
        }
    }

    /// Looks at one of the empty queues that decay.
    pub(super) fn look_at_decaying(&mut self, now: Time) {
        if let Some(index) = self.flows.decaying.pop_front() {
            self.flows.found_empty(index, now);
        }
    }

    /// The longest queue with a turn to come, `own` among them, and its length.
    pub(super) fn longest(&self, own: Option<u32>) -> Option<(u32, Bytes)> {
        let first = own.or_else(|| self.turns.listed().next())?;
        Some(self.turns.longest(first, |index| self.flows.queues[index as usize].waiting.bytes()))
    }

    /// Queue `index` loses the packet at its head, as the buffer is full.
    pub(super) fn overflow(&mut self, index: u32, cx: &mut Context<'_, P>) {
        let FlowQueue { waiting, cobalt, .. } = &mut self.flows.queues[index as usize];
        cobalt.overflowed(&self.flows.parameters, cx.now);
        if let Some((packet, _)) = waiting.pop() {
            cx.drop(packet);
        }
    }

    /// Serves the queue whose turn it is. `take` answers the packet that a queue sends, with its size, or `None` if it
    /// is empty. Queue `passing` has a packet that does not wait.
    pub(super) fn serve<T>(
        &mut self,
        cx: &mut Context<'_, P>,
        passing: Option<u32>,
        take: impl Fn(&mut FlowQueue<P>, &Parameters, u32, &mut Context<'_, P>) -> Option<(T, Bytes)>,
    ) -> Option<T> {
        self.turns.next_with(
            &mut (&mut self.flows, cx),
            |(flows, cx), index| flows.renew(index, passing == Some(index), cx),
            |(flows, cx), index| {
                let Flows { queues, parameters, .. } = &mut **flows;
                let taken = take(&mut queues[index as usize], parameters, index, cx);
                if taken.is_none() {
                    flows.found_empty(index, cx.now);
                }
                taken
            },
        )
    }
}

impl<P: Packet> Flows<P> {
    /// Queue `index` was found empty: it decays until its COBALT has come to rest.
    fn found_empty(&mut self, index: u32, now: Time) {
        let queue = &mut self.queues[index as usize];
        if std::mem::replace(&mut queue.standing, Standing::Sparse) == Standing::Bulk {
            self.hosts.remove(queue.hosts);
        }
        queue.cobalt.emptied(&self.parameters, now);
        queue.decays = !queue.cobalt.is_at_rest(now);
        if queue.decays {
            self.decaying.push_back(index);
        }
    }

    /// The bytes of the next turn of queue `index`, whose last one is over.
    fn renew(&mut self, index: u32, passing: bool, cx: &mut Context<'_, P>) -> i64 {
        if !self.hosts.share() {
            return self.quantum as i64;
        }
        let queue = &mut self.queues[index as usize];
        if queue.standing == Standing::Sparse {
            let waits = passing || queue.waiting.packets() > 0;
            queue.standing = if waits { Standing::Bulk } else { Standing::Spent };
            if waits {
                self.hosts.add(queue.hosts);
            }
        }
        share(self.quantum, self.hosts.load(queue.hosts), cx)
    }
}

/// The part of `quantum` that is left to one of `load` flows. Rounded at random, so that the mean is right.
fn share<P>(quantum: u64, load: u32, cx: &mut Context<'_, P>) -> i64 {
    let dither = (cx.random.uniform() * 65_536.0) as u64;
    ((quantum * (65_535 / u64::from(load)) + dither) >> 16) as i64
}

/// The packet that a queue sends under COBALT.
pub(super) fn take_struck<P: Packet>(
    queue: &mut FlowQueue<P>,
    parameters: &Parameters,
    cx: &mut Context<'_, P>,
) -> Option<Served<P>> {
    loop {
        let (packet, arrived) = queue.waiting.pop()?;
        let capable = packet.ecn().is_capable();
        let sojourn = cx.now.since(arrived);
        let verdict = queue.cobalt.verdict(parameters, cx.now, sojourn, capable, cx.random);
        // The last packet of a queue is never dropped.
        if verdict == Verdict::Drop && queue.waiting.packets() > 0 {
            cx.drop(packet);
            continue;
        }
        return Some(Served { packet, arrived, marked: verdict == Verdict::Mark });
    }
}
