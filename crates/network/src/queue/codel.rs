//! CoDel: controlled delay (RFC 8289, and Nichols and Jacobson 2012).
//!
//! A packet that waited less than `target` shows a good queue. When every packet of a whole `interval` waited longer,
//! the queue is a standing queue: the next one is dropped as its service is due, and from then on one more after
//! interval/sqrt(count), until a packet waited less. A queue that falls back into this state soon goes on with nearly
//! the frequency it had reached.
//!
//! | RFC 8289, section 5 | here |
//! | --- | --- |
//! | control_law: t + INTERVAL / sqrt(count) | [`Codel::next_drop`] |
//! | dodequeue: sojourn time against TARGET, first_above_time | [`Codel::above`] |
//! | deque: dropping state, count, lastcount | [`Codel::pop`] |
//!
//! Differences from the RFC, as in Linux: with `ecn` an ECN-capable packet is marked where another would be dropped and
//! goes on, so that a mark takes the place of one drop (section 4.4 leaves it open). With `ce_threshold` every capable
//! packet that waited longer is marked, whatever the state. While at most [`MTU`] bytes (maxpacket of the RFC) wait
//! behind it, a packet is never dropped, so the link does not fall idle by CoDel. 1/sqrt(count) has 16 bits and comes
//! by one Newton step from its value at the last drop ([`Codel::improve`]): the third drop follows the second after
//! 0.5 intervals, not 0.71.
//!
//! Different from Linux: its time has steps of 1024 ns, its packets have an Ethernet header of 14 bytes, and
//! `ce_threshold` can be for packets of one codepoint alone. Behind a shaper the packet in service counts in its limit,
//! here with `count_in_service`.

use units::packet::MTU;
use units::{Bytes, Span, Time};

use super::fifo::Fifo;
use super::tc::{Dialect, settings};
use super::{Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

/// A queue that stood less than so many intervals ago starts with the frequency of drops it had.
const MEMORY: u64 = 16;

settings! {
    /// What a scenario says about CoDel, named as in `tc`.
    #[derive(Eq)]
    pub struct CodelSettings in "codel", limit packets {
        /// How long packets may wait in the long run (RFC 8289, section 4.3); by default 5ms.
        target: Span = Span::from_millis(5), value, from Span::ZERO, to Span::LONGEST_WAIT;
        /// For how long the wait may be above it: about the longest round-trip time (RFC 8289, section 4.2); by default
        /// 100ms.
        interval: Span = Span::from_millis(100), value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// Every ECN-capable packet that waited longer is marked; by default none is for this.
        ce_threshold: Option<Span> = None, value, from Span::ZERO, to Span::LONGEST_WAIT;
        /// Whether ECN-capable packets are marked in place of dropped; by default they are not.
        ecn: bool = false, words("ecn" = true, "noecn" = false);
    }
}

impl Settings for CodelSettings {
    const DEFAULT_LIMIT: Option<Limit> = Some(Limit::Packets(1000));
    const TC: Option<Dialect<Self>> = Some(Self::DIALECT);

    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, _limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(CodelQueue::new(*self))
    }
}

/// The state of CoDel for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Codel {
    /// When the wait will have been above target for an interval, or `None` while it is not above.
    first_above: Option<Time>,
    /// When the next packet is dropped, in the dropping state. Otherwise, when it would have been.
    drop_next: Time,
    /// Drops since the dropping state began.
    count: u32,
    /// About 1/sqrt(count), in units of 2^-16.
    root: u16,
    /// `count` when it began.
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// The time of the drop after one at `t`: the control law.
    fn next_drop(&self, t: Time, interval: Span) -> Time {
        let part = u128::from(interval.as_nanos()) * u128::from(self.root);
        t + Span::from_nanos((part >> 16) as u64)
    }

    /// Brings `root` nearer to 1/sqrt(count) by a step x (3 - count x^2) / 2 of Newton's method, whose intermediate
    /// results have 32 bits behind the point. If `count` has jumped far ahead, they wrap, as they do in Linux.
    fn improve(&mut self) {
        let x = u64::from(self.root) << 16;
        let square = (x * x) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        // A quarter of it, so that the product has room. The shift gives it back and takes half: 48 - 2 + 1.
        self.root = ((rest >> 2).wrapping_mul(x) >> 47) as u16;
    }

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
                self.count = self.count.wrapping_add(1);
                self.improve();
                if settings.ecn && head.packet.ecn().is_capable() {
                    head.marked = true;
                    self.drop_next = self.next_drop(self.drop_next, settings.interval);
                    break;
                }
                cx.drop(head.packet);
                (head, above) = self.take(settings, cx, &mut next)?;
                self.dropping = above;
                if above {
                    self.drop_next = self.next_drop(self.drop_next, settings.interval);
                }
            }
        } else if above {
            let left = if settings.ecn && head.packet.ecn().is_capable() {
                Some(Served { marked: true, ..head })
            } else {
                cx.drop(head.packet);
                self.take(settings, cx, &mut next).map(|(head, _)| head)
            };
            // Also if nothing of this queue is left, while packets of others wait.
            self.begin(now, settings.interval);
            head = left?;
        }
        let waited = now.since(head.arrived);
        head.marked |= settings.ce_threshold.is_some_and(|above| waited > above) && head.packet.ecn().is_capable();
        Some(head)
    }

    /// A packet was dropped or marked, as its wait was above target for an interval: the dropping state begins.
    fn begin(&mut self, now: Time, interval: Span) {
        let recent = now.since(self.drop_next) < interval.saturating_mul(MEMORY);
        let gained = self.count.wrapping_sub(self.last_count);
        if gained > 1 && recent {
            self.count = gained;
            self.improve();
        } else {
            self.count = 1;
            self.root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.next_drop(now, interval);
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

    /// True if the wait has been above target for an interval, after a packet that waited `sojourn` and left `behind`
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
        self.count = self.count.wrapping_add(dropped);
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
    use crate::Count;
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

    /// Serves a packet each millisecond from `from` up to `to`. Returns when packets were dropped, and when one was
    /// marked.
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
        // The wait is above 5 ms at 5 ms, so an interval of it is over at 105 ms. Then `100 x 1` to 205. The drop there
        // is the second, and x (3 - 2 x^2) / 2 of x = 1 is 0.5, so 255. The third: 0.5 (3 - 3/4) / 2 = 0.5625, 311.25,
        // the fourth: `0.5625 (3 - 4 x 0.31641) / 2 = 0.48779`, 360.03, the fifth: 0.44152, 404.18, the sixth: 0.40407,
        // 444.59.
        assert_eq!(serve(&mut queue, 0, 444), (vec![105, 205, 255, 312, 361, 405], vec![]));
        assert_eq!(serve(&mut queue, 444, 446).0, [445]);
    }

    #[test]
    fn the_root_comes_nearer_by_one_step_a_drop() {
        let mut codel = Codel { count: 2, root: u16::MAX, ..Codel::default() };
        // x = 0xffff0000, x^2 = 0xfffe0001, `3 - 2 x^2 = 0x1_0003fffe`, a quarter of it 0x4000ffff, times x and twice
        // 0x80017ffe and a rest: 0x8001.
        codel.improve();
        assert_eq!(codel.root, 0x8001);
        // Drops that follow each other leave it right from about the fifth on: `65536 / sqrt(100) = 6553.6`.
        for count in 3..=100 {
            codel.count = count;
            codel.improve();
        }
        assert!(codel.root.abs_diff(6553) <= 16, "{}", codel.root);
        // A queue that begins with fewer has to come nearer: with 50, `0.1 (3 - 0.5) / 2 = 0.125`, not 0.141.
        codel.count = 50;
        codel.improve();
        assert!(codel.root.abs_diff(8192) <= 32, "{}", codel.root);
    }

    #[test]
    fn the_last_packet_of_a_queue_among_others_begins_the_dropping_too() {
        // Packets of others wait: 3000 bytes of them are counted beside the one that is taken.
        let mut count = Count::default();
        (0..3).for_each(|number| count.add(&Parcel::full(number)));
        let mut random = units::Random::stream(1, "queue", 0);
        let mut dropped = Vec::new();
        let (count, random) = (&mut count, &mut random);
        let mut cx =
            Context { now: ms(205), random, count, in_service: Bytes::ZERO, dropped: &mut dropped, classes: &[] };
        let mut codel = Codel { first_above: Some(ms(105)), ..Codel::default() };
        let mut packets = vec![(Parcel::full(0), ms(0))];
        assert_eq!(codel.pop(&CodelSettings::default(), &mut cx, || packets.pop()), None);
        assert_eq!((dropped.len(), codel.count, codel.dropping), (1, 1, true));
        // 65535/65536 of 100 ms.
        assert_eq!(codel.drop_next.since(ms(205)).as_nanos(), 99_998_474);
    }

    #[test]
    fn a_wait_below_target_ends_the_dropping() {
        let mut queue = standing(CodelSettings::default(), 300, Parcel::full);
        assert_eq!(serve(&mut queue, 0, 206).0, [105, 205]);
        // 206 services and 2 drops: 92 packets of the beginning are left. New arrivals wait 3 ms at most when their
        // turn comes.
        (300..340).for_each(|number| queue.push(ms(295), Parcel::full(number)));
        // The third drop is due at 255. It comes, the fourth at 311.25 does not, since from 297 on the wait is 2 ms and
        // more, below target until 300, and an interval from there is over at 400.
        assert_eq!(serve(&mut queue, 206, 335).0, [255]);
    }

    #[test]
    fn a_queue_that_stands_again_soon_goes_on_where_it_was() {
        let mut codel = Codel { count: 6, last_count: 1, root: 26_481, drop_next: ms(500), ..Codel::default() };
        // Less than 16 intervals later: 5 more than at the last beginning. From 26,481/65,536 = 0.40407 a step towards
        // 1/sqrt(5): `0.40407 (3 - 5 x 0.16327) / 2 = 0.44117`.
        codel.begin(ms(2099), Span::from_millis(100));
        assert_eq!((codel.count, codel.last_count), (5, 5));
        assert_eq!(codel.drop_next.since(ms(2099)).as_nanos() / 10_000, 4411);
        // After 16 intervals it begins anew.
        let mut codel = Codel { count: 6, last_count: 1, drop_next: ms(500), ..Codel::default() };
        codel.begin(ms(2100), Span::from_millis(100));
        assert_eq!((codel.count, codel.drop_next.since(ms(2100)).as_nanos()), (1, 99_998_474));
        // So it does if the last time had a single drop.
        let mut codel = Codel { count: 2, last_count: 1, root: 0x8001, drop_next: ms(500), ..Codel::default() };
        codel.begin(ms(600), Span::from_millis(100));
        assert_eq!((codel.count, codel.drop_next.since(ms(600)).as_nanos()), (1, 99_998_474));
    }

    #[test]
    fn the_last_packets_of_one_mtu_are_never_dropped() {
        // One packet of 1500 bytes always waits behind the one that is served, which has waited 200 or 400 ms.
        let mut queue = standing(CodelSettings::default(), 2, Parcel::full);
        for round in 1..20 {
            assert!(queue.pop(ms(200 * round)).is_some());
            queue.push(ms(200 * round), Parcel::full(0));
        }
        assert!(queue.dropped().is_empty());
        // With two behind it the wait is above target from 4000 ms on, so an interval of it is over at 4100.
        queue.push(ms(3800), Parcel::full(0));
        assert!(queue.pop(ms(4000)).is_some());
        queue.push(ms(4000), Parcel::full(0));
        assert!(queue.pop(ms(4200)).is_some());
        assert_eq!(queue.dropped().len(), 1);
    }

    #[test]
    fn capable_packets_are_marked_in_place_of_dropped() {
        let settings = CodelSettings { ecn: true, ..CodelSettings::default() };
        let mut queue = standing(settings, 1000, |number| Parcel::full(number).capable());
        // A mark ends the round of drops at its instant, and each goes on from its scheduled time, as drops do.
        assert_eq!(serve(&mut queue, 0, 385), (vec![], vec![105, 205, 255, 312, 361]));
        let mut plain = standing(settings, 1000, Parcel::full);
        assert_eq!(serve(&mut plain, 0, 206), (vec![105, 205], vec![]));
    }

    #[test]
    fn a_late_look_makes_up_for_drops_in_one_go() {
        let mut queue = standing(CodelSettings::default(), 1000, Parcel::full);
        assert_eq!(serve(&mut queue, 0, 106).0, [105]);
        // Due since: 205, 255, 311.25, 360.03.
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
