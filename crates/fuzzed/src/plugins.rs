//! The table of a plug-in, and a controller behind it whose answers are the input: decisions of any value, timers,
//! panics. A table of another version or layout is refused. Every run ends, with tables or with one sentence.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;

use control::{Ack, Aim, Context, Controller, Entry, Loss, Probe, Reports, Wants};
use engine::{Engine as _, Factory, Job, Watch};
use plugin::{Made, Table, Text};
use scenario::NoFiles;
use shim::{Plugin, Report};
use sim::Simulator;
use units::{Rate, Span, Time};

const SCENARIO: &str = "
    duration = '300ms'
    path = { rate = '5mbit', rtt = '20ms', queue = '10p', loss = '2%' }
    flows = [{ cc = 'cubic', transport = { ecn = true } }, { cc = 'newreno', start = '100ms' }]
    record = { probes = '50ms' }
";
const ENTRY: Entry = Entry {
    name: "scripted",
    title: "Scripted",
    summary: "Answers by the input",
    source: "none",
    aim: Aim::General,
    parameters: &[],
    probes: &[],
    make: |_| Ok(Box::new(SCRIPT.with_borrow(|bytes| Scripted::new(bytes)))),
};
/// The panic of a controller, which is no fault.
pub const ON_PURPOSE: &str = "on purpose";
/// More segments in a window than a run needs, fewer than make it long.
const SOME_SEGMENTS: f64 = 1_000.0;

extern "C" fn make(parameters: Text<'_>, made: &mut Made) {
    plugin::make(&ENTRY, parameters, made);
}

static OURS: Table = Table::new("scripted", make);

thread_local! {
    /// The answers of controllers that are made.
    static SCRIPT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A controller whose answers are bytes. Behind the last, it keeps them.
struct Scripted {
    script: std::vec::IntoIter<u8>,
    window: f64,
    threshold: f64,
    pacing: Option<Rate>,
    quantum: u32,
    timeout: Option<Time>,
}

impl Scripted {
    fn new(bytes: &[u8]) -> Self {
        let script = Vec::from(bytes).into_iter();
        let mut made = Self { script, window: 10.0, threshold: f64::INFINITY, pacing: None, quantum: 1, timeout: None };
        made.answer(Time::ZERO);
        made
    }

    fn number(&mut self) -> f64 {
        let bytes = [(); 8].map(|()| self.script.next().unwrap_or(0));
        f64::from_le_bytes(bytes)
    }

    /// Takes the next answer. Windows, rates and timers within the law are such that a run is short.
    fn answer(&mut self, now: Time) {
        let Some(which) = self.script.next() else { return };
        match which % 8 {
            0 => self.window = f64::from(self.script.next().unwrap_or(0)),
            1 => {
                let window = self.number();
                let is_lawful = control::law::window(window).is_ok();
                self.window = if is_lawful { window.min(SOME_SEGMENTS) } else { window };
            }
            2 => self.threshold = self.number(),
            3 => self.pacing = Some(Rate::from_bits_per_second(self.number().to_bits())),
            4 => self.quantum = self.number().to_bits() as u32,
            5 => self.timeout = Some(now + Span::from_micros(100 * u64::from(self.script.next().unwrap_or(0)))),
            6 => self.timeout = None,
            _ if which == 255 => panic!("{ON_PURPOSE}"),
            _ => {}
        }
    }
}

impl Controller for Scripted {
    fn wants(&self) -> Wants {
        Wants { timer: true, exact_rtt: true, segments: Reports::All, ..Wants::default() }
    }
    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.answer(cx.now);
    }
    fn on_ack(&mut self, cx: &mut Context<'_>, _ack: &Ack) {
        self.answer(cx.now);
    }
    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, _ack: &Ack) {
        self.answer(cx.now);
    }
    fn on_loss(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.answer(cx.now);
    }
    fn on_timeout(&mut self, cx: &mut Context<'_>, _loss: &Loss) {
        self.answer(cx.now);
    }
    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.answer(cx.now);
    }
    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.timeout = None;
        self.answer(cx.now);
    }
    fn poll_timeout(&self) -> Option<Time> {
        self.timeout
    }
    fn window(&self) -> f64 {
        self.window
    }
    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }
    fn send_quantum(&self) -> u32 {
        self.quantum
    }
    fn probe(&self, out: &mut dyn Probe) {
        out.value("window", self.window);
    }
}

/// Runs a controller whose answers are `input`, behind two bytes that change the version and layout of its table.
///
/// # Panics
/// At an exception.
pub fn hold(input: &[u8]) {
    let [version, layout, script @ ..] = input else { return };
    if [*version, *layout] != [0, 0] {
        let mut other = Table::new("other", make);
        (other.version, other.layout) = (other.version ^ u32::from(*version), other.layout ^ u32::from(*layout));
        // SAFETY: it has the two numbers, which are not ours.
        assert!(unsafe { Plugin::shown("other.so".to_owned(), NonNull::from(&other)) }.is_err());
        return;
    }
    // SAFETY: a table of this build, which stays.
    let shown = unsafe { Plugin::shown("scripted.so".to_owned(), NonNull::from(&OURS)) };
    let plugin = Arc::new(shown.expect("a table of ours"));
    SCRIPT.set(script.to_vec());

    let watch = Watch::default();
    let conduct = watch.conduct.clone();
    let report: Report = Arc::new(move |sentence| conduct.report(sentence));
    let controllers: Factory = Arc::new(move |_, given| {
        Some(plugin.build(given, report.clone()).unwrap_or_else(|_| Box::new(Scripted::new(&[]))))
    });
    let plan = scenario::from_toml(SCENARIO, "fuzz.toml").and_then(|read| read.plan(&NoFiles)).expect("a plan");
    let simulator = Simulator { controllers: Some(controllers), ..Simulator::default() };
    if let Err(failure) = simulator.run(&Job { plan: Arc::new(plan), seed: 1 }, &watch) {
        let sentence = failure.to_string();
        assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence:?}");
        assert!(!sentence.contains("panicked") || sentence.contains(ON_PURPOSE), "{sentence:?}");
    }
}
