//! How long a small number had each of its values. Quantities such as the length of a queue are weighted by time.

use units::Span;

use crate::Histogram;

/// Numbers below this one have a place of their own, once there are so large ones: 512 KiB at the most.
const PLACES: usize = 1 << 16;

/// How long a number had each of its values. An addition is one memory access up to [`PLACES`], and gives the same
/// statistics as a [`Histogram`] weighted by nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durations {
    /// In nanoseconds, of each value up to the largest so far.
    places: Vec<u64>,
    larger: Histogram,
}

impl Durations {
    /// The number had `value` for `span` more.
    #[inline]
    pub(crate) fn add(&mut self, value: u32, span: Span) {
        match self.places.get_mut(value as usize) {
            Some(place) => *place += span.as_nanos(),
            None => self.add_larger(value, span),
        }
    }

    #[inline(never)]
    fn add_larger(&mut self, value: u32, span: Span) {
        let value = value as usize;
        if value >= PLACES {
            return self.larger.record(value as u64, span.as_nanos());
        }
        self.places.resize((value + 1).next_power_of_two().max(64), 0);
        self.places[value] += span.as_nanos();
    }

    /// All values, weighted by nanoseconds.
    pub(crate) fn histogram(&self) -> Histogram {
        let mut all = self.larger.clone();
        for (value, &nanos) in (0..).zip(&self.places) {
            all.record(value, nanos);
        }
        all
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.places.fill(0);
        self.larger.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn statistics_are_those_of_a_histogram_weighted_by_time(
            before in proptest::collection::vec((0u32..200_000, 0u64..1 << 40), 0..5),
            added in proptest::collection::vec((0u32..200_000, 0u64..1 << 40), 1..100)
        ) {
            let (mut durations, mut histogram) = (Durations::default(), Histogram::new());
            before.into_iter().for_each(|(value, nanos)| durations.add(value, Span::from_nanos(nanos)));
            durations.clear();
            for (value, nanos) in added {
                // As many short queues as long ones.
                let value = value >> (nanos % 16);
                durations.add(value, Span::from_nanos(nanos));
                histogram.record(u64::from(value), nanos);
            }
            let all = durations.histogram();
            let expected = (histogram.min(), histogram.max(), histogram.mean());
            proptest::prop_assert_eq!((all.min(), all.max(), all.mean()), expected);
            for q in [0.0, 0.01, 0.5, 0.95, 1.0] {
                proptest::prop_assert_eq!(all.quantile(q), histogram.quantile(q));
            }
        }
    }

    #[test]
    fn a_large_number_takes_no_place_of_its_own() {
        let mut durations = Durations::default();
        for (value, places) in [(3, 64), (64, 128), (PLACES as u32 - 1, PLACES), (PLACES as u32, PLACES)] {
            durations.add(value, Span::from_nanos(1));
            assert_eq!(durations.places.len(), places, "{value}");
        }
        durations.add(u32::MAX, Span::from_nanos(1));
        assert_eq!((durations.places.len(), durations.histogram().max()), (PLACES, Some(u32::MAX.into())));
    }
}
