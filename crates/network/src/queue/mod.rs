//! The waiting room of a link: how much may wait, and who goes first.

mod backlog;
mod discipline;
mod drr;
mod fifo;
mod fq;
mod ranking;

use serde::{Deserialize, Serialize};
use units::{Bytes, Random, Span, Time};

pub use self::discipline::{Admission, Context, Count, Discipline, Served};
use self::drr::Deficit;
use self::fifo::Fifo;
use self::fq::Fair;
use crate::{Discard, Egress, Packet, Service};

/// How much may wait. [`DisciplineSettings`] says which packet is dropped when the queue is full.
///
/// Only a packet that has to wait is tested: one that finds the link idle goes straight into service and is
/// never dropped, however small the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Everything.
    #[default]
    Infinite,
    /// So many packets: full when that many are there.
    Packets(u32),
    /// So many bytes: full for a packet that would exceed it.
    Bytes(Bytes),
    /// As much as leaves within this time: full when what waits would take longer at the rate of the moment (of a trace,
    /// at its mean rate). While the rate is zero, whatever waits takes for ever, so at most one packet gets in.
    Delay(Span),
}

/// In which order packets are served, and which is dropped when one arrives at a full queue.
///
/// [`FairQueueing`](Self::FairQueueing) and [`DeficitRoundRobin`](Self::DeficitRoundRobin) give each flow
/// ([`Packet::flow`]) a queue of its own in the shared buffer, and drop the last packet of the longest queue, counted with the
/// one that arrives: of several longest that of the youngest last packet. Length is counted as the limit is: in packets
/// under a limit in packets, otherwise in bytes. That can take several packets that wait already, also for one that is
/// dropped in its turn, where large ones arrive among small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum DisciplineSettings {
    /// First in, first out; the packet that arrives is dropped (drop-tail).
    #[default]
    #[serde(rename = "fifo")]
    Fifo,
    /// The packet that would be through first if the flows were served bit by bit in turn (Demers, Keshav and Shenker 1990).
    #[serde(rename = "fq")]
    FairQueueing,
    /// Turns of so many bytes (Shreedhar and Varghese 1995).
    #[serde(rename = "drr")]
    DeficitRoundRobin {
        /// What a flow may send more at each turn; above zero.
        quantum: Bytes,
    },
}

impl DisciplineSettings {
    /// The discipline in a queue with `limit` in front of `service`; `None` for first in, first out, which a queue has in itself.
    fn build<P: Packet>(self, limit: Limit, service: &Service) -> Option<Box<dyn Discipline<P>>> {
        Some(match self {
            Self::Fifo => return None,
            Self::FairQueueing => Box::new(Fair::new(limit, service)),
            Self::DeficitRoundRobin { quantum } => Box::new(Deficit::new(limit, quantum)),
        })
    }
}

/// The queue of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueSettings {
    /// How much may wait.
    pub limit: Limit,
    /// Whether the packet in service takes room too, as in Mahimahi, where a packet stays in the queue until its
    /// opportunity; for a delay limit, what remains of its service.
    #[serde(default)]
    pub count_in_service: bool,
    /// An ECN-capable packet that finds at least so many packets waiting (not counting the one in service) is marked. A full
    /// queue drops it all the same.
    #[serde(default)]
    pub mark_above: Option<u32>,
    /// Who goes first, and who is dropped.
    #[serde(default)]
    pub discipline: DisciplineSettings,
}

/// A queue at work.
#[derive(Debug)]
pub(crate) struct Queue<P> {
    /// What waits first in, first out.
    fifo: Fifo<P>,
    /// Any other discipline. Boxed, and its calls never inlined, so that first in, first out stays lean.
    managed: Option<Box<Managed<P>>>,
    count: Count,
}

/// A discipline with what it needs.
#[derive(Debug)]
struct Managed<P> {
    discipline: Box<dyn Discipline<P>>,
    random: Random,
    /// Dropped and not yet reported: how many waited after each.
    dropped: Vec<(P, u32)>,
}

impl<P: Packet> Queue<P> {
    pub(crate) fn new(settings: QueueSettings, service: &Service, random: Random) -> Self {
        match settings.discipline.build(settings.limit, service) {
            None => Self { fifo: Fifo::new(), managed: None, count: Count::default() },
            Some(discipline) => Self::managed(discipline, random),
        }
    }

    pub(crate) fn managed(discipline: Box<dyn Discipline<P>>, random: Random) -> Self {
        let managed = Some(Box::new(Managed { discipline, random, dropped: Vec::new() }));
        Self { fifo: Fifo::new(), managed, count: Count::default() }
    }

    /// Whether packets may be dropped when their turn comes.
    #[inline]
    pub(crate) const fn is_managed(&self) -> bool {
        self.managed.is_some()
    }

    /// What becomes of `packet`, for which there is room.
    #[inline]
    pub(crate) fn admit(&mut self, now: Time, packet: &P) -> Admission {
        if self.managed.is_none() {
            return Admission::Take;
        }
        self.ask(now, |discipline, cx| discipline.admit(packet, cx)).unwrap_or(Admission::Take)
    }

    /// Drops one or more packets for `packet`; false if it is `packet` that is to be dropped.
    pub(crate) fn make_room(&mut self, now: Time, packet: &P) -> bool {
        let before = self.count.packets;
        self.ask(now, |discipline, cx| discipline.make_room(packet, cx));
        self.count.packets < before
    }

    /// `packet` found nothing waiting and the link idle: it is served at once.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: &P) {
        if self.managed.is_some() {
            self.ask(now, |discipline, cx| discipline.pass(packet, cx));
        }
    }

    /// `packet` waits.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, packet: P, out: &mut impl Egress<P>) {
        self.count.add(&packet);
        if self.managed.is_none() {
            return self.fifo.push(now, packet);
        }
        self.ask(now, |discipline, cx| discipline.push(packet, cx));
        self.report_evicted(now, out);
    }

    /// The packet whose service starts, with the time of its arrival.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time, out: &mut impl Egress<P>) -> Option<(P, Time)> {
        if self.managed.is_some() {
            return self.pop_managed(now, out);
        }
        let (packet, arrived) = self.fifo.pop()?;
        self.count.remove(&packet);
        Some((packet, arrived))
    }

    #[inline(never)]
    fn pop_managed(&mut self, now: Time, out: &mut impl Egress<P>) -> Option<(P, Time)> {
        // What a discipline does must not depend on how often somebody looks at an empty queue.
        if self.count.packets == 0 {
            return None;
        }
        let served = self.ask(now, |discipline, cx| discipline.pop(cx)).flatten();
        for (packet, queued) in self.managed.iter_mut().flat_map(|managed| managed.dropped.drain(..)) {
            out.discard(packet, now, Discard::Head, queued);
        }
        let Served { mut packet, arrived, marked } = served?;
        self.count.remove(&packet);
        if marked {
            packet.mark_congestion();
            out.mark(&packet, now, self.count.packets);
        }
        Some((packet, arrived))
    }

    /// Tells `out` of what was dropped for a packet that arrived at `now`.
    #[inline(never)]
    pub(crate) fn report_evicted(&mut self, now: Time, out: &mut impl Egress<P>) {
        let queued = self.count.packets;
        for (packet, _) in self.managed.iter_mut().flat_map(|managed| managed.dropped.drain(..)) {
            out.discard(packet, now, Discard::Evicted, queued);
        }
    }

    /// Calls the discipline, if there is one.
    #[inline(never)]
    fn ask<T>(&mut self, now: Time, call: impl FnOnce(&mut dyn Discipline<P>, &mut Context<'_, P>) -> T) -> Option<T> {
        let Managed { discipline, random, dropped } = self.managed.as_deref_mut()?;
        Some(call(discipline.as_mut(), &mut Context { now, random, count: &mut self.count, dropped }))
    }

    /// How many wait.
    #[inline]
    pub(crate) const fn packets(&self) -> u32 {
        self.count.packets
    }

    /// Their size.
    #[inline]
    pub(crate) const fn bytes(&self) -> Bytes {
        self.count.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_as_a_file_spells_them() {
        let read = serde_json::from_str::<QueueSettings>;
        let plain = QueueSettings { limit: Limit::Packets(84), ..QueueSettings::default() };
        assert_eq!(read(r#"{"limit": {"packets": 84}}"#).unwrap(), plain);
        let full = QueueSettings {
            limit: Limit::Bytes(Bytes::new(64_000)),
            count_in_service: true,
            mark_above: Some(9),
            discipline: DisciplineSettings::DeficitRoundRobin { quantum: Bytes::new(600) },
        };
        let text = r#"{"limit": {"bytes": "64kB"}, "count_in_service": true, "mark_above": 9, "discipline": {"drr": {"quantum": "600B"}}}"#;
        assert_eq!(read(text).unwrap(), full);
        assert!(read(r#"{"limit": "infinite", "size": 3}"#).is_err());
    }
}
