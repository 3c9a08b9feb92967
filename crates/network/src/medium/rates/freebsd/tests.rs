//! The rules of the driver on single frames, with times worked out by hand.

use super::super::tests::{OneAnswer, nominal};
use super::*;

const KBIT: [u32; 8] = [6000, 9000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];

fn link() -> OneAnswer<Freebsd> {
    OneAnswer::new(Freebsd::new(nominal(), &KBIT))
}

#[test]
fn it_begins_at_36_and_goes_on_at_the_fastest() {
    let used = link().frames(200, |_| true);
    assert_eq!(used[..3], [5, 7, 7]);
    assert!(used[1..].iter().all(|&mode| mode == 7), "{used:?}");
}

#[test]
fn a_frame_goes_down_the_ladder_as_it_fails() {
    // 13 attempts: four at 36, three at 24, four at 18 Mbit/s, the others at 6.
    assert_eq!(link().attempts(|_| false, 13), [5, 5, 5, 5, 4, 4, 4, 3, 3, 3, 3, 0, 0]);
}

#[test]
fn a_rate_that_always_fails_is_left_for_the_best_that_works() {
    let used = link().frames(4000, |mode| mode < 6);
    let at_36 = used[200..].iter().filter(|&&mode| mode == 5).count();
    assert!(at_36 * 10 >= 3800 * 9, "{at_36}");
}

#[test]
fn what_followed_counts_for_the_rates_that_followed() {
    let mut link = link();
    // Four attempts at 36 fail, the first at 24 arrives: 36 failed, 24 did not.
    link.attempts(|mode| mode == 4, 11);
    let rates = &link.control.classes[1].rates;
    assert_eq!((rates[5].failures, rates[5].frames, rates[4].failures, rates[4].frames), (1, 1, 0, 1));
    // 34 us and for each attempt the exchange and half a window: 63, 127, 255, 511 slots of 9 us. Then 24 Mbit/s.
    let exchange = |bits: f64| 20.0 + 4.0 * (12_822.0 / bits).ceil() + 16.0 + 28.0;
    let at_36 = 34.0 + 4.0 * exchange(144.0) + 4.5 * (63.0 + 127.0 + 255.0 + 511.0);
    let at_24 = 34.0 + exchange(96.0) + 4.5 * 63.0;
    assert_eq!((rates[5].average, rates[4].average), (at_36 + at_24, at_24));
}

/// One attempt at each rate of 802.11a, of frames of 1600 bytes: DIFS, `20 us + 4 us` a symbol of `22 + 12,800` bits,
/// SIFS, the ACK at 6, 12 or 24 Mbit/s (44, 32, 28 us), and half of 63 slots of 9 us.
const ONE_ATTEMPT: [f64; 8] = [2537.5, 1825.5, 1457.5, 1101.5, 917.5, 741.5, 649.5, 621.5];

const LARGE: usize = Nominal::LARGE;

fn control() -> Freebsd {
    Freebsd::new(nominal(), &KBIT)
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

#[test]
fn averages_begin_with_the_time_of_one_attempt() {
    assert_eq!(control().classes[LARGE].rates.iter().map(|known| known.average).collect::<Vec<_>>(), ONE_ATTEMPT);
    // 250 bytes at 54 Mbit/s: `22 + 2000` bits are ten symbols, and at 6 Mbit/s 85.
    let small = &control().classes[0].rates;
    assert_eq!((small[7].average, small[0].average), (34.0 + 104.0 + 283.5, 34.0 + 420.0 + 283.5));
    // Where 36 Mbit/s is above all rates it is the last, and where it is below all the first.
    let first = |kbit: &[u32]| Freebsd::new(nominal(), kbit).first;
    assert_eq!((first(&KBIT), first(&[36_001, 48_000]), first(&[6000, 36_000])), (5, 0, 1));
}

#[test]
fn a_frame_at_a_low_rate_stays_at_the_lowest() {
    let control = control();
    assert_eq!([0, 3, 4, 6, 7, 10, 11].map(|tries| control.stage(1, tries)), [1, 1, 0, 0, 0, 0, 0]);
    assert_eq!([0, 3, 4, 6, 7, 10, 11].map(|tries| control.stage(7, tries)), [7, 7, 6, 6, 5, 5, 0]);
}

#[test]
fn each_series_takes_its_attempts_at_its_own_rate() {
    let control = control();
    // Half windows of 63, 127, 255 and 511 slots are 283.5, 571.5, 1147.5 and 2299.5 us. Four attempts at 36 Mbit/s:
    // `34 + 4 x 424 + 4302`; three at 24: `34 + 3 x 600 + 2002.5`; four at 18: `34 + 4 x 784 + 4302`; two at 6:
    // `34 + 2 x 2220 + 855`.
    let (at_36, at_24, at_18, at_6) = (6032.0, 3836.5, 7472.0, 5329.0);
    assert_eq!(control.micros(LARGE, 5, 0, 4), at_36);
    assert_eq!(control.micros(LARGE, 5, 0, 13), at_36 + at_24 + at_18 + at_6);
    assert_eq!(control.micros(LARGE, 5, 1, 9), at_24 + at_18 + at_6);
    assert_eq!(control.micros(LARGE, 5, 2, 4), at_18);
    assert_eq!(control.micros(LARGE, 5, 3, 2), at_6);
    // There is nothing below the lowest.
    assert_eq!(control.micros(LARGE, 0, 1, 2), at_6);
}

#[test]
fn twenty_frames_count_alike_and_later_ones_a_twentieth() {
    let mut control = control();
    let mut average_after = |micros: f64, arrived| {
        control.count(at(7), LARGE, 5, micros, arrived);
        control.classes[LARGE].rates[5].average
    };
    assert_eq!([1000.0, 2000.0, 3000.0].map(|micros| average_after(micros, true)), [1000.0, 1500.0, 2000.0]);
    (3..20).for_each(|_| assert!((average_after(2000.0, true) - 2000.0).abs() < 1e-9));
    assert!((average_after(4000.0, true) - 2100.0).abs() < 1e-9);
    assert!((average_after(4100.0, false) - 2200.0).abs() < 1e-9);
    let known = control.classes[LARGE].rates[5];
    assert_eq!((known.frames, known.failures, known.last), (22, 1, at(7)));
}

#[test]
fn failures_in_a_row_count_and_those_of_small_frames_for_large_ones_too() {
    let mut control = control();
    let failures = |control: &Freebsd| [0, LARGE].map(|class| control.classes[class].rates[5].failures);
    (0..2).for_each(|_| control.count(at(1), 0, 5, 1000.0, false));
    assert_eq!(failures(&control), [2, 2]);
    let large = control.classes[LARGE].rates[5];
    assert_eq!((large.frames, large.last, large.average), (2, at(1), ONE_ATTEMPT[5]));
    control.count(at(2), LARGE, 5, 1000.0, false);
    assert_eq!(failures(&control), [2, 3]);
    control.count(at(3), 0, 5, 1000.0, true);
    assert_eq!(failures(&control), [0, 3]);
    control.count(at(3), LARGE, 5, 1000.0, true);
    assert_eq!(failures(&control), [0, 0]);
}

#[test]
fn the_best_rate_has_the_shortest_average_and_at_most_three_failures() {
    let mut class = control().classes[LARGE].clone();
    assert_eq!(class.best(), Some(7));
    class.rates[7].failures = 3;
    assert_eq!(class.best(), Some(7));
    class.rates[7].failures = 4;
    assert_eq!(class.best(), Some(6));
    class.rates.iter_mut().for_each(|known| known.failures = 4);
    assert_eq!(class.best(), None);
}

#[test]
fn a_rate_is_kept_for_a_second_unless_the_best_is_twice_as_fast() {
    let switched = |frames, since_ms: u64, best_takes, used_takes| {
        let mut class = control().classes[LARGE].clone();
        (class.frames, class.used, class.since) = (frames, 5, at(1000));
        (class.rates[6].average, class.rates[5].average) = (best_takes, used_takes);
        class.switch(at(1000 + since_ms), Some(6), 5);
        assert_eq!(class.since, if class.used == 6 { at(1000 + since_ms) } else { at(1000) });
        class.used == 6
    };
    assert!(switched(19, 0, 900.0, 1000.0));
    assert!(!switched(20, 0, 900.0, 1000.0));
    assert!(!switched(20, 1000, 900.0, 1000.0));
    assert!(switched(20, 1001, 900.0, 1000.0));
    assert!(!switched(20, 0, 500.0, 1000.0));
    assert!(switched(20, 0, 499.0, 1000.0));
}

#[test]
fn without_a_best_rate_it_is_the_first_or_what_below_has_not_failed() {
    let mut class = control().classes[LARGE].clone();
    let mut chosen = |frames, best, failed: &[usize]| {
        (class.frames, class.used) = (frames, 7);
        class.rates.iter_mut().enumerate().for_each(|(rate, known)| known.failures = failed.contains(&rate).into());
        class.switch(at(0), best, 5);
        class.used
    };
    assert_eq!(chosen(0, Some(7), &[]), 5);
    assert_eq!(chosen(1, Some(7), &[]), 7);
    assert_eq!(chosen(1, None, &[5, 4]), 3);
    assert_eq!(chosen(1, None, &[5, 4, 3, 2, 1, 0]), 0);
}

#[test]
fn rates_that_may_be_faster_are_sampled_in_turn() {
    let mut control = control();
    // 18 Mbit/s takes 2000 us on average. One attempt at 9 Mbit/s or more may be faster. 48 Mbit/s is too far above.
    control.classes[LARGE].used = 3;
    control.classes[LARGE].rates[3].average = 2000.0;
    let sample = |control: &mut Freebsd, sampled, now| {
        control.classes[LARGE].sampled = sampled;
        control.sample(LARGE, at(now))
    };
    assert_eq!([0, 1, 2, 3, 4, 5, 7].map(|last| sample(&mut control, last, 0)), [1, 2, 4, 4, 5, 1, 1]);
    // Four failures in a row keep a rate from being sampled for ten seconds.
    (control.classes[LARGE].rates[4].failures, control.classes[LARGE].rates[4].last) = (3, at(1000));
    assert_eq!(sample(&mut control, 2, 1000), 4);
    control.classes[LARGE].rates[4].failures = 4;
    assert_eq!([1000, 10_999, 11_000].map(|now| sample(&mut control, 2, now)), [5, 5, 4]);
    // As long as one attempt at 36 Mbit/s is no slower than the average of 24 Mbit/s it may be faster.
    control.classes[LARGE].used = 4;
    for (average, sampled) in [(741.5, 5), (741.4, 6), (649.4, 4)] {
        control.classes[LARGE].rates[4].average = average;
        assert_eq!(sample(&mut control, 4, 0), sampled, "{average}");
    }
}

/// The rate of the first attempt at a large frame.
fn choose(control: &mut Freebsd) -> u8 {
    control.choose(at(5000), 0, 1536, &mut Random::stream(1, "rates", 0))
}

#[test]
fn samples_take_a_tenth_of_the_time() {
    let mut control = control();
    control.classes[LARGE].rates.iter_mut().for_each(|known| known.average = 5000.0);
    control.classes[LARGE].rates[3].average = 2000.0;
    (control.classes[LARGE].used, control.classes[LARGE].frames) = (3, 100);
    let mut after = |sample_micros, since_sample| {
        let class = &mut control.classes[LARGE];
        (class.sample_micros, class.since_sample, class.sampled) = (sample_micros, since_sample, 0);
        let rate = choose(&mut control);
        let class = &control.classes[LARGE];
        assert_eq!((class.current, class.samples), (usize::from(rate), rate != 3));
        (rate, class.since_sample, class.sampled)
    };
    assert_eq!(after(0.0, 9), (3, 10, 0));
    assert_eq!(after(0.0, 10), (1, 0, 1));
    // A sample of 2000 us is a tenth of twenty frames of 2000 us, less what 19 of them took.
    assert_eq!(after(2000.0, 19), (3, 20, 0));
    assert_eq!(after(2000.0, 20), (1, 0, 1));
    assert_eq!(control.classes[LARGE].frames, 104);
}

#[test]
fn a_report_counts_once_for_a_frame_and_for_all_rates_that_it_went_at() {
    let mut control = control();
    let report = |tries, frames, acknowledged, last| Report { mode: 5, bytes: 1536, frames, acknowledged, tries, last };
    let counted = |control: &Freebsd| control.classes[LARGE].rates.iter().map(|known| known.frames).collect::<Vec<_>>();
    control.classes[LARGE].current = 5;
    control.report(at(1), &report(0, 1, 0, false));
    assert_eq!(counted(&control), [0; 8]);
    // 13 attempts in vain: what followed at 24, 18 and 6 Mbit/s is in the time of each before it.
    control.classes[LARGE].samples = true;
    control.report(at(1), &report(12, 1, 0, true));
    assert_eq!(counted(&control), [1, 0, 0, 1, 1, 1, 0, 0]);
    let averages = [5, 4, 3, 0].map(|rate| control.classes[LARGE].rates[rate].average);
    assert_eq!(averages, [22_669.5, 16_637.5, 12_801.0, 5329.0]);
    assert_eq!(control.classes[LARGE].sample_micros, 22_669.5);
    assert!([5, 4, 3, 0].iter().all(|&rate| control.classes[LARGE].rates[rate].failures == 1));
    // Four attempts are within the first series.
    control.report(at(1), &report(3, 1, 1, true));
    assert_eq!((control.classes[LARGE].rates[5].failures, counted(&control)[4]), (0, 1));
}

#[test]
fn each_lost_frame_of_an_aggregate_takes_its_time_again() {
    // One attempt at 36 Mbit/s takes 741.5 us, two take `34 + 848 + 855 = 1737`.
    for (tries, frames, acknowledged, expected) in [
        (0, 4, 4, 741.5),
        (0, 4, 2, 1483.0),
        (0, 4, 0, 2966.0),
        (1, 4, 1, 3474.0),
        (1, 4, 2, 1737.0),
        (1, 4, 4, 1737.0),
    ] {
        let mut control = control();
        control.classes[LARGE].current = 5;
        control.report(at(1), &Report { mode: 5, bytes: 1536, frames, acknowledged, tries, last: true });
        assert_eq!(control.classes[LARGE].rates[5].average, expected, "{frames} {acknowledged}");
        assert_eq!(control.classes[LARGE].sample_micros, 0.0, "no sample");
    }
}
