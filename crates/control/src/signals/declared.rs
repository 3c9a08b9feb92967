//! The declaration of every signal. Rust, Python, JavaScript, plug-ins and the stub take theirs from it.

/// Calls the macro `$each` with the declaration of every signal, in three groups: the moment of an event, the objects
/// that scripts get, and parts of both that scripts do not see.
///
/// A field is `name: type;` below its sentence. `= value` is its value in `EMPTY`. With `, none "when"` that value
/// stands for one that is not known, which scripts see as none. Fields under `hidden` are for controllers in Rust
/// alone, those under `computed` and `methods` are for scripts: `|signal, moment| value`. Times are seconds for
/// scripts, rates bits per second.
#[macro_export]
macro_rules! signals {
    ($each:ident) => {
        $each! {
            moment {
                /// The connection at the time of an event.
                Moment {
                    /// Time of the event.
                    now: Time;
                    /// Payload of a full segment in bytes (SMSS, RFC 5681).
                    segment_size: Bytes;
                    /// Initial window of the connection, in segments.
                    initial_window: f64;
                    /// A window that equals the threshold is still in slow start, by the stack of the sender. After
                    /// each reduction one ACK then grows it as in slow start. It is so in FreeBSD and in Linux before
                    /// 4.3; RFC 5681, section 3.1, leaves it open.
                    slow_start_at_threshold: bool;
                }
                hidden {
                    /// At [`Controller::on_idle_restart`](crate::Controller::on_idle_restart): the window and the
                    /// threshold of the stack, if they are not those of RFC 5681.
                    restart: Option<$crate::Restart>;
                    /// When the next segment may leave by the pacing of those that left; `now` or before, if at once.
                    departure: Time;
                    /// The clock of the host at the start of the run; 0 where hosts have no phases.
                    host_clock_at_start: Span;
                    /// The tick of the sender's timestamp clock.
                    timestamp_tick: Span;
                    /// How the sender's stack counts ACKs.
                    counting: $crate::Counting;
                }
                computed {
                    /// At `on_idle_restart`: the window is at most this, in segments.
                    restart_window: f64 = |at, _| at.restart.map_or(at.initial_window, |restart| restart.window);
                    /// At `on_idle_restart`: the slow-start threshold is at least this, in segments, or 0.
                    restart_threshold: f64 = |at, _| at.restart.map_or(0.0, |restart| restart.threshold);
                }
                methods {}
            }
            objects {
                /// One ACK: the single source of signals. All counts are in segments.
                Ack {
                    /// The RTT sample of this ACK, if it gives one; never of a retransmission.
                    rtt: Option<$crate::RttSample>;
                    /// Smoothed RTT (RFC 6298).
                    smoothed_rtt: Span = Span::ZERO, none "before the first sample";
                    /// The smallest RTT of the connection, or of the time that the stack remembers.
                    min_rtt: Span = Span::MAX, none "before the first sample";
                    /// Delay of the forward path, where both clocks are known to agree (in simulation).
                    one_way_delay: Option<Span>;
                    /// By how many segments the cumulative point advanced.
                    newly_acknowledged: u32;
                    /// Segments known to be delivered by this ACK and not before, cumulatively or by SACK.
                    newly_delivered: u32;
                    /// Segments deemed lost since the last ACK. Each is reported once: here, or in
                    /// [`Loss::newly_lost`] if it starts a loss event.
                    newly_lost: u32;
                    /// Segments delivered since the start, with those of this ACK (C.delivered).
                    delivered: u64;
                    /// Segments deemed lost since the start, with those that this ACK showed (C.lost).
                    lost: u64;
                    /// Segments in flight (pipe, RFC 6675) before the ACK was processed.
                    in_flight_before: u32;
                    /// Segments in flight after it.
                    in_flight: u32;
                    /// The highest segment that this ACK SACKs and none before did. If the receiver acknowledges every
                    /// segment that is out of order, it is the one that arrived.
                    newly_sacked: Option<u64>;
                    /// The first sign of a hole: a duplicate ACK or a SACK block. Nothing above the cumulative point
                    /// was known to have arrived before.
                    first_duplicate: bool;
                    /// The ACK ends a fast recovery or a reduction for a mark, and the window may grow on it. It covers
                    /// segments that were SACKed before, too (Linux since 4.6 at the latest).
                    ends_recovery: bool;
                    /// The delivery rate, if the ACK delivers anything.
                    rate: Option<$crate::RateSample>;
                    /// One round-trip interval ends here (the interval of Vegas and CDG). The ACK covers, cumulatively
                    /// or by SACK, the first new segment sent after the previous such ACK.
                    round_start: bool;
                    /// The ACK carries an ECN echo (ECE); with accurate ECN, it reports new marks.
                    ecn_echo: bool;
                    /// With accurate ECN: segments that this ACK reports as marked and none before did. It may exceed
                    /// the number that the ACK delivers if an ACK was lost.
                    newly_marked: u32;
                    /// With accurate ECN: segments reported as marked since the start (C.delivered_ce).
                    marked: u64;
                    /// The application had nothing more to send at some time since the segments in flight left. It is
                    /// C.app_limited of delivery rate estimation. Whether the window was used is `window_limited`.
                    application_limited: bool;
                    /// The window was fully used: without this, it must not grow (RFC 7661, RFC 9438 section 5.8).
                    window_limited: bool;
                    /// The cumulative point: every segment below this number is acknowledged.
                    acknowledged_to: u64;
                    /// The number of the next new segment: everything below it was sent.
                    sent_to: u64;
                }
                hidden {
                    /// The timestamp that the ACK echoes; [`Time::NEVER`] without timestamps. See
                    /// [`Ack::timestamp_rtt`].
                    timestamp_echo: Time = Time::NEVER;
                    /// It carries no SACK block and no echo, and the receive window has not changed: header prediction
                    /// of Linux takes it (tcp_rcv_established).
                    fast_path: bool = false;
                    /// It ends the repair of a timeout, after which no
                    /// [`on_recovered`](crate::Controller::on_recovered) comes. In Linux the state is Open before the
                    /// window grows on this ACK (tcp_fastretrans_alert).
                    ends_repair: bool = false;
                    /// Segments that might be in flight before it: a reduction under way limits them (snd_cwnd of
                    /// Linux).
                    limit: u32 = u32::MAX;
                }
                computed {
                    /// The RTT sample may contain the delayed-ACK timer.
                    rtt_delayed: bool = |ack, _| ack.rtt.is_some_and(|sample| sample.delayed);
                    /// RTT by the timestamp option.
                    timestamp_rtt: Option<Span> = |ack, at| ack.timestamp_rtt(at);
                }
                methods {
                    /// Segments that this ACK counts in slow start, by the counting of the sender's stack.
                    slow_start_credit: f64 = |ack, at| ack.slow_start_credit(at);
                    /// Segments that this ACK counts in congestion avoidance.
                    avoidance_credit: f64 = |ack, at| ack.avoidance_credit(at);
                }

                /// A loss event, or an expiry of the retransmission timer.
                Loss {
                    /// Segments in flight when it was detected, before any was deemed lost (pipe, RFC 6675).
                    in_flight: u32;
                    /// Segments deemed lost that no ACK has reported (see [`Ack::newly_lost`]).
                    newly_lost: u32;
                    /// For a timeout: not the first of a row without progress. Also if the window of data was already
                    /// reduced for a loss.
                    again: bool;
                    /// The cumulative point.
                    acknowledged_to: u64;
                    /// The number of the next new segment: recovery ends when everything below it is acknowledged.
                    sent_to: u64;
                    /// When the oldest lost segment was last sent.
                    sent_at: Time;
                }
                hidden {}
                computed {}
                methods {}

                /// Congestion marks echoed by the receiver.
                Marks {
                    /// Segments in flight when the echo arrived.
                    in_flight: u32;
                    /// The cumulative point.
                    acknowledged_to: u64;
                    /// The number of the next new segment.
                    sent_to: u64;
                    /// When the echo arrived.
                    at: Time;
                }
                hidden {}
                computed {}
                methods {
                    /// The equivalent loss event, for a controller without a rule for ECN.
                    as_loss: $crate::Loss = |marks, _| marks.as_loss();
                }

                /// A delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation).
                RateSample {
                    /// Segments delivered over `interval`.
                    delivered: u64;
                    /// The longer of the send and the ACK interval.
                    interval: Span;
                    /// The sample was taken while the application limited the flow.
                    application_limited: bool;
                    /// Segments delivered, of all, when the segment of the sample left (rs.prior_delivered).
                    prior_delivered: u64;
                    /// The segment of the sample was sent more than once.
                    is_retransmission: bool;
                    /// The state of the connection when the segment left, if `segments` are wanted. Segments lost since
                    /// are [`Ack::lost`] less [`SentState::lost`].
                    sent: Option<$crate::SentState>;
                }
                hidden {}
                computed {}
                methods {}

                /// The state of the connection when a segment left: P.delivered, P.lost and P.tx_in_flight
                /// of draft-ietf-ccwg-bbr.
                SentState {
                    /// When that was.
                    at: Time;
                    /// Segments delivered by then; see [`Ack::delivered`].
                    delivered: u64;
                    /// Segments deemed lost by then; see [`Ack::lost`].
                    lost: u64;
                    /// Segments reported as marked by then; see [`Ack::marked`].
                    marked: u64;
                    /// Segments in flight (pipe), this one included.
                    in_flight: u32;
                    /// The application limited the flow.
                    application_limited: bool;
                }
                hidden {}
                computed {}
                methods {}

                /// A segment that leaves.
                Transmission {
                    /// Its number.
                    sequence: u64;
                    /// It left before.
                    retransmission: bool;
                    /// Segments in flight (pipe), this one included.
                    in_flight: u32;
                    /// The application had nothing more to send at some time since the segments in flight left.
                    application_limited: bool;
                }
                hidden {}
                computed {}
                methods {}

                /// The fate of the last transmission of a segment.
                SegmentReport {
                    /// The number of the segment.
                    sequence: u64;
                    /// It was sent more than once: its RTT is ambiguous (Karn's rule, RFC 6298 section 3).
                    retransmitted: bool;
                    /// The RTT of a segment that was delivered and sent once, on the sender's clock.
                    rtt: Option<Span>;
                    /// The state of the connection when it left.
                    sent: $crate::SentState;
                    /// Its delay on the forward path, by the arrival time in the feedback of a media flow.
                    one_way_delay: Option<Span>;
                    /// Its payload in a media flow. Segments of TCP are full.
                    payload: Option<Bytes>;
                    /// It arrived with a congestion mark. Only media flows have feedback on single packets.
                    marked: bool;
                }
                hidden {}
                computed {}
                methods {}
            }
            parts {
                /// A round-trip time sample.
                RttSample {
                    /// From the last transmission of the newest segment that the ACK covers to the ACK; never of a
                    /// segment whose transmission is ambiguous (Karn's rule, RFC 6298 section 3). On the sender's
                    /// clock tick.
                    value: Span;
                    /// The receiver is known to delay ACKs and this ACK covers a single segment: the sample may
                    /// contain the delayed-ACK timer. Good for a minimum, not for a maximum or a gradient.
                    delayed: bool;
                }

                /// Sending that begins, or does so again with nothing outstanding (CA_EVENT_TX_START of Linux).
                TransmitStart {
                    /// The time since the last segment left; zero at the start.
                    idle: Span;
                    /// The application had nothing to send before (C.app_limited of draft-ietf-ccwg-bbr). Otherwise
                    /// pacing alone let all segments in flight arrive before the next one left.
                    application_limited: bool;
                }

                /// The reduction of an unused window in Linux; RFC 5681 restarts with the initial window.
                Restart {
                    /// The window is at most this, in segments.
                    window: f64;
                    /// The slow-start threshold is at least this, in segments: three quarters of the window.
                    threshold: f64;
                    /// The flow was silent. Otherwise it sent, less than the window allowed, and no ACK came for a
                    /// timeout.
                    idle: bool;
                }

                /// Requests of a controller beyond the events that every controller gets. The transport reads them
                /// once, when the connection is made; a signal that a controller does not want costs nothing.
                Wants {
                    /// [`on_sent`](crate::Controller::on_sent) for every segment that leaves.
                    sent: bool;
                    /// [`on_transmit_start`](crate::Controller::on_transmit_start) when sending begins or resumes.
                    transmit_start: bool;
                    /// Reports of segments, one by one, and [`RateSample::sent`].
                    segments: $crate::Reports;
                    /// [`on_timer`](crate::Controller::on_timer) when
                    /// [`poll_timeout`](crate::Controller::poll_timeout) says.
                    timer: bool;
                    /// Windows below one segment: one segment is in flight, but each leaves no sooner than `segment /
                    /// window` after the last, in round trips. Otherwise such a window is one of a segment.
                    fractional_window: bool;
                    /// To answer marks by itself: there is no [`on_ecn`](crate::Controller::on_ecn), and growth goes
                    /// on. Marks are those of [`Ack::newly_marked`], or of [`Ack::ecn_echo`].
                    governs_marks: bool;
                    /// Marks as L4S has them (RFC 9331), whose new segments are [`Ecn::Ect1`](units::Ecn::Ect1) where
                    /// ECN is in use.
                    l4s: bool;
                    /// Accurate ECN, without which the controller misses its purpose: its flows have it unless the
                    /// scenario says otherwise, which is remarked on.
                    needs_marks: bool;
                    /// To set its window in recovery as well (`cong_control` in Linux): the window after any event is
                    /// the limit of the flight, without proportional rate reduction or any other limit, and an ACK
                    /// inside recovery that advances the cumulative point is an
                    /// [`on_ack`](crate::Controller::on_ack).
                    governs_recovery: bool;
                    /// Slow start from one segment when a loss is found, as in 4.3BSD-Tahoe, also on stacks that
                    /// repair losses in a recovery: the window is not brought there by proportional rate reduction,
                    /// and an ACK inside recovery that advances the cumulative point is an
                    /// [`on_ack`](crate::Controller::on_ack).
                    slow_starts_on_loss: bool;
                    /// Exact RTT samples where the clock of the stack is coarse: modules of Linux until 3.14 that set
                    /// `TCP_CONG_RTT_STAMP` had them in microseconds, all others in ticks.
                    exact_rtt: bool;
                }
            }
        }
    };
}
