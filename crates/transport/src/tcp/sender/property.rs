//! A sender and a receiver joined by a channel that loses, delays, reorders, duplicates and marks: whatever the
//! options, everything arrives once and in order, the scoreboard agrees with itself, and the sender keeps to its
//! window.

pub(super) mod talk;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};

use control::newreno::NewReno;
use control::{Context, Controller, Counting, Reports, SegmentReport, Transmission, Wants};
use proptest::prelude::*;
use units::{Bytes, Random, Rate, Span, Time};

use crate::{
    Acknowledgement, Acks, Application, Clock, Data, Delay, Detection, Event, Growth, IdleRestart, Losses, Marks,
    Opened, Receiver, Reduction, Repair, Resends, Retransmits, Rule, Selective, Sender, Stack, Timers, linux,
};

const SEGMENT: u64 = 1000;

/// Random treatment of packets by the channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    pub(super) loss: f64,
    pub(super) duplication: f64,
    pub(super) marking: f64,
    /// The share of packets that take longer, by up to `detour`.
    pub(super) reordering: f64,
    pub(super) detour: Span,
    pub(super) delay: Span,
    pub(super) ack_loss: f64,
}

/// Reports to the controller.
#[derive(Debug, Default)]
struct Notified {
    sent: u64,
    delivered: u64,
    lost: u64,
}

/// NewReno that may pace, and counts segments.
struct Paced(NewReno, Option<Rate>, Arc<Mutex<Notified>>);

impl Controller for Paced {
    fn wants(&self) -> Wants {
        Wants { sent: true, segments: Reports::All, ..Wants::default() }
    }
    fn on_sent(&mut self, _cx: &mut Context<'_>, _sent: &Transmission) {
        self.2.lock().unwrap().sent += 1;
    }
    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        assert_eq!(segment.rtt.is_none(), segment.retransmitted);
        self.2.lock().unwrap().delivered += 1;
    }
    fn on_segment_lost(&mut self, _cx: &mut Context<'_>, _segment: &SegmentReport) {
        self.2.lock().unwrap().lost += 1;
    }
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.0.on_start(cx);
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &control::Ack) {
        self.0.on_ack(cx, ack);
    }
    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &control::Loss) {
        assert!(!loss.again);
        self.0.on_loss(cx, loss);
    }
    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &control::Loss) {
        self.0.on_timeout(cx, loss);
    }
    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.0.on_spurious(cx);
    }
    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.0.on_idle_restart(cx);
    }
    fn window(&self) -> f64 {
        self.0.window()
    }
    fn slow_start_threshold(&self) -> f64 {
        self.0.slow_start_threshold()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.1
    }
}

#[derive(Debug)]
pub(super) enum Packet {
    /// And whether it is marked.
    Data(Data, bool),
    Ack(Acknowledgement),
}

/// Both endpoints, and the packets in flight between them.
pub(super) struct World {
    pub(super) now: Time,
    pub(super) sender: Sender,
    receiver: Receiver,
    stack: Stack,
    channel: Channel,
    random: Random,
    /// Times of arrival, with the index into `packets`.
    arrivals: BinaryHeap<Reverse<(Time, usize)>>,
    /// All that the channel has not lost, in the order in which they left.
    pub(super) packets: Vec<Packet>,
    pub(super) events: Vec<Event>,
    talk: Option<talk::Talk>,
}

impl World {
    pub(super) fn new(
        stack: Stack,
        channel: Channel,
        application: Application,
        controller: Box<dyn Controller>,
        seed: u64,
    ) -> Self {
        Self {
            now: Time::ZERO,
            sender: Sender::new(stack.clone(), controller, application, Random::stream(seed, "flow", 0)),
            receiver: Receiver::new(&stack, channel.delay * 2),
            stack,
            channel,
            random: Random::stream(seed, "channel", 0),
            arrivals: BinaryHeap::new(),
            packets: Vec::new(),
            events: Vec::new(),
            talk: None,
        }
    }

    fn convey(&mut self, packet: Packet, loss: f64) {
        if self.random.happens(loss) {
            return;
        }
        let mut at = self.now + self.channel.delay;
        if self.random.happens(self.channel.reordering) {
            at += self.channel.detour.scale(self.random.uniform());
        }
        self.arrivals.push(Reverse((at, self.packets.len())));
        if self.random.happens(self.channel.duplication) {
            let later = at + self.channel.detour.scale(self.random.uniform());
            self.arrivals.push(Reverse((later, self.packets.len())));
        }
        self.packets.push(packet);
    }

    /// Lets the sender send, and checks its state.
    fn send(&mut self) {
        let mut left = 0;
        loop {
            let next = self.sender.flight.next();
            let probing = self.sender.repair.is_probing();
            let before = self.sender.in_flight();
            // After a timeout it is added to the segments still in flight.
            let window = (self.sender.controller().window() as u32).max(1) + self.sender.repair.in_flight_at_timeout();
            let recovering = self.sender.repair.is_limited();
            let Some(data) = self.sender.poll_transmit(self.now, &mut self.events) else { break };
            left += 1;
            assert!(left < 100_000, "the sender does not stop");
            assert_eq!(data.retransmission, data.sequence < next);
            assert!(probing || recovering || before < window, "{before} in flight fill a window of {window}");
            assert!(data.retransmission || self.sender.flight.outstanding() <= self.stack.receive_window);
            self.check();
            let marked =
                self.stack.marks != Marks::Off && !data.retransmission && self.random.happens(self.channel.marking);
            self.convey(Packet::Data(data, marked), self.channel.loss);
        }
        let due = self.sender.poll_timeout();
        assert!(due.is_none_or(|due| due >= self.now), "a timer of the past at {}", self.now);
        let later = due.map_or(Time::NEVER, |due| due + Span::from_nanos(1));
        for at in [self.now, due.unwrap_or(Time::NEVER), later, later + self.channel.detour] {
            assert_eq!(self.sender.poll_timeout_before(at), due.filter(|&due| due < at), "before {at} of {due:?}");
        }
        assert!(self.sender.flight.outstanding() == 0 || due.is_some(), "segments are outstanding and no timer runs");
    }

    fn check(&self) {
        // Rule 3 of NextSeg retransmits segments that are not lost. In Linux an undo leaves such retransmissions.
        let unlost = self.stack.losses.retransmits() == Retransmits::NextSeg || self.stack.losses.undoes_first();
        self.sender.flight.board().check(self.stack.sack(), unlost);
        assert!(self.sender.acknowledged() <= self.receiver.delivered_segments());
    }

    /// The connection opens after a handshake of a round trip.
    fn open(&mut self) {
        let sent = self.now;
        self.now += self.channel.delay * 2;
        self.sender.open(self.now, Opened::at_once(sent));
    }

    fn acknowledge(&mut self) {
        if let Some(ack) = self.receiver.poll_transmit(self.now) {
            self.convey(Packet::Ack(ack), self.channel.ack_loss);
        }
        assert!(self.receiver.poll_timeout().is_none_or(|due| due >= self.now));
    }

    /// Runs until so much is acknowledged. An hour is more than any of it may take.
    pub(super) fn run(&mut self, segments: u64) {
        self.open();
        self.send();
        let mut expired = 0;
        while self.sender.acknowledged() < segments {
            let arrival = self.arrivals.peek().map_or(Time::NEVER, |a| a.0.0);
            let sender = self.sender.poll_timeout().unwrap_or(Time::NEVER);
            let receiver = self.receiver.poll_timeout().unwrap_or(Time::NEVER);
            let next = arrival.min(sender).min(receiver);
            if next == Time::NEVER && self.wakes() {
                self.acknowledge();
                self.send();
                continue;
            }
            assert!(
                next <= Time::ZERO + Span::from_secs(3600),
                "no progress at {} of {segments}",
                self.sender.acknowledged()
            );
            expired = if next > self.now || next == arrival { 0 } else { expired + 1 };
            assert!(expired < 10, "timers expire without end at {next}");
            self.now = next;
            if next == arrival {
                self.arrive();
            } else if next == sender {
                self.sender.on_timeout(self.now, &mut self.events);
                self.check();
                self.send();
            } else {
                self.receiver.on_timeout(self.now);
                self.acknowledge();
            }
        }
    }

    /// All `segments` have arrived, and nothing is left to do.
    fn ends(&mut self, segments: u64, notified: &Notified) {
        assert_eq!(self.receiver.delivered(), Bytes::new(segments * SEGMENT - 1));
        assert_eq!(self.receiver.delivered_segments(), segments);
        assert!(self.sender.poll_transmit(self.now, &mut self.events).is_none());
        assert_eq!(self.sender.poll_timeout(), None, "nothing is left to do");
        assert_eq!(self.sender.in_flight(), 0);
        let counters = self.sender.counters();
        assert_eq!((notified.sent, notified.delivered), (counters.data_packets, segments));
        // A loss that only a tail loss probe repaired has no report.
        let unreported = counters.lost_packets - notified.lost;
        assert!(unreported == 0 || self.stack.losses.probes_tail(), "{unreported} lost segments without a report");
    }

    fn arrive(&mut self) {
        let Some(Reverse((_, index))) = self.arrivals.pop() else { return };
        match &self.packets[index] {
            Packet::Data(data, marked) => {
                let before = self.receiver.delivered_segments();
                self.receiver.on_data(self.now, data, *marked);
                assert!(self.receiver.delivered_segments() >= before);
                self.talk();
                self.acknowledge();
            }
            Packet::Ack(ack) => {
                let ack = *ack;
                self.sender.on_acknowledgement(self.now, &ack, &mut self.events);
                self.talk();
                self.check();
                self.send();
                self.acknowledge();
            }
        }
    }
}

/// NewReno, which sends so many segments, the last of them short, and the reports to it.
fn reno(
    stack: Stack,
    channel: Channel,
    segments: u64,
    pacing: Option<Rate>,
    seed: u64,
) -> (World, Arc<Mutex<Notified>>) {
    let application = Application::Finite(Bytes::new(segments * SEGMENT - 1));
    let notified = Arc::new(Mutex::new(Notified::default()));
    let controller = Box::new(Paced(NewReno::default(), pacing, notified.clone()));
    (World::new(stack, channel, application, controller, seed), notified)
}

prop_compose! {
    fn detection()(
        [sack, fast, reordering_adapts, tail_loss_probe] in prop::array::uniform4(any::<bool>()),
        rule in 0usize..3,
        retransmits in prop_oneof![
            Just(Retransmits::Lost), Just(Retransmits::NextSeg), Just(Retransmits::Holes)
        ],
        compression in 0u64..3,
    ) -> Detection {
        let repair = if fast { Repair::Fast } else { Repair::GoBackN };
        if !sack {
            return Detection::Duplicates(repair);
        }
        let resends = if fast { Resends::Fast(retransmits) } else { Resends::GoBackN };
        let rule = [Rule::Count(resends), Rule::Forward(resends), Rule::Rack(repair)][rule];
        let compression = Span::from_millis(compression);
        Detection::Selective(Selective { rule, reordering_adapts, tail_loss_probe, compression })
    }
}

prop_compose! {
    pub(super) fn stack()(
        [timestamps, limited_transmit, undo, restarts] in prop::array::uniform4(any::<bool>()),
        (detection, threshold) in (detection(), 1u32..6),
        counting in prop_oneof![
            Just(Counting::PerAck), (1u32..4).prop_map(|limit| Counting::Bytes { limit }), Just(Counting::Segments)
        ],
        reduction in prop_oneof![
            Just(Reduction::Pipe), Just(Reduction::ProportionalRate), Just(Reduction::ProportionalRateSsrb)
        ],
        marks in prop_oneof![
            Just(Marks::Off), Just(Marks::Echoed { kept: 0.0 }), Just(Marks::Counted { kept: 0.0 })
        ],
        (every, quick) in (1u32..4, 0u32..8),
        (receive_window, initial_window) in (prop_oneof![2u32..20, Just(1000)], 1u32..20),
        clock_tick in prop_oneof![Just(Span::ZERO), Just(Span::from_millis(1)), Just(Span::from_millis(500))],
        tick in prop_oneof![Just(Span::ZERO), Just(Span::from_millis(4)), Just(Span::from_millis(500))],
        least in prop_oneof![Just(linux().timers.rto_variance_min), Just(Span::from_nanos(1_000_500))],
    ) -> Stack {
        let Stack { clock, growth, timers, acks, .. } = linux();
        let (wait, most) = (Span::from_millis(40), Span::from_millis(200));
        let delay = if every == 1 { Delay::None } else { Delay::Adaptive { every, wait, most } };
        Stack {
            segment_size: Bytes::new(SEGMENT), timestamps, limited_transmit, undo, reduction, marks, receive_window,
            initial_window,
            losses: Losses { threshold, detection, ..linux().losses },
            clock: Clock { tick: clock_tick, ..clock },
            growth: Growth { counting, ..growth },
            idle_restart: restarts.then_some(IdleRestart::Linux),
            timers: Timers { tick, rto_min: least, rto_variance_min: least, rto_max: Span::from_secs(4), ..timers },
            acks: Acks { delay, quick, ..acks },
            ..linux()
        }
    }
}

prop_compose! {
    pub(super) fn channel()(
        loss in prop_oneof![Just(0.0), 0.0..0.4],
        ack_loss in prop_oneof![Just(0.0), 0.0..0.3],
        duplication in prop_oneof![Just(0.0), 0.0..0.2],
        marking in prop_oneof![Just(0.0), 0.0..0.5],
        reordering in prop_oneof![Just(0.0), 0.0..0.5],
        detour in 1u64..400,
        delay in 0u64..300,
    ) -> Channel {
        let (detour, delay) = (Span::from_millis(detour), Span::from_millis(delay));
        Channel { loss, duplication, marking, reordering, detour, delay, ack_loss }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    #[test]
    fn everything_arrives_once_in_order_and_in_time(
        stack in stack(),
        channel in channel(),
        segments in 1u64..200,
        pacing in prop_oneof![
            Just(None), (10_000u64..10_000_000).prop_map(|rate| Some(Rate::from_bits_per_second(rate)))
        ],
        seed in any::<u64>(),
    ) {
        let (mut world, notified) = reno(stack, channel, segments, pacing, seed);
        world.run(segments);
        world.ends(segments, &notified.lock().unwrap());
    }
}

/// Work that the scoreboard does per segment when every second one of a window is lost.
fn work_per_segment(window: u32, rack: bool) -> f64 {
    let rule = if rack { Rule::Rack(Repair::Fast) } else { Rule::Count(Resends::Fast(Retransmits::Lost)) };
    let Some(&selective) = linux().selective() else { unreachable!() };
    let stack = Stack {
        losses: Losses { detection: Detection::Selective(Selective { rule, ..selective }), ..linux().losses },
        initial_window: window,
        segment_size: Bytes::new(SEGMENT),
        acks: Acks { delay: Delay::None, ..linux().acks },
        receive_window: window,
        ..linux()
    };
    let segments = u64::from(window);
    let channel = Channel {
        loss: 0.0,
        duplication: 0.0,
        marking: 0.0,
        reordering: 0.0,
        detour: Span::ZERO,
        delay: Span::from_millis(20),
        ack_loss: 0.0,
    };
    let (mut world, _) = reno(stack, channel, segments, None, 1);
    world.open();
    let mut transmissions = vec![0u32; window as usize];
    let mut flying: std::collections::VecDeque<(Time, Data)> = std::collections::VecDeque::new();
    while world.sender.acknowledged() < segments {
        while let Some(data) = world.sender.poll_transmit(world.now, &mut world.events) {
            let nth = &mut transmissions[data.sequence as usize];
            *nth += 1;
            // Every second is lost, and of their retransmissions every fourth.
            let lost = (*nth == 1 && data.sequence % 2 == 0) || (*nth == 2 && data.sequence % 8 == 0);
            if !lost {
                flying.push_back((world.now + Span::from_millis(40), data));
            }
        }
        let due = world.sender.poll_timeout().unwrap_or(Time::NEVER);
        match flying.front().copied().filter(|&(at, _)| at <= due) {
            Some((at, data)) => {
                flying.pop_front();
                // One microsecond between arrivals: 1 Gbit/s.
                world.now = at.max(world.now + Span::from_micros(1));
                world.receiver.on_data(world.now, &data, false);
                if let Some(ack) = world.receiver.poll_transmit(world.now) {
                    world.sender.on_acknowledgement(world.now, &ack, &mut world.events);
                }
            }
            None => {
                world.now = due.max(world.now);
                world.sender.on_timeout(world.now, &mut world.events);
            }
        }
    }
    world.sender.flight.board().work() as f64 / segments as f64
}

#[test]
fn the_work_of_the_scoreboard_grows_linearly_with_the_window() {
    for rack in [false, true] {
        let (small, large) = (work_per_segment(1_000, rack), work_per_segment(10_000, rack));
        assert!(large < 1.5 * small && large < 40.0, "rack {rack}: {small} a segment of 1,000, {large} of 10,000");
    }
}
