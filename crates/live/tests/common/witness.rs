//! A witness that the machine, and not our own code, kept a run from being on time.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use live::Outcome;
use rustix::thread::{CpuSet, nanosleep, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A witness sleeps so long.
const NAP: u64 = 1_000_000;
/// Before the threads of a run, so that these cannot keep it waiting.
const PRIORITY: i32 = 3;

/// How busy the machine was while something ran.
#[derive(Debug)]
pub(crate) struct Disturbance {
    /// By how much threads that only sleep, one on each processor, came late at most.
    pub(crate) late_us: f64,
    /// Threads that run or would, as a mean over a minute.
    pub(crate) load: String,
}

impl Disturbance {
    /// True if it explains that `outcome` is not valid: deliveries or looks at the sockets were late, and nothing else
    /// is wrong.
    pub(crate) fn excuses(&self, outcome: &Outcome) -> bool {
        let notes = &outcome.notes;
        let late = |reason: &String| reason.starts_with("a delivery was ") || reason.starts_with("the sockets were ");
        let latest = notes.endpoints_late_us.map_or(0.0, |late| late.max).max(notes.lateness_us.max);
        !notes.valid && notes.reasons.iter().all(late) && self.late_us > latest / 2.0
    }
}

/// Ends the witnesses, also where the work panics.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work`, and watches the machine meanwhile.
pub(crate) fn beside<T>(work: impl FnOnce() -> T) -> (T, Disturbance) {
    let (over, latest) = (AtomicBool::new(false), AtomicU64::new(0));
    let allowed = sched_getaffinity(None).unwrap();
    let done = std::thread::scope(|scope| {
        for processor in (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)) {
            let (over, latest) = (&over, &latest);
            std::thread::Builder::new().spawn_scoped(scope, move || watch(processor, over, latest)).unwrap();
        }
        let _over = SetOnDrop(&over);
        work()
    });
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    (done, Disturbance { late_us: latest.into_inner() as f64 / 1e3, load })
}

/// Sleeps on `processor` until `over`, and notes by how much it came late at most.
fn watch(processor: usize, over: &AtomicBool, latest: &AtomicU64) {
    let mut only = CpuSet::new();
    only.set(processor);
    // One that is taken away meanwhile is none of ours.
    let _ = sched_setaffinity(None, &only);
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: `parameters` outlives the call. If it is refused, a run has to wait its turn as well.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    while !over.load(Ordering::Relaxed) {
        let due = monotonic() + NAP;
        let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: NAP as _ });
        latest.fetch_max(monotonic().saturating_sub(due), Ordering::Relaxed);
    }
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
