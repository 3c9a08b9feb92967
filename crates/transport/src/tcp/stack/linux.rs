//! Linux 6, as most distributions build and set it.

use control::Counting;
use units::{Bytes, Span};

use super::{
    Acks, Buffer, BufferRules, BufferSizes, Buffers, Clock, Delay, Detection, Growth, IdleRestart, Losses, Opening,
    Pacing, Reduction, Repair, Resending, Rule, Selective, Stack, StateMachine, Timers, Variance, WindowValidation,
    plain,
};

/// Linux 6.
pub fn linux() -> Stack {
    Stack {
        // Ethernet, less 12 bytes of timestamps in each segment.
        segment_size: Bytes::new(1448),
        // TCP_INIT_CWND.
        initial_window: 10,
        buffers: buffers(),
        handshake: true,
        opening: Opening {
            // Since 6.5: net.ipv4.tcp_syn_linear_timeouts, which come on top of net.ipv4.tcp_syn_retries.
            syn: Resending { even: 4, most: 10 },
            // net.ipv4.tcp_synack_retries.
            syn_ack: Resending { even: 0, most: 5 },
            // tcp_init_transfer.
            cautious_after: 2,
            // tcp_try_undo_spurious_syn.
            undo: true,
        },
        // net.ipv4.tcp_timestamps.
        timestamps: true,
        clock: Clock {
            // TCP_TS_HZ.
            timestamp_tick: Span::from_millis(1),
            // tcp_ack_update_rtt, since 4.4.
            timestamps_for_controllers: true,
            // net.ipv4.tcp_min_rtt_wlen.
            min_rtt_window: Span::from_secs(300),
            ..plain().clock
        },
        losses: Losses {
            // net.ipv4.tcp_reordering.
            threshold: 3,
            detection: Detection::Selective(Selective {
                // net.ipv4.tcp_recovery; tcp_recovery.c.
                rule: Rule::Rack(Repair::Fast),
                // tcp_check_sack_reordering.
                reordering_adapts: true,
                // net.ipv4.tcp_early_retrans.
                tail_loss_probe: true,
                // Since 4.18: net.ipv4.tcp_comp_sack_delay_ns.
                compression: Span::from_millis(1),
            }),
            // tcp_fastretrans_alert.
            state_machine: StateMachine::Linux,
        },
        // Since 4.3: tcp_cwnd_reduction.
        reduction: Reduction::ProportionalRate,
        // tcp_limited_transmit.
        limited_transmit: true,
        // tcp_try_undo_recovery, tcp_try_undo_loss.
        undo: true,
        // net.ipv4.tcp_frto; tcp_process_loss.
        forward_rto: true,
        growth: Growth {
            // The argument of cong_avoid: segments newly acknowledged.
            counting: Counting::Segments,
            // tcp_in_slow_start, since 4.3.
            slow_start_at_threshold: false,
            // tcp_cong_control, since 4.6 at the latest.
            recovery_end_grows: true,
            // tcp_is_cwnd_limited.
            validation: WindowValidation::Round,
        },
        // net.ipv4.tcp_slow_start_after_idle; tcp_cwnd_restart, tcp_cwnd_application_limited.
        idle_restart: Some(IdleRestart::Linux),
        timers: Timers {
            // CONFIG_HZ=250.
            tick: Span::from_millis(4),
            // TCP_TIMEOUT_INIT, TCP_TIMEOUT_FALLBACK, TCP_RTO_MIN, TCP_RTO_MAX.
            rto_initial: Span::from_secs(1),
            rto_after_syn: Span::from_secs(3),
            rto_min: Span::from_millis(200),
            rto_max: Span::from_secs(120),
            // tcp_rtt_estimator: mdev_max_us, rttvar_us, which is no less than TCP_RTO_MIN.
            rto_variance: Variance::LargestOfRounds,
            rto_variance_min: Span::from_millis(200),
            // tcp_enter_loss.
            every_timeout_reduces: false,
            ..plain().timers
        },
        // tcp_tso_should_defer, tcp_tso_autosize.
        segmentation_offload: true,
        // Since 4.20: tcp_update_skb_after_send.
        pacing: Pacing::Linux,
        acks: Acks {
            // TCP_ATO_MIN, TCP_DELACK_MAX; tcp_event_data_recv.
            delay: Delay::Adaptive { every: 2, wait: Span::from_millis(40), most: Span::from_millis(200) },
            // 16, and 2^20 bytes by which the window of a receive buffer of 8 MiB opens: seen in Linux 6.18.
            quick: 380,
            // TCP_MAX_QUICKACKS.
            quick_again: 16,
            ..plain().acks
        },
        ..plain()
    }
}

/// The buffers of a host.
fn buffers() -> Buffers {
    Buffers {
        // net.ipv4.tcp_rmem and tcp_wmem with 4 GB of memory or more: tcp_init. Since 6.16 the first is 32 MB at most.
        usual: BufferSizes {
            receive: Buffer::tuned(4096, 131_072, 6_291_456),
            send: Buffer::tuned(4096, 16_384, 4_194_304),
        },
        // tcp_measure_rcv_mss, tcp_rcvbuf_grow, tcp_sndbuf_expand.
        rules: BufferRules::Ratio,
        ..plain().buffers
    }
}
