//! What leaves, and when: the next segment that window, receiver, pace and application let go, or the reason why none
//! does.

use control::{SentState, Transmission};
use units::{Bytes, Time};

use super::{Blocked, Sender};
use crate::IdleRestart;
use crate::journal::{Event, Journal};
use crate::segment::Data;
use crate::tcp::recovery::Phase;

/// A segment that leaves, in two registers: a [`Data`] passed through memory, piece by piece, would be waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) sequence: u64,
    pub(super) how: How,
}

/// In what role a segment leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    New,
    /// New, and it announces a reduction (CWR, RFC 3168).
    NewAnnouncing,
    Again,
}

impl Sender {
    /// The next segment that leaves now, if one does. Call until it answers `None`: only then is the timer set.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Data> {
        if self.train_is_ready && self.train > 0 {
            return Some(self.send_ready(now));
        }
        let leaving =
            if self.probe.take_pending() { self.send_probe(now, journal) } else { self.next_segment(now, journal) };
        if leaving.is_none() {
            self.note_usage(now);
            if let Some(causes) = self.timers.take_stale() {
                self.arm(now, causes);
            }
        }
        Some(self.leave(now, leaving?))
    }

    /// Nothing more leaves now: remembers whether the window is the reason.
    fn note_usage(&mut self, now: Time) {
        (self.train, self.piece) = (0, 0);
        self.pacer.end_train();
        let limited = self.blocked == Blocked::Window;
        if limited || self.last_sent_at == now {
            self.usage.note(limited, self.board.first(), self.board.next());
            if self.stack.idle_restart == Some(IdleRestart::Linux) {
                self.note_unused_window(now);
            }
        }
    }

    fn next_segment(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Leaving> {
        let in_flight = self.board.in_flight();
        if in_flight >= self.recovery.limit(self.window) {
            self.blocked = Blocked::Window;
            return None;
        }
        let lost = if self.forward_rto.sends_new() { None } else { self.board.next_lost() };
        if lost.is_none()
            && let Some(reason) = self.withholds_new(now, in_flight)
        {
            if self.forward_rto.sends_new() && self.board.next() == self.recovery.point() {
                // There was no new segment after all.
                self.forward_rto.end();
                return self.next_segment(now, journal);
            }
            self.blocked = reason;
            return if self.resorts() { self.last_resort(now, journal) } else { None };
        }
        if lost.is_some() {
            // It leaves alone.
            self.pacer.end_train();
            self.piece = 0;
        }
        if self.pacer.blocks(now) {
            self.blocked = Blocked::Pace;
            return None;
        }
        Some(match lost {
            Some(sequence) => {
                self.retransmit(now, sequence, journal);
                Leaving { sequence, how: How::Again }
            }
            None if self.waits_for_train(now, in_flight) => {
                self.blocked = Blocked::Window;
                return None;
            }
            None => {
                let leaving = self.send_new(now);
                self.look_for_train();
                leaving
            }
        })
    }

    /// A new segment leaves: whether more may do so at once, as far as the answer is plain.
    #[inline]
    fn look_for_train(&mut self) {
        let plain = self.recovery.phase() == Phase::Open && !self.pacer.is_on() && !self.forward_rto.sends_new();
        if !plain || self.wants.sent || self.wants.segments.any() {
            return;
        }
        let window = self.recovery.limit(self.window).saturating_sub(self.board.in_flight());
        let receiver = self.peer_window.saturating_sub(self.board.outstanding());
        let ready = window.min(receiver).min(self.backlog.left_at_once(self.board.next()));
        if !self.stack.segmentation_offload {
            self.train = ready;
        }
        self.train_is_ready = self.train <= ready;
    }

    /// One of the segments leaves that were found to be ready.
    #[inline]
    fn send_ready(&mut self, now: Time) -> Data {
        self.train -= 1;
        let sequence = self.board.next();
        self.board.push(now, self.delivery.state());
        self.leave(now, Leaving { sequence, how: How::New })
    }

    /// Why no new segment leaves although the window has room, if none does.
    fn withholds_new(&mut self, now: Time, in_flight: u32) -> Option<Blocked> {
        let next = self.board.next();
        if self.board.outstanding() >= self.peer_window {
            return Some(Blocked::Receiver);
        }
        let disorder = self.recovery.phase() == Phase::Disorder;
        if disorder && !self.stack.limited_transmit && self.board.outstanding() >= self.window {
            return Some(Blocked::Window);
        }
        if next >= self.backlog.written(now, next) {
            self.delivery.application_limits(in_flight);
            return Some(Blocked::Application);
        }
        None
    }

    /// Whether the application has written a segment that the receive window lets leave.
    pub(super) fn has_new_data(&mut self, now: Time) -> bool {
        let next = self.board.next();
        next < self.backlog.written(now, next) && self.board.outstanding() < self.peer_window
    }

    #[inline(always)]
    fn send_new(&mut self, now: Time) -> Leaving {
        if self.board.outstanding() == 0 {
            let idle = now.since(self.last_sent_at);
            if self.stack.idle_restart.is_some() && idle > self.rtt.timer(&self.stack.timers) {
                self.restart_after(now, idle);
            }
            if self.wants.transmit_start {
                self.notify(now, |controller, cx| controller.on_transmit_start(cx, idle));
            }
            self.delivery.restart(now);
        }
        let sequence = self.board.next();
        self.board.push(now, self.delivery.state());
        self.timers.on_new();
        Leaving { sequence, how: if self.recovery.take_announcement() { How::NewAnnouncing } else { How::New } }
    }

    #[inline(never)]
    fn retransmit(&mut self, now: Time, sequence: u64, journal: &mut dyn Journal) {
        self.counters.retransmitted += 1;
        self.board.resend(sequence, now, self.delivery.state(), self.tracks_retransmissions());
        self.recovery.on_retransmission(now, sequence);
        // The oldest segment gets its full time again, as in BSD and Linux: RFC 6298 leaves it open.
        self.timers.restart(sequence == self.board.first());
        journal.note(Event::Retransmission { sequence });
    }

    /// Whether the loss of a retransmission is found before the timer expires.
    fn tracks_retransmissions(&self) -> bool {
        self.stack.losses.is_rack() || self.reordering.forward
    }

    /// A tail loss probe: a new segment if there is one, else the last one again (RFC 8985, section 7.3).
    #[inline(never)]
    fn send_probe(&mut self, now: Time, journal: &mut dyn Journal) -> Option<Leaving> {
        let next = self.board.next();
        let new = self.has_new_data(now);
        let repeated = if new { None } else { Some(self.board.last_unsacked()?) };
        journal.note(Event::TailLossProbe { sequence: repeated.unwrap_or(next) });
        let leaving = if let Some(sequence) = repeated {
            self.counters.retransmitted += 1;
            self.board.resend(sequence, now, self.delivery.state(), self.tracks_retransmissions());
            Leaving { sequence, how: How::Again }
        } else {
            self.send_new(now)
        };
        self.probe.on_sent(self.board.next(), repeated);
        // Then the retransmission timer runs (RFC 8985, section 7.3).
        self.timers.set_timeout(now, now + self.rtt.timer(&self.stack.timers));
        Some(leaving)
    }

    /// What every transmission has in common.
    #[inline(always)]
    fn leave(&mut self, now: Time, Leaving { sequence, how }: Leaving) -> Data {
        let (retransmission, reduced) = (how == How::Again, how == How::NewAnnouncing);
        let payload = self.backlog.payload(sequence);
        self.recovery.on_sent();
        if self.pacer.is_on() {
            self.pacer.on_sent(now, Bytes::new(payload.into()));
            if retransmission {
                self.pacer.end_train();
            } else if self.piece == 0 && self.stack.segmentation_offload {
                self.begin_paced_piece();
            }
        }
        self.last_sent_at = now;
        if self.wants.sent || self.wants.segments.any() {
            self.report_sent(now, sequence, retransmission);
        }
        let ends_piece = !retransmission && self.ends_piece();
        let push = ends_piece || self.backlog.is_last_written(sequence, now);
        Data { sequence, timestamp: now, payload, retransmission, reduced, push }
    }

    /// Remembers in what state segment `sequence` leaves, and tells a controller that wants to know.
    #[inline(never)]
    fn report_sent(&mut self, now: Time, sequence: u64, retransmission: bool) {
        let state = SentState {
            at: now,
            delivered: self.delivery.delivered(),
            lost: self.lost,
            marked: self.marked,
            in_flight: self.board.in_flight(),
            application_limited: self.delivery.is_application_limited(),
        };
        if let Some(reports) = self.board.reports() {
            reports.on_sent(sequence, state);
        }
        if self.wants.sent {
            let SentState { in_flight, application_limited, .. } = state;
            let sent = Transmission { sequence, retransmission, in_flight, application_limited };
            self.notify(now, |controller, cx| controller.on_sent(cx, &sent));
        }
    }
}
