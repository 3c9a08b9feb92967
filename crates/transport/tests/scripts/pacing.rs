//! When the segments of a paced flow leave.

use transport::Pacing;

use crate::harness::{SenderScript, ack, plain, with};

// As tcp_xmit_retransmit_queue in Linux: each retransmission is a train of its own. 1000 bytes take 10 ms.
#[test]
fn in_linux_a_retransmission_leaves_alone() {
    for pacing in [Pacing::Exact, Pacing::Linux] {
        let mut s = SenderScript::new(with(plain(), |s| s.pacing = pacing), 4.0);
        s.leave(0..4).pace_trains("800kbit", 2).window(20.0).at(40).arrives(ack(0).sack(1, 4)).leaves_again(0);
        if pacing == Pacing::Exact {
            s.leaves(4).nothing_leaves().timer_at(60);
        } else {
            // It is late by far more than half its time, and then two are on time.
            s.nothing_leaves().timer_at(45).at(45).leave(4..6).nothing_leaves().timer_at(65);
        }
    }
}

// As tcp_tso_should_defer in Linux. 1000 bytes take a millisecond.
#[test]
fn in_linux_a_short_train_waits_for_the_next_ack() {
    for (pacing, segmentation_offload) in [(Pacing::Linux, true), (Pacing::Linux, false), (Pacing::Exact, true)] {
        let mut s = SenderScript::new(
            with(plain(), |s| {
                s.pacing = pacing;
                s.segmentation_offload = segmentation_offload;
            }),
            12.0,
        );
        // The train of one segment might have left long before.
        s.leave(0..12).pace_trains("8mbit", 2).at(10).arrives(ack(1)).leaves(12).at(11).arrives(ack(2));
        if pacing == Pacing::Linux && segmentation_offload {
            // The next one could have left at 10.5 ms, and the ACK of segment 2 is due.
            s.nothing_leaves().arrives(ack(3)).leave(13..15).nothing_leaves();
        } else {
            s.leaves(13);
        }
    }
}

// As Linux since 5.4: a paced train is handed down whole, and its last segment is pushed. One alone is not.
#[test]
fn the_last_segment_of_a_paced_train_is_pushed() {
    let options = with(plain(), |s| {
        s.pacing = Pacing::Linux;
        s.segmentation_offload = true;
    });
    let mut s = SenderScript::new(options.clone(), 4.0);
    s.leave(0..4).pace_trains("8mbit", 3).window(20.0).at(40).arrives(ack(4));
    assert_eq!([4, 5, 6].map(|number| s.leaving(number).push), [false, false, true]);
    s.nothing_leaves();
    // If the window has room for two of three, the second is the last.
    let mut s = SenderScript::new(options.clone(), 4.0);
    s.leave(0..4).pace_trains("8mbit", 3).window(2.0).at(40).arrives(ack(4));
    assert_eq!([4, 5].map(|number| s.leaving(number).push), [false, true]);
    s.nothing_leaves();
    // A train of one.
    let mut s = SenderScript::new(options, 4.0);
    s.leave(0..4).pace_trains("8mbit", 1).window(20.0).at(40).arrives(ack(4));
    assert!(!s.leaving(4).push);
    s.nothing_leaves();
}
