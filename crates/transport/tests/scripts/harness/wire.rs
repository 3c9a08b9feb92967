//! Input at both ends of a script: ACKs from the network, and the notices that its controller is given.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard};

use control::{
    Ack, Context, Controller, Loss, Marks, Moment, Restart, SegmentReport, Transmission, TransmitStart, Wants,
};
use transport::{Acknowledgement, SackBlocks};
use units::{Rate, Span, Time};

use super::{SenderScript, at};

/// A notice that a controller was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Notice {
    Ack(Ack),
    Duplicate(Ack),
    Loss(Loss),
    Ecn(Marks),
    Recovered,
    Timeout(Loss),
    Spurious,
    IdleRestart(Option<Restart>),
    Sent(Transmission),
    TransmitStart(TransmitStart),
    Delivered(SegmentReport),
    Lost(SegmentReport),
    Timer,
}

/// State that the probe controller and its script share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) window: f64,
    pub(super) threshold: f64,
    pub(super) before: f64,
    /// With the segments of a train.
    pub(super) pacing: Option<(Rate, u32)>,
    pub(super) wants: Wants,
    pub(super) wake_up: Option<Time>,
    pub(super) notices: Vec<Notice>,
    /// The moment of the last ACK.
    pub(super) moment: Moment,
}

/// A controller whose window the script sets: it never grows, halves on loss and mark, is 1 after a timeout.
pub(super) struct ProbeController(pub(super) Arc<Mutex<Shared>>);

impl ProbeController {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap()
    }

    fn note(&self, notice: Notice, window: impl FnOnce(f64) -> f64) {
        let mut shared = self.shared();
        shared.notices.push(notice);
        shared.before = shared.window;
        shared.window = window(shared.window);
    }
}

impl Controller for ProbeController {
    fn wants(&self) -> Wants {
        self.shared().wants
    }

    fn on_sent(&mut self, _cx: &mut Context<'_>, sent: &Transmission) {
        self.shared().notices.push(Notice::Sent(*sent));
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.shared().wake_up
    }

    fn on_timer(&mut self, _cx: &mut Context<'_>) {
        let mut shared = self.shared();
        shared.wake_up = None;
        shared.notices.push(Notice::Timer);
    }

    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        self.shared().notices.push(Notice::Delivered(*segment));
    }

    fn on_segment_lost(&mut self, _cx: &mut Context<'_>, segment: &SegmentReport) {
        self.shared().notices.push(Notice::Lost(*segment));
    }

    fn on_transmit_start(&mut self, _cx: &mut Context<'_>, start: &TransmitStart) {
        self.shared().notices.push(Notice::TransmitStart(*start));
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let mut shared = self.shared();
        shared.notices.push(Notice::Ack(*ack));
        shared.moment = cx.moment;
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let mut shared = self.shared();
        shared.notices.push(Notice::Duplicate(*ack));
        shared.moment = cx.moment;
    }

    fn on_loss(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.note(Notice::Loss(*loss), |window| window / 2.0);
    }

    fn on_ecn(&mut self, _cx: &mut Context<'_>, marks: &Marks) {
        self.note(Notice::Ecn(*marks), |window| window / 2.0);
    }

    fn keep(&mut self, window: f64) -> bool {
        let mut shared = self.shared();
        shared.window = shared.window.max(window);
        true
    }

    fn on_recovered(&mut self, _cx: &mut Context<'_>) {
        self.shared().notices.push(Notice::Recovered);
    }

    fn on_timeout(&mut self, _cx: &mut Context<'_>, loss: &Loss) {
        self.note(Notice::Timeout(*loss), |_| 1.0);
    }

    fn on_spurious(&mut self, _cx: &mut Context<'_>) {
        let mut shared = self.shared();
        shared.notices.push(Notice::Spurious);
        shared.window = shared.before;
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.note(Notice::IdleRestart(cx.restart), |window| window);
    }

    fn window(&self) -> f64 {
        self.shared().window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.shared().threshold
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.shared().pacing?.0)
    }

    fn send_quantum(&self) -> u32 {
        self.shared().pacing.map_or(1, |(_, segments)| segments)
    }
}

impl SenderScript {
    /// The script sets the pacing rate of the probe controller.
    pub(crate) fn pace(&mut self, rate: &str) -> &mut Self {
        self.pace_trains(rate, 1)
    }

    /// The same, for trains of so many segments.
    pub(crate) fn pace_trains(&mut self, rate: &str, segments: u32) -> &mut Self {
        self.shared().pacing = Some((rate.parse().unwrap(), segments));
        self
    }
}

/// An ACK in the making.
#[derive(Clone, Copy)]
pub(crate) struct Reply(pub(super) Acknowledgement);

/// An ACK for everything below `cumulative`.
pub(crate) fn ack(cumulative: u64) -> Reply {
    Reply(Acknowledgement {
        cumulative,
        timestamp: Time::ZERO,
        echo: Time::NEVER,
        one_way_delay: Span::ZERO,
        window: u32::MAX,
        congestion_echo: false,
        marked: 0,
        sack: SackBlocks::default(),
        duplicate: None,
    })
}

impl Reply {
    /// With the SACK block [start, end).
    pub(crate) fn sack(mut self, start: u64, end: u64) -> Self {
        self.0.sack.push(self.0.cumulative, start, end);
        self
    }

    /// With a duplicate SACK of `number`.
    pub(crate) fn duplicate(mut self, number: u64) -> Self {
        self.0.duplicate = Some(number);
        self
    }

    /// Echoing a timestamp of `ms`.
    pub(crate) fn echo(mut self, ms: u64) -> Self {
        self.0.echo = at(ms);
        self
    }

    /// With an ECN echo.
    pub(crate) fn marked(mut self) -> Self {
        self.0.congestion_echo = true;
        self
    }

    /// With the count of marked segments that a receiver with accurate ECN keeps.
    pub(crate) fn count(mut self, marked: u32) -> Self {
        self.0.marked = marked;
        self
    }

    /// With a receive window of `segments`.
    pub(crate) fn window(mut self, segments: u32) -> Self {
        self.0.window = segments;
        self
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ack = &self.0;
        write!(f, "ACK {}", ack.cumulative)?;
        if let Some(number) = ack.duplicate {
            write!(f, ", twice {number}")?;
        }
        for (start, end) in ack.sack.iter(ack.cumulative) {
            write!(f, ", [{start}, {end})")?;
        }
        if ack.congestion_echo {
            write!(f, ", marked")?;
        }
        if ack.echo != Time::NEVER {
            write!(f, ", echo {}", ack.echo)?;
        }
        Ok(())
    }
}
