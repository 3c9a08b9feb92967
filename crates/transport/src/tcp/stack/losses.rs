//! Loss detection and repair: the rules of a stack.

use serde::{Deserialize, Serialize};
use units::Span;

/// How a loss is found, and which segments are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Losses {
    /// Duplicate ACKs, or segments SACKed above, that make a segment lost (DupThresh, RFC 6675), at most
    /// [`MAX_THRESHOLD`](super::MAX_THRESHOLD). RACK takes them as evidence of loss.
    pub threshold: u32,
    /// Evidence of loss.
    pub detection: Detection,
    /// The order in which an ACK is processed.
    pub state_machine: StateMachine,
}

/// The order in which the evidence of an ACK is processed, and the states that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateMachine {
    /// Losses are detected first, then evidence that the reduction was spurious undoes it (RFC 5681, RFC 6675,
    /// RFC 3522, RFC 3708). One reduction answers all echoes of a window of data (RFC 3168).
    Rfc,
    /// As in Linux (tcp_fastretrans_alert). With RACK or without SACK, a spurious reduction is undone before losses are
    /// detected. Without SACK, duplicate ACKs count as SACKed segments. More of them than may have arrived show
    /// reordering, which sets DupThresh. Every echo outside of a reduction is answered. An undo gives back at least
    /// three quarters of the window as threshold.
    Linux,
}

/// Evidence of loss, and its repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Duplicate ACKs (RFC 5681), and in fast recovery partial ACKs (NewReno, RFC 6582).
    Duplicates(Repair),
    /// Selective acknowledgements (RFC 2018), duplicate SACK included (RFC 2883).
    Selective(Selective),
}

/// Rules that go by selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selective {
    /// Which segments are lost.
    pub rule: Rule,
    /// DupThresh grows with the reordering that SACK shows, to [`MAX_THRESHOLD`](super::MAX_THRESHOLD) at
    /// most.
    pub reordering_adapts: bool,
    /// Tail loss probes (TLP, RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// SACK compression: how long an ACK of out-of-order data may wait for more of it, at most a twentieth of the base
    /// RTT. Not the first three since the last advance, nor where a third SACK block changes. Zero is none.
    pub compression: Span,
}

/// Which segments are lost, and which are sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A segment above which DupThresh segments were SACKed (RFC 6675).
    Count(Resends),
    /// A segment sent DupThresh before one that was SACKed, whatever became of those between, and a retransmission once
    /// a segment first sent after it was SACKed, until the path is seen to reorder by more than DupThresh (FACK).
    Forward(Resends),
    /// A segment sent sufficiently long before one that has arrived (RACK, RFC 8985), retransmissions included.
    Rack(Repair),
}

/// How a loss is repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The loss makes everything outstanding lost: it is sent again from the first unacknowledged segment on, as the
    /// window of the controller allows, which may grow meanwhile (4.3BSD-Tahoe).
    GoBackN,
    /// Fast recovery (RFC 5681, section 3.2): the lost segments leave again.
    Fast,
}

/// Retransmissions if SACKed segments are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resends {
    /// Everything outstanding, as with [`Repair::GoBackN`].
    GoBackN,
    /// In fast recovery what this says.
    Fast(Retransmits),
}

/// Retransmissions of fast recovery, with SACK and without RACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmits {
    /// Lost segments (Linux).
    Lost,
    /// NextSeg of RFC 6675: where neither that nor a new segment may leave, also what has SACKed segments above it
    /// (rule 3), and once in a recovery the highest segment that was not SACKed (rule 4, the rescue retransmission).
    NextSeg,
    /// Everything below the highest SACKed segment: from the start of recovery on it counts as lost (FreeBSD before
    /// version 13).
    Holes,
}

impl Losses {
    /// True if RACK decides which segments are lost.
    #[inline]
    pub fn is_rack(&self) -> bool {
        matches!(self.detection, Detection::Selective(Selective { rule: Rule::Rack(_), .. }))
    }

    /// True if ACKs are processed as in Linux.
    #[inline]
    pub fn is_linux(&self) -> bool {
        self.state_machine == StateMachine::Linux
    }

    /// True if Linux's rules for RACK apply.
    #[inline]
    pub fn is_linux_rack(&self) -> bool {
        self.is_linux() && self.is_rack()
    }

    /// True if duplicate ACKs count as SACKed segments (in Linux tcp_add_reno_sack).
    #[inline]
    pub fn emulates_sack(&self) -> bool {
        self.is_linux() && matches!(self.detection, Detection::Duplicates(_))
    }

    /// True if a spurious reduction is undone before losses are detected (in Linux tcp_fastretrans_alert).
    #[inline]
    pub fn undoes_first(&self) -> bool {
        self.is_linux_rack() || self.emulates_sack()
    }

    /// True if tail loss probes are sent.
    #[inline]
    pub fn probes_tail(&self) -> bool {
        matches!(self.detection, Detection::Selective(Selective { tail_loss_probe: true, .. }))
    }

    /// Retransmissions of fast recovery.
    #[inline]
    pub fn retransmits(&self) -> Retransmits {
        match self.detection {
            Detection::Selective(Selective {
                rule: Rule::Count(Resends::Fast(retransmits)) | Rule::Forward(Resends::Fast(retransmits)),
                ..
            }) => retransmits,
            _ => Retransmits::Lost,
        }
    }

    /// True if losses are repaired by fast recovery.
    pub fn is_fast(&self) -> bool {
        match self.detection {
            Detection::Duplicates(repair) | Detection::Selective(Selective { rule: Rule::Rack(repair), .. }) => {
                repair == Repair::Fast
            }
            Detection::Selective(Selective { rule: Rule::Count(resends) | Rule::Forward(resends), .. }) => {
                resends != Resends::GoBackN
            }
        }
    }
}
