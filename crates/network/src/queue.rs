//! The waiting room of a link: first in, first out, with room for so much.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use units::{Bytes, Span, Time};

use crate::Packet;

/// How much may wait. An arriving packet that finds the queue full is dropped (drop-tail).
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
        let plain = QueueSettings { limit: Limit::Packets(84), count_in_service: false, mark_above: None };
        assert_eq!(read(r#"{"limit": {"packets": 84}}"#).unwrap(), plain);
        let full =
            QueueSettings { limit: Limit::Bytes(Bytes::new(64_000)), count_in_service: true, mark_above: Some(9) };
        assert_eq!(read(r#"{"limit": {"bytes": "64kB"}, "count_in_service": true, "mark_above": 9}"#).unwrap(), full);
        assert!(read(r#"{"limit": "infinite", "size": 3}"#).is_err());
    }
}
