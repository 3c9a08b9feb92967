//! Senders send, and timers of both ends expire.

use units::Time;

use super::{Offer, Partition, TICK, or_never};
use crate::agents::Agents;
use crate::endpoints::Endpoints;
use crate::flow::{SenderHalf, SendingEnd};
use crate::recorder::Recorder;

impl<'a, A: Agents> Partition<'a, A> {
    /// Lets the sender of `index` send as much as it may, and notes when it wants to be woken.
    #[inline]
    pub(crate) fn send(&mut self, now: Time, index: u32) {
        let earlier = loop {
            let sender: &mut SenderHalf<'a> = &mut self.endpoints.senders[index as usize];
            let Some(end) = &mut sender.end else { return };
            let packet =
                end.poll_transmit(now, index, sender.forward, &mut self.endpoints.recorder.journal(now, index));
            let Some(packet) = packet else { break end.deadline_before(sender.look_at) };
            if let Some((capture, acks)) = self.endpoints.captured() {
                capture.at_sender(now, &packet, acks);
            }
            self.forward(now, packet);
            self.send_ready(now, index);
        };
        if let Some(deadline) = earlier {
            self.look_at(index, deadline);
        }
    }

    /// Lets the sender of `index` send what takes no other look, if links are in another partition.
    #[inline(always)]
    fn send_ready(&mut self, now: Time, index: u32) {
        let Self { endpoints: Endpoints { senders, recorder: Recorder { stamp, .. }, .. }, offers, fabric, .. } = self;
        let sender: &mut SenderHalf<'a> = &mut senders[index as usize];
        if let (Some(offers), Some(end)) = (offers, &mut sender.end)
            && fabric.begins_with_link(sender.forward)
        {
            end.send_ready(now, index, sender.forward, |packet| {
                stamp.number += 2;
                offers.push(Offer { at: now, rank: stamp.rank, packet });
            });
        }
    }

    /// The sender of `index` is looked at then, and not before. With [`Time::NEVER`] it is not looked at.
    #[inline]
    pub(super) fn look_at(&mut self, index: u32, at: Time) {
        self.endpoints.senders[index as usize].look_at = at;
        self.timers.set(index, at);
        self.quiet_until = self.quiet_until.min(at);
    }

    /// The sender of `index` is looked at: perhaps nothing is due, as deadlines move without moving their slot.
    #[inline(never)]
    pub(super) fn expire_sender(&mut self, now: Time, index: u32) {
        let sender: &mut SenderHalf<'a> = &mut self.endpoints.senders[index as usize];
        let Some(end) = sender.end.as_mut().filter(|_| sender.running) else {
            return self.look_at(index, Time::NEVER);
        };
        if end.deadline_before(now + TICK).is_some() {
            end.on_timeout(now, &mut self.endpoints.recorder.journal(now, index));
            self.send(now, index);
        }
        let deadline = self.endpoints.senders[index as usize].end.as_ref().and_then(SendingEnd::deadline);
        self.look_at(index, or_never(deadline));
        if self.many && self.timers.next() != Time::NEVER {
            // Packets move meanwhile.
            self.endpoints.senders[self.timers.first_slot() as usize].end.iter().for_each(SendingEnd::prefetch);
        }
    }

    /// A delayed ACK is due, unless its timer was taken back.
    #[inline(never)]
    pub(super) fn expire_receiver(&mut self, now: Time) {
        let Some(index) = self.delayed_ack_timers.due(now) else { return };
        let Some(end) = &mut self.endpoints.receivers[index as usize].end else { return };
        let ack = end.on_timeout(now, &mut self.endpoints.acks);
        self.delayed_ack_timers.set(index, or_never(end.deadline()));
        if let Some(ack) = ack {
            self.acknowledge(now, index, ack);
        } else {
            self.answer(now, index);
        }
    }
}
