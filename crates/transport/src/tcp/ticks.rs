//! When a timer expires that a kernel looks at only with each tick of its clock.

use units::{Span, Time};

/// Ticks that a timer of the first level of the wheel may wait at most, and one (LVL_START(1)).
const FIRST_LEVEL: u64 = 63;
/// How much coarser each level is than the one before, as a shift (LVL_CLK_SHIFT).
const COARSER: u32 = 3;
/// The last level (LVL_DEPTH).
const LAST_LEVEL: u32 = 8;

/// The ticks of the host that a timer belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// From one tick to the next. Zero: timers are exact.
    length: Span,
    /// How long the host had been up at the start of the run.
    uptime: Span,
}

impl Ticks {
    /// Ticks `length` apart of a host that has just come up.
    pub(crate) const fn of(length: Span) -> Self {
        Self { length, uptime: Span::ZERO }
    }

    /// The same ticks of a host that had been up for `uptime`.
    #[must_use]
    pub(crate) const fn up_for(self, uptime: Span) -> Self {
        Self { uptime, ..self }
    }

    /// True if timers are exact.
    pub(crate) const fn are_exact(self) -> bool {
        self.length.is_zero()
    }

    /// From one tick to the next, or zero if timers are exact.
    pub(crate) const fn length(self) -> Span {
        self.length
    }

    /// The number of the last tick at `now`, where timers are exact of ticks `finest` apart.
    pub(crate) fn number(self, now: Time, finest: Span) -> u64 {
        let length = if self.are_exact() { finest } else { self.length };
        (now + self.uptime).as_nanos() / length.as_nanos()
    }

    /// When a timer expires that is set at `now` for `wait`.
    ///
    /// As in Linux (`calc_wheel_index`): the wait counts in whole ticks, one at least, from the last tick before `now`
    /// on, and never ends early, so that it takes one tick more. From 63 ticks on timers expire with every eighth tick
    /// only, from 504 on with every 64th, and so on.
    pub(crate) fn expiry(self, now: Time, wait: Span) -> Time {
        if self.are_exact() {
            return now + wait;
        }
        let length = self.length.as_nanos();
        let up = now + self.uptime;
        let wait = wait.as_nanos().div_ceil(length).max(1);
        let level = (0..LAST_LEVEL).find(|level| wait < FIRST_LEVEL << (COARSER * level)).unwrap_or(LAST_LEVEL);
        let shift = COARSER * level;
        let bucket = ((up.as_nanos() / length + wait) >> shift) + 1;
        Time::ZERO + (Span::from_nanos((bucket << shift).saturating_mul(length)) - self.uptime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn expiry(ticks: Ticks, now: f64, wait: f64) -> f64 {
        let span = |ms: f64| Span::from_secs_f64(ms / 1000.0);
        ticks.expiry(Time::ZERO + span(now), span(wait)).as_secs_f64() * 1000.0
    }

    #[test]
    fn without_ticks_a_timer_is_exact() {
        assert_eq!(expiry(Ticks::of(Span::ZERO).up_for(MS(3)), 10.0, 25.5), 35.5);
    }

    #[test]
    fn a_wait_takes_whole_ticks_and_one_more_from_the_last_tick_on() {
        let ticks = Ticks::of(MS(4));
        // 27 ms are 7 ticks.
        assert_eq!(expiry(ticks, 100.0, 27.0), 132.0, "8 ticks after 100");
        assert_eq!(expiry(ticks, 103.9, 27.0), 132.0, "so too at the end of that tick");
        assert_eq!(expiry(ticks, 104.0, 27.0), 136.0);
        assert_eq!(expiry(ticks, 104.0, 28.0), 136.0, "7 ticks exactly");
        assert_eq!(expiry(ticks, 104.0, 28.001), 140.0);
        assert_eq!(expiry(ticks, 105.0, 0.0), 112.0, "a tick at least");
    }

    #[test]
    fn ticks_count_from_when_the_host_came_up() {
        // The ticks are at 2, 6, 10 ms…
        let ticks = Ticks::of(MS(4)).up_for(MS(1002));
        assert_eq!(expiry(ticks, 101.0, 27.0), 130.0, "8 ticks after 98");
        assert_eq!(expiry(ticks, 102.0, 27.0), 134.0, "8 ticks after 102");
    }

    // kernel/time/timer.c: LVL_START(1) is 63 ticks, LVL_START(2) 504, LVL_START(3) 4032.
    #[test]
    fn long_waits_end_with_every_eighth_or_sixty_fourth_tick_only() {
        let ticks = Ticks::of(MS(4));
        // Up to 62 ticks each tick counts: 25 + 62 + 1.
        assert_eq!(expiry(ticks, 100.0, 248.0), 352.0);
        // 25 + 63 ticks are 11 times 8: the next is 96 ticks.
        assert_eq!(expiry(ticks, 100.0, 252.0), 384.0);
        assert_eq!(expiry(ticks, 96.0, 252.0), 352.0, "24 + 63 are 87");
        // 25 + 503 ticks are 66 times 8: 67 * 8 = 536.
        assert_eq!(expiry(ticks, 100.0, 2012.0), 2144.0);
        // 25 + 504 ticks are 8 times 64 and more: 9 * 64 = 576.
        assert_eq!(expiry(ticks, 100.0, 2016.0), 2304.0);
        // 25 + 4032 ticks are 7 times 512 and more: 8 * 512 = 4096.
        assert_eq!(expiry(ticks, 100.0, 16_128.0), 16_384.0);
    }

    #[test]
    fn the_tick_may_be_of_any_length() {
        let ticks = Ticks::of(MS(1));
        assert_eq!(expiry(ticks, 100.4, 26.5), 128.0, "27 ticks and one");
    }
}
