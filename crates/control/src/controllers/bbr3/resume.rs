//! Careful Resume under BBR (RFC 9959, "Implementation Notes for Using BBR"): a connection that knows the window of an
//! earlier one over the same path sends in Startup at half of that one's rate, until two round trips later the delivery
//! rates show it. Congestion before then ends Startup, and Drain learns no bandwidth.
//!
//! The saved window and RTT are parameters: a run has no earlier connection to learn from. A change of path shows
//! itself by the RTT alone.

use units::Span;

/// An RTT below half or above ten times the saved one is another path's (RFC 9959, section 4.2).
const SHORTER: u64 = 2;
const LONGER: u64 = 10;
/// Round trips from the start of a jump to the delivery rates that show it.
const ROUNDS: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The saved window may be used.
    Reconnaissance,
    /// "carefully-resuming": up to a round trip, at a rate in segments a second.
    Unvalidated {
        until: u64,
        rate: f64,
    },
    /// The same, and congestion has shown that the path does not hold so much.
    Retreat,
    Normal,
}

/// The saved window and RTT, and their use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resume {
    saved_window: f64,
    saved_rtt: Span,
    phase: Phase,
}

impl Resume {
    pub(super) fn new(saved_window: f64, saved_rtt: Span) -> Self {
        let phase = if saved_window > 0.0 { Phase::Reconnaissance } else { Phase::Normal };
        Self { saved_window, saved_rtt, phase }
    }

    /// The least rate in segments a second, 0 for none.
    pub(super) fn rate(&self) -> f64 {
        if let Phase::Unvalidated { rate, .. } = self.phase { rate } else { 0.0 }
    }

    /// True while delivery rates say nothing of the path.
    pub(super) fn is_retreating(&self) -> bool {
        self.phase == Phase::Retreat
    }

    /// Round trip `round` begins in Startup, in which the initial window is `delivered` or not.
    pub(super) fn begin_round(&mut self, round: u64, delivered: bool, min_rtt: Option<Span>, bw: f64) {
        match (self.phase, min_rtt) {
            (Phase::Reconnaissance, Some(rtt)) if delivered => {
                self.phase = Phase::Normal;
                let is_same_path = rtt >= self.saved_rtt / SHORTER && rtt <= self.saved_rtt * LONGER;
                let rate = self.saved_window / 2.0 / self.saved_rtt.max(rtt).as_secs_f64();
                if is_same_path && rate > bw {
                    self.phase = Phase::Unvalidated { until: round + ROUNDS, rate };
                }
            }
            (Phase::Unvalidated { until, .. }, _) if round >= until => self.phase = Phase::Normal,
            _ => {}
        }
    }

    /// Congestion: whether it ends a jump.
    pub(super) fn fail(&mut self) -> bool {
        let fails = matches!(self.phase, Phase::Unvalidated { .. });
        match self.phase {
            Phase::Unvalidated { .. } => self.phase = Phase::Retreat,
            Phase::Reconnaissance => self.phase = Phase::Normal,
            Phase::Retreat | Phase::Normal => {}
        }
        fails
    }

    /// Startup is over, or Drain.
    pub(super) fn stop(&mut self) {
        self.phase = Phase::Normal;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(100);

    #[test]
    fn half_the_saved_rate_is_used_for_two_round_trips() {
        let mut resume = Resume::new(1000.0, RTT);
        resume.begin_round(1, false, Some(RTT), 100.0);
        assert_eq!(resume.rate(), 0.0);
        // Half of 1000 segments in 100 ms, or in the RTT if that is longer.
        resume.begin_round(2, true, Some(RTT), 100.0);
        assert_eq!(resume.rate(), 5000.0);
        resume.begin_round(3, true, Some(RTT), 100.0);
        assert_eq!(resume.rate(), 5000.0);
        resume.begin_round(4, true, Some(RTT), 5000.0);
        assert_eq!((resume.rate(), resume.fail()), (0.0, false));
    }

    #[test]
    fn another_path_or_a_rate_that_is_no_more_is_none_to_resume() {
        for (rtt, bw, rate) in [(50, 0.0, 5000.0), (49, 0.0, 0.0), (1000, 0.0, 500.0), (1001, 0.0, 0.0), (50, 5e3, 0.0)]
        {
            let mut resume = Resume::new(1000.0, RTT);
            resume.begin_round(1, true, Some(Span::from_millis(rtt)), bw);
            assert_eq!(resume.rate(), rate, "{rtt} {bw}");
        }
        let mut none = Resume::new(0.0, RTT);
        none.begin_round(1, true, Some(RTT), 0.0);
        assert_eq!(none.rate(), 0.0);
    }

    #[test]
    fn congestion_before_a_jump_prevents_it_and_within_ends_it() {
        let mut resume = Resume::new(1000.0, RTT);
        assert!(!resume.fail());
        resume.begin_round(1, true, Some(RTT), 0.0);
        assert_eq!(resume.rate(), 0.0);
        let mut resume = Resume::new(1000.0, RTT);
        resume.begin_round(1, true, Some(RTT), 0.0);
        assert!(resume.fail() && resume.is_retreating() && !resume.fail());
        resume.stop();
        assert!(!resume.is_retreating());
    }
}
