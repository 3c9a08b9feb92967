//! Hidden stations, which do not sense the frames of each other.
//!
//! A whole exchange is one event if all stations sense each other. Here every frame is one, and each station has its
//! own view of the medium. It is busy while the station sends or senses a frame, and after a frame that the station
//! understood for as long as the frame announces (NAV). A station understands a frame if it senses it, does not send
//! meanwhile, and senses no other frame at any time of it. Stations count slots by their own views, so frames overlap
//! at a receiver that senses both senders.
//!
//! All stations sense the access point. CTS and ACK are sent SIFS after the frame that they answer, whatever is on the
//! air, but a CTS only if the NAV of its sender allows it (clause 9.3.2.6). A station that senses frames and does not
//! understand them waits for EIFS, unless they began at the same instant. This does not hold for frames during which it
//! sent. A station that understood an RTS, and senses nothing when the data should begin, resets the NAV that the RTS
//! set (clause 9.3.2.4). No station understands a data frame that noise spoils.

mod backoffs;
mod frames;

use std::collections::VecDeque;

use units::{Span, Time};

use self::backoffs::Backoffs;
use self::frames::{Frame, Part, Spoilt};
use super::{AfterCollision, Counter, Medium, MediumSettings, Packet, Shot};
use crate::medium::room::Reports;
use crate::medium::{Attempt, Fate, Listener};

/// The frames that the stations sense, and their exchanges.
#[derive(Debug)]
pub(super) struct Hidden {
    stations: usize,
    /// For each pair of stations: true if they do not sense each other.
    hidden_pairs: Vec<bool>,
    /// The stations that sense each station.
    sensing: Vec<Vec<u32>>,
    views: Vec<View>,
    /// Stations whose views changed now.
    changed: Vec<u32>,
    /// Stations that understood an RTS, and wait for the data that it announced.
    await_data: Vec<u32>,
    backoffs: Backoffs,
    /// In the order of their starts.
    on_air: Vec<Frame>,
    /// The lists of frames that have ended, to be used again.
    recycled: Vec<Vec<Spoilt>>,
    /// Frames and the like that begin at a certain instant, SIFS after something ended.
    coming: Vec<(Time, Coming)>,
    /// The exchange that each access is sending.
    exchanges: Vec<Option<Exchange>>,
    /// Attempts with their rates in the order of their starts, from number `reported` on: those that go on are `None`.
    attempts: VecDeque<Option<(Attempt, u32)>>,
    reported: u64,
}

/// The medium as a station finds it.
#[derive(Clone, Debug, Default)]
struct View {
    /// Frames that it senses.
    sensed: u32,
    sending: bool,
    /// Since when it neither senses nor sends, if it does neither.
    idle_since: Time,
    /// It did not understand the last frame that it sensed.
    confused: bool,
    /// Until then frames that it understood have the medium.
    nav: Time,
    /// Then the data that an RTS announced should have begun.
    reset_nav_at: Option<Time>,
    /// Until then it waits for a response to its own frame.
    awaits: Time,
    /// Something of this changed now.
    changed: bool,
}

/// A frame or a turn that begins at a certain instant.
#[derive(Clone, Copy, Debug)]
enum Coming {
    /// A frame of the exchange of this access.
    Frame(u32, Part),
    /// The next frame in a TXOP of this access that ends then.
    Next(u32, Time),
}

/// A frame, or an A-MPDU, with the frames before it and the response.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    number: u64,
    shot: Shot,
    start: Time,
    /// The end of the TXOP, where it does not begin with this.
    until: Option<Time>,
    /// The first bit of the data, once it was sent.
    data: Option<Time>,
    data_end: Time,
}

/// How an exchange ended without success.
#[derive(Clone, Copy, Debug)]
struct Failure {
    /// The last bit of the frames sent.
    end: Time,
    /// The data was sent.
    after_data: bool,
    /// A response is awaited in vain.
    timeout: bool,
    /// Other frames at the receiver.
    others: u32,
}

impl Hidden {
    pub(super) fn new(settings: &MediumSettings) -> Self {
        let stations = settings.stations.len();
        let mut hidden_pairs = vec![false; stations * stations];
        for &[one, other] in &settings.hidden {
            let [one, other] = [one, other].map(|station| station as usize);
            hidden_pairs[one * stations + other] = true;
            hidden_pairs[other * stations + one] = true;
        }
        let senses = |station: &u32, sender: usize| {
            let station = *station as usize;
            station != sender && !hidden_pairs[station * stations + sender]
        };
        let of = |sender| (0..stations as u32).filter(|station| senses(station, sender)).collect();
        Self {
            stations,
            sensing: (0..stations).map(of).collect(),
            hidden_pairs,
            views: vec![View::default(); stations],
            changed: Vec::new(),
            await_data: Vec::new(),
            backoffs: Backoffs::new(settings),
            on_air: Vec::new(),
            recycled: Vec::new(),
            coming: Vec::new(),
            exchanges: vec![None; settings.accesses.len()],
            attempts: VecDeque::new(),
            reported: 0,
        }
    }

    fn senses(&self, station: u32, sender: u32) -> bool {
        station != sender && !self.hidden_pairs[station as usize * self.stations + sender as usize]
    }

    fn view(&mut self, station: u32) -> &mut View {
        &mut self.views[station as usize]
    }

    /// Stations that wait for data in vain `now` reset the NAV that an RTS set.
    fn reset_navs(&mut self, now: Time) {
        let mut waiting = std::mem::take(&mut self.await_data);
        waiting.retain(|&station| {
            let reset_nav_at = self.view(station).reset_nav_at;
            if reset_nav_at.is_some_and(|at| at <= now) {
                let view = self.change(station);
                (view.nav, view.reset_nav_at) = (now, None);
            }
            reset_nav_at.is_some_and(|at| at > now)
        });
        self.await_data = waiting;
    }

    /// The view of `station` changes now.
    fn change(&mut self, station: u32) -> &mut View {
        let view = &mut self.views[station as usize];
        if !view.changed {
            view.changed = true;
            self.changed.push(station);
        }
        view
    }

    /// Hands over the attempts whose fate is known, if the fate of all before them is known too.
    fn report<P>(&mut self, number: u64, attempt: Attempt, kbit: u32, out: &mut impl Listener<P>) {
        self.attempts[(number - self.reported) as usize] = Some((attempt, kbit));
        while let Some(Some((attempt, kbit))) = self.attempts.front() {
            out.attempt(attempt, *kbit);
            self.attempts.pop_front();
            self.reported += 1;
        }
    }
}

impl View {
    fn is_busy(&self) -> bool {
        self.sending || self.sensed > 0
    }

    /// From when on the medium is idle, where it is not busy.
    fn idle_from(&self, eifs_excess: Span) -> Time {
        let confusion = if self.confused { eifs_excess } else { Span::ZERO };
        (self.idle_since + confusion).max(self.nav).max(self.awaits)
    }
}

impl<P: Packet> Medium<P> {
    /// The excess of EIFS over DIFS for a station that did not understand a frame.
    fn confusion(&self) -> Span {
        match self.rules.conventions.after_collision {
            AfterCollision::Difs => Span::ZERO,
            AfterCollision::Undetected | AfterCollision::Standard | AfterCollision::Eifs => self.rules.eifs_excess,
        }
    }

    /// `access`, which was not on the air and had nothing to send, has now.
    pub(super) fn contend_hidden(&mut self, now: Time, access: u32) {
        let (slot, confusion) = (self.phy.slot, self.confusion());
        let Some(hidden) = self.hidden.as_deref_mut() else { return };
        let contender = &self.accesses[access as usize];
        let view = &hidden.views[contender.station as usize];
        let from = view.idle_from(confusion) + contender.ifs;
        let busy = view.is_busy();
        let at_once = !busy && now >= from && self.rules.conventions.immediate_access;
        let left = if at_once { 0 } else { contender.draw(&mut self.backoffs) };
        let counter = match hidden.backoffs.of(access) {
            // The backoff after its last frame goes on.
            Some(counter) if busy || counter.due(slot) > now => Counter { ready: true, ..counter },
            _ => Counter { access, left, ready: true, from: from.max(now) },
        };
        hidden.backoffs.set(counter, busy, slot);
        self.plan();
    }

    /// The next instant at which something happens.
    fn plan(&mut self) {
        let Some(hidden) = self.hidden.as_deref() else { return };
        let frames = hidden.on_air.iter().map(|frame| frame.end);
        let coming = hidden.coming.iter().map(|(at, _)| *at);
        let resets = hidden.await_data.iter().filter_map(|station| hidden.views[*station as usize].reset_nav_at);
        let next = frames.chain(coming).chain(resets).min().unwrap_or(Time::NEVER);
        self.next = next.min(hidden.backoffs.next());
    }

    /// Everything of the instant `now`: frames that end, then frames that begin, by the frames sensed before.
    pub(super) fn step(&mut self, now: Time, out: &mut impl Listener<P>) {
        let Some(mut hidden) = self.hidden.take() else { return };
        self.end_frames(now, &mut hidden, out);
        hidden.reset_navs(now);
        self.count_on(&mut hidden);
        self.begin_frames(now, &mut hidden, out);
        self.hidden = Some(hidden);
        self.plan();
    }

    /// Who became idle counts from when its interframe space is over.
    fn count_on(&self, hidden: &mut Hidden) {
        let (slot, confusion) = (self.phy.slot, self.confusion());
        for station in hidden.changed.drain(..) {
            let view = &mut hidden.views[station as usize];
            view.changed = false;
            if !view.is_busy() {
                let idle = view.idle_from(confusion);
                hidden.backoffs.go_on(station, slot, |access| idle + self.accesses[access as usize].ifs);
            }
        }
    }

    /// Begins the frames of the accesses whose turn it is, and those due SIFS after another.
    fn begin_frames(&mut self, now: Time, hidden: &mut Hidden, out: &mut impl Listener<P>) {
        let mut frames = Vec::new();
        let mut next = Vec::new();
        hidden.coming.retain(|(at, coming)| {
            match coming {
                _ if *at > now => return true,
                Coming::Frame(access, part) => frames.push((*access, *part)),
                Coming::Next(access, until) => next.push((*access, *until)),
            }
            false
        });
        for (access, until) in next {
            if let Some(part) = self.go_on_hidden(now, (access, until), hidden, out) {
                frames.push((access, part));
            }
        }
        hidden.backoffs.end(now, &mut self.senders);
        let losers = self.resolve_within_stations();
        for access in std::mem::take(&mut self.senders) {
            frames.push((access, self.open(now, (access, None), hidden, out)));
        }
        for (access, part) in frames {
            self.begin(now, (access, part), hidden);
        }
        for access in losers {
            let counter = self.lose_turn(now, access, out);
            hidden.backoffs.set(counter, true, self.phy.slot);
        }
    }

    /// `access` begins an exchange, its first or one that follows in a TXOP that ends `until`: gives the first frame.
    fn open(
        &mut self,
        now: Time,
        (access, until): (u32, Option<Time>),
        hidden: &mut Hidden,
        out: &mut impl Listener<P>,
    ) -> Part {
        let shot = self.aim(now, access, until, out);
        self.accesses[access as usize].on_air = true;
        let number = hidden.reported + hidden.attempts.len() as u64;
        hidden.attempts.push_back(None);
        let exchange = Exchange { number, shot, start: now, until, data: None, data_end: now };
        hidden.exchanges[access as usize] = Some(exchange);
        if shot.lead.is_zero() { Part::after_cts_to_self(&shot) } else { Part::CtsToSelf }
    }

    /// The holder of a TXOP sends on, or leaves the medium to all.
    fn go_on_hidden(
        &mut self,
        now: Time,
        (access, until): (u32, Time),
        hidden: &mut Hidden,
        out: &mut impl Listener<P>,
    ) -> Option<Part> {
        self.accesses[access as usize].pull(now, &mut Reports { access, listener: out });
        if !self.accesses[access as usize].sending.is_empty() && self.fits(now, access, until) {
            return Some(self.open(now, (access, Some(until)), hidden, out));
        }
        self.close(now, access, hidden, out);
        None
    }

    /// The exchange of `access` succeeded with so many frames acknowledged. The response ended `now`.
    fn succeed_hidden(&mut self, now: Time, access: u32, hidden: &mut Hidden, out: &mut impl Listener<P>) {
        let Some(exchange) = hidden.exchanges[access as usize].take() else { return };
        let shot = &exchange.shot;
        let contender = &mut self.accesses[access as usize];
        let acknowledged = contender.learn();
        let lost = shot.frames > acknowledged;
        contender.succeed(lost, &self.rules.retries, exchange.data_end, &mut Reports { access, listener: out });
        let fate = Fate::Acknowledged;
        let span = (exchange.data.unwrap_or(now), now);
        let attempt = shot.attempt(access, exchange.start, span, acknowledged, fate);
        self.charge(&attempt);
        hidden.report(exchange.number, attempt, self.kbit(shot.mode), out);
        self.report(exchange.start, access, shot, acknowledged, true);
        let until = exchange.until.unwrap_or(exchange.start + self.accesses[access as usize].txop);
        if now + self.phy.sifs < until {
            hidden.coming.push((now + self.phy.sifs, Coming::Next(access, until)));
        } else {
            self.close(now, access, hidden, out);
        }
    }

    /// The exchange of `access` failed.
    fn fail_hidden(
        &mut self,
        now: Time,
        access: u32,
        failure: Failure,
        hidden: &mut Hidden,
        out: &mut impl Listener<P>,
    ) {
        let Some(exchange) = hidden.exchanges[access as usize].take() else { return };
        let shot = &exchange.shot;
        let contender = &mut self.accesses[access as usize];
        let behind_rts = failure.after_data && !shot.rts.is_zero();
        let mut reports = Reports { access, listener: &mut *out };
        let last = contender.fail(behind_rts, &self.rules.retries, failure.end, &mut reports);
        let station = contender.station;
        let fate = match failure.others {
            0 => Fate::Error,
            others => Fate::Collision(1 + others),
        };
        let span = (exchange.data.unwrap_or(failure.end), failure.end);
        let attempt = shot.attempt(access, exchange.start, span, 0, fate);
        self.charge(&attempt);
        hidden.report(exchange.number, attempt, self.kbit(shot.mode), out);
        self.report(exchange.start, access, shot, 0, last);
        hidden.view(station).awaits = match self.rules.conventions.after_collision {
            AfterCollision::Undetected | AfterCollision::Standard if failure.timeout => now + shot.timeout,
            AfterCollision::Eifs => now + self.rules.eifs_excess,
            AfterCollision::Undetected | AfterCollision::Standard | AfterCollision::Difs => now,
        };
        self.close(now, access, hidden, out);
    }

    /// `access` has sent, and draws a backoff.
    fn close(&mut self, now: Time, access: u32, hidden: &mut Hidden, out: &mut impl Listener<P>) {
        let confusion = self.confusion();
        let contender = &mut self.accesses[access as usize];
        contender.on_air = false;
        let left = contender.draw(&mut self.backoffs);
        contender.pull(now, &mut Reports { access, listener: out });
        let ready = !contender.sending.is_empty();
        let view = hidden.change(contender.station);
        let (from, busy) = (view.idle_from(confusion) + contender.ifs, view.is_busy());
        hidden.backoffs.set(Counter { access, left, ready, from }, busy, self.phy.slot);
    }
}
