//! Named random streams: one for each component, so that adding a component changes no other.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::Digest;

/// A stream of random numbers that belongs to one component of one run.
///
/// Streams are named: `Random::stream(seed, "flow", 3)` is the same sequence on every machine, and
/// independent of how often any other component draws. A run is thereby a function of its seed alone.
#[derive(Clone, Debug)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// The stream of component `name` number `index` under the master `seed`.
    pub fn stream(seed: u64, name: &str, index: u64) -> Self {
        // SplitMix64 over all three: streams of neighbouring seeds and indices do not overlap.
        let name = Digest::of(name.as_bytes()).get();
        let mut state = split_mix(seed ^ split_mix(name ^ split_mix(index)));
        let mut bytes = [0; 16];
        for half in bytes.chunks_exact_mut(8) {
            state = split_mix(state);
            half.copy_from_slice(&state.to_le_bytes());
        }
        Self(Pcg64Mcg::from_seed(bytes))
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with `probability`. Draws nothing when that is zero.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.uniform() < probability
    }

    /// An exponentially distributed number with mean one.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.uniform())
    }
}

fn split_mix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_fixed_by_seed_name_and_index() {
        let mut a = Random::stream(1, "loss", 0);
        let mut b = Random::stream(1, "loss", 0);
        let first: Vec<f64> = (0..8).map(|_| a.uniform()).collect();
        assert_eq!(first, (0..8).map(|_| b.uniform()).collect::<Vec<_>>());
        for mut other in [Random::stream(2, "loss", 0), Random::stream(1, "flow", 0), Random::stream(1, "loss", 1)] {
            assert_ne!(first[0], other.uniform());
        }
    }

    #[test]
    fn a_seed_has_the_same_numbers_for_ever() {
        // Computed apart from this program, from FNV-1a, SplitMix64 and PCG XSL RR 128/64 (MCG).
        for (seed, name, index, bits) in [
            (1, "loss", 0, [7_055_111_114_823_744u64, 5_885_748_722_020_864, 4_311_516_229_670_298]),
            (1 << 63, "flow", 7, [5_301_214_236_220_800, 2_484_443_738_041_076, 2_127_904_517_050_208]),
        ] {
            let mut random = Random::stream(seed, name, index);
            assert_eq!(
                bits.map(|_| random.uniform() * 9_007_199_254_740_992.0),
                bits.map(|bits| bits as f64),
                "{name}"
            );
        }
    }

    #[test]
    fn a_chance_of_zero_draws_nothing() {
        let mut random = Random::stream(1, "loss", 0);
        assert!(!random.happens(0.0));
        // The first number is 0.783, and the second 0.653.
        assert!(!random.happens(0.78) && random.happens(0.66) && random.happens(1.0));
    }

    #[test]
    fn means_are_what_they_should_be() {
        let mut random = Random::stream(7, "test", 0);
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| random.uniform()).sum::<f64>() / f64::from(n);
        let exponential: f64 = (0..n).map(|_| random.exponential()).sum::<f64>() / f64::from(n);
        assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
        assert!((exponential - 1.0).abs() < 0.02, "{exponential}");
    }
}
