//! Any sequence of events, sensible or not, against every controller: it must keep the properties that the transport
//! relies on.

mod common;

use common::{forms, probes, value};
use control::Entry;
use control::testing::ack;
use control::{
    Ack, Context, Controller, Counting, Loss, Marks, Moment, Parameters, Range, RateSample, Reno, RttSample,
};
use proptest::prelude::*;
use units::{Bytes, Random, Span, Time};

#[derive(Clone, Debug)]
enum Operation {
    TimePasses { micros: u64 },
    Ack(Signals),
    DuplicateAck(Signals),
    Loss,
    Mark,
    Timeout { again: bool },
    Spurious,
    Recovered,
    IdleRestart,
}

#[derive(Clone, Debug)]
struct Signals {
    segments: u32,
    rtt: Option<(u64, bool)>,
    one_way_delay: Option<u64>,
    round_start: bool,
    window_limited: bool,
    counting: Counting,
}

fn signals() -> impl Strategy<Value = Signals> {
    let counting = prop_oneof![Just(Counting::PerAck), Just(Counting::Bytes { limit: 2 }), Just(Counting::Segments)];
    let rtt = proptest::option::of((prop_oneof![1u64..200_000, 0u64..10_000_000_000], any::<bool>()));
    let one_way_delay = proptest::option::of(0u64..10_000_000_000);
    (1u32..200, rtt, one_way_delay, proptest::bool::weighted(0.3), proptest::bool::weighted(0.8), counting).prop_map(
        |(segments, rtt, one_way_delay, round_start, window_limited, counting)| Signals {
            segments,
            rtt,
            one_way_delay,
            round_start,
            window_limited,
            counting,
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => prop_oneof![0u64..100_000, 0u64..1_000_000_000].prop_map(|micros| Operation::TimePasses { micros }),
        20 => signals().prop_map(Operation::Ack),
        5 => signals().prop_map(Operation::DuplicateAck),
        2 => Just(Operation::Loss),
        1 => Just(Operation::Mark),
        1 => any::<bool>().prop_map(|again| Operation::Timeout { again }),
        1 => Just(Operation::Spurious),
        1 => Just(Operation::Recovered),
        1 => Just(Operation::IdleRestart),
    ]
}

/// The connection around the controller: the transport's knowledge.
struct Connection {
    controller: Box<dyn Controller>,
    now: Time,
    random: Random,
    acknowledged_to: u64,
    min_rtt: Span,
    /// The window also grows where it was not used.
    grows_unused: bool,
}

fn moment(now: Time) -> Moment {
    Moment { now, segment_size: Bytes::new(1448), initial_window: 10.0, ..Moment::EMPTY }
}

impl Connection {
    fn new(controller: Box<dyn Controller>) -> Self {
        let random = Random::stream(1, "operations", 0);
        let min_rtt = Span::MAX;
        let mut new = Self { controller, now: Time::ZERO, random, acknowledged_to: 0, min_rtt, grows_unused: false };
        let cx = &mut Context { moment: moment(new.now), random: &mut new.random };
        new.controller.on_start(cx);
        new
    }

    fn ack(&mut self, signals: &Signals) -> Ack {
        let rtt = signals.rtt.map(|(micros, delayed)| RttSample { value: Span::from_micros(micros), delayed });
        self.min_rtt = rtt.map_or(self.min_rtt, |rtt| self.min_rtt.min(rtt.value));
        self.acknowledged_to += u64::from(signals.segments);
        Ack {
            rtt,
            smoothed_rtt: rtt.map_or(Span::ZERO, |rtt| rtt.value),
            min_rtt: self.min_rtt,
            newly_acknowledged: signals.segments,
            newly_delivered: signals.segments,
            in_flight_before: self.controller.window() as u32,
            one_way_delay: signals.one_way_delay.map(Span::from_micros),
            round_start: signals.round_start,
            window_limited: signals.window_limited,
            acknowledged_to: self.acknowledged_to,
            delivered: self.acknowledged_to,
            rate: rtt.filter(|rtt| !rtt.value.is_zero()).map(|rtt| RateSample {
                delivered: signals.segments.into(),
                interval: rtt.value,
                application_limited: rtt.delayed,
                prior_delivered: self.acknowledged_to.saturating_sub(self.controller.window() as u64),
                is_retransmission: false,
                sent: None,
            }),
            sent_to: self.sent_to(),
            ..ack()
        }
    }

    fn sent_to(&self) -> u64 {
        self.acknowledged_to + self.controller.window() as u64
    }

    fn loss(&self, again: bool) -> Loss {
        Loss {
            in_flight: self.controller.window() as u32,
            newly_lost: 1,
            again,
            acknowledged_to: self.acknowledged_to,
            sent_to: self.sent_to(),
            sent_at: self.now,
        }
    }

    fn marks(&self) -> Marks {
        Marks {
            in_flight: self.controller.window() as u32,
            acknowledged_to: self.acknowledged_to,
            sent_to: self.sent_to(),
            at: self.now,
        }
    }

    /// Applies `operation` and returns the bounds of the window afterwards. One that has a model of the path sets it at
    /// any event but a timeout.
    fn apply(&mut self, operation: &Operation) -> (f64, f64) {
        let (least, most) = self.apply_to_window(operation);
        let by_model = self.controller.wants().governs_recovery && self.controller.pacing_rate().is_some();
        let free = by_model && !matches!(operation, Operation::Timeout { .. } | Operation::TimePasses { .. });
        (if free { 1.0 } else { least }, if free { f64::MAX } else { most })
    }

    /// The same for one whose window grows on ACKs alone.
    fn apply_to_window(&mut self, operation: &Operation) -> (f64, f64) {
        let before = self.controller.window();
        // A controller that tracks the window of a loss-based flow may return to it on a loss (Hayes and
        // Armitage 2011, equation 8).
        let before_loss = probes(&*self.controller).get("shadow_window").copied().unwrap_or(0.0).max(before);
        // Some set their window at the end of recovery: Westwood+ of Linux (COMPLETE_CWR), Reno with loss
        // differentiation.
        let shown = probes(&*self.controller);
        let set = ["estimated_window", "window_at_loss"].map(|name| shown.get(name).copied().unwrap_or(0.0));
        let after_recovery = set[0].max(set[1]);
        let (ack, duplicate) = match operation {
            Operation::Ack(signals) => (Some(self.ack(signals)), false),
            Operation::DuplicateAck(signals) => (Some(self.ack(signals)), true),
            _ => (None, false),
        };
        let (loss, marks) = (self.loss(matches!(operation, Operation::Timeout { again: true })), self.marks());
        let counting = match operation {
            Operation::Ack(signals) | Operation::DuplicateAck(signals) => signals.counting,
            _ => Counting::Segments,
        };
        let cx = &mut Context { moment: Moment { counting, ..moment(self.now) }, random: &mut self.random };
        match (operation, ack) {
            (Operation::TimePasses { micros }, _) => {
                self.now += Span::from_micros(*micros);
                (before, before)
            }
            (_, Some(ack)) if duplicate => {
                self.controller.on_duplicate_ack(cx, &ack);
                let may_grow = self.controller.wants().governs_recovery && ack.window_limited;
                (1.0, if may_grow { f64::MAX } else { before })
            }
            (_, Some(ack)) => {
                self.controller.on_ack(cx, &ack);
                (1.0, if ack.window_limited || self.grows_unused { f64::MAX } else { before })
            }
            // Linux takes a window of one segment to two.
            (Operation::Loss, _) => {
                self.controller.on_loss(cx, &loss);
                (1.0, before_loss.max(Reno::MINIMUM))
            }
            (Operation::Mark, _) => {
                self.controller.on_ecn(cx, &marks);
                (1.0, before.max(Reno::MINIMUM))
            }
            (Operation::Timeout { .. }, _) => {
                self.controller.on_timeout(cx, &loss);
                (1.0, 1.0)
            }
            (Operation::Spurious, _) => {
                self.controller.on_spurious(cx);
                (before, f64::MAX)
            }
            (Operation::Recovered, _) => {
                self.controller.on_recovered(cx);
                (1.0, before.max(after_recovery))
            }
            (Operation::IdleRestart, _) => {
                self.controller.on_idle_restart(cx);
                (1.0, before)
            }
            (Operation::Ack(_) | Operation::DuplicateAck(_), None) => unreachable!("both carry an ACK"),
        }
    }
}

/// Each form at its defaults, and every parameter of it at every value of a list that the controller accepts, the other
/// parameters at their defaults.
fn tried() -> Vec<(&'static Entry, Parameters)> {
    const TRIED: [&str; 13] =
        ["false", "true", "0", "1", "2", "64", "1000", "1e-6", "0.001", "0.999", "0s", "1us", "10s"];
    let mut all = Vec::new();
    for (entry, _, chosen, form) in forms() {
        all.push((entry, chosen.clone()));
        for parameter in form.parameters {
            let choices = if let Range::Choice(choices) = parameter.range { choices } else { &[] };
            let choices = choices.iter().map(|choice| choice.to_json());
            let values = TRIED.into_iter().map(value).chain(choices);
            let given = values.map(|value| {
                let mut given = chosen.clone();
                given.insert(parameter.name.to_owned(), value);
                given
            });
            all.extend(given.filter(|given| entry.build(given).is_ok()).map(|given| (entry, given)));
        }
    }
    all
}

fn check(entry: &Entry, given: &Parameters, operations: &[Operation]) -> Result<(), TestCaseError> {
    let mut connection = Connection::new(entry.build(given).unwrap());
    // tcp_vegas_cong_avoid does not look whether the window was used.
    connection.grows_unused = entry.name == "vegas"
        && given.get("stack").and_then(serde_json::Value::as_str).is_some_and(|stack| stack.starts_with("linux"));
    let largest = given.get("max_window").and_then(serde_json::Value::as_f64).unwrap_or(f64::INFINITY);
    let initial = largest.min(10.0);
    prop_assert_eq!(connection.controller.window(), initial, "{} starts with the initial window", entry.name);
    for (n, operation) in operations.iter().enumerate() {
        let (least, most) = connection.apply(operation);
        let window = connection.controller.window();
        let threshold = connection.controller.slow_start_threshold();
        let place = || format!("{} {given:?}, operation {n}: {operation:?}", entry.name);
        prop_assert!(window.is_finite() && window >= 1.0, "window {window} at {}", place());
        prop_assert!(window >= least && window <= most, "window {window} not in {least}..{most} at {}", place());
        prop_assert!(threshold >= 2.0, "threshold {threshold} at {}", place());
        for (name, value) in probes(&*connection.controller) {
            prop_assert!(value.is_finite(), "probe `{name}` is {value} at {}", place());
        }
    }
    Ok(())
}

#[test]
fn timeouts_in_a_row_that_turn_out_spurious_restore_the_window_before_the_first() {
    for (entry, name, given, _) in forms() {
        let mut connection = Connection::new(entry.build(&given).unwrap());
        let window = connection.controller.window();
        connection.apply(&Operation::Timeout { again: false });
        connection.apply(&Operation::Timeout { again: true });
        connection.apply(&Operation::Spurious);
        assert_eq!(connection.controller.window(), window, "{name}");
        assert_eq!(connection.controller.slow_start_threshold(), f64::INFINITY, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_controller_keeps_its_promises_whatever_happens(
        operations in proptest::collection::vec(operation(), 1..200)
    ) {
        for (entry, given) in tried() {
            check(entry, &given, &operations)?;
        }
    }
}
