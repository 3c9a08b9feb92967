//! The waiting room of a link: how much may wait, and who goes first.

mod backlog;
mod drr;
mod fq;
mod ranking;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use units::{Bytes, Span, Time};

use self::drr::Deficit;
use self::fq::Fair;
use crate::{Packet, Service};

/// How much may wait. [`Discipline`] says which packet is dropped when the queue is full.
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
pub enum Discipline {
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
    pub discipline: Discipline,
}

/// A queue at work.
#[derive(Clone, Debug)]
pub(crate) struct Queue<P> {
    /// Packets in the order of their arrival, each with the time of it, unless flows are told apart.
    fifo: VecDeque<(P, Time)>,
    by_flow: Option<Box<ByFlow<P>>>,
    packets: u32,
    bytes: Bytes,
}

/// What waits where flows are told apart. Never inlined, so that first come, first served stays lean.
#[derive(Clone, Debug)]
enum ByFlow<P> {
    Fair(Fair<P>),
    Deficit(Deficit<P>),
}

impl<P: Packet> Queue<P> {
    pub(crate) fn new(settings: QueueSettings, service: &Service) -> Self {
        let by_flow = match settings.discipline {
            Discipline::Fifo => None,
            Discipline::FairQueueing => Some(ByFlow::Fair(Fair::new(settings.limit, service))),
            Discipline::DeficitRoundRobin { quantum } => Some(ByFlow::Deficit(Deficit::new(settings.limit, quantum))),
        };
        Self { fifo: VecDeque::new(), by_flow: by_flow.map(Box::new), packets: 0, bytes: Bytes::ZERO }
    }

    /// `packet` waits.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, packet: P) {
        self.packets += 1;
        self.bytes += packet.size();
        match &mut self.by_flow {
            None => self.fifo.push_back((packet, now)),
            Some(by_flow) => by_flow.push(now, packet),
        }
    }

    /// The packet whose service starts, with the time of its arrival.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(P, Time)> {
        let (packet, arrived) = match &mut self.by_flow {
            None => self.fifo.pop_front(),
            Some(by_flow) => by_flow.pop(),
        }?;
        self.packets -= 1;
        self.bytes = self.bytes - packet.size();
        Some((packet, arrived))
    }

    /// `packet` found nothing waiting and the link idle: it is served at once.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: &P) {
        if let Some(by_flow) = &mut self.by_flow {
            by_flow.pass(now, packet);
        }
    }

    /// Makes room for `packet` at the cost of one that waits; `None` if `packet` is the one to be dropped.
    #[inline]
    pub(crate) fn evict_for(&mut self, now: Time, packet: &P) -> Option<P> {
        let evicted = self.by_flow.as_mut()?.evict_for(now, packet)?;
        self.packets -= 1;
        self.bytes = self.bytes - evicted.size();
        Some(evicted)
    }

    /// How many wait.
    #[inline]
    pub(crate) const fn packets(&self) -> u32 {
        self.packets
    }

    /// Their size.
    #[inline]
    pub(crate) const fn bytes(&self) -> Bytes {
        self.bytes
    }
}

impl<P: Packet> ByFlow<P> {
    #[inline(never)]
    fn push(&mut self, now: Time, packet: P) {
        match self {
            Self::Fair(fair) => fair.push(now, packet),
            Self::Deficit(deficit) => deficit.push(now, packet),
        }
    }

    #[inline(never)]
    fn pop(&mut self) -> Option<(P, Time)> {
        match self {
            Self::Fair(fair) => fair.pop(),
            Self::Deficit(deficit) => deficit.pop(),
        }
    }

    #[inline(never)]
    fn pass(&mut self, now: Time, packet: &P) {
        if let Self::Fair(fair) = self {
            fair.pass(now, packet);
        }
    }

    #[inline(never)]
    fn evict_for(&mut self, now: Time, packet: &P) -> Option<P> {
        match self {
            Self::Fair(fair) => fair.evict_for(now, packet),
            Self::Deficit(deficit) => deficit.evict_for(packet),
        }
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
            discipline: Discipline::DeficitRoundRobin { quantum: Bytes::new(600) },
        };
        let text = r#"{"limit": {"bytes": "64kB"}, "count_in_service": true, "mark_above": 9, "discipline": {"drr": {"quantum": "600B"}}}"#;
        assert_eq!(read(text).unwrap(), full);
        assert!(read(r#"{"limit": "infinite", "size": 3}"#).is_err());
    }
}
