//! Places for the bytes of packets under way, made before the clock starts: none is allocated while it runs.

/// Places of equal size, by number.
pub(crate) struct Pool {
    bytes: Box<[u8]>,
    size: usize,
    free: Vec<u32>,
}

impl Pool {
    /// `places` for packets of at most `size` bytes.
    pub(crate) fn new(places: usize, size: usize) -> Self {
        // Not zero: pages of zeros would be given out one by one, at the first packet in each, and that packet would be
        // late.
        Self { bytes: vec![0xff; places * size].into(), size, free: (0..places as u32).rev().collect() }
    }

    /// A free place.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// `place` is free again.
    pub(crate) fn release(&mut self, place: u32) {
        self.free.push(place);
    }

    /// All of `place`.
    pub(crate) fn at(&mut self, place: u32) -> &mut [u8] {
        let start = place as usize * self.size;
        &mut self.bytes[start..start + self.size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_come_back_when_released() {
        let mut pool = Pool::new(2, 4);
        let (a, b) = (pool.take().unwrap(), pool.take().unwrap());
        assert_eq!(pool.take(), None);
        pool.at(a).fill(1);
        pool.at(b).fill(2);
        assert_eq!(pool.at(a), [1; 4]);
        pool.release(b);
        assert_eq!(pool.take(), Some(b));
    }
}
