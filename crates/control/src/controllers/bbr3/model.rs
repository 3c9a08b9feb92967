//! The model of the path: rounds, BBR.max_bw and the bounds on it (sections 5.5.1 to 5.5.6), and BBR.extra_acked
//! (section 5.5.9).

use units::{Span, Time};

use super::Bbr3;
use crate::Ack;

/// RS, the rate sample of an ACK, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) delivered: f64,
    /// Segments a second.
    pub(super) delivery_rate: f64,
    pub(super) rtt: Option<Span>,
    pub(super) newly_acked: f64,
    pub(super) tx_in_flight: f64,
    pub(super) lost: f64,
    pub(super) is_app_limited: bool,
    pub(super) prior_delivered: u64,
}

/// What BBR believes of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// BBR.max_bw_filter: the largest of this probing cycle and of the last.
    max_bw_filter: [f64; 2],
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
    /// Of the last round trip.
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,
    pub(super) round_count: u64,
    pub(super) round_start: bool,
    pub(super) next_round_delivered: u64,
}

impl Model {
    pub(super) const fn new() -> Self {
        Self {
            max_bw_filter: [0.0; 2],
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
        }
    }

    /// BBR.max_bw.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    /// BBR.bw (BoundBWForModel()).
    pub(super) fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_shortterm)
    }

    /// AdvanceMaxBwFilter(): a probing cycle ends.
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.max_bw_filter = [self.max_bw_filter[1], 0.0];
    }

    /// ResetShortTermModel().
    pub(super) fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }
}

impl Bbr3 {
    /// GenerateRateSample(): what `ack` tells.
    pub(super) fn generate_rate_sample(&mut self, ack: &Ack) {
        (self.inflight, self.delivered, self.lost) = (f64::from(ack.in_flight), ack.delivered, ack.lost);
        self.is_cwnd_limited = ack.window_limited;
        self.model.round_start = false;
        self.rs = Sample {
            rtt: ack.rtt.map(|rtt| rtt.value),
            newly_acked: f64::from(ack.newly_delivered),
            tx_in_flight: self.inflight,
            ..Sample::default()
        };
        let Some(rate) = ack.rate.filter(|rate| !rate.interval.is_zero()) else { return };
        self.rs.delivered = rate.delivered as f64;
        self.rs.delivery_rate = rate.delivered as f64 / rate.interval.as_secs_f64();
        self.rs.prior_delivered = rate.prior_delivered;
        let (first, last) = self.held_back;
        let is_held_back = (first..=last).contains(&rate.prior_delivered);
        self.rs.is_app_limited = rate.application_limited || is_held_back;
        if let Some(sent) = rate.sent {
            self.rs.tx_in_flight = f64::from(sent.in_flight);
            self.rs.lost = ack.lost.saturating_sub(sent.lost) as f64;
        }
    }

    /// StartRound().
    pub(super) fn start_round(&mut self) {
        self.model.next_round_delivered = self.delivered;
    }

    /// UpdateMaxBw() and UpdateRound().
    pub(super) fn update_max_bw(&mut self) {
        if self.rs.prior_delivered >= self.model.next_round_delivered {
            self.start_round();
            self.model.round_count += 1;
            self.rounds_since_probe_up += 1;
            self.model.round_start = true;
        }
        let rate = self.rs.delivery_rate;
        if rate > 0.0 && (rate >= self.model.max_bw() || !self.rs.is_app_limited) {
            let current = &mut self.model.max_bw_filter[1];
            *current = current.max(rate);
        }
    }

    /// UpdateACKAggregation().
    pub(super) fn update_ack_aggregation(&mut self, now: Time) {
        let mut expected = self.model.bw() * now.since(self.extra_acked_start).as_secs_f64();
        if self.extra_acked_delivered <= expected {
            (self.extra_acked_delivered, self.extra_acked_start, expected) = (0.0, now, 0.0);
        }
        self.extra_acked_delivered += self.rs.newly_acked;
        let extra = (self.extra_acked_delivered - expected).clamp(0.0, self.cwnd);
        let rounds = if self.full_bw_reached { self.settings.extra_acked_filter } else { 1 };
        self.extra_acked.update(rounds.into(), self.model.round_count, extra as u64);
    }
}
