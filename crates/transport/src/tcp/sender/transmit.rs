//! The search for the next segment that leaves: window, receiver, pace and application allow one, or one of them is the
//! reason why none does.

use control::{Transmission, TransmitStart};
use units::Time;

use super::{Blocked, Sender};
use crate::application::{Backlog, Windows};
use crate::journal::{Event, Journal};
use crate::segment::Data;
use crate::tcp::driver::Driver;
use crate::tcp::flight::Flight;
use crate::tcp::output::{Output, Room};
use crate::tcp::repair::{Phase, Repair};
use crate::{IdleRestart, Retransmits, Stack};

/// A segment that leaves, in two registers: a [`Data`] passed through memory, piece by piece, would be waited for.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    sequence: u64,
    how: How,
}

/// The role in which a segment leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    New,
    /// New, and it announces a reduction (CWR, RFC 3168).
    NewAnnouncing,
    Again,
    /// Again as a tail loss probe, which Linux does not count for a reduction (prr_out).
    Probe,
}

impl Sender {
    /// The next segment that leaves now, if one does. Call until it answers `None`: only then is the timer set.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Data> {
        if self.output.take_ready() {
            let sequence = self.flight.push(now);
            return Some(self.leave(now, Leaving { sequence, how: How::New }));
        }
        let mut leaving =
            if self.repair.take_probe() { self.send_probe(now, journal) } else { self.next_segment(now, journal) };
        if leaving.is_none() && self.backlog.is_buffered() {
            leaving = self.refill(now, journal);
        }
        if leaving.is_none() {
            self.note_usage(now);
            self.repair.arm(now, &self.flight, &self.stack);
        }
        Some(self.leave(now, leaving?))
    }

    /// New segments leave as long as that takes no other look, each handed to `out`. Ready segments are neither paced
    /// nor reported to the controller.
    #[inline(always)]
    pub fn send_ready(&mut self, now: Time, mut out: impl FnMut(&Data)) {
        while self.output.take_ready() {
            let sequence = self.flight.push(now);
            self.repair.on_sent();
            self.output.note_departure(now, false);
            let push = self.is_pushed(now, sequence);
            let payload = self.backlog.payload(sequence);
            out(&Data { sequence, timestamp: now, payload, retransmission: false, reduced: false, push });
        }
    }

    /// True if the new segment `sequence` is the last of a piece, or the last one written.
    #[inline(always)]
    fn is_pushed(&mut self, now: Time, sequence: u64) -> bool {
        let ends_piece = self.output.counts_piece() && self.ends_piece();
        ends_piece || self.backlog.is_last_written(sequence, now)
    }

    /// Nothing more leaves now: remembers whether the window is the reason.
    #[inline(always)]
    fn note_usage(&mut self, now: Time) {
        let (first, next) = (self.flight.first(), self.flight.next());
        let Self { output, backlog, flight, driver, repair, .. } = self;
        let is_full = || flight.in_flight() >= repair.limit(driver.window());
        // It is not asked after the probe of a receive window (tcp_write_wakeup).
        let probes = output.probes_window();
        let shows = output.close(first, next, is_full, || next < backlog.written(now, next));
        if shows && !probes && self.stack.idle_restart == Some(IdleRestart::Linux) {
            self.note_unused_window(now);
        }
    }

    fn next_segment(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Leaving> {
        let in_flight = self.flight.in_flight();
        let limit = self.repair.limit(self.driver.window());
        if in_flight >= limit {
            self.output.block(now, Blocked::Window);
            return None;
        }
        let mut lost = if self.repair.sends_new() { None } else { self.flight.next_lost() };
        lost = lost.filter(|&sequence| !self.is_bound(sequence, limit - in_flight));
        if lost.is_none()
            && let Some(reason) = self.withholds_new(now, in_flight)
        {
            if self.repair.ends_test(self.flight.next()) {
                // There was no new segment after all.
                return self.next_segment(now, journal);
            }
            if !self.output.holds_new() {
                self.output.block(now, reason);
            }
            return if self.resorts(reason) { self.last_resort(now, journal) } else { None };
        }
        if lost.is_some() {
            // It leaves alone.
            self.output.end_train();
        }
        if self.output.paces(now) {
            self.output.block(now, Blocked::Pace);
            return None;
        }
        if let Some(sequence) = lost {
            self.retransmit(now, sequence, journal);
            return Some(Leaving { sequence, how: How::Again });
        }
        if self.waits_for_train(now, limit) {
            let room = self.driver_room();
            self.output.block(now, if room.is_of_receiver() { Blocked::Receiver } else { Blocked::Window });
            return None;
        }
        let leaving = self.send_new(now);
        self.look_for_train();
        Some(leaving)
    }

    /// True if the next new segment waits until a train of them may leave.
    #[inline]
    fn waits_for_train(&mut self, now: Time, limit: u32) -> bool {
        if self.output.goes_on() {
            return false;
        }
        let Self { flight, driver, output, stack, backlog, repair } = self;
        let peer_window = output.peer_window();
        output.waits_for_train(
            now,
            || room_within(limit, flight, driver, stack, peer_window),
            |patience| {
                let next = flight.next() + 1;
                // The ACK of the oldest segment is due a round trip after it left (since Linux 6.18).
                let due = flight.oldest_at().is_some_and(|at| at + flight.rtt().smoothed <= now + patience);
                let left = || room_within(limit, flight, driver, stack, peer_window).left();
                let may_wait = due && !repair.stage().is_repairing() && !backlog.pushes() && !backlog.is_rest(left());
                may_wait && backlog.written_or_held(now, next) > next
            },
        )
    }

    /// The room that window and receiver leave.
    pub(super) fn driver_room(&self) -> Room {
        let Self { flight, driver, output, stack, repair, .. } = self;
        room(flight, driver, repair, stack, output.peer_window())
    }

    /// A new segment leaves: whether more may do so at once, as far as the answer is plain.
    #[inline]
    fn look_for_train(&mut self) {
        let wants = self.driver.wants();
        let plain = self.repair.phase() == Phase::Open && !self.output.is_paced() && !self.repair.sends_new();
        if !plain || wants.sent || wants.segments.any() {
            return;
        }
        let window = self.repair.limit(self.driver.window()).saturating_sub(self.flight.in_flight());
        let receiver = self.output.peer_room(self.flight.outstanding());
        self.output.note_ready(window.min(receiver).min(self.backlog.left_at_once(self.flight.next())));
    }

    /// Why no new segment leaves although the window has room, if none does.
    fn withholds_new(&mut self, now: Time, in_flight: u32) -> Option<Blocked> {
        let (next, outstanding) = (self.flight.next(), self.flight.outstanding());
        if self.output.peer_room(outstanding) == 0 {
            return Some(Blocked::Receiver);
        }
        let disorder = self.repair.phase() == Phase::Disorder;
        if disorder && !self.stack.limited_transmit && outstanding >= self.driver.window() {
            return Some(Blocked::Window);
        }
        if self.output.holds_new() {
            return Some(Blocked::Window);
        }
        if next >= self.backlog.written(now, next) && !self.sends_held(next) {
            self.flight.application_limits(in_flight);
            return Some(match outstanding {
                _ if self.backlog.is_full() => Blocked::SendBuffer,
                0 => Blocked::Idle,
                _ => Blocked::Application,
            });
        }
        None
    }

    /// True if the test of a timeout sends a small segment that waits for an ACK otherwise.
    fn sends_held(&mut self, next: u64) -> bool {
        self.repair.sends_new() && self.backlog.holds(next)
    }

    /// The send buffer gets room for acknowledged data, and the application writes more as long as that lets no
    /// segment leave.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Leaving> {
        loop {
            let windows = self.windows();
            if !self.backlog.write_more(now, self.flight.first(), windows) {
                return None;
            }
            // A write sends anew.
            self.output.end_trains();
            let leaving = self.next_segment(now, journal);
            if leaving.is_some() {
                return leaving;
            }
        }
    }

    /// The limits on segments that are not acknowledged.
    fn windows(&self) -> Windows {
        Windows {
            window: self.repair.limit(self.driver.window()),
            in_flight: self.flight.in_flight(),
            peer: self.output.peer_window(),
        }
    }

    #[inline(always)]
    fn send_new(&mut self, now: Time) -> Leaving {
        if self.flight.outstanding() == 0 {
            let idle = now.since(self.output.idle_since());
            let looks = self.stack.idle_restart.is_some() && !self.output.probes_window();
            if looks && idle > self.flight.timer(&self.stack.timers) {
                self.restart_after(now, idle);
            }
            if self.driver.wants().transmit_start {
                let start = TransmitStart { idle, application_limited: self.flight.is_application_limited() };
                self.notify(now, |controller, cx| controller.on_transmit_start(cx, &start));
            }
            self.flight.restart(now);
        }
        let sequence = self.flight.push(now);
        Leaving { sequence, how: if self.repair.on_new() { How::NewAnnouncing } else { How::New } }
    }

    #[inline(never)]
    fn retransmit(&mut self, now: Time, sequence: u64, journal: &mut dyn Journal) {
        self.flight.resend(now, sequence, &self.stack);
        self.repair.on_retransmission(now, sequence, sequence == self.flight.first());
        journal.note(Event::Retransmission { sequence });
    }

    /// True if segments that are not known to be lost may leave again where no new one may (NextSeg, RFC 6675).
    fn resorts(&self, reason: Blocked) -> bool {
        let asked = self.stack.losses.retransmits() == Retransmits::NextSeg;
        asked && self.repair.phase() == Phase::Recovery && reason != Blocked::Window
    }

    #[inline(never)]
    fn last_resort(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Leaving> {
        if self.output.paces(now) {
            self.output.block(now, Blocked::Pace);
            return None;
        }
        let (sequence, hole) = self.repair.last_resort(now, &self.flight)?;
        self.flight.resend_on_suspicion(now, sequence, hole);
        journal.note(Event::Retransmission { sequence });
        Some(Leaving { sequence, how: How::Again })
    }

    /// A tail loss probe: a new segment if there is one, else the last one again (RFC 8985, section 7.3). New segments
    /// that waited for a train leave with it.
    #[inline(never)]
    fn send_probe(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Leaving> {
        let next = self.flight.next();
        let new = has_new(now, &self.flight, &self.output, &mut self.backlog);
        let repeated = if new { None } else { Some(self.flight.last_unsacked()?) };
        if self.output.begins_train() {
            journal.note(Event::TailLossProbe { sequence: repeated.unwrap_or(next) });
        }
        let leaving = if let Some(sequence) = repeated {
            self.backlog.note_probe(sequence);
            self.flight.resend(now, sequence, &self.stack);
            Leaving { sequence, how: if self.stack.losses.is_linux() { How::Probe } else { How::Again } }
        } else {
            let room = self.driver_room();
            let goes_on = self.output.probe(&room);
            let leaving = self.send_new(now);
            if goes_on && has_new(now, &self.flight, &self.output, &mut self.backlog) {
                self.repair.probe_next();
            }
            leaving
        };
        self.repair.on_probe(now, repeated, &self.flight, &self.stack);
        Some(leaving)
    }

    /// Steps that every transmission has in common.
    #[inline(always)]
    fn leave(&mut self, now: Time, Leaving { sequence, how }: Leaving) -> Data {
        let (retransmission, reduced) = (matches!(how, How::Again | How::Probe), how == How::NewAnnouncing);
        let payload = self.backlog.payload(sequence);
        if how != How::Probe {
            self.repair.on_sent();
        }
        if self.output.is_paced() {
            self.pace(now, payload, retransmission);
        }
        self.output.note_departure(now, retransmission);
        let wants = self.driver.wants();
        if wants.sent || wants.segments.any() {
            self.report_sent(now, sequence, retransmission);
        }
        let ends_piece = !retransmission && self.output.counts_piece() && self.ends_piece();
        let push = ends_piece || self.backlog.is_last_written(sequence, now);
        if self.backlog.is_buffered() && !retransmission {
            let ends_train = ends_piece || self.output.is_between_pieces();
            let windows = self.windows();
            self.backlog.note_sent(sequence, ends_train, windows);
        }
        Data { sequence, timestamp: now, payload, retransmission, reduced, push }
    }

    #[inline(never)]
    fn pace(&mut self, now: Time, payload: u32, retransmission: bool) {
        let Self { flight, driver, output, stack, repair, .. } = self;
        let peer_window = output.peer_window();
        output.pace(now, payload, retransmission, || room(flight, driver, repair, stack, peer_window));
    }

    #[inline]
    fn ends_piece(&mut self) -> bool {
        let Self { flight, driver, output, stack, repair, .. } = self;
        let peer_window = output.peer_window();
        output.ends_piece(|| room(flight, driver, repair, stack, peer_window))
    }

    /// Stores the state in which segment `sequence` leaves, and notifies a controller that asks for it.
    #[inline(never)]
    fn report_sent(&mut self, now: Time, sequence: u64, retransmission: bool) {
        let state = self.flight.state_at_departure(now, sequence);
        if self.driver.wants().sent {
            let (in_flight, application_limited) = (state.in_flight, state.application_limited);
            let sent = Transmission { sequence, retransmission, in_flight, application_limited };
            self.notify(now, |controller, cx| controller.on_sent(cx, &sent));
        }
    }
}

/// The room that the window leaves.
#[inline]
fn room(flight: &Flight, driver: &Driver, repair: &Repair, stack: &Stack, peer_window: u32) -> Room {
    room_within(repair.limit(driver.window()), flight, driver, stack, peer_window)
}

/// The room that is left where `limit` segments may be in flight.
#[inline]
fn room_within(limit: u32, flight: &Flight, driver: &Driver, stack: &Stack, peer_window: u32) -> Room {
    let (exact, threshold) = driver.decided();
    let (rtt, outstanding) = (flight.rtt(), flight.outstanding());
    let reduces = limit != driver.window();
    Room {
        limit,
        in_flight: flight.in_flight(),
        peer_room: peer_window.saturating_sub(outstanding),
        peer_window,
        carried: limit.max(outstanding),
        slow_start: if reduces { f64::from(limit) } else { exact } < threshold / 2.0,
        smoothed: rtt.smoothed,
        minimum: rtt.minimum,
        segment_size: stack.segment_size.get(),
    }
}

/// True if the application has written a segment that the receive window lets leave, also one that waits for an ACK.
pub(super) fn has_new(now: Time, flight: &Flight, output: &Output, backlog: &mut Backlog) -> bool {
    let next = flight.next();
    next < backlog.written_or_held(now, next) && output.peer_room(flight.outstanding()) > 0
}
