//! The receiving end of a flow: a TCP receiver, or a sink of datagrams or media.

use std::sync::Arc;

use control::{ParameterError, tfrc};
use scenario::{Kind, PlannedFlow};
use transport::{
    Data, DatagramSink, Feedback, FrameArrival, MediaReport, MediaSink, OpeningKind, OpeningPacket, PassiveOpen,
    Receiver, Stack, TfrcSink,
};
use units::packet::{IP_HEADER, UDP_HEADER};
use units::{Span, Time};

use crate::acks::{AckSlot, Acks};
use crate::cache_aligned::CacheAligned;
use crate::flow::SendingEnd;
use crate::hosts::uptime;

/// The receiving end of a flow. Boxed, so that flows are apart in memory.
pub(crate) enum ReceivingEnd {
    Tcp(Box<CacheAligned<Receiver>>),
    Datagram(Box<DatagramSink>),
    /// Every datagram is echoed.
    Echo(Box<DatagramSink>),
    Tfrc(Box<TfrcSink>),
    Media(Box<MediaSink>),
    /// TCP before its SYN, or without a handshake before the first data. It is always there until it is taken then.
    Waiting(Option<Box<CacheAligned<Receiver>>>),
    /// TCP from its SYN to the first data.
    Opening(Box<Opening>),
}

/// The content of an announcement that takes the place of an ACK.
pub(crate) enum Report {
    Tfrc(Feedback),
    Media(MediaReport),
}

/// A TCP receiver to which a SYN has come and no data.
pub(crate) struct Opening {
    /// None once the connection is open.
    open: Option<PassiveOpen>,
    /// Always there: it is taken when data come.
    receiver: Option<Box<CacheAligned<Receiver>>>,
}

impl Opening {
    /// The connection is open, by a packet that echoes `echo`.
    fn end(&mut self, now: Time, echo: Time) {
        if let (Some(open), Some(receiver)) = (self.open.take(), &mut self.receiver)
            && let Some(since) = open.on_answer(echo).since
        {
            receiver.on_handshake(open.stack(), now.since(since));
        }
    }
}

/// The ACK that leaves `receiver` now, if one does, put among `acks`, with its size.
#[inline(always)]
fn poll_ack(receiver: &mut Receiver, now: Time, acks: &mut Acks) -> Option<(AckSlot, u32)> {
    let ack = receiver.poll_transmit(now)?;
    let size = receiver.wire_size(&ack).get() as u32;
    Some((acks.insert(ack), size))
}

/// The report that leaves `sink` now, if one does, likewise. It has the size of an echo: 16 bytes in UDP.
fn poll_report(sink: &mut TfrcSink, now: Time, acks: &mut Acks) -> Option<(AckSlot, u32)> {
    let report = sink.poll_transmit(now)?;
    Some((acks.insert(report), DatagramSink::ECHO_SIZE.get() as u32))
}

/// The feedback that leaves `sink` now, if it does, likewise.
fn poll_feedback(sink: &mut MediaSink, now: Time, acks: &mut Acks) -> Option<(AckSlot, u32)> {
    let (report, size) = sink.poll_transmit(now)?;
    Some((acks.insert(report), size.get() as u32))
}

impl ReceivingEnd {
    /// The receiver of a flow of `plan`. TCP follows `stack`.
    pub(crate) fn new(plan: &PlannedFlow, stack: &Arc<Stack>, seed: u64) -> Result<Self, ParameterError> {
        Ok(match plan.kind {
            Kind::Tcp => {
                let mut receiver = Receiver::new(stack, plan.base_rtt);
                if !stack.timers.tick.is_zero() {
                    receiver.up_for(uptime(seed));
                }
                Self::Waiting(Some(Box::new(CacheAligned::new(receiver))))
            }
            Kind::Datagram { echo: false, .. } => Self::Datagram(Box::default()),
            Kind::Datagram { echo: true, .. } => Self::Echo(Box::default()),
            Kind::Media { .. } => Self::Media(Box::new(MediaSink::new(&plan.call))),
            Kind::Tfrc { .. } => {
                let settings = tfrc::Settings::of(&plan.parameters)?;
                let size = plan.packet_size().saturating_sub(IP_HEADER + UDP_HEADER);
                Self::Tfrc(Box::new(TfrcSink::new(settings, size)))
            }
        })
    }

    /// The TCP receiver, if it is one.
    pub(crate) fn tcp(&mut self) -> Option<&mut Receiver> {
        match self {
            Self::Tcp(receiver) => Some(receiver),
            Self::Waiting(receiver) => receiver.as_deref_mut().map(|receiver| &mut **receiver),
            Self::Opening(opening) => opening.receiver.as_deref_mut().map(|receiver| &mut **receiver),
            Self::Datagram(_) | Self::Echo(_) | Self::Tfrc(_) | Self::Media(_) => None,
        }
    }

    /// The first SYN is about to arrive, at a host whose TCP follows `stack`.
    pub(crate) fn listen(&mut self, stack: &Arc<Stack>, seed: u64) {
        if let Self::Waiting(receiver) = self {
            let mut open = PassiveOpen::new(Arc::clone(stack));
            if !stack.timers.tick.is_zero() {
                open.up_for(uptime(seed));
            }
            *self = Self::Opening(Box::new(Opening { open: Some(open), receiver: receiver.take() }));
        }
    }

    /// A SYN or its ACK arrives. [`poll_opening`](Self::poll_opening) gives the answer to it. A SYN that comes again
    /// when the connection is open is answered by an ACK (RFC 9293, section 3.10.7.4).
    pub(crate) fn on_opening(&mut self, now: Time, packet: &OpeningPacket, acks: &mut Acks) -> Option<(AckSlot, u32)> {
        match (self, packet.kind) {
            (Self::Opening(opening), OpeningKind::Ack) => opening.end(now, packet.echo),
            (Self::Opening(opening), _) if opening.open.is_some() => {
                opening.open.iter_mut().for_each(|open| open.on_syn(now, packet));
            }
            (end, OpeningKind::Syn) => {
                let receiver = end.tcp()?;
                receiver.repeat();
                return poll_ack(receiver, now, acks);
            }
            _ => {}
        }
        None
    }

    /// The SYN-ACK that leaves now, if one does, with its size.
    pub(crate) fn poll_opening(&mut self, now: Time) -> Option<(OpeningPacket, u32)> {
        let Self::Opening(opening) = self else { return None };
        let open = opening.open.as_mut()?;
        let packet = open.poll_transmit(now)?;
        Some((packet, open.stack().opening_size(packet.kind).get() as u32))
    }

    /// The first `data` arrive.
    #[inline(never)]
    fn begin(&mut self, now: Time, data: &Data, congestion: bool, acks: &mut Acks) -> Option<(AckSlot, u32)> {
        let mut receiver = match self {
            Self::Waiting(receiver) => receiver.take(),
            Self::Opening(opening) => {
                opening.end(now, Time::NEVER);
                opening.receiver.take()
            }
            _ => None,
        }?;
        receiver.on_data(now, data, congestion);
        let ack = poll_ack(&mut receiver, now, acks);
        *self = Self::Tcp(receiver);
        ack
    }

    /// Lets the processor fetch it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        if let Self::Tcp(receiver) = self {
            CacheAligned::prefetch(receiver);
        }
    }

    /// Lets the processor fetch the memory that it refers to. It should be in the cache itself already.
    #[inline]
    pub(crate) fn prefetch_more(&self) {
        if let Self::Tcp(receiver) = self {
            Receiver::prefetch(receiver);
        }
    }

    /// Lets the processor fetch what that refers to in turn.
    #[inline]
    pub(crate) fn prefetch_holes(&self) {
        if let Self::Tcp(receiver) = self {
            receiver.prefetch_holes();
        }
    }

    /// `data` arrive; a receiver of TFRC or media reads from the `sender` the headers that they were sent with, and the
    /// `first` that a TCP receiver gets are reported. Answers the ACK that leaves at once, put among `acks`, with its
    /// size.
    #[inline(always)]
    pub(crate) fn on_data<'s, 'a: 's>(
        &mut self,
        now: Time,
        data: &Data,
        congestion: bool,
        sender: impl FnOnce() -> Option<&'s mut SendingEnd<'a>>,
        first: impl FnOnce(),
        acks: &mut Acks,
    ) -> Option<(AckSlot, u32)> {
        match self {
            Self::Waiting(_) | Self::Opening(_) => {
                first();
                self.begin(now, data, congestion, acks)
            }
            Self::Tcp(receiver) => {
                receiver.on_data(now, data, congestion);
                poll_ack(receiver, now, acks)
            }
            Self::Datagram(sink) => {
                sink.on_data(now, data, congestion);
                None
            }
            Self::Echo(sink) => {
                let answer = sink.on_data(now, data, congestion);
                Some((acks.insert(answer), DatagramSink::ECHO_SIZE.get() as u32))
            }
            Self::Tfrc(sink) => {
                sink.on_data(now, data, congestion, sender().map_or(Span::ZERO, |end| end.rtt_in(data.sequence)));
                poll_report(sink, now, acks)
            }
            Self::Media(sink) => {
                sink.on_data(now, data, congestion, sender().and_then(|end| end.header(data.sequence)));
                poll_feedback(sink, now, acks)
            }
        }
    }

    /// The report of a receiver of TFRC or media behind ACK `number`.
    pub(crate) fn take_report(&mut self, number: u64) -> Option<Report> {
        match self {
            Self::Tfrc(sink) => sink.take(number).map(Report::Tfrc),
            Self::Media(sink) => sink.take(number).map(Report::Media),
            Self::Tcp(_) | Self::Datagram(_) | Self::Echo(_) | Self::Waiting(_) | Self::Opening(_) => None,
        }
    }

    #[inline(never)]
    pub(crate) fn on_timeout(&mut self, now: Time, acks: &mut Acks) -> Option<(AckSlot, u32)> {
        match self {
            Self::Tcp(receiver) => {
                receiver.on_timeout(now);
                poll_ack(receiver, now, acks)
            }
            Self::Opening(opening) => {
                opening.open.iter_mut().for_each(|open| open.on_timeout(now));
                None
            }
            Self::Datagram(_) | Self::Echo(_) | Self::Waiting(_) => None,
            Self::Tfrc(sink) => {
                sink.on_timeout(now);
                poll_report(sink, now, acks)
            }
            Self::Media(sink) => {
                sink.on_timeout(now);
                poll_feedback(sink, now, acks)
            }
        }
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        match self {
            Self::Tcp(receiver) => receiver.poll_timeout(),
            Self::Datagram(_) | Self::Echo(_) | Self::Waiting(_) => None,
            Self::Tfrc(sink) => sink.poll_timeout(),
            Self::Media(sink) => sink.poll_timeout(),
            Self::Opening(opening) => opening.open.as_ref()?.poll_timeout(),
        }
    }

    /// True if datagrams arrive here.
    pub(crate) fn takes_datagrams(&self) -> bool {
        !matches!(self, Self::Tcp(_) | Self::Waiting(_) | Self::Opening(_))
    }

    pub(crate) fn delivered_bytes(&self) -> u64 {
        match self {
            Self::Tcp(receiver) => receiver.delivered().get(),
            Self::Datagram(sink) | Self::Echo(sink) => sink.delivered().get(),
            Self::Tfrc(sink) => sink.delivered().get(),
            Self::Media(sink) => sink.delivered().get(),
            Self::Waiting(_) | Self::Opening(_) => 0,
        }
    }

    /// Segments delivered in order. Datagrams are never complete.
    pub(crate) fn delivered_segments(&self) -> u64 {
        match self {
            Self::Tcp(receiver) => receiver.delivered_segments(),
            Self::Datagram(_) | Self::Echo(_) | Self::Tfrc(_) | Self::Media(_) => 0,
            Self::Waiting(_) | Self::Opening(_) => 0,
        }
    }

    /// What became of the frames of media, by their numbers.
    pub(crate) fn frames(&self) -> &[FrameArrival] {
        if let Self::Media(sink) = self { sink.frames() } else { &[] }
    }
}
