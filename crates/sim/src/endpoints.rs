//! The endpoints outside the network: flows, their acknowledgements under way, records and capture. Links report here.

use std::marker::PhantomData;

use engine::Tap;
use network::Discard;
use record::{EventRow, FrameRow};
use scenario::Plan;
use units::Time;

use crate::acks::{AckSlot, Acks};
use crate::agents::Agents;
use crate::cache_aligned::CacheAligned;
use crate::capture::Capture;
use crate::flow::{ReceiverHalf, SenderHalf};
use crate::packet::{Body, Packet};
use crate::recorder::Recorder;

/// The flows of a run with all that belongs to them, in one place: links report by one reference.
pub(crate) struct Endpoints<'a, A> {
    pub(crate) senders: Vec<CacheAligned<SenderHalf<'a>>>,
    pub(crate) receivers: Vec<CacheAligned<ReceiverHalf>>,
    pub(crate) acks: Acks,
    /// Those that links lost, where this place does not have them itself.
    pub(crate) lost_acks: Option<Vec<AckSlot>>,
    pub(crate) recorder: Recorder,
    pub(crate) capture: Option<Capture>,
    pub(crate) plan: &'a Plan,
    pub(crate) agents: PhantomData<A>,
}

impl<A: Agents> Endpoints<'_, A> {
    /// The capture, if there is one, with the acknowledgements that its headers need.
    #[inline(always)]
    pub(crate) fn captured(&mut self) -> Option<(&mut Capture, &Acks)> {
        if !A::PRESENT {
            return None;
        }
        self.capture.as_mut().map(|capture| (capture, &self.acks))
    }
}

impl<A: Agents> Tap<Packet> for Endpoints<'_, A> {
    #[inline]
    fn taken(&mut self, link: u32, packet: &Packet, at: Time, marked: bool) {
        if let Some((capture, acks)) = self.captured() {
            capture.at_link(link, at, packet, acks, marked);
        }
    }

    fn discarded(&mut self, link: u32, packet: Packet, at: Time, why: Discard) {
        let body = packet.body();
        if let Some((capture, acks)) = self.captured() {
            capture.at_discard(link, at, &packet, &body, acks, why);
        }
        match body {
            Body::Data(data) => {
                // One that left before the measured interval is not among those sent in it, and a copy never was.
                let counts = data.timestamp >= Time::ZERO + self.plan.warmup && !packet.is_copy();
                self.recorder.dropped[packet.flow as usize] += u64::from(counts);
            }
            Body::Opening => {}
            Body::Ack(slot) => match &mut self.lost_acks {
                Some(lost) => lost.push(slot),
                None => {
                    self.acks.take(slot);
                }
            },
        }
    }

    fn event(&mut self, row: EventRow) {
        self.recorder.note(row);
    }

    fn frame(&mut self, row: FrameRow) {
        if self.plan.record.frames {
            self.recorder.tables.frames.push(row);
        }
    }
}
