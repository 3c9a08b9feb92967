//! Rings of packets. A large one grows by a quarter, not to twice its size: of a million flows the rings would be a
//! fifth of all memory, a half of that unused.

use std::collections::VecDeque;

/// Rings of so many packets are large.
const LARGE: usize = if cfg!(test) { 8 } else { 1 << 12 };

/// Appends `value` to `ring`.
#[inline(always)]
pub(crate) fn append<T>(ring: &mut VecDeque<T>, value: T) {
    if ring.len() == ring.capacity() {
        make_room(ring, 1);
    }
    ring.push_back(value);
}

/// Makes room for so many `more`.
#[cold]
#[inline(never)]
fn make_room<T>(ring: &mut VecDeque<T>, more: usize) {
    let length = ring.len();
    let growth = if length < LARGE { length.max(4) } else { length / 4 };
    ring.reserve_exact(growth.max(more));
}

/// Gives memory back that `ring`, in which no more than `most` lay of late, needs no longer.
pub(crate) fn shrink<T>(ring: &mut VecDeque<T>, most: usize) {
    let enough = most.max(LARGE);
    if ring.capacity() / 4 > enough {
        ring.shrink_to(enough);
    }
}

/// Moves all of `other` behind all of `ring`.
pub(crate) fn append_all<T>(ring: &mut VecDeque<T>, other: &mut VecDeque<T>) {
    if ring.capacity() - ring.len() < other.len() {
        make_room(ring, other.len());
    }
    ring.append(other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_doubles_while_it_is_small_and_then_grows_by_a_quarter() {
        let mut ring = VecDeque::new();
        let capacities: Vec<usize> = (0..26)
            .map(|value| {
                // Turned by one, so that it has to be put in order as it grows.
                let _ = ring.pop_front();
                append(&mut ring, value);
                append(&mut ring, value);
                ring.capacity()
            })
            .collect();
        assert_eq!([0, 3, 7, 9, 11, 14, 17].map(|at| capacities[at]), [4, 8, 10, 12, 15, 18, 22]);
        let expected: Vec<i32> = std::iter::once(12).chain((13..26).flat_map(|value| [value; 2])).collect();
        assert_eq!(ring, expected);
    }

    #[test]
    fn a_ring_gives_back_what_it_needs_no_longer() {
        let mut ring: VecDeque<i32> = VecDeque::with_capacity(44);
        let capacities = [11, 10, 2].map(|most| {
            shrink(&mut ring, most);
            ring.capacity()
        });
        assert_eq!(capacities, [44, 10, 10]);
    }

    #[test]
    fn what_is_appended_at_once_finds_room_at_once() {
        let (mut ring, mut other): (VecDeque<i32>, VecDeque<i32>) = ((0..3).collect(), (3..20).collect());
        append_all(&mut ring, &mut other);
        assert!(ring.iter().copied().eq(0..20) && other.is_empty() && ring.capacity() == 20);
    }
}
