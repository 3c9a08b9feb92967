//! The controllers of `kernel/` behave as their twins in `crates/control`: the same events, reported to both, leave the
//! same windows but for rounding. The kernel runs the very same C files. The crate does the work of the kernel's TCP
//! around them.
//!
//! | controller | the windows of C and Rust, that one in whole segments, differ by at most | because |
//! | --- | --- | --- |
//! | newreno, jk | 2 segments (once 3, of 1500 made-up flows), 1 more an undo | C counts whole ones, rounded down |
//! | cdg, da | 0 | both round down a fraction, C one of 16 bits, and draw the same random numbers |
//! | illinois and kin, yeah, gentle-1, gentle-2, pit | 0 | whole numbers: Rust with `stack = "linux"` |
//! | siad | 0 | C computes with the bits of a 64-bit float, so sums meet windows where they do in Rust |
//!
//! An undo gives whole segments back, and not the fraction of one that C had counted (snd_cwnd_cnt).
//!
//! Events after an idle restart are compared if the restart window is lost at once. If it is not, the kernel has
//! raised the threshold to three quarters of the window (RFC 2861), and the simulator's have not (RFC 5681).

use std::cell::Cell;
use std::fs;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use control::stacks::{self, STACK};
use control::testing::{Event, Recorder, Recording};
use control::{Ack, Controller, ControllerRef, Loss, Marks, Parameters, RttSample, registry};
use engine::{Engine as _, Job, Watch};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};
use shim::Source;
use sim::Simulator;
use units::{Bytes, Span, Time};

/// A controller in both languages.
struct Pair {
    name: String,
    source: Source,
    /// The most that windows differ by.
    rounding: f64,
}

/// Every `kernel/*.bpf.c`, but for that which traces.
static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel")).unwrap();
    let controllers = files.map(|file| file.unwrap().path()).filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".bpf.c")?.to_owned();
        (name != "trace").then_some((name, path))
    });
    let pairs = controllers.map(|(name, path)| {
        let rounding = if ["jk", "newreno"].contains(&name.as_str()) { 2.0 } else { 0.0 };
        Pair { source: Source::open(&path).unwrap(), rounding, name }
    });
    // Those that differ first: the made-up flows of each follow from the order.
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by(|a, b| b.rounding.total_cmp(&a.rounding).then_with(|| a.name.cmp(&b.name)));
    pairs
});

/// Settings that lead through every rule, with the controllers they belong to.
const SETTINGS: &[(&str, &str)] = &[
    ("newreno", "{}"),
    ("cdg", "{}"),
    ("cdg", r#"{"loss_may_raise": false}"#),
    ("cdg", r#"{"loss_may_raise": true, "rtt_tick": "0s", "a": 1, "G": "1ms", "beta_d": 0.6}"#),
    (
        "cdg",
        r#"{"loss_may_raise": true, "use_shadow": false, "shadow_resync": "after", "unknown_is_congestion": false}"#,
    ),
    ("cdg", r#"{"loss_may_raise": true, "hold_freezes_window": false, "b": 2, "b_prime": 3, "a": 17}"#),
    ("cdg", r#"{"loss_may_raise": true, "loss_tolerance": false, "use_ineffectual": false}"#),
    ("da", "{}"),
    ("da", r#"{"max_window": 64}"#),
    ("da", r#"{"update_epochs": 1, "K": 1.1, "min_buffer": 2.5, "max_window": 500}"#),
    ("da", r#"{"max_window": 64, "update_epochs": "interleaved", "optimistic": true, "max_reduce": 3}"#),
    ("da", r#"{"max_window": 1000000, "reference": "last", "last_m": 5, "ndg_sign": "below", "ndg_threshold": 0.1}"#),
    ("gentle-1", "{}"),
    ("gentle-1", r#"{"q_max": 5, "tpq": 2, "v": 1, "np_max": 3, "ag_max": 2, "ag_reset_on_np": true}"#),
    ("gentle-1", r#"{"q_max": 8, "slow_start": true, "alpha_floor": true, "alpha_gh": 1.5, "reset_threshold": 1}"#),
    ("gentle-2", "{}"),
    ("gentle-2", r#"{"q_max": 5, "ag_max": 2, "alpha_rocket": 0.7, "alpha_max": 4.5, "zeta": 3}"#),
    ("illinois", "{}"),
    ("illinois", r#"{"theta_in_a_row": true}"#),
    ("illinois", r#"{"order": 2, "theta_in_a_row": false, "window_threshold": 4}"#),
    ("illinois", r#"{"order": 5, "theta_in_a_row": true, "legacy_beta_bug": true, "extrema": "window_average"}"#),
    ("illinois", r#"{"form": "fq", "theta_in_a_row": true, "theta": 2, "alpha_min": 0.5, "eta_3": 0.6}"#),
    ("illinois", r#"{"form": "fs", "theta_in_a_row": true, "beta_min": 0.2, "beta_max": 0.7}"#),
    ("tcp-c", "{}"),
    ("tcp-fq", r#"{"theta": 2}"#),
    ("tcp-fs", "{}"),
    ("tcp-q", r#"{"window_threshold": 4}"#),
    ("jk", "{}"),
    ("jk", r#"{"max_window": 64}"#),
    ("jk", r#"{"max_window": 500, "initial_threshold": 20}"#),
    ("pit", "{}"),
    ("pit", r#"{"K": 3, "definition": "sum", "a": 0.3, "include_first_gap": false}"#),
    ("pit", r#"{"K": 2, "definition": "share", "combine": "product", "packet_time": "2ms"}"#),
    ("siad", "{}"),
    ("siad", r#"{"num_ms": "800ms", "trend": "none", "margin": 2.5}"#),
    ("siad", r#"{"num_rtt": 6, "trend": "random", "clamp_after_ad": true}"#),
    ("siad", r#"{"rtt_source": "smoothed", "min_guard": true, "min_cwnd": 4}"#),
    ("yeah", "{}"),
    ("yeah", r#"{"q_max": 6, "phi": 2, "gamma": 2, "epsilon": 2, "delta": 2, "rho": 4, "zeta": 5}"#),
    ("yeah", r#"{"q_max": 10, "slow_start": false}"#),
];

/// The controller in Rust, in the form of Linux where it has one.
fn rust(name: &str, parameters: &Parameters) -> Box<dyn Controller> {
    let mut given = parameters.clone();
    if stacks::of(name).any(|(stack, _)| stack == "linux") {
        given.insert(STACK.to_owned(), "linux".into());
    }
    registry::build(name, &given).unwrap()
}

/// The first event after which the windows differ by more than rounding, as a sentence.
fn difference(pair: &Pair, parameters: &Parameters, recording: &Recording, seed: u64) -> Option<String> {
    let rust = recording.play(rust(&pair.name, parameters).as_mut(), seed);
    let c = recording.play(pair.source.build(parameters).unwrap().as_mut(), seed);
    let undone: Vec<f64> = recording
        .events
        .iter()
        .scan(0.0, |count, (_, event)| {
            *count += f64::from(u8::from(*event == Event::Spurious));
            Some(*count)
        })
        .collect();
    // A product that is a whole number, as 0.7 of 170, may come out a bit below it: then both are its whole segments.
    let differs = |&i: &usize| {
        let whole = [rust[i].0, rust[i].0 + 1e-9].map(|window| window.floor().max(1.0));
        let rests = if pair.rounding > 0.0 { undone[i] } else { 0.0 };
        whole.iter().all(|window| (c[i].0 - window).abs() > pair.rounding + rests)
    };
    (0..rust.len()).find(differs).map(|i| {
        let events = (i.saturating_sub(12)..=i).map(|i| {
            let (at, event) = &recording.events[i];
            format!("{at} {event:?}: Rust {:?}, C {:?}", rust[i], c[i])
        });
        let events = events.collect::<Vec<_>>().join("\n");
        format!("{} with {parameters:?} differs after event {i} of {}:\n{events}", pair.name, rust.len())
    })
}

fn pair(name: &str) -> &'static Pair {
    PAIRS.iter().find(|pair| pair.name == name).unwrap()
}

fn parameters(text: &str) -> Parameters {
    serde_json::from_str(text).unwrap()
}

/// The events of the first flow of a simulation.
fn recorded(scenario: &str) -> Recording {
    let plan = scenario::from_toml(scenario, "parity.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    let recordings: Arc<Mutex<Vec<Arc<Mutex<Recording>>>>> = Arc::default();
    let kept = recordings.clone();
    let make = move |cc: &ControllerRef, parameters: &Parameters| {
        let (recorder, recording) = Recorder::new(registry::build(&cc.spelling(), parameters).ok()?);
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(recording);
        Some(Box::new(recorder) as Box<dyn Controller>)
    };
    let job = Job { plan: Arc::new(plan), seed: 1 };
    let simulator = Simulator { controllers: Some(Arc::new(make)), ..Simulator::default() };
    simulator.run(&job, &Watch::default()).unwrap();
    let recordings = recordings.lock().unwrap();
    let recording = recordings[0].lock().unwrap();
    recording.clone()
}

#[test]
fn recorded_flows_have_the_same_windows_in_both_languages() {
    let paths = [
        ("queue = \"60p\"", ""),
        ("queue = \"60p\"\nloss = \"0.5%\"", ""),
        ("queue = \"300p\"\nloss = \"6%\"", ""),
        ("queue = { limit = \"80p\", mark_above = \"20p\" }", "transport = { ecn = true }"),
        ("queue = \"100p\"\njitter = { uniform = \"9ms\", reorder = true }", ""),
        // Older stacks, with the kernel's rules of how windows grow and fall. The kernel asks a module for no second
        // reduction in fast recovery, where its window is the data in flight.
        (
            "queue = \"30p\"",
            "profile = \"linux-3.5\"\ntransport = { slow_start_at_threshold = false, counting = \"segments\" }",
        ),
        (
            "queue = \"30p\"",
            "profile = \"freebsd-9\"\n\
             transport = { slow_start_at_threshold = false, counting = \"segments\", every_timeout_reduces = false }",
        ),
    ];
    let mut seen = [0; 5];
    for &(name, settings) in SETTINGS {
        for (path, flow) in paths {
            let table = settings.replace(':', " =");
            // C counts microseconds. Between exact hosts all times of these paths but the jitter are whole ones.
            let recording = recorded(&format!(
                "duration = \"40s\"\nphase_noise = false\n[path]\nrate = \"20mbit\"\nrtt = \"40ms\"\n{path}\n\
                 [[flows]]\ncc = \"{name}\"\nparameters = {table}\n{flow}\n[[flows]]\ncc = \"newreno\"\nstart = \"15s\""
            ));
            for (_, event) in &recording.events {
                seen[match event {
                    Event::Loss(_) => 0,
                    Event::Ecn(_) => 1,
                    Event::Recovered => 2,
                    Event::Timeout(_) => 3,
                    Event::Spurious => 4,
                    _ => continue,
                }] += 1;
            }
            let found = difference(pair(name), &parameters(settings), &recording, 7);
            assert!(found.is_none(), "{path}, {flow}: {}", found.unwrap());
        }
    }
    assert!(seen.iter().all(|&count| count > 10), "the recordings have too little of {seen:?}");
}

/// The next event of a connection.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Ack {
        segments: u32,
        rtt_micros: u64,
        delayed: bool,
        limited: bool,
        echo: bool,
    },
    Loss,
    Timeout,
    Spurious,
    /// A path that breaks while the connection is idle: of the restart window nothing is acknowledged.
    LostRestart,
}

fn step() -> impl Strategy<Value = Step> {
    let ack = |echo| {
        let flags = (proptest::bool::weighted(0.1), proptest::bool::weighted(0.9));
        (1u32..4, 20_000u64..120_000, flags).prop_map(move |(segments, rtt_micros, (delayed, limited))| Step::Ack {
            segments,
            rtt_micros,
            delayed,
            limited,
            echo,
        })
    };
    prop_oneof![
        100 => ack(false),
        1 => ack(true),
        2 => Just(Step::Loss),
        1 => Just(Step::Timeout),
        1 => Just(Step::Spurious),
        1 => Just(Step::LostRestart),
    ]
}

/// The events of `steps`. A step that makes no sense in its state does not happen.
struct Connection {
    recording: Recording,
    now: Time,
    acknowledged: u64,
    sent: u64,
    /// The first segment of the running round.
    round: u64,
    /// Everything below was outstanding when the window was last reduced.
    recovery_end: u64,
    reducing: bool,
    /// The last reduction can be taken back.
    undoable: bool,
}

impl Connection {
    fn recording(steps: &[Step]) -> Recording {
        let mut connection = Self::established();
        steps.iter().for_each(|step| connection.step(step));
        connection.recording
    }

    fn established() -> Self {
        let mut recording = Recording::new(Bytes::new(1448), 10.0);
        recording.connection.timestamp_tick = Span::from_millis(1);
        let (now, sent) = (Time::from_nanos(1_000_000_000), 10);
        let mut connection =
            Self { recording, now, acknowledged: 0, sent, round: 0, recovery_end: 0, reducing: false, undoable: false };
        connection.happens(Event::Start);
        connection
    }

    /// A duplicate ACK, `gap` after the ACK before it.
    fn duplicate(&mut self, gap: Span) {
        self.now += gap;
        let (acknowledged_to, sent_to) = (self.acknowledged, self.sent);
        let signal =
            Ack { newly_acknowledged: 0, newly_delivered: 1, in_flight: 20, acknowledged_to, sent_to, ..Ack::EMPTY };
        self.happens(Event::DuplicateAck(signal));
    }

    fn happens(&mut self, event: Event) {
        self.recording.events.push((self.now, event));
    }

    fn loss(&self, again: bool) -> Loss {
        let (acknowledged_to, sent_to) = (self.acknowledged, self.sent);
        Loss { in_flight: 10, newly_lost: 1, again, acknowledged_to, sent_to, sent_at: self.now }
    }

    fn step(&mut self, step: &Step) {
        let repairing = self.acknowledged < self.recovery_end;
        match *step {
            Step::Ack { segments, rtt_micros, delayed, limited, echo } => {
                let signal = self.ack(segments, rtt_micros, delayed, limited, echo);
                self.happens(if self.reducing { Event::DuplicateAck(signal) } else { Event::Ack(signal) });
                if echo && !self.reducing && self.acknowledged > self.recovery_end {
                    let (acknowledged_to, sent_to) = (self.acknowledged, self.sent);
                    self.happens(Event::Ecn(Marks { in_flight: 10, acknowledged_to, sent_to, at: self.now }));
                    self.reduces(false);
                } else if self.reducing && self.acknowledged >= self.recovery_end {
                    self.happens(Event::Recovered);
                    self.reducing = false;
                }
            }
            Step::Loss if !self.reducing && !repairing => {
                self.happens(Event::Loss(self.loss(false)));
                self.reduces(true);
            }
            Step::Timeout => {
                self.happens(Event::Timeout(self.loss(repairing)));
                self.undoable |= !repairing;
                self.recovery_end = self.sent;
                self.reducing = false;
            }
            Step::Spurious if self.undoable && repairing => {
                self.happens(Event::Spurious);
                (self.undoable, self.reducing, self.recovery_end) = (false, false, self.acknowledged);
            }
            Step::LostRestart if !self.reducing && !repairing => {
                self.now += Span::from_secs(5);
                self.happens(Event::IdleRestart);
                self.sent = self.acknowledged + 10;
                self.happens(Event::Timeout(self.loss(false)));
                // To take that back would bring back the threshold that the kernel has raised after the idle time.
                (self.undoable, self.recovery_end) = (false, self.sent);
            }
            Step::Loss | Step::Spurious | Step::LostRestart => {}
        }
    }

    fn reduces(&mut self, undoable: bool) {
        (self.reducing, self.undoable, self.recovery_end) = (true, undoable, self.sent);
    }

    fn ack(&mut self, segments: u32, rtt_micros: u64, delayed: bool, limited: bool, echo: bool) -> Ack {
        let rtt = Span::from_micros(rtt_micros);
        self.now += rtt / 20;
        self.acknowledged += u64::from(segments);
        self.sent = self.sent.max(self.acknowledged + 20);
        let round_start = self.acknowledged > self.round;
        if round_start {
            self.round = self.sent;
        }
        Ack {
            rtt: Some(RttSample { value: rtt, delayed }),
            timestamp_echo: Time::from_nanos(self.now.as_nanos() - rtt.as_nanos()),
            smoothed_rtt: rtt,
            min_rtt: Span::from_millis(20),
            newly_acknowledged: segments,
            newly_delivered: segments,
            in_flight_before: 20 + segments,
            in_flight: 20,
            round_start,
            ecn_echo: echo,
            window_limited: limited,
            acknowledged_to: self.acknowledged,
            sent_to: self.sent,
            ..Ack::EMPTY
        }
    }
}

/// The same events for a controller that starts slowly while a loss is repaired: new data then are an ACK.
fn grown_in_recovery(mut recording: Recording) -> Recording {
    let mut repairs = false;
    for (_, event) in &mut recording.events {
        match *event {
            Event::Loss(_) => repairs = true,
            Event::Ecn(_) | Event::Recovered | Event::Timeout(_) | Event::Spurious => repairs = false,
            Event::DuplicateAck(ack) if repairs && ack.newly_acknowledged > 0 => *event = Event::Ack(ack),
            _ => {}
        }
    }
    recording
}

#[test]
fn made_up_flows_have_the_same_windows_in_both_languages() {
    const CASES: u32 = 96;
    // The same cases each time: one random number in a million is between the probabilities of C and Rust.
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let steps = (proptest::collection::vec(step(), 1..1500), any::<u64>());
    for pair in PAIRS.iter() {
        let settings: Vec<Parameters> =
            SETTINGS.iter().filter(|(name, _)| *name == pair.name).map(|(_, text)| parameters(text)).collect();
        assert!(!settings.is_empty(), "SETTINGS has none for {}", pair.name);
        let outcome = runner.run(&steps, |(steps, seed)| {
            let recording = Connection::recording(&steps);
            let recording = if pair.name == "jk" { grown_in_recovery(recording) } else { recording };
            let found = settings.iter().find_map(|parameters| difference(pair, parameters, &recording, seed));
            found.map_or(Ok(()), |found| Err(TestCaseError::fail(found)))
        });
        assert_eq!(outcome, Ok(()));
    }
}

#[test]
fn loss_events_with_many_duplicate_acks_leave_the_same_windows_in_both_languages() {
    // The gaps between duplicate ACKs: multiples of 2 ms, with noise of half a segment now and then.
    let duplicate =
        (1u64..5, prop_oneof![4 => Just(0u64), 1 => 0u64..1_000_000]).prop_map(|(n, noise)| 2_000_000 * n + noise);
    let event = (20usize..120, proptest::collection::vec(duplicate, 1..140), 0usize..6, 0u64..20);
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let differentiated = Cell::new(0);
    let outcome = runner.run(&proptest::collection::vec(event, 1..8), |events| {
        let mut connection = Connection::established();
        for (acks, gaps, partial, end) in events {
            let ack = Step::Ack { segments: 1, rtt_micros: 40_000, delayed: false, limited: true, echo: false };
            (0..acks).for_each(|_| connection.step(&ack));
            for (n, gap) in gaps.iter().enumerate() {
                connection.duplicate(Span::from_nanos(*gap));
                if n == 2 {
                    connection.step(&Step::Loss);
                }
            }
            match end {
                0 => connection.step(&Step::Timeout),
                1 => connection.step(&Step::Spurious),
                // Other losses are acknowledged later, and end no capture but the first.
                _ => (0..partial).for_each(|_| connection.step(&ack)),
            }
            while connection.acknowledged < connection.recovery_end {
                connection.step(&ack);
            }
        }
        let recording = &connection.recording;
        for (_, text) in SETTINGS.iter().filter(|(name, _)| *name == "pit") {
            let found = difference(pair("pit"), &parameters(text), recording, 1);
            prop_assert!(found.is_none(), "{}", found.unwrap_or_default());
            let windows = recording.play(rust("pit", &parameters(text)).as_mut(), 1);
            let raised = |i: &usize| recording.events[*i].1 == Event::Recovered && windows[*i].0 > windows[*i - 1].0;
            differentiated.set(differentiated.get() + (1..windows.len()).filter(raised).count());
        }
        Ok(())
    });
    assert_eq!(outcome, Ok(()));
    assert!(differentiated.get() > 100, "{} loss events took less than half", differentiated.get());
}

#[test]
fn a_restart_window_that_is_lost_is_answered_alike_in_both_languages() {
    let ack = Step::Ack { segments: 2, rtt_micros: 30_000, delayed: false, limited: true, echo: false };
    let mut steps = vec![ack.clone(); 40];
    steps.push(Step::LostRestart);
    steps.extend(vec![ack; 40]);
    let recording = Connection::recording(&steps);
    for pair in PAIRS.iter() {
        // By default `da` in C has no largest window.
        let (_, given) = SETTINGS.iter().find(|(name, _)| *name == pair.name).unwrap();
        let found = difference(pair, &parameters(given), &recording, 1);
        assert!(found.is_none(), "{}", found.unwrap());
    }
}

#[test]
fn a_window_of_da_in_c_ends_at_64_segments_only_where_it_is_asked_to() {
    // The delay stays, so that slow start goes on.
    let ack = Step::Ack { segments: 2, rtt_micros: 30_000, delayed: false, limited: true, echo: false };
    let recording = Connection::recording(&vec![ack; 100]);
    let largest = |given: &str| {
        let mut da = pair("da").source.build(&parameters(given)).unwrap();
        recording.play(da.as_mut(), 1).iter().map(|state| state.0).fold(0.0, f64::max)
    };
    assert_eq!(largest(r#"{"max_window": 64}"#), 64.0);
    assert!(largest("{}") > 64.0, "{}", largest("{}"));
}

#[test]
fn a_guard_against_a_creeping_base_rtt_is_taken_back_in_both_languages() {
    // A base RTT that rises in four epochs goes back at the fourth, which proves spurious. After it the third rise is
    // the third: had the fourth event counted, its base RTT of 30 ms would make it the fourth.
    let ack = |rtt_micros| Step::Ack { segments: 3, rtt_micros, delayed: false, limited: true, echo: false };
    let mut steps = Vec::new();
    for millis in [30, 35, 40, 45, 32, 36, 40, 44] {
        // The first epoch is slow start. A later one has some ten round trips.
        steps.extend(std::iter::repeat_n(ack(1000 * millis), if millis == 30 { 10 } else { 200 }));
        steps.push(Step::Loss);
        if millis == 45 {
            steps.push(Step::Spurious);
        }
    }
    let given = parameters(r#"{"min_guard": true}"#);
    let found = difference(pair("siad"), &given, &Connection::recording(&steps), 1);
    assert!(found.is_none(), "{}", found.unwrap());
}
