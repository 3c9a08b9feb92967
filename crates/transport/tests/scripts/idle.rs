//! Windows that the application does not use.

use transport::{Application, IdleRestart, Pace, Stack, WindowValidation, linux_3_5};
use units::{Bytes, Time};

use crate::harness::{Notice, SenderScript, ack, at, ms, plain, with};

/// Two segments, at 0 and 1 ms, acknowledged at 41 ms, so that the timeout is 241 ms. The third leaves `wait` after the
/// second.
fn silent_until(wait: u64, options: Stack, window: f64) -> SenderScript {
    let steps = vec![
        (Time::ZERO, "8mbit".parse().unwrap()),
        (at(1), "0bit".parse().unwrap()),
        (at(wait), "8mbit".parse().unwrap()),
    ];
    let application = Application::Paced(Pace::new(steps, Bytes::new(1000), Some(Bytes::new(3000))));
    let mut s = SenderScript::with(options, window, application);
    s.leave(0..1);
    s.at(1).leave(1..2).at(41).arrives(ack(2)).timer_at(wait + 1);
    s.at(wait + 1).leaves(2);
    s
}

/// Window, threshold and idleness of the restarts that the controller was notified of.
fn restarts(s: &SenderScript) -> Vec<Option<(f64, f64, bool)>> {
    let restart = |notice: &Notice| match notice {
        Notice::IdleRestart(restart) => Some(restart.map(|r| (r.window, r.threshold, r.idle))),
        _ => None,
    };
    s.news().iter().filter_map(restart).collect()
}

// RFC 5681, section 4.1.
#[test]
fn after_an_idle_time_beyond_the_timeout_the_window_restarts() {
    for (wait, expected) in [(241, vec![]), (242, vec![None])] {
        let options = with(plain(), |s| s.idle_restart = Some(IdleRestart::Rfc5681));
        assert_eq!(restarts(&silent_until(wait, options, 10.0)), expected, "after {wait} ms");
    }
}

// As tcp_cwnd_restart in Linux, in whole segments: 100 >> 1, 100 >> 2, and the initial window of 10, 50 + 25.
#[test]
fn linux_halves_an_idle_window_once_a_timeout() {
    // The second timeout ends at 482 ms.
    let cases = [(241, None), (242, Some(50.0)), (482, Some(50.0)), (483, Some(25.0)), (2400, Some(10.0))];
    for (wait, window) in cases {
        let expected: Vec<_> = window.map(|window| Some((window, 75.0, true))).into_iter().collect();
        assert_eq!(restarts(&silent_until(wait, plain(), 100.0)), expected, "after {wait} ms");
    }
}

#[test]
fn a_window_below_the_initial_one_stays_as_it_is_after_idle() {
    assert_eq!(restarts(&silent_until(1000, plain(), 5.0)), [Some((5.0, 3.0, true))]);
}

/// A segment every 50 ms and a window of 40 segments. The first is acknowledged at 10 ms, no other.
fn unanswered(options: Stack) -> SenderScript {
    let pace = Pace::new(vec![(Time::ZERO, "160kbit".parse().unwrap())], Bytes::new(1000), None);
    let mut s = SenderScript::with(options, 40.0, Application::Paced(pace));
    s.threshold(20.0).leave(0..1).at(10).arrives(ack(1));
    for number in 1..6 {
        s.at(50 * number).leaves(number);
    }
    s
}

// As tcp_cwnd_application_limited in Linux.
#[test]
fn where_no_ack_comes_for_a_timeout_an_unused_window_comes_halfway_to_its_use() {
    let mut s = unanswered(with(plain(), |s| s.timers.rto_min = ms(990)));
    for number in 6..20 {
        s.at(50 * number).leaves(number);
    }
    assert_eq!(restarts(&s), [], "before a timeout has passed");
    // 20 segments are outstanding at 1000 ms, a timeout after the ACK: (40 + 20) / 2 = 30, and 20 + 10.
    s.at(1000).leaves(20);
    assert_eq!(restarts(&s), [Some((30.0, 30.0, false))]);
}

#[test]
fn acks_keep_an_unused_window() {
    let mut s = unanswered(with(plain(), |s| s.timers.rto_min = ms(990)));
    s.arrives(ack(6));
    for number in 6..40 {
        s.at(50 * number).leaves(number).arrives(ack(number + 1));
    }
    assert_eq!(restarts(&s), []);
}

// draft-ietf-ccwg-ratelimited-increase: twice the largest flight in slow start, else one segment more.
#[test]
fn with_rate_limited_increase_the_largest_flight_bounds_the_window() {
    for (window, threshold, grows) in [(11.0, 99.0, true), (12.0, 99.0, false), (6.9, 5.0, true), (7.0, 5.0, false)] {
        let options = with(plain(), |s| s.growth.validation = WindowValidation::RateLimitedIncrease);
        let options = with(options, |s| s.initial_window = 4);
        let mut s = SenderScript::with(options, window, Application::Finite(Bytes::new(6000)));
        s.threshold(threshold).leave(0..6).at(40).arrives(ack(1));
        assert_eq!(s.last_ack().window_limited, grows, "six of {window}, threshold {threshold}");
    }
}

// tcp_is_cwnd_limited of Linux 2.6.33 and 3.5: the flight before the ACK counts, in slow start as well.
#[test]
fn before_linux_3_16_a_window_grows_while_three_segments_of_it_are_free() {
    for (window, threshold, grows) in [(9.0, 99.0, true), (10.0, 99.0, false), (9.5, 5.0, true), (10.0, 5.0, false)] {
        let options = with(linux_3_5(), |s| s.initial_window = 4);
        let mut s = SenderScript::with(options, window, Application::Finite(Bytes::new(6 * 1448)));
        s.threshold(threshold).leave(0..6).at(40).arrives(ack(1));
        assert_eq!(s.last_ack().window_limited, grows, "six of {window}, threshold {threshold}");
    }
}
