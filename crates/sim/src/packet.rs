//! What travels in a simulated network.

use transport::{Acknowledgement, Data};
use units::{Bytes, Ecn};

/// The two kinds of segment. An acknowledgement is large, so it stays in one place ([`Acks`]) while its packet moves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Data(Data),
    Ack(AckSlot),
}

/// The place of an acknowledgement that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSlot(u32);

/// The acknowledgements under way.
#[derive(Debug, Default)]
pub(crate) struct Acks {
    slots: Vec<Acknowledgement>,
    free: Vec<u32>,
}

impl Acks {
    #[inline]
    pub(crate) fn insert(&mut self, ack: Acknowledgement) -> AckSlot {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = ack;
                AckSlot(slot)
            }
            None => {
                self.slots.push(ack);
                AckSlot(self.slots.len() as u32 - 1)
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, slot: AckSlot) -> &Acknowledgement {
        &self.slots[slot.0 as usize]
    }

    /// The acknowledgement arrived or was lost: its place is free for the next one.
    #[inline]
    pub(crate) fn take(&mut self, slot: AckSlot) -> &Acknowledgement {
        self.free.push(slot.0);
        &self.slots[slot.0 as usize]
    }
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) flow: u32,
    /// The step of its route that it is on.
    pub(crate) step: u32,
    pub(crate) size: u32,
    pub(crate) ecn: Ecn,
    pub(crate) body: Body,
}

impl network::Packet for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Congestion;
    }
}

impl engine::Routed for Packet {
    #[inline]
    fn step(&self) -> u32 {
        self.step
    }

    #[inline]
    fn next_step(&mut self) {
        self.step += 1;
    }

    fn sequence(&self) -> Option<u64> {
        match self.body {
            Body::Data(data) => Some(data.sequence),
            Body::Ack(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_small_enough_to_be_moved_about() {
        assert!(size_of::<Packet>() <= 40, "{}", size_of::<Packet>());
    }
}
