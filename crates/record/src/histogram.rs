//! Weighted histograms of numbers that span many powers of two.

/// Buckets of an octave: a value is known to one part in 256.
pub(crate) const SUB_BUCKETS: usize = 256;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();
/// Octave 0 holds the values below [`SUB_BUCKETS`]. Each further one holds a power of two up to the largest `u64`.
pub(crate) const OCTAVES: usize = 64 - SUB_BITS as usize + 1;

/// A weighted log-linear histogram of `u64` values.
///
/// Values below 512 are kept exactly, larger ones to one part in 256. Minimum, maximum and mean are exact. Memory is
/// taken an octave (256 counts) at a time as values come: a histogram of queueing delays takes a dozen at most.
#[derive(Clone, Debug)]
pub struct Histogram {
    octaves: [Option<Box<[u64; SUB_BUCKETS]>>; OCTAVES],
    extent: Extent,
}

/// The exact statistics of weighted values.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    weight: u64,
    sum: u128,
    /// Halves on top of `sum`: growth from an even to an odd value, or the other way, ends with one.
    halves: u64,
    min: u64,
    max: u64,
}

impl Extent {
    #[inline]
    pub(crate) fn add(&mut self, value: u64, weight: u64) {
        self.weight += weight;
        self.sum += u128::from(value) * u128::from(weight);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// With the value 0 added, at this `weight`.
    pub(crate) fn with_zeros(&self, weight: u64) -> Self {
        let mut all = self.clone();
        if weight > 0 {
            all.add(0, weight);
        }
        all
    }

    /// Adds all values from `from` to `to`, each with the weight 1.
    pub(crate) fn add_growth(&mut self, from: u64, to: u64) {
        let (low, high) = (u128::from(from), u128::from(to));
        self.weight += to - from;
        let twice = (high - low) * (high + low);
        self.sum += twice / 2;
        self.halves += (twice % 2) as u64;
        self.min = self.min.min(from);
        self.max = self.max.max(to);
    }

    pub(crate) fn min(&self) -> Option<u64> {
        (self.weight > 0).then_some(self.min)
    }

    pub(crate) fn max(&self) -> Option<u64> {
        (self.weight > 0).then_some(self.max)
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.weight > 0).then(|| (2 * self.sum + u128::from(self.halves)) as f64 / (2.0 * self.weight as f64))
    }
}

impl Default for Extent {
    fn default() -> Self {
        Self { weight: 0, sum: 0, halves: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self { octaves: [const { None }; OCTAVES], extent: Extent::default() }
    }

    /// Adds `weight` to `value`. A weight of zero leaves no trace.
    #[inline]
    pub fn record(&mut self, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        let bucket = bucket(value);
        let (octave, sub) = (bucket / SUB_BUCKETS, bucket % SUB_BUCKETS);
        let counts = self.octaves[octave].get_or_insert_with(|| Box::new([0; SUB_BUCKETS]));
        counts[sub] = counts[sub].saturating_add(weight);
        self.extent.add(value, weight);
    }

    /// The sum of all weights.
    pub const fn weight(&self) -> u64 {
        self.extent.weight
    }

    /// The smallest value, or `None` if nothing was recorded.
    pub fn min(&self) -> Option<u64> {
        self.extent.min()
    }

    /// The largest value, or `None` if nothing was recorded.
    pub fn max(&self) -> Option<u64> {
        self.extent.max()
    }

    /// The weighted mean, or `None` if nothing was recorded.
    pub fn mean(&self) -> Option<f64> {
        self.extent.mean()
    }

    /// The smallest value not exceeded by at least the share `q` (0 to 1) of the weight: the middle of its bucket,
    /// within minimum and maximum. 0 and 1 give the minimum and the maximum. `None` if nothing was recorded.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantiles([q]).map(|[value]| value)
    }

    /// The same of several ascending shares, in one pass.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        let octaves = self.octaves.iter().enumerate().filter_map(|(i, counts)| Some((i, counts.as_ref()?)));
        let counts = octaves
            .flat_map(|(octave, counts)| counts.iter().enumerate().map(move |(i, &n)| (octave * SUB_BUCKETS + i, n)));
        quantiles(&self.extent, shares, counts)
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        for counts in self.octaves.iter_mut().flatten() {
            counts.fill(0);
        }
        self.extent = Extent::default();
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The quantiles at ascending `shares` of values of this `extent`, whose weights in ascending buckets are `counts`.
pub(crate) fn quantiles<const N: usize>(
    extent: &Extent,
    shares: [f64; N],
    mut counts: impl Iterator<Item = (usize, u64)>,
) -> Option<[f64; N]> {
    debug_assert!(shares.is_sorted(), "one pass goes up");
    if extent.weight == 0 {
        return None;
    }
    let (min, max) = (extent.min as f64, extent.max as f64);
    let (mut below, mut last) = (0, 0);
    Some(shares.map(|q| {
        if q <= 0.0 || q >= 1.0 {
            return if q <= 0.0 { min } else { max };
        }
        let target = ((q * extent.weight as f64).ceil() as u64).clamp(1, extent.weight);
        while below < target {
            let Some((bucket, count)) = counts.next() else { return max };
            (below, last) = (below + count, bucket);
        }
        middle(last).clamp(min, max)
    }))
}

/// The bucket of `value`: octave by octave, [`SUB_BUCKETS`] each.
#[inline]
pub(crate) const fn bucket(value: u64) -> usize {
    let shift = (value | 1).ilog2().saturating_sub(SUB_BITS);
    // The second summand has the leading one of all values from 256 on, which makes it the next octave.
    shift as usize * SUB_BUCKETS + (value >> shift) as usize
}

/// The lowest value of a bucket. Behind the last bucket it is the largest `u64`.
pub(crate) const fn lowest(bucket: usize) -> u64 {
    if bucket >= OCTAVES * SUB_BUCKETS {
        return u64::MAX;
    }
    let shift = (bucket / SUB_BUCKETS).saturating_sub(1);
    ((bucket - shift * SUB_BUCKETS) as u64) << shift
}

/// The middle of the values of a bucket.
fn middle(bucket: usize) -> f64 {
    let shift = (bucket / SUB_BUCKETS).saturating_sub(1);
    lowest(bucket) as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_recorded_means_no_statistics() {
        let mut histogram = Histogram::new();
        histogram.record(7, 0);
        assert_eq!(
            (histogram.min(), histogram.max(), histogram.mean(), histogram.quantile(0.5)),
            (None, None, None, None)
        );
    }

    #[test]
    fn small_values_are_exact_and_weighted() {
        let mut histogram = Histogram::new();
        // Ten packets for 1 s, 300 for 2 s, none for 1 s: the mean is 610 / 4.
        histogram.record(10, 1);
        histogram.record(300, 2);
        histogram.record(0, 1);
        assert_eq!(histogram.mean(), Some(152.5));
        assert_eq!(histogram.quantile(0.25), Some(0.0));
        assert_eq!(histogram.quantile(0.5), Some(10.0));
        assert_eq!(histogram.quantile(0.51), Some(300.0));
        assert_eq!((histogram.min(), histogram.max(), histogram.weight()), (Some(0), Some(300), 4));
    }

    #[test]
    fn buckets_meet_without_gap_at_every_octave() {
        assert_eq!([0, 255, 256, 511].map(bucket), [0, 255, 256, 511]);
        // From 512 on two values share a bucket, 256 buckets an octave.
        assert_eq!([512, 513, 514, 1023, 1024].map(bucket), [512, 512, 513, 767, 768]);
        assert_eq!(bucket(u64::MAX), 56 * 256 + 255);
        // 512 and 513 share a bucket, whose middle is between them.
        assert_eq!(middle(512), 512.5);
        assert_eq!(middle(511), 511.0);
    }

    #[test]
    fn a_large_value_is_known_to_one_part_in_256_and_alone_exactly() {
        let mut histogram = Histogram::new();
        histogram.record(40_000_000, 1);
        assert_eq!(histogram.quantile(0.5), Some(40_000_000.0));
        histogram.record(80_000_000, 2);
        histogram.record(41_234_567, 3);
        let median = histogram.quantile(0.5).unwrap();
        assert!((median / 41_234_567.0 - 1.0).abs() < 1.0 / 256.0, "{median}");
        assert_eq!(histogram.quantile(0.0), Some(40_000_000.0));
        assert_eq!(histogram.quantile(1.0), Some(80_000_000.0));
    }

    #[test]
    fn the_sum_of_the_largest_values_does_not_overflow() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX, 1 << 40);
        assert_eq!(histogram.mean(), Some(u64::MAX as f64));
    }

    #[test]
    fn clearing_forgets() {
        let mut histogram = Histogram::new();
        histogram.record(1 << 30, 5);
        histogram.clear();
        histogram.record(3, 1);
        assert_eq!((histogram.quantile(1.0), histogram.min(), histogram.mean()), (Some(3.0), Some(3), Some(3.0)));
    }
}
