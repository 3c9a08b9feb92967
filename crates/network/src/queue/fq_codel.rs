//! FQ-CoDel: flow queues by deficit round robin, each under CoDel (RFC 8290).
//!
//! A hash spreads flows over `flows` queues. A queue that begins to wait is new: it is served before the old ones until
//! it has sent a quantum, so that flows of few packets do not wait behind others. When the buffer is full, the queue
//! with most bytes loses packets from its head.
//!
//! | RFC 8290 | here |
//! | --- | --- |
//! | section 4.1: enqueue, classification, full buffer | [`FqCodel::push`], [`Turns::queue_of`], `make_room` |
//! | section 4.2: dequeue from new and old queues | [`Turns::pop`] |
//!
//! As in Linux, and open in the RFC: CoDel's rule for the last MTU looks at all that waits, not at the flow's own
//! queue. Packets that a full buffer loses count for the queue's CoDel. Up to `drop_batch` of them go at a time, until
//! half of that queue is gone. The quantum is a full packet (Linux's 1514 bytes have the Ethernet header that its
//! packets have, ours are IP packets of 1500). Which queue a flow gets is random, drawn once for each link: two flows
//! share one with probability 1/`flows`. Different: `memory_limit` counts the bytes of packets, in Linux the memory
//! that holds them, about half as much again.

use units::packet::MTU;
use units::{Bytes, Span};

use super::codel::{Codel, CodelSettings};
use super::tc::{Dialect, settings};
use super::turns::{LARGEST_QUANTUM, Turns, Waiting};
use super::{Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

settings! {
    /// What a scenario says about FQ-CoDel, named as in `tc`.
    #[derive(Eq)]
    pub struct FqCodelSettings in "fq_codel", limit packets {
        /// Number of queues; by default 1024.
        flows: u32 = 1024, value, from 1, to 65_536;
        /// What a queue may send at each turn; by default 1500B.
        quantum: Bytes = MTU, value, from Bytes::new(1), to LARGEST_QUANTUM;
        /// How long packets of a flow may wait in the long run; by default 5ms.
        target: Span = CodelSettings::default().target, value, from Span::ZERO, to Span::LONGEST_WAIT;
        /// For how long the wait may be above it: about the longest round-trip time; by default 100ms.
        interval: Span = CodelSettings::default().interval, value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// How many bytes may wait, besides the limit of the queue; by default 32MiB.
        memory_limit: Bytes = Bytes::new(32 << 20), value, from Bytes::new(1), to Bytes::LARGEST;
        /// How many packets a full buffer loses at a time, at most; by default 64.
        drop_batch: u32 = 64, value, from 1, to 1_000_000;
        /// Every ECN-capable packet that waited longer is marked; by default none is for this.
        ce_threshold: Option<Span> = None, value, from Span::ZERO, to Span::LONGEST_WAIT;
        /// Whether ECN-capable packets are marked in place of dropped; by default they are.
        ecn: bool = true, words("ecn" = true, "noecn" = false);
    }
    refused {
        "ce_threshold_selector" = "`ce_threshold` is for every ECN-capable packet";
    }
}

impl FqCodelSettings {
    /// The settings of each queue's CoDel.
    const fn codel(&self) -> CodelSettings {
        let Self { target, interval, ecn, ce_threshold, .. } = *self;
        CodelSettings { target, interval, ecn, ce_threshold }
    }
}

impl Settings for FqCodelSettings {
    const DEFAULT_LIMIT: Option<Limit> = Some(Limit::Packets(10_240));
    const TC: Option<Dialect<Self>> = Some(Self::DIALECT);

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, _limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(FqCodel::new(*self))
    }
}

/// Flow queues at work.
#[derive(Debug)]
pub(crate) struct FqCodel<P> {
    settings: FqCodelSettings,
    codel: CodelSettings,
    queues: Vec<FlowQueue<P>>,
    turns: Turns,
}

#[derive(Debug)]
struct FlowQueue<P> {
    waiting: Waiting<P>,
    codel: Codel,
}

impl<P: Packet> FqCodel<P> {
    /// # Panics
    /// If there is no queue, or the quantum is zero.
    pub(crate) fn new(settings: FqCodelSettings) -> Self {
        let queue = |_| FlowQueue { waiting: Waiting::default(), codel: Codel::default() };
        Self {
            settings,
            codel: settings.codel(),
            queues: (0..settings.flows).map(queue).collect(),
            turns: Turns::new(settings.flows, settings.quantum),
        }
    }

    /// Drops packets from the head of the queue with most bytes: half of it, at most a batch. `packet` would go into
    /// queue `own`.
    fn drop_from_fattest(&mut self, own: u32, packet: Bytes, cx: &mut Context<'_, P>) {
        let bytes = |index: u32| self.queues[index as usize].waiting.bytes();
        let (index, length) =
            self.turns.longest(own, |index| bytes(index) + if index == own { packet } else { Bytes::ZERO });
        let queue = &mut self.queues[index as usize];
        let (mut dropped, mut bytes) = (0, Bytes::ZERO);
        while let Some((packet, _)) = queue.waiting.pop() {
            bytes += packet.size();
            dropped += 1;
            cx.drop(packet);
            if dropped == self.settings.drop_batch || bytes.get() >= length.get() / 2 {
                break;
            }
        }
        queue.codel.count_drops(dropped);
    }
}

impl<P: Packet> Discipline<P> for FqCodel<P> {
    fn make_room(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        let own = self.turns.queue_of(packet, cx);
        self.drop_from_fattest(own, packet.size(), cx);
    }

    fn pass(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        // Every queue was found empty since.
        for index in self.turns.listed() {
            self.queues[index as usize].codel.empty();
        }
        self.turns.clear();
        let index = self.turns.queue_of(packet, cx);
        self.turns.list(index);
        self.turns.spend(index, packet.size());
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        let index = self.turns.queue_of(&packet, cx);
        self.queues[index as usize].waiting.push(cx.now, packet);
        self.turns.list(index);
        while cx.waiting().bytes > self.settings.memory_limit {
            self.drop_from_fattest(index, Bytes::ZERO, cx);
        }
    }

    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        let Self { codel: settings, queues, turns, .. } = self;
        turns.pop(|index| {
            let FlowQueue { waiting, codel } = &mut queues[index as usize];
            codel.pop(settings, cx, || waiting.pop())
        })
    }
}

#[cfg(test)]
mod tests {
    use units::Time;

    use super::*;
    use crate::testing::{Driven, Parcel};

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn queue(settings: FqCodelSettings) -> Driven<FqCodel<Parcel>> {
        Driven::new(FqCodel::new(settings))
    }

    /// The flows of the next `count` packets served at `now`.
    fn flows(queue: &mut Driven<FqCodel<Parcel>>, now: Time, count: usize) -> Vec<u32> {
        (0..count).filter_map(|_| queue.pop(now)).map(|served| served.packet.flow).collect()
    }

    #[test]
    fn a_new_flow_is_served_before_the_old_ones() {
        let mut queue = queue(FqCodelSettings::default());
        for flow in [1, 1, 1, 1, 2, 2, 2, 2] {
            queue.push(Time::ZERO, Parcel::of(flow, 1500));
        }
        // A quantum is a full packet: one of each in turn.
        assert_eq!(flows(&mut queue, ms(1), 4), [1, 2, 1, 2]);
        queue.push(ms(1), Parcel::of(3, 100));
        assert_eq!(flows(&mut queue, ms(1), 5), [3, 1, 2, 1, 2]);
    }

    #[test]
    fn turns_share_bytes_not_packets() {
        let mut queue = queue(FqCodelSettings::default());
        for _ in 0..30 {
            queue.push(Time::ZERO, Parcel::of(1, 1500));
            (0..3).for_each(|_| queue.push(Time::ZERO, Parcel::of(2, 500)));
        }
        let served = flows(&mut queue, ms(1), 80);
        let large = served.iter().filter(|&&flow| flow == 1).count();
        // 20 turns each: 20 packets of 1500 bytes and 60 of 500.
        assert_eq!((large, served.len() - large), (20, 60));
    }

    #[test]
    fn a_sparse_flow_cannot_jump_the_queue_again_and_again() {
        let mut queue = queue(FqCodelSettings { quantum: Bytes::new(1514), ..FqCodelSettings::default() });
        (0..10).for_each(|_| queue.push(Time::ZERO, Parcel::of(1, 1500)));
        assert_eq!(flows(&mut queue, ms(1), 2), [1, 1]);
        queue.push(ms(1), Parcel::of(2, 1000));
        assert_eq!(flows(&mut queue, ms(1), 1), [2]);
        // It came back before it was seen empty: still the same turn, and 514 bytes are left of its quantum.
        queue.push(ms(1), Parcel::of(2, 1000));
        assert_eq!(flows(&mut queue, ms(1), 1), [2]);
        // In debt by 486 bytes now, it is an old flow, behind flow 1.
        queue.push(ms(1), Parcel::of(2, 1000));
        assert_eq!(flows(&mut queue, ms(1), 3), [1, 2, 1]);
    }

    #[test]
    fn a_full_buffer_takes_half_of_the_longest_queue_from_its_head() {
        let mut queue = queue(FqCodelSettings::default());
        for number in 0..8 {
            queue.push(Time::ZERO, Parcel { flow: 1, ..Parcel::full(number) });
        }
        queue.push(Time::ZERO, Parcel { flow: 2, ..Parcel::full(100) });
        // 12000 bytes: four packets are half.
        let dropped = queue.make_room(ms(1), Parcel { flow: 2, ..Parcel::full(101) });
        assert_eq!(dropped.iter().map(|packet| packet.number).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn a_batch_bounds_what_a_full_buffer_takes() {
        let mut queue = queue(FqCodelSettings { drop_batch: 3, ..FqCodelSettings::default() });
        (0..100).for_each(|number| queue.push(Time::ZERO, Parcel::full(number)));
        assert_eq!(queue.make_room(ms(1), Parcel::full(100)).len(), 3);
    }

    #[test]
    fn the_limit_in_bytes_holds_besides_that_in_packets() {
        let mut queue = queue(FqCodelSettings { memory_limit: Bytes::new(6000), ..FqCodelSettings::default() });
        (0..4).for_each(|number| queue.push(Time::ZERO, Parcel::full(number)));
        assert!(queue.dropped().is_empty());
        queue.push(Time::ZERO, Parcel::full(4));
        // Half of 7500 bytes is 3750: three packets.
        assert_eq!(queue.dropped().iter().map(|packet| packet.number).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_full_buffer_of_single_bytes_loses_one() {
        let mut queue = queue(FqCodelSettings { memory_limit: Bytes::new(1), ..FqCodelSettings::default() });
        queue.push(Time::ZERO, Parcel::of(1, 1));
        queue.push(Time::ZERO, Parcel::of(2, 1));
        // Half of a queue of one byte is nothing, yet a packet has to go.
        assert_eq!(queue.dropped().len(), 1);
    }

    #[test]
    fn each_queue_has_a_codel_of_its_own() {
        let mut queue = queue(FqCodelSettings { ecn: false, ..FqCodelSettings::default() });
        (0..1000).for_each(|_| queue.push(Time::ZERO, Parcel::of(1, 1500)));
        let mut dropped = Vec::new();
        for at in 0..300 {
            if at % 3 == 0 {
                queue.push(ms(at), Parcel::of(2, 100));
            }
            assert!(queue.pop(ms(at)).is_some());
            dropped.extend(queue.dropped().iter().map(|packet| packet.flow));
        }
        // A packet of flow 2 waits for the turn of flow 1, at most two packets.
        assert!(!dropped.is_empty() && dropped.iter().all(|&flow| flow == 1), "{dropped:?}");
    }

    #[test]
    fn flows_spread_over_the_queues() {
        let mut queue = queue(FqCodelSettings { flows: 16, ..FqCodelSettings::default() });
        for flow in 0..160 {
            queue.push(Time::ZERO, Parcel::of(flow, 100));
        }
        let used = queue.discipline.queues.iter().filter(|queue| queue.waiting.packets() > 0).count();
        // All 16 are missed by none of 160 flows but with probability `16 * (15/16)^160 = 5e-4`.
        assert_eq!(used, 16);
    }
}
