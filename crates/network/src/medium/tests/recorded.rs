//! Networks of every kind under random packets, as a reviewer sees them: what became of them, and a number that stands
//! for all exchanges. A change of a rule shows in the networks that it reaches.

use std::fmt::Write as _;

use units::{Bytes, Digest, Random, Span};

use super::super::*;
use super::exchanges::{Seen, play_again};
use super::rules::high_throughput;
use super::saturation::network;
use crate::{Limit, QueueSettings};

/// Packets of a run.
const PACKETS: u64 = 250;

/// The line of a network whose accesses get packets at random times, `pause` microseconds apart in the mean.
fn line(name: &str, settings: &MediumSettings, pause: f64, seed: u64) -> String {
    let mut random = Random::stream(seed, "packets", 0);
    let accesses = settings.accesses.len() as f64;
    let mut now = 0;
    let arrivals: Vec<(u64, u32)> = (0..PACKETS)
        .map(|_| {
            // Some come at once.
            now += if random.happens(0.3) { 0 } else { (2.8 * pause * random.uniform()) as u64 };
            (now, (random.uniform() * accesses) as u32)
        })
        .collect();
    let log = play_again(settings, &arrivals, seed);
    let mut whole = Digest::default();
    let (mut delivered, mut dropped, mut attempts, mut collisions) = (0, 0, 0, 0);
    for seen in &log {
        write!(whole, "{seen:?}").unwrap();
        match seen {
            Seen::Delivered { .. } => delivered += 1,
            Seen::Dropped { .. } => dropped += 1,
            Seen::Sent { fate, .. } => {
                attempts += 1;
                collisions += u32::from(matches!(fate, Fate::Collision(_)));
            }
        }
    }
    format!(
        "{name}: {delivered} delivered, {dropped} dropped, {attempts} sent, {collisions} collide {:016x}\n",
        whole.get()
    )
}

/// Stations at distances of their own adapt their rates.
fn adapts(of: &mut MediumSettings, rate: &RateSettings) {
    for (number, station) in (0..).zip(&mut of.stations) {
        station.errors = FrameErrors::Distance(20.0 + 12.0 * f64::from(number));
        station.rate = rate.clone();
    }
}

/// The accesses have queues of this limit and discipline.
fn queues(of: &mut MediumSettings, limit: Limit, discipline: &str) {
    let discipline = serde_json::from_value(serde_json::json!({ "discipline": discipline })).unwrap();
    of.accesses.iter_mut().for_each(|access| access.queue = QueueSettings { limit, discipline, ..access.queue });
}

/// The accesses have such queues, and count what is in service.
fn count_all(of: &mut MediumSettings, limit: Limit) {
    queues(of, limit, "fifo");
    of.accesses.iter_mut().for_each(|access| access.queue.count_in_service = true);
}

/// A change of the settings, by name.
type Change = fn(&mut MediumSettings);

const CHANGES: [(&str, Change); 32] = [
    ("plain", |_| {}),
    ("slow station", |of| of.stations[1].rate = RateSettings::Fixed(0)),
    ("minstrel", |of| of.stations.iter_mut().for_each(|one| one.rate = RateSettings::Minstrel)),
    ("errors", |of| of.stations.iter_mut().for_each(|one| one.errors = FrameErrors::Share(0.2))),
    ("many errors", |of| of.stations.iter_mut().for_each(|one| one.errors = FrameErrors::Share(0.7))),
    ("arf", |of| adapts(of, &RateSettings::Arf)),
    ("samplerate", |of| adapts(of, &RateSettings::SampleRate)),
    ("samplerate of freebsd", |of| adapts(of, &RateSettings::SampleRateFreebsd)),
    ("far", |of| of.stations.iter_mut().for_each(|one| one.errors = FrameErrors::Distance(60.0))),
    ("far minstrel", |of| adapts(of, &RateSettings::Minstrel)),
    ("rts", |of| of.rts_threshold = Some(500)),
    ("rts and errors", |of| {
        of.rts_threshold = Some(500);
        of.stations[2].errors = FrameErrors::Share(0.4);
    }),
    ("lifetime", |of| {
        of.lifetime = Some(Span::from_millis(6));
        of.stations.iter_mut().for_each(|one| one.errors = FrameErrors::Share(0.5));
    }),
    ("beacons", |of| of.beacons = Some(Span::from_micros(20_480))),
    ("hidden", |of| of.hidden = vec![[2, 1], [3, 1]]),
    ("hidden with rts", |of| (of.hidden, of.rts_threshold) = (vec![[2, 1], [3, 2]], Some(500))),
    ("difs", |of| of.conventions.after_collision = AfterCollision::Difs),
    ("eifs", |of| of.conventions.after_collision = AfterCollision::Eifs),
    ("standard", |of| of.conventions.after_collision = AfterCollision::Standard),
    ("every slot", |of| of.conventions.countdown = Countdown::EverySlot),
    ("idle slots", |of| of.conventions.countdown = Countdown::IdleSlots),
    ("eifs at 6 Mbit/s", |of| of.conventions.eifs_rate = Some(6000)),
    ("no reset", |of| {
        of.conventions.reset_after_drop = false;
        of.stations.iter_mut().for_each(|one| one.errors = FrameErrors::Share(0.6));
    }),
    ("late access", |of| of.conventions.immediate_access = false),
    ("categories", |of| {
        let all = [Category::VOICE, Category::VIDEO, Category::BEST_EFFORT, Category::BACKGROUND];
        of.qos = true;
        of.accesses.iter_mut().zip(all).for_each(|(access, category)| access.category = category);
    }),
    ("txop", |of| {
        of.qos = true;
        let category = Category { txop: Span::from_micros(3008), ..Category::VIDEO };
        of.accesses.iter_mut().for_each(|access| access.category = category);
    }),
    ("turns", |of| of.airtime_fairness = true),
    ("short queues", |of| queues(of, Limit::Packets(3), "fifo")),
    ("turns of short queues", |of| {
        of.airtime_fairness = true;
        count_all(of, Limit::Packets(3));
    }),
    ("queues of bytes", |of| count_all(of, Limit::Bytes(Bytes::new(9000)))),
    ("fq_codel", |of| queues(of, Limit::Packets(12), "fq_codel")),
    ("turns of fq_codel", |of| {
        of.airtime_fairness = true;
        queues(of, Limit::Packets(12), "fq_codel");
    }),
];

#[test]
fn networks_treat_random_packets_as_reviewed() {
    let mut text = String::new();
    let mut seed = 0;
    let wide = |standard, streams| {
        let mut settings = high_throughput(3, 16);
        settings.phy = PhySettings { streams, ..PhySettings::of(standard) };
        settings
    };
    let old = |standard| {
        let mut settings = network(3, 54_000);
        settings.phy = PhySettings::of(standard);
        settings.stations.iter_mut().for_each(|station| station.rate = RateSettings::Fastest);
        settings
    };
    let kinds = [
        ("802.11b", old(Standard::B), 2500.0),
        ("802.11g", old(Standard::G), 500.0),
        ("802.11a", network(3, 54_000), 500.0),
        ("802.11n", high_throughput(3, 1), 400.0),
        ("802.11n aggregates", high_throughput(3, 32), 150.0),
        ("802.11ac", wide(Standard::Ac, 2), 90.0),
        ("802.11ax", wide(Standard::Ax, 2), 90.0),
    ];
    for (kind, settings, pause) in kinds {
        for (name, change) in CHANGES {
            let mut changed = settings.clone();
            change(&mut changed);
            seed += 1;
            text += &line(&format!("{kind} {name}"), &changed, pause, seed);
        }
    }
    insta::assert_snapshot!("networks", text);
}
