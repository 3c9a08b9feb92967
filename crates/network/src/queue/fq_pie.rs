//! FQ-PIE: flow queues by deficit round robin, each under PIE.
//!
//! Turns are as in FQ-CoDel (RFC 8290, section 4), and the probability of each queue is PIE's (RFC 8033), from the
//! delay and the bytes of that queue alone. As in Linux: a full buffer drops what arrives, and ECN-capable packets are
//! marked up to a probability of `ecn_prob` percent. Different: a queue that was not used keeps its updates for its
//! next packet, which gives the same. Linux counts packets beyond `memory_limit` and takes them all the same, here they
//! are dropped. The other differences are PIE's.

use units::packet::MTU;
use units::{Bytes, Span};

use super::pie::{Pie, PieSettings};
use super::tc::{Dialect, settings};
use super::turns::{LARGEST_QUANTUM, Turns, Waiting};
use super::{Admission, Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

settings! {
    /// What a scenario says about FQ-PIE, named as in `tc`.
    #[derive(Eq)]
    pub struct FqPieSettings in "fq_pie", limit packets {
        /// Number of queues; by default 1024.
        flows: u32 = 1024, value, from 1, to 65_536;
        /// The queueing delay that is aimed at in each queue; by default 15ms.
        target: Span = PieSettings::default().target, value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// How often the probabilities follow; by default 15ms.
        tupdate: Span = PieSettings::default().tupdate, value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// Weight of the distance from `target`, in sixteenths of 1/s; by default 2.
        alpha: u32 = PieSettings::default().alpha, value, from 0, to 32;
        /// Weight of the change of the delay, in sixteenths of 1/s; by default 20.
        beta: u32 = PieSettings::default().beta, value, from 0, to 32;
        /// What a queue may send at each turn; by default 1500B.
        quantum: Bytes = MTU, value, from Bytes::new(1), to LARGEST_QUANTUM;
        /// How many bytes may wait, besides the limit of the queue; by default 32MiB.
        memory_limit: Bytes = Bytes::new(32 << 20), value, from Bytes::new(1), to Bytes::LARGEST;
        /// ECN-capable packets are marked up to this probability, in percent; by default 10.
        ecn_prob: u32 = 10, value, from 0, to 100;
        /// Whether ECN-capable packets are marked in place of dropped; by default they are not.
        ecn: bool = PieSettings::default().ecn, words("ecn" = true, "noecn" = false);
        /// Whether smaller packets are dropped less; by default they are not.
        bytemode: bool = PieSettings::default().bytemode, words("bytemode" = true, "nobytemode" = false);
    }
    passed {
        "no_dq_rate_estimator" = "the delay is measured by timestamps";
    }
    refused {
        "dq_rate_estimator" = "the delay is measured by timestamps, not by the rate of departures";
    }
}

impl FqPieSettings {
    /// The settings of each queue's PIE.
    const fn pie(&self) -> PieSettings {
        let Self { target, tupdate, alpha, beta, ecn, bytemode, .. } = *self;
        PieSettings { target, tupdate, alpha, beta, ecn, bytemode }
    }
}

impl Settings for FqPieSettings {
    const DEFAULT_LIMIT: Option<Limit> = Some(Limit::Packets(10_240));
    const TC: Option<Dialect<Self>> = Some(Self::DIALECT);

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, _limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(FqPie::new(*self))
    }
}

/// Flow queues at work.
#[derive(Debug)]
struct FqPie<P> {
    settings: FqPieSettings,
    pie: PieSettings,
    queues: Vec<(Waiting<P>, Pie)>,
    turns: Turns,
}

impl<P: Packet> FqPie<P> {
    fn new(settings: FqPieSettings) -> Self {
        Self {
            settings,
            pie: settings.pie(),
            queues: (0..settings.flows).map(|_| (Waiting::default(), Pie::new(settings.tupdate))).collect(),
            turns: Turns::new(settings.flows, settings.quantum),
        }
    }
}

impl<P: Packet> Discipline<P> for FqPie<P> {
    fn admit(&mut self, packet: &P, cx: &mut Context<'_, P>) -> Admission {
        let index = self.turns.queue_of(packet, cx);
        let (waiting, pie) = &mut self.queues[index as usize];
        let (size, bytes) = (packet.size(), waiting.bytes());
        if cx.waiting().bytes + size > self.settings.memory_limit {
            pie.overflowed();
            return Admission::Drop;
        }
        pie.update(&self.pie, cx.now, bytes == Bytes::ZERO);
        if !pie.drops(&self.pie, size, bytes, cx.random) {
            return Admission::Take;
        }
        let few = pie.probability <= f64::from(self.settings.ecn_prob) / 100.0;
        Admission::strike(self.settings.ecn && packet.ecn().is_capable() && few)
    }

    fn make_room(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        let index = self.turns.queue_of(packet, cx);
        self.queues[index as usize].1.overflowed();
    }

    fn pass(&mut self, packet: &P, cx: &mut Context<'_, P>) {
        self.turns.clear();
        let index = self.turns.queue_of(packet, cx);
        self.turns.list(index);
        self.turns.spend(index, packet.size());
        self.queues[index as usize].1.serve(cx.now, Span::ZERO, false);
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        let index = self.turns.queue_of(&packet, cx);
        self.queues[index as usize].0.push(cx.now, packet);
        self.turns.list(index);
    }

    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        let Self { queues, turns, pie: settings, .. } = self;
        turns.pop(|index| {
            let (waiting, pie) = &mut queues[index as usize];
            pie.update(settings, cx.now, waiting.packets() == 0);
            let (packet, arrived) = waiting.pop()?;
            pie.serve(cx.now, cx.now.since(arrived), waiting.packets() > 0);
            Some(Served { packet, arrived, marked: false })
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

    #[test]
    fn only_the_flow_that_stands_is_dropped() {
        let mut queue = Driven::new(FqPie::new(FqPieSettings::default()));
        let mut dropped = [0, 0];
        for at in 0..3000 {
            // Flow 1 sends two packets a millisecond, flow 2 one small packet in three. One a millisecond is served.
            let arrivals = [Parcel::of(1, 1500), Parcel::of(1, 1500), Parcel::of(2, 100)];
            for packet in &arrivals[..if at % 3 == 0 { 3 } else { 2 }] {
                match queue.admit(ms(at), *packet) {
                    Admission::Take => queue.push(ms(at), *packet),
                    _ => dropped[packet.flow as usize - 1] += 1,
                }
            }
            assert!(queue.pop(ms(at)).is_some());
        }
        assert!(dropped[0] > 100 && dropped[1] == 0, "{dropped:?}");
    }

    #[test]
    fn an_empty_queue_of_a_flow_loses_a_64th_of_its_probability_at_an_update() {
        let mut queue = Driven::new(FqPie::new(FqPieSettings { flows: 1, ..FqPieSettings::default() }));
        queue.push(ms(0), Parcel::full(0));
        assert!(queue.pop(ms(0)).is_some());
        queue.discipline.queues[0].1.probability = 0.64;
        // At the end of its turn it is found empty: `0.64 - 0.125 x 15 ms = 0.638125`, and 63/64 of that.
        assert_eq!(queue.pop(ms(20)), None);
        let probability = queue.discipline.queues[0].1.probability;
        assert!((probability - 0.628_154_296_875).abs() < 1e-12, "{probability}");
    }

    #[test]
    fn what_passes_an_idle_link_begins_the_turn_of_its_flow() {
        let mut queue = Driven::new(FqPie::new(FqPieSettings { flows: 1, ..FqPieSettings::default() }));
        assert!(!queue.discipline.turns.is_listed(0));
        queue.pass(ms(0), Parcel::full(0));
        assert!(queue.discipline.turns.is_listed(0));
    }

    #[test]
    fn the_memory_is_bounded() {
        let settings = FqPieSettings { memory_limit: Bytes::new(4000), ..FqPieSettings::default() };
        let mut queue = Driven::new(FqPie::new(settings));
        (0..2).for_each(|number| queue.push(ms(0), Parcel::full(number)));
        assert_eq!(queue.admit(ms(0), Parcel::full(2)), Admission::Drop);
        assert_eq!(queue.admit(ms(0), Parcel::of(1, 1000)), Admission::Take);
    }

    #[test]
    fn marks_reach_as_far_as_ecn_prob() {
        for (ecn_prob, expected) in [(30, Admission::Mark), (29, Admission::Drop)] {
            let settings = FqPieSettings { ecn: true, ecn_prob, flows: 1, ..FqPieSettings::default() };
            let mut queue = Driven::new(FqPie::new(settings));
            (0..40).for_each(|number| queue.push(ms(0), Parcel::full(number)));
            assert!(queue.pop(ms(14)).is_some());
            // Long enough for the burst to be over, and no update until then: 0.3 as it was set.
            queue.discipline.queues[0].1 = Pie::standing(0.3, Span::from_millis(14));
            let fates = [(); 40].map(|()| queue.admit(ms(14), Parcel::full(0).capable()));
            assert!(fates.contains(&expected) && fates.iter().all(|&fate| fate == expected || fate == Admission::Take));
        }
    }

    #[test]
    fn a_full_buffer_begins_the_spread_of_drops_anew() {
        let mut queue = Driven::new(FqPie::new(FqPieSettings { flows: 1, ..FqPieSettings::default() }));
        (0..40).for_each(|number| queue.push(ms(0), Parcel::full(number)));
        queue.discipline.queues[0].1 = Pie::standing(0.8, Span::from_millis(14));
        // Each time 0.8 have added up, and nothing is dropped below 0.85.
        for _ in 0..30 {
            assert_eq!(queue.admit(ms(14), Parcel::full(0)), Admission::Take);
            assert!(queue.make_room(ms(14), Parcel::full(0)).is_empty());
        }
        assert!([(); 30].map(|()| queue.admit(ms(14), Parcel::full(0))).contains(&Admission::Drop));
    }

    #[test]
    fn the_delay_of_a_queue_counts_while_others_wait_behind_the_packet() {
        let mut queue = Driven::new(FqPie::new(FqPieSettings { flows: 1, ..FqPieSettings::default() }));
        (0..3).for_each(|number| queue.push(ms(0), Parcel::full(number)));
        assert!(queue.pop(ms(20)).is_some());
        // At 30 ms: `0.125 x 5 ms + 1.25 x 20 ms = 0.025625`, a 2048th of it.
        assert!(queue.pop(ms(31)).is_some());
        let probability = queue.discipline.queues[0].1.probability;
        assert!((probability - 0.025_625 / 2048.0).abs() < 1e-12, "{probability}");
    }

    #[test]
    fn an_arrival_finds_out_that_its_queue_was_empty() {
        for (waiting, expected) in [(1, 0.628_154_296_875), (2, 0.638_125)] {
            let mut queue = Driven::new(FqPie::new(FqPieSettings { flows: 1, ..FqPieSettings::default() }));
            (0..waiting).for_each(|number| queue.push(ms(0), Parcel::full(number)));
            assert!(queue.pop(ms(0)).is_some());
            queue.discipline.queues[0].1.probability = 0.64;
            // `0.64 - 0.125 x 15 ms`; of a queue that is empty 63/64 of that.
            queue.admit(ms(20), Parcel::full(9));
            let probability = queue.discipline.queues[0].1.probability;
            assert!((probability - expected).abs() < 1e-12, "{waiting}: {probability}");
        }
    }
}
