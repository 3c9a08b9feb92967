//! A link: what arrives is lost, dropped, or waits its turn and is served.

use std::collections::VecDeque;

use units::{Bytes, Random, Time};

use crate::loss::Losses;
use crate::queue::Queue;
use crate::service::Server;
use crate::{Departure, Egress, Limit, LossModel, Packet, QueueSettings, Service};

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSettings {
    /// How fast it serves.
    pub service: Service,
    /// What may wait meanwhile.
    pub queue: QueueSettings,
    /// What it loses at random.
    pub loss: LossModel,
}

/// What became of a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<P> {
    /// It waits, or its service started.
    Taken {
        /// It was marked for congestion.
        marked: bool,
    },
    /// The impairment lost it.
    Lost(P),
    /// The queue was full, and it was the one to go.
    Dropped(P),
}

/// A link at work. Times handed to it do not decrease.
#[derive(Clone, Debug)]
pub struct Link<P> {
    losses: Losses,
    queue: Queue<P>,
    /// Dropped while they waited, and not yet handed out.
    evicted: VecDeque<P>,
    settings: QueueSettings,
    server: Server,
    /// When the last bit of the packet in service leaves.
    free_at: Time,
    /// The size of that packet.
    in_service: Bytes,
}

impl<P: Packet> Link<P> {
    /// An idle link; `random` is the stream of its losses.
    ///
    /// # Panics
    /// If the steps of a rate are not in order of time, the numbers of lost packets do not ascend, or a quantum is zero.
    pub fn new(settings: LinkSettings, random: Random) -> Self {
        Self {
            losses: Losses::new(settings.loss, random),
            queue: Queue::new(settings.queue, &settings.service),
            evicted: VecDeque::new(),
            settings: settings.queue,
            server: Server::new(settings.service),
            free_at: Time::ZERO,
            in_service: Bytes::ZERO,
        }
    }

    /// Offers a packet at `now`, after advancing to `now`: a packet that leaves at that instant frees its place first.
    ///
    /// Loss strikes first, then the queue is tested, then the packet is marked, by what it found waiting. One that finds the
    /// link idle goes straight into service, and to `out`. Other packets may have been dropped for this one: ask
    /// [`poll_evicted`](Self::poll_evicted) until there is none.
    #[inline]
    pub fn offer(&mut self, now: Time, mut packet: P, out: &mut impl Egress<P>) -> Verdict<P> {
        self.advance(now, out);
        if self.losses.strike() {
            return Verdict::Lost(packet);
        }
        let idle = self.is_free(now);
        let found = self.queue.packets();
        if !idle && self.is_full(now, packet.size()) && !self.make_room(now, &packet) {
            return Verdict::Dropped(packet);
        }
        let marked = self.settings.mark_above.is_some_and(|threshold| found >= threshold) && packet.ecn().is_capable();
        if marked {
            packet.mark_congestion();
        }
        if idle {
            self.server.resume(self.free_at, now);
            self.queue.pass(now, &packet);
            self.start(now, packet, now, out);
        } else {
            self.queue.push(now, packet);
        }
        Verdict::Taken { marked }
    }

    /// Starts every service that is due by `now`, each at its own instant, and hands the packets to `out`.
    #[inline]
    pub fn advance(&mut self, now: Time, out: &mut impl Egress<P>) {
        while self.is_free(now) {
            let Some((packet, arrived)) = self.queue.pop() else { return };
            self.start(self.free_at, packet, arrived, out);
        }
    }

    /// When the service of the next waiting packet starts. `None`: nothing waits, or nothing that waits is ever served.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        (self.queue.packets() > 0 && self.free_at != Time::NEVER).then_some(self.free_at)
    }

    /// A packet that had been taken and was dropped while it waited, to make room for another: the oldest such drop first.
    #[inline]
    pub fn poll_evicted(&mut self) -> Option<P> {
        self.evicted.pop_front()
    }

    /// Whether [`poll_evicted`](Self::poll_evicted) has something.
    #[inline]
    pub fn has_evicted(&self) -> bool {
        !self.evicted.is_empty()
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

    #[inline]
    fn is_free(&self, now: Time) -> bool {
        self.free_at <= now && self.free_at != Time::NEVER
    }

    #[inline]
    fn start(&mut self, start: Time, packet: P, arrived: Time, out: &mut impl Egress<P>) {
        self.in_service = packet.size();
        self.free_at = self.server.serve(start, self.in_service);
        let (queued_packets, queued_bytes) = (self.queue.packets(), self.queue.bytes());
        out.depart(packet, Departure { arrived, start, finish: self.free_at, queued_packets, queued_bytes });
    }

    /// Drops what the discipline drops for `packet` until there is room for it. False if it is `packet` itself that goes.
    #[inline(never)]
    fn make_room(&mut self, now: Time, packet: &P) -> bool {
        while let Some(evicted) = self.queue.evict_for(now, packet) {
            self.evicted.push_back(evicted);
            if !self.is_full(now, packet.size()) {
                return true;
            }
        }
        false
    }

    /// Whether a packet of `size` that has to wait finds no room. A packet is in service then.
    #[inline]
    fn is_full(&mut self, now: Time, size: Bytes) -> bool {
        let counted = self.settings.count_in_service;
        match self.settings.limit {
            Limit::Infinite => false,
            Limit::Packets(limit) => self.queue.packets() + u32::from(counted) >= limit,
            Limit::Bytes(limit) => {
                let in_service = if counted { self.in_service } else { Bytes::ZERO };
                self.queue.bytes() + in_service + size > limit
            }
            Limit::Delay(limit) if counted => {
                let remainder = self.free_at.since(now);
                remainder > limit || self.server.takes_longer(now, self.queue.bytes(), limit - remainder)
            }
            Limit::Delay(limit) => self.server.takes_longer(now, self.queue.bytes(), limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use units::{Ecn, Rate, Span};

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Parcel {
        number: u32,
        size: u64,
        ecn: bool,
    }

    impl Packet for Parcel {
        fn size(&self) -> Bytes {
            Bytes::new(self.size)
        }
        fn ecn(&self) -> Ecn {
            if self.ecn { Ecn::Ect0 } else { Ecn::NotCapable }
        }
        fn flow(&self) -> u32 {
            self.number / 100
        }
        fn mark_congestion(&mut self) {
            assert!(self.ecn, "only what is capable is marked");
        }
    }

    /// Packet `number`, of flow `number` / 100, of 1500 bytes: 1.2 ms at 10 Mbit/s.
    fn full(number: u32) -> Parcel {
        Parcel { number, size: 1500, ecn: false }
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn link(queue: QueueSettings) -> Link<Parcel> {
        let settings = LinkSettings { service: Service::Fixed(Rate::from_mbit(10)), queue, loss: LossModel::None };
        Link::new(settings, Random::stream(1, "loss", 0))
    }

    fn limited(limit: Limit, count_in_service: bool) -> Link<Parcel> {
        link(QueueSettings { limit, count_in_service, ..QueueSettings::default() })
    }

    /// How many of `offered` full packets the link takes at time 0.
    fn taken(mut link: Link<Parcel>, offered: u32) -> u32 {
        let mut count = 0;
        for number in 0..offered {
            match link.offer(Time::ZERO, full(number), &mut |_, _| {}) {
                Verdict::Taken { marked } => {
                    assert!(!marked && number == count, "a full queue stays full");
                    count += 1;
                }
                verdict => assert_eq!(verdict, Verdict::Dropped(full(number))),
            }
        }
        count
    }

    #[test]
    fn packets_leave_one_service_time_apart() {
        let mut link = link(QueueSettings::default());
        let mut departures = Vec::new();
        let mut out = |packet: Parcel, departure| departures.push((packet.number, departure));
        for number in 0..3 {
            link.offer(at(100), full(number), &mut out);
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
        link.offer(Time::ZERO, full(0), &mut out);
        link.offer(Time::ZERO, full(1), &mut out);
        for (size, fits) in [(1501, false), (1500, true), (1, false)] {
            let verdict = link.offer(Time::ZERO, Parcel { number: 2, size, ecn: false }, &mut out);
            assert_eq!(verdict == Verdict::Taken { marked: false }, fits, "{size}");
        }
    }

    #[test]
    fn a_limit_in_time_takes_a_packet_if_what_waits_leaves_in_time() {
        // 12 ms are 10 services: the packet that finds 10 waiting still gets in, making 11; and one is in service.
        assert_eq!(taken(limited(Limit::Delay(Span::from_millis(12)), false), 20), 12);
        assert_eq!(taken(limited(Limit::Delay(Span::from_nanos(11_999_999)), false), 20), 11);
        // With 1.2 ms of the packet in service to go, 9 may be waiting.
        assert_eq!(taken(limited(Limit::Delay(Span::from_millis(12)), true), 20), 11);
        // What remains of the service alone may be too long.
        let mut link = limited(Limit::Delay(Span::from_millis(1)), true);
        let mut out = |_, _| {};
        link.offer(Time::ZERO, full(0), &mut out);
        assert_eq!(link.offer(at(199), full(1), &mut out), Verdict::Dropped(full(1)));
        assert_eq!(link.offer(at(200), full(2), &mut out), Verdict::Taken { marked: false });
    }

    #[test]
    fn a_departure_frees_its_place_for_an_arrival_at_the_same_instant() {
        for (micros, taken) in [(1199, false), (1200, true)] {
            let mut link = limited(Limit::Packets(2), true);
            let mut out = |_, _| {};
            link.offer(Time::ZERO, full(0), &mut out);
            link.offer(Time::ZERO, full(1), &mut out);
            let verdict = link.offer(at(micros), full(2), &mut out);
            assert_eq!(verdict == Verdict::Taken { marked: false }, taken, "{micros}");
        }
    }

    #[test]
    fn capable_packets_are_marked_from_the_threshold_and_dropped_when_full() {
        let queue = QueueSettings { limit: Limit::Packets(3), mark_above: Some(2), ..QueueSettings::default() };
        let mut link = link(queue);
        let mut verdict = |number, ecn| link.offer(Time::ZERO, Parcel { number, size: 1500, ecn }, &mut |_, _| {});
        // In service; finds none waiting; finds one.
        for number in 0..3 {
            assert_eq!(verdict(number, true), Verdict::Taken { marked: false });
        }
        assert_eq!(verdict(3, true), Verdict::Taken { marked: true });
        assert_eq!(verdict(4, true), Verdict::Dropped(Parcel { number: 4, size: 1500, ecn: true }));
    }

    #[test]
    fn a_packet_that_is_not_capable_is_not_marked() {
        let mut link = link(QueueSettings { mark_above: Some(0), ..QueueSettings::default() });
        let mut verdict = |number, ecn| link.offer(Time::ZERO, Parcel { number, size: 1500, ecn }, &mut |_, _| {});
        assert_eq!(verdict(0, true), Verdict::Taken { marked: true });
        assert_eq!(verdict(1, false), Verdict::Taken { marked: false });
    }

    #[test]
    fn loss_strikes_before_the_queue_is_tested() {
        let settings = LinkSettings {
            service: Service::Fixed(Rate::from_mbit(10)),
            queue: QueueSettings { limit: Limit::Packets(1), count_in_service: true, ..QueueSettings::default() },
            loss: LossModel::Packets(vec![0, 2]),
        };
        let mut link = Link::new(settings, Random::stream(1, "loss", 0));
        let verdicts = [0, 1, 2, 3].map(|number| link.offer(Time::ZERO, full(number), &mut |_, _| {}));
        let expected = [
            Verdict::Lost(full(0)),
            Verdict::Taken { marked: false },
            Verdict::Lost(full(2)),
            Verdict::Dropped(full(3)),
        ];
        assert_eq!(verdicts, expected);
    }

    #[test]
    fn behind_a_packet_that_never_leaves_the_rest_waits_for_ever() {
        let settings = LinkSettings {
            service: Service::Steps(vec![(Time::ZERO, Rate::from_mbit(10)), (at(600), Rate::default())]),
            queue: QueueSettings::default(),
            loss: LossModel::None,
        };
        let mut link = Link::new(settings, Random::stream(1, "loss", 0));
        let mut finishes = Vec::new();
        let mut out = |_: Parcel, departure: Departure| finishes.push(departure.finish);
        link.offer(Time::ZERO, full(0), &mut out);
        link.offer(Time::ZERO, full(1), &mut out);
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
        let mut link = Link::new(settings, Random::stream(1, "loss", 0));
        let mut finishes = Vec::new();
        for number in 0..3 {
            link.offer(at(7), full(number), &mut |_: Parcel, departure: Departure| finishes.push(departure.finish));
        }
        assert_eq!(finishes, [at(7); 3]);
    }
}
