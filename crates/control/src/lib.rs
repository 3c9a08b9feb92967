//! Congestion controllers: one file each, and the trait they implement.
//!
//! A controller is a state machine without a clock: the transport hands it [`Context`] (now, segment
//! size, its random stream) and an event, and reads back [`Controller::window`]. Windows are in
//! segments, as in the papers. A controller reads like its paper: parameters, state, equations.
//!
//! Rooms: the trait (here) and its signals ([`Ack`], [`Loss`], [`Marks`]), the `parts` that controllers share, the
//! [`controllers`] with a file each, those of [`media`], and the [`registry`] that lists them. [`tfrc`] has no window
//! and is apart.
//!
//! To add one: a file beside [`controllers::newreno`] and a line in `controllers/mod.rs`. CONTRIBUTING.md has all
//! steps.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod controllers;
mod entry;
mod intern;
pub mod law;
pub mod media;
mod nearest;
mod parameters;
mod parts;
pub mod range;
mod reference;
pub mod registry;
mod signals;
pub mod stacks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tfrc;

use std::ops::Deref;

pub use controllers::coupled::Subflows;
pub use controllers::*;
pub use entry::{Aim, Entry, Form, Make, Quantity};
pub use intern::intern;
pub use nearest::nearest;
pub use parameters::{Literal, Parameter, ParameterError, Parameters, Range};
pub use parts::reno::Reno;
pub use parts::slow_start::PARAMETERS as SLOW_START;
pub use parts::undo::Undo;
pub use reference::{ControllerRef, LONGEST_NAME, declared_name};
pub use signals::{
    Ack, Counting, Loss, Marks, Moment, RateSample, Reports, Restart, RttSample, SegmentReport, SentState,
    Transmission, TransmitStart, Wants,
};
use units::{Random, Rate, Span, Time};

/// The world as a controller sees it while it handles one event: the [`Moment`], whose fields are its own, and chance.
#[derive(Debug)]
pub struct Context<'a> {
    /// The connection at the time of the event.
    pub moment: Moment,
    /// The random stream of this flow.
    pub random: &'a mut Random,
}

impl Deref for Context<'_> {
    type Target = Moment;

    fn deref(&self) -> &Moment {
        &self.moment
    }
}

/// A congestion controller of one connection.
///
/// Every event has its own method, and no method is called for two kinds of event. After [`on_loss`], [`on_ecn`] and
/// [`on_timeout`] the window is already the target of the algorithm. The transport brings the data in flight down to it
/// (proportional rate reduction, pipe-limited recovery), and asks for no window growth meanwhile.
///
/// [`on_loss`]: Controller::on_loss
/// [`on_ecn`]: Controller::on_ecn
/// [`on_timeout`]: Controller::on_timeout
pub trait Controller: Send {
    /// What this controller asks for beyond the events that every controller gets.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// The flow has subflows, of which this controller has the one at `index`. Called before anything else. By default
    /// it goes its own way.
    fn join(&mut self, _subflows: &Subflows, _index: usize) {}

    /// Called once before the first segment is sent.
    fn on_start(&mut self, _cx: &mut Context<'_>) {}

    /// The handshake took `rtt`: the first sample of the connection, of packets without data. Right after
    /// [`on_start`](Controller::on_start), in a stack whose controllers know it.
    fn on_handshake(&mut self, _cx: &mut Context<'_>, _rtt: Span) {}

    /// An ACK that advances the cumulative point outside fast recovery (also while a timeout is repaired, and in a
    /// stack without fast recovery any loss): the only event on which a window grows, but for a controller that
    /// [`wants`](Controller::wants) to govern recovery, for which such an ACK comes inside recovery as well. If the
    /// stack lets the window grow by SACKed segments (Linux), a duplicate ACK outside recovery is one, too: it
    /// acknowledges nothing, and delivers segments.
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack);

    /// Any other ACK: a duplicate, one that only carries SACK information, or any ACK inside fast recovery. It brings
    /// signals (delay samples, spacing, deliveries) but no leave to grow. A window that it lowers inside fast recovery
    /// is the target of recovery from then on.
    fn on_duplicate_ack(&mut self, _cx: &mut Context<'_>, _ack: &Ack) {}

    /// Loss was detected by duplicate ACKs, SACK or RACK: once a window of data. Afterwards [`Controller::window`] is
    /// the target of recovery.
    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss);

    /// The path marked segments (ECN echo): once a window of data. Not for a controller that
    /// [`wants`](Controller::wants) to govern marks. By default as a loss (RFC 3168, section 6.1.2).
    fn on_ecn(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.on_loss(cx, &marks.as_loss());
    }

    /// Right after [`on_ecn`](Controller::on_ecn), where the sender gives up less for a mark than for a loss (ABE, RFC
    /// 8511): the window is at least `window`, which is not above the one before the mark. Returns whether the
    /// controller does so. One with its own answer to marks does not.
    fn keep(&mut self, _window: f64) -> bool {
        false
    }

    /// Everything that was outstanding when loss was detected is acknowledged.
    fn on_recovered(&mut self, _cx: &mut Context<'_>) {}

    /// The retransmission timer expired. Called again for every back-off, with `loss.again` true.
    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss);

    /// The last loss event or timeout turned out to be spurious: put the remembered state back.
    fn on_spurious(&mut self, _cx: &mut Context<'_>) {}

    /// The connection sends again after an idle time longer than the retransmission timeout: the window is at most
    /// the initial one (RFC 5681, section 4.1), or what [`Moment::restart`] says.
    fn on_idle_restart(&mut self, cx: &mut Context<'_>);

    /// A segment left, new or again. Only for a controller that [`wants`](Controller::wants) it.
    fn on_sent(&mut self, _cx: &mut Context<'_>, _sent: &Transmission) {}

    /// The connection begins to send, or does so again, with nothing outstanding. Before the segment leaves, after
    /// [`on_idle_restart`](Controller::on_idle_restart) if that is due as well. Only for a controller that
    /// [`wants`](Controller::wants) it.
    fn on_transmit_start(&mut self, _cx: &mut Context<'_>, _start: &TransmitStart) {}

    /// A segment is known to be delivered. Comes before the event of the ACK that shows it, once for each segment
    /// that this covers or SACKs. Only for a controller that [`wants`](Controller::wants) it.
    fn on_segment_delivered(&mut self, _cx: &mut Context<'_>, _segment: &SegmentReport) {}

    /// A segment, or its retransmission, is deemed lost. Comes before the event in which the loss is counted. One that
    /// only a tail loss probe repaired has no report. Only for a controller that [`wants`](Controller::wants) it.
    fn on_segment_lost(&mut self, _cx: &mut Context<'_>, _segment: &SegmentReport) {}

    /// When to call [`on_timer`](Controller::on_timer), `None` if not at all. Asked after every event, as long as there
    /// is data to send or outstanding. Only for a controller that [`wants`](Controller::wants) a timer.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// The time that [`poll_timeout`](Controller::poll_timeout) named has come. It then names a later one, or none. One
    /// that is not later counts as [`RESOLUTION`] from now.
    fn on_timer(&mut self, _cx: &mut Context<'_>) {}

    /// Parameters change while the flow runs, as an application may ask of some controllers. An error is one sentence,
    /// and then nothing has changed. By default nothing can be changed.
    fn set_parameters(&mut self, _given: &Parameters) -> Result<(), ParameterError> {
        Err(ParameterError("its parameters cannot change while a flow runs".to_owned()))
    }

    /// The congestion window in segments. Only whole segments are sent. Below one it is one, unless the controller
    /// [`wants`](Controller::wants) fractional windows.
    fn window(&self) -> f64;

    /// The slow-start threshold in segments, infinite before the first congestion event.
    fn slow_start_threshold(&self) -> f64;

    /// Window and threshold, of a controller that starts slowly as Reno does: another slow start may take its place
    /// (parameter `slow_start`), and sets the window while it is below the threshold. A stack may raise the threshold
    /// after an undo, and the window after a timeout. `None` for all others.
    fn reno(&mut self) -> Option<&mut Reno> {
        None
    }

    /// The rate at which segments should leave, of their payload, `None` for a controller that relies on the ACK clock
    /// alone.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Segments that leave in one burst where there is a [`pacing_rate`](Controller::pacing_rate), which holds from
    /// burst to burst. The value 0 counts as 1 (send quantum, draft-ietf-ccwg-bbr section 5.6.3, or the size of a TSO
    /// segment in Linux).
    fn send_quantum(&self) -> u32 {
        1
    }

    /// [`window`](Controller::window), [`slow_start_threshold`](Controller::slow_start_threshold) and
    /// [`pacing_rate`](Controller::pacing_rate) by one call: the transport reads them after every event.
    fn decisions(&self) -> (f64, f64, Option<Rate>) {
        (self.window(), self.slow_start_threshold(), self.pacing_rate())
    }

    /// Shows named internals (`alpha`, `shadow_window`, `queue_state`…) for traces.
    fn probe(&self, _out: &mut dyn Probe) {}
}

/// Takes the named internals of a controller.
pub trait Probe {
    /// `name` has `value` now. States are numbers whose meaning the controller's file lists.
    fn value(&mut self, name: &'static str, value: f64);
}

/// The smallest span above zero for a controller: guards divisions by an RTT.
pub const RESOLUTION: Span = Span::from_nanos(1);
