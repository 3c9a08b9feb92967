//! The REAL simulator as the analysis of the Delay Algorithm used it (Dabbous 1992).

use units::{Bytes, Span};

use super::{Detection, Growth, Losses, Repair, Stack, StateMachine, Timers, WindowValidation, plain};

/// REAL 1992.
pub fn real_1992() -> Stack {
    Stack {
        // Packets of 1000 bytes, ACKs of 40.
        segment_size: Bytes::new(960),
        initial_window: 1,
        losses: Losses {
            threshold: 3,
            detection: Detection::Duplicates(Repair::GoBackN),
            state_machine: StateMachine::Rfc,
        },
        // 4.3BSD lets every ACK grow the window, and halves the smaller of it and the receive window.
        growth: Growth { validation: WindowValidation::ReceiveWindow, ..plain().growth },
        timers: Timers {
            // The paper gives none: RFC 1122, section 4.2.3.1, asks for 3 s.
            rto_initial: Span::from_secs(3),
            rto_min: Span::from_secs(1),
            // As 4.3BSD.
            rto_max: Span::from_secs(64),
            every_timeout_reduces: true,
            ..plain().timers
        },
        ..plain()
    }
}
