//! The state of a connection as its endpoint reports it.

use serde::Serialize;

/// The modelled fields of `TCP_INFO`. Counts are segments, times microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Information {
    /// 0 open, 1 disorder, 2 reduced (CWR), 3 recovery, 4 loss.
    pub tcpi_ca_state: u8,
    /// Doublings of the timeout.
    pub tcpi_backoff: u32,
    /// The retransmission timeout.
    pub tcpi_rto: u64,
    /// Payload of a full segment, in bytes.
    pub tcpi_snd_mss: u64,
    /// Sent and not acknowledged cumulatively.
    pub tcpi_unacked: u32,
    /// SACKed ones among these.
    pub tcpi_sacked: u32,
    /// Lost ones among these.
    pub tcpi_lost: u32,
    /// Retransmissions in flight.
    pub tcpi_retrans: u32,
    /// All retransmissions.
    pub tcpi_total_retrans: u64,
    /// The smoothed RTT.
    pub tcpi_rtt: u64,
    /// The smallest RTT.
    pub tcpi_min_rtt: u64,
    /// The window.
    pub tcpi_snd_cwnd: u32,
    /// The threshold of slow start, or 2^31 - 1 if there is none.
    pub tcpi_snd_ssthresh: u32,
    /// DupThresh.
    pub tcpi_reordering: u32,
    /// Segments delivered.
    pub tcpi_delivered: u64,
    /// Bytes acknowledged.
    pub tcpi_bytes_acked: u64,
    /// Bytes written and not sent.
    pub tcpi_notsent_bytes: u64,
    /// Bytes received in order.
    pub tcpi_bytes_received: u64,
    /// How often the path was seen to reorder.
    pub tcpi_reord_seen: u32,
    /// Milliseconds since data arrived last, or since the connection opened.
    pub tcpi_last_data_recv: u64,
    /// How long there were data that were not acknowledged.
    pub tcpi_busy_time: u64,
    /// How long of that the receive window held them back.
    pub tcpi_rwnd_limited: u64,
}
