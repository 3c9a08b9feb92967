//! What holds for every link, whatever its service, its limit, its losses and its traffic.

use std::sync::Arc;

use network::{
    Departure, Limit, Link, LinkSettings, LossModel, OPPORTUNITY, Packet, QueueSettings, Service, Trace, Verdict,
};
use proptest::prelude::*;
use units::{Bytes, Fraction, Random, Rate, Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parcel {
    number: usize,
    size: Bytes,
    ecn: bool,
    marked: bool,
}

impl Packet for Parcel {
    fn size(&self) -> Bytes {
        self.size
    }
    fn ecn_capable(&self) -> bool {
        self.ecn
    }
    fn mark_congestion(&mut self) {
        self.marked = true;
    }
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Time,
    parcel: Parcel,
}

/// Everything that can be seen of a link.
#[derive(Debug, PartialEq)]
struct Run {
    verdicts: Vec<Verdict<Parcel>>,
    departures: Vec<(Parcel, Departure)>,
    waiting: usize,
}

/// Offers the arrivals; between them the link advances to `wakes`, of which all are in order.
fn run(settings: &LinkSettings, arrivals: &[Arrival], wakes: &[Time], seed: u64) -> Run {
    let mut link = Link::new(settings.clone(), Random::stream(seed, "loss", 0));
    let mut departures = Vec::new();
    let mut wakes = wakes.iter().peekable();
    let mut verdicts = Vec::new();
    for &Arrival { at, parcel } in arrivals {
        let mut out = |packet, departure| departures.push((packet, departure));
        while let Some(&wake) = wakes.next_if(|&&wake| wake <= at) {
            link.advance(wake, &mut out);
        }
        verdicts.push(link.offer(at, parcel, &mut out));
    }
    let mut out = |packet, departure| departures.push((packet, departure));
    wakes.for_each(|&wake| link.advance(wake, &mut out));
    link.advance(Time::NEVER, &mut out);
    let waiting = link.queued_packets() as usize;
    Run { verdicts, departures, waiting }
}

fn span(range: std::ops::Range<u64>) -> impl Strategy<Value = Span> {
    range.prop_map(Span::from_micros)
}

fn rate() -> impl Strategy<Value = Rate> {
    // Up to 100 Mbit/s; odd numbers, so that packets do not divide into nanoseconds.
    prop_oneof![1 => Just(0), 9 => 100_000u64..100_000_000].prop_map(Rate::from_bits_per_second)
}

fn steps() -> impl Strategy<Value = Vec<(Time, Rate)>> {
    prop::collection::vec((span(0..20_000), rate()), 0..8).prop_map(|pieces| {
        let begins = pieces.iter().scan(Time::ZERO, |next, (gap, _)| {
            let at = *next;
            *next += *gap;
            Some(at)
        });
        begins.zip(pieces.iter().map(|&(_, rate)| rate)).collect()
    })
}

/// A trace in whole milliseconds, and its times.
fn trace() -> impl Strategy<Value = (Arc<Trace>, Vec<u64>)> {
    prop::collection::vec(0u64..4, 1..20).prop_map(|gaps| {
        let mut times: Vec<u64> = gaps
            .iter()
            .scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect();
        times.push(times.last().unwrap() + 1);
        let text: String = times.iter().map(|time| format!("{time}\n")).collect();
        (Arc::new(Trace::parse(&text).unwrap()), times)
    })
}

fn service() -> impl Strategy<Value = Service> {
    prop_oneof![
        Just(Service::Unlimited),
        rate().prop_map(Service::Fixed),
        steps().prop_map(Service::Steps),
        trace().prop_map(|(trace, _)| Service::Trace(trace)),
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        Just(Limit::Infinite),
        (0u32..20).prop_map(Limit::Packets),
        (0u64..30_000).prop_map(|bytes| Limit::Bytes(Bytes::new(bytes))),
        span(0..20_000).prop_map(Limit::Delay),
    ]
}

fn loss() -> impl Strategy<Value = LossModel> {
    let fraction = || (0.0..=1.0).prop_map(|value| Fraction::new(value).unwrap());
    prop_oneof![
        Just(LossModel::None),
        fraction().prop_map(LossModel::Bernoulli),
        (fraction(), fraction(), fraction(), fraction()).prop_map(|(good_to_bad, bad_to_good, loss_good, loss_bad)| {
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }
        }),
        prop::collection::btree_set(0u64..200, 0..20).prop_map(|set| LossModel::Packets(set.into_iter().collect())),
    ]
}

fn settings() -> impl Strategy<Value = LinkSettings> {
    (service(), limit(), any::<bool>(), prop::option::of(0u32..10), loss()).prop_map(
        |(service, limit, count_in_service, mark_above, loss)| LinkSettings {
            service,
            queue: QueueSettings { limit, count_in_service, mark_above },
            loss,
        },
    )
}

/// Bursts and pauses; full packets, acknowledgements, anything between and beyond.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0), 3 => 1u64..2_000_000, 2 => (0u64..5).prop_map(|ms| ms * 1_000_000), 1 => 0u64..50_000_000];
    let size = prop_oneof![3 => Just(1500), 2 => Just(40), 2 => 1u64..4000];
    prop::collection::vec((gap, size, any::<bool>()), 1..120).prop_map(|packets| {
        let mut at = Time::ZERO;
        packets
            .into_iter()
            .enumerate()
            .map(|(number, (gap, size, ecn))| {
                at += Span::from_nanos(gap);
                Arrival { at, parcel: Parcel { number, size: Bytes::new(size), ecn, marked: false } }
            })
            .collect()
    })
}

fn wakes() -> impl Strategy<Value = Vec<Time>> {
    prop::collection::vec(0u64..300_000_000, 0..200).prop_map(|mut nanos| {
        nanos.sort_unstable();
        nanos.into_iter().map(Time::from_nanos).collect()
    })
}

/// For every packet: since when the link has been busy without a break, how many bits it sent in that time, and until when.
fn busy_periods(departures: &[(Parcel, Departure)]) -> impl Iterator<Item = (Time, u64, Time)> {
    let (mut since, mut bits, mut free_at) = (Time::ZERO, 0, Time::ZERO);
    departures.iter().map(move |(parcel, departure)| {
        if departure.start > free_at {
            (since, bits) = (departure.start, 0);
        }
        bits += parcel.size.get() * 8;
        free_at = departure.finish;
        (since, bits, free_at)
    })
}

/// Bits times 10^9 that a schedule can send in a span of time.
fn capacity(steps: &[(Time, Rate)], from: Time, to: Time) -> u128 {
    let ends = steps.iter().skip(1).map(|step| step.0).chain([Time::NEVER]);
    steps
        .iter()
        .zip(ends)
        .map(|(&(begin, rate), end)| {
            let span = end.min(to).since(begin.max(from));
            u128::from(span.as_nanos()) * u128::from(rate.bits_per_second())
        })
        .sum()
}

/// Plays a trace millisecond by millisecond: at each of its opportunities, up to 1500 bytes of what arrived before leave.
fn finishes_by_opportunity(times: &[u64], arrivals: &[Arrival]) -> Vec<Time> {
    let period = *times.last().unwrap();
    let mut finishes = Vec::new();
    let mut sent_of_first = 0;
    for cycle in 0.. {
        for time in times {
            let now = Time::ZERO + Span::from_millis(cycle * period + time);
            let mut left = OPPORTUNITY.get();
            while left > 0 {
                let Some(first) = arrivals.get(finishes.len()) else { return finishes };
                if first.at >= now {
                    break;
                }
                let sent = left.min(first.parcel.size.get() - sent_of_first);
                (left, sent_of_first) = (left - sent, sent_of_first + sent);
                if sent_of_first == first.parcel.size.get() {
                    finishes.push(now);
                    sent_of_first = 0;
                }
            }
        }
    }
    unreachable!("the trace repeats until everything is sent")
}

fn unimpaired(service: Service) -> LinkSettings {
    LinkSettings { service, queue: QueueSettings::default(), loss: LossModel::None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_packet_is_lost_dropped_waiting_or_gone(settings in settings(), arrivals in arrivals(), seed: u64) {
        let run = run(&settings, &arrivals, &[], seed);
        let mut taken = Vec::new();
        for (verdict, arrival) in run.verdicts.iter().zip(&arrivals) {
            match *verdict {
                Verdict::Taken { marked } => {
                    prop_assert!(!marked || arrival.parcel.ecn);
                    taken.push((Parcel { marked, ..arrival.parcel }, arrival.at));
                }
                Verdict::Lost(parcel) | Verdict::Dropped(parcel) => prop_assert_eq!(parcel, arrival.parcel),
            }
        }
        prop_assert_eq!(run.departures.len() + run.waiting, taken.len());
        let in_order = run.departures.iter().map(|&(parcel, departure)| (parcel, departure.arrived)).zip(&taken);
        for (departed, taken) in in_order {
            prop_assert_eq!(departed, *taken);
        }
        for (i, (_, departure)) in run.departures.iter().enumerate() {
            let behind = || taken[i + 1..].iter().filter(|&&(_, arrived)| arrived < departure.start);
            let bytes: u64 = behind().map(|(parcel, _)| parcel.size.get()).sum();
            prop_assert_eq!(departure.queued_packets as usize, behind().count());
            prop_assert_eq!(departure.queued_bytes.get(), bytes);
        }
        // Only a link that is down for ever keeps what it took.
        prop_assert!(run.waiting == 0 || run.departures.last().unwrap().1.finish == Time::NEVER);
    }

    #[test]
    fn a_link_serves_one_packet_at_a_time_and_is_idle_only_when_nothing_waits(settings in settings(), arrivals in arrivals(), seed: u64) {
        let mut free_at = Time::ZERO;
        for (_, departure) in run(&settings, &arrivals, &[], seed).departures {
            prop_assert_eq!(departure.start, departure.arrived.max(free_at));
            prop_assert!(departure.finish >= departure.start);
            free_at = departure.finish;
        }
    }

    #[test]
    fn advancing_often_or_rarely_gives_the_same_departures(settings in settings(), arrivals in arrivals(), wakes in wakes(), seed: u64) {
        prop_assert_eq!(run(&settings, &arrivals, &wakes, seed), run(&settings, &arrivals, &[], seed));
    }

    #[test]
    fn the_queue_decides_by_what_waits_at_the_arrival(mut settings in settings(), fixed in rate(), arrivals in arrivals(), seed: u64) {
        if matches!(settings.queue.limit, Limit::Delay(_)) {
            settings.service = Service::Fixed(fixed);
        }
        let run = run(&settings, &arrivals, &[], seed);
        let queue = settings.queue;
        // What is known of a packet that was taken: when it started, if it ever did.
        let mut taken = Vec::new();
        let mut departures = run.departures.iter();
        for (verdict, arrival) in run.verdicts.iter().zip(&arrivals) {
            let waiting: Vec<&(Bytes, Time, Time)> = taken.iter().filter(|&&(_, start, _)| start > arrival.at).collect();
            let in_service = taken.iter().find(|&&(_, start, finish)| start <= arrival.at && arrival.at < finish);
            let packets = waiting.len() as u32;
            let bytes: u64 = waiting.iter().map(|(size, ..)| size.get()).sum();
            let counted = in_service.filter(|_| queue.count_in_service);
            let full = match queue.limit {
                Limit::Infinite => false,
                Limit::Packets(limit) => packets + u32::from(counted.is_some()) >= limit,
                Limit::Bytes(limit) => {
                    bytes + counted.map_or(0, |(size, ..)| size.get()) + arrival.parcel.size.get() > limit.get()
                }
                Limit::Delay(limit) => {
                    let remainder = counted.map_or(0, |&(_, _, finish)| finish.since(arrival.at).as_nanos());
                    let spare = i128::from(limit.as_nanos()) - i128::from(remainder);
                    i128::from(bytes) * 8_000_000_000 > spare * i128::from(fixed.bits_per_second()) || spare < 0
                }
            };
            match *verdict {
                Verdict::Lost(_) => {}
                Verdict::Dropped(_) => prop_assert!(full && in_service.is_some()),
                Verdict::Taken { marked } => {
                    prop_assert!(!full || in_service.is_none());
                    prop_assert_eq!(marked, arrival.parcel.ecn && queue.mark_above.is_some_and(|n| packets >= n));
                    let (start, finish) = departures.next().map_or((Time::NEVER, Time::NEVER), |(_, d)| (d.start, d.finish));
                    taken.push((arrival.parcel.size, start, finish));
                }
            }
        }
    }

    #[test]
    fn a_busy_link_sends_exactly_what_its_schedule_allows(steps in steps(), arrivals in arrivals()) {
        let run = run(&unimpaired(Service::Steps(steps.clone())), &arrivals, &[], 0);
        for (since, bits, finish) in busy_periods(&run.departures) {
            let work = u128::from(bits) * 1_000_000_000;
            prop_assert!(capacity(&steps, since, finish) <= work || finish == Time::NEVER);
            if finish == Time::NEVER {
                prop_assert!(capacity(&steps, since, finish) < work);
            } else {
                prop_assert!(capacity(&steps, since, finish + Span::from_nanos(1)) >= work);
            }
        }
    }

    #[test]
    fn one_step_is_a_fixed_rate(rate in rate(), arrivals in arrivals()) {
        let fixed = run(&unimpaired(Service::Fixed(rate)), &arrivals, &[], 0);
        prop_assert_eq!(fixed, run(&unimpaired(Service::Steps(vec![(Time::ZERO, rate)])), &arrivals, &[], 0));
    }

    #[test]
    fn a_trace_delivers_at_its_opportunities((trace, times) in trace(), arrivals in arrivals()) {
        let run = run(&unimpaired(Service::Trace(trace)), &arrivals, &[], 0);
        let finishes: Vec<Time> = run.departures.iter().map(|(_, departure)| departure.finish).collect();
        prop_assert_eq!(finishes, finishes_by_opportunity(&times, &arrivals));
    }
}
