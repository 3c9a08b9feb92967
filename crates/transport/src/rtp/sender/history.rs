//! The packets of a media flow that have left, and what became of them.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::rtp::PacketHeader;
use crate::rtp::receiver::REORDERING;
use crate::tcp::DeliveryState;

/// A packet that is settled is forgotten after this time: one that arrives later has no frame to go to.
const MEMORY: Span = Span::from_secs(10);

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Outstanding,
    Delivered,
    Lost,
}

/// A packet that has left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Time,
    pub(super) payload: u32,
    pub(super) header: PacketHeader,
    pub(super) delivery: DeliveryState,
    pub(super) fate: Fate,
}

/// Packets by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    packets: VecDeque<Sent>,
    /// The number of the oldest that is remembered.
    first: u64,
    /// Every packet below it is delivered or lost.
    settled: u64,
    /// One above the highest that is delivered.
    reached: u64,
    /// Packets below it are not waited for.
    abandoned: u64,
    outstanding: u32,
    delivered: u64,
}

impl History {
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) fn settled(&self) -> u64 {
        self.settled
    }

    pub(super) fn push(&mut self, sent: Sent) {
        self.packets.push_back(sent);
        self.outstanding += 1;
    }

    pub(super) fn get(&self, sequence: u64) -> Option<&Sent> {
        self.packets.get(usize::try_from(sequence.checked_sub(self.first)?).ok()?)
    }

    /// Packet `sequence` has arrived: the packet, if it was outstanding.
    pub(super) fn deliver(&mut self, sequence: u64) -> Option<Sent> {
        let index = usize::try_from(sequence.checked_sub(self.first)?).ok()?;
        let sent = self.packets.get_mut(index).filter(|sent| sent.fate == Fate::Outstanding)?;
        sent.fate = Fate::Delivered;
        let sent = *sent;
        self.outstanding -= 1;
        self.delivered += 1;
        self.reached = self.reached.max(sequence + 1);
        Some(sent)
    }

    /// All that is outstanding is lost.
    pub(super) fn abandon(&mut self) {
        self.abandoned = self.next();
    }

    /// The next packet that is lost: later ones have arrived.
    pub(super) fn pop_lost(&mut self) -> Option<(u64, Sent)> {
        loop {
            let sequence = self.settled;
            let sent = self.packets.get_mut((sequence - self.first) as usize)?;
            if sent.fate == Fate::Outstanding {
                if sequence + REORDERING >= self.reached && sequence >= self.abandoned {
                    return None;
                }
                sent.fate = Fate::Lost;
                let sent = *sent;
                self.settled += 1;
                self.outstanding -= 1;
                return Some((sequence, sent));
            }
            self.settled += 1;
        }
    }

    /// Forgets packets that left long ago.
    pub(super) fn forget(&mut self, now: Time) {
        while self.first < self.settled && self.packets.front().is_some_and(|sent| now.since(sent.at) > MEMORY) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}
