//! Which of many comes first: a heap of slots, each with the key by which it is ranked.
//!
//! The event queue of the crate `engine` is another heap of slots. It is left apart: its slots are known beforehand, a
//! slot is part of its 128-bit key, and it is looked at for every event, with a table in its place where slots are few.

/// A binary heap in which every slot stands at most once, so that its key can be changed in its place. Equal keys come
/// in the order of the slots. Slots are indices: memory grows with the highest.
#[derive(Clone, Debug)]
pub(crate) struct Ranking<K> {
    heap: Vec<(K, u32)>,
    /// Where each slot stands in the heap; [`ABSENT`] if nowhere.
    position: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl<K: Ord + Copy> Ranking<K> {
    pub(crate) const fn new() -> Self {
        Self { heap: Vec::new(), position: Vec::new() }
    }

    /// How many are ranked.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// The smallest key, and whose it is.
    #[inline]
    pub(crate) fn first(&self) -> Option<(K, u32)> {
        self.heap.first().copied()
    }

    /// Ranks `slot` by `key`, whether or not it was ranked before.
    pub(crate) fn set(&mut self, slot: u32, key: K) {
        if self.position.len() <= slot as usize {
            self.position.resize(slot as usize + 1, ABSENT);
        }
        let position = self.position[slot as usize];
        if position == ABSENT {
            self.heap.push((key, slot));
            return self.rise(self.heap.len() - 1);
        }
        let before = std::mem::replace(&mut self.heap[position as usize], (key, slot));
        if (key, slot) < before {
            self.rise(position as usize);
        } else {
            self.sink(position as usize);
        }
    }

    /// Ranks `slot` no more.
    pub(crate) fn remove(&mut self, slot: u32) {
        let Some(position) = self.position.get_mut(slot as usize) else { return };
        let position = std::mem::replace(position, ABSENT) as usize;
        if position == ABSENT as usize {
            return;
        }
        self.heap.swap_remove(position);
        if let Some(&(_, moved)) = self.heap.get(position) {
            self.rise(position);
            self.sink(self.position[moved as usize] as usize);
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
        loop {
            let mut child = 2 * position + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1] < self.heap[child] {
                child += 1;
            }
            let below = self.heap[child];
            if entry <= below {
                break;
            }
            self.place(position, below);
            position = child;
        }
        self.place(position, entry);
    }

    #[inline]
    fn place(&mut self, position: usize, entry: (K, u32)) {
        self.heap[position] = entry;
        self.position[entry.1 as usize] = position as u32;
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
            let mut ranking = Ranking::new();
            let mut model = std::collections::BTreeMap::new();
            for (slot, key) in operations {
                match key {
                    Some(key) => {
                        ranking.set(slot, key);
                        model.insert(slot, key);
                    }
                    None => {
                        ranking.remove(slot);
                        model.remove(&slot);
                    }
                }
                prop_assert_eq!(ranking.first(), model.iter().map(|(&slot, &key)| (key, slot)).min());
                prop_assert_eq!(ranking.len(), model.len());
            }
        }
    }
}
