//! The window and the pacing rate of the connection, and the send quantum (section 5.6).

use units::Span;

use crate::parts::bounded::Bounded as _;

/// A quantum takes so long at the pacing rate, and is no longer than this, in bytes. It has two segments at least.
const QUANTUM_SECONDS: f64 = 0.001;
const LONGEST_QUANTUM: f64 = 65_536.0;
const SHORTEST_QUANTUM: f64 = 2.0;

/// BBR.StartupPacingGain, 4 ln 2.
pub(super) const STARTUP_PACING_GAIN: f64 = 2.77;

/// C.cwnd, C.pacing_rate and C.send_quantum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Payload of a segment, bytes.
    segment: f64,
    initial_cwnd: f64,
    cwnd: f64,
    prior_cwnd: f64,
    /// Segments a second.
    pacing_rate: f64,
    /// Segments. It is computed with the rate, as every ACK uses it and few change that.
    quantum: f64,
    has_seen_rtt: bool,
}

impl Window {
    pub(super) const fn new() -> Self {
        let (pacing_rate, quantum) = (0.0, SHORTEST_QUANTUM);
        Self { segment: 1.0, initial_cwnd: 1.0, cwnd: 1.0, prior_cwnd: 0.0, pacing_rate, quantum, has_seen_rtt: false }
    }

    /// The connection begins, with segments of so many bytes.
    pub(super) fn start(&mut self, segment: f64, initial_cwnd: f64) {
        (self.segment, self.initial_cwnd, self.cwnd) = (segment, initial_cwnd, initial_cwnd);
    }

    /// C.InitialCwnd.
    pub(super) fn initial_cwnd(&self) -> f64 {
        self.initial_cwnd
    }

    /// C.cwnd.
    pub(super) fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// C.pacing_rate, segments a second.
    #[cfg(test)]
    pub(super) fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    /// C.pacing_rate, bit/s.
    pub(super) fn bits_per_second(&self) -> u64 {
        ((self.pacing_rate * self.segment * 8.0) as u64).max(1)
    }

    /// InitPacingRate(): the initial window in `rtt` at the gain of Startup.
    pub(super) fn init_pacing_rate(&mut self, rtt: Span) {
        self.pace_at(STARTUP_PACING_GAIN * self.initial_cwnd / rtt.as_secs_f64().at_least(1e-9));
    }

    /// The rate is `rate` from now on, which sets the quantum (SetSendQuantum()).
    fn pace_at(&mut self, rate: f64) {
        if rate != self.pacing_rate {
            let most = LONGEST_QUANTUM / self.segment;
            self.quantum = (rate * QUANTUM_SECONDS).at_most(most).at_least(SHORTEST_QUANTUM).floor();
            self.pacing_rate = rate;
        }
    }

    /// The first RTT, of the handshake or of an ACK, gives the first rate.
    pub(super) fn see_rtt(&mut self, rtt: Span) {
        if !self.has_seen_rtt {
            self.has_seen_rtt = true;
            self.init_pacing_rate(rtt);
        }
    }

    /// SetPacingRateWithGain(); before the pipe was full the rate does not fall.
    pub(super) fn set_pacing_rate(&mut self, rate: f64, may_fall: bool) {
        if rate > 0.0 && (may_fall || rate > self.pacing_rate) {
            self.pace_at(rate);
        }
    }

    /// C.send_quantum, segments.
    pub(super) fn quantum(&self) -> f64 {
        self.quantum
    }

    /// SaveCwnd(); while it is `disturbed` the window is not the one to go back to.
    pub(super) fn save(&mut self, disturbed: bool) {
        self.prior_cwnd = if disturbed { self.prior_cwnd.at_least(self.cwnd) } else { self.cwnd };
    }

    /// RestoreCwnd().
    pub(super) fn restore(&mut self) {
        self.cwnd = self.cwnd.at_least(self.prior_cwnd);
    }

    /// OnEnterRTO(): one segment, as all that was in flight is deemed lost.
    pub(super) fn collapse(&mut self) {
        self.cwnd = 1.0;
    }

    /// SetCwnd(): growth by `newly_acked` up to `max_inflight`, before the pipe was full only from below it.
    pub(super) fn grow(&mut self, newly_acked: f64, max_inflight: f64, delivered: u64, full_bw_reached: bool) {
        if full_bw_reached {
            self.cwnd = (self.cwnd + newly_acked).at_most(max_inflight);
        } else if self.cwnd < max_inflight || (delivered as f64) < self.initial_cwnd {
            self.cwnd += newly_acked;
        }
    }

    /// The window is at least this.
    pub(super) fn raise_to(&mut self, least: f64) {
        self.cwnd = self.cwnd.at_least(least);
    }

    /// The window is at most this.
    pub(super) fn cap_at(&mut self, most: f64) {
        self.cwnd = self.cwnd.at_most(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(cwnd: f64, pacing_rate: f64) -> Window {
        Window { cwnd, initial_cwnd: 10.0, pacing_rate, ..Window::new() }
    }

    #[test]
    fn before_the_pipe_was_full_the_rate_does_not_fall_and_none_is_zero() {
        for (rate, may_fall, expected) in
            [(90.0, false, 100.0), (110.0, false, 110.0), (90.0, true, 90.0), (0.0, true, 100.0)]
        {
            let mut window = at(10.0, 100.0);
            window.set_pacing_rate(rate, may_fall);
            assert_eq!(window.pacing_rate, expected, "{rate} {may_fall}");
        }
    }

    #[test]
    fn the_quantum_lasts_a_millisecond_within_its_bounds() {
        let mut window = Window::new();
        assert_eq!(window.quantum(), 2.0);
        window.start(1448.0, 10.0);
        // 65,536 bytes are 45.3 segments.
        for (rate, quantum) in [(100.0, 2.0), (7_900.0, 7.0), (44_999.0, 44.0), (1e6, 45.0)] {
            window.set_pacing_rate(rate, true);
            assert_eq!(window.quantum(), quantum, "{rate}");
        }
    }

    #[test]
    fn before_the_pipe_was_full_the_window_grows_from_below_the_bound_or_with_the_first_deliveries() {
        for (cwnd, delivered, is_full, expected) in [
            (39.0, 100, false, 44.0),
            (40.0, 100, false, 40.0),
            (50.0, 9, false, 55.0),
            (50.0, 10, false, 50.0),
            (50.0, 9, true, 40.0),
            (30.0, 9, true, 35.0),
        ] {
            let mut window = at(cwnd, 100.0);
            window.grow(5.0, 40.0, delivered, is_full);
            assert_eq!(window.cwnd, expected, "{cwnd} {delivered} {is_full}");
        }
    }
}
