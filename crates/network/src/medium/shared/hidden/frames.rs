//! Single frames among stations of which some are hidden from each other: which stations sense a frame, which
//! understand it, and the frame that follows.

use units::Time;

use super::{Coming, Exchange, Failure, Hidden};
use crate::Packet;
use crate::medium::Listener;
use crate::medium::room::Reports;
use crate::medium::shared::{AfterCollision, Medium, Shot};

/// The frames of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    CtsToSelf,
    Rts,
    Cts,
    Data,
    /// An ACK, or a block ACK.
    Response,
}

impl Part {
    /// The first frame of an exchange, or the one after the CTS of its sender to itself.
    pub(super) fn after_cts_to_self(shot: &Shot) -> Self {
        if shot.rts.is_zero() { Self::Data } else { Self::Rts }
    }

    /// True if the receiver of the data sends it.
    fn is_response(self) -> bool {
        matches!(self, Self::Cts | Self::Response)
    }
}

/// A frame on the air.
#[derive(Debug)]
pub(super) struct Frame {
    access: u32,
    part: Part,
    sender: u32,
    receiver: u32,
    start: Time,
    pub(super) end: Time,
    /// Until then it announces that the medium is taken.
    announced: Time,
    /// Then the data that an RTS announces should have begun.
    reset_nav_at: Time,
    /// The disturbances at each station.
    spoilt: Vec<Spoilt>,
}

/// The disturbances that keep a station from understanding a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spoilt {
    /// Other frames that it senses meanwhile.
    others: u32,
    /// It sends meanwhile.
    sends: bool,
    /// Another frame that it senses began at once.
    at_once: bool,
}

impl Spoilt {
    fn is_clear(self) -> bool {
        self.others == 0 && !self.sends
    }
}

impl Frame {
    fn at_receiver(&self) -> Spoilt {
        self.spoilt[self.receiver as usize]
    }

    /// How many other frames there were at the receiver, its own one among them.
    fn others(&self) -> u32 {
        self.at_receiver().others + u32::from(self.at_receiver().sends)
    }
}

impl Hidden {
    /// `frame` begins while others are on the air.
    fn overlap(&mut self, mut frame: Frame) {
        let mut on_air = std::mem::take(&mut self.on_air);
        for other in &mut on_air {
            other.spoilt[frame.sender as usize].sends = true;
            let at_once = other.start == frame.start;
            // Stations in range of both.
            let [few, many] = self.fewer_first(frame.sender, other.sender);
            for &station in &self.sensing[few as usize] {
                if self.senses(station, many) {
                    let spoilt = &mut other.spoilt[station as usize];
                    spoilt.others += 1;
                    spoilt.at_once |= at_once;
                    frame.spoilt[station as usize].at_once |= at_once;
                }
            }
        }
        on_air.push(frame);
        self.on_air = on_air;
    }

    /// Two senders, first the one in range of fewer stations.
    fn fewer_first(&self, one: u32, other: u32) -> [u32; 2] {
        let sensing = |sender: u32| self.sensing[sender as usize].len();
        if sensing(one) < sensing(other) { [one, other] } else { [other, one] }
    }
}

impl<P: Packet> Medium<P> {
    /// `access`, or the receiver of its data, begins to send a `part` of its exchange.
    pub(super) fn begin(&mut self, now: Time, (access, part): (u32, Part), hidden: &mut Hidden) {
        let from = self.accesses[access as usize].station;
        let Some(exchange) = hidden.exchanges[access as usize].as_mut() else { return };
        let Shot { to, lead, rts, before, data, answer, timeout, .. } = exchange.shot;
        let sifs = self.phy.sifs;
        let cts = before.saturating_sub(lead + rts + sifs * 2);
        let airtime = match part {
            Part::CtsToSelf => lead - sifs,
            Part::Rts => rts,
            Part::Cts => cts,
            Part::Data => data,
            Part::Response => answer - sifs,
        };
        let end = now + airtime;
        if part == Part::Data {
            (exchange.data, exchange.data_end) = (Some(now), end);
        }
        let announced = match part {
            Part::Data => end + answer,
            Part::Response => end,
            _ => exchange.start + before + data + answer,
        };
        let (sender, receiver) = if part.is_response() { (to, from) } else { (from, to) };
        let mut spoilt = hidden.recycled.pop().unwrap_or_default();
        spoilt.resize(hidden.stations, Spoilt::default());
        let mut frame = Frame {
            access,
            part,
            sender,
            receiver,
            start: now,
            end,
            announced,
            // SIFS, the CTS, SIFS, two slots, and the preamble by which the data would be noticed.
            reset_nav_at: end + timeout + cts + sifs + self.phy.slot,
            spoilt,
        };
        self.take(now, sender, hidden);
        hidden.view(sender).sending = true;
        let sensing = std::mem::take(&mut hidden.sensing[sender as usize]);
        for &station in &sensing {
            self.take(now, station, hidden);
            let view = hidden.view(station);
            let (others, sends) = (view.sensed, view.sending);
            frame.spoilt[station as usize] = Spoilt { others, sends, at_once: false };
            view.sensed += 1;
            view.reset_nav_at = None;
        }
        hidden.sensing[sender as usize] = sensing;
        hidden.overlap(frame);
    }

    /// `station` finds the medium taken `now`.
    fn take(&self, now: Time, station: u32, hidden: &mut Hidden) {
        if !hidden.views[station as usize].is_busy() {
            hidden.backoffs.stop(now, station, self.phy.slot, u32::from(self.rules.every_slot));
        }
    }

    /// Frames end `now`. Stations learn from them, and the next frames follow.
    pub(super) fn end_frames(&mut self, now: Time, hidden: &mut Hidden, out: &mut impl Listener<P>) {
        if hidden.on_air.iter().all(|frame| frame.end > now) {
            return;
        }
        let mut ended = Vec::new();
        for index in (0..hidden.on_air.len()).rev() {
            if hidden.on_air[index].end <= now {
                ended.push(hidden.on_air.remove(index));
            }
        }
        ended.reverse();
        for frame in &ended {
            let view = hidden.change(frame.sender);
            (view.sending, view.confused, view.idle_since) = (false, false, now);
        }
        for frame in ended {
            let arrived = self.follow(now, &frame, hidden, out);
            self.tell(now, &frame, arrived, hidden);
            hidden.recycled.push(frame.spoilt);
        }
    }

    /// The stations in range of `frame` learn from it if they understand it.
    fn tell(&self, now: Time, frame: &Frame, intact: bool, hidden: &mut Hidden) {
        let convention = self.rules.conventions.after_collision;
        let senders_wait = convention == AfterCollision::Eifs;
        let detected = convention != AfterCollision::Undetected;
        let sensing = std::mem::take(&mut hidden.sensing[frame.sender as usize]);
        for &station in &sensing {
            let spoilt = frame.spoilt[station as usize];
            let understood = spoilt.is_clear() && intact;
            let view = hidden.change(station);
            view.sensed -= 1;
            view.idle_since = now;
            view.confused = if spoilt.sends { senders_wait } else { !understood && (detected || !spoilt.at_once) };
            if understood && station != frame.receiver && frame.announced > view.nav {
                view.nav = frame.announced;
                view.reset_nav_at = (frame.part == Part::Rts).then_some(frame.reset_nav_at);
                if view.reset_nav_at.is_some() {
                    hidden.await_data.push(station);
                }
            }
        }
        hidden.sensing[frame.sender as usize] = sensing;
    }

    /// Starts the successor of `frame`, which ended `now`, in its exchange. True if noise left the frame intact.
    fn follow(&mut self, now: Time, frame: &Frame, hidden: &mut Hidden, out: &mut impl Listener<P>) -> bool {
        let Frame { access, part, .. } = *frame;
        let Some(Exchange { shot, .. }) = hidden.exchanges[access as usize] else { return true };
        let clear = frame.at_receiver().is_clear();
        let fails = |timeout, after_data| Failure { end: now, after_data, timeout, others: frame.others() };
        let (next, failure) = match part {
            Part::CtsToSelf => (Part::after_cts_to_self(&shot), None),
            Part::Rts => {
                let may = clear && hidden.views[frame.receiver as usize].nav <= now;
                (Part::Cts, (!may).then(|| fails(true, false)))
            }
            Part::Cts => (Part::Data, (!clear).then(|| fails(false, false))),
            Part::Data => {
                let intact = !clear || self.arrive(now, access, &shot, out);
                if !intact {
                    self.fail_hidden(now, access, fails(true, true), hidden, out);
                    return false;
                }
                (Part::Response, (!clear).then(|| fails(true, true)))
            }
            Part::Response if clear => {
                self.succeed_hidden(now, access, hidden, out);
                return true;
            }
            Part::Response => (Part::Response, Some(fails(false, true))),
        };
        match failure {
            Some(failure) => self.fail_hidden(now, access, failure, hidden, out),
            None => hidden.coming.push((now + self.phy.sifs, Coming::Frame(access, next))),
        }
        true
    }

    /// The data of `access`, which nothing else spoilt, is received. True if any of it is understood.
    fn arrive(&mut self, now: Time, access: u32, shot: &Shot, out: &mut impl Listener<P>) -> bool {
        let loss = self.pairs[self.pair(access, shot.to)].errors[usize::from(shot.mode)];
        let mut reports = Reports { access, listener: out };
        self.accesses[access as usize].arrive(loss, &mut self.errors, now, &mut reports) > 0
    }
}
