//! Single exchanges, to the microsecond.

use units::{Random, Span, Time};

use super::super::*;
use super::saturation::network;
use crate::Discard;
use crate::testing::{Parcel, at};

/// An event, with the time in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Seen {
    Sent { access: u32, start: u64, data: u64, end: u64, fate: Fate },
    Delivered { access: u32, at: u64 },
    Dropped { access: u32, why: Discard },
}

/// The events, and the rate of each attempt in kbit/s.
#[derive(Debug, Default)]
struct Log(Vec<Seen>, Vec<u32>);

fn micros(at: Time) -> u64 {
    at.as_nanos() / 1000
}

impl Listener<Parcel> for Log {
    fn take(&mut self, _: u32, _: &Parcel, _: Time, _: bool, _: u32) {}
    fn mark(&mut self, _: u32, _: &Parcel, _: Time, _: u32) {}
    fn serve(&mut self, _: u32, _: &Parcel, _: Time, _: Span, _: u32) {}
    fn deliver(&mut self, access: u32, _: Parcel, _: Span, at: Time) {
        self.0.push(Seen::Delivered { access, at: micros(at) });
    }
    fn discard(&mut self, access: u32, _: Parcel, _: Time, why: Discard, _: u32) {
        self.0.push(Seen::Dropped { access, why });
    }
    fn attempt(&mut self, attempt: &Attempt, kbit: u32) {
        self.1.push(kbit);
        let Attempt { access, fate, .. } = *attempt;
        let [start, data, end] = [attempt.start, attempt.data, attempt.end].map(micros);
        self.0.push(Seen::Sent { access, start, data, end, fate });
    }
}

/// Packets of 1500 bytes that arrive at (microsecond, access), and all that becomes of them.
pub(super) fn play(settings: &MediumSettings, arrivals: &[(u64, u32)]) -> Vec<Seen> {
    play_again(settings, arrivals, 3)
}

/// The same under another seed.
pub(super) fn play_again(settings: &MediumSettings, arrivals: &[(u64, u32)], seed: u64) -> Vec<Seen> {
    logged(settings, arrivals, seed).0
}

fn logged(settings: &MediumSettings, arrivals: &[(u64, u32)], seed: u64) -> Log {
    let stream = |name| Random::stream(seed, name, 0);
    let queue = |access| Random::stream(seed, "queue", u64::from(access));
    let mut medium = Medium::new(settings, stream("backoff"), stream("frame errors"), queue);
    let mut log = Log::default();
    for &(micros, access) in arrivals {
        while medium.next() < at(micros) {
            medium.advance(medium.next(), &mut log);
        }
        medium.offer(at(micros), access, ACCESS_POINT, Parcel::of(access, 1500), &mut log);
    }
    while medium.next() != Time::NEVER && (settings.beacons.is_none() || medium.packets() > 0) {
        medium.advance(medium.next(), &mut log);
    }
    assert_eq!(medium.packets(), 0);
    log
}

#[test]
fn a_frame_that_finds_the_medium_idle_is_sent_at_once() {
    // 802.11a at 54 Mbit/s: 248 us, SIFS 16 us, an ACK of 28 us.
    let sent = Seen::Sent { access: 1, start: 100, data: 100, end: 392, fate: Fate::Acknowledged };
    assert_eq!(play(&network(1, 54_000), &[(100, 1)]), [sent, Seen::Delivered { access: 1, at: 348 }]);
}

#[test]
fn an_attempt_is_reported_with_the_rate_of_its_frame() {
    for kbit in [6000, 54_000] {
        assert_eq!(logged(&network(1, kbit), &[(100, 1)], 3).1, [kbit]);
    }
}

#[test]
fn without_immediate_access_a_backoff_comes_first() {
    let mut settings = network(1, 54_000);
    settings.conventions.immediate_access = false;
    let log = play(&settings, &[(100, 1)]);
    let Seen::Sent { start, .. } = log[0] else { panic!("{log:?}") };
    assert!(start > 100 && (start - 100).is_multiple_of(9) && start <= 100 + 15 * 9, "{start}");
}

#[test]
fn a_frame_that_arrives_in_an_exchange_waits_for_difs_and_whole_slots() {
    let log = play(&network(2, 54_000), &[(100, 1), (200, 2)]);
    let Seen::Sent { access: 2, start, .. } = log[2] else { panic!("{log:?}") };
    // The ACK ends at 392.
    assert!(start >= 392 + 34 && (start - 392 - 34).is_multiple_of(9) && start <= 392 + 34 + 135, "{start}");
}

#[test]
fn frames_that_start_together_collide_and_all_are_sent_again() {
    let log = play(&network(2, 54_000), &[(100, 1), (100, 2)]);
    let collided = |access| Seen::Sent { access, start: 100, data: 100, end: 348, fate: Fate::Collision(2) };
    assert_eq!(log[..2], [collided(1), collided(2)]);
    // DIFS after the ACK time-out: `16 + 9 + 20 us` after the frames.
    let Seen::Sent { start, .. } = log[2] else { panic!("{log:?}") };
    assert!(start >= 348 + 45 + 34 && (start - 348 - 45 - 34).is_multiple_of(9), "{start}");
    assert_eq!(log.iter().filter(|seen| matches!(seen, Seen::Delivered { .. })).count(), 2);
}

#[test]
fn after_a_collision_others_wait_for_eifs_where_they_detect_a_preamble() {
    // Station 3 gets a frame while 1 and 2 collide: the medium is idle for it after 348 us, or with EIFS `16 + 44 us`
    // later, then DIFS.
    for (convention, idle) in [
        (AfterCollision::Undetected, 348),
        (AfterCollision::Standard, 348 + 60),
        (AfterCollision::Eifs, 348 + 60),
        (AfterCollision::Difs, 348),
    ] {
        let mut settings = network(3, 54_000);
        settings.conventions.after_collision = convention;
        // Under some seeds it is the next to send: then no other frame is between.
        let starts: Vec<u64> = (0..40)
            .filter_map(|seed| match play_again(&settings, &[(100, 1), (100, 2), (200, 3)], seed)[2] {
                Seen::Sent { access: 3, start, .. } => Some(start),
                _ => None,
            })
            .collect();
        assert!(starts.len() > 5 && starts.iter().min() == Some(&(idle + 34)), "{starts:?}");
        assert!(starts.iter().all(|start| (start - idle - 34).is_multiple_of(9)), "{starts:?}");
    }
}

#[test]
fn rts_and_cts_go_before_frames_above_the_threshold() {
    // RTS 20 bytes at 24 Mbit/s: 182 bits, 2 symbols, 28 us. CTS 28 us: the data begins after `28 + 16 + 28 + 16 = 88`
    // us.
    let mut settings = network(2, 54_000);
    settings.rts_threshold = Some(1535);
    let sent = Seen::Sent { access: 1, start: 100, data: 188, end: 480, fate: Fate::Acknowledged };
    assert_eq!(play(&settings, &[(100, 1)]), [sent, Seen::Delivered { access: 1, at: 436 }]);
    // Only the RTS collides.
    let collided = Seen::Sent { access: 1, start: 100, data: 128, end: 128, fate: Fate::Collision(2) };
    assert_eq!(play(&settings, &[(100, 1), (100, 2)])[0], collided);
    settings.rts_threshold = Some(1536);
    assert_eq!(play(&settings, &[(100, 1)])[1], Seen::Delivered { access: 1, at: 348 });
}

#[test]
fn who_does_not_understand_the_data_behind_an_rts_waits_for_eifs() {
    // The data of station 1 ends at 436 us, its ACK would end at 480 us. EIFS leaves room for an ACK at 6 Mbit/s: the
    // medium is idle for station 2 after `436 + 16 + 44 us`, and not after 480 us as it was announced.
    let mut settings = network(2, 54_000);
    settings.rts_threshold = Some(1000);
    settings.stations[1].errors = FrameErrors::Share(1.0);
    let starts: Vec<u64> = (0..40)
        .filter_map(|seed| match play_again(&settings, &[(100, 1), (200, 2)], seed)[1] {
            Seen::Sent { access: 2, start, .. } => Some(start),
            _ => None,
        })
        .collect();
    assert!(starts.len() > 5 && starts.iter().min() == Some(&(496 + 34)), "{starts:?}");
    assert!(starts.iter().all(|start| (start - 496 - 34).is_multiple_of(9)), "{starts:?}");
}

#[test]
fn protection_sends_a_cts_to_itself_first() {
    let mut settings = network(1, 54_000);
    settings.phy = PhySettings { protection: true, ..PhySettings::of(Standard::G) };
    settings.stations[1].rate = RateSettings::Fastest;
    // CTS at 11 Mbit/s 203 us, SIFS 10 us, data 254 us, SIFS, ACK at 24 Mbit/s `28 + 6 us`.
    let sent = Seen::Sent { access: 1, start: 100, data: 313, end: 611, fate: Fate::Acknowledged };
    assert_eq!(play(&settings, &[(100, 1)]), [sent, Seen::Delivered { access: 1, at: 567 }]);
}

#[test]
fn a_frame_is_dropped_after_seven_attempts() {
    let mut settings = network(1, 54_000);
    settings.stations[1].errors = FrameErrors::Share(1.0);
    let log = play(&settings, &[(100, 1)]);
    assert_eq!(log.len(), 8);
    assert!(log[..7].iter().all(|seen| matches!(seen, Seen::Sent { fate: Fate::Error, .. })));
    assert_eq!(log[7], Seen::Dropped { access: 1, why: Discard::Retries });
    // Behind an RTS it is the long limit that holds.
    settings.rts_threshold = Some(0);
    assert_eq!(play(&settings, &[(100, 1)]).len(), 5);
}

#[test]
fn packets_are_given_up_after_their_lifetime() {
    // Five packets at once. The first is sent from 100 to 392 us, the second until `392 + 34 + 292 = 718 us` at least:
    // then the third has waited for 618 us.
    let mut settings = network(1, 54_000);
    settings.lifetime = Some(Span::from_micros(600));
    let log = play(&settings, &[(100, 1); 5]);
    assert_eq!(log.iter().filter(|seen| matches!(seen, Seen::Sent { .. })).count(), 2, "{log:?}");
    let expired = Seen::Dropped { access: 1, why: Discard::Head };
    assert_eq!(log.iter().filter(|seen| **seen == expired).count(), 3);
    // None goes again after 700 us: the third attempt ends at `100 + 3 * 248 + 2 * (45 + 34) us` or later.
    settings.stations[1].errors = FrameErrors::Share(1.0);
    let log = play(&settings, &[(100, 1)]);
    assert!(log.len() <= 4 && log.last() == Some(&Seen::Dropped { access: 1, why: Discard::Retries }), "{log:?}");
}
