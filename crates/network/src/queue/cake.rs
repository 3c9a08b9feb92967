//! CAKE's core: flow queues by deficit round robin, each under COBALT (Høiland-Jørgensen, Täht and Morton 2018).
//!
//! Flows are told apart by a set-associative hash: a flow whose queue is taken gets one of the seven beside it, so that
//! 1024 queues keep hundreds of flows apart. Turns are those of FQ-CoDel with a quantum that falls with the rate. A
//! full buffer drops from the head of the longest queue.
//!
//! As in Linux: a queue that is found empty is new with its next packet; while its COBALT has not come to rest it keeps
//! its flow, and one such queue is looked at with each service. How many flows there are does not change CoDel's target
//! (in Linux it does with `ingress`). Of CAKE this is one tin (`besteffort`) without its shaper, which the rate of the
//! link is, without isolation of hosts, and without its filter of ACKs. `overhead`, `mpu` and `link_layer` count for
//! the rate of the link, as for that shaper. Different: `memlimit` counts the bytes of packets, in Linux the memory
//! that holds them, about half as much again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use units::packet::MTU;
use units::{Bytes, Span, Time};

use super::cobalt::{Cobalt, Parameters, Verdict};
use super::turns::{Turns, Waiting};
use super::{Context, Discipline, Served, Settings};
use crate::framing::Framing;
use crate::{Limit, LinkLayer, Packet, Service};

const FLOWS: u32 = 1024;
/// Queues in a set of the hash.
const WAYS: u32 = 8;
/// So many full packets may wait at most, where `memlimit` does not say more.
const PACKETS: u64 = 10_240;

/// What a scenario says about CAKE, named as in `tc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CakeSettings {
    /// The round-trip time of most flows: CoDel's interval, and twenty times its target; by default 100ms.
    pub rtt: Span,
    /// Whether all flows share one queue; by default they do not.
    pub flowblind: bool,
    /// Bytes that a packet takes on the link in addition to those of IP, from -64 to 256.
    pub overhead: i32,
    /// The least size on the link, overhead included, at most 256 bytes.
    pub mpu: u32,
    /// Cells of ATM, or the sync bytes of PTM; by default neither.
    pub link_layer: LinkLayer,
    /// How many bytes may wait; by default four times what the link sends in `rtt`, at least 4MiB, at most 15360kB.
    pub memlimit: Option<Bytes>,
}

impl Default for CakeSettings {
    fn default() -> Self {
        Self {
            rtt: Span::from_millis(100),
            flowblind: false,
            overhead: 0,
            mpu: 0,
            link_layer: LinkLayer::None,
            memlimit: None,
        }
    }
}

impl CakeSettings {
    /// The size of packets for its shaper, which the link is.
    pub(crate) fn framing(&self) -> Framing {
        Framing { overhead: self.overhead, mpu: self.mpu, link_layer: self.link_layer }
    }
}

impl Settings for CakeSettings {
    const DEFAULT_LIMIT: Option<Limit> = Some(Limit::Infinite);

    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.rtt.is_zero() {
            return Err(("rtt", format!("`{}` is no time: it must be above 0, like `100ms`", self.rtt)));
        }
        if !(-64..=256).contains(&self.overhead) {
            return Err(("overhead", format!("`{}` is not from -64 to 256 bytes", self.overhead)));
        }
        if self.mpu > 256 {
            return Err(("mpu", format!("`{}` is above 256 bytes", self.mpu)));
        }
        if self.memlimit == Some(Bytes::ZERO) {
            return Err(("memlimit", "`0B` holds nothing: it must be above 0, like `4MiB`".to_owned()));
        }
        Ok(())
    }

    fn build<P: Packet>(&self, _limit: Limit, service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(Cake::new(*self, service))
    }
}

/// Flow queues at work.
#[derive(Debug)]
struct Cake<P> {
    parameters: Parameters,
    memory: Bytes,
    queues: Vec<FlowQueue<P>>,
    turns: Turns,
    /// The empty queues whose COBALT has not come to rest, and which of them is looked at next.
    decaying: VecDeque<u32>,
}

#[derive(Debug)]
struct FlowQueue<P> {
    waiting: Waiting<P>,
    cobalt: Cobalt,
    /// It is among those that decay.
    decays: bool,
    /// Whose queue it was last, by hash.
    tag: u64,
}

impl<P: Packet> Cake<P> {
    fn new(settings: CakeSettings, service: &Service) -> Self {
        let rate = service.nominal();
        let mtu_time = rate.map_or(Span::ZERO, |rate| rate.time_for(MTU));
        let twentieth = Span::from_nanos(settings.rtt.as_nanos() / 20);
        let target = twentieth.max(mtu_time.scale(1.5));
        let interval = (settings.rtt + target.saturating_sub(twentieth)).max(target.saturating_mul(2));
        let per_second = rate.map_or(u64::MAX, |rate| rate.bits_per_second() / 8);
        let in_rtt = rate.map_or(Bytes::ZERO, |rate| rate.bytes_in(settings.rtt));
        let flows = if settings.flowblind { 1 } else { FLOWS };
        let queue =
            |_| FlowQueue { waiting: Waiting::default(), cobalt: Cobalt::default(), decays: false, tag: u64::MAX };
        Self {
            parameters: Parameters { target, interval, mtu_time },
            memory: settings.memlimit.unwrap_or_else(|| (in_rtt * 4).max(Bytes::new(4 << 20)).min(MTU * PACKETS)),
            queues: (0..flows).map(queue).collect(),
            turns: Turns::new(flows, Bytes::new((per_second >> 12).clamp(300, MTU.get()))).forgetting(),
            decaying: VecDeque::new(),
        }
    }

    /// The queue of `packet`: the one in its set that is its own already, or that is free, or where its hash points.
    fn queue_of(&mut self, packet: &P, cx: &mut Context<'_, P>) -> u32 {
        if self.queues.len() == 1 {
            return 0;
        }
        let tag = self.turns.hash(packet, cx);
        let first = ((tag * self.queues.len() as u64) >> 32) as u32;
        let set = first / WAYS * WAYS;
        let ways = (0..WAYS).map(|way| set + (first + way) % WAYS);
        let own = ways.clone().find(|&way| self.queues[way as usize].tag == tag);
        let is_free = |way| !self.turns.is_listed(way) && !self.queues[way as usize].decays;
        let free = || ways.clone().find(|&way| is_free(way));
        let chosen = own.or_else(free).unwrap_or(first);
        self.queues[chosen as usize].tag = tag;
        chosen
    }

    /// Queue `index` has something to send.
    fn list(&mut self, index: u32) {
        if std::mem::take(&mut self.queues[index as usize].decays) {
            self.decaying.retain(|&other| other != index);
        }
        self.turns.list(index);
    }

    /// Looks at one of the empty queues that decay.
    fn look_at_decaying(&mut self, now: Time) {
        if let Some(index) = self.decaying.pop_front() {
            found_empty(&mut self.queues[index as usize], index, &self.parameters, &mut self.decaying, now);
        }
    }

    /// The longest queue loses the packet at its head.
    fn drop_from_longest(&mut self, own: u32, cx: &mut Context<'_, P>) {
        let queues = &self.queues;
        let (longest, _) = self.turns.longest(own, |index| queues[index as usize].waiting.bytes());
        let FlowQueue { waiting, cobalt, .. } = &mut self.queues[longest as usize];
        cobalt.overflowed(&self.parameters, cx.now);
        if let Some((packet, _)) = waiting.pop() {
            cx.drop(packet);
        }
    }
}

/// Queue `index` was found empty: it decays until its COBALT has come to rest.
fn found_empty<P>(
    queue: &mut FlowQueue<P>,
    index: u32,
    parameters: &Parameters,
    decaying: &mut VecDeque<u32>,
    now: Time,
) {
    queue.cobalt.emptied(parameters, now);
    queue.decays = !queue.cobalt.is_at_rest(now);
    if queue.decays {
        decaying.push_back(index);
    }
}

impl<P: Packet> Discipline<P> for Cake<P> {
    fn make_room(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        let own = self.queue_of(packet, cx);
        self.drop_from_longest(own, cx);
    }

    fn pass(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        // An empty link looks at no queue, so it comes as any other, and its turn is the first that finds a packet.
        let own = self.queue_of(packet, cx);
        self.list(own);
        self.look_at_decaying(cx.now);
        let Self { parameters, queues, turns, decaying, .. } = self;
        turns.next(|index| {
            let queue = &mut queues[index as usize];
            if index == own {
                // The last packet of a queue is never dropped, and what did not wait is not marked.
                queue.cobalt.verdict(parameters, cx.now, Span::ZERO, packet.ecn().is_capable(), cx.random);
                return Some(((), packet.size()));
            }
            found_empty(queue, index, parameters, decaying, cx.now);
            None
        });
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        let index = self.queue_of(&packet, cx);
        self.queues[index as usize].waiting.push(cx.now, packet);
        self.list(index);
        while cx.waiting().bytes > self.memory {
            self.drop_from_longest(index, cx);
        }
    }

    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        self.look_at_decaying(cx.now);
        let Self { parameters, queues, turns, decaying, .. } = self;
        turns.pop(|index| {
            let queue = &mut queues[index as usize];
            loop {
                let Some((packet, arrived)) = queue.waiting.pop() else {
                    found_empty(queue, index, parameters, decaying, cx.now);
                    return None;
                };
                let capable = packet.ecn().is_capable();
                let sojourn = cx.now.since(arrived);
                let verdict = queue.cobalt.verdict(parameters, cx.now, sojourn, capable, cx.random);
                // The last packet of a queue is never dropped.
                if verdict == Verdict::Drop && queue.waiting.packets() > 0 {
                    cx.drop(packet);
                    continue;
                }
                return Some(Served { packet, arrived, marked: verdict == Verdict::Mark });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use units::{Rate, Time};

    use super::*;
    use crate::testing::{Driven, Parcel};

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn cake(settings: CakeSettings, mbit: u64) -> Driven<Cake<Parcel>> {
        Driven::new(Cake::new(settings, &Service::Fixed(Rate::from_mbit(mbit))))
    }

    #[test]
    fn target_and_quantum_follow_the_rate() {
        // 100 Mbit/s: 0.12 ms a packet; 12.5 MB/s / 4096 is above 1500.
        let fast = cake(CakeSettings::default(), 100).discipline;
        assert_eq!((fast.parameters.target, fast.parameters.interval), (Span::from_millis(5), Span::from_millis(100)));
        // 5 MB in four times 100 ms.
        assert_eq!(fast.memory, Bytes::new(5_000_000));
        // 50 MB in four times 100 ms of 1 Gbit/s, but no more than 10,240 full packets.
        assert_eq!(cake(CakeSettings::default(), 1000).discipline.memory, Bytes::new(15_360_000));
        // 1 Mbit/s: 12 ms a packet, so 18 ms, and 13 ms more than 100; half a MB in ten seconds, so 4 MiB.
        let slow = cake(CakeSettings::default(), 1).discipline;
        assert_eq!((slow.parameters.target, slow.parameters.interval), (Span::from_millis(18), Span::from_millis(113)));
        assert_eq!(slow.memory, Bytes::new(4 << 20));
    }

    #[test]
    fn many_flows_share_no_queue() {
        let mut queue = cake(CakeSettings::default(), 100);
        (0..300).for_each(|flow| queue.push(ms(0), Parcel::of(flow, 100)));
        let used = queue.discipline.queues.iter().filter(|queue| queue.waiting.packets() > 0).count();
        // Plain hashing into 1024 would have about `300^2 / 2048 = 44` in queues of others.
        assert!(used >= 299, "{used}");
        // The same flows come to the same queues.
        (0..300).for_each(|flow| queue.push(ms(0), Parcel::of(flow, 100)));
        assert_eq!(queue.discipline.queues.iter().filter(|queue| queue.waiting.packets() > 0).count(), used);
    }

    #[test]
    fn a_full_buffer_drops_from_the_head_of_the_longest() {
        let mut queue = cake(CakeSettings { memlimit: Some(Bytes::new(6000)), ..CakeSettings::default() }, 100);
        (0..3).for_each(|number| queue.push(ms(0), Parcel::full(number)));
        queue.push(ms(0), Parcel::of(9, 1000));
        assert!(queue.dropped().is_empty());
        queue.push(ms(0), Parcel::of(9, 1000));
        assert_eq!(queue.dropped().iter().map(|packet| packet.number).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_standing_queue_is_struck_and_others_are_not() {
        let mut queue = cake(CakeSettings::default(), 12);
        (0..1000).for_each(|_| queue.push(ms(0), Parcel::of(1, 1500)));
        let mut dropped = Vec::new();
        for at in 0..400 {
            if at % 3 == 0 {
                queue.push(ms(at), Parcel::of(2, 100));
            }
            assert!(queue.pop(ms(at)).is_some());
            dropped.extend(queue.dropped().iter().map(|packet| (at, packet.flow)));
        }
        // The wait is above 5 ms from 6 ms on, when it is the turn of flow 2; that of flow 1 comes at 7 ms, and its
        // first drop with the next.
        assert_eq!(dropped.first(), Some(&(8, 1)));
        assert!(dropped.len() >= 4 && dropped.iter().all(|&(_, flow)| flow == 1), "{dropped:?}");
    }

    #[test]
    fn many_flows_do_not_raise_the_target() {
        // Twenty flows at 12 Mbit/s, each with 400 packets: a packet takes 1 ms, and all wait longer than 5 ms.
        let memlimit = Some(Bytes::new(100_000_000));
        let mut queue = cake(CakeSettings { memlimit, ..CakeSettings::default() }, 12);
        for _ in 0..400 {
            (0..20).for_each(|flow| queue.push(ms(0), Parcel { flow, ..Parcel::full(0) }));
        }
        let mut first = None;
        for at in 0..200 {
            assert!(queue.pop(ms(at)).is_some());
            first = first.or((!queue.dropped().is_empty()).then_some(at));
        }
        // The first six are served before anything has waited for 5 ms. The seventh is above target from 6 ms on: after
        // silence, so it is struck at its next turn, at 26 ms.
        assert_eq!(first, Some(26));
    }

    #[test]
    fn an_empty_queue_is_new_again_at_once() {
        let mut queue = cake(CakeSettings::default(), 100);
        (0..20).for_each(|number| queue.push(ms(0), Parcel::of(1 + number % 2, 1500)));
        queue.push(ms(0), Parcel::of(3, 100));
        let order: Vec<u32> = (0..4).filter_map(|_| queue.pop(ms(1))).map(|served| served.packet.flow).collect();
        assert_eq!(order, [1, 2, 3, 1]);
        // Flow 3 was found empty before the fourth service: it is new. With FQ-CoDel it would be behind flow 2.
        queue.push(ms(1), Parcel::of(3, 1500));
        assert_eq!(queue.pop(ms(1)).map(|served| served.packet.flow), Some(3));
    }

    #[test]
    fn what_blue_has_learnt_of_an_empty_queue_decays_while_others_are_served() {
        let mut queue = cake(CakeSettings { memlimit: Some(Bytes::new(6000)), ..CakeSettings::default() }, 100);
        // Above 5 ms since the last change, it rises: to `1/256 = 16/4096`.
        (0..5).for_each(|_| queue.push(ms(6), Parcel::of(1, 1500)));
        assert_eq!(queue.dropped().len(), 1);
        let own = queue.discipline.queues.iter().position(|queue| queue.waiting.packets() > 0).expect("flow 1 waits");
        (0..4).for_each(|_| assert!(queue.pop(ms(7)).is_some()));
        // At 10 ms the turn of flow 1 comes, which is empty. From there on it is looked at each millisecond, and falls
        // when more than 5 ms have passed: at 12, 18, 24 ms and so on.
        for at in 8..110 {
            queue.push(ms(at), Parcel::of(2, 1500));
            assert!(queue.pop(ms(at)).is_some());
            let left = 16 - ((at - 6) / 6).min(16);
            assert_eq!(queue.discipline.queues[own].cobalt.probability() * 4096.0, left as f64, "{at}");
        }
        assert!(!queue.discipline.queues[own].decays);
    }

    #[test]
    fn blind_to_flows_there_is_one_queue() {
        let mut queue = cake(CakeSettings { flowblind: true, ..CakeSettings::default() }, 100);
        (0..20).for_each(|flow| queue.push(ms(0), Parcel::of(flow, 100)));
        let order: Vec<u32> = (0..20).filter_map(|_| queue.pop(ms(1))).map(|served| served.packet.flow).collect();
        assert!(order.is_sorted());
    }
}
