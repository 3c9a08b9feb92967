//! The acknowledgements under way.

use transport::{Acknowledgement, CumulativeAck, SackBlocks};

use crate::cache_aligned::CacheAligned;

/// Acknowledgements in a chunk.
const CHUNK: u32 = 32;
const _: () = assert!(size_of::<CumulativeAck>() == 48 && size_of::<Acknowledgement>() == 96);

/// The place of an acknowledgement that is under way: its number in the chunks of its size, and below it one bit, which
/// is set if it has SACK blocks or a duplicate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSlot(pub(crate) u32);

impl AckSlot {
    #[inline]
    const fn of(place: Place, is_whole: bool) -> Self {
        Self(place.0 << 1 | is_whole as u32)
    }

    #[inline]
    const fn place(self) -> Place {
        Place(self.0 >> 1)
    }

    #[inline]
    const fn is_whole(self) -> bool {
        self.0 & 1 != 0
    }
}

/// An acknowledgement in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stored<'a> {
    Cumulative(&'a CumulativeAck),
    Whole(&'a Acknowledgement),
}

impl Stored<'_> {
    pub(crate) fn whole(self) -> Acknowledgement {
        match self {
            Self::Cumulative(&ack) => ack.into(),
            Self::Whole(&ack) => ack,
        }
    }
}

/// The number of a place in the chunks of one size.
#[derive(Clone, Copy, Debug)]
struct Place(u32);

impl Place {
    #[inline]
    const fn chunk(self) -> usize {
        (self.0 / CHUNK) as usize
    }

    #[inline]
    const fn in_chunk(self) -> usize {
        (self.0 % CHUNK) as usize
    }
}

/// A chunk of acknowledgements, and how many of them have yet to arrive.
#[derive(Debug)]
struct Chunk<T> {
    acks: CacheAligned<[T; CHUNK as usize]>,
    left: u32,
}

impl<T> Chunk<T> {
    /// Lets the processor fetch the acknowledgement in `place`.
    #[inline]
    fn prefetch(&self, place: Place) {
        let first = place.in_chunk() * size_of::<T>() / 64;
        self.acks.prefetch_lines(first..first + 2);
    }
}

/// Acknowledgements of one size, in chunks: where their receivers and senders are in two partitions, each chunk goes
/// from one to the other and back.
#[derive(Debug, Default)]
struct Chunks<T> {
    /// By their number, or `None` for chunks in the other partition.
    chunks: Vec<Option<Box<Chunk<T>>>>,
    /// The place of the next acknowledgement, if a chunk is begun.
    next: u32,
    /// The chunks in which all have arrived.
    free: Vec<u32>,
    /// Those that were begun since the last were handed over, if any ever are.
    begun: Option<Vec<u32>>,
}

impl<T: Copy + Default> Chunks<T> {
    #[inline(always)]
    fn insert(&mut self, ack: T) -> Place {
        if self.next.is_multiple_of(CHUNK) {
            self.begin();
        }
        let place = Place(self.next);
        self.next += 1;
        // Written in one place only, it is built there and not moved.
        if let Some(chunk) = &mut self.chunks[place.chunk()] {
            chunk.acks[place.in_chunk()] = ack;
        }
        place
    }

    /// Begins another chunk.
    #[cold]
    #[inline(never)]
    fn begin(&mut self) {
        let number = self.free.pop().unwrap_or_else(|| {
            let acks = CacheAligned::new([T::default(); CHUNK as usize]);
            self.chunks.push(Some(Box::new(Chunk { acks, left: 0 })));
            self.chunks.len() as u32 - 1
        });
        if let Some(chunk) = &mut self.chunks[number as usize] {
            chunk.left = CHUNK;
        }
        self.begun.iter_mut().for_each(|begun| begun.push(number));
        self.next = number * CHUNK;
    }

    #[inline]
    fn get(&self, place: Place) -> &T {
        let chunk = self.chunks[place.chunk()].as_ref();
        &chunk.expect("an acknowledgement is where it is asked for").acks[place.in_chunk()]
    }

    #[inline]
    fn prefetch(&self, place: Place) {
        if let Some(chunk) = &self.chunks[place.chunk()] {
            chunk.prefetch(place);
        }
    }

    #[inline(always)]
    fn take(&mut self, place: Place) -> &T {
        let number = place.chunk();
        let chunk = self.chunks[number].as_mut().expect("an acknowledgement is where it arrives");
        chunk.left -= 1;
        if chunk.left == 0 {
            self.free.push(number as u32);
        }
        &chunk.acks[place.in_chunk()]
    }

    fn hand_over(&mut self, other: &mut Self) {
        other.chunks.resize_with(self.chunks.len(), || None);
        let filled = self.next % CHUNK;
        if filled > 0
            && let Some(chunk) = &mut self.chunks[Place(self.next).chunk()]
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

/// The acknowledgements under way. Those with SACK blocks or a duplicate are apart, as they take twice the room.
#[derive(Debug, Default)]
pub(crate) struct Acks {
    cumulative: Chunks<CumulativeAck>,
    whole: Chunks<Acknowledgement>,
}

impl Acks {
    /// None yet; `crossing`: they are handed over from partition to partition.
    pub(crate) fn new(crossing: bool) -> Self {
        let mut new = Self::default();
        if crossing {
            (new.cumulative.begun, new.whole.begun) = (Some(Vec::new()), Some(Vec::new()));
        }
        new
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, ack: Acknowledgement) -> AckSlot {
        match ack.as_cumulative() {
            Some(ack) => AckSlot::of(self.cumulative.insert(ack), false),
            None => AckSlot::of(self.whole.insert(ack), true),
        }
    }

    /// The acknowledgement in `slot`.
    ///
    /// # Panics
    /// If it is in the other partition.
    pub(crate) fn get(&self, slot: AckSlot) -> Acknowledgement {
        if slot.is_whole() { *self.whole.get(slot.place()) } else { (*self.cumulative.get(slot.place())).into() }
    }

    /// Takes the SACK blocks out of an acknowledgement.
    pub(crate) fn clear_sack(&mut self, slot: AckSlot) {
        if slot.is_whole()
            && let Some(chunk) = &mut self.whole.chunks[slot.place().chunk()]
        {
            chunk.acks[slot.place().in_chunk()].sack = SackBlocks::default();
        }
    }

    /// Lets the processor fetch an acknowledgement.
    #[inline]
    pub(crate) fn prefetch(&self, slot: AckSlot) {
        if slot.is_whole() { self.whole.prefetch(slot.place()) } else { self.cumulative.prefetch(slot.place()) }
    }

    /// The acknowledgement arrived or was lost: its place is free, once all of its chunk are.
    ///
    /// # Panics
    /// If it is in the other partition.
    #[inline(always)]
    pub(crate) fn take(&mut self, slot: AckSlot) -> Stored<'_> {
        if slot.is_whole() {
            Stored::Whole(self.whole.take(slot.place()))
        } else {
            Stored::Cumulative(self.cumulative.take(slot.place()))
        }
    }

    /// Hands over to `other` the chunks that were filled here since the last time, and takes back its free ones.
    pub(crate) fn hand_over(&mut self, other: &mut Self) {
        self.cumulative.hand_over(&mut other.cumulative);
        self.whole.hand_over(&mut other.whole);
    }
}

#[cfg(test)]
mod tests {
    use units::{Span, Time};

    use super::*;

    fn ack(cumulative: u64) -> Acknowledgement {
        Acknowledgement { cumulative, ..Acknowledgement::default() }
    }

    #[test]
    fn an_acknowledgement_comes_back_as_it_was_and_takes_the_room_of_its_fields() {
        let mut sack = SackBlocks::default();
        sack.push(7, 9, 12);
        let (echo, one_way_delay) = (Time::from_nanos(2), Span::from_nanos(3));
        let own = Acknowledgement { timestamp: Time::from_nanos(1), echo, one_way_delay, ..ack(7) };
        let plain = Acknowledgement { window: 4, congestion_echo: true, marked: 5, ..own };
        let (blocks, twice) = (Acknowledgement { sack, ..plain }, Acknowledgement { duplicate: Some(6), ..plain });
        let both = Acknowledgement { duplicate: Some(6), ..blocks };
        let mut acks = Acks::default();
        let slots = [plain, blocks, twice, both].map(|ack| acks.insert(ack));
        assert_eq!(slots.map(|slot| acks.get(slot)), [plain, blocks, twice, both]);
        slots.into_iter().for_each(|slot| acks.clear_sack(slot));
        assert_eq!(slots.map(|slot| acks.take(slot).whole()), [plain, plain, twice, twice]);
        assert_eq!((acks.cumulative.next, acks.whole.next), (1, 3));
    }

    #[test]
    fn acknowledgements_cross_from_partition_to_partition_and_their_memory_comes_back() {
        let (mut receivers, mut senders) = (Acks::new(true), Acks::new(true));
        for round in 0..50u64 {
            let of = |number| Acknowledgement { duplicate: (number % 3 == 0).then_some(number), ..ack(number) };
            let slots: Vec<AckSlot> = (0..round).map(|number| receivers.insert(of(number))).collect();
            receivers.hand_over(&mut senders);
            for (number, slot) in (0..).zip(slots) {
                assert_eq!((senders.get(slot), senders.take(slot).whole()), (of(number), of(number)));
            }
        }
        receivers.hand_over(&mut senders);
        let chunks = [receivers.cumulative.chunks.len(), receivers.whole.chunks.len()];
        assert!(chunks.iter().all(|&chunks| chunks <= 4), "{chunks:?}");
        assert!(
            senders.cumulative.chunks.iter().all(Option::is_none) && senders.whole.chunks.iter().all(Option::is_none)
        );
    }

    #[test]
    fn in_one_partition_a_chunk_serves_again_once_all_of_it_have_arrived() {
        let mut acks = Acks::default();
        for _ in 0..10 {
            let slots: Vec<AckSlot> = (0..u64::from(CHUNK)).map(|number| acks.insert(ack(number))).collect();
            for (number, slot) in (0..).zip(slots) {
                assert_eq!(acks.take(slot).whole().cumulative, number);
            }
        }
        assert_eq!((acks.cumulative.chunks.len(), acks.whole.chunks.len()), (1, 0));
    }
}
