//! The world: its partitions take turns, and what concerns all of them happens in between.
//!
//! A plan that can be cut has three partitions: the senders of all flows, their receivers, and the links between them.
//! What happens in one reaches another only over a wire, so each may run ahead of the others by the delay of the wires
//! that lead to it, and handles what has arrived meanwhile in one go. A plan that cannot be cut has one partition, with
//! everything.
//!
//! Turns on several cores are the same, but that the partitions of a turn run at once: see [`workers`].

mod turns;
mod workers;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{Cut, Fabric, Failure, NETWORK, RECEIVERS, SENDERS, Schedule, Series, Stopwatch, Watch};
use scenario::{DrawnFlow, Kind, Plan, PlannedFlow, Sampling};
use units::{Span, Time};

use self::workers::Workers;
use crate::agenda::{Agenda, Due, Planned};
use crate::agents::{Agents, NoAgents};
use crate::cache_aligned::CacheAligned;
use crate::capture::Capture;
use crate::flow::Places;
use crate::partition::{AGENDA, EVENTS_BETWEEN_LOOKS, Of, Partition, is_shared, look};
use crate::recorder::{Halves, Recorder, Stamp};

#[cfg(test)]
mod tests;

/// The shortest span.
const TICK: Span = Span::from_nanos(1);
/// A turn on several cores carries so much at least.
const BYTES_OF_A_TURN: u64 = 150_000;
/// So many rows of events wait at most to be put in order.
const ROWS: usize = 1 << 14;

pub(crate) struct World<'a, A> {
    of: Of<'a>,
    /// All of them in the order of their turns, or the one with everything.
    partitions: Vec<Box<Partition<'a, A>>>,
    /// Which of them has the senders, the receivers, and the links.
    places: [usize; 3],
    cut: Option<Arc<Cut>>,
    /// Those that run partitions on other cores.
    workers: Option<Workers<'a, A>>,
    /// Each partition is past all that happens before this.
    clocks: [Time; 3],
    /// When the next rows are due.
    schedule: Schedule,
    /// After so many events of parts the run looks up.
    look_at: u64,
}

impl<'a, A: Agents> World<'a, A> {
    /// The world of a run, whose flows have not started yet. TCP senders take the `free` places. It is cut if that is
    /// `allowed` and possible.
    pub(crate) fn new(
        of: Of<'a>,
        mut free: Places<'a>,
        capture: Option<Capture>,
        allowed: bool,
    ) -> Result<Self, Failure> {
        let Of { plan, seed, drawn, .. } = of;
        let may_cut = allowed && !A::PRESENT && can_be_cut(plan, drawn);
        let (partitions, cut) = match may_cut.then(|| Fabric::cut(plan, seed)).flatten() {
            Some((fabrics, cut)) => {
                let mut place = 0..;
                let [senders, receivers, network] =
                    fabrics.map(|fabric| Box::new(Partition::new(of, fabric, None, place.next())));
                // Senders get the answers of receivers in the same turn, and links the packets of both.
                (vec![receivers, senders, network], Some(Arc::new(cut)))
            }
            None => {
                let fabric = Fabric::with_hosts(plan, seed, capture.is_some());
                (vec![Box::new(Partition::new(of, fabric, capture, None))], None)
            }
        };
        let places = if cut.is_some() { [1, 0, 2] } else { [0; 3] };
        let schedule = Schedule::new(plan, &[Series::Flows, Series::Probes, Series::Links]);
        let mut world =
            Self { of, partitions, places, cut, workers: None, clocks: [Time::ZERO; 3], schedule, look_at: 0 };
        let mut planned = vec![(world.schedule.warmup(), Planned::WarmUpEnds)];
        for (index, flow) in (0..).zip(drawn) {
            plan_flow(&plan.flows[flow.of], index, flow, plan.duration, &mut planned);
            let (sender, receiver) = world.at(SENDERS).halves(flow, &mut free)?;
            world.at(SENDERS).endpoints.senders.push(CacheAligned::new(sender));
            world.at(RECEIVERS).endpoints.receivers.push(CacheAligned::new(receiver));
        }
        A::begin(world.at(SENDERS));
        world.at(SENDERS).agenda = Agenda::new(planned, |what| is_shared(what, drawn));
        Ok(world)
    }

    /// The partition with the senders, the receivers or the links.
    fn at(&mut self, place: usize) -> &mut Partition<'a, A> {
        &mut self.partitions[self.places[place]]
    }

    /// Runs to `end`, or until it is stopped or fails: whether that happened. Takes the rows that are due at the very
    /// end; whatever else happens at that instant is outside the run.
    pub(crate) fn run(&mut self, end: Time, watch: &Watch) -> bool {
        loop {
            let sample = self.schedule.next();
            if self.advance(end.min(sample + TICK), watch) {
                return true;
            }
            if sample > end {
                return false;
            }
            self.at(SENDERS).events += 1;
            self.sample(sample);
        }
    }

    /// Lets everything happen that happens before `end`. Says whether it was stopped or failed.
    fn advance(&mut self, end: Time, watch: &Watch) -> bool {
        loop {
            let shared = self.at(SENDERS).agenda.next_shared();
            // What happens at the instant at which the warm-up ends is measured.
            let before = if shared == self.schedule.warmup() { shared } else { shared + TICK };
            if self.take_turns(end.min(before), watch) {
                return true;
            }
            if shared >= end {
                return false;
            }
            self.run_shared(shared);
            self.clocks = [shared; 3];
        }
    }

    /// Lets the partitions run until all are past what happens before `end`.
    fn take_turns(&mut self, end: Time, watch: &Watch) -> bool {
        let Some(cut) = self.cut.clone() else { return self.partitions[0].run(end, watch) };
        let mut stopped = false;
        while !stopped && self.clocks.iter().any(|&clock| clock < end) {
            let events: u64 = self.partitions.iter().map(|partition| partition.events).sum();
            let workers = self.workers.as_mut().and_then(|workers| workers.pay(events).then_some(workers));
            stopped = match workers {
                Some(workers) => workers.take_turn(&cut, &mut self.partitions, &mut self.clocks, end, watch),
                None => turns::take_turn(&cut, &mut self.partitions, &mut self.clocks, end, watch),
            };
            if self.partitions.iter().map(|partition| partition.events).sum::<u64>() == events {
                self.skip(end);
            }
            if events >= self.look_at {
                self.look_at = events + EVENTS_BETWEEN_LOOKS;
                look(watch, self.past());
                self.at(SENDERS).check_decisions(watch);
            }
            stopped |= watch.is_stopped();
            self.order_events(ROWS);
        }
        stopped
    }

    /// All partitions are past what happens before this.
    fn past(&self) -> Time {
        self.clocks.into_iter().min().unwrap_or_default()
    }

    /// Nothing happened in a turn: the clocks go on to what happens next, at most to `end`.
    fn skip(&mut self, end: Time) {
        let next = self.partitions.iter().map(|partition| partition.next()).min().unwrap_or(end);
        self.clocks = self.clocks.map(|clock| clock.max(next.min(end)));
    }

    /// Puts the rows of events in order that no other can come before, if there are more than `most`.
    fn order_events(&mut self, most: usize) {
        let recorders = self.partitions.iter_mut().map(|partition| &mut partition.endpoints.recorder);
        let stamped: Vec<_> = recorders.filter_map(|recorder| recorder.stamped.as_mut()).collect();
        if stamped.iter().map(|rows| rows.len()).sum::<usize>() <= most {
            return;
        }
        // The rows of a burst of losses may take a fifth of all memory, so none is held twice.
        let mut stamped = stamped.into_iter();
        let mut rows = stamped.next().map(std::mem::take).unwrap_or_default();
        stamped.for_each(|one| rows.append(&mut std::mem::take(one)));
        rows.sort_by_key(|(stamp, _): &(Stamp, _)| *stamp);
        let past = self.past();
        let before = rows.partition_point(|(stamp, _)| stamp.at < past);
        let recorder = &mut self.at(SENDERS).endpoints.recorder;
        rows.drain(..before).for_each(|(_, row)| recorder.tables.events.push(row));
        recorder.stamped = Some(rows);
    }

    /// The next event happens that concerns both ends of a flow, or all of them.
    fn run_shared(&mut self, now: Time) {
        let senders = self.at(SENDERS);
        senders.events += 1;
        senders.begin(now, AGENDA);
        match senders.agenda.pop_shared() {
            Some(Planned::WarmUpEnds) => {
                self.schedule.take_warmup(now);
                self.begin_measuring(now);
            }
            Some(Planned::Stop(index)) => {
                if self.at(RECEIVERS).endpoints.receivers[index as usize].is_complete() {
                    self.at(SENDERS).endpoints.senders[index as usize].running = false;
                } else {
                    self.at(SENDERS).stop(now, index);
                }
            }
            _ => {}
        }
    }

    fn begin_measuring(&mut self, now: Time) {
        let Partition { fabric, endpoints, .. } = self.at(NETWORK);
        fabric.begin_measuring(now, endpoints);
        let Of { plan, drawn, .. } = self.of;
        self.with_halves(|recorder, halves| recorder.restart(now, plan, drawn, halves));
    }

    /// Lends the halves of all flows, with the recorder of the senders.
    fn with_halves<R>(&mut self, then: impl FnOnce(&mut Recorder, Halves<'_, 'a>) -> R) -> R {
        let mut senders = std::mem::take(&mut self.at(SENDERS).endpoints.senders);
        let receivers = std::mem::take(&mut self.at(RECEIVERS).endpoints.receivers);
        let dropped = std::mem::take(&mut self.at(NETWORK).endpoints.recorder.dropped);
        let halves = Halves { senders: &mut senders, receivers: &receivers, dropped: &dropped };
        let result = then(&mut self.at(SENDERS).endpoints.recorder, halves);
        self.at(SENDERS).endpoints.senders = senders;
        self.at(RECEIVERS).endpoints.receivers = receivers;
        self.at(NETWORK).endpoints.recorder.dropped = dropped;
        result
    }

    #[inline(never)]
    fn sample(&mut self, now: Time) {
        if self.schedule.take(Series::Links, now) {
            let Partition { fabric, endpoints, .. } = self.at(NETWORK);
            fabric.advance(now, endpoints);
            fabric.sample(now, &mut endpoints.recorder.tables.link_series);
        }
        let (series, probes) = (self.schedule.take(Series::Flows, now), self.schedule.take(Series::Probes, now));
        if !series && !probes {
            return;
        }
        let mut active = std::mem::take(&mut self.at(SENDERS).active);
        self.with_halves(|recorder, Halves { senders, receivers, .. }| {
            // Put in order here: a million flows that start in any order would move each other a million times.
            active.retain(|&index| senders[index as usize].running && !receivers[index as usize].is_complete());
            active.sort_unstable();
            for &index in &active {
                let sender = &senders[index as usize];
                if series {
                    recorder.sample_flow(now, index, sender, &receivers[index as usize]);
                }
                if probes {
                    recorder.sample_probes(now, index, sender);
                }
            }
        });
        self.at(SENDERS).active = active;
    }

    /// Events that were handled, and data packets that the flows have sent.
    pub(crate) fn counts(&mut self) -> [u64; 2] {
        let events = self.partitions.iter().map(|partition| partition.events).sum();
        let senders = self.at(SENDERS);
        [events, senders.endpoints.recorder.data_packets(&senders.endpoints.senders)]
    }

    /// The capture, if there is one.
    pub(crate) fn take_capture(&mut self) -> Option<Capture> {
        self.partitions[0].endpoints.capture.take()
    }

    /// The failure to make a controller, if there was one.
    pub(crate) fn take_failure(&mut self) -> Option<Failure> {
        self.at(SENDERS).failure.take()
    }

    /// Ends the run at `end`: brings everything up to date and gives the tables.
    #[inline(never)]
    pub(crate) fn finish(mut self, end: Time, watch: &Watch) -> record::Tables {
        watch.elapsed_nanos.store(end.as_nanos(), Ordering::Relaxed);
        let Of { plan, drawn, .. } = self.of;
        let Partition { fabric, endpoints, .. } = self.at(NETWORK);
        fabric.advance(end, endpoints);
        let (links, stations) = (fabric.rows(end, plan), fabric.station_rows(end, plan));
        let recorded = &mut endpoints.recorder.tables;
        let (link_series, frames) = (std::mem::take(&mut recorded.link_series), std::mem::take(&mut recorded.frames));
        let datagrams = std::mem::take(&mut self.at(RECEIVERS).endpoints.recorder.tables.datagrams);
        self.clocks = [Time::NEVER; 3];
        self.order_events(0);
        let senders = std::mem::take(&mut self.at(SENDERS).endpoints.senders);
        let receivers = std::mem::take(&mut self.at(RECEIVERS).endpoints.receivers);
        let dropped = std::mem::take(&mut self.at(NETWORK).endpoints.recorder.dropped);
        let openings = std::mem::take(&mut self.at(RECEIVERS).endpoints.recorder.openings);
        // What is under way goes before the rows of the flows come.
        let mut recorder = { *self.partitions.swap_remove(self.places[SENDERS]) }.endpoints.recorder;
        self.partitions.clear();
        let tables = recorder.finish(plan, drawn, (senders, receivers), (dropped, openings));
        record::Tables { links, stations, link_series, frames, datagrams, ..tables }
    }
}

impl World<'_, NoAgents> {
    /// As [`World::run`], on so many `cores` if that may pay. Says as well how much CPU time the others took, as
    /// `clocks` read it.
    pub(crate) fn run_on(&mut self, cores: usize, end: Time, watch: &Watch, clocks: Stopwatch) -> (bool, f64) {
        if let Some(cut) = self.cut.clone().filter(|cut| cores > 1 && pays(self.of.plan, cut)) {
            // Linux reads a dozen files for the answer, so it is asked only where it matters.
            let cores = cores.min(std::thread::available_parallelism().map_or(1, usize::from));
            if cores > 1 {
                return self.run_together(&cut, cores, end, watch, clocks);
            }
        }
        (self.run(end, watch), 0.0)
    }

    fn run_together(
        &mut self,
        cut: &Arc<Cut>,
        cores: usize,
        end: Time,
        watch: &Watch,
        clocks: Stopwatch,
    ) -> (bool, f64) {
        std::thread::scope(|scope| {
            let (workers, handles) = Workers::new(scope, cores - 1, cut, watch, clocks);
            self.workers = Some(workers);
            // Without their channels the workers end, also where a controller panics.
            let stopped = catch_unwind(AssertUnwindSafe(|| self.run(end, watch)));
            self.workers = None;
            let stopped = stopped.unwrap_or_else(|panic| resume_unwind(panic));
            let taken = handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)));
            (stopped, taken.sum())
        })
    }
}

/// True if a turn is long enough that its partitions gain more by running at once than they lose by waiting for each
/// other.
fn pays(plan: &Plan, cut: &Cut) -> bool {
    let rate = plan.bottleneck.and_then(|link| plan.links[link].rate);
    rate.is_some_and(|rate| rate.bytes_in(cut.shortest_cycle().scale(0.5)).get() >= BYTES_OF_A_TURN)
}

/// True if nothing at one end of a flow of `plan` knows at once of the other: no TFRC or media, whose receivers read
/// headers at their senders, no connection of many, whose two ends are given up together, and no rows that ACKs call
/// for, which have the bytes at the receiver.
fn can_be_cut(plan: &Plan, drawn: &[DrawnFlow]) -> bool {
    let of_receiver = |flow: &PlannedFlow| flow.changes.iter().any(|change| change.receive_window.is_some());
    let apart = |flow: &PlannedFlow| !matches!(flow.kind, Kind::Tfrc { .. } | Kind::Media { .. }) && !of_receiver(flow);
    let by_acks = matches!(plan.record.flow_series, Sampling::Acks(_));
    !by_acks && plan.flows.iter().all(apart) && drawn.iter().all(|flow| flow.number.is_none())
}

/// Adds to `agenda` the events known beforehand of flow `index`, which is `planned` and was `drawn`, in a run of
/// `duration`.
fn plan_flow(planned: &PlannedFlow, index: u32, drawn: &DrawnFlow, duration: Span, agenda: &mut Vec<(Time, Planned)>) {
    if drawn.page.is_none_or(|page| page.number == 0) {
        agenda.push((drawn.start, Planned::Start(index)));
    }
    if planned.quick_start.is_some() {
        let before = drawn.start.since(Time::ZERO + planned.base_rtt);
        agenda.push((Time::ZERO + before, Planned::Agent(Due::Request(index))));
    }
    // The instant of the end is outside the run.
    if drawn.stop < Time::ZERO + duration {
        agenda.push((drawn.stop, Planned::Stop(index)));
    }
    agenda.extend((0..).zip(&planned.changes).map(|(n, change)| (change.at, Planned::Change(index, n))));
}
