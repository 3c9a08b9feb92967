//! The state of a flow, and the events when it changes.
//!
//! The kernel's trace reports each change when it happens. Without it two looks by TCP_INFO are compared, a millisecond
//! apart.
//!
//! The trace can have gaps that the kernel does not count. On virtual machines with Linux 6.18 no BPF program runs, not
//! even of a controller, when a timer interrupts a thread of process 1. So looks are compared with the trace as well.

use record::{EventKind, FlowState};
use units::{SenderCounters, Time};

use crate::host::system::TcpInfo;

/// `tcpi_ca_state` after the retransmission timer expired (enum tcp_ca_state of linux/tcp.h).
const LOSS: u8 = 4;

/// `state` of the kernel (enum tcp_ca_state of linux/tcp.h).
pub(crate) fn state(state: u8) -> FlowState {
    match state {
        1 => FlowState::Disorder,
        2 => FlowState::Reduced,
        3 => FlowState::Recovery,
        LOSS => FlowState::Loss,
        _ => FlowState::Open,
    }
}

/// Something to note, with its value.
pub(crate) type Change = (EventKind, f64);

/// Compares two looks at a connection.
pub(crate) fn compare(before: &TcpInfo, now: &TcpInfo, counts: &mut SenderCounters, note: &mut dyn FnMut(Change)) {
    let window = f64::from(before.window);
    for _ in 0..now.timeouts.wrapping_sub(before.timeouts) {
        counts.timeouts += 1;
        note((EventKind::Timeout, window));
    }
    turn(state(before.congestion_state), state(now.congestion_state), window, counts, note);
}

/// A connection as the kernel's trace reports it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracedState {
    state: FlowState,
    /// Expiries of the retransmission timer since the connection was made.
    timeouts: u16,
    /// When the last change of state was recorded.
    last: Time,
}

impl TracedState {
    /// A connection that has just opened.
    pub(crate) fn new(info: &TcpInfo) -> Self {
        Self { state: state(info.congestion_state), timeouts: info.timeouts, last: Time::ZERO }
    }

    /// A record of the trace, made at `at`. The connection had `window` when it was last looked at.
    pub(crate) fn read(
        &mut self,
        at: Time,
        segment: &kernel::Segment,
        window: u32,
        counts: &mut SenderCounters,
        note: &mut dyn FnMut(Change),
    ) {
        match segment.kind {
            kernel::Kind::State => {
                self.last = at;
                if segment.state == LOSS {
                    self.timeouts = self.timeouts.wrapping_add(1);
                    counts.timeouts += 1;
                    // By now it is reduced, and nothing has come for longer than from one look to the next.
                    note((EventKind::Timeout, f64::from(window)));
                }
                let was = std::mem::replace(&mut self.state, state(segment.state));
                turn(was, self.state, f64::from(segment.snd_cwnd), counts, note);
            }
            kernel::Kind::Undone => {
                counts.spurious += 1;
                note((EventKind::Spurious, f64::NAN));
            }
            // Nothing is deemed lost, so this one is sent to learn whether something is (RFC 8985, section 7).
            kernel::Kind::Retransmitted if segment.state < 3 => note((EventKind::TailLossProbe, f64::NAN)),
            kernel::Kind::Retransmitted | kernel::Kind::Arrived => {}
        }
    }

    /// How many changes the trace lacks that a look shows which began at `began` and found `info`. All records from
    /// before have been read.
    pub(crate) fn lacks(&mut self, began: Time, info: &TcpInfo) -> u64 {
        let timeouts = info.timeouts.wrapping_sub(self.timeouts).cast_signed().max(0).cast_unsigned();
        let is = state(info.congestion_state);
        // A record from after the beginning has a later state.
        let other = is != self.state && self.last < began;
        if timeouts > 0 || other {
            (self.timeouts, self.state) = (self.timeouts.wrapping_add(timeouts), is);
        }
        u64::from(timeouts).max(u64::from(other))
    }
}

/// A connection with `window` goes from one state into another.
fn turn(was: FlowState, is: FlowState, window: f64, counts: &mut SenderCounters, note: &mut dyn FnMut(Change)) {
    let repairs = |state| matches!(state, FlowState::Recovery | FlowState::Loss);
    if was == is {
        return;
    }
    if is == FlowState::Recovery {
        counts.recoveries += 1;
        note((EventKind::LossEvent, window));
    } else if repairs(was) && !repairs(is) {
        note((EventKind::Recovered, f64::NAN));
    }
    if is == FlowState::Reduced {
        note((EventKind::Ecn, window));
    }
}

#[cfg(test)]
mod tests {
    use kernel::{Kind, Segment};

    use super::*;

    fn segment(kind: Kind, state: u8, snd_cwnd: u32) -> Segment {
        Segment {
            time_ns: 0,
            net_cookie: 0,
            local_port: 0,
            remote_port: 0,
            kind,
            state,
            data: 0,
            snd_cwnd,
            ssthresh: 0,
            srtt_us: 0,
            rtt_us: 0,
            in_flight: 0,
            snd_una: 0,
            snd_nxt: 0,
            delivered: 0,
            lost: 0,
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + units::Span::from_millis(ms)
    }

    /// The changes that `records` report, one record a millisecond from the first on. A change without a number has 0.
    fn told(traced: &mut TracedState, counts: &mut SenderCounters, records: &[(Kind, u8, u32)]) -> Vec<Change> {
        let mut noted = Vec::new();
        for (ms, &(kind, state, window)) in (1..).zip(records) {
            traced.read(at(ms), &segment(kind, state, window), 30, counts, &mut |(kind, value)| {
                noted.push((kind, if value.is_nan() { 0.0 } else { value }));
            });
        }
        noted
    }

    #[test]
    fn a_loss_a_timeout_in_its_repair_and_the_end_of_both_are_told_one_by_one() {
        let (mut traced, mut counts) = (TracedState::new(&TcpInfo::default()), SenderCounters::default());
        let records = [
            (Kind::State, 1, 40),
            (Kind::State, 3, 40),
            (Kind::State, 4, 1),
            (Kind::State, 4, 1),
            (Kind::State, 0, 20),
        ];
        let noted = told(&mut traced, &mut counts, &records);
        let (loss, timeout) = ((EventKind::LossEvent, 40.0), (EventKind::Timeout, 30.0));
        assert_eq!(noted, [loss, timeout, timeout, (EventKind::Recovered, 0.0)]);
        assert_eq!(counts, SenderCounters { timeouts: 2, recoveries: 1, ..SenderCounters::default() });
    }

    #[test]
    fn a_retransmission_is_a_tail_loss_probe_unless_something_is_deemed_lost() {
        let (mut traced, mut counts) = (TracedState::new(&TcpInfo::default()), SenderCounters::default());
        let records = [0, 2, 3, 4].map(|state| (Kind::Retransmitted, state, 10));
        let noted = told(&mut traced, &mut counts, &records);
        assert_eq!(noted, [(EventKind::TailLossProbe, 0.0); 2]);
        assert_eq!(traced.state, FlowState::Open);
    }

    #[test]
    fn a_look_shows_once_what_the_trace_lacks() {
        let info = |congestion_state, timeouts| TcpInfo { congestion_state, timeouts, ..TcpInfo::default() };
        let (mut traced, mut counts) = (TracedState::new(&info(0, 7)), SenderCounters::default());
        assert_eq!(traced.lacks(at(0), &info(0, 7)), 0);
        assert_eq!(traced.lacks(at(1), &info(4, 8)), 1);
        assert_eq!(traced.lacks(at(2), &info(4, 8)), 0);
        assert_eq!(traced.lacks(at(3), &info(0, 10)), 2, "two that are over by then");
        assert_eq!(traced.lacks(at(4), &info(3, 10)), 1, "a timer of RACK began a recovery");
        told(&mut traced, &mut counts, &[(Kind::State, 0, 10), (Kind::State, 4, 1)]);
        assert_eq!(traced.lacks(at(5), &info(4, 11)), 0);
    }

    #[test]
    fn a_look_that_a_record_overtook_lacks_nothing() {
        let (mut traced, mut counts) = (TracedState::new(&TcpInfo::default()), SenderCounters::default());
        told(&mut traced, &mut counts, &[(Kind::State, 3, 40), (Kind::State, 4, 1)]);
        let before = TcpInfo { congestion_state: 3, ..TcpInfo::default() };
        assert_eq!(traced.lacks(at(2), &before), 0, "the timer expired at 2 ms, while the look went on");
    }

    #[test]
    fn two_looks_tell_timeouts_and_the_state_behind_them() {
        let look =
            |congestion_state, window, timeouts| TcpInfo { congestion_state, window, timeouts, ..TcpInfo::default() };
        let (mut counts, mut noted) = (SenderCounters::default(), Vec::new());
        let looks = [look(0, 40, 65535), look(4, 1, 1), look(2, 20, 1)];
        for pair in looks.windows(2) {
            compare(&pair[0], &pair[1], &mut counts, &mut |(kind, _)| noted.push(kind));
        }
        assert_eq!(noted, [EventKind::Timeout, EventKind::Timeout, EventKind::Recovered, EventKind::Ecn]);
        assert_eq!(counts.timeouts, 2);
    }
}
