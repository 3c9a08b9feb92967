//! FreeBSD 9, the hosts of the experiments of CDG.

use control::Counting;
use units::{Bytes, Span};

use super::{
    Acks, Buffer, BufferRules, BufferSizes, Buffers, Delay, Detection, Growth, IdleRestart, Losses, Opening, Reduction,
    Resending, Resends, Retransmits, Rule, Selective, Stack, StateMachine, Timers, WindowValidation, plain,
};

/// FreeBSD 9.
pub fn freebsd_9() -> Stack {
    Stack {
        segment_size: Bytes::new(1448),
        // net.inet.tcp.rfc3390.
        initial_window: 3,
        buffers: Buffers {
            // net.inet.tcp.recvspace and recvbuf_max, net.inet.tcp.sendspace and sendbuf_max.
            usual: BufferSizes {
                receive: Buffer::tuned(65_536, 65_536, 2_097_152),
                send: Buffer::tuned(32_768, 32_768, 2_097_152),
            },
            // sbspace; tcp_do_segment, tcp_output.
            rules: BufferRules::Payload,
            ..plain().buffers
        },
        opening: Opening {
            // tcp_timer.c: tcp_syn_backoff, TCP_MAXRXTSHIFT.
            syn: Resending { even: 4, most: 12 },
            // tcp_syncache.c: SYNCACHE_MAXREXMTS.
            syn_ack: Resending { even: 4, most: 3 },
            // cc_conn_init.
            cautious_after: 1,
            undo: false,
        },
        // net.inet.tcp.rfc1323.
        timestamps: true,
        losses: Losses {
            // tcprexmtthresh.
            threshold: 3,
            // net.inet.tcp.sack; tcp_sack.c. It sent every hole again. Its papers were repeated with lost segments
            // only.
            detection: Detection::Selective(Selective {
                rule: Rule::Count(Resends::Fast(Retransmits::Lost)),
                reordering_adapts: false,
                tail_loss_probe: false,
                compression: Span::ZERO,
            }),
            state_machine: StateMachine::Rfc,
        },
        reduction: Reduction::Pipe,
        // net.inet.tcp.rfc3042.
        limited_transmit: true,
        growth: Growth {
            // net.inet.tcp.rfc3465 with net.inet.tcp.abc_l_var = 2.
            counting: Counting::Bytes { limit: 2 },
            // cc_newreno.c: cwnd > ssthresh is congestion avoidance.
            slow_start_at_threshold: true,
            recovery_end_grows: false,
            // cc_ack_received: CCF_CWND_LIMITED.
            validation: WindowValidation::ReceiveWindow,
        },
        // cc_after_idle.
        idle_restart: Some(IdleRestart::Rfc5681),
        timers: Timers {
            // tcp_timer.h: TCPTV_RTOBASE, TCPTV_MIN + TCPTV_CPU_VAR, TCPTV_REXMTMAX, TCPTV_CPU_VAR.
            rto_initial: Span::from_secs(3),
            rto_min: Span::from_millis(230),
            rto_max: Span::from_secs(64),
            rto_slack: Span::from_millis(200),
            // tcp_timer_rexmt: cc_cong_signal(CC_RTO).
            every_timeout_reduces: true,
            ..plain().timers
        },
        acks: Acks {
            // net.inet.tcp.delacktime.
            delay: Delay::Constant { every: 2, wait: Span::from_millis(100) },
            ..plain().acks
        },
        ..plain()
    }
}
