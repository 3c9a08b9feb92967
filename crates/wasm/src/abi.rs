//! The functions of the module that a page calls, and the functions of the page that the module calls.
//!
//! Text goes in through a buffer that the page fills (`reserve`), and comes out by a call of the page (`answer`) for
//! the time of which it stays. So no memory changes hands.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Once, PoisonError};

use engine::{Stopwatch, Watch};

use crate::{Decisions, Numbers, Page, Request, check, described, run, shown};

mod page {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        pub(super) safe fn answer(text: *const u8, bytes: usize);
        pub(super) safe fn panicked(text: *const u8, bytes: usize);
        pub(super) safe fn progress(seconds: f64);
        pub(super) safe fn clock() -> f64;
        pub(super) safe fn make(text: *const u8, bytes: usize, decisions: *mut f64) -> i32;
        pub(super) safe fn event(controller: u32, kind: u32, numbers: *const f64, decisions: *mut f64) -> u32;
        pub(super) safe fn probe(controller: u32) -> u32;
    }
}

/// The text that the page hands in.
static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

thread_local! {
    static WATCH: RefCell<Arc<Watch>> = RefCell::default();
}

/// Room for a text of `bytes` bytes, which the next call reads.
#[unsafe(no_mangle)]
extern "C" fn reserve(bytes: usize) -> *mut u8 {
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    *text = vec![0; bytes];
    text.as_mut_ptr()
}

fn take_text() -> Vec<u8> {
    std::mem::take(&mut *TEXT.lock().unwrap_or_else(PoisonError::into_inner))
}

fn answer(text: &str) {
    page::answer(text.as_ptr(), text.len());
}

fn request() -> Request {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let text = panic.to_string();
            page::panicked(text.as_ptr(), text.len());
        }));
    });
    serde_json::from_slice(&take_text()).unwrap_or_default()
}

/// Answers with the events of controllers and the names of their signals.
#[unsafe(no_mangle)]
extern "C" fn describe_events() {
    answer(&described().to_string());
}

/// Checks a scenario.
#[unsafe(no_mangle)]
extern "C" fn check_scenario() {
    answer(&check(&request()).to_string());
}

/// Runs a scenario.
#[unsafe(no_mangle)]
extern "C" fn run_scenario() {
    let watch = Arc::new(Watch { looking: Some(looking), ..Watch::default() });
    WATCH.set(watch.clone());
    let clocks = Stopwatch { cpu_s: clock, wall_s: clock };
    let found = run(&request(), &ThisPage, &watch, Some(clocks));
    answer(&found.to_json().to_string());
}

/// Answers with the first page of a report on the runs that the page hands in.
#[unsafe(no_mangle)]
extern "C" fn first_page() {
    answer(&shown(&take_text()).to_string());
}

/// A number of the random stream of the flow whose event is being handled.
#[unsafe(no_mangle)]
extern "C" fn random() -> f64 {
    crate::random()
}

fn clock() -> f64 {
    page::clock()
}

fn looking() {
    let nanos = WATCH.with_borrow(|watch| watch.elapsed_nanos.load(Ordering::Relaxed));
    page::progress(nanos as f64 / 1e9);
}

/// The page that has loaded this module.
struct ThisPage;

impl Page for ThisPage {
    fn make(&self, text: &str, decisions: &mut Decisions) -> Option<u32> {
        u32::try_from(page::make(text.as_ptr(), text.len(), decisions.as_mut_ptr())).ok()
    }

    fn event(&self, controller: u32, kind: u32, numbers: &Numbers, decisions: &mut Decisions) -> bool {
        page::event(controller, kind, numbers.as_ptr(), decisions.as_mut_ptr()) == 1
    }

    fn probe(&self, controller: u32) -> Option<String> {
        (page::probe(controller) == 1).then(|| String::from_utf8_lossy(&take_text()).into_owned())
    }
}
