//! HyStart++ (RFC 9406): if the smallest RTT of a round is above the one of the round before, conservative slow start
//! (CSS) grows a quarter as fast for five rounds. If the RTT falls again meanwhile, it was noise, and slow start goes
//! on. If not, congestion avoidance begins.
//!
//! | RFC 9406, section 4 | here |
//! | --- | --- |
//! | rounds by windowEnd; lastRoundMinRTT, currentRoundMinRTT, rttSampleCount | `Rounds` |
//! | RttThresh, and the entry into CSS | `HyStartPlusPlus::check_delay` |
//! | CSS_GROWTH_DIVISOR, CSS_ROUNDS, cssBaselineMinRtt | `HyStartPlusPlus::observe` |

use units::Span;

use super::Step;
use crate::Ack;

/// How far the smallest RTT of a round may exceed the one of the last round: MIN_RTT_THRESH, MAX_RTT_THRESH,
/// MIN_RTT_DIVISOR.
const LEAST_RISE: Span = Span::from_millis(4);
const GREATEST_RISE: Span = Span::from_millis(16);
const DIVISOR: u64 = 8;
/// N_RTT_SAMPLE.
const SAMPLES: u32 = 8;

/// Rounds as sequence numbers delimit them, and the smallest RTT of this and of the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    end: u64,
    pub(super) last: Span,
    pub(super) current: Span,
    samples: u32,
}

impl Rounds {
    pub(super) const fn new() -> Self {
        Self { end: 0, last: Span::MAX, current: Span::MAX, samples: 0 }
    }

    /// Counts `ack`; whether it begins a round.
    pub(super) fn observe(&mut self, ack: &Ack) -> bool {
        let begins = ack.acknowledged_to > self.end;
        if begins {
            *self = Self { end: ack.sent_to, last: self.current, ..Self::new() };
        }
        if let Some(rtt) = ack.rtt {
            self.current = self.current.min(rtt.value);
            self.samples += 1;
        }
        begins
    }
}

/// The search of one slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStartPlusPlus {
    rounds: Rounds,
    /// CSS_ROUNDS and CSS_GROWTH_DIVISOR.
    css_rounds: u32,
    css_growth_divisor: f64,
    /// In CSS: cssBaselineMinRtt, and the rounds that it has lasted, the one in which it began included.
    css: Option<(Span, u32)>,
}

impl HyStartPlusPlus {
    pub(super) fn new(css_rounds: u32, css_growth_divisor: f64) -> Self {
        Self { rounds: Rounds::new(), css_rounds, css_growth_divisor, css: None }
    }

    /// An ACK in slow start.
    pub(super) fn observe(&mut self, ack: &Ack) -> Step {
        let begins = self.rounds.observe(ack);
        let enough = self.rounds.samples >= SAMPLES;
        let Some((baseline, rounds)) = self.css else {
            if enough {
                self.check_delay();
            }
            return Step::grow(1.0);
        };
        let rounds = rounds + u32::from(begins);
        self.css = Some((baseline, rounds));
        if enough && self.rounds.current < baseline {
            self.css = None;
        }
        Step { growth: 1.0 / self.css_growth_divisor, ends: self.css.is_some() && rounds > self.css_rounds }
    }

    fn check_delay(&mut self) {
        let Rounds { last, current, .. } = self.rounds;
        if last == Span::MAX || current == Span::MAX {
            return;
        }
        if current >= last + (last / DIVISOR).clamp(LEAST_RISE, GREATEST_RISE) {
            self.css = Some((current, 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, rtt};

    /// What `rounds` of ten ACKs each, with one RTT in ms, lead to: the growth at the last ACK of each, and in which
    /// round slow start ended, from 1.
    fn play(rounds: &[u64]) -> (Vec<f64>, Option<usize>) {
        let mut search = HyStartPlusPlus::new(5, 4.0);
        let mut growth = Vec::new();
        for (round, &millis) in (0_u64..).zip(rounds) {
            let mut last = 0.0;
            for n in 1..=10 {
                let acknowledged_to = 10 * round + n;
                let ack = Ack { rtt: rtt(millis), acknowledged_to, sent_to: acknowledged_to + 9, ..ack() };
                let step = search.observe(&ack);
                last = step.growth;
                if step.ends {
                    return (growth, Some(round as usize + 1));
                }
            }
            growth.push(last);
        }
        (growth, None)
    }

    #[test]
    fn a_rise_by_an_eighth_of_the_last_round_slows_growth_to_a_quarter() {
        // An eighth of 80 ms is 10: 89 are allowed, 90 are not. The eighth sample of the round decides.
        assert_eq!(play(&[80, 89]), (vec![1.0, 1.0], None));
        assert_eq!(play(&[80, 90]), (vec![1.0, 0.25], None));
        // Of 16 ms 4 at least, of 200 ms 16 at most.
        assert_eq!(play(&[16, 19]).0, [1.0, 1.0]);
        assert_eq!(play(&[16, 20]).0, [1.0, 0.25]);
        assert_eq!(play(&[200, 216]).0, [1.0, 0.25]);
    }

    #[test]
    fn after_five_rounds_of_it_slow_start_ends() {
        // The second round counts from its middle: it and four more, and the first ACK of the seventh ends it.
        assert_eq!(play(&[80, 90, 90, 90, 90, 90, 90, 90]), (vec![1.0, 0.25, 0.25, 0.25, 0.25, 0.25], Some(7)));
    }

    #[test]
    fn an_rtt_that_falls_again_resumes_slow_start() {
        let (growth, ended) = play(&[80, 90, 90, 85, 86, 86, 86, 86, 86]);
        // At the eighth sample of the fourth round. The two after that grow as before.
        assert_eq!(growth, [1.0, 0.25, 0.25, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(ended, None);
    }

    #[test]
    fn fewer_than_eight_samples_show_nothing() {
        let mut search = HyStartPlusPlus::new(5, 4.0);
        for round in 0..6_u64 {
            for n in 1..=7 {
                let acknowledged_to = 7 * round + n;
                let millis = 80 + 20 * round;
                let ack = Ack { rtt: rtt(millis), acknowledged_to, sent_to: acknowledged_to + 6, ..ack() };
                assert_eq!(search.observe(&ack), Step::grow(1.0));
            }
        }
    }
}
