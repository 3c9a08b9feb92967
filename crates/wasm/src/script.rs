//! Controllers of the page: classes in JavaScript, with the same signals as classes in Python.
//!
//! An event crosses as numbers: the context, then its argument. NaN is a value that is not known. [`described`] gives
//! the page the names of all numbers, and the page makes objects of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use control::{Ack, Context, Controller, Loss, Marks, Moment, Parameters, Probe, Reports, RttSample, SegmentReport};
use control::{Transmission, TransmitStart, Wants};
use engine::Watch;
use serde_json::{Value, json};
use units::{Bytes, Random, Rate, Span, Time};

/// Numbers of an event at most.
const MOST_NUMBERS: usize = 56;

const _: () = assert!(Moment::COUNT + Ack::COUNT <= MOST_NUMBERS);

/// The numbers of an event.
pub type Numbers = [f64; MOST_NUMBERS];

/// The decisions of a controller, in the order of [`DECISIONS`].
pub type Decisions = [f64; DECISIONS.len()];

/// Their names; `wants` is a sum of powers of two, in the order of [`WANTS`], and read when a controller is made.
const DECISIONS: [&str; 7] =
    ["window", "slow_start_threshold", "pacing_rate", "send_quantum", "wake_up_at", "pause_until", "wants"];

/// The names in the attribute `wants`. The last one is not asked for by name.
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
    /// Makes a controller. `text` has its class and parameters as JSON. `None` if that failed.
    fn make(&self, text: &str, decisions: &mut Decisions) -> Option<u32>;

    /// Handles an event. False if that failed.
    fn event(&self, controller: u32, kind: u32, numbers: &Numbers, decisions: &mut Decisions) -> bool;

    /// The named internals of a controller as a JSON object. `None` if that failed.
    fn probe(&self, controller: u32) -> Option<String>;
}

thread_local! {
    static RANDOM: RefCell<Option<Random>> = const { RefCell::new(None) };
}

/// The next number of the random stream of the flow whose event is being handled, 0 outside events.
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

/// A type of fields, as numbers.
trait Listed {
    /// How many numbers.
    const COUNT: usize;

    /// Appends their names to `names`. A name that ends in `?` is true where its number is 1. One with a point belongs
    /// to the object before it, which is null where its first number is NaN.
    fn name(name: &str, names: &mut Vec<String>);

    /// Appends the numbers of a value in a signal that came `at` a moment, NaN for one that is not known.
    fn list(value: Option<&Self>, at: &Moment, out: &mut Taker);
}

/// Types that are one number: `type suffix: conversion`.
macro_rules! numbers {
    ($($type:ty, $suffix:literal: $to:expr;)+) => {$(
        impl Listed for $type {
            const COUNT: usize = 1;

            fn name(name: &str, names: &mut Vec<String>) {
                names.push(format!("{name}{}", $suffix));
            }

            fn list(value: Option<&Self>, _at: &Moment, out: &mut Taker) {
                let to: fn($type) -> f64 = $to;
                out.push(value.map_or(f64::NAN, |value| to(*value)));
            }
        }
    )+};
}

numbers! {
    bool, "?": |is| if is { 1.0 } else { 0.0 };
    u32, "": f64::from;
    u64, "": |count| count as f64;
    f64, "": |value| value;
    Time, "": record::seconds;
    Span, "": |span| span.as_nanos() as f64 / 1e9;
    Bytes, "": |bytes| bytes.get() as f64;
    RttSample, "": |sample| sample.value.as_nanos() as f64 / 1e9;
}

impl<T: Listed> Listed for Option<T> {
    const COUNT: usize = T::COUNT;

    fn name(name: &str, names: &mut Vec<String>) {
        T::name(name, names);
    }

    fn list(value: Option<&Self>, at: &Moment, out: &mut Taker) {
        T::list(value.and_then(Self::as_ref), at, out);
    }
}

/// The numbers of all signals that scripts get.
macro_rules! lists {
    (moment { $($moment:tt)* } objects { $($objects:tt)* } parts { $($parts:tt)* }) => {
        lists! { @signals $($moment)* $($objects)* }
    };
    (@signals $(
        $(#[doc = $about:literal])+
        $name:ident { $($shown:tt)* }
        hidden { $($hidden:tt)* }
        computed { $($computed:tt)* }
        methods { $($methods:tt)* }
    )+) => {
        $(lists! { @one $name { $($shown)* } { $($computed)* } { $($methods)* } })+
    };
    (@one $name:ident {
        $($(#[doc = $meaning:literal])+ $field:ident: $type:ty $(= $none:expr $(, none $when:literal)?)?;)*
    } {
        $($(#[doc = $computed_meaning:literal])+ $computed:ident: $computed_type:ty = $compute:expr;)*
    } {
        $($(#[doc = $method_meaning:literal])+ $method:ident: $method_type:ty = $call:expr;)*
    }) => {
        impl Listed for control::$name {
            const COUNT: usize =
                0 $(+ <$type>::COUNT)* $(+ <$computed_type>::COUNT)* $(+ <$method_type>::COUNT)*;

            fn name(name: &str, names: &mut Vec<String>) {
                let within = |field: &str| if name.is_empty() { field.to_owned() } else { format!("{name}.{field}") };
                $(<$type>::name(&within(stringify!($field)), names);)*
                $(<$computed_type>::name(&within(stringify!($computed)), names);)*
                $(<$method_type>::name(&within(concat!(stringify!($method), "()")), names);)*
            }

            fn list(value: Option<&Self>, at: &Moment, out: &mut Taker) {
                $({
                    let field = value.map(|value| &value.$field)$($(.filter(|&field| none!($when, *field != $none)))?)?;
                    <$type>::list(field, at, out);
                })*
                $({
                    let compute: fn(&Self, &Moment) -> $computed_type = $compute;
                    <$computed_type>::list(value.map(|value| compute(value, at)).as_ref(), at, out);
                })*
                $({
                    let call: fn(&Self, &Moment) -> $method_type = $call;
                    <$method_type>::list(value.map(|value| call(value, at)).as_ref(), at, out);
                })*
            }
        }
    };
}

/// The condition of a value that is none `$when` it is another.
macro_rules! none {
    ($when:literal, $is_known:expr) => {
        $is_known
    };
}

control::signals!(lists);

/// The names of the numbers of a type.
fn names<T: Listed>() -> Vec<String> {
    let mut names = Vec::with_capacity(T::COUNT);
    T::name("", &mut names);
    names
}

/// The methods of a controller, in the order of their numbers, and the names of their arguments' numbers.
fn events() -> [(&'static str, Vec<String>); 14] {
    [
        ("on_start", Vec::new()),
        ("on_ack", names::<Ack>()),
        ("on_duplicate_ack", names::<Ack>()),
        ("on_loss", names::<Loss>()),
        ("on_ecn", names::<Marks>()),
        ("on_recovered", Vec::new()),
        ("on_timeout", names::<Loss>()),
        ("on_spurious", Vec::new()),
        ("on_idle_restart", Vec::new()),
        ("on_sent", names::<Transmission>()),
        ("on_transmit_start", vec!["idle".to_owned()]),
        ("on_segment_delivered", names::<SegmentReport>()),
        ("on_segment_lost", names::<SegmentReport>()),
        ("on_timer", Vec::new()),
    ]
}

/// The events of controllers and the names of their numbers, as JSON.
pub fn described() -> Value {
    let events = events().into_iter().map(|(name, argument)| json!({ "name": name, "argument": argument }));
    json!({
        "context": names::<Moment>(),
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
    fn event(&mut self, kind: u32, cx: &mut Context<'_>) {
        self.event_with::<Span>(kind, cx, None);
    }

    /// The same with an argument.
    fn event_with<T: Listed>(&mut self, kind: u32, cx: &mut Context<'_>, argument: Option<&T>) {
        let Some(number) = self.number.filter(|_| !self.watch.stop.load(Ordering::Relaxed)) else { return };
        let mut taker = Taker { numbers: [0.0; MOST_NUMBERS], length: 0 };
        Moment::list(Some(&cx.moment), cx, &mut taker);
        if argument.is_some() {
            T::list(argument, cx, &mut taker);
        }
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
        self.event(0, cx);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if !self.is_paused(cx.now) {
            self.event_with(1, cx, Some(ack));
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if !self.is_paused(cx.now) {
            self.event_with(2, cx, Some(ack));
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.event_with(3, cx, Some(loss));
    }

    fn on_ecn(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.event_with(4, cx, Some(marks));
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.event(5, cx);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.event_with(6, cx, Some(loss));
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.event(7, cx);
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.event(8, cx);
    }

    fn on_sent(&mut self, cx: &mut Context<'_>, sent: &Transmission) {
        self.event_with(9, cx, Some(sent));
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        self.event_with(10, cx, Some(&start.idle));
    }

    fn on_segment_delivered(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.event_with(11, cx, Some(segment));
    }

    fn on_segment_lost(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.event_with(12, cx, Some(segment));
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.event(13, cx);
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
