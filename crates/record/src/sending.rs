//! When a link sends, and when the packet at its head can only wait.

use units::{Bytes, Rate, Time};

/// When a link sends the bits of the packet in service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sending {
    /// All the time, at a constant rate.
    #[default]
    Steadily,
    /// At a rate that changes, and not at all in these spans of time, which are in order and do not overlap.
    Except(Box<[(Time, Time)]>),
    /// At single instants: all of a service is waiting.
    AtInstants,
    /// At this rate, at the end of a service. Before that, it waits.
    AtEnd(Rate),
}

impl Sending {
    /// The part of `from` to `to` that begins at `from` and either has no outage or is all outage: its end, and whether
    /// it is an outage. It is of the service of a packet of `size` that ends at `finish`.
    pub(crate) fn stretch(&self, from: Time, to: Time, (size, finish): (Bytes, Time)) -> (Time, bool) {
        match self {
            Self::Steadily => (to, false),
            Self::AtInstants => (to, true),
            Self::AtEnd(rate) => {
                let begin = Time::from_nanos(finish.as_nanos().saturating_sub(rate.time_for(size).as_nanos()));
                if from < begin { (begin.min(to), true) } else { (to, false) }
            }
            Self::Except(outages) => match outages.get(outages.partition_point(|&(_, until)| until <= from)) {
                Some(&(begin, until)) if begin <= from => (until.min(to), true),
                Some(&(begin, _)) => (begin.min(to), false),
                None => (to, false),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    /// 10 bytes whose last bit leaves at 40 ns.
    const PACKET: (Bytes, Time) = (Bytes::new(10), Time::from_nanos(40));

    #[test]
    fn stretches_end_where_outages_begin_and_end() {
        let sending = Sending::Except([(at(10), at(20)), (at(30), Time::NEVER)].into());
        let mut from = at(5);
        let mut stretches = Vec::new();
        while from < at(40) {
            let (until, waiting) = sending.stretch(from, at(40), PACKET);
            stretches.push((until.as_nanos(), waiting));
            from = until;
        }
        assert_eq!(stretches, [(10, false), (20, true), (30, false), (40, true)]);
        assert_eq!(Sending::Steadily.stretch(at(1), at(9), PACKET), (at(9), false));
        assert_eq!(Sending::AtInstants.stretch(at(1), at(9), PACKET), (at(9), true));
        // 10 bytes at 10 Gbit/s take 8 ns, so they begin at 32 ns.
        let at_end = Sending::AtEnd(Rate::from_mbit(10_000));
        assert_eq!(at_end.stretch(at(1), at(9), PACKET), (at(9), true));
        assert_eq!(at_end.stretch(at(9), at(36), PACKET), (at(32), true));
        assert_eq!(at_end.stretch(at(32), at(36), PACKET), (at(36), false));
    }
}
