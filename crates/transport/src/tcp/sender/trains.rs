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
/// And so shortly before the next ACK, or half a round trip if that is less.
const SOON: Span = Span::from_millis(1);
/// No train is longer, in bytes (the largest IP packet).
const LONGEST: u64 = 1 << 16;
/// Nor shorter, in segments (tcp_min_tso_segs).
const SHORTEST: u32 = 2;
/// The share of the window that leaves whatever the train (tcp_tso_win_divisor).
const SHARE: u32 = 3;

/// How long a full train is, and for what that holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullTrain {
    segments: u32,
    window: u32,
    slow_start: bool,
    minimum: Span,
    /// A train grows shorter as the smoothed RTT grows: it was found to be as long with each of these two, and is with
    /// all between them.
    between: (Span, Span),
}

impl FullTrain {
    /// Whether it holds for a window and a smallest RTT, whatever the smoothed one.
    fn is_for(&self, window: u32, slow_start: bool, minimum: Span) -> bool {
        self.window == window && self.slow_start == slow_start && self.minimum == minimum
    }
}

/// What there is to count of a piece of `segments`, whose end carries PSH if it has two or more (Linux since 5.4).
fn piece(segments: u32) -> u16 {
    if segments < SHORTEST { 0 } else { u16::try_from(segments).unwrap_or(u16::MAX) }
}

impl Sender {
    /// Whether the next new segment waits until a train of them may leave, with `in_flight` segments in flight.
    #[inline]
    pub(super) fn waits_for_train(&mut self, now: Time, in_flight: u32) -> bool {
        if !self.stack.segmentation_offload {
            return false;
        }
        if self.pacer.is_on() {
            return self.paced_train_waits(now, in_flight);
        }
        if self.train == 0 {
            let room = self.recovery.limit(self.window) - in_flight;
            let recent = self.last_sent_at != Time::NEVER && now.since(self.last_sent_at) < RECENT;
            if recent && room * SHARE < self.window {
                return self.gathers(now, room);
            }
            self.train = room;
            self.begin_piece(room);
        }
        self.train -= 1;
        false
    }

    /// The same for a train of a paced flow, which its controller has measured.
    #[inline(never)]
    fn paced_train_waits(&mut self, now: Time, in_flight: u32) -> bool {
        let Some(full) = self.pacer.awaited() else { return false };
        let room = self.recovery.limit(self.window) - in_flight;
        let recent = now.since(self.pacer.next()) <= RECENT;
        room < full && room * SHARE < self.window && recent && self.next_ack_is_near(now)
    }

    /// Whether `room` segments, a small part of the window, wait for more; else the train begins.
    fn gathers(&mut self, now: Time, room: u32) -> bool {
        // No full train is shorter, so one segment is less than any.
        let full = if room < SHORTEST { SHORTEST } else { self.full_train() };
        if room < full && self.next_ack_is_near(now) {
            return true;
        }
        let train = room.min(full);
        self.train = train - 1;
        self.piece = piece(train);
        false
    }

    /// Whether there are segments to wait with until the next ACK, which is near.
    fn next_ack_is_near(&mut self, now: Time) -> bool {
        let repairing = matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss);
        // The ACK of the oldest segment is due a round trip after it left (since Linux 6.18).
        let smoothed = self.rtt.smoothed;
        let oldest = self.board.sent_at(self.board.first());
        let soon = oldest.is_some_and(|at| at + smoothed <= now + SOON.min(smoothed / 2));
        !repairing && soon && self.backlog.written(now, self.board.next() + 1) > self.board.next() + 1
    }

    /// A new segment leaves: whether it is the last of a piece, which carries PSH.
    #[inline(always)]
    pub(super) fn ends_piece(&mut self) -> bool {
        if self.piece == 0 {
            return false;
        }
        self.piece -= 1;
        if self.piece > 0 {
            return false;
        }
        self.begin_piece(self.train);
        true
    }

    /// A piece begins with the next of `segments` that leave at once. A train is handed down in pieces of a full train
    /// at most.
    #[inline]
    fn begin_piece(&mut self, segments: u32) {
        self.piece = piece(if segments > SHORTEST { segments.min(self.full_train()) } else { segments });
    }

    /// The same with the segment of a paced flow that has just been sent: such a train is one piece, as far as the
    /// window lets it.
    #[inline(never)]
    pub(super) fn begin_paced_piece(&mut self) {
        let room = self.recovery.limit(self.window).saturating_sub(self.board.in_flight());
        self.piece = piece(1 + self.pacer.left().min(room));
    }

    /// Segments of a full train. Found anew only where the last answer may not hold: the divisions would take longer
    /// than all else that an ACK asks here.
    #[inline]
    fn full_train(&mut self) -> u32 {
        let slow_start = self.exact_window < self.threshold / 2.0;
        let smoothed = self.rtt.smoothed;
        if let Some(known) = &self.full_train
            && known.is_for(self.window, slow_start, self.rtt.minimum)
            && known.between.0 <= smoothed
            && smoothed <= known.between.1
        {
            return known.segments;
        }
        self.find_full_train(slow_start)
    }

    /// A millisecond (2^-10 s) at the rate at which Linux would pace, and more on a path of a few milliseconds.
    #[inline(never)]
    fn find_full_train(&mut self, slow_start: bool) -> u32 {
        let size = self.stack.segment_size.get().max(1);
        let gain = if slow_start { 2.0 } else { 1.2 };
        let seconds = self.rtt.smoothed.as_secs_f64().max(1e-9);
        let bytes = (gain * f64::from(self.window) / seconds * size as f64 / 1024.0) as u64;
        let halvings = self.rtt.minimum.as_nanos() / 512_000;
        let near = if halvings < 32 { LONGEST >> halvings } else { 0 };
        let segments = ((bytes.saturating_add(near).min(LONGEST) / size) as u32).max(SHORTEST);
        let (window, minimum, smoothed) = (self.window, self.rtt.minimum, self.rtt.smoothed);
        let known = self.full_train.get_or_insert_default();
        let mut between = (smoothed, smoothed);
        if known.is_for(window, slow_start, minimum) && known.segments == segments {
            between = (known.between.0.min(smoothed), known.between.1.max(smoothed));
        }
        **known = FullTrain { segments, window, slow_start, minimum, between };
        segments
    }
}

#[cfg(test)]
mod tests {
    use control::newreno::NewReno;
    use units::Random;

    use super::*;
    use crate::{Application, linux};

    proptest::proptest! {
        #[test]
        fn a_known_train_is_as_long_as_one_found_anew(
            rtts in proptest::collection::vec((1_000_000u64..80_000_000, 1u32..3, 10u64..12), 1..60)
        ) {
            let random = Random::stream(1, "flow", 0);
            let mut sender = Sender::new(linux(), Box::new(NewReno::default()), Application::Greedy, random);
            for (smoothed, window, minimum) in rtts {
                sender.window = 100 * window;
                sender.exact_window = f64::from(sender.window);
                sender.threshold = 350.0;
                (sender.rtt.smoothed, sender.rtt.minimum) = (Span::from_nanos(smoothed), Span::from_millis(minimum));
                let found = sender.full_train();
                let known = sender.full_train.take();
                proptest::prop_assert_eq!(found, sender.full_train());
                sender.full_train = known;
            }
        }
    }
}
