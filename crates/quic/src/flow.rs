//! A flow: a connection with both its sides, the applications above it, and what is counted of it.

use engine::Lifetime;
use noq_proto::{Connection, Event, StreamEvent};
use record::{FlowCounters, FlowMeter, FlowSample, FlowState, milliseconds, seconds};
use units::{Ecn, Span, Time};

use crate::application::{Reader, Writer};
use crate::clock::Clock;
use crate::datagram::{Datagram, HEADERS};
use crate::ledger::SharedLedger;
use crate::peer::Peer;

/// A connection that is under way.
pub(crate) struct Ends {
    pub(crate) client: Peer,
    pub(crate) server: Peer,
    pub(crate) writer: Writer,
    pub(crate) reader: Reader,
    pub(crate) ledger: SharedLedger,
}

/// One flow of a run.
pub(crate) struct Flow {
    pub(crate) index: u32,
    /// The first steps of data and of acknowledgements.
    pub(crate) steps: (u32, u32),
    pub(crate) start: Time,
    pub(crate) stop: Time,
    /// Packets say that they understand marks.
    pub(crate) ecn: bool,
    /// From the start until everything has arrived and the sender knows.
    pub(crate) ends: Option<Box<Ends>>,
    /// Sends: started and not stopped.
    pub(crate) running: bool,
    pub(crate) completed: Option<Time>,
    /// Counted at the receiver and by links.
    pub(crate) counters: FlowCounters,
    /// Measures what the ledger of the connection does not, as long as there is none.
    pub(crate) meter: FlowMeter,
}

impl Flow {
    /// The sender is looked at, at `now`: it does what is due and puts what leaves into `out`.
    pub(crate) fn drive_sender(&mut self, now: Time, clock: Clock, out: &mut Vec<Datagram>) -> Result<(), String> {
        let Some(ends) = self.ends.as_deref_mut().filter(|_| self.running) else { return Ok(()) };
        let (mut connected, mut acknowledged) = (false, false);
        while let Some(event) = ends.client.connection().and_then(Connection::poll) {
            match event {
                Event::Connected => connected = true,
                Event::Stream(StreamEvent::Finished { .. }) => acknowledged = true,
                Event::ConnectionLost { reason } => return Err(reason.to_string()),
                _ => {}
            }
        }
        if connected {
            // The end of the handshake leaves before any data, so that only these are counted.
            self.send(now, clock, out);
        }
        let Some(ends) = self.ends.as_deref_mut() else { return Ok(()) };
        if let Some(connection) = ends.client.connection() {
            if connected {
                ends.ledger.open().connect(now, now.since(self.start));
                ends.writer.open(now, connection);
            }
            let window = ends.ledger.open().window();
            ends.writer.write(now, connection, ends.reader.delivered, window);
        }
        self.send(now, clock, out);
        if acknowledged && self.completed.is_some() {
            self.retire();
        }
        Ok(())
    }

    /// Datagrams leave as long as the sender may send.
    fn send(&mut self, now: Time, clock: Clock, out: &mut Vec<Datagram>) {
        let Some(ends) = self.ends.as_deref_mut() else { return };
        let mut sent = ends.ledger.open().counters.sent;
        while let Some((content, ecn)) = ends.client.transmit(clock.instant(now)) {
            let ledger = ends.ledger.open();
            let carries_data = ledger.counters.sent > sent;
            sent = ledger.counters.sent;
            out.push(Datagram {
                flow: self.index,
                step: self.steps.0,
                ecn: if self.ecn { ecn } else { Ecn::NotCapable },
                forward: true,
                number: carries_data.then(|| ledger.last_number()),
                sent_at: now,
                content,
            });
        }
        ends.client.settle();
    }

    /// The receiver is looked at, likewise.
    pub(crate) fn drive_receiver(&mut self, now: Time, clock: Clock, out: &mut Vec<Datagram>) -> Result<(), String> {
        let Some(ends) = self.ends.as_deref_mut() else { return Ok(()) };
        if let Some(connection) = ends.server.connection() {
            ends.reader.read(connection)?;
        }
        while let Some((content, ecn)) = ends.server.transmit(clock.instant(now)) {
            out.push(Datagram {
                flow: self.index,
                step: self.steps.1,
                ecn: if self.ecn { ecn } else { Ecn::NotCapable },
                forward: false,
                number: None,
                sent_at: now,
                content,
            });
        }
        ends.server.settle();
        Ok(())
    }

    /// A datagram with data arrives at the receiver.
    pub(crate) fn count_arrival(&mut self, datagram: &Datagram) {
        self.counters.arrived_packets += 1;
        self.counters.marked_packets += u64::from(datagram.ecn == Ecn::Congestion);
        if self.completed.is_none() {
            self.counters.arrived_bytes += HEADERS + datagram.content.len() as u64;
        }
    }

    /// Gives up the connection: what it did is known.
    fn retire(&mut self) {
        self.counters = self.counted();
        if let Some(ends) = self.ends.take() {
            self.meter = std::mem::take(&mut ends.ledger.open().meter);
        }
        self.running = false;
    }

    /// When the sender is looked at next.
    pub(crate) fn sender_deadline(&self, clock: Clock) -> Time {
        let Some(ends) = self.ends.as_deref().filter(|_| self.running) else { return Time::NEVER };
        let connection = ends.client.deadline().map_or(Time::NEVER, |at| clock.time(at));
        connection.min(ends.writer.next_write().unwrap_or(Time::NEVER)).min(ends.ledger.open().wake_at())
    }

    /// When the receiver is looked at next.
    pub(crate) fn receiver_deadline(&self, clock: Clock) -> Time {
        let deadline = self.ends.as_deref().and_then(|ends| ends.server.deadline());
        deadline.map_or(Time::NEVER, |at| clock.time(at))
    }

    /// Counters since the start.
    pub(crate) fn counted(&self) -> FlowCounters {
        let Some(ends) = &self.ends else { return self.counters };
        let sent = ends.ledger.open().counters;
        FlowCounters {
            delivered_bytes: ends.reader.delivered,
            data_packets: sent.sent,
            retransmitted_packets: sent.retransmitted,
            lost_packets: sent.lost,
            timeouts: sent.timeouts,
            recoveries: sent.recoveries,
            spurious: sent.spurious,
            ..self.counters
        }
    }

    /// Lends the meter.
    pub(crate) fn with_meter<R>(&mut self, then: impl FnOnce(&mut FlowMeter) -> R) -> R {
        match &self.ends {
            Some(ends) => then(&mut ends.ledger.open().meter),
            None => then(&mut self.meter),
        }
    }

    /// When it was there.
    pub(crate) fn lifetime(&self) -> Lifetime {
        Lifetime { start: self.start, stop: self.stop, completed: self.completed }
    }

    /// Its row at `now`, while it is under way.
    pub(crate) fn sample(&self, now: Time) -> Option<FlowSample> {
        let ends = self.ends.as_deref().filter(|_| self.running && self.completed.is_none())?;
        let counters = self.counted();
        let ledger = ends.ledger.open();
        let (window, threshold) = ledger.decided();
        let rtt = |span: Span| if ledger.samples > 0 { milliseconds(span) } else { f64::NAN };
        Some(FlowSample {
            time_s: seconds(now),
            flow: self.index,
            window_segments: window,
            threshold_segments: threshold,
            in_flight_segments: ledger.in_flight(),
            latest_rtt_ms: rtt(ledger.rtt.latest),
            smoothed_rtt_ms: rtt(ledger.rtt.smoothed),
            min_rtt_ms: rtt(ledger.rtt.minimum),
            delivered_bytes: counters.delivered_bytes,
            arrived_packets: counters.arrived_packets,
            sent_packets: counters.data_packets,
            retransmitted_packets: counters.retransmitted_packets,
            pacing_rate_bps: ledger.pacing_rate().map_or(f64::NAN, |rate| rate.bits_per_second() as f64),
            state: if ledger.in_recovery { FlowState::Recovery } else { FlowState::Open },
        })
    }
}
