//! Events of a run at times that are known beforehand.

use std::cmp::Reverse;

use units::Time;

/// Things that happen at known times, in the order in which they are done at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Planned {
    WarmUpEnds,
    /// Something of an agent.
    Agent(Due),
    Stop(u32),
    Start(u32),
    /// Parameters of a flow change: the flow, and which of its changes.
    Change(u32, u32),
}

/// Events that agents plan, in their order at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Due {
    /// A flow asks routers for a rate a round trip later.
    Request(u32),
    /// The Snoop agent of a flow may have to send a packet again.
    Snoop(u32),
    /// A proxy may have to repeat that its window is open.
    Reminder(u32),
}

/// All that is to happen.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// In order, the next one last.
    planned: Vec<(Time, Planned)>,
    /// When the next one is due.
    pub(crate) next: Time,
    /// When events that concern both ends of a flow are due, the next one last. They are known beforehand.
    shared: Vec<Time>,
}

impl Agenda {
    /// The agenda of `planned`, in any order. Events that concern both ends of a flow are `shared`.
    pub(crate) fn new(mut planned: Vec<(Time, Planned)>, shared: impl Fn(Planned) -> bool) -> Self {
        planned.sort_by_key(|&item| Reverse(item));
        let shared = planned.iter().filter(|(_, what)| shared(*what)).map(|&(at, _)| at).collect();
        let mut new = Self { planned, next: Time::NEVER, shared };
        new.look();
        new
    }

    /// The event that is due next, if there is one.
    pub(crate) fn pop(&mut self) -> Option<Planned> {
        let (_, what) = self.planned.pop()?;
        self.look();
        // Many flows start early in a run.
        if self.planned.len() < self.planned.capacity() / 4 {
            self.planned.shrink_to(self.planned.len() * 2);
        }
        Some(what)
    }

    /// When the next event is due that concerns both ends of a flow, or [`Time::NEVER`] if none is.
    pub(crate) fn next_shared(&self) -> Time {
        self.shared.last().copied().unwrap_or(Time::NEVER)
    }

    /// The event that is due next.
    pub(crate) fn peek(&self) -> Option<Planned> {
        self.planned.last().map(|&(_, what)| what)
    }

    /// The event that is due next, which concerns both ends of a flow.
    pub(crate) fn pop_shared(&mut self) -> Option<Planned> {
        self.shared.pop();
        self.pop()
    }

    /// `what` is to happen at `at`.
    pub(crate) fn add(&mut self, at: Time, what: Planned) {
        let place = self.planned.partition_point(|later| *later > (at, what));
        self.planned.insert(place, (at, what));
        self.look();
    }

    fn look(&mut self) {
        self.next = self.planned.last().map_or(Time::NEVER, |&(at, _)| at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_later_takes_its_place() {
        let at = Time::from_nanos;
        let mut agenda = Agenda::new(vec![(at(5), Planned::Start(0)), (at(1), Planned::Start(1))], |_| false);
        agenda.add(at(3), Planned::Start(2));
        agenda.add(at(1), Planned::Stop(3));
        let order: Vec<(Time, Option<Planned>)> = (0..5).map(|_| (agenda.next, agenda.pop())).collect();
        let expected = [
            (at(1), Some(Planned::Stop(3))),
            (at(1), Some(Planned::Start(1))),
            (at(3), Some(Planned::Start(2))),
            (at(5), Some(Planned::Start(0))),
            (Time::NEVER, None),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_room_of_many_starts_goes_once_they_are_few() {
        let starts =
            |count: u32| (0..count).map(|flow| (Time::from_nanos(flow.into()), Planned::Start(flow))).collect();
        let mut agenda = Agenda::new(starts(4000), |_| false);
        let mut left = 4000;
        while agenda.pop().is_some() {
            left -= 1;
            // Four times as much as there are events at most, and a half of that where it shrinks.
            assert!(agenda.planned.capacity() <= 4 * left + 4, "{left}: {}", agenda.planned.capacity());
            assert!(agenda.planned.capacity() >= (2 * left).min(4000), "{left}: {}", agenda.planned.capacity());
        }
        let mut few = Agenda::new(starts(2), |_| false);
        assert_eq!(
            (few.peek(), few.pop(), few.pop(), few.peek()),
            (Some(Planned::Start(0)), Some(Planned::Start(0)), Some(Planned::Start(1)), None)
        );
    }

    #[test]
    fn events_of_both_ends_are_known_beforehand() {
        let at = Time::from_nanos;
        let planned = vec![(at(5), Planned::Stop(0)), (at(1), Planned::Start(0)), (at(3), Planned::WarmUpEnds)];
        let mut agenda = Agenda::new(planned, |what| matches!(what, Planned::Start(_) | Planned::Stop(_)));
        assert_eq!((agenda.next_shared(), agenda.pop_shared()), (at(1), Some(Planned::Start(0))));
        assert_eq!((agenda.pop(), agenda.next_shared()), (Some(Planned::WarmUpEnds), at(5)));
        assert_eq!((agenda.pop_shared(), agenda.next_shared()), (Some(Planned::Stop(0)), Time::NEVER));
    }
}
