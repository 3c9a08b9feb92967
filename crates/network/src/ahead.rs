//! Memory that is asked for before it is needed.

use std::collections::VecDeque;

use prefetch_index::prefetch_index;

/// Lets the processor fetch the place that `ring` has for the element appended after `others` more. If the ring begins
/// anew before that, it fetches the memory behind the ring, which does no harm.
#[inline]
pub(crate) fn prefetch_place<T>(ring: &VecDeque<T>, others: usize) {
    let (first, second) = ring.as_slices();
    let last = if second.is_empty() { first } else { second };
    prefetch_index(last, last.len() + others);
}
