//! Work that must end in time, or is left behind.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use units::{Span, Time};

use crate::emulator::Clock;
use crate::host::system;

/// A thread that waits looks for a stop request so often,
const TICK: Duration = Duration::from_millis(10);
/// and in virtual time, where a look costs as much as moving a packet and takes time from the run.
const VIRTUAL_TICK: Duration = Duration::from_millis(500);

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// The work was not done in time. It may go on.
    Hangs,
    /// Its thread could not be started, or panicked.
    Broke,
}

/// Does `work` on a thread of its own, and calls `look` while it waits for the result, for `limit` at most.
pub(crate) fn within<T: Send + 'static>(
    limit: Span,
    look: &mut dyn FnMut(),
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Unfinished> {
    let (sender, receiver) = channel();
    let clock = Clock::start();
    let tick = if system::in_virtual_time() { VIRTUAL_TICK } else { TICK };
    let thread = std::thread::Builder::new().name("run".to_owned()).spawn(move || {
        // Nobody listens any more where this came too late.
        let _ = sender.send(work());
    });
    let thread = thread.map_err(|_| Unfinished::Broke)?;
    loop {
        look();
        match receiver.recv_timeout(tick) {
            Ok(result) => {
                look();
                // The parts of the work have been dropped when its thread is over.
                let _ = thread.join();
                return Ok(result);
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Unfinished::Broke),
            Err(RecvTimeoutError::Timeout) if clock.now() > Time::ZERO + limit => return Err(Unfinished::Hangs),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn what_is_done_in_time_is_handed_over() {
        let mut looks = 0;
        assert_eq!(within(Span::from_secs(60), &mut || looks += 1, || 7), Ok(7));
        assert!(looks >= 2);
    }

    #[test]
    fn what_hangs_is_left_behind_and_what_breaks_is_not_waited_for() {
        let over = Arc::new(AtomicBool::new(false));
        let waits = Arc::clone(&over);
        let hanging = move || {
            while !waits.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_millis(5));
            }
        };
        assert_eq!(within(Span::from_millis(50), &mut || {}, hanging), Err(Unfinished::Hangs));
        over.store(true, Ordering::Relaxed);
        assert_eq!(within(Span::from_secs(60), &mut || {}, || panic!("on purpose")), Err::<(), _>(Unfinished::Broke));
    }
}
