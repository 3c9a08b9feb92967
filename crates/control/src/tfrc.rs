//! TFRC (RFC 5348): the rate of a sender of datagrams, from the loss event rate that its receiver reports and the
//! throughput equation of TCP.
//!
//! It is no [`Controller`](crate::Controller): those are clocked by ACKs and set a window. The transport measures the
//! loss event rate and the receive rate. This file has the equation and the rate.
//!
//! | section | here |
//! | --- | --- |
//! | 3.1 throughput equation | [`equation`] |
//! | 4.2 initial rate | [`Tfrc::new`], the first [`Tfrc::on_report`] |
//! | 4.3 sender behaviour when feedback is received | [`Tfrc::on_report`] |
//! | 4.4 expiry of the nofeedback timer | [`Tfrc::on_timer`] |
//! | 4.5 reduction of oscillations | [`Tfrc::rate`] with `smooth` |
//! | 6.3.1 loss history after the first loss event | [`loss_rate_of`] |
//!
//! Edwan 2010, section 2.4, prints the equation with min(1, 3 sqrt(3 b p/8)), as in Padhye et al. 1998. The RFC has no
//! such minimum. The two differ above p = 8/27 only.

use units::{Span, Time};

use crate::parameters::{check, parameters};
use crate::{ParameterError, Parameters, Probe};

/// The name by which flows ask for it.
pub const NAME: &str = "tfrc";

/// The longest time between two packets, in seconds (t_mbi).
const LONGEST_PAUSE: f64 = 64.0;
/// The nofeedback timer before the first report.
const FIRST_TIMEOUT: Span = Span::from_secs(2);
/// Weight of the old estimate in the smoothed RTT (q), and of its square root (q2).
const RTT_MEMORY: f64 = 0.9;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Whether old loss intervals count less while the present one is long
        history_discounting: bool = true, source "RFC 5348, section 5.5";
        /// Whether the rate of departures goes down while the RTT is above its mean
        smooth: bool = false, source "RFC 5348, section 4.5";
    }
}

impl Settings {
    /// The parameters `given` to a flow, the rest at their defaults.
    pub fn of(given: &Parameters) -> Result<Self, ParameterError> {
        check(NAME, Self::PARAMETERS, given)?;
        Self::read(given)
    }
}

/// The rate of TCP in bytes a second, with segments of `size` bytes, an RTT of `rtt` seconds and loss event rate `p`:
/// X_Bps of section 3.1 with b = 1 and t_RTO = 4 R.
pub fn equation(size: f64, rtt: f64, p: f64) -> f64 {
    let retransmissions = (2.0 * p / 3.0).sqrt();
    let timeouts = 4.0 * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    size / (rtt * (retransmissions + timeouts))
}

/// The loss event rate at which [`equation`] gives `rate`: at most 1, and at least one in 10^12 packets.
pub fn loss_rate_of(size: f64, rtt: f64, rate: f64) -> f64 {
    let (mut low, mut high) = (1e-12_f64, 1.0_f64);
    // The rate falls as p rises. Halved forty times on the scale of logarithms, the bracket is narrower than 1e-10.
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        if equation(size, rtt, middle) > rate {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

/// The contents of a receiver's report (section 3.2.2), after the sender has looked at its times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The RTT of the newest packet, the time apart that the receiver kept it.
    pub rtt: Span,
    /// The loss event rate, from 0 to 1 (p).
    pub loss_event_rate: f64,
    /// Bytes a second that arrived over about the last RTT (X_recv).
    pub receive_rate: f64,
    /// A loss event has begun since the last report.
    pub new_loss_event: bool,
    /// For the whole interval that it covers the application had less to send than the rate allowed.
    pub data_limited: bool,
}

/// The allowed rate of one sender.
#[derive(Clone, Debug)]
pub struct Tfrc {
    settings: Settings,
    /// Bytes in a packet (s).
    size: f64,
    /// Bytes a second (X).
    rate: f64,
    /// The last result of the equation (X_Bps).
    calculated: f64,
    loss_event_rate: f64,
    receive_rate: f64,
    /// Seconds; none before the first report (R).
    rtt: Option<f64>,
    /// The last sample, and the mean of the square roots of all (R_sqmean).
    last_rtt: f64,
    root_mean: f64,
    /// Receive rates of the last two RTTs, when each was noted (X_recv_set).
    received: Vec<(Time, f64)>,
    /// When the rate was doubled last (tld).
    doubled_at: Time,
    /// W_init / R: the first rate, and the rate to which an idle sender recovers.
    initial_rate: f64,
    /// When the nofeedback timer expires.
    expires: Time,
    /// Nothing has left since that timer was set.
    idle: bool,
}

impl Tfrc {
    /// A sender of packets of `size` bytes that begins at `now`, with a packet a second.
    pub fn new(settings: Settings, size: f64, now: Time) -> Self {
        Self {
            settings,
            size,
            rate: size,
            calculated: 0.0,
            loss_event_rate: 0.0,
            receive_rate: 0.0,
            rtt: None,
            last_rtt: 0.0,
            root_mean: 0.0,
            received: vec![(now, f64::INFINITY)],
            doubled_at: now,
            initial_rate: size,
            expires: now + FIRST_TIMEOUT,
            idle: true,
        }
    }

    /// A packet leaves.
    pub fn on_sent(&mut self) {
        self.idle = false;
    }

    /// A report arrives at `now` (section 4.3).
    pub fn on_report(&mut self, now: Time, report: &Report) {
        self.note_rtt(now, report.rtt.as_secs_f64());
        let more_loss = report.new_loss_event || report.loss_event_rate > self.loss_event_rate;
        self.loss_event_rate = report.loss_event_rate;
        self.receive_rate = report.receive_rate;
        let limit = if report.data_limited && more_loss {
            self.received.iter_mut().for_each(|(_, rate)| *rate *= 0.5);
            self.keep_largest(now, 0.85 * report.receive_rate)
        } else if report.data_limited {
            2.0 * self.keep_largest(now, report.receive_rate)
        } else {
            2.0 * self.keep_recent(now, report.receive_rate)
        };
        self.allow(now, limit);
        self.restart_timer(now);
    }

    /// The nofeedback timer has expired (section 4.4). Says whether the rate came down.
    pub fn on_timer(&mut self, now: Time) -> bool {
        let before = self.rate;
        let received = self.largest();
        let unused = self.idle
            && if self.loss_event_rate > 0.0 {
                received < self.initial_rate
            } else {
                self.rate < 2.0 * self.initial_rate
            };
        if self.rtt.is_none() || self.loss_event_rate == 0.0 {
            if !unused {
                self.rate = (self.rate / 2.0).max(self.least());
            }
        } else if !unused {
            // At most the rate that the receiver reported, halved by either way of counting.
            let limit = if self.calculated > 2.0 * received { received } else { self.calculated / 2.0 };
            let limit = limit.max(self.least());
            self.received.clear();
            self.received.push((now, limit / 2.0));
            self.allow(now, limit);
        }
        self.restart_timer(now);
        self.rate < before
    }

    /// When the nofeedback timer expires.
    pub fn expires(&self) -> Time {
        self.expires
    }

    /// Bytes a second at which packets leave now (X, or X_inst of section 4.5).
    pub fn rate(&self) -> f64 {
        if self.settings.smooth && self.last_rtt > 0.0 {
            return (self.rate * self.root_mean / self.last_rtt.sqrt()).max(self.least());
        }
        self.rate
    }

    /// The smoothed RTT, zero before the first report.
    pub fn rtt(&self) -> Span {
        Span::from_secs_f64(self.rtt.unwrap_or(0.0))
    }

    /// Packets that are in flight at this rate, as a window would count them.
    pub fn window(&self) -> f64 {
        self.rate * self.rtt.unwrap_or(0.0) / self.size
    }

    /// Shows p, X, X_recv and R.
    pub fn probe(&self, out: &mut dyn Probe) {
        out.value("loss_event_rate", self.loss_event_rate);
        out.value("allowed_rate_bps", 8.0 * self.rate);
        out.value("receive_rate_bps", 8.0 * self.receive_rate);
        out.value("rtt_ms", 1000.0 * self.rtt.unwrap_or(0.0));
    }

    fn note_rtt(&mut self, now: Time, sample: f64) {
        self.last_rtt = sample;
        if let Some(rtt) = &mut self.rtt {
            *rtt = RTT_MEMORY * *rtt + (1.0 - RTT_MEMORY) * sample;
            self.root_mean = RTT_MEMORY * self.root_mean + (1.0 - RTT_MEMORY) * sample.sqrt();
            return;
        }
        self.rtt = Some(sample);
        self.root_mean = sample.sqrt();
        // W_init = min(4 MSS, max(2 MSS, 4380)).
        let window = (4.0 * self.size).min((2.0 * self.size).max(4380.0));
        self.initial_rate = window / sample.max(1e-9);
        self.rate = self.initial_rate;
        self.doubled_at = now;
    }

    /// Step 5 of section 4.3: the equation, or slow start, but no more than `limit`.
    fn allow(&mut self, now: Time, limit: f64) {
        let rtt = self.rtt.unwrap_or(0.0).max(1e-9);
        if self.loss_event_rate > 0.0 {
            self.calculated = equation(self.size, rtt, self.loss_event_rate);
            self.rate = self.calculated.min(limit).max(self.least());
        } else if now.since(self.doubled_at).as_secs_f64() >= rtt {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate);
            self.doubled_at = now;
        }
    }

    /// The least rate: a packet in 64 s.
    fn least(&self) -> f64 {
        self.size / LONGEST_PAUSE
    }

    fn largest(&self) -> f64 {
        self.received.iter().map(|&(_, rate)| rate).fold(0.0, f64::max)
    }

    /// Notes `rate`, forgets rates older than two RTTs, and gives the largest (Update X_recv_set).
    fn keep_recent(&mut self, now: Time, rate: f64) -> f64 {
        let memory = self.rtt() * 2;
        self.received.retain(|&(at, _)| now.since(at) <= memory);
        self.received.push((now, rate));
        self.largest()
    }

    /// Notes `rate`, and of all keeps the largest alone (Maximize X_recv_set).
    fn keep_largest(&mut self, now: Time, rate: f64) -> f64 {
        self.received.retain(|(_, rate)| rate.is_finite());
        self.received.push((now, rate));
        let largest = self.largest();
        self.received.clear();
        self.received.push((now, largest));
        largest
    }

    fn restart_timer(&mut self, now: Time) {
        // Before the first report the RTT is not known.
        let rtt = self.rtt.unwrap_or(FIRST_TIMEOUT.as_secs_f64() / 4.0);
        self.expires = now + Span::from_secs_f64((4.0 * rtt).max(2.0 * self.size / self.rate));
        self.idle = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    fn report(p: f64, receive_rate: f64) -> Report {
        let (new_loss_event, data_limited) = (false, false);
        Report { rtt: MS(100), loss_event_rate: p, receive_rate, new_loss_event, data_limited }
    }

    #[test]
    fn the_equation_gives_the_rate_worked_out_by_hand() {
        // p = 0.01: sqrt(0.02/3) = 0.0816497; 12 sqrt(0.03/8) * 0.01 * 1.0032 = 0.0073720. 1000/(0.1 * 0.0890217).
        assert!((equation(1000.0, 0.1, 0.01) - 112_332.0).abs() < 1.0, "{}", equation(1000.0, 0.1, 0.01));
        // p = 1: sqrt(2/3) = 0.8164966; 12 sqrt(3/8) * 33 = 242.5 (0.6123724 * 396 = 242.4995).
        assert!((equation(1000.0, 1.0, 1.0) - 1000.0 / 243.315_97).abs() < 1e-4);
    }

    #[test]
    fn the_loss_rate_of_a_rate_is_the_inverse_of_the_equation() {
        assert!((loss_rate_of(1000.0, 0.1, 112_332.0) / 0.01 - 1.0).abs() < 1e-4);
        assert!((loss_rate_of(1000.0, 0.1, 0.001) - 1.0).abs() < 1e-9, "never above 1");
    }

    #[test]
    fn the_first_report_begins_with_four_small_packets_a_round_trip_and_then_doubles() {
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        assert_eq!(tfrc.rate(), 1000.0, "a packet a second");
        tfrc.on_report(at(100), &report(0.0, 1000.0));
        // min(4000, max(2000, 4380)) = 4000 bytes in 100 ms.
        assert!((tfrc.rate() - 40_000.0).abs() < 1e-6);
        tfrc.on_report(at(150), &report(0.0, 40_000.0));
        assert!((tfrc.rate() - 40_000.0).abs() < 1e-6, "half a round trip later");
        tfrc.on_report(at(200), &report(0.0, 40_000.0));
        assert!((tfrc.rate() - 80_000.0).abs() < 1e-6);
        // Twice what arrived in the last two round trips, not four times.
        tfrc.on_report(at(450), &report(0.0, 50_000.0));
        assert!((tfrc.rate() - 100_000.0).abs() < 1e-6, "{}", tfrc.rate());
    }

    #[test]
    fn with_loss_the_equation_rules_below_twice_the_receive_rate() {
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        tfrc.on_report(at(100), &report(0.0, 1000.0));
        tfrc.on_report(at(400), &report(0.01, 100_000.0));
        assert!((tfrc.rate() - 112_332.0).abs() < 1.0, "{}", tfrc.rate());
        tfrc.on_report(at(700), &report(0.01, 30_000.0));
        assert!((tfrc.rate() - 60_000.0).abs() < 1e-6, "the older rate is more than two round trips old");
    }

    #[test]
    fn without_feedback_the_rate_is_halved_after_four_round_trips() {
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        tfrc.on_report(at(100), &report(0.0, 1000.0));
        assert_eq!(tfrc.expires(), at(500));
        tfrc.on_sent();
        assert!(tfrc.on_timer(at(500)));
        assert!((tfrc.rate() - 20_000.0).abs() < 1e-6);
        assert!(!tfrc.on_timer(at(900)), "an idle sender below its initial rate keeps what it has");
        tfrc.on_report(at(950), &report(0.01, 100_000.0));
        tfrc.on_sent();
        // X_Bps = 112,332 is less than twice 100,000: halved.
        assert!(tfrc.on_timer(at(1350)));
        assert!((tfrc.rate() - 56_166.0).abs() < 1.0, "{}", tfrc.rate());
    }

    #[test]
    fn a_limited_application_is_held_to_what_arrived_only_when_packets_are_lost() {
        let limited = |p| Report { data_limited: true, ..report(p, 20_000.0) };
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        tfrc.on_report(at(100), &report(0.0, 1000.0));
        tfrc.on_report(at(200), &Report { data_limited: true, ..report(0.0, 100_000.0) });
        // Long after, the largest of all still counts: the equation's 112,332 is below 200,000.
        tfrc.on_report(at(900), &report(0.01, 100_000.0));
        tfrc.on_report(at(1000), &limited(0.01));
        assert!((tfrc.rate() - 112_332.0).abs() < 1.0, "{}", tfrc.rate());
        // More loss: the largest is halved to 50,000. 0.85 * 20,000 is below.
        tfrc.on_report(at(1100), &limited(0.011));
        assert!((tfrc.rate() - 50_000.0).abs() < 1.0, "{}", tfrc.rate());
    }

    #[test]
    fn smoothing_slows_departures_while_the_rtt_is_above_its_mean() {
        let mut tfrc = Tfrc::new(Settings { smooth: true, ..Settings::default() }, 1000.0, at(0));
        tfrc.on_report(at(100), &report(0.0, 1000.0));
        tfrc.on_report(at(150), &Report { rtt: MS(400), ..report(0.0, 40_000.0) });
        // Roots: 0.9 * 0.3162278 + 0.1 * 0.6324555 = 0.3478506; over 0.6324555 that is 0.55 of 40,000.
        assert!((tfrc.rate() - 22_000.0).abs() < 1e-6, "{}", tfrc.rate());
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_the_nearest_name() {
        let given = Parameters::from([("smoth".to_owned(), serde_json::Value::Bool(true))]);
        let error = Settings::of(&given).unwrap_err().to_string();
        assert!(error.starts_with("`tfrc` has no parameter `smoth`; did you mean `smooth`?"), "{error}");
    }

    #[test]
    fn half_of_what_a_timer_left_counts_as_received() {
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        tfrc.on_report(at(100), &report(0.0, 1000.0));
        tfrc.on_report(at(400), &report(0.01, 100_000.0));
        tfrc.on_sent();
        assert!(tfrc.on_timer(at(800)));
        // 56,166 and thus 28,083 received: twice that is the limit, whatever little the next report says.
        tfrc.on_report(at(850), &report(0.01, 10_000.0));
        assert!((tfrc.rate() - 56_166.0).abs() < 1.0, "{}", tfrc.rate());
        // With little received before the timer that alone counts, halved: 20,000 to 10,000 and so on.
        let mut slow = Tfrc::new(Settings::default(), 1000.0, at(0));
        slow.on_report(at(100), &report(0.0, 1000.0));
        slow.on_report(at(400), &report(0.01, 10_000.0));
        assert!((slow.rate() - 20_000.0).abs() < 1e-6);
        slow.on_sent();
        assert!(slow.on_timer(at(800)));
        assert!((slow.rate() - 10_000.0).abs() < 1e-6, "{}", slow.rate());
        assert_eq!(slow.expires(), at(1200));
    }

    #[test]
    fn an_unused_rate_is_kept_by_the_timer_as_long_as_it_is_small() {
        // RFC 5348, section 4.4, step 1: nothing was sent since the timer was set.
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        tfrc.on_report(at(100), &report(0.0, 1000.0));
        for (ms, expected) in [(200, 80_000.0), (600, 40_000.0), (1000, 40_000.0)] {
            if ms == 200 {
                tfrc.on_report(at(ms), &report(0.0, 100_000.0));
            } else {
                assert_eq!(tfrc.on_timer(at(ms)), ms == 600);
            }
            assert!((tfrc.rate() - expected).abs() < 1e-6, "{ms}: {}", tfrc.rate());
        }
    }

    #[test]
    fn it_shows_losses_rates_in_bits_and_the_rtt_in_milliseconds() {
        struct All(Vec<(&'static str, f64)>);
        impl Probe for All {
            fn value(&mut self, name: &'static str, value: f64) {
                self.0.push((name, value.round()));
            }
        }
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        tfrc.on_report(at(100), &report(0.0, 1000.0));
        tfrc.on_report(at(700), &report(1.0, 30_000.0));
        // Of every packet one is lost: 1000 / (0.1 * 243.316) bytes a second are 328.8 bits.
        let mut all = All(Vec::new());
        tfrc.probe(&mut all);
        let [loss, allowed, received, rtt] = ["loss_event_rate", "allowed_rate_bps", "receive_rate_bps", "rtt_ms"];
        assert_eq!(all.0, [(loss, 1.0), (allowed, 329.0), (received, 240_000.0), (rtt, 100.0)]);
    }

    #[test]
    fn the_timer_waits_for_two_packets_where_they_take_longer_than_four_round_trips() {
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        assert_eq!(tfrc.expires(), at(2000));
        tfrc.on_sent();
        // Half a packet a second.
        assert!(tfrc.on_timer(at(2000)));
        assert_eq!((tfrc.rate(), tfrc.expires()), (500.0, at(6000)));
    }

    #[test]
    fn the_rate_does_not_fall_below_a_packet_in_64_seconds() {
        let mut tfrc = Tfrc::new(Settings::default(), 1000.0, at(0));
        for n in 1..=10 {
            tfrc.on_sent();
            tfrc.on_timer(at(100_000 * n));
        }
        assert_eq!(tfrc.rate(), 15.625);
    }

    #[test]
    fn before_the_first_report_nothing_is_smoothed() {
        let tfrc = Tfrc::new(Settings { smooth: true, ..Settings::default() }, 1000.0, at(0));
        assert_eq!(tfrc.rate(), 1000.0);
    }
}
