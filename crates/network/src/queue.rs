//! The waiting room of a link: how much may wait, and who goes first.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use units::{Bytes, Span, Time};

use crate::deficit::Deficit;
use crate::fair::Fair;
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
pub(crate) enum Queue<P> {
    Fifo(Fifo<P>),
    Fair(Box<Fair<P>>),
    Deficit(Box<Deficit<P>>),
}

impl<P: Packet> Queue<P> {
    pub(crate) fn new(settings: QueueSettings, service: &Service) -> Self {
        match settings.discipline {
            Discipline::Fifo => Self::Fifo(Fifo::new()),
            Discipline::FairQueueing => Self::Fair(Box::new(Fair::new(settings.limit, service))),
            Discipline::DeficitRoundRobin { quantum } => Self::Deficit(Box::new(Deficit::new(settings.limit, quantum))),
        }
    }

    /// `packet` waits.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, packet: P) {
        match self {
            Self::Fifo(fifo) => fifo.push(now, packet),
            Self::Fair(fair) => fair.push(now, packet),
            Self::Deficit(deficit) => deficit.push(now, packet),
        }
    }

    /// The packet whose service starts, with the time of its arrival.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(P, Time)> {
        match self {
            Self::Fifo(fifo) => fifo.pop(),
            Self::Fair(fair) => fair.pop(),
            Self::Deficit(deficit) => deficit.pop(),
        }
    }

    /// `packet` found nothing waiting and the link idle: it is served at once.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: &P) {
        if let Self::Fair(fair) = self {
            fair.pass(now, packet);
        }
    }

    /// Makes room for `packet` at the cost of one that waits; `None` if `packet` is the one to be dropped.
    #[inline]
    pub(crate) fn evict_for(&mut self, now: Time, packet: &P) -> Option<P> {
        match self {
            Self::Fifo(_) => None,
            Self::Fair(fair) => fair.evict_for(now, packet),
            Self::Deficit(deficit) => deficit.evict_for(packet),
        }
    }

    /// How many wait.
    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        match self {
            Self::Fifo(fifo) => fifo.packets(),
            Self::Fair(fair) => fair.packets(),
            Self::Deficit(deficit) => deficit.packets(),
        }
    }

    /// Their size.
    #[inline]
    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Self::Fifo(fifo) => fifo.bytes(),
            Self::Fair(fair) => fair.bytes(),
            Self::Deficit(deficit) => deficit.bytes(),
        }
    }
}

/// Packets in the order of their arrival, each with the time of it.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    waiting: VecDeque<(P, Time)>,
    bytes: Bytes,
}

impl<P: Packet> Fifo<P> {
    pub(crate) const fn new() -> Self {
        Self { waiting: VecDeque::new(), bytes: Bytes::ZERO }
    }

    #[inline]
    pub(crate) fn push(&mut self, now: Time, packet: P) {
        self.bytes += packet.size();
        self.waiting.push_back((packet, now));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(P, Time)> {
        let (packet, arrived) = self.waiting.pop_front()?;
        self.bytes = self.bytes - packet.size();
        Some((packet, arrived))
    }

    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        self.waiting.len() as u32
    }

    #[inline]
    pub(crate) const fn bytes(&self) -> Bytes {
        self.bytes
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
