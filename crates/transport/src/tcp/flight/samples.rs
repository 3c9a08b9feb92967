//! RTT samples of ACKs.

use control::RttSample;
use units::{Span, Time};

use super::{AckSummary, Flight, seconds};
use crate::Stack;
use crate::segment::Acknowledgement;

impl Flight {
    /// RTT samples: one for the timeout from the oldest segment covered, one for controllers from the newest, none
    /// from a segment sent twice unless timestamps distinguish its transmissions (RFC 6298, section 3).
    #[inline(always)]
    pub(in crate::tcp) fn take_samples(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        summary: &AckSummary,
        stack: &Stack,
        exact: bool,
    ) -> Option<RttSample> {
        let tick = stack.clock.tick;
        let in_order = if summary.sacked == 0 { summary.acknowledged } else { 0 };
        let delayed = self.detector.may_be_delayed(in_order);
        let Some((oldest, newest)) = summary.samples else {
            return self.sample_timestamp(now, ack.echo, summary, stack);
        };
        self.sample(stack.clock.between(oldest, now, tick), stack);
        let value = stack.clock.between(newest, now, if exact { Span::ZERO } else { tick });
        self.observe(value, now, stack);
        Some(RttSample { value, delayed })
    }

    /// The sample of an ACK that delivers retransmissions alone, by its timestamp.
    #[inline(never)]
    fn sample_timestamp(&mut self, now: Time, echo: Time, summary: &AckSummary, stack: &Stack) -> Option<RttSample> {
        if summary.acknowledged == 0 || !stack.timestamps || echo == Time::NEVER {
            return None;
        }
        let tick = stack.clock.timestamp_tick;
        let value = stack.clock.between(echo, now, tick).max(tick);
        self.sample(value, stack);
        if !stack.clock.timestamps_for_controllers {
            return None;
        }
        self.observe(value, now, stack);
        Some(RttSample { value, delayed: false })
    }

    /// The RTT of a controller's sample may be the smallest.
    #[inline]
    fn observe(&mut self, rtt: Span, now: Time, stack: &Stack) {
        self.rtt.observe(rtt, now, stack.clock.min_rtt_window);
        if self.opening != u32::MAX && seconds(now) > self.opening_until {
            self.opening = u32::MAX;
        }
    }

    #[inline]
    fn sample(&mut self, rtt: Span, stack: &Stack) {
        self.rtt.sample_of_round(rtt, &stack.timers, self.board.first(), self.board.next());
    }
}
