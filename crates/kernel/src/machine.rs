//! Controllers that stay in the kernel when this process ends: `/sys/fs/bpf/ackclock/NAME/` holds the link that keeps
//! one registered, its parameters, and a program by which its types are found again.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use control::{ControllerRef, Parameters, registry};
use libbpf_rs::btf::Btf;
use libbpf_rs::{MapCore, MapHandle, ProgramHandle};
use rustix::fs::{FlockOperation, flock, statfs};
use rustix::mount::{MountFlags, mount};
use serde_json::Value;

use crate::congestion::{Congestion, is_parameters, set_in, values_in};
use crate::error::{LoadError, refused};
use crate::layout::{Slot, variables};
use crate::requirements;

const BPFFS: &str = "/sys/fs/bpf";
const FOLDER: &str = "/sys/fs/bpf/ackclock";
/// f_type of a BPF file system (include/uapi/linux/magic.h).
const MAGIC: u32 = 0xcafe_4a11;

/// A controller that is kept in the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// What the socket option `TCP_CONGESTION` takes.
    pub name: String,
    /// Its parameters as they are now.
    pub parameters: BTreeMap<String, Value>,
}

/// Loads `controller` (see [`Congestion::load`]) and keeps it. Returns its name for `TCP_CONGESTION`. If `/sys/fs/bpf`
/// is no BPF file system, one is mounted there; nothing else of the machine is touched.
///
/// # Errors
/// Those of [`Congestion::load`], and what the file system refuses.
pub fn pin(controller: &ControllerRef, parameters: &Parameters) -> Result<String, LoadError> {
    let mut loaded = Congestion::load(controller, parameters, 1)?;
    ensure_mounted()?;
    let name = loaded.name().to_string();
    let folder = Path::new(FOLDER).join(&name);
    fs::create_dir_all(FOLDER).map_err(refused(format!("{FOLDER} cannot be made")))?;
    // Gives way when dropped, or the process ends.
    let lock = fs::File::open(FOLDER).and_then(|all| Ok(flock(&all, FlockOperation::LockExclusive).map(|()| all)?));
    let _lock = lock.map_err(refused(format!("{FOLDER} cannot be locked")))?;
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
    }
    result.map(|()| name)
}

/// Removes what an attempt to load or to unload left that was cut short: nothing is registered by it, but it takes
/// memory. Nobody else may be loading.
fn remove_remainders() {
    let folders = fs::read_dir(FOLDER).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in folders.filter(|folder| !folder.join("link").exists()) {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Takes the controller `name` out of the kernel; connections that use it keep it until they are closed.
///
/// # Errors
/// It is not there, or the file system refuses.
pub fn unpin(name: &str) -> Result<(), LoadError> {
    let folder = folder(name)?;
    // The link first: without it the rest is only a remainder.
    let _ = fs::remove_file(folder.join("link"));
    fs::remove_dir_all(&folder).map_err(refused(format!("{} cannot be removed", folder.display())))
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
    folder(name)?;
    requirements::check()?;
    // `ack_cdg_2` is cdg: where the simulator has it, its ranges hold.
    let plain = name.trim_start_matches("ack_").trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
    if let Ok(entry) = registry::find(plain) {
        entry.build(parameters)?;
    }
    let Some(first) = parameters.keys().next() else { return Ok(()) };
    match open(name)? {
        Some((map, slots)) => set_in(&map, name, &slots, parameters),
        None => {
            Err(LoadError::Refused(format!("`{name}` has no parameters in the kernel, so `{first}` cannot be set")))
        }
    }
}

/// The folder of the controller `name`, if there is one.
fn folder(name: &str) -> Result<PathBuf, LoadError> {
    let folder = Path::new(FOLDER).join(name);
    let plain = !name.is_empty() && !name.contains('/') && !name.starts_with('.');
    if plain && folder.is_dir() {
        return Ok(folder);
    }
    let kept: Vec<String> = list()?.into_iter().map(|kept| kept.name).collect();
    Err(LoadError::Refused(if kept.is_empty() {
        format!("there is no controller `{name}` that ackclock keeps in the kernel; there is none at all")
    } else {
        format!("there is no controller `{name}` that ackclock keeps in the kernel (there are {})", kept.join(", "))
    }))
}

/// The parameters of the controller `name`; `None` if it has none.
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
    mount("bpf", BPFFS, "bpf", flags, c"mode=700").map_err(|error| {
        LoadError::Unavailable(format!(
            "keeping a controller in the kernel needs a BPF file system at {BPFFS}, and it cannot be mounted: \
             {error} (it takes \
             CAP_SYS_ADMIN and a kernel with CONFIG_BPF_SYSCALL)"
        ))
    })
}
