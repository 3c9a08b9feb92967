//! The acknowledgements under way.

use transport::{Acknowledgement, SackBlocks};

use crate::cache_aligned::CacheAligned;

/// Acknowledgements in a chunk.
const CHUNK: u32 = 32;
/// Each takes a cache line and a half, from the middle or the end of one line on.
const SIZE: usize = size_of::<Acknowledgement>();
const _: () = assert!(SIZE == 96);

/// The place of an acknowledgement that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSlot(pub(crate) u32);

impl AckSlot {
    #[inline]
    const fn chunk(self) -> usize {
        (self.0 / CHUNK) as usize
    }

    #[inline]
    const fn place(self) -> usize {
        (self.0 % CHUNK) as usize
    }
}

/// A chunk of acknowledgements, and how many of them have yet to arrive.
#[derive(Debug)]
struct Chunk {
    acks: CacheAligned<[Acknowledgement; CHUNK as usize]>,
    left: u32,
}

impl Chunk {
    fn new() -> Self {
        Self { acks: CacheAligned::new([Acknowledgement::default(); CHUNK as usize]), left: 0 }
    }

    #[inline]
    fn get(&self, slot: AckSlot) -> &Acknowledgement {
        &self.acks[slot.place()]
    }

    #[inline]
    fn get_mut(&mut self, slot: AckSlot) -> &mut Acknowledgement {
        &mut self.acks[slot.place()]
    }

    /// Lets the processor fetch the acknowledgement in `slot`.
    #[inline]
    fn prefetch(&self, slot: AckSlot) {
        let first = slot.place() * SIZE / 64;
        self.acks.prefetch_lines(first..first + 2);
    }
}

/// The acknowledgements under way, in chunks: where their receivers and senders are in two places, each chunk goes from
/// one to the other and back.
#[derive(Debug, Default)]
pub(crate) struct Acks {
    /// By their number, or `None` for chunks at the other place.
    chunks: Vec<Option<Box<Chunk>>>,
    /// The place of the next acknowledgement, if a chunk is begun.
    next: u32,
    /// The chunks in which all have arrived.
    free: Vec<u32>,
    /// Those that were begun since the last were handed over, if any ever are.
    begun: Option<Vec<u32>>,
}

impl Acks {
    /// None yet; `crossing`: they are handed over from place to place.
    pub(crate) fn new(crossing: bool) -> Self {
        Self { begun: crossing.then(Vec::new), ..Self::default() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, ack: Acknowledgement) -> AckSlot {
        if self.next.is_multiple_of(CHUNK) {
            self.begin();
        }
        let slot = AckSlot(self.next);
        self.next += 1;
        // Written in one place only, it is built there and not moved.
        if let Some(chunk) = &mut self.chunks[slot.chunk()] {
            *chunk.get_mut(slot) = ack;
        }
        slot
    }

    /// Begins another chunk.
    #[cold]
    #[inline(never)]
    fn begin(&mut self) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.chunks.push(Some(Box::new(Chunk::new())));
            self.chunks.len() as u32 - 1
        });
        if let Some(chunk) = &mut self.chunks[number as usize] {
            chunk.left = CHUNK;
        }
        self.begun.iter_mut().for_each(|begun| begun.push(number));
        self.next = number * CHUNK;
    }

    /// The acknowledgement in `slot`.
    ///
    /// # Panics
    /// If it is at the other place.
    #[inline]
    pub(crate) fn get(&self, slot: AckSlot) -> &Acknowledgement {
        let chunk = self.chunks[slot.chunk()].as_ref();
        chunk.expect("an acknowledgement is where it is asked for").get(slot)
    }

    /// Takes the SACK blocks out of an acknowledgement.
    pub(crate) fn clear_sack(&mut self, slot: AckSlot) {
        if let Some(chunk) = &mut self.chunks[slot.chunk()] {
            chunk.get_mut(slot).sack = SackBlocks::default();
        }
    }

    /// Lets the processor fetch an acknowledgement.
    #[inline]
    pub(crate) fn prefetch(&self, slot: AckSlot) {
        if let Some(chunk) = &self.chunks[slot.chunk()] {
            chunk.prefetch(slot);
        }
    }

    /// The acknowledgement arrived or was lost: its place is free, once all of its chunk are.
    ///
    /// # Panics
    /// If it is at the other place.
    #[inline]
    pub(crate) fn take(&mut self, slot: AckSlot) -> &Acknowledgement {
        let number = slot.chunk();
        let chunk = self.chunks[number].as_mut().expect("an acknowledgement is where it arrives");
        chunk.left -= 1;
        if chunk.left == 0 {
            self.free.push(number as u32);
        }
        chunk.get(slot)
    }

    /// Hands over to `other` the chunks that were filled here since the last time, and takes back its free ones.
    pub(crate) fn hand_over(&mut self, other: &mut Self) {
        other.chunks.resize_with(self.chunks.len(), || None);
        let filled = self.next % CHUNK;
        if filled > 0
            && let Some(chunk) = &mut self.chunks[AckSlot(self.next).chunk()]
        {
            // The rest of it stays empty.
            chunk.left -= CHUNK - filled;
        }
        self.next = 0;
        for number in self.begun.iter_mut().flat_map(|begun| begun.drain(..)) {
            other.chunks[number as usize] = self.chunks[number as usize].take();
        }
        for number in other.free.drain(..) {
            self.chunks[number as usize] = other.chunks[number as usize].take();
            self.free.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(cumulative: u64) -> Acknowledgement {
        Acknowledgement { cumulative, ..Acknowledgement::default() }
    }

    #[test]
    fn acknowledgements_cross_from_place_to_place_and_their_memory_comes_back() {
        let (mut receivers, mut senders) = (Acks::new(true), Acks::new(true));
        for round in 0..50u64 {
            let slots: Vec<AckSlot> = (0..round).map(|number| receivers.insert(ack(number))).collect();
            receivers.hand_over(&mut senders);
            for (number, slot) in (0..).zip(slots) {
                assert_eq!((senders.get(slot).cumulative, senders.take(slot).cumulative), (number, number));
            }
        }
        receivers.hand_over(&mut senders);
        assert!(
            receivers.chunks.len() <= 4 && senders.chunks.iter().all(Option::is_none),
            "{}",
            receivers.chunks.len()
        );
    }

    #[test]
    fn in_one_place_a_chunk_serves_again_once_all_of_it_have_arrived() {
        let mut acks = Acks::default();
        for _ in 0..10 {
            let slots: Vec<AckSlot> = (0..u64::from(CHUNK)).map(|number| acks.insert(ack(number))).collect();
            slots.into_iter().for_each(|slot| assert_eq!(acks.take(slot).cumulative, u64::from(slot.0 % CHUNK)));
        }
        assert_eq!(acks.chunks.len(), 1);
    }
}
