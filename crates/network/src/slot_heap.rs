//! A heap of slots, each with the key by which it is ranked: event queues and fair queues keep their order in it.

/// An entry of a [`SlotHeap`]: it compares by its key, then by its slot.
pub trait Ranked: Ord + Copy {
    /// The slot that is ranked.
    fn slot(self) -> u32;
}

impl<K: Ord + Copy> Ranked for (K, u32) {
    #[inline]
    fn slot(self) -> u32 {
        self.1
    }
}

/// A binary heap in which every slot has one entry at most, so that its key can be changed in its place. Slots are
/// indices: memory grows with the highest.
#[derive(Clone, Debug)]
pub struct SlotHeap<E> {
    heap: Vec<E>,
    /// The place of each slot in the heap, or [`ABSENT`] if nowhere.
    position: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl<E: Ranked> SlotHeap<E> {
    /// A heap with no entries, and memory for so many slots.
    pub fn new(slots: usize) -> Self {
        Self { heap: Vec::with_capacity(slots), position: vec![ABSENT; slots] }
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True without entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The smallest entry.
    #[inline]
    pub fn first(&self) -> Option<E> {
        self.heap.first().copied()
    }

    /// Puts `entry` in the place of the one that its slot had, if it had one.
    pub fn set(&mut self, entry: E) {
        let slot = entry.slot() as usize;
        let position = match self.position.get(slot) {
            Some(&position) => position,
            None => self.add(slot),
        };
        if position == ABSENT {
            self.heap.push(entry);
            return self.rise(self.heap.len() - 1);
        }
        let position = position as usize;
        let before = std::mem::replace(&mut self.heap[position], entry);
        if entry < before {
            self.rise(position);
        } else if self.heap.len() > 1 {
            self.sink(position);
        }
    }

    /// Takes the entry of `slot` out, if it has one.
    pub fn remove(&mut self, slot: u32) {
        let Some(position) = self.position.get_mut(slot as usize) else { return };
        let position = std::mem::replace(position, ABSENT);
        if position == ABSENT {
            return;
        }
        let position = position as usize;
        self.heap.swap_remove(position);
        if let Some(&moved) = self.heap.get(position) {
            self.position[moved.slot() as usize] = position as u32;
            self.rise(position);
            self.sink(self.position[moved.slot() as usize] as usize);
        }
    }

    /// Makes room for `slot`, which is in no place.
    #[cold]
    #[inline(never)]
    fn add(&mut self, slot: usize) -> u32 {
        self.position.resize(slot + 1, ABSENT);
        ABSENT
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
    fn place(&mut self, position: usize, entry: E) {
        self.heap[position] = entry;
        self.position[entry.slot() as usize] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_always_the_smallest(
            operations in prop::collection::vec((0u32..20, prop::option::of(0u64..10)), 0..200),
        ) {
            let mut heap = SlotHeap::new(0);
            let mut model = std::collections::BTreeMap::new();
            for (slot, key) in operations {
                match key {
                    Some(key) => {
                        heap.set((key, slot));
                        model.insert(slot, key);
                    }
                    None => {
                        heap.remove(slot);
                        model.remove(&slot);
                    }
                }
                prop_assert_eq!(heap.first(), model.iter().map(|(&slot, &key)| (key, slot)).min());
                prop_assert_eq!((heap.len(), heap.is_empty()), (model.len(), model.is_empty()));
            }
        }
    }
}
