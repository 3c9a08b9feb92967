//! The common parts of the tests of live runs. They need root and /dev/net/tun, and say so where they cannot run.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(unsafe_code, reason = "handles of namespaces have no safe wrapper")]

mod witness;

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Engine as _, Failure, Watch};
use live::{Algorithms, InKernel, Live, Outcome};
use scenario::Plan;

#[allow(unused_imports, reason = "each test file uses its part")]
pub(crate) use self::witness::monotonic;

/// One run at a time: two share two cores badly. Taken before anything is opened, since open files are counted.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if live runs are possible here.
pub(crate) fn possible() -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    let tun = OpenOptions::new().read(true).write(true).open("/dev/net/tun").is_ok();
    if !root || !tun {
        eprintln!("skipped: live runs need root and /dev/net/tun");
    }
    root && tun
}

/// True if programs can be loaded into this kernel.
pub(crate) fn kernel_tells() -> bool {
    kernel::check().map_err(|error| eprintln!("skipped: {error}")).is_ok()
}

/// The run to do.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: u64,
    pub(crate) algorithms: Arc<dyn Algorithms>,
    pub(crate) gso_max_segs: Option<u16>,
}

pub(crate) fn run_job(job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
    let Job { plan, seed, algorithms, gso_max_segs } = job.clone();
    Live { algorithms, controllers: None, gso_max_segs, capture: None, queues: live::Queues::default() }
        .run(&engine::Job { plan, seed }, watch)
}

pub(crate) fn job(toml: &str) -> Job {
    let plan = scenario::from_toml(toml, "test.toml").unwrap().plan(&|path: &Path| std::fs::read(path)).unwrap();
    Job { seed: plan.seed, plan: Arc::new(plan), algorithms: Arc::new(InKernel), gso_max_segs: None }
}

/// So often a run is repeated that the machine was too busy for.
pub(crate) const ATTEMPTS: usize = 10;

/// The first valid run of `toml`, as [`first_with`] has it.
pub(crate) fn run(toml: &str) -> Option<Outcome> {
    first_valid(&job(toml))
}

/// The first valid run of `job`, as [`first_with`] has it.
pub(crate) fn first_valid(job: &Job) -> Option<Outcome> {
    first_with(job, |outcome| outcome.notes.valid)
}

/// The first run of `job` that is as a quiet machine makes it. If some attempts give none, it is a run that the machine
/// does not excuse, or `None` if it excuses all. Each has a seed of its own, as chance may decide.
pub(crate) fn first_with(job: &Job, is_quiet: impl Fn(&Outcome) -> bool) -> Option<Outcome> {
    let run = |seed| run_job(&Job { seed, ..job.clone() }, &Watch::default()).unwrap();
    first_of(job.seed, run, is_quiet)
}

/// The same of runs with seeds from `seed` on.
pub(crate) fn first_of(
    seed: u64,
    run: impl Fn(u64) -> Outcome,
    is_quiet: impl Fn(&Outcome) -> bool,
) -> Option<Outcome> {
    let mut without_excuse: Option<Outcome> = None;
    for attempt in 0..ATTEMPTS {
        let (outcome, machine) = witness::beside(|| run(seed + attempt as u64));
        eprintln!("{} on a machine with {machine:?}", serde_json::to_string(&outcome.notes).unwrap());
        if is_quiet(&outcome) {
            return Some(outcome);
        }
        if !machine.excuses(&outcome) && without_excuse.as_ref().is_none_or(|other| !other.notes.valid) {
            without_excuse = Some(outcome);
        }
    }
    if without_excuse.is_none() {
        // Past the harness, which captures the output of a passing test.
        let _ = writeln!(std::io::stderr(), "skipped: this machine was too busy for each of {ATTEMPTS} live runs");
    }
    without_excuse
}

/// Waits until a run has gone on for half a second, or is over.
pub(crate) fn under_way(watch: &Watch) {
    while watch.elapsed_nanos.load(Ordering::Relaxed) < 500_000_000 && !watch.stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// A namespace that is known by its handle and not kept alive by that.
pub(crate) struct Namespace(Box<Handle>);

/// `struct file_handle` of linux/fcntl.h with room for the handle of nsfs.
#[repr(C)]
struct Handle {
    length: libc::c_uint,
    kind: libc::c_int,
    bytes: [u8; 128],
}

/// FD_NSFS_ROOT of linux/fcntl.h: handles of namespaces, since Linux 6.18.
const NSFS_ROOT: libc::c_int = -10_003;

impl Namespace {
    /// True if anything still uses it.
    pub(crate) fn is_alive(&mut self) -> bool {
        let handle: *mut Handle = &raw mut *self.0;
        // SAFETY: the kernel reads a handle of the length that it says.
        let fd =
            unsafe { libc::syscall(libc::SYS_open_by_handle_at, NSFS_ROOT, handle, libc::O_RDONLY | libc::O_CLOEXEC) };
        if fd >= 0 {
            // SAFETY: it was opened right here.
            unsafe { libc::close(fd as libc::c_int) };
        }
        fd >= 0
    }

    /// Waits for its end: the kernel clears namespaces away at its leisure.
    pub(crate) fn ends(&mut self) -> bool {
        soon(|| !self.is_alive())
    }
}

/// The network namespaces that process `id` has open files of. `None` where the kernel gives no handles of namespaces.
pub(crate) fn namespaces(id: &str) -> Option<Vec<Namespace>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{id}/fd")).unwrap().flatten() {
        if !fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("net:[")) {
            continue;
        }
        let mut handle = Box::new(Handle { length: 128, kind: 0, bytes: [0; 128] });
        let (path, mut mount) = (CString::new(entry.path().into_os_string().into_encoded_bytes()).unwrap(), 0);
        let to: *mut Handle = &raw mut *handle;
        let (at, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        // SAFETY: the kernel writes a handle of at most the length that is given, and a number.
        let result =
            unsafe { libc::syscall(libc::SYS_name_to_handle_at, at, path.as_ptr(), to, &raw mut mount, follow) };
        let mut namespace = Namespace(handle);
        if result < 0 || !namespace.is_alive() {
            eprintln!("not checked: this kernel gives no handles of namespaces");
            return None;
        }
        found.push(namespace);
    }
    Some(found)
}

/// True if it `happens` within two minutes: work that the kernel does at its leisure takes long on a busy machine.
pub(crate) fn soon(mut happens: impl FnMut() -> bool) -> bool {
    (0..2400).any(|_| {
        let over = happens();
        if !over {
            std::thread::park_timeout(Duration::from_millis(50));
        }
        over
    })
}

/// [`threads_and_files`] of this process, once they are `before` again: a thread that has been joined is listed for a
/// moment yet.
pub(crate) fn settled(before: (usize, usize)) -> (usize, usize) {
    soon(|| threads_and_files("self") == before);
    threads_and_files("self")
}

/// Threads that a run started, and open files, of process `id`. Threads of the test program come and go.
pub(crate) fn threads_and_files(id: &str) -> (usize, usize) {
    let entries = |what: &str| fs::read_dir(format!("/proc/{id}/{what}")).into_iter().flatten().flatten();
    let ours =
        |task: &fs::DirEntry| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("ack-"));
    (entries("task").filter(ours).count(), entries("fd").count())
}
