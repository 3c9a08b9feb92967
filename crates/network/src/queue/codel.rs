//! CoDel: controlled delay (RFC 8289; Nichols and Jacobson 2012).
//!
//! A packet that waited less than `target` is good news. When every packet of a whole `interval` waited longer, the
//! queue stands: the next one is dropped as its service is due, and from then on one more after interval/sqrt(count),
//! until a packet waited less. A queue that falls back into this state soon goes on with nearly the frequency it had
//! reached.
//!
//! | RFC 8289, section 5 | here |
//! | --- | --- |
//! | control_law: t + INTERVAL / sqrt(count) | [`next_drop`] |
//! | dodequeue: sojourn time against TARGET, first_above_time | [`Codel::above`] |
//! | deque: dropping state, count, lastcount | [`Codel::pop`] |
//!
//! Differences from the RFC: with `ecn` an ECN-capable packet is marked where another would be dropped and goes on, so
//! that a mark takes the place of one drop (section 4.4 leaves it open; Linux does so). `ce_threshold` is of Linux:
//! every capable packet that waited longer is marked, whatever the state. The last packet, of at most [`MTU`] bytes
//! with all that waits behind it, is never dropped, so the link does not fall idle by CoDel. Linux computes
//! 1/sqrt(count) by one Newton step on 16 bits, here it is exact.

use serde::{Deserialize, Serialize};
use units::{Bytes, Span, Time};

use super::fifo::Fifo;
use super::{Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

/// At most so many bytes are no standing queue (maxpacket of the RFC): an Ethernet packet.
pub(super) const MTU: Bytes = Bytes::new(1500);

/// A queue that stood less than so many intervals ago starts with the frequency of drops it had.
const MEMORY: u64 = 16;

/// What a scenario says about CoDel, named as in `tc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodelSettings {
    /// How long packets may wait in the long run (RFC 8289, section 4.3); by default 5ms.
    pub target: Span,
    /// For how long the wait may be above it: about the longest round-trip time (RFC 8289, section 4.2); by default
    /// 100ms.
    pub interval: Span,
    /// Whether ECN-capable packets are marked in place of dropped; by default they are not.
    pub ecn: bool,
    /// Every ECN-capable packet that waited longer is marked; by default none is for this.
    pub ce_threshold: Option<Span>,
}

impl Default for CodelSettings {
    fn default() -> Self {
        Self { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false, ce_threshold: None }
    }
}

impl Settings for CodelSettings {
    const DEFAULT_LIMIT: Option<Limit> = Some(Limit::Packets(1000));

    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.interval.is_zero() {
            return Err(("interval", format!("`{}` is no time: it must be above 0, like `100ms`", self.interval)));
        }
        Ok(())
    }

    fn build<P: Packet>(&self, _limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(CodelQueue::new(*self))
    }
}

/// What CoDel remembers of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Codel {
    /// When the wait will have been above target for an interval; `None` while it is not above.
    first_above: Option<Time>,
    /// When the next packet is dropped, in the dropping state; otherwise, when it would have been.
    drop_next: Time,
    /// Drops since the dropping state began.
    count: u32,
    /// `count` when it began.
    last_count: u32,
    dropping: bool,
}

/// The time of the drop after one at `t`, the `count`-th: the control law.
fn next_drop(t: Time, interval: Span, count: u32) -> Time {
    t + interval.scale(1.0 / f64::from(count).sqrt())
}

impl Codel {
    /// Serves the first packet that is not dropped. `next` takes the packet at the head, with the time of its arrival.
    pub(super) fn pop<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        cx: &mut Context<'_, P>,
        mut next: impl FnMut() -> Option<(P, Time)>,
    ) -> Option<Served<P>> {
        let now = cx.now;
        let (mut head, mut above) = self.take(settings, cx, &mut next)?;
        if self.dropping {
            self.dropping = above;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if settings.ecn && head.packet.ecn().is_capable() {
                    head.marked = true;
                    self.drop_next = next_drop(self.drop_next, settings.interval, self.count);
                    break;
                }
                cx.drop(head.packet);
                (head, above) = self.take(settings, cx, &mut next)?;
                self.dropping = above;
                if above {
                    self.drop_next = next_drop(self.drop_next, settings.interval, self.count);
                }
            }
        } else if above {
            if settings.ecn && head.packet.ecn().is_capable() {
                head.marked = true;
            } else {
                cx.drop(head.packet);
                (head, _) = self.take(settings, cx, &mut next)?;
            }
            self.begin(now, settings.interval);
        }
        let waited = now.since(head.arrived);
        head.marked |= settings.ce_threshold.is_some_and(|above| waited > above) && head.packet.ecn().is_capable();
        Some(head)
    }

    /// A packet was dropped or marked, as the queue stands: the dropping state begins.
    fn begin(&mut self, now: Time, interval: Span) {
        let recent = now.since(self.drop_next) < interval.saturating_mul(MEMORY);
        let gained = self.count.saturating_sub(self.last_count);
        self.count = if gained > 1 && recent { gained } else { 1 };
        self.last_count = self.count;
        self.drop_next = next_drop(now, interval, self.count);
        self.dropping = true;
    }

    /// The packet at the head, and whether the wait has been above target for an interval.
    fn take<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        cx: &Context<'_, P>,
        next: &mut impl FnMut() -> Option<(P, Time)>,
    ) -> Option<(Served<P>, bool)> {
        let Some((packet, arrived)) = next() else {
            self.empty();
            return None;
        };
        let behind = cx.waiting().bytes.saturating_sub(packet.size());
        let above = self.above(settings, cx.now, cx.now.since(arrived), behind);
        Some((Served { packet, arrived, marked: false }, above))
    }

    /// Whether the wait has been above target for an interval, after a packet that waited `sojourn` and left `behind`
    /// waiting.
    fn above(&mut self, settings: &CodelSettings, now: Time, sojourn: Span, behind: Bytes) -> bool {
        if sojourn < settings.target || behind <= MTU {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + settings.interval)
    }

    /// Nothing waited when a service was due.
    pub(super) fn empty(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// So many packets were dropped as the queue was full: drops to come are that much more frequent.
    pub(super) fn count_drops(&mut self, dropped: u32) {
        self.count = self.count.saturating_add(dropped);
    }
}

/// One queue, first in, first out, under CoDel.
#[derive(Debug)]
pub(crate) struct CodelQueue<P> {
    settings: CodelSettings,
    state: Codel,
    waiting: Fifo<P>,
}

impl<P> CodelQueue<P> {
    pub(crate) fn new(settings: CodelSettings) -> Self {
        Self { settings, state: Codel::default(), waiting: Fifo::new() }
    }
}

impl<P: Packet> Discipline<P> for CodelQueue<P> {
    fn pass(&mut self, _packet: &P, _cx: &mut Context<'_, P>) {
        self.state.empty();
    }

    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        self.waiting.push(cx.now, packet);
    }

    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        let Self { settings, state, waiting } = self;
        state.pop(settings, cx, || waiting.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, Parcel};

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// A queue in which `packets` wait since time 0.
    fn standing(settings: CodelSettings, packets: u32, packet: impl Fn(u32) -> Parcel) -> Driven<CodelQueue<Parcel>> {
        let mut queue = Driven::new(CodelQueue::new(settings));
        (0..packets).for_each(|number| queue.push(Time::ZERO, packet(number)));
        queue
    }

    /// Serves a packet each millisecond from `from` up to `to`; when packets were dropped, and when one was marked.
    fn serve(queue: &mut Driven<CodelQueue<Parcel>>, from: u64, to: u64) -> (Vec<u64>, Vec<u64>) {
        let (mut dropped, mut marked) = (Vec::new(), Vec::new());
        for at in from..to {
            let served = queue.pop(ms(at)).expect("something waits");
            dropped.extend(queue.dropped().iter().map(|_| at));
            marked.extend(served.marked.then_some(at));
        }
        (dropped, marked)
    }

    #[test]
    fn drops_follow_the_control_law() {
        let mut queue = standing(CodelSettings::default(), 1000, Parcel::full);
        // The wait is above 5 ms at 5 ms, so an interval of it is over at 105 ms. Then 100/sqrt(1) to 205; the drop
        // there is the second: 205 + 100/sqrt(2) = 275.71, of the third + 100/sqrt(3) = 333.45, + 50 = 383.45, + 44.72
        // = 428.17.
        assert_eq!(serve(&mut queue, 0, 429), (vec![105, 205, 276, 334, 384], vec![]));
        assert_eq!(serve(&mut queue, 429, 430).0, [429]);
    }

    #[test]
    fn a_wait_below_target_ends_the_dropping() {
        let mut queue = standing(CodelSettings::default(), 300, Parcel::full);
        assert_eq!(serve(&mut queue, 0, 206).0, [105, 205]);
        // 206 services and 2 drops: 92 packets of the beginning are left. What arrives now waits 3 ms at most when its
        // turn comes.
        (300..340).for_each(|number| queue.push(ms(295), Parcel::full(number)));
        // The third drop would be at 275.71; it comes, the fourth at 333.45 does not, since from 297 on the wait is 2
        // ms and more, below target until 300, and an interval from there is over at 400.
        assert_eq!(serve(&mut queue, 206, 335).0, [276]);
    }

    #[test]
    fn a_queue_that_stands_again_soon_goes_on_where_it_was() {
        let mut codel = Codel { count: 6, last_count: 1, drop_next: ms(500), ..Codel::default() };
        // Less than 16 intervals later: 5 more than at the last beginning, so 100/sqrt(5) = 44.72 ms.
        codel.begin(ms(2099), Span::from_millis(100));
        assert_eq!((codel.count, codel.last_count), (5, 5));
        assert_eq!(codel.drop_next.since(ms(2099)).as_nanos() / 10_000, 4472);
        // After 16 intervals it begins anew.
        let mut codel = Codel { count: 6, last_count: 1, drop_next: ms(500), ..Codel::default() };
        codel.begin(ms(2100), Span::from_millis(100));
        assert_eq!((codel.count, codel.drop_next), (1, ms(2200)));
        // So it does if the last time had a single drop.
        let mut codel = Codel { count: 2, last_count: 1, drop_next: ms(500), ..Codel::default() };
        codel.begin(ms(600), Span::from_millis(100));
        assert_eq!(codel.count, 1);
    }

    #[test]
    fn the_last_packets_of_one_mtu_are_never_dropped() {
        // Each time, two packets have waited for long, so one of 1500 bytes waits behind the first.
        let mut queue = Driven::new(CodelQueue::new(CodelSettings::default()));
        for second in 0..20 {
            queue.push(ms(1000 * second), Parcel::full(0));
            queue.push(ms(1000 * second), Parcel::full(1));
            assert!(queue.pop(ms(1000 * second + 400)).is_some());
            assert!(queue.pop(ms(1000 * second + 800)).is_some());
        }
        assert!(queue.dropped().is_empty());
    }

    #[test]
    fn capable_packets_are_marked_in_place_of_dropped() {
        let settings = CodelSettings { ecn: true, ..CodelSettings::default() };
        let mut queue = standing(settings, 1000, |number| Parcel::full(number).capable());
        // A mark ends the round of drops at its instant, and each goes on from its scheduled time, as drops do.
        assert_eq!(serve(&mut queue, 0, 385), (vec![], vec![105, 205, 276, 334, 384]));
        let mut plain = standing(settings, 1000, Parcel::full);
        assert_eq!(serve(&mut plain, 0, 206), (vec![105, 205], vec![]));
    }

    #[test]
    fn a_late_look_makes_up_for_drops_in_one_go() {
        let mut queue = standing(CodelSettings::default(), 1000, Parcel::full);
        assert_eq!(serve(&mut queue, 0, 106).0, [105]);
        // Due since: 205, 275.71, 333.45, 383.45.
        assert!(queue.pop(ms(400)).is_some());
        assert_eq!(queue.dropped().len(), 4);
    }

    #[test]
    fn ce_threshold_marks_whatever_waited_longer() {
        let settings = CodelSettings { ce_threshold: Some(Span::from_millis(1)), ..CodelSettings::default() };
        let mut queue = standing(settings, 10, |number| Parcel::full(number).capable());
        assert_eq!(serve(&mut queue, 0, 5).1, [2, 3, 4]);
    }

    #[test]
    fn an_empty_queue_forgets_that_the_wait_was_long() {
        let mut queue = standing(CodelSettings::default(), 60, Parcel::full);
        assert_eq!(serve(&mut queue, 0, 60).0, [] as [u64; 0]);
        assert_eq!(queue.pop(ms(60)), None);
        (0..60).for_each(|number| queue.push(ms(60), Parcel::full(number)));
        // Above target from 65 ms on, not from 5.
        assert_eq!(serve(&mut queue, 60, 120).0, [] as [u64; 0]);
    }
}
