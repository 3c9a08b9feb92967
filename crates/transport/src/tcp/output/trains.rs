//! Trains of segments, as segmentation offload makes them: when a new segment waits for others to leave with it.
//!
//! Linux hands segments to the device in trains (tcp_tso_autosize), and keeps a short one back while the next ACK is
//! near (tcp_tso_should_defer). The device takes a train apart at the rate of its link, far above the path's. Here it
//! leaves at one instant.

use units::{Span, Time};

use super::pacing::Pacer;
use crate::Stack;

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

/// The length of a full train, and the conditions under which it holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullTrain {
    segments: u32,
    carried: u32,
    slow_start: bool,
    minimum: Span,
    /// A train grows shorter as the smoothed RTT grows: it was found to be as long with each of these two, and is with
    /// all between them.
    between: (Span, Span),
    /// The receive window ends within the last segment that it lets leave.
    part: bool,
    /// When a packet without data left last.
    without_data: Option<Time>,
}

impl FullTrain {
    /// True if it holds for so many segments a round trip and a smallest RTT, whatever the smoothed one.
    fn is_for(&self, carried: u32, slow_start: bool, minimum: Span) -> bool {
        self.carried == carried && self.slow_start == slow_start && self.minimum == minimum
    }
}

/// Segments to count of a piece, whose end carries PSH if it has two or more (Linux since 5.4).
fn piece(segments: u32) -> u16 {
    if segments < SHORTEST { 0 } else { u16::try_from(segments).unwrap_or(u16::MAX) }
}

/// The room in the window, and the measures that make a train.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Room {
    /// Segments that may be in flight, and those that are.
    pub(in crate::tcp) limit: u32,
    pub(in crate::tcp) in_flight: u32,
    /// Segments that the receive window lets leave, and its size.
    pub(in crate::tcp) peer_room: u32,
    pub(in crate::tcp) peer_window: u32,
    /// Segments that the rate of pacing carries in a round trip: the limit, or those that are outstanding if they are
    /// more, as in a recovery (tcp_update_pacing_rate).
    pub(in crate::tcp) carried: u32,
    /// The limit is below half the slow-start threshold.
    pub(in crate::tcp) slow_start: bool,
    pub(in crate::tcp) smoothed: Span,
    pub(in crate::tcp) minimum: Span,
    pub(in crate::tcp) segment_size: u64,
}

impl Room {
    /// Segments that may leave.
    pub(in crate::tcp) fn left(&self) -> u32 {
        (self.limit - self.in_flight).min(self.peer_room)
    }

    /// True if the receive window leaves no more than the window does.
    pub(in crate::tcp) fn is_of_receiver(&self) -> bool {
        self.peer_room <= self.limit - self.in_flight
    }

    /// True if the room is a small part of the window, of which the receiver may allow less.
    fn is_small(&self, left: u32) -> bool {
        left * SHARE < self.limit.min(self.peer_window)
    }
}

/// The trains of a sender.
#[derive(Clone, Debug)]
pub(super) struct Trains {
    /// New segments that have yet to leave: the rest of the running train, without segmentation offload all that are
    /// ready.
    train: u32,
    /// Segments that have yet to leave of the piece of a train that is handed down at once.
    piece: u16,
    /// The rest of the train may leave without another look.
    is_ready: bool,
    offload: bool,
    /// Boxed, as few flows have it.
    full: Option<Box<FullTrain>>,
}

impl Trains {
    pub(super) fn new(stack: &Stack) -> Self {
        Self { train: 0, piece: 0, is_ready: false, offload: stack.segmentation_offload, full: None }
    }

    /// The receive window ends within the last segment that it lets leave, or not.
    pub(super) fn note_part(&mut self, part: bool) {
        if part || self.full.is_some() {
            self.full.get_or_insert_default().part = part;
        }
    }

    /// A packet leaves, with data or without: a train is kept back as shortly after either.
    pub(super) fn note_packet(&mut self, now: Time) {
        self.full.get_or_insert_default().without_data = Some(now);
    }

    /// True if a packet has left a moment before `now`: data at `last`, or none (tcp_wstamp_ns).
    #[inline]
    fn is_recent(&self, now: Time, last: Time) -> bool {
        let is_recent = |at: Time| now.since(at) < RECENT;
        last != Time::NEVER && is_recent(last)
            || self.full.as_ref().and_then(|full| full.without_data).is_some_and(is_recent)
    }

    /// The next look finds anew whether segments are ready.
    #[inline]
    pub(super) fn look_again(&mut self) {
        self.is_ready = false;
    }

    /// True if one more segment leaves without another look.
    #[inline]
    pub(super) fn take_ready(&mut self) -> bool {
        if !self.is_ready || self.train == 0 {
            return false;
        }
        self.train -= 1;
        true
    }

    /// So many segments may leave at once.
    #[inline]
    pub(super) fn note_ready(&mut self, ready: u32) {
        if !self.offload {
            self.train = ready;
        }
        self.is_ready = self.train <= ready;
    }

    /// Nothing more leaves now.
    pub(super) fn end(&mut self) {
        (self.train, self.piece) = (0, 0);
    }

    /// The next segment is no part of the piece.
    pub(super) fn end_piece(&mut self) {
        self.piece = 0;
    }

    /// True if the next new segment goes on with the running train, or there are none.
    #[inline]
    pub(super) fn goes_on(&mut self, pacer: &Pacer) -> bool {
        if !self.offload {
            return true;
        }
        if self.train == 0 || pacer.is_on() {
            return false;
        }
        self.train -= 1;
        true
    }

    /// True if the next new segment, which begins a train, waits until more may leave with it. The last one left at
    /// `last`. `waits` says whether there are more to wait with and the next ACK is due within a time.
    #[inline]
    pub(super) fn waits(
        &mut self,
        now: Time,
        pacer: &Pacer,
        last: Time,
        room: impl FnOnce() -> Room,
        waits: impl FnOnce(Span) -> bool,
    ) -> bool {
        if pacer.is_on() {
            return pacer.awaited().is_some_and(|full| paced_train_waits(now, pacer, full, &room(), waits));
        }
        let room = &room();
        let left = room.left();
        if room.is_small(left) && self.is_recent(now, last) {
            return self.gathers(room, waits);
        }
        self.train = left - self.rest(left, room);
        self.begin_piece(self.train, || *room);
        self.train -= 1;
        false
    }

    /// Segments that are left of `left` once full trains of them, or halves of the window, have left: there is another
    /// look at so few (tcp_write_xmit).
    #[inline]
    fn rest(&mut self, left: u32, room: &Room) -> u32 {
        if left <= SHORTEST {
            return 0;
        }
        let step = self.full_train(room).min((room.limit / 2).max(1));
        let rest = left % step;
        if left > step && room.is_small(rest) { rest } else { 0 }
    }

    /// True if the segments that may leave, a small part of the window, wait for more. Otherwise the train begins.
    #[inline]
    fn gathers(&mut self, room: &Room, waits: impl FnOnce(Span) -> bool) -> bool {
        let left = room.left();
        // No full train is shorter, so one segment is less than any.
        let full = if left < SHORTEST { SHORTEST } else { self.full_train(room) };
        let whole = left - u32::from(room.is_of_receiver() && self.full.as_ref().is_some_and(|full| full.part));
        if whole < full && waits(patience(room)) {
            return true;
        }
        let train = left.min(full);
        self.train = train - 1;
        self.piece = piece(train);
        false
    }

    /// True if no train is leaving.
    pub(super) fn has_ended(&self) -> bool {
        self.train == 0
    }

    /// A tail loss probe sends a new segment: says whether the next one goes with it. A probe takes what the window
    /// leaves of a train, or one segment (tcp_send_loss_probe).
    pub(super) fn probe(&mut self, room: &Room) -> bool {
        if self.train == 0 && self.offload {
            let left = room.limit.saturating_sub(room.in_flight).min(room.peer_room).max(1);
            self.train = if left > 1 { left.min(self.full_train(room)) } else { left };
            self.piece = piece(self.train);
        }
        self.train = self.train.saturating_sub(1);
        self.train > 0
    }

    /// A new segment leaves: whether it is the last of a piece, which carries PSH.
    #[inline(always)]
    pub(super) fn counts_piece(&mut self) -> bool {
        if self.piece == 0 {
            return false;
        }
        self.piece -= 1;
        self.piece == 0
    }

    /// True if no piece has been begun.
    pub(super) fn is_between_pieces(&self) -> bool {
        self.piece == 0
    }

    /// The next piece begins.
    #[inline]
    pub(super) fn begin_next_piece(&mut self, room: impl FnOnce() -> Room) {
        self.begin_piece(self.train, room);
    }

    /// A piece begins with the next of `segments` that leave at once. A train is handed down in pieces of a full train
    /// at most.
    #[inline]
    fn begin_piece(&mut self, segments: u32, room: impl FnOnce() -> Room) {
        self.piece = piece(if segments > SHORTEST { segments.min(self.full_train(&room())) } else { segments });
    }

    /// The same with the segment of a paced flow that has just been sent: such a train, of which so many are `left`, is
    /// one piece, as far as the window lets it.
    #[inline]
    pub(super) fn begin_paced_piece(&mut self, left: u32, room: impl FnOnce() -> Room) {
        if self.piece == 0 && self.offload {
            let room = room();
            self.piece = piece(1 + left.min(room.limit.saturating_sub(room.in_flight)));
        }
    }

    /// Segments of a full train. Found anew only where the last answer may not hold: the divisions would take longer
    /// than all else that an ACK asks here.
    #[inline]
    pub(super) fn full_train(&mut self, room: &Room) -> u32 {
        if let Some(known) = &self.full
            && known.is_for(room.carried, room.slow_start, room.minimum)
            && known.between.0 <= room.smoothed
            && room.smoothed <= known.between.1
        {
            return known.segments;
        }
        self.find_full_train(room)
    }

    /// A millisecond (2^-10 s) at the rate at which Linux would pace, and more on a path of a few milliseconds.
    #[inline(never)]
    fn find_full_train(&mut self, room: &Room) -> u32 {
        let Room { carried, slow_start, smoothed, minimum, .. } = *room;
        let size = room.segment_size.max(1);
        let gain = if slow_start { 2.0 } else { 1.2 };
        let seconds = smoothed.as_secs_f64().max(1e-9);
        let bytes = (gain * f64::from(carried) / seconds * size as f64 / 1024.0) as u64;
        let halvings = minimum.as_nanos() / 512_000;
        let near = if halvings < 32 { LONGEST >> halvings } else { 0 };
        let segments = ((bytes.saturating_add(near).min(LONGEST) / size) as u32).max(SHORTEST);
        let known = self.full.get_or_insert_default();
        let mut between = (smoothed, smoothed);
        if known.is_for(carried, slow_start, minimum) && known.segments == segments {
            between = (known.between.0.min(smoothed), known.between.1.max(smoothed));
        }
        **known = FullTrain { segments, carried, slow_start, minimum, between, ..**known };
        segments
    }
}

/// True if the next train of a paced flow, which its controller has measured to be `full` segments, waits for the next
/// ACK.
#[inline]
fn paced_train_waits(now: Time, pacer: &Pacer, full: u32, room: &Room, waits: impl FnOnce(Span) -> bool) -> bool {
    let left = room.left();
    let recent = now.since(pacer.next()) <= RECENT;
    left < full && room.is_small(left) && recent && waits(patience(room))
}

/// How near the next ACK must be for segments to wait for it.
fn patience(room: &Room) -> Span {
    SOON.min(room.smoothed / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux;

    proptest::proptest! {
        #[test]
        fn a_known_train_is_as_long_as_one_found_anew(
            rtts in proptest::collection::vec((1_000_000u64..80_000_000, 1u32..3, 10u64..12), 1..60)
        ) {
            let mut trains = Trains::new(&linux());
            for (smoothed, window, minimum) in rtts {
                let window = 100 * window;
                let room = Room {
                    limit: window,
                    in_flight: 0,
                    peer_room: window,
                    peer_window: window,
                    carried: window,
                    slow_start: f64::from(window) < 350.0 / 2.0,
                    smoothed: Span::from_nanos(smoothed),
                    minimum: Span::from_millis(minimum),
                    segment_size: 1448,
                };
                let found = trains.full_train(&room);
                let known = trains.full.take();
                proptest::prop_assert_eq!(found, trains.full_train(&room));
                trains.full = known;
            }
        }
    }

    /// Linux with 1448 bytes a segment and a smallest RTT of 40 ms.
    fn room(window: u32, left: u32, smoothed_ms: u64) -> Room {
        Room {
            limit: window.max(left),
            in_flight: window.saturating_sub(left),
            peer_room: window,
            peer_window: window,
            carried: window,
            slow_start: false,
            smoothed: Span::from_millis(smoothed_ms),
            minimum: Span::from_millis(40),
            segment_size: 1448,
        }
    }

    #[test]
    fn a_full_train_is_a_millisecond_at_the_rate_of_pacing() {
        let full = |room: Room| Trains::new(&linux()).full_train(&room);
        // 1000 segments in 40 ms, at 1.2 times this rate in 1/1024 s: 29.3. Twice this rate in slow start: 48.8, but no
        // more than `65,536/1448 = 45`.
        assert_eq!(full(room(1000, 1000, 40)), 29);
        assert_eq!(full(Room { slow_start: true, ..room(1000, 1000, 40) }), 45);
        assert_eq!(full(room(10, 10, 40)), SHORTEST);
        // On a path of 1 ms 65,536 bytes are halved once, at 2 ms three times, at 17 ms (33 times) nothing is left.
        let near = |micros| Room { minimum: Span::from_micros(micros), ..room(10, 10, 40) };
        assert_eq!([511, 1000, 2000, 17_000].map(|micros| full(near(micros))), [45, 22, 5, 2]);
        // The same trains find another length when the smallest RTT, slow start or the segments change.
        let mut trains = Trains::new(&linux());
        assert_eq!([511, 1000, 2000].map(|micros| trains.full_train(&near(micros))), [45, 22, 5]);
        assert_eq!([100, 1000].map(|window| trains.full_train(&room(window, window, 40))), [2, 29]);
        assert_eq!(trains.full_train(&Room { slow_start: true, ..room(1000, 1000, 40) }), 45);
    }

    #[test]
    fn a_small_part_of_the_window_waits_for_the_next_ack_or_leaves_as_one_train() {
        let (now, pacer) = (Time::ZERO + Span::from_millis(5), Pacer::new(crate::Pacing::Linux));
        let waits = |trains: &mut Trains, room: &Room, since_micros, near| {
            let mut asked = None;
            let last = Time::ZERO + (Span::from_millis(5) - Span::from_micros(since_micros));
            let waits = trains.waits(
                now,
                &pacer,
                last,
                || *room,
                |patience| {
                    asked = Some(patience);
                    near
                },
            );
            (waits, asked, trains.train, trains.piece)
        };
        let mut trains = Trains::new(&linux());
        let ms = Some(Span::from_millis(1));
        // 29 segments are a full train: ten of a thousand wait, if the next ACK is due within a millisecond.
        assert_eq!(waits(&mut trains, &room(1000, 10, 40), 999, true), (true, ms, 0, 0));
        assert_eq!(waits(&mut trains, &room(1000, 10, 40), 999, false), (false, ms, 9, 10));
        assert_eq!(waits(&mut trains, &room(1000, 40, 40), 999, true), (false, None, 28, 29));
        // Half a smoothed RTT of 1 ms is less.
        let short = Room { smoothed: Span::from_millis(1), ..room(1000, 10, 1) };
        assert_eq!(waits(&mut trains, &short, 999, true).1, Some(Span::from_micros(500)));
        // Of the receive window, which is smaller, ten are a third.
        let narrow = Room { peer_window: 30, ..room(1000, 10, 40) };
        assert_eq!(waits(&mut trains, &narrow, 999, true), (false, None, 9, 10));
        let full = Room { peer_room: 9, ..narrow };
        assert!(waits(&mut trains, &full, 999, true).0);
        assert_eq!([narrow, full].map(|room| room.is_of_receiver()), [false, true]);
        // A third of the window, or a pause of a millisecond, and all leaves.
        assert_eq!(waits(&mut trains, &room(30, 10, 40), 999, true), (false, None, 9, 2));
        assert_eq!(waits(&mut trains, &room(1000, 10, 40), 1000, true), (false, None, 9, 10));
    }

    #[test]
    fn the_last_segment_of_a_piece_of_two_or_more_is_pushed() {
        assert_eq!([0, 1, 2, 3, 70_000].map(piece), [0, 0, 2, 3, u16::MAX]);
        let mut trains = Trains::new(&linux());
        (trains.train, trains.piece) = (3, 2);
        assert_eq!([(); 3].map(|()| trains.counts_piece()), [false, true, false]);
        trains.begin_next_piece(|| room(1000, 10, 40));
        assert_eq!(trains.piece, 3);
        trains.end_piece();
        assert_eq!((trains.piece, trains.train), (0, 3));
        // A paced train is one piece, as far as the window lets it: the segment that was sent, and up to four.
        trains.begin_paced_piece(6, || room(1000, 4, 40));
        assert_eq!(trains.piece, 5);
        trains.begin_paced_piece(1, || room(1000, 4, 40));
        assert_eq!(trains.piece, 5, "it goes on");
        trains.end();
        assert_eq!((trains.piece, trains.train), (0, 0));
    }

    #[test]
    fn what_is_ready_leaves_without_another_look() {
        let mut plain = Trains::new(&crate::plain());
        plain.note_ready(2);
        assert_eq!([(); 3].map(|()| plain.take_ready()), [true, true, false]);
        plain.note_ready(2);
        plain.look_again();
        assert!(!plain.take_ready());
        // With offload the running train is ready if there is room for all of it.
        let mut offload = Trains::new(&linux());
        for (train, ready, expected) in [(2, 2, true), (3, 2, false), (0, 2, false)] {
            offload.train = train;
            offload.note_ready(ready);
            assert_eq!(offload.take_ready(), expected, "{train}");
        }
    }

    // tcp_send_loss_probe.
    #[test]
    fn a_loss_probe_takes_what_the_window_leaves_of_a_train_or_one_segment() {
        let probe = |room: Room| {
            let mut trains = Trains::new(&linux());
            (trains.probe(&room), trains.train, trains.piece)
        };
        // A full train has 29.
        assert_eq!(probe(room(1000, 40, 40)), (true, 28, 29));
        assert_eq!(probe(room(1000, 10, 40)), (true, 9, 10));
        assert_eq!(probe(Room { peer_room: 2, ..room(1000, 10, 40) }), (true, 1, 2));
        assert_eq!(probe(room(1000, 1, 40)), (false, 0, 0));
        assert_eq!(probe(Room { in_flight: 1001, ..room(1000, 10, 40) }), (false, 0, 0));
        // A running train goes on, and without segmentation offload there is none.
        let mut trains = Trains::new(&linux());
        trains.train = 3;
        assert_eq!([(); 3].map(|()| trains.probe(&room(1000, 10, 40))), [true, true, false]);
        assert!(!Trains::new(&crate::plain()).probe(&room(1000, 10, 40)));
    }
}
