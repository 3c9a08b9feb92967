//! The model of the path that BBR goes by, and the modes that follow from it. An ACK updates the bandwidth and the
//! smallest RTT, and shows how full the pipe is.

use units::{Span, Time};

use super::policer::{Count, Finding};
use super::{
    BANDWIDTH_UNIT, BANDWIDTH_WINDOW, Bbr1, CYCLE, EXTRA_ACKED_WINDOW, FULL_GROWTH, FULL_ROUNDS, GAIN_UNIT,
    MIN_RTT_WINDOW, MIN_WINDOW, Mode, PROBE_RTT_TIME, bytes_per_second, micros_between,
};
use crate::parts::linux::{self, micros};
use crate::{Ack, Context, RateSample};

impl Bbr1 {
    /// True if the sample of a segment that left when `delivered` were delivered is too low: the application had
    /// nothing to send, or ProbeRTT let nothing leave. At the very start nothing was in flight before.
    fn is_held_back(&self, sample: &RateSample) -> bool {
        let delivered = sample.prior_delivered;
        let (first, last) = self.held_back;
        sample.application_limited || delivered == 0 || (first <= delivered && delivered <= last)
    }

    pub(super) fn update_bandwidth(&mut self, cx: &mut Context<'_>, ack: &Ack, losses: u32) {
        self.round_start = false;
        let Some(sample) = ack.rate.filter(|sample| micros(sample.interval) > 0) else { return };
        if sample.prior_delivered >= self.next_round {
            self.next_round = ack.delivered;
            self.round += 1;
            self.round_start = true;
            self.repair.conserves = false;
        }
        let held_back = self.is_held_back(&sample);
        self.look_for_policer(cx, ack.delivered, losses > 0, held_back);
        let bandwidth = (sample.delivered * BANDWIDTH_UNIT / micros(sample.interval)).min(u64::from(u32::MAX));
        if !held_back || bandwidth >= self.bandwidths.get() {
            self.bandwidths.update(BANDWIDTH_WINDOW, self.round, bandwidth);
        }
        if ack.newly_delivered > 0 {
            if self.round_start {
                self.aggregation.end_round(EXTRA_ACKED_WINDOW);
            }
            self.aggregation.observe(self.delivered_at, self.bandwidth(), ack.newly_delivered, self.window);
        }
    }

    pub(super) fn look_for_policer(
        &mut self,
        cx: &mut Context<'_>,
        delivered: u64,
        loses: bool,
        application_limited: bool,
    ) {
        if !self.settings.policers {
            return;
        }
        let (delivered_at, lost, round_start) = (self.delivered_at, self.lost, self.round_start);
        let count = Count { delivered, delivered_at, lost, loses, round_start, application_limited };
        if self.policer.bandwidth().is_some() {
            if self.mode == Mode::ProbeBandwidth && round_start && self.policer.end_round() {
                self.policer.reset(&count);
                self.enter_probe_bandwidth(cx);
            }
            return;
        }
        let segment = self.segment;
        let bytes_per_second = |bandwidth| bytes_per_second(bandwidth, GAIN_UNIT, segment);
        if self.policer.sample(&count, bytes_per_second) == Finding::Policed {
            self.pacing_gain = GAIN_UNIT;
        }
    }

    pub(super) fn update_cycle(&mut self, cx: &Context<'_>, ack: &Ack, losses: u32) {
        if self.mode == Mode::ProbeBandwidth && self.ends_phase(cx, ack, losses) {
            self.advance_cycle();
        }
    }

    /// True if a phase of ProbeBW is over. A phase above the bandwidth ends once it has that much in flight, or at a
    /// loss. A phase below ends as soon as no more than the bandwidth-delay product is in flight.
    fn ends_phase(&self, cx: &Context<'_>, ack: &Ack, losses: u32) -> bool {
        let full_length = micros_between(self.cycle_start, self.delivered_at) > micros(self.min_rtt);
        let bandwidth = self.bandwidths.get();
        if self.pacing_gain == GAIN_UNIT {
            return full_length;
        }
        let in_flight = self.in_flight_at_departure(cx, ack.in_flight_before);
        if self.pacing_gain > GAIN_UNIT {
            full_length && (losses > 0 || in_flight >= self.inflight(bandwidth, self.pacing_gain))
        } else {
            full_length || in_flight <= self.inflight(bandwidth, GAIN_UNIT)
        }
    }

    /// The segments of `in_flight` that are left when pacing lets the next train leave, and that train while it sends
    /// faster than the bandwidth (`bbr_packets_in_net_at_edt`).
    pub(super) fn in_flight_at_departure(&self, cx: &Context<'_>, in_flight: u32) -> u32 {
        let leaving = if self.pacing_gain > GAIN_UNIT { self.burst } else { 0 };
        let delivered = self.bandwidth().saturating_mul(micros_between(cx.now, cx.departure)) / BANDWIDTH_UNIT;
        (in_flight + leaving).saturating_sub(u32::try_from(delivered).unwrap_or(u32::MAX))
    }

    fn advance_cycle(&mut self) {
        self.cycle = (self.cycle + 1) % CYCLE;
        self.cycle_start = self.delivered_at;
    }

    /// ProbeBW begins with any of its phases but the one below the bandwidth.
    fn enter_probe_bandwidth(&mut self, cx: &mut Context<'_>) {
        self.mode = Mode::ProbeBandwidth;
        self.cycle = CYCLE - 1 - (cx.random.uniform() * (CYCLE - 1) as f64) as usize;
        self.advance_cycle();
    }

    pub(super) fn check_full(&mut self, ack: &Ack) {
        let held_back = ack.rate.is_none_or(|sample| self.is_held_back(&sample));
        if self.full || !self.round_start || held_back {
            return;
        }
        let bandwidth = self.bandwidths.get();
        if bandwidth >= self.full_bandwidth * FULL_GROWTH / GAIN_UNIT {
            self.full_bandwidth = bandwidth;
            self.full_count = 0;
            return;
        }
        self.full_count += 1;
        self.full = self.full_count >= FULL_ROUNDS;
    }

    pub(super) fn check_drain(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let target = |bbr: &Self| bbr.inflight(bbr.bandwidths.get(), GAIN_UNIT);
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.threshold = target(self).into();
        }
        if self.mode == Mode::Drain {
            // As in Linux, by the gain that still holds: Startup's when Drain has just begun.
            if self.in_flight_at_departure(cx, ack.in_flight) <= target(self) {
                self.enter_probe_bandwidth(cx);
            }
        }
    }

    pub(super) fn update_min_rtt(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let expired = self.has_passed(cx, self.min_rtt_at, MIN_RTT_WINDOW);
        if let Some(rtt) = ack.rtt.map(|rtt| on_microseconds(cx.now, rtt.value))
            && (rtt < self.min_rtt || expired)
        {
            self.min_rtt = rtt;
            self.min_rtt_at = cx.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(self.window);
            self.probe_rtt_since = None;
            self.held_back.0 = ack.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(cx, ack);
        }
        self.idle_restart &= ack.newly_delivered == 0;
    }

    /// Few segments in flight, for a time and a round trip.
    fn probe_rtt(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.held_back.1 = ack.delivered + u64::from(ack.in_flight);
        if self.probe_rtt_since.is_none() && ack.in_flight <= MIN_WINDOW {
            self.probe_rtt_since = Some(cx.now);
            self.probe_rtt_round_done = false;
            self.next_round = ack.delivered;
        } else if self.probe_rtt_since.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(cx);
            }
        }
    }

    /// True if more ticks of the kernel's clock have passed since `since` than `span` takes.
    fn has_passed(&self, cx: &Context<'_>, since: Time, span: Span) -> bool {
        let hz = u64::from(self.settings.hz);
        let since = linux::ticks(since + cx.host_clock_at_start, hz);
        linux::jiffies(cx, hz) > since + linux::ticks_rounded_up(span, hz)
    }

    pub(super) fn check_probe_rtt_done(&mut self, cx: &mut Context<'_>) {
        if !self.probe_rtt_since.is_some_and(|since| self.has_passed(cx, since, PROBE_RTT_TIME)) {
            return;
        }
        self.min_rtt_at = cx.now;
        self.window = self.window.max(self.repair.prior_window);
        if self.full {
            self.enter_probe_bandwidth(cx);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

/// An RTT that ends `now`, between two readings of a clock of microseconds.
pub(super) fn on_microseconds(now: Time, rtt: Span) -> Span {
    let late = now.as_nanos() % 1000;
    Span::from_micros((rtt.as_nanos() + 999 - late) / 1000)
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    #[test]
    fn what_left_while_probe_rtt_held_back_or_the_application_did_shows_no_bandwidth() {
        let bbr = Bbr1 { held_back: (500, 600), ..Bbr1::new(Settings::default()) };
        let held = |prior_delivered, application_limited| {
            let (delivered, interval) = (10, units::Span::from_millis(10));
            let (is_retransmission, sent) = (false, None);
            bbr.is_held_back(&RateSample {
                delivered,
                interval,
                application_limited,
                prior_delivered,
                is_retransmission,
                sent,
            })
        };
        assert_eq!([0, 499, 500, 600, 601].map(|prior| held(prior, false)), [true, false, true, true, false]);
        assert!(held(499, true));
    }
}
