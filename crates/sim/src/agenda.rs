//! What happens next: a heap of slots, each with the time at which it wants to be looked at.

use units::Time;

/// A binary heap over a fixed set of slots. Every slot is in it at most once, so the number of pending events is the number of
/// slots; moving a slot costs a walk of the heap, not a second entry. Equal times come in the order of the slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    heap: Vec<Entry>,
    /// Where each slot stands in the heap; [`ABSENT`] if nowhere.
    position: Vec<u32>,
}

/// Time and slot as one number that sorts by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    #[inline]
    const fn new(at: Time, slot: u32) -> Self {
        Self((at.as_nanos() as u128) << 32 | slot as u128)
    }

    #[inline]
    const fn at(self) -> Time {
        Time::from_nanos((self.0 >> 32) as u64)
    }

    #[inline]
    const fn slot(self) -> u32 {
        self.0 as u32
    }
}

const ABSENT: u32 = u32::MAX;

impl Agenda {
    /// An agenda for `slots` slots, nothing pending.
    pub(crate) fn new(slots: usize) -> Self {
        Self { heap: Vec::with_capacity(slots), position: vec![ABSENT; slots] }
    }

    /// The earliest time; [`Time::NEVER`] if nothing is pending.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.heap.first().map_or(Time::NEVER, |entry| entry.at())
    }

    /// The slot that is due first. Nothing may be pending only where [`next`](Self::next) said so.
    #[inline]
    pub(crate) fn first_slot(&self) -> u32 {
        self.heap.first().map_or(0, |entry| entry.slot())
    }

    /// `slot` wants to be looked at `at` that time, and at no other; [`Time::NEVER`]: not at all.
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, at: Time) {
        let position = self.position[slot as usize];
        if position == ABSENT {
            if at != Time::NEVER {
                self.heap.push(Entry::new(at, slot));
                self.rise(self.heap.len() - 1);
            }
            return;
        }
        let position = position as usize;
        if at == Time::NEVER {
            return self.remove(position);
        }
        let entry = Entry::new(at, slot);
        let before = std::mem::replace(&mut self.heap[position], entry);
        if entry < before {
            self.rise(position);
        } else if self.heap.len() > 1 {
            self.sink(position);
        }
    }

    /// `slot` wants to be looked at `at` that time, unless it will be earlier anyway.
    #[inline]
    pub(crate) fn no_later_than(&mut self, slot: u32, at: Time) {
        let position = self.position[slot as usize];
        if position == ABSENT || self.heap[position as usize].at() > at {
            self.set(slot, at);
        }
    }

    fn remove(&mut self, position: usize) {
        let removed = self.heap.swap_remove(position);
        self.position[removed.slot() as usize] = ABSENT;
        if let Some(&moved) = self.heap.get(position) {
            self.position[moved.slot() as usize] = position as u32;
            self.rise(position);
            self.sink(self.position[moved.slot() as usize] as usize);
        }
    }

    fn rise(&mut self, mut position: usize) {
        let entry = self.heap[position];
        while position > 0 {
            let parent = (position - 1) / 2;
            let above = self.heap[parent];
            if above <= entry {
                break;
            }
            self.place(position, above);
            position = parent;
        }
        self.place(position, entry);
    }

    fn sink(&mut self, mut position: usize) {
        let entry = self.heap[position];
        while let Some(&left) = self.heap.get(2 * position + 1) {
            let mut child = 2 * position + 1;
            let mut below = left;
            if let Some(&right) = self.heap.get(child + 1)
                && right < left
            {
                child += 1;
                below = right;
            }
            if entry <= below {
                break;
            }
            self.place(position, below);
            position = child;
        }
        self.place(position, entry);
    }

    #[inline]
    fn place(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.position[entry.slot() as usize] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_first_is_always_the_earliest_of_a_plain_list(
            operations in proptest::collection::vec((0u32..12, proptest::option::of(0u64..50), proptest::bool::ANY), 1..200)
        ) {
            let mut agenda = Agenda::new(12);
            let mut model = [Time::NEVER; 12];
            for (slot, at, lazily) in operations {
                let at = at.map_or(Time::NEVER, Time::from_nanos);
                let entry = &mut model[slot as usize];
                if lazily {
                    agenda.no_later_than(slot, at);
                    *entry = at.min(*entry);
                } else {
                    agenda.set(slot, at);
                    *entry = at;
                }
                let (next, slot) = (0..12).map(|s| (model[s as usize], s)).min().unwrap();
                proptest::prop_assert_eq!(agenda.next(), next);
                if next != Time::NEVER {
                    proptest::prop_assert_eq!(agenda.first_slot(), slot);
                }
            }
        }
    }
}
