//! Memory that is asked for before packets come to it.

use crate::agents::Agents;
use crate::endpoints::Endpoints;
use crate::flow::{ReceivingEnd, SendingEnd};
use crate::packet::Body;
use crate::partition::Partition;

/// How many packets before its arrival a packet is fetched, then its flow, then its end, then what that refers to, then
/// what this refers to.
const PACKET_AHEAD: usize = 48;
const FLOW_AHEAD: usize = 32;
const END_AHEAD: usize = 20;
const RING_AHEAD: usize = 8;
const HOLES_AHEAD: usize = 3;
/// How many packets before its own the places of a packet in queue and wire are fetched.
const PASSAGE_AHEAD: usize = 16;

impl<'a, A: Agents> Partition<'a, A> {
    /// Lets the processor fetch the memory that the next packets on `wire` come to: their flows, the connections of
    /// these, and the memory that these refer to. With many flows most of the time would go by in waiting for it.
    #[inline(never)]
    pub(super) fn expect(&self, wire: u32) {
        self.fabric.prefetch(wire, PACKET_AHEAD);
        self.fabric.prefetch_passage(wire, PASSAGE_AHEAD);
        let ahead = |others| self.fabric.ahead(wire, others).map(|packet| (packet.flow as usize, packet.body()));
        let Endpoints { senders, receivers, acks, .. } = &self.endpoints;
        match ahead(FLOW_AHEAD) {
            Some((flow, Body::Ack(slot))) => {
                senders[flow].prefetch_lines(0..1);
                acks.prefetch(slot);
            }
            Some((flow, Body::Data(_))) => {
                receivers[flow].prefetch_lines(0..1);
                self.delayed_ack_timers.prefetch(flow as u32);
            }
            Some((_, Body::Opening)) | None => {}
        }
        let prefetch = |others, of_sender: fn(&SendingEnd<'a>), of_receiver: fn(&ReceivingEnd)| match ahead(others) {
            Some((flow, Body::Ack(_))) => senders[flow].end.iter().for_each(of_sender),
            Some((flow, Body::Data(_))) => receivers[flow].end.iter().for_each(of_receiver),
            Some((_, Body::Opening)) | None => {}
        };
        prefetch(END_AHEAD, SendingEnd::prefetch, ReceivingEnd::prefetch);
        prefetch(RING_AHEAD, SendingEnd::prefetch_more, ReceivingEnd::prefetch_more);
        prefetch(HOLES_AHEAD, SendingEnd::prefetch_holes, ReceivingEnd::prefetch_holes);
    }
}
