//! A TCP sender and receiver as state machines: they are handed `now` and an event, and answer what to send and
//! when to be woken. Nothing in them sleeps, reads a clock, or knows a scenario.

mod application;
mod datagram;
mod ecn_mode;
mod journal;
mod media;
mod rtp;
mod segment;
mod snoop;
mod tcp;
mod tfrc;

pub use application::{Application, Pace, Periods};
pub use datagram::{DatagramSink, DatagramSource, Writes};
pub use ecn_mode::EcnMode;
pub use journal::{Event, Journal};
pub use media::{Datagrams, MediaTrace, MediaTraceError, Recorded};
pub use rtp::{
    Arrival, Encoder, Frame, FrameArrival, MediaReport, MediaSettings, MediaSink, MediaSource, PacketHeader, Stopped,
};
pub use segment::{Acknowledgement, CumulativeAck, Data, SackBlocks};
pub use snoop::{Snoop, Verdict};
pub use tcp::stack::{
    Acks, Buffer, BufferRules, BufferSizes, Buffers, Clock, Conceals, Delay, Detection, Growth, IdleRestart, Losses,
    MAX_THRESHOLD, Marks, Opening, PROFILES, Pacing, Profile, Reduction, Repair, Resending, Resends, Retransmits, Rule,
    Selective, Stack, StateMachine, Timers, Variance, WindowValidation, freebsd_9, linux, linux_2_6_33, linux_3_5,
    ns2_linux, plain, real_1992,
};
pub use tcp::{
    ActiveOpen, Decision, DelayedAckDetector, DeliveryRate, DeliveryState, Driver, Opened, OpeningKind, OpeningPacket,
    PassiveOpen, Phase, Ranges, Receiver, RttEstimator, Sender, SenderState,
};
pub use tfrc::{Feedback, TfrcSink, TfrcSource};
