//! The rules of the send buffer, in numbers of Linux and worked out by hand.

use units::Bytes;

use super::*;
use crate::{freebsd_9, linux, linux_2_6_33, linux_3_5};

fn buffer(stack: Stack, send: Buffer) -> SendBuffer {
    let mut stack = stack;
    stack.buffers.sizes.send = send;
    SendBuffer::of(&stack).unwrap()
}

fn windows(window: u32, in_flight: u32) -> Windows {
    Windows { window, in_flight, peer: 1 << 20 }
}

/// Fills `buffer` of an application that always has data.
fn fill(buffer: &mut SendBuffer) {
    while buffer.write_piece(u64::MAX) {}
}

/// Segments below `end` leave, two at a time.
fn send_to(buffer: &mut SendBuffer, end: u64) {
    (buffer.sent_to..end).for_each(|sequence| buffer.note_sent(sequence, sequence % 2 == 1, windows(1, 1)));
}

const USUAL: Buffer = Buffer::tuned(4096, 16_384, 4_194_304);

// The numbers of the three tests that follow were read in Linux 6.18 (SO_MEMINFO).

#[test]
fn the_first_write_fills_the_piece_of_which_a_part_has_left() {
    let mut buffer = buffer(linux(), USUAL);
    assert_eq!(buffer.memory, 46_080, "20 segments of 2304");
    // The receive window of the SYN-ACK has 45 segments: pieces of 22.
    buffer.note_peer_window(45);
    assert!(buffer.write_piece(u64::MAX));
    send_to(&mut buffer, 10);
    fill(&mut buffer);
    assert_eq!((buffer.written * 1448, buffer.used(), buffer.is_full()), (46_336, 51_328, true));
}

#[test]
fn pieces_are_half_of_the_window_of_a_syn_ack_until_data_are_acknowledged() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(100_000)));
    let unlimited = Windows { window: 10, in_flight: 0, peer: NO_LIMIT };
    buffer.make_room(0, unlimited);
    assert!(buffer.write_piece(u64::MAX));
    send_to(&mut buffer, 10);
    fill(&mut buffer);
    // 65,535 bytes are 45 segments. Behind the first ten segments wait six pieces of 22, of which five are less than
    // 200,000 bytes. Linux 6.12 writes as many before the third round trip makes room.
    assert_eq!((buffer.goal, buffer.written), (22, 10 + 6 * 22));
    buffer.make_room(2, unlimited);
    assert_eq!(buffer.goal, 45);
}

#[test]
fn the_memory_grows_to_two_windows_of_a_flow_that_it_limits() {
    let mut buffer = buffer(linux(), USUAL);
    buffer.note_peer_window(1 << 20);
    fill(&mut buffer);
    let mut with = |window, in_flight| {
        buffer.is_full = true;
        buffer.make_room(0, windows(window, in_flight));
        buffer.memory
    };
    assert_eq!(with(22, 22), 46_080, "the window limits it");
    assert_eq!([with(22, 21), with(48, 40), with(95, 90)], [101_376, 221_184, 437_760]);
    assert_eq!([with(50, 40), with(1000, 999)], [437_760, 4_194_304]);
}

// Read in Linux 6.18 and 6.12: 46,080, 55,296, 64,512 bytes while ACKs of two segments let two trains of two leave.
#[test]
fn the_memory_grows_between_the_two_trains_of_an_ack() {
    let mut buffer = buffer(linux(), USUAL);
    buffer.note_peer_window(1 << 20);
    assert!(buffer.write_piece(u64::MAX));
    send_to(&mut buffer, 10);
    fill(&mut buffer);
    let mut after_two = |window: u32| {
        let first = buffer.sent_to;
        for (sequence, in_flight) in [(first, 3), (first + 1, 2), (first + 2, 1), (first + 3, 0)] {
            buffer.note_sent(sequence, sequence % 2 == 1, windows(window, window - in_flight));
        }
        buffer.make_room(u64::from(window - 10), windows(window, window));
        buffer.memory
    };
    assert_eq!([after_two(12), after_two(14)], [2 * 12 * 2304, 2 * 14 * 2304]);
    // With one train an ACK the window is always full.
    buffer.note_sent(18, false, windows(16, 15));
    buffer.note_sent(19, true, windows(16, 16));
    buffer.make_room(5, windows(16, 16));
    assert_eq!(buffer.memory, 2 * 14 * 2304);
}

#[test]
fn an_application_that_is_woken_between_two_trains_goes_on_behind_them() {
    let mut buffer = buffer(linux(), USUAL);
    buffer.note_peer_window(1 << 20);
    fill(&mut buffer);
    assert_eq!(buffer.written, 45);
    for sequence in 0..2 {
        buffer.note_sent(sequence, sequence == 1, windows(100, 50));
    }
    // 45 segments and two pieces are less than two thirds of 2 · 100 · 2304 bytes.
    assert_eq!((buffer.memory, buffer.written, buffer.is_woken), (460_800, 45, true));
    buffer.note_sent(2, false, windows(200, 51));
    buffer.note_sent(3, true, windows(200, 52));
    assert_eq!((buffer.memory, buffer.written), (460_800, 45), "it waits no more");
    buffer.make_room(0, windows(100, 52));
    assert!(!buffer.is_full() && !buffer.is_woken && buffer.write_piece(u64::MAX));
    assert_eq!(buffer.written, 45 + 4, "the last piece is filled");
}

#[test]
fn a_train_takes_segments_of_the_next_piece_and_is_one_piece() {
    let sent = |rules: BufferRules| {
        let mut stack = linux();
        stack.buffers.rules = rules;
        let mut buffer = buffer(stack, Buffer::Fixed(Bytes::new(100_000)));
        buffer.note_peer_window(1 << 20);
        fill(&mut buffer);
        buffer.is_full = true;
        send_to(&mut buffer, 46);
        (buffer.sent.len(), buffer.waiting.len(), buffer.last)
    };
    // 22 trains of two, and one of a segment of each piece. Three pieces wait, of 44, 45 and 45 segments.
    assert_eq!(sent(BufferRules::Ratio), (23, 3, 45));
    // Before tcp_grow_skb the first piece ended a train.
    assert_eq!(sent(BufferRules::Share { reserved: 2 }), (24, 3, 45));
}

#[test]
fn the_rest_of_a_piece_waits_for_no_others() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(100_000)));
    buffer.note_peer_window(1 << 20);
    assert!(buffer.write_piece(u64::MAX));
    buffer.is_full = true;
    send_to(&mut buffer, 42);
    // Three segments of the only piece: as long as it may grow, it waits.
    assert_eq!([1, 2, 3].map(|left| buffer.is_rest(left)), [false; 3]);
    send_to(&mut buffer, 44);
    assert!(buffer.is_rest(1), "a single segment");
    buffer.is_full = false;
    assert!(buffer.write_piece(u64::MAX) && buffer.write_piece(u64::MAX));
    assert_eq!((buffer.waiting.len(), buffer.is_rest(1)), (2, false), "45 wait again, and another piece");
    buffer.is_full = true;
    send_to(&mut buffer, 86);
    assert_eq!([1, 2, 3, 4].map(|left| buffer.is_rest(left)), [false, false, true, true]);
}

#[test]
fn the_last_piece_is_filled_beyond_the_memory_and_the_application_goes_on_at_a_third() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(100_000)));
    buffer.note_peer_window(1 << 20);
    fill(&mut buffer);
    // Four pieces of 45 segments, of which three are less than 200,000 bytes.
    assert_eq!((buffer.memory, buffer.used()), (200_000, 4 * (45 * 1448 + 832)));
    // It waits until two thirds are left: 133,333 bytes, which are 90 segments in two pieces, and one in a third.
    send_to(&mut buffer, 90);
    buffer.make_room(88, windows(100, 2));
    assert_eq!((buffer.used(), buffer.is_full()), (92 * 1448 + 3 * 832, true));
    buffer.make_room(90, windows(100, 0));
    assert_eq!((buffer.used(), buffer.is_full()), (90 * 1448 + 2 * 832, false));
}

#[test]
fn a_long_write_fills_the_last_piece_again_while_the_window_has_room() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(10_000)));
    buffer.note_peer_window(1 << 20);
    assert!(buffer.write_piece(u64::MAX));
    // Trains of two leave one piece of 45 segments: 20,000 bytes of memory hold 14.
    send_to(&mut buffer, 100);
    assert!(!buffer.write_piece(u64::MAX) && buffer.is_full());
    assert_eq!((buffer.written, buffer.used()), (145, 145 * 1448 + 51 * 832));
    send_to(&mut buffer, 110);
    assert_eq!(buffer.written, 145, "the application waits");
}

#[test]
fn all_that_waits_leaves_once_more_than_half_of_the_receive_window_was_written() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(10_000)));
    buffer.note_peer_window(300);
    assert!(buffer.write_piece(u64::MAX));
    // Trains of 16 leave one piece of 45 segments, until 157 are written: half of the window is 150.
    for train in 0.. {
        let end = (16 * (train + 1)).min(buffer.written);
        (16 * train..end).for_each(|sequence| buffer.note_sent(sequence, sequence + 1 == end, windows(1, 1)));
        if end == buffer.written {
            break;
        }
    }
    assert_eq!((buffer.sent_to, buffer.waiting.len()), (45 + 7 * 16, 0));
    assert!(!buffer.write_piece(u64::MAX) && buffer.is_full());
}

#[test]
fn an_application_with_more_to_write_hands_down_the_first_piece_once_it_is_full() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(100_000)));
    buffer.note_peer_window(1 << 20);
    // Pieces of 45 segments: all that there is, and then more than the first piece holds.
    assert!(buffer.write_piece(45) && !buffer.pushes());
    assert!(!buffer.write_piece(45));
    send_to(&mut buffer, 2);
    assert!(buffer.write_piece(100) && buffer.pushes(), "two segments are filled again");
    assert!(buffer.write_piece(100) && !buffer.pushes(), "a second piece waits");
    fill(&mut buffer);
    assert!(buffer.is_full() && !buffer.pushes());
}

#[test]
fn a_train_as_long_as_a_piece_leaves_none_to_fill() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(10_000)));
    buffer.note_peer_window(1 << 20);
    assert!(buffer.write_piece(u64::MAX));
    (0..45).for_each(|sequence| buffer.note_sent(sequence, sequence == 44, windows(1, 1)));
    assert!(!buffer.write_piece(u64::MAX) && buffer.is_full());
    assert_eq!(buffer.written, 45);
}

#[test]
fn a_piece_that_has_partly_arrived_keeps_its_memory_besides_the_data() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(100_000)));
    buffer.note_peer_window(1 << 20);
    fill(&mut buffer);
    send_to(&mut buffer, 4);
    let before = buffer.used();
    buffer.make_room(1, windows(4, 3));
    assert_eq!(before - buffer.used(), 1448, "segment 1 left with segment 0");
    buffer.make_room(2, windows(4, 2));
    assert_eq!(before - buffer.used(), 2 * 1448 + 832);
}

#[test]
fn an_application_writes_no_more_than_it_has_and_goes_on_in_the_last_piece() {
    let mut buffer = buffer(linux(), USUAL);
    buffer.note_peer_window(45);
    assert!(buffer.write_piece(3) && !buffer.write_piece(3) && buffer.write_piece(5) && !buffer.write_piece(5));
    assert_eq!((buffer.written(), buffer.used(), buffer.is_full()), (5, 5 * 1448 + 832, false));
    send_to(&mut buffer, 5);
    assert!(buffer.write_piece(6));
    assert_eq!(buffer.waiting.len(), 1, "the first has left");
}

#[test]
fn two_thirds_of_the_largest_memory_are_in_flight() {
    let carried = |stack: Stack, send: Buffer| buffer(stack, send).carried();
    // 2,796,202 bytes of memory, in pieces of 45 segments and 832 bytes more.
    assert_eq!(carried(linux(), USUAL), 2_760_948);
    // 5,333,332 bytes, of which a segment takes 2280: 2339.
    let alone = Stack { segmentation_offload: false, ..linux() };
    assert_eq!(carried(alone, Buffer::Fixed(Bytes::new(4_000_000))) / 1448, 2339);
    assert_eq!(carried(freebsd_9(), Buffer::tuned(32_768, 32_768, 2_097_152)), 2_097_152);
}

#[test]
fn the_least_memory_holds_a_segment() {
    let mut buffer = buffer(linux(), Buffer::Fixed(Bytes::new(1)));
    fill(&mut buffer);
    assert_eq!((buffer.memory, buffer.written), (4608, 3));
}

#[test]
fn older_linux_counts_a_segment_without_the_power_of_two() {
    // 1460 + 192 + 320 + 256 bytes, at first as many as the initial window has.
    assert_eq!(buffer(linux_3_5(), USUAL).memory, 22_280);
    let mut buffer = buffer(linux_2_6_33(), USUAL);
    assert_eq!(buffer.memory, 16_384, "three are less");
    fill(&mut buffer);
    send_to(&mut buffer, 5);
    buffer.make_room(0, windows(5, 4));
    assert_eq!(buffer.memory, 16_384, "five are outstanding");
    buffer.make_room(1, windows(5, 4));
    assert_eq!(buffer.memory, 22_280);
}

#[test]
fn freebsd_counts_payload_and_grows_in_steps() {
    let mut buffer = buffer(freebsd_9(), Buffer::tuned(32_768, 32_768, 49_152));
    fill(&mut buffer);
    // 22 whole segments, as 23 are 33,304 bytes.
    assert_eq!((buffer.written, buffer.is_full()), (22, true));
    send_to(&mut buffer, 10);
    buffer.make_room(0, windows(10, 10));
    assert_eq!(buffer.memory, 32_768, "12 segments wait, and the window lets ten leave");
    buffer.make_room(0, windows(12, 10));
    assert_eq!((buffer.memory, buffer.is_full()), (40_960, false));
    fill(&mut buffer);
    assert_eq!(buffer.written, 28);
}

#[test]
fn a_size_that_an_application_sets_is_doubled_in_linux_and_counts_payload_in_freebsd() {
    let fixed = |stack| {
        let buffer = buffer(stack, Buffer::Fixed(Bytes::new(100_000)));
        (buffer.memory, buffer.most)
    };
    assert_eq!(fixed(linux()), (200_000, 200_000));
    assert_eq!(fixed(freebsd_9()), (100_000, 100_000));
}
