//! What happens next: a heap of slots, each with the time at which it wants to be looked at.

use units::Time;

/// A binary heap over a fixed set of slots. Every slot is in it at most once, so the number of pending events is the number of
/// slots; moving a slot costs a walk of the heap, not a second entry. Equal times come in the order of the slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    /// (time, slot), a heap by both.
    heap: Vec<(Time, u32)>,
    /// Where each slot stands in the heap; [`ABSENT`] if nowhere.
    position: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl Agenda {
    /// An agenda for `slots` slots, nothing pending.
    pub(crate) fn new(slots: usize) -> Self {
        Self { heap: Vec::with_capacity(slots), position: vec![ABSENT; slots] }
    }

    /// The earliest time and its slot.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Time, u32)> {
        self.heap.first().copied()
    }

    /// `slot` wants to be looked at `at` that time, and at no other; `None`: not at all.
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, at: Option<Time>) {
        let position = self.position[slot as usize];
        match (at, position) {
            (None, ABSENT) => {}
            (None, position) => self.remove(position as usize),
            (Some(at), ABSENT) => {
                self.heap.push((at, slot));
                self.rise(self.heap.len() - 1);
            }
            (Some(at), position) => {
                let position = position as usize;
                let before = self.heap[position].0;
                self.heap[position].0 = at;
                if at < before {
                    self.rise(position);
                } else if at > before {
                    self.sink(position);
                }
            }
        }
    }

    /// `slot` wants to be looked at `at` that time, unless it will be earlier anyway.
    #[inline]
    pub(crate) fn no_later_than(&mut self, slot: u32, at: Option<Time>) {
        let Some(at) = at else { return };
        let position = self.position[slot as usize];
        if position == ABSENT || self.heap[position as usize].0 > at {
            self.set(slot, Some(at));
        }
    }

    fn remove(&mut self, position: usize) {
        let (_, slot) = self.heap.swap_remove(position);
        self.position[slot as usize] = ABSENT;
        if let Some(&(_, moved)) = self.heap.get(position) {
            self.position[moved as usize] = position as u32;
            self.rise(position);
            self.sink(self.position[moved as usize] as usize);
        }
    }

    fn rise(&mut self, mut position: usize) {
        let entry = self.heap[position];
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.heap[parent] <= entry {
                break;
            }
            self.place(position, self.heap[parent]);
            position = parent;
        }
        self.place(position, entry);
    }

    fn sink(&mut self, mut position: usize) {
        let entry = self.heap[position];
        loop {
            let mut child = 2 * position + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1] < self.heap[child] {
                child += 1;
            }
            if entry <= self.heap[child] {
                break;
            }
            self.place(position, self.heap[child]);
            position = child;
        }
        self.place(position, entry);
    }

    #[inline]
    fn place(&mut self, position: usize, entry: (Time, u32)) {
        self.heap[position] = entry;
        self.position[entry.1 as usize] = position as u32;
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
            let mut model: Vec<Option<Time>> = vec![None; 12];
            for (slot, at, lazily) in operations {
                let at = at.map(Time::from_nanos);
                if lazily {
                    agenda.no_later_than(slot, at);
                    if let Some(at) = at {
                        let entry = &mut model[slot as usize];
                        *entry = Some(entry.map_or(at, |old| old.min(at)));
                    }
                } else {
                    agenda.set(slot, at);
                    model[slot as usize] = at;
                }
                let expected = (0..12).filter_map(|s| model[s as usize].map(|at| (at, s))).min();
                proptest::prop_assert_eq!(agenda.first(), expected);
            }
        }
    }
}
