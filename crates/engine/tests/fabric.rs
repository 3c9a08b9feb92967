//! The network of a plan by itself: counters and rows of links, with numbers worked out by hand.

mod segment;

use engine::{Fabric, NETWORK, RECEIVERS, SENDERS, Tap, mark_bottleneck};
use network::Discard;
use record::{EventKind, EventRow};
use scenario::Plan;
use segment::Segment;
use units::{Ecn, Span, Time};

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

const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_millis(ms);

/// The links a-b, b-c and c-e in a row, and d-b. All take 1 ms, but b-c, which has these `keys`. A flow is the names
/// of its two ends.
fn in_a_row(keys: &str, flows: &str) -> Plan {
    let link = |ends: &str| {
        let (from, to) = ends.split_at(1);
        let keys = if ends == "bc" { keys } else { "rate = '8mbit', delay = '1ms'" };
        format!("{{ from = '{from}', to = '{to}', queue = '9p', reverse = {{}}, {keys} }}")
    };
    let flow = |ends: &str| {
        let (from, to) = ends.split_at(1);
        format!("{{ cc = 'newreno', from = '{from}', to = '{to}' }}")
    };
    let (links, flows) = (["ab", "bc", "ce", "db"].map(link), Vec::from_iter(flows.split(' ').map(flow)));
    plan(&format!("links = [{}]\nflows = [{}]", links.join(", "), flows.join(", ")))
}

/// Lets everything happen before `until`. Returns the sizes of the packets at the end of their routes.
fn arrivals(fabric: &mut Fabric<Segment>, until: Time, tap: &mut impl Tap<Segment>) -> Vec<u64> {
    let mut sizes = Vec::new();
    while fabric.next() < until {
        let now = fabric.next();
        let Some(wire) = fabric.begin(now, tap) else { continue };
        while let Some(mut packet) = fabric.pop_due(wire, now) {
            if fabric.is_last(&packet) {
                sizes.push(packet.size);
            } else {
                packet.step += 1;
                fabric.forward(now, packet, tap);
            }
        }
        fabric.end(wire);
    }
    sizes
}

#[test]
fn a_duplicate_is_an_arrival_of_its_own() {
    let plan = on_a_path("rate = '8mbit', duplicate = '100%'");
    for (twice, arrived) in [(true, 2), (false, 1)] {
        let mut fabric = Fabric::new(&plan, 1, true);
        fabric.forward(Time::ZERO, Segment { twice, ..Segment::from(1000) }, &mut Unwatched);
        fabric.advance(at(1), &mut Unwatched);
        let row = &fabric.rows(at(1), &plan)[0];
        assert_eq!([row.arrived_packets, row.departed_packets, row.dropped_packets], [arrived, arrived, 0]);
    }
}

#[test]
fn equipment_clears_the_ecn_field_before_or_behind_the_queue() {
    // The queue marks what comes when a packet waits. Five come at once, of which one is in service.
    for (keys, marked, arriving) in [
        ("", 3, Ecn::Congestion),
        (", clear_ecn = 'before'", 0, Ecn::NotCapable),
        (", clear_ecn = 'after'", 3, Ecn::NotCapable),
    ] {
        let plan = plan(&format!(
            "flows = [{{ cc = 'newreno' }}]\npath = {{ rtt = '20ms', rate = '8mbit', \
             queue = {{ limit = '20p', mark_above = '1p' }}{keys} }}"
        ));
        let mut fabric = Fabric::new(&plan, 1, true);
        for _ in 0..5 {
            fabric.forward(Time::ZERO, Segment { ecn: Ecn::Ect0, ..Segment::from(1000) }, &mut Unwatched);
        }
        fabric.advance(at(1), &mut Unwatched);
        let wire = fabric.next_slot();
        let last = std::iter::from_fn(|| fabric.pop_due(wire, at(1))).last().unwrap();
        assert_eq!((fabric.rows(at(1), &plan)[0].marked_packets, last.ecn), (marked, arriving), "{keys}");
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
    fabric.forward(at(1), Segment::from(4000), &mut Unwatched);
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

#[test]
fn packets_overtake_where_a_path_lets_them_and_its_delay_varies() {
    let in_order = |keys: &str| {
        let plan = plan(&format!("flows = [{{ cc = 'newreno' }}]\npath = {{ rate = '8mbit', queue = '20p', {keys} }}"));
        let mut fabric = Fabric::new(&plan, 1, true);
        let mut sizes = Vec::new();
        for number in 0..40 {
            // Each takes 0.1 ms on the link. The delay becomes 16 ms shorter when half of them have left.
            let now = MS(980 + number);
            sizes.extend(arrivals(&mut fabric, now, &mut Unwatched));
            fabric.forward(now, Segment::from(100 + number), &mut Unwatched);
        }
        sizes.extend(arrivals(&mut fabric, at(2), &mut Unwatched));
        assert_eq!(sizes.len(), 40);
        sizes.is_sorted()
    };
    let (constant, shorter) = ("rtt = '40ms'", "rtt = [['0s', '40ms'], ['1s', '8ms']]");
    for (delay, jitter) in
        [(constant, ""), (shorter, ""), (constant, ", jitter = '9ms'"), (shorter, ", jitter = '9ms'")]
    {
        assert!(in_order(&format!("{delay}{jitter}")), "{delay} {jitter}");
        let varies = delay == shorter || !jitter.is_empty();
        if varies {
            assert!(!in_order(&format!("{delay}{jitter}, reorder = true")), "{delay} {jitter}");
        }
    }
}

#[test]
fn a_link_whose_queue_drops_at_its_head_is_looked_at_when_a_service_starts() {
    let queue = "queue = { limit = '20p', discipline = 'codel' }";
    let path = format!("path = {{ rate = '8mbit', rtt = '20ms', {queue} }}");
    let plan = plan(&format!("flows = [{{ cc = 'newreno' }}]\n{path}"));
    let mut fabric = Fabric::new(&plan, 1, true);
    for _ in 0..2 {
        fabric.forward(Time::ZERO, Segment::from(1000), &mut Unwatched);
    }
    // The service of the second starts after 1 ms, and the first arrives 10 ms later.
    assert_eq!(fabric.next(), MS(1));
    assert_eq!((fabric.begin(MS(1), &mut Unwatched), fabric.next()), (None, MS(11)));
    assert_eq!((fabric.begin(MS(11), &mut Unwatched), fabric.pop_due(0, MS(11)).is_some()), (Some(0), true));
    fabric.end(0);
    assert_eq!(fabric.next(), MS(12));
}

#[test]
fn each_link_is_looked_at_by_its_own_number() {
    let queue = "queue = { limit = '20p', discipline = 'codel' }";
    let link = |ends: &str| format!("{{ {ends}, rate = '8mbit', delay = '10ms', {queue}, reverse = {{}} }}");
    let links = ["from = 'a', to = 'b'", "from = 'b', to = 'c'"].map(link).join(", ");
    let plan = plan(&format!("links = [{links}]\nflows = [{{ cc = 'newreno', from = 'a', to = 'c' }}]"));
    // Two packets at the first link, or at the second: the service of the later one starts after 1 ms.
    for step in [0, 1] {
        let mut fabric = Fabric::new(&plan, 1, true);
        for _ in 0..2 {
            fabric.forward(Time::ZERO, Segment { step, ..Segment::from(1000) }, &mut Unwatched);
        }
        assert_eq!(fabric.next(), MS(1));
        assert_eq!((fabric.begin(MS(1), &mut Unwatched), fabric.queued_packets()), (None, 0), "link {step}");
    }
}

#[test]
fn a_waiting_packet_arrives_no_earlier_than_its_service_and_its_wire_let_it() {
    let mut fabric = Fabric::new(&on_a_path("rate = '8mbit'"), 1, true);
    for _ in 0..2 {
        fabric.forward(Time::ZERO, Segment::from(1000), &mut Unwatched);
    }
    assert_eq!([0, 10, 11].map(|ms| fabric.timeout_after(MS(ms))), [MS(11), MS(11), Time::NEVER]);
    // The first is taken. The service of the second starts after 1 ms.
    assert!(fabric.pop_due(0, MS(11)).is_some());
    assert_eq!([0, 10, 11].map(|ms| fabric.timeout_after(MS(ms))), [MS(11), MS(11), Time::NEVER]);
}

#[test]
fn packets_that_begin_together_come_to_their_own_links() {
    let plan = in_a_row("rate = '8mbit', delay = '1ms'", "ac bc");
    let mut fabric = Fabric::new(&plan, 1, true);
    let [(first, _), (second, _)] = [0, 1].map(|flow| fabric.first_steps(flow));
    let steps = [first, second, second, first, first];
    let mut packets = (0..).zip(steps).map(|(ms, step)| (MS(ms), Segment { step, ..Segment::from(100) }));
    fabric.forward_all(&mut Unwatched, |_, _| packets.next());
    fabric.advance(at(1), &mut Unwatched);
    let rows = fabric.rows(at(1), &plan);
    let arrived = |name: &str| rows.iter().find(|row| row.name == name).unwrap().arrived_packets;
    assert_eq!(["a-b", "b-c", "d-b"].map(arrived), [3, 2, 0]);
}

/// The kinds and values of events, and the packets discarded.
#[derive(Default)]
struct Seen(Vec<(EventKind, f64)>, u32);

impl Tap<Segment> for Seen {
    fn discarded(&mut self, _link: u32, _packet: Segment, _at: Time, _why: Discard) {
        self.1 += 1;
    }
    fn event(&mut self, row: EventRow) {
        self.0.push((row.kind, row.value));
    }
}

#[test]
fn a_full_queue_drops_and_a_link_loses() {
    let three = |keys: &str| {
        let plan = on_a_path(keys);
        let (mut fabric, mut seen) = (Fabric::new(&plan, 1, true), Seen::default());
        for _ in 0..23 {
            fabric.forward(Time::ZERO, Segment::from(1000), &mut seen);
        }
        fabric.advance(at(1), &mut seen);
        let row = &fabric.rows(at(1), &plan)[0];
        ([row.arrived_packets, row.departed_packets, row.dropped_packets, row.lost_packets], seen)
    };
    // One is in service and 20 wait.
    let (counters, seen) = three("rate = '8mbit'");
    assert_eq!((counters, seen.0, seen.1), ([23, 21, 2, 0], vec![(EventKind::Drop, 20.0); 2], 2));
    let (counters, seen) = three("rate = '8mbit', loss = '100%'");
    assert_eq!((counters, seen.1), ([23, 0, 0, 23], 23));
    assert!(seen.0.iter().all(|&(kind, value)| kind == EventKind::Lost && value.is_nan()));
}

#[test]
fn a_wire_without_delay_is_cut_where_its_packets_keep_their_order() {
    let cut = |keys, flows| Fabric::<Segment>::cut(&in_a_row(keys, flows), 1).map(|(_, cut)| cut.shortest_cycle());
    let steady = "rate = '8mbit', delay = '0ms'";
    // A shaper lets packets leave at the instant at which they come.
    let bucket = "rate = { rate = '8mbit', burst = '10kB' }, delay = '0ms'";
    // From the last link to the receiver 1 ms, and the ACKs take 2 ms, or 1 ms from e to b.
    let [three, two] = [3, 2].map(|ms| Some(Span::from_millis(ms)));
    // A service takes its time. So does the wire before a link that packets reach by it alone.
    assert_eq!([cut(steady, "ae"), cut(steady, "ae be"), cut(bucket, "ae")], [three, two, three]);
    // A flow enters at that link, or comes to it by a later wire.
    assert_eq!([cut(bucket, "be"), cut(bucket, "ae be"), cut(bucket, "ae de")], [None; 3]);
}
