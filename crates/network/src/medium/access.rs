//! One contender for the medium: its queue, its frames being sent, and its contention window.

use std::collections::VecDeque;

use units::{Bytes, Random, Span, Time};

use super::errors::Loss;
use super::phy::{DSSS_CW_MIN, Phy};
use super::room::{Addressed, Reports};
use super::rooms::Rooms;
use super::settings::{AccessSettings, MediumSettings};
use super::{ACCESS_POINT, Listener};
use crate::{Discard, Packet, Service};

/// Header (24 bytes), FCS (4 bytes) and LLC/SNAP (8 bytes) of a data frame. A QoS field adds 2.
const OVERHEAD: u32 = 36;
const QOS: u32 = 2;
/// The delimiter before each frame of an A-MPDU.
const DELIMITER: u32 = 4;

/// A packet that is being sent, once or again.
#[derive(Debug)]
pub(crate) struct Mpdu<P> {
    /// Taken out when it is handed over, which may be before its sender knows.
    pub(crate) packet: Option<P>,
    /// Its bytes.
    size: Bytes,
    /// The station it goes to.
    pub(crate) to: u32,
    /// Bytes of the frame.
    pub(crate) bytes: u32,
    /// How long it waited before.
    pub(crate) waited: Span,
    /// It is given up after that.
    until: Time,
    /// Attempts without an RTS, or RTSs, that failed.
    pub(crate) short: u32,
    /// Attempts behind an RTS that failed.
    pub(crate) long: u32,
    /// It is part of the last transmission.
    pub(crate) on_air: bool,
    /// It was acknowledged, and its receiver keeps it until those before it have come.
    pub(crate) received: bool,
    /// It has come, but its sender does not know yet, and may never (only among hidden stations).
    pub(crate) arrived: bool,
}

/// One contender.
#[derive(Debug)]
pub(crate) struct Access<P> {
    pub(crate) station: u32,
    pub(crate) priority: u8,
    /// AIFS.
    pub(crate) ifs: Span,
    pub(crate) rooms: Rooms<P>,
    /// In order: all to one station. More than one only in A-MPDUs.
    pub(crate) sending: VecDeque<Mpdu<P>>,
    cw_min: u32,
    cw_max: u32,
    cw: u32,
    /// Failed transmissions in a row, whatever became of the frames (SSRC), and failed ones behind an RTS (SLRC).
    failures: [u32; 2],
    overhead: u32,
    /// How long after their arrival packets are given up.
    lifetime: Option<Span>,
    /// Its frame is on the air.
    pub(crate) on_air: bool,
    /// How long it may send when its turn comes, or zero for one exchange.
    pub(crate) txop: Span,
    /// The rate that was chosen for its next frame, which did not fit into the TXOP.
    pub(crate) chosen: Option<u8>,
}

/// The most that an A-MPDU takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub(crate) frames: u32,
    pub(crate) bytes: u32,
}

impl<P: Packet> Access<P> {
    pub(crate) fn new(settings: &AccessSettings, medium: &MediumSettings, phy: &Phy, random: Random) -> Self {
        let category = &settings.category;
        let dsss = medium.stations.get(settings.station as usize).is_some_and(|station| station.dsss);
        let cw_min = category.cw_min.unwrap_or(if dsss { DSSS_CW_MIN } else { phy.cw_min });
        let nominal = Service::Fixed(phy.modes[usize::from(phy.fastest())].rate());
        let rooms = if medium.airtime_fairness && settings.station == ACCESS_POINT {
            Rooms::by_station(medium.stations.len(), settings.queue, &nominal, random)
        } else {
            Rooms::one(settings.queue, &nominal, random)
        };
        Self {
            station: settings.station,
            priority: category.priority,
            ifs: phy.sifs + phy.slot * u64::from(category.aifsn),
            rooms,
            sending: VecDeque::new(),
            cw_min,
            cw_max: category.cw_max.unwrap_or(phy.cw_max),
            cw: cw_min,
            failures: [0; 2],
            overhead: OVERHEAD + if medium.qos { QOS } else { 0 },
            lifetime: medium.lifetime,
            on_air: false,
            txop: category.txop,
            chosen: None,
        }
    }

    /// True if there is something to send.
    #[inline]
    pub(crate) fn has_frames(&self) -> bool {
        !self.sending.is_empty() || !self.rooms.is_empty()
    }

    /// The packets and bytes that count as in service.
    pub(crate) fn in_service(&self) -> (u32, Bytes) {
        self.being_sent().chain(self.rooms.next()).fold((0, Bytes::ZERO), counted)
    }

    /// The sizes of the packets being sent, which their receiver has not.
    fn being_sent(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.sending.iter().filter(|frame| frame.packet.is_some()).map(|frame| frame.size)
    }

    /// Takes a packet to wait, or drops it.
    pub(crate) fn offer(&mut self, now: Time, packet: Addressed<P>, out: &mut Reports<'_, impl Listener<P>>) {
        let others = self.rooms.are_apart() && self.sending.front().is_some_and(|first| first.to != packet.to);
        let sent = self.being_sent().filter(|_| !others);
        let in_service = sent.chain(self.rooms.next_for(packet.to)).fold((0, Bytes::ZERO), counted);
        self.rooms.offer(now, packet, in_service, out);
    }

    /// Takes the next packet from the queue, if nothing is being sent.
    #[inline]
    pub(crate) fn pull(&mut self, now: Time, out: &mut Reports<'_, impl Listener<P>>) {
        while self.sending.is_empty()
            && let Some((packet, arrived)) = self.rooms.pop(now, out)
        {
            self.serve(now, packet, arrived, out);
        }
    }

    /// Puts together the next A-MPDU: of frames that were sent before and did not arrive, and of more packets for the
    /// same station, as many as `most` allows, but at least one. Gives their number.
    pub(crate) fn gather(&mut self, now: Time, most: Most, out: &mut Reports<'_, impl Listener<P>>) -> u32 {
        let (mut frames, mut bytes, mut full) = (0, 0, false);
        let again = self.sending.iter().any(|frame| frame.received || frame.short + frame.long > 0);
        for frame in &mut self.sending {
            let length = padded(frame.bytes);
            full |= !frame.received && frames > 0 && bytes + length > most.bytes;
            frame.on_air = !frame.received && !full;
            if frame.on_air {
                (frames, bytes) = (frames + 1, bytes + length);
            }
        }
        // Frames that go again take others with them as long as the turn of the station lasts.
        let to = self.sending.front().map(|first| first.to);
        if let Some(to) = to.filter(|to| !full && (!again || self.rooms.turn_lasts(*to))) {
            self.take_more(now, to, most, bytes, out);
        }
        self.sending.iter().filter(|frame| frame.on_air).count() as u32
    }

    /// Takes more packets for station `to` into the A-MPDU of so many `bytes`.
    fn take_more(&mut self, now: Time, to: u32, most: Most, mut bytes: u32, out: &mut Reports<'_, impl Listener<P>>) {
        let overhead = self.overhead;
        let length = |packet: &P| padded(packet.size().get() as u32 + overhead);
        while (self.sending.len() as u32) < most.frames {
            let fits = |packet: &P| bytes + length(packet) <= most.bytes;
            let Some((packet, arrived)) = self.rooms.pop_for(now, to, fits, out) else { return };
            let length = length(&packet.packet);
            if self.serve(now, packet, arrived, out) {
                bytes += length;
            }
        }
    }

    /// Takes a packet out of the queue to be sent, unless its time is over: whether it is.
    fn serve(
        &mut self,
        now: Time,
        Addressed { packet, to }: Addressed<P>,
        arrived: Time,
        out: &mut Reports<'_, impl Listener<P>>,
    ) -> bool {
        let (queued, waited) = (self.rooms.packets(), now.since(arrived));
        if self.lifetime.is_some_and(|lifetime| waited > lifetime) {
            out.listener.discard(out.access, packet, now, Discard::Head, queued);
            return false;
        }
        out.listener.serve(out.access, &packet, now, waited, queued);
        let size = packet.size();
        self.sending.push_back(Mpdu {
            packet: Some(packet),
            size,
            to,
            bytes: size.get() as u32 + self.overhead,
            waited,
            until: self.lifetime.map_or(Time::NEVER, |lifetime| arrived + lifetime),
            short: 0,
            long: 0,
            on_air: true,
            received: false,
            arrived: false,
        });
        true
    }

    /// The next transmission is the first frame alone.
    pub(crate) fn put_first_on_air(&mut self) {
        for (index, frame) in self.sending.iter_mut().enumerate() {
            frame.on_air = index == 0;
        }
    }

    /// Bytes of the A-MPDU that is sent.
    pub(crate) fn aggregate_bytes(&self) -> u32 {
        self.sending.iter().filter(|frame| frame.on_air).map(|frame| padded(frame.bytes)).sum()
    }

    /// A backoff from the window.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> u32 {
        (random.uniform() * f64::from(self.cw + 1)) as u32
    }

    /// Marks the frames of the transmission that arrive under errors of `loss`. Returns their number.
    pub(crate) fn receive(&mut self, loss: Loss, random: &mut Random) -> u32 {
        let mut received = 0;
        for frame in self.sending.iter_mut().filter(|frame| frame.on_air) {
            frame.received = !random.happens(loss.of(frame.bytes));
            received += u32::from(frame.received);
        }
        received
    }

    /// A response came. If `lost`, it is a block ACK that does not name all frames. The transmission ended `at`.
    pub(crate) fn succeed(
        &mut self,
        lost: bool,
        limits: &RetryLimits,
        at: Time,
        out: &mut Reports<'_, impl Listener<P>>,
    ) {
        self.cw = self.cw_min;
        self.failures = [0; 2];
        if lost {
            let missing = self.sending.iter_mut().filter(|frame| frame.on_air && !frame.received);
            missing.for_each(|frame| frame.short += 1);
            self.drop_exhausted(limits, at, out);
        }
        self.release(at, out);
    }

    /// No response came, behind an RTS that was answered or not. True if frames were dropped.
    pub(crate) fn fail(
        &mut self,
        behind_rts: bool,
        limits: &RetryLimits,
        at: Time,
        out: &mut Reports<'_, impl Listener<P>>,
    ) -> bool {
        self.cw = (2 * self.cw + 1).min(self.cw_max);
        for frame in self.sending.iter_mut().filter(|frame| frame.on_air && !frame.received) {
            *(if behind_rts { &mut frame.long } else { &mut frame.short }) += 1;
        }
        let failures = &mut self.failures[usize::from(behind_rts)];
        *failures += 1;
        // The station's own counter resets the window once, and then goes on until a success (802.11-2020, 10.3.3).
        let reaches = *failures == if behind_rts { limits.long } else { limits.short };
        let drops = |frame: &Mpdu<P>| !frame.received && limits.are_reached(frame);
        if reaches || (limits.reset_after_drop && self.sending.iter().any(drops)) {
            self.cw = self.cw_min;
        }
        let dropped = self.drop_exhausted(limits, at, out);
        if dropped {
            self.release(at, out);
        }
        dropped
    }

    /// A transmission that ended `at` arrives under errors of `loss`, unknown to the sender: gives how many frames did.
    /// The receiver knows those it already has by their numbers.
    pub(crate) fn arrive(
        &mut self,
        loss: Loss,
        random: &mut Random,
        at: Time,
        out: &mut Reports<'_, impl Listener<P>>,
    ) -> u32 {
        let mut understood = 0;
        for frame in self.sending.iter_mut().filter(|frame| frame.on_air && !frame.received) {
            if !random.happens(loss.of(frame.bytes)) {
                understood += 1;
                frame.arrived = true;
            }
        }
        self.release(at, out);
        understood
    }

    /// The sender learns from the response which frames arrived. Returns how many of the last transmission did.
    pub(crate) fn learn(&mut self) -> u32 {
        let mut learnt = 0;
        for frame in self.sending.iter_mut().filter(|frame| frame.arrived && !frame.received) {
            frame.received = true;
            learnt += u32::from(frame.on_air);
        }
        learnt
    }

    /// Hands over the packets that have arrived in order, and forgets the frames whose arrival the sender knows.
    fn release(&mut self, at: Time, out: &mut Reports<'_, impl Listener<P>>) {
        for frame in self.sending.iter_mut().take_while(|frame| frame.received || frame.arrived) {
            if let Some(packet) = frame.packet.take() {
                out.listener.deliver(out.access, packet, frame.waited, at);
            }
        }
        while self.sending.front().is_some_and(|first| first.received) {
            self.sending.pop_front();
        }
    }

    /// Drops frames that were sent as often, or as long, as is allowed. True if there was any.
    fn drop_exhausted(&mut self, limits: &RetryLimits, at: Time, out: &mut Reports<'_, impl Listener<P>>) -> bool {
        let queued = self.rooms.packets();
        let exhausted = |frame: &Mpdu<P>| !frame.received && (limits.are_reached(frame) || at > frame.until);
        let mut dropped = false;
        while let Some(index) = self.sending.iter().position(exhausted) {
            dropped = true;
            let frame = &mut self.sending[index];
            if frame.arrived {
                // Given up by its sender alone.
                frame.received = true;
            } else if let Some(packet) = self.sending.remove(index).and_then(|frame| frame.packet) {
                out.listener.discard(out.access, packet, at, Discard::Retries, queued);
            }
        }
        dropped
    }
}

/// How often frames are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryLimits {
    pub(crate) short: u32,
    pub(crate) long: u32,
    pub(crate) reset_after_drop: bool,
}

impl RetryLimits {
    fn are_reached<P>(&self, frame: &Mpdu<P>) -> bool {
        frame.short >= self.short || frame.long >= self.long
    }
}

/// One more packet of `size`.
fn counted((packets, bytes): (u32, Bytes), size: Bytes) -> (u32, Bytes) {
    (packets + 1, bytes + size)
}

/// The bytes of a frame within an A-MPDU.
fn padded(bytes: u32) -> u32 {
    DELIMITER + bytes.next_multiple_of(4)
}

#[cfg(test)]
mod tests;
