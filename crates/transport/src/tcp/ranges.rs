//! A set of numbers, of segments or bytes, as disjoint, sorted ranges.

use std::collections::VecDeque;

use prefetch_index::prefetch_index;

/// Sorted, disjoint, non-adjacent half-open ranges. An arrival near either end costs O(1), elsewhere a binary search.
#[derive(Clone, Debug, Default)]
pub struct Ranges(VecDeque<(u64, u64)>);

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all numbers.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Lets the processor fetch the ranges.
    #[inline]
    pub(crate) fn prefetch(&self) {
        let (front, _) = self.0.as_slices();
        prefetch_index(front, 0);
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|&(start, end)| end - start).sum()
    }

    /// The first range.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.0.front().copied()
    }

    /// The range that holds `number`.
    #[inline(always)]
    pub(crate) fn containing(&self, number: u64) -> Option<(u64, u64)> {
        // Most queries are for numbers in the last range or beyond it.
        let &last = self.0.back()?;
        if number >= last.0 {
            return (number < last.1).then_some(last);
        }
        self.find(number)
    }

    /// The same of a number below the last range.
    #[inline(never)]
    fn find(&self, number: u64) -> Option<(u64, u64)> {
        let after = self.0.partition_point(|&(start, _)| start <= number);
        let &(start, end) = self.0.get(after.checked_sub(1)?)?;
        (number < end).then_some((start, end))
    }

    #[inline]
    pub(crate) fn contains(&self, number: u64) -> bool {
        self.containing(number).is_some()
    }

    /// Adds [start, end) and calls `gained` for each part that was not in the set, in ascending order. Says in which
    /// range it is now.
    pub fn insert(&mut self, start: u64, end: u64, mut gained: impl FnMut(u64, u64)) -> (u64, u64) {
        debug_assert!(start < end);
        // Most often: inside or right behind the last range.
        if let Some(last) = self.0.back_mut() {
            if start >= last.0 {
                if start <= last.1 {
                    if end > last.1 {
                        gained(last.1, end);
                        last.1 = end;
                    }
                    return *last;
                }
                gained(start, end);
                self.0.push_back((start, end));
                return (start, end);
            }
        } else {
            gained(start, end);
            self.0.push_back((start, end));
            return (start, end);
        }
        // The ranges [from, to) touch the new one.
        let from = self.0.partition_point(|&(_, e)| e < start);
        let to = self.0.partition_point(|&(s, _)| s <= end);
        let mut at = start;
        let mut merged = (start, end);
        for &(s, e) in self.0.range(from..to) {
            if at < s {
                gained(at, s.min(end));
            }
            at = at.max(e);
            merged = (merged.0.min(s), merged.1.max(e));
        }
        if at < end {
            gained(at, end);
        }
        if from == to {
            self.0.insert(from, merged);
        } else {
            self.0[from] = merged;
            if to > from + 1 {
                self.0.drain(from + 1..to);
            }
        }
        merged
    }

    /// Forgets everything below `number`.
    pub fn remove_below(&mut self, number: u64) {
        while let Some(first) = self.0.front_mut() {
            if first.1 <= number {
                self.0.pop_front();
            } else {
                first.0 = first.0.max(number);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    proptest::proptest! {
        #[test]
        fn ranges_behave_like_a_set_of_numbers(
            operations in proptest::collection::vec((0u64..60, 1u64..8, proptest::bool::weighted(0.1)), 1..60)
        ) {
            let mut ranges = Ranges::default();
            let mut model = BTreeSet::new();
            for (start, length, remove) in operations {
                if remove {
                    ranges.remove_below(start);
                    model.retain(|&n| n >= start);
                    continue;
                }
                let mut gained = Vec::new();
                let around = ranges.insert(start, start + length, |s, e| {
                    assert!(s < e, "a part holds something");
                    gained.extend(s..e);
                });
                let expected: Vec<u64> = (start..start + length).filter(|&n| model.insert(n)).collect();
                proptest::prop_assert_eq!(gained, expected);
                proptest::prop_assert_eq!(ranges.containing(start), Some(around));
                for pair in ranges.0.iter().zip(ranges.0.iter().skip(1)) {
                    proptest::prop_assert!(pair.0.1 < pair.1.0, "sorted and apart: {:?}", ranges);
                }
                for n in 0..70 {
                    proptest::prop_assert_eq!(ranges.contains(n), model.contains(&n));
                }
            }
        }
    }
}
