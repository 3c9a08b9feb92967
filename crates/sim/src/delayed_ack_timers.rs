//! The timers of all receivers, until which ACKs wait.

use std::collections::VecDeque;

use prefetch_index::prefetch_index;
use units::Time;

/// Timers that are set and taken back with every other packet, and have few lengths. All timers of one length expire in
/// the order in which they were set, and so do those that wait for a tick. So a few lines, in each of which the timers
/// are in order, replace a heap at a fraction of the cost. One that is taken back stays in its line until the next
/// look: [`DelayedAckTimers::next`] may be too early, never too late.
#[derive(Clone, Debug)]
pub(crate) struct DelayedAckTimers {
    lines: Vec<Line>,
    /// When the timer of each flow expires, or [`Time::NEVER`] if it is not set.
    expires: Vec<Time>,
    next: Time,
}

/// Timers in order, including some that were taken back meanwhile.
#[derive(Clone, Debug, Default)]
struct Line {
    timers: VecDeque<(Time, u32)>,
    /// When the last one that came expires, if it is still there.
    last: Time,
}

impl Line {
    /// True if a timer that expires at `at` may be the last.
    fn takes(&self, at: Time) -> bool {
        self.last <= at || self.timers.is_empty()
    }
}

impl DelayedAckTimers {
    /// A timer for each of `flows`.
    pub(crate) fn new(flows: usize) -> Self {
        Self { lines: Vec::new(), expires: vec![Time::NEVER; flows], next: Time::NEVER }
    }

    /// When to look for a timer that is [`due`](Self::due), or [`Time::NEVER`] if none is set.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// The timer of `flow` expires at `at`. With [`Time::NEVER`] it is not set.
    #[inline]
    pub(crate) fn set(&mut self, flow: u32, at: Time) {
        let expires = &mut self.expires[flow as usize];
        if *expires == at {
            return;
        }
        *expires = at;
        if at != Time::NEVER {
            self.line_up(flow, at);
        }
    }

    /// The timer of `flow` becomes the last of the first line where none expires later.
    #[inline]
    fn line_up(&mut self, flow: u32, at: Time) {
        self.next = self.next.min(at);
        let most = 16 + 4 * self.expires.len();
        match self.lines.first_mut() {
            Some(line) if line.last <= at && line.timers.len() < most => {
                line.last = at;
                line.timers.push_back((at, flow));
            }
            _ => self.find_line(flow, at, most),
        }
    }

    /// The same, where the first line does not take the timer, or is long.
    #[inline(never)]
    fn find_line(&mut self, flow: u32, at: Time, most: usize) {
        let line = self.lines.iter().position(|line| line.takes(at)).unwrap_or_else(|| {
            self.lines.push(Line::default());
            self.lines.len() - 1
        });
        let Line { timers, last } = &mut self.lines[line];
        *last = at;
        timers.push_back((at, flow));
        // Those that were taken back must not pile up.
        if timers.len() > most {
            let expires = &self.expires;
            timers.retain(|&(at, flow)| expires[flow as usize] == at);
        }
    }

    /// Lets the processor fetch the state of the timer of `flow`.
    #[inline]
    pub(crate) fn prefetch(&self, flow: u32) {
        prefetch_index(&self.expires, flow as usize);
    }

    /// The timer of `flow` is not set any more.
    pub(crate) fn clear(&mut self, flow: u32) {
        self.expires[flow as usize] = Time::NEVER;
    }

    /// The flow whose timer expires at `now`, which is not set any more, or `None` if no timer expires before the new
    /// [`next`](Self::next).
    pub(crate) fn due(&mut self, now: Time) -> Option<u32> {
        let expires = &mut self.expires;
        let mut first: Option<((Time, u32), usize)> = None;
        for (index, Line { timers, .. }) in self.lines.iter_mut().enumerate() {
            while timers.front().is_some_and(|&(at, flow)| expires[flow as usize] != at) {
                timers.pop_front();
            }
            if let Some(&timer) = timers.front() {
                first = Some(first.map_or((timer, index), |f| f.min((timer, index))));
            }
        }
        self.next = first.map_or(Time::NEVER, |((at, _), _)| at);
        let ((_, flow), line) = first.filter(|((at, _), _)| *at <= now)?;
        expires[flow as usize] = Time::NEVER;
        self.lines[line].timers.pop_front();
        Some(flow)
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    proptest::proptest! {
        #[test]
        fn timers_expire_in_the_order_of_a_plain_list_however_they_are_set_and_taken_back(
            operations in proptest::collection::vec((0u64..30, 0u32..6, proptest::option::of(0usize..3)), 1..200)
        ) {
            let lengths = [1, 40, 100].map(Span::from_millis);
            let mut delayed_ack_timers = DelayedAckTimers::new(6);
            let mut model = [Time::NEVER; 6];
            let mut now = Time::ZERO;
            for (wait, flow, set) in operations {
                now += Span::from_millis(wait);
                while delayed_ack_timers.next() <= now {
                    let at = delayed_ack_timers.next();
                    if let Some(flow) = delayed_ack_timers.due(at) {
                        proptest::prop_assert_eq!((model[flow as usize], model.into_iter().min()), (at, Some(at)));
                        model[flow as usize] = Time::NEVER;
                    } else {
                        proptest::prop_assert!(delayed_ack_timers.next() > at);
                    }
                }
                let entry = &mut model[flow as usize];
                // A timer that is set stays until it is taken back.
                match set {
                    None => *entry = Time::NEVER,
                    // One that is set earlier than it was is set anew.
                    Some(length) => *entry = (*entry).min(now + lengths[length]),
                }
                delayed_ack_timers.set(flow, *entry);
                proptest::prop_assert!(delayed_ack_timers.next() <= model.into_iter().min().unwrap());
            }
        }
    }
}
