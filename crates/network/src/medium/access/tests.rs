//! One contender without the medium around it: A-MPDUs, retries, windows.

use units::Time;

use super::super::room::Addressed;
use super::super::*;
use super::*;
use crate::testing::{Parcel, at};
use crate::{Limit, QueueSettings};

/// The reports on packets, by their numbers.
#[derive(Debug, Default, PartialEq)]
struct Log {
    taken: Vec<(u32, u32)>,
    served: Vec<(u32, Span, u32)>,
    delivered: Vec<(u32, Span)>,
    discarded: Vec<(u32, Discard, u32)>,
}

impl Listener<Parcel> for Log {
    fn take(&mut self, _: u32, packet: &Parcel, _: Time, _: bool, queued: u32) {
        self.taken.push((packet.number, queued));
    }
    fn mark(&mut self, _: u32, _: &Parcel, _: Time, _: u32) {}
    fn serve(&mut self, _: u32, packet: &Parcel, _: Time, waited: Span, queued: u32) {
        self.served.push((packet.number, waited, queued));
    }
    fn deliver(&mut self, _: u32, packet: Parcel, waited: Span, _: Time) {
        self.delivered.push((packet.number, waited));
    }
    fn discard(&mut self, _: u32, packet: Parcel, _: Time, why: Discard, queued: u32) {
        self.discarded.push((packet.number, why, queued));
    }
    fn attempt(&mut self, _: &Attempt, _: u32) {}
}

const LIMITS: RetryLimits = RetryLimits { short: 3, long: 2, reset_after_drop: true };

fn medium() -> MediumSettings {
    let station = StationSettings { rate: RateSettings::Fastest, errors: FrameErrors::None, dsss: false };
    let queue = QueueSettings { limit: Limit::Packets(10), ..QueueSettings::default() };
    MediumSettings {
        phy: PhySettings::of(Standard::A),
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
        stations: vec![station; 3],
        accesses: vec![AccessSettings { station: 0, queue, category: Category::DCF }],
        hidden: Vec::new(),
    }
}

fn access_of(settings: &MediumSettings) -> Access<Parcel> {
    let phy = Phy::new(&settings.phy, &[]);
    Access::new(&settings.accesses[0], settings, &phy, Random::stream(1, "queue", 0))
}

/// Packets of these stations wait since 0, numbered from 0 on.
fn waiting(access: &mut Access<Parcel>, log: &mut Log, stations: &[u32]) {
    for (number, &to) in (0..).zip(stations) {
        let out = &mut Reports { access: 0, listener: &mut *log };
        access.offer(at(0), Addressed { packet: Parcel::full(number), to }, out);
    }
}

/// The frames on the air, by number.
fn on_air(access: &Access<Parcel>) -> Vec<u32> {
    let sent = access.sending.iter().filter(|frame| frame.on_air);
    sent.map(|frame| frame.packet.as_ref().unwrap().number).collect()
}

fn gather(access: &mut Access<Parcel>, log: &mut Log, frames: u32, bytes: u32) -> Vec<u32> {
    let out = &mut Reports { access: 0, listener: log };
    access.pull(at(100), out);
    let count = access.gather(at(100), Most { frames, bytes }, out);
    let sent = on_air(access);
    assert_eq!(count as usize, sent.len());
    sent
}

#[test]
fn windows_and_spaces_are_those_of_the_category() {
    let mut settings = medium();
    let of = |settings: &MediumSettings| {
        let access = access_of(settings);
        (access.cw_min, access.cw_max, access.ifs.as_nanos() / 1000, access.priority, access.overhead)
    };
    // `16 + 2 x 9 us`; header, FCS and LLC/SNAP are 36 bytes.
    assert_eq!(of(&settings), (15, 1023, 34, 0, 36));
    settings.qos = true;
    settings.accesses[0].category = Category::VIDEO;
    assert_eq!(of(&settings), (7, 15, 34, 2, 38));
    settings.accesses[0].category = Category::BACKGROUND;
    assert_eq!(of(&settings).2, 79);
    settings.stations[0].dsss = true;
    assert_eq!(of(&settings).0, 31);
}

#[test]
fn frames_of_an_aggregate_have_a_delimiter_and_end_on_four_bytes() {
    assert_eq!([36, 37, 40].map(padded), [40, 44, 44]);
    let (mut access, mut log) = (access_of(&medium()), Log::default());
    waiting(&mut access, &mut log, &[1, 1, 1]);
    assert_eq!(gather(&mut access, &mut log, 2, 65_535), [0, 1]);
    // `1500 + 36` bytes and 4 before them.
    assert_eq!(access.aggregate_bytes(), 2 * 1540);
    access.put_first_on_air();
    assert_eq!((on_air(&access), access.aggregate_bytes()), (vec![0], 1540));
}

#[test]
fn an_aggregate_takes_what_fits_for_one_station() {
    let gathered = |stations: &[u32], frames, bytes| {
        let (mut access, mut log) = (access_of(&medium()), Log::default());
        waiting(&mut access, &mut log, stations);
        gather(&mut access, &mut log, frames, bytes)
    };
    assert_eq!(gathered(&[1, 1, 1, 1], 3, 65_535), [0, 1, 2]);
    assert_eq!(gathered(&[1, 1, 1, 1], 64, 3 * 1540), [0, 1, 2]);
    assert_eq!(gathered(&[1, 1, 1, 1], 64, 3 * 1540 - 1), [0, 1]);
    // At least one, however little is allowed. The packets of others stay where they are.
    assert_eq!(gathered(&[1, 1], 64, 100), [0]);
    assert_eq!(gathered(&[1, 2, 1], 64, 65_535), [0, 2]);
}

#[test]
fn lost_frames_go_again_before_new_ones() {
    let (mut access, mut log) = (access_of(&medium()), Log::default());
    waiting(&mut access, &mut log, &[1; 6]);
    assert_eq!(gather(&mut access, &mut log, 4, 65_535), [0, 1, 2, 3]);
    // 1 is lost: 0 is handed over, 2 and 3 wait for it at the receiver.
    for frame in &mut access.sending {
        frame.received = frame.packet.as_ref().unwrap().number != 1;
    }
    access.succeed(true, &LIMITS, at(500), &mut Reports { access: 0, listener: &mut log });
    assert_eq!(log.delivered.iter().map(|one| one.0).collect::<Vec<_>>(), [0]);
    assert_eq!(access.sending.iter().map(|frame| frame.short).collect::<Vec<_>>(), [1, 0, 0]);
    // The window of four begins at 1.
    assert_eq!(gather(&mut access, &mut log, 4, 65_535), [1, 4]);
    assert_eq!(access.in_service(), (4, Bytes::new(6000)));
    for frame in &mut access.sending {
        frame.received = true;
    }
    access.succeed(false, &LIMITS, at(900), &mut Reports { access: 0, listener: &mut log });
    assert_eq!(log.delivered.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(access.sending.is_empty() && access.has_frames());
    assert_eq!(gather(&mut access, &mut log, 4, 65_535), [5]);
    assert_eq!(log.served[0], (0, Span::from_micros(100), 5));
}

#[test]
fn repeated_frames_that_do_not_fit_wait_and_hold_back_all_others() {
    let (mut access, mut log) = (access_of(&medium()), Log::default());
    waiting(&mut access, &mut log, &[1; 4]);
    assert_eq!(gather(&mut access, &mut log, 3, 65_535), [0, 1, 2]);
    assert_eq!(gather(&mut access, &mut log, 64, 2 * 1540), [0, 1]);
    assert_eq!(access.sending.len(), 3, "3 stays in the queue");
    assert_eq!(gather(&mut access, &mut log, 64, 2 * 1540 - 1), [0]);
}

#[test]
fn the_window_doubles_with_each_failure_and_is_reset_by_success_and_drop() {
    let (mut access, mut log) = (access_of(&medium()), Log::default());
    waiting(&mut access, &mut log, &[1]);
    access.pull(at(0), &mut Reports { access: 0, listener: &mut log });
    let patient = RetryLimits { short: 100, long: 100, reset_after_drop: true };
    let mut fail = |access: &mut Access<Parcel>, behind_rts, limits: &RetryLimits| {
        let dropped = access.fail(behind_rts, limits, at(9), &mut Reports { access: 0, listener: &mut log });
        (access.cw, dropped)
    };
    let windows = [(); 8].map(|()| fail(&mut access, false, &patient).0);
    assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
    assert_eq!((access.sending[0].short, access.sending[0].long), (8, 0));
    assert_eq!(fail(&mut access, true, &patient), (1023, false));
    // The second failure behind an RTS is the last of the frame and of the station's counter.
    let stays = RetryLimits { short: 100, long: 2, reset_after_drop: false };
    assert_eq!(fail(&mut access, true, &stays), (15, true));
    waiting(&mut access, &mut Log::default(), &[1]);
    access.pull(at(0), &mut Reports { access: 0, listener: &mut Log::default() });
    assert_eq!(
        [(); 3].map(|()| access.fail(false, &LIMITS, at(9), &mut Reports { access: 0, listener: &mut log })),
        [false, false, true]
    );
    assert_eq!(access.cw, 15);
    assert_eq!(log.discarded, [(0, Discard::Retries, 0), (0, Discard::Retries, 0)]);
    assert!(access.sending.is_empty());
}

#[test]
fn without_a_reset_at_each_drop_the_counter_of_the_station_resets_the_window_once() {
    let (mut access, mut log) = (access_of(&medium()), Log::default());
    let limits = RetryLimits { short: 3, long: 100, reset_after_drop: false };
    let mut frame = |access: &mut Access<Parcel>, failures: u32| {
        waiting(access, &mut log, &[1]);
        access.pull(at(0), &mut Reports { access: 0, listener: &mut log });
        let mut out = Reports { access: 0, listener: &mut log };
        for _ in 0..failures {
            access.fail(false, &limits, at(9), &mut out);
        }
        access.cw
    };
    assert_eq!(frame(&mut access, 3), 15, "the third failure in a row");
    assert_eq!([frame(&mut access, 3), frame(&mut access, 3)], [127, 1023], "4 to 9 are above the limit");
    waiting(&mut access, &mut Log::default(), &[1]);
    access.pull(at(0), &mut Reports { access: 0, listener: &mut Log::default() });
    access.sending[0].received = true;
    access.succeed(false, &limits, at(10), &mut Reports { access: 0, listener: &mut Log::default() });
    assert_eq!(frame(&mut access, 3), 15, "a success begins a new count");
}

#[test]
fn backoffs_are_drawn_from_the_whole_window() {
    let access = access_of(&medium());
    let mut random = Random::stream(1, "backoffs", 0);
    let mut drawn = [0; 16];
    (0..16_000).for_each(|_| drawn[access.draw(&mut random) as usize] += 1);
    // A thousand each, with a standard deviation of 31.
    assert!(drawn.iter().all(|count| (850..1150).contains(count)), "{drawn:?}");
}

#[test]
fn a_packet_is_given_up_after_its_lifetime() {
    let settings = MediumSettings { lifetime: Some(Span::from_micros(500)), ..medium() };
    let (mut access, mut log) = (access_of(&settings), Log::default());
    waiting(&mut access, &mut log, &[1; 3]);
    access.pull(at(500), &mut Reports { access: 0, listener: &mut log });
    assert_eq!(on_air(&access), [0]);
    // Sent at last, but not acknowledged: at 500 us it may go again, later not.
    let out = &mut Reports { access: 0, listener: &mut log };
    assert!(!access.fail(false, &LIMITS, at(500), out));
    assert!(access.fail(false, &LIMITS, at(501), out));
    // Those that wait were too late as well.
    access.pull(at(501), out);
    assert!(access.sending.is_empty() && !access.has_frames());
    assert_eq!(log.discarded, [(0, Discard::Retries, 2), (1, Discard::Head, 1), (2, Discard::Head, 0)]);
}

#[test]
fn frames_that_came_unknown_to_their_sender_come_once() {
    let (mut access, mut log) = (access_of(&medium()), Log::default());
    waiting(&mut access, &mut log, &[1; 2]);
    assert_eq!(gather(&mut access, &mut log, 2, 65_535), [0, 1]);
    let mut random = Random::stream(1, "errors", 0);
    let out = &mut Reports { access: 0, listener: &mut log };
    assert_eq!(access.arrive(Loss::default(), &mut random, at(200), out), 2);
    assert_eq!(access.in_service(), (0, Bytes::ZERO), "handed over");
    // The response is lost: both go again, and are no news to the receiver.
    assert!(!access.fail(false, &LIMITS, at(300), out));
    assert_eq!(access.arrive(Loss::default(), &mut random, at(400), out), 2);
    assert_eq!((access.learn(), access.learn()), (2, 0));
    access.succeed(false, &LIMITS, at(500), out);
    assert!(access.sending.is_empty());
    assert_eq!(log.delivered, [(0, Span::from_micros(100)), (1, Span::from_micros(100))]);
    assert_eq!(log.discarded, []);
}

#[test]
fn errors_strike_each_frame_by_itself() {
    let (mut access, mut log) = (access_of(&medium()), Log::default());
    waiting(&mut access, &mut log, &[1; 2]);
    assert_eq!(gather(&mut access, &mut log, 2, 65_535), [0, 1]);
    let mut random = Random::stream(1, "errors", 0);
    let loss = FrameErrors::Share(0.25).at(&Phy::new(&PhySettings::of(Standard::A), &[]).modes[0], 20.0);
    let received: u32 = (0..10_000).map(|_| access.receive(loss, &mut random)).sum();
    // Three of four of 20,000, with a standard deviation of 61.
    assert!(received.abs_diff(15_000) < 250, "{received}");
}
