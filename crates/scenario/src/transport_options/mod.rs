//! TCP options as a scenario spells them: one flat table of keys, laid over the stack of a profile. A sysctl of Linux
//! is declared beside the option that it sets.

mod effect;
mod sysctls;

use control::Counting;
use serde::{Deserialize, Serialize};
use transport::{
    Acks, Buffer, BufferSizes, Buffers, Clock, Conceals, Delay, Detection, EcnMode, Growth, IdleRestart, Losses,
    MAX_THRESHOLD, Marks, Pacing, Reduction, Repair, Resends, Retransmits, Rule, Selective, Stack, Timers,
    WindowValidation,
};
use units::{Bytes, Span, packet};

use sysctls::{ECN, MODES, PROBES, SWITCH, buffer, compressed, divisor, number, options, time, words};

pub(crate) use effect::{IN_SEGMENTS, check_keeping, check_kind, overlay};
pub use sysctls::{Configured, Sysctl, configure, sysctls};

/// Options that depend on one that the stack does not use, once a scenario switches that on: the delay of ACKs…
const DELAYED_ACK_TIMEOUT: Span = Span::from_millis(40);
/// …and the window after an idle time.
const IDLE_RESTART: IdleRestart = IdleRestart::Rfc5681;

/// A timeout below that would come again and again while nothing else happens.
const SHORTEST_TIMEOUT: Span = Span::from_micros(1);
/// No kernel looks at its timers more rarely.
const LONGEST_TICK: Span = Span::from_secs(1);
/// What the largest packet leaves beside the headers of IPv4 and TCP, with room for the options in use.
const LARGEST_SEGMENT: Bytes = Bytes::new(packet::LARGEST.get() - 60);
/// No window of a controller is larger, and no receiver counts more.
const MOST_SEGMENTS: u32 = 10_000_000;

options! {
    /// The options of one TCP connection, sender and receiver.
    pub struct TransportOptions;
    /// Payload of a full segment (SMSS).
    pub segment_size: Bytes where from Bytes::new(1), to LARGEST_SEGMENT,
    /// Initial window in segments (RFC 3390, RFC 6928), or a size, of which whole segments count.
    pub initial_window: u32 where from 1, to MOST_SEGMENTS,
    /// Receive window in segments, or a size, like `64KiB`, of which whole segments count.
    pub receive_window: u32 where from 1, to u32::MAX,
    /// The receive buffer: `"unlimited"`, a size as an application sets it by SO_RCVBUF, which does not grow (Linux
    /// takes twice as much memory), or three sizes of memory as in `tcp_rmem`, the second at first and the third at
    /// most. The window follows from the memory by the rules of the stack.
    pub receive_buffer: Buffer => [buffer("tcp_rmem")],
    /// The send buffer, with the spellings of `receive_buffer`, by SO_SNDBUF and `tcp_wmem`. The application writes
    /// until its memory is used up, and goes on once a third is free.
    pub send_buffer: Buffer => [buffer("tcp_wmem")],
    /// Selective acknowledgements (RFC 2018), duplicate SACK included (RFC 2883). Without them NewReno recovery (RFC
    /// 6582).
    pub sack: bool => [words("tcp_sack", SWITCH)],
    /// The timestamp option (RFC 7323): 12 bytes a segment, and RTT samples that distinguish a retransmission from its
    /// original.
    pub timestamps: bool => [words("tcp_timestamps", &[("1", true), ("2", true), ("0", false)])],
    /// The clock on which RTT samples are taken (tcpTick_ in ns-2). 0 is exact, and controllers that want exact samples
    /// get them at any tick.
    pub clock_tick: Span where from Span::ZERO, to LONGEST_TICK,
    /// The clock of the timestamp option (RFC 7323, section 5.4).
    pub timestamp_tick: Span where from Span::ZERO, to LONGEST_TICK,
    /// The tick of the timers of retransmission, of tail loss probes, of RACK and of delayed ACKs (in Linux 1 /
    /// CONFIG_HZ): a wait counts in whole ticks, from the last tick before it began on, and ends one tick later, from
    /// 63 ticks on with every eighth tick, from 504 on with every 64th (the timer wheel of Linux). Probes and RACK wait
    /// 2 ms more. 0 is exact.
    pub timer_tick: Span where from Span::ZERO, to LONGEST_TICK,
    /// Duplicate ACKs, or segments SACKed above, that make a segment lost (DupThresh, RFC 6675).
    pub duplicate_threshold: u32 where from 1, to MAX_THRESHOLD => [number("tcp_reordering")],
    /// `duplicate_threshold` grows with the reordering that SACK shows, to 16 at most (Linux).
    pub reordering_adapts: bool,
    /// Forward acknowledgment (FACK, Mathis and Mahdavi 1996): a segment is lost once one sent `duplicate_threshold`
    /// after it was SACKed, whatever became of those between, and a retransmission once a segment first sent after it
    /// was SACKed. FACK ends when the path is seen to reorder by more than the threshold (Linux 2.4 to 4.15). Not
    /// beside `rack`, which decides by time.
    pub forward_acknowledgment: bool,
    /// Time-based loss detection (RACK, RFC 8985), which also finds lost retransmissions.
    pub rack: bool,
    /// Tail loss probes (TLP, RFC 8985 section 7).
    pub tail_loss_probe: bool => [words("tcp_early_retrans", PROBES)],
    /// Segmentation offload of the sender (TSO, GSO): where ACKs come less than a millisecond apart, new segments wait
    /// until so many may leave that they make a train. It takes a millisecond at 1.2 times the rate of the flow, in
    /// slow start twice, is two segments at least and 64 kB at most (in Linux tcp_tso_autosize). The last segment of
    /// two or more that leave so is pushed (PSH).
    pub segmentation_offload: bool => [divisor("tcp_tso_win_divisor")],
    /// How a paced flow keeps its rate: as Linux does, or evenly.
    pub pacing: Pacing,
    /// New segments on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Fast recovery (RFC 5681, section 3.2). Without it, as in 4.3BSD-Tahoe, the duplicate ACKs that show a loss
    /// make everything outstanding lost: it is sent again from the first unacknowledged segment on (go-back-N), as
    /// the window of the controller allows, which may grow meanwhile.
    pub fast_recovery: bool,
    /// How the flight is brought down in fast recovery, and on an ECN echo (RFC 6675, section 5, and RFC 9937).
    pub reduction: Reduction,
    /// The segments that fast recovery sends again, with SACK and without RACK (RFC 6675, section 4).
    pub retransmits: Retransmits,
    /// Undo a reduction that timestamps or duplicate SACKs show to be spurious (RFC 4015, RFC 3708).
    pub undo: bool,
    /// Forward RTO recovery (F-RTO, RFC 5682, with SACK): after a timeout two new segments leave first, and it is
    /// undone if an ACK covers segments that were not retransmitted.
    pub forward_rto: bool => [words("tcp_frto", &[("2", true), ("1", true), ("0", false)])],
    /// How acknowledgements are counted for window growth (RFC 3465).
    pub counting: Counting,
    /// A window that equals the slow-start threshold still is in slow start (RFC 5681, section 3.1, leaves it open):
    /// in FreeBSD, and in Linux before 4.3, so that one ACK after each reduction grows it as in slow start.
    pub slow_start_at_threshold: bool,
    /// The ACK that ends a fast recovery with SACK, or a reduction for a mark, lets the window grow, by the segments
    /// that it newly delivers (Linux since 4.6 at the latest). The reduction for a mark then lasts until the segment
    /// with CWR is acknowledged. Otherwise growth begins with the next ACK.
    pub recovery_end_grows: bool,
    /// The connection is opened first (RFC 9293, section 3.5): SYN, SYN-ACK and ACK cross the path, data leave once the
    /// SYN-ACK has arrived, and that is the first RTT sample. A SYN is sent again as the profile has it. Without a
    /// handshake data leave at the start.
    pub handshake: bool,
    /// Retransmission timeout before the first sample (RFC 6298, 2.1): of a SYN, or of data without a handshake.
    pub rto_initial: Span where from SHORTEST_TIMEOUT, to Span::LONGEST_WAIT,
    /// The smallest retransmission timeout (RFC 6298, 2.4).
    pub rto_min: Span where from SHORTEST_TIMEOUT, to Span::LONGEST_WAIT => [time("tcp_rto_min_us", 1000)],
    /// The largest one, back-off included (RFC 6298, 2.5).
    pub rto_max: Span where from SHORTEST_TIMEOUT, to Span::LONGEST_WAIT => [time("tcp_rto_max_ms", 1_000_000)],
    /// The smallest variance term: RTO = SRTT + max(4*RTTVAR, this). Linux applies its 200 ms here.
    pub rto_variance_min: Span where from Span::ZERO, to Span::LONGEST_WAIT => [time("tcp_rto_min_us", 1000)],
    /// Every expiry of the retransmission timer reduces the slow-start threshold (4.3BSD, FreeBSD, ns-2).
    /// Otherwise the first since new data was acknowledged does, and none in fast recovery or after a mark
    /// (Linux). A second reduction is not undone.
    pub every_timeout_reduces: bool,
    /// When a window that is not fully used may grow (RFC 2861, RFC 7661).
    pub window_validation: WindowValidation,
    /// The window comes down after an idle time longer than the RTO (tcp_slow_start_after_idle in Linux), as
    /// `idle_restart` says.
    pub slow_start_restart: bool => [words("tcp_slow_start_after_idle", SWITCH)],
    /// How it comes down (RFC 5681, section 4.1, and RFC 2861).
    pub idle_restart: IdleRestart,
    /// Explicit congestion notification (RFC 3168): `false`, `true`, or `"accurate"` with a receiver that counts
    /// marks (RFC 9768), which flows of `dctcp` and `prague` have by default.
    pub ecn: EcnMode => [words(ECN, MODES)],
    /// The share of the window that a congestion echo leaves, in whole segments and at least two (ABE, RFC 8511): of a
    /// controller that would take more, as for a loss. Zero is none of this.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 1.0))]
    pub ecn_beta: f64,
    /// Full segments an ACK may wait for: 2 with delayed ACKs, 1 without (RFC 5681, section 4.2).
    pub ack_every: u32 where from 1, to MOST_SEGMENTS,
    /// How long an ACK may be delayed, at first.
    pub delayed_ack_timeout: Span where from Span::ZERO, to Span::LONGEST_WAIT,
    /// How long at most (Linux). An ACK that waited in vain doubles the wait, up to a base RTT. Pauses between segments
    /// that are shorter than the wait stretch it, and segments close together bring it back. Not above
    /// `delayed_ack_timeout` the wait is constant.
    pub delayed_ack_max: Span where from Span::ZERO, to Span::LONGEST_WAIT,
    /// Segments acknowledged one by one at the start of a connection (quick ACKs of Linux): 16, and in Linux while the
    /// receive window opens, which it does by two segments for each that arrives.
    pub quick_acks: u32 where from 0, to MOST_SEGMENTS,
    /// Quick ACKs come back: as many at most after a pause longer than the receiver's timeout and after a segment that
    /// was delivered before, two after a congestion mark and, with ECN, after a segment that is sent again. And a
    /// segment that announces a reduction (CWR) is acknowledged at once, and the last segment of a write of the
    /// application (PSH), as its reader waits for no more (Linux 6). Zero is none of this.
    pub quick_acks_again: u32 where from 0, to MOST_SEGMENTS,
    /// SACK compression (Linux since 4.18): how long an ACK of out-of-order data may wait for more of it, at most a
    /// twentieth of the base RTT. Not the first three since the last advance, nor where a third SACK block changes.
    /// Zero is none.
    pub sack_compression: Span where from Span::ZERO, to Span::LONGEST_WAIT
        => [time("tcp_comp_sack_delay_ns", 1), compressed("tcp_comp_sack_nr")],
    /// Reports that a misbehaving receiver leaves out: `"nothing"`, `"losses"` (it acknowledges all segments below one
    /// that arrives, also those that were lost), or `"marks"`.
    pub conceals: Conceals,
}

impl TransportOptions {
    /// The options that say what `stack` does.
    pub fn of(stack: &Stack) -> Self {
        let Losses { threshold, detection, .. } = stack.losses;
        let (rule, selective) = match detection {
            Detection::Duplicates(_) => (None, None),
            Detection::Selective(selective) => (Some(selective.rule), Some(selective)),
        };
        let most = match stack.acks.delay {
            Delay::Adaptive { most, .. } => most,
            Delay::None | Delay::Constant { .. } => Span::ZERO,
        };
        Self {
            segment_size: stack.segment_size,
            initial_window: stack.initial_window,
            receive_window: stack.receive_window,
            receive_buffer: stack.buffers.sizes.receive,
            send_buffer: stack.buffers.sizes.send,
            sack: stack.sack(),
            timestamps: stack.timestamps,
            clock_tick: stack.clock.tick,
            timestamp_tick: stack.clock.timestamp_tick,
            timer_tick: stack.timers.tick,
            duplicate_threshold: threshold,
            reordering_adapts: selective.is_some_and(|sack| sack.reordering_adapts),
            forward_acknowledgment: matches!(rule, Some(Rule::Forward(_))),
            rack: stack.losses.is_rack(),
            tail_loss_probe: stack.losses.probes_tail(),
            segmentation_offload: stack.segmentation_offload,
            pacing: stack.pacing,
            limited_transmit: stack.limited_transmit,
            fast_recovery: stack.losses.is_fast(),
            reduction: stack.reduction,
            retransmits: stack.losses.retransmits(),
            undo: stack.undo,
            forward_rto: stack.forward_rto,
            counting: stack.growth.counting,
            slow_start_at_threshold: stack.growth.slow_start_at_threshold,
            recovery_end_grows: stack.growth.recovery_end_grows,
            handshake: stack.handshake,
            rto_initial: stack.timers.rto_initial,
            rto_min: stack.timers.rto_min,
            rto_max: stack.timers.rto_max,
            rto_variance_min: stack.timers.rto_variance_min,
            every_timeout_reduces: stack.timers.every_timeout_reduces,
            window_validation: stack.growth.validation,
            slow_start_restart: stack.idle_restart.is_some(),
            idle_restart: stack.idle_restart.unwrap_or(IDLE_RESTART),
            ecn: stack.ecn(),
            ecn_beta: stack.marks.kept(),
            ack_every: stack.acks.delay.every(),
            delayed_ack_timeout: match stack.acks.delay {
                Delay::None => DELAYED_ACK_TIMEOUT,
                delay => delay.wait(),
            },
            delayed_ack_max: most,
            quick_acks: stack.acks.quick,
            quick_acks_again: stack.acks.quick_again,
            sack_compression: selective.map_or(Span::ZERO, |sack| sack.compression),
            conceals: stack.acks.conceals,
        }
    }

    /// The stack with these options. Everything else is as in `profile`. An option that another one excludes is
    /// dropped.
    #[must_use]
    pub fn stack(&self, profile: &Stack) -> Stack {
        Stack {
            segment_size: self.segment_size,
            initial_window: self.initial_window,
            receive_window: self.receive_window,
            buffers: Buffers {
                sizes: BufferSizes { receive: self.receive_buffer, send: self.send_buffer },
                ..profile.buffers
            },
            handshake: self.handshake,
            opening: profile.opening,
            timestamps: self.timestamps,
            marks: match self.ecn {
                EcnMode::Off => Marks::Off,
                EcnMode::Classic => Marks::Echoed { kept: self.ecn_beta },
                EcnMode::Accurate => Marks::Counted { kept: self.ecn_beta },
            },
            clock: Clock { tick: self.clock_tick, timestamp_tick: self.timestamp_tick, ..profile.clock },
            losses: Losses { threshold: self.duplicate_threshold, detection: self.detection(), ..profile.losses },
            reduction: self.reduction,
            limited_transmit: self.limited_transmit,
            undo: self.undo,
            forward_rto: self.forward_rto,
            growth: Growth {
                counting: self.counting,
                slow_start_at_threshold: self.slow_start_at_threshold,
                recovery_end_grows: self.recovery_end_grows,
                validation: self.window_validation,
            },
            idle_restart: self.slow_start_restart.then_some(self.idle_restart),
            timers: Timers {
                tick: self.timer_tick,
                rto_initial: self.rto_initial,
                rto_min: self.rto_min,
                rto_max: self.rto_max,
                rto_variance_min: self.rto_variance_min,
                every_timeout_reduces: self.every_timeout_reduces,
                ..profile.timers
            },
            segmentation_offload: self.segmentation_offload,
            pacing: self.pacing,
            acks: Acks {
                delay: self.delay(),
                quick: self.quick_acks,
                quick_again: self.quick_acks_again,
                conceals: self.conceals,
            },
        }
    }

    fn detection(&self) -> Detection {
        let (repair, resends) = match self.fast_recovery {
            true => (Repair::Fast, Resends::Fast(self.retransmits)),
            false => (Repair::GoBackN, Resends::GoBackN),
        };
        if !self.sack {
            return Detection::Duplicates(repair);
        }
        Detection::Selective(Selective {
            rule: match (self.rack, self.forward_acknowledgment) {
                (true, _) => Rule::Rack(repair),
                (false, true) => Rule::Forward(resends),
                (false, false) => Rule::Count(resends),
            },
            reordering_adapts: self.reordering_adapts,
            tail_loss_probe: self.tail_loss_probe,
            compression: self.sack_compression,
        })
    }

    fn delay(&self) -> Delay {
        let Self { ack_every: every, delayed_ack_timeout: wait, delayed_ack_max: most, .. } = *self;
        if every == 1 {
            Delay::None
        } else if most > wait {
            Delay::Adaptive { every, wait, most }
        } else {
            Delay::Constant { every, wait }
        }
    }
}

/// The options of the transport, none of them required.
pub(crate) fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schema = <TransportOptions as schemars::JsonSchema>::json_schema(generator);
    schema.remove("required");
    let size = generator.subschema_for::<Bytes>();
    if let Some(properties) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
        for name in IN_SEGMENTS {
            let Some(option) = properties.get_mut(name).and_then(serde_json::Value::as_object_mut) else { continue };
            let description = option.remove("description");
            let either = serde_json::json!({ "anyOf": [option, size] });
            properties.insert(name.to_owned(), either);
            properties[name]["description"] = description.unwrap_or_default();
        }
    }
    schema
}
