//! A crash in a controller's C code ends the process, and cannot be made good. This says whose it was.
//!
//! While a thread runs code of a file, the thread knows the name of that file, and the event. A handler of the signals
//! of a crash prints them, and leaves the rest to the previous handler of the signal. A crash elsewhere may come from a
//! file that wrote out of bounds: the handler prints the first one that was loaded. The end of the process by `exit`
//! within the code is a crash as well.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::{MaybeUninit, zeroed};
use std::ptr::{null, null_mut};
use std::sync::{Once, OnceLock};

/// The exit status of a process that a controller ended by `exit`.
const STATUS: c_int = 70;
const SIGNALS: [(c_int, &CStr); 5] = [
    (libc::SIGSEGV, c"a wrong address or endless recursion"),
    (libc::SIGBUS, c"a wrong address"),
    (libc::SIGFPE, c"a division by zero"),
    (libc::SIGILL, c"an illegal instruction: __builtin_trap, or a division by zero"),
    (libc::SIGABRT, c"abort"),
];

thread_local! {
    /// The code that the thread runs.
    static RUNNING: Cell<Running> = const { Cell::new(Running { file: null(), event: "" }) };
    static STACK: SignalStack = SignalStack::new();
}
/// The first file of a controller that was loaded: it may have written where it must not, and the crash comes later.
static LOADED: OnceLock<CString> = OnceLock::new();
static BEFORE: [OnceLock<Action>; SIGNALS.len()] = [const { OnceLock::new() }; SIGNALS.len()];
static PREPARED: Once = Once::new();

/// The code that a thread runs.
#[derive(Clone, Copy)]
struct Running {
    /// Its file, or null outside of calls.
    file: *const c_char,
    /// The method or callback, or empty if there is none, as while an object is loaded.
    event: &'static str,
}

struct Action(libc::sigaction);

// SAFETY: a plain value. The handler that it may point to is the process's own.
unsafe impl Send for Action {}
unsafe impl Sync for Action {}

/// The memory of the handler on a thread that has none of its own: recursion without end has used up the other stack.
struct SignalStack(Option<Box<[u8]>>);

impl SignalStack {
    /// Its size: the handler prints a line.
    const SIZE: usize = 64 << 10;

    fn new() -> Self {
        let mut known = MaybeUninit::<libc::stack_t>::zeroed();
        // SAFETY: only asks, and all zero is a valid `stack_t`.
        let has = unsafe {
            libc::sigaltstack(null(), known.as_mut_ptr()) == 0 && known.assume_init().ss_flags & libc::SS_DISABLE == 0
        };
        if has {
            return Self(None);
        }
        let mut memory = vec![0; Self::SIZE].into_boxed_slice();
        Self::set(libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() });
        Self(Some(memory))
    }

    fn set(stack: libc::stack_t) {
        // SAFETY: the memory lives until the thread ends, which takes the stack away first.
        unsafe { libc::sigaltstack(&raw const stack, null_mut()) };
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        if self.0.is_some() {
            Self::set(libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 });
        }
    }
}

/// Runs `code` of the file `name` for `event`, which the message of a crash in it gives.
pub(crate) fn naming<R>(name: &CStr, event: &'static str, code: impl FnOnce() -> R) -> R {
    PREPARED.call_once(prepare);
    // A thread that is ending has none any more.
    let _ = STACK.try_with(|_| ());
    let outer = RUNNING.replace(Running { file: name.as_ptr(), event });
    let result = code();
    RUNNING.set(outer);
    result
}

/// Notes that the file `name` is loaded.
pub(crate) fn loaded(name: &CStr) {
    LOADED.get_or_init(|| name.to_owned());
}

fn prepare() {
    for (at, (signal, _)) in SIGNALS.iter().enumerate() {
        // SAFETY: all zero is a valid `sigaction`. The handler keeps to calls that are safe in one.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = crashed as *const () as usize;
            // On the stack for signals, if the thread has one: recursion leaves no other.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let mut before = MaybeUninit::<libc::sigaction>::zeroed();
            if libc::sigaction(*signal, &raw const action, before.as_mut_ptr()) == 0 {
                let _ = BEFORE[at].set(Action(before.assume_init()));
            }
        }
    }
    // SAFETY: `exited` takes and gives nothing, and lives as long as the process.
    unsafe { libc::atexit(exited) };
}

extern "C" fn crashed(signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    let at = SIGNALS.iter().position(|(one, _)| *one == signal).unwrap_or(0);
    let running = RUNNING.get();
    if !running.file.is_null() {
        let within: &[u8] = if running.event.is_empty() { b"`" } else { b"`, in " };
        let (event, why) = (running.event.as_bytes(), SIGNALS[at].1.to_bytes());
        print(&[b"ackclock: a crash in the code of `", name(running), within, event, b": ", why, b"\n"]);
    } else if let Some(file) = LOADED.get() {
        let after = b"` ran, which may have written out of bounds: ";
        print(&[b"ackclock: a crash after code of `", file.to_bytes(), after, SIGNALS[at].1.to_bytes(), b"\n"]);
    }
    // SAFETY: the previous action is restored, and handles the signal when the code runs into it again.
    unsafe {
        match BEFORE[at].get() {
            Some(before) => libc::sigaction(signal, &raw const before.0, null_mut()),
            None => 0,
        };
        if signal == libc::SIGABRT || running.file.is_null() {
            libc::raise(signal);
        }
    }
}

extern "C" fn exited() {
    let running = RUNNING.get();
    if !running.file.is_null() {
        print(&[b"ackclock: the code of `", name(running), b"` ended the program by exit\n"]);
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(STATUS) };
    }
}

fn name<'a>(running: Running) -> &'a [u8] {
    // SAFETY: `naming` sets it to a string that lives until it is set back.
    unsafe { CStr::from_ptr(running.file) }.to_bytes()
}

/// Writes to standard error by a call that is safe in a handler.
fn print(parts: &[&[u8]]) {
    for bytes in parts {
        // SAFETY: the bytes are as many as said.
        unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
    }
}
