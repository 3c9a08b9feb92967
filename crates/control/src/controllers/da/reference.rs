//! The reference delay of DA: the time of a round trip without a queue.

use units::Span;

/// The longest memory.
pub(crate) const CAPACITY: usize = 64;

/// The reference delay D_t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reference {
    delay: Option<Span>,
    /// The last delays, for a reference that forgets (section 5.1).
    ring: [Span; CAPACITY],
    /// How many of them count, 0 if the reference never forgets.
    memory: usize,
    next: usize,
}

impl Reference {
    /// The smallest delay of the connection.
    pub(crate) fn min() -> Self {
        Self { delay: None, ring: [Span::MAX; CAPACITY], memory: 0, next: 0 }
    }

    /// The smallest of the last `m` delays, 1 to [`CAPACITY`].
    pub(crate) fn last(m: usize) -> Self {
        Self { memory: m.clamp(1, CAPACITY), ..Self::min() }
    }

    /// The reference; `None` before the first measurement.
    pub(crate) fn delay(&self) -> Option<Span> {
        self.delay
    }

    /// Takes a measurement into account (D2), and returns the reference.
    pub(crate) fn observe(&mut self, measured: Span) -> Span {
        let smallest = if self.memory == 0 {
            self.delay.map_or(measured, |delay| delay.min(measured))
        } else {
            self.ring[self.next] = measured;
            self.next = (self.next + 1) % self.memory;
            self.ring[..self.memory].iter().copied().fold(measured, Span::min)
        };
        self.delay = Some(smallest);
        smallest
    }

    /// The path is another: older delays no longer count (section 5.1).
    pub(crate) fn replace(&mut self, measured: Span) {
        *self = Self { memory: self.memory, ..Self::min() };
        self.observe(measured);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    #[test]
    fn the_smallest_delay_stays_the_reference_until_it_is_replaced() {
        let mut reference = Reference::min();
        assert_eq!(reference.delay(), None);
        for (measured, then) in [(230, 230), (221, 221), (250, 221)] {
            assert_eq!(reference.observe(MS(measured)), MS(then));
        }
        reference.replace(MS(321));
        assert_eq!(reference.observe(MS(330)), MS(321));
    }

    #[test]
    fn the_smallest_of_the_last_three_is_forgotten_after_three_more() {
        let mut reference = Reference::last(3);
        for (measured, then) in [(221, 221), (230, 221), (240, 221), (250, 230), (260, 240), (255, 250)] {
            assert_eq!(reference.observe(MS(measured)), MS(then), "{measured} ms");
        }
        reference.replace(MS(300));
        assert_eq!(reference.observe(MS(310)), MS(300));
    }
}
