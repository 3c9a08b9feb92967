//! A network that is cut into three places: packets wait where they are until they are handed over, and the links take
//! them stage by stage.

mod segment;

use engine::{Fabric, Tap};
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

/// Two links in a row, each of 1 ms and a byte a microsecond. ACKs come back in 2 ms.
fn two_links() -> Plan {
    let link = |ends: &str| format!("{{ {ends}, rate = '8mbit', delay = '1ms', queue = '9p', reverse = {{}} }}");
    let links = ["from = 'a', to = 'b'", "from = 'b', to = 'c'"].map(link).join(", ");
    let text = format!("duration = '1s'\nlinks = [{links}]\nflows = [{{ cc = 'newreno', from = 'a', to = 'c' }}]");
    scenario::from_toml(&text, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap()
}

/// The senders, the receivers, and the links.
fn places() -> [Fabric<Segment>; 3] {
    Fabric::cut(&two_links(), 1).unwrap().0
}

fn us(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// True if a packet that arrives at a host after so many microseconds may be taken `at` this time: an interrupt and its
/// handler take less than 10 us.
fn is_taken(at: Time, micros: u64) -> bool {
    (us(micros)..us(micros + 10)).contains(&at)
}

#[test]
fn an_ack_is_at_the_sender_once_it_is_handed_over() {
    let [mut senders, mut receivers, mut links] = places();
    let (data, acks) = links.first_steps(0);
    assert_eq!([data, acks].map(|step| receivers.begins_with_link(step)), [true, false]);
    receivers.forward(us(5000), Segment { step: acks, ..Segment::from(40) }, &mut Unwatched);
    // The wire ends elsewhere, and not at the links.
    receivers.hand_over(&mut links);
    assert_eq!([&senders, &receivers, &links].map(Fabric::next), [Time::NEVER; 3]);
    receivers.hand_over(&mut senders);
    assert_eq!([&receivers, &links].map(Fabric::next), [Time::NEVER; 2]);
    assert!(is_taken(senders.next(), 7000), "{:?}", senders.next());
    let wire = senders.next_slot();
    assert!(senders.pop_before(wire, us(7000)).is_none());
    let (at, ack) = senders.pop_before(wire, us(7010)).unwrap();
    assert!(is_taken(at, 7000) && ack.size == 40 && senders.is_last(&ack), "{at:?} {ack:?}");
    senders.end(wire);
    assert_eq!(senders.next(), Time::NEVER);
}

#[test]
fn data_pass_the_links_stage_by_stage() {
    let [mut senders, mut receivers, mut links] = places();
    assert_eq!([&senders, &receivers, &links].map(Fabric::stages), [1, 1, 2]);
    let (step, _) = links.first_steps(0);
    for size in [1000, 500] {
        links.forward(us(0), Segment { step, ..Segment::from(size) }, &mut Unwatched);
    }
    links.advance_stage(us(9000), &mut Unwatched);
    // They arrive at a link of the next stage, which has its own turn.
    assert_eq!(links.next(), Time::NEVER);
    links.turn_to(1);
    assert_eq!(links.next(), us(2000));
    let mut taken = Vec::new();
    links.take_arrivals(us(2500), &mut Unwatched, |_, at, _| taken.push(at));
    assert_eq!(taken, [us(2000)], "before 2.5 ms");
    links.take_arrivals(us(2501), &mut Unwatched, |_, at, _| taken.push(at));
    assert_eq!(taken, [us(2000), us(2500)]);
    links.advance_stage(us(9000), &mut Unwatched);
    assert_eq!(receivers.next(), Time::NEVER);
    links.hand_over(&mut senders);
    links.hand_over(&mut receivers);
    assert!(senders.next() == Time::NEVER && is_taken(receivers.next(), 4000), "{:?}", receivers.next());
    let wire = receivers.next_slot();
    assert_eq!(
        [0, 1, 2].map(|others| receivers.ahead(wire, others).map(|packet| packet.size)),
        [Some(1000), Some(500), None]
    );
    assert_eq!(receivers.lift(wire), (Time::NEVER, receivers.next_slot()));
    let arrivals: Vec<_> = std::iter::from_fn(|| receivers.pop_before(wire, us(9000))).collect();
    // The second link takes the second packet from 3 ms on.
    let sizes: Vec<u64> = arrivals.iter().map(|(_, packet)| packet.size).collect();
    assert!(sizes == [1000, 500] && is_taken(arrivals[0].0, 4000) && is_taken(arrivals[1].0, 4500), "{arrivals:?}");
    assert!(arrivals.iter().all(|(_, packet)| receivers.is_last(packet)));
}
