//! A link with a discipline that drops and marks wherever it may.

mod common;

use std::collections::VecDeque;

use common::Parcel;
use network::{
    Admission, Context, Departure, Discard, Discipline, Egress, Limit, Link, LinkSettings, LossModel, Packet,
    QueueSettings, Served, Service,
};
use proptest::prelude::*;
use units::{Ecn, Fraction, Random, Rate, Span, Time};

/// Decides everything by chance.
#[derive(Debug, Default)]
struct Capricious {
    waiting: VecDeque<(Parcel, Time)>,
}

impl Capricious {
    /// Drops waiting packets, each with a probability of a quarter.
    fn drop_some(&mut self, cx: &mut Context<'_, Parcel>) {
        while !self.waiting.is_empty() && cx.random.happens(0.25) {
            let victim = (cx.random.uniform() * self.waiting.len() as f64) as usize;
            let packet = self.waiting.remove(victim).unwrap().0;
            cx.drop(packet);
            assert_eq!(cx.waiting().packets as usize, self.waiting.len());
        }
    }
}

impl Discipline<Parcel> for Capricious {
    fn admit(&mut self, packet: &Parcel, cx: &mut Context<'_, Parcel>) -> Admission {
        match (cx.random.uniform() * 4.0) as u32 {
            0 => Admission::Drop,
            1 if packet.ecn().is_capable() => Admission::Mark,
            _ => Admission::Take,
        }
    }

    fn make_room(&mut self, _packet: &Parcel, cx: &mut Context<'_, Parcel>) {
        self.drop_some(cx);
    }

    fn push(&mut self, packet: Parcel, cx: &mut Context<'_, Parcel>) {
        self.waiting.push_back((packet, cx.now));
        self.drop_some(cx);
    }

    fn pop(&mut self, cx: &mut Context<'_, Parcel>) -> Option<Served<Parcel>> {
        while cx.random.happens(0.25) {
            let (packet, _) = self.waiting.pop_front()?;
            cx.drop(packet);
        }
        let (packet, arrived) = self.waiting.pop_front()?;
        let marked = packet.ecn().is_capable() && cx.random.happens(0.5);
        Some(Served { packet, arrived, marked })
    }
}

/// A report of the link: when, of which packet, how many waited.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Report {
    Take(bool),
    Mark,
    Depart(Departure),
    Discard(Discard),
}

#[derive(Debug, Default, PartialEq)]
struct Reports(Vec<(Time, Parcel, Report, u32)>);

impl Egress<Parcel> for Reports {
    fn take(&mut self, packet: &Parcel, at: Time, marked: bool, queued: u32) {
        self.0.push((at, *packet, Report::Take(marked), queued));
    }
    fn mark(&mut self, packet: &Parcel, at: Time, queued: u32) {
        self.0.push((at, *packet, Report::Mark, queued));
    }
    fn depart(&mut self, packet: Parcel, departure: Departure) {
        self.0.push((departure.start, packet, Report::Depart(departure), departure.queued_packets));
    }
    fn discard(&mut self, packet: Parcel, at: Time, why: Discard, queued: u32) {
        self.0.push((at, packet, Report::Discard(why), queued));
    }
}

/// Offers the packets, each with the pause before it in microseconds, to a link of 8 Mbit/s (a byte in a microsecond)
/// with room for `limit` packets. Looks at the link at `wakes` too.
fn reports(packets: &[(u64, u64, bool)], limit: u32, wakes: &[u64], seed: u64) -> (Reports, u32) {
    let settings = LinkSettings {
        service: Service::Fixed(Rate::from_mbit(8)),
        queue: QueueSettings { limit: Limit::Packets(limit), ..QueueSettings::default() },
        loss: LossModel::Bernoulli(Fraction::new(0.1).unwrap()),
    };
    let [losses, queue] = ["loss", "queue"].map(|name| Random::stream(seed, name, 0));
    let mut link = Link::with_discipline(settings, Box::<Capricious>::default(), losses, queue);
    let mut out = Reports::default();
    let (mut now, mut wakes) = (Time::ZERO, wakes.iter().peekable());
    for (number, &(pause, size, capable)) in (0..).zip(packets) {
        now += Span::from_micros(pause);
        while let Some(wake) = wakes.next_if(|&&wake| Time::ZERO + Span::from_micros(wake) <= now) {
            link.advance(Time::ZERO + Span::from_micros(*wake), &mut out);
        }
        let ecn = if capable { Ecn::Ect1 } else { Ecn::NotCapable };
        link.offer(now, Parcel { number, size, ecn }, &mut out);
    }
    link.advance(Time::NEVER, &mut out);
    (out, link.queued_packets())
}

fn packets() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    prop::collection::vec((prop_oneof![Just(0), 0u64..3000], 1u64..1500, any::<bool>()), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_packet_has_one_end_and_reports_are_in_order(packets in packets(), limit in 0u32..10, seed: u64) {
        let (Reports(reports), left) = reports(&packets, limit, &[], seed);
        prop_assert_eq!(left, 0);
        prop_assert!(reports.is_sorted_by_key(|report| report.0));
        let mut waiting = Vec::new();
        let mut ends = vec![0; packets.len()];
        for (i, &(at, packet, report, queued)) in reports.iter().enumerate() {
            match report {
                Report::Take(marked) => {
                    prop_assert!(!marked || packet.ecn == Ecn::Ect1);
                    let (then, next, follows, _) = reports[i + 1];
                    prop_assert_eq!(marked, (then, next.number, follows) == (at, packet.number, Report::Mark));
                    waiting.push(packet.number);
                    // One whose service starts at once is not waiting.
                    prop_assert!(queued == 0 || queued as usize <= waiting.len());
                }
                Report::Mark => prop_assert_eq!((packet.ecn, ends[packet.number as usize]), (Ecn::Congestion, 0)),
                Report::Depart(Departure { start, .. }) => {
                    prop_assert_eq!(start, at);
                    waiting.retain(|&number| number != packet.number);
                    prop_assert_eq!(queued as usize, waiting.len());
                    ends[packet.number as usize] += 1;
                }
                Report::Discard(why) => {
                    let waited = matches!(why, Discard::Evicted | Discard::Head);
                    prop_assert_eq!(waited, waiting.contains(&packet.number), "{:?}", why);
                    waiting.retain(|&number| number != packet.number);
                    if why == Discard::Head {
                        prop_assert_eq!(queued as usize, waiting.len());
                    }
                    ends[packet.number as usize] += 1;
                }
            }
        }
        prop_assert!(ends.iter().all(|&count| count == 1), "{:?}", ends);
    }

    #[test]
    fn looking_often_or_rarely_gives_the_same_reports(
        packets in packets(),
        limit in 0u32..10,
        mut wakes in prop::collection::vec(0u64..100_000, 0..100),
        seed: u64,
    ) {
        wakes.sort_unstable();
        prop_assert_eq!(reports(&packets, limit, &wakes, seed), reports(&packets, limit, &[], seed));
    }
}
