//! What the transport tells a controller about an ACK, a loss or a mark.

use serde::{Deserialize, Serialize};
use units::{Span, Time};

/// How acknowledgements are counted for window growth: a property of the sender's stack, not of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Every ACK counts one segment however many it covers (RFC 5681 before byte counting; Linux 3.5, REAL).
    PerAck,
    /// Appropriate byte counting (RFC 3465): all segments covered count, in slow start at most `limit` an ACK.
    Bytes {
        /// L, in segments.
        limit: u32,
    },
    /// Every segment that an ACK delivers counts once, in slow start and after; one SACKed earlier does not count
    /// again (Linux since 3.18).
    Segments,
}

/// A round-trip time sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttSample {
    /// From the last transmission of the newest segment that the ACK covers to the ACK; never of a segment
    /// whose transmission is ambiguous (Karn's rule, RFC 6298 section 3). On the sender's clock tick.
    pub value: Span,
    /// The receiver is known to delay ACKs and this ACK covers a single segment: the sample may contain the delayed-ACK
    /// timer. Good for a minimum, not for a maximum or a gradient.
    pub delayed: bool,
}

/// What a controller asks for beyond the events that every controller gets. The transport reads it once, when the
/// connection is made; what a controller does not want costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// [`on_sent`](crate::Controller::on_sent) for every segment that leaves.
    pub sent: bool,
    /// [`on_transmit_start`](crate::Controller::on_transmit_start) when sending begins or resumes.
    pub transmit_start: bool,
    /// Reports of segments, one by one, and [`RateSample::sent`].
    pub segments: Reports,
    /// [`on_timer`](crate::Controller::on_timer) when [`poll_timeout`](crate::Controller::poll_timeout) says.
    pub timer: bool,
    /// Windows below one segment: one segment is in flight, but each leaves no sooner than `segment / window` after
    /// the last, in round trips. Otherwise such a window is one of a segment.
    pub fractional_window: bool,
    /// To answer marks by itself: there is no [`on_ecn`](crate::Controller::on_ecn), and growth goes on. Marks are
    /// those of [`Ack::newly_marked`], or of [`Ack::ecn_echo`].
    pub governs_marks: bool,
    /// Marks as L4S has them (RFC 9331), whose new segments are [`Ecn::Ect1`] where ECN is in use.
    pub l4s: bool,
    /// Accurate ECN, without which it does not do what it is for: its flows have it unless the scenario says otherwise,
    /// which is remarked on.
    pub needs_marks: bool,
    /// To set its window in recovery as well (`cong_control` in Linux): whatever it says at any event is what may
    /// be in flight, without proportional rate reduction or any other limit, and an ACK inside recovery that
    /// advances the cumulative point is an [`on_ack`](crate::Controller::on_ack).
    pub governs_recovery: bool,
    /// Slow start from one segment when a loss is found, as in 4.3BSD-Tahoe, also on stacks that repair losses in a
    /// recovery: the window is not brought there by proportional rate reduction, and an ACK inside recovery that
    /// advances the cumulative point is an [`on_ack`](crate::Controller::on_ack).
    pub slow_starts_on_loss: bool,
    /// Exact RTT samples where the clock of the stack is coarse: modules of Linux until 3.14 that set
    /// `TCP_CONG_RTT_STAMP` had them in microseconds, all others in ticks.
    pub exact_rtt: bool,
}

/// The segments of which a controller gets reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    /// None.
    #[default]
    None,
    /// Lost ones: [`on_segment_lost`](crate::Controller::on_segment_lost).
    Lost,
    /// All: [`on_segment_delivered`](crate::Controller::on_segment_delivered) as well.
    All,
}

impl Reports {
    /// Whether there are any.
    #[inline]
    pub fn any(self) -> bool {
        self != Self::None
    }
}

/// The state of the connection when a segment left (P.delivered, P.lost and P.tx_in_flight of draft-ietf-ccwg-bbr).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentState {
    /// When that was.
    pub at: Time,
    /// Segments delivered by then; see [`Ack::delivered`].
    pub delivered: u64,
    /// Segments deemed lost by then; see [`Ack::lost`].
    pub lost: u64,
    /// Segments reported as marked by then; see [`Ack::marked`].
    pub marked: u64,
    /// Segments in flight (pipe), this one included.
    pub in_flight: u32,
    /// The application limited the flow.
    pub application_limited: bool,
}

/// What became of the last transmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// The number of the segment.
    pub sequence: u64,
    /// It was sent more than once: its RTT is ambiguous (Karn's rule, RFC 6298 section 3).
    pub retransmitted: bool,
    /// The RTT of a segment that was delivered and sent once, on the sender's clock.
    pub rtt: Option<Span>,
    /// The state of the connection when it left.
    pub sent: SentState,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Its number.
    pub sequence: u64,
    /// It left before.
    pub retransmission: bool,
    /// Segments in flight (pipe), this one included.
    pub in_flight: u32,
    /// The application had nothing more to send at some time since what is now in flight left.
    pub application_limited: bool,
}

/// A delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments delivered over `interval`.
    pub delivered: u64,
    /// The longer of the send and the ACK interval.
    pub interval: Span,
    /// The sample was taken while the application limited the flow.
    pub application_limited: bool,
    /// Segments delivered, of all, when the segment of the sample left (rs.prior_delivered).
    pub prior_delivered: u64,
    /// The segment of the sample was sent more than once.
    pub is_retransmission: bool,
    /// The state of the connection when the segment of the sample left, for a controller that wants `segments`.
    /// What was lost since is [`Ack::lost`] less [`SentState::lost`].
    pub sent: Option<SentState>,
}

/// One ACK: the single source of signals. All counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// The RTT sample of this ACK, if it gives one.
    pub rtt: Option<RttSample>,
    /// The timestamp that the ACK echoes; [`Time::NEVER`] without timestamps. See [`Ack::timestamp_rtt`].
    pub timestamp_echo: Time,
    /// The tick of the sender's timestamp clock.
    pub timestamp_tick: Span,
    /// What that clock showed at the start of the run.
    pub timestamp_at_start: Span,
    /// Smoothed RTT (RFC 6298); zero before the first sample.
    pub smoothed_rtt: Span,
    /// The smallest RTT of the connection, or of the time that the stack remembers; [`Span::MAX`] before the first
    /// sample.
    pub min_rtt: Span,
    /// Delay of the forward path, where both clocks are known to agree (in simulation).
    pub one_way_delay: Option<Span>,
    /// By how many segments the cumulative point advanced.
    pub newly_acknowledged: u32,
    /// Segments known to be delivered by this ACK and not before, cumulatively or by SACK.
    pub newly_delivered: u32,
    /// Segments deemed lost since the last ACK. Each is reported once: here, or in [`Loss::newly_lost`] where it starts
    /// a loss event.
    pub newly_lost: u32,
    /// Segments delivered since the start, with those of this ACK (C.delivered).
    pub delivered: u64,
    /// Segments deemed lost since the start, with what this ACK showed (C.lost).
    pub lost: u64,
    /// Segments in flight (pipe, RFC 6675) before the ACK was processed.
    pub in_flight_before: u32,
    /// Segments in flight after it.
    pub in_flight: u32,
    /// The highest segment that this ACK SACKs and none before did. Where the receiver acknowledges every segment
    /// that is out of order, it is the one that arrived.
    pub newly_sacked: Option<u64>,
    /// The first sign of a hole: a duplicate ACK or a SACK block while nothing above the cumulative point was known to
    /// have arrived.
    pub first_duplicate: bool,
    /// The ACK ends a fast recovery or a reduction for a mark, and the window may grow on it (Linux since 4.6 at the
    /// latest). It covers what was SACKed, too.
    pub ends_recovery: bool,
    /// The delivery rate, if the ACK delivers anything.
    pub rate: Option<RateSample>,
    /// This ACK covers, cumulatively or by SACK, the first new segment sent after the previous such ACK: one round-trip
    /// interval ends here (the interval of Vegas and CDG).
    pub round_start: bool,
    /// The ACK carries an ECN echo (ECE); with accurate ECN, it reports new marks.
    pub ecn_echo: bool,
    /// With accurate ECN: segments that this ACK reports as marked and none before did. It may exceed what the ACK
    /// delivers where an ACK was lost.
    pub newly_marked: u32,
    /// With accurate ECN: segments reported as marked since the start (C.delivered_ce).
    pub marked: u64,
    /// The application had nothing more to send at some time since what is now in flight left (C.app_limited of
    /// delivery rate estimation). Whether the window was used is `window_limited`.
    pub application_limited: bool,
    /// The window was fully used: without this, it must not grow (RFC 7661, RFC 9438 section 5.8).
    pub window_limited: bool,
    /// The cumulative point: every segment below this number is acknowledged.
    pub acknowledged_to: u64,
    /// The number of the next new segment: everything below it was sent.
    pub sent_to: u64,
    /// How the sender's stack counts ACKs.
    pub counting: Counting,
    /// In the sender's stack a window that equals the threshold still is in slow start (FreeBSD, Linux before 4.3;
    /// RFC 5681, section 3.1, leaves it open): after each reduction one ACK grows it as in slow start.
    pub slow_start_at_threshold: bool,
}

impl Ack {
    /// An ACK that says nothing, for literals to name only what they set.
    pub const EMPTY: Self = Self {
        rtt: None,
        timestamp_echo: Time::NEVER,
        timestamp_tick: Span::ZERO,
        timestamp_at_start: Span::ZERO,
        smoothed_rtt: Span::ZERO,
        min_rtt: Span::MAX,
        one_way_delay: None,
        newly_acknowledged: 0,
        newly_delivered: 0,
        newly_lost: 0,
        delivered: 0,
        lost: 0,
        in_flight_before: 0,
        in_flight: 0,
        newly_sacked: None,
        first_duplicate: false,
        ends_recovery: false,
        rate: None,
        round_start: false,
        ecn_echo: false,
        newly_marked: 0,
        marked: 0,
        application_limited: false,
        window_limited: false,
        acknowledged_to: 0,
        sent_to: 0,
        counting: Counting::Segments,
        slow_start_at_threshold: false,
    };

    /// RTT by the timestamp option, for an ACK that arrives `now`: now less the echoed value, on the clock of the
    /// option. With delayed ACKs it contains the wait of the first segment covered (RFC 7323, section 4.1). `None`
    /// without timestamps.
    pub fn timestamp_rtt(&self, now: Time) -> Option<Span> {
        let on_clock = |at: Time| (at + self.timestamp_at_start).floor_to(self.timestamp_tick);
        (self.timestamp_echo != Time::NEVER).then(|| on_clock(now).since(on_clock(self.timestamp_echo)))
    }

    /// The RTT sample, unless it may contain the delayed-ACK timer.
    pub fn undelayed_rtt(&self) -> Option<Span> {
        self.rtt.filter(|rtt| !rtt.delayed).map(|rtt| rtt.value)
    }

    /// The delay of the forward path where it is known, otherwise the RTT. Either one less its own minimum is a
    /// queueing delay: that of the forward path, or of both.
    pub fn forward_delay(&self) -> Option<Span> {
        self.one_way_delay.or_else(|| self.undelayed_rtt())
    }

    /// Whether segments above the cumulative point have arrived or are lost: in Linux the state is Disorder at least.
    pub fn leaves_disorder(&self) -> bool {
        self.sent_to.checked_sub(self.acknowledged_to) != Some(self.in_flight.into())
    }

    /// Segments that this ACK covers. Where it ends a recovery these were counted when they were SACKed: what it
    /// delivers.
    pub fn covers(&self) -> u32 {
        if self.ends_recovery { self.newly_delivered } else { self.newly_acknowledged }
    }

    /// Segments that this ACK counts in slow start.
    pub fn slow_start_credit(&self) -> f64 {
        match self.counting {
            Counting::PerAck => 1.0,
            Counting::Bytes { limit } => f64::from(self.newly_acknowledged.min(limit)),
            Counting::Segments => f64::from(self.newly_delivered),
        }
    }

    /// Segments that this ACK counts in congestion avoidance.
    pub fn avoidance_credit(&self) -> f64 {
        match self.counting {
            Counting::PerAck => 1.0,
            Counting::Bytes { .. } => f64::from(self.newly_acknowledged),
            Counting::Segments => f64::from(self.newly_delivered),
        }
    }
}

/// Sending that begins, or does so again with nothing outstanding (CA_EVENT_TX_START of Linux).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmitStart {
    /// The time since the last segment left; zero at the start.
    pub idle: Span,
    /// The application had nothing to send before (C.app_limited of draft-ietf-ccwg-bbr). Otherwise pacing alone let
    /// all that was in flight arrive before the next segment.
    pub application_limited: bool,
}

/// What Linux makes of a window that was not used, where RFC 5681 restarts with the initial window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// The window is at most this, in segments.
    pub window: f64,
    /// The slow-start threshold is at least this, in segments: three quarters of the window.
    pub threshold: f64,
    /// The flow was silent. Otherwise it sent, less than the window allowed, and no ACK came for a timeout.
    pub idle: bool,
}

/// A loss event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Segments in flight when it was detected, before any was deemed lost (pipe, RFC 6675).
    pub in_flight: u32,
    /// Segments deemed lost that no ACK has reported (see [`Ack::newly_lost`]).
    pub newly_lost: u32,
    /// For a timeout: not the first of a row without progress, or the window of data was already reduced for a loss.
    pub again: bool,
    /// The cumulative point.
    pub acknowledged_to: u64,
    /// The number of the next new segment: recovery ends when everything below it is acknowledged.
    pub sent_to: u64,
    /// When the oldest lost segment was last sent.
    pub sent_at: Time,
}

impl Loss {
    /// Segments sent and not acknowledged cumulatively (FlightSize, RFC 5681).
    pub fn flight_size(&self) -> u32 {
        (self.sent_to - self.acknowledged_to) as u32
    }
}

/// Congestion marks echoed by the receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marks {
    /// Segments in flight when the echo arrived.
    pub in_flight: u32,
    /// The cumulative point.
    pub acknowledged_to: u64,
    /// The number of the next new segment.
    pub sent_to: u64,
    /// When the echo arrived.
    pub at: Time,
}

impl Marks {
    /// The loss event that a controller without ECN rule of its own takes this for.
    pub fn as_loss(&self) -> Loss {
        Loss {
            in_flight: self.in_flight,
            newly_lost: 0,
            again: false,
            acknowledged_to: self.acknowledged_to,
            sent_to: self.sent_to,
            sent_at: self.at,
        }
    }
}
