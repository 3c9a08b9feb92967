//! The controller that has another one inside and starts in its place.

use units::{Rate, Span, Time};

use super::careful_resume::{CarefulResume, Order};
use super::hystart::HyStart;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::rapid_start::{Landing, RapidStart};
use super::search::Search;
use super::{Method, Settings, Step, limited};
use crate::{
    Ack, Context, Controller, Loss, Marks, Moment, ParameterError, Parameters, Probe, Reno, SegmentReport, Subflows,
    Transmission, TransmitStart, Wants,
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

    /// The method's answer to an ACK in slow start. Most are for the first one of a connection only, and after a
    /// timeout the window doubles up to the threshold.
    fn step(&mut self, now: Time, ack: &Ack) -> Step {
        let Reno { window, threshold } = *self.reno_inside();
        let is_first = threshold.is_infinite();
        match &mut self.method {
            Finder::Limited => Step::grow(limited::growth(window, self.settings.limited_above)),
            Finder::HyStart(hystart) => Step { growth: 1.0, ends: hystart.observe(now, ack, window, Span::ZERO) },
            Finder::HyStartPlusPlus(search) if is_first => search.observe(ack),
            Finder::Search(search) if is_first => search.observe(now, ack),
            Finder::RapidStart(rapid) if is_first => rapid.observe(ack),
            _ => Step::grow(1.0),
        }
    }

    /// Grows as the method says.
    fn grow(&mut self, at: &Moment, ack: &Ack) {
        let step = self.step(at.now, ack);
        let most = match self.method {
            Finder::HyStartPlusPlus(_) if self.settings.ack_limit > 0 => f64::from(self.settings.ack_limit),
            _ => f64::INFINITY,
        };
        let reno = self.reno_inside();
        if ack.window_limited {
            let counted = ack.slow_start_credit(at).min(most);
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
                self.grow(cx, ack);
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

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        self.inner.on_transmit_start(cx, start);
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
mod tests;
