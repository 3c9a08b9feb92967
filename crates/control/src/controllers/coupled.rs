//! Coupled Reno: the subflows of one multipath flow, by the three rules of Edwan 2010, section 2.7.
//!
//! W is the sum of the windows of all subflows, w the window of one.
//!
//! | coupling | growth for each segment acknowledged | what a loss takes | here |
//! | --- | --- | --- | --- |
//! | `fully` | 1/W | W/2, one segment stays | `Coupled::left` |
//! | `uncoupled` | 1/w | w/2 | as NewReno |
//! | `semi` | a/W | w/2 | `Coupled::increase` |
//!
//! The thesis leaves `a` open. By default it is the one with which the flow takes as much as one TCP on its best path
//! (RFC 6356, section 4): a = W max(w/RTT^2) / (sum of w/RTT)^2, but without that RFC's second limit of 1/w.
//!
//! Every subflow has a slow start, timeouts and a smallest window of its own. A flow without subflows is NewReno
//! under each of the rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::{choices, parameters};
use crate::range::from;
use crate::{Ack, Context, Controller, Loss, Probe, Reno, Undo};

/// The entry of coupled Reno in the registry.
pub const ENTRY: Entry = Entry {
    name: "coupled",
    title: "Coupled Reno",
    summary: "NewReno whose subflows grow by the sum of their windows",
    source: "Edwan 2010, section 2.7; RFC 6356",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("total_window", "segments", "W, the windows of all subflows together"),
        Quantity::new("a", "", "Segments a round trip by which the windows grow together"),
    ],
    make: |given| Ok(Box::new(Coupled::new(Settings::read(given)?))),
};

/// The share of its window that a loss leaves a subflow by itself.
const BETA: f64 = 0.5;

choices! {
    /// The rule that ties the subflows together.
    pub enum Coupling {
        /// Growth and decrease.
        Fully = Word("fully"),
        /// Nothing.
        Uncoupled = Word("uncoupled"),
        /// Growth alone.
        Semi = Word("semi"),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// Growth and decrease follow the sum of the windows, neither does, or growth alone
        coupling: Coupling = Coupling::Semi, source "section 2.7";
        /// Segments a round trip by which semi-coupled windows grow together; 0 for as much as one TCP on the best path
        a: f64 = 0.0, range from(0.0).up_to(1000.0), source "section 2.7, a; RFC 6356, alpha";
    }
}

/// Shared by the subflows of one flow: windows in segments and RTTs in seconds, as bits.
#[derive(Clone, Debug)]
pub struct Subflows(Arc<[[AtomicU64; 2]]>);

impl Subflows {
    /// A flow with `count` subflows, none of which has begun.
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect())
    }

    /// Window and RTT of each subflow that has begun.
    fn all(&self) -> impl Iterator<Item = (f64, f64)> {
        let read = |value: &AtomicU64| f64::from_bits(value.load(Ordering::Relaxed));
        self.0.iter().map(move |[window, rtt]| (read(window), read(rtt))).filter(|(window, _)| *window > 0.0)
    }

    fn set(&self, index: usize, window: f64, rtt: f64) {
        if let Some([of_window, of_rtt]) = self.0.get(index) {
            of_window.store(window.to_bits(), Ordering::Relaxed);
            of_rtt.store(rtt.to_bits(), Ordering::Relaxed);
        }
    }
}

/// The controller of one subflow.
#[derive(Clone, Debug)]
pub struct Coupled {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    /// The smoothed RTT in seconds, 0 before the first sample.
    rtt: f64,
    subflows: Subflows,
    index: usize,
}

impl Coupled {
    /// A subflow without others.
    pub fn new(settings: Settings) -> Self {
        Self { settings, reno: Reno::new(), undo: Undo::default(), rtt: 0.0, subflows: Subflows::new(1), index: 0 }
    }

    /// W.
    fn total(&self) -> f64 {
        let others = self.subflows.all().map(|(window, _)| window).sum::<f64>();
        others.max(self.reno.window)
    }

    /// Segments a round trip that all windows together grow by.
    fn aggressiveness(&self) -> f64 {
        match self.settings.coupling {
            Coupling::Fully => 1.0,
            Coupling::Uncoupled => self.total() / self.reno.window,
            Coupling::Semi if self.settings.a > 0.0 => self.settings.a,
            Coupling::Semi => {
                let (mut best, mut rate) = (0.0_f64, 0.0);
                for (window, rtt) in self.subflows.all().filter(|(_, rtt)| *rtt > 0.0) {
                    best = best.max(window / (rtt * rtt));
                    rate += window / rtt;
                }
                if rate > 0.0 { self.total() * best / (rate * rate) } else { 1.0 }
            }
        }
    }

    /// Segments a round trip by which this window grows.
    fn increase(&self) -> f64 {
        match self.settings.coupling {
            Coupling::Uncoupled => 1.0,
            Coupling::Fully | Coupling::Semi => self.aggressiveness() * self.reno.window / self.total(),
        }
    }

    /// The window that a loss leaves.
    fn left(&self) -> f64 {
        match self.settings.coupling {
            Coupling::Fully => (self.reno.window - BETA * self.total()).max(1.0),
            Coupling::Uncoupled | Coupling::Semi => (BETA * self.reno.window).max(Reno::MINIMUM),
        }
    }

    /// Lets the other subflows know.
    fn publish(&self) {
        self.subflows.set(self.index, self.reno.window, self.rtt);
    }
}

impl Controller for Coupled {
    fn join(&mut self, subflows: &Subflows, index: usize) {
        self.subflows = subflows.clone();
        self.index = index;
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.reno.start(cx);
        self.publish();
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        self.rtt = ack.smoothed_rtt.as_secs_f64();
        self.publish();
        self.reno.grow_by(cx, ack, self.increase());
        self.publish();
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        let left = self.left();
        self.reno.window = self.reno.window.min(left);
        self.reno.threshold = left.max(Reno::MINIMUM);
        self.publish();
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        let left = self.left() / self.reno.window;
        self.reno.timeout(left, loss.again);
        self.publish();
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.undo.restore(&mut self.reno);
        self.publish();
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.reno.idle_restart(cx);
        self.publish();
    }

    fn window(&self) -> f64 {
        self.reno.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.reno.threshold
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("total_window", self.total());
        out.value("a", self.aggressiveness());
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::testing::{World, ack, loss, probed};

    /// Two subflows with windows of 30 and 10 segments and RTTs of 100 and 50 ms, in congestion avoidance.
    fn pair(coupling: Coupling) -> [Coupled; 2] {
        let subflows = Subflows::new(2);
        let mut index = 0;
        [(30.0, 0.1), (10.0, 0.05)].map(|(window, rtt)| {
            let mut one = Coupled::new(Settings { coupling, ..Settings::default() });
            one.join(&subflows, index);
            index += 1;
            (one.reno, one.rtt) = (Reno { window, threshold: 2.0 }, rtt);
            one.publish();
            one
        })
    }

    /// By how much a window of ACKs makes the first window grow.
    fn growth(coupling: Coupling) -> f64 {
        let [mut first, _] = pair(coupling);
        let ack = Ack { newly_acknowledged: 30, newly_delivered: 30, smoothed_rtt: Span::from_millis(100), ..ack() };
        first.on_ack(&mut World::new().context(), &ack);
        first.window() - 30.0
    }

    #[test]
    fn thirty_acks_grow_the_window_by_the_rule_of_the_coupling() {
        // `30/W = 30/40`; `30/30`; `a = 40 * max(30/0.01, 10/0.0025) / (300 + 200)^2 = 0.64`, and 30/40 of it.
        assert!((growth(Coupling::Fully) - 0.75).abs() < 1e-12);
        assert!((growth(Coupling::Uncoupled) - 1.0).abs() < 1e-12);
        assert!((growth(Coupling::Semi) - 0.48).abs() < 1e-12, "{}", growth(Coupling::Semi));
        assert!((probed(&pair(Coupling::Semi)[1], "a") - 0.64).abs() < 1e-12);
    }

    #[test]
    fn a_loss_takes_half_of_all_windows_or_of_the_own() {
        let mut world = World::new();
        for (coupling, left) in [(Coupling::Fully, [10.0, 1.0]), (Coupling::Uncoupled, [15.0, 5.0])] {
            for (index, left) in left.into_iter().enumerate() {
                let mut one = pair(coupling)[index].clone();
                one.on_loss(&mut world.context(), &loss());
                assert_eq!(one.window(), left, "{coupling:?}");
            }
        }
    }

    #[test]
    fn without_other_subflows_it_is_newreno() {
        let mut world = World::new();
        for coupling in [Coupling::Fully, Coupling::Uncoupled, Coupling::Semi] {
            let mut one = Coupled::new(Settings { coupling, ..Settings::default() });
            one.reno = Reno { window: 20.0, threshold: 2.0 };
            one.on_ack(&mut world.context(), &Ack { newly_delivered: 20, newly_acknowledged: 20, ..ack() });
            assert!((one.window() - 21.0).abs() < 1e-12, "{coupling:?}: {}", one.window());
            one.on_loss(&mut world.context(), &loss());
            assert!((one.window() - 10.5).abs() < 1e-12, "{coupling:?}: {}", one.window());
        }
    }

    #[test]
    fn what_one_subflow_loses_the_others_see() {
        let [mut first, second] = pair(Coupling::Fully);
        first.on_timeout(&mut World::new().context(), &loss());
        assert_eq!((first.window(), probed(&second, "total_window")), (1.0, 11.0));
    }
}
