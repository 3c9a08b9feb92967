//! Controllers that stay in the kernel when this process ends: `/sys/fs/bpf/ackclock/NAME/` holds the link that keeps
//! one registered, its parameters, and a program by which its types are found again.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use control::stacks::LINUX;
use control::{ControllerRef, Parameters, registry};
use libbpf_rs::btf::Btf;
use libbpf_rs::{MapCore, MapHandle, ProgramHandle};
use rustix::fs::{FlockOperation, flock, statfs};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::Value;

use crate::congestion::{Congestion, is_parameters, set_in, values_in};
use crate::error::{LoadError, refused};
use crate::layout::{Slot, variables};
use crate::object::BUILT_IN;
use crate::requirements;

const BPFFS: &str = "/sys/fs/bpf";
const FOLDER: &str = "/sys/fs/bpf/ackclock";
/// f_type of a BPF file system (include/uapi/linux/magic.h).
const MAGIC: u32 = 0xcafe_4a11;
/// The device name of a BPF file system that was mounted here, and goes with the last controller.
const MOUNTED_BY: &str = "ackclock";

/// A controller that is kept in the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The name for the socket option `TCP_CONGESTION`.
    pub name: String,
    /// Its parameters as they are now.
    pub parameters: BTreeMap<String, Value>,
}

/// Loads `controller` (see [`Congestion::load`]) and keeps it. Returns its name for `TCP_CONGESTION`. If `/sys/fs/bpf`
/// is no BPF file system, one is mounted there, until the last controller is unloaded. Nothing else of the machine is
/// touched.
///
/// # Errors
/// As [`Congestion::load`], or the file system refuses.
pub fn pin(controller: &ControllerRef, parameters: &Parameters) -> Result<String, LoadError> {
    let mut loaded = Congestion::load(controller, parameters, 1)?;
    let name = loaded.name().to_string();
    let folder = Path::new(FOLDER).join(&name);
    let lock = locked()?;
    remove_remainders();
    fs::create_dir(&folder).map_err(refused(format!("{} cannot be made", folder.display())))?;
    let failed = || refused::<libbpf_rs::Error>(format!("`{name}` cannot be kept in {}", folder.display()));
    let result = (|| {
        let object = loaded.object_mut();
        if let Some(mut program) = object.progs_mut().next() {
            program.pin(folder.join("program")).map_err(failed())?;
        }
        if let Some(mut map) = object.maps_mut().find(|map| is_parameters(&map.name().to_string_lossy())) {
            map.pin(folder.join("parameters")).map_err(failed())?;
        }
        // Last: it is the link that keeps the controller.
        loaded.link_mut().pin(folder.join("link")).map_err(failed())
    })();
    if result.is_err() {
        let _ = fs::remove_dir_all(&folder);
        remove_empty(lock);
    }
    result.map(|()| name)
}

/// The folder, made if need be, and locked until the returned file is dropped or the process ends.
fn locked() -> Result<fs::File, LoadError> {
    loop {
        ensure_mounted()?;
        fs::create_dir_all(FOLDER).map_err(refused(format!("{FOLDER} cannot be made")))?;
        let lock = fs::File::open(FOLDER).and_then(|all| Ok(flock(&all, FlockOperation::LockExclusive).map(|()| all)?));
        let lock = match lock {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            lock => lock.map_err(refused(format!("{FOLDER} cannot be locked")))?,
        };
        // A process that unloads the last controller removes the folder: then it is not the one that is locked.
        let same = |one: &fs::Metadata, other: &fs::Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
        if let (Ok(held), Ok(there)) = (lock.metadata(), fs::metadata(FOLDER))
            && same(&held, &there)
        {
            return Ok(lock);
        }
    }
}

/// Removes the folder if nothing is kept any more, and the file system if it was mounted for it and is empty.
fn remove_empty(lock: fs::File) {
    let removed = fs::remove_dir(FOLDER).is_ok();
    // It would keep the file system busy.
    drop(lock);
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap_or_default();
    if removed && is_ours(&mounts) && !holds_anything() {
        let _ = unmount(BPFFS, UnmountFlags::empty());
    }
}

/// True if anything is pinned in the file system: the files `maps.debug` and `progs.debug` are the kernel's own.
fn holds_anything() -> bool {
    let own = |entry: fs::DirEntry| entry.path().extension().is_some_and(|extension| extension == "debug");
    !fs::read_dir(BPFFS).is_ok_and(|mut inside| inside.all(|entry| entry.is_ok_and(own)))
}

/// True if the last file system that `mounts`, a mountinfo of /proc, has at the place is one mounted here.
fn is_ours(mounts: &str) -> bool {
    // Place in the file system and mount point are the fourth and fifth. Type and device follow a hyphen.
    let at_place = |line: &&str| line.split(' ').nth(4) == Some(BPFFS);
    let last = mounts.lines().rev().find(at_place).and_then(|line| line.split_once(" - "));
    last.is_some_and(|(_, rest)| rest.starts_with(&format!("bpf {MOUNTED_BY} ")))
}

/// Removes the remainders of interrupted attempts to load or to unload. They register nothing, but take memory. No
/// other process may be loading.
fn remove_remainders() {
    let folders = fs::read_dir(FOLDER).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in folders.filter(|folder| !folder.join("link").exists()) {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Takes the controller `name` out of the kernel, or all that [`pin`] made of this name. Connections that use one keep
/// it until they are closed.
///
/// # Errors
/// It is not there, or the file system refuses.
pub fn unpin(name: &str) -> Result<(), LoadError> {
    let folders: Vec<PathBuf> = meant(name)?.iter().map(|name| Path::new(FOLDER).join(name)).collect();
    let lock = locked()?;
    let remove = |folder: &PathBuf| {
        // The link first: without it the rest is only a remainder.
        let _ = fs::remove_file(folder.join("link"));
        fs::remove_dir_all(folder).map_err(refused(format!("{} cannot be removed", folder.display())))
    };
    let removed = folders.iter().map(remove).fold(Ok(()), Result::and);
    remove_empty(lock);
    removed
}

/// The controllers that are kept, by name.
///
/// # Errors
/// The kernel does not answer.
pub fn list() -> Result<Vec<Kept>, LoadError> {
    let folders = match fs::read_dir(FOLDER) {
        Ok(folders) => folders,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Err(LoadError::Unavailable(format!("{FOLDER} cannot be read: run it as root")));
        }
        Err(error) => return Err(LoadError::Refused(format!("{FOLDER} cannot be read: {error}"))),
    };
    let is_kept = |name: &String| Path::new(FOLDER).join(name).join("link").exists();
    let mut names: Vec<String> =
        folders.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(is_kept).collect();
    names.sort_unstable();
    if !names.is_empty() {
        requirements::check()?;
    }
    let mut all = Vec::new();
    for name in names {
        match open(&name).and_then(|opened| opened.map_or(Ok(BTreeMap::new()), |(map, slots)| values_in(&map, &slots)))
        {
            Ok(parameters) => all.push(Kept { name, parameters }),
            // Unloaded meanwhile.
            Err(_) if !is_kept(&name) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Sets parameters of the controller `name`, all or none, for the flows that run and those to come.
///
/// # Errors
/// There is no such controller or parameter, or a value is not allowed.
pub fn set(name: &str, parameters: &Parameters) -> Result<(), LoadError> {
    let name = &kept(name)?;
    requirements::check()?;
    // Where the simulator has the controller, its ranges hold.
    if let Some(plain) = BUILT_IN.iter().find(|plain| is_of(plain, name))
        && let Ok(entry) = registry::find(plain)
    {
        entry.build_for(LINUX, parameters)?;
    }
    let Some(first) = parameters.keys().next() else { return Ok(()) };
    match open(name)? {
        Some((map, slots)) => set_in(&map, name, &slots, parameters),
        None => {
            Err(LoadError::Refused(format!("`{name}` has no parameters in the kernel, so `{first}` cannot be set")))
        }
    }
}

/// The name in the kernel of the controller `name`, if one is kept. `name` is this name or the one that [`pin`] takes.
fn kept(name: &str) -> Result<String, LoadError> {
    match meant(name)?.as_slice() {
        [one] => Ok(one.clone()),
        several => {
            let names = several.join(", ");
            Err(LoadError::Refused(format!("the controller `{name}` is loaded several times: name one of {names}")))
        }
    }
}

/// The names in the kernel of all controllers that `name` may mean, one at least.
fn meant(name: &str) -> Result<Vec<String>, LoadError> {
    let plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    if plain && Path::new(FOLDER).join(name).is_dir() {
        return Ok(vec![name.to_owned()]);
    }
    let kept: Vec<String> = list()?.into_iter().map(|kept| kept.name).collect();
    let meant: Vec<String> = kept.iter().filter(|one| is_of(name, one)).cloned().collect();
    if !meant.is_empty() {
        return Ok(meant);
    }
    Err(LoadError::Refused(if kept.is_empty() {
        format!("there is no controller `{name}` that ackclock keeps in the kernel; there is none at all")
    } else {
        format!("there is no controller `{name}` that ackclock keeps in the kernel (there are {})", kept.join(", "))
    }))
}

/// True if `given`, a name in scenarios or a source in C, is loaded as `name`: `ack_cdg`, and `ack_cdg_2` beside it.
fn is_of(given: &str, name: &str) -> bool {
    let file = given.rsplit('/').next().unwrap_or(given);
    let plain = file.strip_suffix(".bpf.c").unwrap_or(file).replace('-', "_");
    let rest = name.strip_prefix("ack_").unwrap_or(name).strip_prefix(&plain);
    rest.is_some_and(|rest| {
        rest.is_empty()
            || rest
                .strip_prefix('_')
                .is_some_and(|n| n != "1" && !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// The parameters of the controller `name`, or `None` if it has none.
fn open(name: &str) -> Result<Option<(MapHandle, Vec<Slot>)>, LoadError> {
    let folder = Path::new(FOLDER).join(name);
    if !folder.join("parameters").exists() {
        return Ok(None);
    }
    let failed = || refused::<libbpf_rs::Error>(format!("`{name}` cannot be opened in {}", folder.display()));
    let map = MapHandle::from_pinned_path(folder.join("parameters")).map_err(failed())?;
    let program = ProgramHandle::from_pinned_path(folder.join("program")).map_err(failed())?;
    let types = Btf::from_prog_id(program.id()).map_err(failed())?;
    Ok(Some((map, variables(&types, ".data"))))
}

fn ensure_mounted() -> Result<(), LoadError> {
    if statfs(BPFFS).is_ok_and(|fs| fs.f_type as u32 == MAGIC) {
        return Ok(());
    }
    // As systemd mounts it: otherwise everybody may make folders in it.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(MOUNTED_BY, BPFFS, "bpf", flags, c"mode=700").map_err(|error| {
        LoadError::Unavailable(format!(
            "keeping a controller in the kernel needs a BPF file system at {BPFFS}, and it cannot be mounted: \
             {error} (it takes \
             CAP_SYS_ADMIN and a kernel with CONFIG_BPF_SYSCALL)"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_known_by_the_name_that_loads_it() {
        for (given, name) in [
            ("cdg", "ack_cdg"),
            ("cdg", "ack_cdg_2"),
            ("tcp-q", "ack_tcp_q"),
            ("gentle-1", "ack_gentle_1"),
            ("gentle-1", "ack_gentle_1_2"),
            ("house/my-own.bpf.c", "ack_my_own"),
            ("mine.bpf.c", "mine"),
        ] {
            assert!(is_of(given, name), "{given} and {name}");
        }
        for (given, name) in
            [("cdg", "ack_cdg2"), ("tcp-f", "ack_tcp_fq"), ("gentle", "ack_gentle_1"), ("da", "ack_cda")]
        {
            assert!(!is_of(given, name), "{given} and {name}");
        }
    }

    #[test]
    fn a_file_system_is_ours_by_the_name_of_its_device_if_nothing_lies_over_it() {
        let sysfs = "21 25 0:19 / /sys rw shared:7 - sysfs sysfs rw\n";
        let ours = "40 21 0:33 / /sys/fs/bpf rw,nosuid shared:9 - bpf ackclock rw,mode=700\n";
        let others = "41 21 0:34 / /sys/fs/bpf rw,nosuid shared:9 - bpf bpf rw,mode=700\n";
        assert!(is_ours(&format!("{sysfs}{ours}")));
        assert!(is_ours(&format!("{others}{ours}")));
        for mounts in [sysfs.to_owned(), format!("{sysfs}{others}"), format!("{ours}{others}"), String::new()] {
            assert!(!is_ours(&mounts), "{mounts}");
        }
    }
}
