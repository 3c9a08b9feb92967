//! Controllers in Rust from shared objects: the side that loads them. The table that an object shows is in `plugin`.
#![allow(unsafe_code)]

use std::collections::btree_map::{BTreeMap, Entry};
use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use ::plugin::{Context, Crosses, Decisions, Event, Made, SYMBOL, Table, Text, VERSION};
use control::{Controller, ControllerRef, Parameters, Probe};
use units::{Rate, Span, Time};

use crate::object::{Object, named};
use crate::{Error, cache, cargo, crash};

/// Takes the sentence about a controller that failed during a run.
pub type Report = Arc<dyn Fn(String) + Send + Sync>;

/// Objects by name and digest, each loaded once as none is unloaded: a search makes thousands of batches.
static LOADED: Mutex<BTreeMap<(String, String), Arc<Plugin>>> = Mutex::new(BTreeMap::new());

/// A loaded object with a controller in Rust.
#[derive(Debug)]
pub struct Plugin {
    /// Its name in errors.
    name: String,
    /// Its name in the message of a crash.
    crash_name: CString,
    table: &'static Table,
}

impl Plugin {
    /// Loads the object at `path`, or the one that Cargo builds from the file of Rust or the crate there. Its code runs
    /// from here on.
    ///
    /// # Errors
    /// One sentence: the file cannot be read, built or loaded, has no controller, or one for another version of the
    /// table.
    pub fn open(path: &Path) -> Result<Arc<Self>, Error> {
        let name = path.display().to_string();
        let bytes = match ControllerRef::Source(path.to_owned()).rust() {
            Some((file, controller)) => cargo::compile(&file, controller.as_deref())?,
            None => std::fs::read(path).map_err(|error| Error::Source(format!("`{name}` cannot be read: {error}")))?,
        };
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        match loaded.entry((name.clone(), cache::digest(&bytes))) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(place) => Ok(place.insert(Arc::new(Self::load(name, &bytes)?)).clone()),
        }
    }

    fn load(name: String, bytes: &[u8]) -> Result<Self, Error> {
        let object = Object::open(&name, bytes)?;
        let Some(table) = object.symbol::<Table>(SYMBOL) else {
            return Err(Error::Source(format!("`{name}` has no controller: it needs `plugin::export!(ENTRY);`")));
        };
        // SAFETY: an object has its table under this name, a constant, and is not unloaded.
        let plugin = unsafe { Self::shown(name, table) }?;
        // Never unloaded: threads that were in it may have destructors of it to run.
        std::mem::forget(object);
        Ok(plugin)
    }

    /// The controller of a `table` that is in memory. `name` is its name in errors.
    ///
    /// # Errors
    /// One sentence: it has another version or layout, or draws random numbers in another way.
    ///
    /// # Safety
    /// The table begins with two numbers. If they are [`VERSION`] and [`Table::LAYOUT`], it is a whole one that stays.
    pub unsafe fn shown(name: String, table: NonNull<Table>) -> Result<Self, Error> {
        let refuse = |what: String| Err(Error::Source(format!("`{name}` {what}")));
        // SAFETY: every version begins with these two numbers, and only one that is ours is read further.
        let [version, layout] = unsafe { table.cast::<[u32; 2]>().read() };
        if version != VERSION || layout != Table::LAYOUT {
            let theirs = if version == VERSION { "another layout".to_owned() } else { format!("version {version}") };
            return refuse(format!(
                "was built for {theirs} of the interface of controllers, this ackclock has version {VERSION}: build it \
                 again with the crate `ackclock-plugin` of this ackclock"
            ));
        }
        // SAFETY: a table of this version, constant and there to stay.
        let table: &'static Table = unsafe { table.as_ref() };
        let (mut theirs, mut ours) = ([0; 2], [0; 2]);
        (table.stream)(&mut theirs);
        ::plugin::stream(&mut ours);
        if theirs != ours {
            return refuse("draws random numbers in another way than this ackclock: build it again".to_owned());
        }
        Ok(Self { crash_name: named(&name), name: name.clone(), table })
    }

    /// A controller for one flow, with `parameters`. `report` takes the sentence if it panics during the run. From then
    /// on it decides nothing.
    ///
    /// # Errors
    /// One sentence: a parameter that the controller does not have or that is out of range, or a panic.
    pub fn build(self: &Arc<Self>, parameters: &Parameters, report: Report) -> Result<Box<dyn Controller>, Error> {
        let json = serde_json::to_string(parameters).unwrap_or_default();
        let mut made = Made {
            instance: std::ptr::null_mut(),
            is_made: false,
            has_panicked: false,
            wants: control::Wants::default().mirror(),
            decisions: Decisions::NONE,
        };
        crash::naming(&self.crash_name, "make", || (self.table.make)(Text::new(&json), &mut made));
        let plugged = Plugged {
            plugin: self.clone(),
            instance: made.instance,
            wants: Crosses::of(&made.wants),
            decisions: made.decisions,
            report: Some(report),
        };
        if made.is_made {
            return Ok(Box::new(plugged));
        }
        let message = plugged.message();
        Err(if made.has_panicked {
            Error::Source(format!("`{}` panicked while it was made: {message}", self.name))
        } else {
            let own = format!("`{}`", self.table.name.get());
            Error::Parameter(message.replacen(&own, &format!("`{}`", self.name), 1))
        })
    }
}

/// A controller of an object.
struct Plugged {
    plugin: Arc<Plugin>,
    instance: *mut c_void,
    wants: control::Wants,
    decisions: Decisions,
    /// Taken when it has failed.
    report: Option<Report>,
}

// SAFETY: it is a controller, which is `Send`, and has one owner.
unsafe impl Send for Plugged {}

impl Plugged {
    /// Why the last call failed.
    fn message(&self) -> String {
        // SAFETY: an instance of the table.
        unsafe { (self.plugin.table.message)(self.instance) }.get().to_owned()
    }

    fn event(&mut self, cx: &mut control::Context<'_>, event: &Event<'_>) {
        let Some(report) = &self.report else { return };
        let (plugin, mut context) = (&self.plugin, Context::new(cx));
        // SAFETY: an instance of the table, and the borrowed values stay for the call.
        let call = || unsafe { (plugin.table.event)(self.instance, &mut context, event, &mut self.decisions) };
        if !crash::naming(&plugin.crash_name, event.name(), call) {
            report(format!("`{}` panicked in {}: {}", plugin.name, event.name(), self.message()));
            self.report = None;
        }
    }
}

impl Drop for Plugged {
    fn drop(&mut self) {
        let table = self.plugin.table;
        // SAFETY: an instance of the table, of which this is the only owner.
        let finished = crash::naming(&self.plugin.crash_name, "drop", || unsafe { (table.finish)(self.instance) });
        if let (false, Some(report)) = (finished, &self.report) {
            report(format!("`{}` panicked in drop: {}", self.plugin.name, self.message()));
        }
        // SAFETY: as above, and only its message is left.
        unsafe { (table.end)(self.instance) };
    }
}

/// Shows a value to the probe behind `taker`.
extern "C" fn show(taker: *mut c_void, name: Text<'_>, value: f64) {
    // SAFETY: `probe` below passes it, and waits for the call.
    let out = unsafe { &mut *taker.cast::<&mut dyn Probe>() };
    out.value(control::intern(name.get()), value);
}

impl Controller for Plugged {
    fn wants(&self) -> control::Wants {
        self.wants
    }

    fn on_start(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, &Event::Start);
    }

    fn on_handshake(&mut self, cx: &mut control::Context<'_>, rtt: Span) {
        self.event(cx, &Event::Handshake(rtt.mirror()));
    }

    fn on_ack(&mut self, cx: &mut control::Context<'_>, ack: &control::Ack) {
        self.event(cx, &Event::Ack(&ack.mirror()));
    }

    fn on_duplicate_ack(&mut self, cx: &mut control::Context<'_>, ack: &control::Ack) {
        self.event(cx, &Event::DuplicateAck(&ack.mirror()));
    }

    fn on_loss(&mut self, cx: &mut control::Context<'_>, loss: &control::Loss) {
        self.event(cx, &Event::Loss(&loss.mirror()));
    }

    fn on_ecn(&mut self, cx: &mut control::Context<'_>, marks: &control::Marks) {
        self.event(cx, &Event::Ecn(&marks.mirror()));
    }

    fn keep(&mut self, window: f64) -> bool {
        let Some(report) = &self.report else { return false };
        let report = report.clone();
        let (plugin, decisions, instance) = (&self.plugin, &mut self.decisions, self.instance);
        // SAFETY: an instance of the table.
        let call = || unsafe { (plugin.table.keep)(instance, window, decisions) };
        if !crash::naming(&plugin.crash_name, "keep", call) {
            report(format!("`{}` panicked in keep: {}", plugin.name, self.message()));
            self.report = None;
        }
        self.decisions.keeps
    }

    fn on_recovered(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, &Event::Recovered);
    }

    fn on_timeout(&mut self, cx: &mut control::Context<'_>, loss: &control::Loss) {
        self.event(cx, &Event::Timeout(&loss.mirror()));
    }

    fn on_spurious(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, &Event::Spurious);
    }

    fn on_idle_restart(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, &Event::IdleRestart);
    }

    fn on_sent(&mut self, cx: &mut control::Context<'_>, sent: &control::Transmission) {
        self.event(cx, &Event::Sent(&sent.mirror()));
    }

    fn on_transmit_start(&mut self, cx: &mut control::Context<'_>, start: &control::TransmitStart) {
        self.event(cx, &Event::TransmitStart(&start.mirror()));
    }

    fn on_segment_delivered(&mut self, cx: &mut control::Context<'_>, segment: &control::SegmentReport) {
        self.event(cx, &Event::SegmentDelivered(&segment.mirror()));
    }

    fn on_segment_lost(&mut self, cx: &mut control::Context<'_>, segment: &control::SegmentReport) {
        self.event(cx, &Event::SegmentLost(&segment.mirror()));
    }

    fn poll_timeout(&self) -> Option<Time> {
        Crosses::of(&self.decisions.timeout)
    }

    fn on_timer(&mut self, cx: &mut control::Context<'_>) {
        self.event(cx, &Event::Timer);
        if let (Some(at), Some(report)) = (self.poll_timeout().filter(|&at| at <= cx.now), &self.report) {
            // It would be called again and again at this time.
            report(format!(
                "`{}` has a timeout at {at} after on_timer at {}: a later one is allowed, or none",
                self.plugin.name, cx.now
            ));
            self.report = None;
        }
    }

    fn send_quantum(&self) -> u32 {
        self.decisions.quantum
    }

    fn window(&self) -> f64 {
        self.decisions.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.decisions.threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Crosses::of(&self.decisions.pacing)
    }

    fn probe(&self, out: &mut dyn Probe) {
        let Some(report) = &self.report else { return };
        let (plugin, mut out) = (&self.plugin, out);
        let taker = std::ptr::from_mut(&mut out).cast();
        // SAFETY: an instance of the table, and the taker stays for the call.
        let call = || unsafe { (plugin.table.probe)(self.instance, taker, show) };
        if !crash::naming(&plugin.crash_name, "probe", call) {
            report(format!("`{}` panicked in probe: {}", plugin.name, self.message()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use control::testing::{self, Event as Call, Recorder, Recording, World, starting};
    use control::{Ack, Aim, Literal, Loss, Marks, Parameter, Range, SegmentReport, Transmission, Wants};

    use super::*;

    /// Decides and wants other values than those of no controller.
    struct Deciding {
        due: Option<Time>,
    }

    impl Controller for Deciding {
        fn wants(&self) -> Wants {
            Wants { timer: true, ..Wants::default() }
        }
        fn on_ack(&mut self, _cx: &mut control::Context<'_>, _ack: &Ack) {}
        fn on_loss(&mut self, _cx: &mut control::Context<'_>, _loss: &Loss) {}
        fn on_timeout(&mut self, _cx: &mut control::Context<'_>, _loss: &Loss) {}
        fn on_idle_restart(&mut self, _cx: &mut control::Context<'_>) {}
        fn keep(&mut self, window: f64) -> bool {
            window > 5.0
        }
        fn poll_timeout(&self) -> Option<Time> {
            self.due
        }
        fn window(&self) -> f64 {
            12.5
        }
        fn slow_start_threshold(&self) -> f64 {
            34.0
        }
        fn pacing_rate(&self) -> Option<Rate> {
            Some(Rate::from_bits_per_second(8000))
        }
        fn send_quantum(&self) -> u32 {
            3
        }
        fn probe(&self, out: &mut dyn Probe) {
            out.value("depth", 0.25);
        }
    }

    thread_local! {
        /// The calls that reach the controller behind the table.
        static REACHED: RefCell<Arc<Mutex<Recording>>> =
            RefCell::new(Arc::new(Mutex::new(Recording::new(units::Bytes::new(1), 1.0))));
    }

    const ENTRY: control::Entry = control::Entry {
        name: "deciding",
        title: "Deciding",
        summary: "Is recorded",
        source: "none",
        aim: Aim::General,
        parameters: &[Parameter {
            name: "due",
            default: Literal::Integer(0),
            unit: "ms",
            range: Range::Integer(control::range::from(0).up_to(100)),
            meaning: "When its timer is due",
            source: "none",
        }],
        probes: &[],
        make: |given| {
            let due = given.get("due").and_then(serde_json::Value::as_u64);
            let due = due.map(|millis| Time::from_nanos(millis * 1_000_000));
            let (recorder, recording) = Recorder::new(Box::new(Deciding { due }));
            REACHED.set(recording);
            Ok(Box::new(recorder))
        },
    };

    static TABLE: Table = {
        extern "C" fn make(parameters: Text<'_>, made: &mut Made) {
            ::plugin::make(&ENTRY, parameters, made);
        }
        Table::new("deciding", make)
    };

    /// The controller behind the table, and the reports about it.
    fn plugged(parameters: serde_json::Value) -> (Box<dyn Controller>, Arc<Mutex<Vec<String>>>) {
        // SAFETY: a whole table, which stays.
        let plugin = Arc::new(unsafe { Plugin::shown("mine.so".to_owned(), NonNull::from(&TABLE)) }.unwrap());
        let reports = Arc::new(Mutex::new(Vec::new()));
        let kept = reports.clone();
        let report: Report = Arc::new(move |sentence| kept.lock().unwrap().push(sentence));
        (plugin.build(&serde_json::from_value(parameters).unwrap(), report).unwrap(), reports)
    }

    #[test]
    fn every_call_reaches_the_controller_with_its_values() {
        let (mut controller, reports) = plugged(serde_json::json!({}));
        let sent = control::SentState {
            at: Time::from_nanos(1),
            delivered: 2,
            lost: 3,
            marked: 4,
            in_flight: 5,
            application_limited: true,
        };
        let segment = SegmentReport {
            sequence: 7,
            retransmitted: true,
            rtt: Some(Span::from_millis(40)),
            sent,
            one_way_delay: None,
            payload: None,
            marked: true,
        };
        let calls = [
            Call::Start,
            Call::Handshake(Span::from_millis(30)),
            Call::Ack(Ack { newly_delivered: 2, ..testing::ack() }),
            Call::DuplicateAck(Ack { newly_acknowledged: 0, ..testing::ack() }),
            Call::Loss(testing::loss()),
            Call::Ecn(Marks { in_flight: 1, acknowledged_to: 2, sent_to: 3, at: Time::from_nanos(4) }),
            Call::Recovered,
            Call::Timeout(Loss { again: true, ..testing::loss() }),
            Call::Spurious,
            Call::IdleRestart,
            Call::Sent(Transmission { sequence: 1, retransmission: true, in_flight: 2, application_limited: true }),
            Call::TransmitStart(starting(Span::from_millis(9))),
            Call::SegmentDelivered(segment),
            Call::SegmentLost(SegmentReport { rtt: None, ..segment }),
            Call::Timer,
        ];
        let events: Vec<_> = (1..).map(Time::from_nanos).zip(calls).collect();
        let recording = Recording { events, ..Recording::new(units::Bytes::new(1448), 10.0) };
        let windows = recording.play(controller.as_mut(), 1);
        let reached = REACHED.with_borrow(|reached| reached.lock().unwrap().events.clone());
        assert_eq!(reached, recording.events);
        assert_eq!(windows, [(12.5, 34.0); 15]);
        assert_eq!((controller.wants(), controller.send_quantum()), (Wants { timer: true, ..Wants::default() }, 3));
        assert_eq!(controller.pacing_rate(), Some(Rate::from_bits_per_second(8000)));
        assert_eq!((controller.keep(5.0), controller.keep(5.5)), (false, true));
        assert_eq!(testing::probed(controller.as_ref(), "depth"), 0.25);
        assert!(reports.lock().unwrap().is_empty());
    }

    #[test]
    fn a_timer_that_is_not_moved_on_is_reported_once() {
        let mut world = World::new();
        world.pass(Span::from_millis(10));
        for (due, late) in [(11, false), (10, true), (9, true)] {
            let (mut controller, reports) = plugged(serde_json::json!({ "due": due }));
            assert_eq!(controller.poll_timeout(), Some(Time::from_nanos(due * 1_000_000)));
            controller.on_timer(&mut world.context());
            controller.on_timer(&mut world.context());
            let sentences = reports.lock().unwrap().clone();
            assert_eq!(sentences.len(), usize::from(late), "{sentences:?}");
            for sentence in sentences {
                assert!(sentence.starts_with("`mine.so` has a timeout at "), "{sentence}");
                assert!(sentence.ends_with(": a later one is allowed, or none"), "{sentence}");
            }
        }
    }
}
