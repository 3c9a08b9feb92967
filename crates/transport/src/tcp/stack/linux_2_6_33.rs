//! Linux 2.6.33, the hosts of Edwan's test bed: as Linux 3.5, without the changes between the two.
//!
//! Its rate halving is not modelled: the flight comes down by proportional rate reduction with the slow-start bound,
//! which replaced it in Linux 3.2.

use units::Span;

use super::{Buffer, BufferRules, BufferSizes, Buffers, Opening, Stack, Timers, linux_3_5};

/// Linux 2.6.33.
pub fn linux_2_6_33() -> Stack {
    let newer = linux_3_5();
    Stack {
        // RFC 3390, until 2.6.38.
        initial_window: 3,
        buffers: Buffers {
            // net.ipv4.tcp_rmem, until 3.4.
            usual: BufferSizes { receive: Buffer::tuned(4096, 87_380, 4_194_304), ..newer.buffers.usual },
            // net.ipv4.tcp_adv_win_scale, until 3.3.
            rules: BufferRules::Share { reserved: 2 },
            ..newer.buffers
        },
        handshake: true,
        // Until 3.0 tcp_init_metrics does not ask.
        opening: Opening { cautious_after: u32::MAX, ..newer.opening },
        // TCP_TIMEOUT_INIT, until 3.0 (RFC 1122).
        timers: Timers { rto_initial: Span::from_secs(3), ..newer.timers },
        ..newer
    }
}
