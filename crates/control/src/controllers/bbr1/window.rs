//! The window of BBR (`bbr_set_cwnd`), and what recovery makes of it: in its first round trip a segment leaves for each
//! one delivered, then up to two. Afterwards the window is what it was before.

use units::{Span, Time};

use super::{BANDWIDTH_UNIT, Bbr1, GAIN_UNIT, MIN_WINDOW, Mode, micros};
use crate::{Ack, Loss};

/// The window until a segment has brought an RTT sample, and the segments of which Startup may not fall short
/// (TCP_INIT_CWND).
const INITIAL: u32 = 10;
/// The SYN counts as delivered.
const HANDSHAKE: u64 = 1;
/// Below this rate, in bits per second, segments leave one by one (`bbr_min_tso_rate`).
const SLOW: u64 = 1_200_000;
/// A train takes 2^-10 s at most (`sk_pacing_shift`), and no more than an IP packet holds.
const TRAIN_SHIFT: u32 = 10;
const LONGEST_TRAIN: u64 = 1 << 16;
/// The part that headers leave (MAX_TCP_HEADER).
const LONGEST_BURST: u64 = LONGEST_TRAIN - 1 - 320;
/// Trains of ACKs add at most the bandwidth of this time to the window.
const LONGEST_SILENCE_MICROS: u64 = 100_000;

/// The state of recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    #[default]
    Open,
    Recovery,
    Loss,
}

/// Recovery as BBR sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repair {
    /// The state, and at the last ACK that delivered something.
    state: State,
    previous: State,
    /// Until everything below is acknowledged.
    point: u64,
    /// A segment for each one delivered.
    pub(super) conserves: bool,
    /// The window before recovery or ProbeRTT.
    pub(super) prior_window: u32,
    /// The last ACK: when it came, what was delivered by then and by it, what it left in flight, and the window before.
    at: Time,
    pub(super) delivered: u64,
    acked: u32,
    in_flight: u32,
    window_before: u32,
    /// The recovery that this ACK ended.
    ended: Option<Ended>,
}

/// The window and the rule of a recovery, before the ACK that ended it changed them.
#[derive(Clone, Copy, Debug)]
struct Ended {
    window: u32,
    conserves: bool,
}

impl Bbr1 {
    /// Remembers `window` as the one to go back to (`bbr_save_cwnd`).
    pub(super) fn save_window(&mut self, window: u32) {
        let disturbed = self.repair.previous >= State::Recovery || self.mode == Mode::ProbeRtt;
        let prior = if disturbed { self.repair.prior_window } else { 0 };
        self.repair.prior_window = prior.max(window);
    }

    pub(super) fn enter_recovery(&mut self, now: Time, loss: &Loss) {
        let shown_by_ack = self.repair.at == now && self.repair.acked > 0;
        if let Some(ended) = self.repair.ended.take().filter(|_| shown_by_ack) {
            return self.continue_recovery(ended, loss);
        }
        self.save_window(if shown_by_ack { self.repair.window_before } else { self.window });
        self.repair.state = State::Recovery;
        self.repair.point = loss.sent_to;
        if shown_by_ack {
            self.begin_conservation(self.repair.acked, self.repair.in_flight);
            self.limit_in_probe_rtt();
        } else {
            // A timer found it, and no ACK counts what it shows.
            self.lost += u64::from(loss.newly_lost);
        }
    }

    /// One ACK has ended a recovery and begins the next. BBR looks at the state of the connection once an ACK, so that
    /// for it the recovery goes on: it does not begin again to send one segment for each one delivered.
    fn continue_recovery(&mut self, ended: Ended, loss: &Loss) {
        (self.repair.state, self.repair.previous) = (State::Recovery, State::Recovery);
        self.repair.point = loss.sent_to;
        self.repair.conserves = ended.conserves;
        self.save_window(self.repair.window_before);
        self.window = ended.window;
        self.follow_flight();
        self.limit_in_probe_rtt();
    }

    pub(super) fn enter_loss(&mut self, loss: &Loss) {
        if !loss.again {
            self.save_window(self.window);
        }
        self.window = 1;
        (self.repair.state, self.repair.previous) = (State::Loss, State::Loss);
        self.repair.point = loss.sent_to;
    }

    /// Recovery is over, or was not necessary: the window is what it was before, at least.
    pub(super) fn leave_repair(&mut self) {
        if self.repair.previous >= State::Recovery {
            self.window = self.window.max(self.repair.prior_window);
        }
        self.repair.conserves = false;
        (self.repair.state, self.repair.previous) = (State::Open, State::Open);
        self.limit_in_probe_rtt();
    }

    fn begin_conservation(&mut self, acked: u32, in_flight: u32) {
        self.repair.conserves = true;
        self.repair.previous = State::Recovery;
        self.next_round = self.repair.delivered;
        self.window = in_flight + acked;
    }

    /// The window after `ack`, of which `losses` segments were deemed lost.
    pub(super) fn set_window(&mut self, now: Time, ack: &Ack, losses: u32) {
        let acked = ack.newly_delivered;
        let (at, in_flight, window_before) = (now, ack.in_flight, self.window);
        let delivered = ack.delivered;
        self.repair = Repair { at, delivered, acked, in_flight, window_before, ended: None, ..self.repair };
        if acked > 0 {
            self.window = self.window.saturating_sub(losses).max(1);
            self.follow_recovery(ack);
            self.follow_flight();
        }
        self.limit_in_probe_rtt();
    }

    /// The window for what the last ACK delivered.
    fn follow_flight(&mut self) {
        if self.repair.conserves {
            self.window = self.window.max(self.repair.in_flight + self.repair.acked);
        } else {
            self.approach_target();
        }
    }

    /// Recovery begins with this ACK, or ends with it.
    fn follow_recovery(&mut self, ack: &Ack) {
        if self.repair.state > State::Open && ack.acknowledged_to >= self.repair.point {
            let ended = Ended { window: self.window, conserves: self.repair.conserves };
            self.repair.ended = (self.repair.previous == State::Recovery).then_some(ended);
            return self.leave_repair();
        }
        if self.repair.state == State::Recovery && self.repair.previous != State::Recovery {
            self.begin_conservation(ack.newly_delivered, ack.in_flight);
        }
        self.repair.previous = self.repair.state;
    }

    /// Grows by what was delivered towards the target, and is cut to it once the pipe has been full.
    fn approach_target(&mut self) {
        let Repair { acked, delivered, .. } = self.repair;
        let target = self.product(self.bandwidth(), self.window_gain).saturating_add(self.extra_window());
        let target = self.quantized(target);
        if self.full {
            self.window = self.window.saturating_add(acked).min(target);
        } else if self.window < target || delivered + HANDSHAKE < INITIAL.into() {
            self.window = self.window.saturating_add(acked);
        }
        self.window = self.window.max(MIN_WINDOW);
    }

    fn limit_in_probe_rtt(&mut self) {
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(MIN_WINDOW);
        }
    }

    /// `gain` times the bandwidth-delay product, rounded up (`bbr_bdp`).
    fn product(&self, bandwidth: u64, gain: u64) -> u32 {
        if self.min_rtt == Span::MAX {
            return INITIAL;
        }
        let product = u128::from(bandwidth) * u128::from(micros(self.min_rtt)) * u128::from(gain);
        let segments = (product / u128::from(GAIN_UNIT)).div_ceil(u128::from(BANDWIDTH_UNIT));
        u32::try_from(segments).unwrap_or(u32::MAX)
    }

    /// `window` with the allowance for the ends of the path: three trains, an even number of segments for delayed ACKs,
    /// and two more in the phase that looks for more (`bbr_quantization_budget`).
    fn quantized(&self, window: u32) -> u32 {
        let probing = self.mode == Mode::ProbeBandwidth && self.cycle == 0;
        let window = window.saturating_add(3 * self.burst);
        (window.saturating_add(1) & !1).saturating_add(if probing { 2 } else { 0 })
    }

    /// Segments in flight at `gain` (`bbr_inflight`).
    pub(super) fn inflight(&self, bandwidth: u64, gain: u64) -> u32 {
        self.quantized(self.product(bandwidth, gain))
    }

    /// `bbr_ack_aggregation_cwnd`.
    fn extra_window(&self) -> u32 {
        if !self.full {
            return 0;
        }
        let most = self.bandwidth().saturating_mul(LONGEST_SILENCE_MICROS) / BANDWIDTH_UNIT;
        u32::try_from(self.aggregation.extra().min(most)).unwrap_or(u32::MAX)
    }

    /// Segments of a train: as BBR counts them for its window (`bbr_tso_segs_goal`), and as Linux makes them
    /// (tcp_tso_autosize), longer on a path of a few milliseconds.
    pub(super) fn size_trains(&mut self) {
        if self.sized_for == (self.rate, self.min_rtt) {
            return;
        }
        self.sized_for = (self.rate, self.min_rtt);
        let bytes = self.rate >> TRAIN_SHIFT;
        let halvings = micros(self.min_rtt) / 512;
        let near = if halvings < 32 { LONGEST_TRAIN >> halvings } else { 0 };
        let (segment, shortest) = (self.segment, if self.rate < SLOW / 8 { 1 } else { 2 });
        let segments = |bytes: u64| ((bytes / segment) as u32).max(shortest);
        self.burst = segments(bytes.min(LONGEST_BURST)).min(127);
        self.train = segments((bytes + near).min(LONGEST_TRAIN));
    }
}
