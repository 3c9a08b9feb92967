//! The over-use detector of GCC: groups of packets, the filter of their delay variation, and the adaptive threshold
//! (draft-ietf-rmcat-gcc-02, sections 5.1 to 5.4).

use std::collections::VecDeque;

use units::{Span, Time};

use super::Filter;

/// Samples of the trendline, the weight of the old value in its smoothing, its gain, and the most samples that scale
/// it (libwebrtc, `TrendlineEstimator`).
const TREND_SAMPLES: usize = 20;
const TREND_SMOOTHING: f64 = 0.9;
const TREND_GAIN: f64 = 4.0;
const TREND_MOST: f64 = 60.0;

/// The Kalman filter: the noise of its state (q), the error of the first estimate (e(0)), the weight that makes alpha
/// (chi), and the groups whose spacing counts (K) (section 5.3).
const STATE_NOISE: f64 = 1e-3;
const FIRST_ERROR: f64 = 0.1;
const CHI: f64 = 0.01;
const SPACINGS: usize = 5;

/// The threshold at first and its limits, in milliseconds, and the excess beyond which it does not move (section 5.4).
const FIRST_THRESHOLD: f64 = 12.5;
const THRESHOLDS: [f64; 2] = [6.0, 600.0];
const OUTLIER: f64 = 15.0;

/// No time between two updates of the threshold counts as longer (libwebrtc, `UpdateThreshold`).
const LONGEST_STEP: f64 = 100.0;

/// The output of the detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Signal {
    /// The queue neither grows nor drains.
    #[default]
    Normal,
    /// The queue grows.
    Overuse,
    /// The queue drains.
    Underuse,
}

/// Packets that left within one burst.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// When its first and its last packet left.
    first_left: Time,
    left: Time,
    /// When its last packet arrived.
    arrived: Time,
}

/// `later - earlier` in milliseconds.
fn millis(later: Time, earlier: Time) -> f64 {
    (later.as_nanos() as f64 - earlier.as_nanos() as f64) / 1e6
}

/// The trend of the accumulated delay variation, by least squares.
#[derive(Clone, Debug, Default)]
struct Trendline {
    /// Arrival in milliseconds after the first group, and the smoothed sum.
    samples: VecDeque<(f64, f64)>,
    first: Option<Time>,
    sum: f64,
    smoothed: f64,
    count: f64,
}

impl Trendline {
    fn update(&mut self, variation: f64, arrived: Time) -> f64 {
        let first = *self.first.get_or_insert(arrived);
        self.count = (self.count + 1.0).min(TREND_MOST);
        self.sum += variation;
        self.smoothed = TREND_SMOOTHING * self.smoothed + (1.0 - TREND_SMOOTHING) * self.sum;
        if self.samples.len() == TREND_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back((millis(arrived, first), self.smoothed));
        if self.samples.len() < TREND_SAMPLES { 0.0 } else { self.count * TREND_GAIN * self.slope() }
    }

    fn slope(&self) -> f64 {
        let count = self.samples.len() as f64;
        let mean = |value: fn(&(f64, f64)) -> f64| self.samples.iter().map(value).sum::<f64>() / count;
        let (x, y) = (mean(|&(x, _)| x), mean(|&(_, y)| y));
        let both: f64 = self.samples.iter().map(|(xi, yi)| (xi - x) * (yi - y)).sum();
        let square: f64 = self.samples.iter().map(|(xi, _)| (xi - x) * (xi - x)).sum();
        if square > 0.0 { both / square } else { 0.0 }
    }
}

/// The Kalman filter of the delay variation (section 5.3).
#[derive(Clone, Debug)]
struct Kalman {
    /// m(i), e(i) and var_v(i).
    estimate: f64,
    error: f64,
    noise: f64,
    /// The times between the departures of the last groups, in seconds.
    spacings: VecDeque<f64>,
}

impl Default for Kalman {
    fn default() -> Self {
        Self { estimate: 0.0, error: FIRST_ERROR, noise: 1.0, spacings: VecDeque::new() }
    }
}

impl Kalman {
    fn update(&mut self, variation: f64, spacing_ms: f64) -> f64 {
        if self.spacings.len() == SPACINGS {
            self.spacings.pop_front();
        }
        self.spacings.push_back(spacing_ms / 1e3);
        let shortest = self.spacings.iter().copied().fold(f64::INFINITY, f64::min);
        let alpha = libm::pow(1.0 - CHI, 30.0 * shortest);
        let limit = 3.0 * self.noise.sqrt();
        let innovation = variation - self.estimate;
        let bounded = innovation.clamp(-limit, limit);
        self.noise = (alpha * self.noise + (1.0 - alpha) * bounded * bounded).max(1.0);
        let error = self.error + STATE_NOISE;
        let gain = error / (self.noise + error);
        self.estimate += innovation * gain;
        self.error = (1.0 - gain) * error;
        self.estimate
    }
}

/// Either filter.
#[derive(Clone, Debug)]
enum Estimate {
    Trendline(Trendline),
    Kalman(Kalman),
}

/// The detector of one flow.
#[derive(Clone, Debug)]
pub(super) struct Detector {
    burst_time: Span,
    overuse_time: Span,
    /// K_u and K_d.
    gains: [f64; 2],
    estimate: Estimate,
    current: Option<Group>,
    before: Option<Group>,
    /// m(i), in milliseconds.
    pub(super) offset: f64,
    /// del_var_th(i), in milliseconds.
    pub(super) threshold: f64,
    pub(super) signal: Signal,
    /// Since when the offset has been above the threshold.
    above: Option<Time>,
}

impl Detector {
    /// A detector that has seen nothing.
    pub(super) fn new(filter: Filter, burst_time: Span, overuse_time: Span) -> Self {
        let (estimate, gains) = match filter {
            // libwebrtc, `TrendlineEstimator`: k_up and k_down.
            Filter::Trendline => (Estimate::Trendline(Trendline::default()), [0.0087, 0.039]),
            Filter::Kalman => (Estimate::Kalman(Kalman::default()), [0.01, 0.000_18]),
        };
        Self {
            burst_time,
            overuse_time,
            gains,
            estimate,
            current: None,
            before: None,
            offset: 0.0,
            threshold: FIRST_THRESHOLD,
            signal: Signal::Normal,
            above: None,
        }
    }

    /// A packet left and arrived, in the order of arrivals.
    pub(super) fn on_packet(&mut self, left: Time, arrived: Time) {
        let Some(current) = &mut self.current else {
            self.current = Some(Group { first_left: left, left, arrived });
            return;
        };
        if left < current.first_left {
            return; // Out of order: it belongs to a group that is complete.
        }
        let variation = millis(arrived, current.arrived) - millis(left, current.left);
        let is_burst = arrived.since(current.arrived) < self.burst_time && variation < 0.0;
        if left.since(current.first_left) <= self.burst_time || is_burst {
            (current.left, current.arrived) = (current.left.max(left), current.arrived.max(arrived));
            return;
        }
        let complete = *current;
        self.current = Some(Group { first_left: left, left, arrived });
        if let Some(before) = self.before.replace(complete) {
            self.on_group(&before, &complete);
        }
    }

    /// The inter-group delay variation d(i), and all that follows from it.
    fn on_group(&mut self, before: &Group, group: &Group) {
        let spacing = millis(group.left, before.left);
        let variation = millis(group.arrived, before.arrived) - spacing;
        let last = self.offset;
        self.offset = match &mut self.estimate {
            Estimate::Trendline(trend) => trend.update(variation, group.arrived),
            Estimate::Kalman(kalman) => kalman.update(variation, spacing),
        };
        self.detect(group.arrived, last);
        self.adapt(millis(group.arrived, before.arrived));
    }

    /// Compares the offset with the threshold; `last` was the one before.
    fn detect(&mut self, now: Time, last: f64) {
        if self.offset > self.threshold {
            let since = *self.above.get_or_insert(now);
            if now.since(since) >= self.overuse_time && self.offset >= last {
                self.signal = Signal::Overuse;
            }
            return;
        }
        self.above = None;
        self.signal = if self.offset < -self.threshold { Signal::Underuse } else { Signal::Normal };
    }

    /// Moves the threshold towards the offset, `elapsed` milliseconds after the last time.
    fn adapt(&mut self, elapsed: f64) {
        let excess = self.offset.abs() - self.threshold;
        if excess > OUTLIER {
            return;
        }
        let gain = self.gains[usize::from(excess < 0.0)];
        let [least, most] = THRESHOLDS;
        self.threshold = (self.threshold + elapsed.clamp(0.0, LONGEST_STEP) * gain * excess).clamp(least, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    fn detector(filter: Filter) -> Detector {
        Detector::new(filter, MS(5), MS(10))
    }

    #[test]
    fn packets_of_one_burst_are_a_group_and_so_are_packets_that_catch_up() {
        let mut detector = detector(Filter::Kalman);
        detector.on_packet(at(0), at(50));
        detector.on_packet(at(5), at(53));
        // It left 10 ms after the first, and arrives 2 ms after the last: it waited for less than that one.
        detector.on_packet(at(10), at(55));
        let group = detector.current.unwrap();
        assert_eq!((group.first_left, group.left, group.arrived), (at(0), at(10), at(55)));
        detector.on_packet(at(33), at(83));
        assert_eq!(detector.before.unwrap().arrived, at(55));
        assert_eq!(detector.current.unwrap().first_left, at(33));
    }

    #[test]
    fn the_kalman_filter_takes_its_gain_from_both_noises() {
        let mut kalman = Kalman::default();
        // e = 0.1 + 0.001, var_v = 1: the gain is 0.101/1.101 = 0.0917348. z = 2 is within 3 sigma, and
        // alpha = 0.99^(30 * 0.033) = 0.990100, so var_v = 0.9901 + 0.0099 * 4 = 1.029698 comes first.
        let m = kalman.update(2.0, 33.0);
        let noise = 0.990_100 + 0.009_900 * 4.0;
        assert!((kalman.noise - noise).abs() < 1e-5, "{}", kalman.noise);
        assert!((m - 2.0 * 0.101 / (noise + 0.101)).abs() < 1e-5, "{m}");
        assert!((kalman.error - 0.101 * noise / (noise + 0.101)).abs() < 1e-6);
    }

    #[test]
    fn a_queue_that_grows_steadily_has_the_slope_of_the_trendline() {
        let mut trend = Trendline::default();
        let mut last = 0.0;
        // Each group is 1 ms later than the one before, 50 ms apart: the sum grows by 0.02 a millisecond.
        for n in 0..400 {
            last = trend.update(1.0, at(50 * n));
        }
        assert!((last - 60.0 * 4.0 * 0.02).abs() < 1e-6, "{last}");
    }

    #[test]
    fn over_use_is_signalled_when_the_offset_stays_above_the_threshold() {
        let mut detector = detector(Filter::Trendline);
        let mut signals = Vec::new();
        for n in 0..40 {
            // Packets every 50 ms, each 10 ms later than the one before.
            detector.on_packet(at(50 * n), at(60 * n));
            signals.push(detector.signal);
        }
        // The trendline needs 20 groups, and the first packet of the next one completes a group.
        assert!(signals[..22].iter().all(|signal| *signal == Signal::Normal), "{signals:?}");
        assert_eq!(signals[23], Signal::Overuse);
        for n in 40..100 {
            detector.on_packet(at(50 * n), at(60 * 39 + 40 * (n - 39)));
        }
        assert_eq!(detector.signal, Signal::Underuse);
    }

    #[test]
    fn the_threshold_follows_the_offset_by_its_two_gains() {
        let mut detector = detector(Filter::Kalman);
        detector.offset = 14.5;
        detector.adapt(50.0);
        // 12.5 + 50 * 0.01 * 2.
        assert!((detector.threshold - 13.5).abs() < 1e-12);
        detector.offset = 3.5;
        detector.adapt(50.0);
        // 13.5 - 50 * 0.00018 * 10.
        assert!((detector.threshold - 13.41).abs() < 1e-12);
        detector.offset = 30.0;
        detector.adapt(50.0);
        assert!((detector.threshold - 13.41).abs() < 1e-12, "more than 15 ms above: an outlier");
    }
}
