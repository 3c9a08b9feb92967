//! A copy of a sender in the middle of a connection, for runs that begin alike.

use std::sync::Arc;

use super::Sender;

impl Sender {
    /// A sender that goes on from the state of this one, and apart from it; `None` if its controller cannot be copied.
    pub fn duplicate(&self) -> Option<Self> {
        Some(Self {
            board: self.board.clone(),
            options: Arc::clone(&self.options),
            controller: self.controller.duplicate()?,
            wants: self.wants,
            train_is_ready: self.train_is_ready,
            piece: self.piece,
            exact_window: self.exact_window,
            threshold: self.threshold,
            window: self.window,
            peer_window: self.peer_window,
            unreported_losses: self.unreported_losses,
            duplicates: self.duplicates,
            round_mark: self.round_mark,
            delivery: self.delivery,
            rtt: self.rtt.clone(),
            usage: self.usage,
            timers: self.timers,
            pacer: self.pacer,
            wake_at: self.wake_at,
            last_sent_at: self.last_sent_at,
            backlog: self.backlog.clone(),
            marked: self.marked,
            lost: self.lost,
            codepoint: self.codepoint,
            blocked: self.blocked,
            lost_again: self.lost_again,
            detector: self.detector,
            train: self.train,
            full_train: self.full_train.clone(),
            probe: self.probe.clone(),
            forward_rto: self.forward_rto,
            recovery: self.recovery.clone(),
            reordering: self.reordering,
            counters: self.counters,
            random: self.random.clone(),
            ticks: self.ticks,
        })
    }
}
