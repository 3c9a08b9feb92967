//! A packet of tests.

use engine::Routed;
use network::Packet;
use units::{Bytes, Ecn};

/// A packet on a step of its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) size: u64,
    /// Links may duplicate it.
    pub(crate) twice: bool,
    /// The step that it is on.
    pub(crate) step: u32,
    pub(crate) ecn: Ecn,
}

impl From<u64> for Segment {
    /// A packet of so many bytes on the first step, which no link duplicates or marks.
    fn from(size: u64) -> Self {
        Self { size, twice: false, step: 0, ecn: Ecn::NotCapable }
    }
}

impl Packet for Segment {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn flow(&self) -> u32 {
        0
    }
    fn duplicate(&self) -> Option<Self> {
        self.twice.then_some(*self)
    }
    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Congestion;
    }
    fn clear_ecn(&mut self) {
        self.ecn = Ecn::NotCapable;
    }
}

impl Routed for Segment {
    fn step(&self) -> u32 {
        self.step
    }
    fn next_step(&mut self) {
        self.step += 1;
    }
    fn sequence(&self) -> Option<u64> {
        Some(0)
    }
}
