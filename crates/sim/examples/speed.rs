//! Runs a scenario file a few times and prints its cost: `cargo run --release --example speed FILE [RUNS [CORES]]`.

#![expect(clippy::disallowed_methods, reason = "a program reads files and clocks for the simulator")]

use std::path::Path;
use std::sync::Arc;

use engine::{Engine as _, Job, Stopwatch, Watch};
use rustix::time::{ClockId, clock_gettime};
use sim::Simulator;

const STOPWATCH: Stopwatch =
    Stopwatch { cpu_s: || seconds(ClockId::ThreadCPUTime), wall_s: || seconds(ClockId::Monotonic) };

fn seconds(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a scenario file");
    let runs: u32 = arguments.next().map_or(1, |n| n.parse().expect("a number of runs"));
    let cores: usize = arguments.next().map_or(1, |n| n.parse().expect("a number of cores"));
    let files = |path: &Path| std::fs::read(path);
    let plan =
        scenario::from_path(&file, &files).and_then(|s| s.plan(&files)).unwrap_or_else(|error| panic!("{error}"));
    let seed = plan.seed;
    let job = Job { plan: Arc::new(plan), seed };
    for _ in 0..runs {
        let simulator = Simulator { cores, stopwatch: Some(STOPWATCH), ..Simulator::default() };
        let outcome = simulator.run(&job, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
        let cost = outcome.cost;
        println!(
            "{:.2} million data packets per CPU second ({} packets, {:.2} events a packet, {:.3} s); wall {:.3} s",
            cost.data_packets as f64 / cost.cpu_s / 1e6,
            cost.data_packets,
            cost.events as f64 / cost.data_packets as f64,
            cost.cpu_s,
            cost.wall_s
        );
        let link = &outcome.tables.links[0];
        println!(
            "  link: {:.4} utilized, queue {:.1}, drops {}",
            link.utilization, link.queue_packets_mean, link.dropped_packets
        );
        for flow in outcome.tables.flows.iter().take(4) {
            println!("  {:?}", flow);
        }
    }
}
