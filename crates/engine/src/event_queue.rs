//! The next event: slots, each with the time at which it is looked at.

use network::{Ranked, SlotHeap};
use units::Time;

/// Times for a fixed set of slots, each pending at most once. Equal times come in the order of the slots.
///
/// Up to [`FEW`] slots are in a table, whose smallest time is found without a branch. More are in a binary heap, where
/// moving a slot costs a walk and not a second entry.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// When the first slot is due, or [`Time::NEVER`] if nothing is pending.
    next: Time,
    /// The slot that is due then, or any slot if nothing is pending.
    first: u32,
    /// When each slot is due, if there are few.
    table: [Time; FEW],
    /// How many there are.
    slots: usize,
    heap: SlotHeap<Entry>,
}

/// So many slots are looked through faster than a heap is kept in order.
const FEW: usize = 8;
/// Nor are all of them where only so many are used.
const HALF: usize = FEW / 2;

/// Time and slot as one number that sorts by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    #[inline]
    const fn new(at: Time, slot: u32) -> Self {
        Self((at.as_nanos() as u128) << 64 | slot as u128)
    }

    #[inline]
    const fn at(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }
}

impl Ranked for Entry {
    #[inline]
    fn slot(self) -> u32 {
        self.0 as u32
    }
}

impl EventQueue {
    /// A queue for `slots` slots, nothing pending.
    pub fn new(slots: usize) -> Self {
        let many = if slots <= FEW { 0 } else { slots };
        Self { next: Time::NEVER, first: 0, table: [Time::NEVER; FEW], slots, heap: SlotHeap::new(many) }
    }

    /// The earliest time, or [`Time::NEVER`] if nothing is pending.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The slot that is due first. Nothing may be pending only where [`next`](Self::next) said so.
    #[inline]
    pub fn first_slot(&self) -> u32 {
        self.first
    }

    /// `slot` wants to be looked at `at` that time, and at no other. With [`Time::NEVER`] it is not looked at.
    #[inline]
    pub fn set(&mut self, slot: u32, at: Time) {
        if self.slots > FEW {
            return self.set_in_heap(slot, at);
        }
        self.table[slot as usize % FEW] = at;
        let [a, b, c, d, e, f, g, h] = self.table;
        let mut first = earlier(earlier((a, 0), (b, 1)), earlier((c, 2), (d, 3)));
        if self.slots > HALF {
            first = earlier(first, earlier(earlier((e, 4), (f, 5)), earlier((g, 6), (h, 7))));
        }
        (self.next, self.first) = first;
    }

    #[inline(never)]
    fn set_in_heap(&mut self, slot: u32, at: Time) {
        if at == Time::NEVER {
            self.heap.remove(slot);
        } else {
            self.heap.set(Entry::new(at, slot));
        }
        (self.next, self.first) = self.heap.first().map_or((Time::NEVER, 0), |entry| (entry.at(), entry.slot()));
    }
}

/// The one of two slots that is due first, or `a`, whose number is smaller, if both are due at once. There is no
/// branch, because a processor can hardly predict the result.
#[inline(always)]
fn earlier(a: (Time, u32), b: (Time, u32)) -> (Time, u32) {
    let sooner = b.0 < a.0;
    (if sooner { b.0 } else { a.0 }, if sooner { b.1 } else { a.1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_first_is_always_the_earliest_of_a_plain_list(
            slots in 1u32..=2 * FEW as u32,
            operations in proptest::collection::vec((0u32..1000, proptest::option::of(0u64..50)), 1..200)
        ) {
            let mut queue = EventQueue::new(slots as usize);
            let mut model = vec![Time::NEVER; slots as usize];
            for (slot, at) in operations {
                let slot = slot % slots;
                let at = at.map_or(Time::NEVER, Time::from_nanos);
                queue.set(slot, at);
                model[slot as usize] = at;
                let (next, slot) = (0..slots).map(|s| (model[s as usize], s)).min().unwrap();
                proptest::prop_assert_eq!(queue.next(), next);
                if next != Time::NEVER {
                    proptest::prop_assert_eq!(queue.first_slot(), slot);
                }
            }
        }
    }
}
