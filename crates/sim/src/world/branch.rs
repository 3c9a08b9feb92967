//! A second world that goes on from the state of a first, for runs that begin alike.

use scenario::{DrawnFlow, Plan};
use units::Time;

use super::{Maker, World};
use crate::flow::Flow;
use crate::lines::Lines;

impl World<'_> {
    /// The world of `plan`, whose flows are as `drawn`, at `at`, by which nothing differs in it from this one: there it
    /// is now, with everything done that happens before `at`. `None` if something in it cannot be copied.
    ///
    /// Flows that start from `at` on are as new; of all others, and of the network, the state is copied.
    pub(crate) fn branch<'b>(
        &self,
        at: Time,
        plan: &'b Plan,
        drawn: &'b [DrawnFlow],
        make: Maker<'b>,
    ) -> Option<World<'b>> {
        let fabric = self.fabric.duplicate()?;
        let mut world = World::new(plan, self.seed, drawn, make, None).ok()?;
        for (index, flow) in self.drawn.iter().enumerate().filter(|(_, flow)| flow.start < at) {
            debug_assert_eq!(flow.start, drawn[index].start);
            world.hosts.flows[index] = Lines::new(Flow::duplicate(&self.hosts.flows[index])?);
        }
        world.hosts.acks = self.hosts.acks.clone();
        world.hosts.recorder = self.hosts.recorder.clone();
        world.agenda.forget_before(at);
        Some(World {
            fabric,
            timers: self.timers.clone(),
            delayed_ack_timers: self.delayed_ack_timers.clone(),
            samples: self.samples.clone(),
            active: self.active.clone(),
            events: self.events,
            ..world
        })
    }
}
