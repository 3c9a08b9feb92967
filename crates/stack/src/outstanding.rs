//! The packets of a connection that are neither acknowledged nor lost, for a stack that names no lost packets.

use std::collections::VecDeque;

/// A packet that asks for an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The number by which the stack knows it.
    pub number: u64,
    /// When it left.
    pub sent: u64,
    /// Its bytes.
    pub size: u16,
}

/// The outstanding packets.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    /// From the oldest on.
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Outstanding {
    /// A packet leaves, whose number is above all others.
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back(packet);
    }

    /// Removes and returns the packets with numbers from `first` to `last`, which are acknowledged.
    pub fn acknowledge(&mut self, first: u64, last: u64) -> impl Iterator<Item = Packet> {
        let from = self.packets.partition_point(|packet| packet.number < first);
        let to = self.packets.partition_point(|packet| packet.number <= last);
        self.packets.drain(from..to).inspect(|packet| self.bytes -= u64::from(packet.size))
    }

    /// Removes and returns the packets with `bytes` in all that are deemed lost: the oldest ones, as every threshold
    /// that passes a packet has passed those before it.
    pub fn lose(&mut self, bytes: u64) -> Vec<Packet> {
        let mut left = bytes;
        let mut lost = Vec::new();
        while left > 0
            && let Some(packet) = self.packets.pop_front()
        {
            self.bytes -= u64::from(packet.size);
            left = left.saturating_sub(packet.size.into());
            lost.push(packet);
        }
        lost
    }

    /// The bytes of all.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u64>) -> Outstanding {
        let mut packets = Outstanding::default();
        numbers.into_iter().for_each(|number| packets.push(Packet { number, sent: 10 * number, size: 1000 }));
        packets
    }

    #[test]
    fn acknowledged_packets_leave_by_their_numbers_and_lost_ones_by_their_bytes() {
        let mut packets = of([1, 2, 5, 6, 9]);
        let acknowledged: Vec<u64> = packets.acknowledge(2, 5).map(|packet| packet.sent).collect();
        assert_eq!((acknowledged, packets.bytes()), (vec![20, 50], 3000));
        assert_eq!(packets.acknowledge(2, 5).count() + packets.acknowledge(7, 8).count(), 0);
        let lost: Vec<u64> = packets.lose(1001).into_iter().map(|packet| packet.number).collect();
        assert_eq!((lost, packets.lose(0), packets.bytes()), (vec![1, 6], vec![], 1000));
        assert_eq!(packets.lose(5000).len(), 1);
    }
}
