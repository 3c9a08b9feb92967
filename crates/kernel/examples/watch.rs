//! Loads a controller, prints its name for TCP_CONGESTION, and then its probes as CSV until it is killed:
//! `watch NAME|FILE.bpf.c [INTERVAL [KEY=VALUE...]]`.

use std::process::ExitCode;
use std::time::Duration;

use control::Parameters;
use units::Span;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "waits for the kernel")]
fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("which controller? watch NAME [INTERVAL [KEY=VALUE...]]")?;
    let interval: Span = arguments.next().unwrap_or("100ms".into()).parse().map_err(|e| format!("{e}"))?;
    let mut parameters = Parameters::new();
    for argument in arguments {
        let (key, value) = argument.split_once('=').ok_or(format!("`{argument}` is not KEY=VALUE"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        parameters.insert(key.into(), value);
    }
    let loaded = kernel::Congestion::load(&name.as_str().into(), &parameters, 1).map_err(|error| error.to_string())?;
    loaded.show_probes(kernel::ProbeTurns::Every(interval)).map_err(|error| error.to_string())?;
    println!("{}", loaded.name());
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let show = |p: kernel::Probe<'_>| println!("{},{},{},{}", p.time_us, p.local_port, p.name, p.value);
        loaded.probes(show).map_err(|error| error.to_string())?;
    }
}
