//! The delayed-ACK timers of all receivers.

use std::collections::VecDeque;

use units::{Span, Time};

/// Timers that are set and taken back with every other packet. All timers of one length expire in the order in which they were set, so a
/// queue for each length does what a heap would, at a fraction of the cost.
#[derive(Clone, Debug)]
pub(crate) struct Alarms {
    lines: Vec<Line>,
    /// The line of each flow.
    line_of: Vec<u32>,
    /// When the timer of each flow expires; [`Time::NEVER`] if it is not set.
    expires: Vec<Time>,
    next: Time,
}

/// The timers of one length, in order; among them such as were taken back meanwhile.
#[derive(Clone, Debug)]
struct Line {
    length: Span,
    timers: VecDeque<(Time, u32)>,
}

impl Alarms {
    /// A timer for each flow, of the given length.
    pub(crate) fn new(lengths: impl Iterator<Item = Span>) -> Self {
        let mut alarms = Self { lines: Vec::new(), line_of: Vec::new(), expires: Vec::new(), next: Time::NEVER };
        for length in lengths {
            let line = alarms.lines.iter().position(|l| l.length == length).unwrap_or_else(|| {
                alarms.lines.push(Line { length, timers: VecDeque::new() });
                alarms.lines.len() - 1
            });
            alarms.line_of.push(line as u32);
            alarms.expires.push(Time::NEVER);
        }
        alarms
    }

    /// When the first timer expires; [`Time::NEVER`] if none is set.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// The timer of `flow` expires at `at`, as long after it is set as its length says; [`Time::NEVER`]: it is not set.
    #[inline]
    pub(crate) fn set(&mut self, flow: u32, at: Time) {
        let expires = &mut self.expires[flow as usize];
        if *expires == at {
            return;
        }
        *expires = at;
        let line = &mut self.lines[self.line_of[flow as usize] as usize];
        if at != Time::NEVER {
            debug_assert!(line.timers.back().is_none_or(|&(last, _)| last <= at), "timers of a line are in order");
            line.timers.push_back((at, flow));
            // A timer that is long in coming must not let those behind it pile up that were taken back.
            if line.timers.len() > 4 * self.expires.len() {
                let expires = &self.expires;
                line.timers.retain(|&(at, flow)| expires[flow as usize] == at);
            }
        }
        if line.timers.front().is_none_or(|&(_, first)| first == flow) {
            self.find_next(self.line_of[flow as usize]);
        }
    }

    /// Drops timers that were taken back from the front of `line`, and finds the first of all.
    fn find_next(&mut self, line: u32) {
        let timers = &mut self.lines[line as usize].timers;
        while timers.front().is_some_and(|&(at, flow)| self.expires[flow as usize] != at) {
            timers.pop_front();
        }
        self.next = Time::NEVER;
        for line in &self.lines {
            if let Some(&(at, _)) = line.timers.front() {
                self.next = self.next.min(at);
            }
        }
    }

    /// The flow whose timer expires at [`next`](Self::next). It stays set.
    pub(crate) fn first(&self) -> Option<u32> {
        self.lines.iter().filter_map(|l| l.timers.front()).min().map(|t| t.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_first_is_the_earliest_of_a_plain_list_however_timers_are_set_and_taken_back(
            operations in proptest::collection::vec((0u64..5, 0u32..6, proptest::bool::ANY), 1..200)
        ) {
            let lengths: Vec<Span> = (0..6).map(|f| Span::from_millis(if f < 4 { 40 } else { 100 })).collect();
            let mut alarms = Alarms::new(lengths.iter().copied());
            let mut model = [Time::NEVER; 6];
            let mut now = Time::ZERO;
            for (wait, flow, set) in operations {
                now += Span::from_millis(wait);
                let entry = &mut model[flow as usize];
                // A timer that is set stays until it is taken back.
                if !set {
                    *entry = Time::NEVER;
                } else if *entry == Time::NEVER {
                    *entry = now + lengths[flow as usize];
                }
                alarms.set(flow, *entry);
                let next = model.into_iter().min().unwrap();
                proptest::prop_assert_eq!(alarms.next(), next);
                if next != Time::NEVER {
                    let first = alarms.first().unwrap();
                    proptest::prop_assert_eq!(model[first as usize], next);
                }
            }
        }
    }
}
