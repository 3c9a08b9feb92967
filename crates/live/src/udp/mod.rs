//! QUIC in real time: the connections of the crate `quic` over UDP sockets, across the emulated path.
//!
//! One thread has all connections with both their sides. A datagram leaves when noq says so, by its own pacing, and
//! each alone: segmentation offload would let it leave in trains. Packets have no cipher, so the tag at their end has
//! room for the number by which the emulator counts them.

mod ends;

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;

use control::ControllerRef;
use engine::{Cost, Engine, Failure, Job, Watch};
use quic::{Endpoints, Of, Quic};
use record::Tables;
use scenario::Plan;

use self::ends::{Connection, Ends};
use crate::check::{Refusal, check_links, check_route, too_many};
use crate::emulator::{Clock, Flows, SENDER_PORT, SharedCounters};
use crate::fidelity::{Fidelity, Lateness};
use crate::host::sockets::{RECEIVER_PORT, datagram_address};
use crate::host::system;
use crate::run::{Inside, Outcome, Seen, Threads, fidelity, refused, side_by_side, watched};
use crate::tcp::endpoints::Traced;
use crate::tcp::settings::Settings;
use crate::testbed::Testbed;

/// As many connections as one run may have.
const MOST_CONNECTIONS: usize = crate::check::MOST_FLOWS;
/// As many rows have a port.
const MOST_ROWS: usize = (RECEIVER_PORT - SENDER_PORT) as usize;

/// Runs plans over QUIC in real time.
pub struct QuicLive(pub Quic);

impl Engine for QuicLive {
    const KIND: &'static str = "quic-live";
    type Notes = Fidelity;

    fn check(&self, plan: &Plan) -> Result<(), Failure> {
        self.0.check(plan)?;
        check_links(plan).map_err(refused)?;
        for flow in &plan.flows {
            let refuse = |message: String| refused(Refusal::new(format!("flow `{}`: {message}", flow.name())));
            check_route(flow).map_err(refuse)?;
            if let ControllerRef::Python { .. } = flow.cc {
                return Err(refuse(format!("cc `{}` cannot run live: Python would be late", flow.cc)));
            }
        }
        Ok(())
    }

    fn run(self, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
        watched(job, watch, move |job, watch| run_job(&self, job, watch))
    }
}

fn run_job(live: &QuicLive, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
    let wall = system::monotonic();
    let plan = job.plan.as_ref();
    live.check(plan)?;
    let drawn = plan.draw(job.seed).map_err(Failure::Scenario)?;
    let of = Of { plan, seed: job.seed, drawn: &drawn, engine: &live.0, watch };
    let endpoints = Endpoints::new(of, |_| (0, 0));
    let rows: Vec<u32> = endpoints.connections().collect();
    if rows.len() > MOST_CONNECTIONS || drawn.len() > MOST_ROWS {
        return Err(refused(too_many(rows.len() as u64)));
    }
    // Settings of TCP mean nothing to UDP.
    let mut testbed = Testbed::build(plan, Vec::new(), &[], None, Vec::new()).map_err(Failure::Machine)?;
    let connections = open(&testbed, &rows).map_err(Failure::Machine)?;
    let shared: Vec<SharedCounters> = drawn.iter().map(|_| SharedCounters::default()).collect();
    let routes: Vec<usize> = drawn.iter().map(|flow| flow.of).collect();
    let (inside, halt) = (Inside::new(job, &testbed), AtomicBool::new(false));
    let clock = Clock::of_run();
    let settings = Settings::of(job, watch, &drawn, clock, (&shared, &halt));
    let ends = Ends::new(settings, endpoints, connections).map_err(|error| Failure::Machine(error.to_string()))?;
    let flows = Flows::ByPort(&routes);
    let emulator = inside.emulator(plan, &drawn, (clock, flows), (&shared, &halt), None, &mut testbed)?;
    let Threads { emulator, endpoints } = side_by_side(emulator, || ends.run(), None, plan, &halt)?;
    let ended = endpoints?;
    if watch.is_stopped() {
        return Err(watch.failure());
    }
    let dropped = ended.dropped + testbed.without_room().map_err(|error| Failure::Machine(error.to_string()))?;
    let traced = Traced { source: "noq", missed: 0 };
    let seen = Seen { lateness: Some(Lateness::of(&ended.lateness)), traced, dropped };
    let notes = fidelity(plan, &emulator, &testbed, &seen, Vec::new());
    let dropped: Vec<u64> = emulator.measured.iter().map(|flow| flow.counters.dropped_packets).collect();
    let (mut tables, data_packets) = ended.endpoints.finish(&dropped)?;
    live.0.check_logs()?;
    emulator.links.events.into_iter().for_each(|event| tables.events.push(event));
    tables.events.sort_by_time();
    let cost = Cost {
        events: emulator.moved,
        data_packets,
        cpu_s: (emulator.cpu_nanos + ended.cpu_nanos) as f64 / 1e9,
        wall_s: (system::monotonic() - wall) as f64 / 1e9,
    };
    let tables = Tables { links: emulator.links.links, link_series: emulator.links.series, ..tables };
    Ok(Outcome { tables, cost, notes })
}

/// The sockets of the connections with these rows, each in the namespace of its end.
fn open(testbed: &Testbed, rows: &[u32]) -> Result<Vec<Connection>, String> {
    let connection = |(row, sockets): (u32, [OwnedFd; 2])| {
        let others = [datagram_address(1, row), datagram_address(0, row)];
        Connection::new(row, sockets, others).map_err(|error| format!("a socket cannot be set up: {error}"))
    };
    testbed.datagram_sockets(rows)?.map(connection).collect()
}
