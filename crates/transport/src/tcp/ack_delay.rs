//! How long an ACK may wait: constant, or as long as the pauses between segments make it (Linux, `icsk_ack.ato`).

use units::{Span, Time};

use crate::tcp::ticks::Ticks;
use crate::{Delay, Timers};

/// With exact timers it counts in these.
pub(super) const FINEST: Span = Span::from_millis(1);
/// ATO_BITS of Linux: more it does not count.
const MOST_TICKS: u64 = 255;

/// The wait of a receiver's delayed ACKs, in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckDelay {
    /// As the pauses between segments make it.
    present: u16,
    /// The least, with which it begins (TCP_ATO_MIN).
    least: u16,
    /// No ACK waits longer: a round trip at most, but for the least.
    bound: u16,
    /// Its largest value (Linux: the receiver's own retransmission timeout). With 0 the wait is constant.
    longest: u16,
}

impl AckDelay {
    /// The wait of a receiver whose handshake has measured `base_rtt`, which makes its `timeout`.
    pub(super) fn new(delay: &Delay, timers: &Timers, base_rtt: Span, timeout: Span) -> Self {
        let tick = unit(timers.tick);
        let ticks = |span: Span| span.as_nanos().div_ceil(tick.as_nanos()).min(MOST_TICKS) as u16;
        let least = ticks(delay.wait());
        let Delay::Adaptive { most, .. } = *delay else {
            return Self { present: least, least, bound: least, longest: 0 };
        };
        // The other side must not take a delayed ACK for a loss (tcp_delack_max).
        let patience = ticks(timers.rto_min).max(2) - 1;
        let bound = ticks(base_rtt).max(least).min(ticks(most)).min(patience);
        if bound <= least && least % 2 == 0 {
            // The pauses make it no shorter than the least, so that it never shows.
            return Self { present: bound, least: bound, bound, longest: 0 };
        }
        Self { present: least, least, bound, longest: ticks(timeout) }
    }

    /// The same wait on a path that was `measured` anew.
    pub(super) fn bounded_as(self, measured: Self) -> Self {
        if self.varies() && measured.varies() { Self { present: self.present, ..measured } } else { measured }
    }

    /// True if it follows the pauses between segments.
    pub(super) fn varies(&self) -> bool {
        self.longest > 0
    }

    /// Segments that arrive within this of each other leave the least wait as it is.
    pub(super) fn calm(&self, tick: Span) -> Span {
        (unit(tick) * u64::from(self.least / 2)).saturating_sub(unit(tick))
    }

    /// True if it is not the least.
    pub(super) fn is_stretched(&self) -> bool {
        self.present != self.least
    }

    /// True if it is longer than so many ticks, whatever the path.
    pub(super) fn is_longer(&self, ticks: u64) -> bool {
        ticks < u64::from(self.present)
    }

    /// A segment in order arrives so many ticks after the last one.
    pub(super) fn on_segment(&mut self, pause: u64) {
        let half = self.present / 2;
        if pause <= u64::from(self.least / 2) {
            self.present = half + self.least / 2;
        } else if pause < u64::from(self.present) {
            self.present = (half + pause as u16).min(self.longest);
        }
    }

    /// An ACK has waited in vain.
    pub(super) fn on_expiry(&mut self) {
        if self.varies() {
            self.present = self.present.saturating_mul(2).min(self.longest);
        }
    }

    /// Quick ACKs begin for a reason, or end.
    pub(super) fn reset(&mut self) {
        self.present = self.least;
    }

    /// The present wait of an ACK.
    pub(super) fn span(&self, tick: Span) -> Span {
        unit(tick) * self.ticks()
    }

    /// The same in ticks.
    pub(super) fn ticks(&self) -> u64 {
        self.present.min(self.bound).into()
    }
}

fn unit(tick: Span) -> Span {
    if tick.is_zero() { FINEST } else { tick }
}

/// Ticks from `from` to `to` on the clock of a receiver.
pub(super) fn ticks_between(clock: Ticks, from: Time, to: Time) -> u64 {
    clock.number(to, FINEST) - clock.number(from, FINEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn on_a_path_of(base: u64) -> AckDelay {
        let stack = crate::linux();
        AckDelay::new(&stack.acks.delay, &stack.timers, MS(base), MS(base) + MS(2 * base).max(MS(200)))
    }

    #[test]
    fn it_doubles_each_time_it_ends_in_vain_up_to_a_round_trip() {
        // Ticks of 4 ms: 10, 20, 40, 50 and no more. A path of 100 ms bounds it, and RTO_min less a tick does.
        for (base, waits) in [(20, [40, 40, 40, 40]), (100, [40, 80, 100, 100]), (500, [40, 80, 160, 196])] {
            let mut delay = on_a_path_of(base);
            for wait in waits {
                assert_eq!(delay.span(MS(4)), MS(wait), "{base}");
                delay.on_expiry();
            }
        }
    }

    #[test]
    fn segments_close_together_bring_it_back_and_pauses_stretch_it() {
        let mut delay = on_a_path_of(500);
        delay.on_expiry();
        let mut after = |pause| {
            delay.on_segment(pause);
            delay.present
        };
        // 20/2 + 5 = 15, 7 + 5 = 12, 6 + 5 = 11, 5 + 5 = 10, each quotient rounded down.
        assert_eq!([5, 1, 0, 5, 5].map(&mut after), [15, 12, 11, 10, 10]);
        // 5 + 9 = 14, 7 + 9 = 16, 8 + 9 = 17. A pause as long as the wait does not change it.
        assert_eq!([9, 9, 9, 17].map(&mut after), [14, 16, 17, 17]);
    }

    #[test]
    fn elsewhere_it_is_constant() {
        let stack = crate::freebsd_9();
        let mut delay = AckDelay::new(&stack.acks.delay, &stack.timers, MS(500), MS(1500));
        delay.on_expiry();
        assert!(!delay.varies() && !delay.is_stretched());
    }
}
