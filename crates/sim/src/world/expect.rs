//! Memory that is asked for before packets come to it.

use crate::agents::Agents;
use crate::cache_aligned::CacheAligned;
use crate::flow::{Connection, Flow};
use crate::packet::{Body, Packet};
use crate::world::World;

/// How many packets before its arrival a packet is fetched, then its flow, then its end, then what that refers to, then
/// what this refers to.
const PACKET_AHEAD: usize = 48;
const FLOW_AHEAD: usize = 32;
const END_AHEAD: usize = 20;
const RING_AHEAD: usize = 8;
const HOLES_AHEAD: usize = 3;
/// How many packets before its own the places of a packet in queue and wire are fetched.
const PASSAGE_AHEAD: usize = 16;

impl<A: Agents> World<'_, A> {
    /// Lets the processor fetch the memory that the next packets on `wire` come to: their flows, the connections of
    /// these, and the memory that these refer to. With many flows most of the time would go by in waiting for it.
    #[inline(never)]
    pub(super) fn expect(&self, wire: u32) {
        self.fabric.prefetch(wire, PACKET_AHEAD);
        self.fabric.prefetch_passage(wire, PASSAGE_AHEAD);
        if let Some(packet) = self.fabric.ahead(wire, FLOW_AHEAD) {
            self.endpoints.flows[packet.flow as usize].prefetch_lines(0..1);
            match packet.body() {
                Body::Ack(slot) => self.endpoints.acks.prefetch(slot),
                Body::Data(_) => self.delayed_ack_timers.prefetch(packet.flow),
            }
        }
        if let Some((packet, flow, connection)) = self.end_ahead(wire, END_AHEAD) {
            connection.prefetch(&packet.body());
            self.endpoints.recorder.flows[flow.meter as usize].prefetch_lines(match packet.body() {
                Body::Ack(_) => 0..1,
                Body::Data(_) => 1..2,
            });
        }
        if let Some((packet, flow, connection)) = self.end_ahead(wire, RING_AHEAD) {
            connection.prefetch_more(&packet.body());
            if let Body::Ack(_) = packet.body() {
                self.endpoints.recorder.flows[flow.meter as usize].prefetch_counted();
            }
        }
        if let Some((packet, flow, connection)) = self.end_ahead(wire, HOLES_AHEAD) {
            connection.prefetch_holes(&packet.body());
            if let Body::Ack(_) = packet.body() {
                self.endpoints.recorder.flows[flow.meter as usize].prefetch_counts();
            }
        }
    }

    /// The packet that arrives on `wire` after `others` more, its flow, and the ends of that, if it has any.
    #[inline(always)]
    fn end_ahead(&self, wire: u32, others: usize) -> Option<(&Packet, &CacheAligned<Flow>, &Connection)> {
        let packet = self.fabric.ahead(wire, others)?;
        let flow = &self.endpoints.flows[packet.flow as usize];
        Some((packet, flow, flow.connection.as_ref()?))
    }
}
