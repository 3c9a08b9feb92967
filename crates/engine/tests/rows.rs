//! Rows that every engine writes in the same way, and the places and comments of captures.

use control::Probe as _;
use engine::{Failure, Interfaces, ProbeRows, comment, flow_event, sender_event, video_frames};
use network::Discard;
use record::pcapng::Point;
use record::{EventKind, Probes, VideoFrames};
use scenario::Plan;
use transport::{Event, Frame, FrameArrival, Stopped};
use units::{Span, Time};

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

#[test]
fn an_event_of_a_sender_has_its_kind_its_segment_and_its_value() {
    let rtt = Span::from_micros(40_500);
    for (event, kind, sequence, value) in [
        (Event::DeemedLost { sequence: 7, count: 2, rtt }, EventKind::DeemedLost, 7, 40.5),
        (Event::Retransmission { sequence: 8 }, EventKind::Retransmission, 8, f64::NAN),
        (Event::LossEvent { window: 12.5 }, EventKind::LossEvent, u64::MAX, 12.5),
        (Event::Recovered, EventKind::Recovered, u64::MAX, f64::NAN),
        (Event::Timeout { window: 3.0 }, EventKind::Timeout, u64::MAX, 3.0),
        (Event::TailLossProbe { sequence: 9 }, EventKind::TailLossProbe, 9, f64::NAN),
        (Event::Spurious, EventKind::Spurious, u64::MAX, f64::NAN),
        (Event::CongestionEcho { window: 4.0 }, EventKind::Ecn, u64::MAX, 4.0),
        (Event::CircuitBreaker { condition: Stopped::Congestion }, EventKind::CircuitBreaker, u64::MAX, 3.0),
    ] {
        let row = sender_event(at(1500), 6, event);
        assert_eq!((row.time_s, row.kind, row.flow, row.link, row.sequence), (1.5, kind, 6, u32::MAX, sequence));
        assert!(row.value == value || row.value.is_nan() && value.is_nan(), "{row:?}");
    }
    let row = flow_event(at(250), 2, EventKind::Stop);
    assert_eq!(
        (row.time_s, row.kind, row.flow, row.link, row.sequence),
        (0.25, EventKind::Stop, 2, u32::MAX, u64::MAX)
    );
    assert!(row.value.is_nan());
}

#[test]
fn frames_of_video_have_the_arrivals_of_the_first_of_them() {
    let frame = |number, bytes, key| Frame { number, captured: at(40 * u64::from(number)), bytes, key };
    let arrival = |complete, shown| FrameArrival { complete, shown };
    let mut rows = VideoFrames::default();
    video_frames(
        5,
        &[frame(0, 9000, true), frame(1, 800, false), frame(2, 700, false)],
        &[arrival(Some(at(60)), Some(at(110))), arrival(Some(at(90)), None)],
        &mut rows,
    );
    assert_eq!((&rows.captured_s[..], &rows.flow[..]), (&[0.0, 0.04, 0.08][..], &[5; 3][..]));
    assert_eq!((&rows.frame[..], &rows.bytes[..]), (&[0, 1, 2][..], &[9000, 800, 700][..]));
    assert_eq!(rows.is_key, [true, false, false]);
    assert_eq!((&rows.complete_s[..2], &rows.shown_s[..1]), (&[0.06, 0.09][..], &[0.11][..]));
    assert!(rows.complete_s[2].is_nan() && rows.shown_s[1].is_nan() && rows.shown_s[2].is_nan());
}

#[test]
fn internal_values_of_a_controller_are_rows_by_name() {
    let mut probes = Probes::default();
    ProbeRows { probes: &mut probes, at: at(20), flow: 3 }.value("alpha", 0.5);
    assert_eq!(probes.names(), ["alpha"]);
}

fn plan(links: &str) -> Plan {
    let text = format!("duration = '1s'\n{links}\nflows = [{{ cc = 'newreno', from = 'a', to = 'c' }}]");
    scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
}

/// Links from `a` to `b` and on to `c`, which is slower, with their ways back.
fn two_links() -> Plan {
    plan(
        "links = [\
         { name = 'x', from = 'a', to = 'b', rate = '9mbit', delay = '1ms', queue = '9p', duplex = true },\n\
         { name = 'y', from = 'b', to = 'c', rate = '8mbit', delay = '1ms', queue = '9p', duplex = true }]",
    )
}

#[test]
fn a_capture_has_an_interface_for_each_of_its_places() {
    let plan = two_links();
    let names: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["x", "x:reverse", "y", "y:reverse"]);
    let places = |point| {
        let (Interfaces { sender, receiver, links }, names) = Interfaces::new(point, &plan).unwrap();
        (sender, receiver, links, names)
    };
    assert_eq!(places(Point::Sender), (Some(0), None, vec![None; 4], vec!["sender"]));
    assert_eq!(places(Point::Receiver), (None, Some(0), vec![None; 4], vec!["receiver"]));
    assert_eq!(places(Point::Bottleneck), (None, None, vec![None, None, Some(0), Some(0)], vec!["y"]));
    let all = ["sender", "receiver", "x", "x:reverse", "y", "y:reverse"];
    assert_eq!(places(Point::All), (Some(0), Some(1), (2..6).map(Some).collect(), all.to_vec()));
    let mut without = two_links();
    without.bottleneck = None;
    let refused = Interfaces::new(Point::Bottleneck, &without).map(|_| ());
    assert!(matches!(refused, Err(Failure::CapturePoint(why)) if why.starts_with("no link has a rate")));
}

#[test]
fn each_reason_of_a_discard_has_a_comment_of_its_own() {
    let reasons = [Discard::Lost, Discard::Full, Discard::Early, Discard::Evicted, Discard::Head, Discard::Retries];
    let beginnings = [
        "lost: impairment",
        "dropped: the queue is full",
        "dropped early",
        "dropped while it waited: the last",
        "dropped while it waited, when its turn came",
        "lost: not acknowledged",
    ];
    for (why, beginning) in reasons.into_iter().zip(beginnings) {
        assert!(comment(why).starts_with(beginning), "{}", comment(why));
    }
}
