//! The tail loss probe (RFC 8985, section 7): one at a time, sent when ACKs stay out, and its fate.

/// The probe of a sender.
#[derive(Clone, Debug, Default)]
pub(super) struct TailProbe {
    /// Boxed: few flows have one.
    in_flight: Option<Box<Probe>>,
}

/// A probe in flight.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Its fate is known once everything below is acknowledged (TLP.end_seq).
    end: u64,
    /// The segment that it sent again, if it did not carry new data.
    repeated: Option<u64>,
}

/// Fate of a probe as an ACK shows it (RFC 8985, section 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing yet, or there is no probe.
    Open,
    /// It was not needed, or carried new data.
    Settled,
    /// This segment was lost, and only the probe repaired that.
    Repaired(u64),
}

impl TailProbe {
    /// The probe has left. `end` is the next new segment, `repeated` the retransmitted one.
    pub(super) fn on_sent(&mut self, end: u64, repeated: Option<u64>) {
        self.in_flight = Some(Box::new(Probe { end, repeated }));
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// The segment that the probe in flight sent again.
    pub(super) fn repeated(&self) -> Option<u64> {
        self.in_flight.as_ref().and_then(|probe| probe.repeated)
    }

    /// Whatever is lost is being repaired otherwise.
    pub(super) fn forget(&mut self) {
        self.in_flight = None;
    }

    /// An ACK for everything below `acknowledged` reports `duplicate` by duplicate SACK. `pure` says that it
    /// acknowledges nothing new and has no SACK block. A probe whose fate is known is forgotten.
    pub(super) fn settle(&mut self, acknowledged: u64, duplicate: Option<u64>, pure: bool) -> Fate {
        let known = self.in_flight.as_deref().copied();
        let Some(probe) = known.filter(|probe| acknowledged >= probe.end) else { return Fate::Open };
        let fate = match probe.repeated {
            None => Fate::Settled,
            // The original arrived as well.
            Some(repeated) if duplicate == Some(repeated) => Fate::Settled,
            Some(repeated) if acknowledged > probe.end => Fate::Repaired(repeated),
            // An ACK for each of original and probe.
            Some(_) if pure => Fate::Settled,
            Some(_) => Fate::Open,
        };
        if fate != Fate::Open {
            self.in_flight = None;
        }
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ack_beyond_the_probe_shows_a_repair() {
        let mut probe = TailProbe::default();
        probe.on_sent(10, Some(9));
        assert_eq!(probe.settle(9, None, false), Fate::Open);
        assert_eq!(probe.settle(10, None, false), Fate::Open, "original or probe");
        assert_eq!(probe.settle(11, None, false), Fate::Repaired(9));
        assert!(!probe.is_in_flight());
        probe.on_sent(10, Some(9));
        assert_eq!(probe.settle(11, Some(9), false), Fate::Settled);
        probe.on_sent(10, Some(9));
        assert_eq!(probe.settle(10, None, true), Fate::Settled);
        probe.on_sent(10, None);
        assert_eq!(probe.settle(10, None, false), Fate::Settled);
    }

    #[test]
    fn a_probe_is_known_by_what_it_sent_again_until_its_fate_is() {
        let mut probe = TailProbe::default();
        assert_eq!((probe.is_in_flight(), probe.repeated()), (false, None));
        probe.on_sent(10, None);
        assert_eq!((probe.is_in_flight(), probe.repeated()), (true, None));
        probe.on_sent(10, Some(9));
        assert_eq!((probe.is_in_flight(), probe.repeated()), (true, Some(9)));
        // A duplicate of another segment says nothing.
        assert_eq!(probe.settle(10, Some(8), false), Fate::Open);
        probe.forget();
        assert_eq!((probe.is_in_flight(), probe.settle(11, None, true)), (false, Fate::Open));
    }
}
