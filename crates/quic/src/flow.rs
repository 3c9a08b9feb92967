//! A flow: a connection with both its sides, the applications above it, and its counters.

use bytes::BytesMut;
use record::{FlowCounters, FlowMeter, FlowSample, FlowState, Lifetime, milliseconds, seconds};
use scenario::PlannedChange;
use stack::{Event, Side};
use units::{Ecn, Span, Time};

use crate::application::{Reader, Writer};
use crate::datagram::{Datagram, HEADERS};
use crate::ledger::SharedLedger;

/// A connection that is under way.
pub(crate) struct OpenConnection {
    pub(crate) client: Box<dyn Side>,
    pub(crate) server: Box<dyn Side>,
    pub(crate) writer: Writer,
    pub(crate) reader: Reader,
    pub(crate) ledger: SharedLedger,
    /// The handshake is over.
    pub(crate) connected: bool,
}

/// One object that a connection carries: a stream, or all of its datagrams. It has a row.
pub(crate) struct Object {
    /// Its index among the flows of the tables.
    pub(crate) row: u32,
    pub(crate) start: Time,
    pub(crate) stop: Time,
    pub(crate) completed: Option<Time>,
    /// Bytes delivered, once the connection is given up.
    delivered: u64,
    /// Measures the row of an object that is not the first.
    meter: FlowMeter,
}

impl Object {
    pub(crate) fn new(row: u32, start: Time, stop: Time) -> Self {
        Self { row, start, stop, completed: None, delivered: 0, meter: FlowMeter::new() }
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime { start: self.start, stop: self.stop, completed: self.completed, ..Lifetime::default() }
    }
}

/// Objects that are asked for together.
pub(crate) struct Page {
    /// Its objects are those below this number, and not of the page before.
    pub(crate) end: usize,
    /// The pause before it.
    pub(crate) think: Span,
}

/// One flow of a run: a connection. Its packets and RTTs are in the row of its first object.
pub(crate) struct Flow {
    pub(crate) index: u32,
    /// Its flow in the plan.
    pub(crate) of: usize,
    /// The first steps of data and of acknowledgements.
    pub(crate) steps: (u32, u32),
    pub(crate) objects: Vec<Object>,
    /// One page, unless its objects wait for each other.
    pub(crate) pages: Vec<Page>,
    /// The page that is under way.
    pub(crate) page: usize,
    /// When it is asked for.
    pub(crate) turn: Time,
    /// Changes of parameters that are behind.
    pub(crate) changes: usize,
    /// Packets say that they understand marks.
    pub(crate) ecn: bool,
    /// From the start until everything has arrived and the sender knows.
    pub(crate) open: Option<Box<OpenConnection>>,
    /// Sends: started and not stopped.
    pub(crate) running: bool,
    /// Everything has arrived.
    pub(crate) complete: bool,
    /// Counted at the receiver and by links.
    pub(crate) counters: FlowCounters,
    /// Measures the first object, as long as no ledger does.
    pub(crate) meter: FlowMeter,
}

impl Flow {
    /// A flow before its start, flow `of` of the plan, with one object.
    pub(crate) fn new(index: u32, of: usize, steps: (u32, u32), object: Object) -> Self {
        Self {
            index,
            of,
            steps,
            objects: vec![object],
            pages: vec![Page { end: 1, think: Span::ZERO }],
            page: 0,
            turn: Time::NEVER,
            changes: 0,
            ecn: false,
            open: None,
            running: false,
            complete: false,
            counters: FlowCounters::default(),
            meter: FlowMeter::new(),
        }
    }

    /// Another object, of `page`.
    pub(crate) fn add(&mut self, object: Object, page: &scenario::Page) {
        self.objects.push(object);
        let end = self.objects.len();
        match self.pages.get_mut(page.number as usize) {
            Some(known) => known.end = end,
            None => self.pages.push(Page { end, think: page.think }),
        }
    }

    /// The index of its first object among the flows of the tables.
    pub(crate) fn first_row(&self) -> u32 {
        self.objects[0].row
    }

    /// When it starts, changes, turns a page or stops next.
    pub(crate) fn planned_at(&self, now: Time, changes: &[PlannedChange]) -> Time {
        let change = changes.get(self.changes).map_or(Time::NEVER, |change| change.at.max(now));
        self.objects[0].stop.min(self.turn).min(change)
    }

    /// The sender is looked at, at `now`: it does all work that is due and puts its datagrams into `out`.
    pub(crate) fn drive_sender(&mut self, now: Time, out: &mut Vec<Datagram>) -> Result<(), String> {
        let Some(open) = self.open.as_deref_mut().filter(|_| self.running) else { return Ok(()) };
        let (mut connected, mut acknowledged) = (false, false);
        while let Some(event) = open.client.poll() {
            match event {
                Event::Connected => connected = true,
                Event::Acknowledged => acknowledged = true,
                Event::Lost(why) => return Err(why),
                _ => {}
            }
        }
        if connected {
            // The end of the handshake leaves before any data, so that only these are counted.
            self.send(now, out);
        }
        let Some(open) = self.open.as_deref_mut() else { return Ok(()) };
        if connected {
            open.ledger.lock().connect(now, now.since(self.objects[0].start));
            open.writer.open(now);
            open.connected = true;
        }
        let window = open.ledger.lock().window();
        if open.connected {
            open.writer.write(now, open.client.as_mut(), &open.reader, window);
        }
        self.send(now, out);
        if acknowledged && self.complete {
            self.retire();
        }
        Ok(())
    }

    /// Datagrams leave as long as the sender may send.
    fn send(&mut self, now: Time, out: &mut Vec<Datagram>) {
        let row = self.first_row();
        let Some(open) = self.open.as_deref_mut() else { return };
        let mut sent = open.ledger.lock().counters.data_packets;
        while let Some((ecn, content)) = open.client.transmit(now.as_nanos()) {
            let ledger = open.ledger.lock();
            let carries_data = ledger.counters.data_packets > sent;
            sent = ledger.counters.data_packets;
            out.push(Datagram {
                flow: row,
                step: self.steps.0,
                ecn: if self.ecn { Ecn::of(ecn) } else { Ecn::NotCapable },
                forward: true,
                number: carries_data.then(|| ledger.last_number()),
                sent_at: now,
                content: BytesMut::from(content),
            });
        }
    }

    /// The receiver is looked at, likewise.
    pub(crate) fn drive_receiver(&mut self, now: Time, out: &mut Vec<Datagram>) -> Result<(), String> {
        let row = self.first_row();
        let Some(open) = self.open.as_deref_mut() else { return Ok(()) };
        open.reader.read(now, row, open.server.as_mut())?;
        while let Some((ecn, content)) = open.server.transmit(now.as_nanos()) {
            out.push(Datagram {
                flow: row,
                step: self.steps.1,
                ecn: if self.ecn { Ecn::of(ecn) } else { Ecn::NotCapable },
                forward: false,
                number: None,
                sent_at: now,
                content: BytesMut::from(content),
            });
        }
        Ok(())
    }

    /// A datagram with data arrives at the receiver.
    pub(crate) fn count_arrival(&mut self, datagram: &Datagram) {
        self.counters.arrived_packets += 1;
        self.counters.marked_packets += u64::from(datagram.ecn == Ecn::Congestion);
        if !self.complete {
            self.counters.arrived_bytes += HEADERS + datagram.content.len() as u64;
        }
    }

    /// Objects of the page under way that have arrived since the last time.
    pub(crate) fn newly_complete(&mut self, now: Time) -> Vec<u32> {
        let Some(open) = &self.open else { return Vec::new() };
        let end = self.pages[self.page].end;
        let mut rows = Vec::new();
        for (number, object) in self.objects[..end].iter_mut().enumerate() {
            if object.completed.is_none() && open.reader.is_complete(number) {
                object.completed = Some(now);
                rows.push(object.row);
            }
        }
        rows
    }

    /// The first object of the page under way.
    pub(crate) fn page_begins(&self) -> usize {
        self.page.checked_sub(1).map_or(0, |before| self.pages[before].end)
    }

    /// True if all of the page under way has arrived.
    pub(crate) fn page_is_complete(&self) -> bool {
        self.objects[self.page_begins()..self.pages[self.page].end].iter().all(|object| object.completed.is_some())
    }

    /// Keeps the counters of the connection and gives it up.
    fn retire(&mut self) {
        self.counters = self.counted();
        if let Some(open) = self.open.take() {
            let delivered = (0..).map(|number| open.reader.delivered(number));
            self.objects.iter_mut().zip(delivered).for_each(|(object, bytes)| object.delivered = bytes);
            self.meter = std::mem::take(&mut open.ledger.lock().meter);
        }
        self.running = false;
    }

    /// When the sender is looked at next.
    pub(crate) fn sender_deadline(&mut self) -> Time {
        let Some(open) = self.open.as_deref_mut().filter(|_| self.running) else { return Time::NEVER };
        let connection = open.client.deadline().map_or(Time::NEVER, Time::from_nanos);
        connection.min(open.writer.next_write().unwrap_or(Time::NEVER)).min(open.ledger.lock().wake_at())
    }

    /// When the receiver is looked at next.
    pub(crate) fn receiver_deadline(&mut self) -> Time {
        let deadline = self.open.as_deref_mut().and_then(|open| open.server.deadline());
        deadline.map_or(Time::NEVER, Time::from_nanos)
    }

    /// Bytes delivered of an object.
    fn delivered(&self, number: usize) -> u64 {
        self.open.as_ref().map_or(self.objects[number].delivered, |open| open.reader.delivered(number))
    }

    /// Counters of the connection since the start, with the bytes of its first object.
    pub(crate) fn counted(&self) -> FlowCounters {
        let Some(open) = &self.open else { return self.counters };
        let mut sender = open.ledger.lock().counters;
        if !open.writer.repeats() {
            sender.retransmitted_packets = 0;
        }
        FlowCounters { delivered_bytes: self.delivered(0), sender, ..self.counters }
    }

    /// The measured interval starts.
    pub(crate) fn begin_measuring(&mut self, now: Time) {
        let counted = self.counted();
        match &self.open {
            Some(open) => open.ledger.lock().meter.restart(now, counted),
            None => self.meter.restart(now, counted),
        }
        for number in 1..self.objects.len() {
            let counters = FlowCounters { delivered_bytes: self.delivered(number), ..FlowCounters::default() };
            self.objects[number].meter.restart(now, counters);
        }
    }

    /// For each object its row, when it was there, and its meter and counters.
    pub(crate) fn rows(&self, mut row: impl FnMut(u32, Lifetime, &FlowMeter, FlowCounters)) {
        let (first, counted) = (&self.objects[0], self.counted());
        match &self.open {
            Some(open) => row(first.row, first.lifetime(), &open.ledger.lock().meter, counted),
            None => row(first.row, first.lifetime(), &self.meter, counted),
        }
        for (number, object) in self.objects.iter().enumerate().skip(1) {
            let counters = FlowCounters { delivered_bytes: self.delivered(number), ..FlowCounters::default() };
            row(object.row, object.lifetime(), &object.meter, counters);
        }
    }

    /// Its row at `now`, with the base RTT then, while it is under way.
    pub(crate) fn sample(&self, now: Time, base_rtt: Span) -> Option<FlowSample> {
        let open = self.open.as_deref().filter(|_| self.running && !self.complete)?;
        let counters = self.counted();
        let ledger = open.ledger.lock();
        let (window, threshold) = ledger.decided();
        let rtt = |span: Span| if ledger.samples > 0 { milliseconds(span) } else { f64::NAN };
        Some(FlowSample {
            time_s: seconds(now),
            flow: self.first_row(),
            window_segments: window,
            threshold_segments: threshold,
            in_flight_segments: ledger.in_flight(),
            latest_rtt_ms: rtt(ledger.rtt.latest),
            smoothed_rtt_ms: rtt(ledger.rtt.smoothed),
            min_rtt_ms: rtt(ledger.rtt.minimum),
            base_rtt_ms: milliseconds(base_rtt),
            delivered_bytes: (0..self.objects.len()).map(|number| self.delivered(number)).sum(),
            arrived_packets: counters.arrived_packets,
            arrived_bytes: counters.arrived_bytes,
            sent_packets: counters.sender.data_packets,
            retransmitted_packets: counters.sender.retransmitted_packets,
            pacing_rate_bps: ledger.pacing_rate().map_or(f64::NAN, |rate| rate.bits_per_second() as f64),
            state: if ledger.in_recovery { FlowState::Recovery } else { FlowState::Open },
        })
    }
}
