//! TXOPs (clause 9.19.2.4): a station whose turn has come sends frame after frame, SIFS after the ACK of the one
//! before, as long as its category may.
//!
//! An exchange that would end after the limit is not begun, but for the first. After a frame that was not acknowledged
//! the TXOP is over and a backoff follows (the standard also allows to go on after PIFS).

use units::{Span, Time};

use super::Medium;
use crate::Packet;
use crate::medium::Listener;
use crate::medium::room::Reports;

/// A TXOP that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    pub(super) access: u32,
    /// It ends.
    until: Time,
}

impl<P: Packet> Medium<P> {
    /// True if `access`, whose frames on the air are acknowledged, may send on within a TXOP that ends `until`. Its
    /// queue is looked at SIFS after the ACK.
    pub(super) fn may_go_on(&mut self, access: u32, until: Time) -> bool {
        let goes_on = self.busy_until + self.phy.sifs < until;
        if goes_on {
            self.accesses[access as usize].on_air = true;
            self.burst = Some(Burst { access, until });
        }
        goes_on
    }

    /// The holder of a TXOP sends on, or leaves the medium to all.
    pub(super) fn go_on(&mut self, now: Time, burst: Burst, out: &mut impl Listener<P>) {
        let Burst { access, until } = burst;
        let contender = &mut self.accesses[access as usize];
        contender.pull(now, &mut Reports { access, listener: out });
        if !contender.sending.is_empty() && self.fits(now, access, until) {
            self.senders.push(access);
            self.idle_from = self.send_alone(now, access, Some(until), out);
            return self.resume(self.idle_from);
        }
        self.count_again(access, self.idle_from);
        self.accesses[access as usize].on_air = false;
        self.schedule();
    }

    /// True if the next frame of `access` and its ACK end before `until`.
    pub(super) fn fits(&mut self, now: Time, access: u32, until: Time) -> bool {
        let mode = self.choose(now, access);
        let contender = &mut self.accesses[access as usize];
        contender.chosen = Some(mode);
        let Some(first) = contender.sending.front() else { return false };
        let rate = &self.phy.modes[usize::from(mode)];
        now + rate.airtime(first.bytes) + self.phy.sifs + self.phy.ack(mode) <= until
    }

    /// The rate of the next frame of `access`.
    pub(super) fn choose(&mut self, now: Time, access: u32) -> u8 {
        let contender = &self.accesses[access as usize];
        if let Some(mode) = contender.chosen {
            return mode;
        }
        let Some(first) = contender.sending.front() else { return 0 };
        let (to, tries, bytes) = (first.to, first.short + first.long, first.bytes);
        let pair = self.pair(access, to);
        self.pairs[pair].rates.choose(now, tries, bytes, &mut self.backoffs)
    }

    /// How long an A-MPDU at rate `mode` may last so that its block ACK ends within the TXOP, or any time without one.
    pub(super) fn time_left(&self, now: Time, access: u32, mode: u8, until: Option<Time>) -> Span {
        let txop = self.accesses[access as usize].txop;
        if txop.is_zero() {
            return Span::from_secs(1);
        }
        let left = until.unwrap_or(now + txop).since(now);
        left.saturating_sub(self.phy.sifs + self.phy.block_ack(mode))
    }
}
