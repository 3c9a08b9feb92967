//! What the tests of live runs share. They need root and /dev/net/tun, and say so where they cannot run.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs::{self, OpenOptions};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use live::{InKernel, Job, Outcome, Watch};

/// One run at a time: two share two cores badly.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether live runs are possible here.
pub(crate) fn possible() -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let tun = OpenOptions::new().read(true).write(true).open("/dev/net/tun").is_ok();
    if !root || !tun {
        eprintln!("skipped: live runs need root and /dev/net/tun");
    }
    root && tun
}

pub(crate) fn job(toml: &str) -> Job {
    let plan = scenario::from_toml(toml, "test.toml").unwrap().plan_live().unwrap();
    Job { seed: plan.seed, plan: Arc::new(plan), algorithms: Arc::new(InKernel) }
}

pub(crate) fn run(toml: &str) -> Outcome {
    let outcome = live::run(&job(toml), &Watch::default()).unwrap();
    eprintln!("{}", serde_json::to_string(&outcome.honesty).unwrap());
    outcome
}

/// Network namespaces that are alive, in the whole machine. The kernel clears them away some time after their end.
pub(crate) fn namespaces() -> Option<u64> {
    let text = fs::read_to_string("/proc/slabinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("net_namespace "))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Threads and open files of process `id`.
pub(crate) fn threads_and_files(id: &str) -> (usize, usize) {
    let count = |what: &str| fs::read_dir(format!("/proc/{id}/{what}")).map_or(0, Iterator::count);
    (count("task"), count("fd"))
}
