//! TCP Westwood (Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood: bandwidth estimation for enhanced
//! transport over wireless links", MobiCom 2001) and Westwood+ (Grieco and Mascolo, ACM CCR 34(2), 2004).
//!
//! NewReno that does not halve: it estimates from its ACKs at which rate the path delivers, and a loss leaves the
//! window that this rate needs without a queue.
//!
//! | rule | here |
//! | --- | --- |
//! | loss: ssthresh = BWE RTT_min, w at most that; timeout: the same ssthresh, w = 1 | `Westwood::threshold` |
//! | Westwood+: a sample each max(RTT, 50 ms), two filters of 7/8 and 1/8 in a row | `Plus` |
//! | Westwood: a sample each ACK, Tustin's filter (section 3.2) | `Tustin` |
//!
//! Notable differences from the papers: ACKs that arrive at one instant are one sample of Tustin's filter, and a
//! silence counts as empty samples, one each tau/2. Segments count as delivered when an ACK shows it, cumulatively or
//! by SACK.
//!
//! Linux's module is `linux/westwood.rs`.

use units::{Span, Time};

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::{choices, parameters};
use crate::parts::reno::{delegate, reduce};
use crate::range::above;
use crate::{Ack, Context, Controller, Probe, Reno, Undo};

/// The entry of Westwood in the registry.
pub const ENTRY: Entry = Entry {
    name: "westwood",
    title: "TCP Westwood",
    summary: "NewReno whose losses leave the window that the estimated delivery rate needs without a queue",
    source: "Mascolo et al. 2001; Grieco and Mascolo 2004; Linux",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("bandwidth", "segments/s", "BWE, the estimated rate of delivery"),
        Quantity::new("estimated_window", "segments", "BWE times the smallest RTT"),
    ],
    make: |given| Ok(Box::new(Westwood::new(Settings::read(given)?))),
};

/// The shortest sample of Westwood+.
const SHORTEST: Span = Span::from_millis(50);
/// The RTT before the first sample.
const NO_RTT: Span = Span::from_secs(20);

choices! {
    /// How samples become an estimate.
    pub enum Filter {
        /// Westwood+.
        Plus = Word("plus"),
        /// Westwood.
        Tustin = Word("tustin"),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// The filter of Westwood+ or that of Westwood
        filter: Filter = Filter::Plus, source "Grieco and Mascolo 2004; Mascolo et al. 2001, section 3.2";
        /// The time constant of the filter of Westwood
        tau: Span = Span::from_millis(500),
            unit "time", range above(Span::ZERO).up_to(Span::from_secs(100)), source "Mascolo et al. 2001, section 3.2";
    }
}

/// Westwood+: two filters in a row, segments a second.
#[derive(Clone, Copy, Debug, Default)]
struct Plus {
    once: f64,
    twice: f64,
}

impl Plus {
    fn take(&mut self, sample: f64) {
        if self.once == 0.0 && self.twice == 0.0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = (7.0 * self.once + sample) / 8.0;
            self.twice = (7.0 * self.twice + self.once) / 8.0;
        }
    }
}

/// Westwood: one filter of varying weight, segments a second.
#[derive(Clone, Copy, Debug, Default)]
struct Tustin {
    estimate: f64,
    last_sample: f64,
}

impl Tustin {
    /// A sample of `elapsed` seconds.
    fn take(&mut self, sample: f64, elapsed: f64, tau: f64) {
        let silent = (elapsed / (tau / 2.0)).floor();
        if silent >= 1.0 {
            // A sample of tau/2 has the weight (2 tau - tau/2)/(2 tau + tau/2).
            self.estimate *= libm::pow(0.6, silent);
            self.last_sample = 0.0;
        }
        let rest = elapsed - silent * tau / 2.0;
        let kept = (2.0 * tau - rest) / (2.0 * tau + rest);
        self.estimate = kept * self.estimate + (1.0 - kept) * f64::midpoint(sample, self.last_sample);
        self.last_sample = sample;
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Westwood {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    plus: Plus,
    tustin: Tustin,
    /// When the present sample began, and the segments delivered since.
    since: Time,
    delivered: u64,
    rtt: Span,
    rtt_min: Span,
}

impl Westwood {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            plus: Plus::default(),
            tustin: Tustin::default(),
            since: Time::ZERO,
            delivered: 0,
            rtt: NO_RTT,
            rtt_min: NO_RTT,
        }
    }

    /// Every ACK.
    fn observe(&mut self, now: Time, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt = rtt.value;
        }
        match self.settings.filter {
            Filter::Tustin => self.sample_ack(now, ack),
            Filter::Plus => self.sample_round_trip(now, ack),
        }
        self.rtt_min = self.rtt_min.min(self.rtt);
    }

    /// Westwood+: the end of a sample, if it was long enough. `ack` belongs to the next one.
    fn sample_round_trip(&mut self, now: Time, ack: &Ack) {
        let elapsed = now.since(self.since);
        if elapsed > self.rtt.max(SHORTEST) {
            self.plus.take(self.delivered as f64 / elapsed.as_secs_f64());
            (self.delivered, self.since) = (0, now);
        }
        self.delivered += u64::from(ack.newly_delivered);
    }

    /// Westwood: each ACK is a sample.
    fn sample_ack(&mut self, now: Time, ack: &Ack) {
        self.delivered += u64::from(ack.newly_delivered);
        let elapsed = now.since(self.since).as_secs_f64();
        if elapsed > 0.0 && self.delivered > 0 {
            self.tustin.take(self.delivered as f64 / elapsed, elapsed, self.settings.tau.as_secs_f64());
            (self.delivered, self.since) = (0, now);
        }
    }

    /// BWE, segments a second.
    fn bandwidth(&self) -> f64 {
        match self.settings.filter {
            Filter::Plus => self.plus.twice,
            Filter::Tustin => self.tustin.estimate,
        }
    }

    /// BWE RTT_min, at least two segments.
    fn threshold(&self) -> f64 {
        (self.bandwidth() * self.rtt_min.as_secs_f64()).max(Reno::MINIMUM)
    }
}

impl Controller for Westwood {
    delegate!(reno: on_spurious(undo), on_idle_restart, window, slow_start_threshold);
    reduce!(reduce_to: threshold);

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.since = cx.now;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
        self.reno.grow(cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("bandwidth", self.bandwidth());
        out.value("estimated_window", self.threshold());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    fn at(window: f64, settings: Settings) -> (Westwood, World) {
        let (mut world, mut westwood) = (World::new(), Westwood::new(settings));
        westwood.on_start(&mut world.context());
        westwood.reno = Reno { window, threshold: 2.0 };
        (westwood, world)
    }

    /// An ACK of a segment each millisecond on a path of 40 ms.
    fn acks(westwood: &mut Westwood, world: &mut World, count: u32) {
        for _ in 0..count {
            world.pass(Span::from_millis(1));
            westwood.on_duplicate_ack(&mut world.context(), &Ack { rtt: rtt(40), ..ack() });
        }
    }

    #[test]
    fn a_segment_a_millisecond_leaves_the_window_of_its_rtt() {
        // 1000 segments/s and 40 ms are 40 segments.
        let tustin = Settings { filter: Filter::Tustin, ..Settings::default() };
        for settings in [Settings::default(), tustin] {
            let (mut westwood, mut world) = at(100.0, settings);
            acks(&mut westwood, &mut world, 5000);
            let window = probed(&westwood, "estimated_window");
            assert!((39.0..=40.0 + 1e-9).contains(&window), "{settings:?}: {window}");
        }
    }

    #[test]
    fn two_filters_take_an_eighth_of_an_eighth_of_a_new_sample() {
        // From 800: a sample of 1600 makes the first 900 and the second 812.5, then 987.5 and 834.375.
        let mut plus = Plus::default();
        plus.take(800.0);
        assert_eq!((plus.once, plus.twice), (800.0, 800.0));
        plus.take(1600.0);
        assert_eq!((plus.once, plus.twice), (900.0, 812.5));
        plus.take(1600.0);
        assert_eq!((plus.once, plus.twice), (987.5, 834.375));
    }

    #[test]
    fn a_silence_of_half_tau_keeps_three_fifths() {
        let mut tustin = Tustin { estimate: 1000.0, last_sample: 1000.0 };
        tustin.take(0.0, 0.5, 0.5);
        assert!((tustin.estimate - 360.0).abs() < 1e-9, "{}", tustin.estimate);
    }

    #[test]
    fn a_silence_shorter_than_half_tau_is_one_sample_and_one_of_half_tau_an_empty_one() {
        // 0.2 s of tau = 0.5 s: (1 - 0.2)/(1 + 0.2) = 2/3 of the estimate, and a third of the mean of 0 and 1200.
        let mut tustin = Tustin { estimate: 900.0, last_sample: 1200.0 };
        tustin.take(0.0, 0.2, 0.5);
        assert!((tustin.estimate - 800.0).abs() < 1e-9, "{}", tustin.estimate);
        // 0.25 s are an empty sample, which keeps 3/5, and nothing is left of the time.
        let mut tustin = Tustin { estimate: 1000.0, last_sample: 1000.0 };
        tustin.take(0.0, 0.25, 0.5);
        assert!((tustin.estimate - 600.0).abs() < 1e-9, "{}", tustin.estimate);
        // The next sample begins from that empty one: 2/3 of 600 and a third of the mean of 600 and 0.
        tustin.take(600.0, 0.2, 0.5);
        assert!((tustin.estimate - 500.0).abs() < 1e-9, "{}", tustin.estimate);
    }

    #[test]
    fn a_loss_leaves_the_estimate_but_does_not_raise_the_window() {
        for (window, after) in [(100.0, 40.0), (20.0, 20.0)] {
            let (mut westwood, mut world) = at(window, Settings::default());
            westwood.plus = Plus { once: 1000.0, twice: 1000.0 };
            westwood.rtt_min = Span::from_millis(40);
            westwood.on_loss(&mut world.context(), &loss());
            assert_eq!((westwood.window(), westwood.slow_start_threshold()), (after, 40.0));
        }
    }
}
