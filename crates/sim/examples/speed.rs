//! Runs a scenario file a few times and prints what it costs: `cargo run --release --example speed FILE [RUNS]`.

use std::path::Path;
use std::sync::Arc;

use sim::{Job, Watch, run};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a scenario file");
    let runs: u32 = arguments.next().map_or(1, |n| n.parse().expect("a number of runs"));
    let files = |path: &Path| std::fs::read(path);
    let plan =
        scenario::from_path(&file, &files).and_then(|s| s.plan(&files)).unwrap_or_else(|error| panic!("{error}"));
    let seed = plan.seed;
    let job = Job { plan: Arc::new(plan), seed, controllers: None, capture: None };
    for _ in 0..runs {
        let outcome = run(&job, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
        let engine = outcome.engine;
        println!(
            "{:.2} million data packets per CPU second ({} packets, {:.2} events a packet, {:.3} s)",
            engine.data_packets as f64 / engine.cpu_s / 1e6,
            engine.data_packets,
            engine.events as f64 / engine.data_packets as f64,
            engine.cpu_s
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
