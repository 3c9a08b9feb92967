//! Reno with loss differentiation by packet inter-arrival times (Edwan, "Improved Algorithms for TCP Congestion
//! Control", thesis, Loughborough 2010, chapter 8): NewReno that gives up less for a loss of the last link.
//!
//! After a loss on the last link the gaps between duplicate ACKs are multiples of T, the time of a packet on the
//! slowest link: a large span and a pattern. After congestion they are all about T, or cross traffic has made them
//! random. A canceller of differences removes the pattern. Differences that it leaves below T are noise.
//!
//! | rule, with S the gaps | here |
//! | --- | --- |
//! | section 8.2: gaps from the ACK before the first duplicate to the last duplicate | `Capture` |
//! | section 8.3: all differences, K times, those below T taken out; rho counts these | `pit/canceller.rs` |
//! | N_s = 2/(1 + exp(-a rho)) - 1, S_p = 1 - S_min/S_max | `Numbers::left` |
//! | mu = min(1, 1 - S_p + N_s), beta' = mu/2 | `Numbers::left` |
//! | the ACK that ends recovery: w = ssthresh = (1 - beta') w at the loss | `Controller::on_recovered` |
//!
//! Open points of the thesis, and how they are read:
//! - Until recovery ends the window is NewReno's: only then all gaps are known. Timeouts and marks are NewReno's.
//! - rho counts differences that are not zero nor T but for rounding, a thousandth of T. `definition` has their sum and
//!   their share. mu is printed without the limit of 1.
//! - T is the smallest time between new ACKs, per segment, that is not below half of the median of the last 32.
//! - The first hundred gaps of a loss event count, and at most 5000 differences of an iteration.
//! - The capture ends with the first ACK of new data, also where more segments were lost.
//!
//! The form in whole numbers, which `kernel/pit.bpf.c` has as well, is `linux/pit.rs`.

pub(super) mod canceller;

use std::fmt::Debug;

use units::{Span, Time};

use self::canceller::{Cancelled, Gaps};
use crate::entry::{Aim, Entry, Quantity};
use crate::parameters::{choices, parameters};
use crate::parts::reno::delegate;
use crate::range::{above, from};
use crate::{Ack, Context, Controller, Loss, Marks, Moment, Probe, Reno, Undo};

/// The entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "pit",
    title: "Reno with loss differentiation",
    summary: "NewReno that gives up less where the spacing of duplicate ACKs shows a loss of the last link",
    source: "Edwan 2010, chapter 8",
    aim: Aim::General,
    parameters: Settings::PARAMETERS,
    probes: &[
        Quantity::new("packet_time_ms", "ms", "T, the time of a packet on the slowest link"),
        Quantity::new("rho", "", "Residual noise of the last loss event"),
        Quantity::new("noise", "", "N_s of the last loss event"),
        Quantity::new("span", "", "S_p of the last loss event"),
        Quantity::new("mu", "", "Share of the usual decrease that the last loss event took"),
        Quantity::new("window_at_loss", "segments", "The window at the last loss event"),
    ],
    make: |given| Ok(Box::new(Pit::<Real>::new(Settings::read(given)?))),
};

/// The share of the window that a loss takes from NewReno.
const BETA: f64 = 0.5;
/// With fewer duplicate ACKs nothing is decided.
const ENOUGH: usize = 3;
/// Gaps of which the median is taken.
const RECENT: usize = 32;

choices! {
    /// The meaning of rho.
    pub enum Definition {
        /// The number of differences below T.
        Count = Word("count"),
        /// Their sum in units of T.
        Sum = Word("sum"),
        /// Their number as a share of all first differences.
        Share = Word("share"),
    }
}

choices! {
    /// How span and noise are combined.
    pub enum Combine {
        /// min(1, 1 - S_p + N_s).
        Sum = Word("sum"),
        /// 1 - S_p (1 - N_s).
        Product = Word("product"),
    }
}

parameters! {
    /// The parameters.
    pub struct Settings {
        /// How much noise counts
        a: f64 = 1.0, range above(0.0).up_to(1000.0), source "section 8.4, a";
        /// Iterations of the canceller
        iterations as "K": u32 = 1, range from(1).up_to(3), source "section 8.3, K";
        /// Meaning of rho: a number of differences, their sum in units of T, or their share
        definition: Definition = Definition::Count, source "section 8.3, which leaves it open";
        /// How span and noise are combined
        combine: Combine = Combine::Sum, source "section 8.4, or";
        /// The gap before the first duplicate ACK counts, too
        include_first_gap: bool = true, source "section 8.2, which leaves it open";
        /// T; 0 if it is to be measured
        packet_time: Span = Span::ZERO,
            unit "time", range from(Span::ZERO).up_to(Span::from_secs(10)), source "section 8.3, T";
    }
}

/// The duplicate ACKs of a loss event.
#[derive(Clone, Copy, Debug)]
struct Capture {
    gaps: Gaps,
    /// Duplicate ACKs.
    duplicates: usize,
    /// No ACK of new data came yet.
    open: bool,
}

/// The noise, span and share of the last loss event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    pub(super) rho: f64,
    pub(super) noise: f64,
    pub(super) span: f64,
    pub(super) mu: f64,
}

/// A loss event, for the share of the usual decrease that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub(super) cancelled: Cancelled,
    /// The smallest and the largest gap, nanoseconds.
    pub(super) extremes: (u32, u32),
    /// T, nanoseconds.
    pub(super) packet_time: u64,
}

/// The numbers that it computes with: the equations that differ between real and whole ones.
pub(crate) trait Numbers: Copy + Debug + Default + Send + 'static {
    /// An ACK that may grow the window.
    fn grow(&mut self, reno: &mut Reno, at: &Moment, ack: &Ack);

    /// A congestion event takes back the growth that was counted.
    fn reduce(&mut self);

    /// Half of `window`.
    fn half(window: f64) -> f64;

    /// A congestion event takes `reno` to half its window.
    fn halve(reno: &mut Reno);

    /// The shares that `evidence` shows, and the part of `window` that they leave.
    fn left(settings: &Settings, evidence: &Evidence, window: f64) -> (Shown, f64);
}

/// Real numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Real;

impl Numbers for Real {
    fn grow(&mut self, reno: &mut Reno, at: &Moment, ack: &Ack) {
        reno.grow(at, ack);
    }

    fn reduce(&mut self) {}

    fn half(window: f64) -> f64 {
        window * (1.0 - BETA)
    }

    fn halve(reno: &mut Reno) {
        reno.reduce_to(Self::half(reno.window));
    }

    fn left(settings: &Settings, evidence: &Evidence, window: f64) -> (Shown, f64) {
        let Evidence { cancelled, extremes: (least, most), packet_time } = evidence;
        let rho = match settings.definition {
            Definition::Count => f64::from(cancelled.count),
            Definition::Sum => cancelled.sum as f64 / *packet_time as f64,
            Definition::Share => f64::from(cancelled.count) / f64::from(cancelled.first.max(1)),
        };
        let noise = 2.0 / (1.0 + libm::exp(-settings.a * rho)) - 1.0;
        let span = 1.0 - f64::from(*least) / f64::from(*most);
        let mu = match settings.combine {
            Combine::Sum => (1.0 - span + noise).min(1.0),
            Combine::Product => 1.0 - span * (1.0 - noise),
        };
        (Shown { rho, noise, span, mu }, window * (1.0 - mu * BETA))
    }
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pit<N = Real> {
    settings: Settings,
    reno: Reno,
    undo: Undo,
    numbers: N,
    /// When the last ACK came, new or duplicate, `None` before the first.
    last_ack: Option<Time>,
    capture: Capture,
    /// The window at the loss, from its detection to the end of recovery.
    window_at_loss: Option<f64>,
    last_loss: f64,
    /// The last gaps between new ACKs per segment, nanoseconds, and how many there were.
    recent: [u64; RECENT],
    seen: usize,
    /// T, nanoseconds; `None` while unknown.
    packet_time: Option<u64>,
    shown: Shown,
}

impl<N: Numbers> Pit<N> {
    /// A controller with `settings`.
    pub(crate) fn new(settings: Settings) -> Self {
        let given = settings.packet_time;
        Self {
            settings,
            reno: Reno::new(),
            undo: Undo::default(),
            numbers: N::default(),
            last_ack: None,
            capture: Capture { gaps: Gaps::new(), duplicates: 0, open: false },
            window_at_loss: None,
            last_loss: 0.0,
            recent: [0; RECENT],
            seen: 0,
            packet_time: (!given.is_zero()).then(|| given.as_nanos()),
            shown: Shown::default(),
        }
    }

    /// A new ACK outside recovery: T is the smallest gap that is not below half of the median.
    fn measure(&mut self, now: Time, ack: &Ack) {
        let Some(last) = self.last_ack.filter(|_| self.settings.packet_time.is_zero()) else { return };
        let gap = now.since(last).as_nanos() / u64::from(ack.newly_acknowledged.max(1));
        self.recent[self.seen % RECENT] = gap;
        self.seen += 1;
        if self.packet_time.is_none_or(|least| gap < least) && gap > 0 {
            let count = self.seen.min(RECENT);
            let mut sorted = self.recent;
            sorted[..count].sort_unstable();
            if 2 * gap >= sorted[count / 2] {
                self.packet_time = Some(gap);
            }
        }
    }

    /// A duplicate ACK.
    fn collect(&mut self, now: Time) {
        let Some(last) = self.last_ack else { return };
        if !self.capture.open {
            self.capture = Capture { gaps: Gaps::new(), duplicates: 0, open: true };
        }
        self.capture.duplicates += 1;
        if self.capture.duplicates > 1 || self.settings.include_first_gap {
            self.capture.gaps.push(now.since(last).as_nanos());
        }
    }

    /// The window that is left of `window` by the loss event that was captured.
    fn left_of(&mut self, window: f64) -> f64 {
        let usual = N::half(window);
        let (Some(packet_time), true) = (self.packet_time, self.capture.duplicates >= ENOUGH) else { return usual };
        let Some(extremes) = self.capture.gaps.extremes() else { return usual };
        let cancelled = self.capture.gaps.cancel(packet_time, self.settings.iterations);
        let left;
        (self.shown, left) = N::left(&self.settings, &Evidence { cancelled, extremes, packet_time }, window);
        left
    }

    /// A congestion event halves the window, for now.
    fn halve(&mut self) {
        self.numbers.reduce();
        N::halve(&mut self.reno);
    }
}

impl<N: Numbers> Controller for Pit<N> {
    delegate!(reno: on_start, on_idle_restart, window, slow_start_threshold);

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if ack.newly_acknowledged == 0 {
            // The stack lets the window grow by SACKed segments.
            self.on_duplicate_ack(cx, ack);
        } else {
            // The one that ends recovery covers what duplicate ACKs announced: its gap is none of new ACKs.
            if !ack.ends_recovery {
                self.measure(cx.now, ack);
            }
            self.last_ack = Some(cx.now);
            self.capture.open = false;
        }
        self.numbers.grow(&mut self.reno, cx, ack);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        if ack.newly_acknowledged > 0 {
            self.capture.open = false;
        } else if self.capture.open || self.window_at_loss.is_none() {
            self.collect(cx.now);
        }
        self.last_ack = Some(cx.now);
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, _loss: &Loss) {
        self.undo.remember(self.reno);
        self.last_loss = self.reno.window;
        self.window_at_loss = self.capture.open.then_some(self.reno.window);
        self.halve();
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, _marks: &Marks) {
        self.undo.forget();
        self.window_at_loss = None;
        self.halve();
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        if let Some(window) = self.window_at_loss.take() {
            let left = self.left_of(window).max(Reno::MINIMUM).min(window);
            self.reno = Reno { window: left, threshold: left.max(Reno::MINIMUM) };
        }
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.undo.remember_first(loss, self.reno);
        self.window_at_loss = None;
        self.numbers.reduce();
        self.reno.time_out_to(N::half(self.reno.window), loss);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        self.window_at_loss = None;
        self.undo.restore(&mut self.reno);
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("packet_time_ms", self.packet_time.unwrap_or(0) as f64 / 1e6);
        out.value("rho", self.shown.rho);
        out.value("noise", self.shown.noise);
        out.value("span", self.shown.span);
        out.value("mu", self.shown.mu);
        out.value("window_at_loss", self.last_loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::{World, ack, loss, probed};

    const T: u64 = 2_000_000;

    /// A window of 40 that loses a segment. Duplicate ACKs come after these gaps, in units of T, of 2 ms.
    fn after(settings: Settings, gaps: &[f64]) -> Pit {
        let mut world = World::new();
        let mut pit = Pit::new(Settings { packet_time: Span::from_nanos(T), ..settings });
        pit.reno = Reno { window: 40.0, threshold: 2.0 };
        pit.on_ack(&mut world.context(), &Ack { window_limited: false, ..ack() });
        for (n, gap) in gaps.iter().enumerate() {
            world.pass(Span::from_nanos((gap * T as f64) as u64));
            pit.on_duplicate_ack(&mut world.context(), &Ack { newly_acknowledged: 0, ..ack() });
            if n == 2 {
                pit.on_loss(&mut world.context(), &loss());
                assert_eq!(pit.window(), 20.0);
            }
        }
        world.pass(Span::from_nanos(T));
        pit.on_duplicate_ack(&mut world.context(), &Ack { newly_acknowledged: 5, ..ack() });
        pit.on_recovered(&mut world.context());
        pit
    }

    #[test]
    fn equal_gaps_are_congestion() {
        // The span is 0, and so is the noise: mu = 1.
        let pit = after(Settings::default(), &[1.0; 5]);
        assert_eq!((pit.window(), probed(&pit, "span"), probed(&pit, "mu")), (20.0, 0.0, 1.0));
    }

    #[test]
    fn multiples_of_the_packet_time_are_a_loss_of_the_last_link() {
        // Gaps of T and 4 T: the span is 3/4, differences are 3 T or nothing. mu = 1/4: an eighth of 40 goes.
        let pit = after(Settings::default(), &[4.0, 1.0, 1.0, 1.0]);
        assert_eq!((pit.window(), probed(&pit, "rho"), probed(&pit, "span")), (35.0, 0.0, 0.75));
        assert_eq!(pit.slow_start_threshold(), 35.0);
    }

    #[test]
    fn noise_is_congestion() {
        // Gaps 4, 1.25, 1 and 1.5 T: differences below T are 0.25, 0.25 and 0.5 T, three:
        // `N_s = 2/(1 + e^-3) - 1 = 0.9051`, and `mu = min(1, 1/4 + 0.9051)`.
        let pit = after(Settings::default(), &[4.0, 1.25, 1.0, 1.5]);
        assert_eq!((pit.window(), probed(&pit, "rho")), (20.0, 3.0));
        assert!((probed(&pit, "noise") - 0.905_148).abs() < 1e-6);
        // As a sum 1 T: N_s = 0.4621. As a share half of six: 0.2449; mu = 1 - 0.75 * 0.7551 = 0.4337.
        let pit = after(Settings { definition: Definition::Sum, ..Settings::default() }, &[4.0, 1.25, 1.0, 1.5]);
        assert!((probed(&pit, "mu") - 0.712_117).abs() < 1e-6, "{}", probed(&pit, "mu"));
        let product = Settings { definition: Definition::Share, combine: Combine::Product, ..Settings::default() };
        let pit = after(product, &[4.0, 1.25, 1.0, 1.5]);
        assert!((probed(&pit, "mu") - 0.433_689).abs() < 1e-6, "{}", probed(&pit, "mu"));
    }

    #[test]
    fn the_gap_with_the_hole_may_be_left_out() {
        let pit = after(Settings { include_first_gap: false, ..Settings::default() }, &[4.0, 1.0, 1.0, 1.0]);
        assert_eq!((pit.window(), probed(&pit, "span")), (20.0, 0.0));
    }

    #[test]
    fn the_packet_time_is_the_smallest_gap_of_half_the_median_or_more() {
        let mut world = World::new();
        let mut pit = Pit::<Real>::new(Settings::default());
        // Two segments in 6 ms are 3 ms each; 1 ms is a compressed ACK; the median is 4.
        for (millis, newly_acknowledged) in [(0, 1), (4, 1), (5, 1), (4, 1), (6, 2), (1, 1), (4, 1)] {
            world.pass(Span::from_millis(millis));
            pit.on_ack(&mut world.context(), &Ack { newly_acknowledged, ..ack() });
        }
        assert_eq!(probed(&pit, "packet_time_ms"), 3.0);
        // It covers twenty segments that duplicate ACKs announced before.
        world.pass(Span::from_millis(50));
        let end = Ack { newly_acknowledged: 20, ends_recovery: true, ..ack() };
        pit.on_ack(&mut world.context(), &end);
        assert_eq!(probed(&pit, "packet_time_ms"), 3.0);
    }

    #[test]
    fn a_mark_is_answered_as_by_newreno() {
        // Also among duplicate ACKs that a loss of the last link would explain.
        let mut world = World::new();
        let packet_time = Span::from_nanos(T);
        let mut pit = Pit::<Real>::new(Settings { packet_time, ..Settings::default() });
        pit.reno = Reno { window: 40.0, threshold: 2.0 };
        let mut gaps = Gaps::new();
        [4 * T, T, T, T].iter().for_each(|gap| gaps.push(*gap));
        pit.capture = Capture { gaps, duplicates: 4, open: true };
        let marks = Marks { in_flight: 10, acknowledged_to: 5, sent_to: 45, at: world.now };
        pit.on_ecn(&mut world.context(), &marks);
        pit.on_recovered(&mut world.context());
        assert_eq!((pit.window(), pit.slow_start_threshold()), (20.0, 20.0));
    }

    #[test]
    fn a_duplicate_ack_that_lets_the_window_grow_is_one_of_the_capture() {
        let mut world = World::new();
        let mut pit = Pit::<Real>::new(Settings { packet_time: Span::from_nanos(T), ..Settings::default() });
        pit.reno = Reno { window: 40.0, threshold: 80.0 };
        pit.on_ack(&mut world.context(), &ack());
        for _ in 0..3 {
            world.pass(Span::from_nanos(T));
            pit.on_ack(&mut world.context(), &Ack { newly_acknowledged: 0, ..ack() });
        }
        assert_eq!((pit.capture.duplicates, pit.capture.open, pit.reno.window), (3, true, 44.0));
    }

    #[test]
    fn a_timeout_or_an_undone_loss_ends_the_differentiation() {
        let mut world = World::new();
        let mut pit = Pit::<Real>::new(Settings { packet_time: Span::from_nanos(T), ..Settings::default() });
        pit.reno = Reno { window: 40.0, threshold: 2.0 };
        for timeout in [false, true] {
            pit.capture = Capture { gaps: Gaps::new(), duplicates: 3, open: true };
            pit.on_loss(&mut world.context(), &loss());
            if timeout {
                pit.on_timeout(&mut world.context(), &loss());
            } else {
                pit.on_spurious(&mut world.context());
            }
            let window = pit.window();
            pit.on_recovered(&mut world.context());
            assert_eq!((pit.window(), window), if timeout { (1.0, 1.0) } else { (40.0, 40.0) });
        }
    }
}
