//! Fair queueing, packet by packet (Demers, Keshav and Shenker 1990, "Analysis and Simulation of a Fair Queueing
//! Algorithm").
//!
//! The reference is a server that sends a bit of each active conversation in turn. Its round number R(t) counts those
//! turns, so dR/dt = rate / N(t) with N(t) active conversations. A packet of P bits that arrives at t would be through
//! at the finish number
//!
//! F = max(F of the packet before, R(t)) + P
//!
//! and the real server, which sends whole packets, always takes the one with the smallest finish number. One in service
//! is not interrupted.
//!
//! R(t) is followed by iterated deletion: a conversation is active until R reaches the finish number of its last
//! packet. As each becomes inactive, R goes faster for the rest. All numbers are integers in units of 10^-9 bit, in
//! which the work of a link in a nanosecond is a whole number. Only R itself is cut to the unit, where it enters the F
//! of a conversation that becomes active. The remainder of the division by N is carried on: no work is lost, however
//! long the link is busy.
//!
//! The paper leaves this open: equal finish numbers go to the conversation served longest ago, and among those never
//! served to the lowest flow number. A packet that is dropped leaves the reference server too, so the conversation's
//! next packet is counted from the one before it. When the link falls idle nothing is active.

use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

use super::backlog::Backlog;
use super::{Context, Discipline, Served, Settings};
use crate::schedule::bit_nanos;
use crate::service::Capacity;
use crate::{Limit, Packet, Service, SlotHeap};

/// Fair queueing has no settings of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqSettings {}

impl Settings for FqSettings {
    fn build<P: Packet>(&self, limit: Limit, service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(Fair::new(limit, service))
    }
}

/// Conversations served by finish number. They share the buffer. Their lengths are counted as its limit is, in packets
/// under a limit in packets, otherwise in bytes, where one large packet may take the place of several.
#[derive(Debug)]
pub(crate) struct Fair<P> {
    /// Every packet with its finish number.
    backlog: Backlog<P, u128>,
    /// Conversations with packets waiting, by the finish number of the first and the turn in which they were last
    /// served.
    order: SlotHeap<((u128, u64), u32)>,
    reference: BitByBit,
    turns: u64,
    /// Per flow: the turn in which it was last served, 0 for never.
    last_turn: Vec<u64>,
}

impl<P: Packet> Fair<P> {
    pub(crate) fn new(limit: Limit, service: &Service) -> Self {
        Self {
            backlog: Backlog::new(limit),
            order: SlotHeap::new(0),
            reference: BitByBit::new(service),
            turns: 0,
            last_turn: Vec::new(),
        }
    }

    fn served(&mut self, flow: u32) {
        self.turns += 1;
        *grown(&mut self.last_turn, flow) = self.turns;
    }

    /// Ranks `flow` by the current first of its packets.
    fn rank(&mut self, flow: u32) {
        match self.backlog.of(flow).and_then(|waiting| waiting.front()) {
            Some(first) => {
                let turn = *grown(&mut self.last_turn, flow);
                self.order.set(((first.note, turn), flow));
            }
            None => self.order.remove(flow),
        }
    }
}

impl<P: Packet> Discipline<P> for Fair<P> {
    fn pass(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        self.reference.restart(cx.now);
        self.reference.arrive(packet.flow(), cx.on_link(packet.size()));
        self.served(packet.flow());
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        let flow = packet.flow();
        self.reference.advance(cx.now);
        let finish = self.reference.arrive(flow, cx.on_link(packet.size()));
        self.backlog.push(cx.now, packet, finish);
        self.rank(flow);
    }

    /// The packet with the smallest finish number.
    fn pop(&mut self, _cx: &mut Context<'_, P>) -> Option<Served<P>> {
        let (_, flow) = self.order.first()?;
        let first = self.backlog.pop_front(flow)?;
        self.served(flow);
        self.rank(flow);
        Some(Served { packet: first.packet, arrived: first.arrived, marked: false })
    }

    /// Drops the last packet of the longest queue, counted with `packet`, unless that is `packet` itself.
    fn make_room(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        let Some(flow) = self.backlog.longer_than_with(packet) else { return };
        let Some(last) = self.backlog.pop_back(flow) else { return };
        self.reference.advance(cx.now);
        self.reference.withdraw(flow, last.note - bit_nanos(cx.on_link(last.packet.size())));
        self.rank(flow);
        cx.drop(last.packet);
    }
}

/// The reference server, which sends bit by bit.
#[derive(Clone, Debug)]
struct BitByBit {
    capacity: Capacity,
    /// R: how far every conversation that was active all the time has got, in 10^-9 bit.
    round: u128,
    /// Work done that does not divide by the active conversations.
    rest: u128,
    /// Active conversations by the finish number of their last packet.
    active: SlotHeap<(u128, u32)>,
    /// Per flow: that finish number. At most R for one that is not active.
    finish: Vec<u128>,
}

impl BitByBit {
    fn new(service: &Service) -> Self {
        let capacity = Capacity::new(service);
        Self { capacity, round: 0, rest: 0, active: SlotHeap::new(0), finish: Vec::new() }
    }

    /// The link is idle at `now`, so this server is too. It lags behind only if a packet was withdrawn in mid service.
    fn restart(&mut self, now: Time) {
        self.capacity.advance(now);
        self.rest = 0;
        while let Some((_, flow)) = self.active.first() {
            self.finish[flow as usize] = self.round;
            self.active.remove(flow);
        }
    }

    /// Brings R up to `now`.
    fn advance(&mut self, now: Time) {
        let mut work = self.capacity.advance(now) + std::mem::take(&mut self.rest);
        while let Some((finish, flow)) = self.active.first() {
            let active = self.active.len() as u128;
            let until_inactive = (finish - self.round) * active;
            if work < until_inactive {
                self.round += work / active;
                self.rest = work % active;
                return;
            }
            work -= until_inactive;
            self.round = finish;
            self.active.remove(flow);
        }
    }

    /// A packet of `size` arrives: its finish number.
    fn arrive(&mut self, flow: u32, size: Bytes) -> u128 {
        let last = grown(&mut self.finish, flow);
        *last = self.round.max(*last) + bit_nanos(size);
        if *last > self.round {
            self.active.set((*last, flow));
        }
        *last
    }

    /// The last packet of `flow` is withdrawn, of which the first bit was due at `start`.
    fn withdraw(&mut self, flow: u32, start: u128) {
        self.finish[flow as usize] = start;
        if start > self.round {
            self.active.set((start, flow));
        } else {
            self.active.remove(flow);
        }
    }
}

/// The entry of `flow`, for which room is made if it is new.
fn grown<T: Clone + Default>(entries: &mut Vec<T>, flow: u32) -> &mut T {
    let index = flow as usize;
    if entries.len() <= index {
        entries.resize(index + 1, T::default());
    }
    &mut entries[index]
}

#[cfg(test)]
mod tests {
    use units::{Random, Rate, Span};

    use super::*;
    use crate::testing::Parcel;
    use crate::{Departure, DisciplineSettings, Link, LinkSettings, LossModel, QueueSettings};

    /// The flows and sizes in their order of service, when packets (microsecond, flow, size) come to a link that sends
    /// a byte in a microsecond.
    fn served(limit: Limit, arrivals: &[(u64, u32, u64)]) -> Vec<(u32, u64)> {
        let settings = LinkSettings {
            service: Service::Fixed(Rate::from_mbit(8)),
            queue: QueueSettings {
                limit,
                discipline: DisciplineSettings::FairQueueing(FqSettings {}),
                ..QueueSettings::default()
            },
            loss: LossModel::None,
        };
        let mut link = Link::new(settings, Random::stream(1, "loss", 0), Random::stream(1, "queue", 0));
        let mut served = Vec::new();
        let mut out = |packet: Parcel, _: Departure| served.push((packet.flow, packet.size));
        for &(micros, flow, size) in arrivals {
            link.offer(Time::ZERO + Span::from_micros(micros), Parcel::of(flow, size), &mut out);
        }
        link.advance(Time::NEVER, &mut out);
        served
    }

    #[test]
    fn equal_packets_are_served_in_turn() {
        let arrivals = [(0, 7, 100), (0, 7, 100), (0, 7, 100), (0, 7, 100), (1, 3, 100), (1, 3, 100), (1, 5, 100)];
        let flows: Vec<u32> = served(Limit::Infinite, &arrivals).into_iter().map(|(flow, _)| flow).collect();
        // F of flow 7: 100, 200, 300, 400. F of the others: 101 and 201, as R is 1 when they come.
        assert_eq!(flows, [7, 3, 5, 7, 3, 7, 7]);
    }

    #[test]
    fn equal_finish_numbers_go_to_the_flow_served_longest_ago() {
        let arrivals = [(0, 1, 100), (0, 1, 100), (0, 1, 100), (0, 0, 200), (0, 2, 300)];
        // F of flow 1: 100, 200, 300. It was served before flow 0 and flow 2, never served, come to 200 and 300.
        let expected = [(1, 100), (0, 200), (1, 100), (2, 300), (1, 100)];
        assert_eq!(served(Limit::Infinite, &arrivals), expected);
    }

    #[test]
    fn the_round_number_goes_at_the_rate_over_the_active_conversations() {
        // Flow 1 is through with 100 bytes at 100 us, flow 2 with 300 at 400. R has reached 75 at 150 us, as two are
        // active: flow 3 finishes at 275, and the second packet of flow 1, still active, at `100 + 180`.
        let begin = [(0, 1, 100), (0, 2, 300), (150, 1, 180), (150, 3, 200)];
        assert_eq!(served(Limit::Infinite, &begin), [(1, 100), (2, 300), (3, 200), (1, 180)]);
        // Three are active until R is 275 at 750 us, two until 280 at 760, one until 300 at 780. At 770 R is 290: what
        // flow 4 sends is before or after the packet of flow 2 that ends at `300 + 40`.
        for (size, last) in [(49, [(4, 49), (2, 40)]), (51, [(2, 40), (4, 51)])] {
            let arrivals = [&begin[..], &[(770, 2, 40), (770, 4, size)]].concat();
            assert_eq!(served(Limit::Infinite, &arrivals)[4..], last);
        }
    }

    #[test]
    fn a_conversation_that_was_silent_has_no_credit() {
        // Both begin at 1000 us anew, however much flow 1 had sent before.
        let arrivals = [(0, 1, 900), (1000, 1, 100), (1000, 1, 100), (1000, 2, 100), (1000, 2, 100)];
        assert_eq!(served(Limit::Infinite, &arrivals), [(1, 900), (1, 100), (2, 100), (1, 100), (2, 100)]);
    }

    #[test]
    fn a_dropped_packet_does_not_count_against_its_conversation() {
        // Flow 2 drives the third packet of flow 1 out of the buffer. At 200 us R is 67: flow 1 goes on to 300 from the
        // second, not to 400 from the third, and is before flow 3 with `67 + 280`.
        let arrivals = [(0, 9, 100), (0, 1, 100), (0, 1, 100), (0, 1, 101), (0, 2, 100), (200, 1, 102), (200, 3, 280)];
        let expected = [(9, 100), (1, 100), (2, 100), (1, 100), (1, 102), (3, 280)];
        assert_eq!(served(Limit::Packets(3), &arrivals), expected);
    }

    #[test]
    fn a_conversation_with_one_packet_takes_the_place_of_the_last_of_the_longest_queue() {
        // Fifteen places, all with flow 1, and two more: the first drives out a packet of flow 1, and so does the
        // second.
        let mut arrivals = vec![(0, 1, 1000); 16];
        arrivals.extend([(0, 2, 1000), (0, 3, 1000)]);
        let served = served(Limit::Packets(15), &arrivals);
        assert_eq!(served[..4], [(1, 1000), (2, 1000), (3, 1000), (1, 1000)]);
        assert_eq!(served.len(), 16);
    }

    #[test]
    fn a_conversation_whose_last_packet_is_withdrawn_is_active_for_what_is_left() {
        let active = |start| {
            let mut order = BitByBit { round: 500, ..BitByBit::new(&Service::Fixed(Rate::from_mbit(8))) };
            order.arrive(3, Bytes::new(100));
            assert_eq!(order.active.len(), 1);
            order.withdraw(3, start);
            (order.active.first(), order.finish[3])
        };
        // Its first bit was due at 700, after the round number. At 500 and before nothing is left.
        assert_eq!(active(700), (Some((700, 3)), 700));
        assert_eq!((active(500), active(400)), ((None, 500), (None, 400)));
    }
}
