//! Controllers that the page has: classes in JavaScript with the signals of those in Python.
//!
//! An event crosses as numbers: those of the context, then those of its argument. NaN stands for a value that is not
//! known. [`described`] gives the page the names of all numbers, and the page makes objects of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use control::{
    Ack, Context, Controller, Loss, Marks, Parameters, Probe, RateSample, Reports, SegmentReport, SentState,
};
use control::{Transmission, TransmitStart, Wants};
use engine::Watch;
use serde_json::{Value, json};
use units::{Random, Rate, Span, Time};

/// Numbers of an event at most.
const MOST_NUMBERS: usize = 56;

/// The numbers of an event.
pub type Numbers = [f64; MOST_NUMBERS];

/// The decisions of a controller, in the order of [`DECISIONS`].
pub type Decisions = [f64; DECISIONS.len()];

/// Their names; `wants` is a sum of powers of two, in the order of [`WANTS`], and read when a controller is made.
const DECISIONS: [&str; 7] =
    ["window", "slow_start_threshold", "pacing_rate", "send_quantum", "wake_up_at", "pause_until", "wants"];

/// The names in the attribute `wants`; the last one is not asked for by name.
const WANTS: [&str; 11] = [
    "sent",
    "transmit_start",
    "segments",
    "timer",
    "pauses",
    "fractional_window",
    "governs_marks",
    "governs_recovery",
    "slow_starts_on_loss",
    "exact_rtt",
    "ect1",
];

/// Later than anything that happens, in seconds.
const FAR_S: f64 = 1e9;

/// The page and its controllers.
pub trait Page: Sync {
    /// Makes a controller; `text` has its class and parameters as JSON. `None` if that failed.
    fn make(&self, text: &str, decisions: &mut Decisions) -> Option<u32>;

    /// Handles an event; false if that failed.
    fn event(&self, controller: u32, kind: u32, numbers: &Numbers, decisions: &mut Decisions) -> bool;

    /// The named internals of a controller as a JSON object; `None` if that failed.
    fn probe(&self, controller: u32) -> Option<String>;
}

thread_local! {
    static RANDOM: RefCell<Option<Random>> = const { RefCell::new(None) };
}

/// The next number of the random stream of the flow whose event is being handled; 0 outside events.
pub fn random() -> f64 {
    RANDOM.with_borrow_mut(|random| random.as_mut().map_or(0.0, Random::uniform))
}

/// Takes numbers one by one.
struct Taker {
    numbers: Numbers,
    length: usize,
}

impl Taker {
    fn push(&mut self, number: f64) {
        self.numbers[self.length] = number;
        self.length += 1;
    }
}

/// Declares the numbers of a value: their names, and a function that lists them. A name that ends in `?` is true where
/// its number is 1; one with a point belongs to the object before it, which is null where its first number is NaN.
macro_rules! numbers {
    ($names:ident, $list:ident($value:ident: $type:ty), $($name:literal => $number:expr,)*) => {
        const $names: &[&str] = &[$($name),*];

        fn $list($value: $type, out: &mut Taker) {
            $(out.push($number);)*
        }
    };
}

fn point(at: Time) -> f64 {
    record::seconds(at)
}

fn span(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

fn known<T>(value: Option<T>, number: impl FnOnce(T) -> f64) -> f64 {
    value.map_or(f64::NAN, number)
}

fn flag(is: bool) -> f64 {
    if is { 1.0 } else { 0.0 }
}

fn sent(rate: &Option<RateSample>) -> Option<SentState> {
    rate.and_then(|rate| rate.sent)
}

numbers! { CONTEXT, list_context(cx: &Context<'_>),
    "now" => point(cx.now),
    "segment_size" => cx.segment_size.get() as f64,
    "initial_window" => cx.initial_window,
    "restart_window" => cx.restart.map_or(cx.initial_window, |restart| restart.window),
    "restart_threshold" => cx.restart.map_or(0.0, |restart| restart.threshold),
}

numbers! { ACK, list_ack(of: (&Ack, Time)),
    "rtt" => known(of.0.rtt, |sample| span(sample.value)),
    "rtt_delayed?" => flag(of.0.rtt.is_some_and(|sample| sample.delayed)),
    "timestamp_rtt" => known(of.0.timestamp_rtt(of.1), span),
    "smoothed_rtt" => if of.0.smoothed_rtt.is_zero() { f64::NAN } else { span(of.0.smoothed_rtt) },
    "min_rtt" => if of.0.min_rtt == Span::MAX { f64::NAN } else { span(of.0.min_rtt) },
    "one_way_delay" => known(of.0.one_way_delay, span),
    "newly_acknowledged" => f64::from(of.0.newly_acknowledged),
    "newly_delivered" => f64::from(of.0.newly_delivered),
    "newly_lost" => f64::from(of.0.newly_lost),
    "delivered" => of.0.delivered as f64,
    "lost" => of.0.lost as f64,
    "in_flight_before" => f64::from(of.0.in_flight_before),
    "in_flight" => f64::from(of.0.in_flight),
    "newly_sacked" => known(of.0.newly_sacked, |number| number as f64),
    "first_duplicate?" => flag(of.0.first_duplicate),
    "ends_recovery?" => flag(of.0.ends_recovery),
    "round_start?" => flag(of.0.round_start),
    "ecn_echo?" => flag(of.0.ecn_echo),
    "newly_marked" => f64::from(of.0.newly_marked),
    "marked" => of.0.marked as f64,
    "application_limited?" => flag(of.0.application_limited),
    "window_limited?" => flag(of.0.window_limited),
    "acknowledged_to" => of.0.acknowledged_to as f64,
    "sent_to" => of.0.sent_to as f64,
    "slow_start_at_threshold?" => flag(of.0.slow_start_at_threshold),
    "slow_start_credit()" => of.0.slow_start_credit(),
    "avoidance_credit()" => of.0.avoidance_credit(),
    "rate.delivered" => known(of.0.rate, |rate| rate.delivered as f64),
    "rate.interval" => known(of.0.rate, |rate| span(rate.interval)),
    "rate.application_limited?" => known(of.0.rate, |rate| flag(rate.application_limited)),
    "rate.prior_delivered" => known(of.0.rate, |rate| rate.prior_delivered as f64),
    "rate.is_retransmission?" => known(of.0.rate, |rate| flag(rate.is_retransmission)),
    "rate.sent.at" => known(sent(&of.0.rate), |sent| point(sent.at)),
    "rate.sent.delivered" => known(sent(&of.0.rate), |sent| sent.delivered as f64),
    "rate.sent.lost" => known(sent(&of.0.rate), |sent| sent.lost as f64),
    "rate.sent.marked" => known(sent(&of.0.rate), |sent| sent.marked as f64),
    "rate.sent.in_flight" => known(sent(&of.0.rate), |sent| f64::from(sent.in_flight)),
    "rate.sent.application_limited?" => known(sent(&of.0.rate), |sent| flag(sent.application_limited)),
}

numbers! { LOSS, list_loss(loss: &Loss),
    "in_flight" => f64::from(loss.in_flight),
    "newly_lost" => f64::from(loss.newly_lost),
    "again?" => flag(loss.again),
    "acknowledged_to" => loss.acknowledged_to as f64,
    "sent_to" => loss.sent_to as f64,
    "sent_at" => point(loss.sent_at),
}

numbers! { MARKS, list_marks(marks: &Marks),
    "in_flight" => f64::from(marks.in_flight),
    "acknowledged_to" => marks.acknowledged_to as f64,
    "sent_to" => marks.sent_to as f64,
    "at" => point(marks.at),
}

numbers! { SENT, list_sent(sent: &Transmission),
    "sequence" => sent.sequence as f64,
    "retransmission?" => flag(sent.retransmission),
    "in_flight" => f64::from(sent.in_flight),
    "application_limited?" => flag(sent.application_limited),
}

numbers! { IDLE, list_idle(start: &TransmitStart),
    "idle" => span(start.idle),
}

numbers! { SEGMENT, list_segment(segment: &SegmentReport),
    "sequence" => segment.sequence as f64,
    "retransmitted?" => flag(segment.retransmitted),
    "rtt" => known(segment.rtt, span),
    "sent.at" => point(segment.sent.at),
    "sent.delivered" => segment.sent.delivered as f64,
    "sent.lost" => segment.sent.lost as f64,
    "sent.marked" => segment.sent.marked as f64,
    "sent.in_flight" => f64::from(segment.sent.in_flight),
    "sent.application_limited?" => flag(segment.sent.application_limited),
}

/// The methods of a controller, in the order of their numbers, and the names of their arguments' numbers.
const EVENTS: [(&str, &[&str]); 14] = [
    ("on_start", &[]),
    ("on_ack", ACK),
    ("on_duplicate_ack", ACK),
    ("on_loss", LOSS),
    ("on_ecn", MARKS),
    ("on_recovered", &[]),
    ("on_timeout", LOSS),
    ("on_spurious", &[]),
    ("on_idle_restart", &[]),
    ("on_sent", SENT),
    ("on_transmit_start", IDLE),
    ("on_segment_delivered", SEGMENT),
    ("on_segment_lost", SEGMENT),
    ("on_timer", &[]),
];

/// The events of controllers and the names of their numbers, as JSON.
pub fn described() -> Value {
    let events = EVENTS.iter().map(|(name, argument)| json!({ "name": name, "argument": argument }));
    json!({
        "context": CONTEXT,
        "events": events.collect::<Value>(),
        "decisions": DECISIONS,
        "wants": WANTS,
    })
}

/// A controller of the page.
struct Script {
    page: &'static dyn Page,
    /// Its number; `None` if it could not be made.
    number: Option<u32>,
    decisions: Decisions,
    wants: Wants,
    pauses: bool,
    watch: Arc<Watch>,
}

/// The controller of class `class` of `page`. If it fails, `watch` stops the run.
pub(crate) fn build(
    page: &'static dyn Page,
    class: &str,
    parameters: &Parameters,
    watch: &Arc<Watch>,
) -> Box<dyn Controller> {
    let mut decisions = [0.0; DECISIONS.len()];
    let text = json!({ "class": class, "parameters": parameters }).to_string();
    let number = page.make(&text, &mut decisions);
    if number.is_none() {
        watch.stop.store(true, Ordering::Relaxed);
    }
    let wanted = decisions[6] as u32;
    let has = |name: &str| WANTS.iter().position(|known| *known == name).is_some_and(|bit| wanted >> bit & 1 == 1);
    let wants = Wants {
        sent: has("sent"),
        transmit_start: has("transmit_start"),
        segments: if has("segments") { Reports::All } else { Reports::None },
        timer: has("timer"),
        fractional_window: has("fractional_window"),
        governs_marks: has("governs_marks"),
        governs_recovery: has("governs_recovery"),
        slow_starts_on_loss: has("slow_starts_on_loss"),
        exact_rtt: has("exact_rtt"),
        l4s: has("ect1"),
        ..Wants::default()
    };
    Box::new(Script { page, number, decisions, wants, pauses: has("pauses"), watch: watch.clone() })
}

impl Script {
    /// Hands an event to the page, and takes the decisions over.
    fn event(&mut self, kind: u32, cx: &mut Context<'_>, argument: impl FnOnce(&mut Taker)) {
        let Some(number) = self.number.filter(|_| !self.watch.stop.load(Ordering::Relaxed)) else { return };
        let mut taker = Taker { numbers: [0.0; MOST_NUMBERS], length: 0 };
        list_context(cx, &mut taker);
        argument(&mut taker);
        RANDOM.set(Some(cx.random.clone()));
        let handled = self.page.event(number, kind, &taker.numbers, &mut self.decisions);
        if let Some(random) = RANDOM.take() {
            *cx.random = random;
        }
        if !handled {
            self.watch.stop.store(true, Ordering::Relaxed);
        }
    }

    /// The time in a decision.
    fn at(&self, decision: usize) -> Option<Time> {
        let seconds = self.decisions[decision];
        (!seconds.is_nan()).then(|| Time::ZERO + Span::from_secs_f64(seconds.clamp(0.0, FAR_S)))
    }

    fn is_paused(&self, now: Time) -> bool {
        self.pauses && self.at(5).is_some_and(|until| now < until)
    }
}

impl Controller for Script {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.event(0, cx, |_| ());
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let now = cx.now;
        if !self.is_paused(now) {
            self.event(1, cx, |out| list_ack((ack, now), out));
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let now = cx.now;
        if !self.is_paused(now) {
            self.event(2, cx, |out| list_ack((ack, now), out));
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.event(3, cx, |out| list_loss(loss, out));
    }

    fn on_ecn(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.event(4, cx, |out| list_marks(marks, out));
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.event(5, cx, |_| ());
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.event(6, cx, |out| list_loss(loss, out));
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.event(7, cx, |_| ());
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.event(8, cx, |_| ());
    }

    fn on_sent(&mut self, cx: &mut Context<'_>, sent: &Transmission) {
        self.event(9, cx, |out| list_sent(sent, out));
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        self.event(10, cx, |out| list_idle(start, out));
    }

    fn on_segment_delivered(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.event(11, cx, |out| list_segment(segment, out));
    }

    fn on_segment_lost(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.event(12, cx, |out| list_segment(segment, out));
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.event(13, cx, |_| ());
    }

    fn poll_timeout(&self) -> Option<Time> {
        if self.wants.timer { self.at(4).filter(|&at| at < Time::ZERO + Span::from_secs_f64(FAR_S)) } else { None }
    }

    fn send_quantum(&self) -> u32 {
        self.decisions[3] as u32
    }

    fn window(&self) -> f64 {
        self.decisions[0]
    }

    fn slow_start_threshold(&self) -> f64 {
        self.decisions[1]
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.decisions[2];
        (!rate.is_nan()).then(|| Rate::from_bits_per_second(rate as u64))
    }

    fn probe(&self, out: &mut dyn Probe) {
        let Some(number) = self.number.filter(|_| !self.watch.stop.load(Ordering::Relaxed)) else { return };
        match self.page.probe(number) {
            Some(text) => {
                let values: BTreeMap<String, f64> = serde_json::from_str(&text).unwrap_or_default();
                values.into_iter().for_each(|(name, value)| out.value(control::intern(&name), value));
            }
            None => self.watch.stop.store(true, Ordering::Relaxed),
        }
    }
}
