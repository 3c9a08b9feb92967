//! The applications at both ends of a connection: one writes, into streams or datagrams, the other reads.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use record::{DatagramRow, seconds};
use stack::{Event, Side};
use transport::{Pace, Ranges, Writes};
use units::Time;

/// So much is written at once, if there is as much.
const CHUNK: u64 = 1 << 20;
/// A greedy application is so many windows and bytes ahead of the bytes that have arrived.
const WINDOWS_AHEAD: u64 = 8;
const BYTES_AHEAD: u64 = 16 << 20;
/// A datagram begins with its number and the time at which it was written.
const DATAGRAM_HEAD: usize = 16;

/// The application that writes.
#[derive(Debug)]
pub(crate) enum Writer {
    /// Into streams, which are opened one after the other.
    Streams(Vec<Outgoing>),
    /// Datagrams, a full one with `full` bytes without the headers of QUIC.
    Datagrams { writes: Writes, full: u32, next: u64 },
}

/// A stream to be written.
#[derive(Debug)]
pub(crate) struct Outgoing {
    stream: Option<u64>,
    /// Bytes in all, or `None` without end.
    total: Option<u64>,
    /// When units of so many bytes are written, or `None` if all is there from the start.
    pace: Option<(Pace, u64)>,
    written: u64,
    finished: bool,
}

impl Outgoing {
    pub(crate) fn new(total: Option<u64>, pace: Option<(Pace, u64)>) -> Self {
        Self { stream: None, total, pace, written: 0, finished: false }
    }

    /// Writes what there is, where `arrived` bytes have arrived and the window is `window` bytes.
    fn write(&mut self, now: Time, side: &mut dyn Side, arrived: u64, window: u64) {
        if self.finished {
            return;
        }
        // The other side may allow only so many streams at a time.
        self.stream = self.stream.or_else(|| side.open_stream());
        let Some(stream) = self.stream else { return };
        let total = self.total.unwrap_or(u64::MAX);
        let there = match &mut self.pace {
            Some((pace, unit)) => total.min(pace.written(now, u64::MAX - 1).saturating_mul(*unit)),
            None => total.min(arrived + WINDOWS_AHEAD * window + BYTES_AHEAD),
        };
        // Small pieces would cost more than they are worth.
        if self.pace.is_none() && there < total && there < self.written + CHUNK {
            return;
        }
        while self.written < there {
            match side.write(stream, CHUNK.min(there - self.written) as usize) {
                0 => return,
                bytes => self.written += bytes as u64,
            }
        }
        if self.written == total {
            self.finished = side.finish(stream);
        }
    }
}

impl Writer {
    /// The connection is open.
    pub(crate) fn open(&mut self, now: Time) {
        match self {
            Self::Streams(streams) => {
                streams.iter_mut().filter_map(|one| one.pace.as_mut()).for_each(|(pace, _)| pace.start(now));
            }
            Self::Datagrams { writes, .. } => writes.start(now),
        }
    }

    /// Writes the available bytes (see [`Outgoing::write`]).
    pub(crate) fn write(&mut self, now: Time, side: &mut dyn Side, reader: &Reader, window: u64) {
        match self {
            Self::Streams(streams) => {
                let behind = streams.iter().take_while(|stream| stream.finished).count();
                for (number, stream) in streams.iter_mut().enumerate().skip(behind) {
                    stream.write(now, side, reader.arrived(number), window);
                }
            }
            Self::Datagrams { writes, full, next } => {
                while let Some(payload) = writes.take(now, *next, *full) {
                    // As many bytes on the wire as in UDP alone.
                    let (most, overhead) = side.datagram_room();
                    let size =
                        (payload as usize).saturating_sub(overhead).clamp(DATAGRAM_HEAD, most.max(DATAGRAM_HEAD));
                    let mut content = BytesMut::with_capacity(size);
                    content.put_u64(*next);
                    content.put_u64(now.as_nanos());
                    content.resize(size, 0);
                    side.send_datagram(content.freeze());
                    *next += 1;
                }
            }
        }
    }

    /// When more is written.
    pub(crate) fn next_write(&self) -> Option<Time> {
        match self {
            Self::Streams(streams) => streams.iter().filter_map(|one| one.pace.as_ref()?.0.next_write()).min(),
            Self::Datagrams { writes, .. } => writes.next_write(),
        }
    }

    /// Another stream is to be written.
    pub(crate) fn add(&mut self, stream: Outgoing) {
        if let Self::Streams(streams) = self {
            streams.push(stream);
        }
    }

    /// True if lost data is sent again.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self, Self::Streams(_))
    }
}

/// A stream as it is read.
#[derive(Debug, Default)]
struct Incoming {
    arrived: Ranges,
    /// Those that have arrived, in any order.
    bytes: u64,
    complete: bool,
}

/// The application that reads.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    streams: Vec<Incoming>,
    datagrams: u64,
    /// The path of the datagram that arrived last.
    pub(crate) path: usize,
    /// Bytes of streams that each path brought first.
    brought: Vec<u64>,
    /// Rows of datagrams that were not taken yet.
    pub(crate) rows: Vec<DatagramRow>,
}

impl Reader {
    /// Bytes of stream `number` that arrived in order, or all bytes of datagrams.
    pub(crate) fn delivered(&self, number: usize) -> u64 {
        let first = self.streams.get(number).and_then(|stream| stream.arrived.first());
        first.filter(|&(start, _)| start == 0).map_or(0, |(_, end)| end) + self.datagrams
    }

    /// Bytes of stream `number` that have arrived in any order.
    fn arrived(&self, number: usize) -> u64 {
        self.streams.get(number).map_or(0, |stream| stream.bytes)
    }

    /// Bytes of streams that path `path` brought first.
    pub(crate) fn brought(&self, path: usize) -> u64 {
        self.brought.get(path).copied().unwrap_or(0)
    }

    /// True if stream `number` was read to its end.
    pub(crate) fn is_complete(&self, number: usize) -> bool {
        self.streams.get(number).is_some_and(|stream| stream.complete)
    }

    /// Reads what there is. `Err` says why the connection is over.
    pub(crate) fn read(&mut self, now: Time, flow: u32, side: &mut dyn Side) -> Result<(), String> {
        while let Some(event) = side.poll() {
            match event {
                Event::Arrived { stream, from, to } if from < to => self.arrive(stream, from, to),
                Event::Complete(stream) => self.stream(stream).complete = true,
                Event::Datagram(datagram) => self.read_datagram(now, flow, datagram),
                Event::Lost(why) => return Err(why),
                _ => {}
            }
        }
        Ok(())
    }

    /// Bytes `from..to` of a stream have arrived.
    fn arrive(&mut self, stream: u64, from: u64, to: u64) {
        let mut new = 0;
        let stream = self.stream(stream);
        stream.arrived.insert(from, to, |from, to| new += to - from);
        stream.bytes += new;
        if self.brought.len() <= self.path {
            self.brought.resize(self.path + 1, 0);
        }
        self.brought[self.path] += new;
    }

    fn stream(&mut self, number: u64) -> &mut Incoming {
        let number = number as usize;
        if self.streams.len() <= number {
            self.streams.resize_with(number + 1, Incoming::default);
        }
        &mut self.streams[number]
    }

    fn read_datagram(&mut self, now: Time, flow: u32, mut datagram: Bytes) {
        self.datagrams += datagram.len() as u64;
        let (sequence, sent) = (datagram.get_u64(), Time::from_nanos(datagram.get_u64()));
        self.rows.push(DatagramRow { sent_s: seconds(sent), flow, sequence, arrived_s: seconds(now) });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use stack::Header;
    use units::{Bytes as Size, Rate, Span};

    use super::*;

    /// A side that notes writes. Its peer allows `allowed` streams, and `room` bytes can be written.
    #[derive(Default)]
    struct Recording {
        allowed: u64,
        opened: u64,
        room: usize,
        writes: Vec<(u64, usize)>,
        finishes: bool,
        finished: Vec<u64>,
        datagrams: Vec<Bytes>,
        most: usize,
        events: VecDeque<Event>,
    }

    impl Recording {
        fn of(allowed: u64, room: usize) -> Self {
            Self { allowed, room, finishes: true, most: 1200, ..Self::default() }
        }

        /// Bytes written into `stream`.
        fn written(&self, stream: u64) -> usize {
            self.writes.iter().filter(|(to, _)| *to == stream).map(|(_, bytes)| bytes).sum()
        }
    }

    impl Side for Recording {
        fn receive(&mut self, _now: u64, _header: Header, _datagram: BytesMut) {}
        fn transmit(&mut self, _now: u64) -> Option<(Header, &[u8])> {
            None
        }
        fn expire(&mut self, _now: u64) {}
        fn deadline(&mut self) -> Option<u64> {
            None
        }
        fn poll(&mut self) -> Option<Event> {
            self.events.pop_front()
        }
        fn open_stream(&mut self) -> Option<u64> {
            let opens = self.opened < self.allowed;
            self.opened += u64::from(opens);
            opens.then(|| self.opened - 1)
        }
        fn write(&mut self, stream: u64, bytes: usize) -> usize {
            let taken = bytes.min(self.room);
            self.room -= taken;
            if taken > 0 {
                self.writes.push((stream, taken));
            }
            taken
        }
        fn finish(&mut self, stream: u64) -> bool {
            self.finished.push(stream);
            self.finishes
        }
        fn send_datagram(&mut self, datagram: Bytes) {
            self.datagrams.push(datagram);
        }
        fn datagram_room(&mut self) -> (usize, usize) {
            (self.most, 31)
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Units of 1000 bytes, one a millisecond, from the start on.
    fn a_unit_a_millisecond(total: Option<u64>) -> Pace {
        Pace::new(vec![(Time::ZERO, Rate::from_bits_per_second(8_000_000))], Size::new(1000), total.map(Size::new))
    }

    #[test]
    fn a_greedy_stream_is_eight_windows_and_16_mib_ahead_of_the_arrived_bytes() {
        let (mut side, mut stream) = (Recording::of(1, usize::MAX), Outgoing::new(None, None));
        stream.write(at(0), &mut side, 5, 1000);
        // 5 + 8 * 1000 + 16 * 1,048,576
        assert_eq!(side.written(0), 16_785_221);
        assert!(side.writes.iter().all(|&(_, bytes)| bytes <= 1 << 20) && side.writes[0].1 == 1 << 20);
        // Less than a MiB more waits.
        stream.write(at(1), &mut side, 5 + (1 << 20) - 1, 1000);
        assert_eq!(side.written(0), 16_785_221);
        stream.write(at(2), &mut side, 5 + (1 << 20), 1000);
        assert_eq!((side.written(0), side.finished.len()), (16_785_221 + (1 << 20), 0));
    }

    #[test]
    fn a_stream_ends_once_all_of_it_is_written_and_that_is_taken() {
        let (mut side, mut stream) = (Recording::of(1, 2000), Outgoing::new(Some(3000), None));
        stream.write(at(0), &mut side, 0, 1000);
        assert_eq!((side.written(0), &side.finished[..]), (2000, &[][..]), "the side takes no more");
        (side.room, side.finishes) = (5000, false);
        stream.write(at(1), &mut side, 0, 1000);
        assert_eq!((side.written(0), &side.finished[..]), (3000, &[0][..]));
        side.finishes = true;
        stream.write(at(2), &mut side, 0, 1000);
        stream.write(at(3), &mut side, 0, 1000);
        assert_eq!((side.written(0), &side.finished[..]), (3000, &[0, 0][..]), "it was refused once");
    }

    #[test]
    fn a_stream_with_a_pace_has_the_units_of_its_application() {
        let (mut side, mut stream) =
            (Recording::of(1, usize::MAX), Outgoing::new(Some(2500), Some((a_unit_a_millisecond(Some(2500)), 1000))));
        let mut writer = Writer::Streams(vec![]);
        assert_eq!(writer.next_write(), None);
        stream.pace.as_mut().unwrap().0.start(at(10));
        writer.add(Outgoing::new(Some(1), None));
        writer.add(stream);
        assert_eq!(writer.next_write(), Some(at(10)));
        side.allowed = 2;
        for (now, written, next) in
            [(10, 1000, Some(at(11))), (10, 1000, Some(at(11))), (11, 2000, Some(at(12))), (13, 2500, None)]
        {
            writer.write(at(now), &mut side, &Reader::default(), 1_000_000);
            assert_eq!((side.written(1), writer.next_write()), (written, next), "{now}");
        }
        assert_eq!(side.finished, [0, 1]);
        stream = Outgoing::new(None, Some((a_unit_a_millisecond(None), 1000)));
        let mut writer = Writer::Streams(vec![stream]);
        assert_eq!(writer.next_write(), None, "before the connection is open");
        writer.open(at(20));
        assert_eq!((writer.next_write(), writer.repeats()), (Some(at(20)), true));
    }

    #[test]
    fn a_stream_waits_until_the_other_side_allows_it() {
        let mut side = Recording::of(1, usize::MAX);
        let mut writer = Writer::Streams([700, 300].map(|bytes| Outgoing::new(Some(bytes), None)).into());
        for (allowed, written) in [(1, [700, 0]), (1, [700, 0]), (2, [700, 300])] {
            side.allowed = allowed;
            writer.write(at(0), &mut side, &Reader::default(), 1000);
            assert_eq!([0, 1].map(|stream| side.written(stream)), written);
        }
        assert_eq!(side.finished, [0, 1]);
    }

    #[test]
    fn each_stream_is_ahead_of_its_own_arrived_bytes() {
        let (mut side, mut reader) = (Recording::of(2, usize::MAX), Reader::default());
        reader.arrive(1, 4000, 4000 + (1 << 21));
        let mut writer = Writer::Streams(vec![Outgoing::new(None, None), Outgoing::new(None, None)]);
        writer.write(at(0), &mut side, &reader, 0);
        assert_eq!([0, 1].map(|stream| side.written(stream)), [16 << 20, 18 << 20]);
    }

    #[test]
    fn a_datagram_is_as_long_on_the_wire_as_one_of_udp_and_begins_with_number_and_time() {
        let mut side = Recording::of(0, 0);
        let mut writer = Writer::Datagrams { writes: Writes::Paced(a_unit_a_millisecond(None)), full: 972, next: 0 };
        writer.open(at(5));
        assert_eq!((writer.next_write(), writer.repeats()), (Some(at(5)), false));
        writer.write(at(6), &mut side, &Reader::default(), 0);
        assert_eq!(writer.next_write(), Some(at(7)));
        // 31 of the 972 bytes are headers of QUIC.
        assert_eq!(side.datagrams.iter().map(Bytes::len).collect::<Vec<_>>(), [941; 2]);
        let heads = side.datagrams.iter_mut().map(|datagram| (datagram.get_u64(), datagram.get_u64()));
        assert_eq!(heads.collect::<Vec<_>>(), [(0, 6_000_000), (1, 6_000_000)]);
        // The stack has a most, and number and time need 16 bytes.
        for (most, size) in [(500, 500), (10, 16)] {
            side.most = most;
            side.datagrams.clear();
            writer.write(at(if most == 500 { 7 } else { 8 }), &mut side, &Reader::default(), 0);
            assert_eq!(side.datagrams.iter().map(Bytes::len).collect::<Vec<_>>(), [size]);
        }
    }

    #[test]
    fn a_reader_counts_in_order_in_any_order_and_by_path() {
        let mut reader = Reader::default();
        assert_eq!(
            (reader.delivered(0), reader.arrived(0), reader.brought(0), reader.is_complete(0)),
            (0, 0, 0, false)
        );
        let mut side = Recording::of(0, 0);
        let arrived = |stream, from, to| Event::Arrived { stream, from, to };
        side.events = [arrived(0, 1000, 3000), arrived(1, 0, 700), arrived(0, 500, 500), Event::Complete(1)].into();
        reader.read(at(1), 0, &mut side).unwrap();
        assert_eq!([0, 1].map(|stream| (reader.delivered(stream), reader.arrived(stream))), [(0, 2000), (700, 700)]);
        assert_eq!([0, 1, 2].map(|stream| reader.is_complete(stream)), [false, true, false]);
        // The other path brings 1000 bytes that are new, and 500 that are not.
        reader.path = 1;
        side.events = [arrived(0, 0, 1500)].into();
        reader.read(at(2), 0, &mut side).unwrap();
        assert_eq!((reader.delivered(0), reader.arrived(0)), (3000, 3000));
        assert_eq!([0, 1, 2].map(|path| reader.brought(path)), [2700, 1000, 0]);
    }

    #[test]
    fn a_datagram_that_arrives_is_a_row() {
        let (mut reader, mut side) = (Reader::default(), Recording::of(0, 0));
        let mut content = BytesMut::new();
        content.put_u64(7);
        content.put_u64(2_500_000);
        content.resize(500, 0);
        side.events = [Event::Datagram(content.freeze()), Event::Connected].into();
        reader.read(at(4), 3, &mut side).unwrap();
        assert_eq!((reader.delivered(0), reader.delivered(1), reader.brought(0)), (500, 500, 0));
        assert_eq!(reader.rows, [DatagramRow { sent_s: 0.0025, flow: 3, sequence: 7, arrived_s: 0.004 }]);
        side.events = [Event::Lost("the peer is gone".to_owned()), Event::Complete(0)].into();
        assert_eq!(reader.read(at(5), 3, &mut side), Err("the peer is gone".to_owned()));
        assert!(!reader.is_complete(0));
    }
}
