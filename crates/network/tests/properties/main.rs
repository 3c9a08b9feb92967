//! Properties of every link, whatever its service, its limit, its losses and its traffic.

mod offers;
mod references;
mod strategies;

use network::{DisciplineSettings, DrrSettings, FqSettings, Limit, LinkSettings, LossModel, QueueSettings, Service};
use proptest::prelude::*;
use units::{Bytes, Rate, Span, Time};

use offers::{Arrival, Parcel, Verdict, run};
use references::{busy_periods, capacity, finishes_bit_by_bit, finishes_by_opportunity};
use strategies::{any_discipline, arrivals, patient, rate, settings, settings_of, steps, trace, wakes};

fn parcel(number: usize, flow: u32, size: u64) -> Parcel {
    Parcel { number, flow, size: Bytes::new(size), ecn: false, marked: false }
}

/// The number of the last packet of the flow that has most waiting. Of several flows, it is the one whose last packet
/// came last.
fn last_of_longest(waiting: &[Parcel], limit: Limit) -> usize {
    let length = |flow: u32| -> u64 {
        let own = waiting.iter().filter(|p| p.flow == flow);
        own.map(|p| if matches!(limit, Limit::Packets(_)) { 1 } else { p.size.get() }).sum()
    };
    let last = |flow: u32| waiting.iter().filter(|p| p.flow == flow).map(|p| p.number).max();
    (0..5).max_by_key(|&flow| (length(flow), last(flow))).and_then(last).unwrap()
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
        // Only a link that is down for ever keeps its packets.
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
        // Packets taken and not dropped since, with start and finish of their service, if they ever were served.
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
                let framed: u64 = waiting.iter().map(|parcel| queue.framing.on_link(parcel.size).get()).sum();
                in_service.is_some() && match queue.limit {
                    Limit::Infinite => false,
                    Limit::Packets(limit) => waiting.len() as u32 + u32::from(counted.is_some()) >= limit,
                    Limit::Bytes(limit) => {
                        bytes + counted.map_or(0, |(p, ..)| p.size.get()) + parcel.size.get() > limit.get()
                    }
                    Limit::Delay(limit) => {
                        let remainder = counted.map_or(0, |&(_, _, finish)| finish.since(at).as_nanos());
                        let spare = i128::from(limit.as_nanos()) - i128::from(remainder);
                        i128::from(framed) * 8_000_000_000 > spare * i128::from(fixed.bits_per_second()) || spare < 0
                    }
                }
            };
            // Drops the last packet of the longest queue until there is room.
            let mut expected = Vec::new();
            let mut dropped = false;
            while full(&waiting) && !dropped {
                waiting.push(parcel);
                let is_fifo = queue.discipline == DisciplineSettings::Fifo;
                let victim = if is_fifo { parcel.number } else { last_of_longest(&waiting, queue.limit) };
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
        settings in settings_of(any_discipline()),
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
        // Each half of the dual queue is in order.
        let halves = matches!(settings.queue.discipline, DisciplineSettings::DualPi2(_));
        for (flow, ecn) in (0..5).flat_map(|flow| [(flow, false), (flow, true)]) {
            let own = run.departures.iter().filter(|(p, _)| p.flow == flow && (!halves || p.ecn == ecn));
            prop_assert!(own.is_sorted_by_key(|(p, _)| p.number));
        }
    }

    #[test]
    fn drops_do_not_depend_on_when_the_link_is_looked_at(
        settings in settings_of(any_discipline()),
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
        discipline in patient(),
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
