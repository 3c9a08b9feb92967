//! The driver: the only caller of the controller. It hands events on and stores the decisions.

use control::{Context, Controller, Moment, RESOLUTION, Wants};
use prefetch_index::prefetch_index;
use units::{Bytes, Ecn, Random, Rate, Span, Time};

/// Decisions of the controller, for the output.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// The pacing rate.
    pub rate: Option<Rate>,
    /// The window came down.
    pub fell: bool,
    /// Segments of a train, if that was asked.
    pub quantum: Option<u32>,
}

/// The controller of a sender and its decisions.
pub struct Driver {
    controller: Box<dyn Controller>,
    wants: Wants,
    /// The window and the slow-start threshold as the controller has them: they change at its events alone, and asking
    /// is an indirect call.
    exact_window: f64,
    threshold: f64,
    window: u32,
    /// The ECN codepoint of new segments.
    codepoint: Ecn,
    /// When the controller wants to be woken, or [`Time::NEVER`] if not.
    wake_at: Time,
    random: Random,
}

impl Driver {
    /// A controller before its first event. `marks` says whether ECN is in use.
    pub fn new(controller: Box<dyn Controller>, marks: bool, random: Random) -> Self {
        let wants = controller.wants();
        let codepoint = match marks {
            true if wants.l4s => Ecn::Ect1,
            true => Ecn::Ect0,
            false => Ecn::NotCapable,
        };
        Self {
            controller,
            wants,
            exact_window: 1.0,
            threshold: f64::INFINITY,
            window: 1,
            codepoint,
            wake_at: Time::NEVER,
            random,
        }
    }

    /// Lets the controller handle an event, then reads its decisions. `smoothed` is the smoothed RTT, zero before the
    /// first sample. `is_over`: the flow will send nothing more.
    #[inline(always)]
    pub fn notify(
        &mut self,
        moment: &Moment,
        smoothed: Span,
        is_over: impl FnOnce() -> bool,
        event: impl FnOnce(&mut dyn Controller, &mut Context<'_>),
    ) -> Decision {
        let mut cx = Context { moment: *moment, random: &mut self.random };
        event(self.controller.as_mut(), &mut cx);
        let (window, threshold, rate) = self.controller.decisions();
        (self.exact_window, self.threshold) = (window, threshold);
        let before = std::mem::replace(&mut self.window, (window as u32).max(1));
        let fell = self.window < before;
        if rate.is_none() && !self.wants.fractional_window && !self.wants.timer {
            return Decision { rate, fell, quantum: None };
        }
        let below_one = self.wants.fractional_window && window < 1.0;
        let slowest = if below_one { rate_of(window, moment.segment_size, smoothed) } else { None };
        let (rate, quantum) = self.read_wishes(moment.now, slowest, is_over(), rate);
        Decision { rate, fell, quantum: Some(quantum) }
    }

    /// Reads decisions that few controllers make: bursts, a rate for windows below one segment (`slowest`), a timer.
    #[inline(never)]
    fn read_wishes(
        &mut self,
        now: Time,
        slowest: Option<Rate>,
        is_over: bool,
        rate: Option<Rate>,
    ) -> (Option<Rate>, u32) {
        let rate = slowest.into_iter().chain(rate).min();
        let quantum = self.controller.send_quantum();
        // A controller whose flow is over sleeps, and one that names the present again would stop the time.
        let at = if self.wants.timer && !is_over { self.controller.poll_timeout() } else { None };
        self.wake_at = at.map_or(Time::NEVER, |at| at.max(now + RESOLUTION));
        (rate, quantum)
    }

    /// True if the controller wants to be woken at `now`. It does so once.
    pub fn take_wake(&mut self, now: Time) -> bool {
        let due = self.wake_at <= now;
        if due {
            self.wake_at = Time::NEVER;
        }
        due
    }

    /// When the controller wants to be woken, or [`Time::NEVER`] if not.
    pub fn wake_at(&self) -> Time {
        self.wake_at
    }

    /// Events that the controller asks for.
    #[inline]
    pub fn wants(&self) -> &Wants {
        &self.wants
    }

    /// True if the stack brings the window to its target in recovery and holds it there, as for most controllers.
    #[inline]
    pub fn is_held_in_recovery(&self) -> bool {
        !(self.wants.governs_recovery || self.wants.slow_starts_on_loss)
    }

    /// The window in whole segments, one at least.
    #[inline]
    pub fn window(&self) -> u32 {
        self.window
    }

    /// The window and the slow-start threshold as they were after the last event.
    #[inline]
    pub fn decided(&self) -> (f64, f64) {
        (self.exact_window, self.threshold)
    }

    /// The ECN codepoint of new segments.
    pub fn codepoint(&self) -> Ecn {
        self.codepoint
    }

    /// The controller, for its window, threshold and probes.
    pub fn controller(&self) -> &dyn Controller {
        self.controller.as_ref()
    }

    /// Lets the processor fetch the controller.
    pub fn prefetch(&self) {
        // Its address, as an offset from an empty slice. The type behind `dyn` does not matter.
        let (nothing, controller): (&[u8], *const dyn Controller) = (&[], self.controller.as_ref());
        let bytes = controller.cast::<u8>().addr().wrapping_sub(nothing.as_ptr().addr());
        prefetch_index(nothing, bytes);
        prefetch_index(nothing, bytes.wrapping_add(64));
    }
}

/// The rate that sends `window` segments a round trip, or none before the first RTT sample.
fn rate_of(window: f64, segment_size: Bytes, smoothed: Span) -> Option<Rate> {
    let rtt = smoothed.as_secs_f64();
    let bits = 8.0 * segment_size.get() as f64;
    // Slower than any timeout is slow enough, and not standing still.
    (rtt > 0.0).then(|| Rate::from_bits_per_second((window * bits / rtt).max(1.0) as u64))
}

#[cfg(test)]
mod tests {
    use control::{Ack, Loss};

    use super::*;

    /// Takes the window that it is given with each ACK, and paces below one segment.
    #[derive(Clone)]
    struct Given(f64);

    impl Controller for Given {
        fn wants(&self) -> Wants {
            Wants { fractional_window: true, timer: true, ..Wants::default() }
        }
        fn on_start(&mut self, _cx: &mut Context<'_>) {}
        fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &Ack) {
            self.0 = f64::from(ack.newly_delivered) / 4.0;
        }
        fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
        fn on_timeout(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {}
        fn on_idle_restart(&mut self, _cx: &mut Context<'_>) {}
        fn window(&self) -> f64 {
            self.0
        }
        fn slow_start_threshold(&self) -> f64 {
            8.0
        }
        fn send_quantum(&self) -> u32 {
            2
        }
        fn poll_timeout(&self) -> Option<Time> {
            Some(Time::ZERO + Span::from_millis(70))
        }
    }

    const MOMENT: Moment = Moment { segment_size: Bytes::new(1000), initial_window: 10.0, ..Moment::EMPTY };
    const SMOOTHED: Span = Span::from_millis(100);

    fn driver() -> Driver {
        Driver::new(Box::new(Given(4.0)), false, Random::stream(1, "flow", 0))
    }

    fn deliver(driver: &mut Driver, quarters: u32) -> Decision {
        let ack = Ack { newly_delivered: quarters, ..Ack::EMPTY };
        driver.notify(&MOMENT, SMOOTHED, || false, |controller, cx| controller.on_ack(cx, &ack))
    }

    #[test]
    fn a_window_counts_in_whole_segments_and_one_at_least() {
        let mut driver = driver();
        let decisions = [22, 23, 10, 2].map(|quarters| (deliver(&mut driver, quarters).fell, driver.window()));
        assert_eq!(decisions, [(false, 5), (false, 5), (true, 2), (true, 1)]);
        assert_eq!(driver.decided(), (0.5, 8.0));
    }

    #[test]
    fn half_a_segment_a_round_trip_is_paced() {
        // 4000 bits in 100 ms.
        let decision = deliver(&mut driver(), 2);
        assert_eq!(decision.rate, Some(Rate::from_bits_per_second(40_000)));
        assert_eq!(decision.quantum, Some(2));
        assert_eq!(deliver(&mut driver(), 4).rate, None);
    }

    #[test]
    fn a_controller_is_woken_once_and_not_when_its_flow_is_over() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let mut driver = driver();
        assert_eq!(driver.wake_at(), Time::NEVER);
        deliver(&mut driver, 8);
        assert_eq!([at(69), at(70), at(71)].map(|now| driver.take_wake(now)), [false, true, false]);
        driver.notify(&MOMENT, SMOOTHED, || true, |_, _| {});
        assert_eq!(driver.wake_at(), Time::NEVER);
    }
}
