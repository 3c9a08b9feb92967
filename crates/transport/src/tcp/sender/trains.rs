//! Trains of segments, as segmentation offload makes them: when a new segment waits for others to leave with it.
//!
//! Linux hands segments to the device in trains (tcp_tso_autosize), and keeps a short one back while the next ACK is
//! near (tcp_tso_should_defer). The device takes a train apart at the rate of its link, far above that of the path;
//! here it leaves at one instant.

use units::{Span, Time};

use super::Sender;
use crate::tcp::recovery::Phase;

/// A train is kept back only so shortly after a segment.
const RECENT: Span = Span::from_millis(1);
/// No train is longer, in bytes (the largest IP packet).
const LONGEST: u64 = 1 << 16;
/// Nor shorter, in segments (tcp_min_tso_segs).
const SHORTEST: u32 = 2;
/// The share of the window that leaves whatever the train (tcp_tso_win_divisor).
const SHARE: u32 = 3;

impl Sender {
    /// Whether the next new segment waits until a train of them may leave, with `in_flight` segments in flight.
    #[inline]
    pub(super) fn waits_for_train(&mut self, now: Time, in_flight: u32) -> bool {
        if !self.options.segmentation_offload || self.pacer.is_on() {
            return false;
        }
        if self.train == 0 {
            let room = self.recovery.limit(self.window) - in_flight;
            let recent = self.last_sent_at != Time::NEVER && now.since(self.last_sent_at) < RECENT;
            if recent && room * SHARE < self.window {
                return self.gathers(now, room);
            }
            self.train = room;
        }
        self.train -= 1;
        false
    }

    /// Whether `room` segments, a small part of the window, wait for more; else the train begins.
    fn gathers(&mut self, now: Time, room: u32) -> bool {
        let full = self.full_train();
        let repairing = matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss);
        // The next ACK is far if not even half a round trip has passed since the oldest segment left.
        let oldest = self.board.sent_at(self.board.first());
        let soon = oldest.is_some_and(|at| now.since(at) >= self.rtt.smoothed / 2);
        let more = self.backlog.written(now, self.board.next() + 1) > self.board.next() + 1;
        if room < full && !repairing && soon && more {
            return true;
        }
        self.train = room.min(full) - 1;
        false
    }

    /// Segments of a full train: a millisecond (2^-10 s) at the rate at which Linux would pace, and more on a path of a
    /// few milliseconds.
    fn full_train(&self) -> u32 {
        let size = self.options.segment_size.get().max(1);
        let gain = if self.exact_window < self.threshold / 2.0 { 2.0 } else { 1.2 };
        let smoothed = self.rtt.smoothed.as_secs_f64().max(1e-9);
        let bytes = (gain * f64::from(self.window) / smoothed * size as f64 / 1024.0) as u64;
        let halvings = self.rtt.minimum.as_nanos() / 512_000;
        let near = if halvings < 32 { LONGEST >> halvings } else { 0 };
        ((bytes.saturating_add(near).min(LONGEST) / size) as u32).max(SHORTEST)
    }
}
