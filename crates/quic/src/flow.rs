//! A flow: a connection with both its sides, its paths, the applications above it, and its counters.

use bytes::BytesMut;
use record::{FlowCounters, FlowMeter, FlowSample, FlowState, Lifetime, milliseconds, seconds};
use scenario::PlannedChange;
use stack::{Event, Header, Side};
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
    /// One for each path.
    pub(crate) ledgers: Vec<SharedLedger>,
    /// The handshake is over.
    pub(crate) connected: bool,
}

impl OpenConnection {
    /// The windows of all paths in bytes.
    fn window(&self) -> u64 {
        self.ledgers.iter().map(|ledger| ledger.lock().window()).sum()
    }

    /// Acknowledgements with an RTT sample on each path.
    pub(crate) fn samples(&self) -> Vec<u64> {
        self.ledgers.iter().map(|ledger| ledger.lock().samples).collect()
    }
}

/// One path of a connection. Its packets and RTTs are in its row.
pub(crate) struct Path {
    /// Its index among the flows of the tables.
    pub(crate) row: u32,
    /// The first steps of data and of acknowledgements.
    steps: (u32, u32),
    /// When its first datagram leaves.
    pub(crate) start: Time,
    begun: bool,
    /// Data packets that have left.
    data_packets: u64,
    /// Counted at the receiver and by links.
    counters: FlowCounters,
    /// Measures it, as long as no ledger does.
    meter: FlowMeter,
}

impl Path {
    pub(crate) fn new(row: u32, steps: (u32, u32), start: Time) -> Self {
        let (counters, meter) = (FlowCounters::default(), FlowMeter::new());
        Self { row, steps, start, begun: false, data_packets: 0, counters, meter }
    }

    /// A datagram that leaves on it.
    fn datagram(&self, now: Time, ecn: Ecn, forward: bool, content: &[u8]) -> Datagram {
        let step = if forward { self.steps.0 } else { self.steps.1 };
        let content = BytesMut::from(content);
        Datagram { flow: self.row, step, ecn, forward, number: None, sent_at: now, content }
    }
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

/// One flow of a run: a connection. Its first path and its first object share a row.
pub(crate) struct Flow {
    pub(crate) index: u32,
    /// Its flow in the plan.
    pub(crate) of: usize,
    /// The first is there from the start, and the others once the handshake is over.
    pub(crate) paths: Vec<Path>,
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
    /// Rows of paths whose first datagram has left since the last look.
    pub(crate) newly_begun: Vec<u32>,
}

impl Flow {
    /// A flow before its start, flow `of` of the plan, with one object on a path.
    pub(crate) fn new(index: u32, of: usize, steps: (u32, u32), object: Object) -> Self {
        Self {
            index,
            of,
            paths: vec![Path::new(object.row, steps, object.start)],
            objects: vec![object],
            pages: vec![Page { end: 1, think: Span::ZERO }],
            page: 0,
            turn: Time::NEVER,
            changes: 0,
            ecn: false,
            open: None,
            running: false,
            complete: false,
            newly_begun: Vec::new(),
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

    /// The index of its first path and object among the flows of the tables.
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
        let (mut connected, mut acknowledged, mut opened) = (false, false, Vec::new());
        while let Some(event) = open.client.poll() {
            match event {
                Event::Connected => connected = true,
                Event::Opened(path) => opened.push(path),
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
            open.writer.open(now);
            open.connected = true;
            opened.push(0);
        }
        for path in opened {
            open.ledgers[path as usize].lock().connect(now, now.since(self.paths[path as usize].start));
        }
        let window = open.window();
        if open.connected {
            open.writer.write(now, open.client.as_mut(), &open.reader, window);
        }
        self.send(now, out);
        if acknowledged && self.complete {
            self.retire()?;
        }
        Ok(())
    }

    /// Datagrams leave as long as the sender may send.
    fn send(&mut self, now: Time, out: &mut Vec<Datagram>) {
        let Some(open) = self.open.as_deref_mut() else { return };
        while let Some((Header { path, ecn }, content)) = open.client.transmit(now.as_nanos()) {
            let number = path as usize;
            let path = &mut self.paths[number];
            if !std::mem::replace(&mut path.begun, true) {
                path.start = now;
                self.newly_begun.push(path.row);
            }
            let ecn = if self.ecn { Ecn::of(ecn) } else { Ecn::NotCapable };
            let mut datagram = path.datagram(now, ecn, true, content);
            let ledger = open.ledgers[number].lock();
            let before = std::mem::replace(&mut path.data_packets, ledger.counters.data_packets);
            datagram.number = (ledger.counters.data_packets > before).then(|| ledger.last_number());
            out.push(datagram);
        }
    }

    /// The receiver is looked at, likewise.
    pub(crate) fn drive_receiver(&mut self, now: Time, out: &mut Vec<Datagram>) -> Result<(), String> {
        let row = self.first_row();
        let Some(open) = self.open.as_deref_mut() else { return Ok(()) };
        open.reader.read(now, row, open.server.as_mut())?;
        while let Some((Header { path, ecn }, content)) = open.server.transmit(now.as_nanos()) {
            let ecn = if self.ecn { Ecn::of(ecn) } else { Ecn::NotCapable };
            out.push(self.paths[path as usize].datagram(now, ecn, false, content));
        }
        Ok(())
    }

    /// A datagram with data arrives at the receiver on path `path`.
    pub(crate) fn count_arrival(&mut self, path: usize, datagram: &Datagram) {
        let counters = &mut self.paths[path].counters;
        counters.arrived_packets += 1;
        counters.marked_packets += u64::from(datagram.ecn == Ecn::Congestion);
        if !self.complete {
            counters.arrived_bytes += HEADERS + datagram.content.len() as u64;
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

    /// Ends both sides of the connection, if there is one. The message is of a stack whose destructor panics.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        let Some(open) = self.open.as_deref_mut() else { return Ok(()) };
        open.client.end().and(open.server.end())
    }

    /// Keeps the counters of the connection and gives it up.
    fn retire(&mut self) -> Result<(), String> {
        for path in 0..self.paths.len() {
            self.paths[path].counters = self.counted(path);
        }
        let ended = self.end();
        if let Some(open) = self.open.take() {
            let delivered = (0..).map(|number| open.reader.delivered(number));
            self.objects.iter_mut().zip(delivered).for_each(|(object, bytes)| object.delivered = bytes);
            for (path, ledger) in self.paths.iter_mut().zip(&open.ledgers) {
                path.meter = std::mem::take(&mut ledger.lock().meter);
            }
        }
        self.running = false;
        ended
    }

    /// When the sender is looked at next.
    pub(crate) fn sender_deadline(&mut self) -> Time {
        let Some(open) = self.open.as_deref_mut().filter(|_| self.running) else { return Time::NEVER };
        let connection = open.client.deadline().map_or(Time::NEVER, Time::from_nanos);
        let wake_at = open.ledgers.iter().map(|ledger| ledger.lock().wake_at()).min().unwrap_or(Time::NEVER);
        connection.min(open.writer.next_write().unwrap_or(Time::NEVER)).min(wake_at)
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

    /// Counters of path `path` since the start. The only path has the bytes of the first object that arrived in order,
    /// one of several the bytes that it brought first.
    fn counted(&self, path: usize) -> FlowCounters {
        let counters = self.paths[path].counters;
        let Some(open) = &self.open else { return counters };
        let mut sender = open.ledgers[path].lock().counters;
        if !open.writer.repeats() {
            sender.retransmitted_packets = 0;
        }
        let delivered_bytes = if self.paths.len() > 1 { open.reader.brought(path) } else { self.delivered(0) };
        FlowCounters { delivered_bytes, sender, ..counters }
    }

    /// The measured interval starts.
    pub(crate) fn begin_measuring(&mut self, now: Time) {
        for path in 0..self.paths.len() {
            let counted = self.counted(path);
            match &self.open {
                Some(open) => open.ledgers[path].lock().meter.restart(now, counted),
                None => self.paths[path].meter.restart(now, counted),
            }
        }
        for number in 1..self.objects.len() {
            let counters = FlowCounters { delivered_bytes: self.delivered(number), ..FlowCounters::default() };
            self.objects[number].meter.restart(now, counters);
        }
    }

    /// For each path and object its row, when it was there, and its meter and counters.
    pub(crate) fn rows(&self, mut row: impl FnMut(u32, Lifetime, &FlowMeter, FlowCounters)) {
        for (number, path) in self.paths.iter().enumerate() {
            let lifetime = Lifetime { start: path.start, ..self.objects[0].lifetime() };
            let counted = self.counted(number);
            match &self.open {
                Some(open) => row(path.row, lifetime, &open.ledgers[number].lock().meter, counted),
                None => row(path.row, lifetime, &path.meter, counted),
            }
        }
        for (number, object) in self.objects.iter().enumerate().skip(1) {
            let counters = FlowCounters { delivered_bytes: self.delivered(number), ..FlowCounters::default() };
            row(object.row, object.lifetime(), &object.meter, counters);
        }
    }

    /// The row of path `path` at `now`, with the base RTT then, while it is under way.
    pub(crate) fn sample(&self, now: Time, path: usize, base_rtt: Span) -> Option<FlowSample> {
        let open = self.open.as_deref().filter(|_| self.running && !self.complete && self.paths[path].begun)?;
        let counters = self.counted(path);
        let others = if path == 0 { 1..self.objects.len() } else { 0..0 };
        let ledger = open.ledgers[path].lock();
        let (window, threshold) = ledger.decided();
        let rtt = |span: Span| if ledger.samples > 0 { milliseconds(span) } else { f64::NAN };
        Some(FlowSample {
            time_s: seconds(now),
            flow: self.paths[path].row,
            window_segments: window,
            threshold_segments: threshold,
            in_flight_segments: ledger.in_flight(),
            latest_rtt_ms: rtt(ledger.rtt.latest),
            smoothed_rtt_ms: rtt(ledger.rtt.smoothed),
            min_rtt_ms: rtt(ledger.rtt.minimum),
            base_rtt_ms: milliseconds(base_rtt),
            delivered_bytes: counters.delivered_bytes + others.map(|number| self.delivered(number)).sum::<u64>(),
            arrived_packets: counters.arrived_packets,
            arrived_bytes: counters.arrived_bytes,
            sent_packets: counters.sender.data_packets,
            retransmitted_packets: counters.sender.retransmitted_packets,
            pacing_rate_bps: ledger.pacing_rate().map_or(f64::NAN, |rate| rate.bits_per_second() as f64),
            state: if ledger.in_recovery { FlowState::Recovery } else { FlowState::Open },
        })
    }
}
