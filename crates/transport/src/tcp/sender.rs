//! The sending half of a TCP connection: its state, its controller and its timers.
//!
//! Which segment leaves next is in `transmit.rs`, how acknowledgements are processed in `acknowledge.rs`, what a loss,
//! a mark or a timeout leads to in `congestion.rs`, and what becomes of an unused window in `idle.rs`.

mod acknowledge;
mod congestion;
mod idle;
#[cfg(test)]
mod property;
mod state;
mod trains;
mod transmit;

pub use state::SenderState;

use std::sync::Arc;

use control::{Context, Controller, ParameterError, Parameters, RESOLUTION, Reports, Restart, Wants};
use prefetch_index::prefetch_index;
use units::{Bytes, Ecn, Random, Rate, Span, Time};

use self::trains::FullTrain;
use super::delivery_rate::DeliveryRate;
use super::forward_rto::ForwardRto;
use super::pacing::Pacer;
use super::recovery::{Phase, Recovery};
use super::reordering::Reordering;
use super::rtt::{DelayedAckDetector, RttEstimator, on_clock};
use super::scoreboard::Scoreboard;
use super::tail_probe::TailProbe;
use super::ticks::Ticks;
use super::timers::{Causes, Timers};
use super::usage::Usage;
use crate::application::{Application, Backlog};
use crate::counters::SenderCounters;
use crate::segment::Data;
use crate::{Marks, Stack};

/// The least wait before a probe (RFC 8985 leaves it open). Where timers tick, it is added to the wait of a probe and
/// of RACK's timer (in Linux since 6.7 TCP_TIMEOUT_MIN_US).
const TIMER_MIN: Span = Span::from_millis(2);
/// What a receiver may delay the ACK of a lone segment by (RFC 8985, section 7.2, TLP.max_ack_delay).
const WORST_DELAYED_ACK: Span = Span::from_millis(200);

/// Why nothing more is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    Window,
    /// The receive window.
    Receiver,
    Pace,
    Application,
}

/// Counters of what is rare: none of the last three comes near 2^32 in a run.
#[derive(Clone, Copy, Debug, Default)]
struct Rare {
    retransmitted: u64,
    timeouts: u32,
    recoveries: u32,
    spurious: u32,
}

/// The sender of one connection.
///
/// Its fields stay in this order: what every ACK and every segment touches lies together at the front, because with
/// many flows each cache line is a miss.
#[repr(C)]
pub struct Sender {
    board: Scoreboard,
    stack: Arc<Stack>,
    controller: Box<dyn Controller>,
    wants: Wants,
    /// What is left of the train may leave without another look.
    train_is_ready: bool,
    /// Segments that have yet to leave of the piece of a train that is handed down at once.
    piece: u16,
    /// The window and the slow-start threshold as the controller has them: they change at its events alone, and asking
    /// is an indirect call.
    exact_window: f64,
    threshold: f64,
    window: u32,
    /// The receive window in segments.
    peer_window: u32,
    /// Segments deemed lost not yet reported to the controller.
    unreported_losses: u32,
    /// Duplicate ACKs in a row, without SACK.
    duplicates: u32,
    /// The first new segment of the running round-trip interval.
    round_mark: u64,
    delivery: DeliveryRate,
    rtt: RttEstimator,
    usage: Usage,
    timers: Timers,
    pacer: Pacer,
    /// When the controller wants to be woken; [`Time::NEVER`] if not.
    wake_at: Time,
    /// When a segment left last; [`Time::NEVER`] before the first.
    last_sent_at: Time,
    backlog: Backlog,
    /// Segments reported as marked, with accurate ECN.
    marked: u64,
    /// Segments deemed lost.
    lost: u64,
    /// The ECN codepoint of new segments.
    codepoint: Ecn,
    blocked: Blocked,
    /// RACK has just found a retransmission lost.
    lost_again: bool,
    detector: DelayedAckDetector,
    /// New segments that have yet to leave: with segmentation offload of the running train, else of what is ready.
    train: u32,
    /// Boxed: what few flows have.
    full_train: Option<Box<FullTrain>>,
    probe: TailProbe,
    forward_rto: ForwardRto,
    recovery: Recovery,
    reordering: Reordering,
    counters: Rare,
    random: Random,
    ticks: Ticks,
}

impl Sender {
    /// A sender that has not started. Connections with the same stack may share it.
    pub fn new(
        stack: impl Into<Arc<Stack>>,
        controller: Box<dyn Controller>,
        application: Application,
        random: Random,
    ) -> Self {
        let stack = stack.into();
        let ticks = Ticks::of(stack.timers.tick);
        let wants = controller.wants();
        let mut board = Scoreboard::default();
        if wants.segments.any() {
            board.report_segments(wants.segments == Reports::All);
        }
        Self {
            board,
            wants,
            train_is_ready: false,
            exact_window: 1.0,
            threshold: f64::INFINITY,
            window: 1,
            train: 0,
            piece: 0,
            full_train: None,
            peer_window: stack.receive_window,
            unreported_losses: 0,
            round_mark: 0,
            delivery: DeliveryRate::default(),
            rtt: RttEstimator::new(),
            usage: Usage::default(),
            timers: Timers::default(),
            pacer: Pacer::new(stack.pacing),
            wake_at: Time::NEVER,
            last_sent_at: Time::NEVER,
            backlog: Backlog::new(application, stack.segment_size),
            blocked: Blocked::Application,
            lost_again: false,
            detector: DelayedAckDetector::default(),
            probe: TailProbe::default(),
            forward_rto: ForwardRto::default(),
            recovery: Recovery::default(),
            reordering: Reordering::new(&stack.losses),
            marked: 0,
            lost: 0,
            codepoint: if stack.marks == Marks::Off { Ecn::NotCapable } else { controller.ecn_codepoint() },
            duplicates: 0,
            counters: Rare::default(),
            random,
            ticks,
            controller,
            stack,
        }
    }

    /// The clock whose ticks timers wait for has run for `uptime` at the start of the run.
    pub fn up_for(&mut self, uptime: Span) {
        self.ticks = self.ticks.up_for(uptime);
    }

    /// Opens the connection over a path of `base_rtt`: from now on [`poll_transmit`](Self::poll_transmit) yields
    /// segments, after a handshake once it is over. Then the application begins.
    pub fn start(&mut self, now: Time, base_rtt: Span) {
        let mut open = now;
        if self.stack.handshake {
            open = now + base_rtt;
            // For the timeout, and those that ask: in Linux most modules begin after the handshake, and a SYN is
            // smaller than a segment. Its sample as their smallest RTT would make the transmission of a segment a
            // queue.
            self.rtt.sample(on_clock(now, open, self.stack.clock.tick));
            self.pacer.hold_until(open);
        }
        self.delivery.restart(now);
        self.backlog.start(open);
        self.usage.open(self.stack.initial_window);
        self.notify(now, |controller, cx| controller.on_start(cx));
        if self.stack.handshake {
            let rtt = self.rtt.smoothed;
            self.notify(now, |controller, cx| controller.on_handshake(cx, rtt));
        }
    }

    /// Opens the connection with a rate that the routers of the path have granted its SYN (Quick-Start, RFC 4782): the
    /// window is what this sends in `base_rtt`, and leaves at this rate until the first ACK.
    pub fn start_at_rate(&mut self, now: Time, base_rtt: Span, granted: Rate) {
        let payload = self.stack.segment_size.get();
        let size = self.wire_size(payload as u32).get();
        let window = (granted.bytes_in(base_rtt).get() / size) as u32;
        let usual = self.stack.initial_window;
        Arc::make_mut(&mut self.stack).initial_window = window.max(usual);
        self.start(now, base_rtt);
        Arc::make_mut(&mut self.stack).initial_window = usual;
        // Routers grant packets with their headers, pacing counts payload.
        let paced = u128::from(granted.bits_per_second()) * u128::from(payload) / u128::from(size);
        self.pacer.set_rate(Some(Rate::from_bits_per_second(paced as u64)));
    }

    /// Size on the wire (IP) of a segment with `payload` bytes.
    pub fn wire_size(&self, payload: u32) -> Bytes {
        self.stack.data_overhead() + Bytes::new(u64::from(payload))
    }

    /// The ECN codepoint with which `data` leaves; retransmissions are not ECN-capable (RFC 3168, section 6.1.5).
    pub fn codepoint(&self, data: &Data) -> Ecn {
        if data.retransmission { Ecn::NotCapable } else { self.codepoint }
    }

    /// Lets the controller handle an event, then reads what it decided.
    fn notify(&mut self, now: Time, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        self.notify_of(now, None, event);
    }

    /// The same, where the stack may say how an unused window comes down.
    fn notify_of(
        &mut self,
        now: Time,
        restart: Option<Restart>,
        event: impl FnOnce(&mut dyn Controller, &mut Context<'_>),
    ) {
        let mut cx = Context {
            now,
            segment_size: self.stack.segment_size,
            initial_window: f64::from(self.stack.initial_window),
            restart,
            departure: self.pacer.next(),
            random: &mut self.random,
        };
        event(self.controller.as_mut(), &mut cx);
        let (window, threshold, rate) = self.controller.decisions();
        (self.exact_window, self.threshold) = (window, threshold);
        self.train_is_ready = false;
        let before = std::mem::replace(&mut self.window, (window as u32).max(1));
        if self.window < before {
            self.usage.forget_largest();
        }
        self.pacer.set_rate(rate);
        if rate.is_some() || self.wants.fractional_window || self.wants.timer {
            self.read_wishes(now, window, rate);
        }
    }

    /// Reads what few controllers decide: bursts, a rate for windows below one segment, a timer.
    #[inline(never)]
    fn read_wishes(&mut self, now: Time, window: f64, rate: Option<Rate>) {
        if self.wants.fractional_window && window < 1.0 {
            self.pacer.set_rate(self.rate_of(window).into_iter().chain(rate).min());
        }
        self.pacer.set_quantum(self.controller.send_quantum());
        // A controller whose flow is over sleeps, and one that names the present again would stop the time.
        let over = self.board.outstanding() == 0 && self.backlog.is_over(self.board.next());
        let at = if self.wants.timer && !over { self.controller.poll_timeout() } else { None };
        self.wake_at = at.map_or(Time::NEVER, |at| at.max(now + RESOLUTION));
    }

    /// The rate that sends `window` segments a round trip; none before the first RTT sample.
    fn rate_of(&self, window: f64) -> Option<Rate> {
        let rtt = self.rtt.smoothed.as_secs_f64();
        let bits = 8.0 * self.stack.segment_size.get() as f64;
        // Slower than any timeout is slow enough, and not standing still.
        (rtt > 0.0).then(|| Rate::from_bits_per_second((window * bits / rtt).max(1.0) as u64))
    }

    /// Sets the timer if anything is outstanding: as tail loss probe where one may be sent (RFC 8985, section 7.2),
    /// else as retransmission timer (RFC 6298, 5.1 to 5.3).
    ///
    /// A new segment sets the probe anew, but no later than the timeout of the oldest segment. If that has passed,
    /// Linux waits for the probe alone, also while one is in flight.
    fn arm(&mut self, now: Time, causes: Causes) {
        if self.board.outstanding() == 0 {
            self.timers.disarm();
            return;
        }
        let timeout = self.rtt.timer(&self.stack.timers);
        let may_probe =
            self.stack.losses.probes_tail() && !self.recovery.is_repairing() && self.board.sacked_count() == 0;
        if !may_probe {
            let oldest = || timeout_of_oldest(&self.board, now, self.rtt.timeout(&self.stack.timers));
            return self.timers.set_without_probe(causes, now, timeout, oldest);
        }
        let mut wait = if self.rtt.has_sample() { self.rtt.smoothed * 2 } else { timeout };
        if self.board.outstanding() == 1 {
            wait += WORST_DELAYED_ACK;
        } else if !self.ticks.are_exact() {
            wait += TIMER_MIN;
        }
        let mut at = now + wait.max(TIMER_MIN);
        let bound = if causes.new { timeout_of_oldest(&self.board, now, timeout) } else { now + timeout };
        if bound < at {
            let bound = bound + (self.rtt.timeout(&self.stack.timers) - timeout);
            if bound > now {
                at = at.min(bound);
            }
        }
        self.timers.set_probe(now, at);
    }

    /// When to call [`on_timeout`](Self::on_timeout), at the latest. Valid once nothing more leaves.
    pub fn poll_timeout(&self) -> Option<Time> {
        let timers = self.timers.next().min(self.wake_at);
        let next = match self.blocked {
            Blocked::Application => timers.min(self.backlog.next_write().unwrap_or(Time::NEVER)),
            Blocked::Pace => timers.min(self.pacer.next()),
            Blocked::Window | Blocked::Receiver => timers,
        };
        (next != Time::NEVER).then_some(next)
    }

    /// Parameters of the controller change at `now`. Afterwards poll what to transmit.
    pub fn set_parameters(&mut self, now: Time, given: &Parameters) -> Result<(), ParameterError> {
        let mut outcome = Ok(());
        self.notify(now, |controller, _| outcome = controller.set_parameters(given));
        outcome
    }

    /// Lets the processor fetch what the next ACK needs beside the sender itself, without waiting for it.
    pub fn prefetch(&self) {
        self.board.prefetch();
        // The controller's place, counted from that of an empty slice: what it is behind `dyn` does not matter.
        let (nothing, controller): (&[u8], *const dyn Controller) = (&[], self.controller.as_ref());
        let bytes = controller.cast::<u8>().addr().wrapping_sub(nothing.as_ptr().addr());
        prefetch_index(nothing, bytes);
        prefetch_index(nothing, bytes.wrapping_add(64));
    }

    /// Lets it fetch what that refers to in turn.
    #[inline]
    pub fn prefetch_holes(&self) {
        self.board.prefetch_holes();
    }

    /// The controller, for its window, threshold and probes.
    pub fn controller(&self) -> &dyn Controller {
        self.controller.as_ref()
    }

    /// What the sender is going through.
    pub fn phase(&self) -> Phase {
        self.recovery.phase()
    }

    /// Counters since the start.
    pub fn counters(&self) -> SenderCounters {
        let Rare { retransmitted, timeouts, recoveries, spurious } = self.counters;
        SenderCounters {
            sent: self.board.next() + retransmitted,
            retransmitted,
            lost: self.lost,
            timeouts: timeouts.into(),
            recoveries: recoveries.into(),
            spurious: spurious.into(),
        }
    }

    /// Segments in flight (pipe).
    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// Everything below this number is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.board.first()
    }

    /// The latest, the smoothed and the smallest RTT, once there is a sample.
    pub fn round_trip_times(&self) -> Option<[Span; 3]> {
        (self.rtt.minimum != Span::MAX).then_some([self.rtt.latest, self.rtt.smoothed, self.rtt.minimum])
    }
}

/// When the retransmission timer of the oldest segment on `board` expires, `timeout` after it was sent last.
fn timeout_of_oldest(board: &Scoreboard, now: Time, timeout: Span) -> Time {
    board.sent_at(board.first()).unwrap_or(now) + timeout
}
