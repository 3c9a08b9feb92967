//! Agents of a run beside the two ends of each flow: Snoop, proxies, routers that grant rates, readers of pages,
//! filters of ACKs. The world reaches all of them through one trait, [`Agents`].

mod filters;
mod pages;
mod quick_start;
mod relay;
mod snoop;

use scenario::{DrawnFlow, Plan};
use units::{Rate, Time};

use crate::agenda::Due;
use crate::packet::Packet;
use crate::partition::Partition;

/// The events of a run that agents may act on. A run that is captured has all the calls, too.
///
/// Every call is empty in a run of [`NoAgents`]: it costs no instruction, and nothing asks whether there are agents.
pub(crate) trait Agents: Sized {
    /// An agent or a capture may be there.
    const PRESENT: bool;

    /// The agents of `plan`, whose flows are as `drawn` and begin their routes with the steps of `first_steps`.
    fn new(plan: &Plan, drawn: &[DrawnFlow], first_steps: impl Fn(usize) -> (u32, u32)) -> Self;

    /// The run is about to begin.
    fn begin(partition: &mut Partition<'_, Self>) {
        let _ = partition;
    }

    /// Flow `index` starts: the rate that routers grant it.
    fn on_start(partition: &mut Partition<'_, Self>, now: Time, index: u32) -> Option<Rate> {
        let _ = (partition, now, index);
        None
    }

    /// `packet` has crossed a wire and is about to begin its next step.
    fn on_step(partition: &mut Partition<'_, Self>, now: Time, packet: Packet) {
        partition.forward(now, packet);
    }

    /// A receiver sends `ack`.
    fn on_answer(partition: &Partition<'_, Self>, ack: &mut Packet) {
        let _ = (partition, ack);
    }

    /// Data of `flow` have arrived at its receiver.
    fn on_data(partition: &mut Partition<'_, Self>, now: Time, flow: u32) {
        let _ = (partition, now, flow);
    }

    /// The sender of `flow` has had an ACK.
    fn on_ack(partition: &mut Partition<'_, Self>, now: Time, flow: u32) {
        let _ = (partition, now, flow);
    }

    /// The last segment of connection `index` has arrived.
    fn on_completion(partition: &mut Partition<'_, Self>, now: Time, index: u32) {
        let _ = (partition, now, index);
    }

    /// An entry of the agenda that an agent made is due.
    fn on_due(partition: &mut Partition<'_, Self>, now: Time, due: Due) {
        let _ = (partition, now, due);
    }
}

/// Nothing beside the ends of flows.
pub(crate) struct NoAgents;

impl Agents for NoAgents {
    const PRESENT: bool = false;

    fn new(_: &Plan, _: &[DrawnFlow], _: impl Fn(usize) -> (u32, u32)) -> Self {
        Self
    }
}

/// Every kind of agent.
pub(crate) struct AllAgents {
    snoop: snoop::SnoopAgents,
    proxies: relay::Proxies,
    grants: quick_start::Grants,
    pages: pages::Pages,
    filters: filters::Filters,
}

impl AllAgents {
    /// True if `plan` has any.
    pub(crate) fn are_in(plan: &Plan) -> bool {
        let filters = filters::Filters::are_in(plan);
        filters
            || plan.flows.iter().any(|flow| {
                let mut hops = flow.forward.iter().chain(&flow.reverse);
                flow.relays.is_some()
                    || flow.quick_start.is_some()
                    || flow.pages.is_some()
                    || hops.any(|hop| hop.snoop.is_some())
            })
    }
}

impl Agents for AllAgents {
    const PRESENT: bool = true;

    fn new(plan: &Plan, drawn: &[DrawnFlow], first_steps: impl Fn(usize) -> (u32, u32)) -> Self {
        Self {
            snoop: snoop::SnoopAgents::new(plan, first_steps),
            proxies: relay::Proxies::new(plan, drawn),
            grants: quick_start::Grants::default(),
            pages: pages::Pages::new(drawn),
            filters: filters::Filters::new(plan, drawn),
        }
    }

    fn begin(partition: &mut Partition<'_, Self>) {
        partition.open_proxies();
    }

    fn on_start(partition: &mut Partition<'_, Self>, now: Time, index: u32) -> Option<Rate> {
        partition.grant(now, index)
    }

    fn on_step(partition: &mut Partition<'_, Self>, now: Time, packet: Packet) {
        if partition.agents.snoop.guard(packet.step) {
            return partition.pass_agent(now, packet);
        }
        partition.forward(now, packet);
    }

    fn on_answer(partition: &Partition<'_, Self>, ack: &mut Packet) {
        partition.agents.filters.tell(ack, &partition.endpoints.acks);
    }

    fn on_data(partition: &mut Partition<'_, Self>, now: Time, flow: u32) {
        partition.send_on(now, flow);
    }

    fn on_ack(partition: &mut Partition<'_, Self>, now: Time, flow: u32) {
        partition.make_room(now, flow);
    }

    fn on_completion(partition: &mut Partition<'_, Self>, now: Time, index: u32) {
        partition.turn_page(now, index);
    }

    fn on_due(partition: &mut Partition<'_, Self>, now: Time, due: Due) {
        match due {
            Due::Request(index) => partition.look_before_request(now, index),
            Due::Snoop(flow) => partition.look_at_agent(now, flow),
            Due::Reminder(proxy) => partition.remind(now, proxy),
        }
    }
}
