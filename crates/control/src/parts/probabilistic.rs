//! A response by chance, at most once a round trip: what HD and PERT do with a sign of congestion before a loss.

use crate::{Ack, Context, Loss};

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

    /// A loss has lowered the window: no response in this round trip.
    pub(crate) fn on_loss(&mut self, loss: &Loss) {
        self.until = loss.sent_to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss};

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
