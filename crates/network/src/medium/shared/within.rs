//! The queues of one station: of those whose turn comes at once only one sends (clause 9.19.2.3).

use units::Time;

use super::{Counter, Medium};
use crate::Packet;
use crate::medium::Listener;
use crate::medium::room::Reports;

impl<P: Packet> Medium<P> {
    /// Of a station's queues whose turn has come, lets only the one of the highest priority send. Returns the others.
    pub(super) fn resolve_within_stations(&mut self) -> Vec<u32> {
        let mut losers = Vec::new();
        if self.senders.len() > 1 && self.rules.every_slot {
            let accesses = &self.accesses;
            let rank = |access: u32| (accesses[access as usize].priority, std::cmp::Reverse(access));
            let all = self.senders.clone();
            self.senders.retain(|&access| {
                let station = accesses[access as usize].station;
                let mut rivals = all.iter().filter(|&&rival| accesses[rival as usize].station == station);
                let wins = rivals.all(|&rival| rank(rival) <= rank(access));
                if !wins {
                    losers.push(access);
                }
                wins
            });
        }
        losers
    }

    /// `access` lost its turn to another queue of its station: as after a collision, without a frame on the air. Gives
    /// its next backoff.
    pub(super) fn lose_turn(&mut self, now: Time, access: u32, out: &mut impl Listener<P>) -> Counter {
        let contender = &mut self.accesses[access as usize];
        let mut out = Reports { access, listener: out };
        contender.fail(false, &self.rules.retries, now, &mut out);
        contender.pull(now, &mut out);
        let ready = !contender.sending.is_empty();
        let from = self.idle_from + contender.ifs;
        let left = contender.draw(&mut self.backoffs);
        Counter { access, left, ready, from }
    }
}
