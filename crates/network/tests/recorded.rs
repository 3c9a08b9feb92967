//! Every queue discipline, at its defaults and with each setting changed, and links of every kind, under random
//! packets: a number that stands for all that happens to them. A change of a rule shows where it reaches.

mod common;

use std::fmt::Write as _;
use std::sync::Arc;

use common::{FLOWS, Parcel};
use network::{
    Departure, Discard, DisciplineSettings, Egress, FlowClass, Framing, Limit, Link, LinkSettings, LossModel,
    QueueSettings, Service, TokenBucket,
};
use serde_json::{Value, json};
use units::{Bytes, Digest, Ecn, Fraction, Random, Rate, Span, Time};

/// Packets of a run.
const PACKETS: u32 = 800;

/// Counts all that happens, and a number for all.
#[derive(Default)]
struct Seen {
    left: u32,
    dropped: u32,
    marked: u32,
    whole: Digest,
}

impl Seen {
    fn note(&mut self, packet: &Parcel, report: std::fmt::Arguments<'_>) {
        write!(self.whole, "{packet:?} {report}").unwrap();
    }
}

impl Egress<Parcel> for Seen {
    fn take(&mut self, packet: &Parcel, at: Time, marked: bool, queued: u32) {
        self.marked += u32::from(marked);
        self.note(packet, format_args!("taken {at:?} {marked} {queued}"));
    }
    fn mark(&mut self, packet: &Parcel, at: Time, queued: u32) {
        self.marked += 1;
        self.note(packet, format_args!("marked {at:?} {queued}"));
    }
    fn depart(&mut self, packet: Parcel, departure: Departure) {
        self.left += 1;
        self.note(&packet, format_args!("{departure:?}"));
    }
    fn discard(&mut self, packet: Parcel, at: Time, why: Discard, queued: u32) {
        self.dropped += 1;
        self.note(&packet, format_args!("{at:?} {why:?} {queued}"));
    }
}

/// The line of random packets over a link.
fn line(name: &str, settings: LinkSettings, seed: u64) -> String {
    let [losses, queue, mut arrivals] = ["loss", "queue", "packets"].map(|of| Random::stream(seed, of, 0));
    let classes: Arc<[FlowClass]> = (0..FLOWS)
        .map(|flow| FlowClass { hosts: [flow % 2, 9 + flow % 3], dscp: [0, 8, 46, 34, 0, 18][flow as usize] })
        .collect();
    let mut link = Link::new(settings, losses, queue).with_classes(&classes);
    let (mut seen, mut now) = (Seen::default(), Time::ZERO);
    for number in 0..PACKETS {
        // Bursts of eight, and quiet times in which the queue empties now and then.
        if number % 8 == 0 {
            now += Span::from_micros(2000 + (arrivals.uniform() * 6000.0) as u64);
        }
        if number % 200 == 0 {
            now += Span::from_millis(300);
        }
        let size = 60 + (arrivals.uniform() * 1440.0) as u64;
        let ecn = [Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1, Ecn::Ect0][(arrivals.uniform() * 4.0) as usize];
        while let Some(due) = link.poll_timeout().filter(|&due| due <= now) {
            link.advance(due, &mut seen);
        }
        link.offer(now, Parcel { number, size, ecn }, &mut seen);
    }
    link.advance(now + Span::from_secs(60), &mut seen);
    let Seen { left, dropped, marked, whole } = seen;
    format!("{name}: {left} left, {dropped} dropped, {marked} marked {:016x}\n", whole.get())
}

fn on_link(discipline: DisciplineSettings, limit: Limit) -> LinkSettings {
    LinkSettings {
        service: Service::Fixed(Rate::from_mbit(8)),
        queue: QueueSettings { limit, discipline, ..QueueSettings::default() },
        loss: LossModel::None,
    }
}

/// Other values of a setting, some of which may not be allowed.
fn others(value: &Value, words: &[Value]) -> Vec<Value> {
    match value {
        Value::Bool(is_on) => vec![json!(!is_on)],
        Value::Number(number) => match number.as_u64() {
            Some(whole) => vec![json!(whole / 2 + 1), json!(whole * 3)],
            None => vec![json!(number.as_f64().unwrap_or(1.0) * 0.4), json!(number.as_f64().unwrap_or(1.0) * 1.7)],
        },
        Value::String(_) => ["2ms", "60ms", "3kB", "20kB", "5mbit", "20%", "10p"]
            .map(|one| json!(one))
            .into_iter()
            .chain(words.iter().cloned())
            .collect(),
        _ => Vec::new(),
    }
}

/// The words of a schema: what a setting that is a choice may be.
fn words(schema: &Value, found: &mut Vec<Value>) {
    match schema {
        Value::Object(keys) => {
            for (key, value) in keys {
                match (key.as_str(), value) {
                    ("enum", Value::Array(choices)) => found.extend(choices.iter().cloned()),
                    ("const", choice) => found.push(choice.clone()),
                    _ => words(value, found),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| words(part, found)),
        _ => {}
    }
}

#[test]
fn disciplines_treat_random_packets_as_reviewed() {
    let (mut text, mut seed, mut choices) = (String::new(), 0, Vec::new());
    words(schemars::schema_for!(DisciplineSettings).as_value(), &mut choices);
    for name in DisciplineSettings::NAMES {
        let read = |settings: &Value| {
            let found: DisciplineSettings = serde_json::from_value(settings.clone()).ok()?;
            found.check().ok().map(|()| found)
        };
        // A policer alone has no defaults.
        let least = json!({ "discipline": name, "rate": "6mbit", "burst": "9kB" });
        let Some(default) = read(&json!({ "discipline": name })).or_else(|| read(&least)) else { panic!("{name}") };
        let limits = [DisciplineSettings::default_limit(name).unwrap_or(Limit::Packets(60)), Limit::Packets(30)];
        for limit in limits {
            seed += 1;
            text += &line(&format!("{name}, {limit:?}"), on_link(default, limit), seed);
        }
        let Value::Object(all) = serde_json::to_value(default).unwrap() else { continue };
        for (key, value) in all.iter().filter(|(key, _)| *key != "discipline") {
            for other in others(value, &choices).into_iter().filter(|other| other != value) {
                let mut changed = all.clone();
                changed.insert(key.clone(), other.clone());
                if let Some(found) = read(&Value::Object(changed)).filter(|found| *found != default) {
                    seed += 1;
                    text += &line(&format!("{name} {key} = {other}"), on_link(found, Limit::Packets(40)), seed);
                }
            }
        }
    }
    insta::assert_snapshot!("disciplines", text);
}

/// Models of loss by name.
fn losses() -> [(&'static str, LossModel); 5] {
    let share = |value| Fraction::new(value).unwrap();
    let bursts = LossModel::GilbertElliott {
        good_to_bad: share(0.05),
        bad_to_good: share(0.3),
        loss_good: share(0.0),
        loss_bad: share(0.8),
    };
    let periods = LossModel::Periods {
        good_for: Span::from_millis(200),
        bad_for: Span::from_millis(40),
        loss_good: share(0.01),
        loss_bad: share(0.9),
    };
    let later = Time::ZERO + Span::from_millis(500);
    [
        ("bernoulli", LossModel::Bernoulli(share(0.1))),
        ("packets", LossModel::Packets { data: vec![3, 4, 500], openings: vec![] }),
        ("periods", periods),
        ("steps of losses", LossModel::Steps(vec![(Time::ZERO, LossModel::None), (later, bursts.clone())])),
        ("gilbert-elliott", bursts),
    ]
}

/// Services of a link by name.
fn services() -> [(&'static str, Service); 4] {
    let bucket = TokenBucket { rate: Rate::from_mbit(6), burst: Bytes::new(9000), peak: Rate::from_mbit(20) };
    let later = Time::ZERO + Span::from_millis(400);
    [
        ("steps of rates", Service::Steps(vec![(Time::ZERO, Rate::from_mbit(8)), (later, Rate::from_mbit(2))])),
        ("bucket", Service::Shaped(bucket)),
        ("bucket at once", Service::Shaped(TokenBucket { peak: TokenBucket::AT_ONCE, ..bucket })),
        ("unlimited", Service::Unlimited),
    ]
}

#[test]
fn links_treat_random_packets_as_reviewed() {
    let fixed = on_link(DisciplineSettings::Fifo, Limit::Packets(40));
    let queue = |limit| QueueSettings { limit, ..QueueSettings::default() };
    let queues = [
        ("bytes", queue(Limit::Bytes(Bytes::new(30_000)))),
        ("delay", queue(Limit::Delay(Span::from_millis(20)))),
        ("infinite", queue(Limit::Infinite)),
        ("in service", QueueSettings { count_in_service: true, mark_above: Some(9), ..queue(Limit::Packets(20)) }),
    ];
    let framed = Framing::names().into_iter().map(|keywords| {
        let framing = Framing::of(keywords).unwrap();
        (keywords, QueueSettings { framing, ..queue(Limit::Packets(40)) })
    });
    let of_losses = losses().map(|(name, loss)| (name, LinkSettings { loss, ..fixed.clone() }));
    let of_services = services().map(|(name, service)| (name, LinkSettings { service, ..fixed.clone() }));
    let of_queues =
        queues.into_iter().chain(framed).map(|(name, queue)| (name, LinkSettings { queue, ..fixed.clone() }));
    let all = of_losses.into_iter().chain(of_services).chain(of_queues);
    let text: String = (100..).zip(all).map(|(seed, (name, settings))| line(name, settings, seed)).collect();
    insta::assert_snapshot!("links", text);
}
