//! What a TCP endpoint does and does not do, option by option, and the profiles that bundle the options of an era.

use control::Counting;
use serde::{Deserialize, Serialize};
use units::packet::{IP_HEADER, TCP_HEADER, TIMESTAMPS_OPTION};
use units::{Bytes, Span};

use crate::EcnMode;

/// The largest DupThresh: a sender remembers as many of the highest SACKed numbers.
pub const MAX_THRESHOLD: u32 = 16;

/// How the data in flight comes down to the new window during fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Proportional rate reduction (RFC 9937, which replaced RFC 6937) as in Linux since 4.3: the slow-start reduction
    /// bound only on an ACK that advances the cumulative point and shows no new loss, else the conservative one.
    ProportionalRate,
    /// Proportional rate reduction with the slow-start reduction bound on every ACK (PRR-SSRB, RFC 6937, section
    /// 3): Linux 3.2 to 4.2.
    ProportionalRateSsrb,
    /// Send whenever the pipe is below the new window (RFC 6675).
    Pipe,
}

/// What fast recovery sends again, with SACK and without RACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmits {
    /// What counts as lost (Linux).
    Lost,
    /// NextSeg of RFC 6675: where neither that nor a new segment may leave, also what has SACKed segments above it
    /// (rule 3), and once in a recovery the highest segment that was not SACKed (rule 4, the rescue retransmission).
    NextSeg,
    /// Everything below the highest SACKed segment: from the start of recovery on it counts as lost (FreeBSD before
    /// version 13).
    Holes,
}

/// How a paced flow keeps its rate. Its segments leave in trains, as long as its controller says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// A train that leaves late moves all behind it, and one that the window cuts short goes on when that opens.
    Exact,
    /// A train makes up for its lateness, by half its time at most; one that is cut short is over; a retransmission
    /// leaves alone; with segmentation offload a short train waits for the next ACK (Linux since 4.20).
    Linux,
}

/// What becomes of a window that was not used for a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// After an idle time: the initial window (RFC 5681, section 4.1).
    Rfc5681,
    /// After an idle time: the window halves for each timeout that it lasted, down to the initial one. Where no ACK
    /// came for a timeout and the window was not filled: halfway to what was used. Either way the threshold is at least
    /// three quarters of the window (Linux, after RFC 2861).
    Linux,
}

/// When a window that is not fully used may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowValidation {
    /// If it limited the flow in this round, or in slow start if half of it was outstanding (Linux; compare RFC 7661).
    Round,
    /// While it is below twice the largest flight in slow start, or else a segment above it; the largest since the
    /// window last came down (draft-ietf-ccwg-ratelimited-increase). Growth stops with the ACK that reaches that.
    RateLimitedIncrease,
}

/// The options of one TCP connection, sender and receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct Options {
    /// Payload of a full segment (SMSS).
    pub segment_size: Bytes,
    /// Initial window in segments (RFC 3390, RFC 6928).
    pub initial_window: u32,
    /// Receive window in segments.
    pub receive_window: u32,
    /// Selective acknowledgements (RFC 2018), duplicate SACK included (RFC 2883); without them NewReno recovery
    /// (RFC 6582).
    pub sack: bool,
    /// The timestamp option (RFC 7323): 12 bytes a segment, and samples that tell a retransmission from its original.
    pub timestamps: bool,
    /// The clock on which RTT samples are taken; 0 is exact, as are those of controllers that want it so.
    pub clock_tick: Span,
    /// Over how long the smallest RTT is taken, for RACK, the delivery rate and controllers: a path that has become
    /// longer is known by then. Zero is the whole connection.
    pub min_rtt_window: Span,
    /// The clock of the timestamp option.
    pub timestamp_tick: Span,
    /// The tick of the timers of retransmission, of tail loss probes, of RACK and of delayed ACKs (in Linux 1 /
    /// CONFIG_HZ): a wait counts in whole ticks, from the last tick before it began on, and ends one tick later; from
    /// 63 ticks on with every eighth tick, from 504 on with every 64th (the timer wheel of Linux). Probes and RACK wait
    /// 2 ms more. 0 is exact.
    pub timer_tick: Span,
    /// Duplicate ACKs, or segments SACKed above, that make a segment lost (DupThresh, RFC 6675); at most
    /// [`MAX_THRESHOLD`].
    pub duplicate_threshold: u32,
    /// Whether `duplicate_threshold` grows with the reordering that SACK shows, to [`MAX_THRESHOLD`] at
    /// most (Linux).
    pub reordering_adapts: bool,
    /// Forward acknowledgment (FACK, Mathis and Mahdavi 1996): a segment is lost once one sent
    /// `duplicate_threshold` after it was SACKed, whatever became of those between, and a retransmission once a
    /// segment first sent after it was SACKed; until the path is seen to reorder by more than the threshold (Linux
    /// 2.4 to 4.15). Without effect where `rack` decides.
    pub forward_acknowledgment: bool,
    /// Time-based loss detection (RACK, RFC 8985), which also finds lost retransmissions.
    pub rack: bool,
    /// Tail loss probes (TLP, RFC 8985 section 7).
    pub tail_loss_probe: bool,
    /// Segmentation offload of the sender (TSO, GSO): where ACKs come less than a millisecond apart, new segments wait
    /// until so many may leave that they make a train. It takes a millisecond at 1.2 times the rate of the flow, in
    /// slow start twice, is two segments at least and 64 kB at most (in Linux tcp_tso_autosize). The last segment of
    /// two or more that leave so is pushed (PSH).
    pub segmentation_offload: bool,
    /// How a paced flow keeps its rate.
    pub pacing: Pacing,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Fast recovery (RFC 5681, section 3.2). Without it, as in 4.3BSD-Tahoe, the duplicate ACKs that show a loss
    /// make everything outstanding lost: it is sent again from the first unacknowledged segment on (go-back-N), as
    /// the window of the controller allows, which may grow meanwhile.
    pub fast_recovery: bool,
    /// How the flight is brought down in fast recovery, and on an ECN echo.
    pub reduction: Reduction,
    /// What fast recovery sends again, with SACK and without RACK.
    pub retransmits: Retransmits,
    /// Undo a reduction that timestamps or duplicate SACKs show to be spurious (RFC 4015, RFC 3708).
    pub undo: bool,
    /// Forward RTO recovery (F-RTO, RFC 5682, with SACK): after a timeout two new segments leave first, and it is
    /// undone if an ACK covers what was not sent again.
    pub forward_rto: bool,
    /// How acknowledgements are counted for window growth.
    pub counting: Counting,
    /// Whether a window that equals the slow-start threshold still is in slow start (RFC 5681, section 3.1, leaves
    /// it open): in FreeBSD, and in Linux before 4.3, so that one ACK after each reduction grows it as in slow
    /// start.
    pub slow_start_at_threshold: bool,
    /// Whether the ACK that ends a fast recovery with SACK, or a reduction for a mark, lets the window grow, by what it
    /// newly delivers (Linux since 4.6 at the latest), and the latter lasts until the segment with CWR is acknowledged.
    /// Otherwise growth begins with the next ACK.
    pub recovery_end_grows: bool,
    /// The connection is opened first (RFC 9293, section 3.5): data leave a base RTT after the start, and that is the
    /// first RTT sample. The SYN meets no queue and is not lost.
    pub handshake: bool,
    /// Retransmission timeout before the first sample (RFC 6298, 2.1).
    pub rto_initial: Span,
    /// The smallest retransmission timeout.
    pub rto_min: Span,
    /// The largest one, back-off included.
    pub rto_max: Span,
    /// The smallest variance term: RTO = SRTT + max(4*RTTVAR, this) + slack. Linux applies its 200 ms here.
    pub rto_variance_min: Span,
    /// Added to every retransmission timeout (FreeBSD adds 200 ms).
    pub rto_slack: Span,
    /// Whether every expiry of the retransmission timer reduces the slow-start threshold (4.3BSD, FreeBSD, ns-2).
    /// Otherwise the first since new data was acknowledged does, and none in fast recovery or after a mark
    /// (Linux). What reduces a second time is not undone.
    pub every_timeout_reduces: bool,
    /// When a window that is not fully used may grow.
    pub window_validation: WindowValidation,
    /// Whether the window comes down after an idle time longer than the RTO, as `idle_restart` says.
    pub slow_start_restart: bool,
    /// How it comes down.
    pub idle_restart: IdleRestart,
    /// Explicit congestion notification (RFC 3168): `false`, `true`, or `"accurate"` with a receiver that counts
    /// marks (RFC 9768).
    pub ecn: EcnMode,
    /// The share of the window that a congestion echo leaves, in whole segments and at least two (ABE, RFC 8511): of a
    /// controller that would take more, as for a loss. Zero is none of this.
    pub ecn_beta: f64,
    /// Full segments an ACK may wait for: 2 with delayed ACKs, 1 without (RFC 5681, section 4.2).
    pub ack_every: u32,
    /// How long an ACK may be delayed, at first.
    pub delayed_ack_timeout: Span,
    /// How long at most: an ACK that waited in vain doubles the wait, up to a base RTT; pauses between segments that
    /// are shorter than it stretch it; segments close together bring it back (Linux). Not above `delayed_ack_timeout`
    /// the wait is constant.
    pub delayed_ack_max: Span,
    /// Segments acknowledged one by one at the start of a connection (quick ACKs of Linux): 16, and in Linux while the
    /// receive window opens, which it does by two segments for each that arrives.
    pub quick_acks: u32,
    /// Quick ACKs come back: as many at most after a pause longer than the receiver's timeout and after a segment that
    /// was delivered before, two after a congestion mark and, with ECN, after a segment that is sent again. And a
    /// segment that announces a reduction (CWR) is acknowledged at once, and the last one of what the application wrote
    /// (PSH), as its reader waits for no more (Linux 6). Zero is none of this.
    pub quick_acks_again: u32,
    /// SACK compression (Linux since 4.18): how long an ACK of out-of-order data may wait for more of it, at most a
    /// twentieth of the base RTT. Not the first three since the last advance, nor where a third SACK block changes.
    /// Zero is none.
    pub sack_compression: Span,
}

impl Options {
    /// Bytes of IP and TCP header on a data segment: 20 + 20, and 12 with timestamps.
    pub fn data_overhead(&self) -> Bytes {
        IP_HEADER + TCP_HEADER + if self.timestamps { TIMESTAMPS_OPTION } else { Bytes::ZERO }
    }

    /// Bytes of IP and TCP header on an ACK without SACK blocks.
    pub fn ack_overhead(&self) -> Bytes {
        self.data_overhead()
    }
}

/// A profile: the options of one stack or era.
#[derive(Clone, Copy)]
pub struct Profile {
    /// Its name in scenarios.
    pub name: &'static str,
    /// What it stands for, one sentence without final stop.
    pub summary: &'static str,
    /// Its options.
    pub options: fn() -> Options,
}

/// Every profile.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "linux",
        summary: "Linux 6: SACK, RACK-TLP, proportional rate reduction, IW 10, delayed ACKs, RTO at least 200 ms",
        options: linux,
    },
    Profile {
        name: "linux-3.5",
        summary: "Linux 3.5: SACK with FACK, proportional rate reduction, IW 10, delayed ACKs, windows that grow \
                  by ACKs",
        options: linux_3_5,
    },
    Profile {
        name: "linux-2.6.33",
        summary: "Linux 2.6.33: as 3.5, but IW 3, a handshake and an RTO of 3 s before the first sample",
        options: linux_2_6_33,
    },
    Profile {
        name: "freebsd-9",
        summary: "FreeBSD 9: SACK pipe recovery, byte counting with L = 2, IW 3, delayed ACKs of 100 ms, RTO at \
                  least 230 ms",
        options: freebsd_9,
    },
    Profile {
        name: "ns2-linux",
        summary: "ns-2 with its TCP/Linux agents: SACK, one ACK per packet, IW 2, RTO at least 200 ms",
        options: ns2_linux,
    },
    Profile {
        name: "real-1992",
        summary: "the REAL simulator of 1992: Tahoe without SACK, go-back-N after a loss, one ACK per packet, \
                  RTO at least 1 s",
        options: real_1992,
    },
];

/// Linux 6.
pub fn linux() -> Options {
    Options {
        segment_size: Bytes::new(1448),
        initial_window: 10,
        receive_window: 1 << 30,
        sack: true,
        timestamps: true,
        clock_tick: Span::ZERO,
        min_rtt_window: Span::from_secs(300),
        timestamp_tick: Span::from_millis(1),
        timer_tick: Span::from_millis(4),
        duplicate_threshold: 3,
        reordering_adapts: true,
        forward_acknowledgment: false,
        rack: true,
        tail_loss_probe: true,
        segmentation_offload: true,
        pacing: Pacing::Linux,
        limited_transmit: true,
        fast_recovery: true,
        reduction: Reduction::ProportionalRate,
        retransmits: Retransmits::Lost,
        undo: true,
        forward_rto: true,
        counting: Counting::Segments,
        slow_start_at_threshold: false,
        recovery_end_grows: true,
        handshake: true,
        rto_initial: Span::from_secs(1),
        rto_min: Span::from_millis(200),
        rto_max: Span::from_secs(120),
        rto_variance_min: Span::from_millis(200),
        rto_slack: Span::ZERO,
        every_timeout_reduces: false,
        window_validation: WindowValidation::Round,
        slow_start_restart: true,
        idle_restart: IdleRestart::Linux,
        ecn: EcnMode::Off,
        ecn_beta: 0.0,
        ack_every: 2,
        delayed_ack_timeout: Span::from_millis(40),
        delayed_ack_max: Span::from_millis(200),
        // 16, and 2^20 bytes by which the window of a receive buffer of 8 MiB opens: seen in Linux 6.18.
        quick_acks: 380,
        quick_acks_again: 16,
        sack_compression: Span::from_millis(1),
    }
}

/// Linux 3.5 with a clock of 1 ms, the hosts of the experiments of SIAD.
pub fn linux_3_5() -> Options {
    Options {
        clock_tick: Span::from_millis(1),
        min_rtt_window: Span::ZERO,
        handshake: false,
        forward_acknowledgment: true,
        rack: false,
        tail_loss_probe: false,
        segmentation_offload: false,
        pacing: Pacing::Exact,
        reduction: Reduction::ProportionalRateSsrb,
        forward_rto: false,
        counting: Counting::PerAck,
        slow_start_at_threshold: true,
        quick_acks: 16,
        quick_acks_again: 0,
        recovery_end_grows: false,
        delayed_ack_max: Span::ZERO,
        sack_compression: Span::ZERO,
        timer_tick: Span::ZERO,
        ..linux()
    }
}

/// Linux 2.6.33, the hosts of Edwan's test bed. Its rate halving is not there: the flight comes down by proportional
/// rate reduction with the slow-start bound, its successor.
pub fn linux_2_6_33() -> Options {
    Options { initial_window: 3, handshake: true, rto_initial: Span::from_secs(3), ..linux_3_5() }
}

/// FreeBSD 9, the hosts of the experiments of CDG.
pub fn freebsd_9() -> Options {
    Options {
        initial_window: 3,
        min_rtt_window: Span::ZERO,
        handshake: false,
        reordering_adapts: false,
        rack: false,
        tail_loss_probe: false,
        segmentation_offload: false,
        pacing: Pacing::Exact,
        reduction: Reduction::Pipe,
        undo: false,
        forward_rto: false,
        counting: Counting::Bytes { limit: 2 },
        slow_start_at_threshold: true,
        idle_restart: IdleRestart::Rfc5681,
        rto_min: Span::from_millis(230),
        rto_max: Span::from_secs(64),
        rto_variance_min: Span::ZERO,
        rto_slack: Span::from_millis(200),
        every_timeout_reduces: true,
        delayed_ack_timeout: Span::from_millis(100),
        quick_acks: 0,
        quick_acks_again: 0,
        recovery_end_grows: false,
        delayed_ack_max: Span::ZERO,
        sack_compression: Span::ZERO,
        timer_tick: Span::ZERO,
        ..linux()
    }
}

/// ns-2 with TCP/Linux agents (conventions of Edwan's simulations).
pub fn ns2_linux() -> Options {
    Options {
        segment_size: Bytes::new(960),
        initial_window: 2,
        min_rtt_window: Span::ZERO,
        handshake: false,
        timestamps: false,
        reordering_adapts: false,
        rack: false,
        tail_loss_probe: false,
        segmentation_offload: false,
        pacing: Pacing::Exact,
        reduction: Reduction::Pipe,
        undo: false,
        forward_rto: false,
        counting: Counting::PerAck,
        slow_start_at_threshold: true,
        every_timeout_reduces: true,
        idle_restart: IdleRestart::Rfc5681,
        ack_every: 1,
        quick_acks: 0,
        quick_acks_again: 0,
        recovery_end_grows: false,
        delayed_ack_max: Span::ZERO,
        sack_compression: Span::ZERO,
        timer_tick: Span::ZERO,
        ..linux()
    }
}

/// The REAL simulator as the analysis of the Delay Algorithm used it (Dabbous 1992): packets of 1000 bytes, ACKs of
/// 40. The paper gives no timeout before the first sample: RFC 1122, section 4.2.3.1, asks for 3 s, and 4.3BSD ends
/// its back-off at 64 s.
pub fn real_1992() -> Options {
    Options {
        segment_size: Bytes::new(960),
        initial_window: 1,
        min_rtt_window: Span::ZERO,
        handshake: false,
        sack: false,
        timestamps: false,
        reordering_adapts: false,
        rack: false,
        tail_loss_probe: false,
        segmentation_offload: false,
        pacing: Pacing::Exact,
        limited_transmit: false,
        fast_recovery: false,
        reduction: Reduction::Pipe,
        undo: false,
        forward_rto: false,
        counting: Counting::PerAck,
        rto_initial: Span::from_secs(3),
        rto_min: Span::from_secs(1),
        rto_max: Span::from_secs(64),
        rto_variance_min: Span::ZERO,
        every_timeout_reduces: true,
        slow_start_restart: false,
        idle_restart: IdleRestart::Rfc5681,
        ack_every: 1,
        quick_acks: 0,
        quick_acks_again: 0,
        recovery_end_grows: false,
        delayed_ack_max: Span::ZERO,
        sack_compression: Span::ZERO,
        timer_tick: Span::ZERO,
        ..linux()
    }
}
