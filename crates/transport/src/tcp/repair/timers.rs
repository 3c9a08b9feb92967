//! The deadlines of a sender: retransmission timer or tail loss probe, and the reordering timer of RACK.

use units::{Span, Time};

use crate::tcp::ticks::Ticks;

/// Action of the retransmission timer when it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Retransmission,
    TailLossProbe,
    /// A tail loss probe, armed by a new segment or else an ACK, whose deadline is computed when asked for.
    UndatedProbe {
        new: bool,
    },
}

/// Why the timer is to be set anew, once all that leaves now has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Causes {
    /// An ACK advanced the cumulative point.
    pub(super) advance: bool,
    /// A new segment left.
    pub(super) new: bool,
    /// The timer expired, or the oldest segment left again: it gets its full time.
    pub(super) restart: bool,
}

/// The deadlines of a sender, or [`Time::NEVER`] for a timer that does not run.
///
/// Nearly every ACK sets the timer, which hardly ever expires. So the deadline of a probe is computed when it is asked
/// for, and the tick when the deadline arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    at: Time,
    /// When that was set.
    set_at: Time,
    /// When the oldest suspect is lost unless an ACK for it arrives (RACK).
    reordering_at: Time,
    kind: Kind,
    /// `at` is the tick at which the timer expires, no longer when it is due.
    on_tick: bool,
    /// The timer of a tail loss probe has expired: it leaves next.
    probe_next: bool,
    stale: Causes,
    /// The ACK that is processed has set the reordering timer.
    reordering_is_new: bool,
    /// Lost segments wait for the next ACK: this one was for a late original.
    pub(super) repair_waits: bool,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            at: Time::NEVER,
            set_at: Time::NEVER,
            reordering_at: Time::NEVER,
            kind: Kind::Retransmission,
            on_tick: false,
            probe_next: false,
            stale: Causes::default(),
            reordering_is_new: false,
            repair_waits: false,
        }
    }
}

impl Timers {
    /// The next deadline.
    pub(super) fn next(&self) -> Time {
        self.at.min(self.reordering_at)
    }

    /// An ACK arrived, which `advanced` the cumulative point or not.
    pub(super) fn on_ack(&mut self, advanced: bool) {
        self.stale.advance |= advanced;
    }

    /// A new segment leaves.
    pub(super) fn on_new(&mut self) {
        self.stale.new = true;
    }

    /// The timer starts anew if `changed`.
    pub(super) fn restart(&mut self, changed: bool) {
        self.stale.restart |= changed;
    }

    /// Why the timer is to be set now, which the caller then does, or `None` if it is not.
    pub(super) fn take_stale(&mut self) -> Option<Causes> {
        let causes = std::mem::take(&mut self.stale);
        (causes != Causes::default()).then_some(causes)
    }

    /// The probe, set at `now`, is due at `at`.
    pub(super) fn set_probe(&mut self, now: Time, at: Time) {
        (self.at, self.set_at, self.kind, self.on_tick) = (at, now, Kind::TailLossProbe, false);
    }

    /// A probe is armed at `now`, by a `new` segment or else an ACK. RACK suspects no segment.
    #[inline]
    pub(super) fn set_undated(&mut self, now: Time, new: bool) {
        (self.at, self.set_at, self.kind) = (Time::NEVER, now, Kind::UndatedProbe { new });
        self.reordering_is_new &= new;
    }

    /// When a probe was armed that has no deadline yet, and whether a new segment did it.
    #[inline]
    pub(super) fn undated(&self) -> Option<(Time, bool)> {
        if let Kind::UndatedProbe { new } = self.kind { Some((self.set_at, new)) } else { None }
    }

    /// The retransmission timer, set at `now`, is due at `at`, whatever called for setting it.
    pub(super) fn set_timeout(&mut self, now: Time, at: Time) {
        let (kind, stale) = (Kind::Retransmission, Causes::default());
        *self = Self { at, set_at: now, kind, on_tick: false, stale, ..*self };
    }

    /// No probe may leave: sets the retransmission timer. It gets its full time from `now` on, but after a probe timer
    /// it is due at `oldest`, for the oldest segment (RFC 6298, 5.1: new data do not restart it).
    pub(super) fn set_without_probe(
        &mut self,
        causes: Causes,
        now: Time,
        timeout: Span,
        oldest: impl FnOnce() -> Time,
    ) {
        let probing = self.at != Time::NEVER && self.kind == Kind::TailLossProbe;
        if causes.restart || self.at == Time::NEVER || (causes.advance && !probing) {
            self.set_timeout(now, now + timeout);
        } else if probing {
            self.set_timeout(now, oldest().max(now));
        }
    }

    /// A tail loss probe is to leave next.
    pub(super) fn probe_next(&mut self) {
        self.probe_next = true;
    }

    /// True if a probe is to leave next, which the caller then sends.
    #[inline]
    pub(super) fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_next)
    }

    #[cfg(test)]
    pub(super) fn is_probe_next(&self) -> bool {
        self.probe_next
    }

    /// Nothing is outstanding.
    pub(super) fn disarm(&mut self) {
        let Self { stale, probe_next, repair_waits, .. } = *self;
        *self = Self { stale, probe_next, repair_waits, ..Self::default() };
    }

    /// When RACK deems the next segment lost, if there is a suspect.
    pub(super) fn set_reordering(&mut self, at: Option<Time>) {
        self.reordering_at = at.unwrap_or(Time::NEVER);
    }

    /// The reordering timer takes the place of the other one, as there is one timer in Linux.
    pub(super) fn replace_by_reordering(&mut self, at: Time) {
        (self.at, self.kind, self.on_tick) = (Time::NEVER, Kind::Retransmission, false);
        (self.reordering_at, self.reordering_is_new) = (at, true);
    }

    /// True if the reordering timer has taken the place of the other one and keeps it, whatever `causes` there are to
    /// set that: an ACK that advances and does not set it anew ends it (in Linux FLAG_SET_XMIT_TIMER).
    pub(super) fn keeps_reordering(&mut self, causes: Causes) -> bool {
        let is_new = std::mem::take(&mut self.reordering_is_new);
        self.awaits_suspect() && (is_new || !causes.advance)
    }

    /// The timer that another one had replaced is due at `at`, if it is not due already.
    pub(super) fn resume(&mut self, now: Time, at: Time) {
        self.reordering_at = Time::NEVER;
        self.set_timeout(now, at.max(now));
    }

    /// True if no timer runs: the one that had taken the place of the other has expired.
    pub(super) fn is_idle(&self) -> bool {
        self.next() == Time::NEVER
    }

    /// True if RACK suspects a segment.
    pub(super) fn awaits_suspect(&self) -> bool {
        self.reordering_at != Time::NEVER
    }

    /// True if the reordering timer has expired. If so, it stops.
    pub(super) fn take_reordering(&mut self, now: Time) -> bool {
        let due = self.reordering_at <= now;
        if due {
            self.reordering_at = Time::NEVER;
        }
        due
    }

    /// Action of the other timer, if it has expired. It is to be set anew afterwards. A probe timer stops until the
    /// probe has left. A timer that is due waits for its tick.
    pub(super) fn take_expired(&mut self, now: Time, ticks: Ticks) -> Option<Kind> {
        if self.at <= now && !self.on_tick {
            self.at = ticks.expiry(self.set_at, self.at.since(self.set_at));
            self.on_tick = true;
        }
        if self.at > now {
            return None;
        }
        self.stale.restart = true;
        if self.kind == Kind::TailLossProbe {
            self.at = Time::NEVER;
        }
        Some(self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn expired(timers: &mut Timers, ms: u64) -> Option<Kind> {
        timers.take_expired(at(ms), Ticks::of(Span::ZERO))
    }

    #[test]
    fn a_timeout_stays_until_it_is_set_anew_and_a_probe_timer_stops() {
        let mut timers = Timers::default();
        assert_eq!((timers.next(), expired(&mut timers, 1000)), (Time::NEVER, None));
        timers.set_timeout(at(0), at(300));
        assert_eq!(timers.take_stale(), None);
        assert_eq!([299, 300].map(|ms| expired(&mut timers, ms)), [None, Some(Kind::Retransmission)]);
        assert_eq!(timers.next(), at(300));
        // Whoever let it expire sets it anew.
        assert_eq!(timers.take_stale(), Some(Causes { restart: true, ..Causes::default() }));
        timers.set_probe(at(300), at(500));
        assert_eq!(expired(&mut timers, 500), Some(Kind::TailLossProbe));
        assert_eq!(timers.next(), Time::NEVER);
    }

    #[test]
    fn a_probe_without_a_deadline_expires_once_it_has_one() {
        let mut timers = Timers::default();
        timers.set_timeout(at(0), at(300));
        timers.set_undated(at(100), true);
        assert_eq!((timers.next(), timers.undated()), (Time::NEVER, Some((at(100), true))));
        assert_eq!(expired(&mut timers, 1000), None);
        timers.set_probe(at(100), at(200));
        assert_eq!((timers.undated(), expired(&mut timers, 200)), (None, Some(Kind::TailLossProbe)));
    }

    #[test]
    fn a_timer_that_is_due_waits_for_its_tick() {
        let mut timers = Timers::default();
        timers.set_timeout(at(1), at(10));
        let ticks = Ticks::of(Span::from_millis(4));
        let tick = ticks.expiry(at(1), Span::from_millis(9));
        assert!(tick > at(10) && timers.take_expired(at(10), ticks).is_none());
        assert_eq!(timers.next(), tick);
        assert_eq!(timers.take_expired(tick, ticks), Some(Kind::Retransmission));
    }

    #[test]
    fn without_a_probe_new_data_start_a_timer_but_do_not_restart_it() {
        // RFC 6298: 5.1, and 5.3 for an ACK that advances.
        let (new, advance) = (Causes { new: true, ..Causes::default() }, Causes { advance: true, ..Causes::default() });
        let restart = Causes { restart: true, ..Causes::default() };
        let set = |timers: &mut Timers, causes, ms| {
            timers.set_without_probe(causes, at(ms), Span::from_millis(300), || at(350));
            timers.next()
        };
        let mut timers = Timers::default();
        let next = [(new, 0), (new, 10), (advance, 20), (restart, 30)].map(|(causes, ms)| set(&mut timers, causes, ms));
        assert_eq!(next, [300, 300, 320, 330].map(at));
        // After a probe timer the oldest segment counts, also where an ACK has advanced, but not if all begins anew.
        for (causes, now, expected) in [(new, 60, 350), (advance, 60, 350), (new, 400, 400), (restart, 60, 360)] {
            let mut timers = Timers::default();
            timers.set_probe(at(50), at(250));
            assert_eq!(set(&mut timers, causes, now), at(expected));
        }
    }

    #[test]
    fn with_nothing_outstanding_only_what_is_due_now_is_remembered() {
        let mut timers = Timers::default();
        timers.set_timeout(at(0), at(300));
        timers.set_reordering(Some(at(40)));
        assert_eq!(timers.next(), at(40));
        timers.probe_next();
        timers.on_new();
        timers.disarm();
        assert_eq!((timers.next(), timers.is_probe_next()), (Time::NEVER, true));
        assert_eq!(timers.take_stale(), Some(Causes { new: true, ..Causes::default() }));
        assert!(timers.take_probe() && !timers.take_probe());
    }

    #[test]
    fn the_reordering_timer_expires_once() {
        let mut timers = Timers::default();
        timers.set_reordering(Some(at(40)));
        assert!(!timers.take_reordering(at(39)));
        assert!(timers.take_reordering(at(40)) && !timers.take_reordering(at(41)));
        timers.set_reordering(None);
        assert_eq!(timers.next(), Time::NEVER);
    }

    #[test]
    fn the_reordering_timer_takes_the_place_of_the_other_until_an_ack_advances_without_it() {
        let (new, advance) = (Causes { new: true, ..Causes::default() }, Causes { advance: true, ..Causes::default() });
        let mut timers = Timers::default();
        timers.set_timeout(at(0), at(300));
        timers.replace_by_reordering(at(400));
        assert_eq!(timers.next(), at(400), "there is one timer");
        assert!(timers.keeps_reordering(advance), "the ACK that set it");
        assert!(timers.keeps_reordering(new) && !timers.keeps_reordering(advance));
        timers.resume(at(350), at(330));
        assert_eq!((timers.next(), timers.awaits_suspect()), (at(350), false));
        timers.replace_by_reordering(at(400));
        assert!(timers.take_reordering(at(400)) && timers.is_idle());
    }

    #[test]
    fn causes_add_up_until_the_timer_is_set() {
        let mut timers = Timers::default();
        timers.on_ack(false);
        timers.restart(false);
        assert_eq!(timers.take_stale(), None);
        timers.on_ack(true);
        timers.on_ack(false);
        timers.restart(true);
        timers.restart(false);
        assert_eq!(timers.take_stale(), Some(Causes { advance: true, new: false, restart: true }));
        assert_eq!(timers.take_stale(), None);
    }
}
