//! Hidden stations, to the microsecond, and their cost to stations that always send.
//!
//! 802.11a at 54 Mbit/s: data of 248 us, SIFS 16 us, ACK 28 us, slots of 9 us, DIFS 34 us, ACK time-out 45 us, EIFS 60
//! us more than DIFS. RTS and CTS 28 us each.

use units::{Random, Span, Time};

use super::super::*;
use super::exchanges::{Seen, play, play_again};
use super::rules::{high_throughput, prioritised};
use super::saturation::{Saturated, network};
use crate::Discard;
use crate::testing::{Parcel, at};

/// Stations under 802.11a at 54 Mbit/s, of which these pairs are hidden from each other.
fn apart(stations: u32, hidden: &[[u32; 2]]) -> MediumSettings {
    MediumSettings { hidden: hidden.to_vec(), ..network(stations, 54_000) }
}

fn sent(access: u32, start: u64, end: u64, fate: Fate) -> Seen {
    Seen::Sent { access, start, data: start, end, fate }
}

/// The starts of the transmissions of `access`.
fn starts(log: &[Seen], access: u32) -> Vec<u64> {
    let start = |seen: &Seen| match *seen {
        Seen::Sent { access: sender, start, .. } if sender == access => Some(start),
        _ => None,
    };
    log.iter().filter_map(start).collect()
}

/// `start` is DIFS and at most 31 whole slots, the second window, after `idle`.
fn is_backoff(start: u64, idle: u64) -> bool {
    start >= idle + 34 && (start - idle - 34).is_multiple_of(9) && start <= idle + 34 + 31 * 9
}

#[test]
fn frames_that_overlap_at_the_access_point_are_lost() {
    // Station 2 does not sense the frame of station 1 that began 100 us before its own.
    for seed in 0..20 {
        let log = play_again(&apart(2, &[[1, 2]]), &[(100, 1), (200, 2)], seed);
        assert_eq!(log[0], sent(1, 100, 348, Fate::Collision(2)));
        // With the next frame of station 1 too where that begins before 448 us.
        let others = starts(&log, 1)[1..].iter().filter(|start| **start < 448).count() as u32;
        assert_eq!(log[1], sent(2, 200, 448, Fate::Collision(2 + others)));
        // Each counts from its own ACK time-out and does not sense the other, which is still sending or sends again.
        assert!(is_backoff(starts(&log, 1)[1], 348 + 45), "{log:?}");
        if starts(&log, 2)[1] < starts(&log, 1)[1] + 264 {
            assert!(is_backoff(starts(&log, 2)[1], 448 + 45), "{log:?}");
        }
    }
    // Stations in range of each other do not collide.
    let log = play(&apart(3, &[[1, 3]]), &[(100, 1), (200, 2)]);
    assert_eq!(log[1], sent(1, 100, 392, Fate::Acknowledged));
}

#[test]
fn all_stations_sense_the_end_of_an_ack() {
    // A frame that comes during the ACK, from 364 to 392 us, waits for its end.
    let log = play(&apart(2, &[[1, 2]]), &[(100, 1), (370, 2)]);
    assert_eq!(log[0], Seen::Delivered { access: 1, at: 348 });
    assert_eq!(log[1], sent(1, 100, 392, Fate::Acknowledged));
    assert!(is_backoff(starts(&log, 2)[0], 392), "{log:?}");
    // A packet that comes in the SIFS before the ACK is sent at once. The access point sends its ACK all the same, and
    // station 1 senses the ACK alone. Meanwhile the access point does not receive the frame of station 2.
    let log = play(&apart(2, &[[1, 2]]), &[(100, 1), (350, 2)]);
    assert_eq!(log[1], sent(1, 100, 392, Fate::Acknowledged));
    assert_eq!(log[2], sent(2, 350, 598, Fate::Collision(2)));
}

#[test]
fn who_does_not_understand_waits_for_eifs_and_who_does_for_the_ack() {
    // Station 3 senses both from 100 to 448 us, and understands neither. It is idle from `448 + 60 + 34 us` on.
    let hidden = apart(3, &[[1, 2]]);
    let alone = |log: &[Seen]| {
        let others = [1, 2].map(|access| starts(log, access)[1]);
        others.iter().all(|other| *other > starts(log, 3)[0])
    };
    let first: Vec<u64> = (0..60)
        .map(|seed| play_again(&hidden, &[(100, 1), (200, 2), (300, 3)], seed))
        .filter(|log| alone(log))
        .map(|log| starts(&log, 3)[0])
        .collect();
    assert!(first.len() > 3 && first.iter().all(|start| is_backoff(*start, 508)), "{first:?}");
    // Between a frame that it understood and its ACK the medium is not idle.
    let log = play(&hidden, &[(100, 1), (355, 3)]);
    assert!(is_backoff(starts(&log, 3)[0], 392), "{log:?}");
}

#[test]
fn a_cts_silences_stations_that_did_not_sense_the_rts() {
    let mut settings = apart(2, &[[1, 2]]);
    settings.rts_threshold = Some(1000);
    // RTS 100 to 128, CTS 144 to 172, data 188 to 436, ACK 452 to 480 us. At 150 us station 2 senses the CTS.
    let log = play(&settings, &[(100, 1), (150, 2)]);
    assert_eq!(log[0], Seen::Delivered { access: 1, at: 436 });
    assert_eq!(log[1], Seen::Sent { access: 1, start: 100, data: 188, end: 480, fate: Fate::Acknowledged });
    assert!(is_backoff(starts(&log, 2)[0], 480), "{log:?}");
    // At 120 us it does not: both RTS are lost, and no more than these.
    let log = play(&settings, &[(100, 1), (120, 2)]);
    assert_eq!(log[0], Seen::Sent { access: 1, start: 100, data: 128, end: 128, fate: Fate::Collision(2) });
    assert_eq!(log[1], Seen::Sent { access: 2, start: 120, data: 148, end: 148, fate: Fate::Collision(2) });
}

#[test]
fn the_nav_of_an_rts_without_data_is_reset() {
    // Station 3 senses and understands the RTS of station 1, 100 to 128 us, which announces the medium until 480 us.
    // The access point does not, as station 2 began at 120 us. No data comes within two SIFS, CTS, two slots and 20 us:
    // from `128 + 32 + 28 + 18 + 20 = 226 us` on the medium is idle for station 3.
    let mut settings = apart(3, &[[1, 2], [2, 3]]);
    settings.rts_threshold = Some(1000);
    let alone = |log: &[Seen]| {
        let others = [1, 2].map(|access| starts(log, access)[1]);
        others.iter().all(|other| *other > starts(log, 3)[0])
    };
    let first: Vec<u64> = (0..200)
        .map(|seed| play_again(&settings, &[(100, 1), (120, 2), (140, 3)], seed))
        .filter(|log| alone(log))
        .map(|log| starts(&log, 3)[0])
        .collect();
    assert!(first.len() > 5 && first.iter().all(|start| is_backoff(*start, 226)), "{first:?}");
}

/// The packets handed over, with times in microseconds, and every attempt. Nothing is dropped.
#[derive(Debug, Default)]
struct Count {
    delivered: Vec<(u32, u64)>,
    attempts: Vec<Attempt>,
}

impl Listener<Parcel> for Count {
    fn take(&mut self, _: u32, _: &Parcel, _: Time, _: bool, _: u32) {}
    fn mark(&mut self, _: u32, _: &Parcel, _: Time, _: u32) {}
    fn serve(&mut self, _: u32, _: &Parcel, _: Time, _: Span, _: u32) {}
    fn deliver(&mut self, access: u32, _: Parcel, _: Span, at: Time) {
        self.delivered.push((access, at.as_nanos() / 1000));
    }
    fn discard(&mut self, _: u32, packet: Parcel, _: Time, why: Discard, _: u32) {
        panic!("{packet:?} {why:?}");
    }
    fn attempt(&mut self, attempt: &Attempt, _: u32) {
        self.attempts.push(*attempt);
    }
}

impl Count {
    /// Packets of 1500 bytes that arrive at 100 us: so many at each access, for a station.
    fn play(settings: &MediumSettings, arrivals: &[(u32, u32, u32)], seed: u64) -> Self {
        let stream = |name| Random::stream(seed, name, 0);
        let queue = |access| Random::stream(seed, "queue", u64::from(access));
        let mut medium = Medium::new(settings, stream("backoff"), stream("frame errors"), queue);
        let mut seen = Self::default();
        for &(packets, access, to) in arrivals {
            for _ in 0..packets {
                medium.offer(at(100), access, to, Parcel::of(access, 1500), &mut seen);
            }
        }
        while medium.next() != Time::NEVER {
            medium.advance(medium.next(), &mut seen);
        }
        assert_eq!(medium.packets(), 0);
        seen
    }

    /// The attempts of `access`.
    fn of(&self, access: u32) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(move |attempt| attempt.access == access)
    }
}

#[test]
fn a_frame_whose_ack_is_lost_is_handed_over_once() {
    // The access point and station 2 begin at once. Station 2 is hidden from station 1, which receives its frame. Its
    // ACK reaches the access point while the frame of station 2, at 6 Mbit/s, still lasts there.
    let mut settings = apart(2, &[[1, 2]]);
    settings.stations[2].rate = RateSettings::Fixed(0);
    let seen = Count::play(&settings, &[(1, ACCESS_POINT, 1), (1, 2, ACCESS_POINT)], 3);
    // Handed over when it came, 248 us after its start, and not again when it was sent again.
    assert_eq!(seen.delivered[0], (ACCESS_POINT, 348));
    assert_eq!(seen.delivered.iter().filter(|(access, _)| *access == ACCESS_POINT).count(), 1);
    let fates: Vec<Fate> = seen.of(ACCESS_POINT).map(|attempt| attempt.fate).collect();
    assert!(fates[0] == Fate::Collision(2) && fates.ends_with(&[Fate::Acknowledged]), "{fates:?}");
}

#[test]
fn an_aggregate_whose_block_ack_is_lost_goes_again_whole_and_is_handed_over_once() {
    // 802.11n, MCS 7: four frames are 800 us. Station 1 receives them and answers from 916 to 948 us, while the access
    // point still senses station 2: 1538 bytes at 6 Mbit/s are 2076 us. The block ACK is lost, so the frames themselves
    // go again.
    let mut settings = high_throughput(2, 64);
    settings.hidden = vec![[1, 2]];
    settings.stations[2].rate = RateSettings::Fixed(0);
    for seed in 0..10 {
        let seen = Count::play(&settings, &[(4, ACCESS_POINT, 1), (1, 2, ACCESS_POINT)], seed);
        let down: Vec<u64> = seen.delivered.iter().filter(|(access, _)| *access == 0).map(|(_, at)| *at).collect();
        assert_eq!(down, [900; 4]);
        let sent: Vec<_> = seen.of(ACCESS_POINT).map(|attempt| (attempt.frames, attempt.acknowledged)).collect();
        assert!(sent.len() > 1 && sent[..sent.len() - 1].iter().all(|sent| *sent == (4, 0)), "{sent:?}");
        assert_eq!(sent.last(), Some(&(4, 4)));
        assert_eq!(seen.attempts[0].fate, Fate::Collision(2));
    }
}

#[test]
fn an_aggregate_is_lost_whole_where_a_hidden_station_sends_at_its_end() {
    // Four frames from 100 to 900 us. Station 2 does not sense them and begins at 850 us, within the last one.
    let mut settings = high_throughput(2, 64);
    settings.hidden = vec![[1, 2]];
    let mut arrivals = vec![(100, 1); 4];
    arrivals.push((850, 2));
    let log = play(&settings, &arrivals);
    assert_eq!(log[0], sent(1, 100, 900, Fate::Collision(2)));
    // Station 1 does not know which frames the access point missed: all four are delivered together later.
    let delivered: Vec<u64> = log.iter().filter_map(|seen| delivered_by(seen, 1)).collect();
    assert!(delivered.len() == 4 && delivered.iter().all(|at| *at == delivered[0] && *at > 1700), "{log:?}");
}

/// When `seen` is the delivery of a packet of `access`.
fn delivered_by(seen: &Seen, access: u32) -> Option<u64> {
    match *seen {
        Seen::Delivered { access: sender, at } if sender == access => Some(at),
        _ => None,
    }
}

#[test]
fn access_categories_count_from_the_ack_to_a_hidden_station() {
    // Station 1 sends from 100 us: 1538 bytes are 252 us, the ACK ends at 396 us. In it a packet comes to station 2:
    // voice waits for 34 us and up to 3 slots, best effort for 43 us and up to 15.
    for (category, ifs, window) in [(3, 34, 3), (0, 43, 15)] {
        let mut settings = prioritised(&[0, category]);
        settings.hidden = vec![[1, 2]];
        let seeds = 0..200;
        let slots = seeds.map(|seed| {
            let log = play_again(&settings, &[(100, 1), (380, 2)], seed);
            let start = starts(&log, 2)[0];
            assert!((start - 396 - ifs).is_multiple_of(9), "{start}");
            (start - 396 - ifs) / 9
        });
        let drawn: std::collections::BTreeSet<u64> = slots.collect();
        assert_eq!(drawn, (0..=window).collect());
    }
}

#[test]
fn categories_and_aggregates_get_the_same_where_silent_stations_are_hidden() {
    // The last two stations are hidden from each other and send nothing. The others are counted frame by frame, and
    // their throughput is the same as with whole exchanges.
    let same = |open: &MediumSettings| {
        let silent = open.stations.len() as u32 - 2;
        let mut open = open.clone();
        open.accesses.retain(|access| access.station < silent);
        let split = MediumSettings { hidden: vec![[silent, silent + 1]], ..open.clone() };
        let [one, other] = [&open, &split].map(|settings| Saturated::run(settings, 1500, 30));
        let near = |one: f64, other: f64, tolerance| assert!((other / one - 1.0).abs() < tolerance, "{one} {other}");
        near(one.throughput(1500), other.throughput(1500), 0.01);
        for (one, other) in one.delivered.iter().zip(&other.delivered).skip(1) {
            near(*one as f64, *other as f64, 0.1);
        }
        assert!((other.collided() - one.collided()).abs() < 0.01, "{} {}", one.collided(), other.collided());
    };
    // Voice and best effort of one station, best effort and video of two more.
    let mut categories = prioritised(&[3, 0, 0, 2, 0, 0]);
    categories.accesses[2].station = 1;
    same(&categories);
    let mut aggregates = high_throughput(6, 64);
    aggregates.stations.iter_mut().for_each(|station| station.errors = FrameErrors::Share(0.1));
    same(&aggregates);
}

/// Every attempt: its sender, start, end and success.
#[derive(Debug, Default)]
struct Attempts(Vec<(u32, Time, Time, Fate)>);

impl Listener<Parcel> for Attempts {
    fn take(&mut self, _: u32, _: &Parcel, _: Time, _: bool, _: u32) {}
    fn mark(&mut self, _: u32, _: &Parcel, _: Time, _: u32) {}
    fn serve(&mut self, _: u32, _: &Parcel, _: Time, _: Span, _: u32) {}
    fn deliver(&mut self, _: u32, _: Parcel, _: Span, _: Time) {}
    fn discard(&mut self, _: u32, _: Parcel, _: Time, _: Discard, _: u32) {}
    fn attempt(&mut self, attempt: &Attempt, _: u32) {
        self.0.push((attempt.access, attempt.start, attempt.end, attempt.fate));
    }
}

#[test]
fn a_station_that_senses_all_behaves_as_without_hidden_ones() {
    // Stations 6 and 7, which are hidden from each other, never send: the others do the same to the nanosecond, though
    // every frame of theirs is an event here.
    let attempts = |settings: &MediumSettings| {
        let stream = |name| Random::stream(1, name, 0);
        let queue = |access| Random::stream(1, "queue", u64::from(access));
        let mut medium = Medium::new(settings, stream("backoff"), stream("frame errors"), queue);
        let mut seen = Attempts::default();
        for access in 1..6 {
            for _ in 0..500 {
                medium.offer(Time::ZERO, access, ACCESS_POINT, Parcel::of(access, 1500), &mut seen);
            }
        }
        while medium.next() != Time::NEVER {
            medium.advance(medium.next(), &mut seen);
        }
        seen.0
    };
    for (rts, countdown, errors, txop) in [
        (None, Countdown::Standard, 0.0, 0),
        (None, Countdown::Standard, 0.1, 0),
        (Some(0), Countdown::EverySlot, 0.0, 0),
        (Some(0), Countdown::Standard, 0.1, 0),
        (None, Countdown::Standard, 0.0, 2048),
    ] {
        let mut open = network(7, 54_000);
        open.rts_threshold = rts;
        open.conventions.countdown = countdown;
        open.stations.iter_mut().for_each(|station| station.errors = FrameErrors::Share(errors));
        open.accesses.iter_mut().for_each(|access| access.category.txop = Span::from_micros(txop));
        let split = MediumSettings { hidden: vec![[6, 7]], ..open.clone() };
        let (one, other) = (attempts(&open), attempts(&split));
        let differs = one.iter().zip(&other).position(|(one, other)| one != other);
        assert_eq!(differs, None, "{:?} {:?}", one.get(differs.unwrap_or(0)), other.get(differs.unwrap_or(0)));
        assert!(one.len() == other.len() && one.len() > 2500);
    }
}

#[test]
fn hidden_stations_lose_more_the_longer_their_frames_and_rts_help() {
    let saturated = |kbit: u32, pairs: &[[u32; 2]], rts| {
        let mut settings = network(2, kbit);
        settings.hidden = pairs.to_vec();
        settings.rts_threshold = rts;
        Saturated::run(&settings, 1500, 60)
    };
    // Frames of 248 us are as long as the second contention window, and frames of 2072 us are longer than the fifth.
    for (kbit, share, lost) in [(54_000, 0.6..0.8, 0.3..0.4), (6000, 0.1..0.25, 0.85..0.92)] {
        let hidden = saturated(kbit, &[[1, 2]], None);
        let of_open = hidden.throughput(1500) / saturated(kbit, &[], None).throughput(1500);
        assert!(share.contains(&of_open), "{kbit}: {of_open}");
        assert!(lost.contains(&hidden.collided()), "{kbit}: {}", hidden.collided());
        // Behind an RTS it is the 44 us until the CTS begins that matter, at any rate of the data.
        let helped = saturated(kbit, &[[1, 2]], Some(0));
        let of_open = helped.throughput(1500) / saturated(kbit, &[], Some(0)).throughput(1500);
        assert!((0.9..1.0).contains(&of_open) && (0.15..0.25).contains(&helped.collided()), "{kbit}: {of_open}");
        assert!(helped.throughput(1500) > hidden.throughput(1500));
        // Who succeeds draws from the smallest window again while the other waits: they take long turns, but get alike.
        let [one, other] = [1, 2].map(|access| helped.delivered[access] as f64);
        assert!((one / other - 1.0).abs() < 0.15, "{:?}", helped.delivered);
    }
}

#[test]
fn the_backoff_after_a_frame_goes_on_for_one_that_comes_meanwhile() {
    for settings in [network(2, 54_000), apart(2, &[[1, 2]])] {
        let second = |arrival| -> Vec<u64> {
            (0..100).map(|seed| starts(&play_again(&settings, &[(100, 1), (arrival, 1)], seed), 1)[1]).collect()
        };
        // The ACK ends at 392 us, the backoff 34 us and 0 to 15 slots later. A frame that comes at 430 us leaves at
        // once only if that was 0.
        let at_430 = second(430);
        let at_once = at_430.iter().filter(|start| **start == 430).count();
        assert!((1..20).contains(&at_once), "{at_once}");
        let on_a_slot = |start: &u64| *start == 430 || (*start > 430 && (*start - 426).is_multiple_of(9));
        assert!(at_430.iter().all(on_a_slot) && at_430.iter().max() == Some(&561), "{at_430:?}");
        // At 600 us it is over.
        assert!(second(600).iter().all(|start| *start == 600));
    }
}
