//! What holds for every link, whatever its service, its limit, its losses and its traffic.

use std::sync::Arc;

use network::{
    AvqSettings, CakeSettings, CodelSettings, Departure, Discard, DisciplineSettings, DrrSettings, DualPi2Settings,
    Egress, FqCodelSettings, FqPieSettings, FqSettings, Limit, Link, LinkSettings, LossModel, OPPORTUNITY, Packet,
    PieSettings, PoliceSettings, QueueSettings, RedSettings, Service, TokenBucket, Trace,
};
use proptest::prelude::*;
use units::{Bytes, Ecn, Fraction, Random, Rate, Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parcel {
    number: usize,
    flow: u32,
    size: Bytes,
    ecn: bool,
    marked: bool,
}

impl Packet for Parcel {
    fn size(&self) -> Bytes {
        self.size
    }
    fn ecn(&self) -> Ecn {
        if self.ecn { Ecn::Ect0 } else { Ecn::NotCapable }
    }
    fn flow(&self) -> u32 {
        self.flow
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

/// What became of a packet when it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Taken { marked: bool },
    Lost,
    Dropped,
}

/// Everything that can be seen of a link.
#[derive(Debug, Default, PartialEq)]
struct Run {
    verdicts: Vec<Verdict>,
    departures: Vec<(Parcel, Departure)>,
    /// Which offer it was dropped for, and when that was.
    evicted: Vec<(Parcel, usize, Time)>,
    /// Dropped when its turn came.
    dropped_at_head: Vec<(Parcel, Time)>,
    waiting: usize,
    /// What is being offered.
    offered: usize,
}

impl Egress<Parcel> for Run {
    fn take(&mut self, _packet: &Parcel, _at: Time, marked: bool, _queued: u32) {
        self.verdicts.push(Verdict::Taken { marked });
    }
    fn depart(&mut self, packet: Parcel, departure: Departure) {
        self.departures.push((packet, departure));
    }
    fn discard(&mut self, packet: Parcel, at: Time, why: Discard, _queued: u32) {
        match why {
            Discard::Lost => self.verdicts.push(Verdict::Lost),
            Discard::Full | Discard::Early => self.verdicts.push(Verdict::Dropped),
            Discard::Evicted => self.evicted.push((packet, self.offered, at)),
            Discard::Head => self.dropped_at_head.push((packet, at)),
            Discard::Retries => unreachable!("no link here sends a packet again"),
        }
    }
}

fn streams(seed: u64) -> [Random; 2] {
    ["loss", "queue"].map(|name| Random::stream(seed, name, 0))
}

/// Offers the arrivals; between them the link advances to `wakes`, of which all are in order.
fn run(settings: &LinkSettings, arrivals: &[Arrival], wakes: &[Time], seed: u64) -> Run {
    let [losses, queue] = streams(seed);
    let mut link = Link::new(settings.clone(), losses, queue);
    let mut run = Run::default();
    let mut wakes = wakes.iter().peekable();
    for &Arrival { at, parcel } in arrivals {
        while let Some(&wake) = wakes.next_if(|&&wake| wake <= at) {
            link.advance(wake, &mut run);
        }
        run.offered = parcel.number;
        link.offer(at, parcel, &mut run);
    }
    wakes.for_each(|&wake| link.advance(wake, &mut run));
    link.advance(Time::NEVER, &mut run);
    run.waiting = link.queued_packets() as usize;
    run
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
        (1_000_000u64..100_000_000, 1u64..10_000, 1u64..10).prop_map(|(rate, burst, times)| {
            let rate_of = Rate::from_bits_per_second;
            Service::Shaped(TokenBucket { rate: rate_of(rate), burst: Bytes::new(burst), peak: rate_of(rate * times) })
        }),
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

fn discipline() -> impl Strategy<Value = DisciplineSettings> {
    prop_oneof![
        Just(DisciplineSettings::Fifo),
        Just(DisciplineSettings::FairQueueing(FqSettings {})),
        (1u64..3000)
            .prop_map(|quantum| DisciplineSettings::DeficitRoundRobin(DrrSettings { quantum: Bytes::new(quantum) })),
    ]
}

/// Disciplines that drop or mark when the turn of a packet comes, so eager that a hundred packets show it.
fn managed() -> impl Strategy<Value = DisciplineSettings> {
    (span(0..5000), span(1..20_000), any::<bool>(), prop::option::of(span(0..5000)), 1u32..4, 1u64..3000).prop_map(
        |(target, interval, ecn, ce_threshold, flows, quantum)| match flows {
            1 => DisciplineSettings::Codel(CodelSettings { target, interval, ecn, ce_threshold }),
            _ => DisciplineSettings::FqCodel(FqCodelSettings {
                target,
                interval,
                ecn,
                ce_threshold,
                flows,
                quantum: Bytes::new(quantum),
                drop_batch: flows,
                memory_limit: Bytes::new(10 * quantum),
            }),
        },
    )
}

/// Disciplines that drop or mark what arrives, with thresholds that a hundred packets pass.
fn early() -> impl Strategy<Value = DisciplineSettings> {
    let size = || (1u64..10_000).prop_map(Bytes::new);
    let red = (size(), size(), 0.0..=1.0, any::<[bool; 5]>(), 1u32..50).prop_map(
        |(min, above, probability, [ecn, harddrop, nodrop, adaptive, gentle], burst)| {
            DisciplineSettings::Red(RedSettings {
                min: Some(min),
                max: Some(min + above),
                probability: Fraction::new(probability).unwrap(),
                burst: Some(burst),
                ecn,
                harddrop,
                nodrop,
                adaptive,
                gentle,
                ..RedSettings::default()
            })
        },
    );
    let avq = (size(), 0.01..=1.0, 0.01..100.0, any::<bool>()).prop_map(|(room, gamma, alpha, ecn)| {
        let gamma = Fraction::new(gamma).unwrap();
        DisciplineSettings::Avq(AvqSettings { gamma, alpha, ecn, virtual_limit: Some(room), bandwidth: None })
    });
    let police = (rate(), size(), any::<bool>()).prop_map(|(rate, burst, ecn)| {
        DisciplineSettings::Police(PoliceSettings { rate: Some(rate), burst: Some(burst), ecn })
    });
    prop_oneof![red, avq, pie(), police]
}

/// PIE for one queue and for few.
fn pie() -> impl Strategy<Value = DisciplineSettings> {
    let keys = (span(1..5000), span(1..5000), 0u32..=32, 0u32..=32, any::<[bool; 2]>());
    (keys, 0u32..4, 1u64..3000).prop_map(|((target, tupdate, alpha, beta, [ecn, bytemode]), flows, quantum)| {
        let pie = PieSettings { target, tupdate, alpha, beta, ecn, bytemode };
        if flows == 0 {
            return DisciplineSettings::Pie(pie);
        }
        DisciplineSettings::FqPie(FqPieSettings {
            target,
            tupdate,
            alpha,
            beta,
            ecn,
            ecn_prob: 30 * flows,
            bytemode,
            flows,
            quantum: Bytes::new(quantum),
            memory_limit: Bytes::new(10 * quantum),
        })
    })
}

/// Disciplines that strike what stands, in several queues.
fn several() -> impl Strategy<Value = DisciplineSettings> {
    let cake = (span(1..20_000), any::<bool>(), 1u64..30_000).prop_map(|(rtt, flowblind, memory)| {
        DisciplineSettings::Cake(CakeSettings { rtt, flowblind, memlimit: Some(Bytes::new(memory)) })
    });
    let dual = (span(1..5000), span(1..5000), span(0..5000), 0u32..3, 1u32..10, any::<[bool; 2]>()).prop_map(
        |(target, tupdate, step_thresh, min_qlen_step, coupling_factor, [overflow, any_ect])| {
            DisciplineSettings::DualPi2(DualPi2Settings {
                target,
                tupdate,
                alpha: 10.0,
                beta: 100.0,
                step_thresh,
                min_qlen_step,
                coupling_factor,
                classic_protection: 10 * coupling_factor,
                overflow,
                any_ect,
            })
        },
    );
    prop_oneof![cake, dual]
}

fn settings() -> impl Strategy<Value = LinkSettings> {
    settings_of(discipline())
}

fn settings_of(discipline: impl Strategy<Value = DisciplineSettings>) -> impl Strategy<Value = LinkSettings> {
    (service(), limit(), any::<bool>(), prop::option::of(0u32..10), discipline, loss()).prop_map(
        |(service, limit, count_in_service, mark_above, discipline, loss)| LinkSettings {
            service,
            queue: QueueSettings { limit, count_in_service, mark_above, discipline },
            loss,
        },
    )
}

/// Bursts and pauses; full packets, acknowledgements, anything between and beyond.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let whole_ms = (0u64..5).prop_map(|ms| ms * 1_000_000);
    let gap = prop_oneof![3 => Just(0), 3 => 1u64..2_000_000, 2 => whole_ms, 1 => 0u64..50_000_000];
    let size = prop_oneof![3 => Just(1500), 2 => Just(40), 2 => 1u64..4000];
    prop::collection::vec((gap, size, 0u32..5, any::<bool>()), 1..120).prop_map(|packets| {
        let mut at = Time::ZERO;
        packets
            .into_iter()
            .enumerate()
            .map(|(number, (gap, size, flow, ecn))| {
                at += Span::from_nanos(gap);
                Arrival { at, parcel: Parcel { number, flow, size: Bytes::new(size), ecn, marked: false } }
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

/// For every packet: since when the link has been busy without a break, how many bits it sent in that time, and until
/// when.
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

/// Plays a trace millisecond by millisecond: at each of its opportunities, up to 1500 bytes of what arrived before
/// leave.
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

/// When each packet would be through if a link of `rate` bits per nanosecond served the flows bit by bit in turn
/// (generalized processor sharing, Parekh and Gallager 1993), in nanoseconds.
fn finishes_bit_by_bit(rate: f64, arrivals: &[Arrival]) -> Vec<f64> {
    let mut finishes = vec![f64::NAN; arrivals.len()];
    let mut queues: [std::collections::VecDeque<(usize, f64)>; 5] = Default::default();
    let (mut now, mut next) = (0.0, 0);
    loop {
        let active = queues.iter().filter(|queue| !queue.is_empty()).count() as f64;
        let shortest = queues.iter().filter_map(|queue| queue.front()).map(|head| head.1).fold(f64::INFINITY, f64::min);
        let arrival = arrivals.get(next).map_or(f64::INFINITY, |arrival| arrival.at.as_nanos() as f64);
        let first_finish = if active > 0.0 { now + shortest * active / rate } else { f64::INFINITY };
        let until = first_finish.min(arrival);
        if until.is_infinite() {
            return finishes;
        }
        // Exactly to zero, so that rounding leaves nothing behind.
        let sent = if first_finish < arrival { shortest } else { (until - now) * rate / active };
        queues.iter_mut().filter_map(|queue| queue.front_mut()).for_each(|head| head.1 -= sent);
        now = until;
        if first_finish >= arrival {
            let Parcel { number, flow, size, .. } = arrivals[next].parcel;
            queues[flow as usize].push_back((number, (8 * size.get()) as f64));
            next += 1;
            continue;
        }
        for queue in &mut queues {
            while let Some((number, _)) = queue.pop_front_if(|head| head.1 <= 0.0) {
                finishes[number] = now;
            }
        }
    }
}

fn parcel(number: usize, flow: u32, size: u64) -> Parcel {
    Parcel { number, flow, size: Bytes::new(size), ecn: false, marked: false }
}

fn unimpaired(service: Service) -> LinkSettings {
    LinkSettings { service, queue: QueueSettings::default(), loss: LossModel::None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_packet_is_lost_dropped_waiting_or_gone(settings in settings(), arrivals in arrivals(), seed: u64) {
        let run = run(&settings, &arrivals, &[], seed);
        prop_assert_eq!(run.verdicts.len(), arrivals.len());
        let mut taken = Vec::new();
        for (verdict, arrival) in run.verdicts.iter().zip(&arrivals) {
            match *verdict {
                Verdict::Taken { marked } => {
                    prop_assert!(!marked || arrival.parcel.ecn);
                    taken.push((Parcel { marked, ..arrival.parcel }, arrival.at));
                }
                Verdict::Lost | Verdict::Dropped => {}
            }
        }
        prop_assert_eq!(run.departures.len() + run.evicted.len() + run.waiting, taken.len());
        let departed = run.departures.iter().map(|&(parcel, departure)| (parcel, departure.arrived));
        let mut gone: Vec<_> = departed.clone().chain(run.evicted.iter().map(|&(parcel, ..)| {
            (parcel, arrivals[parcel.number].at)
        })).collect();
        gone.sort_by_key(|(parcel, _)| parcel.number);
        gone.dedup_by_key(|(parcel, _)| parcel.number);
        prop_assert_eq!(gone.len() + run.waiting, taken.len());
        for gone in &gone {
            prop_assert!(taken.contains(gone), "{:?}", gone);
        }
        if settings.queue.discipline == DisciplineSettings::Fifo {
            prop_assert!(run.evicted.is_empty());
            prop_assert!(departed.eq(taken[..run.departures.len()].iter().copied()));
        }
        for flow in 0..5 {
            prop_assert!(run.departures.iter().filter(|(p, _)| p.flow == flow).is_sorted_by_key(|(p, _)| p.number));
        }
        for (i, (_, departure)) in run.departures.iter().enumerate() {
            let start = departure.start;
            let came = taken.iter().filter(|&&(_, arrived)| arrived < start);
            let went = run.departures[..=i].iter().map(|(parcel, _)| parcel);
            let went = went.chain(run.evicted.iter().filter(|&&(.., at)| at < start).map(|(parcel, ..)| parcel));
            let waiting: Vec<_> = {
                let went: Vec<usize> = went.map(|parcel| parcel.number).collect();
                came.filter(|(parcel, _)| !went.contains(&parcel.number)).collect()
            };
            // One that found the link idle left nothing behind, whatever came at the same instant.
            let waiting = if start == departure.arrived { Vec::new() } else { waiting };
            prop_assert_eq!(departure.queued_packets as usize, waiting.len());
            let bytes: u64 = waiting.iter().map(|(parcel, _)| parcel.size.get()).sum();
            prop_assert_eq!(departure.queued_bytes.get(), bytes);
        }
        // Only a link that is down for ever keeps what it took.
        prop_assert!(run.waiting == 0 || run.departures.last().unwrap().1.finish == Time::NEVER);
    }

    #[test]
    fn a_link_serves_one_packet_at_a_time_and_is_idle_only_when_nothing_waits(
        settings in settings(),
        arrivals in arrivals(),
        seed: u64,
    ) {
        let mut free_at = Time::ZERO;
        for (_, departure) in run(&settings, &arrivals, &[], seed).departures {
            prop_assert_eq!(departure.start, departure.arrived.max(free_at));
            prop_assert!(departure.finish >= departure.start);
            free_at = departure.finish;
        }
    }

    #[test]
    fn advancing_often_or_rarely_gives_the_same_departures(
        settings in settings(),
        arrivals in arrivals(),
        wakes in wakes(),
        seed: u64,
    ) {
        prop_assert_eq!(run(&settings, &arrivals, &wakes, seed), run(&settings, &arrivals, &[], seed));
    }

    #[test]
    fn the_queue_decides_by_what_waits_at_the_arrival(
        mut settings in settings(),
        fixed in rate(),
        arrivals in arrivals(),
        seed: u64,
    ) {
        if matches!(settings.queue.limit, Limit::Delay(_)) {
            settings.service = Service::Fixed(fixed);
        }
        let run = run(&settings, &arrivals, &[], seed);
        let queue = settings.queue;
        let times = |number: usize| {
            let departure = run.departures.iter().find(|(parcel, _)| parcel.number == number);
            departure.map_or((Time::NEVER, Time::NEVER), |(_, departure)| (departure.start, departure.finish))
        };
        // What was taken and not dropped since, with start and finish of its service, if it ever was served.
        let mut taken: Vec<(Parcel, Time, Time)> = Vec::new();
        for (verdict, &Arrival { at, parcel }) in run.verdicts.iter().zip(&arrivals) {
            if matches!(verdict, Verdict::Lost) {
                continue;
            }
            let mut waiting: Vec<Parcel> = taken.iter().filter(|t| t.1 > at).map(|t| t.0).collect();
            let in_service = taken.iter().find(|t| t.1 <= at && at < t.2);
            let counted = in_service.filter(|_| queue.count_in_service);
            let found = waiting.len() as u32;
            let full = |waiting: &[Parcel]| {
                let bytes: u64 = waiting.iter().map(|parcel| parcel.size.get()).sum();
                in_service.is_some() && match queue.limit {
                    Limit::Infinite => false,
                    Limit::Packets(limit) => waiting.len() as u32 + u32::from(counted.is_some()) >= limit,
                    Limit::Bytes(limit) => {
                        bytes + counted.map_or(0, |(p, ..)| p.size.get()) + parcel.size.get() > limit.get()
                    }
                    Limit::Delay(limit) => {
                        let remainder = counted.map_or(0, |&(_, _, finish)| finish.since(at).as_nanos());
                        let spare = i128::from(limit.as_nanos()) - i128::from(remainder);
                        i128::from(bytes) * 8_000_000_000 > spare * i128::from(fixed.bits_per_second()) || spare < 0
                    }
                }
            };
            // Drops the last packet of the longest queue until there is room.
            let mut expected = Vec::new();
            let mut dropped = false;
            while full(&waiting) && !dropped {
                waiting.push(parcel);
                let length = |flow: u32| -> u64 {
                    let own = waiting.iter().filter(|p| p.flow == flow);
                    own.map(|p| if matches!(queue.limit, Limit::Packets(_)) { 1 } else { p.size.get() }).sum()
                };
                let last = |flow: u32| waiting.iter().filter(|p| p.flow == flow).map(|p| p.number).max();
                let longest = (0..5).max_by_key(|&flow| (length(flow), last(flow))).unwrap();
                let is_fifo = queue.discipline == DisciplineSettings::Fifo;
                let victim = if is_fifo { parcel.number } else { last(longest).unwrap() };
                dropped = victim == parcel.number;
                waiting.pop();
                waiting.retain(|p| p.number != victim);
                expected.extend((!dropped).then_some(victim));
            }
            let evicted: Vec<usize> = run.evicted.iter().filter(|e| e.1 == parcel.number).map(|e| e.0.number).collect();
            taken.retain(|(p, ..)| !evicted.contains(&p.number));
            prop_assert_eq!(evicted, expected);
            match *verdict {
                Verdict::Lost => {}
                Verdict::Dropped => prop_assert!(dropped),
                Verdict::Taken { marked } => {
                    prop_assert!(!dropped);
                    prop_assert_eq!(marked, parcel.ecn && queue.mark_above.is_some_and(|n| found >= n));
                    let (start, finish) = times(parcel.number);
                    taken.push((parcel, start, finish));
                }
            }
        }
    }

    #[test]
    fn what_is_dropped_is_neither_served_nor_waiting(
        settings in settings_of(prop_oneof![managed(), early(), several()]),
        arrivals in arrivals(),
        seed: u64,
    ) {
        let run = run(&settings, &arrivals, &[], seed);
        let taken = run.verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Taken { .. })).count();
        let gone = run.departures.iter().map(|(parcel, _)| parcel.number);
        let gone = gone.chain(run.evicted.iter().map(|(parcel, ..)| parcel.number));
        let mut gone: Vec<usize> = gone.chain(run.dropped_at_head.iter().map(|(parcel, _)| parcel.number)).collect();
        prop_assert_eq!(gone.len() + run.waiting, taken);
        gone.sort_unstable();
        gone.dedup();
        prop_assert_eq!(gone.len() + run.waiting, taken, "none twice");
        prop_assert!(run.dropped_at_head.is_sorted_by_key(|&(_, at)| at));
        for (parcel, departure) in &run.departures {
            prop_assert!(!parcel.marked || parcel.ecn);
            prop_assert!(departure.start >= departure.arrived);
        }
        // Of the dual queue, each half is in order.
        let halves = matches!(settings.queue.discipline, DisciplineSettings::DualPi2(_));
        for (flow, ecn) in (0..5).flat_map(|flow| [(flow, false), (flow, true)]) {
            let own = run.departures.iter().filter(|(p, _)| p.flow == flow && (!halves || p.ecn == ecn));
            prop_assert!(own.is_sorted_by_key(|(p, _)| p.number));
        }
    }

    #[test]
    fn drops_do_not_depend_on_when_the_link_is_looked_at(
        settings in settings_of(prop_oneof![managed(), early(), several()]),
        arrivals in arrivals(),
        wakes in wakes(),
        seed: u64,
    ) {
        let (rarely, often) = (run(&settings, &arrivals, &[], seed), run(&settings, &arrivals, &wakes, seed));
        prop_assert_eq!(rarely, often);
    }

    #[test]
    fn two_flows_that_always_wait_get_the_same_to_within_a_packet_or_a_quantum(
        sizes in prop::collection::vec((1u64..4000, 1u64..4000), 2..100),
        discipline in discipline(),
    ) {
        // A packet of a third flow holds the link while the two queues fill.
        let mut arrivals = vec![Arrival { at: Time::ZERO, parcel: parcel(0, 2, 1) }];
        for (i, &(a, b)) in sizes.iter().enumerate() {
            arrivals.push(Arrival { at: Time::ZERO, parcel: parcel(2 * i + 1, 0, a) });
            arrivals.push(Arrival { at: Time::ZERO, parcel: parcel(2 * i + 2, 1, b) });
        }
        let queue = QueueSettings { discipline, ..QueueSettings::default() };
        let run = run(&LinkSettings { queue, ..unimpaired(Service::Fixed(Rate::from_mbit(8))) }, &arrivals, &[], 0);
        let largest = sizes.iter().map(|&(a, b)| a.max(b)).max().unwrap();
        let bound = match discipline {
            DisciplineSettings::Fifo => return Ok(()),
            DisciplineSettings::FairQueueing(_) => largest,
            DisciplineSettings::DeficitRoundRobin(DrrSettings { quantum }) => quantum.get() + largest,
            _ => unreachable!("these drop"),
        };
        let (mut sent, mut left) = ([0, 0], [sizes.len(); 2]);
        for (packet, _) in run.departures.iter().filter(|(packet, _)| packet.flow < 2) {
            sent[packet.flow as usize] += packet.size.get();
            left[packet.flow as usize] -= 1;
            prop_assert!(u64::abs_diff(sent[0], sent[1]) <= bound, "{:?}, bound {}", sent, bound);
            if left.contains(&0) {
                break;
            }
        }
    }

    #[test]
    fn fair_queueing_is_no_more_than_a_packet_later_than_service_bit_by_bit(
        rate in 100_000u64..100_000_000,
        arrivals in arrivals(),
    ) {
        let discipline = DisciplineSettings::FairQueueing(FqSettings {});
        let queue = QueueSettings { discipline, ..QueueSettings::default() };
        let service = Service::Fixed(Rate::from_bits_per_second(rate));
        let run = run(&LinkSettings { queue, ..unimpaired(service) }, &arrivals, &[], 0);
        let fluid = finishes_bit_by_bit(rate as f64 / 1e9, &arrivals);
        let largest = arrivals.iter().map(|arrival| arrival.parcel.size.get()).max().unwrap();
        let packet = (8 * largest) as f64 / (rate as f64 / 1e9);
        for (parcel, departure) in run.departures {
            let late = departure.finish.as_nanos() as f64 - fluid[parcel.number];
            prop_assert!(late <= packet + 1.0, "packet {} is {late} ns late, {packet} allowed", parcel.number);
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
