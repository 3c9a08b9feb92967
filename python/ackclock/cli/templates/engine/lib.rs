//! The engine `template`: senders with a fixed window over the network of a scenario, in virtual time.
//!
//! All engines share the links, queues and wires ([`Fabric`]). The ends of the flows and the clock are its own.
//! A flow has [`WINDOW`] segments on the way: each ACK lets the next leave. A lost segment is not sent again. A new one
//! takes its place a round trip later.

mod ends;

use std::sync::atomic::Ordering;

use control::ControllerRef;
use engine::{Cost, Engine, Fabric, Failure, Job, Outcome, Routed as _, Schedule, Series, Watch};
use scenario::{Kind, Plan, PlannedFlow};
use units::Time;

use crate::ends::{Ends, Segment};

/// The controller of this engine, as scenarios name it.
pub const CONTROLLER: &str = "fixed-window";
/// The window in segments.
pub const WINDOW: u64 = 20;

/// The engine. Its options would be fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Template;

impl Engine for Template {
    const KIND: &'static str = "template";
    type Notes = ();

    fn builds(&self, cc: &ControllerRef) -> Result<(), String> {
        match cc {
            ControllerRef::Engine(name) if name == CONTROLLER => Ok(()),
            other => Err(format!("`{other}`: this engine has no controller but `{CONTROLLER}`")),
        }
    }

    fn check(&self, plan: &Plan) -> Result<(), Failure> {
        plan.check_controllers(|cc| self.builds(cc)).map_err(Failure::Scenario)?;
        let strange = plan.flows.iter().find(|flow| !is_plain(flow));
        strange.map_or(Ok(()), |flow| {
            Err(Failure::Refused(format!("flow `{}`: this engine runs TCP flows without end alone", flow.name())))
        })
    }

    fn run(self, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
        let plan = job.plan.as_ref();
        self.check(plan)?;
        let drawn = plan.draw(job.seed).map_err(Failure::Scenario)?;
        let fabric = Fabric::new(plan, job.seed, false);
        let ends = Ends::new(plan, &drawn, &fabric);
        let schedule = Schedule::new(plan, &[Series::Flows, Series::Links]);
        let mut world = World { fabric, ends, schedule, events: 0 };
        let end = Time::ZERO + plan.duration;
        while let Some(now) = world.step(end) {
            watch.elapsed_nanos.store(now.as_nanos(), Ordering::Relaxed);
            if watch.stop.load(Ordering::Relaxed) {
                return Err(Failure::Interrupted);
            }
        }
        world.fabric.advance(end, &mut world.ends);
        let events = world.events;
        let data_packets = world.ends.sent();
        let mut tables = world.ends.finish(plan, &drawn);
        tables.links = world.fabric.rows(end, plan);
        tables.stations = world.fabric.station_rows(end, plan);
        // An engine that reads clocks says here what the run cost.
        Ok(Outcome { tables, cost: Cost { events, data_packets, cpu_s: 0.0, wall_s: 0.0 }, notes: () })
    }
}

/// True if this engine runs `flow`.
fn is_plain(flow: &PlannedFlow) -> bool {
    let connection = flow.kind == Kind::Tcp && flow.bytes.is_none() && flow.quick_start.is_none();
    connection && flow.subflow.is_none() && flow.relays.is_none() && flow.changes.is_empty()
}

/// The network, the ends of the flows, and the clock that drives them.
struct World {
    fabric: Fabric<Segment>,
    ends: Ends,
    schedule: Schedule,
    events: u64,
}

impl World {
    /// Does the next event, if it is before `end`, and gives its time. At one instant packets move first, then
    /// senders, and rows are taken last.
    fn step(&mut self, end: Time) -> Option<Time> {
        let due = [self.fabric.next(), self.ends.next(), self.schedule.warmup(), self.schedule.next()];
        let now = due.into_iter().min().filter(|&at| at < end)?;
        self.events += 1;
        if now == due[0] {
            self.move_packets(now);
        } else if now == due[1] {
            for segment in self.ends.due(now) {
                self.fabric.forward(now, segment, &mut self.ends);
            }
        } else if self.schedule.take_warmup(now) {
            self.fabric.begin_measuring(now, &mut self.ends);
            self.ends.begin_measuring(now);
        } else {
            self.sample(now);
        }
        Some(now)
    }

    /// Hands out the packets that arrive at the end of a wire.
    fn move_packets(&mut self, now: Time) {
        let Some(wire) = self.fabric.begin(now, &mut self.ends) else { return };
        while let Some(mut segment) = self.fabric.pop_due(wire, now) {
            let onward = if self.fabric.is_last(&segment) {
                self.ends.arrive(now, &segment)
            } else {
                segment.next_step();
                Some(segment)
            };
            if let Some(segment) = onward {
                self.fabric.forward(now, segment, &mut self.ends);
            }
        }
        self.fabric.end(wire);
    }

    /// Takes the rows that are due.
    fn sample(&mut self, now: Time) {
        if self.schedule.take(Series::Links, now) {
            self.fabric.advance(now, &mut self.ends);
            self.fabric.sample(now, &mut self.ends.tables.link_series);
        }
        if self.schedule.take(Series::Flows, now) {
            self.ends.sample(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn plan(cc: &str) -> Plan {
        let text = format!(
            "duration = \"10s\"\nwarmup = \"1s\"\nflows = [{{ cc = \"{cc}\" }}]\n\
             path = {{ rate = \"12mbit\", rtt = \"100ms\", queue = \"50p\" }}"
        );
        scenario::from_toml(&text, "demo.toml").and_then(|scenario| scenario.plan(&scenario::NoFiles)).unwrap()
    }

    #[test]
    fn a_window_in_a_round_trip_is_the_rate() {
        let job = Job { plan: Arc::new(plan(CONTROLLER)), seed: 1 };
        let outcome = Template.run(&job, &Watch::default()).unwrap();
        // 20 segments of 1448 bytes in 100 ms and the millisecond in which one is sent.
        let goodput = outcome.tables.flows[0].goodput_bps;
        assert!((goodput / (20.0 * 1448.0 * 8.0 / 0.101) - 1.0).abs() < 0.01, "{goodput}");
        assert_eq!(outcome.tables.links[0].dropped_packets, 0);
        assert_eq!(outcome.tables.flows[0].name, "fixed-window-0");
        assert!(outcome.cost.data_packets > 1900 && !outcome.tables.flow_series.columns().time_s.is_empty());
    }

    #[test]
    fn controllers_of_others_are_refused() {
        let refused = Template.check(&plan("newreno")).unwrap_err().to_string();
        assert_eq!(
            refused,
            "demo.toml, line 3: flows.0.cc: `newreno`: this engine has no controller but `fixed-window`"
        );
    }
}
