//! A network in one place of several, whose links take packets stage by stage.

use units::Time;

use super::Fabric;
use crate::EventQueue;
use crate::cut::{Cut, NETWORK};
use crate::stages::ELSEWHERE;
use crate::state::{Routed, Tap, Ways, or_never};

impl<P: Routed> Fabric<P> {
    /// Makes it the network in one `place` of `cut`.
    pub(super) fn put_in(&mut self, place: usize, cut: &Cut) {
        let stages = cut.stages.as_ref().filter(|_| place == NETWORK);
        let stage = |wire: usize| stages.map_or(0, |stages| stages.of_wire[wire]);
        let lead = |(wire, &end): (usize, &usize)| if end == place { stage(wire) } else { ELSEWHERE };
        self.state.ways.leads = cut.end.iter().enumerate().map(lead).collect();
        if let Some(stages) = stages {
            self.state.ways.others = vec![EventQueue::new(cut.end.len()); stages.count.into()];
            // No packet arrives at another link of the stage, so none is looked at in between.
            self.state.links.iter_mut().for_each(|link| link.wake_after = None);
            self.state.ways.stage_of = stages.of_link.clone();
        }
    }

    /// The number of stages.
    pub fn stages(&self) -> u8 {
        self.state.ways.others.len().max(1) as u8
    }

    /// The links of `stage` take packets from now on.
    pub fn turn_to(&mut self, stage: u8) {
        let Ways { pending, others, stage: present, .. } = &mut self.state.ways;
        if stage != *present {
            std::mem::swap(pending, &mut others[usize::from(*present)]);
            std::mem::swap(pending, &mut others[usize::from(stage)]);
            *present = stage;
        }
    }

    /// Brings the links of this stage up to `now`.
    pub fn advance_stage(&mut self, now: Time, tap: &mut impl Tap<P>) {
        for link in 0..self.links.len() {
            if self.state.ways.stage_of.get(link).is_none_or(|&stage| stage == self.state.ways.stage) {
                self.advance_link(now, link as u32, tap);
            }
        }
    }

    /// Packets on the wires that lead to this stage begin their next step if they arrive before `end`. Each is told to
    /// `at`, with its time and wire.
    pub fn take_arrivals<T: Tap<P>>(&mut self, end: Time, tap: &mut T, mut at: impl FnMut(&mut T, Time, u32)) {
        self.forward_from(tap, |tap, ways| {
            let (now, wire) = (ways.pending.next(), ways.pending.first_slot());
            if now >= end {
                return None;
            }
            let arrivals = &mut ways.wires[wire as usize];
            let mut packet = arrivals.pop()?;
            ways.pending.set(wire, or_never(arrivals.next_arrival()));
            at(tap, now, wire);
            packet.next_step();
            Some((now, packet))
        });
    }
}
