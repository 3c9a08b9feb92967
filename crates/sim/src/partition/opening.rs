//! Connections open: packets of the handshake arrive at either end.

use transport::{OpeningKind, OpeningPacket};
use units::Time;

use super::{Partition, or_never};
use crate::agents::Agents;
use crate::flow::{ReceiverHalf, SenderHalf};
use crate::packet::Packet;

impl<'a, A: Agents> Partition<'a, A> {
    /// A packet that opens a connection has reached its end.
    #[inline(never)]
    pub(super) fn opening_arrives(&mut self, now: Time, packet: &Packet) {
        let (index, opening) = (packet.flow, packet.opening());
        match opening.kind {
            OpeningKind::SynAck => self.answer_arrives(now, index, &opening),
            OpeningKind::Syn | OpeningKind::Ack => self.request_arrives(now, index, &opening),
        }
    }

    /// The SYN-ACK: its ACK leaves, and data behind it. One that comes again shows that the ACK was lost.
    fn answer_arrives(&mut self, now: Time, index: u32, answer: &OpeningPacket) {
        let sender: &mut SenderHalf<'a> = &mut self.endpoints.senders[index as usize];
        if !sender.running {
            return;
        }
        let Some(end) = sender.end.take() else { return };
        let (end, opened) = end.on_answer(now, answer);
        sender.end = Some(end);
        if let Some(retransmissions) = opened {
            (sender.opened, sender.syn_retransmissions) = (now, retransmissions);
        }
        let forward = sender.forward;
        let size = self.plan.flows[self.drawn[index as usize].of].options.opening_size(OpeningKind::Ack);
        let ack = OpeningPacket { kind: OpeningKind::Ack, timestamp: now, echo: answer.timestamp };
        let packet = Packet::of_opening(index, forward, size.get() as u32, &ack);
        if let Some((capture, acks)) = self.endpoints.captured() {
            capture.at_sender(now, &packet, acks);
        }
        self.forward(now, packet);
        self.send(now, index);
    }

    /// A SYN, or the ACK of a SYN-ACK.
    fn request_arrives(&mut self, now: Time, index: u32, packet: &OpeningPacket) {
        let receiver: &mut ReceiverHalf = &mut self.endpoints.receivers[index as usize];
        if now > receiver.stop {
            return;
        }
        let Some(end) = &mut receiver.end else { return };
        if packet.kind == OpeningKind::Syn {
            end.listen(&self.of.stacks[self.drawn[index as usize].of], self.of.seed);
        }
        if let Some(ack) = end.on_opening(now, packet, &mut self.endpoints.acks) {
            self.acknowledge(now, index, ack);
        }
        self.answer(now, index);
    }

    /// The SYN-ACK of flow `index` leaves if it is due, and its timer is set.
    pub(super) fn answer(&mut self, now: Time, index: u32) {
        let receiver: &mut ReceiverHalf = &mut self.endpoints.receivers[index as usize];
        let Some(end) = &mut receiver.end else { return };
        let (answer, reverse) = (end.poll_opening(now), receiver.reverse);
        let deadline = or_never(end.deadline());
        self.delayed_ack_timers.set(index, deadline);
        self.quiet_until = self.quiet_until.min(deadline);
        let Some((answer, size)) = answer else { return };
        self.endpoints.recorder.openings[index as usize].syn_acks += 1;
        let packet = Packet::of_opening(index, reverse, size, &answer);
        if let Some((capture, acks)) = self.endpoints.captured() {
            capture.at_receiver(now, &packet, acks);
        }
        self.forward(now, packet);
    }
}
