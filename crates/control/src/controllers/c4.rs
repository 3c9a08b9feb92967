//! C4, Christian's Congestion Control Code (Huitema, Nandakumar and Jennings, draft-huitema-ccwg-c4-spec and
//! -c4-design), by the authors' text after version 04 of the specification.
//!
//! C4 is for media over QUIC. It sends at a nominal rate, the largest delivery rate that it has seen, and lets so much
//! be in flight as fits the largest RTT of a path without queues: jitter is no congestion for it. Only congestion
//! lowers the rate, the sooner the faster a flow is. Rare or late signals and the limits of an application do not.
//!
//! | specification | here |
//! | --- | --- |
//! | nominal rate; not while congested | `C4::measure` |
//! | nominal max RTT, running min RTT, at the end of an era | `C4::update_rtts` |
//! | pacing rate, CWND, quantum | `Controller::pacing_rate`, `Controller::window`, `Controller::send_quantum` |
//! | Initial: `initial_cwnd`; left after three eras without increase, or for congestion | `C4::end_initial_era` |
//! | Recovery, Cruising, Probing, Pushing | `C4::end_era`, `C4::end_recovery` |
//! | trimming, persistent congestion | `C4::end_recovery` |
//! | Resuming (Careful Resume), as in the authors' code | `resuming.rs` |
//! | sensitivity; thresholds of delay, loss and CE marks; beta | `signals.rs` |
//!
//! An era is a round trip: it ends with the delivery of a segment that left after it began. Rates are in bytes of
//! payload a second. Open points of the text, and how they are read:
//! - The sum of a rate and a time in its CWND is read as `pacing_rate * (nominal_max_rtt + margin)`, the quotient in
//!   beta for delay as `(rtt - nominal_max_rtt - threshold) / threshold`, and draining as 7/8 (a table has 3/4).
//! - In Initial an era brings an increase if the rate rose by a quarter, a fourth of the rise that its alpha of 2 asks
//!   for: the rule of version 00 for pushes. Initial is entered again for high jitter once, as in version 00.
//! - While it probes and pushes, the window grows by a segment at least, as in the authors' code.
//! - A loss lowers the nominal max RTT with the rate, as in the authors' code. A maximum below the nominal rate alone
//!   replaces it in persistent congestion. The path's RTT counts as reduced where a whole era was below the minimum.
//! - Delay is measured by RTTs without delayed ACKs, as far as the transport knows them.
//! - Losses that only a timeout shows are no signal, but the window is one segment until a delivery shows a rate
//!   (RFC 5681, section 3.1). Accurate ECN counts the marks. An echo without count marks all that its ACK delivers.
//!
//! Not here: the faster pacing below 1 ms.

mod resuming;
mod signals;
#[cfg(test)]
mod tests;

use units::{Rate, Span};

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Probe, RateSample, Wants};

/// The entry of C4 in the registry.
pub const ENTRY: Entry = Entry {
    name: "c4",
    title: "C4",
    summary: "Sends at the largest delivery rate seen, and takes only delay beyond the jitter of the path for a queue",
    source: "draft-huitema-ccwg-c4-spec",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("state", "", "1 Initial, 2 Recovery, 3 Cruising, 4 Probing, 5 Pushing, 6 Resuming"),
        Quantity::new("nominal_rate", "segments/s", "The largest delivery rate, as congestion has left it"),
        Quantity::new("nominal_max_rtt_ms", "ms", "The largest RTT without queues; 0 before the first sample"),
        Quantity::new("running_min_rtt_ms", "ms", "The smallest RTT of late; 0 before the first era"),
        Quantity::new("alpha", "", "Pacing rate over nominal rate"),
        Quantity::new("sensitivity", "", "How soon it takes a signal for congestion, from 0 to 1"),
        Quantity::new("loss_rate", "", "The smoothed loss rate"),
        Quantity::new("ecn_alpha", "", "The smoothed share of marked segments"),
    ],
    make: |given| Ok(Box::new(C4::new(Settings::read(given)?))),
};

/// alpha, the pacing rate over the nominal rate: in Initial.
const INITIAL_ALPHA: f64 = 2.0;
/// In Recovery, and where a queue has to go there: after Initial and Pushing, and when the RTT of the path fell.
const RECOVERY_ALPHA: f64 = 15.0 / 16.0;
const DRAINING_ALPHA: f64 = 7.0 / 8.0;
/// In Probing, and on a path that marks.
const PROBING_ALPHA: f64 = 17.0 / 16.0;
const MARKED_PROBING_ALPHA: f64 = 33.0 / 32.0;
/// In Pushing.
const PUSHING_ALPHA: f64 = 5.0 / 4.0;
/// Eras of Cruising before it probes.
const CRUISING_ERAS: u32 = 2;
/// The most that a congestion signal takes from the nominal rate.
const BETA: f64 = 1.0 / 4.0;
/// Jitter beyond it is no jitter, in seconds (MAX_JITTER).
const MAX_JITTER: f64 = 0.25;
/// The growth of the nominal rate in an era of Initial, and of Pushing, that counts.
const INITIAL_GROWTH: f64 = 1.25;
const PUSH_GROWTH: f64 = 19.0 / 16.0;
/// Eras without it after which Initial ends, and with which a sign of delay or a mark ends it.
const NO_INCREASE: u32 = 3;
const NO_INCREASE_CONGESTED: u32 = 2;
/// Segments without which a loss does not end Initial.
const ENOUGH_FOR_LOSS: u64 = 20;
/// Pushing that lasts longer, in eras, is Initial.
const LONGEST_PUSH: u32 = 3;
/// The least pacing rate in Initial, bytes a second: 1,048,576 bit/s.
const LEAST_INITIAL_RATE: f64 = 131_072.0;
/// The least nominal max RTT, and the margin on it, in seconds.
const LEAST_MAX_RTT: f64 = 1e-3;
const MARGIN: f64 = 15e-3;
/// Weight of an era in the RTTs, where it does not move them at once.
const RTT_WEIGHT: f64 = 1.0 / 8.0;
/// Jitter is high where the smallest RTT is below this share of the nominal max RTT.
const HIGH_JITTER: f64 = 2.0 / 5.0;
/// A burst takes so long, in seconds, and is no longer in bytes, nor shorter in segments.
const BURST_SECONDS: f64 = 4e-3;
const LONGEST_BURST: f64 = 65_536.0;
const SHORTEST_BURST: f64 = 2.0;
/// The least window.
const LEAST_WINDOW: f64 = 2.0;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// The window of an earlier connection, which Resuming lets be in flight from the first RTT sample on; 0 is
        /// without it
        resumed_window: u32 = 0,
            unit "segments", range from(0).up_to(1_000_000), source "draft-huitema-ccwg-c4-spec, c4_seed_cwin";
    }
}

/// The states of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Initial = 1,
    Recovery = 2,
    Cruising = 3,
    Probing = 4,
    Pushing = 5,
    Resuming = 6,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct C4 {
    settings: Settings,
    /// Payload of a segment, bytes.
    segment: f64,
    state: State,
    nominal_rate: f64,
    nominal_max_rtt: f64,
    running_min_rtt: f64,
    alpha: f64,
    alpha_previous: f64,
    // The era: it ends with the delivery of a segment that left when so many were delivered.
    era_end: u64,
    era_max_rtt: f64,
    era_min_rtt: f64,
    /// The nominal rate when it began, and how many there were before it in this state.
    rate_before: f64,
    eras: u32,
    /// The rate that sends the window of an earlier connection in a round trip, 0 before Resuming.
    resumed_rate: f64,
    // Initial.
    initial_cwnd: f64,
    no_increase: u32,
    has_left_initial: bool,
    has_seen_jitter: bool,
    // Recovery: the state before it, and whether something led to it or came in it that shows congestion.
    came_from: State,
    congested: bool,
    /// Recoveries in a row with congestion.
    congestions: u32,
    draining_needed: bool,
    /// The application had too little to send while it probed or pushed.
    was_limited: bool,
    /// The largest rate since the last Recovery, and the nominal rate at its end.
    recent_maximum: f64,
    rate_of_cycle: f64,
    // Signals.
    loss_rate: f64,
    ecn_alpha: f64,
    has_seen_marks: bool,
    lost: u64,
    delivered: u64,
    timed_out: bool,
}

impl C4 {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            segment: 1.0,
            state: State::Initial,
            nominal_rate: 0.0,
            nominal_max_rtt: 0.0,
            running_min_rtt: f64::INFINITY,
            alpha: INITIAL_ALPHA,
            alpha_previous: INITIAL_ALPHA,
            era_end: 0,
            era_max_rtt: 0.0,
            era_min_rtt: f64::INFINITY,
            rate_before: 0.0,
            eras: 0,
            resumed_rate: 0.0,
            initial_cwnd: 0.0,
            no_increase: 0,
            has_left_initial: false,
            has_seen_jitter: false,
            came_from: State::Initial,
            congested: false,
            congestions: 0,
            draining_needed: false,
            was_limited: false,
            recent_maximum: 0.0,
            rate_of_cycle: 0.0,
            loss_rate: 0.0,
            ecn_alpha: 0.0,
            has_seen_marks: false,
            lost: 0,
            delivered: 0,
            timed_out: false,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        let losses = ack.lost.saturating_sub(self.lost);
        (self.lost, self.delivered) = (ack.lost, ack.delivered);
        self.observe_rtt(ack);
        if let Some(sample) = &ack.rate {
            self.measure(sample);
        }
        // A delivery whose rate is not known says nothing of how much more the path holds.
        self.timed_out &= ack.newly_delivered == 0 || self.nominal_rate == 0.0;
        // Until a rate is known, a window that is not used shows nothing.
        if self.state == State::Initial && (ack.window_limited || self.nominal_rate > 0.0) {
            let bytes = f64::from(ack.newly_delivered) * self.segment;
            self.initial_cwnd += bytes / f64::from(1u32 << (3 * self.no_increase.min(NO_INCREASE)));
        }
        self.resume(ack);
        self.respond(ack, losses);
        if let Some(sample) = &ack.rate
            && sample.prior_delivered >= self.era_end
        {
            self.end_era(sample.application_limited);
        }
    }

    fn observe_rtt(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.era_min_rtt = self.era_min_rtt.min(rtt.value.as_secs_f64());
        if !rtt.delayed {
            self.era_max_rtt = self.era_max_rtt.max(rtt.value.as_secs_f64());
        }
        if self.nominal_max_rtt == 0.0 {
            self.nominal_max_rtt = rtt.value.as_secs_f64().max(LEAST_MAX_RTT);
        }
    }

    /// A delivery rate raises the nominal rate, unless its segments left before congestion was seen.
    fn measure(&mut self, sample: &RateSample) {
        // A delivery in no time counts as one in the least RTT: without a measure the rate could only fall.
        let seconds = if sample.interval == Span::ZERO { LEAST_MAX_RTT } else { sample.interval.as_secs_f64() };
        let rate = sample.delivered as f64 * self.segment / seconds;
        self.recent_maximum = self.recent_maximum.max(rate);
        if !(self.state == State::Recovery && self.congested) {
            self.nominal_rate = self.nominal_rate.max(rate);
        }
    }

    /// An era is over, at whose end the application did (`limited`) or did not limit the flow.
    fn end_era(&mut self, limited: bool) {
        if self.state == State::Initial {
            return self.end_initial_era(limited);
        }
        self.update_rtts();
        self.eras += 1;
        match self.state {
            State::Initial => {}
            State::Resuming => self.end_resumed_era(),
            State::Recovery => self.end_recovery(),
            State::Cruising if self.eras >= CRUISING_ERAS && !limited => self.enter(State::Probing),
            State::Cruising => self.begin_era(),
            State::Probing => {
                self.was_limited = limited;
                self.enter_recovery(false);
            }
            // Deliveries of the first era left in Recovery.
            State::Pushing if self.eras == 1 => self.begin_era(),
            State::Pushing if self.nominal_rate < PUSH_GROWTH * self.rate_before => {
                self.was_limited = limited;
                self.enter_recovery(false);
            }
            State::Pushing if self.eras >= LONGEST_PUSH => self.enter_initial(),
            State::Pushing => self.begin_era(),
        }
    }

    fn end_initial_era(&mut self, limited: bool) {
        let grew = self.nominal_rate > 0.0 && self.nominal_rate >= INITIAL_GROWTH * self.rate_before;
        if grew {
            self.no_increase = 0;
        } else if !limited {
            self.no_increase += 1;
        }
        if self.no_increase >= NO_INCREASE {
            self.leave_initial(false);
        } else {
            self.begin_era();
        }
    }

    fn begin_era(&mut self) {
        self.era_end = self.delivered;
        (self.era_max_rtt, self.era_min_rtt) = (0.0, f64::INFINITY);
        self.alpha_previous = self.alpha;
        self.rate_before = self.nominal_rate;
    }

    fn enter(&mut self, state: State) {
        self.begin_era();
        self.eras = 0;
        self.alpha = match state {
            State::Initial => INITIAL_ALPHA,
            State::Resuming => resuming::ALPHA,
            State::Recovery if self.draining_needed => DRAINING_ALPHA,
            State::Recovery => RECOVERY_ALPHA,
            State::Cruising => 1.0,
            State::Probing if self.has_seen_marks => MARKED_PROBING_ALPHA,
            State::Probing => PROBING_ALPHA,
            State::Pushing => PUSHING_ALPHA,
        };
        self.state = state;
    }

    fn enter_initial(&mut self) {
        self.initial_cwnd = self.nominal_rate * self.nominal_max_rtt;
        self.no_increase = 0;
        self.enter(State::Initial);
    }

    /// Half the window takes the nominal max RTT at the nominal rate.
    fn leave_initial(&mut self, congested: bool) {
        if self.nominal_rate > 0.0 {
            self.nominal_max_rtt = (self.cwnd() / 2.0 / self.nominal_rate).max(LEAST_MAX_RTT);
            self.has_left_initial = true;
            self.enter_recovery(congested);
        }
    }

    fn enter_recovery(&mut self, congested: bool) {
        self.came_from = self.state;
        self.congested = congested;
        self.draining_needed |= matches!(self.state, State::Initial | State::Pushing);
        self.enter(State::Recovery);
        self.draining_needed = false;
    }

    /// Goes on by the result of the last cycle: a probe that succeeded is pushed further.
    fn end_recovery(&mut self) {
        self.congestions = if self.congested { self.congestions + 1 } else { 0 };
        if self.congestions > 1 && self.recent_maximum > 0.0 {
            self.nominal_rate = self.nominal_rate.min(self.recent_maximum);
        }
        let probed = matches!(self.came_from, State::Probing | State::Pushing) && !self.congested;
        let grew = self.nominal_rate > self.rate_of_cycle;
        if probed && !grew && !self.was_limited && self.recent_maximum > 0.0 {
            self.nominal_rate = f64::midpoint(self.nominal_rate, self.recent_maximum);
        }
        (self.recent_maximum, self.rate_of_cycle) = (0.0, self.nominal_rate);
        self.ecn_alpha = 0.0;
        if !self.has_seen_jitter && self.running_min_rtt < HIGH_JITTER * self.nominal_max_rtt {
            self.has_seen_jitter = true;
            self.enter_initial();
        } else if self.came_from == State::Probing && probed && grew {
            self.enter(State::Pushing);
        } else {
            self.enter(State::Cruising);
        }
    }

    /// Takes in the RTTs of the last era, if the segments of the one before it made no queue.
    fn update_rtts(&mut self) {
        if self.alpha_previous > 1.0 || self.era_max_rtt == 0.0 {
            return;
        }
        self.draining_needed |= self.era_max_rtt < self.running_min_rtt && self.running_min_rtt.is_finite();
        let minimum = &mut self.running_min_rtt;
        *minimum = if self.era_min_rtt < *minimum { self.era_min_rtt } else { average(*minimum, self.era_min_rtt) };
        let largest = self.era_max_rtt.min(*minimum + MAX_JITTER);
        let nominal = &mut self.nominal_max_rtt;
        *nominal = if largest > *nominal { largest } else { average(*nominal, largest) }.max(LEAST_MAX_RTT);
    }

    /// Bytes a second.
    fn paced(&self) -> f64 {
        if self.state == State::Resuming {
            return self.resumed_rate;
        }
        let least = if self.state == State::Initial { LEAST_INITIAL_RATE } else { 1.0 };
        (self.alpha * self.nominal_rate).max(least)
    }

    /// The window in bytes.
    fn cwnd(&self) -> f64 {
        if self.state == State::Resuming {
            return self.resumed_window();
        }
        let margin = if self.state == State::Initial { 0.0 } else { MARGIN.min(self.nominal_max_rtt / 4.0) };
        let modelled = self.alpha * self.nominal_rate * (self.nominal_max_rtt + margin);
        match self.state {
            State::Initial => modelled.max(self.initial_cwnd),
            State::Probing | State::Pushing => modelled + self.missing_to_a_segment(),
            _ => modelled,
        }
    }

    /// The bytes that the growth of a probe lacks to a whole segment. A window of two segments that grows by a
    /// sixteenth lets no third one leave, so that the rate could never rise again.
    fn missing_to_a_segment(&self) -> f64 {
        let growth = (self.alpha - 1.0) * self.nominal_rate * self.nominal_max_rtt;
        (self.segment - growth).max(0.0)
    }
}

fn average(old: f64, new: f64) -> f64 {
    old + RTT_WEIGHT * (new - old)
}

impl Controller for C4 {
    fn wants(&self) -> Wants {
        Wants { governs_marks: true, governs_recovery: true, l4s: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.segment = cx.segment_size.get().max(1) as f64;
        self.initial_cwnd = cx.initial_window * self.segment;
    }

    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
        self.observe(ack);
    }

    /// The ACK that shows the loss has counted it.
    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.lost += u64::from(loss.newly_lost);
        self.timed_out = true;
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.timed_out = false;
    }

    fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}

    fn window(&self) -> f64 {
        if self.timed_out { 1.0 } else { (self.cwnd() / self.segment).max(LEAST_WINDOW) }
    }

    fn slow_start_threshold(&self) -> f64 {
        if self.has_left_initial { (self.cwnd() / self.segment).max(LEAST_WINDOW) } else { f64::INFINITY }
    }

    /// Before the first measure the link of the sender alone limits it.
    fn pacing_rate(&self) -> Option<Rate> {
        (self.nominal_rate > 0.0 || self.state == State::Resuming)
            .then(|| Rate::from_bits_per_second((8.0 * self.paced()) as u64))
    }

    fn send_quantum(&self) -> u32 {
        let bytes = (BURST_SECONDS * self.paced()).min(LONGEST_BURST);
        (bytes / self.segment).max(SHORTEST_BURST) as u32
    }

    fn probe(&self, out: &mut dyn Probe) {
        let known = self.running_min_rtt.is_finite();
        out.value("state", f64::from(self.state as u8));
        out.value("nominal_rate", self.nominal_rate / self.segment);
        out.value("nominal_max_rtt_ms", self.nominal_max_rtt * 1e3);
        out.value("running_min_rtt_ms", if known { self.running_min_rtt * 1e3 } else { 0.0 });
        out.value("alpha", self.alpha);
        out.value("sensitivity", self.sensitivity());
        out.value("loss_rate", self.loss_rate);
        out.value("ecn_alpha", self.ecn_alpha);
    }
}
