//! How long packets wait: a histogram over time and one over packets, with common buckets.

use std::ops::Range;

use crate::histogram::{Extent, OCTAVES, SUB_BUCKETS, bucket, lowest, quantiles};

/// Waiting times in nanoseconds, each weighted by the time for which it held and by the packets that had it.
///
/// Both weights of a bucket are side by side, since most waits have both.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// Nanoseconds and packets of each bucket, up to the octave of the longest wait, without the ones in
    /// [`Waits::none`].
    counts: Vec<[u64; 2]>,
    /// Nanoseconds and packets without a wait: many, and quickly added.
    none: [u64; 2],
    /// Waits that grew as time passed: how many more of them reach through each bucket than through the one before,
    /// modulo 2^64. Empty until the first.
    growing: Vec<u64>,
    over_time: Extent,
    of_packets: Extent,
}

impl Waits {
    pub(crate) fn new() -> Self {
        Self {
            counts: Vec::new(),
            none: [0; 2],
            growing: Vec::new(),
            over_time: Extent::default(),
            of_packets: Extent::default(),
        }
    }

    /// A packet that waited for `wait` was in service for `nanos`, and then nothing for `idle`.
    #[inline(always)]
    pub(crate) fn record_service(&mut self, wait: u64, nanos: u64, idle: u64) {
        self.none[0] += idle;
        if wait == 0 {
            self.none[0] += nanos;
            self.none[1] += 1;
        } else {
            self.record(wait, nanos, 1);
        }
    }

    /// `wait` held for `nanos`, and `packets` left that had waited that long.
    #[inline]
    pub(crate) fn record(&mut self, wait: u64, nanos: u64, packets: u64) {
        if wait == 0 {
            self.none[0] += nanos;
            self.none[1] += packets;
            return;
        }
        if nanos == 0 && packets == 0 {
            return;
        }
        let counts = self.counts(bucket(wait));
        counts[0] = counts[0].wrapping_add(nanos);
        counts[1] += packets;
        if nanos > 0 {
            self.over_time.add(wait, nanos);
        }
        if packets > 0 {
            self.of_packets.add(wait, packets);
        }
    }

    /// The wait grew from `from` to `to` while as much time passed.
    pub(crate) fn record_growth(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        self.growing.resize(OCTAVES * SUB_BUCKETS, 0);
        // Through every bucket from the first on, up to the last. Then the part of the two that it did not pass.
        for (value, sign) in [(from, 1), (to, u64::MAX)] {
            let bucket = bucket(value);
            self.growing[bucket] = self.growing[bucket].wrapping_add(sign);
            let passed = (value - lowest(bucket)).wrapping_mul(sign);
            let counts = self.counts(bucket);
            counts[0] = counts[0].wrapping_sub(passed);
        }
        self.over_time.add_growth(from, to);
    }

    #[inline]
    fn counts(&mut self, bucket: usize) -> &mut [u64; 2] {
        if bucket >= self.counts.len() {
            self.widen(bucket);
        }
        &mut self.counts[bucket]
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self, bucket: usize) {
        self.counts.resize((bucket / SUB_BUCKETS + 1) * SUB_BUCKETS, [0; 2]);
    }

    pub(crate) fn clear(&mut self) {
        self.counts.fill([0; 2]);
        self.none = [0; 2];
        self.growing.fill(0);
        self.over_time = Extent::default();
        self.of_packets = Extent::default();
    }

    /// The exact statistics of the waits over time.
    pub(crate) fn over_time(&self) -> Extent {
        self.over_time.with_zeros(self.none[0])
    }

    /// The exact statistics of the waits of packets.
    pub(crate) fn of_packets(&self) -> Extent {
        self.of_packets.with_zeros(self.none[1])
    }

    /// The waits that are not exceeded for these ascending shares of the time.
    pub(crate) fn quantiles_over_time<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        let mut through = 0u64;
        let nanos = self.buckets().map(|bucket| {
            let held = self.held(bucket)[0];
            through = through.wrapping_add(self.growing.get(bucket).copied().unwrap_or(0));
            let width = if through == 0 { 0 } else { lowest(bucket + 1) - lowest(bucket) };
            (bucket, held.wrapping_add(width.wrapping_mul(through)))
        });
        quantiles(&self.over_time(), shares, nanos)
    }

    /// The waits that these ascending shares of the packets did not exceed.
    pub(crate) fn quantiles_of_packets<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        let packets = self.buckets().map(|bucket| (bucket, self.held(bucket)[1]));
        quantiles(&self.of_packets(), shares, packets)
    }

    /// The buckets that have a weight, and some without. Growth ends in one that has a count, too.
    fn buckets(&self) -> Range<usize> {
        0..self.counts.len().max(1)
    }

    fn held(&self, bucket: usize) -> [u64; 2] {
        let [nanos, packets] = self.counts.get(bucket).copied().unwrap_or_default();
        if bucket > 0 { [nanos, packets] } else { [nanos.wrapping_add(self.none[0]), packets + self.none[1]] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over_time(waits: &Waits, q: f64) -> Option<f64> {
        waits.quantiles_over_time([q]).map(|[nanos]| nanos)
    }

    fn of_packets(waits: &Waits, q: f64) -> Option<f64> {
        waits.quantiles_of_packets([q]).map(|[nanos]| nanos)
    }

    #[test]
    fn time_and_packets_are_weighted_apart() {
        let mut waits = Waits::new();
        // 30 ns at 10, then at 100 for 10 ns. One packet waited 10 and three waited 100.
        waits.record(10, 30, 1);
        waits.record(100, 10, 0);
        waits.record(100, 0, 3);
        assert_eq!((waits.over_time().mean(), waits.of_packets().mean()), (Some(32.5), Some(77.5)));
        assert_eq!((over_time(&waits, 0.75), of_packets(&waits, 0.5)), (Some(10.0), Some(100.0)));
        waits.clear();
        assert_eq!((waits.over_time().max(), of_packets(&waits, 0.5)), (None, None));
    }

    #[test]
    fn a_growing_wait_spends_its_time_evenly_between_its_ends() {
        let mut waits = Waits::new();
        // From 0 to 1000 ns, then constant for 1000 ns, then from 3000 to 5000: half of 4000 ns is at or below 1000.
        waits.record_growth(0, 1000);
        waits.record(1000, 1000, 0);
        waits.record_growth(3000, 5000);
        // (500 x 1000 + 1000 x 1000 + 4000 x 2000) / 4000.
        assert_eq!(waits.over_time().mean(), Some(2375.0));
        assert_eq!(waits.over_time().max(), Some(5000));
        for (q, exact) in [(0.125, 500.0), (0.5, 1000.0), (0.75, 4000.0), (0.9, 4600.0)] {
            let found = over_time(&waits, q).unwrap_or(f64::NAN);
            assert!((found / exact - 1.0).abs() < 1.0 / 256.0, "{found} in place of {exact}");
        }
        assert_eq!(waits.of_packets().max(), None);
    }

    #[test]
    fn growth_has_one_mean_wherever_it_is_cut() {
        // From 0 to 1001 ns the mean is 500.5. Cut into single nanoseconds, each has half a nanosecond over.
        for step in [1, 2, 3, 7, 1001] {
            let mut waits = Waits::new();
            for from in (0u64..1001).step_by(step) {
                waits.record_growth(from, (from + step as u64).min(1001));
            }
            assert_eq!(waits.over_time().mean(), Some(500.5), "{step}");
        }
    }

    #[test]
    fn growth_within_a_bucket_weighs_what_it_lasted() {
        let mut waits = Waits::new();
        // 1,000,000 and 1,000,300 share a bucket of 2048.
        waits.record_growth(1_000_000, 1_000_300);
        waits.record(5, 100, 0);
        assert_eq!(over_time(&waits, 0.25), Some(5.0));
        let median = over_time(&waits, 0.5).unwrap_or(f64::NAN);
        assert!((999_424.0..=1_001_472.0).contains(&median), "{median}");
    }

    #[test]
    fn packets_and_time_without_a_wait_count_as_zeros() {
        let mut waits = Waits::new();
        waits.record(0, 30, 1);
        waits.record(0, 10, 2);
        waits.record(100, 40, 1);
        // 4000 over 80 ns, and 100 over four packets.
        assert_eq!((waits.over_time().mean(), waits.of_packets().mean()), (Some(50.0), Some(25.0)));
        assert_eq!((over_time(&waits, 0.5), of_packets(&waits, 0.75)), (Some(0.0), Some(0.0)));
        // In service for 40 ns without a wait, then nothing for 80. Then one that waited 100 for 40 ns.
        waits.record_service(0, 40, 80);
        waits.record_service(100, 40, 0);
        assert_eq!((waits.over_time().mean(), waits.of_packets().mean()), (Some(8000.0 / 240.0), Some(200.0 / 6.0)));
    }

    #[test]
    fn long_waits_of_packets_have_quantiles_of_their_own() {
        let mut waits = Waits::new();
        for (wait, packets) in [(5, 1), (1_000_000, 2), (9_000_000, 1)] {
            waits.record(wait, 0, packets);
        }
        for (q, exact) in [(0.25, 5.0), (0.5, 1e6), (0.75, 1e6), (1.0, 9e6)] {
            let found = of_packets(&waits, q).unwrap_or(f64::NAN);
            assert!((found / exact - 1.0).abs() < 1.0 / 256.0, "{found} in place of {exact}");
        }
    }

    #[test]
    fn several_quantiles_at_once_are_those_of_one_each() {
        let mut waits = Waits::new();
        waits.record(0, 300, 2);
        (1..40).for_each(|i| waits.record(i * i * 1000, 7 * i, i));
        waits.record_growth(2_000_000, 9_000_000);
        let shares = [0.0, 0.01, 0.5, 0.5, 0.95, 0.99, 1.0];
        let alone = shares.map(|q| (over_time(&waits, q).unwrap(), of_packets(&waits, q).unwrap()));
        assert_eq!(waits.quantiles_over_time(shares), Some(alone.map(|both| both.0)));
        assert_eq!(waits.quantiles_of_packets(shares), Some(alone.map(|both| both.1)));
        assert!(alone[2].0 > 2e6 && alone[2].1 < 2e6, "{alone:?}");
    }

    #[test]
    fn a_wait_without_packets_or_without_time_is_no_extreme_of_them() {
        let mut waits = Waits::new();
        waits.record(10, 30, 0);
        waits.record(100, 0, 1);
        assert_eq!((waits.over_time().max(), waits.of_packets().max()), (Some(10), Some(100)));
        assert_eq!((waits.over_time().min(), waits.of_packets().min()), (Some(10), Some(100)));
        assert_eq!((over_time(&waits, 1.0), of_packets(&waits, 0.1)), (Some(10.0), Some(100.0)));
    }
}
