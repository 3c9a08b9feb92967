//! Stations that always have something to send: throughput, collisions and fairness (Bianchi 2000, "Performance
//! Analysis of the IEEE 802.11 Distributed Coordination Function", JSAC 18(3)).

use units::{Random, Span, Time};

use super::super::*;
use crate::testing::Parcel;
use crate::{Discard, QueueSettings};

/// The use of a medium by stations that always send.
#[derive(Debug, Default)]
pub(super) struct Saturated {
    pub(super) delivered: Vec<u64>,
    pub(super) dropped: Vec<u64>,
    pub(super) attempts: u64,
    pub(super) collisions: u64,
    /// The longest attempt, from the first bit of the data on.
    pub(super) longest: Span,
    pub(super) seconds: f64,
}

impl Listener<Parcel> for Saturated {
    fn take(&mut self, _: u32, _: &Parcel, _: Time, _: bool, _: u32) {}
    fn mark(&mut self, _: u32, _: &Parcel, _: Time, _: u32) {}
    fn serve(&mut self, _: u32, _: &Parcel, _: Time, _: Span, _: u32) {}
    fn deliver(&mut self, access: u32, _: Parcel, _: Span, _: Time) {
        self.delivered[access as usize] += 1;
    }
    fn discard(&mut self, access: u32, _: Parcel, _: Time, _: Discard, _: u32) {
        self.dropped[access as usize] += 1;
    }
    fn attempt(&mut self, attempt: &Attempt, _: u32) {
        self.attempts += 1;
        self.longest = self.longest.max(attempt.end.since(attempt.data));
        self.collisions += u64::from(matches!(attempt.fate, Fate::Collision(_)));
    }
}

impl Saturated {
    /// `settings` for so many `seconds`, in which every access except the access point's always has packets of `bytes`.
    pub(super) fn run(settings: &MediumSettings, bytes: u64, seconds: u64) -> Self {
        let stream = |name| Random::stream(1, name, 0);
        let queue = |access| Random::stream(1, "queue", u64::from(access));
        let mut medium = Medium::new(settings, stream("backoff"), stream("frame errors"), queue);
        let accesses = settings.accesses.len();
        let mut seen = Self { delivered: vec![0; accesses], dropped: vec![0; accesses], ..Self::default() };
        let sends = |access: &u32| settings.accesses[*access as usize].station != ACCESS_POINT;
        let senders: Vec<u32> = (0..accesses as u32).filter(sends).collect();
        // Enough for the longest A-MPDU.
        let fill = settings.aggregation.map_or(1, |most| most.frames.max(64));
        let end = Time::ZERO + Span::from_secs(seconds);
        let mut now = Time::ZERO;
        while now < end {
            for &access in &senders {
                while medium.queued(access).0 < fill {
                    medium.offer(now, access, ACCESS_POINT, Parcel::of(access, bytes), &mut seen);
                }
            }
            now = medium.next();
            medium.advance(now, &mut seen);
        }
        seen.seconds = now.as_secs_f64();
        seen
    }

    /// Mbit/s of packets of `bytes`.
    pub(super) fn throughput(&self, bytes: u64) -> f64 {
        self.delivered.iter().sum::<u64>() as f64 * bytes as f64 * 8e-6 / self.seconds
    }

    pub(super) fn collided(&self) -> f64 {
        self.collisions as f64 / self.attempts as f64
    }
}

/// An access point and `stations` with DCF under 802.11a at `kbit`.
pub(super) fn network(stations: u32, kbit: u32) -> MediumSettings {
    let phy = PhySettings::of(Standard::A);
    let modes = Phy::new(&phy, &[]).modes;
    let mode = modes.iter().position(|mode| mode.kbit == kbit).unwrap() as u8;
    let station = StationSettings { rate: RateSettings::Fixed(mode), errors: FrameErrors::None, dsss: false };
    let access = |station| AccessSettings { station, queue: QueueSettings::default(), category: Category::DCF };
    MediumSettings {
        phy,
        basic_rates: Vec::new(),
        conventions: Conventions::default(),
        short_retry_limit: 7,
        long_retry_limit: 4,
        rts_threshold: None,
        lifetime: None,
        beacons: None,
        qos: false,
        aggregation: None,
        airtime_fairness: false,
        stations: vec![station; 1 + stations as usize],
        accesses: (0..=stations).map(access).collect(),
        hidden: Vec::new(),
    }
}

/// The assumptions of the model: every slot counts, DIFS after a collision, no limit of retries.
fn as_in_the_model(mut settings: MediumSettings) -> MediumSettings {
    settings.conventions.countdown = Countdown::EverySlot;
    settings.conventions.after_collision = AfterCollision::Difs;
    settings.short_retry_limit = u32::MAX;
    settings
}

/// Bianchi's probability of a collision for `n` stations with windows from 16 to 1024 (equations 7 and 9).
fn collision_probability(n: u32) -> (f64, f64) {
    let (window, stages) = (16.0, 6);
    let tau = |p: f64| {
        let sum: f64 = (0..stages).map(|stage| libm::pow(2.0 * p, f64::from(stage))).sum();
        2.0 / (1.0 + window + p * window * sum)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = (low + high) / 2.0;
        if p < 1.0 - libm::pow(1.0 - tau(p), f64::from(n - 1)) {
            low = p;
        } else {
            high = p;
        }
    }
    (low, tau(low))
}

/// Bianchi's saturation throughput in Mbit/s of packets of 1500 bytes (equation 13), for exchanges and collisions of
/// so many microseconds.
fn model_throughput(n: u32, exchange: f64, collision: f64) -> f64 {
    let (_, tau) = collision_probability(n);
    let n = f64::from(n);
    let none = libm::pow(1.0 - tau, n);
    let one = n * tau * libm::pow(1.0 - tau, n - 1.0);
    one * 12_000.0 / (none * 9.0 + one * exchange + (1.0 - none - one) * collision)
}

#[test]
fn saturation_throughput_and_collisions_are_those_of_bianchi() {
    // A frame of 1536 bytes and its ACK: at 6 Mbit/s 2072 and 44 us, at 24 Mbit/s `20 + 129 * 4 = 536` and 28 us, at
    // 54 Mbit/s 248 and 28 us. SIFS 16 and DIFS 34 us.
    for (kbit, frame, ack) in [(6000, 2072.0, 44.0), (24_000, 536.0, 28.0), (54_000, 248.0, 28.0)] {
        for n in [1, 2, 5, 10, 20, 50] {
            let seen = Saturated::run(&as_in_the_model(network(n, kbit)), 1500, 60);
            let expected = model_throughput(n, frame + 16.0 + ack + 34.0, frame + 34.0);
            let ratio = seen.throughput(1500) / expected;
            assert!((ratio - 1.0).abs() < 0.02, "{n} stations at {kbit}: {ratio} of {expected}");
            // Two stations are not independent, as the model assumes: after a collision both windows are 32.
            let (collided, _) = collision_probability(n);
            if n > 2 {
                let ratio = seen.collided() / collided;
                assert!((ratio - 1.0).abs() < 0.02, "{n} stations at {kbit}: {ratio} of {collided}");
            }
        }
    }
}

#[test]
fn one_station_alone_sends_a_frame_per_exchange_and_mean_backoff() {
    // `34 + 7.5 * 9 + 248 + 16 + 28 = 393.5 us` for 12,000 bits: 30.50 Mbit/s.
    let seen = Saturated::run(&network(1, 54_000), 1500, 20);
    assert!((seen.throughput(1500) - 30.496).abs() < 0.05, "{}", seen.throughput(1500));
    assert_eq!(seen.collisions, 0);
}

/// A medium of `standard` on 80 MHz with one stream at its fastest rate, frame by frame unless there is `aggregation`.
fn on_80_mhz(standard: Standard, stations: u32, aggregation: Option<Aggregation>) -> MediumSettings {
    let mut settings = network(stations, 54_000);
    settings.phy = PhySettings { streams: 1, width: Width::Mhz80, ..PhySettings::of(standard) };
    settings.qos = true;
    settings.aggregation = aggregation;
    settings.stations.iter_mut().for_each(|station| station.rate = RateSettings::Fastest);
    settings
}

#[test]
fn very_high_throughput_and_high_efficiency_saturate_as_bianchi_has_it() {
    // Frames of 1538 bytes: `22 + 12,304` bits are 8 symbols of 1560, `16 + 12,304` two of 8166. An ACK takes 28 us.
    for (standard, frame) in [(Standard::Ac, 40.0 + 8.0 * 4.0), (Standard::Ax, 43.2 + 2.0 * 13.6)] {
        for n in [5, 10, 50] {
            let seen = Saturated::run(&as_in_the_model(on_80_mhz(standard, n, None)), 1500, 20);
            let expected = model_throughput(n, frame + 16.0 + 28.0 + 34.0, frame + 34.0);
            let ratio = seen.throughput(1500) / expected;
            assert!((ratio - 1.0).abs() < 0.02, "{n} stations of {standard:?}: {ratio} of {expected}");
            let ratio = seen.collided() / collision_probability(n).0;
            assert!((ratio - 1.0).abs() < 0.02, "{n} stations of {standard:?}: {ratio}");
        }
    }
}

#[test]
fn aggregates_of_one_station_take_the_time_that_the_clauses_give() {
    // 64 frames of `4 + 1540` bytes at 390 Mbit/s: `22 + 790,528` bits are 507 symbols of 1560, so 2068 us. With
    // backoff, SIFS and block ACK `34 + 67.5 + 2068 + 16 + 32 = 2217.5 us` for 768,000 bits.
    let ac = Saturated::run(&on_80_mhz(Standard::Ac, 1, Aggregation::of(Standard::Ac)), 1500, 20);
    assert!((ac.throughput(1500) - 346.34).abs() < 0.5, "{}", ac.throughput(1500));
    // 256 of them: `16 + 3,162,112` bits are 388 symbols of 8166, `43.2 + 5276.8 = 5320 us`, still below 5484 us.
    // `34 + 67.5 + 5320 + 16 + 40 = 5477.5 us` for 3,072,000 bits.
    let ax = Saturated::run(&on_80_mhz(Standard::Ax, 1, Aggregation::of(Standard::Ax)), 1500, 20);
    assert!((ax.throughput(1500) - 560.84).abs() < 0.8, "{}", ax.throughput(1500));
}
