//! Linux 3.5 with a clock of 1 ms, the hosts of the experiments of SIAD.

use control::Counting;
use units::{Bytes, Span};

use super::{
    Acks, Buffer, BufferRules, BufferSizes, Buffers, Clock, Delay, Detection, Growth, IdleRestart, Losses, Opening,
    Reduction, Resending, Resends, Retransmits, Rule, Selective, Stack, StateMachine, Timers, WindowValidation, plain,
};

/// Linux 3.5.
pub fn linux_3_5() -> Stack {
    Stack {
        segment_size: Bytes::new(1448),
        // TCP_INIT_CWND, since 2.6.39.
        initial_window: 10,
        buffers: Buffers {
            // net.ipv4.tcp_rmem, net.ipv4.tcp_wmem: tcp_init.
            usual: BufferSizes {
                receive: Buffer::tuned(4096, 87_380, 6_291_456),
                send: Buffer::tuned(4096, 16_384, 4_194_304),
            },
            // net.ipv4.tcp_adv_win_scale, since 3.4; tcp_rcv_space_adjust.
            rules: BufferRules::Share { reserved: 1 },
            ..plain().buffers
        },
        opening: Opening {
            // net.ipv4.tcp_syn_retries, net.ipv4.tcp_synack_retries.
            syn: Resending { even: 0, most: 5 },
            syn_ack: Resending { even: 0, most: 5 },
            // tcp_init_metrics, since 3.1.
            cautious_after: 2,
            undo: false,
        },
        timestamps: true,
        // HZ=1000: RTTs are counted in jiffies.
        clock: Clock { tick: Span::from_millis(1), ..plain().clock },
        losses: Losses {
            threshold: 3,
            detection: Detection::Selective(Selective {
                // net.ipv4.tcp_fack; tcp_update_scoreboard.
                rule: Rule::Forward(Resends::Fast(Retransmits::Lost)),
                // tcp_update_reordering.
                reordering_adapts: true,
                tail_loss_probe: false,
                compression: Span::ZERO,
            }),
            state_machine: StateMachine::Rfc,
        },
        // 3.2 to 4.2: tcp_cwnd_reduction.
        reduction: Reduction::ProportionalRateSsrb,
        limited_transmit: true,
        // tcp_try_undo_recovery, tcp_try_undo_loss.
        undo: true,
        growth: Growth {
            // tcp_reno_cong_avoid: a segment for each ACK in slow start.
            counting: Counting::PerAck,
            // snd_cwnd <= snd_ssthresh.
            slow_start_at_threshold: true,
            recovery_end_grows: false,
            // tcp_is_cwnd_limited.
            validation: WindowValidation::Flight,
        },
        // net.ipv4.tcp_slow_start_after_idle; tcp_cwnd_restart, tcp_cwnd_application_limited.
        idle_restart: Some(IdleRestart::Linux),
        timers: Timers {
            // TCP_TIMEOUT_INIT and TCP_TIMEOUT_FALLBACK, since 3.1, TCP_RTO_MIN, TCP_RTO_MAX.
            rto_initial: Span::from_secs(1),
            rto_after_syn: Span::from_secs(3),
            rto_min: Span::from_millis(200),
            rto_max: Span::from_secs(120),
            // tcp_rtt_estimator: mdev_max is no less than TCP_RTO_MIN.
            rto_variance_min: Span::from_millis(200),
            ..plain().timers
        },
        acks: Acks {
            // TCP_ATO_MIN.
            delay: Delay::Constant { every: 2, wait: Span::from_millis(40) },
            // TCP_MAX_QUICKACKS.
            quick: 16,
            ..plain().acks
        },
        ..plain()
    }
}
