//! Filters of ACKs in queues: ACKs carry what these compare.

use scenario::{DrawnFlow, Kind, Plan, PlannedFlow};
use transport::EcnMode;

use crate::ack_fields::AckFields;
use crate::acks::Acks;
use crate::capture::congestion_count;
use crate::packet::{Body, Packet};

/// The fields of each connection's ACKs.
#[derive(Debug)]
pub(crate) struct Filters {
    /// How each connection echoes marks, or `None` for a flow that is not TCP. Empty if no link filters ACKs.
    modes: Vec<Option<EcnMode>>,
}

impl Filters {
    /// The ACKs of `plan`, whose flows are as `drawn`.
    pub(super) fn new(plan: &Plan, drawn: &[DrawnFlow]) -> Self {
        let mode = |flow: &PlannedFlow| matches!(flow.kind, Kind::Tcp).then(|| flow.options.ecn());
        let modes: Vec<_> = plan.flows.iter().map(mode).collect();
        let of_drawn = drawn.iter().map(|flow| modes[flow.of]);
        Self { modes: if Self::are_in(plan) { of_drawn.collect() } else { Vec::new() } }
    }

    /// True if a link of `plan` filters ACKs.
    pub(super) fn are_in(plan: &Plan) -> bool {
        plan.links.iter().any(|link| link.settings.queue.filters_acks())
    }

    /// Writes the fields that a filter compares into `ack`.
    pub(super) fn tell(&self, ack: &mut Packet, acks: &Acks) {
        if let (Some(&Some(mode)), Body::Ack(slot)) = (self.modes.get(ack.flow as usize), ack.body()) {
            let said = acks.get(slot);
            let echo = match mode {
                EcnMode::Accurate => [4, 2, 1].map(|bit| congestion_count(&said) & bit != 0),
                EcnMode::Classic | EcnMode::Off => [false, false, said.congestion_echo],
            };
            ack.tell(AckFields::of(&said, echo));
        }
    }
}
