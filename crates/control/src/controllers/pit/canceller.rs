//! The difference canceller (Edwan 2010, section 8.3): if gaps are multiples of a packet time, all their differences
//! are, too. Differences between multiples are noise.

/// So many gaps of a loss event count: their 4950 differences are below [`LARGEST_SET`].
const CAPACITY: usize = 100;
/// An iteration with more differences is not done.
const LARGEST_SET: usize = 5000;
/// Differences closer than one part of so many of the packet time to 0, or to it from below, are rounding.
const GUARD: u64 = 1000;

/// The gaps between duplicate ACKs, nanoseconds. One above four seconds counts as 2^32 - 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    values: [u32; CAPACITY],
    count: usize,
}

/// The result of the canceller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cancelled {
    /// Differences below the packet time, of all iterations.
    pub(crate) count: u32,
    /// Their sum, nanoseconds.
    pub(crate) sum: u64,
    /// All differences of the first iteration.
    pub(crate) first: u32,
}

impl Gaps {
    pub(super) const fn new() -> Self {
        Self { values: [0; CAPACITY], count: 0 }
    }

    /// One gap more. Beyond the capacity it does not count.
    pub(super) fn push(&mut self, gap: u64) {
        if self.count < CAPACITY {
            self.values[self.count] = u32::try_from(gap).unwrap_or(u32::MAX);
            self.count += 1;
        }
    }

    fn all(&self) -> &[u32] {
        &self.values[..self.count]
    }

    /// S_min and S_max, `None` without a gap above 0.
    pub(super) fn extremes(&self) -> Option<(u32, u32)> {
        let (least, most) = (self.all().iter().min()?, self.all().iter().max()?);
        (*most > 0).then_some((*least, *most))
    }

    /// `iterations` of differences, each of those that the one before left, with the packet time `unit`, nanoseconds.
    pub(super) fn cancel(&self, unit: u64, iterations: u32) -> Cancelled {
        let mut result = Cancelled::default();
        let mut left = self.all().to_vec();
        for iteration in 0..iterations {
            let pairs = left.len() * left.len().saturating_sub(1) / 2;
            if pairs > LARGEST_SET {
                break;
            }
            if iteration == 0 {
                result.first = pairs as u32;
            }
            left = self::iterate(&left, unit, &mut result);
        }
        result
    }
}

/// The differences of all pairs of `values` but for those below `unit`, which `result` counts.
fn iterate(values: &[u32], unit: u64, result: &mut Cancelled) -> Vec<u32> {
    let mut above = Vec::with_capacity(values.len() * values.len() / 2);
    for (n, a) in values.iter().enumerate() {
        for b in &values[n + 1..] {
            let difference = a.abs_diff(*b);
            let scaled = u64::from(difference) * GUARD;
            if scaled >= unit * (GUARD - 1) {
                above.push(difference);
            } else if scaled > unit {
                result.count += 1;
                result.sum += u64::from(difference);
            }
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(values: &[u64]) -> Gaps {
        let mut gaps = Gaps::new();
        values.iter().for_each(|value| gaps.push(*value));
        gaps
    }

    #[test]
    fn of_four_multiples_four_of_fifteen_second_differences_are_without_packet_time() {
        // T, 2T, 3T, 4T: T three times, 2T twice, 3T. Four of their fifteen differences have no T, those among the T
        // (three pairs) and among the 2T (one). Noise of each gap, a 20th of T at most and none twice, shows these
        // alone: all other second differences are within a tenth of T, or three, of a multiple of it.
        let unit = 1_000_000;
        let noisy = gaps(&[1_000_000, 2_010_000, 3_050_000, 4_140_000]);
        let first = noisy.cancel(unit, 1);
        assert_eq!((first.count, first.first), (0, 6));
        let mut counted = Cancelled::default();
        let differences = iterate(noisy.all(), unit, &mut counted);
        assert_eq!(differences.len(), 6);
        let below = differences.iter().enumerate().flat_map(|(n, a)| {
            differences[n + 1..]
                .iter()
                .map(move |b| a.abs_diff(*b))
                .filter(|difference| u64::from(*difference) < unit / 2)
        });
        assert_eq!(below.count(), 3 + 1);
    }

    #[test]
    fn exact_multiples_leave_no_noise_in_any_iteration() {
        for iterations in 1..=3 {
            let cancelled = gaps(&[1_000_000, 2_000_000, 3_000_000, 4_000_000]).cancel(1_000_000, iterations);
            assert_eq!((cancelled.count, cancelled.sum), (0, 0));
        }
    }

    #[test]
    fn a_difference_of_a_thousandth_is_rounding() {
        let of = |a, b| gaps(&[a, b]).cancel(1_000_000, 1).count;
        assert_eq!((of(1_000_000, 1_001_000), of(1_000_000, 1_001_001)), (0, 1));
        assert_eq!((of(1_000_000, 1_998_999), of(1_000_000, 1_999_000)), (1, 0));
    }

    #[test]
    fn a_hundred_gaps_count_and_a_second_iteration_of_them_is_too_large() {
        let mut many = Gaps::new();
        (0..150).for_each(|n| many.push(3_000_000 * n));
        let cancelled = many.cancel(1_000_000, 3);
        assert_eq!((cancelled.first, cancelled.count), (4950, 0));
    }

    #[test]
    fn extremes_are_those_of_all_gaps_if_one_is_above_0() {
        assert_eq!((gaps(&[5, 5]).extremes(), gaps(&[1, 4, 2]).extremes()), (Some((5, 5)), Some((1, 4))));
        assert_eq!((gaps(&[0]).extremes(), gaps(&[]).extremes()), (None, None));
        assert_eq!(gaps(&[1 << 40]).extremes(), Some((u32::MAX, u32::MAX)));
    }
}
