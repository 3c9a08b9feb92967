/// Buckets of an octave: a value is known to one part in 256.
const SUB_BUCKETS: usize = 256;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();
/// Octave 0 holds the values below [`SUB_BUCKETS`]; each further one a power of two up to the largest `u64`.
const OCTAVES: usize = 64 - SUB_BITS as usize + 1;

/// A weighted log-linear histogram of `u64` values.
///
/// Values below 512 are kept exactly, larger ones to one part in 256; minimum, maximum and mean are exact. Memory is
/// taken an octave (256 counts) at a time as values come: a histogram of round-trip times takes two or three. Counts of
/// samples fit `u32`, which keeps the histograms of many flows in the cache; sums of nanoseconds need `u64`.
#[derive(Clone, Debug)]
pub struct Histogram<C = u64> {
    octaves: [Option<Box<[C; SUB_BUCKETS]>>; OCTAVES],
    weight: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// What a bucket counts with.
pub trait Count: Copy + Default {
    /// Adds `weight`; a full count stays full.
    fn add(&mut self, weight: u64);
    /// The count.
    fn get(self) -> u64;
}

impl Count for u64 {
    #[inline]
    fn add(&mut self, weight: u64) {
        *self = self.saturating_add(weight);
    }
    fn get(self) -> u64 {
        self
    }
}

impl Count for u32 {
    #[inline]
    fn add(&mut self, weight: u64) {
        *self = self.saturating_add(Self::try_from(weight).unwrap_or(Self::MAX));
    }
    fn get(self) -> u64 {
        u64::from(self)
    }
}

impl<C: Count> Histogram<C> {
    /// An empty histogram.
    pub fn new() -> Self {
        Self { octaves: [const { None }; OCTAVES], weight: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Adds `weight` to `value`. A weight of zero leaves no trace.
    #[inline]
    pub fn record(&mut self, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        let (octave, sub) = bucket(value);
        let counts = self.octaves[octave].get_or_insert_with(|| Box::new([C::default(); SUB_BUCKETS]));
        counts[sub].add(weight);
        self.weight += weight;
        self.sum += u128::from(value) * u128::from(weight);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The sum of all weights.
    pub const fn weight(&self) -> u64 {
        self.weight
    }

    /// The smallest value; `None` if nothing was recorded.
    pub fn min(&self) -> Option<u64> {
        (self.weight > 0).then_some(self.min)
    }

    /// The largest value; `None` if nothing was recorded.
    pub fn max(&self) -> Option<u64> {
        (self.weight > 0).then_some(self.max)
    }

    /// The weighted mean; `None` if nothing was recorded.
    pub fn mean(&self) -> Option<f64> {
        (self.weight > 0).then(|| self.sum as f64 / self.weight as f64)
    }

    /// The smallest value that at least the share `q` (0 to 1) of the weight does not exceed: the middle of its bucket,
    /// within minimum and maximum, which are what 0 and 1 give. `None` if nothing was recorded.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.weight == 0 {
            return None;
        }
        let (min, max) = (self.min as f64, self.max as f64);
        if q <= 0.0 || q >= 1.0 {
            return Some(if q <= 0.0 { min } else { max });
        }
        let target = ((q * self.weight as f64).ceil() as u64).clamp(1, self.weight);
        let mut below = 0;
        for (octave, counts) in self.octaves.iter().enumerate() {
            for (sub, count) in counts.iter().flat_map(|counts| counts.iter().enumerate()) {
                below += count.get();
                if below >= target {
                    return Some(middle(octave, sub).clamp(min, max));
                }
            }
        }
        Some(max)
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        for counts in self.octaves.iter_mut().flatten() {
            counts.fill(C::default());
        }
        (self.weight, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }
}

impl<C: Count> Default for Histogram<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// Octave and bucket of `value`.
#[inline]
const fn bucket(value: u64) -> (usize, usize) {
    if value < SUB_BUCKETS as u64 {
        return (0, value as usize);
    }
    let shift = value.ilog2() - SUB_BITS;
    (shift as usize + 1, (value >> shift) as usize - SUB_BUCKETS)
}

/// The middle of the values of a bucket.
fn middle(octave: usize, sub: usize) -> f64 {
    if octave == 0 {
        return sub as f64;
    }
    let shift = octave - 1;
    let lowest = ((SUB_BUCKETS + sub) as u64) << shift;
    lowest as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_recorded_means_no_statistics() {
        let mut histogram = Histogram::<u64>::new();
        histogram.record(7, 0);
        assert_eq!(
            (histogram.min(), histogram.max(), histogram.mean(), histogram.quantile(0.5)),
            (None, None, None, None)
        );
    }

    #[test]
    fn small_values_are_exact_and_weighted() {
        let mut histogram = Histogram::<u64>::new();
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
        assert_eq!((bucket(0), bucket(255)), ((0, 0), (0, 255)));
        assert_eq!((bucket(256), bucket(511)), ((1, 0), (1, 255)));
        assert_eq!((bucket(512), bucket(513), bucket(514), bucket(1023)), ((2, 0), (2, 0), (2, 1), (2, 255)));
        assert_eq!(bucket(u64::MAX), (56, 255));
        // 512 and 513 share a bucket, whose middle is between them.
        assert_eq!(middle(2, 0), 512.5);
    }

    #[test]
    fn a_large_value_is_known_to_one_part_in_256_and_alone_exactly() {
        let mut histogram = Histogram::<u64>::new();
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
        let mut histogram = Histogram::<u64>::new();
        histogram.record(u64::MAX, 1 << 40);
        assert_eq!(histogram.mean(), Some(u64::MAX as f64));
    }

    #[test]
    fn clearing_forgets() {
        let mut histogram = Histogram::<u64>::new();
        histogram.record(1 << 30, 5);
        histogram.clear();
        histogram.record(3, 1);
        assert_eq!((histogram.quantile(1.0), histogram.min(), histogram.mean()), (Some(3.0), Some(3), Some(3.0)));
    }
}
