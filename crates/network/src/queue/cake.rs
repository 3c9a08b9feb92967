//! CAKE: flow queues by deficit round robin, each under COBALT (Høiland-Jørgensen, Täht and Morton 2018, "Piece of
//! CAKE: A Comprehensive Queue Management Solution for Home Gateways").
//!
//! A set-associative hash separates flows: a flow whose queue is taken gets one of the seven beside it, so that 1024
//! queues keep hundreds of flows apart. Turns are as in FQ-CoDel, with a quantum that falls with the rate. With
//! isolation of hosts the queues of a host share one. A full buffer drops from the head of the longest queue.
//!
//! With DiffServ each class has such queues of its own (a tin), and a part of the rate. A tin that keeps to its part
//! goes before all lower ones. If all exceed their parts, the one that is due first sends.
//!
//! As in Linux: a queue that is found empty is new with its next packet. While its COBALT has not come to rest it keeps
//! its flow, and one such queue is looked at with each service. How many flows there are does not change CoDel's target
//! (in Linux it does with `ingress`). `overhead`, `mpu` and `link_layer` count for the rate of the link, as for CAKE's
//! shaper, which the link is. Hosts are the nodes at the ends of a flow. Different:
//! `memlimit` counts the bytes of packets, in Linux the memory that holds them, about half as much again. Hosts are
//! known by number, in Linux by a hash.

mod ack_filter;
mod classes;
mod hosts;
mod settings;
mod tin;

use units::packet::MTU;
use units::{Bytes, Span, Time};

pub use self::ack_filter::AckFilter;
pub use self::classes::Diffserv;
pub use self::hosts::Isolation;
pub use self::settings::CakeSettings;
use self::tin::{Tin, take_struck};
use super::tc::Dialect;
use super::{Context, Discipline, Served, Settings};
use crate::{Framing, Limit, Packet, Service};

const FLOWS: u32 = 1024;
/// So many full packets may wait at most, where `memlimit` does not say more.
const PACKETS: u64 = 10_240;

impl CakeSettings {
    /// The size of packets for its shaper, which the link is.
    pub(crate) fn framing(&self) -> Framing {
        let (overhead, mpu, link_layer) = (self.overhead, self.mpu, self.link_layer);
        Framing { overhead, mpu, link_layer, ..Framing::default() }
    }
}

impl Settings for CakeSettings {
    const DEFAULT_LIMIT: Option<Limit> = Some(Limit::Infinite);
    const TC: Option<Dialect<Self>> = Some(Self::DIALECT);

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()?;
        if self.flowblind && self.isolation != Isolation::Flows {
            let isolation = self.isolation.name();
            return Err((
                "isolation",
                format!("`{isolation}` keeps apart what `flowblind` does not: give one of them"),
            ));
        }
        Ok(())
    }

    fn build<P: Packet>(&self, _limit: Limit, service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(Cake::new(*self, service))
    }
}

/// Tins at work.
#[derive(Debug)]
struct Cake<P> {
    diffserv: Diffserv,
    ack_filter: AckFilter,
    memory: Bytes,
    tins: Vec<Tin<P>>,
}

impl<P: Packet> Cake<P> {
    fn new(settings: CakeSettings, service: &Service) -> Self {
        let rate = service.nominal();
        let in_rtt = rate.map_or(Bytes::ZERO, |rate| rate.bytes_in(settings.rtt));
        let flows = if settings.flowblind { 1 } else { FLOWS };
        let rates = match rate {
            Some(rate) => settings.diffserv.rates(rate).into_iter().map(Some).collect(),
            None => vec![None; 8],
        };
        Self {
            diffserv: settings.diffserv,
            ack_filter: settings.ack_filter,
            memory: settings.memlimit.unwrap_or_else(|| (in_rtt * 4).max(Bytes::new(4 << 20)).min(MTU * PACKETS)),
            tins: rates.into_iter().map(|rate| Tin::new(rate, settings.rtt, flows, settings.isolation)).collect(),
        }
    }

    /// The tin and the queue of `packet`.
    fn place_of(&mut self, packet: &P, cx: &mut Context<'_, P>) -> (usize, u32) {
        let tin = self.diffserv.tin(cx.class_of(packet).dscp);
        (tin, self.tins[tin].queue_of(packet, cx))
    }

    /// `packet` goes into queue `index` of a tin, or through it.
    fn list(&mut self, packet: &P, (tin, index): (usize, u32), cx: &mut Context<'_, P>) {
        let hosts = cx.class_of(packet).hosts;
        let tin = &mut self.tins[tin];
        tin.begin(cx.now);
        tin.list(index, hosts, cx);
    }

    /// The longest queue of all tins loses the packet at its head.
    fn drop_from_longest(&mut self, (own, index): (usize, u32), cx: &mut Context<'_, P>) {
        let lengths = self.tins.iter().enumerate().filter_map(|(number, tin)| {
            let (queue, length) = tin.longest((number == own).then_some(index))?;
            Some((length, std::cmp::Reverse(number), queue))
        });
        if let Some((_, std::cmp::Reverse(tin), queue)) = lengths.max() {
            self.tins[tin].overflow(queue, cx);
        }
    }

    /// The tin whose turn it is: the highest that keeps to its rate, or else the one that is due first.
    fn turn(&self, now: Time) -> Option<usize> {
        let mut best: Option<(usize, Span)> = None;
        for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_listed()) {
            let wait = tin.due().since(now);
            if wait.is_zero() || best.is_none_or(|(_, shortest)| wait <= shortest) {
                best = Some((number, wait));
            }
        }
        best.map(|(number, _)| number)
    }

    /// Serves the tin whose turn it is, and charges it the size of the packet that it sends.
    fn serve<T>(
        &mut self,
        cx: &mut Context<'_, P>,
        serve: impl Fn(&mut Tin<P>, usize, &mut Context<'_, P>) -> Option<(T, Bytes)>,
    ) -> Option<T> {
        let mut looked = None;
        while let Some(number) = self.turn(cx.now) {
            let tin = &mut self.tins[number];
            if looked.replace(number) != Some(number) {
                tin.look_at_decaying(cx.now);
            }
            if let Some((sent, size)) = serve(tin, number, cx) {
                tin.spend(cx.now, cx.on_link(size));
                return Some(sent);
            }
        }
        None
    }
}

impl<P: Packet> Discipline<P> for Cake<P> {
    fn make_room(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        let own = self.place_of(packet, cx);
        self.drop_from_longest(own, cx);
    }

    fn pass(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        // An empty link looks at no queue, so it comes as any other, and its turn is the first that finds a packet.
        let (own, queue) = self.place_of(packet, cx);
        self.list(packet, (own, queue), cx);
        self.serve(cx, |tin, number, cx| {
            let passing = (number == own).then_some(queue);
            tin.serve(cx, passing, |flow, parameters, index, cx| {
                (passing == Some(index)).then(|| {
                    // The last packet of a queue is never dropped, and a packet that did not wait is not marked.
                    let capable = packet.ecn().is_capable();
                    flow.cobalt.verdict(parameters, cx.now, Span::ZERO, capable, cx.random);
                    (((), packet.size()), packet.size())
                })
            })
        });
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        let (tin, index) = self.place_of(&packet, cx);
        self.list(&packet, (tin, index), cx);
        let waiting = &mut self.tins[tin].flows.queues[index as usize].waiting;
        waiting.push(cx.now, packet);
        if let Some(redundant) = self.ack_filter.redundant(waiting).and_then(|place| waiting.remove(place)) {
            cx.drop(redundant);
        }
        while cx.waiting().bytes > self.memory {
            self.drop_from_longest((tin, index), cx);
        }
    }

    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        self.serve(cx, |tin, _, cx| {
            tin.serve(cx, None, |queue, parameters, _, cx| {
                let served = take_struck(queue, parameters, cx)?;
                let size = served.packet.size();
                Some(((served, size), size))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use units::{Rate, Time};

    use super::*;
    use crate::FlowClass;
    use crate::queue::cobalt::Parameters;
    use crate::testing::{Driven, Parcel};

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn cake(settings: CakeSettings, mbit: u64) -> Driven<Cake<Parcel>> {
        Driven::new(Cake::new(settings, &Service::Fixed(Rate::from_mbit(mbit))))
    }

    fn parameters(cake: &Cake<Parcel>) -> Parameters {
        cake.tins[0].flows.parameters
    }

    #[test]
    fn target_and_quantum_follow_the_rate() {
        // 100 Mbit/s: 0.12 ms a packet, and 12.5 MB/s / 4096 is above 1500.
        let fast = cake(CakeSettings::default(), 100).discipline;
        assert_eq!(
            (parameters(&fast).target, parameters(&fast).interval),
            (Span::from_millis(5), Span::from_millis(100))
        );
        // 5 MB in four times 100 ms.
        assert_eq!(fast.memory, Bytes::new(5_000_000));
        // 50 MB in four times 100 ms of 1 Gbit/s, but no more than 10,240 full packets.
        assert_eq!(cake(CakeSettings::default(), 1000).discipline.memory, Bytes::new(15_360_000));
        // 1 Mbit/s: 12 ms a packet, so 18 ms, and 13 ms more than 100. Half a MB in ten seconds, so 4 MiB.
        let slow = cake(CakeSettings::default(), 1).discipline;
        assert_eq!(
            (parameters(&slow).target, parameters(&slow).interval),
            (Span::from_millis(18), Span::from_millis(113))
        );
        assert_eq!(slow.memory, Bytes::new(4 << 20));
    }

    #[test]
    fn many_flows_share_no_queue() {
        let mut queue = cake(CakeSettings::default(), 100);
        (0..300).for_each(|flow| queue.push(ms(0), Parcel::of(flow, 100)));
        let used = queue.discipline.tins[0].flows.queues.iter().filter(|queue| queue.waiting.packets() > 0).count();
        // Plain hashing into 1024 would have about `300^2 / 2048 = 44` in queues of others.
        assert!(used >= 299, "{used}");
        // The same flows come to the same queues.
        (0..300).for_each(|flow| queue.push(ms(0), Parcel::of(flow, 100)));
        assert_eq!(
            queue.discipline.tins[0].flows.queues.iter().filter(|queue| queue.waiting.packets() > 0).count(),
            used
        );
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
        // The wait is above 5 ms from 6 ms on, when it is the turn of flow 2. The turn of flow 1 comes at 7 ms, and its
        // first drop with the next.
        assert_eq!(dropped.first(), Some(&(8, 1)));
        assert!(dropped.len() >= 4 && dropped.iter().all(|&(_, flow)| flow == 1), "{dropped:?}");
    }

    #[test]
    fn the_last_packet_of_a_queue_is_not_struck() {
        let taken = |packets| {
            let mut queue = cake(CakeSettings::default(), 12);
            (0..packets).for_each(|number| queue.push(ms(0), Parcel::full(number)));
            let mut pop = |at| queue.pop(ms(at)).map(|served| served.packet.number);
            [pop(7), pop(8)]
        };
        // Packets have waited for more than 5 ms since 7 ms, and the one at 8 ms is struck.
        assert_eq!(taken(3), [Some(0), Some(2)]);
        assert_eq!(taken(2), [Some(0), Some(1)]);
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
        let own = queue.discipline.tins[0]
            .flows
            .queues
            .iter()
            .position(|queue| queue.waiting.packets() > 0)
            .expect("flow 1 waits");
        (0..4).for_each(|_| assert!(queue.pop(ms(7)).is_some()));
        // At 10 ms the turn of flow 1 comes, which is empty. From there on it is looked at each millisecond, and falls
        // when more than 5 ms have passed: at 12, 18, 24 ms and so on.
        for at in 8..110 {
            queue.push(ms(at), Parcel::of(2, 1500));
            assert!(queue.pop(ms(at)).is_some());
            let left = 16 - ((at - 6) / 6).min(16);
            assert_eq!(queue.discipline.tins[0].flows.queues[own].cobalt.probability() * 4096.0, left as f64, "{at}");
        }
        assert!(!queue.discipline.tins[0].flows.queues[own].decays);
    }

    #[test]
    fn blind_to_flows_there_is_one_queue() {
        let mut queue = cake(CakeSettings { flowblind: true, ..CakeSettings::default() }, 100);
        (0..20).for_each(|flow| queue.push(ms(0), Parcel::of(flow, 100)));
        let order: Vec<u32> = (0..20).filter_map(|_| queue.pop(ms(1))).map(|served| served.packet.flow).collect();
        assert!(order.is_sorted());
    }

    /// Bytes by flow of so many services of full packets. Each flow always has 100 to send.
    fn served(queue: &mut Driven<Cake<Parcel>>, flows: u32, services: u32) -> Vec<u64> {
        let mut bytes = vec![0; flows as usize];
        (0..flows).for_each(|flow| (0..100).for_each(|_| queue.push(ms(0), Parcel::of(flow, 1500))));
        for _ in 0..services {
            let flow = queue.pop(ms(0)).expect("something waits").packet.flow;
            bytes[flow as usize] += 1500;
            queue.push(ms(0), Parcel::of(flow, 1500));
        }
        bytes
    }

    #[test]
    fn the_flows_of_a_host_share_its_turn() {
        // Three flows from host 1 to hosts 5, 6 and 7, one from host 2 to host 5: 2400 services.
        let shares = |isolation| {
            let mut queue = cake(CakeSettings { isolation, ..CakeSettings::default() }, 100);
            let class = |hosts| FlowClass { hosts, dscp: 0 };
            queue.classes = [[1, 5], [1, 6], [1, 7], [2, 5]].map(class).to_vec();
            served(&mut queue, 4, 2400).into_iter().map(|bytes| bytes / 1500).collect::<Vec<_>>()
        };
        let near = |counts: &[u64], expected: [u64; 4]| {
            let differ = counts.iter().zip(expected).any(|(count, expected)| count.abs_diff(expected) > 30);
            assert!(!differ, "{counts:?} {expected:?}");
        };
        near(&shares(Isolation::Flows), [600, 600, 600, 600]);
        near(&shares(Isolation::DualSrchost), [400, 400, 400, 1200]);
        // Host 5 receives two: half a turn each, and whole ones for the others, of three.
        near(&shares(Isolation::DualDsthost), [400, 800, 800, 400]);
        // A third of a turn each from host 1, half of one from host 2: 2 to 2 to 2 to 3.
        near(&shares(Isolation::TripleIsolate), [533, 533, 533, 800]);
        // Three queues for two hosts that send, and so on. Flows of one queue go by arrival.
        near(&shares(Isolation::Srchost), [400, 400, 400, 1200]);
        near(&shares(Isolation::Dsthost), [400, 800, 800, 400]);
    }

    /// Packets by flow of a link of 16 Mbit/s (0.75 ms a packet), whose flows have these code points.
    fn by_class(diffserv: Diffserv, points: &[u8], services: u64) -> Vec<u32> {
        let mut queue = cake(CakeSettings { diffserv, ..CakeSettings::default() }, 16);
        queue.classes = points.iter().map(|&dscp| FlowClass { hosts: [0; 2], dscp }).collect();
        let mut counts = vec![0; points.len()];
        (0..points.len() as u32).for_each(|flow| (0..5).for_each(|_| queue.push(ms(0), Parcel::of(flow, 1500))));
        for service in 0..services {
            let now = Time::ZERO + Span::from_micros(750 * service);
            let flow = queue.pop(now).expect("something waits").packet.flow;
            counts[flow as usize] += 1;
            queue.push(now, Parcel::of(flow, 1500));
        }
        counts
    }

    #[test]
    fn a_tin_goes_first_as_long_as_it_keeps_to_its_rate() {
        // EF has a quarter of the rate before best effort, and bulk a sixteenth. Best effort has the rest.
        let counts = by_class(Diffserv::Diffserv3, &[0, 8, 46], 1600);
        assert!(counts[2].abs_diff(400) < 20 && counts[1].abs_diff(100) < 20, "{counts:?}");
        // Without others each has all.
        assert_eq!(by_class(Diffserv::Diffserv3, &[8], 100), [100]);
        let counts = by_class(Diffserv::Diffserv4, &[0, 8, 34, 46], 1600);
        assert!(counts[3].abs_diff(400) < 20 && counts[2].abs_diff(800) < 40, "{counts:?}");
        // All code points are one class without DiffServ.
        let counts = by_class(Diffserv::Besteffort, &[0, 46], 1600);
        assert_eq!(counts, [800, 800]);
    }

    #[test]
    fn the_longest_queue_of_all_tins_loses_packets() {
        let settings =
            CakeSettings { diffserv: Diffserv::Diffserv3, memlimit: Some(Bytes::new(6000)), ..Default::default() };
        let mut queue = cake(settings, 100);
        queue.classes = vec![FlowClass::default(), FlowClass { hosts: [0; 2], dscp: 46 }];
        (0..4).for_each(|number| queue.push(ms(0), Parcel { number, ..Parcel::full(0) }));
        queue.push(ms(0), Parcel::of(1, 1000));
        assert_eq!(queue.dropped().iter().map(|packet| packet.flow).collect::<Vec<_>>(), [0]);
        assert_eq!(queue.pop(ms(1)).map(|served| served.packet.flow), Some(1));
    }

    #[test]
    fn a_packet_without_room_in_an_empty_buffer_overflows_its_own_queue() {
        let settings = CakeSettings { diffserv: Diffserv::Diffserv3, ..Default::default() };
        let mut queue = cake(settings, 100);
        queue.classes = vec![FlowClass::default(), FlowClass { hosts: [0; 2], dscp: 46 }];
        assert!(queue.make_room(ms(60), Parcel::of(1, 1500)).is_empty());
        let up = |tin: &Tin<Parcel>| tin.flows.queues.iter().filter(|queue| queue.cobalt.probability() > 0.0).count();
        // Expedited forwarding has the last tin.
        assert_eq!(queue.discipline.tins.iter().map(up).collect::<Vec<_>>(), [0, 0, 1]);
    }

    #[test]
    fn one_queue_for_all_keeps_no_hosts_apart() {
        let settings = CakeSettings { flowblind: true, isolation: Isolation::DualSrchost, ..CakeSettings::default() };
        assert_eq!(settings.check().unwrap_err().0, "isolation");
    }
}
