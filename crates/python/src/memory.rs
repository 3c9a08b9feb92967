//! The memory that a run may take: the rest of the machine's, within the limits of this process.

use std::fs;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use units::Bytes;

/// The root of the file systems of this machine.
pub(crate) const MACHINE: &str = "/";
const KIBIBYTE: u64 = 1024;

/// Bytes that a run may take, by the files of `/proc` and `/sys` below `root`.
#[pyfunction]
#[pyo3(signature = (root=MACHINE))]
pub(crate) fn available_memory(root: &str) -> Option<u64> {
    available(root).map(Bytes::get)
}

/// Memory that a run may take without swapping, and without the process being killed or refused it: the least that the
/// machine, the process's control groups and its address space have left. `None` if the system has no such number.
pub(crate) fn available(root: &str) -> Option<Bytes> {
    let root = Path::new(root);
    let least = of_machine(root).into_iter().chain(of_groups(root)).chain(of_address_space(root)).min();
    least.map(Bytes::new)
}

/// The number of kibibytes after `name` in a file of `/proc`, in bytes.
fn in_kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * KIBIBYTE)
}

fn of_machine(root: &Path) -> Option<u64> {
    in_kibibytes(&fs::read_to_string(root.join("proc/meminfo")).ok()?, "MemAvailable:")
}

/// The files of a version of control groups.
struct Files {
    limit: &'static str,
    usage: &'static str,
    /// The row of `memory.stat` with the memory that the kernel gives back when it is needed.
    reclaimable: &'static str,
}

const VERSION_1: Files =
    Files { limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes", reclaimable: "total_inactive_file " };
const VERSION_2: Files = Files { limit: "memory.max", usage: "memory.current", reclaimable: "inactive_file " };

/// The rest below the limits of the control groups (containers) that hold the process, outer ones too.
fn of_groups(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let hierarchies = root.join("sys/fs/cgroup");
    let mut least = None;
    // A line is `number:controllers:path`. Version 2 has the number 0 and names no controllers.
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (mount, files) = match controllers {
            "" if hierarchies.join("cgroup.controllers").exists() => (hierarchies.clone(), VERSION_2),
            "" => (hierarchies.join("unified"), VERSION_2),
            _ if controllers.split(',').any(|one| one == "memory") => (hierarchies.join("memory"), VERSION_1),
            _ => continue,
        };
        // In a container the path may be that outside, of which nothing is seen but the root.
        let group = mount.join(path.trim_start_matches('/'));
        let outwards = group.ancestors().take_while(|folder| folder.starts_with(&mount)).map(PathBuf::from);
        least = outwards.filter_map(|folder| left_in(&folder, &files)).chain(least).min();
    }
    least
}

/// The rest below the limit of one group. `None` if it has no limit, or is not there.
fn left_in(group: &Path, files: &Files) -> Option<u64> {
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number(files.limit)?;
    let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let reclaimable =
        statistics.lines().find_map(|line| line.strip_prefix(files.reclaimable)?.parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(number(files.usage)?.saturating_sub(reclaimable)))
}

/// The rest of the address space (`ulimit -v`).
fn of_address_space(root: &Path) -> Option<u64> {
    let limits = fs::read_to_string(root.join("proc/self/limits")).ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let status = fs::read_to_string(root.join("proc/self/status")).ok()?;
    Some(limit.saturating_sub(in_kibibytes(&status, "VmSize:")?))
}
