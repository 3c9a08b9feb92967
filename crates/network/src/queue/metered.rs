//! First in, first out behind a meter: an arrival in excess of the meter is dropped, or marked in place of dropped (RFC
//! 2475, section 2.3.3).

use units::{Bytes, Time};

use super::fifo::Fifo;
use super::{Admission, Context, Discipline, Served};
use crate::Packet;

/// Decides which arrivals exceed the allowance of a queue.
pub(super) trait Meter: std::fmt::Debug + Send {
    /// True if it counts the bytes that packets take on the link, frames included.
    const FRAMED: bool = false;

    /// True if a packet of `size` that arrives at `now` exceeds the allowance.
    fn exceeds(&mut self, now: Time, size: Bytes) -> bool;
}

/// The queue behind `meter`.
#[derive(Debug)]
pub(super) struct Metered<M, P> {
    meter: M,
    /// True if ECN-capable packets are marked in place of dropped.
    ecn: bool,
    waiting: Fifo<P>,
}

impl<M, P> Metered<M, P> {
    pub(super) const fn new(meter: M, ecn: bool) -> Self {
        Self { meter, ecn, waiting: Fifo::new() }
    }
}

impl<M: Meter, P: Packet> Discipline<P> for Metered<M, P> {
    fn admit(&mut self, packet: &P, cx: &mut Context<'_, P>) -> Admission {
        let size = if M::FRAMED { cx.on_link(packet.size()) } else { packet.size() };
        if !self.meter.exceeds(cx.now, size) {
            return Admission::Take;
        }
        Admission::strike(self.ecn && packet.ecn().is_capable())
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        self.waiting.push(cx.now, packet);
    }

    fn pop(&mut self, _cx: &mut Context<'_, P>) -> Option<Served<P>> {
        let (packet, arrived) = self.waiting.pop()?;
        Some(Served { packet, arrived, marked: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, Parcel, at};

    /// Everything above 1000 bytes exceeds it.
    #[derive(Debug)]
    struct Small;

    impl Meter for Small {
        fn exceeds(&mut self, _now: Time, size: Bytes) -> bool {
            size > Bytes::new(1000)
        }
    }

    #[test]
    fn only_what_exceeds_is_dropped_or_marked() {
        let (full, small) = (Parcel::full(0), Parcel::of(0, 1000));
        for (ecn, packet, expected) in [
            (true, full.capable(), Admission::Mark),
            (true, full, Admission::Drop),
            (false, full.capable(), Admission::Drop),
            (true, small.capable(), Admission::Take),
            (false, small, Admission::Take),
        ] {
            assert_eq!(Driven::new(Metered::new(Small, ecn)).admit(at(0), packet), expected);
        }
    }

    #[test]
    fn what_waits_is_served_in_the_order_of_arrival() {
        let mut queue = Driven::new(Metered::new(Small, true));
        queue.push(at(0), Parcel::full(0));
        queue.push(at(1), Parcel::full(1));
        let served = [2, 3].map(|now| queue.pop(at(now)).map(|served| (served.packet.number, served.marked)));
        assert_eq!(served, [Some((0, false)), Some((1, false))]);
    }
}
