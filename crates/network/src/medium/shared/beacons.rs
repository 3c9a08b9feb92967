//! Beacons of the access point (clause 10.1.3.2): the next frame at each target time, in the grid of the interval.
//!
//! They go to all at the lowest basic rate: nobody answers, and none is sent again. Access points send them PIFS after
//! the medium became idle and without a backoff (AIFSN 1 and a window of 0, in drivers as in ns-3), so that they go
//! before all that waits. A frame that begins at the same instant goes first.

use units::{Span, Time};

use super::Medium;
use crate::Packet;
use crate::medium::phy::Phy;

/// Bytes of a beacon with FCS: header, fixed fields, and the elements of a home's access point.
pub(super) const BEACON: u32 = 200;

/// The beacons of a medium.
#[derive(Debug)]
pub(super) struct Beacons {
    interval: Span,
    /// The target time of the next one.
    target: Time,
    airtime: Span,
    /// For how long the medium is idle before one.
    pifs: Span,
}

impl Beacons {
    pub(super) fn new(interval: Span, phy: &Phy) -> Self {
        let airtime = phy.beacon(BEACON);
        Self { interval, target: Time::ZERO + interval, airtime, pifs: phy.sifs + phy.slot }
    }
}

impl<P: Packet> Medium<P> {
    /// When the next beacon goes, as far as is known now.
    pub(super) fn beacon_due(&self) -> Time {
        let due = |beacons: &Beacons| beacons.target.max(self.busy_until.max(self.idle_from) + beacons.pifs);
        self.beacons.as_ref().map_or(Time::NEVER, due)
    }

    /// Sends a beacon at `now`, if one is due and nobody else begins to send: whether it did.
    pub(super) fn send_beacon(&mut self, now: Time) -> bool {
        let slot = self.phy.slot;
        let due = self.beacon_due() <= now;
        if !due || self.counting.iter().any(|counter| counter.ready && counter.due(slot) <= now) {
            return false;
        }
        let Some(beacons) = &mut self.beacons else { return false };
        beacons.target += beacons.interval;
        let end = now + beacons.airtime;
        self.count(now);
        self.idle_for_senders.clear();
        (self.busy_until, self.idle_from) = (end, end);
        self.resume(end);
        true
    }
}
