//! Copa (Arun and Balakrishnan, "Copa: practical delay-based congestion control for the Internet", NSDI 2018).
//!
//! Copa steers its rate to 1/(delta d_q), d_q being the queueing delay: the rate that is best for it if arrivals are
//! random. It moves towards that faster the longer the direction stays the same. If the queue never becomes nearly
//! empty it takes the others for loss-based, and lets delta follow losses as they do.
//!
//! | paper | here |
//! | --- | --- |
//! | d_q = RTTstanding - RTTmin; smallest of SRTT/2 and of 10 s (section 2) | `Copa::observe` |
//! | target rate 1/(delta d_q), current rate w/RTTstanding (section 2.1, steps 1 to 3) | `Copa::is_below_target` |
//! | w +- v/(delta w) per ACK (step 3) | `Copa::steer` |
//! | v doubles once a round trip after three in one direction (step 4) | `Copa::update_velocity` |
//! | v is 1 again in the other direction (step 4), at once: see below | `Copa::turn` |
//! | slow start until the target is passed once | `Copa::steer` |
//! | pacing at 2 w/RTTstanding | `Controller::pacing_rate` |
//! | mode switching, d_q < 0.1 (RTTmax - RTTmin) in five round trips (section 2.2) | `Copa::update_mode` |
//! | 1/delta: one more a round trip, half on a loss (section 2.2) | `Copa::end_round`, `Controller::on_loss` |
//! | 0.7 w where more than 0.3 of the segments are lost (authors' code) | `Copa::count_losses` |
//!
//! The paper leaves open: a loss in default mode changes nothing, and the window grows in recovery as well. A timeout
//! leaves one segment and begins a slow start. An ACK moves the window by no more than it delivers, and a window that
//! is not fully used does not grow. A mark counts as a loss.
//!
//! The paper looks at the direction once a round trip. A velocity of hundreds, earned upwards, then takes the window
//! from beyond the target down to nothing before that: at 100 Mbit/s and 40 ms it used a quarter of the link. So a
//! velocity belongs to the direction in which it was earned, as in the Copa that Facebook deployed (mvfst, `Copa.cpp`).
//! The paper lets losses alone in default mode. Flows that keep a short queue full for ten seconds then take its delay
//! for RTTmin, see no queueing delay, and lose most of their segments for good. The authors' code (`ReduceOnLoss` of
//! genericCC) takes 0.3 of the window in such a case, and so does this one.

use units::{Rate, Span, Time};

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::parameters;
use crate::parts::windowed_max::{WindowedMax, WindowedMin};
use crate::range::above;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo, Wants};

/// The entry of Copa in the registry.
pub const ENTRY: Entry = Entry {
    name: "copa",
    title: "Copa",
    summary: "Steers its rate to the inverse of the queueing delay, and competes where others fill the queue",
    source: "Arun and Balakrishnan 2018",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("rtt_min_ms", "ms", "RTTmin; 0 before the first sample"),
        Quantity::new("rtt_standing_ms", "ms", "RTTstanding; 0 before the first sample"),
        Quantity::new("velocity", "", "v"),
        Quantity::new("delta", "", "delta of the present mode"),
        Quantity::new("competitive", "", "1 while it competes with loss-based flows"),
    ],
    make: |given| Ok(Box::new(Copa::new(Settings::read(given)?))),
};

/// Round trips over which the largest RTT is taken, and within which the queue has to be nearly empty once.
const LARGEST_OVER: u64 = 4;
const EMPTY_WITHIN: u32 = 5;
/// Nearly empty: below this share of the range of RTTs.
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips in one direction before the velocity doubles.
const STEADY: u32 = 3;
/// RTTmin is the smallest of so long (section 2).
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Losses are heavy above this share of more than so many segments, within so many RTTs. They leave so much of the
/// window (`ReduceOnLoss` of the authors' code).
const HEAVY: f64 = 0.3;
const ENOUGH: u64 = 20;
const LOSS_RATE_OVER: u64 = 2;
const LEFT_BY_HEAVY: f64 = 0.7;
/// The pacing rate over the rate of the window.
const PACING: f64 = 2.0;

parameters! {
    /// The parameters.
    pub struct Settings {
        /// How much delay weighs against throughput: in equilibrium 1/delta own segments queue
        delta: f64 = 0.5, unit "1/segments", range above(0.0).up_to(10.0), source "section 2, delta";
        /// Compete where others fill the queue
        switching: bool = true, source "section 2.2, mode switching";
    }
}

/// The state that a spurious timeout restores.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    reno: Reno,
    starting: bool,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Copa {
    settings: Settings,
    state: State,
    undo: Undo<State>,
    smallest: WindowedMin,
    standing: WindowedMin,
    largest: WindowedMax,
    smoothed: Span,
    velocity: f64,
    /// The last round trip: true if the window grew, the window at its start, and how many before had its direction.
    upwards: bool,
    window_before: f64,
    steady: u32,
    /// 1/delta while it competes.
    inverse: f64,
    competitive: bool,
    /// Round trips since the queue was last nearly empty.
    filled: u32,
    /// Segments lost by the end of the last round trip, and whether 1/delta was halved since.
    lost: u64,
    halved: bool,
    /// When heavy losses were last looked for, and how many segments were lost and delivered by then.
    loss_rate_at: Time,
    counted: (u64, u64),
    /// Bits of a segment.
    bits: f64,
}

impl Copa {
    /// A controller with `settings`.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State { reno: Reno::new(), starting: true },
            undo: Undo::default(),
            smallest: WindowedMin::default(),
            standing: WindowedMin::default(),
            largest: WindowedMax::default(),
            smoothed: Span::ZERO,
            velocity: 1.0,
            upwards: true,
            window_before: 0.0,
            steady: 0,
            inverse: 1.0 / settings.delta,
            competitive: false,
            filled: 0,
            lost: 0,
            halved: false,
            loss_rate_at: Time::ZERO,
            counted: (0, 0),
            bits: 0.0,
        }
    }

    fn delta(&self) -> f64 {
        if self.competitive { 1.0 / self.inverse } else { self.settings.delta }
    }

    /// The RTTs that `ack` shows.
    fn observe(&mut self, now: Time, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.value) else { return };
        self.smoothed = ack.smoothed_rtt;
        self.smallest.update(MIN_RTT_WINDOW, now, rtt);
        self.standing.update(self.smoothed / 2, now, rtt);
        self.largest.update(LARGEST_OVER * self.smoothed.as_nanos(), now.as_nanos(), rtt.as_nanos());
        let queueing = self.queueing_delay().as_nanos() as f64;
        let range = self.largest.get().saturating_sub(self.smallest.get().as_nanos()) as f64;
        if queueing <= NEARLY_EMPTY * range {
            self.filled = 0;
        }
    }

    fn queueing_delay(&self) -> Span {
        self.standing.get().saturating_sub(self.smallest.get())
    }

    /// True if w/RTTstanding is at most 1/(delta d_q).
    fn is_below_target(&self) -> bool {
        let standing = self.standing.get().as_secs_f64();
        self.state.reno.window * self.delta() * self.queueing_delay().as_secs_f64() <= standing
    }

    fn steer(&mut self, ack: &Ack) {
        let below = self.is_below_target();
        let reno = &mut self.state.reno;
        let delivered = f64::from(ack.newly_delivered);
        if below && !ack.window_limited {
            return;
        }
        if self.state.starting {
            if below {
                reno.window += delivered;
                return;
            }
            self.state.starting = false;
            reno.threshold = reno.window.max(Reno::MINIMUM);
        }
        if below != self.upwards && self.velocity > 1.0 {
            self.turn(below);
        }
        let reno = &mut self.state.reno;
        let inverse = if self.competitive { self.inverse } else { 1.0 / self.settings.delta };
        let step = (self.velocity * inverse * delivered / reno.window).min(delivered);
        let lowest = Reno::MINIMUM.min(reno.window);
        reno.window = if below { reno.window + step } else { (reno.window - step).max(lowest) };
    }

    /// The window passes its target within a round trip, with a velocity that it earned in the other direction.
    fn turn(&mut self, upwards: bool) {
        self.velocity = 1.0;
        self.upwards = upwards;
        self.window_before = self.state.reno.window;
        self.steady = 0;
    }

    /// 1/delta after a loss, once a round trip.
    fn halve(&mut self) {
        self.inverse = (self.inverse / 2.0).max(1.0 / self.settings.delta);
        self.halved = true;
    }

    /// A round trip ends, by whose end so many segments were `lost` in all. A recovery may take several, and each in
    /// which something is lost counts.
    fn end_round(&mut self, lost: u64) {
        self.update_velocity();
        self.filled += 1;
        self.update_mode();
        let lost = std::mem::replace(&mut self.lost, lost) < lost;
        if self.competitive && !lost {
            self.inverse += 1.0;
        } else if lost && !self.halved {
            self.halve();
        }
        self.halved = false;
    }

    fn update_velocity(&mut self) {
        let window = self.state.reno.window;
        let upwards = window > self.window_before;
        self.steady = if upwards == self.upwards { self.steady + 1 } else { 0 };
        self.velocity = match self.steady {
            0 => 1.0,
            steady if steady >= STEADY => (2.0 * self.velocity).min(window),
            _ => self.velocity,
        };
        self.upwards = upwards;
        self.window_before = window;
    }

    fn update_mode(&mut self) {
        let competitive = self.settings.switching && self.filled > EMPTY_WITHIN;
        if competitive != self.competitive {
            self.competitive = competitive;
            self.inverse = 1.0 / self.settings.delta;
        }
    }

    /// Lowers the window if too many of the segments since the last look were lost.
    fn count_losses(&mut self, now: Time, ack: &Ack) {
        let lost = ack.lost.saturating_sub(self.counted.0);
        let all = lost + ack.delivered.saturating_sub(self.counted.1);
        if all <= ENOUGH || now <= self.loss_rate_at + ack.smoothed_rtt * LOSS_RATE_OVER {
            return;
        }
        (self.loss_rate_at, self.counted) = (now, (ack.lost, ack.delivered));
        if lost as f64 > HEAVY * all as f64 {
            let lowest = Reno::MINIMUM.min(self.state.reno.window);
            self.state.reno.window = (LEFT_BY_HEAVY * self.state.reno.window).max(lowest);
        }
    }

    fn control(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.observe(cx.now, ack);
        self.count_losses(cx.now, ack);
        if self.standing.is_empty() {
            return;
        }
        if ack.round_start && !self.state.starting {
            self.end_round(ack.lost);
        }
        self.steer(ack);
    }
}

impl Controller for Copa {
    fn wants(&self) -> Wants {
        Wants { governs_recovery: true, ..Wants::default() }
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.state.reno.start(cx);
        self.bits = 8.0 * cx.segment_size.get() as f64;
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.control(cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.control(cx, ack);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.halve();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.state);
        self.state.reno.window = 1.0;
        self.state.starting = true;
        self.velocity = 1.0;
        self.steady = 0;
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        if let Some(before) = self.undo.take() {
            self.state.reno.restore(before.reno);
            self.state.starting = before.starting;
        }
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.state.reno.idle_restart(cx);
    }

    fn window(&self) -> f64 {
        self.state.reno.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.state.reno.threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.standing.is_empty() {
            return None;
        }
        let standing = self.standing.get().as_secs_f64().max(1e-9);
        let rate = PACING * self.state.reno.window * self.bits / standing;
        Some(Rate::from_bits_per_second((rate as u64).max(1)))
    }

    fn probe(&self, out: &mut dyn Probe) {
        let shown = |filter: &WindowedMin| if filter.is_empty() { 0.0 } else { filter.get().as_millis_f64() };
        out.value("rtt_min_ms", shown(&self.smallest));
        out.value("rtt_standing_ms", shown(&self.standing));
        out.value("velocity", self.velocity);
        out.value("delta", self.delta());
        out.value("competitive", f64::from(u8::from(self.competitive)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, ack, loss, probed, rtt};

    const MS: fn(u64) -> Span = Span::from_millis;

    /// Out of slow start, with RTTs of 40 ms behind it.
    fn cruising(window: f64, world: &mut World) -> Copa {
        let mut copa = Copa::new(Settings::default());
        copa.on_start(&mut world.context());
        copa.observe(world.now, &Ack { rtt: rtt(40), ..ack() });
        copa.state = State { reno: Reno { window, threshold: window }, starting: false };
        copa.window_before = window;
        copa
    }

    /// An ACK of ten segments whose RTT is `millis`, a round trip after the last one.
    fn arrives(copa: &mut Copa, world: &mut World, millis: u64, round_start: bool) {
        world.pass(MS(millis));
        let ack = Ack { rtt: rtt(millis), smoothed_rtt: MS(millis), newly_delivered: 10, round_start, ..ack() };
        copa.on_ack(&mut world.context(), &ack);
    }

    #[test]
    fn the_window_moves_towards_the_inverse_of_the_queueing_delay() {
        // RTTstanding 50 ms, d_q 10 ms, delta 0.5: 1/(0.5 * 10 ms) are 200 segments a second, 10 in 50 ms.
        for (window, after) in [(10.0, 12.0), (10.1, 10.1 - 20.0 / 10.1), (20.0, 19.0)] {
            let mut world = World::new();
            let mut copa = cruising(window, &mut world);
            // v/(delta w) for each of ten segments: 20/w.
            arrives(&mut copa, &mut world, 50, false);
            assert!((copa.window() - after).abs() < 1e-9, "{} not {after}", copa.window());
        }
    }

    #[test]
    fn slow_start_ends_when_the_target_is_passed() {
        let mut world = World::new();
        let mut copa = Copa::new(Settings::default());
        copa.on_start(&mut world.context());
        arrives(&mut copa, &mut world, 40, true);
        assert_eq!((copa.window(), copa.slow_start_threshold()), (20.0, f64::INFINITY));
        // 10 ms of queue allow 10 segments.
        arrives(&mut copa, &mut world, 50, true);
        assert_eq!((copa.window(), copa.slow_start_threshold()), (19.0, 20.0));
    }

    #[test]
    fn the_velocity_doubles_after_three_round_trips_in_one_direction() {
        let mut world = World::new();
        let mut copa = cruising(100.0, &mut world);
        let mut velocities = Vec::new();
        for _ in 0..6 {
            arrives(&mut copa, &mut world, 40, true);
            velocities.push(probed(&copa, "velocity"));
        }
        // The first round trip ends before anything grew: downwards, a change.
        assert_eq!(velocities, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0]);
        // A queue of 20 ms turns it around, and the round trip after that shows it.
        arrives(&mut copa, &mut world, 60, true);
        arrives(&mut copa, &mut world, 60, true);
        assert_eq!(probed(&copa, "velocity"), 1.0);
    }

    #[test]
    fn a_velocity_that_was_earned_upwards_takes_nothing_down() {
        let mut world = World::new();
        let mut copa = cruising(100.0, &mut world);
        (copa.velocity, copa.upwards, copa.steady) = (64.0, true, 8);
        // 20 ms of queue, within the round trip: 1/(delta w) for each of ten segments, 20/100.
        arrives(&mut copa, &mut world, 60, false);
        assert!((copa.window() - 99.8).abs() < 1e-9, "{}", copa.window());
        assert_eq!(probed(&copa, "velocity"), 1.0);
        // From then on the direction is counted anew.
        arrives(&mut copa, &mut world, 60, true);
        assert_eq!((copa.upwards, copa.steady), (false, 1));
    }

    #[test]
    fn a_queue_that_is_never_empty_makes_it_compete_and_an_empty_one_stops_it() {
        let mut world = World::new();
        let mut copa = cruising(10.0, &mut world);
        (0..5).for_each(|_| arrives(&mut copa, &mut world, 80, true));
        assert_eq!((probed(&copa, "competitive"), probed(&copa, "delta")), (0.0, 0.5));
        arrives(&mut copa, &mut world, 80, true);
        // 1/delta is 2, and one more.
        assert_eq!((probed(&copa, "competitive"), probed(&copa, "delta")), (1.0, 1.0 / 3.0));
        (0..4).for_each(|_| arrives(&mut copa, &mut world, 80, true));
        assert_eq!(copa.inverse, 7.0);
        copa.on_loss(&mut world.context(), &loss());
        assert_eq!(copa.inverse, 3.5);
        arrives(&mut copa, &mut world, 40, false);
        arrives(&mut copa, &mut world, 40, true);
        assert_eq!((probed(&copa, "competitive"), probed(&copa, "delta")), (0.0, 0.5));
    }

    #[test]
    fn each_round_trip_with_a_loss_halves_its_weight_once() {
        let mut world = World::new();
        let mut copa = cruising(10.0, &mut world);
        (copa.competitive, copa.inverse, copa.filled) = (true, 16.0, 6);
        copa.on_loss(&mut world.context(), &loss());
        assert_eq!(copa.inverse, 8.0);
        // The loss of that round trip has counted. Nothing is lost in the next, something in the one after it.
        copa.end_round(1);
        assert_eq!(copa.inverse, 8.0);
        copa.end_round(1);
        assert_eq!(copa.inverse, 9.0);
        copa.end_round(3);
        assert_eq!(copa.inverse, 4.5);
    }

    #[test]
    fn heavy_losses_over_two_round_trips_take_three_tenths_of_the_window() {
        let mut world = World::new();
        let mut copa = cruising(100.0, &mut world);
        let mut counts = (0, 0);
        let mut brings = |copa: &mut Copa, world: &mut World, lost: u64, delivered: u64| {
            counts = (counts.0 + lost, counts.1 + delivered);
            let signal = Ack { smoothed_rtt: MS(40), lost: counts.0, delivered: counts.1, ..ack() };
            world.pass(MS(41));
            copa.count_losses(world.now, &signal);
            copa.window()
        };
        // After 41 ms 12 are too few; after 82 ms, 7 of 22 are more than 0.3.
        assert_eq!(brings(&mut copa, &mut world, 4, 8), 100.0);
        assert_eq!(brings(&mut copa, &mut world, 3, 7), 70.0);
        assert_eq!(brings(&mut copa, &mut world, 6, 6), 70.0);
        assert_eq!(brings(&mut copa, &mut world, 4, 4), 70.0);
        assert_eq!(brings(&mut copa, &mut world, 0, 14), 70.0);
        copa.state.reno.window = 2.5;
        assert_eq!(brings(&mut copa, &mut world, 20, 5), 2.5);
        brings(&mut copa, &mut world, 20, 5);
        assert_eq!(copa.window(), 2.0);
    }

    #[test]
    fn segments_leave_at_twice_the_rate_of_the_window() {
        let mut world = World::new();
        let copa = cruising(50.0, &mut world);
        // 2 * 50 * 1448 * 8 bits in 40 ms.
        assert_eq!(copa.pacing_rate(), Some(Rate::from_bits_per_second(28_960_000)));
    }

    #[test]
    fn a_timeout_starts_anew_and_a_spurious_one_does_not() {
        let mut world = World::new();
        let mut copa = cruising(50.0, &mut world);
        copa.on_timeout(&mut world.context(), &loss());
        assert_eq!((copa.window(), copa.state.starting), (1.0, true));
        copa.on_spurious(&mut world.context());
        assert_eq!((copa.window(), copa.state.starting), (50.0, false));
    }
}
