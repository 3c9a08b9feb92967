//! The transmission of a station when its turn comes, and how long each part of it lasts.

use units::{Span, Time};

use super::Medium;
use crate::Packet;
use crate::medium::access::{Most, Mpdu};
use crate::medium::room::Reports;
use crate::medium::{Attempt, Fate, Listener};

/// A frame, or an A-MPDU, with the frames before it and its response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shot {
    pub(super) to: u32,
    pub(super) mode: u8,
    pub(super) bytes: u32,
    /// Bytes of its first frame alone.
    pub(super) first_bytes: u32,
    pub(super) frames: u32,
    /// Attempts at its first frame before this one.
    pub(super) tries: u32,
    /// CTS to itself and SIFS.
    pub(super) lead: Span,
    /// RTS alone; zero without.
    pub(super) rts: Span,
    /// The time from the first bit to the first of the data.
    pub(super) before: Span,
    pub(super) data: Span,
    /// SIFS and the response.
    pub(super) answer: Span,
    /// After which time without a response it counts as failed.
    pub(super) timeout: Span,
}

impl Shot {
    pub(super) fn attempt(
        &self,
        access: u32,
        start: Time,
        (data, end): (Time, Time),
        acknowledged: u32,
        fate: Fate,
    ) -> Attempt {
        let Self { to, mode, bytes, frames, tries, .. } = *self;
        let (rts, retry) = (!self.rts.is_zero(), tries > 0);
        Attempt { access, to, start, data, end, mode, bytes, frames, acknowledged, rts, retry, fate }
    }
}

impl<P: Packet> Medium<P> {
    /// The transmission of `access` now, within a TXOP that ends `until` unless it begins one.
    pub(super) fn aim(&mut self, now: Time, access: u32, until: Option<Time>, out: &mut impl Listener<P>) -> Shot {
        let mode = self.choose(now, access);
        self.accesses[access as usize].chosen = None;
        let left = self.time_left(now, access, mode, until);
        let rate = &self.phy.modes[usize::from(mode)];
        let contender = &mut self.accesses[access as usize];
        let mut aggregate = false;
        if let Some(aggregation) = self.rules.aggregation.filter(|_| rate.modulation.aggregates()) {
            let bytes = aggregation.bytes.min(rate.most_bytes(left.min(aggregation.time)));
            let most = Most { frames: aggregation.frames, bytes };
            aggregate = contender.gather(now, most, &mut Reports { access, listener: out }) > 1;
        } else {
            contender.put_first_on_air();
        }
        let Some(&Mpdu { to, short, long, bytes: first_bytes, .. }) = contender.sending.front() else {
            unreachable!("a station whose turn comes has something to send")
        };
        let sent = contender.sending.iter().filter(|frame| frame.on_air);
        let frames = sent.clone().count() as u32;
        let bytes = if aggregate { contender.aggregate_bytes() } else { sent.map(|frame| frame.bytes).sum() };
        let sifs = self.phy.sifs;
        let lead = self.phy.cts_to_self(mode).map_or(Span::ZERO, |cts| cts + sifs);
        // The first frames of a TXOP protect the later ones.
        let lead = if until.is_some() { Span::ZERO } else { lead };
        let protects = until.is_none() && self.rules.rts_threshold.is_some_and(|threshold| bytes > threshold);
        let (rts, cts) = if protects { self.phy.rts_cts(mode) } else { (Span::ZERO, Span::ZERO) };
        let before = if protects { lead + rts + sifs + cts + sifs } else { lead };
        let response = if aggregate { self.phy.block_ack(mode) } else { self.phy.ack(mode) };
        let (data, answer, timeout) = (rate.airtime(bytes), sifs + response, self.phy.response_timeout(mode));
        Shot { to, mode, bytes, first_bytes, frames, tries: short + long, lead, rts, before, data, answer, timeout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_says_whether_it_has_an_rts_and_repeats_another() {
        let none = Span::ZERO;
        let shot = Shot {
            to: 0,
            mode: 0,
            bytes: 1536,
            first_bytes: 1536,
            frames: 1,
            tries: 0,
            lead: none,
            rts: none,
            before: none,
            data: none,
            answer: none,
            timeout: none,
        };
        let attempt = |shot: Shot| {
            let attempt = shot.attempt(1, Time::ZERO, (Time::ZERO, Time::ZERO), 1, Fate::Acknowledged);
            (attempt.rts, attempt.retry)
        };
        assert_eq!(attempt(shot), (false, false));
        assert_eq!(attempt(Shot { tries: 1, ..shot }), (false, true));
        assert_eq!(attempt(Shot { rts: Span::from_micros(28), ..shot }), (true, false));
    }
}
