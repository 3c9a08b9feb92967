//! Runs the media flows of a scenario as calls of str0m over its links, in virtual time:
//! `str0m-witness SCENARIO.json [raw]`. With `raw` their encoders get each estimate, and not str0m's smoothed events.
//!
//! Writes JSON: the delay in the first queue that 95 % of the packets do not exceed, and for each call the times and
//! sizes of its frames.

mod call;

use std::error::Error;
use std::process::ExitCode;

use engine::{Fabric, Routed as _, Tap};
use network::Discard;
use record::EventRow;
use scenario::Plan;
use units::Time;

use crate::call::{Call, Datagram};

fn main() -> ExitCode {
    match run() {
        Ok(found) => {
            println!("{found}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<serde_json::Value, Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("which scenario? str0m-witness SCENARIO.json [raw]")?;
    let raw = std::env::args().nth(2).is_some_and(|word| word == "raw");
    let document = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    let plan = scenario::from_json(&document, &file)?.plan(&scenario::NoFiles)?;
    fastrand::seed(plan.seed);
    let mut world = World::new(&plan, raw)?;
    let end = Time::ZERO + plan.duration;
    while world.step(end)? {}
    world.fabric.advance(end, &mut Nothing);
    let links = world.fabric.rows(end, &plan);
    let calls: Vec<_> = world.calls.iter().map(|call| &call.arrivals).collect();
    Ok(serde_json::json!({ "queue_p95_ms": links[0].packet_queue_delay_p95_ms, "calls": calls }))
}

/// The network, and the calls over it.
struct World {
    fabric: Fabric<Datagram>,
    calls: Vec<Call>,
}

impl World {
    fn new(plan: &Plan, raw: bool) -> Result<Self, scenario::Error> {
        let fabric = Fabric::new(plan, plan.seed, false);
        let drawn = plan.draw(plan.seed)?;
        let call = |(index, drawn): (u32, &scenario::DrawnFlow)| {
            let steps = (index, fabric.first_steps(drawn.of));
            Call::new(&plan.flows[drawn.of], steps, drawn.start, plan.seed, raw)
        };
        let calls = (0..).zip(&drawn).map(call).collect();
        Ok(Self { fabric, calls })
    }

    /// Does the next event, if it is before `end`. At one instant packets move first.
    fn step(&mut self, end: Time) -> Result<bool, Box<dyn Error>> {
        let due = self.calls.iter().map(Call::next).min().unwrap_or(Time::NEVER);
        let now = due.min(self.fabric.next());
        if now >= end {
            return Ok(false);
        }
        if now == self.fabric.next() {
            self.move_packets(now)?;
            return Ok(true);
        }
        for call in self.calls.iter_mut().filter(|call| call.next() == now) {
            for datagram in call.due(now)? {
                self.fabric.forward(now, datagram, &mut Nothing);
            }
        }
        Ok(true)
    }

    /// Hands out the packets that arrive at the end of a wire.
    fn move_packets(&mut self, now: Time) -> Result<(), Box<dyn Error>> {
        let Some(wire) = self.fabric.begin(now, &mut Nothing) else { return Ok(()) };
        while let Some(mut datagram) = self.fabric.pop_due(wire, now) {
            let onward = if self.fabric.is_last(&datagram) {
                self.calls[datagram.flow as usize].arrive(now, &datagram)?
            } else {
                datagram.next_step();
                vec![datagram]
            };
            for datagram in onward {
                self.fabric.forward(now, datagram, &mut Nothing);
            }
        }
        self.fabric.end(wire);
        Ok(())
    }
}

/// Watches nothing: the meters of the links are enough.
struct Nothing;

impl Tap<Datagram> for Nothing {
    fn discarded(&mut self, _link: u32, _packet: Datagram, _at: Time, _why: Discard) {}
    fn event(&mut self, _row: EventRow) {}
}
