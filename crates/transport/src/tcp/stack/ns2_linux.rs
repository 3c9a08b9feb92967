//! ns-2 with its TCP/Linux agents, as in Edwan's simulations.

use units::{Bytes, Span};

use super::{
    Detection, Growth, IdleRestart, Losses, Reduction, Resends, Retransmits, Rule, Selective, Stack, StateMachine,
    Timers, plain,
};

/// ns-2 with TCP/Linux agents.
pub fn ns2_linux() -> Stack {
    Stack {
        // packetSize_ is payload, and useHeaders_ adds tcpip_base_hdr_size_, 40 bytes.
        segment_size: Bytes::new(1000),
        initial_window: 2,
        losses: Losses {
            threshold: 3,
            // Agent/TCP/Linux with Agent/TCPSink/Sack1.
            detection: Detection::Selective(Selective {
                rule: Rule::Count(Resends::Fast(Retransmits::Lost)),
                reordering_adapts: false,
                tail_loss_probe: false,
                compression: Span::ZERO,
            }),
            state_machine: StateMachine::Rfc,
        },
        reduction: Reduction::Pipe,
        limited_transmit: true,
        // tcp_reno_cong_avoid: snd_cwnd <= snd_ssthresh.
        growth: Growth { slow_start_at_threshold: true, ..plain().growth },
        idle_restart: Some(IdleRestart::Rfc5681),
        timers: Timers {
            rto_min: Span::from_millis(200),
            rto_max: Span::from_secs(120),
            rto_variance_min: Span::from_millis(200),
            // tcp-linux.cc, enter_loss.
            every_timeout_reduces: true,
            ..plain().timers
        },
        ..plain()
    }
}
