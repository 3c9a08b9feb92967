//! The Snoop agents of a run: which packets pass them, and which they let through.
//!
//! An agent sits where a step of a route begins. Packets that begin any other step never come here, and runs without
//! agents have no such step.

use network::Packet as _;
use scenario::{Kind, Plan};
use transport::{Snoop, Verdict};
use units::{Span, Time};

use super::{Agents, AllAgents};
use crate::acks::AckSlot;
use crate::agenda::{Due, Planned};
use crate::packet::{Body, Packet};
use crate::partition::Partition;

/// The agents, one for each flow that passes one.
#[derive(Debug, Default)]
pub(crate) struct SnoopAgents {
    /// By step of a route: whether an agent sits before it.
    before: Vec<bool>,
    of_flows: Vec<Option<Box<Agent>>>,
}

#[derive(Debug)]
struct Agent {
    snoop: Snoop<Packet>,
    /// When it is looked at next, or [`Time::NEVER`] if that is not planned.
    look_at: Time,
}

impl SnoopAgents {
    /// The agents of `plan`, whose flows begin their routes with the steps that `first_steps` says. They know
    /// TCP alone, and other packets pass.
    pub(crate) fn new(plan: &Plan, first_steps: impl Fn(usize) -> (u32, u32)) -> Self {
        let mut before = Vec::new();
        for (index, flow) in plan.flows.iter().enumerate().filter(|(_, flow)| matches!(flow.kind, Kind::Tcp)) {
            let (forward, reverse) = first_steps(index);
            for (first, hops) in [(forward, &flow.forward), (reverse, &flow.reverse)] {
                for (step, hop) in (first as usize..).zip(hops) {
                    if hop.snoop.is_some() {
                        before.resize(before.len().max(step + 1), false);
                        before[step] = true;
                    }
                }
            }
        }
        Self { before, of_flows: Vec::new() }
    }

    /// True if an agent sits before `step`.
    #[inline]
    pub(crate) fn guard(&self, step: u32) -> bool {
        self.before.get(step as usize).is_some_and(|guarded| *guarded)
    }

    /// The agent of `flow`.
    fn of(&mut self, flow: u32, timeout_min: Span) -> &mut Agent {
        let index = flow as usize;
        if index >= self.of_flows.len() {
            self.of_flows.resize_with(index + 1, || None);
        }
        self.of_flows[index]
            .get_or_insert_with(|| Box::new(Agent { snoop: Snoop::new(timeout_min), look_at: Time::NEVER }))
    }
}

impl Partition<'_, AllAgents> {
    /// `packet` is about to begin a step with an agent before it.
    #[inline(never)]
    pub(super) fn pass_agent(&mut self, now: Time, packet: Packet) {
        let hops = &self.plan.flows[self.drawn[packet.flow as usize].of].forward;
        let timeout_min = hops.iter().find_map(|hop| hop.snoop).unwrap_or_default();
        let agent = self.agents.snoop.of(packet.flow, timeout_min);
        match packet.body() {
            Body::Opening => self.forward(now, packet),
            Body::Data(data) => {
                agent.snoop.on_data(now, data.sequence, packet);
                self.forward(now, packet);
            }
            Body::Ack(slot) => {
                let ack = self.endpoints.acks.get(slot);
                let verdict = agent.snoop.on_ack(now, ack.cumulative, ack.duplicate.is_some());
                self.follow(now, packet, slot, verdict);
            }
        }
        self.plan_look(now, packet.flow);
    }

    /// Carries out the agent's verdict on an ACK.
    fn follow(&mut self, now: Time, mut ack: Packet, slot: AckSlot, verdict: Verdict<Packet>) {
        match verdict {
            Verdict::Forward => self.forward(now, ack),
            Verdict::ForwardWithoutSack => {
                self.endpoints.acks.clear_sack(slot);
                AllAgents::on_answer(self, &mut ack);
                self.forward(now, ack);
            }
            Verdict::Discard => {
                self.endpoints.acks.take(slot);
            }
            Verdict::Retransmit(packet) => {
                self.endpoints.acks.take(slot);
                self.resend(now, packet);
            }
        }
    }

    /// The agent of `flow` is looked at: perhaps its timeout has come.
    pub(super) fn look_at_agent(&mut self, now: Time, flow: u32) {
        let Some(Some(agent)) = self.agents.snoop.of_flows.get_mut(flow as usize) else { return };
        agent.look_at = Time::NEVER;
        if let Some(packet) = agent.snoop.on_timeout(now) {
            self.resend(now, packet);
        }
        self.plan_look(now, flow);
    }

    /// The agent sends a packet again. The sender has sent it once, so it is lost at most once.
    fn resend(&mut self, now: Time, packet: Packet) {
        self.forward(now, packet.duplicate().unwrap_or(packet));
    }

    /// Plans when the agent of `flow` is looked at, if that is not planned early enough.
    fn plan_look(&mut self, now: Time, flow: u32) {
        let Some(Some(agent)) = self.agents.snoop.of_flows.get_mut(flow as usize) else { return };
        let Some(deadline) = agent.snoop.poll_timeout() else { return };
        if deadline < agent.look_at {
            agent.look_at = deadline.max(now);
            self.agenda.add(agent.look_at, Planned::Agent(Due::Snoop(flow)));
            self.quiet_until = self.quiet_until.min(agent.look_at);
        }
    }
}
