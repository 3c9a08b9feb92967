//! The frames of a receiver: which of them are whole, can be decoded, and when the jitter buffer shows them.

use units::{Span, Time};

/// The headers of a packet, as far as the receiver reads them: RTP's, and its place in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// The number of the frame.
    pub frame: u32,
    /// When that was captured (the timestamp of RTP).
    pub captured: Time,
    /// The place of the packet in the frame. A retransmission has that of the original.
    pub index: u32,
    /// Any so many packets make the frame whole.
    pub needed: u32,
    /// The frame can be decoded without others.
    pub key: bool,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameArrival {
    /// When its last packet that was needed arrived.
    pub complete: Option<Time>,
    /// When it was shown: never if it could not be decoded.
    pub shown: Option<Time>,
}

/// A frame that is not decoded yet.
#[derive(Clone, Debug, Default)]
struct Waiting {
    captured: Time,
    key: bool,
    /// The places of the packets that arrived.
    places: Vec<u32>,
}

/// The frames of one flow.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    /// The wait of the jitter buffer.
    playout: Span,
    arrivals: Vec<FrameArrival>,
    /// From the next one to decode on.
    waiting: std::collections::VecDeque<Waiting>,
    head: u32,
    /// The newest key frame that is whole and not decoded.
    key: Option<u32>,
    /// The shortest time from capture to completion.
    transit: Span,
    shown_at: Time,
    /// Since when a later frame is whole and the next one to decode is not.
    stuck: Option<Time>,
}

impl Frames {
    pub(super) fn new(playout: Span) -> Self {
        Self {
            playout,
            arrivals: Vec::new(),
            waiting: std::collections::VecDeque::new(),
            head: 0,
            key: None,
            transit: Span::MAX,
            shown_at: Time::ZERO,
            stuck: None,
        }
    }

    /// The packet of `header` arrives. Says whether its content is new.
    pub(super) fn on_packet(&mut self, now: Time, header: &PacketHeader) -> bool {
        let Some(place) = header.frame.checked_sub(self.head) else { return false };
        let place = place as usize;
        if place >= self.waiting.len() {
            self.waiting.resize_with(place + 1, Waiting::default);
            self.arrivals.resize(header.frame as usize + 1, FrameArrival::default());
        }
        let waiting = &mut self.waiting[place];
        if waiting.places.contains(&header.index) {
            return false;
        }
        (waiting.captured, waiting.key) = (header.captured, header.key);
        waiting.places.push(header.index);
        let arrived = waiting.places.len() as u32;
        if arrived == header.needed {
            self.arrivals[header.frame as usize].complete = Some(now);
            self.transit = self.transit.min(now.since(header.captured));
            if header.key && header.frame > self.head {
                self.key = Some(self.key.map_or(header.frame, |key| key.max(header.frame)));
            }
            self.decode(now);
        }
        arrived <= header.needed
    }

    /// Decodes frames in order, or from a key frame on where one before is missing.
    fn decode(&mut self, now: Time) {
        let head = self.head;
        loop {
            if self.is_complete(self.head) {
                self.show(now);
            } else if let Some(key) = self.key.take_if(|key| *key > self.head) {
                self.waiting.drain(..(key - self.head) as usize);
                self.head = key;
            } else {
                break;
            }
        }
        if self.head > head {
            self.stuck = None;
        }
        let later = (self.head as usize + 1..self.arrivals.len()).any(|n| self.arrivals[n].complete.is_some());
        if later {
            self.stuck.get_or_insert(now);
        }
    }

    fn is_complete(&self, frame: u32) -> bool {
        self.arrivals.get(frame as usize).is_some_and(|arrival| arrival.complete.is_some())
    }

    /// The next frame is decoded now, and shown when the jitter buffer lets it go.
    fn show(&mut self, now: Time) {
        let Some(frame) = self.waiting.pop_front() else { return };
        let due = frame.captured + self.transit + self.playout;
        self.shown_at = self.shown_at.max(due).max(now);
        self.arrivals[self.head as usize].shown = Some(self.shown_at);
        self.head += 1;
    }

    /// True if the next frame to decode has been missing for longer than `patience`: a key frame would help.
    pub(super) fn needs_key(&self, now: Time, patience: Span) -> bool {
        self.stuck.is_some_and(|since| now.since(since) >= patience)
    }

    /// The newest frame of which anything arrived.
    pub(super) fn newest(&self) -> u32 {
        (self.arrivals.len() as u32).saturating_sub(1)
    }

    /// What became of the frames, by their numbers.
    pub(super) fn arrivals(&self) -> &[FrameArrival] {
        &self.arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    /// Packet `index` of frame `frame`, one of two, captured each 40 ms.
    fn packet(frame: u32, index: u32) -> PacketHeader {
        PacketHeader { frame, captured: at(40 * u64::from(frame)), index, needed: 2, key: frame == 0 }
    }

    fn whole(frames: &mut Frames, ms: u64, header: PacketHeader) {
        frames.on_packet(at(ms), &PacketHeader { index: 0, ..header });
        frames.on_packet(at(ms), &PacketHeader { index: 1, ..header });
    }

    #[test]
    fn a_frame_is_shown_when_the_jitter_buffer_lets_it_go_or_as_soon_as_it_is_whole() {
        let mut frames = Frames::new(MS(30));
        assert!(frames.on_packet(at(50), &packet(0, 0)));
        assert!(!frames.on_packet(at(51), &packet(0, 0)), "a copy");
        assert!(frames.on_packet(at(55), &packet(0, 1)));
        // 55 ms from capture, and 30 ms in the buffer.
        assert_eq!(frames.arrivals()[0], FrameArrival { complete: Some(at(55)), shown: Some(at(85)) });
        whole(&mut frames, 100, packet(1, 0));
        assert_eq!(frames.arrivals()[1].shown, Some(at(125)));
        // It is 30 ms late for 165 ms.
        whole(&mut frames, 195, packet(2, 0));
        assert_eq!(frames.arrivals()[2].shown, Some(at(195)));
        assert!(!frames.on_packet(at(200), &packet(1, 1)), "it is decoded");
    }

    #[test]
    fn a_frame_waits_for_the_one_before_and_a_key_frame_for_none() {
        let mut frames = Frames::new(MS(0));
        whole(&mut frames, 50, packet(0, 0));
        frames.on_packet(at(90), &packet(1, 0));
        whole(&mut frames, 130, packet(2, 0));
        assert_eq!(frames.arrivals()[2], FrameArrival { complete: Some(at(130)), shown: None });
        assert_eq!((frames.needs_key(at(139), MS(10)), frames.needs_key(at(140), MS(10))), (false, true));
        frames.on_packet(at(150), &packet(1, 1));
        assert_eq!([1, 2].map(|n: usize| frames.arrivals()[n].shown), [Some(at(150)); 2]);
        assert!(!frames.needs_key(at(999), MS(0)));
        whole(&mut frames, 230, PacketHeader { key: true, ..packet(4, 0) });
        assert_eq!([3, 4].map(|n: usize| frames.arrivals()[n].shown), [None, Some(at(230))]);
        assert_eq!(frames.newest(), 4);
    }

    #[test]
    fn packets_that_repair_a_frame_stand_in_for_any_of_its_own() {
        let mut frames = Frames::new(MS(0));
        frames.on_packet(at(50), &packet(0, 1));
        assert!(frames.on_packet(at(60), &packet(0, 2)));
        assert_eq!(frames.arrivals()[0].complete, Some(at(60)));
    }
}
