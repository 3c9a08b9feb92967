//! Every controller, at its defaults and with each parameter changed, on connections of random events: a number that
//! stands for all decisions and probes. A change of a rule shows in the controllers and parameters that it reaches.

mod common;

use std::fmt::Write as _;

use common::{forms, probes};
use control::testing::{ack, starting};
use control::{
    Ack, Context, Controller, Loss, Marks, Moment, Parameter, Range, RateSample, Reports, RttSample, SegmentReport,
    SentState, Transmission,
};
use serde_json::{Value, json};
use units::{Bytes, Digest, Random, Span, Time};

/// Events of a connection.
const EVENTS: u32 = 500;
/// The RTT without a queue, and the service time of a segment.
const BASE: Span = Span::from_millis(40);
const SERVICE: Span = Span::from_millis(1);
/// No link bounds a window here.
const MOST_IN_FLIGHT: u32 = 300;

/// A connection over a path that holds 40 segments, whose events are drawn.
struct Connection {
    controller: Box<dyn Controller>,
    /// What the controller draws, and what the path does.
    random: [Random; 2],
    now: Time,
    acknowledged: u64,
    delivered: u64,
    lost: u64,
    marked: u64,
    round_mark: u64,
    smoothed: Span,
    least: Span,
}

impl Connection {
    fn with(&mut self, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        let moment = Moment {
            now: self.now,
            segment_size: Bytes::new(1448),
            initial_window: 10.0,
            timestamp_tick: Span::from_millis(1),
            ..Moment::EMPTY
        };
        event(self.controller.as_mut(), &mut Context { moment, random: &mut self.random[0] });
    }

    fn happens(&mut self, share: f64) -> bool {
        self.random[1].happens(share)
    }

    /// A whole number from 1 to `most`.
    fn number(&mut self, most: u32) -> u32 {
        1 + (self.random[1].uniform() * f64::from(most)) as u32
    }

    fn in_flight(&self) -> u32 {
        (self.controller.window().max(1.0) as u32).min(MOST_IN_FLIGHT)
    }

    fn rtt(&mut self) -> Span {
        let queued = SERVICE * u64::from(self.in_flight().saturating_sub(40));
        let noise = Span::from_micros(u64::from(self.number(3000)));
        let late = if self.happens(0.02) { Span::from_millis(50) } else { Span::ZERO };
        BASE + queued + noise + late
    }

    fn left(&self, rtt: Span) -> SentState {
        SentState {
            at: Time::ZERO + self.now.since(Time::ZERO).saturating_sub(rtt),
            delivered: self.delivered.saturating_sub(u64::from(self.in_flight())),
            lost: self.lost,
            marked: self.marked,
            in_flight: self.in_flight(),
            application_limited: false,
        }
    }

    fn report(&mut self, sequence: u64, rtt: Span, delivered: bool) {
        let reports = self.controller.wants().segments;
        let segment = SegmentReport {
            sequence,
            retransmitted: self.happens(0.02),
            rtt: delivered.then_some(rtt),
            sent: self.left(rtt),
            one_way_delay: delivered.then_some(rtt.scale(0.5)),
            payload: Some(Bytes::new(1200)),
            marked: false,
        };
        match (reports, delivered) {
            (Reports::All, true) => self.with(|controller, cx| controller.on_segment_delivered(cx, &segment)),
            (Reports::All | Reports::Lost, false) => {
                self.with(|controller, cx| controller.on_segment_lost(cx, &segment));
            }
            _ => {}
        }
    }

    /// An ACK of some segments, or a duplicate.
    fn acknowledge(&mut self, duplicate: bool, marks: u32) {
        let count = self.number(3);
        self.now += SERVICE * u64::from(count);
        let (rtt, in_flight) = (self.rtt(), self.in_flight());
        self.smoothed = if self.smoothed.is_zero() { rtt } else { self.smoothed.scale(0.875) + rtt.scale(0.125) };
        self.least = self.least.min(rtt);
        let first = self.acknowledged;
        self.delivered += u64::from(count);
        self.marked += u64::from(marks);
        if !duplicate {
            self.acknowledged += u64::from(count);
        }
        (first..first + u64::from(count)).for_each(|sequence| self.report(sequence, rtt, true));
        let round_start = self.acknowledged >= self.round_mark;
        if round_start {
            self.round_mark = self.acknowledged + u64::from(in_flight);
        }
        let sent = self.left(rtt);
        let limited = self.happens(0.1);
        let signal = Ack {
            rtt: (!self.happens(0.05)).then_some(RttSample { value: rtt, delayed: count > 1 }),
            smoothed_rtt: self.smoothed,
            min_rtt: self.least,
            one_way_delay: Some(rtt.scale(0.5)),
            newly_acknowledged: if duplicate { 0 } else { count },
            newly_delivered: count,
            delivered: self.delivered,
            lost: self.lost,
            in_flight_before: in_flight,
            in_flight: in_flight.saturating_sub(count),
            rate: Some(rate_sample(in_flight, rtt, limited, sent)),
            round_start,
            ecn_echo: marks > 0,
            newly_marked: marks,
            marked: self.marked,
            application_limited: limited,
            window_limited: !limited,
            acknowledged_to: self.acknowledged,
            sent_to: self.acknowledged + u64::from(in_flight),
            timestamp_echo: sent.at,
            ..ack()
        };
        if duplicate && !self.controller.wants().governs_recovery {
            self.with(|controller, cx| controller.on_duplicate_ack(cx, &signal));
        } else {
            self.with(|controller, cx| controller.on_ack(cx, &signal));
        }
        if self.controller.wants().sent {
            let sent = Transmission {
                sequence: signal.sent_to,
                retransmission: duplicate,
                in_flight,
                application_limited: limited,
            };
            self.with(|controller, cx| controller.on_sent(cx, &sent));
        }
    }

    fn loss(&self, newly_lost: u32, again: bool) -> Loss {
        let in_flight = self.in_flight();
        Loss {
            in_flight,
            newly_lost,
            again,
            acknowledged_to: self.acknowledged,
            sent_to: self.acknowledged + u64::from(in_flight),
            sent_at: Time::ZERO + self.now.since(Time::ZERO).saturating_sub(self.smoothed),
        }
    }

    /// Draws an event, with all that follows from it.
    fn step(&mut self) {
        let drawn = self.random[1].uniform();
        if self.in_flight() > 80 && drawn < 0.2 || drawn < 0.02 {
            let count = self.number(4);
            self.lost += u64::from(count);
            let rtt = self.rtt();
            (0..count).for_each(|at| self.report(self.acknowledged + u64::from(at), rtt, false));
            let event = self.loss(count, false);
            self.with(|controller, cx| controller.on_loss(cx, &event));
            (0..self.number(6)).for_each(|_| self.acknowledge(true, 0));
            if self.happens(0.2) {
                self.with(|controller, cx| controller.on_spurious(cx));
            } else {
                self.with(|controller, cx| controller.on_recovered(cx));
            }
        } else if drawn < 0.03 {
            let marks = Marks {
                in_flight: self.in_flight(),
                acknowledged_to: self.acknowledged,
                sent_to: self.acknowledged + u64::from(self.in_flight()),
                at: self.now,
            };
            let before = self.controller.window();
            self.acknowledge(false, 1);
            if !self.controller.wants().governs_marks {
                self.with(|controller, cx| controller.on_ecn(cx, &marks));
                self.controller.keep(before * 0.85);
                (0..3).for_each(|_| self.acknowledge(true, 0));
                self.with(|controller, cx| controller.on_recovered(cx));
            }
        } else if drawn < 0.036 {
            self.now += Span::from_millis(300);
            for again in [false, true].into_iter().take(self.number(2) as usize) {
                let event = Loss { again, ..self.loss(self.in_flight(), again) };
                self.with(|controller, cx| controller.on_timeout(cx, &event));
            }
            if self.happens(0.3) {
                self.with(|controller, cx| controller.on_spurious(cx));
            }
        } else if drawn < 0.042 {
            let idle = Span::from_millis(u64::from(self.number(2000)));
            self.now += idle;
            self.with(|controller, cx| controller.on_idle_restart(cx));
            if self.controller.wants().transmit_start {
                self.with(|controller, cx| controller.on_transmit_start(cx, &starting(idle)));
            }
        } else {
            self.acknowledge(drawn < 0.06, 0);
        }
        if self.controller.wants().timer && self.controller.poll_timeout().is_some_and(|due| due <= self.now) {
            self.with(|controller, cx| controller.on_timer(cx));
        }
    }
}

fn rate_sample(in_flight: u32, interval: Span, application_limited: bool, sent: SentState) -> RateSample {
    RateSample {
        delivered: u64::from(in_flight),
        interval,
        application_limited,
        prior_delivered: sent.delivered,
        is_retransmission: false,
        sent: Some(sent),
    }
}

/// The mean window of a connection, and all that it decided and showed.
fn played(controller: Box<dyn Controller>, seed: u64) -> (f64, u64) {
    let mut connection = Connection {
        controller,
        random: ["flow", "path"].map(|name| Random::stream(seed, name, 0)),
        now: Time::ZERO,
        acknowledged: 0,
        delivered: 0,
        lost: 0,
        marked: 0,
        round_mark: 0,
        smoothed: Span::ZERO,
        least: Span::MAX,
    };
    connection.with(|controller, cx| controller.on_start(cx));
    connection.with(|controller, cx| controller.on_handshake(cx, BASE));
    let (mut whole, mut sum) = (Digest::default(), 0.0);
    for _ in 0..EVENTS {
        connection.step();
        let controller = connection.controller.as_ref();
        sum += controller.window();
        let (quantum, due) = (controller.send_quantum(), controller.poll_timeout());
        write!(whole, "{:?} {quantum} {due:?} {:?}", controller.decisions(), probes(controller)).unwrap();
    }
    (sum / f64::from(EVENTS), whole.get())
}

/// Other values of a parameter, some of which may not be allowed.
fn others(parameter: &Parameter) -> Vec<Value> {
    let default = common::value(&parameter.default.to_string());
    let values = match parameter.range {
        Range::Switch => vec![json!(default != json!(true))],
        Range::Choice(choices) => choices.iter().map(|one| common::value(&one.to_string())).collect(),
        Range::Number(_) => match default.as_f64() {
            Some(number) if number != 0.0 => vec![json!(number * 0.6), json!(number * 1.4)],
            _ => vec![json!(0.4), json!(3.0)],
        },
        Range::Integer(_) | Range::IntegerOr(..) => vec![json!(default.as_u64().unwrap_or(5) + 2), json!(1)],
        Range::Time(_) => vec![json!("7ms"), json!("90ms")],
        Range::Rate(_) => vec![json!("3mbit")],
    };
    values.into_iter().filter(|value| *value != default).collect()
}

#[test]
fn controllers_decide_on_random_connections_as_reviewed() {
    let mut text =
        "controller and parameter: mean window of two connections in segments, all that it decides\n".to_owned();
    for (entry, name, chosen, form) in forms() {
        let changed =
            form.parameters.iter().flat_map(|one| others(one).into_iter().map(move |value| (one.name, value)));
        let all = [None].into_iter().chain(changed.map(Some));
        for (number, change) in (0..).zip(all) {
            let mut given = chosen.clone();
            given.extend(change.clone().map(|(key, value)| (key.to_owned(), value)));
            let seeds = if number == 0 { vec![1, 2, 3, 4, 5] } else { vec![10 + number, 11 + number] };
            let mut line = name.clone();
            if let Some((key, value)) = &change {
                write!(line, " {key} = {value}").unwrap();
            }
            let Ok(_) = entry.build(&given) else { continue };
            let runs: Vec<(f64, u64)> = seeds.iter().map(|&seed| played(entry.build(&given).unwrap(), seed)).collect();
            let whole = runs.iter().fold(0, |whole: u64, (_, one)| whole.rotate_left(7) ^ one);
            writeln!(text, "{line}: {:.1} {:.1} {whole:016x}", runs[0].0, runs[1].0).unwrap();
        }
    }
    insta::assert_snapshot!("recorded", text);
}
