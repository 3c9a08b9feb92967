//! Propagation delay: constant, or changing stepwise as a route does.

use std::sync::Arc;

use units::{Span, Time};

/// A propagation delay from time zero on, and the delays that follow it, each from its time on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Propagation {
    initial: Span,
    later: Arc<[(Time, Span)]>,
}

impl From<Span> for Propagation {
    fn from(delay: Span) -> Self {
        Self { initial: delay, later: Arc::default() }
    }
}

impl Propagation {
    /// `initial` until the first of `later`, which are in order of time.
    pub fn steps(initial: Span, later: impl IntoIterator<Item = (Time, Span)>) -> Self {
        Self { initial, later: later.into_iter().collect() }
    }

    /// The delay at time zero.
    pub fn initial(&self) -> Span {
        self.initial
    }

    /// The steps after time zero.
    pub fn later(&self) -> &[(Time, Span)] {
        &self.later
    }

    /// True if it never changes.
    pub fn is_constant(&self) -> bool {
        self.later.is_empty()
    }

    /// The shortest delay there ever is.
    pub fn shortest(&self) -> Span {
        self.later.iter().fold(self.initial, |shortest, &(_, delay)| shortest.min(delay))
    }

    /// The longest delay there ever is.
    pub fn longest(&self) -> Span {
        self.later.iter().fold(self.initial, |longest, &(_, delay)| longest.max(delay))
    }

    /// The delay of a packet that leaves at `at`.
    pub fn at(&self, at: Time) -> Span {
        let past = self.later.partition_point(|&(from, _)| from <= at);
        past.checked_sub(1).map_or(self.initial, |last| self.later[last].1)
    }

    /// The delay of a packet that arrives at `at`.
    pub fn until(&self, at: Time) -> Span {
        self.at(Time::from_nanos(at.as_nanos().saturating_sub(self.at(at).as_nanos())))
    }

    /// Each delay through `change`.
    #[must_use]
    pub fn map(&self, change: impl Fn(Span) -> Span) -> Self {
        Self::steps(change(self.initial), self.later.iter().map(|&(at, delay)| (at, change(delay))))
    }

    /// One delay after the other.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        if other.is_constant() {
            return self.map(|delay| delay + other.initial);
        }
        let mut times: Vec<Time> = self.later.iter().chain(other.later.iter()).map(|step| step.0).collect();
        times.sort_unstable();
        times.dedup();
        Self::steps(self.initial + other.initial, times.into_iter().map(|at| (at, self.at(at) + other.at(at))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn each_delay_holds_from_its_time_on() {
        let route = Propagation::steps(MS(50), [(at(30), MS(20)), (at(60), MS(70))]);
        let before = Time::from_nanos(at(30).as_nanos() - 1);
        assert_eq!(
            [Time::ZERO, before, at(30), at(60), Time::NEVER].map(|t| route.at(t)),
            [50, 50, 20, 70, 70].map(MS)
        );
        assert_eq!((route.initial(), route.shortest(), route.longest()), (MS(50), MS(20), MS(70)));
    }

    #[test]
    fn a_packet_had_the_delay_of_its_departure() {
        let route = Propagation::steps(MS(50), [(at(30), MS(20)), (at(60), MS(70))]);
        let millis = |millis| Time::ZERO + MS(millis);
        // Those of 50 ms that left before 30 s arrive until 30.05 s, and those of 20 ms from 30.02 s on.
        assert_eq!([30_019, 30_021, 30_049].map(|t| route.until(millis(t))), [50, 20, 20].map(MS));
        // Nothing arrives from 60.02 to 60.07 s.
        assert_eq!([60_010, 60_071].map(|t| route.until(millis(t))), [20, 70].map(MS));
        assert_eq!(route.until(Time::ZERO), MS(50));
    }

    #[test]
    fn two_in_a_row_change_whenever_one_of_them_does() {
        let one = Propagation::steps(MS(50), [(at(30), MS(20)), (at(60), MS(70))]);
        let other = Propagation::steps(MS(1), [(at(10), MS(2)), (at(60), MS(3))]);
        let sum = Propagation::steps(MS(51), [(at(10), MS(52)), (at(30), MS(22)), (at(60), MS(73))]);
        assert_eq!(one.plus(&other), sum);
        assert_eq!(one.plus(&MS(5).into()), Propagation::steps(MS(55), [(at(30), MS(25)), (at(60), MS(75))]));
        assert_eq!(Propagation::from(MS(5)).plus(&MS(6).into()), MS(11).into());
    }
}
