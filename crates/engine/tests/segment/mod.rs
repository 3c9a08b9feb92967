//! A packet of tests, which goes one step.

use engine::Routed;
use network::Packet;
use units::{Bytes, Ecn};

/// A packet on its first step.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) size: u64,
    /// Links may duplicate it.
    pub(crate) twice: bool,
}

impl Packet for Segment {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }
    fn flow(&self) -> u32 {
        0
    }
    fn duplicate(&self) -> Option<Self> {
        self.twice.then_some(Self { ..*self })
    }
    fn mark_congestion(&mut self) {}
    fn clear_ecn(&mut self) {}
}

impl Routed for Segment {
    fn step(&self) -> u32 {
        0
    }
    fn next_step(&mut self) {}
    fn sequence(&self) -> Option<u64> {
        Some(0)
    }
}
