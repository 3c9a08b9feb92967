//! A response by chance, at most once a round trip: what HD, CHD and PERT do with a sign of congestion before a loss.

use units::Span;

use crate::{Ack, Context, Loss};

/// The probability of a back-off by the Hamilton Institute (HD and CHD): it rises with the queueing delay up to a
/// threshold and falls beyond, where others fill the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hump {
    /// No back-off up to this delay.
    pub(crate) q_min: Span,
    /// The delay at which one is most likely.
    pub(crate) q_th: Span,
    /// How likely that is.
    pub(crate) p_max: f64,
}

impl Hump {
    /// The probability at queueing delay `q`, where the largest seen is `q_max`.
    pub(crate) fn probability(&self, q: Span, q_max: Span) -> f64 {
        let share = |part: Span, whole: Span| part.as_secs_f64() / whole.as_secs_f64();
        if q <= self.q_min {
            0.0
        } else if q <= self.q_th {
            self.p_max * share(q - self.q_min, self.q_th - self.q_min)
        } else if q_max > self.q_th {
            self.p_max * share(q_max.saturating_sub(q), q_max - self.q_th)
        } else {
            self.p_max
        }
    }
}

/// Draws on each ACK whether to respond, and leaves a round trip between two responses, and between a loss and one: so
/// long the effect of either does not show.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probabilistic {
    /// No response until this segment is acknowledged.
    until: u64,
    /// Responses since the start.
    pub(crate) responses: u64,
}

impl Probabilistic {
    /// Whether a response is due on `ack`, with this probability. Draws a random number only if the last round trip
    /// passed.
    pub(crate) fn responds(&mut self, cx: &mut Context<'_>, ack: &Ack, probability: f64) -> bool {
        let responds = ack.acknowledged_to >= self.until && cx.random.happens(probability);
        if responds {
            self.until = ack.sent_to;
            self.responses += 1;
        }
        responds
    }

    /// Whether a response, or a loss, lowered the window less than a round trip before `acknowledged_to`.
    pub(crate) fn is_recent(&self, acknowledged_to: u64) -> bool {
        acknowledged_to < self.until
    }

    /// A loss has lowered the window: no response in this round trip.
    pub(crate) fn on_loss(&mut self, loss: &Loss) {
        self.until = loss.sent_to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

    const MS: fn(u64) -> Span = Span::from_millis;

    #[test]
    fn the_probability_rises_to_the_threshold_and_falls_to_the_largest_delay() {
        let hump = Hump { q_min: MS(5), q_th: MS(20), p_max: 0.05 };
        // Of 5 to 20 ms, 8 ms is a fifth; of 100 down to 20 ms, 60 ms is half.
        for (q, p) in [(0, 0.0), (5, 0.0), (8, 0.01), (20, 0.05), (60, 0.025), (100, 0.0)] {
            let got = hump.probability(MS(q), MS(100));
            assert!((got - p).abs() < 1e-12, "{got} at {q} ms, not {p}");
        }
    }

    #[test]
    fn while_no_long_delay_is_known_the_probability_does_not_fall() {
        let hump = Hump { q_min: MS(5), q_th: MS(20), p_max: 0.05 };
        assert_eq!(hump.probability(MS(20), MS(20)), 0.05);
        assert_eq!(Hump { q_th: MS(10), ..hump }.probability(MS(11), MS(10)), 0.05);
    }

    #[test]
    fn responses_are_a_round_trip_apart() {
        let mut world = World::new();
        let mut chance = Probabilistic::default();
        let mut at = |acknowledged_to, sent_to, probability| {
            chance.responds(&mut world.context(), &Ack { acknowledged_to, sent_to, ..ack() }, probability)
        };
        assert!(!at(10, 30, 0.0));
        assert!(at(10, 30, 1.0));
        assert!(!at(29, 40, 1.0));
        assert!(at(30, 50, 1.0));
        assert_eq!(chance.responses, 2);
    }

    #[test]
    fn a_loss_is_a_round_trip_apart_from_a_response() {
        let mut world = World::new();
        let mut chance = Probabilistic::default();
        chance.on_loss(&Loss { sent_to: 60, ..loss() });
        assert!(!chance.responds(&mut world.context(), &Ack { acknowledged_to: 59, sent_to: 70, ..ack() }, 1.0));
        assert!(chance.responds(&mut world.context(), &Ack { acknowledged_to: 60, sent_to: 70, ..ack() }, 1.0));
    }
}
