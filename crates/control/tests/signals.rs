//! Signals of single events, given to every controller: which of them it reads is a matter of its source.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;

use common::{forms, probes};
use control::testing::{ack, loss, rtt};
use control::{Ack, Context, Controller, Entry, Loss, Marks, Moment, Parameters, RateSample, Restart};
use serde_json::json;
use units::{Bytes, Random, Span, Time};

/// A controller on a path of 40 ms, and the transport's knowledge of it.
struct Flow {
    controller: Box<dyn Controller>,
    now: Time,
    random: Random,
    acknowledged_to: u64,
    restart: Option<Restart>,
}

impl Flow {
    fn new(entry: &Entry, given: &Parameters) -> Self {
        let (controller, random) = (entry.build(given).unwrap(), Random::stream(1, "signals", 0));
        let mut new = Self { controller, now: Time::ZERO, random, acknowledged_to: 0, restart: None };
        new.call(|controller, cx| controller.on_start(cx));
        new
    }

    /// Slow start to some 70 segments, a loss that is repaired, and eight round trips after it.
    fn after_a_loss(entry: &Entry, given: &Parameters) -> Self {
        let mut flow = Self::new(entry, given);
        (0..60).for_each(|_| flow.acked(40));
        flow.lose();
        flow.call(|controller, cx| controller.on_recovered(cx));
        (0..80).for_each(|n| flow.acked(40 + n % 3));
        flow
    }

    fn call(&mut self, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        let moment = Moment {
            now: self.now,
            segment_size: Bytes::new(1448),
            initial_window: 10.0,
            restart: self.restart,
            departure: self.now,
            timestamp_tick: Span::from_millis(1),
            ..Moment::EMPTY
        };
        let cx = &mut Context { moment, random: &mut self.random };
        event(&mut *self.controller, cx);
    }

    /// An ACK of one segment after 4 ms, with a sample of `millis`. Every tenth begins a round trip.
    fn ack(&mut self, millis: u64) -> Ack {
        self.now += Span::from_millis(4);
        self.acknowledged_to += 1;
        let window = self.controller.window() as u32;
        Ack {
            rtt: rtt(millis),
            timestamp_echo: Time::from_nanos(self.now.as_nanos().saturating_sub(millis * 1_000_000)),
            in_flight_before: window,
            in_flight: window,
            acknowledged_to: self.acknowledged_to,
            sent_to: self.acknowledged_to + u64::from(window),
            delivered: self.acknowledged_to,
            round_start: self.acknowledged_to.is_multiple_of(10),
            rate: Some(RateSample {
                delivered: 10,
                interval: Span::from_millis(40),
                application_limited: false,
                prior_delivered: self.acknowledged_to.saturating_sub(10),
                is_retransmission: false,
                sent: None,
            }),
            ..ack()
        }
    }

    fn acked(&mut self, millis: u64) {
        let ack = self.ack(millis);
        self.call(|controller, cx| controller.on_ack(cx, &ack));
    }

    /// A duplicate ACK, which brings nothing but what `signal` adds.
    fn duplicate(&mut self, signal: Signal) {
        let ack = self.ack(40);
        self.acknowledged_to -= 1;
        let mut bare = Ack {
            rtt: None,
            rate: None,
            newly_acknowledged: 0,
            newly_delivered: 0,
            timestamp_echo: Time::NEVER,
            acknowledged_to: self.acknowledged_to,
            delivered: self.acknowledged_to,
            round_start: false,
            first_duplicate: true,
            ..ack
        };
        match signal {
            Signal::Absent => return,
            Signal::None => {}
            Signal::Rtt(millis) => bare.rtt = rtt(millis),
            Signal::Delivery => (bare.newly_delivered, bare.delivered, bare.rate) = (1, ack.delivered, ack.rate),
            Signal::Mark => (bare.newly_marked, bare.marked, bare.ecn_echo) = (1, 1, true),
            Signal::Loss => (bare.newly_lost, bare.lost) = (2, 2),
        }
        self.call(|controller, cx| controller.on_duplicate_ack(cx, &bare));
    }

    fn loss(&self) -> Loss {
        let window = self.controller.window() as u32;
        Loss {
            in_flight: window,
            acknowledged_to: self.acknowledged_to,
            sent_to: self.acknowledged_to + u64::from(window),
            sent_at: self.now,
            ..loss()
        }
    }

    fn lose(&mut self) {
        let loss = self.loss();
        self.call(|controller, cx| controller.on_loss(cx, &loss));
    }

    fn decisions(&self) -> (f64, f64) {
        (self.controller.window(), self.controller.slow_start_threshold())
    }

    fn shown(&self) -> (f64, f64, BTreeMap<&'static str, f64>) {
        let (window, threshold) = self.decisions();
        (window, threshold, probes(&*self.controller))
    }
}

/// The forms for which `is` is true.
fn those(mut is: impl FnMut(&Entry, &Parameters) -> bool) -> String {
    let named = forms().filter(|(entry, _, given, _)| is(entry, given)).map(|(_, name, ..)| name);
    named.collect::<Vec<_>>().join(" ")
}

/// The content of a duplicate ACK.
#[derive(Clone, Copy, PartialEq)]
enum Signal {
    /// It does not come.
    Absent,
    None,
    Rtt(u64),
    Delivery,
    Mark,
    Loss,
}

/// The time at which it comes.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    SlowStart,
    Recovery,
    Avoidance,
    /// After a loss in congestion avoidance.
    NextRecovery,
}

/// All that a controller shows from duplicate ACKs with `signal` on: two, half a round trip apart.
fn from_duplicates_on(entry: &Entry, given: &Parameters, stage: Stage, signal: Signal) -> Vec<impl PartialEq> {
    let mut flow = Flow::new(entry, given);
    (0..60).for_each(|_| flow.acked(40));
    if stage != Stage::SlowStart {
        flow.lose();
    }
    if matches!(stage, Stage::Avoidance | Stage::NextRecovery) {
        flow.call(|controller, cx| controller.on_recovered(cx));
        (0..80).for_each(|n| flow.acked(40 + n % 3));
    }
    if stage == Stage::NextRecovery {
        flow.lose();
    }
    let mut shown = Vec::new();
    flow.duplicate(signal);
    let between = if signal == Signal::Absent { signal } else { Signal::None };
    (0..5).for_each(|_| flow.duplicate(between));
    flow.duplicate(signal);
    shown.push(flow.shown());
    if matches!(stage, Stage::Recovery | Stage::NextRecovery) {
        flow.call(|controller, cx| controller.on_recovered(cx));
    }
    for n in 0..160 {
        flow.acked(40 + n % 3);
        shown.push(flow.shown());
    }
    flow.lose();
    shown.push(flow.shown());
    shown
}

/// The controllers that read one of `signals` of duplicate ACKs.
fn readers(signals: &[Signal]) -> String {
    those(|entry, given| {
        [Stage::SlowStart, Stage::Recovery, Stage::Avoidance, Stage::NextRecovery].into_iter().any(|stage| {
            let bare = from_duplicates_on(entry, given, stage, Signal::None);
            signals.iter().any(|&signal| from_duplicates_on(entry, given, stage, signal) != bare)
        })
    })
}

#[test]
fn the_rtt_of_a_duplicate_ack_is_a_sample_to_some_alone() {
    let expected = "bbr1 bbr3 c4 cdg chd copa cubic-linux dual fast gentle-1 gentle-1-linux gentle-2 gentle-2-linux hd \
        htcp htcp-linux htcp-linux-3.5 illinois illinois-linux ledbat ledbat++ nice pert tcp-c tcp-c-linux tcp-fq \
        tcp-fq-linux tcp-fs tcp-fs-linux tcp-lp tcp-q tcp-q-linux vegas-linux vegas-linux-3.5 veno veno-linux \
        westwood westwood-linux yeah yeah-linux";
    assert_eq!(readers(&[Signal::Rtt(55), Signal::Rtt(30)]), expected);
}

#[test]
fn a_duplicate_ack_that_brings_nothing_counts_for_some_alone() {
    let expected = "bic-linux gentle-1 gentle-1-linux gentle-2 gentle-2-linux htcp-linux vegas-linux \
        vegas-linux-3.5 veno-linux westwood westwood-linux";
    assert_eq!(readers(&[Signal::Absent]), expected);
}

#[test]
fn what_a_duplicate_ack_delivers_counts_for_some_alone() {
    assert_eq!(readers(&[Signal::Delivery]), "bbr1 bbr3 c4 copa e-tcp tri-s westwood");
}

#[test]
fn marks_on_duplicate_acks_count_for_those_that_govern_marks() {
    assert_eq!(readers(&[Signal::Mark]), "c4 dctcp prague");
}

#[test]
fn losses_on_duplicate_acks_count_one_by_one_for_some_alone() {
    assert_eq!(readers(&[Signal::Loss]), "c4 e-tcp relentless");
}

#[test]
fn after_idle_all_but_those_with_a_model_of_the_path_begin_with_the_initial_window() {
    let keep = those(|entry, given| {
        let mut flow = Flow::new(entry, given);
        (0..60).for_each(|_| flow.acked(40));
        let (window, threshold) = flow.decisions();
        flow.call(|controller, cx| controller.on_idle_restart(cx));
        if flow.decisions() == (window, threshold) {
            return true;
        }
        assert_eq!(flow.controller.window(), 10.0, "{}", entry.name);
        false
    });
    assert_eq!(keep, "bbr1 bbr3 c4");
}

#[test]
fn after_idle_the_stack_may_leave_more_and_raises_the_threshold() {
    let other = those(|entry, given| {
        let mut flow = Flow::new(entry, given);
        (0..60).for_each(|_| flow.acked(40));
        flow.lose();
        let (window, threshold) = flow.decisions();
        flow.restart = Some(Restart { window: window / 2.0, threshold: threshold + 7.0, idle: true });
        flow.call(|controller, cx| controller.on_idle_restart(cx));
        flow.decisions() != (window / 2.0, threshold + 7.0)
    });
    assert_eq!(other, "bbr1 bbr3 c4");
}

#[test]
fn a_spurious_loss_gives_back_window_and_threshold_and_what_grew_since_stays() {
    let other = those(|entry, given| {
        let mut flow = Flow::after_a_loss(entry, given);
        let before = flow.decisions();
        flow.lose();
        let lowered = flow.decisions();
        flow.call(|controller, cx| controller.on_spurious(cx));
        let after = flow.decisions();
        after != before && after != (before.0, before.1.max(lowered.1))
    });
    // BBR goes back to the window before the ACK that showed the loss.
    assert_eq!(other, "bbr1");
}

#[test]
fn a_second_report_that_a_loss_was_spurious_changes_nothing() {
    let other = those(|entry, given| {
        let mut flow = Flow::after_a_loss(entry, given);
        flow.lose();
        flow.call(|controller, cx| controller.on_spurious(cx));
        (0..3).for_each(|_| flow.acked(40));
        let loss = flow.loss();
        let before = flow.decisions();
        flow.call(|controller, cx| controller.on_spurious(cx));
        let again = flow.decisions() != before;
        flow.call(|controller, cx| controller.on_timeout(cx, &loss));
        assert_eq!(flow.controller.window(), 1.0, "{}", entry.name);
        again
    });
    assert_eq!(other, "");
}

#[test]
fn another_start_shows_the_window_of_every_controller_that_takes_it() {
    for (entry, name, mut given, _) in forms().filter(|(entry, ..)| entry.starts_slowly()) {
        given.insert("initial_pacing".to_owned(), json!(true));
        let mut flow = Flow::after_a_loss(entry, &given);
        let (window, threshold) = flow.decisions();
        let reno = flow.controller.reno().copied();
        assert_eq!(reno.map(|reno| (reno.window, reno.threshold)), Some((window, threshold)), "{name}");
    }
}

/// Window, threshold, pacing, train and probes, to five digits.
fn line(controller: &dyn Controller) -> String {
    let short = |value: f64| format!("{value:.4e}").parse::<f64>().unwrap();
    let (window, threshold) = (short(controller.window()), short(controller.slow_start_threshold()));
    let rate = controller.pacing_rate().map_or(0, units::Rate::bits_per_second) / 1000;
    let mut line = format!("{window}/{threshold}, {rate} kbit/s by {}", controller.send_quantum());
    for (name, value) in probes(controller) {
        write!(line, ", {name} {}", short(value)).unwrap();
    }
    line
}

#[test]
fn what_every_controller_shows_in_slow_start_and_after_each_congestion_event() {
    let mut text = String::new();
    for (entry, name, given, _) in forms() {
        let mut flow = Flow::new(entry, &given);
        writeln!(text, "{name}").unwrap();
        (0..60).for_each(|_| flow.acked(40));
        writeln!(text, "  slow start: {}", line(&*flow.controller)).unwrap();
        flow.lose();
        flow.duplicate(Signal::Rtt(50));
        flow.duplicate(Signal::Delivery);
        flow.call(|controller, cx| controller.on_recovered(cx));
        (0..80).for_each(|n| flow.acked(40 + n % 3));
        writeln!(text, "  after a loss: {}", line(&*flow.controller)).unwrap();
        (0..80).for_each(|n| flow.acked(40 + n / 2));
        writeln!(text, "  with a queue: {}", line(&*flow.controller)).unwrap();
        let (loss, at) = (flow.loss(), flow.now);
        let Loss { in_flight, acknowledged_to, sent_to, .. } = loss;
        let marks = Marks { in_flight, acknowledged_to, sent_to, at };
        flow.call(|controller, cx| controller.on_ecn(cx, &marks));
        (0..40).for_each(|n| flow.acked(50 - n / 4));
        writeln!(text, "  after a mark: {}", line(&*flow.controller)).unwrap();
        flow.call(|controller, cx| controller.on_timeout(cx, &loss));
        (0..40).for_each(|_| flow.acked(40));
        writeln!(text, "  after a timeout: {}", line(&*flow.controller)).unwrap();
    }
    insta::assert_snapshot!("shown", text);
}
