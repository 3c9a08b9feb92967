//! The kernel's TCP around a controller, for the events of the simulator's transport.
//!
//! | event | callbacks, in the order of the kernel |
//! | --- | --- |
//! | [`on_ack`](Controller::on_ack) | pkts_acked, in_ack_event, cong_avoid |
//! | [`on_duplicate_ack`](Controller::on_duplicate_ack) | pkts_acked, in_ack_event |
//! | [`on_loss`](Controller::on_loss) | ssthresh, set_state(Recovery) |
//! | [`on_ecn`](Controller::on_ecn) | ssthresh, set_state(CWR) |
//! | [`on_recovered`](Controller::on_recovered) | set_state(Open), cwnd_event(COMPLETE_CWR); after CWR turned round |
//! | [`on_timeout`](Controller::on_timeout) | first of a row: ssthresh, cwnd_event(LOSS); always set_state(Loss) |
//! | an ACK above which data are delivered or missing | set_state(Disorder), before cong_avoid |
//! | one that does not any more | set_state(Open), before cong_avoid |
//! | an ACK of all that was outstanding at the timeout | set_state(Open), before cong_avoid |
//! | [`on_spurious`](Controller::on_spurious) | undo_cwnd, set_state(Open) |
//! | [`on_idle_restart`](Controller::on_idle_restart) | cwnd_event(CWND_RESTART) |
//! | [`on_transmit_start`](Controller::on_transmit_start) | cwnd_event(TX_START) |
//!
//! `cong_control`, where there is one, takes the place of cong_avoid, on every ACK. It governs recovery: `snd_cwnd`
//! limits the data in flight.
//!
//! Differences from the kernel:
//! - Window and threshold follow its rules, but for recovery without cong_control: how the flight comes down is the
//!   business of the simulator's transport, which aims at `snd_ssthresh`. Meanwhile `snd_cwnd` is the data in flight,
//!   at most its value of before.
//! - The ACK that ends recovery does not grow the window. After idle time the window is the initial one at once.
//! - min_tso_segs and sndbuf_expand do not occur.
//! - `sacked_out` is all of the data in flight that has left the network. `lost_out` is 0 but at a timeout.
//!   `rack.end_seq` is exact at the end of a round.
//! - A window above ten million segments ends the run (`snd_cwnd_clamp` is as good as infinite in the kernel), and so
//!   does a reduction to a threshold that large. An infinite one reduces to ten million.
//! - Segments leave at `sk_pacing_rate` if the controller sets it, as with fq.

use std::sync::Arc;

use control::{Ack, Context, Controller, Loss, Marks, Probe, Reports, TransmitStart, Wants};
use units::{Rate, Span, Time};

use crate::connection::{AckSample, ECHO, Event, INFINITE, RateSample, State};
use crate::library::{Instance, Library};

/// An infinite threshold reduces to this one, in segments: some callbacks return it for no reduction.
const LARGEST_TARGET: u32 = 10_000_000;
/// `DEFAULT_REORDERING` of `kernel/ack.h`.
const DEFAULT_REORDERING: u32 = 3;

/// CONFIG_HZ, of Debian's kernels.
const HZ: u64 = 250;
/// The tick at the start of a run: controllers take 0 for none.
const FIRST_TICK: u64 = 100_000;

/// A controller of the kernel on one connection.
pub(crate) struct Kernel {
    flow: Instance,
    state: State,
    /// The first segment sent after the last round ended.
    round_mark: u64,
    /// After a timeout: everything below was outstanding.
    loss_end: u64,
    /// The most that was in flight in this round.
    most_in_flight: u32,
    /// The threshold that an undone reduction restores, 0 if there is none to undo.
    prior_ssthresh: u32,
}

impl Kernel {
    pub(crate) fn new(library: Arc<Library>) -> Self {
        Self {
            flow: Instance::new(library),
            state: State::Open,
            round_mark: 0,
            loss_end: 0,
            most_in_flight: 0,
            prior_ssthresh: 0,
        }
    }

    fn is_reducing(&self) -> bool {
        matches!(self.state, State::Reduced | State::Recovery)
    }

    fn set_state(&mut self, cx: &mut Context<'_>, next: State) {
        self.flow.set_state(cx.random, next as u8);
        self.state = next;
        self.flow.connection_mut().tp.inet_conn.ca_state = next as u8;
    }

    fn set_time(&mut self, cx: &Context<'_>) {
        let connection = self.flow.connection_mut();
        connection.now = cx.host_clock().as_nanos();
        connection.tp.tcp_mstamp = connection.now / 1000;
    }

    /// The least that an undone reduction gives back: three quarters of the window.
    fn current_ssthresh(&self) -> u32 {
        let tp = &self.flow.connection().tp;
        if self.is_reducing() { tp.snd_ssthresh } else { tp.snd_ssthresh.max(tp.snd_cwnd / 2 + tp.snd_cwnd / 4) }
    }

    /// The sequence number of a segment: the kernel counts bytes.
    fn sequence(&self, segment: u64) -> u32 {
        (segment as u32).wrapping_mul(self.flow.connection().tp.mss_cache)
    }

    /// Writes up to where data was sent, which may be beyond the last ACK's report.
    fn sent(&mut self, sent_to: u64) {
        self.flow.connection_mut().tp.snd_nxt = self.sequence(sent_to);
    }

    /// Writes what `ack` changes before a controller is asked.
    fn take(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.set_time(cx);
        let (una, nxt) = (self.sequence(ack.acknowledged_to), self.sequence(ack.sent_to));
        let newest = if ack.round_start { self.sequence(self.round_mark + 1) } else { una };
        self.most_in_flight = self.most_in_flight.max(ack.in_flight_before);
        let most_in_flight = self.most_in_flight;
        if ack.round_start {
            self.round_mark = ack.sent_to;
            self.most_in_flight = ack.in_flight;
        }
        let connection = self.flow.connection_mut();
        connection.rtt = ack.undelayed_rtt().map_or(0, Span::as_nanos);
        connection.timestamp_rtt = ack.timestamp_rtt(cx).map_or(-1, |rtt| rtt.as_nanos() as i64);
        connection.timestamp_tick = cx.timestamp_tick.as_nanos();
        connection.smoothed_rtt = ack.smoothed_rtt.as_nanos();
        let tp = &mut connection.tp;
        (tp.snd_una, tp.snd_nxt) = (una, nxt);
        tp.rack_end_seq = if newest.wrapping_sub(una) as i32 > 0 { newest } else { una };
        tp.srtt_us = (ack.smoothed_rtt.as_nanos() / 125) as u32;
        tp.packets_out = (ack.sent_to - ack.acknowledged_to) as u32;
        tp.sacked_out = tp.packets_out.saturating_sub(ack.in_flight);
        tp.retrans_out = ack.in_flight.saturating_sub(tp.packets_out);
        tp.lost_out = 0;
        tp.delivered = tp.delivered.wrapping_add(ack.newly_delivered);
        if ack.newly_delivered > 0 {
            tp.delivered_mstamp = tp.tcp_mstamp;
        }
        tp.delivered_ce = ack.marked as u32;
        tp.app_limited = if ack.application_limited { tp.delivered.wrapping_add(ack.in_flight).max(1) } else { 0 };
        tp.lost = tp.lost.wrapping_add(ack.newly_lost);
        tp.is_cwnd_limited = ack.window_limited.into();
        // The transport has applied the same rule, and the controller has to find the same answer.
        tp.max_packets_out = if ack.window_limited { most_in_flight } else { most_in_flight.min(tp.snd_cwnd / 2) };
        tp.saw_tstamp = (ack.timestamp_echo != Time::NEVER).into();
        let tick = cx.timestamp_tick.as_nanos().max(1);
        let echo = ack.timestamp_echo + cx.host_clock_at_start;
        tp.rcv_tsecr = if tp.saw_tstamp == 0 { 0 } else { (echo.as_nanos() / tick) as u32 };
        if let Some(rtt) = ack.rtt {
            tp.rack_rtt_us = microseconds(rtt.value);
        }
    }

    /// The first steps of every ACK. Returns its flags.
    fn signals(&mut self, cx: &mut Context<'_>, ack: &Ack) -> u64 {
        self.take(cx, ack);
        let rtt_us = ack.rtt.map_or(-1, |rtt| microseconds(rtt.value) as i32);
        let sample = AckSample { pkts_acked: ack.newly_acknowledged, rtt_us };
        if ack.ends_recovery {
            self.acked_in_recovery(cx, &sample);
        } else {
            self.flow.pkts_acked(cx.random, &sample);
        }
        let flags = if ack.ecn_echo { ECHO } else { 0 };
        self.flow.in_ack_event(cx.random, flags);
        flags
    }

    /// The kernel reports the ACK that ends a recovery before the end. The values that the end left hold.
    fn acked_in_recovery(&mut self, cx: &mut Context<'_>, sample: &AckSample) {
        let tp = &mut self.flow.connection_mut().tp;
        let (state, window, threshold) = (tp.inet_conn.ca_state, tp.snd_cwnd, tp.snd_ssthresh);
        tp.inet_conn.ca_state = State::Recovery as u8;
        self.flow.pkts_acked(cx.random, sample);
        let tp = &mut self.flow.connection_mut().tp;
        (tp.inet_conn.ca_state, tp.snd_cwnd, tp.snd_ssthresh) = (state, window, threshold);
    }

    fn cong_control(&mut self, cx: &mut Context<'_>, ack: &Ack, flags: u64, may_raise: bool) {
        // As with max_packets_out, the transport has decided. Past the default, SACKed data alone raise the window.
        self.flow.connection_mut().tp.reordering = if may_raise { DEFAULT_REORDERING + 1 } else { DEFAULT_REORDERING };
        let sequence = self.sequence(ack.acknowledged_to);
        let prior_marked = ack.rate.and_then(|rate| rate.sent).map_or(ack.marked, |sent| sent.marked);
        let sample = RateSample {
            prior_delivered: ack.rate.map_or(0, |rate| rate.prior_delivered as u32),
            prior_delivered_ce: prior_marked as u32,
            delivered_ce: (ack.marked - prior_marked) as i32,
            delivered: ack.rate.map_or(-1, |rate| rate.delivered as i32),
            interval_us: ack.rate.map_or(-1, |rate| microseconds(rate.interval).into()),
            rtt_us: ack.rtt.map_or(-1, |rtt| microseconds(rtt.value).into()),
            losses: ack.newly_lost as i32,
            acked_sacked: ack.newly_delivered,
            prior_in_flight: ack.in_flight_before,
            is_app_limited: ack.rate.is_some_and(|rate| rate.application_limited),
            is_retrans: ack.rate.is_some_and(|rate| rate.is_retransmission),
        };
        self.flow.cong_control(cx.random, sequence, flags, &sample);
    }

    /// A reduction begins: the kernel's notes, and the threshold that the controller names.
    fn begin_reduction(&mut self, cx: &mut Context<'_>, undoable: bool) {
        self.prior_ssthresh = if undoable { self.current_ssthresh() } else { 0 };
        let tp = &mut self.flow.connection_mut().tp;
        tp.snd_cwnd_cnt = 0;
        tp.prior_cwnd = tp.snd_cwnd;
        let threshold = self.flow.ssthresh(cx.random);
        self.flow.connection_mut().tp.snd_ssthresh = threshold;
    }

    /// True if, with nothing reduced, a segment is missing below data that arrived, or was sent twice.
    fn follow_disorder(&mut self, cx: &mut Context<'_>) {
        let tp = self.flow.connection().tp;
        let next = if tp.sacked_out + tp.retrans_out > 0 { State::Disorder } else { State::Open };
        if matches!(self.state, State::Open | State::Disorder) && self.state != next {
            self.set_state(cx, next);
        }
    }

    fn end_reduction(&mut self, cx: &mut Context<'_>) {
        let recovery = self.state == State::Recovery;
        if recovery {
            self.set_state(cx, State::Open);
        }
        if !self.flow.library().controls_all() {
            let tp = &mut self.flow.connection_mut().tp;
            if tp.snd_ssthresh < INFINITE {
                tp.snd_cwnd = tp.snd_ssthresh;
            }
        }
        self.flow.cwnd_event(cx.random, Event::CompleteReduction as u32);
        if !recovery {
            self.set_state(cx, State::Open);
        }
    }
}

/// Ticks of the kernel's clock, as `ack_jiffies` of `kernel/shim/libbpf.h`.
fn jiffies(nanos: u64) -> u32 {
    (nanos / (1_000_000_000 / HZ) + FIRST_TICK) as u32
}

fn microseconds(span: Span) -> u32 {
    u32::try_from(span.as_nanos() / 1000).unwrap_or(u32::MAX)
}

impl Controller for Kernel {
    fn wants(&self) -> Wants {
        let controls_all = self.flow.library().controls_all();
        // Reports of segments have the marks counted when the segment of a rate sample left.
        let segments = if controls_all { Reports::Lost } else { Reports::None };
        Wants { transmit_start: true, governs_recovery: controls_all, segments, exact_rtt: true, ..Wants::default() }
    }

    fn on_transmit_start(&mut self, cx: &mut Context<'_>, start: &TransmitStart) {
        self.set_time(cx);
        let tp = &mut self.flow.connection_mut().tp;
        tp.app_limited = if start.application_limited { tp.delivered.max(1) } else { 0 };
        tp.lsndtime = jiffies(cx.host_clock().as_nanos().saturating_sub(start.idle.as_nanos()));
        self.flow.cwnd_event(cx.random, Event::TransmitStart as u32);
        self.flow.connection_mut().tp.lsndtime = jiffies(cx.host_clock().as_nanos());
    }

    fn on_start(&mut self, cx: &mut Context<'_>) {
        self.set_time(cx);
        let tp = &mut self.flow.connection_mut().tp;
        tp.snd_cwnd = cx.initial_window as u32;
        tp.mss_cache = cx.segment_size.get() as u32;
        self.flow.init(cx.random);
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let flags = self.signals(cx, ack);
        match self.state {
            // A stack without fast recovery, which the kernel is not: there repair goes on, but the reduction is over.
            State::Reduced | State::Recovery if !self.flow.library().controls_all() => self.end_reduction(cx),
            State::Loss if ack.acknowledged_to >= self.loss_end => self.set_state(cx, State::Open),
            _ => self.follow_disorder(cx),
        }
        if self.flow.library().controls_all() {
            self.cong_control(cx, ack, flags, true);
            return;
        }
        let tp = self.flow.connection().tp;
        let credit = if tp.snd_cwnd < tp.snd_ssthresh { ack.slow_start_credit(cx) } else { ack.avoidance_credit(cx) };
        let sequence = self.sequence(ack.acknowledged_to);
        self.flow.cong_avoid(cx.random, sequence, credit as u32);
    }

    fn on_duplicate_ack(&mut self, cx: &mut Context<'_>, ack: &Ack) {
        let flags = self.signals(cx, ack);
        self.follow_disorder(cx);
        if self.flow.library().controls_all() {
            self.cong_control(cx, ack, flags, false);
        } else if self.is_reducing() {
            let tp = &mut self.flow.connection_mut().tp;
            tp.snd_cwnd = ack.in_flight.min(tp.prior_cwnd).max(1);
        }
    }

    fn on_loss(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.set_time(cx);
        self.sent(loss.sent_to);
        let tp = &mut self.flow.connection_mut().tp;
        tp.lost = tp.lost.wrapping_add(loss.newly_lost);
        self.begin_reduction(cx, true);
        self.set_state(cx, State::Recovery);
    }

    fn on_ecn(&mut self, cx: &mut Context<'_>, marks: &Marks) {
        self.set_time(cx);
        self.sent(marks.sent_to);
        self.begin_reduction(cx, false);
        self.set_state(cx, State::Reduced);
    }

    fn on_recovered(&mut self, cx: &mut Context<'_>) {
        self.set_time(cx);
        match self.state {
            State::Reduced | State::Recovery => self.end_reduction(cx),
            State::Loss => self.set_state(cx, State::Open),
            State::Open | State::Disorder => {}
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_>, loss: &Loss) {
        self.set_time(cx);
        self.sent(loss.sent_to);
        let tp = &mut self.flow.connection_mut().tp;
        tp.lost = tp.lost.wrapping_add(loss.newly_lost);
        if !loss.again {
            self.begin_reduction(cx, true);
            self.flow.cwnd_event(cx.random, Event::Loss as u32);
        } else if matches!(self.state, State::Open | State::Disorder) {
            // A stack without fast recovery has left the reduction while its repair goes on. The kernel has not.
            self.flow.connection_mut().tp.inet_conn.ca_state = State::Recovery as u8;
        }
        let tp = &mut self.flow.connection_mut().tp;
        // Nothing is in flight, and one segment may be.
        (tp.lost_out, tp.retrans_out) = (tp.packets_out.saturating_sub(tp.sacked_out), 0);
        tp.snd_cwnd = 1;
        tp.snd_cwnd_cnt = 0;
        self.set_state(cx, State::Loss);
        self.loss_end = loss.sent_to;
    }

    fn on_spurious(&mut self, cx: &mut Context<'_>) {
        self.set_time(cx);
        if self.prior_ssthresh > 0 {
            let window = self.flow.undo_cwnd(cx.random);
            let prior = std::mem::take(&mut self.prior_ssthresh);
            let tp = &mut self.flow.connection_mut().tp;
            tp.snd_cwnd = window;
            tp.snd_ssthresh = tp.snd_ssthresh.max(prior);
        }
        if self.state != State::Open {
            self.set_state(cx, State::Open);
        }
    }

    fn on_idle_restart(&mut self, cx: &mut Context<'_>) {
        self.set_time(cx);
        if cx.restart.is_none_or(|restart| restart.idle) {
            self.flow.cwnd_event(cx.random, Event::WindowRestart as u32);
        }
        let threshold = self.current_ssthresh();
        let window = cx.restart.map_or(cx.initial_window, |restart| restart.window) as u32;
        let tp = &mut self.flow.connection_mut().tp;
        tp.snd_ssthresh = threshold;
        tp.snd_cwnd = tp.snd_cwnd.min(window);
    }

    fn window(&self) -> f64 {
        let tp = &self.flow.connection().tp;
        let aims_at_threshold = self.is_reducing() && !self.flow.library().controls_all();
        let window = match tp.snd_ssthresh {
            INFINITE.. if aims_at_threshold => LARGEST_TARGET,
            threshold if aims_at_threshold => threshold,
            _ => tp.snd_cwnd,
        };
        f64::from(window.max(1))
    }

    fn slow_start_threshold(&self) -> f64 {
        let threshold = self.flow.connection().tp.snd_ssthresh;
        if threshold >= INFINITE { f64::INFINITY } else { f64::from(threshold) }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // Unlimited while the controller leaves it alone.
        match self.flow.connection().tp.inet_conn.sock.pacing_rate {
            0 | std::ffi::c_ulong::MAX => None,
            bytes => Some(Rate::from_bits_per_second(bytes.saturating_mul(8))),
        }
    }

    fn probe(&self, out: &mut dyn Probe) {
        for (name, value) in self.flow.probes() {
            out.value(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use control::testing::{World, ack, loss};

    use super::*;

    /// `kernel/<name>.bpf.c` on a connection whose first segments were acknowledged: a window of ten and more.
    fn begun(name: &str) -> (World, Kernel) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../kernel/{name}.bpf.c"));
        let object = crate::compile::compile(&path).unwrap();
        let library = Library::load(name, &object, &control::Parameters::new()).unwrap();
        (World::new(), Kernel::new(Arc::new(library)))
    }

    /// An ACK of the segment before `n`, with ten more outstanding.
    fn nth(n: u64) -> Ack {
        Ack { acknowledged_to: n, sent_to: n + 10, in_flight: 10, ..ack() }
    }

    #[test]
    fn path_mtu_discovery_is_no_timeout() {
        for name in ["cdg", "da", "siad"] {
            // All is lost, and one segment, where a whole window is outstanding.
            for whole_window in [false, true] {
                let (mut world, mut kernel) = begun(name);
                kernel.on_start(&mut world.context());
                (1..20).for_each(|n| kernel.on_ack(&mut world.context(), &nth(n)));
                let before = (kernel.window(), kernel.slow_start_threshold());
                // It marks segments lost, and enters the state without asking for a threshold.
                let tp = &mut kernel.flow.connection_mut().tp;
                if whole_window {
                    (tp.packets_out, tp.sacked_out, tp.lost_out, tp.retrans_out) = (tp.snd_cwnd, 0, 1, 0);
                } else {
                    tp.lost_out = tp.packets_out;
                }
                kernel.set_state(&mut world.context(), State::Loss);
                assert_eq!((kernel.window(), kernel.slow_start_threshold()), before, "{name} {whole_window}");
            }
        }
    }

    #[test]
    fn no_window_exceeds_the_clamp_of_the_route() {
        for name in ["cdg", "da", "siad"] {
            let (mut world, mut kernel) = begun(name);
            kernel.on_start(&mut world.context());
            kernel.flow.connection_mut().tp.snd_cwnd_clamp = 12;
            (1..20).for_each(|n| kernel.on_ack(&mut world.context(), &nth(n)));
            assert_eq!(kernel.window(), 12.0, "{name}");
        }
    }

    #[test]
    fn without_memory_for_its_state_a_connection_grows_as_newreno_until_there_is_some() {
        for name in ["cdg", "da", "siad"] {
            let (mut world, mut kernel) = begun(name);
            kernel.flow.starved = true;
            kernel.on_start(&mut world.context());
            // Slow start: five segments acknowledged, five more.
            (1..6).for_each(|n| kernel.on_ack(&mut world.context(), &nth(n)));
            assert_eq!(kernel.window(), 15.0, "{name}");
            kernel.flow.starved = false;
            kernel.on_ack(&mut world.context(), &nth(6));
            kernel.on_ack(&mut world.context(), &nth(7));
            assert_eq!(kernel.window(), 16.0, "{name}");
            assert!(kernel.flow.probes().count() > 0, "{name} has begun");
        }
    }

    #[test]
    fn a_timeout_after_idle_counts_from_the_window_that_idle_left() {
        for (name, threshold) in [("cdg", 5.0), ("newreno", 5.0)] {
            let (mut world, mut kernel) = begun(name);
            kernel.on_start(&mut world.context());
            (1..60).for_each(|n| kernel.on_ack(&mut world.context(), &nth(n)));
            assert!(kernel.window() > 60.0, "{name}");
            kernel.on_idle_restart(&mut world.context());
            kernel.on_timeout(&mut world.context(), &loss());
            // RFC 5681, equation (4): half of the ten segments that left after the idle time.
            assert_eq!(kernel.slow_start_threshold(), threshold, "{name}");
        }
    }

    #[test]
    fn an_undo_gives_back_three_quarters_of_the_window_as_the_threshold() {
        let (mut world, mut kernel) = begun("newreno");
        kernel.on_start(&mut world.context());
        kernel.on_loss(&mut world.context(), &loss());
        kernel.on_recovered(&mut world.context());
        assert_eq!(kernel.slow_start_threshold(), 5.0);
        kernel.flow.connection_mut().tp.snd_cwnd = 41;
        kernel.on_timeout(&mut world.context(), &loss());
        assert_eq!((kernel.window(), kernel.slow_start_threshold()), (1.0, 20.0));
        kernel.on_spurious(&mut world.context());
        // 41 / 2 + 41 / 4 in whole segments (tcp_current_ssthresh).
        assert_eq!((kernel.window(), kernel.slow_start_threshold()), (41.0, 30.0));
    }
}
