//! When packets leave by definitions that are simpler and slower than the link.

use network::{Departure, OPPORTUNITY};
use units::{Rate, Span, Time};

use crate::offers::{Arrival, Parcel};

/// For every packet: since when the link has been busy without a break, how many bits it sent in that time, and until
/// when.
pub(crate) fn busy_periods(departures: &[(Parcel, Departure)]) -> impl Iterator<Item = (Time, u64, Time)> {
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
pub(crate) fn capacity(steps: &[(Time, Rate)], from: Time, to: Time) -> u128 {
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

/// Plays a trace millisecond by millisecond: at each of its opportunities, up to 1500 bytes of earlier arrivals leave.
pub(crate) fn finishes_by_opportunity(times: &[u64], arrivals: &[Arrival]) -> Vec<Time> {
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
pub(crate) fn finishes_bit_by_bit(rate: f64, arrivals: &[Arrival]) -> Vec<f64> {
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
            while let Some(&(number, _)) = queue.front().filter(|head| head.1 <= 0.0) {
                queue.pop_front();
                finishes[number] = now;
            }
        }
    }
}
