//! QUIC in virtual time: the connections of noq, a QUIC stack in production, over the network of a scenario.
//!
//! A flow is a connection. Its sender opens it, with the round trips and bytes of a handshake, and writes into one
//! stream. Each connection has the controller that the scenario names: one of this project, or one of noq's own. All
//! engines share the links, queues and wires. Loss detection, timers, pacing and acknowledgements are noq's.

mod application;
mod check;
mod datagram;
mod endpoints;
mod flight;
mod flow;
mod ledger;
#[cfg_attr(not(feature = "qlog"), path = "no_logs.rs")]
mod logs;
mod world;

use std::sync::Arc;

use control::{Controller, ControllerRef};
use engine::{Conduct, Cost, Engine, Factory, Failure, Job, Outcome, Stopwatch, Watch};
use noq_stack::Exported;
use scenario::{Plan, PlannedFlow};
use stack::{Reports, Settings, Side, Stack};
use units::Time;

pub use self::datagram::Datagram;
pub use self::endpoints::{Endpoints, Of};
pub use self::logs::Logs;
use crate::world::World;

/// The names of the controllers of QUIC stacks themselves, as scenarios write them.
pub fn controllers() -> impl Iterator<Item = String> {
    check::names()
}

/// Gives the stack of a flow with this controller, unless it is noq as it is built in.
pub type Stacks = Arc<dyn Fn(&ControllerRef) -> Option<Arc<dyn Stack>> + Send + Sync>;

/// The engine. It does no input or output. Both clocks and controllers from outside are handed in.
#[derive(Default)]
pub struct Quic {
    /// Controllers from outside the registry.
    pub controllers: Option<Factory>,
    /// Stacks from outside.
    pub stacks: Option<Stacks>,
    /// By which CPU and wall-clock time of the run are read. Without it they are 0.
    pub stopwatch: Option<Stopwatch>,
    /// The logs of noq, if any are asked for.
    pub logs: Option<Logs>,
}

/// The side of a connection, whose log it is.
pub struct LogOf {
    /// The row of the connection.
    pub row: u32,
    /// The name of its flow.
    pub name: String,
    /// `client`, which sends the data, or `server`.
    pub side: &'static str,
}

impl Quic {
    /// Fails if a log of noq could not be written. All connections must be gone.
    ///
    /// # Errors
    /// [`Failure::Capture`].
    pub fn check_logs(&self) -> Result<(), Failure> {
        self.logs.as_ref().map_or(Ok(()), Logs::check)
    }

    /// The stack from outside of a flow.
    fn stack(&self, flow: &PlannedFlow) -> Option<Arc<dyn Stack>> {
        self.stacks.as_ref().and_then(|stacks| stacks(&flow.cc))
    }

    /// One side of a connection of `flow`, whose log is `of`.
    fn side(
        &self,
        flow: &PlannedFlow,
        settings: &Settings,
        own: Option<&str>,
        reports: Vec<Box<dyn Reports>>,
        of: LogOf,
    ) -> Result<Box<dyn Side>, Failure> {
        let failed = |why| Failure::Machine(format!("flow `{}`: {why}", flow.name()));
        if let Some(stack) = self.stack(flow) {
            return stack.connect(settings, own, reports).map_err(failed);
        }
        if check::stack_of(&flow.cc) != stack::STACKS[0].0 {
            return Err(failed(format!("{} is not built in, and nothing builds it here", check::stack_of(&flow.cc))));
        }
        let (mut of, mut attached) = (Some(of), Ok(()));
        let peer = Exported::default().attached(settings, own, reports, &mut |transport, start| {
            if let (Some(logs), Some(of)) = (&self.logs, of.take()) {
                attached = logs.attach(transport, of, start);
            }
        });
        attached?;
        Ok(Box::new(peer.map_err(failed)?))
    }

    /// The controller of `flow`, which is none of noq's.
    fn controller(&self, flow: &PlannedFlow, conduct: &Conduct) -> Result<Box<dyn Controller>, Failure> {
        let made = engine::controller(self.controllers.as_ref(), flow, &flow.given, conduct);
        let controller = made.map_err(|failure| Failure::Refused(failure.to_string()))?;
        check::check_wants(flow, &controller.wants()).map_err(|message| refused(flow, &message))?;
        Ok(controller)
    }
}

fn refused(flow: &PlannedFlow, message: &str) -> Failure {
    Failure::Refused(format!("flow `{}`, {message}", flow.name()))
}

impl Engine for Quic {
    const KIND: &'static str = "quic";
    type Notes = ();

    fn builds(&self, cc: &ControllerRef) -> Result<(), String> {
        check::check_controller(cc)
    }

    fn check(&self, plan: &Plan) -> Result<(), Failure> {
        plan.check_controllers(|cc| self.builds(cc)).map_err(Failure::Scenario)?;
        if let Some(link) = plan.links.iter().find(|link| link.duplicate.is_some()) {
            return Err(Failure::Refused(format!("duplicate of `{}`: packets of QUIC are not copied", link.name)));
        }
        for flow in &plan.flows {
            check::check_flow(flow).map_err(|message| refused(flow, &message))?;
            if self.logs.is_some() && self.stack(flow).is_some() {
                return Err(refused(flow, "qlog: the log is that of the noq that is built in"));
            }
            if let ControllerRef::Registered(_) = flow.cc {
                self.controller(flow, &Conduct::default())?;
            }
        }
        Ok(())
    }

    fn run(self, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
        let clocks = self.stopwatch.unwrap_or(Stopwatch { cpu_s: || 0.0, wall_s: || 0.0 });
        let begin = clocks.read();
        let plan = job.plan.as_ref();
        self.check(plan)?;
        let drawn = plan.draw(job.seed).map_err(Failure::Scenario)?;
        let end = Time::ZERO + plan.duration;
        let mut world = World::new(Of { plan, seed: job.seed, drawn: &drawn, engine: &self, watch });
        world.run(end, watch)?;
        let (tables, [events, data_packets]) = world.finish(end)?;
        self.check_logs()?;
        let [cpu_s, wall_s] = clocks.read();
        let cost = Cost { events, data_packets, cpu_s: cpu_s - begin[0], wall_s: wall_s - begin[1] };
        Ok(Outcome { tables, cost, notes: () })
    }
}
