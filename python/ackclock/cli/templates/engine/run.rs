//! Runs a scenario file: `cargo run --example run FILE.toml [SEED]`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use engine::{Engine as _, Job, Watch};
use template_engine::Template;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which scenario? run FILE.toml [SEED]")?;
    let files = |path: &Path| std::fs::read(path);
    let plan = scenario::from_path(&file, &files).and_then(|scenario| scenario.plan(&files));
    let plan = plan.map_err(|error| error.to_string())?;
    let seed = arguments.next().map_or(Ok(plan.seed), |seed| seed.parse().map_err(|_| format!("`{seed}`: no seed")))?;
    let outcome = Template.run(&Job { plan: Arc::new(plan), seed }, &Watch::default()).map_err(|e| e.to_string())?;
    for flow in &outcome.tables.flows {
        println!("{}: {:.2} Mbit/s", flow.name, flow.goodput_bps * 1e-6);
    }
    for link in &outcome.tables.links {
        println!("{}: {:.1} % busy, {} dropped", link.name, link.utilization * 1e2, link.dropped_packets);
    }
    Ok(())
}
