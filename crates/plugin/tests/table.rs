//! A controller behind its table, both in one program: what crosses, the panics, and the end. `make miri` watches the
//! memory.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::null_mut;

use control::testing::{World, ack, loss};
use control::{Ack, Aim, Controller, Entry, Loss, Probe};
use plugin::{Context, Crosses, Decisions, Event, Made, Maybe, SYMBOL, Table, Text, VERSION};
use units::{Rate, Span, Time};

/// Counts ACKs in its window, and panics at the third.
#[derive(Default)]
struct Counting {
    acks: u32,
    drawn: f64,
    due: Option<Time>,
}

impl Controller for Counting {
    fn on_ack(&mut self, cx: &mut control::Context<'_>, ack: &Ack) {
        self.acks += ack.newly_acknowledged;
        self.drawn = cx.random.uniform();
        self.due = Some(cx.now + Span::from_millis(5));
        assert!(self.acks < 3, "{} ACKs", self.acks);
    }
    fn on_loss(&mut self, _cx: &mut control::Context<'_>, loss: &Loss) {
        self.acks = loss.in_flight;
    }
    fn on_timeout(&mut self, _cx: &mut control::Context<'_>, _loss: &Loss) {}
    fn on_idle_restart(&mut self, _cx: &mut control::Context<'_>) {}
    fn keep(&mut self, window: f64) -> bool {
        window > 5.0
    }
    fn window(&self) -> f64 {
        10.0 + f64::from(self.acks)
    }
    fn slow_start_threshold(&self) -> f64 {
        f64::INFINITY
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bits_per_second(8000))
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.due
    }
    fn probe(&self, out: &mut dyn Probe) {
        out.value("drawn", self.drawn);
    }
}

/// Segments in flight at a loss, after which the destructor panics.
const FATAL: u32 = 7;

impl Drop for Counting {
    fn drop(&mut self) {
        assert!(self.acks != FATAL, "too many");
    }
}

const ENTRY: Entry = Entry {
    name: "counting",
    title: "Counting",
    summary: "Counts ACKs",
    source: "none",
    aim: Aim::General,
    parameters: &[],
    probes: &[],
    make: |_| Ok(Box::new(Counting::default())),
};

plugin::export!(ENTRY);

static TABLE: &Table = &ACKCLOCK_CONTROLLER;

fn made(parameters: &str) -> Made {
    let wants = control::Wants::default().mirror();
    let mut made =
        Made { instance: null_mut(), is_made: false, has_panicked: false, wants, decisions: Decisions::NONE };
    (TABLE.make)(Text::new(parameters), &mut made);
    made
}

/// Hands `event` on: whether that went well, and the decisions.
fn event(made: &Made, world: &mut World, event: &Event<'_>) -> (bool, Decisions) {
    let mut decisions = Decisions::NONE;
    let mut cx = world.context();
    let mut crossing = Context::new(&mut cx);
    // SAFETY: an instance of this table, and one call at a time.
    let went = unsafe { (TABLE.event)(made.instance, &mut crossing, event, &mut decisions) };
    (went, decisions)
}

fn message(made: &Made) -> String {
    // SAFETY: an instance of this table, and the text is copied.
    unsafe { (TABLE.message)(made.instance) }.get().to_owned()
}

fn end(made: &Made) {
    // SAFETY: an instance of this table, which nothing uses any more.
    unsafe { (TABLE.end)(made.instance) };
}

extern "C" fn show(taker: *mut c_void, name: Text<'_>, value: f64) {
    // SAFETY: `probed` passes it, and waits.
    unsafe { &mut *taker.cast::<Vec<(String, f64)>>() }.push((name.get().to_owned(), value));
}

fn probed(made: &Made) -> Vec<(String, f64)> {
    let mut shown: Vec<(String, f64)> = Vec::new();
    // SAFETY: an instance of this table, and the taker stays for the call.
    assert!(unsafe { (TABLE.probe)(made.instance, std::ptr::from_mut(&mut shown).cast(), show) });
    shown
}

#[test]
fn events_decisions_and_probes_cross() {
    assert_eq!((TABLE.version, TABLE.layout, TABLE.name.get()), (VERSION, Table::LAYOUT, "counting"));
    assert_eq!(SYMBOL.to_str(), Ok("ACKCLOCK_CONTROLLER"));
    let made = made("{}");
    assert_eq!((made.is_made, made.has_panicked, made.decisions.window), (true, false, 10.0));
    let mut world = World::new();
    world.pass(Span::from_millis(3));
    let (went, decisions) = event(&made, &mut world, &Event::Ack(&ack().mirror()));
    assert_eq!((went, decisions.window, decisions.threshold), (true, 11.0, f64::INFINITY));
    assert!(matches!((decisions.pacing, decisions.timeout), (Maybe::Yes(8000), Maybe::Yes(8_000_000))));
    // The stream of the simulator has drawn for it, once.
    let drawn = World::new().context().random.uniform();
    assert_eq!(probed(&made), [("drawn".to_owned(), drawn)]);
    assert_ne!(world.context().random.uniform(), drawn);
    let (went, decisions) = event(&made, &mut world, &Event::Loss(&loss().mirror()));
    assert_eq!((went, decisions.window), (true, 20.0));
    for (window, keeps) in [(5.0, false), (6.0, true)] {
        let mut decisions = Decisions::NONE;
        // SAFETY: an instance of this table.
        assert!(unsafe { (TABLE.keep)(made.instance, window, &mut decisions) });
        assert_eq!((decisions.keeps, decisions.window), (keeps, 20.0));
    }
    end(&made);
}

#[test]
fn after_a_panic_there_is_its_message_and_no_controller() {
    let made = made("{}");
    let mut world = World::new();
    let went: Vec<bool> = (0..4).map(|_| event(&made, &mut world, &Event::Ack(&ack().mirror())).0).collect();
    assert_eq!(went, [true, true, false, false]);
    let said = message(&made);
    assert!(said.starts_with("3 ACKs (") && said.ends_with(&place("self.acks < 3")), "{said}");
    end(&made);
}

/// The end of a message of a panic at the line with `code`.
fn place(code: &str) -> String {
    let before = include_str!("table.rs").lines().position(|line| line.contains(code)).unwrap();
    format!("crates/plugin/tests/table.rs, line {})", before + 1)
}

#[test]
fn a_panic_of_the_destructor_is_its_message() {
    let made = made("{}");
    let mut world = World::new();
    let loss = Loss { in_flight: FATAL, ..loss() };
    assert!(event(&made, &mut world, &Event::Loss(&loss.mirror())).0);
    // SAFETY: an instance of this table.
    assert!(!unsafe { (TABLE.finish)(made.instance) });
    let said = message(&made);
    assert!(said.starts_with("too many (") && said.ends_with(&place("self.acks != FATAL")), "{said}");
    assert!(!event(&made, &mut world, &Event::Start).0);
    end(&made);
}

#[test]
fn a_controller_ends_once() {
    let made = made("{}");
    // SAFETY: an instance of this table.
    assert!([(); 2].iter().all(|()| unsafe { (TABLE.finish)(made.instance) }));
    assert_eq!(message(&made), "");
    end(&made);
}

#[test]
fn parameters_that_are_none_of_it_are_its_message() {
    let made = made("{\"beta\": 1}");
    assert_eq!((made.is_made, made.has_panicked), (false, false));
    assert_eq!(message(&made), "`counting` has no parameters, so `beta` cannot be set");
    end(&made);
}
