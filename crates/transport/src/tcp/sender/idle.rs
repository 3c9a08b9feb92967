//! What becomes of a window that the application does not use: after an idle time, and in Linux also where ACKs stay
//! out (RFC 5681, section 4.1; RFC 2861).

use control::Restart;
use units::{Span, Time};

use super::{Blocked, Sender};
use crate::tcp::recovery::Phase;
use crate::{IdleRestart, WindowValidation};

impl Sender {
    /// Whether the window counts as used, so that it may grow.
    #[inline]
    pub(super) fn is_window_limited(&self) -> bool {
        let (window, threshold) = (self.exact_window, self.threshold);
        match self.stack.growth.validation {
            WindowValidation::Round => self.usage.is_limited(window, threshold),
            WindowValidation::RateLimitedIncrease => self.usage.leaves_room(window, threshold),
        }
    }

    /// The flow sends again after `idle`, perhaps longer than the timeout.
    #[inline(never)]
    pub(super) fn restart_after(&mut self, now: Time, idle: Span) {
        let timeout = self.rtt.timeout(&self.stack.timers);
        if idle <= timeout {
            return;
        }
        let restart = match self.stack.idle_restart {
            None => return,
            Some(IdleRestart::Rfc5681) => None,
            // Such a controller minds its window by itself.
            Some(IdleRestart::Linux) if self.wants.governs_recovery => return,
            Some(IdleRestart::Linux) => {
                let halvings = (idle.as_nanos() - 1) / timeout.as_nanos().max(1);
                let window = self.window.checked_shr(halvings.min(32) as u32).unwrap_or(0);
                let least = self.window.min(self.stack.initial_window);
                Some(self.restart(window.max(least), true))
            }
        };
        self.notify_of(now, restart, |controller, cx| controller.on_idle_restart(cx));
        self.usage.restart(now);
    }

    /// A window of `window` segments, and a threshold of three quarters of what it was.
    fn restart(&self, window: u32, idle: bool) -> Restart {
        let threshold = self.window / 2 + self.window / 4;
        Restart { window: f64::from(window), threshold: f64::from(threshold), idle }
    }

    /// As Linux (tcp_cwnd_application_limited): while the window is not filled and no ACK has let it grow for a
    /// timeout, it comes down halfway to what was used, but not to less than the initial one.
    #[inline]
    pub(super) fn note_unused_window(&mut self, now: Time) {
        if self.is_window_limited() {
            self.usage.restart(now);
        } else {
            self.lower_unused_window(now);
        }
    }

    #[inline(never)]
    fn lower_unused_window(&mut self, now: Time) {
        let held_back = self.blocked != Blocked::Application;
        if held_back || self.wants.governs_recovery {
            return;
        }
        let timeout = self.rtt.timeout(&self.stack.timers);
        let Some(used) = self.usage.unused_for(timeout, now, self.board.outstanding()) else { return };
        let used = used.max(self.stack.initial_window);
        if self.recovery.phase() == Phase::Open && used < self.window {
            let restart = self.restart(self.window.midpoint(used), false);
            self.notify_of(now, Some(restart), |controller, cx| controller.on_idle_restart(cx));
        }
    }
}
