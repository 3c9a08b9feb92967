//! The medium at work: when stations send, and the fate of their frames.

mod airtime;
mod beacons;
mod burst;
mod hidden;
mod shot;
mod within;

use std::sync::Arc;

use units::{Bytes, Random, Span, Time};

use self::beacons::Beacons;
use self::burst::Burst;
use self::hidden::Hidden;
use self::shot::Shot;
use super::access::{Access, RetryLimits};
use super::errors::Loss;
use super::phy::Phy;
use super::rates::{Rates, Report};
use super::room::{Addressed, Reports};
use super::settings::{AfterCollision, Aggregation, Conventions, Countdown, MediumSettings};
use super::{ACCESS_POINT, Fate, Listener};
use crate::{FlowClass, Packet};

/// A channel with an access point and its stations. Times handed to it do not decrease.
#[derive(Debug)]
pub struct Medium<P> {
    phy: Phy,
    rules: Rules,
    accesses: Vec<Access<P>>,
    /// For each station the way to the access point, then the way from it.
    pairs: Vec<Pair>,
    /// Those that count slots.
    counting: Vec<Counter>,
    /// Who sends: used within a call, and to know whose frames are on the air.
    senders: Vec<u32>,
    /// From then on stations that did not send last found the medium idle.
    idle_from: Time,
    /// For stations with several queues: the stations that sent last, and from when on all queues of each find the
    /// medium idle.
    idle_for_senders: Vec<(u32, Time)>,
    several_queues: bool,
    /// The frames on the air end.
    busy_until: Time,
    /// When the next backoff ends, or the next frame of a TXOP begins.
    next: Time,
    /// Who sends on without a backoff.
    burst: Option<Burst>,
    beacons: Option<Beacons>,
    /// The view of each station, if some are hidden from each other.
    hidden: Option<Box<Hidden>>,
    backoffs: Random,
    errors: Random,
}

/// The rules for all stations.
#[derive(Debug)]
struct Rules {
    conventions: Conventions,
    /// The excess of EIFS over DIFS.
    eifs_excess: Span,
    every_slot: bool,
    retries: RetryLimits,
    rts_threshold: Option<u32>,
    aggregation: Option<Aggregation>,
}

/// One direction between a station and its access point.
#[derive(Debug)]
struct Pair {
    rates: Rates,
    /// The errors of frames at each rate.
    errors: Vec<Loss>,
}

/// A contender that counts slots.
#[derive(Clone, Copy, Debug)]
struct Counter {
    access: u32,
    /// Slots to go.
    left: u32,
    /// It has something to send.
    ready: bool,
    /// It counts from then on.
    from: Time,
}

/// Why a transmission was not answered.
#[derive(Clone, Copy, Debug)]
enum Failed {
    /// Others sent at once.
    Collided,
    /// Nobody understood it.
    Spoilt,
    /// Nobody understood it, but what went before announced that the medium is taken until then.
    Announced(Time),
}

impl<P: Packet> Medium<P> {
    /// An idle medium. The streams of `backoffs` and `errors` are its own. `queues` makes the streams of its queues.
    pub fn new(settings: &MediumSettings, backoffs: Random, errors: Random, queues: impl Fn(u32) -> Random) -> Self {
        let phy = Phy::new(&settings.phy, &settings.basic_rates);
        let accesses = (0..).zip(&settings.accesses);
        let accesses: Vec<_> = accesses.map(|(i, access)| Access::new(access, settings, &phy, queues(i))).collect();
        let megahertz = settings.phy.megahertz();
        let pairs = settings.stations.iter().flat_map(|station| [station; 2]).map(|station| Pair {
            rates: Rates::new(&station.rate, &phy, station.dsss),
            errors: phy.modes.iter().map(|mode| station.errors.at(mode, megahertz)).collect(),
        });
        let conventions = settings.conventions;
        let rules = Rules {
            conventions,
            eifs_excess: phy.eifs_excess(conventions.eifs_rate),
            every_slot: match conventions.countdown {
                Countdown::Standard => settings.accesses.iter().any(|access| access.category.is_edca()),
                Countdown::IdleSlots => false,
                Countdown::EverySlot => true,
            },
            retries: RetryLimits {
                short: settings.short_retry_limit,
                long: settings.long_retry_limit,
                reset_after_drop: conventions.reset_after_drop,
            },
            rts_threshold: settings.rts_threshold,
            aggregation: settings.aggregation,
        };
        let beacons = settings.beacons.map(|interval| Beacons::new(interval, &phy));
        let mut medium = Self {
            rules,
            pairs: pairs.collect(),
            counting: Vec::with_capacity(accesses.len()),
            senders: Vec::new(),
            idle_from: Time::ZERO,
            idle_for_senders: Vec::new(),
            several_queues: settings.accesses.windows(2).any(|pair| pair[0].station == pair[1].station),
            busy_until: Time::ZERO,
            next: Time::NEVER,
            burst: None,
            beacons,
            hidden: (!settings.hidden.is_empty()).then(|| Box::new(Hidden::new(settings))),
            accesses,
            phy,
            backoffs,
            errors,
        };
        medium.next = medium.beacon_due();
        medium
    }

    /// The same, whose queues may distinguish packets by these classes.
    #[must_use]
    pub fn with_classes(mut self, classes: &Arc<[FlowClass]>) -> Self {
        self.accesses.iter_mut().for_each(|access| access.rooms.set_classes(classes));
        self
    }

    /// The physical layer.
    pub fn phy(&self) -> &Phy {
        &self.phy
    }

    /// When the next station sends, or [`Time::NEVER`] if none has anything to send.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Packets that wait at `access`, without frames being sent.
    pub fn queued(&self, access: u32) -> (u32, Bytes) {
        let rooms = &self.accesses[access as usize].rooms;
        (rooms.packets(), rooms.bytes())
    }

    /// Packets that wait at each access, and their bytes, without frames being sent.
    pub fn queues(&self) -> impl Iterator<Item = (u32, Bytes)> + '_ {
        self.accesses.iter().map(|access| (access.rooms.packets(), access.rooms.bytes()))
    }

    /// Packets that wait or are being sent.
    pub fn packets(&self) -> u32 {
        self.accesses.iter().map(|access| access.rooms.packets() + access.in_service().0).sum()
    }

    /// Offers `access` a packet for station `to` at `now`, after advancing to before `now`.
    pub fn offer(&mut self, now: Time, access: u32, to: u32, packet: P, out: &mut impl Listener<P>) {
        self.settle(now, out);
        let contender = &mut self.accesses[access as usize];
        let mut out = Reports { access, listener: out };
        contender.offer(now, Addressed { packet, to }, &mut out);
        if contender.on_air {
            if contender.has_frames() {
                self.mark_ready(access);
            }
            return;
        }
        if self.hidden.is_some() {
            if contender.sending.is_empty() {
                contender.pull(now, &mut out);
                if !contender.sending.is_empty() {
                    self.contend_hidden(now, access);
                }
            }
            return;
        }
        if contender.sending.is_empty() && self.burst.is_none_or(|burst| burst.access != access) {
            contender.pull(now, &mut out);
            if !contender.sending.is_empty() {
                self.contend(now, access);
            }
        }
    }

    /// Lets everything happen that happens by `now`.
    pub fn advance(&mut self, now: Time, out: &mut impl Listener<P>) {
        while self.next <= now {
            if self.hidden.is_some() {
                self.step(self.next, out);
            } else {
                self.fire(self.next, out);
            }
        }
        self.settle(now, out);
    }

    /// `access`, which was not on the air and had nothing to send, has now.
    fn contend(&mut self, now: Time, access: u32) {
        let slot = self.phy.slot;
        let contender = &self.accesses[access as usize];
        let from = self.idle_for(contender.station) + contender.ifs;
        let idle = now >= self.busy_until && now >= from;
        let draw = if idle && self.rules.conventions.immediate_access {
            0
        } else {
            self.accesses[access as usize].draw(&mut self.backoffs)
        };
        let fresh = Counter { access, left: draw, ready: true, from: from.max(now) };
        match self.counting.iter_mut().find(|counter| counter.access == access) {
            // The backoff after its last frame goes on.
            Some(counter) if counter.due(slot) > now => counter.ready = true,
            Some(counter) => *counter = fresh,
            None => self.counting.push(fresh),
        }
        self.schedule();
    }

    fn mark_ready(&mut self, access: u32) {
        if let Some(counter) = self.counting.iter_mut().find(|counter| counter.access == access)
            && !counter.ready
        {
            counter.ready = true;
            self.next = self.next.min(counter.due(self.phy.slot));
        }
    }

    #[inline]
    fn schedule(&mut self) {
        let slot = self.phy.slot;
        let due = self.counting.iter().filter(|counter| counter.ready).map(|counter| counter.due(slot));
        // Nobody else's turn comes within SIFS.
        let due = if self.burst.is_some() { Some(self.busy_until + self.phy.sifs) } else { due.min() };
        let due = due.unwrap_or(Time::NEVER);
        self.next = if self.burst.is_some() { due } else { due.min(self.beacon_due()) };
    }

    /// The transmission on the air is over by `now`: its senders turn to their next packets.
    #[inline]
    fn settle(&mut self, now: Time, out: &mut impl Listener<P>) {
        if !self.senders.is_empty() && now >= self.busy_until {
            self.finish(out);
        }
    }

    fn finish(&mut self, out: &mut impl Listener<P>) {
        let mut changed = false;
        for &access in &self.senders {
            let contender = &mut self.accesses[access as usize];
            contender.on_air = false;
            contender.pull(self.busy_until, &mut Reports { access, listener: out });
            if contender.sending.is_empty() {
                // A discipline may have dropped all that waited.
                for counter in self.counting.iter_mut().filter(|counter| counter.access == access && counter.ready) {
                    counter.ready = false;
                    changed = true;
                }
            }
        }
        self.senders.clear();
        if changed {
            self.schedule();
        }
    }

    /// Those send whose backoff ends at `now`.
    fn fire(&mut self, now: Time, out: &mut impl Listener<P>) {
        self.settle(now, out);
        if self.next > now {
            return;
        }
        if let Some(burst) = self.burst.take() {
            return self.go_on(now, burst, out);
        }
        if self.send_beacon(now) {
            return;
        }
        self.count(now);
        self.idle_for_senders.clear();
        let losers = self.resolve_within_stations();
        let idle_from = match self.senders[..] {
            [] => return self.schedule(),
            [access] => self.send_alone(now, access, None, out),
            _ => self.collide(now, out),
        };
        self.idle_from = idle_from;
        for access in losers {
            let counter = self.lose_turn(now, access, out);
            self.counting.push(counter);
        }
        self.resume(idle_from);
    }

    /// All that do not send count on from when the medium is idle.
    fn resume(&mut self, idle_from: Time) {
        let mut counting = std::mem::take(&mut self.counting);
        for counter in &mut counting {
            // The senders have theirs already.
            let contender = &self.accesses[counter.access as usize];
            if !contender.on_air {
                let idle = if self.several_queues { self.idle_for(contender.station) } else { idle_from };
                counter.from = idle + contender.ifs;
            }
        }
        self.counting = counting;
        self.schedule();
    }

    /// From when on the queues of `station` find the medium idle: the others do not count while one of them waits for
    /// its ACK, nor do they wait for EIFS.
    fn idle_for(&self, station: u32) -> Time {
        let own = self.idle_for_senders.iter().find(|(sender, _)| *sender == station);
        own.map_or(self.idle_from, |(_, idle)| *idle)
    }

    /// Counts the slots up to `now`. An access whose backoff is over leaves, and sends if it has something to send.
    #[inline]
    fn count(&mut self, now: Time) {
        let (slot, senders) = (self.phy.slot, &mut self.senders);
        let also = u32::from(self.rules.every_slot);
        // Nearly all count from the same instant.
        let mut last = (Time::NEVER, 0);
        self.counting.retain_mut(|counter| {
            if counter.due(slot) <= now {
                if counter.ready {
                    senders.push(counter.access);
                }
                return false;
            }
            if now >= counter.from {
                if counter.from != last.0 {
                    last = (counter.from, (now.since(counter.from).as_nanos() / slot.as_nanos()) as u32 + also);
                }
                counter.left -= last.1;
            }
            true
        });
    }

    /// `access` sends and nobody else does, within a TXOP that ends `until` or as the first of one. Gives the instant
    /// at which the others find the medium idle.
    fn send_alone(&mut self, now: Time, access: u32, until: Option<Time>, out: &mut impl Listener<P>) -> Time {
        let shot = self.aim(now, access, until, out);
        let data = now + shot.before;
        let data_end = data + shot.data;
        let loss = self.pairs[self.pair(access, shot.to)].errors[usize::from(shot.mode)];
        let contender = &mut self.accesses[access as usize];
        let acknowledged = contender.receive(loss, &mut self.errors);
        let understood = acknowledged > 0;
        let planned = data_end + shot.answer;
        let end = if understood { planned } else { data_end };
        let fate = if understood { Fate::Acknowledged } else { Fate::Error };
        let attempt = shot.attempt(access, now, (data, end), acknowledged, fate);
        out.attempt(&attempt, self.kbit(shot.mode));
        self.charge(&attempt);
        let (resume, idle_from) = if understood {
            self.busy_until = end;
            (end, end)
        } else {
            self.busy_until = data_end;
            // Stations that understood an RTS or CTS set their network allocation vector to the planned end. Who does
            // not understand what follows waits for EIFS besides.
            let why = if shot.before.is_zero() { Failed::Spoilt } else { Failed::Announced(planned) };
            self.after_failure((data_end, data_end), shot.timeout, why)
        };
        let contender = &mut self.accesses[access as usize];
        let mut reports = Reports { access, listener: out };
        let last = if understood {
            contender.succeed(shot.frames > acknowledged, &self.rules.retries, data_end, &mut reports);
            true
        } else {
            contender.fail(!shot.rts.is_zero(), &self.rules.retries, end, &mut reports)
        };
        self.report(now, access, &shot, acknowledged, last);
        if understood && self.may_go_on(access, until.unwrap_or(now + self.accesses[access as usize].txop)) {
            return idle_from;
        }
        self.count_again(access, resume);
        idle_from
    }

    /// All senders send at once. Gives the instant at which the others find the medium idle.
    fn collide(&mut self, now: Time, out: &mut impl Listener<P>) -> Time {
        let number = self.senders.len() as u32;
        let senders = std::mem::take(&mut self.senders);
        let mut shots = Vec::with_capacity(senders.len());
        let mut busy_until = now;
        for &access in &senders {
            let shot = self.aim(now, access, None, out);
            let rts = !shot.rts.is_zero();
            let data = now + shot.lead + shot.rts;
            let end = if rts { data } else { data + shot.data };
            busy_until = busy_until.max(end);
            let attempt = shot.attempt(access, now, (data, end), 0, Fate::Collision(number));
            out.attempt(&attempt, self.kbit(shot.mode));
            self.charge(&attempt);
            shots.push((access, shot, end));
        }
        self.busy_until = busy_until;
        let mut idle_from = busy_until;
        for (access, shot, end) in shots {
            let (resume, others) = self.after_failure((end, busy_until), shot.timeout, Failed::Collided);
            idle_from = others;
            let contender = &mut self.accesses[access as usize];
            let last = contender.fail(false, &self.rules.retries, busy_until, &mut Reports { access, listener: out });
            self.report(now, access, &shot, 0, last);
            self.count_again(access, resume);
        }
        self.senders = senders;
        idle_from
    }

    /// From when on the medium is idle for a sender whose frames ended at `own_end` and were not answered, and for the
    /// others, where all frames ended at `end`.
    fn after_failure(&self, (own_end, end): (Time, Time), timeout: Span, why: Failed) -> (Time, Time) {
        let eifs = end + self.rules.eifs_excess;
        let at_once = matches!(why, Failed::Collided);
        let announced = if let Failed::Announced(until) = why { until } else { end };
        match self.rules.conventions.after_collision {
            AfterCollision::Undetected if at_once => (end.max(own_end + timeout), end),
            AfterCollision::Undetected | AfterCollision::Standard => (end.max(own_end + timeout), announced.max(eifs)),
            AfterCollision::Eifs => (eifs, announced.max(eifs)),
            AfterCollision::Difs => (end, announced),
        }
    }

    /// The sender `access` draws a backoff, which it counts from when the medium is idle for it.
    fn count_again(&mut self, access: u32, idle_from: Time) {
        let contender = &mut self.accesses[access as usize];
        contender.on_air = true;
        let from = idle_from + contender.ifs;
        if self.several_queues {
            self.idle_for_senders.push((contender.station, idle_from));
        }
        let left = contender.draw(&mut self.backoffs);
        self.counting.push(Counter { access, left, ready: contender.has_frames(), from });
    }

    fn kbit(&self, mode: u8) -> u32 {
        self.phy.modes[usize::from(mode)].kbit
    }

    fn pair(&self, access: u32, to: u32) -> usize {
        let from = self.accesses[access as usize].station;
        if to == ACCESS_POINT { 2 * from as usize } else { 2 * to as usize + 1 }
    }

    fn report(&mut self, now: Time, access: u32, shot: &Shot, acknowledged: u32, last: bool) {
        let pair = self.pair(access, shot.to);
        let Shot { mode, first_bytes: bytes, frames, tries, .. } = *shot;
        self.pairs[pair].rates.report(now, &Report { mode, bytes, frames, acknowledged, tries, last });
    }
}

impl Counter {
    #[inline]
    fn due(&self, slot: Span) -> Time {
        self.from + Span::from_nanos(u64::from(self.left) * slot.as_nanos())
    }
}
