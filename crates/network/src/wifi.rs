//! Delays of packets on a crowded Wi-Fi channel (draft-huitema-ccwg-c4-test, section 2.3).
//!
//! Two Poisson numbers: short deferrals by collision avoidance, and for a share of the packets the retransmissions of
//! frames that hidden stations destroy.

use units::{Random, Span};

/// A deferral.
const DEFERRAL: Span = Span::from_millis(1);
/// The mean number of deferrals.
const DEFERRALS: f64 = 1.0;
/// A retransmission with its backoff.
const RETRANSMISSION: Span = Span::from_micros(7500);
/// Their mean number in the packets that have any.
const RETRANSMISSIONS: f64 = 12.0;
/// More than so many of either kind do not happen: the chance is below 1e-20.
const MOST: u64 = 60;

/// The mean delay of a channel where every packet is retransmitted.
pub(crate) fn most() -> Span {
    DEFERRAL + RETRANSMISSION.scale(RETRANSMISSIONS)
}

/// No delay is longer.
pub(crate) fn longest() -> Span {
    (DEFERRAL + RETRANSMISSION) * MOST
}

/// The delay of a packet on a channel with about this mean delay: no retransmissions up to 1 ms, in every packet from
/// 91 ms on.
pub(crate) fn delay(mean: Span, random: &mut Random) -> Span {
    let deferrals = poisson(DEFERRALS, random);
    let begun = if deferrals > 0 { DEFERRAL.scale(random.uniform()) } else { Span::ZERO };
    let mut delay = DEFERRAL * deferrals - begun;
    let retransmitted = RETRANSMISSION.as_millis_f64() * RETRANSMISSIONS;
    let share = (mean.as_millis_f64() - DEFERRAL.as_millis_f64()) / retransmitted;
    if random.uniform() < share {
        delay += RETRANSMISSION * poisson(RETRANSMISSIONS, random);
    }
    delay
}

/// A Poisson number: the quantile of a uniform one.
fn poisson(mean: f64, random: &mut Random) -> u64 {
    let at = random.uniform();
    let mut probability = libm::exp(-mean);
    let (mut below, mut count) = (probability, 0);
    while at >= below && count < MOST {
        count += 1;
        probability *= mean / count as f64;
        below += probability;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(mean: u64) -> Vec<f64> {
        let mut random = Random::stream(1, "test", 0);
        (0..100_000).map(|_| delay(Span::from_millis(mean), &mut random).as_millis_f64()).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn up_to_a_millisecond_there_are_deferrals_alone() {
        // One of 1 ms less half a millisecond where there is one: 1 - 0.5 * (1 - 1/e).
        let found = drawn(1);
        assert!((mean(&found) - 0.684).abs() < 0.02, "{}", mean(&found));
        // None in 1/e of the packets, and never nine or more among so few.
        let none = found.iter().filter(|delay| **delay == 0.0).count();
        assert!((36_300..37_300).contains(&none), "{none}");
        assert!(found.iter().all(|delay| *delay < 9.0));
    }

    #[test]
    fn a_share_of_the_packets_is_retransmitted_a_dozen_times() {
        // (7 - 1) / 90 of them, by 90 ms.
        let found = drawn(7);
        assert!((mean(&found) - 6.684).abs() < 0.2, "{}", mean(&found));
        let retransmitted = found.iter().filter(|delay| **delay > 15.0).count();
        assert!((6_400..6_900).contains(&retransmitted), "{retransmitted}");
        // Twelve of 7.5 ms deviate by the root of twelve of them, 26 ms.
        let spikes: Vec<f64> = found.into_iter().filter(|delay| *delay > 15.0).collect();
        let centre = mean(&spikes);
        let square = mean(&spikes.iter().map(|delay| (delay - centre) * (delay - centre)).collect::<Vec<_>>());
        assert!((libm::sqrt(square) - 26.0).abs() < 1.0, "{}", libm::sqrt(square));
    }

    #[test]
    fn from_91_milliseconds_on_every_packet_is_retransmitted() {
        let found = drawn(200);
        assert!((mean(&found) - 90.684).abs() < 0.5, "{}", mean(&found));
        assert!(found.iter().all(|delay| *delay <= longest().as_millis_f64()));
    }
}
