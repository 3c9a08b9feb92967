//! The plainest TCP of the RFCs: no option, no later rule. Every profile begins here.

use control::Counting;
use units::{Bytes, Span};

use super::{
    Acks, BufferRules, BufferSizes, Buffers, Clock, Conceals, Delay, Detection, Growth, Losses, Marks, NO_LIMIT,
    Opening, Pacing, Reduction, Repair, Resending, Stack, StateMachine, Timers, Variance, WindowValidation,
};

/// TCP of RFC 5681, RFC 6298 and RFC 6582.
pub fn plain() -> Stack {
    Stack {
        // An Ethernet packet of 1500 bytes less both headers (RFC 6691).
        segment_size: Bytes::new(1460),
        // RFC 5681, section 3.1.
        initial_window: 3,
        receive_window: NO_LIMIT,
        buffers: Buffers {
            sizes: BufferSizes::UNLIMITED,
            // No standard has a size.
            usual: BufferSizes::UNLIMITED,
            rules: BufferRules::Payload,
        },
        handshake: false,
        opening: Opening {
            // RFC 9293, section 3.8.3: a SYN for three minutes at least.
            syn: Resending { even: 0, most: 7 },
            syn_ack: Resending { even: 0, most: 7 },
            // RFC 5681, section 3.1.
            cautious_after: 1,
            undo: false,
        },
        timestamps: false,
        marks: Marks::Off,
        clock: Clock {
            tick: Span::ZERO,
            // RFC 7323, section 5.4: from 1 ms to 1 s.
            timestamp_tick: Span::from_millis(1),
            at_start: Span::ZERO,
            timestamps_for_controllers: false,
            min_rtt_window: Span::ZERO,
        },
        losses: Losses {
            // RFC 5681, section 3.2.
            threshold: 3,
            // NewReno, RFC 6582.
            detection: Detection::Duplicates(Repair::Fast),
            state_machine: StateMachine::Rfc,
        },
        reduction: Reduction::Pipe,
        limited_transmit: false,
        undo: false,
        forward_rto: false,
        growth: Growth {
            // RFC 5681, section 3.1.
            counting: Counting::PerAck,
            slow_start_at_threshold: false,
            recovery_end_grows: false,
            validation: WindowValidation::Round,
        },
        idle_restart: None,
        timers: Timers {
            tick: Span::ZERO,
            // RFC 6298: sections 2.1, 2.4 and 2.5.
            rto_initial: Span::from_secs(1),
            // RFC 6298, section 5.7.
            rto_after_syn: Span::from_secs(3),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            rto_variance: Variance::Deviation,
            rto_variance_min: Span::ZERO,
            rto_slack: Span::ZERO,
            // RFC 5681, section 3.1.
            every_timeout_reduces: false,
        },
        segmentation_offload: false,
        pacing: Pacing::Exact,
        acks: Acks { delay: Delay::None, quick: 0, quick_again: 0, conceals: Conceals::Nothing },
    }
}
