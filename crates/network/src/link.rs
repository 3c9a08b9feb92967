//! A link: what arrives is lost, dropped, or waits its turn and is served.

use std::sync::Arc;

use units::{Bytes, Random, Time};

use crate::loss::Losses;
use crate::queue::Queue;
use crate::service::Server;
use crate::{
    Admission, Departure, Discard, Discipline, Egress, FlowClass, Limit, LossModel, Packet, QueueSettings, Service,
};

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// How fast it serves.
    pub service: Service,
    /// The queue of the packets that wait meanwhile.
    pub queue: QueueSettings,
    /// Random losses.
    pub loss: LossModel,
}

/// A link at work. Times handed to it do not decrease.
#[derive(Debug)]
pub struct Link<P> {
    losses: Losses,
    queue: Queue<P>,
    settings: QueueSettings,
    /// The limits that follow, the next one last.
    later: Vec<(Time, Limit)>,
    server: Server,
    /// When the last bit of the packet in service leaves.
    free_at: Time,
    /// The size of that packet.
    in_service: Bytes,
}

impl<P: Packet> Link<P> {
    /// An idle link. `losses` is the random stream of its losses, and `queue` is the stream of its queue.
    ///
    /// # Panics
    /// If the steps of a rate are not in order of time, the numbers of lost packets do not ascend, or a quantum is
    /// zero.
    pub fn new(settings: LinkSettings, losses: Random, queue: Random) -> Self {
        Self {
            losses: Losses::new(settings.loss, losses),
            queue: Queue::new(settings.queue, &settings.service, queue),
            settings: settings.queue,
            later: Vec::new(),
            server: Server::new(settings.service),
            free_at: Time::ZERO,
            in_service: Bytes::ZERO,
        }
    }

    /// An idle link whose queue has a discipline that `settings` do not name.
    ///
    /// # Panics
    /// As [`Link::new`] does.
    pub fn with_discipline(
        settings: LinkSettings,
        discipline: Box<dyn Discipline<P>>,
        losses: Random,
        queue: Random,
    ) -> Self {
        let framing = settings.queue.line();
        Self { queue: Queue::managed(discipline, framing, queue.clone()), ..Self::new(settings, losses, queue) }
    }

    /// The same with other limits of the queue from these times on. What waits already stays.
    ///
    /// # Panics
    /// If the times are not in order.
    #[must_use]
    pub fn with_limits(mut self, limits: &[(Time, Limit)]) -> Self {
        assert!(limits.is_sorted_by_key(|step| step.0), "the steps of a limit must be in order of time");
        self.later = limits.iter().rev().copied().collect();
        self
    }

    /// The same, whose discipline may distinguish packets by these classes, which [`Packet::class`] names.
    #[must_use]
    pub fn with_classes(mut self, classes: &Arc<[FlowClass]>) -> Self {
        self.queue.set_classes(classes);
        self
    }

    /// Offers a packet at `now`, after advancing to `now`: a packet that leaves at that instant frees its place first.
    ///
    /// Loss strikes first, then the limit of the queue is tested, then its discipline takes the packet, marks it by the
    /// queue it found, or drops it. One that finds the link idle is not tested against the limit and goes straight into
    /// service. Other packets may be dropped for this one: they are reported after it.
    #[inline(never)]
    pub fn offer(&mut self, now: Time, packet: P, out: &mut impl Egress<P>) {
        self.offer_in_row(now, packet, out);
    }

    /// As [`offer`](Self::offer), for a caller that offers many in a loop.
    #[inline(always)]
    pub fn offer_in_row(&mut self, now: Time, packet: P, out: &mut impl Egress<P>) {
        self.advance(now, out);
        if self.losses.loses(now, || packet.purpose()) {
            return out.discard(packet, now, Discard::Lost, self.queue.packets());
        }
        let idle = self.is_free(now);
        if !idle && self.is_full(now, packet.size()) {
            return self.offer_to_full(now, packet, out);
        }
        self.take(now, packet, idle, self.queue.packets(), out);
    }

    /// Starts every service that is due by `now`, each at its own instant, so a report may be of the past.
    #[inline(always)]
    pub fn advance(&mut self, now: Time, out: &mut impl Egress<P>) {
        // Mostly a packet is in service: the question is worth no call.
        if self.is_free(now) {
            self.start_due(now, out);
        }
    }

    #[inline(never)]
    fn start_due(&mut self, now: Time, out: &mut impl Egress<P>) {
        while self.is_free(now) {
            let Some((packet, arrived)) = self.queue.pop(self.free_at, out) else { return };
            self.start(self.free_at, packet, arrived, out);
        }
    }

    /// When the service of the next waiting packet starts. `None`: nothing waits, or nothing that waits is ever served.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.queue.packets() > 0 && self.free_at != Time::NEVER).then_some(self.free_at)
    }

    /// Lets the processor fetch the memory that the queue touches after `others` more packets.
    #[inline]
    pub fn prefetch(&self, others: usize) {
        self.queue.prefetch(others);
    }

    /// The bytes that may leave at `now` in addition to the rate: the tokens of a bucket.
    pub fn stock(&self, now: Time) -> Bytes {
        self.server.stock(now)
    }

    /// Packets waiting, without the one in service.
    #[inline]
    pub fn queued_packets(&self) -> u32 {
        self.queue.packets()
    }

    /// Bytes waiting, without the packet in service.
    #[inline]
    pub fn queued_bytes(&self) -> Bytes {
        self.queue.bytes()
    }

    /// True if packets may be dropped when their turn comes, so that reports of it come late if the link is looked at
    /// late.
    #[inline]
    pub fn drops_at_head(&self) -> bool {
        self.queue.is_managed()
    }

    #[inline]
    fn is_free(&self, now: Time) -> bool {
        self.free_at <= now && self.free_at != Time::NEVER
    }

    #[inline]
    fn start(&mut self, start: Time, packet: P, arrived: Time, out: &mut impl Egress<P>) {
        self.in_service = packet.size();
        self.free_at = self.server.serve(start, self.queue.on_link(self.in_service));
        let (queued_packets, queued_bytes) = (self.queue.packets(), self.queue.bytes());
        out.depart(packet, Departure { arrived, start, finish: self.free_at, queued_packets, queued_bytes });
    }

    /// There is room for `packet`, which found `found` packets waiting.
    #[inline(always)]
    fn take(&mut self, now: Time, mut packet: P, idle: bool, found: u32, out: &mut impl Egress<P>) {
        let above = self.settings.mark_above.is_some_and(|threshold| found >= threshold) && packet.ecn().is_capable();
        let in_service = if idle { Bytes::ZERO } else { self.counted() };
        let marked = match self.queue.admit(now, &packet, in_service) {
            Admission::Take => above,
            Admission::Mark => true,
            Admission::Drop => return out.discard(packet, now, Discard::Early, self.queue.packets()),
        };
        let queued = if idle { 0 } else { self.queue.packets() + 1 };
        out.take(&packet, now, marked, queued);
        if marked {
            packet.mark_congestion();
            out.mark(&packet, now, queued);
        }
        if idle {
            self.server.resume(self.free_at, now);
            self.queue.pass(now, &packet);
            self.start(now, packet, now, out);
        } else {
            self.queue.push(now, packet, out);
        }
    }

    /// Lets the discipline drop packets for `packet` until there is room for it, or else `packet`.
    #[inline(never)]
    fn offer_to_full(&mut self, now: Time, packet: P, out: &mut impl Egress<P>) {
        let found = self.queue.packets();
        let mut full = true;
        while full && self.queue.make_room(now, &packet, self.counted()) {
            full = self.is_full(now, packet.size());
        }
        if full {
            out.discard(packet, now, Discard::Full, self.queue.packets());
        } else {
            self.take(now, packet, false, found, out);
        }
        self.queue.report_evicted(now, out);
    }

    /// The bytes that take room beside the waiting ones, while a packet is in service.
    #[inline]
    fn counted(&self) -> Bytes {
        if self.settings.count_in_service { self.in_service } else { Bytes::ZERO }
    }

    /// True if a packet of `size` that has to wait finds no room. A packet is in service then.
    #[inline]
    fn is_full(&mut self, now: Time, size: Bytes) -> bool {
        while let Some((_, limit)) = self.later.pop_if(|step| step.0 <= now) {
            self.settings.limit = limit;
        }
        let counted = self.settings.count_in_service;
        match self.settings.limit {
            Limit::Infinite => false,
            Limit::Packets(limit) => self.queue.packets() + u32::from(counted) >= limit,
            Limit::Bytes(limit) => self.queue.bytes() + self.counted() + size > limit,
            Limit::Delay(limit) if counted => {
                let remainder = self.free_at.since(now);
                remainder > limit || self.server.takes_longer(now, self.queue.bytes_on_link(), limit - remainder)
            }
            Limit::Delay(limit) => self.server.takes_longer(now, self.queue.bytes_on_link(), limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use units::{Rate, Span};

    use super::*;
    use crate::testing::{Observed, Parcel, at};
    use crate::{DisciplineSettings, FqSettings, Framing, LinkLayer};

    fn link(queue: QueueSettings) -> Link<Parcel> {
        let settings = LinkSettings { service: Service::Fixed(Rate::from_mbit(10)), queue, loss: LossModel::None };
        new(settings)
    }

    fn new(settings: LinkSettings) -> Link<Parcel> {
        Link::new(settings, Random::stream(1, "loss", 0), Random::stream(1, "queue", 0))
    }

    fn limited(limit: Limit, count_in_service: bool) -> Link<Parcel> {
        link(QueueSettings { limit, count_in_service, ..QueueSettings::default() })
    }

    /// How many of `offered` full packets the link takes at time 0. The rest finds the queue full.
    fn taken(mut link: Link<Parcel>, offered: u32) -> usize {
        let mut out = Observed::default();
        (0..offered).for_each(|number| link.offer(Time::ZERO, Parcel::full(number), &mut out));
        let taken = out.taken.len();
        assert!(out.taken.iter().copied().eq(0..taken as u32), "a full queue stays full");
        let dropped = (taken as u32..offered).map(|number| (number, Time::ZERO, Discard::Full, link.queued_packets()));
        assert!(out.discarded.into_iter().eq(dropped));
        taken
    }

    /// True if `link` takes `packet` at `now`, unmarked.
    fn takes(link: &mut Link<Parcel>, now: Time, packet: Parcel) -> bool {
        let mut out = Observed::default();
        link.offer(now, packet, &mut out);
        assert!(out.marked.is_empty() && out.taken.len() + out.discarded.len() == 1);
        !out.taken.is_empty()
    }

    #[test]
    fn a_packet_takes_whole_cells_of_the_link_and_its_share_of_a_limit_in_time() {
        // 1500 bytes with 32 of headers are 32 cells: 1696 bytes, 1356.8 us at 10 Mbit/s.
        let framing = Framing { overhead: 32, link_layer: LinkLayer::Atm, ..Framing::default() };
        for discipline in [DisciplineSettings::Fifo, DisciplineSettings::FairQueueing(FqSettings {})] {
            let limit = Limit::Delay(Span::from_micros(4 * 1356));
            let mut link = link(QueueSettings { limit, discipline, framing, ..QueueSettings::default() });
            let mut out = Observed::default();
            (0..9).for_each(|number| link.offer(Time::ZERO, Parcel::full(number), &mut out));
            // One in service. With three waiting there is room, as they take 4070.4 us, and with four there is none.
            // By bytes of packets alone five would wait.
            assert_eq!(out.taken, [0, 1, 2, 3, 4]);
            link.advance(at(1_000_000), &mut out);
            let finish: Vec<Time> = out.departed.iter().map(|(_, departure)| departure.finish).collect();
            let expected = [1, 2, 3, 4, 5].map(|n| Time::ZERO + Span::from_nanos(1_356_800 * n));
            assert_eq!(finish, expected);
        }
    }

    #[test]
    fn a_limit_holds_from_its_time_on_and_what_waits_stays() {
        let mut link = limited(Limit::Packets(3), false)
            .with_limits(&[(at(100), Limit::Packets(1)), (at(3000), Limit::Bytes(Bytes::new(3000)))]);
        assert!((0..4).all(|number| takes(&mut link, at(0), Parcel::full(number))));
        assert!(!takes(&mut link, at(99), Parcel::full(4)));
        // At 1.2 and 2.4 ms two of the three that wait leave. One waits at 2.5 ms, and that is the limit.
        assert!(!takes(&mut link, at(1300), Parcel::full(5)) && !takes(&mut link, at(2500), Parcel::full(6)));
        assert!(takes(&mut link, at(3000), Parcel::full(7)));
    }

    #[test]
    fn packets_leave_one_service_time_apart() {
        let mut link = link(QueueSettings::default());
        let mut departures = Vec::new();
        let mut out = |packet: Parcel, departure| departures.push((packet.number, departure));
        for number in 0..3 {
            link.offer(at(100), Parcel::full(number), &mut out);
        }
        assert_eq!((link.queued_packets(), link.queued_bytes()), (2, Bytes::new(3000)));
        assert_eq!(link.poll_timeout(), Some(at(1300)));
        link.advance(at(1299), &mut out);
        assert_eq!(link.queued_packets(), 2);
        // Long after the fact, each service still starts at its own instant.
        link.advance(at(9000), &mut out);
        assert_eq!(link.poll_timeout(), None);
        let departure = |start, finish, queued_packets, queued_bytes| Departure {
            arrived: at(100),
            start: at(start),
            finish: at(finish),
            queued_packets,
            queued_bytes: Bytes::new(queued_bytes),
        };
        let expected =
            [(0, departure(100, 1300, 0, 0)), (1, departure(1300, 2500, 1, 1500)), (2, departure(2500, 3700, 0, 0))];
        assert_eq!(departures, expected);
    }

    #[test]
    fn a_limit_of_84_packets_counts_the_one_in_service_or_not() {
        assert_eq!(taken(limited(Limit::Packets(84), true), 100), 84);
        assert_eq!(taken(limited(Limit::Packets(84), false), 100), 85);
        assert_eq!(taken(limited(Limit::Infinite, true), 100), 100);
    }

    #[test]
    fn a_packet_that_finds_the_link_idle_is_never_dropped() {
        for limit in [Limit::Packets(0), Limit::Bytes(Bytes::ZERO)] {
            for counted in [true, false] {
                assert_eq!(taken(limited(limit, counted), 3), 1);
            }
        }
    }

    #[test]
    fn a_limit_in_bytes_is_filled_to_the_byte() {
        assert_eq!(taken(limited(Limit::Bytes(Bytes::new(4500)), false), 10), 4);
        assert_eq!(taken(limited(Limit::Bytes(Bytes::new(4499)), false), 10), 3);
        assert_eq!(taken(limited(Limit::Bytes(Bytes::new(4500)), true), 10), 3);
        let mut link = limited(Limit::Bytes(Bytes::new(4500)), true);
        let mut out = |_, _| {};
        link.offer(Time::ZERO, Parcel::full(0), &mut out);
        link.offer(Time::ZERO, Parcel::full(1), &mut out);
        for (size, fits) in [(1501, false), (1500, true), (1, false)] {
            assert_eq!(takes(&mut link, Time::ZERO, Parcel::of(0, size)), fits, "{size}");
        }
    }

    #[test]
    fn a_limit_in_time_takes_a_packet_if_what_waits_leaves_in_time() {
        // 12 ms are 10 services: the packet that finds 10 waiting still gets in, making 11, and one is in service.
        assert_eq!(taken(limited(Limit::Delay(Span::from_millis(12)), false), 20), 12);
        assert_eq!(taken(limited(Limit::Delay(Span::from_nanos(11_999_999)), false), 20), 11);
        // With 1.2 ms of the packet in service to go, 9 may be waiting.
        assert_eq!(taken(limited(Limit::Delay(Span::from_millis(12)), true), 20), 11);
        // The remaining service alone may be too long.
        let mut link = limited(Limit::Delay(Span::from_millis(1)), true);
        let mut out = |_, _| {};
        link.offer(Time::ZERO, Parcel::full(0), &mut out);
        assert!(!takes(&mut link, at(199), Parcel::full(1)));
        assert!(takes(&mut link, at(200), Parcel::full(2)));
    }

    #[test]
    fn a_departure_frees_its_place_for_an_arrival_at_the_same_instant() {
        for (micros, taken) in [(1199, false), (1200, true)] {
            let mut link = limited(Limit::Packets(2), true);
            let mut out = |_, _| {};
            link.offer(Time::ZERO, Parcel::full(0), &mut out);
            link.offer(Time::ZERO, Parcel::full(1), &mut out);
            assert_eq!(takes(&mut link, at(micros), Parcel::full(2)), taken, "{micros}");
        }
    }

    #[test]
    fn capable_packets_are_marked_from_the_threshold_and_dropped_when_full() {
        let queue = QueueSettings { limit: Limit::Packets(3), mark_above: Some(2), ..QueueSettings::default() };
        let mut link = link(queue);
        let mut out = Observed::default();
        (0..5).for_each(|number| link.offer(Time::ZERO, Parcel::full(number).capable(), &mut out));
        // The first is in service. The second finds none waiting, and the third finds one. The fourth finds two and is
        // the third. The fifth finds three.
        assert_eq!(out.taken, [0, 1, 2, 3]);
        assert_eq!(out.marked, [(3, Time::ZERO, 3)]);
        assert_eq!(out.discarded, [(4, Time::ZERO, Discard::Full, 3)]);
    }

    #[test]
    fn a_packet_that_is_not_capable_is_not_marked() {
        let mut link = link(QueueSettings { mark_above: Some(0), ..QueueSettings::default() });
        let mut out = Observed::default();
        link.offer(Time::ZERO, Parcel::full(0).capable(), &mut out);
        link.offer(Time::ZERO, Parcel::full(1), &mut out);
        assert_eq!((out.taken, out.marked), (vec![0, 1], vec![(0, Time::ZERO, 0)]));
    }

    #[test]
    fn loss_strikes_before_the_queue_is_tested() {
        let settings = LinkSettings {
            service: Service::Fixed(Rate::from_mbit(10)),
            queue: QueueSettings { limit: Limit::Packets(1), count_in_service: true, ..QueueSettings::default() },
            loss: LossModel::Packets { data: vec![0, 2], openings: Vec::new() },
        };
        let mut link = new(settings);
        let mut out = Observed::default();
        (0..4).for_each(|number| link.offer(Time::ZERO, Parcel::full(number), &mut out));
        assert_eq!(out.taken, [1]);
        let fates = [(0, Discard::Lost), (2, Discard::Lost), (3, Discard::Full)];
        assert_eq!(out.discarded, fates.map(|(number, why)| (number, Time::ZERO, why, 0)));
    }

    #[test]
    fn behind_a_packet_that_never_leaves_the_rest_waits_for_ever() {
        let settings = LinkSettings {
            service: Service::Steps(vec![(Time::ZERO, Rate::from_mbit(10)), (at(600), Rate::default())]),
            queue: QueueSettings::default(),
            loss: LossModel::None,
        };
        let mut link = new(settings);
        let mut finishes = Vec::new();
        let mut out = |_: Parcel, departure: Departure| finishes.push(departure.finish);
        link.offer(Time::ZERO, Parcel::full(0), &mut out);
        link.offer(Time::ZERO, Parcel::full(1), &mut out);
        assert_eq!(link.poll_timeout(), None);
        link.advance(Time::NEVER, &mut out);
        assert_eq!(link.queued_packets(), 1);
        assert_eq!(finishes, [Time::NEVER]);
    }

    #[test]
    fn nothing_waits_for_an_unlimited_link() {
        let settings = LinkSettings {
            service: Service::Unlimited,
            queue: QueueSettings { limit: Limit::Packets(0), ..QueueSettings::default() },
            loss: LossModel::None,
        };
        let mut link = new(settings);
        let mut finishes = Vec::new();
        for number in 0..3 {
            link.offer(at(7), Parcel::full(number), &mut |_: Parcel, departure: Departure| {
                finishes.push(departure.finish);
            });
        }
        assert_eq!(finishes, [at(7); 3]);
    }

    #[test]
    fn only_a_discipline_drops_at_the_head() {
        let of = |discipline| {
            let queue = QueueSettings { discipline, ..QueueSettings::default() };
            new(LinkSettings { service: Service::Unlimited, queue, loss: LossModel::None }).drops_at_head()
        };
        let codel = crate::DisciplineSettings::Codel(crate::CodelSettings::default());
        assert!(of(codel) && !of(crate::DisciplineSettings::Fifo));
    }
}
