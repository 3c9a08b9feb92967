//! One flow at the endpoints: its sockets, its application, and the known state of its connection.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use record::{FlowCounters, FlowSample, milliseconds, seconds};
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown};
use scenario::DrawnFlow;
use units::{Span, Time};

use crate::emulator::SharedCounters;
use crate::host::arrivals::Arrivals;
use crate::host::sockets::Sockets;
use crate::host::system::TcpInfo;
use crate::tcp::application::{Application, is_writable, take, unless_later};
use crate::tcp::settings::Settings;
use crate::tcp::tcp_events::{TracedState, state};

/// `tcpi_snd_ssthresh` of a connection that has none yet (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Megabytes that are written at once where a send buffer limits the flow: more than a window, as the simulated
/// application has no end of a write, either. Each end makes a short segment, and the next write waits for memory where
/// a longer one would fill the last buffer of the queue again.
const WRITE: usize = 64;

/// The stages of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not started yet.
    Waiting,
    /// Its SYN has left.
    Opening,
    Sending,
    Over,
}

/// A flow, and the known state of its connection.
pub(super) struct Flow {
    pub(super) index: u32,
    pub(super) of: usize,
    pub(super) sockets: Option<Sockets>,
    pub(super) sink: Option<OwnedFd>,
    /// Nothing more arrives at it.
    ended: bool,
    pub(super) stage: Stage,
    pub(super) start: Time,
    pub(super) stop: Time,
    /// When its sender found the connection open.
    pub(super) opened: Option<Time>,
    pub(super) application: Application,
    pub(super) total: Option<u64>,
    /// The last look at the connection, when it began and ended, and the window at the one before.
    pub(super) info: TcpInfo,
    pub(super) look_began: Time,
    pub(super) looked: Time,
    pub(super) window_before: u32,
    /// Its state as reported by the trace.
    pub(super) traced: TracedState,
    pub(super) counts: FlowCounters,
    /// The counts at the start of the measured interval.
    pub(super) base: FlowCounters,
    pub(super) completed: Option<Time>,
}

impl Flow {
    /// Flow `index` of the tables: `drawn`, over `sockets`. Without them nothing happens here: it is no flow of TCP.
    pub(super) fn new(settings: &Settings<'_>, index: u32, drawn: &DrawnFlow, sockets: Option<Sockets>) -> Self {
        let planned = &settings.plan.flows[drawn.of];
        Self {
            index,
            of: drawn.of,
            stage: if sockets.is_some() { Stage::Waiting } else { Stage::Over },
            sockets,
            sink: None,
            ended: false,
            start: drawn.start,
            stop: drawn.stop,
            opened: None,
            application: Application::new(planned, drawn, settings.seed),
            total: drawn.bytes.map(|bytes| bytes.get()),
            info: TcpInfo::default(),
            look_began: Time::ZERO,
            looked: Time::ZERO,
            window_before: 0,
            traced: TracedState::new(&TcpInfo::default()),
            counts: FlowCounters::default(),
            base: FlowCounters::default(),
            completed: None,
        }
    }

    /// True if an event at `at` is from the time in which it sent, however late it is read.
    pub(super) fn sends(&self, at: Time) -> bool {
        let ended = self.completed.map_or(self.stop, |completed| completed.min(self.stop));
        self.opened.is_some_and(|opened| (opened..=ended).contains(&at))
    }

    /// True if a send buffer may limit it.
    pub(super) fn waits_for_room(&self) -> bool {
        self.sockets.as_ref().is_some_and(|sockets| sockets.ahead.is_none())
    }

    /// Begins to send if its connection is open at `at`. True if it is open.
    pub(super) fn open(&mut self, at: Time, arrivals: &Arrivals) -> bool {
        let Some(sockets) = &self.sockets else { return false };
        let Ok(info) = TcpInfo::of(sockets.sender.as_fd()) else { return false };
        if info.established {
            if self.waits_for_room() {
                // Without it the flow goes on at the next look.
                let _ = arrivals.add_room(&sockets.sender, self.index);
            }
            self.opened = Some(at);
            self.info = info;
            self.traced = TracedState::new(&info);
            self.stage = Stage::Sending;
            self.application.start(at);
        }
        info.established
    }

    /// Takes the connection, once it is there, and waits for data on it.
    pub(super) fn accept(&mut self, arrivals: &Arrivals) -> Result<(), Errno> {
        let listener = self.sockets.as_ref().and_then(|sockets| sockets.listener.as_ref());
        if let (None, Some(listener)) = (&self.sink, listener) {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(listener, flags) {
                Ok(sink) => {
                    arrivals.add(&sink, self.index)?;
                    self.sink = Some(sink);
                }
                Err(error) => return unless_later(error),
            }
        }
        Ok(())
    }

    /// Writes the data that the application has at `at`. A greedy one writes once a quarter of the data that may wait
    /// has left. With a send buffer that limits the flow it waits for room as a program does, until a third is free.
    pub(super) fn write(&mut self, at: Time, buffer: &[u8]) -> Result<(), Errno> {
        let Some(sockets) = &self.sockets else { return Ok(()) };
        let (waits, times) = match sockets.ahead {
            Some(ahead) => (self.application.is_greedy() && self.info.not_sent > ahead / 4 * 3, 1),
            None => (!is_writable(&sockets.sender)?, WRITE),
        };
        if waits {
            return Ok(());
        }
        self.application.write(at, &sockets.sender, buffer, times)
    }

    /// Writes what there is room for in a send buffer that limits the flow.
    pub(super) fn go_on(&mut self, at: Time, buffer: &[u8]) -> Result<(), Errno> {
        if self.stage == Stage::Sending && self.waits_for_room() { self.write(at, buffer) } else { Ok(()) }
    }

    /// Counts the time until the look at `at`, at the limit that it shows.
    pub(super) fn count_limits(&mut self, at: Time) {
        let limited = self.waits_for_room();
        let (info, sender) = (&self.info, &mut self.counts.sender);
        (sender.busy_us, sender.rwnd_limited_us) = (info.busy_us, info.rwnd_limited_us);
        let since = self.looked.max(self.opened.unwrap_or(at));
        let micros = at.since(since).as_nanos() / 1000;
        match (info.not_sent == 0 && info.in_flight() < info.window, self.application.has_more()) {
            (true, false) => sender.app_limited_us += micros,
            (true, true) if limited => sender.sndbuf_limited_us += micros,
            _ => {}
        }
    }

    /// Takes the delivered data.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> Result<(), Errno> {
        if let Some(sink) = self.sink.as_ref().filter(|_| !self.ended) {
            self.ended = take(sink, buffer, &mut self.counts.delivered_bytes)?;
        }
        Ok(())
    }

    /// All of it was delivered by `at`: the sender closes.
    pub(super) fn complete(&mut self, at: Time) {
        self.completed = Some(at);
        self.stage = Stage::Over;
        if let Some(sockets) = &self.sockets {
            // A connection that is broken needs no end.
            let _ = shutdown(&sockets.sender, Shutdown::Write);
        }
    }

    /// True if all of it has been delivered, and this was not noted yet.
    pub(super) fn is_complete(&self) -> bool {
        self.completed.is_none() && self.total.is_some_and(|total| self.counts.delivered_bytes >= total)
    }

    /// The row at `at`, as the last look found it, with the base RTT and the counters of the emulator. Unless the
    /// controller `paces`, the rate has no meaning.
    pub(super) fn row(&self, at: Time, (base_rtt, shared): (Span, &SharedCounters), paces: bool) -> FlowSample {
        let info = &self.info;
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let latest = count(&shared.latest_rtt);
        FlowSample {
            time_s: seconds(at),
            flow: self.index,
            window_segments: f64::from(info.window),
            threshold_segments: threshold(info.threshold),
            in_flight_segments: info.in_flight(),
            latest_rtt_ms: if latest == 0 { f64::NAN } else { latest as f64 / 1e6 },
            smoothed_rtt_ms: millis(info.smoothed_rtt_us),
            min_rtt_ms: millis(info.min_rtt_us),
            base_rtt_ms: milliseconds(base_rtt),
            delivered_bytes: self.counts.delivered_bytes,
            arrived_packets: count(&shared.arrived),
            arrived_bytes: count(&shared.arrived_bytes),
            sent_packets: count(&shared.sent),
            retransmitted_packets: count(&shared.retransmitted),
            pacing_rate_bps: if paces { info.pacing_rate as f64 * 8.0 } else { f64::NAN },
            state: state(info.congestion_state),
        }
    }
}

/// `row`, of which `segment` knows more.
pub(super) fn with_segment(segment: &kernel::Segment, row: FlowSample) -> FlowSample {
    FlowSample {
        window_segments: f64::from(segment.snd_cwnd),
        threshold_segments: threshold(segment.ssthresh),
        in_flight_segments: segment.in_flight,
        latest_rtt_ms: millis(segment.rtt_us),
        smoothed_rtt_ms: millis(segment.srtt_us),
        state: state(segment.state),
        ..row
    }
}

fn threshold(segments: u32) -> f64 {
    if segments >= NO_THRESHOLD { f64::INFINITY } else { f64::from(segments) }
}

/// No number where there was no sample yet.
fn millis(micros: u32) -> f64 {
    if micros == 0 || micros == u32::MAX { f64::NAN } else { f64::from(micros) / 1e3 }
}
