//! Values whose memory can be asked for before it is needed.

use std::ops::{Deref, DerefMut, Range};

use prefetch_index::prefetch_index;

/// Words of 64 bits in a cache line.
const WORDS: usize = 8;

/// A value that begins with a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct CacheAligned<T> {
    /// Takes no room, and says where the value is.
    start: [u64; 0],
    value: T,
}

impl<T> CacheAligned<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { start: [], value }
    }

    /// Lets the processor fetch the value into its cache, without waiting for it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.prefetch_lines(0..size_of::<Self>() / 64);
    }

    /// Lets it fetch these cache lines of the value.
    #[inline]
    pub(crate) fn prefetch_lines(&self, lines: Range<usize>) {
        for line in lines {
            // A slice: what counts is the place of the array, which a copy would not have.
            prefetch_index(self.start.as_slice(), line * WORDS);
        }
    }
}

impl<T> Deref for CacheAligned<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for CacheAligned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_begins_where_its_first_line_does() {
        let lines = CacheAligned::new([7u8; 100]);
        assert_eq!(size_of_val(&lines), 128);
        assert!(std::ptr::addr_eq(&raw const lines.start, &raw const lines.value));
        assert_eq!(*lines, [7; 100]);
        lines.prefetch();
    }
}
