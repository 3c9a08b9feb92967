//! The network of a plan by itself: counters and rows of links, with numbers worked out by hand.

mod segment;

use engine::{Fabric, NETWORK, RECEIVERS, SENDERS, Tap, mark_bottleneck};
use network::Discard;
use record::EventRow;
use scenario::Plan;
use segment::Segment;
use units::{Span, Time};

struct Unwatched;

impl Tap<Segment> for Unwatched {
    fn discarded(&mut self, _link: u32, _packet: Segment, _at: Time, _why: Discard) {}
    fn event(&mut self, _row: EventRow) {}
}

fn plan(network: &str) -> Plan {
    let text = format!("duration = '9s'\n{network}");
    scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
}

fn on_a_path(keys: &str) -> Plan {
    plan(&format!("flows = [{{ cc = 'newreno' }}]\npath = {{ rtt = '20ms', queue = '20p', {keys} }}"))
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

#[test]
fn a_duplicate_is_an_arrival_of_its_own() {
    let plan = on_a_path("rate = '8mbit', duplicate = '100%'");
    for (twice, arrived) in [(true, 2), (false, 1)] {
        let mut fabric = Fabric::new(&plan, 1, true);
        fabric.forward(Time::ZERO, Segment { size: 1000, twice }, &mut Unwatched);
        fabric.advance(at(1), &mut Unwatched);
        let row = &fabric.rows(at(1), &plan)[0];
        assert_eq!([row.arrived_packets, row.departed_packets, row.dropped_packets], [arrived, arrived, 0]);
    }
}

#[test]
fn tokens_at_the_start_of_the_interval_are_capacity_of_it() {
    let plan = on_a_path("rate = { rate = '8mbit', burst = '10kB' }");
    let rows = |fabric: &mut Fabric<Segment>, end| {
        fabric.advance(at(end), &mut Unwatched);
        fabric.rows(at(end), &plan)[0].capacity_bytes
    };
    let mut fabric = Fabric::new(&plan, 1, true);
    // A full bucket, and 1 MB a second.
    assert_eq!(rows(&mut fabric, 1), 1_010_000.0);
    // It was full again when the warm-up ended.
    fabric.begin_measuring(at(1), &mut Unwatched);
    assert_eq!(rows(&mut fabric, 3), 2_010_000.0);
    // 4 kB left at the instant at which it ends, so 6 kB are there.
    let mut fabric = Fabric::new(&plan, 1, true);
    fabric.forward(at(1), Segment { size: 4000, twice: false }, &mut Unwatched);
    fabric.begin_measuring(at(1), &mut Unwatched);
    assert_eq!(rows(&mut fabric, 3), 2_006_000.0);
}

#[test]
fn the_first_of_the_busiest_links_is_the_bottleneck() {
    let link = |ends: &str| format!("{{ {ends}, rate = '8mbit', delay = '1ms', queue = '9p', reverse = {{}} }}");
    let (first, second) = (link("from = 'a', to = 'b'"), link("from = 'b', to = 'c'"));
    let plan = plan(&format!("links = [{first}, {second}]\nflows = [{{ cc = 'newreno', from = 'a', to = 'c' }}]"));
    let mut rows = Fabric::<Segment>::new(&plan, 1, true).rows(at(1), &plan);
    let indices = ["a-b", "b-c"].map(|name| rows.iter().position(|row| row.name == name).unwrap());
    for (busy, expected) in [([0.5, 0.5], 0), ([0.5, 0.6], 1), ([0.6, 0.5], 0)] {
        for (index, share) in indices.into_iter().zip(busy) {
            rows[index].busy_share = share;
        }
        mark_bottleneck(&mut rows, &plan);
        let marked: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].is_bottleneck).collect();
        assert_eq!(marked, [indices[expected]], "{busy:?}");
    }
}

#[test]
fn data_and_acks_of_every_flow_begin_at_steps_of_their_own() {
    let link = |ends: &str| format!("{{ {ends}, rate = '8mbit', delay = '1ms', queue = '9p', reverse = {{}} }}");
    let (first, second) = (link("from = 'a', to = 'b'"), link("from = 'b', to = 'c'"));
    let flows = "{ cc = 'newreno', from = 'a', to = 'c' }, { cc = 'newreno', from = 'b', to = 'c' }";
    let fabric = Fabric::<Segment>::new(&plan(&format!("links = [{first}, {second}]\nflows = [{flows}]")), 1, true);
    // Two links there and a wire back, then a link and a wire.
    assert_eq!([fabric.first_steps(0), fabric.first_steps(1)], [(0, 2), (3, 4)]);
}

#[test]
fn a_network_is_cut_where_every_wire_between_two_places_takes_time() {
    let cut = |network: &str| Fabric::<Segment>::cut(&plan(network), 1).map(|(_, cut)| cut.shortest_cycle());
    let path =
        |keys: &str| format!("flows = [{{ cc = 'newreno' }}]\npath = {{ rate = '8mbit', queue = '20p', {keys} }}");
    // Nothing to the link, 10 ms from it to the receiver, and 10 ms back to the sender.
    assert_eq!(cut(&path("rtt = '20ms'")), Some(Span::from_millis(20)));
    assert_eq!(cut(&path("rtt = '0s'")), None);
    let managed = path("rtt = '20ms'").replace("'20p'", "{ limit = '20p', discipline = 'codel' }");
    // Rows of events depend on the instant at which such a queue is looked at.
    for (events, expected) in [(true, None), (false, Some(Span::from_millis(20)))] {
        assert_eq!(cut(&format!("record = {{ events = {events} }}\n{managed}")), expected);
    }
    let wlan = "links = [{ from = 'ap', to = 's', rate = '8mbit', delay = '9ms', queue = '9p', duplex = true }]\n\
                wlans = [{ standard = '802.11g', stations = ['x'] }]\n\
                flows = [{ cc = 'newreno', from = 'x', to = 's' }]";
    assert_eq!(cut(wlan), None);
}

#[test]
fn a_horizon_is_the_first_arrival_from_another_place() {
    let plan = on_a_path("rate = '8mbit'");
    let (_, cut) = Fabric::<Segment>::cut(&plan, 1).unwrap();
    let clocks = [at(1), at(2), at(3)];
    let millis = |place| cut.horizon(place, &clocks).as_nanos() / 1_000_000;
    // Packets of the senders reach the link at once, leave it for the receivers 10 ms later, and ACKs take 10 ms.
    assert_eq!([NETWORK, RECEIVERS, SENDERS].map(millis), [1000, 3010, 2010]);
}
