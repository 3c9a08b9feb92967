//! Data that the application gives the sender.

mod pace;
mod pieces;
mod send_buffer;

use units::{Bytes, Time};

pub use pace::{Pace, Periods};
pub(crate) use send_buffer::{SendBuffer, Windows};

use crate::segment::{Acknowledgement, SackBlocks};

/// The application above a sender.
#[derive(Clone, Debug)]
pub enum Application {
    /// Always has data (FTP, netperf).
    Greedy,
    /// Has this much, from the start.
    Finite(Bytes),
    /// Writes a segment's payload at a time, at a rate that changes stepwise.
    Paced(Pace),
    /// Passes on what another connection delivers, so much in all if that is known: the caller says when
    /// ([`Sender::note_written`](crate::Sender::note_written)).
    Relayed(Option<Bytes>),
    /// Writes when it likes: the caller says so ([`Sender::note_written`](crate::Sender::note_written)).
    Interactive,
}

/// Data yet to be sent, counted in segments.
#[derive(Clone, Debug)]
pub(crate) struct Backlog {
    /// All that was written at the start, in segments, or without end if there always is more.
    total: u64,
    /// All that will ever be written, in bytes.
    bytes: u64,
    /// State that few flows have.
    rare: Option<Box<Rare>>,
    segment_size: u32,
    /// A small segment beyond those written waits for an ACK (Nagle's algorithm).
    holds_small: bool,
}

/// An application that writes meanwhile, or a send buffer with a limit.
#[derive(Clone, Debug)]
struct Rare {
    pace: Option<Pace>,
    buffer: Option<SendBuffer>,
}

impl Rare {
    /// Segments written by `now`, of `total` that the application has made unless it paces itself. Paced ones are
    /// counted no further than one beyond `enough`.
    fn written(&mut self, now: Time, enough: u64, total: u64) -> u64 {
        match (&mut self.pace, &mut self.buffer) {
            (Some(pace), None) => pace.written(now, enough),
            (_, Some(buffer)) => buffer.written(),
            (None, None) => total,
        }
    }

    /// Segments below `acknowledged` have left the send buffer. Says whether the application, which has made `total`
    /// segments unless it paces itself, has written more by `now`.
    fn write_more(&mut self, now: Time, total: u64, acknowledged: u64, windows: Windows) -> bool {
        let Some(buffer) = &mut self.buffer else { return false };
        buffer.make_room(acknowledged, windows);
        buffer.write_piece(self.pace.as_mut().map_or(total, |pace| pace.written(now, u64::MAX - 1)))
    }
}

impl Backlog {
    /// Data that `application` writes, in segments of `segment_size`.
    pub(crate) fn new(application: Application, segment_size: Bytes) -> Self {
        let all = |bytes: Option<Bytes>| bytes.map_or(u64::MAX, Bytes::get);
        let (total, bytes, pace) = match application {
            Application::Greedy => (u64::MAX, u64::MAX, None),
            Application::Finite(bytes) => (bytes.get().div_ceil(segment_size.get()), bytes.get(), None),
            Application::Paced(pace) => (0, all(pace.bytes), Some(pace)),
            Application::Relayed(bytes) => (0, all(bytes), None),
            Application::Interactive => (0, u64::MAX, None),
        };
        let rare = pace.map(|pace| Box::new(Rare { pace: Some(pace), buffer: None }));
        Self { total, bytes, rare, segment_size: segment_size.get() as u32, holds_small: false }
    }

    /// The application writes into `buffer`, if that has a limit.
    #[must_use]
    pub(crate) fn into_buffer(mut self, buffer: Option<SendBuffer>) -> Self {
        if buffer.is_some() {
            self.rare.get_or_insert_with(|| Box::new(Rare { pace: None, buffer: None })).buffer = buffer;
        }
        self
    }

    fn pace(&self) -> Option<&Pace> {
        self.rare.as_deref()?.pace.as_ref()
    }

    /// True if the send buffer may limit the flow.
    #[inline(always)]
    pub(crate) fn is_buffered(&self) -> bool {
        self.rare.as_deref().is_some_and(|rare| rare.buffer.is_some())
    }

    fn buffer(&mut self) -> Option<&mut SendBuffer> {
        self.rare.as_deref_mut()?.buffer.as_mut()
    }

    /// True if the lost segment `sequence` may leave again where `segments` may, with those below `first`
    /// acknowledged.
    #[cold]
    pub(crate) fn leaves_again(&mut self, first: u64, sequence: u64, segments: u32) -> bool {
        self.buffer().is_none_or(|buffer| buffer.leaves_again(first, sequence, segments))
    }

    /// Segment `sequence`, the last that is not SACKed, leaves again as a probe.
    #[cold]
    pub(crate) fn note_probe(&mut self, sequence: u64) {
        if let Some(buffer) = self.buffer() {
            buffer.note_probe(sequence);
        }
    }

    /// The SACK blocks of `ack` that count, where segments below `first` are acknowledged before it. `sacked` has the
    /// number behind the last that is SACKed, and says which are.
    #[cold]
    pub(crate) fn tag(
        &mut self,
        first: u64,
        ack: &Acknowledgement,
        sacked: (Option<u64>, impl Fn(u64) -> bool),
    ) -> SackBlocks {
        self.buffer().map_or(ack.sack, |buffer| buffer.tag(first, ack, sacked))
    }

    /// True if the application hands down a train in the middle of a write.
    pub(crate) fn pushes(&self) -> bool {
        self.rare.as_deref().and_then(|rare| rare.buffer.as_ref()).is_some_and(SendBuffer::pushes)
    }

    /// True if the application waits for room in the send buffer.
    pub(crate) fn is_full(&self) -> bool {
        self.rare.as_deref().and_then(|rare| rare.buffer.as_ref()).is_some_and(SendBuffer::is_full)
    }

    /// The new segment `sequence` leaves the send buffer. `ends_train` says whether it is the last of a train.
    #[cold]
    pub(crate) fn note_sent(&mut self, sequence: u64, ends_train: bool, windows: Windows) {
        if let Some(buffer) = self.buffer() {
            buffer.note_sent(sequence, ends_train, windows);
        }
    }

    /// True if the next segments, of which the window lets `left` leave, wait for no others: they are the rest of a
    /// piece.
    pub(crate) fn is_rest(&self, left: u32) -> bool {
        self.rare.as_deref().and_then(|rare| rare.buffer.as_ref()).is_some_and(|buffer| buffer.is_rest(left.into()))
    }

    /// Segments below `acknowledged` have left the send buffer. Says whether the application has written more by `now`.
    #[cold]
    pub(crate) fn write_more(&mut self, now: Time, acknowledged: u64, windows: Windows) -> bool {
        let total = self.total;
        self.rare.as_deref_mut().is_some_and(|rare| rare.write_more(now, total, acknowledged, windows))
    }

    /// The connection opens.
    pub(crate) fn start(&mut self, now: Time) {
        if let Some(Rare { pace: Some(pace), .. }) = self.rare.as_deref_mut() {
            pace.start(now);
        }
    }

    /// An interactive or relayed application has written `total` segments by now.
    pub(crate) fn note_written(&mut self, total: u64) {
        self.total = total;
    }

    /// A small segment beyond those written waits for an ACK, or none does.
    pub(crate) fn hold_small(&mut self, holds: bool) {
        self.holds_small = holds;
    }

    /// True if segment `next` is a small one beyond those written, which waits for an ACK.
    pub(crate) fn holds(&self, next: u64) -> bool {
        self.holds_small && next == self.total
    }

    /// The same as [`written`](Self::written) with a small segment that waits for an ACK.
    pub(crate) fn written_or_held(&mut self, now: Time, enough: u64) -> u64 {
        let written = self.written(now, enough);
        written + u64::from(self.holds(written))
    }

    /// Segments written by `now`, counted no further than one beyond `enough`.
    pub(crate) fn written(&mut self, now: Time, enough: u64) -> u64 {
        match &mut self.rare {
            Some(rare) => rare.written(now, enough, self.total),
            None => self.total,
        }
    }

    /// Segments from `next` on that were written at the start, or none if the application writes meanwhile.
    pub(crate) fn left_at_once(&self, next: u64) -> u32 {
        if self.is_buffered() {
            return 0;
        }
        u32::try_from(self.total.saturating_sub(next)).unwrap_or(u32::MAX)
    }

    /// True if segment `sequence` is the last that was written by `now`.
    pub(crate) fn is_last_written(&self, sequence: u64, now: Time) -> bool {
        match self.rare.as_deref() {
            Some(Rare { buffer: Some(buffer), .. }) => sequence + 1 == buffer.written(),
            Some(Rare { pace: Some(pace), .. }) => pace.is_last_written(sequence, now),
            _ => sequence + 1 == self.total,
        }
    }

    /// True if there will never be more than the `sent` segments.
    pub(crate) fn is_over(&self, sent: u64) -> bool {
        sent >= self.bytes.div_ceil(u64::from(self.segment_size))
    }

    /// The next instant at which the application writes.
    pub(crate) fn next_write(&self) -> Option<Time> {
        self.pace().and_then(Pace::next_write)
    }

    /// Application bytes in segment `sequence`.
    pub(crate) fn payload(&self, sequence: u64) -> u32 {
        let full = u64::from(self.segment_size);
        self.bytes.saturating_sub(sequence * full).min(full) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: fn(u64) -> Time = |s| Time::from_nanos(s * 1_000_000_000);

    #[test]
    fn what_was_written_makes_segments_of_which_the_last_is_short() {
        let mut backlog = Backlog::new(Application::Finite(Bytes::new(2500)), Bytes::new(1000));
        assert_eq!(backlog.written(Time::ZERO, 0), 3);
        assert_eq!([0, 1, 2, 3].map(|sequence| backlog.payload(sequence)), [1000, 1000, 500, 0]);
        assert_eq!([0, 1, 3, 4].map(|next| backlog.left_at_once(next)), [3, 2, 0, 0]);
        assert_eq!([1, 2, 3].map(|sequence| backlog.is_last_written(sequence, Time::ZERO)), [false, true, false]);
        assert_eq!([2, 3, 4].map(|sent| backlog.is_over(sent)), [false, true, true]);
        assert_eq!(backlog.next_write(), None);
        let greedy = Backlog::new(Application::Greedy, Bytes::new(1000));
        assert_eq!((greedy.left_at_once(7), greedy.is_over(1 << 40), greedy.payload(1 << 40)), (u32::MAX, false, 1000));
    }

    #[test]
    fn what_is_written_meanwhile_is_not_there_at_once() {
        let pace = Pace::new(vec![(Time::ZERO, "8kbit".parse().unwrap())], Bytes::new(1000), Some(Bytes::new(1500)));
        let mut backlog = Backlog::new(Application::Paced(pace), Bytes::new(1000));
        backlog.start(SECOND(1));
        assert_eq!((backlog.left_at_once(0), backlog.next_write()), (0, Some(SECOND(1))));
        assert_eq!(backlog.written(SECOND(1), 5), 1);
        // The first is the last that was written until the second is.
        assert!(backlog.is_last_written(0, Time::from_nanos(1_999_999_999)));
        assert!(!backlog.is_last_written(0, SECOND(2)));
        assert_eq!((backlog.written(SECOND(2), 5), backlog.payload(1)), (2, 500));
        assert_eq!((backlog.is_over(1), backlog.is_over(2), backlog.next_write()), (false, true, None));
        let mut relayed = Backlog::new(Application::Relayed(Some(Bytes::new(1500))), Bytes::new(1000));
        assert_eq!((relayed.written(SECOND(9), 9), relayed.is_over(1), relayed.is_over(2)), (0, false, true));
        relayed.note_written(1);
        assert_eq!((relayed.written(SECOND(9), 9), relayed.left_at_once(0)), (1, 1));
        let interactive = Backlog::new(Application::Interactive, Bytes::new(1000));
        assert_eq!((interactive.left_at_once(0), interactive.is_over(1000)), (0, false));
    }
}
