//! The wireless media of a fabric. Their queues are links by index, and they contend for service.

use std::sync::Arc;

use network::medium::{ACCESS_POINT, Attempt, Fate, Listener, Medium};
use network::{Discard, FlowClass};
use record::{
    EventKind, EventRow, FrameFate, FrameRow, LinkMeter, StationDescription, StationMeter, StationRow, seconds,
};
use scenario::{Plan, PlannedMedium};
use units::{Random, Span, Time};

use crate::state::{NetworkState, Routed, Tap};

/// One medium at work.
#[derive(Debug)]
pub(crate) struct MeteredMedium<P> {
    pub(crate) medium: Medium<P>,
    /// Its first queue among the links.
    pub(crate) first_link: u32,
    /// One for each of its queues.
    stations: Vec<StationMeter>,
}

impl<P: Routed> MeteredMedium<P> {
    /// The medium number `index` of a plan.
    pub(crate) fn new(planned: &PlannedMedium, index: u64, seed: u64, classes: &Arc<[FlowClass]>) -> Self {
        let first = planned.first_link as u64;
        let queue = |access| Random::stream(seed, "queue", first + u64::from(access));
        let [backoffs, errors] = ["backoff", "frame errors"].map(|name| Random::stream(seed, name, index));
        let medium = Medium::new(&planned.settings, backoffs, errors, queue).with_classes(classes);
        let stations = vec![StationMeter::default(); planned.settings.accesses.len()];
        Self { medium, first_link: planned.first_link as u32, stations }
    }

    /// `packet` is offered to queue `link` for station `to`.
    pub(crate) fn offer(
        &mut self,
        now: Time,
        (link, to): (u32, u32),
        packet: P,
        state: &mut NetworkState<P>,
        tap: &mut impl Tap<P>,
    ) {
        state.links[link as usize].meter.counters.arrived_packets += 1;
        let Self { medium, first_link, stations } = self;
        let access = link - *first_link;
        medium.offer(now, access, to, packet, &mut Watcher { first_link: *first_link, stations, state, tap });
    }

    /// Lets everything happen that happens by `now`.
    pub(crate) fn advance(&mut self, now: Time, state: &mut NetworkState<P>, tap: &mut impl Tap<P>) {
        let Self { medium, first_link, stations } = self;
        medium.advance(now, &mut Watcher { first_link: *first_link, stations, state, tap });
    }

    pub(crate) fn restart(&mut self, now: Time) {
        self.stations.iter_mut().for_each(|station| station.restart(now));
    }

    /// The rows of its stations over the interval that ends at `end`.
    pub(crate) fn rows<'a>(&'a self, end: Time, plan: &'a Plan, index: usize) -> impl Iterator<Item = StationRow> + 'a {
        let planned = &plan.media[index];
        let accesses = planned.settings.accesses.iter().zip(&self.stations).enumerate();
        accesses.map(move |(access, (settings, meter))| {
            let link = planned.first_link + access;
            let described = StationDescription {
                link: link as u32,
                name: &plan.links[link].name,
                wlan: &planned.name,
                is_access_point: settings.station == ACCESS_POINT,
            };
            meter.finish(end, described)
        })
    }
}

/// The observer of one medium: meters, rows, wires.
struct Watcher<'a, P, T> {
    first_link: u32,
    stations: &'a mut [StationMeter],
    state: &'a mut NetworkState<P>,
    tap: &'a mut T,
}

impl<P: Routed, T: Tap<P>> Watcher<'_, P, T> {
    fn meter(&mut self, access: u32) -> &mut LinkMeter {
        &mut self.state.links[(self.first_link + access) as usize].meter
    }

    fn note(&mut self, access: u32, at: Time, kind: EventKind, packet: &P, value: f64) {
        let sequence = packet.sequence().unwrap_or(u64::MAX);
        let (link, flow) = (self.first_link + access, packet.flow());
        self.tap.event(EventRow { time_s: seconds(at), kind, flow, link, sequence, value });
    }
}

impl<P: Routed, T: Tap<P>> Listener<P> for Watcher<'_, P, T> {
    fn take(&mut self, access: u32, packet: &P, at: Time, marked: bool, queued: u32) {
        self.meter(access).queue(at, queued);
        self.tap.taken(self.first_link + access, packet, at, marked);
    }

    fn mark(&mut self, access: u32, packet: &P, at: Time, queued: u32) {
        self.meter(access).counters.marked_packets += 1;
        self.note(access, at, EventKind::Mark, packet, f64::from(queued));
    }

    fn serve(&mut self, access: u32, packet: &P, at: Time, waited: Span, queued: u32) {
        let size = packet.size();
        let meter = self.meter(access);
        meter.queue(at, queued);
        // Others of an A-MPDU are in service beside the first.
        if !meter.is_serving() {
            meter.service(at, Time::NEVER, waited, size);
        }
    }

    fn deliver(&mut self, access: u32, packet: P, waited: Span, at: Time) {
        self.meter(access).departs(at, waited, packet.size());
        let step = self.state.ways.routes.steps[packet.step() as usize];
        let jitter = self.state.links[step.link as usize].jitter.draw(at, packet.size());
        let wire = &mut self.state.ways.wires[step.wire as usize];
        if wire.push(at, jitter, packet) {
            self.state.ways.look_at(step.wire);
        }
    }

    fn discard(&mut self, access: u32, packet: P, at: Time, why: Discard, queued: u32) {
        let meter = self.meter(access);
        if matches!(why, Discard::Evicted | Discard::Head) {
            meter.queue(at, queued);
        }
        if why == Discard::Retries {
            meter.abandon(at);
            meter.counters.lost_packets += 1;
            self.stations[access as usize].counters.dropped_frames += 1;
            self.note(access, at, EventKind::Lost, &packet, f64::NAN);
        } else {
            meter.counters.dropped_packets += 1;
            self.note(access, at, EventKind::Drop, &packet, f64::from(queued));
        }
        self.tap.discarded(self.first_link + access, packet, at, why);
    }

    fn attempt(&mut self, attempt: &Attempt, kbit: u32) {
        let counters = &mut self.stations[attempt.access as usize].counters;
        counters.attempts += 1;
        counters.retries += u64::from(attempt.retry);
        counters.sent_frames += u64::from(attempt.frames);
        counters.acknowledged_frames += u64::from(attempt.acknowledged);
        counters.airtime += attempt.airtime();
        counters.rates += u64::from(kbit);
        let fate = match attempt.fate {
            Fate::Acknowledged => FrameFate::Acknowledged,
            Fate::Error => FrameFate::Error,
            Fate::Collision(_) => FrameFate::Collision,
        };
        counters.collisions += u64::from(fate == FrameFate::Collision);
        counters.errors += u64::from(fate == FrameFate::Error);
        self.tap.frame(FrameRow {
            time_s: seconds(attempt.start),
            link: self.first_link + attempt.access,
            to: attempt.to,
            rate_bps: f64::from(kbit) * 1e3,
            bytes: attempt.bytes,
            frames: attempt.frames,
            acknowledged: attempt.acknowledged,
            is_retry: attempt.retry,
            has_rts: attempt.rts,
            fate,
            airtime_us: attempt.airtime().as_nanos() as f64 / 1e3,
        });
    }
}
