//! The bytes that an endpoint sends, cut into the segments that its sender counts.

/// Bytes of the largest buffer that writes go into.
const LARGEST_BUFFER: u64 = 65_215;

/// The receive window of the other side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The segments below are acknowledged.
    pub(crate) acknowledged: u64,
    /// It ends at this byte.
    pub(crate) end: u64,
    /// The most bytes that it has had so far.
    pub(crate) largest: u64,
    /// Segments of the longest train that leaves into it.
    pub(crate) train: u64,
}

/// The bytes that the application has written, and the ends of the segments sent so far. The first byte has number 1.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    /// The end of each segment (exclusive), by its number. The end of a FIN includes its own number.
    ends: Vec<u64>,
    /// The number after the last byte written.
    written: u64,
    /// A segment that ends here is pushed.
    pushes: Vec<u64>,
    /// The last of these that was set because much had been written since the one before.
    pushed: u64,
    /// The start of the last buffer that writes go into (see [`write`](Self::write)), and the ends of the full ones
    /// before it, until segments leave.
    buffer: u64,
    full: Vec<u64>,
    /// The receive window lets the bytes before this number leave (see [`admit`](Self::admit)).
    limit: u64,
    /// The largest segment.
    segment_size: u64,
    /// The application has closed.
    closing: bool,
    /// The segment with the FIN.
    fin: Option<u64>,
    /// Small segments leave although others are outstanding (TCP_NODELAY).
    pub(crate) no_delay: bool,
}

impl Outgoing {
    /// Nothing is written yet.
    pub(crate) fn new(segment_size: u64) -> Self {
        Self {
            ends: Vec::new(),
            written: 1,
            pushes: Vec::new(),
            pushed: 1,
            buffer: 1,
            full: Vec::new(),
            limit: u64::MAX,
            segment_size: segment_size.max(1),
            closing: false,
            fin: None,
            no_delay: false,
        }
    }

    /// The application writes, when `room` segments may leave at once.
    ///
    /// The end of a write is pushed, unless a later one joins its buffer (tcp_sendmsg_locked). So is, as in Linux, a
    /// full buffer that ends more than half a window after the last push. A buffer takes the segments of half of the
    /// receive window, at most 64 kB. A full buffer that is the first to leave is sent while the write goes on, which
    /// makes room in it.
    pub(crate) fn write(&mut self, bytes: u64, room: u64, window: &Window) {
        let half = window.largest / 2;
        let full = (half.min(LARGEST_BUFFER) / self.segment_size).max(1) * self.segment_size;
        let mut rest = bytes;
        let mut room = room * self.segment_size;
        let mut leaving = self.next();
        while rest > 0 {
            self.buffer = self.buffer.max(leaving);
            if self.written - self.buffer >= full {
                self.full.push(self.written);
                self.buffer = self.written;
            }
            if self.written > self.buffer && self.pushes.last() == Some(&self.written) {
                self.pushes.pop();
            }
            let taken = rest.min(self.buffer + full - self.written);
            (self.written, rest) = (self.written + taken, rest - taken);
            if self.written - self.buffer < full {
                break;
            }
            if self.written > self.pushed + half {
                self.pushed = self.written;
                self.pushes.push(self.written);
            } else if self.buffer == leaving {
                let sent = room.min(self.admitted(leaving, self.written, window));
                (room, leaving) = (room - sent, leaving + sent);
            }
        }
        if bytes > 0 && self.pushes.last() != Some(&self.written) {
            self.pushed = self.written;
            self.pushes.push(self.written);
        }
    }

    /// The application closes: a FIN follows the written data.
    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    /// The number after the last byte sent (SND.NXT).
    pub(crate) fn next(&self) -> u64 {
        self.ends.last().copied().unwrap_or(1)
    }

    /// The number before which every byte belongs to the segments below `segment`.
    pub(crate) fn start(&self, segment: u64) -> u64 {
        if segment == 0 { 1 } else { self.ends[segment as usize - 1] }
    }

    /// Bytes written and not sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.next())
    }

    /// How many segments there are to send in all, sent ones included, with the cumulative point at segment `first`. A
    /// small segment waits for the ACK of another one (Nagle's algorithm, RFC 9293, section 3.7.4, as Linux has it).
    pub(crate) fn available(&self, first: u64) -> u64 {
        let sent = self.ends.len() as u64;
        let waits = self.holds_small(first);
        sent + self.unsent().div_ceil(self.segment_size) - u64::from(waits) + u64::from(self.closes_alone())
    }

    /// True if the next segment is a FIN without data.
    fn closes_alone(&self) -> bool {
        self.closing && self.fin.is_none() && self.unsent() == 0
    }

    /// First byte and end of the buffers that have not left.
    fn buffers(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut start = self.next();
        let ends = self.full.iter().copied().chain(std::iter::once(self.written)).filter(move |&end| end > start);
        ends.map(move |end| (std::mem::replace(&mut start, end), end))
    }

    /// How many segments the receive window lets leave. A write sends buffer by buffer. What waits after that leaves as
    /// if it were in one buffer (tcp_grow_skb, since Linux 6.10).
    pub(crate) fn admit(&mut self, window: &Window) -> u64 {
        let size = self.segment_size;
        let (mut segments, mut limit) = (0, self.next());
        for (start, stop) in self.buffers() {
            let fits = self.admitted(start, stop, window);
            (segments, limit) = (segments + fits.div_ceil(size), start + fits);
            if limit < stop {
                break;
            }
        }
        self.limit = limit;
        self.full.clear();
        segments + u64::from(self.closes_alone() && window.end > limit)
    }

    /// True if the receive window ends within the last segment that it lets leave.
    pub(crate) fn ends_within_segment(&self) -> bool {
        self.limit < self.written && !(self.limit - self.next()).is_multiple_of(self.segment_size)
    }

    /// Bytes that the receive window lets leave of the buffer from `start` to `stop`. A train of which a segment fits
    /// leaves as far as the window goes. So its last segment may be short, if Nagle's algorithm lets it leave
    /// (tcp_snd_wnd_test, tcp_mss_split_point).
    fn admitted(&self, start: u64, stop: u64, window: &Window) -> u64 {
        let size = self.segment_size;
        let (length, fits) = (stop - start, window.end.clamp(start, stop) - start);
        let of_train = fits % (window.train.max(1) * size);
        let waits = of_train < size || !self.no_delay && self.has_small_since(window.acknowledged);
        if fits < length && waits { fits - fits % size } else { fits }
    }

    /// The window probe is due: the bytes before `end`, less than a segment, leave (tcp_write_wakeup).
    pub(crate) fn admit_part(&mut self, end: u64) {
        self.limit = end;
    }

    /// True if the last of them waits for that ACK.
    pub(crate) fn holds_small(&self, first: u64) -> bool {
        let small = !self.unsent().is_multiple_of(self.segment_size);
        small && !self.closing && !self.no_delay && self.has_small_since(first)
    }

    fn has_small_since(&self, first: u64) -> bool {
        (first..self.ends.len() as u64).any(|segment| self.length(segment) < self.segment_size)
    }

    fn length(&self, segment: u64) -> u64 {
        self.ends[segment as usize] - self.start(segment)
    }

    /// Segment `number` leaves: where it begins, how many bytes it has, and whether it ends a write and the connection.
    pub(crate) fn leave(&mut self, number: u64) -> (u64, u32, bool, bool) {
        if number == self.ends.len() as u64 {
            let mut end = self.written.min(self.limit).min(self.next() + self.segment_size).max(self.next());
            if self.closing && end == self.written && self.fin.is_none() {
                self.fin = Some(number);
                end += 1;
            }
            self.ends.push(end);
        }
        let fin = self.fin == Some(number);
        let start = self.start(number);
        let payload = self.length(number) - u64::from(fin);
        let push = payload > 0 && self.pushes.binary_search(&(start + payload)).is_ok();
        (start, payload as u32, push, fin)
    }

    /// How many segments are wholly below byte `number`.
    pub(crate) fn whole_below(&self, number: u64) -> u64 {
        self.ends.partition_point(|&end| end <= number) as u64
    }

    /// The first segment that begins at byte `number` or later.
    pub(crate) fn first_from(&self, number: u64) -> u64 {
        let before = self.whole_below(number);
        before + u64::from(self.start(before.min(self.ends.len() as u64)) < number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 4500 bytes at most that ends at byte `end`, with the segments below `acknowledged`.
    fn window(acknowledged: u64, end: u64) -> Window {
        Window { acknowledged, end, largest: 4500, train: 2 }
    }

    /// One that limits nothing.
    const OPEN: Window = Window { acknowledged: 0, end: u64::MAX, largest: 65_535, train: 2 };

    #[test]
    fn a_write_is_cut_into_segments_and_its_end_is_pushed() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(2500, 10, &OPEN);
        assert_eq!(bytes.available(0), 3);
        assert_eq!(bytes.leave(0), (1, 1000, false, false));
        assert_eq!(bytes.leave(1), (1001, 1000, false, false));
        assert_eq!(bytes.leave(2), (2001, 500, true, false));
        assert_eq!(bytes.next(), 2501);
        assert_eq!(bytes.leave(1), (1001, 1000, false, false), "again");
    }

    #[test]
    fn a_write_that_joins_the_buffer_of_another_is_pushed_with_it() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(3000, 0, &OPEN);
        bytes.write(4000, 0, &OPEN);
        assert_eq!(bytes.pushes, [7001]);
        // All of it has left: the next write has a buffer of its own.
        for number in 0..7 {
            bytes.leave(number);
        }
        bytes.write(2000, 0, &OPEN);
        assert_eq!(bytes.pushes, [7001, 9001]);
        // Part of it has left: the rest is still a buffer that takes more.
        bytes.leave(7);
        bytes.write(500, 0, &OPEN);
        assert_eq!(bytes.pushes, [7001, 9501]);
    }

    #[test]
    fn a_long_write_is_pushed_every_half_window() {
        // Half of 32,896 bytes is 16,448: buffers of 16 segments. Two segments leave with the first buffer, so that it
        // takes 2000 bytes more and ends at 18,001, past 1 + 16,448. The next ones end at 34,001 (not past 18,001 +
        // 16,448) and 50,001.
        let mut bytes = Outgoing::new(1000);
        bytes.write(60_000, 2, &Window { largest: 32_896, ..OPEN });
        assert_eq!(bytes.pushes, [18_001, 50_001, 60_001]);
    }

    #[test]
    fn a_full_buffer_that_ends_half_a_window_after_the_last_push_is_not_pushed() {
        // Half of 4000 bytes: buffers of two segments, the first of which ends at 2001, not past 1 + 2000. The second
        // ends at 4001, which is past it.
        let mut bytes = Outgoing::new(1000);
        bytes.write(3000, 0, &Window { largest: 4000, ..OPEN });
        assert_eq!(bytes.pushes, [3001]);
        let mut bytes = Outgoing::new(1000);
        bytes.write(5000, 0, &Window { largest: 4000, ..OPEN });
        assert_eq!(bytes.pushes, [4001, 5001]);
    }

    #[test]
    fn an_end_that_is_pushed_already_is_not_pushed_again() {
        // Half of 2000 bytes: buffers of a segment. The second ends past 1 + 1000, and the write with it.
        let mut bytes = Outgoing::new(1000);
        bytes.write(2000, 0, &Window { largest: 2000, ..OPEN });
        assert_eq!(bytes.pushes, [2001]);
        bytes.write(0, 0, &OPEN);
        assert_eq!(bytes.pushes, [2001]);
    }

    #[test]
    fn a_small_segment_waits_for_the_ack_of_another() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(500, 10, &OPEN);
        bytes.leave(0);
        bytes.write(1200, 10, &OPEN);
        assert_eq!(bytes.available(0), 2, "200 bytes wait");
        assert_eq!(bytes.available(1), 3);
        bytes.no_delay = true;
        assert_eq!(bytes.available(0), 3);
        // Nor does it wait where nothing more will be written: it leaves with the FIN.
        bytes.no_delay = false;
        bytes.close();
        assert_eq!(bytes.available(0), 3);
        bytes.leave(1);
        assert_eq!(bytes.leave(2), (1501, 200, true, true));
    }

    /// Sizes of the segments `numbers`, which leave.
    fn sizes(bytes: &mut Outgoing, numbers: std::ops::Range<u64>) -> Vec<u32> {
        numbers.map(|number| bytes.leave(number).1).collect()
    }

    #[test]
    fn a_window_that_ends_within_a_segment_lets_the_part_leave_with_a_full_one() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(8000, 0, &OPEN);
        // Two trains of two: of 4500 bytes 500 are left for the third, less than a segment.
        assert_eq!(
            (
                bytes.admit(&window(0, 4501)),
                bytes.admit(&Window { train: 3, ..window(0, 4501) }),
                bytes.admit(&window(0, 3501))
            ),
            (4, 5, 4)
        );
        assert_eq!((sizes(&mut bytes, 0..4), bytes.next()), (vec![1000, 1000, 1000, 500], 3501));
        // A second short one waits for the ACK of the first (Nagle).
        assert_eq!(
            [bytes.admit(&window(3, 4101)), bytes.admit(&window(3, 5101)), bytes.admit(&window(4, 5101))],
            [0, 1, 2]
        );
        bytes.no_delay = true;
        assert_eq!(bytes.admit(&window(3, 5101)), 2);
        // All of it fits: four full segments and the short end of the write.
        assert_eq!((bytes.admit(&window(4, 8001)), bytes.available(4)), (5, 9));
    }

    #[test]
    fn a_long_write_fills_the_buffer_that_the_window_lets_leave() {
        // Half of 20,000 bytes: 3500 of the first buffer leave, which takes 3500 more.
        let mut bytes = Outgoing::new(1000);
        bytes.write(15_000, 10, &Window { end: 3501, largest: 20_000, ..OPEN });
        assert_eq!((bytes.buffer, &bytes.full), (13_501, &vec![13_501]));
    }

    #[test]
    fn a_write_sends_buffer_by_buffer_and_all_that_waits_leaves_as_one() {
        // Half of 4500 bytes: buffers of two segments. Of the third one 500 bytes would fit.
        let mut bytes = Outgoing::new(1000);
        bytes.write(7000, 0, &window(0, 1));
        assert_eq!((bytes.admit(&window(0, 4501)), sizes(&mut bytes, 0..4)), (4, vec![1000; 4]));
        assert_eq!((bytes.admit(&window(1, 5501)), sizes(&mut bytes, 4..6)), (2, vec![1000, 500]));
        assert_eq!((bytes.admit(&window(6, 9001)), sizes(&mut bytes, 6..8)), (2, vec![1000, 500]));
    }

    #[test]
    fn a_fin_rides_on_the_last_data_or_goes_alone() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(1000, 10, &OPEN);
        bytes.close();
        assert_eq!(bytes.available(0), 1);
        assert_eq!(bytes.leave(0), (1, 1000, true, true));
        assert_eq!((bytes.next(), bytes.available(0)), (1002, 1));
        let mut bytes = Outgoing::new(1000);
        bytes.write(1000, 10, &OPEN);
        bytes.leave(0);
        bytes.close();
        assert_eq!(bytes.available(0), 2);
        assert_eq!(bytes.leave(1), (1001, 0, false, true));
        assert_eq!(bytes.next(), 1002);
    }

    #[test]
    fn numbers_of_bytes_round_to_whole_segments() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(3000, 10, &OPEN);
        for number in 0..3 {
            bytes.leave(number);
        }
        assert_eq!((bytes.whole_below(2001), bytes.whole_below(2000)), (2, 1));
        // A block of 4 bytes within segment 1 covers no segment: it would begin at 2 and end at 1.
        assert_eq!((bytes.first_from(1500), bytes.whole_below(1504)), (2, 1));
        assert_eq!((bytes.first_from(1001), bytes.whole_below(3001)), (1, 3));
    }
}
