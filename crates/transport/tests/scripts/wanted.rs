//! What only a controller hears that asks for it.

use control::{Transmission, Wants};
use transport::{Application, Options};
use units::{Bytes, Span};

use crate::harness::{SenderScript, Told, ack, ms, plain};

/// A sender with `window` segments and all the data in the world, whose controller wants `wants`.
fn wanting(wants: Wants, window: f64) -> SenderScript {
    SenderScript::wanting(wants, Options { limited_transmit: false, ..plain() }, window, Application::Greedy)
}

fn transmission(sequence: u64, in_flight: u32) -> Transmission {
    Transmission { sequence, retransmission: false, in_flight, application_limited: false }
}

#[test]
fn every_segment_that_leaves_is_reported_with_the_flight_it_joins() {
    let mut s = wanting(Wants { sent: true, ..Wants::default() }, 4.0);
    s.leave(0..4);
    let all = (0..4).map(|n| Told::Sent(transmission(n, n as u32 + 1))).collect::<Vec<_>>();
    assert_eq!(s.news(), all);
    // Three segments above it are SACKed and 0 is lost. The window is 2: with nothing but 0 outstanding, it leaves again.
    s.at(40).sacks(0, 1..4).leaves_again(0).leaves(4);
    let lost = Transmission { retransmission: true, ..transmission(0, 1) };
    assert_eq!(s.news()[5..], [Told::Sent(lost), Told::Sent(transmission(4, 2))], "behind the loss");
}

#[test]
fn a_controller_that_asks_for_nothing_hears_of_no_transmission() {
    let mut s = SenderScript::new(plain(), 4.0);
    s.leave(0..4);
    assert_eq!(s.news(), []);
}

#[test]
fn sending_again_with_nothing_outstanding_tells_the_idle_time() {
    use transport::Pace;
    use units::Time;
    // One segment of 1000 bytes each 100 ms, the ACK of each after 40 ms: 100 ms lie between two segments.
    let pace = Pace::new(vec![(Time::ZERO, "80kbit".parse().unwrap())], Bytes::new(1000), None);
    let wants = Wants { transmit_start: true, ..Wants::default() };
    let options = Options { slow_start_restart: false, ..plain() };
    let mut s = SenderScript::wanting(wants, options, 10.0, Application::Paced(pace));
    s.leaves(0);
    assert_eq!(s.news(), [Told::TransmitStart(Span::ZERO)]);
    s.at(40).arrives(ack(1)).at(100).leaves(1);
    assert_eq!(s.news()[1..], [Told::TransmitStart(ms(100))]);
    // 1 is outstanding when 2 leaves.
    s.at(200).leaves(2);
    assert_eq!(s.news().len(), 2);
}
