//! A wireless medium in the network of a plan: counters, rows and events of its stations.

mod segment;

use engine::{Fabric, Tap};
use network::Discard;
use record::{EventKind, EventRow, FrameRow};
use scenario::Plan;
use segment::Segment;
use units::{Ecn, Span, Time};

/// All that a network reports.
#[derive(Default)]
struct Seen {
    discarded: Vec<u32>,
    events: Vec<(EventKind, u32)>,
    frames: Vec<u32>,
    taken: Vec<(u32, bool)>,
}

impl Tap<Segment> for Seen {
    fn taken(&mut self, link: u32, _packet: &Segment, _at: Time, marked: bool) {
        self.taken.push((link, marked));
    }
    fn discarded(&mut self, link: u32, _packet: Segment, _at: Time, _why: Discard) {
        self.discarded.push(link);
    }
    fn event(&mut self, row: EventRow) {
        self.events.push((row.kind, row.link));
    }
    fn frame(&mut self, row: FrameRow) {
        self.frames.push(row.link);
    }
}

fn plan(keys: &str) -> Plan {
    let text = format!(
        "duration = '9s'\nflows = [{{ cc = 'newreno', from = 'x', to = 'ap' }}]\n\
         links = [{{ from = 'ap', to = 's', rate = '8mbit', delay = '9ms', queue = '9p', duplex = true }},\n\
         {{ from = 's', to = 't', rate = '8mbit', delay = '9ms', queue = '9p', duplex = true }}]\n\
         wlans = [{{ standard = '802.11g', stations = ['x'], queue = '1p'{keys} }}]\n"
    );
    scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
}

/// Five packets at once from a station whose queue has room for one beside the frame on the air: the index of its
/// queue, its counters, and the reports.
fn five_packets(keys: &str) -> (u32, [u64; 4], Seen) {
    let plan = plan(keys);
    let end = Time::ZERO + Span::from_secs(1);
    let (mut fabric, mut seen) = (Fabric::new(&plan, 1, true), Seen::default());
    for _ in 0..5 {
        fabric.forward(Time::ZERO, Segment::from(1000), &mut seen);
    }
    fabric.advance(end, &mut seen);
    let station = fabric.station_rows(end, &plan).into_iter().find(|row| !row.is_access_point).unwrap();
    assert_eq!(station.dropped_frames, fabric.rows(end, &plan)[station.link as usize].lost_packets);
    let row = &fabric.rows(end, &plan)[station.link as usize];
    let counters = [row.arrived_packets, row.departed_packets, row.dropped_packets, row.lost_packets];
    (station.link, counters, seen)
}

#[test]
fn a_station_drops_packets_beyond_its_queue() {
    let (link, counters, seen) = five_packets("");
    assert_eq!(counters, [5, 2, 3, 0]);
    assert_eq!((seen.discarded, seen.events), (vec![link; 3], vec![(EventKind::Drop, link); 3]));
    assert_eq!((seen.frames, seen.taken), (vec![link; 2], vec![(link, false); 2]));
}

#[test]
fn a_station_gives_a_frame_up_that_is_never_acknowledged() {
    let (link, counters, seen) = five_packets(", frame_errors = '100%', retry_limit = 2");
    assert_eq!(counters, [5, 0, 3, 2]);
    assert_eq!(seen.events[3..], [(EventKind::Lost, link); 2]);
    // Each is sent twice.
    assert_eq!((seen.discarded, seen.frames), (vec![link; 5], vec![link; 4]));
}

#[test]
fn a_medium_is_looked_at_until_its_packets_have_arrived() {
    let plan = plan("");
    let (mut fabric, mut seen) = (Fabric::new(&plan, 1, true), Seen::default());
    for _ in 0..2 {
        fabric.forward(Time::ZERO, Segment::from(1000), &mut seen);
    }
    let mut arrived = 0;
    while fabric.next() != Time::NEVER {
        let now = fabric.next();
        if let Some(wire) = fabric.begin(now, &mut seen) {
            arrived += std::iter::from_fn(|| fabric.pop_due(wire, now)).count();
            fabric.end(wire);
        }
    }
    assert_eq!((arrived, fabric.queued_packets(), seen.frames.len()), (2, 0, 2));
}

#[test]
fn a_station_marks_packets_that_understand_it() {
    let text = "duration = '9s'\nflows = [{ cc = 'newreno', from = 'x', to = 'ap' }]\n\
                wlans = [{ standard = '802.11g', stations = ['x'], queue = { limit = '9p', mark_above = '1p' } }]\n";
    let plan = scenario::from_toml(text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    let (mut fabric, mut seen) = (Fabric::new(&plan, 1, true), Seen::default());
    for _ in 0..5 {
        fabric.forward(Time::ZERO, Segment { ecn: Ecn::Ect0, ..Segment::from(1000) }, &mut seen);
    }
    let end = Time::ZERO + Span::from_secs(1);
    fabric.advance(end, &mut seen);
    let station = fabric.station_rows(end, &plan).into_iter().find(|row| !row.is_access_point).unwrap();
    let marks = seen.events.iter().filter(|event| **event == (EventKind::Mark, station.link)).count() as u64;
    assert_eq!((fabric.rows(end, &plan)[station.link as usize].marked_packets, marks), (3, 3));
    assert_eq!(seen.taken.iter().filter(|(_, marked)| *marked).count(), 3);
}

#[test]
fn each_queue_of_each_medium_has_its_own_counters() {
    // Behind two wired links, one of each direction, come the queues of the first access point and its station, and
    // those of the second.
    let text = "duration = '9s'\n\
                links = [{ from = 'ap', to = 'aq', rate = '8mbit', delay = '9ms', queue = '9p', duplex = true }]\n\
                wlans = [{ name = 'one', standard = '802.11g', access_point = 'ap', stations = ['x'] },\n\
                { name = 'two', standard = '802.11g', access_point = 'aq', stations = ['y'] }]\n\
                flows = [{ cc = 'newreno', from = 'x', to = 'y' }]";
    let plan = scenario::from_toml(text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    let end = Time::ZERO + Span::from_secs(1);
    let (mut fabric, mut seen) = (Fabric::new(&plan, 1, true), Seen::default());
    // The data pass a station, a link and an access point.
    let (first, _) = fabric.first_steps(0);
    for (hops, packets) in [(0, 3), (2, 2)] {
        for _ in 0..packets {
            fabric.forward(Time::ZERO, Segment { step: first + hops, ..Segment::from(1000) }, &mut seen);
        }
    }
    let mut arrived = 0;
    while fabric.next() < end {
        let now = fabric.next();
        if let Some(wire) = fabric.begin(now, &mut seen) {
            arrived += std::iter::from_fn(|| fabric.pop_due(wire, now)).count();
            fabric.end(wire);
        }
    }
    fabric.advance(end, &mut seen);
    let rows = fabric.rows(end, &plan);
    let frames: Vec<_> = fabric
        .station_rows(end, &plan)
        .iter()
        .map(|row| (row.wlan.clone(), row.is_access_point, row.sent_frames, rows[row.link as usize].arrived_packets))
        .collect();
    let of = |wlan: &str, is_access_point, count| (wlan.to_owned(), is_access_point, count, count);
    assert_eq!(arrived, 5);
    assert_eq!(frames, [of("one", true, 0), of("one", false, 3), of("two", true, 2), of("two", false, 0)]);
}
