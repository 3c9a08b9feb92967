//! Threads that call Python at every event of a run.
//!
//! CPython makes a state for a thread that comes from outside and throws it away when the thread leaves, together with
//! the memory of the thread's first frame. For an event a microsecond long both cost more than the event. So such a
//! thread runs beneath a frame of Python (thread state and memory stay), and keeps the interpreter's lock from one
//! event to the next. It lets go of the lock whenever the run looks up, thousands of events apart, and within an event
//! when another thread has waited for 5 ms, as any thread of Python.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::hint::black_box;
use std::mem::forget;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::ffi::{self, PyGILState_STATE, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyString, PyTuple};

use crate::threads::PythonThreads;

/// The use that a thread makes of the interpreter's lock between events.
#[derive(Clone, Copy)]
enum Keeping {
    /// It attaches for each event.
    Never,
    /// It attaches at the next event, and stays so.
    Ready,
    /// It is attached, with the state from before.
    Attached(PyGILState_STATE),
}

/// A function of the interpreter's, which unwinds where the interpreter ends the thread. `black_box` hides its
/// declaration, by which it never does. The interpreter's lock may be waited for in it.
macro_rules! unwinding {
    ($function:path: fn($($argument:ty),*) -> $value:ty) => {{
        type Declared = unsafe extern "C" fn($($argument),*) -> $value;
        type Unwinding = unsafe extern "C-unwind" fn($($argument),*) -> $value;
        // SAFETY: the same function, and its caller expects more of it.
        unsafe { std::mem::transmute::<Declared, Unwinding>(black_box($function as Declared)) }
    }};
}

thread_local! {
    static BENEATH_A_FRAME: Cell<bool> = const { Cell::new(false) };
    static KEEPING: Cell<Keeping> = const { Cell::new(Keeping::Never) };
}

/// Runs `work` on this thread, detached, beneath a frame of Python, as one of `threads`. It does not run if the
/// interpreter is gone, or interrupts the thread at once.
pub(crate) fn beneath_a_frame(threads: Arc<PythonThreads>, work: impl FnOnce() + Send + 'static) {
    let work = Mutex::new(Some(work));
    let done = Python::try_attach(|py| {
        let function = PyCFunction::new_closure(py, None, None, move |arguments, _| -> PyResult<()> {
            let py = arguments.py();
            let number = number();
            threads.enter(number);
            let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            staying(|| {
                py.detach(|| {
                    BENEATH_A_FRAME.set(true);
                    work.into_iter().for_each(|work| work());
                    let_go();
                    BENEATH_A_FRAME.set(false);
                });
            });
            threads.leave(number);
            Ok(())
        })?;
        let frame = py.eval(c"lambda work: work()", None, None)?;
        call(&frame, &PyTuple::new(py, [function])?).map(drop)
    });
    // An interrupt that comes when the work is done is of no use to anybody.
    drop(done);
}

/// True on a thread whose runs call Python.
pub(crate) fn is_beneath_a_frame() -> bool {
    BENEATH_A_FRAME.get()
}

/// A run begins on this thread: may it keep the lock from event to event? Not if it waits for others meanwhile, as for
/// the reader of a pipe.
pub(crate) fn begin_run(may_keep: bool) {
    let_go();
    KEEPING.set(if may_keep && BENEATH_A_FRAME.get() { Keeping::Ready } else { Keeping::Never });
}

/// The thread lets go of the lock until the next event.
pub(crate) fn let_go() {
    if let Keeping::Attached(before) = KEEPING.get() {
        KEEPING.set(Keeping::Ready);
        // SAFETY: the call in `attach` returned this state, on this thread, and calls between have ended.
        unsafe { ffi::PyGILState_Release(before) };
    }
}

/// Calls `python` attached. `None` if there is no interpreter any more. A thread that may keeps the lock.
pub(crate) fn attach<T>(python: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    // SAFETY: may always be called.
    if matches!(KEEPING.get(), Keeping::Ready) && unsafe { ffi::Py_IsInitialized() } != 0 {
        let ensure = unwinding!(ffi::PyGILState_Ensure: fn() -> PyGILState_STATE);
        // SAFETY: the interpreter is there. Where it ends meanwhile, the thread stops here.
        KEEPING.set(Keeping::Attached(staying(|| unsafe { ensure() })));
    }
    staying(|| Python::try_attach(python))
}

/// `function(*arguments)`. A thread of a run calls Python by this, [`attribute`] and [`import`] only.
///
/// Where the interpreter ends meanwhile, CPython before 3.14 unwinds the stack of the thread. That frees objects
/// without the interpreter's lock, and aborts the process if it gets to a function that never unwinds. The thread
/// stops here instead, as it does since 3.14.
pub(crate) fn call<'py>(function: &Bound<'py, PyAny>, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let call = unwinding!(ffi::PyObject_Call: fn(*mut PyObject, *mut PyObject, *mut PyObject) -> *mut PyObject);
    // SAFETY: the objects live, and no keywords are given.
    let answer = staying(|| unsafe { call(function.as_ptr(), arguments.as_ptr(), std::ptr::null_mut()) });
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), answer) }
}

/// `object.name`, which may be a property, so a function in Python. As [`call`] where the interpreter ends meanwhile.
pub(crate) fn attribute<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    let get = unwinding!(ffi::PyObject_GetAttr: fn(*mut PyObject, *mut PyObject) -> *mut PyObject);
    // SAFETY: the objects live.
    let answer = staying(|| unsafe { get(object.as_ptr(), name.as_ptr()) });
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(object.py(), answer) }
}

/// The module `name`. As [`call`] where the interpreter ends meanwhile.
pub(crate) fn import<'py>(name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    let import = unwinding!(ffi::PyImport_Import: fn(*mut PyObject) -> *mut PyObject);
    // SAFETY: the name lives.
    let answer = staying(|| unsafe { import(name.as_ptr()) });
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(name.py(), answer) }
}

/// Gives up a reference to `object`, which may be the last: then its destructor runs. As [`call`] where the interpreter
/// ends meanwhile.
pub(crate) fn release(object: Bound<'_, PyAny>) {
    let release = unwinding!(ffi::Py_DecRef: fn(*mut PyObject) -> ());
    // SAFETY: a reference that is owned, which nothing uses any more.
    staying(|| unsafe { release(object.into_ptr()) });
}

/// The value of `work`. The thread stops where the interpreter would end it in the middle.
fn staying<T>(work: impl FnOnce() -> T) -> T {
    let stop = Stop;
    let value = work();
    forget(stop);
    value
}

/// Stops the thread where it is dropped, unless by a panic of our own.
struct Stop;

impl Drop for Stop {
    fn drop(&mut self) {
        while !std::thread::panicking() {
            std::thread::park();
        }
    }
}

/// The number that Python knows this thread by.
pub(crate) fn number() -> u64 {
    // SAFETY: may always be called.
    (unsafe { ffi::PyThread_get_thread_ident() }) as u64
}

/// Raises `exception` in the thread that Python knows by `number`, at its next instruction of Python.
pub(crate) fn raise_in(number: u64, exception: &Bound<'_, PyAny>) {
    // SAFETY: attached, as `exception` shows. A number of no thread does nothing.
    unsafe { ffi::PyThreadState_SetAsyncExc(number as std::ffi::c_long, exception.as_ptr()) };
}

/// Whether nothing refers to `object` but `own` references.
pub(crate) fn is_ours<T>(object: &Bound<'_, T>, own: isize) -> bool {
    // SAFETY: the object lives.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) == own }
}
