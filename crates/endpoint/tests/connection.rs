//! Connections packet by packet, by the public side of an endpoint: its options, and what each of them changes.

use std::sync::{Arc, Mutex};

use control::testing::Steady;
use control::{Ack, Context};
use endpoint::{Endpoint, Packet, PacketOptions, Timestamps};
use transport::{Marks, Stack, linux};
use units::{Span, Time};

const MS: fn(u64) -> Time = |ms| Time::ZERO + Span::from_millis(ms);

fn stamps(value: u32, echo: u32) -> Option<Timestamps> {
    Some(Timestamps { value, echo })
}

/// A SYN that offers all options. 12 bytes of a segment are timestamps, so 1000 are left.
fn syn() -> Packet {
    let options = PacketOptions {
        segment_size: Some(1012),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: stamps(70, 0),
        sack: Vec::new(),
    };
    Packet { syn: true, window: 1000, options, ..Packet::default() }
}

/// An ACK with a window of 32,896 bytes, whose timestamps are `value` and `echo`.
fn ack(acknowledged: u64, value: u32, echo: u32) -> Packet {
    let options = PacketOptions { timestamps: stamps(value, echo), ..PacketOptions::default() };
    Packet { ack: true, sequence: 1, acknowledged, window: 257, options, ..Packet::default() }
}

fn sacks(acknowledged: u64, blocks: &[(u64, u64)]) -> Packet {
    let mut packet = ack(acknowledged, 200, 100);
    packet.options.sack = blocks.to_vec();
    packet
}

fn data(sequence: u64, value: u32) -> Packet {
    Packet { sequence, payload: 1000, ..ack(1, value, 80) }
}

fn sent(endpoint: &mut Endpoint, now: Time) -> Vec<Packet> {
    std::iter::from_fn(|| endpoint.poll_transmit(now)).collect()
}

fn numbers(packets: &[Packet]) -> Vec<(u64, u32)> {
    packets.iter().map(|packet| (packet.sequence, packet.payload)).collect()
}

fn listener(stack: Stack) -> Endpoint {
    let controller = control::registry::build("newreno", &control::Parameters::new()).unwrap();
    let mut endpoint = Endpoint::new(stack, controller, 8);
    endpoint.listen();
    endpoint
}

/// An endpoint that took `syn` at 50 ms and the ACK of its answer at 80 ms.
fn opened(stack: Stack, syn: &Packet) -> Endpoint {
    let mut endpoint = listener(stack);
    endpoint.inject(MS(50), syn).unwrap();
    assert_eq!(sent(&mut endpoint, MS(50)).len(), 1);
    endpoint.inject(MS(80), &ack(1, 100, 50)).unwrap();
    endpoint
}

#[test]
fn a_listener_refuses_all_but_a_syn_without_data() {
    let wrong = [
        Packet { syn: false, ..syn() },
        Packet { ack: true, ..syn() },
        Packet { payload: 10, ..syn() },
        Packet { sequence: 1, ..syn() },
    ];
    for packet in wrong {
        let mut endpoint = listener(linux());
        assert!(endpoint.inject(MS(50), &packet).is_err(), "{packet:?}");
        assert_eq!(sent(&mut endpoint, MS(50)), []);
    }
}

#[test]
fn the_answer_to_a_syn_has_the_options_that_it_offers() {
    let mut endpoint = listener(linux());
    endpoint.inject(MS(50), &syn()).unwrap();
    let options = PacketOptions {
        segment_size: Some(1460),
        window_scale: Some(8),
        sack_permitted: true,
        timestamps: stamps(50, 70),
        sack: Vec::new(),
    };
    let answer = Packet { syn: true, ack: true, acknowledged: 1, window: 65_535, options, ..Packet::default() };
    assert_eq!(sent(&mut endpoint, MS(50)), [answer]);
    let mut endpoint = listener(linux());
    endpoint.inject(MS(50), &Packet { options: PacketOptions::default(), ..syn() }).unwrap();
    let options = PacketOptions { segment_size: Some(1460), ..PacketOptions::default() };
    assert_eq!(sent(&mut endpoint, MS(50))[0].options, options);
}

#[test]
fn every_packet_has_the_clock_and_the_last_timestamp_in_order() {
    let mut endpoint = opened(linux(), &syn());
    // The ACK echoes the SYN-ACK of 50 ms.
    assert_eq!(endpoint.information(MS(80)).unwrap().tcpi_rtt, 30_000);
    endpoint.write(1000);
    let first = Packet { sequence: 1, payload: 1000, push: true, window: 255, ..ack(1, 80, 100) };
    assert_eq!(sent(&mut endpoint, MS(80)), [first]);
    // A packet beyond a hole leaves the timestamp as it is.
    endpoint.inject(MS(90), &data(1001, 300)).unwrap();
    let answer = sent(&mut endpoint, MS(90));
    assert_eq!((answer[0].acknowledged, answer[0].options.timestamps), (1, stamps(90, 100)));
    endpoint.inject(MS(95), &data(1, 301)).unwrap();
    let answer = sent(&mut endpoint, MS(95));
    assert_eq!((answer[0].acknowledged, answer[0].options.timestamps), (2001, stamps(95, 301)));
}

#[test]
fn segments_beyond_a_hole_are_reported_in_one_block() {
    let mut endpoint = opened(linux(), &syn());
    let mut blocks = Vec::new();
    for (at, sequence) in [(90, 1), (91, 2001), (92, 3001), (93, 5001)] {
        endpoint.inject(MS(at), &data(sequence, 200)).unwrap();
        blocks.push(sent(&mut endpoint, MS(at))[0].options.sack.clone());
    }
    assert_eq!(blocks, [vec![], vec![(2001, 3001)], vec![(2001, 4001)], vec![(5001, 6001), (2001, 4001)]]);
    // A copy is reported first (RFC 2883).
    endpoint.inject(MS(94), &data(3001, 200)).unwrap();
    assert_eq!(sent(&mut endpoint, MS(94))[0].options.sack[..2], [(3001, 4001), (2001, 4001)]);
    endpoint.inject(MS(95), &data(1001, 200)).unwrap();
    assert_eq!(sent(&mut endpoint, MS(95))[0].acknowledged, 4001);
    assert_eq!(endpoint.received(), 4000);
}

#[test]
fn blocks_count_whole_segments_beyond_the_cumulative_point() {
    let mut endpoint = opened(linux(), &syn());
    endpoint.write(10_000);
    assert_eq!(numbers(&sent(&mut endpoint, MS(100))).len(), 10);
    let mut sacked = |at, packet: &Packet| {
        endpoint.inject(MS(at), packet).unwrap();
        let information = endpoint.information(MS(at)).unwrap();
        (information.tcpi_sacked, information.tcpi_lost, information.tcpi_ca_state)
    };
    assert_eq!(sacked(130, &sacks(1001, &[(3001, 3501)])), (0, 0, 0), "half a segment");
    assert_eq!(sacked(131, &sacks(1001, &[(3001, 4001), (7001, 8001)])), (2, 0, 1), "two apart");
    assert_eq!(sacked(133, &sacks(2001, &[(7001, 8001), (3001, 4001), (1, 1001)])), (2, 0, 1), "one is below");
    // The first block is a copy: below the cumulative point, or within the second block.
    assert_eq!(sacked(134, &sacks(2001, &[(1, 1001), (7001, 8001), (3001, 4001)])), (2, 0, 1));
    assert_eq!(sacked(135, &sacks(2001, &[(7001, 8001), (7001, 9001), (3001, 4001)])), (3, 0, 1));
    // After a copy RACK waits for a share of the RTT (RFC 8985, section 6.2): four segments before 8001 are missing.
    // A quarter of 30 ms ends at 142.5 ms, and the timer has ticks of 4 ms.
    let due = endpoint.poll_timeout().unwrap();
    assert_eq!(due, MS(148));
    endpoint.on_timeout(due);
    let information = endpoint.information(due).unwrap();
    assert_eq!((information.tcpi_lost, information.tcpi_ca_state), (4, 3), "at {due}");
    assert_eq!(numbers(&sent(&mut endpoint, due))[0], (2001, 1000));
}

#[test]
fn without_sack_permitted_blocks_say_nothing() {
    let mut offer = syn();
    offer.options.sack_permitted = false;
    let mut endpoint = opened(linux(), &offer);
    endpoint.write(10_000);
    sent(&mut endpoint, MS(100));
    endpoint.inject(MS(130), &sacks(1, &[(3001, 6001)])).unwrap();
    // One duplicate ACK, which stands for one segment (RFC 5681).
    assert_eq!(endpoint.information(MS(130)).unwrap().tcpi_sacked, 1);
}

#[test]
fn small_segments_wait_unless_no_delay_is_set_before_or_after_the_opening() {
    let mut endpoint = opened(linux(), &syn());
    for (bytes, leaving) in [(100, 1), (200, 0)] {
        endpoint.write(bytes);
        assert_eq!(sent(&mut endpoint, MS(100)).len(), leaving);
    }
    endpoint.set_no_delay(true);
    assert_eq!(numbers(&sent(&mut endpoint, MS(101))), [(101, 200)]);
    let mut endpoint = listener(linux());
    endpoint.set_no_delay(true);
    endpoint.inject(MS(50), &syn()).unwrap();
    sent(&mut endpoint, MS(50));
    endpoint.inject(MS(80), &ack(1, 100, 50)).unwrap();
    for bytes in [100, 200] {
        endpoint.write(bytes);
        assert_eq!(sent(&mut endpoint, MS(100)).len(), 1);
    }
}

#[test]
fn acks_wait_when_quick_acks_have_ended() {
    let mut endpoint = opened(linux(), &syn());
    endpoint.inject(MS(100), &data(1, 200)).unwrap();
    assert_eq!(sent(&mut endpoint, MS(100)).len(), 1, "a quick one");
    endpoint.end_quick_acks();
    endpoint.inject(MS(110), &data(1001, 210)).unwrap();
    assert_eq!(sent(&mut endpoint, MS(110)), []);
    // 40 ms later, and then at the next tick of 4 ms.
    for due in [150, 152] {
        assert_eq!(endpoint.poll_timeout(), Some(MS(due)));
        endpoint.on_timeout(MS(due));
    }
    assert_eq!(sent(&mut endpoint, MS(152))[0].acknowledged, 2001);
}

#[test]
fn a_connection_without_data_has_no_timer() {
    let mut endpoint = opened(linux(), &syn());
    endpoint.write(1000);
    sent(&mut endpoint, MS(100));
    endpoint.inject(MS(130), &ack(1001, 200, 100)).unwrap();
    assert_eq!((sent(&mut endpoint, MS(130)), endpoint.poll_timeout()), (vec![], None));
}

#[test]
fn an_old_ack_does_not_put_a_probe_off() {
    let mut endpoint = opened(linux(), &syn());
    endpoint.write(1000);
    sent(&mut endpoint, MS(100));
    endpoint.inject(MS(130), &Packet { window: 0, ..ack(1001, 200, 100) }).unwrap();
    endpoint.write(1000);
    assert_eq!(sent(&mut endpoint, MS(130)), []);
    let due = endpoint.poll_timeout();
    endpoint.inject(MS(140), &Packet { window: 0, ..ack(1, 200, 100) }).unwrap();
    assert_eq!((sent(&mut endpoint, MS(140)), endpoint.poll_timeout()), (vec![], due));
    endpoint.inject(MS(140), &Packet { window: 0, ..ack(1001, 200, 100) }).unwrap();
    assert_eq!(sent(&mut endpoint, MS(140)), []);
    assert!(endpoint.poll_timeout() > due, "one that is not old does");
}

#[test]
fn a_packet_that_is_not_newer_does_not_shrink_the_window() {
    let mut endpoint = opened(linux(), &syn());
    for sequence in [1, 1001, 2001] {
        endpoint.inject(MS(90), &data(sequence, 200)).unwrap();
    }
    // The one with the same window is not the last because of it.
    for (sequence, window) in [(1, 257), (1001, 16), (2001, 16)] {
        endpoint.inject(MS(91), &Packet { sequence, window, ..ack(1, 200, 80) }).unwrap();
    }
    sent(&mut endpoint, MS(91));
    endpoint.write(5000);
    assert_eq!(numbers(&sent(&mut endpoint, MS(92))).len(), 5);
}

/// A stack that uses ECN.
fn ecn() -> Stack {
    Stack { marks: Marks::Echoed { kept: 0.5 }, ..linux() }
}

#[test]
fn ecn_is_in_use_where_the_syn_asks_with_both_flags() {
    for (echo, reduced) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut endpoint = listener(ecn());
        endpoint.inject(MS(50), &Packet { echo, reduced, ..syn() }).unwrap();
        assert_eq!(sent(&mut endpoint, MS(50))[0].echo, echo && reduced);
        endpoint.inject(MS(80), &ack(1, 100, 50)).unwrap();
        endpoint.write(1000);
        assert_eq!(sent(&mut endpoint, MS(80))[0].codepoint, if echo && reduced { 2 } else { 0 });
    }
}

#[test]
fn a_syn_asks_for_ecn_where_the_stack_uses_it() {
    for (stack, asks) in [(linux(), false), (ecn(), true)] {
        let controller = control::registry::build("newreno", &control::Parameters::new()).unwrap();
        let mut endpoint = Endpoint::new(stack, controller, 8);
        endpoint.connect(MS(5));
        let syn = &sent(&mut endpoint, MS(5))[0];
        assert_eq!([syn.echo, syn.reduced], [asks; 2]);
    }
}

#[test]
fn marks_are_echoed_until_the_other_side_has_reduced_and_echoes_reduce_the_window() {
    let mut endpoint = opened(ecn(), &Packet { echo: true, reduced: true, ..syn() });
    let mut echo = |at, packet: &Packet| {
        endpoint.inject(MS(at), packet).unwrap();
        sent(&mut endpoint, MS(at)).last().map(|packet| packet.echo)
    };
    assert_eq!(echo(90, &Packet { codepoint: 2, ..data(1, 200) }), Some(false));
    assert_eq!(echo(91, &Packet { codepoint: 3, ..data(1001, 200) }), Some(true));
    assert_eq!(echo(92, &Packet { codepoint: 2, ..data(2001, 200) }), Some(true));
    assert_eq!(echo(93, &Packet { codepoint: 2, reduced: true, ..data(3001, 200) }), Some(false));
    endpoint.write(20_000);
    let first = sent(&mut endpoint, MS(100));
    assert_eq!((first.len(), first[0].reduced), (10, false));
    endpoint.inject(MS(130), &Packet { sequence: 4001, echo: true, ..ack(2001, 200, 100) }).unwrap();
    let information = endpoint.information(MS(130)).unwrap();
    assert_eq!((information.tcpi_ca_state, information.tcpi_snd_ssthresh), (2, 5));
    endpoint.inject(MS(131), &Packet { sequence: 4001, ..ack(10_001, 200, 100) }).unwrap();
    assert!(sent(&mut endpoint, MS(131))[0].reduced);
}

#[test]
fn the_ack_that_opens_a_connection_may_bring_data() {
    let mut endpoint = listener(linux());
    endpoint.inject(MS(50), &syn()).unwrap();
    sent(&mut endpoint, MS(50));
    endpoint.inject(MS(80), &Packet { fin: true, payload: 500, ..ack(1, 100, 50) }).unwrap();
    assert_eq!(endpoint.received(), 500);
    assert_eq!(sent(&mut endpoint, MS(80))[0].acknowledged, 502, "with its FIN");
}

#[test]
fn an_ack_of_bytes_that_were_never_sent_changes_nothing() {
    let mut endpoint = opened(linux(), &syn());
    endpoint.write(3000);
    sent(&mut endpoint, MS(100));
    let before = endpoint.information(MS(130));
    endpoint.inject(MS(130), &ack(3002, 200, 100)).unwrap();
    assert_eq!(endpoint.information(MS(130)), before);
    endpoint.inject(MS(130), &ack(3001, 200, 100)).unwrap();
    let information = endpoint.information(MS(130)).unwrap();
    assert_eq!((information.tcpi_unacked, information.tcpi_bytes_acked), (0, 3000));
}

#[test]
fn the_window_field_counts_in_steps_of_the_scale_behind_the_handshake() {
    let mut endpoint = opened(linux(), &syn());
    // 16 steps of 128 bytes are two segments.
    endpoint.write(1000);
    sent(&mut endpoint, MS(100));
    endpoint.inject(MS(130), &Packet { window: 16, ..ack(1001, 200, 100) }).unwrap();
    endpoint.write(5000);
    assert_eq!(numbers(&sent(&mut endpoint, MS(130))), [(1001, 1000), (2001, 1000)]);
    // The field of a SYN-ACK is the number of bytes itself.
    let controller = control::registry::build("newreno", &control::Parameters::new()).unwrap();
    let mut endpoint = Endpoint::new(linux(), controller, 8);
    endpoint.connect(MS(5));
    sent(&mut endpoint, MS(5));
    let mut answer = Packet { ack: true, acknowledged: 1, window: 2100, ..syn() };
    answer.options.timestamps = stamps(70, 5);
    endpoint.inject(MS(15), &answer).unwrap();
    endpoint.write(5000);
    let packets = numbers(&sent(&mut endpoint, MS(15)));
    assert_eq!(packets.iter().filter(|packet| packet.1 == 1000).count(), 2, "{packets:?}");
}

#[test]
fn a_syn_announces_the_whole_window_and_the_options_of_the_stack() {
    let controller = control::registry::build("newreno", &control::Parameters::new()).unwrap();
    let mut endpoint = Endpoint::new(linux(), controller, 8);
    endpoint.connect(MS(5));
    let options = PacketOptions {
        segment_size: Some(1460),
        window_scale: Some(8),
        sack_permitted: true,
        timestamps: stamps(5, 0),
        sack: Vec::new(),
    };
    assert_eq!(sent(&mut endpoint, MS(5)), [Packet { syn: true, window: 65_535, options, ..Packet::default() }]);
    // Only a SYN-ACK answers it.
    for packet in [syn(), ack(1, 100, 5), Packet { reset: true, ..Packet::default() }] {
        assert!(endpoint.inject(MS(15), &packet).is_err() && !endpoint.is_open(), "{packet:?}");
    }
}

#[test]
fn only_an_ack_answers_a_syn_ack() {
    let refused = [
        Packet { syn: true, ..ack(1, 100, 50) },
        Packet { reset: true, ..ack(1, 100, 50) },
        Packet { ack: false, ..ack(1, 100, 50) },
    ];
    for packet in refused {
        let mut endpoint = listener(linux());
        endpoint.inject(MS(50), &syn()).unwrap();
        sent(&mut endpoint, MS(50));
        assert!(endpoint.inject(MS(80), &packet).is_err() && !endpoint.is_open(), "{packet:?}");
        endpoint.inject(MS(80), &ack(1, 100, 50)).unwrap();
        assert!(endpoint.is_open());
    }
}

#[test]
fn a_waiting_ack_leaves_with_a_packet_that_says_more_than_an_acknowledgement() {
    // Header prediction of Linux takes a packet without data that brings nothing new. Any other lets an ACK leave whose
    // timer expires within a quarter of its 40 ms.
    let plain = Packet { sequence: 2001, ..ack(1, 200, 100) };
    let leaving = |packet: &Packet| {
        let mut endpoint = opened(linux(), &syn());
        endpoint.inject(MS(100), &data(1, 200)).unwrap();
        assert_eq!(sent(&mut endpoint, MS(100)).len(), 1);
        endpoint.end_quick_acks();
        endpoint.inject(MS(110), &data(1001, 210)).unwrap();
        endpoint.inject(MS(147), packet).unwrap();
        sent(&mut endpoint, MS(147)).len()
    };
    assert_eq!(leaving(&plain), 0);
    let mut with_block = plain.clone();
    with_block.options.sack = vec![(5001, 6001)];
    for packet in [
        Packet { echo: true, ..plain.clone() },
        Packet { reduced: true, ..plain.clone() },
        Packet { window: 300, ..plain.clone() },
        Packet { sequence: 1, ..plain.clone() },
        Packet { fin: true, ..plain },
        with_block,
    ] {
        assert_eq!(leaving(&packet), 1, "{packet:?}");
    }
}

#[test]
fn an_ack_with_the_window_of_the_one_before_takes_the_fast_path() {
    let noted = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&noted);
    let on_ack = move |_: &mut Context<'_>, ack: &Ack| noting.lock().unwrap().push(ack.fast_path);
    let mut endpoint = Endpoint::new(linux(), Box::new(Steady { window: 10.0, on_ack }), 8);
    endpoint.listen();
    endpoint.inject(MS(50), &syn()).unwrap();
    sent(&mut endpoint, MS(50));
    endpoint.inject(MS(80), &ack(1, 100, 50)).unwrap();
    endpoint.write(4000);
    assert_eq!(numbers(&sent(&mut endpoint, MS(100))).len(), 4);
    for (acknowledged, window) in [(1001, 257), (2001, 300), (3001, 300), (4001, 257)] {
        endpoint.inject(MS(130), &Packet { window, ..ack(acknowledged, 200, 100) }).unwrap();
        assert_eq!(sent(&mut endpoint, MS(130)), []);
    }
    assert_eq!(*noted.lock().unwrap(), [true, false, true, false]);
}

#[test]
fn a_larger_window_counts_though_the_packet_brings_nothing_else() {
    for (window, leaving) in [(257, 5), (16, 2), (15, 2)] {
        let mut endpoint = opened(linux(), &syn());
        endpoint.write(1000);
        sent(&mut endpoint, MS(100));
        for window in [16, window] {
            endpoint.inject(MS(130), &Packet { window, ..ack(1001, 200, 100) }).unwrap();
        }
        endpoint.write(5000);
        assert_eq!(numbers(&sent(&mut endpoint, MS(130))).len(), leaving, "{window}");
    }
}

#[test]
fn a_reported_copy_of_a_retransmission_is_a_delivery() {
    let after = |copy: &[(u64, u64)]| {
        let mut endpoint = opened(linux(), &syn());
        endpoint.write(10_000);
        sent(&mut endpoint, MS(100));
        endpoint.inject(MS(131), &sacks(1001, &[(3001, 4001), (7001, 8001)])).unwrap();
        endpoint.inject(MS(133), &sacks(2001, &[(7001, 8001), (3001, 4001)])).unwrap();
        let due = endpoint.poll_timeout().unwrap();
        endpoint.on_timeout(due);
        assert_eq!(numbers(&sent(&mut endpoint, due)), [(2001, 1000)]);
        let later = due + Span::from_millis(5);
        endpoint.inject(later, &sacks(3001, &[copy, &[(7001, 8001), (3001, 4001)]].concat())).unwrap();
        let again = sent(&mut endpoint, later).len();
        (endpoint.information(later).unwrap().tcpi_delivered, again)
    };
    // Three segments below the cumulative point and two above it. With the copy one more may leave.
    assert_eq!([after(&[]), after(&[(2001, 3001)])], [(5, 2), (6, 3)]);
}
