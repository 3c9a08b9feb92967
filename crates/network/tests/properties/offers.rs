//! Packets offered to a link, and everything that can be seen of it.

use network::{Departure, Discard, Egress, Link, LinkSettings, Packet};
use units::{Bytes, Ecn, Random, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) number: usize,
    pub(crate) flow: u32,
    pub(crate) size: Bytes,
    pub(crate) ecn: bool,
    pub(crate) marked: bool,
}

impl Packet for Parcel {
    fn size(&self) -> Bytes {
        self.size
    }
    fn ecn(&self) -> Ecn {
        if self.ecn { Ecn::Ect0 } else { Ecn::NotCapable }
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn mark_congestion(&mut self) {
        self.marked = true;
    }
    fn clear_ecn(&mut self) {
        self.marked = false;
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Time,
    pub(crate) parcel: Parcel,
}

/// The outcome for a packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Taken { marked: bool },
    Lost,
    Dropped,
}

/// Everything that can be seen of a link.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Run {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) departures: Vec<(Parcel, Departure)>,
    /// Which offer it was dropped for, and when that was.
    pub(crate) evicted: Vec<(Parcel, usize, Time)>,
    /// Dropped when its turn came.
    pub(crate) dropped_at_head: Vec<(Parcel, Time)>,
    pub(crate) waiting: usize,
    /// The number of the packet being offered.
    pub(crate) offered: usize,
}

impl Egress<Parcel> for Run {
    fn take(&mut self, _packet: &Parcel, _at: Time, marked: bool, _queued: u32) {
        self.verdicts.push(Verdict::Taken { marked });
    }
    fn depart(&mut self, packet: Parcel, departure: Departure) {
        self.departures.push((packet, departure));
    }
    fn discard(&mut self, packet: Parcel, at: Time, why: Discard, _queued: u32) {
        match why {
            Discard::Lost => self.verdicts.push(Verdict::Lost),
            Discard::Full | Discard::Early => self.verdicts.push(Verdict::Dropped),
            Discard::Evicted => self.evicted.push((packet, self.offered, at)),
            Discard::Head => self.dropped_at_head.push((packet, at)),
            Discard::Retries => unreachable!("no link here sends a packet again"),
        }
    }
}

pub(crate) fn streams(seed: u64) -> [Random; 2] {
    ["loss", "queue"].map(|name| Random::stream(seed, name, 0))
}

/// Offers the arrivals. Between them the link advances to `wakes`, of which all are in order.
pub(crate) fn run(settings: &LinkSettings, arrivals: &[Arrival], wakes: &[Time], seed: u64) -> Run {
    let [losses, queue] = streams(seed);
    let mut link = Link::new(settings.clone(), losses, queue);
    let mut run = Run::default();
    let mut wakes = wakes.iter().peekable();
    for &Arrival { at, parcel } in arrivals {
        while let Some(&wake) = wakes.next_if(|&&wake| wake <= at) {
            link.advance(wake, &mut run);
        }
        run.offered = parcel.number;
        link.offer(at, parcel, &mut run);
    }
    wakes.for_each(|&wake| link.advance(wake, &mut run));
    link.advance(Time::NEVER, &mut run);
    run.waiting = link.queued_packets() as usize;
    run
}
