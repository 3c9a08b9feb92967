//! The bytes that an endpoint sends, cut into the segments that its sender counts.

/// Bytes of the largest buffer that writes go into.
const LARGEST_BUFFER: u64 = 65_215;

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
    /// The start of the last buffer that writes go into (see [`write`](Self::write)).
    buffer: u64,
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
            segment_size: segment_size.max(1),
            closing: false,
            fin: None,
            no_delay: false,
        }
    }

    /// The application writes, when `room` segments may leave at once and the largest receive window so far was
    /// `largest_window` bytes.
    ///
    /// The end of a write is pushed, unless a later one joins its buffer (tcp_sendmsg_locked). So is, as in Linux, a
    /// full buffer that ends more than half a window after the last push. A buffer takes the segments of half of the
    /// receive window, at most 64 kB. A full buffer that is the first to leave is sent while the write goes on, which
    /// makes room in it.
    pub(crate) fn write(&mut self, bytes: u64, room: u64, largest_window: u64) {
        let half = largest_window / 2;
        let full = (half.min(LARGEST_BUFFER) / self.segment_size).max(1) * self.segment_size;
        let mut rest = bytes;
        let mut room = room * self.segment_size;
        let mut leaving = self.next();
        while rest > 0 {
            self.buffer = self.buffer.max(leaving);
            if self.written - self.buffer >= full {
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
                let sent = room.min(full);
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
        let unsent = self.unsent();
        let sent = self.ends.len() as u64;
        let waits = self.holds_small(first);
        let fin = u64::from(self.closing && self.fin.is_none() && unsent == 0);
        sent + unsent.div_ceil(self.segment_size) - u64::from(waits) + fin
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
            let length = self.unsent().min(self.segment_size);
            let mut end = self.next() + length;
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

    #[test]
    fn a_write_is_cut_into_segments_and_its_end_is_pushed() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(2500, 10, 65_535);
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
        bytes.write(3000, 0, 65_535);
        bytes.write(4000, 0, 65_535);
        assert_eq!(bytes.pushes, [7001]);
        // All of it has left: the next write has a buffer of its own.
        for number in 0..7 {
            bytes.leave(number);
        }
        bytes.write(2000, 0, 65_535);
        assert_eq!(bytes.pushes, [7001, 9001]);
        // Part of it has left: the rest is still a buffer that takes more.
        bytes.leave(7);
        bytes.write(500, 0, 65_535);
        assert_eq!(bytes.pushes, [7001, 9501]);
    }

    #[test]
    fn a_long_write_is_pushed_every_half_window() {
        // Half of 32,896 bytes is 16,448: buffers of 16 segments. Two segments leave with the first buffer, so that it
        // takes 2000 bytes more and ends at 18,001, past 1 + 16,448. The next ones end at 34,001 (not past 18,001 +
        // 16,448) and 50,001.
        let mut bytes = Outgoing::new(1000);
        bytes.write(60_000, 2, 32_896);
        assert_eq!(bytes.pushes, [18_001, 50_001, 60_001]);
    }

    #[test]
    fn a_small_segment_waits_for_the_ack_of_another() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(500, 10, 65_535);
        bytes.leave(0);
        bytes.write(1200, 10, 65_535);
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

    #[test]
    fn a_fin_rides_on_the_last_data_or_goes_alone() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(1000, 10, 65_535);
        bytes.close();
        assert_eq!(bytes.available(0), 1);
        assert_eq!(bytes.leave(0), (1, 1000, true, true));
        assert_eq!((bytes.next(), bytes.available(0)), (1002, 1));
        let mut bytes = Outgoing::new(1000);
        bytes.write(1000, 10, 65_535);
        bytes.leave(0);
        bytes.close();
        assert_eq!(bytes.available(0), 2);
        assert_eq!(bytes.leave(1), (1001, 0, false, true));
        assert_eq!(bytes.next(), 1002);
    }

    #[test]
    fn numbers_of_bytes_round_to_whole_segments() {
        let mut bytes = Outgoing::new(1000);
        bytes.write(3000, 10, 65_535);
        for number in 0..3 {
            bytes.leave(number);
        }
        assert_eq!((bytes.whole_below(2001), bytes.whole_below(2000)), (2, 1));
        // A block of 4 bytes within segment 1 covers no segment: it would begin at 2 and end at 1.
        assert_eq!((bytes.first_from(1500), bytes.whole_below(1504)), (2, 1));
        assert_eq!((bytes.first_from(1001), bytes.whole_below(3001)), (1, 3));
    }
}
