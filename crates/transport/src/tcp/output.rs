//! The output: limits on new segments. These are the window, the receive window, pacing, the train that a segment
//! leaves in, and the use of the window.

mod limits;
mod pacing;
mod trains;
mod usage;

use units::{Bytes, Rate, Span, Time};

use self::limits::{Limits, Times};
use self::pacing::Pacer;
use self::trains::Trains;
use self::usage::Usage;
use super::driver::Decision;
use crate::{Stack, WindowValidation};

pub(super) use self::trains::Room;

/// Why nothing more is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// The window, or a repair.
    Window,
    Pace,
    /// The receive window (TCP_CHRONO_RWND_LIMITED).
    Receiver,
    /// The application, which has no more to send.
    Application,
    /// The application, with nothing outstanding.
    Idle,
    /// The application, which waits for room in the send buffer.
    SendBuffer,
}

impl Blocked {
    /// True if the application has no more to send.
    pub(super) fn is_of_application(self) -> bool {
        matches!(self, Self::Application | Self::Idle)
    }
}

/// The output of a sender. State that every segment touches comes first.
#[repr(C)]
pub(super) struct Output {
    trains: Trains,
    /// The receive window in segments.
    peer_window: u32,
    blocked: Blocked,
    /// A new segment has left since nothing more did.
    has_left: bool,
    /// What happens now sends only lost segments.
    only_repairs: bool,
    /// What leaves now is the probe of a receive window.
    probes_window: bool,
    /// When a segment left last, or [`Time::NEVER`] before the first.
    last_sent_at: Time,
    usage: Usage,
    pacer: Pacer,
    /// Boxed, as limits change rarely.
    limits: Box<Limits>,
}

impl Output {
    /// Nothing has left yet.
    pub(super) fn new(stack: &Stack) -> Self {
        Self {
            trains: Trains::new(stack),
            peer_window: stack.first_window(),
            blocked: Blocked::Idle,
            last_sent_at: Time::NEVER,
            has_left: false,
            only_repairs: false,
            probes_window: false,
            usage: Usage::default(),
            pacer: Pacer::new(stack.pacing),
            limits: Box::default(),
        }
    }

    /// The connection opens with a window of `initial` segments.
    pub(super) fn open(&mut self, now: Time, initial: u32) {
        self.pacer.begin(now);
        self.usage.open(initial);
        self.limits.open(now);
    }

    /// The controller has decided.
    #[inline(always)]
    pub(super) fn follow(&mut self, decision: &Decision) {
        self.trains.look_again();
        if decision.fell {
            self.usage.forget_largest();
        }
        self.pacer.set_rate(decision.rate);
        if let Some(quantum) = decision.quantum {
            self.pacer.set_quantum(quantum);
        }
    }

    /// From now on segments leave at `rate`.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.pacer.set_rate(Some(rate));
    }

    /// The receive window is `segments` now.
    pub(super) fn set_peer_window(&mut self, segments: u32) {
        self.peer_window = segments;
    }

    /// The receive window ends within the last of its segments, or not.
    pub(super) fn note_part(&mut self, part: bool) {
        self.trains.note_part(part);
    }

    /// A packet without data leaves.
    pub(super) fn note_packet(&mut self, now: Time) {
        self.trains.note_packet(now);
    }

    /// Something happened: whether segments of the train are ready is to be found anew.
    #[inline]
    pub(super) fn look_again(&mut self) {
        self.trains.look_again();
    }

    /// Segments that the receive window lets leave with `outstanding`.
    #[inline]
    pub(super) fn peer_room(&self, outstanding: u32) -> u32 {
        self.peer_window.saturating_sub(outstanding)
    }

    /// The receive window.
    #[inline]
    pub(super) fn peer_window(&self) -> u32 {
        self.peer_window
    }

    /// Nothing more leaves now, for this reason.
    #[inline]
    pub(super) fn block(&mut self, now: Time, reason: Blocked) {
        if reason != self.blocked {
            self.turn(now, reason);
        }
    }

    #[inline(never)]
    fn turn(&mut self, now: Time, reason: Blocked) {
        self.limits.turn(now, std::mem::replace(&mut self.blocked, reason));
    }

    /// Why nothing more left last.
    pub(super) fn blocked(&self) -> Blocked {
        self.blocked
    }

    /// True if pacing holds the next segment back.
    #[inline]
    pub(super) fn paces(&self, now: Time) -> bool {
        self.pacer.blocks(now)
    }

    /// When the next train of a paced flow may begin.
    #[inline]
    pub(super) fn departure(&self) -> Time {
        self.pacer.next()
    }

    /// How long nothing has left.
    pub(super) fn idle_since(&self) -> Time {
        self.last_sent_at
    }

    /// The next segment was lost and leaves alone.
    pub(super) fn end_train(&mut self) {
        self.pacer.end_train();
        self.trains.end_piece();
    }

    /// What leaves next begins a train.
    pub(super) fn end_trains(&mut self) {
        self.trains.end();
    }

    /// A segment leaves, `again` or for the first time.
    #[inline]
    pub(super) fn note_departure(&mut self, now: Time, again: bool) {
        self.last_sent_at = now;
        self.has_left |= !again;
    }

    /// A segment of a paced flow leaves, with `payload` bytes, again or for the first time.
    pub(super) fn pace(&mut self, now: Time, payload: u32, again: bool, room: impl FnOnce() -> Room) {
        self.pacer.on_sent(now, Bytes::new(payload.into()));
        if again {
            self.pacer.end_train();
        } else {
            self.trains.begin_paced_piece(self.pacer.left(), room);
        }
    }

    /// A new segment leaves: whether it is the last of a piece of its train. Then the next begins, as
    /// [`ends_piece`](Self::ends_piece) says.
    #[inline(always)]
    pub(super) fn counts_piece(&mut self) -> bool {
        self.trains.counts_piece()
    }

    /// True if the next new segment begins a piece.
    pub(super) fn is_between_pieces(&self) -> bool {
        self.trains.is_between_pieces()
    }

    /// A piece has ended with a segment, which carries PSH.
    #[inline]
    pub(super) fn ends_piece(&mut self, room: impl FnOnce() -> Room) -> bool {
        self.trains.begin_next_piece(room);
        true
    }

    /// True if the next new segment goes on with the running train, or there are no trains: nothing holds it back.
    #[inline]
    pub(super) fn goes_on(&mut self) -> bool {
        self.trains.goes_on(&self.pacer)
    }

    /// True if the next new segment waits until a train of them may leave. `waits` says whether there are more to wait
    /// with and the next ACK is due within a time.
    #[inline]
    pub(super) fn waits_for_train(
        &mut self,
        now: Time,
        room: impl FnOnce() -> Room,
        waits: impl FnOnce(Span) -> bool,
    ) -> bool {
        self.trains.waits(now, &self.pacer, self.last_sent_at, room, waits)
    }

    /// A new segment leaves, and `ready` more may do so at once, as far as that is plain.
    #[inline]
    pub(super) fn note_ready(&mut self, ready: u32) {
        self.trains.note_ready(ready);
    }

    /// True if the flow is paced.
    #[inline]
    pub(super) fn is_paced(&self) -> bool {
        self.pacer.is_on()
    }

    /// True if one more segment of the train leaves without another look.
    #[inline]
    pub(super) fn take_ready(&mut self) -> bool {
        self.trains.take_ready()
    }

    /// A timer sends lost segments again, and no new ones.
    pub(super) fn only_repairs(&mut self) {
        self.only_repairs = true;
    }

    /// The retransmission timer has expired: its segment leaves at once (RFC 6298, section 5.4). The pace begins anew.
    pub(super) fn expire(&mut self, now: Time) {
        self.only_repairs();
        self.pacer.begin_anew(now);
    }

    /// The probe of a receive window leaves, with data.
    pub(super) fn probe_window(&mut self) {
        self.probes_window = true;
    }

    /// True if what leaves now is the probe of a receive window.
    pub(super) fn probes_window(&self) -> bool {
        self.probes_window
    }

    /// True if the next segment does not belong to a train that is leaving.
    pub(super) fn begins_train(&self) -> bool {
        self.trains.has_ended()
    }

    /// A tail loss probe sends a new segment: says whether the next one goes with it, if there is one.
    pub(super) fn probe(&mut self, room: &Room) -> bool {
        self.trains.probe(room)
    }

    /// Segments of the longest train.
    pub(super) fn longest_train(&mut self, room: &Room) -> u32 {
        self.trains.full_train(room)
    }

    /// True if no new segment leaves now.
    #[inline]
    pub(super) fn holds_new(&self) -> bool {
        self.only_repairs
    }

    /// Nothing more leaves now, with the segments from `first` to `next` outstanding. Says whether this shows how far
    /// the window is used: it limits the flow where a new segment leaves or would leave, if `has_new` says that there
    /// is one. A probe shows it only if the window `is_full`.
    pub(super) fn close(
        &mut self,
        first: u64,
        next: u64,
        is_full: impl FnOnce() -> bool,
        has_new: impl FnOnce() -> bool,
    ) -> bool {
        self.trains.end();
        self.pacer.end_train();
        self.probes_window = false;
        let repairs = std::mem::take(&mut self.only_repairs);
        let left = std::mem::take(&mut self.has_left);
        let used = || if repairs { left && is_full() } else { left || has_new() };
        let limited = self.blocked == Blocked::Window && used();
        let shows = left || limited;
        if shows {
            self.usage.note(limited, first, next);
        }
        shows
    }

    /// The times with each limit until `now`.
    pub(super) fn times(&self, now: Time) -> Times {
        self.limits.until(now, self.blocked)
    }

    /// True if a window, with this threshold and `in_flight` segments before the ACK, counts as used, so that it may
    /// grow.
    #[inline]
    pub(super) fn is_window_limited(
        &self,
        (window, threshold): (f64, f64),
        in_flight: u32,
        validation: WindowValidation,
    ) -> bool {
        match validation {
            WindowValidation::Round => self.usage.is_limited(window, threshold),
            WindowValidation::RateLimitedIncrease => self.usage.leaves_room(window, threshold),
            // tcp_max_burst in 2.6.33, tcp_max_tso_deferred_mss in 3.5.
            WindowValidation::Flight => window.floor() <= f64::from(in_flight) + 3.0,
            WindowValidation::ReceiveWindow => window <= f64::from(self.peer_window),
        }
    }

    /// The window is filled, or was set.
    pub(super) fn restart_usage(&mut self, now: Time) {
        self.usage.restart(now);
    }

    /// An ACK lets the window grow.
    #[inline]
    pub(super) fn restart_clock(&mut self, now: Time) {
        self.usage.restart_clock(now);
    }

    /// The window is not filled, with `outstanding` segments: how many of it were used, if that has lasted for
    /// `timeout`.
    pub(super) fn unused_for(&mut self, timeout: Span, now: Time, outstanding: u32) -> Option<u32> {
        self.usage.unused_for(timeout, now, outstanding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{linux, plain};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn decision(rate: Option<Rate>, fell: bool) -> Decision {
        Decision { rate, fell, quantum: Some(2) }
    }

    #[test]
    fn segments_that_are_ready_leave_without_another_look_until_something_happens() {
        let mut output = Output::new(&plain());
        output.note_ready(2);
        assert_eq!([(); 3].map(|()| output.take_ready()), [true, true, false]);
        output.note_ready(2);
        output.look_again();
        assert!(!output.take_ready());
    }

    #[test]
    fn the_receive_window_leaves_what_is_not_outstanding() {
        let mut output = Output::new(&plain());
        output.set_peer_window(5);
        assert_eq!([0, 4, 5, 6].map(|outstanding| output.peer_room(outstanding)), [5, 1, 0, 0]);
    }

    #[test]
    fn a_rate_holds_back_what_follows_a_train() {
        let mut output = Output::new(&linux());
        output.open(at(40), 10);
        // Two segments of 1000 bytes at 8 Mbit/s take 2 ms.
        output.follow(&decision(Some(Rate::from_bits_per_second(8_000_000)), false));
        let room = Room {
            limit: 10,
            in_flight: 1,
            peer_room: 10,
            peer_window: 10,
            carried: 10,
            slow_start: true,
            smoothed: Span::from_millis(40),
            minimum: Span::from_millis(40),
            segment_size: 1000,
        };
        output.pace(at(40), 1000, false, || room);
        assert!(!output.paces(at(40)), "the second of the train");
        output.pace(at(40), 1000, false, || room);
        assert_eq!((output.paces(at(41)), output.departure()), (true, at(42)));
    }

    #[test]
    fn the_segment_of_a_timeout_waits_for_no_pace() {
        let mut output = Output::new(&plain());
        output.open(at(0), 10);
        output.set_rate(Rate::from_bits_per_second(80));
        output.pacer.on_sent(at(0), Bytes::new(1000));
        assert_eq!((output.paces(at(300)), output.departure()), (true, at(100_000)));
        output.expire(at(300));
        assert!(!output.paces(at(300)));
        output.pacer.on_sent(at(300), Bytes::new(1000));
        assert_eq!((output.paces(at(300)), output.departure()), (true, at(100_300)));
        // A pace that has waited for a segment goes on where it was.
        output.expire(at(100_700));
        assert_eq!(output.departure(), at(100_300));
    }

    #[test]
    fn a_window_that_came_down_has_no_largest_flight_yet() {
        let mut output = Output::new(&plain());
        output.open(at(0), 10);
        let may_grow =
            |output: &Output| output.is_window_limited((15.0, 20.0), 0, WindowValidation::RateLimitedIncrease);
        assert!(may_grow(&output), "15 are less than twice 10");
        output.follow(&decision(None, true));
        assert!(!may_grow(&output));
    }

    #[test]
    fn only_an_instant_at_which_something_left_or_a_full_window_shows_how_it_is_used() {
        let mut output = Output::new(&plain());
        output.note_departure(at(1), false);
        output.block(at(1), Blocked::Application);
        assert!(output.close(0, 3, || true, || true) && !output.close(0, 3, || true, || true));
        output.block(at(1), Blocked::Window);
        // A window that no new segment fills, or that only repairs fill, says nothing.
        assert!(!output.close(0, 3, || true, || false));
        output.only_repairs();
        assert!(!output.close(0, 3, || true, || true) && output.close(0, 3, || true, || true));
        assert!(output.is_window_limited((9.0, 5.0), 0, WindowValidation::Round));
    }

    #[test]
    fn a_probe_of_new_data_shows_a_limit_only_if_it_fills_the_window() {
        for is_full in [false, true] {
            let mut output = Output::new(&plain());
            output.block(at(1), Blocked::Window);
            output.only_repairs();
            output.note_departure(at(1), false);
            assert!(output.close(0, 3, || is_full, || true));
            assert_eq!(output.is_window_limited((9.0, 5.0), 0, WindowValidation::Round), is_full);
        }
    }

    #[test]
    fn a_window_may_grow_while_three_segments_of_it_are_free() {
        let output = Output::new(&plain());
        let may_grow = |window| output.is_window_limited((window, 5.0), 10, WindowValidation::Flight);
        assert_eq!([9.0, 13.9, 14.0].map(may_grow), [true, true, false]);
    }

    #[test]
    fn a_window_may_grow_unused_to_the_receive_window_and_a_segment_more() {
        let mut output = Output::new(&plain());
        output.set_peer_window(20);
        let may_grow = |window| output.is_window_limited((window, 5.0), 0, WindowValidation::ReceiveWindow);
        assert_eq!([7.0, 20.0, 20.05].map(may_grow), [true, true, false]);
    }
}
