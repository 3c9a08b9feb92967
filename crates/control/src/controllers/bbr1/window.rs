//! The window of BBR (`bbr_set_cwnd`), and its course in recovery. In the first round trip of recovery a segment leaves
//! for each one delivered, then up to two. Afterwards the former window holds again.

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
    /// The last ACK: its time, the segments delivered by then and by it, the segments left in flight, and the window
    /// before.
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
            // A timer detected the loss, and no ACK counts it.
            self.lost += u64::from(loss.newly_lost);
        }
    }

    /// One ACK has ended a recovery and begins the next. BBR reads the state of the connection once an ACK, and sees
    /// one recovery that goes on: it does not begin again to send one segment for each one delivered.
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

    /// Recovery is over, or was not necessary: the window is at least the former one.
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

    /// The window for the segments that the last ACK delivered.
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

    /// Grows by the delivered segments towards the target, and is cut to it once the pipe has been full.
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

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;
    use crate::testing::loss;

    /// 1000 segments a second, 40 ms, trains of two.
    fn at(window: u32, full: bool) -> Bbr1 {
        let mut bbr = Bbr1::new(Settings::default());
        bbr.bandwidths.update(5, 0, BANDWIDTH_UNIT / 1000 + 1);
        (bbr.min_rtt, bbr.window_gain, bbr.burst) = (Span::from_millis(40), 2 * GAIN_UNIT, 2);
        (bbr.window, bbr.full) = (window, full);
        bbr
    }

    /// The window after `acked` of `delivered` segments.
    fn after(mut bbr: Bbr1, acked: u32, delivered: u64) -> u32 {
        (bbr.repair.acked, bbr.repair.delivered) = (acked, delivered);
        bbr.approach_target();
        bbr.window
    }

    #[test]
    fn the_window_grows_to_the_target_and_is_cut_to_it_once_the_pipe_was_full() {
        // 2 * 40 of just more than a segment a millisecond are 81, six for trains, one to make it even.
        assert_eq!([80, 85, 100].map(|window| after(at(window, true), 5, 1000)), [85, 88, 88]);
        // Before, from below the target alone, but for the first ten segments, of which the SYN is one.
        assert_eq!([87, 88, 89].map(|window| after(at(window, false), 5, 1000)), [92, 88, 89]);
        assert_eq!([8, 9].map(|delivered| after(at(100, false), 5, delivered)), [105, 100]);
        assert_eq!(after(at(1, true), 1, 1000), 4);
    }

    #[test]
    fn without_an_rtt_ten_segments_are_the_product() {
        let mut bbr = at(10, false);
        bbr.min_rtt = Span::MAX;
        assert_eq!((bbr.product(u64::MAX, GAIN_UNIT), bbr.inflight(0, GAIN_UNIT)), (10, 16));
    }

    #[test]
    fn quantized_windows_are_even_and_have_two_segments_more_while_it_probes() {
        let mut bbr = at(10, true);
        assert_eq!([40, 41].map(|window| bbr.quantized(window)), [46, 48]);
        (bbr.mode, bbr.cycle) = (Mode::ProbeBandwidth, 0);
        assert_eq!(bbr.quantized(40), 48);
        bbr.cycle = 1;
        assert_eq!(bbr.quantized(40), 46);
    }

    #[test]
    fn trains_of_acks_add_the_bandwidth_of_100_ms_at_most_and_nothing_before_the_pipe_was_full() {
        let extra = |full, acked| {
            let mut bbr = at(1000, full);
            bbr.aggregation.observe(Time::ZERO, 0, acked, 1000);
            bbr.extra_window()
        };
        assert_eq!([extra(true, 60), extra(true, 100), extra(true, 101), extra(false, 60)], [60, 100, 100, 0]);
    }

    #[test]
    fn trains_are_longer_on_short_paths() {
        let mut bbr = at(10, true);
        (bbr.segment, bbr.rate) = (1448, 20_000_000);
        // 2^-10 s are 19,531 B; 64 KiB more are halved for every 512 us. No more than 64 KiB are a train.
        for (micros, train) in [(40_000, 13), (512, 36), (511, 45), (1024, 24), (2048, 16), (8192, 13)] {
            bbr.min_rtt = Span::from_micros(micros);
            bbr.size_trains();
            assert_eq!((bbr.burst, bbr.train), (13, train), "{micros}");
        }
    }

    #[test]
    fn the_window_to_go_back_to_is_that_before_the_first_of_a_row() {
        let mut bbr = at(50, true);
        bbr.enter_loss(&loss());
        assert_eq!((bbr.window, bbr.repair.prior_window), (1, 50));
        bbr.enter_loss(&Loss { again: true, ..loss() });
        assert_eq!((bbr.window, bbr.repair.prior_window), (1, 50));
        // In recovery and in ProbeRTT the larger one, else the last.
        let saved = |previous, mode| {
            let mut bbr = at(50, true);
            (bbr.repair.previous, bbr.repair.prior_window, bbr.mode) = (previous, 70, mode);
            bbr.save_window(50);
            bbr.repair.prior_window
        };
        assert_eq!(saved(State::Open, Mode::Startup), 50);
        assert_eq!(saved(State::Recovery, Mode::Startup), 70);
        assert_eq!(saved(State::Loss, Mode::Startup), 70);
        assert_eq!(saved(State::Open, Mode::ProbeRtt), 70);
    }

    #[test]
    fn repair_gives_the_window_back_only_after_a_recovery() {
        for (previous, window) in [(State::Open, 10), (State::Recovery, 70), (State::Loss, 70)] {
            let mut bbr = at(10, true);
            (bbr.repair.previous, bbr.repair.prior_window, bbr.repair.conserves) = (previous, 70, true);
            bbr.leave_repair();
            assert_eq!((bbr.window, bbr.repair.conserves, bbr.repair.state), (window, false, State::Open));
        }
        let mut probing = at(10, true);
        probing.mode = Mode::ProbeRtt;
        probing.leave_repair();
        assert_eq!(probing.window, 4);
    }
}
