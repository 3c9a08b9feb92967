//! The ledger as a stack sees it.

use stack::{Decisions, Report, Reports};
use units::Time;

use super::{Control, SharedLedger};

impl Reports for SharedLedger {
    fn report(&self, report: &Report, decisions: &Decisions) {
        let ledger = &mut *self.lock();
        if let Control::Stack(known) = &mut ledger.control {
            *known = *decisions;
        }
        let at = Time::from_nanos;
        match *report {
            Report::Sent { now, number, size } => ledger.packet_sent(at(now), number, size),
            Report::Acknowledged { now, sent, number } => ledger.packet_acknowledged(at(now), at(sent), number),
            Report::AcknowledgementEnds { now, application_limited } => {
                ledger.acknowledgement_ends(at(now), application_limited);
            }
            Report::Lost { now, number, size } => ledger.packet_lost(at(now), number, size),
            Report::Congestion { now, sent, persistent, marked } => {
                ledger.congestion(at(now), at(sent), persistent, marked);
            }
            Report::Spurious => ledger.spurious(),
            Report::Decided => {}
        }
    }

    fn decisions(&self) -> Decisions {
        self.lock().decisions()
    }

    fn window(&self) -> u64 {
        self.lock().window()
    }
}
