//! A shared wireless medium: stations that contend for one 802.11 channel.
//!
//! A [`Link`](crate::Link) knows its service in advance. Here it depends on the other stations with something to send.
//! A [`Medium`] is therefore an event-driven state machine: it is offered packets, [`Medium::next`] says when the next
//! backoff ends, and [`Medium::advance`] lets that station send. Events go to a [`Listener`]. Slots are counted
//! exactly: between two frames every station counts whole slots from the instant at which it found the medium idle for
//! its interframe space.
//!
//! If no station is hidden from another, a frame exchange (RTS, CTS, data, ACK) is one event: no other station starts
//! to send within it, and its end is known when its first frame begins. If some are hidden from each other, every frame
//! is an event, and each station has its own view of the medium. Propagation takes no time. Control frames are lost
//! only in collisions. Frames that overlap at a receiver are all lost there (no capture effect).
//!
//! [`Conventions`] names the points in which readings of the standard differ.

mod access;
mod airtime;
mod errors;
mod phy;
mod rates;
mod room;
mod rooms;
mod settings;
mod shared;
#[cfg(test)]
mod tests;

pub use errors::FrameErrors;
pub use phy::{Guard, Mode, Modulation, Phy, PhySettings, Standard, Width};
pub use rates::{RateControl, RateSettings, Report};
pub use settings::{
    AccessSettings, AfterCollision, Aggregation, Category, Conventions, Countdown, MediumSettings, StationSettings,
};
pub use shared::Medium;
use units::{Span, Time};

use crate::Discard;

/// The access point among the stations of a medium.
pub const ACCESS_POINT: u32 = 0;

/// The outcome of a frame, or an A-MPDU, on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was acknowledged. Of an A-MPDU at least one frame was.
    Acknowledged,
    /// No other station sent, but its receiver did not understand it. Or it is an RTS that its receiver was not free to
    /// answer.
    Error,
    /// So many stations sent at once, where it or its response was to be received.
    Collision(u32),
}

/// A frame, or an A-MPDU, that was sent, with all that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Who sent it.
    pub access: u32,
    /// The station it was for.
    pub to: u32,
    /// The first bit of the RTS, or of the CTS of the station to itself, or of the data.
    pub start: Time,
    /// The first bit of the data. If no CTS answered the RTS, the end of the RTS.
    pub data: Time,
    /// The last bit of the response. Without one, the last bit sent.
    pub end: Time,
    /// The rate of the data, an index into [`Phy::modes`].
    pub mode: u8,
    /// Bytes on the air after the preamble.
    pub bytes: u32,
    /// Frames in it.
    pub frames: u32,
    /// Frames in it that were acknowledged.
    pub acknowledged: u32,
    /// An RTS went before.
    pub rts: bool,
    /// It was sent before, in part at least.
    pub retry: bool,
    /// The outcome of the frame.
    pub fate: Fate,
}

impl Attempt {
    /// How long the medium was taken.
    pub fn airtime(&self) -> Span {
        self.end.since(self.start)
    }
}

/// The observer of a medium. Reports come when the event is certain, which may be before its instant.
pub trait Listener<P> {
    /// `packet` was taken at `at` and waits, one of `queued`. It is as it arrived. If `marked`, [`Listener::mark`]
    /// follows.
    fn take(&mut self, access: u32, packet: &P, at: Time, marked: bool, queued: u32);

    /// `packet` was marked at `at`, and `queued` wait.
    fn mark(&mut self, access: u32, packet: &P, at: Time, queued: u32);

    /// `packet`, which `waited`, is sent next, and `queued` wait behind it.
    fn serve(&mut self, access: u32, packet: &P, at: Time, waited: Span, queued: u32);

    /// The last bit of `packet`, which `waited` before it was sent, arrives at `at`, and all before it has arrived.
    fn deliver(&mut self, access: u32, packet: P, waited: Span, at: Time);

    /// `packet` was dropped at `at`, and `queued` wait.
    fn discard(&mut self, access: u32, packet: P, at: Time, why: Discard, queued: u32);

    /// Something was sent, at a rate of `kbit` thousand bits per second. In the order of their starts.
    fn attempt(&mut self, attempt: &Attempt, kbit: u32);
}
