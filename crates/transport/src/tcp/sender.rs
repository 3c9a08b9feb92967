//! The sending half of a TCP connection. Each room has its own state: [`Flight`] outstanding segments, [`Driver`] the
//! controller, [`Output`] limits on new segments, [`Repair`] losses and timers. They are asked in this order: in
//! `acknowledge.rs` for an ACK, in `undo.rs` for spurious reductions in Linux, in `transmit.rs` for a segment, in
//! `reduce.rs` for a loss, a mark or a timer.

mod acknowledge;
mod pieces;
#[cfg(test)]
mod property;
#[cfg(test)]
mod recorded;
mod reduce;
mod state;
#[cfg(test)]
mod tests;
mod transmit;
mod undo;

pub use state::SenderState;

use std::sync::Arc;

use control::{Context, Controller, Moment, ParameterError, Parameters, Restart};
use units::{Bytes, Ecn, Random, Rate, Span, Time};

use super::driver::Driver;
use super::flight::Flight;
use super::opening::Opened;
use super::output::{Blocked, Output};
use super::repair::Repair;
use crate::application::{Application, Backlog, SendBuffer};
use crate::segment::Data;
use crate::{Marks, Stack};

/// The sender of one connection.
///
/// Its rooms stay in this order. The fields that every ACK and every segment touches come first in each: with many
/// flows each cache line is a miss.
#[repr(C)]
pub struct Sender {
    flight: Flight,
    driver: Driver,
    output: Output,
    stack: Arc<Stack>,
    backlog: Backlog,
    repair: Repair,
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
        let driver = Driver::new(controller, stack.marks != Marks::Off, random);
        Self {
            flight: Flight::new(&stack, driver.wants()),
            driver,
            output: Output::new(&stack),
            backlog: Backlog::new(application, stack.segment_size).into_buffer(SendBuffer::of(&stack)),
            repair: Repair::new(),
            stack,
        }
    }

    /// The next segment fills a receive window of less than a segment, as its probe. It looks for no idle time before
    /// it (in Linux tcp_write_wakeup).
    pub fn probe_window(&mut self) {
        self.output.probe_window();
    }

    /// The clock whose ticks timers wait for has run for `uptime` at the start of the run.
    pub fn up_for(&mut self, uptime: Span) {
        self.repair.up_for(uptime);
    }

    /// The connection is there without a handshake: from now on [`poll_transmit`](Self::poll_transmit) yields segments.
    pub fn start(&mut self, now: Time) {
        self.begin(now, self.stack.initial_window);
    }

    /// The handshake is over with the result `opened`: from now on [`poll_transmit`](Self::poll_transmit) yields
    /// segments.
    pub fn open(&mut self, now: Time, opened: Opened) {
        let initial = if opened.cautious { 1 } else { self.stack.initial_window };
        self.open_with(now, opened, initial);
    }

    /// The same with a rate that the routers of the path have granted the SYN (Quick-Start, RFC 4782). The window holds
    /// as many segments as this rate sends in the RTT of the handshake. They leave at this rate until the first ACK.
    pub fn open_at_rate(&mut self, now: Time, opened: Opened, granted: Rate) {
        let payload = self.stack.segment_size.get();
        let size = self.wire_size(payload as u32).get();
        let rtt = opened.since.map_or(Span::ZERO, |since| now.since(since));
        let window = (granted.bytes_in(rtt).get() / size) as u32;
        self.open_with(now, opened, window.max(self.stack.initial_window));
        // Routers grant packets with their headers, pacing counts payload.
        let paced = u128::from(granted.bits_per_second()) * u128::from(payload) / u128::from(size);
        self.output.set_rate(Rate::from_bits_per_second(paced as u64));
    }

    /// Opens with a window of `initial` segments.
    fn open_with(&mut self, now: Time, opened: Opened, initial: u32) {
        self.flight.open(now, opened.since, &self.stack);
        self.begin(now, initial);
        if opened.since.is_some() {
            let rtt = self.flight.rtt().smoothed;
            self.notify_at_start(now, initial, |controller, cx| controller.on_handshake(cx, rtt));
        }
    }

    fn begin(&mut self, now: Time, initial: u32) {
        self.flight.restart(now);
        self.output.open(now, initial);
        self.backlog.start(now);
        self.notify_at_start(now, initial, |controller, cx| controller.on_start(cx));
    }

    /// Size on the wire (IP) of a segment with `payload` bytes.
    pub fn wire_size(&self, payload: u32) -> Bytes {
        self.stack.data_overhead() + Bytes::new(u64::from(payload))
    }

    /// The ECN codepoint with which `data` leaves. Retransmissions are not ECN-capable (RFC 3168, section 6.1.5).
    pub fn codepoint(&self, data: &Data) -> Ecn {
        if data.retransmission { Ecn::NotCapable } else { self.driver.codepoint() }
    }

    /// The one with which new segments leave.
    pub fn codepoint_of_new(&self) -> Ecn {
        self.driver.codepoint()
    }

    /// Lets the controller handle an event. The output follows its decisions.
    #[inline(never)]
    fn notify(&mut self, now: Time, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        self.notify_of(now, None, event);
    }

    /// The same, where the stack may say how an unused window comes down, or no call is wanted.
    #[inline(always)]
    fn notify_of(
        &mut self,
        now: Time,
        restart: Option<Restart>,
        event: impl FnOnce(&mut dyn Controller, &mut Context<'_>),
    ) {
        self.notify_with(now, restart, self.stack.initial_window, event);
    }

    /// Lets the controller handle that the connection opens with a window of `initial` segments.
    fn notify_at_start(&mut self, now: Time, initial: u32, event: impl FnOnce(&mut dyn Controller, &mut Context<'_>)) {
        self.notify_with(now, None, initial, event);
    }

    #[inline(always)]
    fn notify_with(
        &mut self,
        now: Time,
        restart: Option<Restart>,
        initial_window: u32,
        event: impl FnOnce(&mut dyn Controller, &mut Context<'_>),
    ) {
        let Stack { segment_size, clock, growth, .. } = &*self.stack;
        let moment = Moment {
            now,
            segment_size: *segment_size,
            initial_window: f64::from(initial_window),
            slow_start_at_threshold: growth.slow_start_at_threshold,
            restart,
            departure: self.output.departure(),
            host_clock_at_start: clock.at_start,
            timestamp_tick: clock.timestamp_tick,
            counting: self.flight.counting(self.repair.stage(), growth),
        };
        let (flight, backlog) = (&self.flight, &self.backlog);
        let is_over = || flight.outstanding() == 0 && backlog.is_over(flight.next());
        let decision = self.driver.notify(&moment, self.flight.rtt().smoothed, is_over, event);
        self.output.follow(&decision);
    }

    /// When to call [`on_timeout`](Self::on_timeout), at the latest. Valid once nothing more leaves.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.poll_timeout_before(Time::NEVER)
    }

    /// The same if it is before `at`. Mostly lower bounds show that no timer of the repair expires before.
    #[inline(always)]
    pub fn poll_timeout_before(&self, at: Time) -> Option<Time> {
        let mut next = self.driver.wake_at();
        if !matches!(self.output.blocked(), Blocked::Window | Blocked::Receiver | Blocked::SendBuffer) {
            next = next.min(self.sends_at());
        }
        if !self.repair.surely_waits(next.min(at), &self.flight, &self.stack) {
            next = next.min(self.repair.next(&self.flight, &self.stack));
        }
        (next < at).then_some(next)
    }

    /// When new data leave that wait for their pace or the application.
    fn sends_at(&self) -> Time {
        match self.output.blocked() {
            Blocked::Application | Blocked::Idle => self.backlog.next_write().unwrap_or(Time::NEVER),
            Blocked::Pace => self.output.departure(),
            Blocked::Window | Blocked::Receiver | Blocked::SendBuffer => Time::NEVER,
        }
    }

    /// Parameters of the controller change at `now`. Afterwards poll what to transmit.
    pub fn set_parameters(&mut self, now: Time, given: &Parameters) -> Result<(), ParameterError> {
        let mut outcome = Ok(());
        self.notify(now, |controller, _| outcome = controller.set_parameters(given));
        outcome
    }

    /// Lets the processor fetch the lines that the next ACK needs besides the sender itself, without waiting for them.
    pub fn prefetch(&self) {
        self.flight.prefetch();
        self.driver.prefetch();
    }

    /// Lets it fetch the lines that those refer to.
    #[inline]
    pub fn prefetch_holes(&self) {
        self.flight.prefetch_holes();
    }
}
