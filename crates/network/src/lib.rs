//! Queues, links, impairments and traces as state machines without a clock.
//!
//! A one-way path is a [`Link`] (random loss, a queue, a service) followed by a [`Wire`] (propagation). Both are handed
//! `now` and never read it, so the same link serves simulated time and a live emulator. They carry anything that is a
//! [`Packet`].
//!
//! The service of a link is known in advance, so the instant at which a packet's last bit leaves is known when
//! its service starts. A link is therefore brought up to date lazily, as Mahimahi does it: [`Link::advance`]
//! replays every service that became due, each at its own instant, and reports it to an [`Egress`], as it does
//! everything else that befalls a packet. No wake-up per packet is needed.
//!
//! A wireless [`medium`] is shared: when a packet is served depends on who else has something to send.

mod ahead;
mod chance;
mod framing;
mod jitter;
mod link;
mod loss;
pub mod medium;
mod propagation;
mod queue;
mod ring;
mod schedule;
mod service;
mod shaper;
mod slot_heap;
mod tcp_ack;
#[cfg(test)]
mod testing;
mod trace;
mod wifi;
mod wire;

use std::fmt;

pub use chance::{Chance, Chances};
pub use framing::{Framing, LinkLayer};
pub use jitter::{Early, Jitter, JitterModel, Shape, Slots, Spread};
pub use link::{Link, LinkSettings};
pub use loss::LossModel;
pub use propagation::Propagation;
pub use queue::*;
pub use service::{Offered, Service};
pub use shaper::TokenBucket;
pub use slot_heap::{Ranked, SlotHeap};
pub use tcp_ack::{AckBlocks, TcpAck};
pub use trace::{OPPORTUNITY, Trace, TraceError};
use units::{Bytes, Ecn, Time};
pub use wire::Wire;

/// The purpose of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// It carries data, or acknowledges them.
    #[default]
    Data,
    /// It opens a connection.
    Opening,
    /// It closes one.
    Closing,
}

/// The packet that a link carries: a simulated segment, or the bytes of a real packet.
pub trait Packet: fmt::Debug + Send + 'static {
    /// Its size on the link, headers included.
    fn size(&self) -> Bytes;

    /// The ECN field of its IP header.
    fn ecn(&self) -> Ecn;

    /// The flow it belongs to, by which a fair queue distinguishes flows. Such a queue has a place for every number up
    /// to the highest, so numbers must be small. A simulated flow has its index. A real packet has a hash of protocol,
    /// addresses and ports, modulo some thousand (as in stochastic fairness queueing, McKenney 1990).
    fn flow(&self) -> u32;

    /// The place of its hosts and its code point among the classes of a link ([`Link::with_classes`]).
    fn class(&self) -> u32 {
        0
    }

    /// Its purpose, by which lists of lost packets count.
    fn purpose(&self) -> Purpose {
        Purpose::Data
    }

    /// The fields that a filter of ACKs compares, if it is a segment of an open TCP connection.
    fn tcp_ack(&self) -> Option<TcpAck> {
        None
    }

    /// A second packet like it, if duplicates are possible, or `None` for a packet that cannot be duplicated.
    fn duplicate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Marks it: [`Ecn::Congestion`]. Only called for an ECN-capable packet.
    fn mark_congestion(&mut self);

    /// Clears its ECN field: [`Ecn::NotCapable`].
    fn clear_ecn(&mut self);
}

/// The hosts and the code point by which CAKE distinguishes packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowClass {
    /// The host that sends them, and the one that receives them, by small numbers.
    pub hosts: [u32; 2],
    /// The code point of DiffServ (RFC 2474), up to 63.
    pub dscp: u8,
}

/// When a packet passed the stages of a link, and the queue that it left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// It was offered to the link.
    pub arrived: Time,
    /// Its service started: it left the queue.
    pub start: Time,
    /// Its last bit leaves, or [`Time::NEVER`] if the link never serves it out. Never before `start`, and often in the
    /// future.
    pub finish: Time,
    /// Packets waiting at `start`, without this one.
    pub queued_packets: u32,
    /// Their size.
    pub queued_bytes: Bytes,
}

/// Why a packet left a link without being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// It arrived, and an impairment lost it.
    Lost,
    /// It arrived at a full queue.
    Full,
    /// It arrived, and the queue dropped it before it was full (active queue management, RFC 7567).
    Early,
    /// It waited, and was dropped to make room for another.
    Evicted,
    /// It waited, and the queue dropped it when its turn came (active queue management at the head, as in RFC 8289).
    Head,
    /// It was sent over a wireless medium as often as is allowed, and never acknowledged.
    Retries,
}

/// The observer of a link: gets a report of each event of a packet, with its own instant.
///
/// Every packet that is offered is taken or discarded, and every one that was taken departs, is discarded, or waits for
/// ever. Reports of one link come in the order of time, though some of them late: see [`Link::advance`]. A closure of a
/// packet and its [`Departure`] observes departures alone.
pub trait Egress<P> {
    /// `packet` was taken at `at` and waits, one of `queued` packets. If its service starts at once, `queued` is 0. It
    /// is as it arrived. If `marked`, [`Egress::mark`] follows.
    #[inline]
    fn take(&mut self, packet: &P, at: Time, marked: bool, queued: u32) {
        let _ = (packet, at, marked, queued);
    }

    /// `packet` was marked at `at`, when it arrived or when its service starts, and `queued` wait.
    #[inline]
    fn mark(&mut self, packet: &P, at: Time, queued: u32) {
        let _ = (packet, at, queued);
    }

    /// The service of `packet` starts. Called in the order of service.
    fn depart(&mut self, packet: P, departure: Departure);

    /// `packet` left the link at `at` without service, and `queued` still wait.
    #[inline]
    fn discard(&mut self, packet: P, at: Time, why: Discard, queued: u32) {
        let _ = (packet, at, why, queued);
    }
}

impl<P, F: FnMut(P, Departure)> Egress<P> for F {
    #[inline]
    fn depart(&mut self, packet: P, departure: Departure) {
        self(packet, departure);
    }
}
