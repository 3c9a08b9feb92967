//! Samples of one flow: a histogram that costs little while there are few of them, and touches little memory at each.

use std::slice;

use prefetch_index::prefetch_index;

use crate::histogram::{Extent, bucket, quantiles};

/// Samples that wait to be counted: with the rest of the meter of a flow as many as a cache line holds.
const WAITING: usize = 11;

/// Counts are taken so many at a time: one cache line of the narrow ones.
const STEP: usize = 32;

/// The samples of a flow, counted like a [`Histogram`](crate::Histogram) counts values of weight one: minimum, maximum
/// and mean are exact, quantiles to one part in 256.
///
/// A sample that comes is only appended to a list, and the list is counted when it is full: where thousands of flows
/// take turns, each touches one cache line a sample instead of four. The counts cover the buckets between the smallest
/// and the largest sample, in 16 bits until one needs 32.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    waiting: [u32; WAITING],
    /// How many of those there are.
    count: u32,
    counted: Option<Box<Counted>>,
}

/// Counts of samples.
#[derive(Clone, Debug, Default)]
struct Counted {
    extent: Extent,
    /// The bucket of the first count, a multiple of [`STEP`].
    first: usize,
    counts: Counts,
}

/// A full count stays full.
#[derive(Clone, Debug)]
enum Counts {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Samples {
    /// Takes `value`.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if let Ok(small) = u32::try_from(value)
            && let Some(place) = self.waiting.get_mut(self.count as usize)
        {
            *place = small;
            self.count += 1;
            return;
        }
        self.count_all(value);
    }

    /// Lets the processor fetch where the counts are, if the next sample makes that what waits is counted.
    #[inline]
    pub fn prefetch(&self) {
        if self.count as usize == WAITING
            && let Some(counted) = self.counted.as_deref()
        {
            prefetch_index(slice::from_ref(counted), 0);
            prefetch_index(slice::from_ref(&counted.counts), 0);
        }
    }

    /// Lets the processor fetch these counts. Their address should be cached already.
    #[inline]
    pub fn prefetch_counts(&self) {
        if self.count as usize == WAITING
            && let Some(counted) = self.counted.as_deref()
        {
            counted.prefetch(&self.waiting);
        }
    }

    /// Counts what waits, and `value`.
    #[inline(never)]
    fn count_all(&mut self, value: u64) {
        let counted = self.counted.get_or_insert_default();
        for &value in &self.waiting[..self.count as usize] {
            counted.count(u64::from(value));
        }
        self.count = 0;
        counted.count(value);
    }

    /// The statistics of all samples.
    pub fn statistics(&self) -> Statistics {
        let mut counted = self.counted.as_deref().cloned().unwrap_or_default();
        for &value in &self.waiting[..self.count as usize] {
            counted.count(u64::from(value));
        }
        Statistics(counted)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The statistics of [`Samples`] up to one moment. Each is `None` without samples.
#[derive(Clone, Debug)]
pub struct Statistics(Counted);

impl Statistics {
    /// The smallest sample.
    pub fn min(&self) -> Option<u64> {
        self.0.extent.min()
    }

    /// The largest sample.
    pub fn max(&self) -> Option<u64> {
        self.0.extent.max()
    }

    /// The mean.
    pub fn mean(&self) -> Option<f64> {
        self.0.extent.mean()
    }

    /// The smallest value not exceeded by at least the share `q` (0 to 1) of samples, as
    /// [`Histogram::quantile`](crate::Histogram::quantile) has it.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantiles([q]).map(|[value]| value)
    }

    /// The same of several ascending shares, in one pass.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        let first = self.0.first;
        match &self.0.counts {
            Counts::Narrow(counts) => quantiles(&self.0.extent, shares, numbered(first, counts)),
            Counts::Wide(counts) => quantiles(&self.0.extent, shares, numbered(first, counts)),
        }
    }
}

/// Each count with its bucket.
fn numbered<C: Copy + Into<u64>>(first: usize, counts: &[C]) -> impl Iterator<Item = (usize, u64)> {
    counts.iter().enumerate().map(move |(i, &count)| (first + i, count.into()))
}

impl Counted {
    /// Lets the processor fetch the counts of `values`.
    #[inline(never)]
    fn prefetch(&self, values: &[u32]) {
        for &value in values {
            let index = bucket(value.into()).wrapping_sub(self.first);
            match &self.counts {
                Counts::Narrow(counts) => prefetch_index(counts, index),
                Counts::Wide(counts) => prefetch_index(counts, index),
            }
        }
    }

    #[inline]
    fn count(&mut self, value: u64) {
        self.extent.add(value, 1);
        let bucket = bucket(value);
        if !(self.first..self.first + self.counts.len()).contains(&bucket) {
            self.widen(bucket);
        }
        self.counts.add(bucket - self.first);
    }

    /// Covers `bucket` as well.
    #[inline(never)]
    fn widen(&mut self, bucket: usize) {
        let lowest = bucket / STEP * STEP;
        let (from, to) = match self.counts.len() {
            0 => (lowest, lowest + STEP),
            length => (self.first.min(lowest), (self.first + length).max(lowest + STEP)),
        };
        match &mut self.counts {
            Counts::Narrow(counts) => extend(counts, self.first.saturating_sub(from), to - from),
            Counts::Wide(counts) => extend(counts, self.first.saturating_sub(from), to - from),
        }
        self.first = from;
    }
}

/// Makes `counts` so many, `before` of the new ones in front.
fn extend<C: Copy + Default>(counts: &mut Vec<C>, before: usize, length: usize) {
    let mut wider = Vec::with_capacity(length);
    if !counts.is_empty() {
        wider.resize(before, C::default());
        wider.append(counts);
    }
    wider.resize(length, C::default());
    *counts = wider;
}

impl Counts {
    fn len(&self) -> usize {
        match self {
            Self::Narrow(counts) => counts.len(),
            Self::Wide(counts) => counts.len(),
        }
    }

    #[inline]
    fn add(&mut self, index: usize) {
        match self {
            Self::Narrow(counts) if counts[index] < u16::MAX => counts[index] += 1,
            Self::Wide(counts) => counts[index] = counts[index].saturating_add(1),
            Self::Narrow(_) => self.add_wide(index),
        }
    }

    /// A count no longer fits 16 bits.
    #[cold]
    fn add_wide(&mut self, index: usize) {
        if let Self::Narrow(counts) = self {
            *self = Self::Wide(counts.iter().map(|&count| u32::from(count)).collect());
        }
        self.add(index);
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;

    #[test]
    fn nothing_recorded_means_no_statistics() {
        let nothing = Samples::default().statistics();
        assert_eq!((nothing.min(), nothing.max(), nothing.mean(), nothing.quantile(0.5)), (None, None, None, None));
    }

    #[test]
    fn twenty_small_samples_are_exact() {
        let mut samples = Samples::default();
        // More than wait at a time: 1 to 20, whose mean is 10.5 and of which ten do not exceed 10.
        (1..=20).for_each(|value| samples.record(value));
        let all = samples.statistics();
        assert_eq!((all.min(), all.max(), all.mean()), (Some(1), Some(20), Some(10.5)));
        assert_eq!((all.quantile(0.5), all.quantile(0.51)), (Some(10.0), Some(11.0)));
    }

    #[test]
    fn a_count_above_65535_needs_no_more_than_a_wider_one() {
        let mut samples = Samples::default();
        (0..70_000).for_each(|_| samples.record(3));
        (0..60_000).for_each(|_| samples.record(500));
        // 70,000 of 130,000 are 53.8 %.
        let all = samples.statistics();
        assert_eq!((all.quantile(0.538), all.quantile(0.539)), (Some(3.0), Some(500.0)));
    }

    #[test]
    fn clearing_forgets_what_waits_as_well() {
        let mut samples = Samples::default();
        (0..20).for_each(|_| samples.record(1 << 40));
        samples.clear();
        samples.record(3);
        let all = samples.statistics();
        assert_eq!((all.min(), all.max(), all.quantile(1.0)), (Some(3), Some(3), Some(3.0)));
    }

    #[test]
    fn counts_are_fetched_wherever_the_samples_are() {
        let mut samples = Samples::default();
        for value in [7, 1 << 30, 1].repeat(WAITING) {
            samples.prefetch();
            samples.prefetch_counts();
            samples.record(value);
        }
        let all = samples.statistics();
        assert_eq!((all.min(), all.max()), (Some(1), Some(1 << 30)));
    }

    proptest::proptest! {
        #[test]
        fn statistics_are_those_of_the_histogram_whatever_the_values(
            values in proptest::collection::vec((0u64..1 << 20, 0u32..44), 1..200)
        ) {
            let (mut samples, mut histogram) = (Samples::default(), Histogram::new());
            for (value, shift) in values {
                samples.record(value << shift);
                histogram.record(value << shift, 1);
            }
            let all = samples.statistics();
            let expected = (histogram.min(), histogram.max(), histogram.mean());
            proptest::prop_assert_eq!((all.min(), all.max(), all.mean()), expected);
            for q in [0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0] {
                proptest::prop_assert_eq!(all.quantile(q), histogram.quantile(q), "{}", q);
            }
        }
    }

    #[test]
    fn counts_cover_whole_steps_from_the_lowest_bucket_to_the_highest() {
        for wide in [false, true] {
            let mut counted = Counted::default();
            if wide {
                counted.counts = Counts::Wide(Vec::new());
            }
            let covered = |counted: &Counted| (counted.first, counted.counts.len());
            let step_of = |value| bucket(value) / STEP * STEP;
            counted.count(5000);
            assert_eq!(covered(&counted), (step_of(5000), STEP));
            counted.count(1_000_000);
            assert_eq!(covered(&counted), (step_of(5000), step_of(1_000_000) + STEP - step_of(5000)));
            counted.count(1);
            assert_eq!(covered(&counted), (step_of(1), step_of(1_000_000) + STEP - step_of(1)));
        }
    }
}
