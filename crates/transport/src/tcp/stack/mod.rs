//! A stack as a description: the rules that a TCP endpoint follows. Each profile is a file beside this one, begins from
//! [`rfc::plain`] and names the rules that it has.
//!
//! Rules that exclude each other are variants of an enum, and a rule that needs another is a field of that.

mod buffers;
mod clock;
mod freebsd_9;
mod linux;
mod linux_2_6_33;
mod linux_3_5;
mod losses;
mod ns2_linux;
mod opening;
mod real_1992;
mod rfc;

pub(crate) use buffers::FIRST_WINDOW;
pub use buffers::{Buffer, BufferRules, BufferSizes, Buffers};
pub use clock::Clock;
pub use freebsd_9::freebsd_9;
pub use linux::linux;
pub use linux_2_6_33::linux_2_6_33;
pub use linux_3_5::linux_3_5;
pub use losses::{Detection, Losses, Repair, Resends, Retransmits, Rule, Selective, StateMachine};
pub use ns2_linux::ns2_linux;
pub use opening::{Opening, Resending};
pub use real_1992::real_1992;
pub use rfc::plain;

use control::Counting;
use serde::{Deserialize, Serialize};
use units::packet::{IP_HEADER, TCP_HEADER, TIMESTAMPS_OPTION};
use units::{Bytes, Span};

use crate::EcnMode;

/// The largest DupThresh: a sender remembers as many of the highest SACKed numbers.
pub const MAX_THRESHOLD: u32 = 16;

/// Segments of a receive window that has no limit in practice.
pub(crate) const NO_LIMIT: u32 = 1 << 30;

/// The rules of one TCP connection, sender and receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Payload of a full segment (SMSS).
    pub segment_size: Bytes,
    /// Initial window in segments (RFC 3390, RFC 6928).
    pub initial_window: u32,
    /// Receive window in segments.
    pub receive_window: u32,
    /// The buffers of the hosts.
    pub buffers: Buffers,
    /// The connection is opened first (RFC 9293, section 3.5): SYN, SYN-ACK and ACK cross the path, data leave once the
    /// SYN-ACK has arrived, and that is the first RTT sample.
    pub handshake: bool,
    /// How it is opened, where it is.
    pub opening: Opening,
    /// The timestamp option (RFC 7323): 12 bytes a segment, and samples that distinguish a retransmission from its
    /// original.
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168).
    pub marks: Marks,
    /// RTT measurement.
    pub clock: Clock,
    /// Loss detection and repair.
    pub losses: Losses,
    /// How the flight comes down in fast recovery, and on an ECN echo.
    pub reduction: Reduction,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Undo a reduction that timestamps or duplicate SACKs show to be spurious (RFC 4015, RFC 3708).
    pub undo: bool,
    /// Forward RTO recovery (F-RTO, RFC 5682).
    pub forward_rto: bool,
    /// Growth of the window.
    pub growth: Growth,
    /// Reaction to an idle time longer than the RTO, if any.
    pub idle_restart: Option<IdleRestart>,
    /// Timers of the sender.
    pub timers: Timers,
    /// Segmentation offload of the sender (TSO, GSO): new segments leave in trains.
    pub segmentation_offload: bool,
    /// How a paced flow keeps its rate.
    pub pacing: Pacing,
    /// Acknowledgements of the receiver.
    pub acks: Acks,
}

/// Explicit congestion notification. `kept` is the share of the window that a mark leaves (ABE, RFC 8511), or zero if
/// the controller decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marks {
    /// Not in use: queues drop.
    Off,
    /// The receiver echoes a mark until the sender has reduced its window (RFC 3168).
    Echoed {
        /// The share that a mark leaves.
        kept: f64,
    },
    /// The receiver counts marks (RFC 9768).
    Counted {
        /// The share that a mark leaves.
        kept: f64,
    },
}

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

/// Growth of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// How acknowledgements are counted.
    pub counting: Counting,
    /// A window that equals the slow-start threshold still is in slow start (RFC 5681, section 3.1, leaves it open).
    pub slow_start_at_threshold: bool,
    /// The ACK that ends a fast recovery or a reduction for a mark lets the window grow by the segments that it newly
    /// delivers. The reduction lasts until the segment with CWR is acknowledged. Otherwise growth begins with the next
    /// ACK.
    pub recovery_end_grows: bool,
    /// When a window that is not fully used may grow.
    pub validation: WindowValidation,
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
    /// If at most three segments of it were not in flight when the ACK came (Linux before 3.16, without segmentation
    /// offload).
    Flight,
    /// While it is not above the receive window, whether it is used or not (cc_ack_received in FreeBSD 9; in 4.3BSD the
    /// smaller of both is halved).
    ReceiveWindow,
}

/// Reaction to a window that was not used for a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// After an idle time: the initial window (RFC 5681, section 4.1).
    Rfc5681,
    /// After an idle time: the window halves for each timeout that it lasted, down to the initial one. If no ACK came
    /// for a timeout and the window was not filled, it falls halfway to the used part. Either way the threshold is at
    /// least three quarters of the window (Linux, after RFC 2861).
    Linux,
}

/// Timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// The tick of the timers of retransmission, of tail loss probes, of RACK and of delayed ACKs: a wait counts in
    /// whole ticks, from the last tick before it began on, and ends one tick later. Long waits end with every eighth
    /// tick from 63 ticks on, and with every 64th from 504 on (the timer wheel of Linux). Probes and RACK wait 2 ms
    /// more. 0 is exact.
    pub tick: Span,
    /// Retransmission timeout before the first sample (RFC 6298, 2.1): of a SYN, or of data without a handshake.
    pub rto_initial: Span,
    /// The same of data after a SYN that was sent again, where that left no sample (RFC 6298, 5.7).
    pub rto_after_syn: Span,
    /// The smallest retransmission timeout.
    pub rto_min: Span,
    /// The largest one, back-off included.
    pub rto_max: Span,
    /// The variance term.
    pub rto_variance: Variance,
    /// The smallest variance term: RTO = SRTT + max(4*RTTVAR, this) + slack.
    pub rto_variance_min: Span,
    /// Added to every retransmission timeout.
    pub rto_slack: Span,
    /// Every expiry of the retransmission timer reduces the slow-start threshold. Otherwise the first since new data
    /// was acknowledged does, and none in fast recovery or after a mark. A second reduction is not undone.
    pub every_timeout_reduces: bool,
}

/// The variance term of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variance {
    /// Four times the mean deviation (RFC 6298, section 2).
    Deviation,
    /// The largest such term in a round trip. From round to round it falls by a quarter of the difference at most, and
    /// an RTT that is shorter than the deviation below the mean adds to it by an eighth only (Linux).
    LargestOfRounds,
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

/// Acknowledgements of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acks {
    /// How long the ACK of a segment in order may wait.
    pub delay: Delay,
    /// Segments acknowledged one by one at the start of a connection.
    pub quick: u32,
    /// Quick ACKs come back: as many at most after a pause longer than the receiver's timeout and after a segment that
    /// was delivered before, two after a congestion mark and, with ECN, after a segment that is sent again. A segment
    /// that announces a reduction (CWR) is acknowledged at once, and so is the last one of an application's write
    /// (PSH), as its reader waits for no more. Zero is none of this.
    pub quick_again: u32,
    /// Reports that the receiver leaves out.
    pub conceals: Conceals,
}

/// Reports of congestion that a misbehaving receiver leaves out, so that its sender sends more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Conceals {
    /// None: the receiver follows the RFCs.
    Nothing,
    /// Losses: the receiver acknowledges all segments below one that arrives, also those that were lost (Savage et al.
    /// 1999; RFC 9000, section 21.4).
    Losses,
    /// Marks: no ACK reports them (RFC 3540).
    Marks,
}

/// How long the ACK of a segment in order may wait (RFC 5681, section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Not at all: an ACK for every segment.
    None,
    /// For as many full segments as `every` says, or for a constant time.
    Constant {
        /// Full segments an ACK may wait for, two at least.
        every: u32,
        /// How long it may wait.
        wait: Span,
    },
    /// For a time that adapts: an ACK that waited in vain doubles it, up to a base RTT. Pauses between segments that
    /// are shorter than it stretch it, and segments close together bring it back.
    Adaptive {
        /// Full segments an ACK may wait for, two at least.
        every: u32,
        /// How long it may wait at first, and at least.
        wait: Span,
        /// How long at most.
        most: Span,
    },
}

impl Delay {
    /// Full segments that an ACK may wait for.
    pub const fn every(&self) -> u32 {
        match *self {
            Self::None => 1,
            Self::Constant { every, .. } | Self::Adaptive { every, .. } => every,
        }
    }

    /// How long it may wait at first.
    pub const fn wait(&self) -> Span {
        match *self {
            Self::None => Span::ZERO,
            Self::Constant { wait, .. } | Self::Adaptive { wait, .. } => wait,
        }
    }
}

impl Stack {
    /// Bytes of IP and TCP header on a data segment: 20 + 20, and 12 with timestamps.
    pub fn data_overhead(&self) -> Bytes {
        IP_HEADER + TCP_HEADER + if self.timestamps { TIMESTAMPS_OPTION } else { Bytes::ZERO }
    }

    /// Bytes of IP and TCP header on an ACK without SACK blocks.
    pub fn ack_overhead(&self) -> Bytes {
        self.data_overhead()
    }

    /// The mode of explicit congestion notification.
    pub fn ecn(&self) -> EcnMode {
        match self.marks {
            Marks::Off => EcnMode::Off,
            Marks::Echoed { .. } => EcnMode::Classic,
            Marks::Counted { .. } => EcnMode::Accurate,
        }
    }

    /// The rules that go by selective acknowledgements, where these are in use.
    #[inline]
    pub fn selective(&self) -> Option<&Selective> {
        match &self.losses.detection {
            Detection::Duplicates(_) => None,
            Detection::Selective(selective) => Some(selective),
        }
    }

    /// True if the ends use selective acknowledgements.
    #[inline]
    pub fn sack(&self) -> bool {
        self.selective().is_some()
    }

    /// The same stack towards a peer that does not offer selective acknowledgements.
    #[must_use]
    pub fn without_sack(mut self) -> Self {
        let repair = if self.losses.is_fast() { Repair::Fast } else { Repair::GoBackN };
        self.losses.detection = Detection::Duplicates(repair);
        self
    }
}

impl Marks {
    /// The share of the window that a mark leaves, or zero if the controller says.
    pub const fn kept(&self) -> f64 {
        match *self {
            Self::Off => 0.0,
            Self::Echoed { kept } | Self::Counted { kept } => kept,
        }
    }
}

/// A profile: a stack by name.
#[derive(Clone, Copy)]
pub struct Profile {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The stack in one sentence without final stop.
    pub summary: &'static str,
    /// Its rules.
    pub stack: fn() -> Stack,
}

/// Every profile.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "linux",
        summary: "Linux 6: SACK, RACK-TLP, proportional rate reduction, IW 10, delayed ACKs, RTO at least 200 ms",
        stack: linux,
    },
    Profile {
        name: "linux-3.5",
        summary: "Linux 3.5: SACK with FACK, proportional rate reduction, IW 10, delayed ACKs, windows that grow \
                  by ACKs",
        stack: linux_3_5,
    },
    Profile {
        name: "linux-2.6.33",
        summary: "Linux 2.6.33: as 3.5, but IW 3, a handshake and an RTO of 3 s before the first sample",
        stack: linux_2_6_33,
    },
    Profile {
        name: "freebsd-9",
        summary: "FreeBSD 9: SACK pipe recovery, byte counting with L = 2, IW 3, delayed ACKs of 100 ms, RTO at \
                  least 230 ms",
        stack: freebsd_9,
    },
    Profile {
        name: "ns2-linux",
        summary: "ns-2 with its TCP/Linux agents: SACK, one ACK per packet, IW 2, RTO at least 200 ms",
        stack: ns2_linux,
    },
    Profile {
        name: "real-1992",
        summary: "the REAL simulator of 1992: Tahoe without SACK, go-back-N after a loss, one ACK per packet, \
                  RTO at least 1 s",
        stack: real_1992,
    },
];
