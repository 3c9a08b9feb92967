//! The controller that has another one inside and starts in its place.

use units::{Rate, Span, Time};

use super::careful_resume::{CarefulResume, Order};
use super::hystart::HyStart;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::rapid_start::{Landing, RapidStart};
use super::search::Search;
use super::{Method, Settings, Step, limited};
use crate::{
    Ack, Context, Controller, Loss, Marks, ParameterError, Parameters, Probe, Reno, SegmentReport, Subflows,
    Transmission, Wants,
};

/// The state of the method.
#[derive(Clone, Debug)]
enum Finder {
    /// The controller's own.
    Own,
    Classic,
    Limited,
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
    Search(Box<Search>),
    RapidStart(RapidStart),
    CarefulResume(CarefulResume),
}

/// A controller with another start.
pub(crate) struct Start {
    settings: Settings,
    inner: Box<dyn Controller>,
    method: Finder,
    /// Rapid Start: its first recovery.
    landing: Option<Landing>,
    /// Segments, and bytes of one.
    initial_window: f64,
    segment: u64,
    /// While the initial window is paced.
    initial_rate: Option<Rate>,
}

impl Start {
    /// `inner`, which starts slowly, with the start of `settings`.
    pub(crate) fn new(settings: Settings, inner: Box<dyn Controller>) -> Self {
        let method = match settings.slow_start {
            Method::Own => Finder::Own,
            Method::Classic => Finder::Classic,
            Method::Limited => Finder::Limited,
            Method::HyStart => Finder::HyStart(HyStart::new(true, true, 8, false)),
            Method::HyStartPlusPlus => {
                Finder::HyStartPlusPlus(HyStartPlusPlus::new(settings.css_rounds, settings.css_growth_divisor))
            }
            Method::Search => Finder::Search(Box::new(Search::new(settings.search_window, settings.search_threshold))),
            Method::RapidStart => Finder::RapidStart(RapidStart::new()),
            Method::CarefulResume => {
                Finder::CarefulResume(CarefulResume::new(settings.saved_window, settings.saved_rtt))
            }
        };
        Self { settings, inner, method, landing: None, initial_window: 1.0, segment: 1, initial_rate: None }
    }

    /// Window and threshold of the controller inside, which has them.
    fn reno_inside(&mut self) -> &mut Reno {
        self.inner.reno().expect("only a controller that starts slowly is put into another start")
    }

    /// What the method makes of an ACK in slow start. Most are for the first one of a connection only, and after a
    /// timeout the window doubles up to the threshold.
    fn step(&mut self, now: Time, ack: &Ack) -> Step {
        let Reno { window, threshold } = *self.reno_inside();
        let is_first = threshold.is_infinite();
        match &mut self.method {
            Finder::Limited => Step::grow(limited::growth(window, self.settings.limited_above)),
            Finder::HyStart(hystart) => Step { growth: 1.0, ends: hystart.observe(now, ack, window) },
            Finder::HyStartPlusPlus(search) if is_first => search.observe(ack),
            Finder::Search(search) if is_first => search.observe(now, ack),
            Finder::RapidStart(rapid) if is_first => rapid.observe(ack),
            _ => Step::grow(1.0),
        }
    }

    /// Grows as the method says.
    fn grow(&mut self, now: Time, ack: &Ack) {
        let step = self.step(now, ack);
        let most = match self.method {
            Finder::HyStartPlusPlus(_) if self.settings.ack_limit > 0 => f64::from(self.settings.ack_limit),
            _ => f64::INFINITY,
        };
        let reno = self.reno_inside();
        if ack.window_limited {
            let counted = ack.slow_start_credit().min(most);
            reno.window = (reno.window + step.growth * counted).min(reno.threshold);
        }
        if step.ends {
            reno.threshold = reno.window;
        }
    }

    /// What Careful Resume makes of `ack`: whether the window may grow as usual.
    fn resume(&mut self, ack: &Ack) -> bool {
        let (initial, segment) = (self.initial_window, self.segment);
        let before = self.reno_inside().window;
        let Finder::CarefulResume(resume) = &mut self.method else { return true };
        let order = resume.observe(ack, before, initial, segment);
        let reno = self.reno_inside();
        match order {
            Order::Grow => return true,
            Order::Hold => {}
            Order::Set(window) => reno.window = window,
            Order::End(threshold) => reno.threshold = threshold,
        }
        false
    }

    /// A first congestion event, at which the window was `before`.
    fn congested(&mut self, before: Reno, newly_lost: u32, sent_to: u64) {
        let after = self.reno_inside().window;
        let capped = match &mut self.method {
            Finder::RapidStart(_) if before.threshold.is_infinite() => {
                let mut landing = Landing::new(before.window, after / before.window, sent_to);
                landing.observe(0, newly_lost);
                self.landing = Some(landing);
                landing.window()
            }
            Finder::CarefulResume(resume) => match resume.congested(sent_to) {
                Some(most) => most.max(Reno::MINIMUM).min(after),
                None => return,
            },
            _ => return,
        };
        *self.reno_inside() = Reno { window: capped, threshold: capped };
    }

    /// The first recovery of Rapid Start. Whether there is one.
    fn land(&mut self, ack: &Ack) -> bool {
        let Some(landing) = &mut self.landing else { return false };
        landing.observe(ack.newly_delivered, ack.newly_lost);
        let (window, is_over) = (landing.window(), landing.is_over(ack.acknowledged_to));
        *self.reno_inside() = Reno { window, threshold: window };
        if is_over {
            self.landing = None;
        }
        true
    }

    fn forget(&mut self) {
        self.landing = None;
        if let Finder::CarefulResume(resume) = &mut self.method {
            resume.stop();
        }
    }

    fn retreats(&self) -> bool {
        self.landing.is_some() || matches!(&self.method, Finder::CarefulResume(resume) if resume.retreats())
    }
}

impl Controller for Start {
    fn wants(&self) -> Wants {
        self.inner.wants()
    }

    fn join(&mut self, subflows: &Subflows, index: usize) {
        self.inner.join(subflows, index);
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        (self.initial_window, self.segment) = (cx.initial_window, cx.segment_size.get().max(1));
        if let Finder::HyStart(hystart) = &mut self.method {
            hystart.restart(cx.now);
        }
        self.inner.on_start(cx);
    }

    fn on_handshake(&mut self, cx: &mut Context<'_>, rtt: Span) {
        let paces = self.settings.initial_pacing || matches!(self.method, Finder::RapidStart(_));
        if paces && !rtt.is_zero() {
            let bits = self.initial_window * self.segment as f64 * 8.0 / rtt.as_secs_f64();
            self.initial_rate = Some(Rate::from_bits_per_second((bits as u64).max(1)));
        }
        self.inner.on_handshake(cx, rtt);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if ack.delivered as f64 >= self.initial_window {
            self.initial_rate = None;
        }
        let unused = Ack { window_limited: false, ..*ack };
        if self.retreats() {
            self.inner.on_ack(cx, &unused);
            if !self.land(ack) {
                self.resume(ack);
            }
        } else if !matches!(self.method, Finder::Own) && self.reno_inside().in_slow_start() {
            self.inner.on_ack(cx, &unused);
            if self.resume(ack) && self.reno_inside().in_slow_start() {
                self.grow(cx.now, ack);
            }
        } else {
            self.inner.on_ack(cx, ack);
        }
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.inner.on_duplicate_ack(cx, ack);
        if self.retreats() && !self.land(ack) {
            self.resume(ack);
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.initial_rate = None;
        let before = *self.reno_inside();
        self.inner.on_loss(cx, loss);
        self.congested(before, loss.newly_lost, loss.sent_to);
    }

    fn on_ecn(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        let before = *self.reno_inside();
        self.inner.on_ecn(cx, marks);
        self.congested(before, 0, marks.sent_to);
    }

    fn keep(&mut self, window: f64) -> bool {
        // The retreat after an early congestion event has an answer of its own.
        self.retreats() || self.inner.keep(window)
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.inner.on_recovered(cx);
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.initial_rate = None;
        self.forget();
        self.inner.on_timeout(cx, loss);
        if let Finder::HyStart(hystart) = &mut self.method {
            hystart.restart(cx.now);
        }
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.forget();
        self.inner.on_spurious(cx);
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.inner.on_idle_restart(cx);
    }

    fn on_sent(&mut self, cx: &mut Context<'_>, sent: &Transmission) {
        self.inner.on_sent(cx, sent);
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, idle: Span) {
        self.inner.on_transmit_start(cx, idle);
    }

    fn on_segment_delivered(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.inner.on_segment_delivered(cx, segment);
    }

    fn on_segment_lost(&mut self, cx: &mut Context<'_>, segment: &SegmentReport) {
        self.inner.on_segment_lost(cx, segment);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.inner.poll_timeout()
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.inner.on_timer(cx);
    }

    fn set_parameters(&mut self, given: &Parameters) -> Result<(), ParameterError> {
        self.inner.set_parameters(given)
    }

    fn window(&self) -> f64 {
        self.inner.window()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.inner.slow_start_threshold()
    }

    fn reno(&mut self) -> Option<&mut Reno> {
        self.inner.reno()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let jump = match &self.method {
            Finder::CarefulResume(resume) => resume.rate(),
            _ => None,
        };
        self.initial_rate.or(jump).or_else(|| self.inner.pacing_rate())
    }

    fn send_quantum(&self) -> u32 {
        self.inner.send_quantum()
    }

    fn probe(&self, out: &mut dyn Probe) {
        self.inner.probe(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::build;
    use crate::testing::{World, ack, loss, rtt};

    fn started(cc: &str, text: &str) -> (Box<dyn Controller>, World) {
        let mut world = World::new();
        let mut controller = build(cc, &serde_json::from_str(text).unwrap()).unwrap();
        controller.on_start(&mut world.context());
        (controller, world)
    }

    /// Segments up to `to` delivered, of which `newly` by this ACK.
    fn acked(newly: u32, to: u64) -> Ack {
        Ack {
            rtt: rtt(40),
            newly_acknowledged: newly,
            newly_delivered: newly,
            delivered: to,
            acknowledged_to: to,
            sent_to: to + 40,
            ..ack()
        }
    }

    #[test]
    fn the_growth_of_slow_start_is_that_of_the_method_and_then_that_of_the_controller() {
        for (method, window) in [("classic", 20.0), ("limited", 15.0), ("hystart++", 18.0), ("rapid-start", 30.0)] {
            let text = format!(r#"{{"slow_start": "{method}", "limited_above": 9}}"#);
            let (mut controller, mut world) = started("cubic", &text);
            // Above 9 segments K = int(10 / 4.5) = 2; HyStart++ counts eight of an ACK.
            controller.on_ack(&mut world.context(), &acked(10, 10));
            assert_eq!(controller.window(), window, "{method}");
            controller.on_loss(&mut world.context(), &loss());
            let after = controller.window();
            controller.on_ack(&mut world.context(), &Ack { window_limited: false, ..acked(10, 20) });
            assert!(method == "rapid-start" || controller.window() == after, "{method}");
        }
    }

    #[test]
    fn an_unused_window_does_not_grow_and_a_timeout_doubles_up_to_the_threshold() {
        let (mut controller, mut world) = started("newreno", r#"{"slow_start": "rapid-start"}"#);
        controller.on_ack(&mut world.context(), &Ack { window_limited: false, ..acked(10, 10) });
        assert_eq!(controller.window(), 10.0);
        controller.on_timeout(&mut world.context(), &loss());
        controller.on_ack(&mut world.context(), &acked(2, 12));
        assert_eq!((controller.window(), controller.slow_start_threshold()), (3.0, 5.0));
        controller.on_ack(&mut world.context(), &acked(4, 16));
        assert_eq!(controller.window(), 5.0);
    }

    #[test]
    fn what_a_mark_leaves_is_up_to_the_controller_but_not_in_a_retreat() {
        let marks = Marks { in_flight: 20, acknowledged_to: 10, sent_to: 60, at: units::Time::ZERO };
        for (method, left) in [("classic", 16.0), ("rapid-start", 0.0)] {
            let (mut controller, mut world) = started("newreno", &format!(r#"{{"slow_start": "{method}"}}"#));
            controller.on_ack(&mut world.context(), &acked(10, 10));
            controller.on_ecn(&mut world.context(), &marks);
            let before = controller.window();
            assert!(controller.keep(16.0));
            assert_eq!(controller.window(), if left > 0.0 { left } else { before }, "{method}");
        }
        let (mut siad, _) = started("siad", "{}");
        assert!(!siad.keep(16.0));
    }

    #[test]
    fn rapid_start_lands_by_what_its_first_recovery_shows() {
        let (mut controller, mut world) = started("newreno", r#"{"slow_start": "rapid-start"}"#);
        (1..=2).for_each(|n| controller.on_ack(&mut world.context(), &acked(10, 10 * n)));
        // 50 segments, of which 60 were sent in all; 5/6 of them, less 5/6 for the one that is lost.
        let mut lost = loss();
        lost.sent_to = 60;
        controller.on_loss(&mut world.context(), &lost);
        assert!((controller.window() - 245.0 / 6.0).abs() < 1e-9, "{}", controller.window());
        // 15 delivered and 3 lost: 5 and 2.5 less.
        controller.on_duplicate_ack(&mut world.context(), &Ack { newly_lost: 3, ..acked(15, 20) });
        assert!((controller.window() - 200.0 / 6.0).abs() < 1e-9, "{}", controller.window());
        // The end of recovery: 14 delivered take 14/3. Afterwards it is NewReno.
        controller.on_ack(&mut world.context(), &acked(14, 60));
        let landed = 172.0 / 6.0;
        assert!((controller.window() - landed).abs() < 1e-9, "{}", controller.window());
        controller.on_ack(&mut world.context(), &acked(1, 61));
        assert!((controller.window() - landed - 1.0 / landed).abs() < 1e-9);
    }

    #[test]
    fn the_initial_window_is_paced_over_the_handshake_until_it_is_delivered() {
        let (mut controller, mut world) = started("cubic", r#"{"initial_pacing": true}"#);
        assert_eq!(controller.pacing_rate(), None);
        controller.on_handshake(&mut world.context(), Span::from_millis(100));
        // Ten of 1448 bytes in 100 ms.
        assert_eq!(controller.pacing_rate(), Some(Rate::from_bits_per_second(1_158_400)));
        controller.on_ack(&mut world.context(), &acked(9, 9));
        assert!(controller.pacing_rate().is_some());
        controller.on_ack(&mut world.context(), &acked(1, 10));
        assert_eq!(controller.pacing_rate(), None);
        assert_eq!(controller.window(), 20.0);
    }

    #[test]
    fn hystart_ends_slow_start_under_newreno_as_under_cubic() {
        let (mut controller, mut world) = started("newreno", r#"{"slow_start": "hystart"}"#);
        (1..=2).for_each(|n| controller.on_ack(&mut world.context(), &Ack { rtt: None, ..acked(10, 10 * n) }));
        // On a path of 40 ms 46 are too long; eight samples, and the ninth ends it.
        for n in 1..=9 {
            assert!(controller.slow_start_threshold().is_infinite());
            world.pass(Span::from_millis(5));
            controller.on_ack(&mut world.context(), &Ack { rtt: rtt(46), ..acked(1, 20 + n) });
        }
        assert_eq!((controller.window(), controller.slow_start_threshold()), (39.0, 39.0));
    }
}
