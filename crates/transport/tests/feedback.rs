//! Flows with feedback over bad paths, as a reviewer sees them: media over RTP and TFRC, what they count, and a number
//! that stands for every packet, report and call of the controller. A change of a rule shows where it reaches.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use control::testing::{Recorder, Recording};
use control::tfrc::Settings;
use control::{Parameters, registry};
use transport::{Acknowledgement, Data, Event, MediaSettings, MediaSink, MediaSource, Pace, TfrcSink, TfrcSource};
use units::{Bytes, Digest, Fraction, Random, Rate, SenderCounters, Span, Time};

/// How long each flow runs.
const END: Time = Time::from_nanos(20_000_000_000);
/// Half of the RTT.
const DELAY: Span = Span::from_millis(25);

/// Random faults: shares of packets that are lost, marked, late by up to 60 ms, and of reports that are lost.
#[derive(Clone, Copy)]
struct Faults {
    loss: f64,
    marks: f64,
    late: f64,
    reports: f64,
    /// Nothing arrives from 8 s on, for so long.
    outage: Span,
}

const NONE: Faults = Faults { loss: 0.0, marks: 0.0, late: 0.0, reports: 0.0, outage: Span::ZERO };

const PATHS: [(&str, Faults); 7] = [
    ("clean", NONE),
    ("losses", Faults { loss: 0.02, ..NONE }),
    ("many losses", Faults { loss: 0.2, ..NONE }),
    ("marks", Faults { marks: 0.05, loss: 0.002, ..NONE }),
    ("late packets", Faults { late: 0.1, ..NONE }),
    ("lost reports", Faults { reports: 0.5, loss: 0.01, ..NONE }),
    ("an outage", Faults { outage: Span::from_secs(3), ..NONE }),
];

/// The two ends of a flow with feedback.
trait Ends {
    /// The next packet that leaves now.
    fn leaves(&mut self, now: Time, events: &mut Vec<Event>) -> Option<Data>;
    fn arrives(&mut self, now: Time, data: &Data, marked: bool);
    fn answers(&mut self, now: Time) -> Option<Acknowledgement>;
    /// Takes the report of this number, and describes it.
    fn reported(&mut self, now: Time, number: u64, events: &mut Vec<Event>) -> String;
    /// When the sender and the receiver are looked at.
    fn due(&self) -> [Time; 2];
    fn sender_expires(&mut self, now: Time, events: &mut Vec<Event>);
    fn receiver_expires(&mut self, now: Time);
    fn counters(&self) -> SenderCounters;
    /// Rate of the sender, bytes that arrived, and all else that it knows.
    fn state(&self) -> (Rate, Bytes, String);
}

fn or_never(at: Option<Time>) -> Time {
    at.unwrap_or(Time::NEVER)
}

struct Tfrc(TfrcSource, TfrcSink);

impl Ends for Tfrc {
    fn leaves(&mut self, now: Time, _events: &mut Vec<Event>) -> Option<Data> {
        self.0.poll_transmit(now)
    }
    fn arrives(&mut self, now: Time, data: &Data, marked: bool) {
        let rtt = self.0.rtt_in(data.sequence);
        self.1.on_data(now, data, marked, rtt);
    }
    fn answers(&mut self, now: Time) -> Option<Acknowledgement> {
        self.1.poll_transmit(now)
    }
    fn reported(&mut self, now: Time, number: u64, events: &mut Vec<Event>) -> String {
        let feedback = self.1.take(number).unwrap();
        format!("{feedback:?} {:?}", self.0.on_report(now, &feedback, events))
    }
    fn due(&self) -> [Time; 2] {
        [or_never(self.0.poll_timeout()), or_never(self.1.poll_timeout())]
    }
    fn sender_expires(&mut self, now: Time, events: &mut Vec<Event>) {
        self.0.on_timeout(now, events);
    }
    fn receiver_expires(&mut self, now: Time) {
        self.1.on_timeout(now);
    }
    fn counters(&self) -> SenderCounters {
        self.0.counters()
    }
    fn state(&self) -> (Rate, Bytes, String) {
        (self.0.rate(), self.1.delivered(), format!("{:?} {}", self.0.round_trip_times(), self.0.in_flight()))
    }
}

struct Media(MediaSource, MediaSink, Arc<Mutex<Recording>>);

impl Ends for Media {
    fn leaves(&mut self, now: Time, events: &mut Vec<Event>) -> Option<Data> {
        self.0.poll_transmit(now, events)
    }
    fn arrives(&mut self, now: Time, data: &Data, marked: bool) {
        self.1.on_data(now, data, marked, self.0.header(data.sequence));
    }
    fn answers(&mut self, now: Time) -> Option<Acknowledgement> {
        self.1.poll_transmit(now).map(|(answer, _)| answer)
    }
    fn reported(&mut self, now: Time, number: u64, events: &mut Vec<Event>) -> String {
        let report = self.1.take(number).unwrap();
        format!("{report:?} {:?}", self.0.on_report(now, &report, events))
    }
    fn due(&self) -> [Time; 2] {
        [or_never(self.0.poll_timeout()), or_never(self.1.poll_timeout())]
    }
    fn sender_expires(&mut self, now: Time, events: &mut Vec<Event>) {
        self.0.on_timeout(now, events);
    }
    fn receiver_expires(&mut self, now: Time) {
        self.1.on_timeout(now);
    }
    fn counters(&self) -> SenderCounters {
        self.0.counters()
    }
    fn state(&self) -> (Rate, Bytes, String) {
        let rest = format!(
            "{:?} {:?} {:?} {:?} {:?}",
            self.0.frames(),
            self.1.frames(),
            self.0.window(),
            self.0.round_trip_times(),
            self.2.lock().unwrap().events,
        );
        (self.0.rate(), self.1.delivered(), rest)
    }
}

enum Packet {
    Data(Data, bool),
    Report(u64),
}

/// The line of one flow.
fn line(name: &str, ends: &mut dyn Ends, (path, faults): (&str, Faults), seed: u64) -> String {
    let mut random = Random::stream(seed, "path", 0);
    let (mut flying, mut number) = (BTreeMap::new(), 0u64);
    let (mut whole, mut events) = (Digest::default(), Vec::new());
    let mut now = Time::ZERO;
    loop {
        while let Some(data) = ends.leaves(now, &mut events) {
            write!(whole, "{now:?} {data:?}").unwrap();
            let outage = now.since(Time::ZERO) >= Span::from_secs(8)
                && now.since(Time::ZERO) < Span::from_secs(8) + faults.outage;
            if !outage && !random.happens(faults.loss) {
                let late = if random.happens(faults.late) {
                    Span::from_millis(60).scale(random.uniform())
                } else {
                    Span::ZERO
                };
                number += 1;
                flying.insert((now + DELAY + late, number), Packet::Data(data, random.happens(faults.marks)));
            }
        }
        if let Some(answer) = ends.answers(now) {
            write!(whole, "{now:?} {answer:?}").unwrap();
            if !random.happens(faults.reports) {
                number += 1;
                flying.insert((now + DELAY, number), Packet::Report(answer.cumulative));
            }
        }
        let arrival = flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        let [sender, receiver] = ends.due();
        let next = arrival.min(sender).min(receiver);
        if next > END {
            break;
        }
        now = now.max(next);
        if next == arrival {
            match flying.pop_first().unwrap().1 {
                Packet::Data(data, marked) => ends.arrives(now, &data, marked),
                Packet::Report(number) => whole.add(ends.reported(now, number, &mut events).as_bytes()),
            }
        } else if next == sender {
            ends.sender_expires(now, &mut events);
        } else {
            ends.receiver_expires(now);
        }
    }
    let (rate, delivered, rest) = ends.state();
    let counters = ends.counters();
    write!(whole, "{events:?} {rest} {counters:?}").unwrap();
    format!(
        "{name:14} {path:12} {:7} {:5} {:5} {:8} {:10} {:9} {:8} {:016x}\n",
        counters.data_packets,
        counters.retransmitted_packets,
        counters.lost_packets,
        counters.timeouts,
        counters.recoveries,
        delivered.get() / 1000,
        rate.bits_per_second() / 1000,
        whole.get(),
    )
}

/// Bytes that arrived are in kB, the rate at the end in kbit/s.
const TITLES: &str = "flow           path         packets again  lost timeouts recoveries delivered rate     all\n";

#[test]
fn tfrc_answers_bad_paths_as_reviewed() {
    let mut text = TITLES.to_owned();
    let none = Parameters::new();
    let smooth = serde_json::from_str(r#"{ "smooth": true, "history_discounting": false }"#).unwrap();
    let calm = || Some(Pace::new(vec![(Time::ZERO, Rate::from_mbit(1))], Bytes::new(960), None));
    let mut seed = 0;
    for (name, parameters, pace) in
        [("tfrc", &none, None), ("tfrc-smooth", &smooth, None), ("tfrc-1mbit", &none, calm())]
    {
        for path in PATHS {
            // Without a link the rate has no end where hardly anything is lost.
            if path.1.loss < 0.01 && pace.is_none() {
                continue;
            }
            seed += 1;
            let settings = Settings::of(parameters).unwrap();
            let mut source = TfrcSource::new(settings, Bytes::new(1000), pace.clone());
            source.start(Time::ZERO);
            let sink = TfrcSink::new(settings, Bytes::new(960));
            text += &line(name, &mut Tfrc(source, sink), path, seed);
        }
    }
    insta::assert_snapshot!("tfrc", text);
}

#[test]
fn media_answers_bad_paths_as_reviewed() {
    let mut text = TITLES.to_owned();
    let plain = MediaSettings::default();
    let careful = MediaSettings {
        repair: Span::from_millis(300),
        fec: Fraction::new(0.2).unwrap(),
        breaker: Some(Span::from_secs(1)),
        key_interval: Some(Span::from_secs(2)),
        ..plain
    };
    let mut seed = 0;
    for (form, settings, ecn) in [("", plain, false), ("-repair", careful, true)] {
        for cc in ["gcc", "scream", "nada"] {
            for path in PATHS {
                seed += 1;
                let (recorder, recording) = Recorder::new(registry::build(cc, &Parameters::new()).unwrap());
                let controller = Box::new(recorder);
                let random = ["encoder", "chance"].map(|of| Random::stream(seed, of, 0));
                let mut source = MediaSource::new(&settings, (Bytes::new(1200), ecn), None, controller, random);
                source.start(Time::ZERO);
                let mut ends = Media(source, MediaSink::new(&settings), recording);
                text += &line(&format!("{cc}{form}"), &mut ends, path, seed);
            }
        }
    }
    insta::assert_snapshot!("media", text);
}
