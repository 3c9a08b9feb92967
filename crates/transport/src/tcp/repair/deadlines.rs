//! When the timers of a sender expire, and the reaction: retransmission timer, tail loss probe and the timer of RACK.

use units::{Span, Time};

use super::timers::{Causes, Kind};
use super::{Phase, Repair};
use crate::Stack;
use crate::tcp::flight::Flight;
use crate::tcp::ticks::Ticks;

/// The least wait before a probe (RFC 8985 leaves it open). With ticking timers it is added to the wait of a probe and
/// of RACK's timer (in Linux since 6.7 TCP_TIMEOUT_MIN_US).
const TIMER_MIN: Span = Span::from_millis(2);
/// The wait before a probe without an RTT sample (RFC 8985, section 7.2; in Linux TCP_TIMEOUT_INIT).
const PROBE_WITHOUT_SAMPLE: Span = Span::from_secs(1);
/// The longest delay of the ACK of a lone segment (RFC 8985, section 7.2, TLP.max_ack_delay).
const WORST_DELAYED_ACK: Span = Span::from_millis(200);
/// The least time from an ACK that shows reneging to the timeout, if half the smoothed RTT is less (in Linux
/// tcp_check_sack_reneging).
const RENEGING_MIN: Span = Span::from_millis(10);

/// The consequence of a deadline that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Due {
    /// The retransmission timer expired.
    Timeout,
    /// A tail loss probe leaves next, or nothing happens.
    Nothing,
}

impl Repair {
    fn ticks(&self, stack: &Stack) -> Ticks {
        Ticks::of(stack.timers.tick).up_for(self.uptime)
    }

    /// When a timer expires that is set at `now` for `wait`.
    pub(in crate::tcp) fn expiry(&self, now: Time, wait: Span, stack: &Stack) -> Time {
        self.ticks(stack).expiry(now, wait)
    }

    /// The next deadline.
    #[inline(never)]
    pub(in crate::tcp) fn next(&self, flight: &Flight, stack: &Stack) -> Time {
        let probe = self.timers.undated().map(|(set_at, new)| probe_at(set_at, new, flight, stack));
        self.timers.next().min(probe.unwrap_or(Time::NEVER))
    }

    /// True if the next deadline is surely not before `at`, by lower bounds that take no time to compute.
    #[inline(always)]
    pub(in crate::tcp) fn surely_waits(&self, at: Time, flight: &Flight, stack: &Stack) -> bool {
        self.timers.undated().is_some_and(|(set_at, _)| {
            let rtt = flight.rtt();
            set_at + rtt.smoothed * 2 >= at && flight.timeout_of_oldest(set_at, rtt.least_timer(&stack.timers)) >= at
        })
    }

    /// A probe without a deadline gets it now, as the state that it depends on changes.
    #[inline]
    pub(in crate::tcp) fn settle_deadline(&mut self, flight: &Flight, stack: &Stack) {
        if let Some((set_at, new)) = self.timers.undated() {
            self.timers.set_probe(set_at, probe_at(set_at, new, flight, stack));
        }
    }

    /// Sets the timer if something calls for it and anything is outstanding: as tail loss probe where one may be sent
    /// (RFC 8985, section 7.2), else as retransmission timer (RFC 6298, 5.1 to 5.3).
    #[inline]
    pub(in crate::tcp) fn arm(&mut self, now: Time, flight: &Flight, stack: &Stack) {
        if let Some(causes) = self.timers.take_stale() {
            let in_order = self.phase() == Phase::Open && flight.sacked_count() == 0 && !self.timers.awaits_suspect();
            if in_order && !causes.restart && flight.outstanding() > 0 && stack.losses.probes_tail() {
                self.timers.set_undated(now, causes.new);
            } else {
                self.settle_deadline(flight, stack);
                self.set(now, causes, flight, stack);
            }
        }
    }

    /// Sets the timer for these causes.
    #[inline(never)]
    fn set(&mut self, now: Time, causes: Causes, flight: &Flight, stack: &Stack) {
        if flight.outstanding() == 0 {
            self.timers.disarm();
            return;
        }
        // Linux has one timer. Unless losses are repaired or segments are out of order, a probe takes the place of
        // RACK's timer once new data leave (tcp_schedule_loss_probe).
        let takes_new =
            causes.new && stack.losses.probes_tail() && matches!(self.phase(), Phase::Open | Phase::Reduced);
        if !stack.timers.tick.is_zero() && !takes_new {
            if self.timers.keeps_reordering(causes) {
                return;
            }
            // The reordering timer has expired: the time since the oldest segment left counts (tcp_rearm_rto).
            if causes.restart && !causes.new && self.timers.is_idle() {
                return self.timers.resume(now, flight.timeout_of_oldest(now, flight.timeout(&stack.timers)));
            }
        }
        // Segments out of order rule a probe out, but while the window comes down for a mark.
        let disorder = flight.sacked_count() > 0 || self.phase() == Phase::Disorder;
        let takes_over = self.phase() == Phase::Reduced && (causes.new || !self.timers.awaits_suspect());
        let may_probe = stack.losses.probes_tail() && !self.stage().is_repairing() && (!disorder || takes_over);
        if !may_probe {
            let oldest = || flight.timeout_of_oldest(now, flight.timeout(&stack.timers));
            if !stack.timers.tick.is_zero() && self.timers.awaits_suspect() {
                return self.timers.resume(now, oldest());
            }
            return self.timers.set_without_probe(causes, now, flight.timer(&stack.timers), oldest);
        }
        if disorder || self.timers.awaits_suspect() {
            self.forget_suspects();
        }
        self.timers.set_probe(now, probe_at(now, causes.new, flight, stack));
    }

    /// An ACK arrived. `restarts`: it lets the timer begin anew (RFC 6298, 5.2 and 5.3).
    #[inline]
    pub(in crate::tcp) fn on_ack(&mut self, restarts: bool) {
        self.timers.on_ack(restarts);
    }

    /// RACK deems the last suspect lost at `due`, if there is one: its timer expires then, but no later than the
    /// retransmission timer.
    #[inline]
    pub(in crate::tcp) fn await_suspect(&mut self, now: Time, due: Option<Time>, flight: &Flight, stack: &Stack) {
        if stack.timers.tick.is_zero() {
            self.timers.set_reordering(due);
        } else if let Some(due) = due {
            let at = self.on_tick(now, due, flight, stack);
            self.timers.replace_by_reordering(at);
        }
    }

    /// The reordering timer has expired: the retransmission timer runs again.
    pub(in crate::tcp) fn end_reordering(&mut self, stack: &Stack) {
        if !stack.timers.tick.is_zero() {
            self.timers.restart(true);
        }
    }

    #[inline(never)]
    fn on_tick(&self, now: Time, due: Time, flight: &Flight, stack: &Stack) -> Time {
        let wait = due.since(now) + TIMER_MIN;
        self.ticks(stack).expiry(now, wait.min(flight.timeout(&stack.timers)))
    }

    /// True if RACK's timer has expired.
    pub(in crate::tcp) fn takes_suspect(&mut self, now: Time) -> bool {
        self.timers.take_reordering(now)
    }

    /// The other timer, if it has expired.
    pub(in crate::tcp) fn take_due(&mut self, now: Time, flight: &Flight, stack: &Stack) -> Due {
        if self.surely_waits(now + Span::from_nanos(1), flight, stack) {
            return Due::Nothing;
        }
        self.settle_deadline(flight, stack);
        match self.timers.take_expired(now, self.ticks(stack)) {
            // One probe at a time: then it is the turn of the oldest segment's timeout.
            Some(Kind::TailLossProbe) if self.probe.is_in_flight() => {
                let due = flight.timeout_of_oldest(now, flight.timeout(&stack.timers));
                self.timers.set_timeout(now, due.max(now));
                Due::Nothing
            }
            Some(Kind::TailLossProbe) => {
                self.timers.probe_next();
                Due::Nothing
            }
            Some(Kind::Retransmission) => Due::Timeout,
            Some(Kind::UndatedProbe { .. }) | None => Due::Nothing,
        }
    }

    /// The receiver has discarded what it SACKed: the timeout comes after half a round trip, unless ACKs fill the gap.
    #[inline(never)]
    pub(in crate::tcp) fn await_reneging(&mut self, now: Time, flight: &Flight) {
        self.timers.resume(now, now + (flight.rtt().smoothed / 2).max(RENEGING_MIN));
    }

    /// Everything outstanding is lost: RACK has no suspects.
    pub(in crate::tcp) fn forget_suspects(&mut self) {
        self.timers.set_reordering(None);
    }
}

/// When a probe is due that is armed at `now`. With a `new` segment that is no later than the timeout of the oldest
/// segment. If that has passed, Linux waits for the probe alone, also while one is in flight.
fn probe_at(now: Time, new: bool, flight: &Flight, stack: &Stack) -> Time {
    let timeout = flight.timer(&stack.timers);
    let at = now + probe_wait(flight, stack);
    let bound = if new { flight.timeout_of_oldest(now, timeout) } else { now + timeout };
    if bound >= at {
        return at;
    }
    let bound = bound + (flight.timeout(&stack.timers) - timeout);
    if bound > now { at.min(bound) } else { at }
}

/// The wait before a probe, unless the timeout comes first (RFC 8985, section 7.2). No timer waits longer than the
/// longest timeout (TCP_RTO_MAX).
#[inline]
fn probe_wait(flight: &Flight, stack: &Stack) -> Span {
    let rtt = flight.rtt();
    if !rtt.has_sample() {
        return PROBE_WITHOUT_SAMPLE;
    }
    let mut wait = rtt.smoothed * 2;
    if flight.outstanding() == 1 {
        wait += WORST_DELAYED_ACK;
    } else if !stack.timers.tick.is_zero() {
        wait += TIMER_MIN;
    }
    wait.max(TIMER_MIN).min(stack.timers.rto_max)
}
