//! The sending end of a flow: a TCP sender, or a source of datagrams or media.

use std::sync::Arc;

use control::law::{self, Breach};
use control::{Controller, ParameterError, Parameters, Probe, tfrc};
use record::{FlowMeter, FlowState};
use scenario::{DrawnFlow, Kind, PlannedFlow};
use transport::{
    ActiveOpen, Application, DatagramSource, Frame, Journal, Marks, MediaSource, OpeningPacket, PacketHeader, Phase,
    Sender, Stack, TfrcSource,
};
use units::{Ecn, Random, Rate, SenderCounters, Span, Time};

use crate::acks::Stored;
use crate::cache_aligned::CacheAligned;
use crate::flow::Report;
use crate::flow::row::{Placed, Places};
use crate::hosts::uptime;
use crate::packet::Packet;

/// A sending end with the meter of its flow behind it, whose first cache line every ACK touches.
#[repr(C)]
pub(crate) struct Metered<T> {
    end: T,
    meter: FlowMeter,
}

impl<T> Metered<T> {
    /// Cache lines that an ACK may touch: the end, and the RTT samples.
    const LINES: usize = size_of::<T>().div_ceil(64) + 1;

    fn new(end: T) -> Self {
        Self { end, meter: FlowMeter::new() }
    }
}

/// A TCP sender with its meter.
pub(crate) type MeteredSender = CacheAligned<Metered<Sender>>;

/// The sending end of a flow. It is elsewhere, so that flows are apart in memory and a table of them stays small.
pub(crate) enum SendingEnd<'a> {
    Tcp(Placed<'a>),
    Datagram(Box<Metered<DatagramSource>>),
    Tfrc(Box<Metered<(TfrcSource, Ecn)>>),
    Media(Box<Metered<MediaSource>>),
    /// TCP that waits for the answer to its SYN.
    Opening(Box<Opening<'a>>),
}

/// A TCP sender whose connection is not open yet.
pub(crate) struct Opening<'a> {
    open: ActiveOpen,
    /// The rate that routers granted the first SYN.
    granted: Option<Rate>,
    sender: Placed<'a>,
}

impl<'a> SendingEnd<'a> {
    /// The sending end of `drawn`, a flow of `plan` of kind `tfrc`.
    pub(crate) fn tfrc(plan: &PlannedFlow, drawn: &DrawnFlow, seed: u64) -> Result<Self, ParameterError> {
        let size = plan.packet_size();
        let settings = tfrc::Settings::of(&plan.parameters)?;
        let source = TfrcSource::new(settings, size, engine::pace(plan, drawn, size, seed));
        let codepoint = if plan.options.marks == Marks::Off { Ecn::NotCapable } else { Ecn::Ect0 };
        Ok(Self::Tfrc(Box::new(Metered::new((source, codepoint)))))
    }

    /// The sending end of `drawn`, a flow of `plan` with a controller. TCP follows `stack`, and takes one of the free
    /// `places`.
    pub(crate) fn new(
        (plan, drawn): (&PlannedFlow, &DrawnFlow),
        stack: &Arc<Stack>,
        controller: Box<dyn Controller>,
        seed: u64,
        places: &mut Places<'a>,
    ) -> Self {
        if let Kind::Tcp = plan.kind {
            let random = Random::stream(seed, "flow", drawn.stream());
            let options = Arc::clone(stack);
            let application = match (engine::pace(plan, drawn, options.segment_size, seed), drawn.bytes) {
                _ if plan.relays.is_some() => Application::Relayed(drawn.bytes),
                (Some(pace), _) => Application::Paced(pace),
                (None, Some(bytes)) => Application::Finite(bytes),
                (None, None) => Application::Greedy,
            };
            let ticks = !options.timers.tick.is_zero();
            let mut sender = Sender::new(options, controller, application, random);
            if ticks {
                sender.up_for(uptime(seed));
            }
            return Self::Tcp(places.put(CacheAligned::new(Metered::new(sender))));
        }
        if let Kind::Media { .. } = plan.kind {
            return Self::Media(Box::new(Metered::new(engine::media_source(plan, drawn, controller, seed))));
        }
        Self::Datagram(Box::new(Metered::new(engine::datagram_source(plan, drawn, controller, seed))))
    }

    /// The TCP sender, if it is one.
    pub(crate) fn tcp(&mut self) -> Option<&mut Sender> {
        match self {
            Self::Tcp(tcp) => Some(&mut tcp.end),
            Self::Opening(opening) => Some(&mut opening.sender.end),
            Self::Datagram(_) | Self::Tfrc(_) | Self::Media(_) => None,
        }
    }

    /// Where a TCP sender is in the row of those that stay, if it is there.
    #[cfg(test)]
    pub(crate) fn place_in_row(&self) -> Option<usize> {
        match self {
            Self::Tcp(placed) => placed.place_in_row(),
            Self::Opening(opening) => opening.sender.place_in_row(),
            _ => None,
        }
    }

    /// The meter of the flow.
    #[inline]
    pub(crate) fn meter(&mut self) -> &mut FlowMeter {
        match self {
            Self::Tcp(tcp) => &mut tcp.meter,
            Self::Opening(opening) => &mut opening.sender.meter,
            Self::Datagram(source) => &mut source.meter,
            Self::Tfrc(source) => &mut source.meter,
            Self::Media(source) => &mut source.meter,
        }
    }

    /// The flow starts, with the rate that routers `granted`, if it asked for one. TCP follows `stack`. The state of a
    /// handshake is made here: a million flows would have it from the start of the run.
    pub(crate) fn start(mut self, now: Time, granted: Option<Rate>, stack: &Arc<Stack>, seed: u64) -> Self {
        match &mut self {
            Self::Tcp(tcp) if !stack.handshake => tcp.end.start(now),
            Self::Tcp(_) | Self::Opening(_) => {}
            Self::Datagram(source) => source.end.start(now),
            Self::Tfrc(source) => source.end.0.start(now),
            Self::Media(source) => source.end.start(now),
        }
        match self {
            Self::Tcp(sender) if stack.handshake => {
                let mut open = ActiveOpen::new(Arc::clone(stack));
                if !stack.timers.tick.is_zero() {
                    open.up_for(uptime(seed));
                }
                open.start(now);
                Self::Opening(Box::new(Opening { open, granted, sender }))
            }
            started => started,
        }
    }

    /// How often its SYN was sent again, while that is not answered.
    pub(crate) fn syn_retransmissions(&self) -> Option<u32> {
        if let Self::Opening(opening) = self { Some(opening.open.retransmissions()) } else { None }
    }

    /// The SYN-ACK `answer` arrives. Says how often the SYN was sent again, if that opens the connection.
    pub(crate) fn on_answer(self, now: Time, answer: &OpeningPacket) -> (Self, Option<u32>) {
        let Self::Opening(opening) = self else { return (self, None) };
        let Opening { open, granted, mut sender } = *opening;
        let opened = open.on_answer(answer);
        // A request goes with the first SYN alone (RFC 4782, section 4.7.2).
        match granted.filter(|_| open.retransmissions() == 0) {
            Some(rate) => sender.end.open_at_rate(now, opened, rate),
            None => sender.end.open(now, opened),
        }
        (Self::Tcp(sender), Some(open.retransmissions()))
    }

    /// Lets the processor fetch it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Self::Tcp(tcp) = self {
            tcp.prefetch_lines(0..Metered::<Sender>::LINES);
        }
    }

    /// Lets the processor fetch memory that it refers to. It should be there already itself.
    #[inline]
    pub(crate) fn prefetch_more(&self) {
        if let Self::Tcp(tcp) = self {
            tcp.end.prefetch();
            tcp.meter.prefetch_counted();
        }
    }

    /// Lets the processor fetch what that refers to in turn.
    #[inline]
    pub(crate) fn prefetch_holes(&self) {
        if let Self::Tcp(tcp) = self {
            tcp.end.prefetch_holes();
            tcp.meter.prefetch_counts();
        }
    }

    /// The next data packet that leaves now.
    #[inline(always)]
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        flow: u32,
        step: u32,
        journal: &mut dyn Journal,
    ) -> Option<Packet> {
        let (data, size, ecn) = match self {
            Self::Tcp(tcp) => {
                let data = tcp.end.poll_transmit(now, journal)?;
                (data, tcp.end.wire_size(data.payload), tcp.end.codepoint(&data))
            }
            Self::Opening(opening) => {
                let packet = opening.open.poll_transmit(now)?;
                let size = opening.open.size(packet.kind).get() as u32;
                return Some(Packet::of_opening(flow, step, size, &packet));
            }
            Self::Datagram(source) => {
                let data = source.end.poll_transmit(now)?;
                (data, DatagramSource::wire_size(data.payload), Ecn::NotCapable)
            }
            Self::Tfrc(source) => {
                let (source, codepoint) = &mut source.end;
                (source.poll_transmit(now)?, source.wire_size(), *codepoint)
            }
            Self::Media(source) => {
                let data = source.end.poll_transmit(now, journal)?;
                (data, MediaSource::wire_size(data.payload), source.end.codepoint())
            }
        };
        Some(Packet::of_data(flow, step, size.get() as u32, ecn, &data))
    }

    /// Data packets leave as long as that takes no other look, each handed to `out`.
    #[inline(always)]
    pub(crate) fn send_ready(&mut self, now: Time, flow: u32, step: u32, mut out: impl FnMut(Packet)) {
        if let Self::Tcp(tcp) = self {
            let overhead = tcp.end.wire_size(0).get() as u32;
            let codepoint = tcp.end.codepoint_of_new();
            tcp.end.send_ready(now, |data| out(Packet::of_data(flow, step, overhead + data.payload, codepoint, data)));
        }
    }

    /// Parameters of the controller change.
    pub(crate) fn set_parameters(&mut self, now: Time, given: &Parameters) -> Result<(), ParameterError> {
        match self {
            Self::Tcp(tcp) => tcp.end.set_parameters(now, given),
            Self::Opening(opening) => opening.sender.end.set_parameters(now, given),
            Self::Datagram(source) => source.end.set_parameters(given),
            Self::Media(source) => source.end.set_parameters(now, given),
            Self::Tfrc(_) => Ok(()),
        }
    }

    /// An ACK or echo arrives, or an announcement of the `report` that a receiver of TFRC or media has made, by its
    /// number. Notes the RTT sample that it gives, and says whether it gave one.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        ack: Stored<'_>,
        report: impl FnOnce(u64) -> Option<Report>,
        journal: &mut dyn Journal,
    ) -> bool {
        let (sample, meter) = match self {
            Self::Tcp(tcp) => {
                let tcp: &mut Metered<Sender> = tcp;
                let sample = match ack {
                    Stored::Cumulative(ack) => tcp.end.on_cumulative_ack(now, ack, journal),
                    Stored::Whole(ack) => tcp.end.on_acknowledgement(now, ack, journal),
                };
                (sample, &mut tcp.meter)
            }
            Self::Datagram(source) => (source.end.on_echo(now, &ack.whole(), journal), &mut source.meter),
            Self::Tfrc(source) => {
                let Some(Report::Tfrc(report)) = report(ack.whole().cumulative) else { return false };
                (source.end.0.on_report(now, &report, journal), &mut source.meter)
            }
            Self::Media(source) => {
                let Some(Report::Media(report)) = report(ack.whole().cumulative) else { return false };
                (source.end.on_report(now, &report, journal), &mut source.meter)
            }
            Self::Opening(_) => return false,
        };
        sample.inspect(|&sample| meter.rtt(sample)).is_some()
    }

    /// The RTT that the data of `sequence` was sent with, as a TFRC receiver reads it.
    pub(crate) fn rtt_in(&mut self, sequence: u64) -> Span {
        match self {
            Self::Tfrc(source) => source.end.0.rtt_in(sequence),
            Self::Tcp(_) | Self::Datagram(_) | Self::Media(_) | Self::Opening(_) => Span::ZERO,
        }
    }

    /// The headers of packet `sequence` of media.
    pub(crate) fn header(&self, sequence: u64) -> Option<PacketHeader> {
        if let Self::Media(source) = self { source.end.header(sequence) } else { None }
    }

    /// The frames that an encoder has made, by their numbers.
    pub(crate) fn frames(&self) -> &[Frame] {
        if let Self::Media(source) = self { source.end.frames() } else { &[] }
    }

    pub(crate) fn on_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        match self {
            Self::Tcp(tcp) => tcp.end.on_timeout(now, journal),
            Self::Datagram(_) => {}
            Self::Tfrc(source) => source.end.0.on_timeout(now, journal),
            Self::Media(source) => source.end.on_timeout(now, journal),
            Self::Opening(opening) => opening.open.on_timeout(now),
        }
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        match self {
            Self::Tcp(tcp) => tcp.end.poll_timeout(),
            Self::Datagram(source) => source.end.poll_timeout(),
            Self::Tfrc(source) => source.end.0.poll_timeout(),
            Self::Media(source) => source.end.poll_timeout(),
            Self::Opening(opening) => opening.open.poll_timeout(),
        }
    }

    /// The deadline if it is before `at`.
    #[inline]
    pub(crate) fn deadline_before(&self, at: Time) -> Option<Time> {
        match self {
            Self::Tcp(tcp) => tcp.end.poll_timeout_before(at),
            _ => self.deadline().filter(|&deadline| deadline < at),
        }
    }

    /// Counters since the start, without times.
    pub(crate) fn counters(&self) -> SenderCounters {
        match self {
            Self::Tcp(tcp) => tcp.end.counters(),
            Self::Datagram(source) => source.end.counters(),
            Self::Tfrc(source) => source.end.0.counters(),
            Self::Media(source) => source.end.counters(),
            Self::Opening(opening) => opening.sender.end.counters(),
        }
    }

    /// The same with the times until `now`.
    pub(crate) fn counters_until(&self, now: Time) -> SenderCounters {
        match self {
            Self::Tcp(tcp) => tcp.end.counters_until(now),
            Self::Opening(opening) => opening.sender.end.counters_until(now),
            Self::Datagram(_) | Self::Tfrc(_) | Self::Media(_) => self.counters(),
        }
    }

    /// The controller; TFRC is none.
    fn controller(&self) -> Option<&dyn Controller> {
        match self {
            Self::Tcp(tcp) => Some(tcp.end.controller()),
            Self::Datagram(source) => Some(source.end.controller()),
            Self::Opening(opening) => Some(opening.sender.end.controller()),
            Self::Media(source) => Some(source.end.controller()),
            Self::Tfrc(_) => None,
        }
    }

    /// Checks the decisions of the controller by the law for them.
    pub(crate) fn check_decisions(&self) -> Result<(), Breach> {
        self.controller().map_or(Ok(()), law::check)
    }

    /// The window in segments, and its slow-start threshold. TFRC, and a controller of media without a window, have the
    /// segments in flight at the allowed rate, and no threshold.
    pub(crate) fn window(&self) -> (f64, f64) {
        match (self, self.controller()) {
            (Self::Opening(opening), _) => (opening.open.initial_window().into(), f64::INFINITY),
            (Self::Media(source), _) => source.end.window(),
            (_, Some(controller)) => (controller.window(), controller.slow_start_threshold()),
            (Self::Tfrc(source), _) => (source.end.0.window(), f64::INFINITY),
            (_, None) => (f64::NAN, f64::NAN),
        }
    }

    /// The rate of departures, where one is set.
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        match self {
            Self::Tfrc(source) => Some(source.end.0.rate()),
            Self::Media(source) => Some(source.end.rate()),
            Self::Opening(_) => None,
            _ => self.controller()?.pacing_rate(),
        }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        match self {
            Self::Tcp(tcp) => tcp.end.in_flight(),
            Self::Datagram(source) => source.end.in_flight(),
            Self::Tfrc(source) => source.end.0.in_flight(),
            Self::Media(source) => source.end.in_flight(),
            Self::Opening(_) => 0,
        }
    }

    pub(crate) fn round_trip_times(&self) -> Option<[Span; 3]> {
        match self {
            Self::Tcp(tcp) => tcp.end.round_trip_times(),
            Self::Datagram(source) => source.end.round_trip_times(),
            Self::Tfrc(source) => source.end.0.round_trip_times(),
            Self::Media(source) => source.end.round_trip_times(),
            Self::Opening(_) => None,
        }
    }

    pub(crate) fn state(&self) -> FlowState {
        match self {
            Self::Tcp(tcp) => match tcp.end.phase() {
                Phase::Open => FlowState::Open,
                Phase::Disorder => FlowState::Disorder,
                Phase::Reduced => FlowState::Reduced,
                Phase::Recovery => FlowState::Recovery,
                Phase::Loss => FlowState::Loss,
            },
            Self::Datagram(_) | Self::Tfrc(_) | Self::Media(_) | Self::Opening(_) => FlowState::Open,
        }
    }

    pub(crate) fn probe(&self, out: &mut dyn Probe) {
        match (self, self.controller()) {
            (_, Some(controller)) => controller.probe(out),
            (Self::Tfrc(source), _) => source.end.0.probe(out),
            (_, None) => {}
        }
    }
}
