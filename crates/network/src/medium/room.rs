//! The place in which frames wait for the medium: a queue of the network with its limit, and where each packet goes.

use std::sync::Arc;

use units::{Bytes, Ecn, Random, Time};

use super::Listener;
use crate::queue::Queue;
use crate::{Admission, Departure, Discard, Egress, FlowClass, Limit, Packet, QueueSettings, Service, TcpAck};

/// A packet on its way to a station.
#[derive(Debug)]
pub(crate) struct Addressed<P> {
    pub(crate) packet: P,
    /// The station.
    pub(crate) to: u32,
}

/// One that waits, with the time of its arrival.
pub(crate) type Waiting<P> = (Addressed<P>, Time);

impl<P: Packet> Packet for Addressed<P> {
    #[inline]
    fn size(&self) -> Bytes {
        self.packet.size()
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    #[inline]
    fn flow(&self) -> u32 {
        self.packet.flow()
    }
    fn class(&self) -> u32 {
        self.packet.class()
    }
    fn tcp_ack(&self) -> Option<TcpAck> {
        self.packet.tcp_ack()
    }
    #[inline]
    fn mark_congestion(&mut self) {
        self.packet.mark_congestion();
    }
    fn clear_ecn(&mut self) {
        self.packet.clear_ecn();
    }
}

/// The packets that wait at one access, without those being sent.
#[derive(Debug)]
pub(crate) struct Room<P> {
    queue: Queue<Addressed<P>>,
    settings: QueueSettings,
    /// Taken from the queue, but not for the same station or too much for the A-MPDU: sent next.
    next: Option<Waiting<P>>,
}

impl<P: Packet> Room<P> {
    /// `nominal` is the service by which disciplines reckon that need one.
    pub(crate) fn new(settings: QueueSettings, nominal: &Service, random: Random) -> Self {
        Self { queue: Queue::new(settings, nominal, random), settings, next: None }
    }

    /// A discipline may distinguish packets by these classes.
    pub(crate) fn set_classes(&mut self, classes: &Arc<[FlowClass]>) {
        self.queue.set_classes(classes);
    }

    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        self.queue.packets()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> Bytes {
        self.queue.bytes()
    }

    /// The packet that was taken from the queue and is not sent yet.
    #[inline]
    pub(crate) fn next(&self) -> Option<&P> {
        self.next.as_ref().map(|(next, _)| &next.packet)
    }

    /// True if nothing waits here.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.next.is_none() && self.queue.packets() == 0
    }

    /// Takes `packet` or drops it, where `in_service` packets are being sent.
    pub(crate) fn offer(
        &mut self,
        now: Time,
        packet: Addressed<P>,
        in_service: (u32, Bytes),
        out: &mut Reports<'_, impl Listener<P>>,
    ) {
        let found = self.queue.packets();
        let mut full = self.is_full(packet.size(), in_service);
        let counted = if self.settings.count_in_service { in_service.1 } else { Bytes::ZERO };
        if full {
            while full && self.queue.make_room(now, &packet, counted) {
                full = self.is_full(packet.size(), in_service);
            }
        }
        if full {
            out.discard(packet, now, Discard::Full, self.queue.packets());
        } else {
            self.take(now, packet, (found, counted), out);
        }
        if self.queue.is_managed() {
            self.queue.report_evicted(now, out);
        }
    }

    fn take(
        &mut self,
        now: Time,
        mut packet: Addressed<P>,
        (found, in_service): (u32, Bytes),
        out: &mut Reports<'_, impl Listener<P>>,
    ) {
        let above = self.settings.mark_above.is_some_and(|threshold| found >= threshold) && packet.ecn().is_capable();
        let marked = match self.queue.admit(now, &packet, in_service) {
            Admission::Take => above,
            Admission::Mark => true,
            Admission::Drop => return out.discard(packet, now, Discard::Early, self.queue.packets()),
        };
        let queued = self.queue.packets() + 1;
        out.take(&packet, now, marked, queued);
        if marked {
            packet.mark_congestion();
            out.mark(&packet, now, queued);
        }
        self.queue.push(now, packet, out);
    }

    /// The packet whose turn it is, with the time of its arrival.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, out: &mut Reports<'_, impl Listener<P>>) -> Option<Waiting<P>> {
        if self.next.is_some() {
            return self.next.take();
        }
        if self.queue.packets() == 0 {
            return None;
        }
        self.queue.pop(now, out)
    }

    /// The next packet for station `to` that `fits`, wherever it waits in a queue that is first in, first out. In any
    /// other queue only the one whose turn it is: if it does not fit, it is sent next.
    pub(crate) fn pop_for(
        &mut self,
        now: Time,
        to: u32,
        fits: impl Fn(&P) -> bool,
        out: &mut Reports<'_, impl Listener<P>>,
    ) -> Option<Waiting<P>> {
        let suits = |next: &Addressed<P>| next.to == to && fits(&next.packet);
        if let Some((next, _)) = &self.next {
            return if suits(next) { self.next.take() } else { None };
        }
        if self.queue.packets() == 0 {
            return None;
        }
        self.queue.pop_first(now, suits, out).unwrap_or_else(|refused| {
            self.next = Some(refused);
            None
        })
    }

    /// True if a packet of `size` finds no room. One that finds nothing in service need not wait.
    fn is_full(&self, size: Bytes, (sending, bytes): (u32, Bytes)) -> bool {
        if sending == 0 && self.queue.packets() == 0 {
            return false;
        }
        let counted = self.settings.count_in_service;
        match self.settings.limit {
            Limit::Infinite | Limit::Delay(_) => false,
            Limit::Packets(limit) => self.queue.packets() + if counted { sending } else { 0 } >= limit,
            Limit::Bytes(limit) => self.queue.bytes() + if counted { bytes } else { Bytes::ZERO } + size > limit,
        }
    }
}

/// Hands the reports of the queue of one access to the listener of the medium.
pub(crate) struct Reports<'a, L> {
    pub(crate) access: u32,
    pub(crate) listener: &'a mut L,
}

impl<P: Packet, L: Listener<P>> Egress<Addressed<P>> for Reports<'_, L> {
    #[inline]
    fn take(&mut self, packet: &Addressed<P>, at: Time, marked: bool, queued: u32) {
        self.listener.take(self.access, &packet.packet, at, marked, queued);
    }

    fn mark(&mut self, packet: &Addressed<P>, at: Time, queued: u32) {
        self.listener.mark(self.access, &packet.packet, at, queued);
    }

    /// A queue alone has no departures.
    fn depart(&mut self, _: Addressed<P>, _: Departure) {}

    fn discard(&mut self, packet: Addressed<P>, at: Time, why: Discard, queued: u32) {
        self.listener.discard(self.access, packet.packet, at, why, queued);
    }
}

#[cfg(test)]
mod tests;
