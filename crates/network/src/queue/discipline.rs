//! A queue discipline: which packet is served next, and which are marked or dropped.

use std::fmt;

use units::{Bytes, Random, Time};

use crate::{FlowClass, Framing, Packet};

/// A queue discipline at work, as a state machine without a clock. First in, first out needs none of this.
///
/// The link counts waiting packets, tests the limit and reports to its observer. A discipline decides. It is called in
/// the order of time, and [`pop`](Self::pop) at the instant at which a service starts, though the link may look at it
/// later.
pub trait Discipline<P: Packet>: fmt::Debug + Send {
    /// Decides on `packet`, which arrives and for which there is room.
    fn admit(&mut self, packet: &P, cx: &mut Context<'_, P>) -> Admission {
        let _ = (packet, cx);
        Admission::Take
    }

    /// `packet` arrives and the queue is full: drops one or more of those that wait ([`Context::drop`]), or none if it
    /// is `packet` that is to go. Asked again as long as there is no room.
    fn make_room(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        let _ = (packet, cx);
    }

    /// `packet` found nothing waiting and the link idle: its service starts at once.
    fn pass(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        let _ = (packet, cx);
    }

    /// `packet` waits. It is counted already. If there is too much now, the discipline may drop some
    /// ([`Context::drop`]).
    fn push(&mut self, packet: P, cx: &mut Context<'_, P>);

    /// The packet whose service starts. Others may be dropped before it ([`Context::drop`]). `None` only if nothing
    /// waits any more. Asked only while something waits. A discipline sees here, or at the next [`pass`](Self::pass),
    /// that the queue has emptied.
    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>>;
}

/// The decision on a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is taken.
    Take,
    /// It is taken and marked: only an answer to one that is ECN-capable ([`Ecn::is_capable`](units::Ecn::is_capable)).
    Mark,
    /// It is dropped early.
    Drop,
}

impl Admission {
    /// The decision on a packet by which a queue signals congestion: a mark where it may have one, else a drop.
    pub(super) const fn strike(markable: bool) -> Self {
        if markable { Self::Mark } else { Self::Drop }
    }
}

/// A packet whose service starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served<P> {
    /// The packet, without the mark.
    pub packet: P,
    /// When it arrived.
    pub arrived: Time,
    /// It is marked now: only for one that is ECN-capable.
    pub marked: bool,
}

/// The context of every call of a discipline.
#[derive(Debug)]
pub struct Context<'a, P> {
    /// The instant of the call.
    pub now: Time,
    /// The random stream of this queue.
    pub random: &'a mut Random,
    pub(crate) count: &'a mut Count,
    /// The bytes in service while a packet arrives, if they take room too.
    pub(crate) in_service: Bytes,
    pub(crate) dropped: &'a mut Vec<(P, u32)>,
    /// The classes of packets by [`Packet::class`].
    pub(crate) classes: &'a [FlowClass],
}

/// What waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u32,
    /// Their size.
    pub bytes: Bytes,
    /// Their size on the link, if it frames them.
    framed: Bytes,
    framing: Option<Framing>,
}

impl<P: Packet> Context<'_, P> {
    /// What waits. A packet counts until it is dropped, or answered by [`Discipline::pop`].
    pub fn waiting(&self) -> Count {
        *self.count
    }

    /// The bytes that an arrival finds: waiting bytes, and with `count_in_service` bytes in service.
    pub fn found(&self) -> Bytes {
        self.count.bytes + self.in_service
    }

    /// The hosts and the code point of `packet`.
    pub(crate) fn class_of(&self, packet: &P) -> FlowClass {
        self.classes.get(packet.class() as usize).copied().unwrap_or_default()
    }

    /// The bytes that a packet of `size` takes on the link.
    #[inline]
    pub fn on_link(&self, size: Bytes) -> Bytes {
        self.count.on_link(size)
    }

    /// Drops `packet`, which waited.
    pub fn drop(&mut self, packet: P) {
        self.count.remove(&packet);
        self.dropped.push((packet, self.count.packets));
    }
}

impl Count {
    /// Nothing waits before a link that frames packets so.
    pub(crate) fn before(framing: Option<Framing>) -> Self {
        Self { framing, ..Self::default() }
    }

    /// The bytes that a packet of `size` takes on the link.
    #[inline]
    pub(crate) fn on_link(&self, size: Bytes) -> Bytes {
        self.framing.as_ref().map_or(size, |framing| framing.on_link(size))
    }

    /// The bytes that all packets will take on the link.
    pub(crate) const fn all_on_link(&self) -> Bytes {
        if self.framing.is_some() { self.framed } else { self.bytes }
    }

    #[inline]
    pub(crate) fn add(&mut self, packet: &impl Packet) {
        self.packets += 1;
        self.bytes += packet.size();
        if let Some(framing) = &self.framing {
            self.framed += framing.on_link(packet.size());
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, packet: &impl Packet) {
        self.packets -= 1;
        self.bytes = self.bytes - packet.size();
        if let Some(framing) = &self.framing {
            self.framed = self.framed - framing.on_link(packet.size());
        }
    }
}
