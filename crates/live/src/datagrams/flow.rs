//! One flow of datagrams or media: its ends, and what is under way between them.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use control::Controller;
use engine::{datagram_source, media_source};
use record::{FlowCounters, FlowMeter, FlowSample, FlowState, milliseconds, seconds};
use scenario::{DrawnFlow, Kind, PlannedFlow};
use transport::{Acknowledgement, Data, DatagramSink, DatagramSource, Journal, MediaSink, MediaSource};
use units::{Bytes, Ecn, SenderCounters, Span, Time};

/// Contents by their numbers that are kept: more than a path of a second at 1 Gbit/s holds.
const KEPT: u64 = 1 << 17;

/// The sending end.
enum Source {
    Datagrams(Box<DatagramSource>),
    Media(Box<MediaSource>),
}

/// The receiving end.
enum Sink {
    Datagrams(DatagramSink),
    /// It answers each.
    Echo(DatagramSink),
    Media(Box<MediaSink>),
}

/// The contents of packets under way, by their numbers. Those of lost packets go in time.
struct UnderWay<T>(BTreeMap<u64, T>);

impl<T> UnderWay<T> {
    fn insert(&mut self, number: u64, content: T) {
        self.0.insert(number, content);
        while self.0.first_key_value().is_some_and(|(first, _)| first + KEPT < number) {
            self.0.pop_first();
        }
    }

    fn take(&mut self, number: u64) -> Option<T> {
        self.0.remove(&number)
    }
}

/// A flow.
pub(crate) struct Flow {
    /// Its row in the tables.
    pub(super) row: u32,
    /// Its flow of the plan.
    pub(super) of: usize,
    /// Of the sender and of the receiver.
    pub(super) sockets: [OwnedFd; 2],
    source: Source,
    sink: Sink,
    data: UnderWay<Data>,
    echoes: UnderWay<Acknowledgement>,
    pub(super) meter: FlowMeter,
    /// Of the packets that arrived.
    arrived: FlowCounters,
    pub(super) start: Time,
    pub(super) stop: Time,
    /// It has started and not stopped.
    pub(super) running: bool,
}

/// An arrival at the receiver.
pub(super) struct Arrived {
    /// The datagram.
    pub(super) data: Data,
    /// The number of the answer that leaves at once, if one does, and its IP size.
    pub(super) answer: Option<(u64, Bytes)>,
}

impl Flow {
    /// The flow of `row`: `drawn`, of `planned`.
    pub(super) fn new(
        row: u32,
        (planned, drawn): (&PlannedFlow, &DrawnFlow),
        controller: Box<dyn Controller>,
        sockets: [OwnedFd; 2],
        seed: u64,
    ) -> Self {
        let (source, sink) = match planned.kind {
            Kind::Media { .. } => (
                Source::Media(Box::new(media_source(planned, drawn, controller, seed))),
                Sink::Media(Box::new(MediaSink::new(&planned.call))),
            ),
            kind => {
                let echoes = matches!(kind, Kind::Datagram { echo: true, .. });
                let sink = if echoes { Sink::Echo } else { Sink::Datagrams };
                let source = datagram_source(planned, drawn, controller, seed);
                (Source::Datagrams(Box::new(source)), sink(DatagramSink::default()))
            }
        };
        Self {
            row,
            of: drawn.of,
            sockets,
            source,
            sink,
            data: UnderWay(BTreeMap::new()),
            echoes: UnderWay(BTreeMap::new()),
            meter: FlowMeter::new(),
            arrived: FlowCounters::default(),
            start: drawn.start,
            stop: drawn.stop,
            running: false,
        }
    }

    /// The codepoint with which its data leave.
    pub(super) fn codepoint(&self) -> Ecn {
        match &self.source {
            Source::Datagrams(_) => Ecn::NotCapable,
            Source::Media(source) => source.codepoint(),
        }
    }

    /// It starts.
    pub(super) fn begin(&mut self, now: Time) {
        self.running = true;
        match &mut self.source {
            Source::Datagrams(source) => source.start(now),
            Source::Media(source) => source.start(now),
        }
    }

    /// The number and the IP size of the next datagram that leaves now, if one does.
    pub(super) fn poll_transmit(&mut self, now: Time, journal: &mut dyn Journal) -> Option<(u64, Bytes)> {
        if !self.running {
            return None;
        }
        let (data, size) = match &mut self.source {
            Source::Datagrams(source) => {
                let data = source.poll_transmit(now)?;
                (data, DatagramSource::wire_size(data.payload))
            }
            Source::Media(source) => {
                let data = source.poll_transmit(now, journal)?;
                (data, MediaSource::wire_size(data.payload))
            }
        };
        self.data.insert(data.sequence, data);
        Some((data.sequence, size))
    }

    /// Datagram `number` of `size` IP bytes arrives at the receiver. `None` if it counts for nothing.
    pub(super) fn data_arrive(&mut self, now: Time, number: u64, size: u64, marked: bool) -> Option<Arrived> {
        let data = self.data.take(number).filter(|_| now <= self.stop)?;
        self.arrived.arrived_packets += 1;
        self.arrived.arrived_bytes += size;
        self.arrived.marked_packets += u64::from(marked);
        let answer = match &mut self.sink {
            Sink::Datagrams(sink) => {
                sink.on_data(now, &data, marked);
                None
            }
            Sink::Echo(sink) => {
                let answer = sink.on_data(now, &data, marked);
                self.echoes.insert(answer.cumulative, answer);
                Some((answer.cumulative, DatagramSink::ECHO_SIZE))
            }
            Sink::Media(sink) => {
                let header = if let Source::Media(source) = &self.source { source.header(number) } else { None };
                sink.on_data(now, &data, marked, header);
                self.poll_answer(now)
            }
        };
        Some(Arrived { data, answer })
    }

    /// The number and the IP size of the report that leaves the receiver now, if one does.
    pub(super) fn poll_answer(&mut self, now: Time) -> Option<(u64, Bytes)> {
        let Sink::Media(sink) = &mut self.sink else { return None };
        sink.poll_transmit(now).map(|(answer, size)| (answer.cumulative, size))
    }

    /// Answer `number` arrives at the sender. Says whether it brought an RTT sample.
    pub(super) fn answer_arrives(&mut self, now: Time, number: u64, journal: &mut dyn Journal) -> bool {
        if !self.running {
            return false;
        }
        let sample = match (&mut self.source, &mut self.sink) {
            (Source::Datagrams(source), _) => {
                self.echoes.take(number).and_then(|echo| source.on_echo(now, &echo, journal))
            }
            (Source::Media(source), Sink::Media(sink)) => {
                sink.take(number).and_then(|report| source.on_report(now, &report, journal))
            }
            (Source::Media(_), _) => None,
        };
        sample.inspect(|&sample| self.meter.rtt(sample)).is_some()
    }

    /// A deadline of an end has come.
    pub(super) fn on_timeout(&mut self, now: Time, journal: &mut dyn Journal) {
        if let Source::Media(source) = &mut self.source
            && self.running
        {
            source.on_timeout(now, journal);
        }
        if let Sink::Media(sink) = &mut self.sink {
            sink.on_timeout(now);
        }
    }

    /// When something is due next: its start, its `stop`, or a deadline of an end.
    pub(super) fn next(&self, end: Time) -> Time {
        let planned = match self.running {
            true if self.stop < end => self.stop,
            false if self.start < self.stop => self.start,
            _ => Time::NEVER,
        };
        let sender = match &self.source {
            _ if !self.running => None,
            Source::Datagrams(source) => source.poll_timeout(),
            Source::Media(source) => source.poll_timeout(),
        };
        let receiver = if let Sink::Media(sink) = &self.sink { sink.poll_timeout() } else { None };
        [sender, receiver].into_iter().flatten().fold(planned, Time::min)
    }

    /// It stops: what is under way counts for nothing.
    pub(super) fn end(&mut self) {
        self.running = false;
        self.start = Time::NEVER;
    }

    /// The controller.
    pub(super) fn controller(&self) -> &dyn Controller {
        match &self.source {
            Source::Datagrams(source) => source.controller(),
            Source::Media(source) => source.controller(),
        }
    }

    /// Counters since the start.
    pub(super) fn counters(&self) -> FlowCounters {
        let delivered = match &self.sink {
            Sink::Datagrams(sink) | Sink::Echo(sink) => sink.delivered(),
            Sink::Media(sink) => sink.delivered(),
        };
        FlowCounters { delivered_bytes: delivered.get(), sender: self.sent(), ..self.arrived }
    }

    fn sent(&self) -> SenderCounters {
        match &self.source {
            Source::Datagrams(source) => source.counters(),
            Source::Media(source) => source.counters(),
        }
    }

    /// Its state at `now`, with this base RTT.
    pub(super) fn sample(&self, now: Time, base_rtt: Span) -> FlowSample {
        let (times, in_flight, (window, threshold), rate) = match &self.source {
            Source::Datagrams(source) => {
                let controller = source.controller();
                let window = (controller.window(), controller.slow_start_threshold());
                (source.round_trip_times(), source.in_flight(), window, controller.pacing_rate())
            }
            Source::Media(source) => {
                (source.round_trip_times(), source.in_flight(), source.window(), Some(source.rate()))
            }
        };
        let rtt = |i: usize| times.map_or(f64::NAN, |t: [Span; 3]| milliseconds(t[i]));
        let counters = self.counters();
        FlowSample {
            time_s: seconds(now),
            flow: self.row,
            window_segments: window,
            threshold_segments: threshold,
            in_flight_segments: in_flight,
            latest_rtt_ms: rtt(0),
            smoothed_rtt_ms: rtt(1),
            min_rtt_ms: rtt(2),
            base_rtt_ms: milliseconds(base_rtt),
            delivered_bytes: counters.delivered_bytes,
            arrived_packets: counters.arrived_packets,
            arrived_bytes: counters.arrived_bytes,
            sent_packets: counters.sender.data_packets,
            retransmitted_packets: counters.sender.retransmitted_packets,
            pacing_rate_bps: rate.map_or(f64::NAN, |rate| rate.bits_per_second() as f64),
            state: FlowState::Open,
        }
    }

    /// Puts its frames of video among `rows`.
    pub(super) fn video_frames(&self, rows: &mut record::VideoFrames) {
        if let (Source::Media(source), Sink::Media(sink)) = (&self.source, &self.sink) {
            engine::video_frames(self.row, source.frames(), sink.frames(), rows);
        }
    }
}
