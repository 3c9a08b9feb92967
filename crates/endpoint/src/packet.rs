//! The packets that an endpoint takes and gives.

use serde::{Deserialize, Serialize};
use units::Ecn;

/// A TCP packet without its payload. Sequence numbers count from the SYN of their side, which is 0, and never wrap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Packet {
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// ACK: `acknowledged` counts.
    pub ack: bool,
    /// PSH.
    pub push: bool,
    /// RST.
    pub reset: bool,
    /// ECE (RFC 3168).
    pub echo: bool,
    /// CWR (RFC 3168).
    pub reduced: bool,
    /// The ECN field of the IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE.
    pub codepoint: u8,
    /// The number of the first byte.
    pub sequence: u64,
    /// Every byte below this number of the other side has arrived.
    pub acknowledged: u64,
    /// Bytes of payload.
    pub payload: u32,
    /// The window field, not scaled.
    pub window: u32,
    /// TCP options.
    pub options: PacketOptions,
}

/// The TCP options of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PacketOptions {
    /// The largest segment, in bytes (MSS).
    pub segment_size: Option<u16>,
    /// The shift of the window field (RFC 7323).
    pub window_scale: Option<u8>,
    /// SACK may be sent (RFC 2018).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks [start, end), as numbers of bytes.
    pub sack: Vec<(u64, u64)>,
}

/// The timestamp option, in ticks of a millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timestamps {
    /// TSval.
    pub value: u32,
    /// TSecr.
    pub echo: u32,
}

impl Packet {
    /// The ECN field of the IP header.
    pub(crate) fn ecn(&self) -> Ecn {
        Ecn::of(self.codepoint)
    }
}

/// Why a packet cannot be taken: it needs something that is not modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub &'static str);
