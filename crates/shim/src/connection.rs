//! The structures of `kernel/shim/types.h`. Their sizes are compared when an object is loaded.

use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::ptr::null_mut;

/// TCP_INFINITE_SSTHRESH: the threshold before the first congestion event.
pub(crate) const INFINITE: u32 = 0x7fff_ffff;

/// The states of a connection in the kernel (`enum tcp_ca_state`). The transport does not report Disorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    Open = 0,
    Disorder = 1,
    Reduced = 2,
    Recovery = 3,
    Loss = 4,
}

/// `enum tcp_ca_event`, those that the simulator has as events.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum Event {
    TransmitStart = 0,
    WindowRestart = 1,
    CompleteReduction = 2,
    Loss = 3,
}

/// CA_ACK_ECE.
pub(crate) const ECHO: u64 = 4;

/// `struct connection`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) tp: TcpSock,
    pub(crate) now: u64,
    pub(crate) rtt: u64,
    pub(crate) timestamp_rtt: i64,
    pub(crate) timestamp_tick: u64,
    pub(crate) smoothed_rtt: u64,
    pub(crate) stored: *mut c_void,
    pub(crate) record: *mut c_void,
    pub(crate) random: extern "C" fn(*mut c_void) -> u32,
    pub(crate) source: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sock {
    ports: [u16; 2],
    net: usize,
    pacing_status: u32,
    pub(crate) pacing_rate: c_ulong,
    max_pacing_rate: c_ulong,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InetConnectionSock {
    pub(crate) sock: Sock,
    pub(crate) ca_state: u8,
    ack_pending: u8,
    private: [u64; 13],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpSock {
    pub(crate) inet_conn: InetConnectionSock,
    pub(crate) snd_cwnd: u32,
    pub(crate) snd_cwnd_cnt: u32,
    pub(crate) snd_ssthresh: u32,
    pub(crate) snd_cwnd_clamp: u32,
    pub(crate) prior_cwnd: u32,
    pub(crate) snd_una: u32,
    pub(crate) snd_nxt: u32,
    pub(crate) srtt_us: u32,
    pub(crate) packets_out: u32,
    pub(crate) sacked_out: u32,
    pub(crate) lost_out: u32,
    pub(crate) retrans_out: u32,
    pub(crate) max_packets_out: u32,
    pub(crate) reordering: u32,
    pub(crate) delivered: u32,
    pub(crate) delivered_ce: u32,
    pub(crate) lost: u32,
    pub(crate) app_limited: u32,
    pub(crate) mss_cache: u32,
    pub(crate) is_cwnd_limited: u8,
    pub(crate) tcp_mstamp: u64,
    pub(crate) delivered_mstamp: u64,
    pub(crate) rcv_tsecr: u32,
    pub(crate) saw_tstamp: u16,
    pub(crate) rack_rtt_us: u32,
    pub(crate) rack_end_seq: u32,
    pub(crate) lsndtime: u32,
    rcv_nxt: u32,
    ecn_flags: u8,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct AckSample {
    pub(crate) pkts_acked: u32,
    pub(crate) rtt_us: i32,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct RateSample {
    pub(crate) prior_delivered: u32,
    pub(crate) prior_delivered_ce: u32,
    pub(crate) delivered: i32,
    pub(crate) delivered_ce: i32,
    pub(crate) interval_us: c_long,
    pub(crate) rtt_us: c_long,
    pub(crate) losses: c_int,
    pub(crate) acked_sacked: u32,
    pub(crate) prior_in_flight: u32,
    pub(crate) is_app_limited: bool,
    pub(crate) is_retrans: bool,
}

/// `struct probe_value`: value/divisor is shown, but not yet while the divisor is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeValue {
    pub(crate) value: i64,
    pub(crate) divisor: u64,
}

impl Connection {
    pub(crate) fn new(random: extern "C" fn(*mut c_void) -> u32) -> Self {
        let sock = Sock { pacing_rate: c_ulong::MAX, max_pacing_rate: c_ulong::MAX, ..Sock::default() };
        let inet_conn = InetConnectionSock { sock, ca_state: State::Open as u8, ..InetConnectionSock::default() };
        Self {
            tp: TcpSock { inet_conn, snd_ssthresh: INFINITE, snd_cwnd_clamp: u32::MAX, ..TcpSock::default() },
            now: 0,
            rtt: 0,
            timestamp_rtt: -1,
            timestamp_tick: 0,
            smoothed_rtt: 0,
            stored: null_mut(),
            record: null_mut(),
            random,
            source: null_mut(),
        }
    }
}
