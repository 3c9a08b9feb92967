//! Runs a scenario file live, and prints its flows, its links and the fidelity record: `live FILE.toml [SEED]`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use engine::{Engine as _, Job, Watch};
use live::{Live, ProjectControllers};

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
    let file = arguments.next().ok_or("which scenario? live FILE.toml [SEED]")?;
    let files = |path: &Path| std::fs::read(path);
    let scenario = scenario::from_path(&file, &files).map_err(|error| error.to_string())?;
    let plan = scenario.plan(&files).map_err(|error| error.to_string())?;
    let seed = arguments.next().map_or(Ok(plan.seed), |seed| seed.parse().map_err(|_| format!("`{seed}`: no seed")))?;
    let live = Live {
        algorithms: Arc::new(ProjectControllers),
        controllers: None,
        gso_max_segs: None,
        capture: None,
        queues: live::Queues::default(),
    };
    let outcome =
        live.run(&Job { plan: Arc::new(plan), seed }, &Watch::default()).map_err(|error| error.to_string())?;
    for flow in &outcome.tables.flows {
        println!("{flow:?}");
    }
    for link in &outcome.tables.links {
        println!("{link:?}");
    }
    println!("{:?}", outcome.cost);
    println!("{}", serde_json::to_string_pretty(&outcome.notes).map_err(|error| error.to_string())?);
    Ok(())
}
