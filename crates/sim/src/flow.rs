//! The two ends of a flow in the world.

use std::sync::Arc;

use control::{Controller, ParameterError, Parameters, Probe, tfrc};
use record::FlowState;
use scenario::{DrawnFlow, Kind, PlannedFlow};
use transport::{
    Acknowledgement, Application, Data, DatagramSink, DatagramSource, Journal, Marks, Pace, Phase, Receiver, Sender,
    SenderCounters, TfrcSink, TfrcSource,
};
use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Ecn, Random, Rate, Span, Time};

use crate::cache_aligned::CacheAligned;
use crate::packet::{AckSlot, Acks, Body, Packet};

/// Longer than the timer wheel takes to turn.
const MOST_UP: Span = Span::from_secs(1000);

/// Sender and receiver of one flow. Boxed: flows lie apart in memory, and a table of them stays small.
pub(crate) enum Connection {
    Tcp { sender: Box<CacheAligned<Sender>>, receiver: Box<CacheAligned<Receiver>> },
    Datagram { source: Box<DatagramSource>, sink: DatagramSink, echo: bool },
    Tfrc { source: Box<TfrcSource>, sink: Box<TfrcSink>, codepoint: Ecn },
}

/// How long the hosts had been up at the start of the run: their timers wait for ticks of the same clock, as where one
/// machine has both ends of all flows, which so is where the run begins between two of its ticks.
fn uptime(seed: u64) -> Span {
    MOST_UP.scale(Random::stream(seed, "uptime", 0).uniform())
}

/// The ACK that leaves `receiver` now, if one does, put among `acks`, with its size.
#[inline(always)]
fn poll_ack(receiver: &mut Receiver, now: Time, acks: &mut Acks) -> Option<(AckSlot, u32)> {
    let ack = receiver.poll_transmit(now)?;
    let size = receiver.wire_size(&ack).get() as u32;
    Some((acks.insert(ack), size))
}

/// The report that leaves `sink` now, if one does, likewise. It has the size of an echo: 16 bytes in UDP.
fn poll_report(sink: &mut TfrcSink, now: Time, acks: &mut Acks) -> Option<(AckSlot, u32)> {
    let report = sink.poll_transmit(now)?;
    Some((acks.insert(report), DatagramSink::ECHO_SIZE.get() as u32))
}

/// A flow at work.
///
/// Its fields stay in this order: of a flow without an end of its own, packets touch the first cache line alone.
#[repr(C)]
pub(crate) struct Flow {
    /// None before the start and after the end of one connection of many.
    pub(crate) connection: Option<Connection>,
    /// The first step of the data and of the ACKs.
    pub(crate) forward: u32,
    pub(crate) reverse: u32,
    /// When its sender is looked at next, if at all.
    pub(crate) look_at: Time,
    pub(crate) stop: Time,
    /// Its meter, while it has ends.
    pub(crate) meter: u32,
    /// Sends: started and not yet stopped.
    pub(crate) running: bool,
    /// One connection of many: it has ends only from start to completion.
    pub(crate) transient: bool,
    /// Segments that make it complete, if it ends by itself.
    pub(crate) total: Option<u64>,
    pub(crate) completed: Option<Time>,
    pub(crate) start: Time,
}

impl Flow {
    /// Tells if it has started, and neither stopped nor come to its end.
    pub(crate) fn sends(&self) -> bool {
        self.running && self.completed.is_none()
    }
}

impl Connection {
    /// The ends of `drawn`, a flow of `plan` of kind `tfrc`.
    pub(crate) fn tfrc(plan: &PlannedFlow, drawn: &DrawnFlow, seed: u64) -> Result<Self, ParameterError> {
        let settings = tfrc::Settings::of(&plan.parameters)?;
        let size = plan.packet_size();
        let source = TfrcSource::new(settings, size, engine::pace(plan, drawn, size, seed));
        let sink = TfrcSink::new(settings, size.saturating_sub(IP_HEADER + UDP_HEADER));
        let codepoint = if plan.options.marks == Marks::Off { Ecn::NotCapable } else { Ecn::Ect0 };
        Ok(Self::Tfrc { source: Box::new(source), sink: Box::new(sink), codepoint })
    }

    /// The ends of `drawn`, a flow of `plan` with a controller.
    pub(crate) fn new(plan: &PlannedFlow, drawn: &DrawnFlow, controller: Box<dyn Controller>, seed: u64) -> Self {
        let random = Random::stream(seed, "flow", drawn.stream());
        match plan.kind {
            Kind::Tcp => {
                let options = Arc::clone(&plan.options);
                let application = match (engine::pace(plan, drawn, options.segment_size, seed), drawn.bytes) {
                    _ if plan.relays.is_some() => Application::Relayed(drawn.bytes),
                    (Some(pace), _) => Application::Paced(pace),
                    (None, Some(bytes)) => Application::Finite(bytes),
                    (None, None) => Application::Greedy,
                };
                let mut receiver = Receiver::new(&options, plan.base_rtt);
                let ticks = !options.timers.tick.is_zero();
                let mut sender = Sender::new(options, controller, application, random);
                if ticks {
                    let uptime = uptime(seed);
                    sender.up_for(uptime);
                    receiver.up_for(uptime);
                }
                Self::Tcp {
                    receiver: Box::new(CacheAligned::new(receiver)),
                    sender: Box::new(CacheAligned::new(sender)),
                }
            }
            Kind::Datagram { .. } | Kind::Tfrc { .. } => {
                let echo = matches!(plan.kind, Kind::Datagram { echo: true, .. });
                let packet_size = plan.packet_size();
                let source = match (&plan.media, engine::pace(plan, drawn, packet_size, seed)) {
                    (Some(media), _) => DatagramSource::recorded(packet_size, Arc::clone(media), controller, random),
                    (None, pace) => {
                        let pace = pace.unwrap_or_else(|| Pace::new(Vec::new(), packet_size, drawn.bytes));
                        DatagramSource::new(packet_size, pace, controller, random)
                    }
                };
                Self::Datagram { source: Box::new(source), sink: DatagramSink::default(), echo }
            }
        }
    }

    /// The flow starts, with the rate that routers `granted`, if it asked for one.
    pub(crate) fn start(&mut self, now: Time, base_rtt: Span, granted: Option<Rate>) {
        match self {
            Self::Tcp { sender, .. } => match granted {
                None => sender.start(now, base_rtt),
                Some(rate) => sender.start_at_rate(now, base_rtt, rate),
            },
            Self::Datagram { source, .. } => source.start(now),
            Self::Tfrc { source, .. } => source.start(now),
        }
    }

    /// Lets the processor fetch the end that a packet with `body` comes to.
    #[inline]
    pub(crate) fn prefetch(&self, body: &Body) {
        match (self, body) {
            (Self::Tcp { receiver, .. }, Body::Data(_)) => CacheAligned::prefetch(receiver),
            (Self::Tcp { .. }, Body::Ack(_)) => self.prefetch_sender(),
            (Self::Datagram { .. } | Self::Tfrc { .. }, _) => {}
        }
    }

    /// Lets the processor fetch the sender.
    #[inline]
    pub(crate) fn prefetch_sender(&self) {
        if let Self::Tcp { sender, .. } = self {
            CacheAligned::prefetch(sender);
        }
    }

    /// Lets the processor fetch what that end refers to. The end itself should be there already.
    #[inline]
    pub(crate) fn prefetch_more(&self, body: &Body) {
        match (self, body) {
            (Self::Tcp { sender, .. }, Body::Ack(_)) => Sender::prefetch(sender),
            (Self::Tcp { receiver, .. }, Body::Data(_)) => Receiver::prefetch(receiver),
            (Self::Datagram { .. } | Self::Tfrc { .. }, _) => {}
        }
    }

    /// Lets the processor fetch what that refers to in turn.
    #[inline]
    pub(crate) fn prefetch_holes(&self, body: &Body) {
        match (self, body) {
            (Self::Tcp { sender, .. }, Body::Ack(_)) => sender.prefetch_holes(),
            (Self::Tcp { receiver, .. }, Body::Data(_)) => receiver.prefetch_holes(),
            (Self::Datagram { .. } | Self::Tfrc { .. }, _) => {}
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
            Self::Tcp { sender, .. } => {
                let data = sender.poll_transmit(now, journal)?;
                (data, sender.wire_size(data.payload), sender.codepoint(&data))
            }
            Self::Datagram { source, .. } => {
                let data = source.poll_transmit(now)?;
                (data, DatagramSource::wire_size(data.payload), Ecn::NotCapable)
            }
            Self::Tfrc { source, codepoint, .. } => (source.poll_transmit(now)?, source.wire_size(), *codepoint),
        };
        Some(Packet::of_data(flow, step, size.get() as u32, ecn, &data))
    }

    /// Parameters of the controller change.
    pub(crate) fn set_parameters(&mut self, now: Time, given: &Parameters) -> Result<(), ParameterError> {
        match self {
            Self::Tcp { sender, .. } => sender.set_parameters(now, given),
            Self::Datagram { source, .. } => source.set_parameters(given),
            Self::Tfrc { .. } => Ok(()),
        }
    }

    /// An ACK or echo arrives at the sender. Answers the RTT sample it gave.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Time, ack: &Acknowledgement, journal: &mut dyn Journal) -> Option<Span> {
        match self {
            Self::Tcp { sender, .. } => sender.on_acknowledgement(now, ack, journal),
            Self::Datagram { source, .. } => source.on_echo(now, ack, journal),
            Self::Tfrc { source, sink, .. } => source.on_report(now, &sink.take(ack.cumulative)?, journal),
        }
    }

    pub(crate) fn on_sender_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        match self {
            Self::Tcp { sender, .. } => sender.on_timeout(now, journal),
            Self::Datagram { .. } => {}
            Self::Tfrc { source, .. } => source.on_timeout(now, journal),
        }
    }

    #[inline]
    pub(crate) fn sender_deadline(&self) -> Option<Time> {
        match self {
            Self::Tcp { sender, .. } => sender.poll_timeout(),
            Self::Datagram { source, .. } => source.poll_timeout(),
            Self::Tfrc { source, .. } => source.poll_timeout(),
        }
    }

    #[inline]
    pub(crate) fn receiver_deadline(&self) -> Option<Time> {
        match self {
            Self::Tcp { receiver, .. } => receiver.poll_timeout(),
            Self::Datagram { .. } => None,
            Self::Tfrc { sink, .. } => sink.poll_timeout(),
        }
    }

    /// A data packet arrives at the receiver. Answers the ACK that leaves at once, put among `acks`, with its size.
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        data: &Data,
        congestion: bool,
        acks: &mut Acks,
    ) -> Option<(AckSlot, u32)> {
        match self {
            Self::Tcp { receiver, .. } => {
                receiver.on_data(now, data, congestion);
                poll_ack(receiver, now, acks)
            }
            Self::Datagram { sink, echo, .. } => {
                let answer = sink.on_data(now, data, congestion);
                echo.then(|| (acks.insert(answer), DatagramSink::ECHO_SIZE.get() as u32))
            }
            Self::Tfrc { source, sink, .. } => {
                sink.on_data(now, data, congestion, source.rtt_in(data.sequence));
                poll_report(sink, now, acks)
            }
        }
    }

    #[inline(never)]
    pub(crate) fn on_receiver_timeout(&mut self, now: Time, acks: &mut Acks) -> Option<(AckSlot, u32)> {
        match self {
            Self::Tcp { receiver, .. } => {
                receiver.on_timeout(now);
                poll_ack(receiver, now, acks)
            }
            Self::Datagram { .. } => None,
            Self::Tfrc { sink, .. } => {
                sink.on_timeout(now);
                poll_report(sink, now, acks)
            }
        }
    }

    pub(crate) fn delivered_bytes(&self) -> u64 {
        match self {
            Self::Tcp { receiver, .. } => receiver.delivered().get(),
            Self::Datagram { sink, .. } => sink.delivered().get(),
            Self::Tfrc { sink, .. } => sink.delivered().get(),
        }
    }

    /// Segments delivered in order; datagrams are never complete.
    pub(crate) fn delivered_segments(&self) -> u64 {
        match self {
            Self::Tcp { receiver, .. } => receiver.delivered_segments(),
            Self::Datagram { .. } | Self::Tfrc { .. } => 0,
        }
    }

    pub(crate) fn counters(&self) -> SenderCounters {
        match self {
            Self::Tcp { sender, .. } => sender.counters(),
            Self::Datagram { source, .. } => source.counters(),
            Self::Tfrc { source, .. } => source.counters(),
        }
    }

    /// The controller; TFRC is none.
    fn controller(&self) -> Option<&dyn Controller> {
        match self {
            Self::Tcp { sender, .. } => Some(sender.controller()),
            Self::Datagram { source, .. } => Some(source.controller()),
            Self::Tfrc { .. } => None,
        }
    }

    /// The window in segments, and its slow-start threshold. TFRC has the segments in flight at the allowed rate,
    /// and no threshold.
    pub(crate) fn window(&self) -> (f64, f64) {
        match (self, self.controller()) {
            (_, Some(controller)) => (controller.window(), controller.slow_start_threshold()),
            (Self::Tfrc { source, .. }, _) => (source.window(), f64::INFINITY),
            (_, None) => (f64::NAN, f64::NAN),
        }
    }

    /// The rate of departures, where one is set.
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        match self {
            Self::Tfrc { source, .. } => Some(source.rate()),
            _ => self.controller()?.pacing_rate(),
        }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        match self {
            Self::Tcp { sender, .. } => sender.in_flight(),
            Self::Datagram { source, .. } => source.in_flight(),
            Self::Tfrc { source, .. } => source.in_flight(),
        }
    }

    pub(crate) fn round_trip_times(&self) -> Option<[Span; 3]> {
        match self {
            Self::Tcp { sender, .. } => sender.round_trip_times(),
            Self::Datagram { source, .. } => source.round_trip_times(),
            Self::Tfrc { source, .. } => source.round_trip_times(),
        }
    }

    pub(crate) fn state(&self) -> FlowState {
        match self {
            Self::Tcp { sender, .. } => match sender.phase() {
                Phase::Open => FlowState::Open,
                Phase::Disorder => FlowState::Disorder,
                Phase::Reduced => FlowState::Reduced,
                Phase::Recovery => FlowState::Recovery,
                Phase::Loss => FlowState::Loss,
            },
            Self::Datagram { .. } | Self::Tfrc { .. } => FlowState::Open,
        }
    }

    pub(crate) fn probe(&self, out: &mut dyn Probe) {
        match (self, self.controller()) {
            (_, Some(controller)) => controller.probe(out),
            (Self::Tfrc { source, .. }, _) => source.probe(out),
            (_, None) => {}
        }
    }
}
