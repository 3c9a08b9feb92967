//! The model of the path: rounds, BBR.max_bw and the bounds on it (sections 5.5.1 to 5.5.6).

use units::Span;

use crate::Ack;
use crate::parts::bounded::Bounded as _;

/// RS, the rate sample of an ACK, in segments, and C's counts as of that ACK.
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
    /// C.inflight.
    pub(super) inflight: f64,
    /// C.delivered.
    pub(super) total_delivered: u64,
    /// C.is_cwnd_limited.
    pub(super) is_cwnd_limited: bool,
}

impl Sample {
    /// GenerateRateSample(). Samples for which `is_held_back` is true of RS.prior_delivered do not show the bandwidth.
    pub(super) fn of(ack: &Ack, is_held_back: impl FnOnce(u64) -> bool) -> Self {
        let inflight = f64::from(ack.in_flight);
        let mut sample = Self {
            rtt: ack.rtt.map(|rtt| rtt.value),
            newly_acked: f64::from(ack.newly_delivered),
            tx_in_flight: inflight,
            inflight,
            total_delivered: ack.delivered,
            is_cwnd_limited: ack.window_limited,
            ..Self::default()
        };
        let Some(rate) = ack.rate.filter(|rate| !rate.interval.is_zero()) else { return sample };
        sample.delivered = rate.delivered as f64;
        sample.delivery_rate = rate.delivered as f64 / rate.interval.as_secs_f64();
        sample.prior_delivered = rate.prior_delivered;
        sample.is_app_limited = rate.application_limited || is_held_back(rate.prior_delivered);
        if let Some(sent) = rate.sent {
            sample.tx_in_flight = f64::from(sent.in_flight);
            sample.lost = ack.lost.saturating_sub(sent.lost) as f64;
        }
        sample
    }

    /// The same ACK with the sample of a lost segment. That segment left with `tx_in_flight` in flight, of which `lost`
    /// were lost since.
    pub(super) fn at_loss(self, tx_in_flight: f64, lost: f64, is_app_limited: bool) -> Self {
        Self { tx_in_flight, lost, is_app_limited, ..self }
    }
}

/// The round trips of the connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    count: u64,
    begins: bool,
    next_round_delivered: u64,
}

impl Rounds {
    /// BBR.round_count.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// BBR.round_start: whether the last ACK began a round trip.
    pub(super) fn begins(&self) -> bool {
        self.begins
    }

    /// StartRound(): one ends when a segment that leaves from now on is delivered.
    pub(super) fn start(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }

    /// An ACK comes that begins none, unless [`Rounds::update`] finds that it does.
    pub(super) fn expect(&mut self) {
        self.begins = false;
    }

    /// UpdateRound().
    pub(super) fn update(&mut self, rs: &Sample) {
        if rs.prior_delivered >= self.next_round_delivered {
            self.start(rs.total_delivered);
            self.count += 1;
            self.begins = true;
        }
    }
}

/// The short-term and the long-term bounds, as a recovery began with them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// The bandwidth, and the bounds on it and on the data in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// BBR.max_bw_filter: the largest of this probing cycle and of the last.
    max_bw_filter: [f64; 2],
    bounds: Bounds,
    /// Of the last round trip.
    bw_latest: f64,
    inflight_latest: f64,
}

impl Model {
    pub(super) const fn new() -> Self {
        let (bw_shortterm, inflight_shortterm, inflight_longterm) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        let bounds = Bounds { bw_shortterm, inflight_shortterm, inflight_longterm };
        Self { max_bw_filter: [0.0; 2], bounds, bw_latest: 0.0, inflight_latest: 0.0 }
    }

    /// BBR.max_bw.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw_filter[0].at_least(self.max_bw_filter[1])
    }

    /// BBR.bw (BoundBWForModel()).
    pub(super) fn bw(&self) -> f64 {
        self.max_bw().at_most(self.bounds.bw_shortterm)
    }

    /// BBR.inflight_shortterm.
    pub(super) fn inflight_shortterm(&self) -> f64 {
        self.bounds.inflight_shortterm
    }

    /// BBR.inflight_longterm.
    pub(super) fn inflight_longterm(&self) -> f64 {
        self.bounds.inflight_longterm
    }

    /// UpdateMaxBw().
    pub(super) fn update_max_bw(&mut self, rs: &Sample) {
        let rate = rs.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw() || !rs.is_app_limited) {
            self.max_bw_filter[1] = self.max_bw_filter[1].at_least(rate);
        }
    }

    /// AdvanceMaxBwFilter(): a probing cycle ends.
    pub(super) fn advance_max_bw_filter(&mut self) {
        self.max_bw_filter = [self.max_bw_filter[1], 0.0];
    }

    /// UpdateLatestDeliverySignals(), the part of the model.
    pub(super) fn update_latest(&mut self, rs: &Sample) {
        self.bw_latest = self.bw_latest.at_least(rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.at_least(rs.delivered);
    }

    /// AdvanceLatestDeliverySignals(), at the end of a round trip.
    pub(super) fn advance_latest(&mut self, rs: &Sample) {
        (self.bw_latest, self.inflight_latest) = (rs.delivery_rate, rs.delivered);
    }

    /// ResetCongestionSignals(), the part of the model.
    pub(super) fn reset_latest(&mut self) {
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// InitLowerBounds() and LossLowerBounds().
    pub(super) fn lower_bounds(&mut self, beta: f64, cwnd: f64) {
        let max_bw = self.max_bw();
        let Bounds { bw_shortterm, inflight_shortterm, .. } = &mut self.bounds;
        if bw_shortterm.is_infinite() {
            *bw_shortterm = max_bw;
        }
        if inflight_shortterm.is_infinite() {
            *inflight_shortterm = cwnd;
        }
        *bw_shortterm = self.bw_latest.at_least(beta * *bw_shortterm);
        *inflight_shortterm = self.inflight_latest.at_least(beta * *inflight_shortterm);
    }

    /// ResetShortTermModel().
    pub(super) fn reset_short_term(&mut self) {
        (self.bounds.bw_shortterm, self.bounds.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// Startup found this much in flight to be too much, or the latest if that was more.
    pub(super) fn bound_after_startup(&mut self, bdp: f64) {
        self.bounds.inflight_longterm = bdp.at_least(self.inflight_latest);
    }

    /// A probe found this much in flight to be too much.
    pub(super) fn bound_long_term(&mut self, inflight: f64) {
        self.bounds.inflight_longterm = inflight;
    }

    /// The path held this much in flight.
    pub(super) fn raise_long_term(&mut self, inflight: f64) {
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.at_least(inflight);
    }

    /// A probe goes up by so many segments.
    pub(super) fn add_long_term(&mut self, segments: f64) {
        self.bounds.inflight_longterm += segments;
    }

    /// The bounds, for [`Model::restore`].
    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// A spurious recovery: the bounds are not below those that it began with.
    pub(super) fn restore(&mut self, before: Bounds) {
        let Bounds { bw_shortterm, inflight_shortterm, inflight_longterm } = &mut self.bounds;
        *bw_shortterm = bw_shortterm.at_least(before.bw_shortterm);
        *inflight_shortterm = inflight_shortterm.at_least(before.inflight_shortterm);
        *inflight_longterm = inflight_longterm.at_least(before.inflight_longterm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RateSample, SentState};
    use units::Time;

    fn rate(delivery_rate: f64) -> Sample {
        Sample { delivery_rate, ..Sample::default() }
    }

    #[test]
    fn the_bandwidth_is_the_largest_of_this_probing_cycle_and_the_last() {
        let mut model = Model::new();
        let mut largest = Vec::new();
        for cycle in [[500.0, 300.0], [400.0, 200.0], [100.0, 350.0]] {
            cycle.iter().for_each(|&seen| model.update_max_bw(&rate(seen)));
            largest.push(model.max_bw());
            model.advance_max_bw_filter();
        }
        assert_eq!((largest, model.max_bw()), (vec![500.0, 500.0, 400.0], 350.0));
    }

    #[test]
    fn a_sample_of_a_limited_application_counts_if_it_is_no_less_than_the_bandwidth() {
        for (seen, largest) in [(399.0, 400.0), (401.0, 401.0), (0.0, 400.0)] {
            let mut model = Model::new();
            model.update_max_bw(&rate(400.0));
            model.advance_max_bw_filter();
            model.update_max_bw(&Sample { is_app_limited: true, ..rate(seen) });
            assert_eq!(model.max_bw(), largest);
            // The smaller ones do not reach the next cycle either, one as large does.
            model.advance_max_bw_filter();
            assert_eq!(model.max_bw(), if seen > 400.0 { seen } else { 0.0 });
        }
    }

    #[test]
    fn bounds_after_startup_and_probes_are_what_was_found() {
        let mut model = Model::new();
        model.update_latest(&Sample { delivered: 150.0, ..rate(400.0) });
        model.bound_after_startup(100.0);
        assert_eq!(model.inflight_longterm(), 150.0);
        model.bound_after_startup(200.0);
        assert_eq!(model.inflight_longterm(), 200.0);
        model.add_long_term(3.0);
        model.raise_long_term(190.0);
        assert_eq!(model.inflight_longterm(), 203.0);
        model.raise_long_term(210.0);
        assert_eq!(model.inflight_longterm(), 210.0);
        let before = model.bounds();
        model.lower_bounds(0.5, 100.0);
        model.bound_long_term(50.0);
        assert_eq!((model.inflight_longterm(), model.inflight_shortterm()), (50.0, 150.0));
        model.restore(before);
        assert_eq!((model.inflight_longterm(), model.inflight_shortterm()), (210.0, f64::INFINITY));
        model.bound_long_term(300.0);
        model.restore(before);
        assert_eq!(model.inflight_longterm(), 300.0, "not below what it is");
    }

    #[test]
    fn the_bandwidth_falls_to_the_larger_of_the_latest_and_a_share_of_the_bound() {
        let mut model = Model::new();
        model.update_max_bw(&rate(1000.0));
        model.update_latest(&Sample { delivered: 20.0, ..rate(600.0) });
        // 700 of 1000 and 70 of 100; then 490, below 600, and 49.
        model.lower_bounds(0.7, 100.0);
        assert_eq!((model.bw(), model.inflight_shortterm()), (700.0, 70.0));
        model.lower_bounds(0.7, 100.0);
        assert_eq!(model.bw(), 600.0);
        assert!((model.inflight_shortterm() - 49.0).abs() < 1e-9);
        model.reset_latest();
        model.lower_bounds(0.5, 100.0);
        assert_eq!(model.bw(), 300.0);
        model.reset_short_term();
        assert_eq!((model.bw(), model.inflight_shortterm()), (1000.0, f64::INFINITY));
    }

    #[test]
    fn a_round_trip_ends_with_a_segment_that_left_after_its_start() {
        let mut rounds = Rounds::default();
        rounds.start(100);
        for (prior_delivered, begins, count) in [(99, false, 0), (100, true, 1), (149, false, 1), (150, true, 2)] {
            rounds.expect();
            rounds.update(&Sample { prior_delivered, total_delivered: 150, ..Sample::default() });
            assert_eq!((rounds.begins(), rounds.count()), (begins, count), "{prior_delivered}");
        }
    }

    #[test]
    fn a_sample_has_what_was_in_flight_and_lost_since_its_segment_left() {
        let (at, delivered, marked) = (Time::ZERO, 30, 0);
        let sent = SentState { at, delivered, lost: 4, marked, in_flight: 50, application_limited: false };
        let rate = RateSample {
            delivered: 20,
            interval: Span::from_millis(40),
            application_limited: false,
            prior_delivered: 30,
            is_retransmission: false,
            sent: Some(sent),
        };
        let ack = Ack { rate: Some(rate), lost: 7, in_flight: 45, newly_delivered: 2, delivered: 52, ..Ack::EMPTY };
        let sample = Sample::of(&ack, |prior| prior == 30);
        assert_eq!((sample.delivery_rate, sample.delivered, sample.lost), (500.0, 20.0, 3.0));
        assert_eq!((sample.tx_in_flight, sample.inflight, sample.newly_acked), (50.0, 45.0, 2.0));
        assert!(sample.is_app_limited && !Sample::of(&ack, |prior| prior == 31).is_app_limited);
        // Without one the sample has the present flight, and no rate.
        let none = Sample::of(&Ack { rate: Some(RateSample { interval: Span::ZERO, ..rate }), ..ack }, |_| true);
        assert_eq!((none.delivery_rate, none.delivered, none.lost, none.tx_in_flight), (0.0, 0.0, 0.0, 45.0));
        assert!(!none.is_app_limited);
    }
}
