//! Stacks for scripts.

use transport::{
    Acks, Conceals, Delay, Detection, Growth, Losses, Repair, Resends, Retransmits, Rule, Selective, Stack,
    StateMachine, Timers, linux,
};
use units::{Bytes, Span};

use super::ms;

/// A sender of the simplest kind: SACK, DupThresh 3, pipe recovery, RTO of 200 ms above the RTT, nothing newer.
pub(crate) fn plain() -> Stack {
    let linux = linux();
    Stack {
        segment_size: Bytes::new(1000),
        initial_window: 10,
        clock: linux.clock,
        losses: Losses {
            threshold: 3,
            detection: Detection::Selective(Selective {
                rule: Rule::Count(Resends::Fast(Retransmits::Lost)),
                reordering_adapts: true,
                tail_loss_probe: false,
                compression: Span::ZERO,
            }),
            state_machine: StateMachine::Rfc,
        },
        limited_transmit: true,
        growth: Growth { recovery_end_grows: false, ..linux.growth },
        idle_restart: linux.idle_restart,
        timers: Timers { tick: Span::ZERO, ..linux.timers },
        acks: Acks {
            delay: Delay::Constant { every: 2, wait: ms(40) },
            quick: 0,
            quick_again: 0,
            conceals: Conceals::Nothing,
        },
        ..transport::plain()
    }
}

/// `stack` with RACK as in Linux.
pub(crate) fn linux_rack(stack: &mut Stack) {
    selective(stack).rule = Rule::Rack(Repair::Fast);
    stack.losses.state_machine = StateMachine::Linux;
}

/// `stack` with other rules.
pub(crate) fn with(mut stack: Stack, change: impl FnOnce(&mut Stack)) -> Stack {
    change(&mut stack);
    stack
}

/// The rules of `stack` that go by SACK, which it has.
pub(crate) fn selective(stack: &mut Stack) -> &mut Selective {
    match &mut stack.losses.detection {
        Detection::Selective(selective) => selective,
        Detection::Duplicates(_) => panic!("a stack without SACK"),
    }
}

/// `stack` loses SACK and everything that depends on it.
pub(crate) fn drop_sack(stack: &mut Stack) {
    *stack = stack.clone().without_sack();
}
