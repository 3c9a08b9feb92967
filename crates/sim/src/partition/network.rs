//! A partition of links alone: it takes what senders and receivers offer, in the order of one clock.

use units::Time;

use super::Partition;
use crate::agents::Agents;
use crate::packet::Packet;
use crate::recorder::Stamp;

/// A packet for a link of another partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub(crate) at: Time,
    /// The place of its cause among the causes of its instant.
    pub(crate) rank: u32,
    pub(crate) packet: Packet,
}

/// Offers of one other partition, in order.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    offers: Vec<Offer>,
    /// How many of those are taken.
    taken: usize,
    /// How many were taken before.
    before: u64,
}

/// When something happens, and its place among the causes of this instant.
type Key = (Time, u32);

const NEVER: Key = (Time::NEVER, u32::MAX);

impl Inbox {
    /// Takes over the `offers` of the other partition.
    pub(crate) fn fill(&mut self, offers: &mut Vec<Offer>) {
        if self.taken == self.offers.len() {
            self.before += self.taken as u64;
            self.taken = 0;
            self.offers.clear();
            std::mem::swap(&mut self.offers, offers);
        } else {
            self.before += self.taken as u64;
            self.offers.drain(..std::mem::take(&mut self.taken));
            self.offers.append(offers);
        }
    }

    /// The key of the first offer.
    #[inline]
    pub(super) fn first(&self) -> Key {
        self.offers.get(self.taken).map_or(NEVER, |offer| (offer.at, offer.rank))
    }
}

impl<A: Agents> Partition<'_, A> {
    /// Takes all offers of before `end`, and moves packets that arrive on wires between links, stage by stage. Then the
    /// links are at `end`.
    pub(super) fn run_network(&mut self, end: Time) {
        // A service that starts at `end` itself is not past.
        let before = Time::from_nanos(end.as_nanos().saturating_sub(1));
        self.take_offers(end);
        self.fabric.advance_stage(before, &mut self.endpoints);
        for stage in 1..self.fabric.stages() {
            self.fabric.turn_to(stage);
            self.fabric.take_arrivals(end, &mut self.endpoints, |endpoints, now, wire| {
                let stamp = &mut endpoints.recorder.stamp;
                self.events += u64::from((stamp.at, stamp.rank) != (now, wire));
                (stamp.at, stamp.rank) = (now, wire);
            });
            self.fabric.advance_stage(before, &mut self.endpoints);
        }
        self.fabric.turn_to(0);
    }

    /// Takes all offers of before `end`, and moves packets that arrive at the same links on wires.
    fn take_offers(&mut self, end: Time) {
        let Some(mut inboxes) = self.inboxes.take() else { return };
        loop {
            let own = self.next_own();
            let [first, second] = [inboxes[0].first(), inboxes[1].first()];
            if own.min(first).min(second).0 >= end {
                break;
            }
            if own < first && own < second {
                self.events += 1;
                self.move_traffic(own.0);
            } else if first < second {
                self.take_run(&mut inboxes[0], second.min((end, 0)));
            } else {
                self.take_run(&mut inboxes[1], first.min((end, 0)));
            }
        }
        self.inboxes = Some(inboxes);
    }

    /// When something happens here next without an offer.
    #[inline]
    fn next_own(&self) -> Key {
        (self.fabric.next(), self.fabric.next_slot())
    }

    /// Takes the first offer of `inbox`, and those after it before `end`, until something else happens here.
    #[inline]
    fn take_run(&mut self, inbox: &mut Inbox, end: Key) {
        let mut offers = inbox.offers[inbox.taken..].iter();
        let mut number = 2 * (inbox.before + inbox.taken as u64);
        self.fabric.forward_all(&mut self.endpoints, |endpoints, own| {
            let &Offer { at, rank, packet } = offers.as_slice().first()?;
            if (at, rank) >= end || own.0 <= at && own < (at, rank) {
                return None;
            }
            offers.next();
            number += 2;
            endpoints.recorder.stamp = Stamp { at, rank, number };
            Some((at, packet))
        });
        inbox.taken = inbox.offers.len() - offers.len();
    }
}
