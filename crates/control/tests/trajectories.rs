//! Golden trajectories: the window of every controller, in whole segments, round by round on an ideal path.
//!
//! A round is one window: its segments queue behind those that the round before left, its ACKs come back one service
//! time apart, and what exceeds path and buffer is lost. There is no other traffic, no jitter and no retransmission
//! timer, so a trajectory shows the window rules alone. Of a change of behaviour the snapshots under `snapshots/` show
//! exactly where it begins.

mod common;

use std::fmt::Write;

use common::forms;
use control::testing::ack;
use control::{Ack, Context, Controller, Loss, Marks, Moment, RateSample, RttSample};
use units::{Bytes, Random, Span, Time};

const ROUNDS: u32 = 100;
/// One segment at the bottleneck.
const SERVICE: Span = Span::from_millis(1);

/// A path of `bdp` service times with a buffer, both in segments.
#[derive(Clone, Copy)]
struct Path {
    bdp: u32,
    buffer: u32,
}

/// An event in a round, beside the loss of segments that do not fit.
#[derive(Clone, Copy, PartialEq)]
enum Strike {
    Nothing,
    /// One segment is lost, not of congestion.
    Loss,
    /// The segments are marked.
    Mark,
    /// The retransmission timer expires.
    Timeout,
}

struct Round {
    path: Path,
    controller: Box<dyn Controller>,
    random: Random,
    now: Time,
    /// Segments that the last round left in the queue.
    standing: u32,
    /// The next ACK ends the repair of a timeout.
    repairs_timeout: bool,
    acknowledged_to: u64,
    delivered: u64,
    lost: u64,
    min_rtt: Span,
}

impl Round {
    fn base_rtt(&self) -> Span {
        SERVICE * u64::from(self.path.bdp)
    }

    fn with(&mut self, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        let moment = Moment { now: self.now, segment_size: Bytes::new(1448), initial_window: 10.0, ..Moment::EMPTY };
        let mut cx = Context { moment, random: &mut self.random };
        event(&mut *self.controller, &mut cx);
    }

    /// Plays one round. Returns the window it began with, and a letter for the event.
    fn play(&mut self, strike: Strike) -> (u64, &'static str) {
        let window = self.controller.window() as u32;
        let start = self.now;
        let queue = window.saturating_sub(self.path.bdp);
        let overflow = queue.saturating_sub(self.path.buffer);
        let delivered = window - overflow;
        self.acknowledge(start, delivered, queue - overflow);
        self.now = start + self.base_rtt().max(SERVICE * u64::from(window));
        self.standing = queue - overflow;
        let strike = if overflow > 0 { Strike::Loss } else { strike };
        let letter = self.strike(strike, window, overflow.max(1));
        (u64::from(window), letter)
    }

    /// The ACKs of `delivered` segments, over which the queue goes from where it stood to `queue`.
    fn acknowledge(&mut self, start: Time, delivered: u32, queue: u32) {
        let rate = RateSample {
            delivered: delivered.into(),
            interval: self.base_rtt().max(SERVICE * u64::from(delivered)),
            application_limited: false,
            prior_delivered: self.delivered,
            is_retransmission: false,
            sent: None,
        };
        for n in 1..=delivered {
            self.now = start + SERVICE * u64::from(n);
            let share = f64::from(n) / f64::from(delivered);
            let waiting = f64::from(self.standing) + (f64::from(queue) - f64::from(self.standing)) * share;
            let value = self.base_rtt() + SERVICE.scale(waiting);
            self.min_rtt = self.min_rtt.min(value);
            self.acknowledged_to += 1;
            let ack = Ack {
                rtt: Some(RttSample { value, delayed: false }),
                smoothed_rtt: value,
                min_rtt: self.min_rtt,
                in_flight_before: self.controller.window() as u32,
                in_flight: (self.controller.window() as u32).saturating_sub(1),
                round_start: n == 1,
                acknowledged_to: self.acknowledged_to,
                sent_to: self.acknowledged_to + self.controller.window() as u64,
                delivered: self.delivered + u64::from(n),
                lost: self.lost,
                rate: Some(rate),
                ends_repair: std::mem::take(&mut self.repairs_timeout),
                ..ack()
            };
            self.with(|controller, cx| controller.on_ack(cx, &ack));
        }
        self.delivered += u64::from(delivered);
    }

    fn strike(&mut self, strike: Strike, in_flight: u32, newly_lost: u32) -> &'static str {
        self.lost += if strike == Strike::Loss { u64::from(newly_lost) } else { 0 };
        let (acknowledged_to, at) = (self.acknowledged_to, self.now);
        let sent_to = acknowledged_to + u64::from(in_flight);
        let loss = Loss { in_flight, newly_lost, again: false, acknowledged_to, sent_to, sent_at: at };
        let letter = match strike {
            Strike::Nothing => return "",
            Strike::Loss => {
                self.with(|controller, cx| controller.on_loss(cx, &loss));
                "!"
            }
            Strike::Mark => {
                let marks = Marks { in_flight, acknowledged_to, sent_to, at };
                self.with(|controller, cx| controller.on_ecn(cx, &marks));
                "m"
            }
            Strike::Timeout => {
                self.with(|controller, cx| controller.on_timeout(cx, &loss));
                self.repairs_timeout = true;
                "t"
            }
        };
        // Recovery takes one round trip, in which the queue settles to the part that the window leaves of it.
        self.standing = (self.controller.window() as u32).saturating_sub(self.path.bdp).min(self.path.buffer);
        self.now += self.base_rtt();
        self.acknowledged_to = sent_to;
        self.with(|controller, cx| controller.on_recovered(cx));
        letter
    }
}

/// Twenty rounds a line.
fn trajectory(controller: Box<dyn Controller>, path: Path, strike: impl Fn(u32) -> Strike) -> String {
    let mut round = Round {
        path,
        controller,
        random: Random::stream(1, "trajectory", 0),
        now: Time::ZERO,
        standing: 0,
        repairs_timeout: false,
        acknowledged_to: 0,
        delivered: 0,
        lost: 0,
        min_rtt: Span::MAX,
    };
    round.with(|controller, cx| controller.on_start(cx));
    round.now += round.base_rtt();
    let mut text = String::new();
    for n in 1..=ROUNDS {
        let (window, letter) = round.play(strike(n));
        let end = if n % 20 == 0 { "\n" } else { " " };
        write!(text, "{window}{letter}{end}").unwrap();
    }
    text
}

#[test]
fn the_window_of_every_controller_round_by_round() {
    // The forms of older kernels are the papers' with other values.
    for (entry, name, given, _) in forms().filter(|(_, _, given, _)| given.values().all(|stack| stack == "linux")) {
        let run = |path, strike: fn(u32) -> Strike| trajectory(entry.build(&given).unwrap(), path, strike);
        let alone = run(Path { bdp: 40, buffer: 40 }, |_| Strike::Nothing);
        let lossy = run(Path { bdp: 40, buffer: 40 }, |n| if n % 15 == 0 { Strike::Loss } else { Strike::Nothing });
        let struck = run(Path { bdp: 100, buffer: 400 }, |n| match n {
            20 => Strike::Timeout,
            50 => Strike::Mark,
            70 => Strike::Loss,
            _ => Strike::Nothing,
        });
        let trajectories = format!(
            "path 40, buffer 40 (! loss)\n{alone}\n\
             path 40, buffer 40, and one segment lost each 15 rounds\n{lossy}\n\
             path 100, buffer 400, timeout (t), mark (m) and loss (!)\n{struck}"
        );
        insta::assert_snapshot!(name, trajectories);
    }
}
