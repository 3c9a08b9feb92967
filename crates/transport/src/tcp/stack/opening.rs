//! How a stack opens connections.

use units::Bytes;

use super::Stack;
use crate::OpeningKind;

/// The options of a SYN for the largest segment and the shift of windows.
const ANNOUNCEMENTS: Bytes = Bytes::new(8);
/// The option for SACK, with padding.
const SACK_PERMITTED: Bytes = Bytes::new(4);

/// How a connection is opened. The first timeout equals the timeout of data before the first RTT sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The SYN.
    pub syn: Resending,
    /// The SYN-ACK.
    pub syn_ack: Resending,
    /// The initial window is a single segment once the SYN was sent again so often.
    pub cautious_after: u32,
    /// But not if timestamps show that the first one was answered.
    pub undo: bool,
}

/// How often a packet that opens a connection is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resending {
    /// So many timeouts after the first are as long as it. Then they double.
    pub even: u32,
    /// So often at most.
    pub most: u32,
}

impl Stack {
    /// Bytes of IP and TCP header of a packet that opens a connection. A SYN announces the largest segment (4 bytes),
    /// the shift of its windows (4, with padding) and whether it takes SACK (4, or none beside timestamps).
    pub fn opening_size(&self, kind: OpeningKind) -> Bytes {
        let permission = if self.sack() && !self.timestamps { SACK_PERMITTED } else { Bytes::ZERO };
        match kind {
            OpeningKind::Syn | OpeningKind::SynAck => self.data_overhead() + ANNOUNCEMENTS + permission,
            OpeningKind::Ack => self.ack_overhead(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{linux, plain};

    #[test]
    fn a_syn_has_the_options_of_its_stack() {
        let sizes = |stack: &Stack| {
            [OpeningKind::Syn, OpeningKind::SynAck, OpeningKind::Ack].map(|kind| stack.opening_size(kind).get())
        };
        // 40 bytes of headers, 4 for the largest segment, 4 for the shift of windows, 12 for SACK and timestamps.
        assert_eq!(sizes(&linux()), [60, 60, 52]);
        assert_eq!(sizes(&Stack { timestamps: false, ..linux() }), [52, 52, 40]);
        assert_eq!(sizes(&linux().without_sack()), [60, 60, 52]);
        assert_eq!(sizes(&plain()), [48, 48, 40]);
    }
}
