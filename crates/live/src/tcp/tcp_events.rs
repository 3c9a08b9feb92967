//! The state of a flow, and the events when it changes.
//!
//! The kernel's trace tells of each change when it happens. Without it two looks by TCP_INFO are compared, a
//! millisecond apart.

use record::{EventKind, FlowState};

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

/// Counted since the start of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) delivered: u64,
    pub(crate) timeouts: u64,
    pub(crate) recoveries: u64,
    pub(crate) spurious: u64,
}

impl Counts {
    pub(crate) fn since(&self, base: &Self) -> Self {
        Self {
            delivered: self.delivered - base.delivered,
            timeouts: self.timeouts - base.timeouts,
            recoveries: self.recoveries - base.recoveries,
            spurious: self.spurious - base.spurious,
        }
    }
}

/// Something to note, with its value.
pub(crate) type Change = (EventKind, f64);

/// Compares two looks at a connection.
pub(crate) fn compare(before: &TcpInfo, now: &TcpInfo, counts: &mut Counts, note: &mut dyn FnMut(Change)) {
    let window = f64::from(before.window);
    for _ in 0..now.timeouts.wrapping_sub(before.timeouts) {
        counts.timeouts += 1;
        note((EventKind::Timeout, window));
    }
    turn(state(before.congestion_state), state(now.congestion_state), window, counts, note);
}

/// A record of the kernel's trace about a connection, whose `window` was this when it was looked at before.
pub(crate) fn apply(
    segment: &kernel::Segment,
    was: &mut FlowState,
    window: u32,
    counts: &mut Counts,
    note: &mut dyn FnMut(Change),
) {
    match segment.kind {
        kernel::Kind::State => {
            let is = state(segment.state);
            if segment.state == LOSS {
                counts.timeouts += 1;
                // By now it is reduced, and nothing has come for longer than from one look to the next.
                note((EventKind::Timeout, f64::from(window)));
            }
            turn(*was, is, f64::from(segment.snd_cwnd), counts, note);
            *was = is;
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

/// A connection with `window` goes from one state into another.
fn turn(was: FlowState, is: FlowState, window: f64, counts: &mut Counts, note: &mut dyn FnMut(Change)) {
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

    #[test]
    fn a_loss_a_timeout_in_its_repair_and_the_end_of_both_are_told_one_by_one() {
        let (mut was, mut counts, mut noted) = (FlowState::Open, Counts::default(), Vec::new());
        let records = [
            (Kind::State, 1, 40),
            (Kind::State, 3, 40),
            (Kind::State, 4, 1),
            (Kind::State, 4, 1),
            (Kind::State, 0, 20),
        ];
        for (kind, state, window) in records {
            apply(&segment(kind, state, window), &mut was, 30, &mut counts, &mut |(kind, value)| {
                noted.push((kind, if value.is_nan() { 0.0 } else { value }));
            });
        }
        let (loss, timeout) = ((EventKind::LossEvent, 40.0), (EventKind::Timeout, 30.0));
        assert_eq!(noted, [loss, timeout, timeout, (EventKind::Recovered, 0.0)]);
        assert_eq!(counts, Counts { timeouts: 2, recoveries: 1, ..Counts::default() });
    }

    #[test]
    fn a_retransmission_is_a_tail_loss_probe_unless_something_is_deemed_lost() {
        let (mut was, mut counts, mut noted) = (FlowState::Open, Counts::default(), 0);
        for state in [0, 2, 3, 4] {
            let segment = segment(Kind::Retransmitted, state, 10);
            apply(&segment, &mut was, 10, &mut counts, &mut |(kind, _)| {
                assert_eq!(kind, EventKind::TailLossProbe);
                noted += 1;
            });
        }
        assert_eq!((noted, was), (2, FlowState::Open));
    }

    #[test]
    fn two_looks_tell_timeouts_and_the_state_behind_them() {
        let look =
            |congestion_state, window, timeouts| TcpInfo { congestion_state, window, timeouts, ..TcpInfo::default() };
        let (mut counts, mut noted) = (Counts::default(), Vec::new());
        let looks = [look(0, 40, 65535), look(4, 1, 1), look(2, 20, 1)];
        for pair in looks.windows(2) {
            compare(&pair[0], &pair[1], &mut counts, &mut |(kind, _)| noted.push(kind));
        }
        assert_eq!(noted, [EventKind::Timeout, EventKind::Timeout, EventKind::Recovered, EventKind::Ecn]);
        assert_eq!(counts.timeouts, 2);
    }
}
