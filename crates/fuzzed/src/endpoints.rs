//! A sender and a receiver of any profile and controller over a channel that the input drives: it decides about each
//! packet whether it arrives, is lost, delayed, copied or marked. Behind the input the channel is perfect, and all data
//! must arrive, once and in order, before a timer of 120 s a segment would have repaired it. New segments that the
//! controller paces may take longer: behind an hour of losses an estimate of the bandwidth is next to nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use control::Parameters;
use control::registry::{CONTROLLERS, build};
use transport::{Acknowledgement, Application, Data, Opened, PROFILES, Receiver, Sender};
use units::{Bytes, Random, Span, Time};

const LONGEST_TIMER: Span = Span::from_secs(121);

enum Packet {
    Data(Data),
    Ack(Acknowledgement),
}

struct World<'a> {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    delay: Span,
    /// What happens to the next packets.
    fates: std::slice::Iter<'a, u8>,
    arrivals: BinaryHeap<Reverse<(Time, usize)>>,
    packets: Vec<Packet>,
}

impl World<'_> {
    fn convey(&mut self, packet: Packet) {
        self.arrivals.push(Reverse((self.now + self.delay, self.packets.len())));
        self.packets.push(packet);
    }

    fn send(&mut self) {
        let mut left = 0;
        while let Some(data) = self.sender.poll_transmit(self.now, &mut Vec::new()) {
            left += 1;
            assert!(left < 100_000, "the sender does not stop");
            self.convey(Packet::Data(data));
        }
        let due = self.sender.poll_timeout();
        assert!(due.is_none_or(|due| due >= self.now), "a timer of the past at {}", self.now);
        assert!(self.sender.acknowledged() <= self.receiver.delivered_segments());
    }

    fn acknowledge(&mut self) {
        if let Some(ack) = self.receiver.poll_transmit(self.now) {
            self.convey(Packet::Ack(ack));
        }
        assert!(self.receiver.poll_timeout().is_none_or(|due| due >= self.now));
    }

    fn arrive(&mut self) {
        let Some(Reverse((_, index))) = self.arrivals.pop() else { return };
        let fate = self.fates.next().copied().unwrap_or(0);
        let later = Reverse((self.now + Span::from_millis(1 + 8 * u64::from(fate >> 3)), index));
        match fate % 8 {
            4 => return,
            5 => self.arrivals.push(later),
            6 => return self.arrivals.push(later),
            _ => {}
        }
        match &self.packets[index] {
            Packet::Data(data) => {
                let before = self.receiver.delivered_segments();
                let data = *data;
                self.receiver.on_data(self.now, &data, fate % 8 == 7);
                assert!(self.receiver.delivered_segments() >= before);
                self.acknowledge();
            }
            Packet::Ack(ack) => {
                let ack = *ack;
                self.sender.on_acknowledgement(self.now, &ack, &mut Vec::new());
                self.send();
            }
        }
    }

    fn run(&mut self, segments: u64) {
        let sent = self.now;
        self.now += self.delay * 2;
        self.sender.open(self.now, Opened::at_once(sent));
        self.send();
        let mut perfect_since = None;
        while self.sender.acknowledged() < segments {
            let arrival = self.arrivals.peek().map_or(Time::NEVER, |first| first.0.0);
            let sender = self.sender.poll_timeout().unwrap_or(Time::NEVER);
            let receiver = self.receiver.poll_timeout().unwrap_or(Time::NEVER);
            let next = arrival.min(sender).min(receiver);
            assert!(next != Time::NEVER, "nothing is to happen at {} of {segments}", self.sender.acknowledged());
            if self.fates.as_slice().is_empty() {
                let since: &mut Time = perfect_since.get_or_insert(self.now);
                if self.sender.state().outstanding == 0 && self.sender.controller().pacing_rate().is_some() {
                    *since += next.since(self.now);
                }
                let most = *since + LONGEST_TIMER * (segments + 2);
                assert!(next <= most, "no progress at {} of {segments}", self.sender.acknowledged());
            }
            self.now = next;
            if next == arrival {
                self.arrive();
            } else if next == sender {
                self.sender.on_timeout(self.now, &mut Vec::new());
                self.send();
            } else {
                self.receiver.on_timeout(self.now);
                self.acknowledge();
            }
        }
        assert_eq!(self.receiver.delivered_segments(), segments);
        assert!(self.sender.poll_transmit(self.now, &mut Vec::new()).is_none());
        assert_eq!(self.sender.in_flight(), 0);
    }
}

/// Transfers data over the channel of `input`, whose first bytes choose profile, controller, segments and delay.
///
/// # Panics
/// At an exception.
pub fn hold(input: &[u8]) {
    let [profile, controller, segments, delay, fates @ ..] = input else { return };
    let stack = (PROFILES[usize::from(*profile) % PROFILES.len()].stack)();
    let entry = &CONTROLLERS[usize::from(*controller) % CONTROLLERS.len()];
    let Ok(controller) = build(entry.name, &Parameters::default()) else { return };
    let segments = 1 + u64::from(*segments);
    let application = Application::Finite(Bytes::new(segments * stack.segment_size.get() - 1));
    let delay = Span::from_millis(u64::from(*delay));
    let mut world = World {
        now: Time::ZERO,
        sender: Sender::new(stack.clone(), controller, application, Random::stream(1, "flow", 0)),
        receiver: Receiver::new(&stack, delay * 2),
        delay,
        fates: fates.iter(),
        arrivals: BinaryHeap::new(),
        packets: Vec::new(),
    };
    world.run(segments);
}
